"""Alignments: begun with a split of the study's instructions that never changes, and the versions that are added to them."""

from collections.abc import Sequence

import numpy as np
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils.text import slugify
from django.utils.translation import gettext

from accounts.models import Event, User, Workspace
from accounts.permissions import workspaces_read_by
from annotation.models import Study
from calibration.data.frames import ABOUT_RESPONSES, Bools, NothingToRead, ScoreFrame
from calibration.data.scores import score_frame
from calibration.reports.agreement import ROLE_ORDER
from calibration.statistics.errors import TooFewRatings
from calibration.statistics.judges.alignment import (
    LEAST,
    PARTS,
    SMALLEST_SHARE,
    USUAL_SHARES,
    Part,
    split,
    usable_shares,
)
from core.errors import UserError
from core.messages.message import Wording
from core.web.access import visible_or_404
from generation.llm.protocol.prices import MOST_COUNTED
from generation.models import Benchmark, Response
from judging.methods.registry import METHODS
from judging.models import Alignment, AlignmentVersion, Judge

MOST_NAMED = 20
OBJECT = "judging.Alignment"
BEGUN, ADDED = "alignment begun", "version added"

TOO_FEW = Wording(
    "alignment.too_few",
    "The number of instructions with responses that two people rated, and that no earlier alignment has used, is %(n)s; "
    "it must be at least %(needed)s, so that the parts have at least %(training)s, %(validation)s and %(test)s. Have "
    "more rated.",
)
BAD_SHARES = Wording(
    "alignment.bad_shares",
    "Give three shares that add up to 1, each at least %(least)s, for training, validation and test.",
)
BAD_SEED = Wording("alignment.bad_seed", "The seed must be a whole number from 0 to %(most)s.")
NOT_ANSWERED = Wording(
    "alignment.not_answered",
    "None of the criteria that people rated in this study is answered by %(judge)s; choose a judge that answers one.",
)
OTHER_CRITERION = Wording(
    "alignment.other_criterion", "%(judge)s does not answer the criterion %(criterion)s; choose one of: %(criteria)s."
)
OTHER_WORKSPACE = Wording("alignment.other_workspace", "%(judge)s belongs to another workspace.")
NO_JUDGE = Wording("alignment.no_judge", "There is no judge “%(name)s”; there are: %(known)s.")
NO_JUDGES = Wording("alignment.no_judges", "There is no judge “%(name)s”, nor any other; create one first.")
OTHER_KIND = Wording(
    "alignment.other_kind",
    "%(judge)s is asked other questions than the baseline %(baseline)s; a version must be asked the same ones.",
)
REPLACED = Wording(
    "alignment.replaced", "This alignment was replaced by a newer one before it had a version; open the newer one."
)
IS_BASELINE = Wording("alignment.is_baseline", "%(judge)s is the baseline itself; add a judge with another prompt.")


def alignments_read_by(user: User) -> QuerySet[Alignment]:
    found = Alignment.objects.filter(study__workspace__in=workspaces_read_by(user))
    return found.select_related("study__workspace", "study__guideline", "baseline__rater", "baseline__language_model")


def alignment_read_by(user: User, public_id: str, *, message: str = "") -> Alignment:
    """Return the alignment; 404 for anybody who may not see the study's results."""
    found = alignments_read_by(user).filter(public_id=public_id)
    return visible_or_404(found, message=message or gettext("There is no such alignment."))


def people_of(study: Study) -> ScoreFrame:
    return score_frame(kinds=ABOUT_RESPONSES, study=study, judges=False)


def criteria_asked(study: Study) -> list[str]:
    """Return the keys of the criteria that the study asks about: overall first, then the others in the order of a rubric."""
    found = study.asked_criteria().order_by("position", "pk").values_list("role", "key")
    asked = sorted((pair for pair in found if pair[0] in ROLE_ORDER), key=lambda pair: ROLE_ORDER.index(pair[0]))
    return list(dict.fromkeys(key for _role, key in asked))


def rated_twice(people: ScoreFrame) -> Bools:
    """Whether each entry (n,) of one criterion is of a task that at least two people rated."""
    _tasks, place, counts = np.unique(people.task, return_inverse=True, return_counts=True)
    return np.asarray(counts[place.reshape(-1)] > 1, dtype=np.bool_)


def criteria_for(judge: Judge, people: ScoreFrame) -> list[str]:
    """Return the criteria that people rated and that the judge's method answers, by position."""
    return people.keys_of_role(METHODS[judge.method].role)


