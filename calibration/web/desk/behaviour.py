"""What the dashboard and a rater's own page say of a rater: both read the same stored report and the same counts."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.models import Study
from annotation.monitoring.progress import RaterRow
from annotation.monitoring.waiting import Action, asking
from calibration.reports.codec import Missing
from calibration.reports.rater_behaviour import RaterPace, RaterSameAnswers, RaterSides
from calibration.reports.raters import RaterRate, RatersReport

FLAT_FROM, FIRST_SIDE_P, FAST_FROM, FEWEST_NAMED = 0.5, 0.01, 0.2, 10
"""Thresholds for naming a rater: the same answer to every item in half of the tasks, a preferred side with p < 0.01, or a
fifth of at least 10 tasks done too fast; for failed quality checks see annotation/monitoring/checks.py."""


class Concern(StrEnum):
    """Why a rater is named, in the order of the list."""

    SAME = "same answers"
    SIDE = "one side"
    FAST = "fast"
    CHECKS = "failed checks"


@dataclass(frozen=True)
class Reason:
    """A concern about a rater in words."""

    concern: Concern
    words: str


@dataclass(frozen=True)
class Behaviour:
    """What the report on raters has of one rater; None where it has nothing. `usual` is the study's median pace in
    seconds per 100 words, `limit` the words a minute above which a text counts as unread."""

    agreement: RaterRate | None = None
    pace: RaterPace | None = None
    usual: float | None = None
    limit: int | None = None
    same: RaterSameAnswers | None = None
    sides: RaterSides | None = None

    @property
    def fast(self) -> int:
        """Number of answers in less than a quarter of the usual time."""
        return round(self.pace.fast * self.pace.n) if self.pace else 0

    @property
    def unread(self) -> int:
        """Number of answers faster than their texts can be read."""
        return round(self.pace.unread * self.pace.n) if self.pace else 0

    @property
    def first_side(self) -> int:
        """Number of decided pairs won by the side shown first."""
        return round(self.sides.value * self.sides.n) if self.sides else 0


NOTHING = Behaviour()


def behaviours(report: RatersReport) -> dict[str, Behaviour]:
    """The parts of the report by the name of the rater, which several raters of a study may share."""
    habits = report.habits
    rates = {} if isinstance(report.accuracy, Missing) else {row.rater: row for row in report.accuracy.rates}
    paces = {} if isinstance(habits.pace, Missing) else {row.rater: row for row in habits.pace.raters}
    same = {} if isinstance(habits.same_answers, Missing) else {row.rater: row for row in habits.same_answers.raters}
    sides = {} if isinstance(habits.sides, Missing) else {row.rater: row for row in habits.sides.raters}
    usual, limit = (None, None) if isinstance(habits.pace, Missing) else (habits.pace.median, habits.pace.limit)
    return {
        name: Behaviour(rates.get(name), paces.get(name), usual, limit, same.get(name), sides.get(name))
        for name in {*rates, *paces, *same, *sides}
    }


def reasons_of(found: Behaviour, row: RaterRow | None) -> list[Reason]:
    """Why a rater is named, from the report and from the counts of checks; empty if nothing stands out."""
    reasons: list[Reason] = []
    if found.same and found.same.tasks >= FEWEST_NAMED and found.same.flat_tasks >= FLAT_FROM * found.same.tasks:
        share = {"n": found.same.flat_tasks, "m": found.same.tasks}
        words = _("gives every item the same answer in %(n)d of %(m)d tasks") % share
        reasons.append(Reason(Concern.SAME, words))
    if found.sides and found.sides.n >= FEWEST_NAMED and found.sides.p is not None and found.sides.p < FIRST_SIDE_P:
        percent = {"share": round(100 * found.sides.value)}
        words = _("prefers the side shown first in %(share)d %% of pairs") % percent
        reasons.append(Reason(Concern.SIDE, words))
    if found.pace and found.pace.n >= FEWEST_NAMED and found.pace.fast >= FAST_FROM:
        words = _("completes %(share)d %% of tasks in less than a quarter of the usual time")
        reasons.append(Reason(Concern.FAST, words % {"share": round(100 * found.pace.fast)}))
    if row is not None and row.fails_checks:
        percent = {"share": round(100 * row.failed / row.checks)}
        reasons.append(Reason(Concern.CHECKS, _("fails %(share)d %% of quality checks") % percent))
    return reasons


@dataclass(frozen=True)
class Named:
    """A rater who needs attention, with the reason and what to do about it; `state` is '' unless the rater is stopped."""

    rater: str
    why: str
    public_id: str
    concern: Concern
    action: Action
    state: str = ""


def named_raters(
    study: Study, known: dict[str, Behaviour], rows: Iterable[RaterRow], left_out: set[str], most: int
) -> list[Named]:
    """The raters who need attention, by concern. Those in `left_out` (public ids) are excluded already."""
    people = [row for row in rows if row.kind == "person" and row.public_id not in left_out]
    often: dict[str, int] = {}
    for row in people:
        often[row.name] = often.get(row.name, 0) + 1
    found: list[Named] = []
    for row in people:
        # A report knows raters by name, so what it says of a name that several have is said of none.
        behaviour = known.get(row.name, NOTHING) if often[row.name] == 1 else NOTHING
        for reason in reasons_of(behaviour, row):
            action = _action(study, row, reason.concern)
            state = row.state_name if row.is_stopped else ""
            found.append(Named(row.name, reason.words, row.public_id, reason.concern, action, state))
    order = list(Concern)
    return sorted(found, key=lambda one: order.index(one.concern))[:most]


def _action(study: Study, row: RaterRow, concern: Concern) -> Action:
    """Exclude who fails checks; of the others pause who does not read, and write to who answers oddly."""
    if concern == Concern.CHECKS:
        return Action(_("Exclude answers"), reverse("annotation:exclusion", args=[study, row.public_id]))
    if concern == Concern.FAST and not row.is_stopped:
        return Action(_("Pause"), asking(study, row.public_id, "pause"))
    return Action(_("Message"), asking(study, row.public_id, "message"))
