"""Progress of studies, from the counts that the database keeps, because the live dashboard polls it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import Avg, Count, Max, Q, Sum
from django.utils.translation import gettext as _

from annotation.counters.work import WorkCounts, totals_of, work_of
from annotation.models import Assignment, CheckOutcome, Rater, Seat, Standing, Study, Task
from annotation.monitoring.checks import fails_checks
from annotation.policies.policies import CONTROL, GOLD
from core.messages.localized import localized
from generation.models import Category

ANSWERED = Q(status=Assignment.Status.SUBMITTED, repeat=0)
VERDICT = Q(status__in=[Assignment.Status.SUBMITTED, Assignment.Status.DERIVED], repeat=0)
PEOPLE = (Rater.Kind.PERSON, Rater.Kind.SLOT)
_CATEGORY = "response_a__instruction__category"
_SUMMED = ("given", "answered", "skipped", "unscored", "surplus", "excluded", "discredited")

_ASIDE = {
    "given": Count("pk", filter=~Q(status=Assignment.Status.OPEN)),
    "timed": Count("pk", filter=VERDICT & Q(active_seconds__isnull=False)),
    "spent": Sum("active_seconds", filter=VERDICT),
}


@dataclass
class StudyRow:
    """One study in the list."""

    study: Study
    tasks: int = 0
    people: int = 0
    judges: int = 0
    seats: int = 0
    taken: int = 0
    provenance: list[str] = field(default_factory=list)


@dataclass
class CategoryRow:
    """Progress of one category; `seats` is 0 if answers were imported and nothing was assigned."""

    name: str
    is_group: bool
    tasks: int = 0
    seats: int = 0
    taken: int = 0
    people: int = 0
    judges: int = 0

    def add(self, other: "CategoryRow") -> None:
        for name in ("tasks", "seats", "taken", "people", "judges"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(frozen=True)
class RaterRow:
    """One rater's work; the rater failed `failed` of `checks` gold items and attention checks.

    A lead excluded `excluded` answers, which are in no other number. For a judge, `answered` counts its verdicts and
    `discredited` those of runs that failed their canary texts.
    """

    public_id: str
    name: str
    kind: str
    cohort: str
    state: str
    state_name: str
    provenance: list[str]
    answered: int
    skipped: int
    unscored: int
    surplus: int
    open: int
    minutes: float | None
    last: datetime | None
    checks: int = 0
    failed: int = 0
    discredited: int = 0
    excluded: int = 0

    @property
    def fails_checks(self) -> bool:
        """Whether so many failed checks are no accident."""
        return fails_checks(self.failed, self.checks)

    @property
    def is_stopped(self) -> bool:
        return self.state in (Standing.State.PAUSED, Standing.State.FAILED)


@dataclass
class CohortRow:
    """The combined work of one cohort's raters; `name` is '' for raters without a cohort."""

    name: str
    kind: str
    raters: int = 0
    stopped: int = 0
    answered: int = 0
    skipped: int = 0
    checks: int = 0
    failed: int = 0


def study_rows(studies: Iterable[Study]) -> list[StudyRow]:
    """The studies with their counts as the database keeps them; six queries for any number of them."""
    rows = {study.pk: StudyRow(study) for study in studies}
    kept = totals_of(list(rows))
    if kept is None:
        return _counted_rows(rows)
    for pk, totals in kept.items():
        row = rows[pk]
        row.tasks, row.seats, row.taken = totals.tasks, totals.seats, totals.taken
        row.people, row.judges = totals.people, totals.judged
        row.provenance = list(totals.provenance)
    checks = Task.objects.filter(study__in=rows, gold__isnull=False).order_by()
    for pk, tasks in checks.values_list("study").annotate(Count("pk")):
        rows[pk].tasks -= tasks
    asked = Assignment.objects.filter(VERDICT, rater__kind=Rater.Kind.JUDGE, task__in=checks.values("pk")).order_by()
    for pk, verdicts in asked.values_list("task__study").annotate(Count("pk")):
        rows[pk].judges -= verdicts
    return list(rows.values())


