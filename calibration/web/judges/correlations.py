"""A judge's correlations with people on a page: over all responses, within models, within instructions, and its slopes."""

from collections.abc import Mapping
from dataclasses import fields

from django.utils.translation import gettext

from annotation.models import Study
from calibration.figures.charts import Bar, interval_bars
from calibration.reports.codec import Missing
from calibration.reports.judge_matches import CategoryCorrelation, GroupCorrelation, ModelsCorrelation
from calibration.reports.judges import ScoreJudge
from calibration.statistics.judges.correlations import JudgeCorrelation, Slopes
from calibration.statistics.judges.estimates import PeopleEstimate, opposite_sides
from calibration.statistics.ranking.rank_correlations import RankCoefficient, RankCorrelations
from calibration.web.blocks import Block, Column, Table
from calibration.web.failed_judges import all_marked
from calibration.web.messages.names import category_names, criterion_name
from calibration.web.messages.people_estimates import people_cells, people_columns, people_words, populations_meaning
from calibration.web.messages.reasons import reason_of
from calibration.web.messages.statistics import by_items

WIDTH = 7
"""The number of cells of `people_columns`."""


def way_names(found: JudgeCorrelation) -> list[tuple[str, PeopleEstimate | None]]:
    """Name the three ways of Pearson's correlation."""
    return [
        (gettext("Pearson's r over all responses"), found.pearson),
        (gettext("Pearson's r within models"), found.within_models),
        (gettext("Pearson's r within instructions"), found.within_instructions),
    ]


def simpson_words(judge: str, found: JudgeCorrelation) -> str:
    """Say that the correlation turns round between the ways of looking at it; '' where no two intervals say so."""
    ways = [found.pearson, found.within_models, found.within_instructions]
    if not opposite_sides(ways):
        return ""
    over, models, instructions = ("–" if one is None else people_words(one) for one in ways)
    return gettext(
        "%(judge)s agrees with people in one way and against them in another: Pearson's correlation is %(over)s over all "
        "responses, %(models)s within models, and %(instructions)s within instructions."
    ) % {"judge": judge, "over": over, "models": models, "instructions": instructions}


def slope_words(judge: str, slopes: Slopes, *, items: bool = False) -> str:
    """State a judge's slope beside a typical person's: whether it exaggerates more than people do, or less."""
    words = {"judge": judge, "slope": people_words(slopes.judge, items=items)}
    if slopes.person is not None:
        words["person"] = people_words(slopes.person, items=items)
    if slopes.judge.interval_kind == "crossed95" and slopes.judge.low <= 0 <= slopes.judge.high:
        return (
            gettext("No relation is shown between the verdicts of %(judge)s and people's: the slope is %(slope)s.")
            % words
        )
    apart = slopes.apart
    if slopes.person is None or apart is None:
        return gettext("Where verdicts of %(judge)s differ by 1, people's differ by %(slope)s.") % words
    if apart.excludes_zero and apart.value < 0:
        return (
            gettext(
                "%(judge)s exaggerates more than a typical person: where its verdicts differ by 1, people's differ by "
                "%(slope)s; where a person's differ by 1, those of the others differ by %(person)s."
            )
            % words
        )
    if apart.excludes_zero:
        return (
            gettext(
                "%(judge)s compresses differences compared with a typical person: where its verdicts differ by 1, "
                "people's differ by %(slope)s; where a person's differ by 1, those of the others differ by %(person)s."
            )
            % words
        )
    return (
        gettext(
            "Where verdicts of %(judge)s differ by 1, people's differ by %(slope)s; where a person's differ by 1, those of "
            "the others differ by %(person)s. It is not shown that the judge exaggerates or compresses differences."
        )
        % words
    )


