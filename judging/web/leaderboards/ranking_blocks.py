"""The tables, the figure and the sentences of two rankings beside each other."""

from django.utils.translation import gettext, ngettext

from calibration.figures.charts import Point, scatter
from calibration.figures.drawing import number
from calibration.statistics.ranking.rank_correlations import EXACT_FROM, FISHER_FROM, RankCoefficient, RankCorrelations
from calibration.web.blocks import Block, Column, Table
from calibration.web.failed_judges import failed_note, marked, with_mark
from judging.published.ranking_comparison import RankingComparison
from judging.web.leaderboards.paper_layout import scripted_note

NAMED = 8
SIGNIFICANT = 0.05


def opening_of(found: RankingComparison) -> str:
    """State whether the two orders agree, by Spearman's rho and its p; its value alone where no p is stated."""
    rho = found.all.spearman
    shown = {"n": found.all.n, "value": _with_ends(rho), "first": found.name, "second": found.other_name}
    if rho.p is None:
        return gettext("Over %(n)d models, %(first)s and %(second)s rank with Spearman's ρ = %(value)s.") % shown
    if rho.p >= SIGNIFICANT:
        return (
            gettext(
                "Whether %(first)s and %(second)s rank alike is not shown: over %(n)d models Spearman's ρ is %(value)s."
            )
            % shown
        )
    if rho.value < 0:
        return (
            gettext("%(first)s and %(second)s rank %(n)d models in opposite order: Spearman's ρ is %(value)s.") % shown
        )
    return gettext("%(first)s and %(second)s rank %(n)d models alike: Spearman's ρ is %(value)s.") % shown


def _with_ends(one: RankCoefficient) -> str:
    if one.low is None or one.high is None:
        return number(one.value)
    return gettext("%(value)s (%(low)s to %(high)s)") % {
        "value": number(one.value),
        "low": number(one.low),
        "high": number(one.high),
    }


def coefficients_table(found: RankingComparison) -> Table:
    columns = [
        Column(gettext("Models")),
        Column(gettext("Coefficient")),
        *Column.interval(gettext("Value"), 3),
        Column("p"),
        Column(gettext("From and to")),
        Column("n", 0),
    ]
    rows = _rows(gettext("all"), found.all)
    if found.top is not None and found.asked is not None:
        rows = [*_rows(gettext("the best %(n)d") % {"n": found.asked}, found.top), *rows]
    return _marked(found, Table(columns, rows))


def _rows(label: str, found: RankCorrelations) -> list[list[object]]:
    named = ((gettext("Pearson"), found.pearson), (gettext("Spearman"), found.spearman), ("Kendall τ-b", found.kendall))
    return [[label, name, one.value, one.low, one.high, _p(one.p), _kind(one), found.n] for name, one in named]


def _p(p: float | None) -> str:
    if p is None:
        return ""
    return "< 0.001" if p < 0.001 else number(p, 0.001)


def _kind(one: RankCoefficient) -> str:
    return {
        "fisher95": gettext("95 %% interval") % {},
        "leave_one_out_range": gettext("range over leaving one model out"),
        "none": gettext("not stated"),
    }[one.kind]


def models_table(found: RankingComparison) -> Table:
    columns = [
        Column(gettext("Model")),
        Column(found.name, 3),
        Column(gettext("Rank"), 0),
        Column(found.other_name, 3),
        Column(gettext("Its rank"), 0),
        Column(gettext("Difference of ranks"), 0),
    ]
    rows = [
        [row.model, row.score, row.rank, row.other, row.other_rank, row.rank - row.other_rank] for row in found.models
    ]
    return _marked(found, Table(columns, rows))


def _marked(found: RankingComparison, table: Table) -> Table:
    """Every number rests on both rankings, so one failed judge marks all."""
    return marked(table, [found.failed_judge or found.other_failed_judge] * len(table.rows))


def notes_of(found: RankingComparison) -> list[str]:
    notes = [
        gettext(
            "The models are taken as given, and each counts once. Under %(exact)d models only the values are stated; from "
            "%(exact)d to %(most)d, p counts all orders, ties kept, and the range leaves one model out at a time; from "
            "%(fisher)d on, intervals are on Fisher's scale, and p is the one that fits the interval."
        )
        % {"exact": EXACT_FROM, "most": FISHER_FROM - 1, "fisher": FISHER_FROM}
    ]
    for name, alone in ((found.name, found.alone), (found.other_name, found.other_alone)):
        if alone:
            names = ", ".join([*alone[:NAMED], *(["…"] if len(alone) > NAMED else [])])
            notes.append(
                ngettext(
                    "%(n)d model is ranked by %(name)s alone and not compared: %(models)s.",
                    "%(n)d models are ranked by %(name)s alone and not compared: %(models)s.",
                    len(alone),
                )
                % {"n": len(alone), "name": name, "models": names}
            )
    notes += [failed_note(judge) for judge in (found.failed_judge, found.other_failed_judge) if judge]
    return [*notes, *filter(None, [scripted_note(found.scripted_judges)])]


def blocks_of(found: RankingComparison) -> list[Block]:
    points = [
        Point(
            row.other_rank,
            row.rank,
            row.model,
            (gettext("the best %(n)d") % {"n": found.asked} if row.top else gettext("others")) if found.asked else "",
        )
        for row in found.models
    ]
    title = gettext("Rank against rank")
    figure = scatter(
        points,
        title=title,
        x_title=with_mark(gettext("Rank by %(name)s") % {"name": found.other_name}, found.other_failed_judge),
        y_title=with_mark(gettext("Rank by %(name)s") % {"name": found.name}, found.failed_judge),
        diagonal=True,
    )
    return [
        Block("coefficients", gettext("Correlations"), table=coefficients_table(found), notes=notes_of(found)),
        Block(
            "ranks",
            title,
            figure=figure,
            caption=gettext("Models on the dashed line have the same rank in both; 1 is the best."),
            table=models_table(found),
        ),
    ]