def _counted_rows(rows: dict[int, StudyRow]) -> list[StudyRow]:
    """The same, counted from the rows while nothing is kept; three queries."""
    for pk, tasks in (
        Task.objects.filter(study__in=rows, gold__isnull=True).order_by().values_list("study").annotate(Count("pk"))
    ):
        rows[pk].tasks = tasks
    states = Seat.objects.filter(study__in=rows).order_by().values_list("study", "state").annotate(Count("pk"))
    for pk, state, count in states:
        rows[pk].seats += count
        rows[pk].taken += count if state == Seat.State.TAKEN else 0
    # Only judges' answers are derived, and theirs to quality checks are not counted.
    judged = Q(rater__kind=Rater.Kind.JUDGE)
    counted = (ANSWERED & ~judged) | (VERDICT & judged & Q(task__gold__isnull=True))
    answers = Assignment.objects.filter(counted, task__study__in=rows).order_by()
    grouped = answers.values_list("task__study", "rater__kind", "rater__provenance").annotate(Count("pk"))
    for pk, kind, provenance, count in grouped:
        if kind == Rater.Kind.JUDGE:
            rows[pk].judges += count
        elif kind != Rater.Kind.KEY:
            rows[pk].people += count
        if provenance and provenance not in rows[pk].provenance:
            rows[pk].provenance = sorted([*rows[pk].provenance, provenance])
    return list(rows.values())


@dataclass
class Tally:
    """A study's counts: by category, and for each rater the work and the checks (answered, failed)."""

    categories: dict[int | None, CategoryRow]
    work: dict[int, dict[str, Any]]
    checks: dict[int, tuple[int, int]]


def tally_of(study: Study) -> Tally:
    """The study's counts as of now: those that the database keeps, or counted from the rows while it keeps none."""
    kept = work_of(study)
    return counted_tally(study) if kept is None else _kept_tally(study, kept)


def _kept_tally(study: Study, kept: WorkCounts) -> Tally:
    """Complete the kept counts in at most seven queries, which read open tasks and quality checks, and few other rows.

    What judges said of quality checks is counted as any answer, since any task may become a check; here it is left out.
    """
    own, judges = _own_and_judges(study)
    judges &= set(kept.raters)
    status = Assignment.Status
    here = Rater.objects.filter(Q(study=study) | Q(pk__in=judges)).values("pk")
    waiting = Assignment.objects.filter(status=status.OPEN, task__study=study, rater__in=here).order_by()
    if judges:
        waiting = waiting.filter(Q(task__gold__isnull=True) | ~Q(rater__in=judges))
    opened = dict(waiting.values_list("rater").annotate(Count("pk")))
    checks = Task.objects.filter(study=study, gold__isnull=False)
    asked = Assignment.objects.filter(rater__in=judges, task__in=checks) if judges else Assignment.objects.none()
    apart = _work_by_rater(asked, VERDICT, **_ASIDE)
    latest = _latest_again(study, [pk for pk, row in kept.raters.items() if row["removed"] or pk in apart], judges)
    work = {}
    for pk, counts in kept.raters.items():
        without = apart.get(pk)
        row = {
            name: value - (without[name] or 0 if without else 0) for name, value in counts.items() if name in _SUMMED
        }
        if pk not in own | judges or not (row["given"] or opened.get(pk)):
            continue
        timed = counts["timed"] - (without["timed"] if without else 0)
        spent = counts["seconds"] - (without["spent"] or 0 if without else 0)
        work[pk] = {name: row[name] for name in _SUMMED if name != "given"} | {
            "rater_id": pk,
            "open": opened.get(pk, 0),
            "seconds": spent / timed if timed else None,
            "last": latest[pk] if pk in latest else counts["last"],
        }
    if fresh := opened.keys() - work.keys():
        work |= _work_by_rater(Assignment.objects.filter(rater__in=fresh, task__study=study))
    return Tally(
        _kept_categories(study, kept, asked),
        work,
        {pk: (row["checks"], row["failed"]) for pk, row in kept.raters.items() if pk in own and row["checks"]},
    )


def _own_and_judges(study: Study) -> tuple[set[int], set[int]]:
    """Primary keys of the study's raters, and of the workspace's judges; one query."""
    judge = Q(study=None, workspace=study.workspace_id, kind=Rater.Kind.JUDGE)
    rows = list(Rater.objects.filter(Q(study=study) | judge).order_by().values_list("pk", "study"))
    return {pk for pk, own in rows if own is not None}, {pk for pk, own in rows if own is None}


