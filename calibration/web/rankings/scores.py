"""Blocks of rankings from scores: means and ranks, who is ahead, shared ranks, and the tasks that separate models."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.translation import gettext

from calibration.figures.curves import Curve, curves
from calibration.figures.drawing import number
from calibration.figures.spreads import RangeRow, Span, ranges
from calibration.reports.registry import Plain, missing
from calibration.statistics.resampling import MIN_CLUSTERS
from calibration.web.blocks import Block, Column, Table
from calibration.web.messages.intervals import ends_meaning, stated
from calibration.web.messages.names import category_names
from calibration.web.messages.reasons import reason_of
from calibration.web.rankings.pairs import ahead_block, rank_words

KINDS = ("bootstrap95", "leave_one_out_range", "none")


def score_blocks(report: Plain, clusters: str, *, items: bool) -> list[Block]:
    """Build the blocks; `clusters` names what the intervals resample whole, in the reader's language."""
    return [
        _means(report["scores"], clusters),
        ahead_block(report["scores"], clusters),
        _shared(report["shared"], clusters, items=items),
        power_block(report["power"], clusters),
        *_categories(report["by_category"]),
    ]


def _means(found: Mapping[str, Any], clusters: str) -> Block:
    title = gettext("Mean scores")
    if missing(found):
        return Block("means", title, reason=reason_of(found))
    rows = found["models"]
    figure = ranges(
        [
            RangeRow(
                row["model"], [Span(row["mean"], row["low"], row["high"])], note=rank_words(row, row["interval_kind"])
            )
            for row in rows
        ],
        title=title,
        x_title=gettext("Mean score"),
        series=[gettext("mean")],
        step=0.01,
    )
    table = Table(
        [
            Column(gettext("Model")),
            Column(gettext("Answers"), 0),
            Column(clusters.capitalize(), 0),
            Column(gettext("Mean"), 3),
            Column(gettext("From"), 3),
            Column(gettext("To"), 3),
            Column(gettext("Rank"), 0),
            Column(gettext("Best rank"), 0),
            Column(gettext("Worst rank"), 0),
        ],
        [
            [row["model"], row["n"], row["clusters"], row["mean"], *stated(row), row["rank"], *stated(row, "rank_")]
            for row in rows
        ],
    )
    caption, *notes = means_notes(rows, clusters)
    return Block("means", title, figure=figure, caption=caption, table=table, notes=notes)


def means_notes(rows: Sequence[Mapping[str, Any]], clusters: str) -> list[str]:
    """Explain the lines by kind of interval, because each model may have another number of clusters."""
    by_kind = {kind: [row for row in rows if row["interval_kind"] == kind] for kind in KINDS}
    counts = {row["clusters"] for row in rows}
    if len(counts) == 1 and len([own for own in by_kind.values() if own]) == 1:
        return [ends_meaning(rows[0]["interval_kind"], counts.pop(), clusters)]
    said, of = [], {"of": clusters, "least": MIN_CLUSTERS}
    if by_kind["bootstrap95"]:
        said.append(
            gettext(
                "For models with %(least)d %(of)s or more, lines are 95 %% intervals from a bootstrap over the model's own "
                "%(of)s."
            )
            % of
        )
    if by_kind["leave_one_out_range"]:
        said.append(
            gettext(
                "These models have too few %(of)s for a 95 %% interval: %(models)s. Their lines, and their best and worst "
                "ranks, span the values found when each one is left out in turn."
            )
            % {**of, "models": _counted(by_kind["leave_one_out_range"])}
        )
    if by_kind["none"]:
        said.append(
            gettext(
                "These models have too few %(of)s for any interval: %(models)s. They may have any rank, and the ranks of "
                "the other models allow for that."
            )
            % {**of, "models": _counted(by_kind["none"])}
        )
    if by_kind["bootstrap95"] and by_kind["leave_one_out_range"]:
        said.append(
            gettext("The ranks of models with an interval allow for any rank of the models that have only a range.")
        )
    return said


def _counted(rows: Sequence[Mapping[str, Any]]) -> str:
    """List models with their numbers of clusters: 'model1 (10), model2 (1)'."""
    return ", ".join(f"{row['model']} ({row['clusters']})" for row in rows)


