"""Whether other raters would agree as much: each measure of agreement for raters like these and for exactly these."""

from django.utils.translation import gettext

from calibration.figures.charts import Bar, interval_bars
from calibration.figures.drawing import number
from calibration.reports.agreement import AgreementReport, AlphaValue
from calibration.reports.people.populations import EstimateForBoth, SuchRaters
from calibration.statistics.resampling import MIN_CLUSTERS
from calibration.web.blocks import Block, Column, Table
from calibration.web.messages.populations import both_cells, both_columns, populations_note

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
            "How far raters like these would agree is not stated: without one of the raters or instructions, agreement "
            "could not be computed."
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
    notes = [populations_note(gettext("items") if items else gettext("instructions")), *unstated]
    return Block(
        "populations",
        title,
        answer=advice(report.loo_such),
        figure=interval_bars(bars, title=title, x_title=gettext("Agreement")) if bars else "",
        table=table,
        notes=notes,
        folded=True,
    )