def _latest_again(study: Study, raters: list[int], judges: set[int]) -> dict[int, datetime | None]:
    """When each of these raters answered last, read from the rows; those of judges without quality checks. One query."""
    if not raters:
        return {}
    rows = Assignment.objects.filter(rater__in=raters, task__study=study)
    rows = rows.filter(Q(task__gold__isnull=True) | ~Q(rater__in=judges)).order_by()
    found: dict[int, datetime | None] = dict.fromkeys(raters)
    return found | dict(rows.values_list("rater").annotate(Max("submitted_at")))


def _kept_categories(study: Study, kept: WorkCounts, asked: Any) -> dict[int | None, CategoryRow]:
    rows = {
        pk: CategoryRow("", False, row["tasks"], row["seats"], row["taken"], row["people"], row["judged"])
        for pk, row in kept.categories.items()
    }
    checks = Task.objects.filter(study=study, gold__isnull=False).order_by().values_list(_CATEGORY)
    for pk, tasks in checks.annotate(Count("pk")):
        rows[pk].tasks -= tasks
    for pk, verdicts in asked.filter(VERDICT).order_by().values_list(f"task__{_CATEGORY}").annotate(Count("pk")):
        rows[pk].judges -= verdicts
    return {pk: row for pk, row in rows.items() if row.tasks or row.seats or row.people or row.judges}


def counted_tally(study: Study) -> Tally:
    """Count the study from its rows; eight queries, three of them over all slots or answers."""
    judges = _judges(study)
    work = _work_by_rater(Assignment.objects.filter(rater__study=study))
    if judges:
        asked = Assignment.objects.filter(rater__in=judges, task__study=study, task__gold__isnull=True)
        work |= _work_by_rater(asked, VERDICT)
    return Tally(_counts_by_category(study), work, checks_by_rater(study))


def _counts_by_category(study: Study) -> dict[int | None, CategoryRow]:
    """Tasks, slots and answers of the study by the instruction's category; four or five queries."""
    rows: dict[int | None, CategoryRow] = {}

    def row(category: int | None) -> CategoryRow:
        return rows.setdefault(category, CategoryRow("", is_group=False))

    for category, tasks in (
        Task.objects.filter(study=study, gold__isnull=True).order_by().values_list(_CATEGORY).annotate(Count("pk"))
    ):
        row(category).tasks = tasks
    seats = Seat.objects.filter(study=study).order_by().values_list(f"task__{_CATEGORY}")
    counted = seats.annotate(made=Count("pk"), full=Count("pk", filter=Q(state=Seat.State.TAKEN)))
    for category, made, full in counted:
        row(category).seats, row(category).taken = made, full
    answered = Assignment.objects.filter(ANSWERED).order_by()
    own = answered.filter(task__study=study, rater__kind__in=PEOPLE).values_list(f"task__{_CATEGORY}")
    for category, people in own.annotate(Count("pk")):
        row(category).people = people
    judges = _judges(study)
    if judges:
        own = Assignment.objects.filter(task__study=study, rater__in=judges).verdicts().order_by()
        verdicts = own.values_list(f"task__{_CATEGORY}")
        for category, count in verdicts.annotate(Count("pk")):
            row(category).judges = count
    return rows


def _judges(study: Study) -> list[int]:
    """Primary keys of the workspace's judges. They are few, so queries for their answers start from them."""
    judges = Rater.objects.filter(workspace=study.workspace_id, study=None, kind=Rater.Kind.JUDGE)
    return list(judges.order_by().values_list("pk", flat=True))


def category_rows(study: Study, tally: Tally | None = None) -> list[CategoryRow]:
    """Progress by category, each group above its subcategories, in the benchmark's order; one query with a tally."""
    counts = (tally or tally_of(study)).categories
    known = Category.objects.filter(pk__in=[pk for pk in counts if pk]).select_related("parent")
    groups: dict[int, tuple[Category, CategoryRow, list[tuple[int, CategoryRow]]]] = {}
    for category in known:
        top = category.parent or category
        group = groups.setdefault(top.pk, (top, CategoryRow(localized(top.names) or top.key, is_group=True), []))
        counts[category.pk].name = localized(category.names) or category.key
        group[1].add(counts[category.pk])
        if category.parent is not None:
            group[2].append((category.position, counts[category.pk]))
    rows = []
    for _top, group_row, members in sorted(groups.values(), key=lambda group: (group[0].position, group[0].pk)):
        rows.append(group_row)
        rows.extend(row for _position, row in sorted(members, key=lambda member: (member[0], member[1].name)))
    if None in counts:
        counts[None].name, counts[None].is_group = _("Uncategorized"), True
        rows.append(counts[None])
    return rows