def begin_alignment(
    study: Study,
    baseline: Judge,
    *,
    criterion: str = "",
    shares: Sequence[float] = USUAL_SHARES,
    seed: int = 0,
    by: User | None = None,
) -> Alignment:
    """Split the study's instructions that two people rated, and store the alignment. Raises UserError.

    `criterion` '' is the first that the baseline answers. Instructions of earlier alignments on the same criterion are left
    out, as their people's answers are known; an instruction of an alignment on another criterion keeps its part. An
    alignment on the same criterion without a version or a draft is replaced.
    """
    usable = usable_shares(shares)
    if usable is None:
        raise UserError(BAD_SHARES(least=f"{SMALLEST_SHARE:g}"))
    if not 0 <= seed <= MOST_COUNTED:
        raise UserError(BAD_SEED(most=MOST_COUNTED))
    if baseline.workspace_id != study.workspace_id:
        raise UserError(OTHER_WORKSPACE(judge=baseline.rater.name))
    people = people_of(study)
    criteria = criteria_for(baseline, people)
    if not criteria:
        raise UserError(NOT_ANSWERED(judge=baseline.rater.name))
    if criterion and criterion not in criteria:
        raise UserError(OTHER_CRITERION(judge=baseline.rater.name, criterion=criterion, criteria=", ".join(criteria)))
    criterion = criterion or criteria[0]
    try:
        answers = people.of_criterion(criterion)
        rated = set(np.unique(answers.instruction[rated_twice(answers)]).tolist())
    except NothingToRead:
        rated = set()
    with transaction.atomic():
        # One after the other, so that two alignments never share an instruction.
        Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        used, kept, unused = _earlier_parts(study, criterion)
        rated -= used
        try:
            parts = split(rated, shares=usable, seed=seed, kept=kept)
        except TooFewRatings as error:
            least = {str(part): n for part, n in LEAST.items()}
            raise UserError(TOO_FEW(n=error.n, needed=error.needed, **least)) from error
        Alignment.objects.filter(pk__in=unused).delete()
        made = Alignment.objects.create(
            study=study,
            baseline=baseline,
            criterion=criterion,
            seed=seed,
            shares=list(usable),
            parts=parts,
            created_by=by,
        )
        log_step(made, by, BEGUN, {"baseline": baseline.rater.label, "criterion": criterion, "seed": seed})
    return made


def _earlier_parts(study: Study, criterion: str) -> tuple[set[int], dict[Part, list[int]], list[int]]:
    """Return what alignments on this criterion used, the parts of those on others, and which alignments are unused."""
    used: set[int] = set()
    kept: dict[Part, list[int]] = {part: [] for part in PARTS}
    unused: list[int] = []
    for earlier in Alignment.objects.filter(study=study):
        if earlier.criterion != criterion:
            for part in PARTS:
                kept[part] += earlier.parts[part]
        elif earlier.versions.exists() or drafts_benchmark(earlier) is not None:
            used.update(*earlier.parts.values())
        else:
            unused.append(earlier.pk)
    return used, kept, unused


def drafts_slug(alignment: Alignment) -> str:
    return f"prompts-{slugify(alignment.public_id)}"


def drafts_benchmark(alignment: Alignment) -> Benchmark | None:
    """Return the benchmark whose instructions ask models for prompts; None if none was asked."""
    return Benchmark.objects.filter(workspace=alignment.workspace_id, slug=drafts_slug(alignment)).first()


def locked(alignment: Alignment) -> Alignment:
    """Return the alignment, locked for this transaction. Raises UserError if another has replaced it."""
    found = Alignment.objects.select_for_update(no_key=True, of=("self",)).filter(pk=alignment.pk).first()
    if found is None:
        raise UserError(REPLACED())
    return found


def add_version(
    alignment: Alignment, judge: Judge, *, draft: Response | None = None, by: User | None = None
) -> AlignmentVersion:
    """Add a judge as a version, or return the version that it is already. Raises UserError.

    `draft` is the model's reply of which a lead made the judge.
    """
    baseline = alignment.baseline
    if judge.pk == baseline.pk:
        raise UserError(IS_BASELINE(judge=judge.rater.name))
    if judge.workspace_id != alignment.workspace_id:
        raise UserError(OTHER_WORKSPACE(judge=judge.rater.name))
    own, first = METHODS[judge.method], METHODS[baseline.method]
    if (own.role, own.task_kind) != (first.role, first.task_kind):
        raise UserError(OTHER_KIND(judge=judge.rater.name, baseline=baseline.rater.name))
    proposer = AlignmentVersion.Proposer.LEAD if draft is None else AlignmentVersion.Proposer.MODEL
    try:
        with transaction.atomic():
            locked(alignment)
            made = AlignmentVersion.objects.create(
                alignment=alignment, judge=judge, proposed_by=proposer, draft=draft, added_by=by
            )
            log_step(alignment, by, ADDED, {"judge": judge.rater.label, "proposed_by": str(proposer)})
            return made
    except IntegrityError:
        return alignment.versions.get(judge=judge)


def judge_named(workspace: Workspace, name: str) -> Judge:
    """Return the workspace's judge of this name. Raises UserError, which names those that there are."""
    judges = Judge.objects.filter(workspace=workspace).select_related("rater", "language_model__endpoint")
    found = judges.filter(rater__label=name).first()
    if found is None:
        known = ", ".join(judges.order_by("rater__label").values_list("rater__label", flat=True)[:MOST_NAMED])
        raise UserError(NO_JUDGE(name=name, known=known) if known else NO_JUDGES(name=name))
    return found


def judges_to_add(alignment: Alignment) -> QuerySet[Judge]:
    """Return the judges of the workspace that could become versions, the newest first."""
    first = METHODS[alignment.baseline.method]
    alike = [key for key, one in METHODS.items() if (one.role, one.task_kind) == (first.role, first.task_kind)]
    found = Judge.objects.filter(workspace=alignment.workspace_id, method__in=alike)
    versions = alignment.versions.values("judge")
    return found.exclude(pk=alignment.baseline_id).exclude(pk__in=versions).select_related("rater").order_by("-pk")


def log_step(alignment: Alignment, by: User | None, verb: str, after: dict[str, object]) -> None:
    Event.objects.create(
        workspace_id=alignment.workspace_id,
        actor=by,
        verb=verb,
        object_type=OBJECT,
        object_id=alignment.public_id,
        after=after,
    )