def _shared(found: Mapping[str, Any], clusters: str, *, items: bool) -> Block:
    title = gettext("Shared ranks")
    if missing(found):
        return Block("shared-ranks", title, reason=_nothing_shared(found, clusters))
    rows = list(zip(found["models"], found["mean"], found["rank"], found["leader_p"], strict=True))
    table = Table(
        [
            Column(gettext("Model")),
            Column(gettext("Mean over %(of)s") % {"of": clusters}, 3),
            Column(gettext("Rank"), 0),
            Column(gettext("p against the leader of its rank"), 3),
        ],
        [list(row) for row in rows],
    )
    leaders = [row[0] for row in rows if row[2] == 1]
    if items:
        answer = (
            gettext("%(models)s share first rank (over the %(n)d items that every model answered).")
            if (len(leaders) > 1)
            else gettext("%(models)s alone holds first rank (over the %(n)d items that every model answered).")
        )
    else:
        answer = (
            gettext("%(models)s share first rank (over the %(n)d instructions that every model answered).")
            if (len(leaders) > 1)
            else gettext("%(models)s alone holds first rank (over the %(n)d instructions that every model answered).")
        )
    return Block(
        "shared-ranks", title, answer=answer % {"models": ", ".join(leaders), "n": found["tasks"]}, table=table
    )


def _nothing_shared(found: Mapping[str, Any], clusters: str) -> str:
    if found["why"] != "NoSharedTasks":
        return reason_of(found)
    return gettext(
        "Fewer than two %(of)s were answered by every model, so the models cannot be compared on the same %(of)s."
    ) % {"of": clusters}


def power_block(found: Mapping[str, Any], clusters: str) -> Block:
    """Draw HREF's figure 4 for a study: quantiles of p over all pairs of models, by number of clusters."""
    title = gettext("Number of %(of)s needed to separate the models") % {"of": clusters}
    if missing(found):
        return Block("power", title, reason=_nothing_shared(found, clusters))
    shares = found["shares"]
    series = [Curve(gettext("mean p"), list(zip(found["sizes"], found["mean"], strict=True)))]
    series += [
        Curve(
            gettext("p below which %(share)d %% of the pairs lie") % {"share": round(100 * share)},
            [(size, line[column]) for size, line in zip(found["sizes"], found["quantiles"], strict=True)],
        )
        for column, share in enumerate(shares)
    ]
    level = found["significant"]
    figure = curves(
        series,
        title=title,
        x_title=clusters.capitalize(),
        y_title=gettext("p of paired t tests"),
        rule=level,
        rule_label=number(level),
        step=0.001,
    )
    columns = [Column(clusters.capitalize(), 0), Column(gettext("Mean p"), 4)]
    columns += [Column(gettext("%(share)d %%") % {"share": round(100 * share)}, 4) for share in shares]
    table = Table(
        columns,
        [
            [size, mean, *line]
            for size, mean, line in zip(found["sizes"], found["mean"], found["quantiles"], strict=True)
        ],
    )
    return Block(
        "power",
        title,
        answer=_separation(found, clusters),
        figure=figure,
        table=table,
        folded=True,
        caption=gettext(
            "%(pairs)d pairs of %(models)d models; values are means over %(repeats)d random subsets of each size."
        )
        % {"pairs": found["pairs"], "models": found["models"], "repeats": found["repeats"]},
    )


def _separation(found: Mapping[str, Any], clusters: str) -> str:
    said = []
    for share in found["shares"]:
        words = {"share": round(100 * share), "of": clusters}
        here, later = found["separating"].get(str(share)), found["projected"].get(str(share))
        if here is not None:
            said.append(gettext("%(n)d %(of)s separate %(share)d %% of the pairs.") % {**words, "n": here})
        elif later is not None:
            said.append(
                gettext("Separating %(share)d %% of the pairs would take about %(n)d %(of)s.") % {**words, "n": later}
            )
        else:
            said.append(
                gettext("No number of %(of)s separates %(share)d %% of the pairs because some models do not differ.")
                % words
            )
    return " ".join(said)


def _categories(rows: Sequence[Mapping[str, Any]]) -> list[Block]:
    if not rows:
        return []
    names = category_names(rows)
    table = Table(
        [
            Column(gettext("Category")),
            Column(gettext("Model")),
            Column(gettext("Answers"), 0),
            Column(gettext("Mean"), 2),
            Column(gettext("From"), 2),
            Column(gettext("To"), 2),
            Column(gettext("Rank"), 0),
        ],
        [
            [names[row["category_pk"]], one["model"], one["n"], one["mean"], *stated(one), one["rank"]]
            for row in rows
            if "models" in row
            for one in row["models"]
        ],
        caption=gettext("Mean score"),
    )
    silent = [names[row["category_pk"]] for row in rows if "models" not in row]
    notes = (
        [gettext("Only one model has been rated in these categories: %(names)s.") % {"names": ", ".join(silent)}]
        if silent
        else []
    )
    return [Block("categories", gettext("By category"), table=table, notes=notes)]