def totals(categories: list[CategoryRow]) -> CategoryRow:
    total = CategoryRow(_("All"), is_group=True)
    for row in categories:
        if row.is_group:
            total.add(row)
    return total


def _work_by_rater(assignments: Any, counts: Q = ANSWERED, **more: Any) -> dict[int, dict[str, Any]]:
    """Counts of each rater's assignments, for people from one index; `counts` selects the answers that count."""
    status = Assignment.Status
    first = Q(repeat=0) if counts is VERDICT else Q()
    grouped = (
        assignments.order_by()
        .values("rater_id")
        .annotate(
            answered=Count("pk", filter=counts),
            skipped=Count("pk", filter=Q(status=status.SKIPPED)),
            unscored=Count("pk", filter=first & Q(status=status.UNSCORED)),
            surplus=Count("pk", filter=Q(status=status.SURPLUS)),
            open=Count("pk", filter=Q(status=status.OPEN)),
            seconds=Avg("active_seconds", filter=counts),
            last=Max("submitted_at"),
            discredited=Count("pk", filter=counts & Q(discredited=True)),
            excluded=Count("pk", filter=Q(status=status.EXCLUDED, repeat=0)),
            **more,
        )
    )
    return {row["rater_id"]: row for row in grouped}


def checks_by_rater(study: Study) -> dict[int, tuple[int, int]]:
    """(gold items and attention checks answered, failed) for each rater."""
    outcomes = CheckOutcome.objects.filter(assignment__rater__study=study, purpose__in=[GOLD, CONTROL]).order_by()
    counted = outcomes.values_list("assignment__rater").annotate(
        checks=Count("pk"), failed=Count("pk", filter=Q(passed=False))
    )
    return {rater: (checks, failed) for rater, checks, failed in counted}


def rater_rows(study: Study, tally: Tally | None = None) -> list[RaterRow]:
    """The work of each rater, most answers first; one query with a tally."""
    tally = tally or tally_of(study)
    raters = Rater.objects.filter(Q(study=study) | Q(study=None, workspace=study.workspace_id, pk__in=list(tally.work)))
    states = {value: str(label) for value, label in Standing.State.choices}
    rows = [
        _rater_row(rater, tally, states)
        for rater in raters.exclude(kind=Rater.Kind.KEY).select_related("cohort", "standing")
    ]
    return sorted(rows, key=lambda row: (-row.answered, row.name))


def rater_row(rater: Rater, tally: Tally) -> RaterRow:
    """One rater's row of the dashboard, which the rater's own page shows too; no query if cohort and standing are read."""
    return _rater_row(rater, tally, {value: str(label) for value, label in Standing.State.choices})


def _rater_row(rater: Rater, tally: Tally, states: dict[str, str]) -> RaterRow:
    work, checks = tally.work.get(rater.pk, {}), tally.checks.get(rater.pk, (0, 0))
    standing = getattr(rater, "standing", None)
    state = standing.state if standing else Standing.State.RATING
    seconds = work.get("seconds")
    return RaterRow(
        public_id=rater.public_id,
        name=rater.name,
        kind=rater.kind,
        cohort=rater.cohort.name if rater.cohort else "",
        state=state,
        state_name=states[state],
        provenance=[rater.provenance] if rater.provenance else [],
        **{name: work.get(name, 0) for name in ("answered", "skipped", "unscored", "surplus", "open")},
        minutes=None if seconds is None else seconds / 60,
        last=work.get("last"),
        checks=checks[0],
        failed=checks[1],
        discredited=work.get("discredited", 0),
        excluded=work.get("excluded", 0),
    )


def cohort_rows(study: Study, raters: Iterable[RaterRow]) -> list[CohortRow]:
    """The work of the study's cohorts and of raters without one; one query."""
    rows = {one.name: CohortRow(one.name, str(one.get_kind_display())) for one in study.cohorts.all()}
    if not rows:
        return []
    for one in raters:
        if one.kind not in PEOPLE:
            continue
        if one.cohort not in rows:
            rows[one.cohort] = CohortRow(one.cohort, _("Members of the workspace"))
        row = rows[one.cohort]
        row.raters += 1
        row.stopped += one.is_stopped
        for name in ("answered", "skipped", "checks", "failed"):
            setattr(row, name, getattr(row, name) + getattr(one, name))
    return list(rows.values())
