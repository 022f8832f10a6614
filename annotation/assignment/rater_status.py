"""Training, qualification and pausing: whether a rater may go on, and the way back for one who may not.

Policies read here: "training" (true: training tasks come first, with feedback), "qualification" ({"of": 10, "pass":
9}: then 10 qualification tasks, of which 9 must be answered as expected), and "checks" (see check_plan). A
stopped rater is told why and may appeal; the lead can let them continue with one click.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from random import Random

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from accounts.models import Event, User
from annotation.assignment.attention_checks import check_tasks, missed_in, unseen_by
from annotation.models import Assignment, CheckOutcome, Criterion, Flag, Rater, Standing, Study, Task
from annotation.policies.policies import CONTROL, GOLD, Policies
from annotation.policies.quality_checks import QUALIFICATION, TRAINING, pausing_rule
from core.clock import Clock
from core.errors import UserError
from generation.webhooks.events import EventName, announce_of_study

APPEAL = "appeal"
CLOSED = "closed"
LATEST_STOP = 5
"""Failed checks stop a rater one to this many tasks later, so that the pause does not reveal the checked task."""
LONGEST_APPEAL = 4000


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
    PACE = "pace"


def cause_words(standing: Standing | None) -> str:
    """Why a rater is stopped, worded for a lead; '' if they are not stopped."""
    if standing is None or not standing.cause:
        return ""
    return {
        Cause.CHECKS: _("too many failed checks"),
        Cause.QUALIFICATION: _("qualification not passed"),
        Cause.LEAD: _("paused by a lead"),
        Cause.PACE: _("answered faster than the texts can be read"),
    }.get(Cause(standing.cause), standing.cause)


def standing_of(rater: Rater) -> Standing | None:
    """The rater's status row; None if the study never asked anything of them."""
    try:
        return rater.standing
    except Standing.DoesNotExist:
        return None


def ensure_standing(rater: Rater) -> Standing:
    """The rater's status row, created if there is none yet."""
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
    """(items, correct answers needed) of the study's qualification; None if it has none. Raises BadPolicy."""
    rule = Policies.of(study).checked("qualification").qualification
    return (rule.of, rule.needed) if rule else None


def stage_of(rater: Rater, study: Study) -> Stage:
    """The rater's next stage in the study; makes no query if the study has neither training nor qualification."""
    trains, mark = Policies.of(study).training, pass_mark(study)
    if not trains and mark is None:
        return Stage.RATING
    standing = ensure_standing(rater)
    if trains and standing.trained_at is None:
        return Stage.TRAINING
    if mark is not None and standing.qualified_at is None:
        return Stage.QUALIFICATION
    return Stage.RATING


def too_late(rater: Rater, study: Study) -> str:
    """Why the rater's answers do not count now: "closed", or the state in which they are stopped; '' if they count.

    A lead's decisions and imported answers are not a rater's work, so they count in a closed study too.
    """
    if rater.kind != Rater.Kind.PERSON:
        return ""
    if is_stopped(rater):
        return str(rater.standing.state)
    return CLOSED if study.status == Study.Status.CLOSED else ""


def late_note(rater: Rater, study: Study) -> str:
    """A message for a rater whose next answer or change will not count; '' if it counts."""
    match too_late(rater, study):
        case "":
            return ""
        case "closed":
            return _("The study is closed. What you send now is kept, but it does not count in the results.")
        case _state:
            return _(
                "Your work in this study is paused. What you send now is kept, but it does not count in the results."
            )


def is_stopped(rater: Rater) -> bool:
    """Whether the rater gets no tasks until the lead lets them continue."""
    standing = standing_of(rater)
    stopped = (Standing.State.PAUSED, Standing.State.FAILED, Standing.State.SCREENED_OUT)
    return standing is not None and standing.state in stopped


def task_of_stage(rater: Rater, study: Study, stage: Stage) -> Task | None:
    """The next task of training or qualification; if the stage is complete, close it and return None."""
    if stage is Stage.QUALIFICATION:
        mark = pass_mark(study)
        assert mark is not None
        had = Assignment.objects.filter(rater=rater, conditions__has_key=QUALIFICATION).count()
        following = unseen_by(rater, check_tasks(study, QUALIFICATION)).first() if had < mark[0] else None
    else:
        following = unseen_by(rater, check_tasks(study, TRAINING)).first()
    return following


def close_stage(rater: Rater, study: Study, stage: Stage, *, clock: Clock) -> None:
    """Record in the status row that training is over, or the result of the qualification."""
    standing = ensure_standing(rater)
    if stage is Stage.TRAINING:
        standing.trained_at = clock()
    elif stage is Stage.QUALIFICATION:
        mark = pass_mark(study)
        assert mark is not None
        items = check_tasks(study, QUALIFICATION).count()
        outcomes = CheckOutcome.objects.filter(assignment__rater=rater, purpose=QUALIFICATION)
        # If the study has fewer items than required, the same share of them must be answered as expected.
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
    assignment: Assignment, criteria: Iterable[Criterion], values: Mapping[str, float | None], *, clock: Clock
) -> CheckOutcome:
    """Check the first answer to a task with a known answer, and decide on a pause after too many failures.

    Later changes of the answer are not checked, so that nobody can find out which tasks are checks by changing answers.
    """
    purpose = str((assignment.task.gold or {}).get("purpose", GOLD))
    missed = missed_in(assignment, criteria, values)
    outcome = CheckOutcome.objects.create(assignment=assignment, purpose=purpose, passed=not missed, missed=missed)
    if purpose in (GOLD, CONTROL) and missed:
        _stop_at_failures(assignment)
    return outcome


