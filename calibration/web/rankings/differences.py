"""The differences between models: the lead in words, who is shown to be ahead of whom, and what would take to show it."""

from collections.abc import Sequence

from django.utils.translation import gettext

from calibration.figures.drawing import number
from calibration.reports.codec import Missing
from calibration.reports.pair_rankings import Strengths
from calibration.reports.rankings import RankedMeans
from calibration.statistics.ranking.populations import ModelDifference
from calibration.statistics.resampling import MIN_CLUSTERS
from calibration.web.blocks import Block, Column, Table
from calibration.web.messages.populations import both_words, ends_columns, not_stated_words, populations_note


def difference_words(row: ModelDifference, *, step: float) -> str:
    """Write the difference with both of its intervals."""
    such = None if row.such_low is None or row.such_high is None else (row.such_low, row.such_high)
    these = None if row.these_low is None or row.these_high is None else (row.these_low, row.these_high)
    return both_words(row.value, such, these, step=step)


def needed_sentence(row: ModelDifference, clusters: str) -> str:
    """Say how many instructions would show a difference of this size; '' where nothing can be said."""
    if row.p is None or row.value == 0:
        return ""
    if row.needed is None and not row.not_stated:
        return gettext("A difference of this size would take more raters to show; more %(of)s would not do.") % {
            "of": clusters
        }
    if row.needed is None or row.needed <= row.n:
        return ""
    return gettext("About %(n)s %(of)s in all would show a difference of this size with 80 %% power.") % {
        "n": number(row.needed, 1),
        "of": clusters,
    }


def stated_for(found: Strengths | RankedMeans, *, items: bool) -> str:
    """Say why there is no interval for raters like these; '' where there is one."""
    clusters = found.clusters if isinstance(found, Strengths) else found.n_instructions
    return not_stated_words(found.not_stated, clusters, found.n_raters, items=items)


def differences_block(found: Strengths | RankedMeans | Missing, clusters: str, *, items: bool) -> Block:
    """List every pair of ranked models: its difference with both intervals, and whether it is shown among all pairs."""
    title = gettext("Which differences between models are shown")
    if isinstance(found, Missing):
        return Block("ahead", title, reason=gettext("There are no two models whose difference can be stated."))
    rows = found.differences
    if not rows:
        return Block("ahead", title, reason=gettext("There are no two ranked models whose difference can be stated."))
    if all(row.p is None for row in rows):
        return Block(
            "ahead",
            title,
            reason=gettext(
                "No difference is tested, because a test needs two models with at least %(least)d of the same %(of)s. "
                "Compare the models on more %(of)s."
            )
            % {"of": clusters, "least": MIN_CLUSTERS},
        )
    digits = 1 if isinstance(found, Strengths) else 3
    table = Table(
        [
            Column(gettext("Model")),
            Column(gettext("Other model")),
            Column(gettext("Difference"), digits),
            *ends_columns(digits, optional=True),
            Column(clusters.capitalize(), 0),
            Column.p(),
            Column(gettext("p, corrected"), 4, floor=0.0001),
            Column(gettext("Ahead")),
        ],
        [[*_cells(row), _ahead(row)] for row in rows],
    )
    shown = sum(row.shown for row in rows)
    answer = gettext("%(shown)d of %(n)d differences between models are shown (p corrected for all pairs).") % {
        "shown": shown,
        "n": len(rows),
    }
    if len(rows) == 1:
        answer = (
            gettext("The difference between the two models is shown.")
            if shown
            else gettext("A difference between the two models is not shown.")
        )
    notes = [
        gettext(
            "Each interval is a 95 %% interval of its pair alone, and p inverts the first that is stated. The corrected p "
            "allows for all pairs (Holm): where it is under 0.05, the difference is shown."
        )
        % {},
        populations_note(clusters),
        stated_for(found, items=items),
    ]
    return Block("ahead", title, answer=answer, table=table, notes=[note for note in notes if note], folded=True)


def _cells(row: ModelDifference) -> Sequence[str | float | None]:
    known = row.n > 0
    return (
        *(row.first, row.second, row.value if known else None),
        *(row.such_low, row.such_high, row.these_low, row.these_high),
        *(row.n, row.p, row.p_family),
    )


def _ahead(row: ModelDifference) -> str:
    if not row.shown:
        return gettext("not shown")
    return row.first if row.value > 0 else row.second
