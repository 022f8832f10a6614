"""The contents of a drift monitor's page, in the reader's language."""

from collections.abc import Callable
from dataclasses import dataclass

from django.utils import formats, timezone
from django.utils.translation import gettext, ngettext

from calibration.figures.drawing import number
from calibration.web.blocks import Block, Column, ResultPage, Table
from judging.models import Watch
from judging.monitoring.readings import Readings, Round
from judging.scores.drift import Change, SignificanceLevel, TestName
from judging.web.monitoring.figures import RoundPoint, rounds_chart


@dataclass(frozen=True)
class WatchPanel:
    opening: str
    flagged: bool
    blocks: list[Block]

    @property
    def page(self) -> ResultPage:
        """Its figures and tables as a page, of which files are made."""
        return ResultPage(gettext("Drift monitor"), self.opening, self.blocks, [])


def watch_panel(watch: Watch, results: Readings) -> WatchPanel:
    blocks = [
        _block(
            results,
            "scores",
            "score",
            gettext("Mean score"),
            gettext("Mean score, 0 to 1 of the scale"),
            lambda row: row.level,
        ),
        _block(
            results,
            "people",
            "people",
            gettext("Agreement with people"),
            gettext("Share of answers that match the majority of raters"),
            lambda row: row.people,
        ),
        _block(
            results,
            "steadiness",
            "steadiness",
            gettext("Agreement with the baseline"),
            gettext("Share of answers that match the baseline round"),
            lambda row: row.alike,
        ),
    ]
    return WatchPanel(_opening(watch, results), bool(results.changed), [block for block in blocks if block is not None])


def _block(
    results: Readings,
    key: str,
    test: TestName,
    title: str,
    y_title: str,
    level_of: Callable[[Round], SignificanceLevel | None],
) -> Block | None:
    shown = [(row, level) for row in results.rounds if (level := level_of(row)) is not None]
    if not shown:
        return None
    points, rows = [], []
    for row, level in shown:
        tested = row.changes.get(test)
        points.append(_point(row, level, tested))
        rows.append(
            [
                _when(row),
                level.value,
                level.low,
                level.high,
                level.n,
                tested.value if tested else None,
                tested.low if tested else None,
                tested.high if tested else None,
                tested.p if tested else None,
                tested.alpha if tested else None,
                gettext("changed") if tested and tested.flagged else "",
                row.unscored,
            ]
        )
    columns = [
        Column(gettext("Round")),
        *Column.interval(gettext("Value"), 3),
        Column(gettext("Tasks"), 0),
        *Column.interval(gettext("Change"), 3),
        Column.p(),
        Column(gettext("Limit for p"), 5),
        Column(gettext("Flag")),
        Column(gettext("Unscored"), 0),
    ]
    return Block(
        key,
        title,
        figure=rounds_chart(
            points,
            title=title,
            y_title=y_title,
            x_title=gettext("Round"),
            series=(gettext("round, with interval"), gettext("changed")),
        ),
        caption=gettext("Dashed lines: outside these limits, a round counts as changed compared with its baseline."),
        table=Table(columns, rows),
        folded=True,
    )


def _point(row: Round, level: SignificanceLevel, tested: Change | None) -> RoundPoint:
    """The limits are around the value with which this round is compared, on the tasks that both answered."""
    middle = level.value - tested.value if tested else None
    return RoundPoint(
        str(row.number),
        level.value,
        level.low,
        level.high,
        None if middle is None or tested is None else middle - tested.reach,
        None if middle is None or tested is None else middle + tested.reach,
        bool(tested and tested.flagged),
    )


def _when(row: Round) -> str:
    at = row.run.finished_at or row.run.created_at
    return f"{row.number} · {formats.date_format(timezone.localtime(at), 'Y-m-d H:i')}"


def _opening(watch: Watch, results: Readings) -> str:
    judge = watch.judge.rater.name
    if not results.rounds:
        return gettext("No round has finished yet. Drift can be seen from the second round on.")
    if len(results.rounds) == 1:
        return gettext("One round has finished. Later rounds are compared with it.")
    n = len(results.rounds) - results.baseline + 1
    if results.baseline == len(results.rounds) > 1:
        return gettext("Round %(n)d is the new baseline. Later rounds of %(judge)s are compared with it.") % {
            "n": results.baseline,
            "judge": judge,
        }
    if not results.changed:
        sentence = ngettext(
            "%(judge)s: no change found in %(n)d round.", "%(judge)s: no change found in %(n)d rounds.", n
        ) % {"judge": judge, "n": n}
        return f"{sentence} {_latest(results.rounds[-1])} {_silent(results)}".strip()
    first = results.changed[0]
    what = _what_changed(first)
    params = {"judge": judge, "round": first.number, "baseline": first.baseline, "what": what}
    if first.baseline == 1:
        sentence = gettext("%(judge)s has changed since round %(round)d: %(what)s.") % params
    else:
        words = gettext("Compared with round %(baseline)d, %(judge)s has changed since round %(round)d: %(what)s.")
        sentence = words % params
    return f"{sentence} {_silent(results)}".strip()


def _silent(results: Readings) -> str:
    """Return a sentence if the latest round has fewer usable answers than its baseline, which no test of the answers
    detects.
    """
    more = results.rounds[-1].unscored - results.numbered(results.rounds[-1].baseline).unscored
    if more <= 0:
        return ""
    return ngettext(
        "In the latest round, %(n)d more task than in the baseline round got no usable answer.",
        "In the latest round, %(n)d more tasks than in the baseline round got no usable answer.",
        more,
    ) % {"n": more}


def _latest(row: Round) -> str:
    tested = row.changes.get("score")
    if tested is None:
        return ""
    return gettext("The latest round differs from its baseline by %(value)s of the scale (%(low)s to %(high)s).") % {
        "value": number(tested.value, 0.001),
        "low": number(tested.low, 0.001),
        "high": number(tested.high, 0.001),
    }


def _what_changed(row: Round) -> str:
    changes = []
    if row.silent:
        changes.append(
            ngettext("%(n)d task got no usable answer", "%(n)d tasks got no usable answer", row.unscored)
            % {"n": row.unscored}
        )
    for name, tested in row.changes.items():
        if not tested.flagged:
            continue
        size = number(abs(tested.value), 0.001)
        up = tested.value > 0
        if name == "score":
            changes.append(
                gettext("its mean score rose by %(size)s") % {"size": size}
                if up
                else gettext("its mean score fell by %(size)s") % {"size": size}
            )
        elif name == "people":
            changes.append(
                gettext("its agreement with people rose by %(size)s") % {"size": size}
                if up
                else gettext("its agreement with people fell by %(size)s") % {"size": size}
            )
        else:
            changes.append(
                gettext("it repeats the baseline's answers more often (by %(size)s)") % {"size": size}
                if up
                else gettext("it repeats the baseline's answers less often (by %(size)s)") % {"size": size}
            )
    return gettext(" and ").join(changes)
