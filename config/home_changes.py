"""What waits for a lead, and what has changed since the last visit to the start page."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Exists, OuterRef
from django.urls import reverse
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext, ngettext

from accounts.models import Event, User
from accounts.permissions import workspaces_read_by
from annotation.assignment.rater_status import APPEAL
from annotation.masking.scan import SELF_NAMING
from annotation.models import Flag, Rater, Standing, Study
from calibration.models import Fit, Report
from calibration.reports.agreement import AGREEMENT
from calibration.reports.raters import RATERS
from generation.models import GenerationRun
from judging.models import JudgeRun

A_VISIT = timedelta(minutes=30)
"""Pages opened within so long of each other are one visit."""
FIRST_VISIT = timedelta(days=7)
MOST_CHANGES = 8
MOST_EVENTS = 50
VISITS = "home_visits"
"""In a user's preferences: {"last": when the page was last opened, "since": the end of the visit before}."""
RUN_VERBS = ("finished", "paused", "failed")
RATER_VERBS = ("pause_rater", "not_qualified")


@dataclass(frozen=True)
class Change:
    """Something that happened, in a sentence, and the page that shows it."""

    at: datetime
    words: str
    address: str


@dataclass(frozen=True)
class Waiting:
    """What waits for a lead in one study."""

    study: Study
    words: str
    address: str


def note_visit(user: User, now: datetime) -> datetime:
    """Note that the start page is opened, and return the end of the visit before this one."""
    kept = dict(user.preferences.get(VISITS) or {})
    last = parse_datetime(kept.get("last") or "")
    since = parse_datetime(kept.get("since") or "") or now - FIRST_VISIT
    if last is not None and now - last > A_VISIT:
        since = last
    if last is None or now - last > timedelta(minutes=1):
        user.preferences = {**user.preferences, VISITS: {"last": now.isoformat(), "since": since.isoformat()}}
        User.objects.filter(pk=user.pk).update(preferences=user.preferences)
    return since


def changes_since(user: User, since: datetime) -> list[Change]:
    """List what happened in the workspaces that the user may read, latest first. At most six queries."""
    found = [*_events(user, since), *_reports(user, since)]
    return sorted(found, key=lambda change: change.at, reverse=True)[:MOST_CHANGES]


def waiting_in(studies: Sequence[Study]) -> list[Waiting]:
    """List appeals, notes and stopped raters of the studies, by study; two queries."""
    known = {study.pk: study for study in studies}
    parts: dict[int, list[str]] = {}
    flags = Flag.objects.filter(task__study__in=known, resolved_at=None).exclude(kind=SELF_NAMING).order_by()
    counted: dict[int, dict[bool, int]] = {}
    for pk, kind, n in flags.values_list("task__study", "kind").annotate(Count("pk")):
        of_study = counted.setdefault(pk, {})
        of_study[kind == APPEAL] = of_study.get(kind == APPEAL, 0) + n
    for pk, numbers in counted.items():
        if n := numbers.get(True):
            parts.setdefault(pk, []).append(ngettext("%(n)s appeal", "%(n)s appeals", n) % {"n": n})
        if n := numbers.get(False):
            parts.setdefault(pk, []).append(ngettext("%(n)s note", "%(n)s notes", n) % {"n": n})
    stopped = Standing.objects.filter(
        rater__study__in=known, state__in=[Standing.State.PAUSED, Standing.State.FAILED]
    ).order_by()
    for pk, n in stopped.values_list("rater__study").annotate(Count("pk")):
        parts.setdefault(pk, []).append(ngettext("%(n)s rater stopped", "%(n)s raters stopped", n) % {"n": n})
    return [
        Waiting(known[pk], gettext(", ").join(words), reverse("annotation:attention", args=[known[pk]]))
        for pk, words in sorted(parts.items(), key=lambda one: list(known).index(one[0]))
    ]