def _stop_at_failures(assignment: Assignment) -> None:
    """After too many failures, draw the task after which `stop_when_due` pauses the rater."""
    rater, study = assignment.rater, assignment.task.study
    rule = pausing_rule(study)
    standing = ensure_standing(rater)
    latest = CheckOutcome.objects.filter(
        assignment__rater=rater, purpose__in=[GOLD, CONTROL], assignment__gt=standing.checks_after
    ).order_by("-assignment")[: rule.window]
    if standing.stops_at is not None or is_stopped(rater):
        return
    if sum(not outcome.passed for outcome in latest) >= rule.failed:
        drawn = Random(f"{study.seed}:{rater.pk}:{assignment.pk}:stop")
        standing.stops_at = (assignment.order or 0) + drawn.randint(1, LATEST_STOP)
        standing.save(update_fields=["stops_at", "changed_at"])


def stop_is_due(rater: Rater, following: int | None = None) -> bool:
    """Whether a pause is due: `following`, the number of the rater's next task, is past the task drawn for the pause.

    Without `following` there is no next task, so the pause begins.
    """
    standing = standing_of(rater)
    if standing is None or standing.stops_at is None or is_stopped(rater):
        return False
    return following is None or following > standing.stops_at


def stop_when_due(rater: Rater, following: int | None = None) -> bool:
    """Begin a pause that is due; no query for a rater without a pending pause."""
    due = stop_is_due(rater, following)
    if due:
        stop(rater, Cause.CHECKS)
    return due


def stop(rater: Rater, cause: Cause) -> None:
    """Pause a rater automatically, and log it."""
    standing = ensure_standing(rater)
    before = _state(standing)
    standing.state, standing.cause, standing.stops_at = Standing.State.PAUSED, cause, None
    with transaction.atomic():
        standing.save()
        _log(rater, None, "pause_rater", before, _state(standing))
        _announce_pause(rater, cause, before)


def pause(rater: Rater, *, message: str, by: User | None) -> None:
    """Stop the rater's work with a message for them, and log it."""
    standing = ensure_standing(rater)
    before = _state(standing)
    standing.state, standing.cause, standing.message = Standing.State.PAUSED, Cause.LEAD, message.strip()
    with transaction.atomic():
        standing.save()
        _log(rater, by, "pause_rater", before, _state(standing))
        _announce_pause(rater, Cause.LEAD, before)


def _announce_pause(rater: Rater, cause: Cause, before: Mapping[str, str]) -> None:
    if rater.study is not None and before.get("state") != Standing.State.PAUSED:
        about = {"rater": {"id": rater.public_id, "pseudonym": rater.pseudonym}, "cause": str(cause)}
        announce_of_study(rater.study, EventName.RATER_PAUSED, about)


def resume(rater: Rater, *, clock: Clock, by: User | None) -> None:
    """Let a stopped rater continue: waive a failed qualification, disregard earlier failures and close appeals."""
    standing = ensure_standing(rater)
    before = _state(standing)
    if standing.state == Standing.State.FAILED:
        standing.qualified_at = clock()
    latest = Assignment.objects.filter(rater=rater).order_by("-pk").values_list("pk", flat=True).first()
    standing.checks_after = latest or 0
    standing.state, standing.cause, standing.message = Standing.State.RATING, "", ""
    standing.stops_at, standing.fast_in_a_row, standing.told_fast_at = None, 0, None
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
    """Send the rater's appeal to the lead; at most one open appeal per rater. Raises UserError."""
    if not is_stopped(rater):
        raise UserError(_("You can continue rating, so there is nothing to appeal."))
    latest = Assignment.objects.filter(rater=rater).order_by("-pk").select_related("task").first()
    task = latest.task if latest else Task.objects.filter(study=rater.study_id).order_by("pk").first()
    if task is None:
        raise UserError(_("The study has no tasks yet. Contact its lead."))
    with transaction.atomic():
        Flag.objects.filter(rater=rater, kind=APPEAL, resolved_at=None).delete()
        return Flag.objects.create(task=task, rater=rater, kind=APPEAL, text=text.strip()[:LONGEST_APPEAL])


def why_stopped(rater: Rater) -> str:
    """A message that tells the rater why they are stopped; '' if they are not."""
    standing = standing_of(rater)
    if standing is None or not is_stopped(rater):
        return ""
    if standing.message:
        return standing.message
    match standing.state, standing.cause:
        case Standing.State.SCREENED_OUT, _cause:
            return _(
                "You did not take part in this study. Only your participant ID is kept, in an unreadable form, so "
                "that you are not invited twice."
            )
        case Standing.State.FAILED, _cause:
            return _("Too many of your answers in the qualification differed from the agreed answers.")
        case _state, Cause.PACE:
            return _(
                "You gave several answers faster than their texts can be read, even after a warning. Read each text "
                "before you answer. If there was another reason, tell the lead."
            )
        case _state, Cause.CHECKS:
            return _(
                "Some of your latest tasks had known answers, and several of your answers differed from them. This "
                "happens to careful people too. Read the guideline again and tell the lead what you think."
            )
    return _("The lead has paused your work in this study.")
