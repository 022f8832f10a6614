"""A fitted panel becomes a judge: its weights are fitted to people without each fold of the instructions, and stored.

It is made of the panel that a study's page shows, of the members to which the fit gives weight. Then it is a judge like any
other: a run, which calls no model, gives its verdicts from those of its members.
"""

from dataclasses import dataclass

import numpy as np
from django.db import IntegrityError, transaction

from accounts.models import Event, User, Workspace
from annotation.models import Criterion, Rater, Score, Study
from calibration.statistics.errors import TooFewRatings
from calibration.statistics.judges.panels import LEAST_JUDGES, weights_by_fold
from core.clock import Clock
from core.errors import UserError
from core.messages.message import Wording
from generation.models import Instruction
from judging.comparison.judge_panel import JudgePanel, judged_alike
from judging.methods.prompts import prompt_hash
from judging.methods.weighted import FOLDS, ITEMS, PREFERENCE, SCORE
from judging.models import Judge, JudgeRun
from judging.runs.fitted_panels import FITTED_IN, FOLDS_WEIGHTS, MEMBERS, WEIGHTS, folds_of
from judging.runs.life_cycle import JUDGING
from judging.runs.planning.plan import open_tasks
from judging.runs.planning.preparation import create_run
from judging.runs.planning.request import RunRequest, Target

DIGITS = 6
LONGEST_NAME = 150

ONE_MEMBER = Wording(
    "panel.one_member",
    "A panel needs at least %(needed)s judges with a weight above 0, and the fit gives one to %(n)s; use one judge alone, "
    "or add judges that say something else.",
)
MIXED_ANSWERS = Wording(
    "panel.mixed_answers",
    "The judges of this panel answer different criteria, so their verdicts have no weighted mean; choose judges that all "
    "give an overall score, or that all answer the checklist.",
)
FEW_IN_FOLD = Wording(
    "panel.few_in_fold",
    "The weights are fitted without each of %(folds)s parts of the instructions. That needs at least 2 instructions, in "
    "different parts, on which people rated two models or more; here all are in one part. Have people rate more "
    "instructions.",
)
NO_JUDGE_IN_FOLD = Wording(
    "panel.no_judge_in_fold",
    "The weights are fitted without each of %(folds)s parts of the instructions. That needs at least 1 judge that goes "
    "with people whichever part is left out; without one of the parts, none does on the others (%(n)s). Add judges that do, "
    "or have people rate more instructions.",
)
NAME_TAKEN = Wording("panel.name_taken", "The name %(name)s belongs to another judge; choose a different name.")


@dataclass(frozen=True)
class MadePanel:
    """The judge, and the run that gives its verdicts in the study; None where it has given them all."""

    judge: Judge
    run: JudgeRun | None


def make_fitted_panel(
    study: Study, report: JudgePanel, *, name: str = "", user: User | None, clock: Clock
) -> MadePanel:
    """Make the panel of the report a judge, or return the one that is there, and begin its run over the study.

    Raises UserError where it would be one judge alone, its judges answer different criteria, or its name is taken.
    """
    kept = [at for at, member in enumerate(report.found.members) if member.slope > 0]
    if len(kept) < LEAST_JUDGES:
        raise UserError(ONE_MEMBER(needed=LEAST_JUDGES, n=len(kept)))
    ids = [report.ids[at] for at in kept]
    raters = {row.public_id: row for row in Rater.objects.filter(public_id__in=ids, workspace=study.workspace_id)}
    members = [raters[one] for one in ids]
    method = PREFERENCE if report.paired else _method(study, members)
    parameters = _parameters(study, report, members)
    with transaction.atomic():
        Workspace.objects.select_for_update(no_key=True).get(pk=study.workspace_id)
        judge = _stored(study, method, parameters, members, name.strip()[:LONGEST_NAME])
        if judge is None:
            judge = _created(study, method, parameters, members, name.strip()[:LONGEST_NAME], user)
        return MadePanel(judge, _run(study, judge, user, clock))


