"""Agreement for raters like these and for exactly these raters: the two intervals, and what each is about."""

from django.utils.translation import gettext

from calibration.figures.charts import Bar, interval_bars
from calibration.figures.drawing import number
from calibration.reports.agreement import AgreementReport, AlphaValue
from calibration.reports.codec import Missing
from calibration.reports.people.populations import EstimateForBoth, Interval, SuchRaters
from calibration.statistics.resampling import MIN_CLUSTERS
from calibration.web.blocks import Block, Column, Table
from calibration.web.messages.intervals import range_words

LEAST_RATERS = 3
MOST_FROM_RATERS = 0.5
"""Share of the variance from which more raters help more than more instructions."""


def measure_names() -> dict[str, str]:
    """Name every measure of agreement by its key in the report."""
    return {
        "nominal": gettext("Alpha, nominal"),
        "ordinal": gettext("Alpha, ordinal"),
        "interval": gettext("Alpha, interval"),
        "fleiss": gettext("Fleiss' kappa"),
        "ac1": gettext("Gwet's AC1"),
        "icc1": "ICC(1)",
        "icc21": "ICC(2,1)",
        "icc2k": "ICC(2,k)",
        "pairs": gettext("Mean correlation of two raters"),
    }


def both_columns(label: str, digits: int = 3) -> list[Column]:
    """The columns of a value, of its interval for raters like these, and of that for exactly these raters."""
    return [
        Column(label, digits),
        *Column.ends(gettext("Raters like these: low"), gettext("Raters like these: high"), digits),
        *Column.ends(gettext("These raters: low"), gettext("These raters: high"), digits),
    ]


def both_cells(value: float | None, these: Interval, such: SuchRaters | None) -> list[float | None]:
    """The cells of both_columns."""
    wide = (None, None) if such is None else (such.low, such.high)
    return [value, *wide, *((None, None) if these.kind == "none" else (these.low, these.high))]


def estimate_cells(found: EstimateForBoth | Missing) -> list[float | None]:
    """The cells of both_columns for an estimate; empty ones where there is none."""
    return [None] * 5 if isinstance(found, Missing) else both_cells(found.value, found.these, found.such)


def widest(these: Interval, such: SuchRaters | None) -> tuple[float | None, float | None]:
    """The interval for raters like these, or without one that for exactly these raters."""
    if such is not None and such.low is not None:
        return such.low, such.high
    return (None, None) if these.kind == "none" else (these.low, these.high)


def said_for_both(found: EstimateForBoth, step: float = 0.01) -> str:
    """Write '0.83 (raters like these: 95 % interval 0.61 to 0.94; exactly these raters: 0.78 to 0.87)'."""
    value, these = number(found.value, step), found.these
    wide = "" if found.such.low is None else range_words(found.such.low, found.such.high or 0.0, step)
    near = "" if these.kind == "none" else range_words(these.low or 0.0, these.high or 0.0, step)
    words = {"value": value, "such": wide, "these": near}
    if wide and near:
        return (
            gettext("%(value)s (raters like these: 95 %% interval %(such)s; exactly these raters: %(these)s)") % words
        )
    if near:
        return gettext("%(value)s (exactly these raters: 95 %% interval %(these)s)") % words
    return value


def why_not_stated(such: SuchRaters, *, items: bool) -> str:
    """Say why there is no interval for raters like these, and what it needs; '' where there is one."""
    if such.not_stated == "few_instructions":
        of_items = gettext(
            "How far raters like these would agree is not stated: that needs at least %(needed)s items, and there are %(n)s."
        )
        of_instructions = gettext(
            "How far raters like these would agree is not stated: that needs at least %(needed)s instructions, and there "
            "are %(n)s."
        )
        said = of_items if items else of_instructions
        return said % {"needed": MIN_CLUSTERS, "n": number(such.n_instructions, 1)}
    if such.not_stated == "few_raters":
        return gettext(
            "How far raters like these would agree is not stated: that needs at least %(needed)s raters who rated the same "
            "tasks, and there are %(n)s."
        ) % {"needed": LEAST_RATERS, "n": number(such.n_raters, 1)}
    if such.not_stated == "positions":
        return gettext(
            "How far raters like these would agree is not stated, because the data identify positions, not persons."
        )
    if such.not_stated:
        return gettext(
            "How far raters like these would agree is not stated: without one of the raters, too few answers could be "
            "compared."
        )
    return ""


def advice(such: SuchRaters) -> str:
    """Say whether more raters or more instructions would narrow the interval; '' where it is not stated."""
    if such.raters_share is None:
        return ""
    share = {"share": number(100 * such.raters_share, 1)}
    if such.raters_share > MOST_FROM_RATERS:
        return (
            gettext(
                "%(share)s %% of the uncertainty about raters like these comes from the choice of raters: more raters would "
                "narrow the interval, more instructions hardly."
            )
            % share
        )
    return (
        gettext(
            "%(share)s %% of the uncertainty about raters like these comes from the choice of raters, the rest from that "
            "of instructions."
        )
        % share
    )


def populations_block(report: AgreementReport, *, items: bool) -> Block | None:
    """Show each measure's interval for raters like these beside that for exactly these raters."""
    names = measure_names()
    rows = [(gettext("Leave-one-out"), report.loo, report.loo_interval, report.loo_such)]
    for metric, alpha in report.alpha.items():
        if isinstance(alpha, AlphaValue) and alpha.such is not None:
            rows.append((names[metric], alpha.value, alpha, alpha.such))
    named = dict(report.coefficients)
    if report.matrix is not None:
        named["pairs"] = report.matrix.mean
    for name, found in named.items():
        if isinstance(found, EstimateForBoth):
            rows.append((names[name], found.value, found.these, found.such))
    such_name, these_name = gettext("raters like these"), gettext("exactly these raters")
    bars = []
    for name, value, these, such in rows:
        if such.low is not None:
            bars.append(Bar(name, value, such.low, such.high, note=such_name))
        if these.low is not None and these.kind != "none":
            bars.append(Bar(name, value, these.low, these.high, note=these_name))
    title = gettext("Would other raters agree as much?")
    table = Table(
        [Column(gettext("Measure")), *both_columns(gettext("Value"))],
        [[name, *both_cells(value, these, such)] for name, value, these, such in rows],
    )
    unstated = {text: None for _name, _value, _these, such in rows if (text := why_not_stated(such, items=items))}
    notes = [
        gettext(
            "An interval for raters like these takes both the raters and the instructions as drawn from many; one for "
            "exactly these raters takes only the instructions as drawn, and says nothing about other raters."
        ),
        *unstated,
    ]
    return Block(
        "populations",
        title,
        answer=advice(report.loo_such),
        figure=interval_bars(bars, title=title, x_title=gettext("Agreement")) if bars else "",
        table=table,
        notes=notes,
        folded=True,
    )
