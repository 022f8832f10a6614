"""Training, qualification and pausing: whether a rater may go on, and the way back for one who may not.

Policies read here: "training" (true: tasks marked so come first, with feedback), "qualification" ({"of": 10, "pass":
9}: then as many of the tasks marked so, of which that many must be as expected), and "checks" (see check_plan). A
rater who is stopped is told why, may appeal, and is let in again by the lead with one click.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from enum import StrEnum

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from accounts.models import Event, User
from accounts.sentences import Wording
from annotation.check_plan import CONTROL, GOLD, QUALIFICATION, TRAINING, BadPolicy, pausing_rule
from annotation.controls import check_tasks, missed_in, unseen_by
from annotation.models import Assignment, CheckOutcome, Criterion, Flag, Rater, Standing, Study, Task

Clock = Callable[[], datetime]

APPEAL = "appeal"
LONGEST_APPEAL = 4000


BAD_QUALIFICATION = Wording(
    "Study %(study)s: qualification %(value)s needs whole numbers, pass from 1 to of."
)


class Stage(StrEnum):
    """What a rater's next task is for."""

    TRAINING = "training"
    QUALIFICATION = "qualification"
    RATING = "rating"


class Cause(StrEnum):
    """Why a rater was stopped."""

    CHECKS = "checks"
    QUALIFICATION = "qualification"
    LEAD = "lead"


class CannotAppeal(Exception):
    """There is nothing to appeal against, or no task to which the appeal could be kept."""


def standing_of(rater: Rater) -> Standing | None:
    """The rater's standing, or None for one of whom nothing was ever asked."""
    try:
        return rater.standing
    except Standing.DoesNotExist:
        return None


def ensure_standing(rater: Rater) -> Standing:
    """The rater's standing, made where there is none yet."""
    standing = standing_of(rater)
    if standing is None:
        try:
            with transaction.atomic():
                standing = Standing.objects.create(rater=rater)
        except IntegrityError:
            standing = Standing.objects.get(rater=rater)
        rater.standing = standing
    return standing


def pass_mark(study: Study) -> tuple[int, int] | None:
    """(items, of which as expected) of the study's qualification; None where it has none. Raises BadPolicy."""
    rule = study.policies.get("qualification")
    if not rule:
        return None
    of, needed = rule.get("of", 10), rule.get("pass", 9)
    if not all(isinstance(n, int) and not isinstance(n, bool) for n in (of, needed)) or not 1 <= needed <= of:
        raise BadPolicy(BAD_QUALIFICATION(study=study.slug, value=repr(rule)))
    return of, needed


def stage_of(rater: Rater, study: Study) -> Stage:
    """What the rater does next in the study; costs no query where the study asks nothing first."""
    trains, mark = bool(study.policies.get("training")), pass_mark(study)
    if not trains and mark is None:
        return Stage.RATING
    standing = ensure_standing(rater)
    if trains and standing.trained_at is None:
        return Stage.TRAINING
    if mark is not None and standing.qualified_at is None:
        return Stage.QUALIFICATION
    return Stage.RATING


def is_stopped(rater: Rater) -> bool:
    """Whether the rater may get no task until the lead lets them in again."""
    standing = standing_of(rater)
    stopped = (Standing.State.PAUSED, Standing.State.FAILED, Standing.State.SCREENED_OUT)
    return standing is not None and standing.state in stopped


def task_of_stage(rater: Rater, study: Study, stage: Stage) -> Task | None:
    """The next task of training or qualification; None, and the stage is closed, where it is complete."""
    if stage is Stage.QUALIFICATION:
        mark = pass_mark(study)
        assert mark is not None
        had = Assignment.objects.filter(rater=rater, conditions__has_key=QUALIFICATION).count()
        following = unseen_by(rater, check_tasks(study, QUALIFICATION)).first() if had < mark[0] else None
    else:
        following = unseen_by(rater, check_tasks(study, TRAINING)).first()
    return following


