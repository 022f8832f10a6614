"""What waits for a lead on the dashboard: each flag with what it speaks of and the one thing to do about it.

What changes nobody's work is done by a button at once. Everything else leads to the page that shows what it means and
asks, from which the lead comes back to the dashboard.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, QuerySet, Window
from django.urls import reverse
from django.utils.translation import gettext as _, ngettext

from annotation.assignment.rater_status import APPEAL, cause_words
from annotation.masking.scan import SELF_NAMING, is_decided
from annotation.models import Assignment, Flag, Rater, Standing, Study, Task
from annotation.monitoring.skipped_tasks import SkippedTask, skipped_by_all
from annotation.recruitment.participants import waiting_requests

SHOWN_OF_A_KIND = 5
FLAG_LENGTH = 240


@dataclass(frozen=True)
class Action:
    """What to do about a flag: a form that sends `field` = `value` to the address, or a link to it without a field."""

    label: str
    address: str
    field: str = ""
    value: str = ""


@dataclass(frozen=True)
class Waiting:
    """One flag: what `words` say of a rater or a task, since when, and the action of those who lead the study."""

    words: str
    action: Action
    rater: Rater | None = None
    task: Task | None = None
    at: datetime | None = None


@dataclass(frozen=True)
class Attention:
    """What needs the lead's attention: how much of each kind, and the newest of each kind with its action."""

    flags: list[Waiting]
    notes_open: int
    appeals: int
    stopped: int
    skipped: int
    naming: int = 0
    browsers: int = 0

    def __bool__(self) -> bool:
        waiting = (self.notes_open, self.appeals, self.stopped, self.skipped, self.naming, self.browsers)
        return any(waiting)


def asking(study: Study, rater: Rater | str, what: str, anchor: str = "actions") -> str:
    """The address of a rater's page with one action open, from which the lead comes back to the dashboard."""
    public_id = rater if isinstance(rater, str) else rater.public_id
    return f"{reverse('annotation:rater', args=[study, public_id])}?do={what}&next=desk#{anchor}"


def attention_of(study: Study, *, can_lead: bool) -> Attention:
    """Count notes, appeals, stopped raters, skipped tasks, self-revealing responses and, for leads, browser requests.

    At most twelve queries.
    """
    open_flags = Flag.objects.filter(task__study=study, resolved_at=None)
    kinds = dict(open_flags.order_by().values_list("kind").annotate(Count("pk")))
    appeals, naming = kinds.pop(APPEAL, 0), kinds.pop(SELF_NAMING, 0)
    stopped = Standing.objects.filter(
        rater__study=study, state__in=[Standing.State.PAUSED, Standing.State.FAILED]
    ).select_related("rater")
    newest = list(stopped.annotate(of=Window(Count("pk"))).order_by("-changed_at", "-pk")[:SHOWN_OF_A_KIND])
    number_stopped = vars(newest[0])["of"] if newest else 0
    skipped = skipped_by_all(study)
    requests = waiting_requests(study) if can_lead else []
    listed = [
        *(_browser(study, one.participant.rater, one.number, one.at) for one in requests[:SHOWN_OF_A_KIND]),
        *(_appeals(study, open_flags.filter(kind=APPEAL)) if appeals else ()),
        *(_stopped(study, newest) if newest else ()),
        *(_notes(study, open_flags.exclude(kind__in=[APPEAL, SELF_NAMING])) if kinds else ()),
        *(_skipped(study, one) for one in skipped[:SHOWN_OF_A_KIND]),
    ]
    return Attention(
        flags=listed,
        notes_open=sum(kinds.values()),
        appeals=appeals,
        stopped=number_stopped,
        skipped=len(skipped),
        naming=0 if is_decided(study) else naming,
        browsers=len(requests),
    )


def _browser(study: Study, rater: Rater, number: str, at: datetime) -> Waiting:
    words = _("asks to continue in another browser (request %(number)s)") % {"number": number}
    address = reverse("annotation:cohorts", args=[study]) + "#browsers"
    return Waiting(words, Action(_("Decide"), address), rater=rater, at=at)


def _appeals(study: Study, appeals: QuerySet[Flag]) -> list[Waiting]:
    return [
        Waiting(
            _("appeals against having been stopped"),
            Action(_("Read and decide"), f"{reverse('annotation:rater', args=[study, one.rater.public_id])}#actions"),
            rater=one.rater,
            at=one.created_at,
        )
        for one in appeals.select_related("rater")[:SHOWN_OF_A_KIND]
        if one.rater is not None
    ]


def _stopped(study: Study, newest: Sequence[Standing]) -> list[Waiting]:
    """Stopped raters, the latest first. Where one still has tasks open, those are the matter: others can rate them."""
    raters = [one.rater_id for one in newest]
    waiting = Assignment.objects.filter(rater__in=raters, status=Assignment.Status.OPEN, seat__isnull=False)
    opened = dict(waiting.order_by().values_list("rater").annotate(Count("pk")))
    found = []
    for standing in newest:
        rater, tasks = standing.rater, opened.get(standing.rater_id, 0)
        state = str(standing.get_state_display())
        if tasks:
            words = ngettext(
                "is stopped (%(state)s) and still has %(n)s task open",
                "is stopped (%(state)s) and still has %(n)s tasks open",
                tasks,
            ) % {"state": state, "n": tasks}
            action = Action(_("Give to others"), asking(study, rater, "release"))
        else:
            cause = cause_words(standing)
            words = _("is stopped (%(state)s)") % {"state": state} + (f": {cause}" if cause else "")
            action = Action(
                _("Resume"), reverse("annotation:change_rater", args=[study, rater.public_id]), "do", "resume"
            )
        found.append(Waiting(words, action, rater=rater, at=standing.changed_at))
    return found


def _notes(study: Study, notes: QuerySet[Flag]) -> list[Waiting]:
    newest = notes.select_related("task__response_a__instruction", "rater")[:SHOWN_OF_A_KIND]
    return [
        Waiting(
            one.text if len(one.text) <= FLAG_LENGTH else one.text[: FLAG_LENGTH - 1] + "…",
            Action(_("Mark as resolved"), reverse("annotation:settle_flag", args=[study, one.pk]), "resolved", "yes"),
            rater=one.rater,
            task=one.task,
            at=one.created_at,
        )
        for one in newest
    ]


def _skipped(study: Study, skipped: SkippedTask) -> Waiting:
    words = ngettext(
        "Nobody has rated this task, and %(n)s rater skipped it:",
        "Nobody has rated this task, and %(n)s raters skipped it:",
        skipped.skips,
    ) % {"n": skipped.skips}
    address = reverse("annotation:attention", args=[study]) + "#skipped"
    return Waiting(words, Action(_("Remove from study"), address), task=skipped.task)
