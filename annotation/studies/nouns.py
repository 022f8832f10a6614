"""What the rows of each table are called where a removal is announced."""

from collections import Counter
from collections.abc import Mapping

from django.utils.translation import gettext as _, gettext_noop

NOUNS = {
    "accounts.ApiToken": gettext_noop("tokens"),
    "accounts.Invitation": gettext_noop("invitations"),
    "accounts.Membership": gettext_noop("memberships"),
    "annotation.Assignment": gettext_noop("answers"),
    "annotation.Ballot": gettext_noop("ballots"),
    "annotation.Checklist": gettext_noop("checklists"),
    "annotation.Cohort": gettext_noop("cohorts"),
    "annotation.Criterion": gettext_noop("criteria"),
    "annotation.Draft": gettext_noop("drafts"),
    "annotation.Flag": gettext_noop("notes"),
    "annotation.Guideline": gettext_noop("guidelines"),
    "annotation.LateChange": gettext_noop("late changes"),
    "annotation.MailedInvitation": gettext_noop("invitations of raters"),
    "annotation.ProposedCriterion": gettext_noop("proposed criteria"),
    "annotation.QuestionDraft": gettext_noop("drafts of questions"),
    "annotation.QuestionReview": gettext_noop("reviews of questions"),
    "annotation.Rater": gettext_noop("raters"),
    "annotation.RaterIdentity": gettext_noop("identities of raters"),
    "annotation.Rubric": gettext_noop("rubrics"),
    "annotation.Score": gettext_noop("scores"),
    "annotation.Seat": gettext_noop("assignment slots"),
    "annotation.Study": gettext_noop("studies"),
    "annotation.Task": gettext_noop("tasks"),
    "annotation.TimeCorrection": gettext_noop("corrected times"),
    "calibration.Fit": gettext_noop("fits of weights"),
    "calibration.Report": gettext_noop("stored reports"),
    "generation.Benchmark": gettext_noop("benchmarks"),
    "generation.Category": gettext_noop("categories"),
    "generation.Endpoint": gettext_noop("endpoints"),
    "generation.GenerationRun": gettext_noop("generation runs"),
    "generation.Import": gettext_noop("imports"),
    "generation.Instruction": gettext_noop("instructions"),
    "generation.LanguageModel": gettext_noop("models"),
    "generation.Response": gettext_noop("responses"),
    "judging.Judge": gettext_noop("judges"),
    "judging.JudgeRun": gettext_noop("judge runs"),
    "judging.PlannedItem": gettext_noop("planned items of judge runs"),
    "judging.Reply": gettext_noop("replies of judges"),
    "judging.Watch": gettext_noop("drift monitors"),
}


def in_words(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Counts by model label as counts by noun, in the order of the nouns; tables without a noun are counted together."""
    found: Counter[str] = Counter()
    for label, n in counts.items():
        found[label if label in NOUNS else ""] += n
    named = [(_(NOUNS[label]), n) for label, n in found.items() if label]
    return sorted(named) + ([(_("other rows"), found[""])] if found[""] else [])