def close_stage(rater: Rater, study: Study, stage: Stage, *, clock: Clock) -> None:
    """Enter into the standing that training is over, or how the qualification went."""
    standing = ensure_standing(rater)
    if stage is Stage.TRAINING:
        standing.trained_at = clock()
    elif stage is Stage.QUALIFICATION:
        mark = pass_mark(study)
        assert mark is not None
        items = check_tasks(study, QUALIFICATION).count()
        outcomes = CheckOutcome.objects.filter(assignment__rater=rater, purpose=QUALIFICATION)
        # A study with fewer items than it asks for is held to the share that its mark means.
        needed = mark[1] if items >= mark[0] else -(-mark[1] * items // mark[0])
        if outcomes.filter(passed=True).count() >= needed:
            standing.qualified_at = clock()
        else:
            before = _state(standing)
            standing.state, standing.cause = Standing.State.FAILED, Cause.QUALIFICATION
            with transaction.atomic():
                standing.save()
                _log(rater, None, "not_qualified", before, _state(standing))
            return
    if stage_of(rater, study) is Stage.RATING and standing.state == Standing.State.JOINING:
        standing.state = Standing.State.RATING
    standing.save()


def note_check(
    assignment: Assignment,
    criteria: Iterable[Criterion],
    values: Mapping[str, float | None],
    *,
    clock: Clock,
) -> CheckOutcome:
    """Mark an answer to a task with a known answer, and pause its rater at too many failures.

    In training and qualification the first answer counts; in gold items and controls, a later change too.
    """
    purpose = str((assignment.task.gold or {}).get("purpose", GOLD))
    found = CheckOutcome.objects.filter(assignment=assignment).first()
    if found is not None and purpose in (TRAINING, QUALIFICATION):
        return found
    missed = missed_in(assignment, criteria, values)
    outcome = found or CheckOutcome(assignment=assignment)
    outcome.purpose, outcome.passed, outcome.missed = purpose, not missed, missed
    outcome.save()
    if purpose in (GOLD, CONTROL) and missed:
        _pause_at_failures(assignment.rater, assignment.task.study)
    return outcome


def _pause_at_failures(rater: Rater, study: Study) -> None:
    window, failed = pausing_rule(study)
    standing = ensure_standing(rater)
    latest = CheckOutcome.objects.filter(
        assignment__rater=rater, purpose__in=[GOLD, CONTROL], assignment__gt=standing.checks_after
    ).order_by("-assignment")[:window]
    if sum(not outcome.passed for outcome in latest) >= failed and not is_stopped(rater):
        before = _state(standing)
        standing.state, standing.cause = Standing.State.PAUSED, Cause.CHECKS
        with transaction.atomic():
            standing.save()
            _log(rater, None, "pause_rater", before, _state(standing))


def pause(rater: Rater, *, message: str, by: User | None) -> None:
    """Stop the rater's work, with a message that they read; entered into the log."""
    standing = ensure_standing(rater)
    before = _state(standing)
    standing.state, standing.cause, standing.message = Standing.State.PAUSED, Cause.LEAD, message.strip()
    with transaction.atomic():
        standing.save()
        _log(rater, by, "pause_rater", before, _state(standing))


def resume(rater: Rater, *, clock: Clock, by: User | None) -> None:
    """Let a stopped rater go on; a failed qualification is waived, earlier failures count no more, appeals close."""
    standing = ensure_standing(rater)
    before = _state(standing)
    if standing.state == Standing.State.FAILED:
        standing.qualified_at = clock()
    latest = Assignment.objects.filter(rater=rater).order_by("-pk").values_list("pk", flat=True).first()
    standing.checks_after = latest or 0
    standing.state, standing.cause, standing.message = Standing.State.RATING, "", ""
    with transaction.atomic():
        standing.save()
        Flag.objects.filter(rater=rater, kind=APPEAL, resolved_at=None).update(resolved_at=clock())
        _log(rater, by, "resume_rater", before, _state(standing))


def _state(standing: Standing) -> dict[str, str]:
    kept = {"state": standing.state, "cause": standing.cause, "message": standing.message}
    return {name: str(value) for name, value in kept.items() if value}


def _log(rater: Rater, by: User | None, verb: str, before: dict[str, str], after: dict[str, str]) -> None:
    Event.objects.create(
        workspace_id=rater.workspace_id,
        actor=by,
        verb=verb,
        object_type="rater",
        object_id=rater.public_id,
        before=before,
        after=after,
    )


def appeal(rater: Rater, text: str) -> Flag:
    """Tell the lead why the rater should go on; one open appeal a rater. Raises CannotAppeal."""
    if not is_stopped(rater):
        raise CannotAppeal(_("You can go on rating; there is nothing to appeal against."))
    latest = Assignment.objects.filter(rater=rater).order_by("-pk").select_related("task").first()
    task = latest.task if latest else Task.objects.filter(study=rater.study_id).order_by("pk").first()
    if task is None:
        raise CannotAppeal(_("The study has no tasks yet; write to its lead."))
    with transaction.atomic():
        Flag.objects.filter(rater=rater, kind=APPEAL, resolved_at=None).delete()
        return Flag.objects.create(task=task, rater=rater, kind=APPEAL, text=text.strip()[:LONGEST_APPEAL])


def why_stopped(rater: Rater) -> str:
    """A sentence for the rater that says why they are stopped, '' where they are not."""
    standing = standing_of(rater)
    if standing is None or not is_stopped(rater):
        return ""
    if standing.message:
        return standing.message
    match standing.state, standing.cause:
        case Standing.State.SCREENED_OUT, _cause:
            return _(
                "You did not take part in this study. What is kept is your participant id in an unreadable form, so that "
                "you are not invited twice."
            )
        case Standing.State.FAILED, _cause:
            return _(
                "Your answers to the qualification were too often not the ones agreed on for those texts."
            )
        case _state, Cause.CHECKS:
            return _(
                "Among your latest tasks were some whose answer is known, and several of your answers differed from "
                "it. This happens to careful people too. Read the guideline once more and tell the lead what you think."
            )
    return _("The lead has paused your work in this study.")