def _events(user: User, since: datetime) -> list[Change]:
    kinds = {model: f"{model._meta.verbose_name} " for model in (JudgeRun, GenerationRun)}
    verbs = [begin + verb for begin in kinds.values() for verb in RUN_VERBS]
    events = Event.objects.filter(
        workspace__in=workspaces_read_by(user), at__gt=since, verb__in=[*verbs, *RATER_VERBS, "fitted"]
    )
    newest: dict[tuple[str, str], Event] = {}
    for event in events[:MOST_EVENTS]:
        newest.setdefault((event.object_type, event.object_id), event)
    ids = [object_id for _type, object_id in newest]
    rows: dict[str, Any] = {}
    if any(event.verb.startswith(kinds[JudgeRun]) for event in newest.values()):
        rows |= _by_id(JudgeRun.objects.filter(public_id__in=ids).select_related("judge__rater", "study"))
    if any(event.verb.startswith(kinds[GenerationRun]) for event in newest.values()):
        rows |= _by_id(GenerationRun.objects.filter(public_id__in=ids).select_related("benchmark"))
    if any(event.verb in RATER_VERBS for event in newest.values()):
        rows |= _by_id(Rater.objects.filter(public_id__in=ids).select_related("study__workspace"))
    if any(event.verb == "fitted" for event in newest.values()):
        fits = Fit.objects.filter(public_id__in=ids, kind=Fit.Kind.FITTED)
        rows |= _by_id(fits.select_related("study__workspace"))
    return [
        _of_event(event, rows[event.object_id])
        for event in newest.values()
        if event.object_id in rows and getattr(rows[event.object_id], "study", True) is not None
    ]


def _by_id(rows: Any) -> dict[str, Any]:
    return {row.public_id: row for row in rows}


def _of_event(event: Event, row: Any) -> Change:
    if isinstance(row, JudgeRun):
        values = {"judge": row.judge.rater.name, "study": row.study.name}
        words = {
            "finished": gettext("The run of %(judge)s in %(study)s has finished."),
            "paused": gettext("The run of %(judge)s in %(study)s is paused."),
            "failed": gettext("The run of %(judge)s in %(study)s has failed."),
        }[event.verb.rpartition(" ")[2]]
        return Change(event.at, words % values, reverse("judging:run", args=[row.public_id]))
    if isinstance(row, GenerationRun):
        words = {
            "finished": gettext("The generation run for %(benchmark)s has finished."),
            "paused": gettext("The generation run for %(benchmark)s is paused."),
            "failed": gettext("The generation run for %(benchmark)s has failed."),
        }[event.verb.rpartition(" ")[2]]
        return Change(
            event.at, words % {"benchmark": row.benchmark.name}, reverse("generation:run", args=[row.public_id])
        )
    if isinstance(row, Rater):
        assert row.study is not None
        words = gettext("The rater %(rater)s has been paused in %(study)s.")
        if event.verb == "not_qualified":
            words = gettext("The rater %(rater)s has not qualified for %(study)s.")
        address = reverse("annotation:rater", args=[row.study, row.public_id])
        return Change(event.at, words % {"rater": row.name, "study": row.study.name}, address)
    words = gettext("The weights of %(study)s have been fitted.") % {"study": row.study.name}
    return Change(event.at, words, f"{reverse('calibration:weights', args=[row.study])}?fit={row.public_id}")


def _reports(user: User, since: datetime) -> list[Change]:
    """Reports that took the place of an earlier one: the answers had changed."""
    earlier = Report.objects.filter(
        study=OuterRef("study"), kind=OuterRef("kind"), asked_hash=OuterRef("asked_hash"), pk__lt=OuterRef("pk")
    )
    reports = Report.objects.filter(
        Exists(earlier),
        workspace__in=workspaces_read_by(user),
        study__isnull=False,
        kind__in=[AGREEMENT.name, RATERS.name],
        created_at__gt=since,
    ).defer("result")
    newest: dict[tuple[int | None, str], Report] = {}
    for report in reports.select_related("study__workspace")[:MOST_EVENTS]:
        newest.setdefault((report.study_id, report.kind), report)
    found = []
    for report in newest.values():
        assert report.study is not None
        is_agreement = report.kind == AGREEMENT.name
        words = (
            gettext("The agreement of the raters of %(study)s has changed.")
            if is_agreement
            else gettext("The report on the raters of %(study)s has changed.")
        )
        name = "calibration:agreement" if is_agreement else "calibration:raters"
        found.append(
            Change(report.created_at, words % {"study": report.study.name}, reverse(name, args=[report.study]))
        )
    return found
