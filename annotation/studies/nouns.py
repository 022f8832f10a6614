"""What the rows of each table are called where a removal is announced."""

from collections import Counter
from collections.abc import Mapping

from django.utils.translation import gettext as _, gettext_noop as noop

NOUNS = {
    "accounts.ApiToken": noop("tokens"),
    "accounts.Invitation": noop("invitations"),
    "accounts.Membership": noop("memberships"),
    "annotation.Assignment": noop("answers"),
    "annotation.Cohort": noop("cohorts"),
    "annotation.Criterion": noop("criteria"),
    "annotation.Draft": noop("drafts"),
    "annotation.Flag": noop("notes"),
    "annotation.LateChange": noop("late changes"),
    "annotation.Rater": noop("raters"),
    "annotation.RaterIdentity": noop("identities of raters"),
    "annotation.Rubric": noop("rubrics"),
    "annotation.Score": noop("scores"),
    "annotation.Seat": noop("assignment slots"),
    "annotation.Study": noop("studies"),
    "annotation.Task": noop("tasks"),
    "annotation.TimeCorrection": noop("corrected times"),
    "calibration.Fit": noop("fits of weights"),
    "calibration.Report": noop("stored reports"),
    "generation.Benchmark": noop("benchmarks"),
    "generation.Category": noop("categories"),
    "generation.Endpoint": noop("endpoints"),
    "generation.GenerationRun": noop("generation runs"),
    "generation.Import": noop("imports"),
    "generation.Instruction": noop("instructions"),
    "generation.LanguageModel": noop("models"),
    "generation.Response": noop("responses"),
    "judging.Judge": noop("judges"),
    "judging.JudgeRun": noop("judge runs"),
    "judging.PlannedItem": noop("planned items of judge runs"),
    "judging.Reply": noop("replies of judges"),
    "judging.Watch": noop("drift monitors"),
}


def in_words(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Counts by model label as counts by noun, in the order of the nouns; tables without a noun are counted together."""
    found: Counter[str] = Counter()
    for label, n in counts.items():
        found[label if label in NOUNS else ""] += n
    named = [(_(NOUNS[label]), n) for label, n in found.items() if label]
    return sorted(named) + ([(_("other rows"), found[""])] if found[""] else [])
