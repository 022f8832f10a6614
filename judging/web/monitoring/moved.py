"""What the page of a monitor says of the verdicts that moved, and of the baselines that leads have set."""

from dataclasses import dataclass
from datetime import datetime

from accounts.models import User
from calibration.figures.drawing import shortest
from judging.models import JudgeRun, Watch
from judging.monitoring.moved_verdicts import MovedVerdict, moved_verdicts
from judging.monitoring.readings import Readings
from judging.runs.verdict_lists import MeanScore
from judging.web.runs.verdicts import score_in_words

SHOWN = 50


@dataclass(frozen=True)
class MovedRow:
    """A verdict that moved, with its figures in words."""

    moved: MovedVerdict
    before: str
    after: str
    difference: str


@dataclass(frozen=True)
class MovedTable:
    """The verdicts of `run` that differ from those of `baseline`: the largest differences of `total`."""

    rows: list[MovedRow]
    total: int
    number: int
    baseline_number: int
    run: JudgeRun
    baseline: JudgeRun


@dataclass(frozen=True)
class BaselineRow:
    """A baseline as set: round `number` since `at`, by a lead or, for the first round, by nobody."""

    number: int
    run: JudgeRun
    at: datetime
    by: User | None
    chosen: bool


def moved_rows(watch: Watch, results: Readings) -> MovedTable | None:
    """Return what moved in the latest round whose check found a change; None if there is none."""
    if not results.flagged:
        return None
    latest = results.flagged[-1]
    baseline = results.numbered(latest.baseline).run
    moved = moved_verdicts(watch, baseline, latest.run)
    return MovedTable(
        [_row(one) for one in moved[:SHOWN]], len(moved), latest.number, latest.baseline, latest.run, baseline
    )


def baseline_rows(watch: Watch, results: Readings) -> list[BaselineRow]:
    """Return the baselines, the present one first; none before the first round."""
    if not results.rounds:
        return []
    numbers = {row.run.pk: row.number for row in results.rounds}
    first = results.rounds[0].run
    rows = [BaselineRow(1, first, first.finished_at or first.created_at, None, False)]
    for one in watch.baselines.select_related("run", "created_by").order_by("pk"):
        if one.run_id in numbers:
            rows.append(BaselineRow(numbers[one.run_id], one.run, one.created_at, one.created_by, True))
    return rows[::-1]


def _row(one: MovedVerdict) -> MovedRow:
    role = "preference" if one.preference else "item"
    before, after = (
        score_in_words(MeanScore(role, value)) if value is not None else "–" for value in (one.before, one.after)
    )
    difference = "–" if one.difference is None else shortest(round(one.difference, 2), signed=True)
    return MovedRow(one, before, after, difference)
