"""A lead leaves a rater's answers out of results, with a reason, and takes the decision back; both are logged."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Count, OuterRef, Q, Subquery
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import Event, User
from annotation.answers.excluded import TakenBack, covered, set_aside, take_back
from annotation.models import Assignment, Exclusion, Rater, Seat, Study, Task
from core.clock import Clock
from core.errors import UserError

LONGEST_REASON = 1000


@dataclass(frozen=True)
class Touched:
    """What an exclusion takes: `answers` that count (repeats and checks in), their `tasks`, and `seats` to be filled."""

    answers: int
    tasks: int
    seats: int


@dataclass(frozen=True)
class ExcludedAnswers:
    """The numbers of excluded answers and of their raters; `by_source` are those that an import left out of results."""

    answers: int
    raters: int
    by_source: int = 0


def excluded_in(**where: Any) -> ExcludedAnswers:
    """Count excluded answers to ordinary tasks, such as `task__study=study`; one query."""
    excluded = Assignment.objects.filter(status=Assignment.Status.EXCLUDED)
    study = where.pop("task__study", None)
    # The task of each excluded answer is looked up; joined, the database would read every task of the study.
    ordinary = Task.objects.filter(pk=OuterRef("task"), gold__isnull=True).values("study")
    found = (
        excluded.alias(of=Subquery(ordinary)).filter(of=study) if study else excluded.filter(task__gold__isnull=True)
    )
    found = found.filter(**where)
    return ExcludedAnswers(
        **found.aggregate(
            answers=Count("pk"),
            raters=Count("rater", distinct=True),
            # A lead's decision leaves no reason in the answer; it stands in the Exclusion.
            by_source=Count("pk", filter=~Q(reason="")),
        )
    )


def routed_in(**where: Any) -> int:
    """Count people's answers that no statistic but a draw's own estimate counts, such as `task__study=study`; one query."""
    drawn = Assignment.objects.of_people().filter(task__drawing_probability__isnull=False, repeat=0, **where)
    return drawn.filter(status=Assignment.Status.SUBMITTED).count()


def preview_exclusion(rater: Rater, since: datetime | None) -> Touched:
    """Count what excluding the rater's answers would touch; one query."""
    found = covered(rater, since).aggregate(
        answers=Count("pk"),
        tasks=Count("task", distinct=True),
        seats=Count("pk", filter=Q(seat__state=Seat.State.TAKEN)),
    )
    return Touched(**found)


def exclusions_changed_since(study: Study, moment: datetime) -> bool:
    """Whether answers of the study were excluded, or an exclusion lifted, after this moment."""
    return study.exclusions.filter(Q(at__gt=moment) | Q(lifted_at__gt=moment)).exists()


def standing_exclusion(rater: Rater) -> Exclusion | None:
    return Exclusion.objects.standing().filter(rater=rater).select_related("by").first()


def exclude(
    study: Study, rater: Rater, *, since: datetime | None, reason: str, by: User | None, clock: Clock = timezone.now
) -> Exclusion:
    """Exclude the rater's answers from results, all or those since a moment, the later ones too; free their seats.

    Raises UserError.
    """
    reason = reason.strip()
    if rater.kind != Rater.Kind.PERSON or rater.study_id != study.pk:
        raise UserError(
            _(
                "Only the answers of this study's own raters can be excluded; a judge is left out by the choice of judges."
            )
        )
    if not reason:
        raise UserError(_("Give a reason; it stays in the study's history and in its export."))
    if len(reason) > LONGEST_REASON:
        raise UserError(_("The reason is too long; shorten it to %(most)d characters.") % {"most": LONGEST_REASON})
    if since is not None and since > clock():
        raise UserError(_("This moment is in the future; choose an earlier one, or exclude all answers."))
    try:
        with transaction.atomic():
            exclusion = Exclusion.objects.create(study=study, rater=rater, since=since, reason=reason, by=by)
            touched = preview_exclusion(rater, since)
            set_aside(exclusion)
            _log(rater, by, "exclude_answers", after=_said(exclusion) | vars(touched))
    except IntegrityError as error:
        raise UserError(
            _("This rater's answers are already excluded; lift that exclusion first to make another one.")
        ) from error
    set_aside(exclusion)
    return exclusion


def lift(exclusion: Exclusion, *, by: User | None, clock: Clock = timezone.now) -> TakenBack:
    """Let the answers count again. Those whose seats others have taken make their tasks' overlap larger than planned.

    Raises UserError if somebody has lifted it before.
    """
    rater = exclusion.rater
    with transaction.atomic():
        now = clock()
        standing = Exclusion.objects.standing().filter(pk=exclusion.pk)
        if not standing.update(lifted_at=now, lifted_by=by):
            raise UserError(_("This exclusion has already been lifted."))
        exclusion.lifted_at, exclusion.lifted_by = now, by
        back = take_back(rater)
        after = {"answers": back.answers, "without_seat": back.unseated}
        _log(rater, by, "lift_exclusion", before=_said(exclusion), after=after)
    again = take_back(rater)
    return TakenBack(back.answers + again.answers, back.unseated + again.unseated)


def _said(exclusion: Exclusion) -> dict[str, Any]:
    since = exclusion.since.isoformat() if exclusion.since else None
    return {"exclusion": exclusion.public_id, "reason": exclusion.reason, "since": since}


def _log(rater: Rater, by: User | None, verb: str, *, before: Any = None, after: Any = None) -> None:
    Event.objects.create(
        workspace_id=rater.workspace_id,
        actor=by,
        verb=verb,
        object_type="rater",
        object_id=rater.public_id,
        before=before,
        after=after,
    )
