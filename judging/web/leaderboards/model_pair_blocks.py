"""The contents of the page of two models, in the reader's language."""

from dataclasses import dataclass

from django.utils.translation import gettext, ngettext

from calibration.figures.drawing import number
from calibration.figures.spreads import RangeRow, Span, ranges
from calibration.web.blocks import Block, Column, Table
from calibration.web.messages.statistics import interval_meaning
from judging.leaderboards.model_pairs import ModelPair
from judging.scores.paired_difference import Difference
from judging.web.leaderboards.page import column_names


@dataclass(frozen=True)
class PairPanel:
    opening: str
    block: Block


def pair_panel(pair: ModelPair) -> PairPanel:
    found, names = pair.difference, column_names(pair.board)
    parts = [(gettext("Overall"), found.overall)]
    if len(found.columns) > 1:
        parts += [
            (names[key], found.columns[code]) for code, key in pair.board.categories.items() if code in found.columns
        ]
    rows = [
        [name, one.value, one.interval.low, one.interval.high, one.n, one.first, one.ties, one.second]
        for name, one in parts
    ]
    figure = ranges(
        [RangeRow(name, [Span(one.value, one.interval.low, one.interval.high)]) for name, one in parts],
        title=gettext("%(first)s minus %(second)s, by category") % {"first": pair.first, "second": pair.second},
        x_title=gettext("Above 0: %(first)s is better") % {"first": pair.first},
        series=[gettext("difference")],
        step=0.1,
        rule=0.0,
    )
    columns = [
        Column(gettext("Category")),
        Column(gettext("Difference"), 2),
        Column(gettext("From"), 1),
        Column(gettext("To"), 1),
        Column(gettext("Instructions"), 0),
        Column(gettext("%(model)s better") % {"model": pair.first}, 0),
        Column(gettext("Equal"), 0),
        Column(gettext("%(model)s better") % {"model": pair.second}, 0),
    ]
    return PairPanel(
        _opening(pair, found.overall, found.p),
        Block(
            "difference",
            gettext("By category"),
            figure=figure,
            caption=interval_meaning(found.kind, found.clusters, gettext("instructions")),
            table=Table(columns, rows),
            notes=[
                gettext(
                    "Each instruction counts once, with the difference between the two models' values, so that the"
                    " difficulty of an instruction cancels out. p is from randomly flipping the sign of each "
                    "difference."
                )
            ],
        ),
    )


def _opening(pair: ModelPair, overall: Difference, p: float) -> str:
    if overall.value == overall.interval.low == overall.interval.high == 0:
        return ngettext(
            "%(first)s and %(second)s are even on the %(n)d instruction that both answered.",
            "%(first)s and %(second)s are even on all %(n)d instructions that both answered.",
            overall.n,
        ) % {"first": pair.first, "second": pair.second, "n": overall.n}
    turned = overall.value < 0
    low, high = overall.interval.low, overall.interval.high
    shown = {
        "first": pair.first,
        "second": pair.second,
        "p": _p(p),
        "gap": number(abs(overall.value), 0.1),
        "ahead": pair.second if turned else pair.first,
        "behind": pair.first if turned else pair.second,
        "low": number(-high if turned else low, 0.1),
        "high": number(-low if turned else high, 0.1),
    }
    if overall.value == 0:
        said = gettext(
            "%(first)s and %(second)s are even on average: the difference is 0 (%(low)s to %(high)s; p %(p)s)"
        )
    elif low <= 0 <= high:
        said = gettext(
            "Neither model is clearly ahead: %(ahead)s is %(gap)s above %(behind)s (%(low)s to %(high)s; p %(p)s)"
        )
    else:
        said = gettext("%(ahead)s is ahead of %(behind)s by %(gap)s (%(low)s to %(high)s; p %(p)s)")
    return said % shown + _on(overall.n)


def _on(n: int) -> str:
    return ngettext(" on %(n)d instruction that both answered.", " on %(n)d instructions that both answered.", n) % {
        "n": n
    }


def _p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"= {number(p, 0.001)}"