def correlation_block(study: Study, judge: ScoreJudge, place: int) -> Block:
    """Show a judge's correlations with people by criterion, by category and over models."""
    title = gettext("Correlation of %(judge)s with people") % {"judge": judge.judge}
    key, found = f"correlations-{place}", judge.correlations
    if isinstance(found, Missing):
        return Block(key, title, reason=reason_of(found))
    categories = category_names({row.category_pk: row.category for row in found if row.by == "category"})
    named = [(_group_name(study, row, categories), row.correlation) for row in found]
    notes = [f"{name}: {reason_of(row)}" for name, row in named if isinstance(row, Missing)]
    rows: list[list[object]] = []
    bars, estimates = [], []
    for name, row in named:
        if isinstance(row, JudgeCorrelation):
            ways = _named_ways(row)
            rows += [[name, way, row.n, *people_cells(one), one.p] for way, one in ways]
            spearman = row.spearman
            ends = () if spearman.interval_kind == "none" else (spearman.low, spearman.high)
            bars.append(Bar(name, spearman.value, *ends))
            estimates += [one for _way, one in ways]
        elif isinstance(row, RankCorrelations):
            rows += [[name, way, row.n, *_over_models(one), one.p] for way, one in _coefficients(row)]
            notes.append(_models_note(row))
    if not rows:
        return Block(key, title, reason=" ".join(notes))
    columns = [
        Column(gettext("Compared")),
        Column(gettext("Correlation")),
        Column("n", 0),
        *people_columns(gettext("Value"), 3),
        Column.p(),
    ]
    items = by_items(study)
    block = Block(
        key,
        title,
        answer=_first_words(judge),
        figure=interval_bars(bars, title=title, x_title=gettext("Spearman's rank correlation")) if bars else "",
        caption=" ".join(populations_meaning(estimates, items=items)),
        table=Table(columns, rows),
        notes=notes,
        folded=True,
    )
    return all_marked(block, judge.judge)


def _first_words(judge: ScoreJudge) -> str:
    """Return the sentence on a correlation that turns round, of the first criterion of which one does."""
    if isinstance(judge.correlations, Missing):
        return ""
    known = [row.correlation for row in judge.correlations if isinstance(row.correlation, JudgeCorrelation)]
    return next(filter(None, (simpson_words(judge.judge, one) for one in known)), "")


def turned_round(judges: list[ScoreJudge]) -> str:
    """Return the sentences on the judges of which a correlation turns round."""
    return " ".join(filter(None, (_first_words(judge) for judge in judges)))


def _named_ways(found: JudgeCorrelation) -> list[tuple[str, PeopleEstimate]]:
    ranks = [(gettext("Spearman's ρ"), found.spearman), (gettext("Kendall's τ-b"), found.kendall)]
    person = [(gettext("one person with the others, Spearman's ρ"), found.person)]
    return [(name, one) for name, one in [*ranks, *way_names(found), *person] if one is not None]


def _coefficients(found: RankCorrelations) -> list[tuple[str, RankCoefficient]]:
    names = {
        "pearson": gettext("Pearson's r"),
        "spearman": gettext("Spearman's ρ"),
        "kendall": gettext("Kendall's τ-b"),
    }
    return [(names[one.name], getattr(found, one.name)) for one in fields(found) if one.name in names]


def _over_models(found: RankCoefficient) -> list[float | None]:
    """Return the cells of a correlation of models, in the places of `people_columns`."""
    cells: list[float | None] = [None] * WIDTH
    cells[0] = found.value
    if found.kind == "leave_one_out_range":
        cells[-2:] = [found.low, found.high]
    elif found.kind == "fisher95":
        cells[3:5] = [found.low, found.high]
    return cells


def _models_note(found: RankCorrelations) -> str:
    kind = found.spearman.kind
    if kind == "fisher95":
        return gettext(
            "Model means: the models are the units, and intervals over them are on Fisher's scale; instructions and raters "
            "are taken as given."
        )
    if kind == "leave_one_out_range":
        return gettext(
            "Model means: with 6 to 9 models, p is exact by enumeration, and the range over leaving out one model takes the "
            "place of an interval."
        )
    return gettext("Model means: with so few models, or where all orders agree, the values stand alone.")


def _group_name(
    study: Study, row: GroupCorrelation | CategoryCorrelation | ModelsCorrelation, categories: Mapping[int, str]
) -> str:
    if row.by == "category":
        return categories[row.category_pk]
    return criterion_name(study, row.group) if row.by == "criterion" else gettext("model means")