def _method(study: Study, members: list[Rater]) -> str:
    """Return how the members' single responses are scored: all by items, or all overall."""
    roles = Score.objects.filter(
        assignment__rater__in=members,
        assignment__task__response_a__in=study.tasks.values("response_a"),
        assignment__task__kind=study.task_kind,
    )
    by_member: dict[int, set[str]] = {}
    for rater, role in roles.order_by().values_list("assignment__rater", "criterion__role").distinct():
        by_member.setdefault(rater, set()).add(role)
    for method, role in ((ITEMS, Criterion.Role.ITEM), (SCORE, Criterion.Role.OVERALL)):
        if all(role in by_member.get(member.pk, set()) for member in members):
            return method
    raise UserError(MIXED_ANSWERS())


def _parameters(study: Study, report: JudgePanel, members: list[Rater]) -> dict[str, object]:
    given = judged_alike(study, report, members)
    names = Instruction.objects.filter(pk__in=np.unique(np.asarray(given.instructions)).tolist())
    folds = folds_of(dict(names.values_list("pk", "external_id")))
    by_row = np.array([folds[int(pk)] for pk in np.asarray(given.instructions).tolist()], dtype=np.int64)
    try:
        found = weights_by_fold(given, by_row, FOLDS)
    except TooFewRatings as error:
        raise UserError(NO_JUDGE_IN_FOLD(folds=FOLDS, n=error.n) if error.n else FEW_IN_FOLD(folds=FOLDS)) from error
    shares = found / found.sum(axis=1, keepdims=True)
    return {
        MEMBERS: [member.public_id for member in members],
        FOLDS_WEIGHTS: np.round(shares, DIGITS).tolist(),
        WEIGHTS: np.round(shares.mean(axis=0), DIGITS).tolist(),
        FITTED_IN: study.slug,
    }


def _stored(study: Study, method: str, parameters: dict[str, object], members: list[Rater], name: str) -> Judge | None:
    known = Judge.objects.filter(workspace=study.workspace_id, method=method, parameters=parameters)
    if name:
        known = known.filter(rater__label=name)
    return known.select_related("rater").first()


def _created(
    study: Study, method: str, parameters: dict[str, object], members: list[Rater], name: str, user: User | None
) -> Judge:
    label = name or _free_label(study)
    scripted = next((member.provenance for member in members if member.provenance), "")
    try:
        with transaction.atomic():
            rater = Rater.objects.create(
                workspace=study.workspace, kind=Rater.Kind.JUDGE, label=label, provenance=scripted
            )
            judge = Judge.objects.create(
                workspace=study.workspace,
                rater=rater,
                method=method,
                prompt_hash=prompt_hash(""),
                parameters=parameters,
            )
    except IntegrityError as error:
        raise UserError(NAME_TAKEN(name=repr(label))) from error
    judge.jurors.set(Judge.objects.filter(rater__in=members))
    Event.objects.create(
        workspace=study.workspace,
        actor=user,
        verb="judge made",
        object_type="judging.Judge",
        object_id=rater.public_id,
        after={"name": label, "method": method, "members": parameters[MEMBERS], "weights": parameters[WEIGHTS]},
    )
    return judge


def _free_label(study: Study) -> str:
    plain = f"panel fitted in {study.slug}"[:LONGEST_NAME]
    taken = set(
        Rater.objects.filter(workspace=study.workspace_id, kind=Rater.Kind.JUDGE, label__startswith=plain).values_list(
            "label", flat=True
        )
    )
    return next(label for label in (plain, *(f"{plain} {n}" for n in range(2, 1_000))) if label not in taken)


def _run(study: Study, judge: Judge, user: User | None, clock: Clock) -> JudgeRun | None:
    """Begin the run over the study's tasks that the panel has not judged."""
    if not open_tasks(judge, study).exists():
        return None
    run = create_run(RunRequest(Target(study=study), (judge,), probe=False, user=user))
    JUDGING.start(run, clock=clock, user=user)
    JUDGING.hand_over(run)
    return run
