"""Blocks of rankings from scores: means and ranks, who is ahead, shared ranks, and the tasks that separate models."""

from collections.abc import Mapping, Sequence

from django.utils.translation import gettext

from calibration.figures.curves import Curve, curves
from calibration.figures.drawing import number
from calibration.figures.spreads import RangeRow, Span, ranges
from calibration.reports.codec import Missing
from calibration.reports.rankings import CategoryMeans, ModelMean, RankedMeans, ScoreParts
from calibration.statistics.ranking.power import PowerCurve, SharedRanks
from calibration.statistics.resampling import MIN_CLUSTERS
from calibration.web.blocks import Block, Column, Table, cells_of, interval_cells
from calibration.web.messages.intervals import ends_meaning
from calibration.web.messages.names import category_names
from calibration.web.messages.populations import ends_columns, populations_note
from calibration.web.messages.reasons import reason_of
from calibration.web.rankings.differences import differences_block, stated_for
from calibration.web.rankings.pairs import lines_for_such, not_ranked_column, rank_columns, rank_words, unranked_notes

KINDS = ("bootstrap95", "leave_one_out_range", "none")


def score_blocks(found: ScoreParts, clusters: str, *, items: bool) -> list[Block]:
    """Build the blocks; `clusters` names what the intervals resample whole, in the reader's language."""
    return [
        _means(found.scores, clusters, items=items),
        differences_block(found.scores, clusters, items=items),
        _shared(found.shared, clusters, items=items),
        power_block(found.power, clusters),
        *_categories(found.by_category),
    ]


def _means(found: RankedMeans | Missing, clusters: str, *, items: bool) -> Block:
    title = gettext("Mean scores")
    if isinstance(found, Missing):
        return Block("means", title, reason=reason_of(found))
    rows = found.models
    figure = ranges(
        [RangeRow(row.model, [_mean_span(row)], note=_rank_note(row)) for row in rows],
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
            *ends_columns(3, optional=True),
            *rank_columns(),
            not_ranked_column(),
        ],
        [
            [
                *(row.model, row.n, row.clusters, row.mean, row.such_low, row.such_high),
                *(*interval_cells(row.mean, row)[1:], *_rank_cells(row), row.not_ranked),
            ]
            for row in rows
        ],
    )
    caption, *notes = means_notes(rows, clusters)
    if all(row.such_low is not None for row in rows):
        caption = lines_for_such()
    notes += [
        note
        for note in (populations_note(clusters), stated_for(found, items=items), _skew_note(found, clusters))
        if note
    ]
    return Block("means", title, figure=figure, caption=caption, table=table, notes=notes)


def _mean_span(row: ModelMean) -> Span:
    if row.such_low is None or row.such_high is None:
        return Span(row.mean, row.low, row.high)
    return Span(row.mean, row.such_low, row.such_high)


def _skew_note(found: RankedMeans, clusters: str) -> str:
    if not found.skewed:
        return ""
    return gettext(
        "The scores of these models are so skewed that intervals from so few %(of)s are unreliable: %(models)s."
    ) % {"of": clusters, "models": ", ".join(found.skewed)}


def means_notes(rows: Sequence[ModelMean], clusters: str) -> list[str]:
    """Explain the lines by kind of interval, as each model may have another number of clusters, and who is not ranked."""
    ranked = [row for row in rows if not row.not_ranked]
    by_kind = {kind: [row for row in ranked if row.interval_kind == kind] for kind in KINDS}
    counts = {row.clusters for row in rows}
    if len(counts) == 1 and len({row.interval_kind for row in rows}) == 1:
        return [ends_meaning(rows[0].interval_kind, counts.pop(), clusters)]
    notes, of = [], {"of": clusters, "least": MIN_CLUSTERS}
    if by_kind["bootstrap95"]:
        notes.append(
            gettext(
                "For models with %(least)d %(of)s or more, lines are 95 %% intervals from a bootstrap over the model's own "
                "%(of)s."
            )
            % of
        )
    if by_kind["leave_one_out_range"]:
        notes.append(
            gettext(
                "These models have fewer than the %(least)d %(of)s that a 95 %% interval needs: %(models)s. Their lines, "
                "and their best and worst ranks, span the values found when each one is left out in turn."
            )
            % {**of, "models": _counted(by_kind["leave_one_out_range"])}
        )
    if by_kind["none"]:
        notes.append(
            gettext(
                "These models have no interval, which needs at least 2 %(of)s: %(models)s. They may have any rank, and the "
                "ranks of the other models allow for that."
            )
            % {**of, "models": _counted(by_kind["none"])}
        )
    if by_kind["bootstrap95"] and by_kind["leave_one_out_range"]:
        notes.append(
            gettext("The ranks of models with an interval allow for any rank of the models that have only a range.")
        )
    return [*notes, *_unranked_notes(rows, of)]


def _unranked_notes(rows: Sequence[ModelMean], of: Mapping[str, object]) -> list[str]:
    notes = unranked_notes(rows, str(of["of"]))
    if any(row.interval_kind == "leave_one_out_range" for row in rows if row.not_ranked):
        notes.append(
            gettext(
                "The line of a model without a rank that has fewer than %(least)d %(of)s spans the values found when each "
                "one is left out in turn."
            )
            % of
        )
    return notes


def _rank_note(row: ModelMean) -> str:
    if row.rank_low is None or row.rank_high is None:
        return gettext("not ranked")
    return rank_words(row.rank_low, row.rank_high, row.interval_kind)


def _rank_cells(row: ModelMean) -> tuple[int | None, float | None, float | None]:
    if row.rank is None or row.rank_low is None or row.rank_high is None:
        return None, None, None
    return cells_of(row.rank, row.rank_low, row.rank_high, row.interval_kind)


def _counted(rows: Sequence[ModelMean]) -> str:
    """List models with their numbers of clusters: 'model1 (10), model2 (1)'."""
    return ", ".join(f"{row.model} ({row.clusters})" for row in rows)


def _shared(found: SharedRanks | Missing, clusters: str, *, items: bool) -> Block:
    title = gettext("Shared ranks, as in the paper (HREF)")
    if isinstance(found, Missing):
        return Block("shared-ranks", title, reason=_nothing_shared(found, clusters))
    rows = list(zip(found.models, found.mean.tolist(), found.rank.tolist(), found.leader_p.tolist(), strict=True))
    table = Table(
        [
            Column(gettext("Model")),
            Column(gettext("Mean over %(of)s") % {"of": clusters}, 3),
            Column(gettext("Rank"), 0),
            Column(gettext("p against the leader of its rank"), 3, floor=0.001),
        ],
        rows,
    )
    leaders = [str(model) for model, _, rank, _ in rows if rank == 1]
    if items:
        answer = (
            gettext("%(models)s share first rank (over the %(n)s items that every model answered).")
            if len(leaders) > 1
            else gettext("%(models)s alone holds first rank (over the %(n)s items that every model answered).")
        )
    else:
        answer = (
            gettext("%(models)s share first rank (over the %(n)s instructions that every model answered).")
            if len(leaders) > 1
            else gettext("%(models)s alone holds first rank (over the %(n)s instructions that every model answered).")
        )
    answer %= {"models": ", ".join(leaders), "n": f"{found.tasks:,}"}
    return Block("shared-ranks", title, answer=answer, table=table)


def _nothing_shared(found: Missing, clusters: str) -> str:
    if found.why != "NoSharedTasks":
        return reason_of(found)
    return gettext(
        "Fewer than two %(of)s were answered by every model, so the models cannot be compared on the same %(of)s."
    ) % {"of": clusters}


def power_block(found: PowerCurve | Missing, clusters: str) -> Block:
    """Draw HREF's figure 4 for a study: quantiles of p over all pairs of models, by number of clusters."""
    title = gettext("Number of %(of)s needed to separate the models") % {"of": clusters}
    if isinstance(found, Missing):
        return Block("power", title, reason=_nothing_shared(found, clusters))
    percent = [round(100 * share) for share in found.shares]
    sizes, means, quantiles = found.sizes.tolist(), found.mean.tolist(), found.quantiles.tolist()
    series = [Curve(gettext("mean p"), list(zip(sizes, means, strict=True)))]
    series += [
        Curve(
            gettext("p below which %(share)d %% of the pairs lie") % {"share": share},
            [(size, row[column]) for size, row in zip(sizes, quantiles, strict=True)],
        )
        for column, share in enumerate(percent)
    ]
    figure = curves(
        series,
        title=title,
        x_title=clusters.capitalize(),
        y_title=gettext("p of paired t tests"),
        rule=found.significant,
        rule_label=number(found.significant),
        step=0.001,
    )
    columns = [Column(clusters.capitalize(), 0), Column(gettext("Mean p"), 4)]
    columns += [Column(gettext("%(share)d %%") % {"share": share}, 4) for share in percent]
    table = Table(columns, [[size, mean, *row] for size, mean, row in zip(sizes, means, quantiles, strict=True)])
    caption = gettext(
        "%(pairs)d pairs of %(models)d models; values are means over %(repeats)d random subsets of each size."
    ) % {"pairs": found.pairs, "models": found.models, "repeats": found.repeats}
    answer = _separation(found, clusters)
    return Block("power", title, answer=answer, figure=figure, table=table, folded=True, caption=caption)


def _separation(found: PowerCurve, clusters: str) -> str:
    sentences = []
    for share in found.shares:
        words = {"share": round(100 * share), "of": clusters}
        measured, projected = found.separating.get(share), found.projected.get(share)
        if measured is not None:
            sentence = gettext("%(n)d %(of)s separate %(share)d %% of the pairs.") % {**words, "n": measured}
        elif projected is not None:
            sentence = gettext("Separating %(share)d %% of the pairs would take about %(n)d %(of)s.") % {
                **words,
                "n": projected,
            }
        else:
            sentence = (
                gettext(
                    "How many %(of)s would separate %(share)d %% of the pairs cannot be told, because some models have the "
                    "same mean here."
                )
                % words
            )
        sentences.append(sentence)
    return " ".join(sentences)


def _categories(rows: Sequence[CategoryMeans]) -> list[Block]:
    if not rows:
        return []
    names = category_names({row.category_pk: row.category for row in rows})
    table = Table(
        [
            Column(gettext("Category")),
            Column(gettext("Model")),
            Column(gettext("Answers"), 0),
            *Column.interval(gettext("Mean"), 2),
            Column(gettext("Rank"), 0),
        ],
        [
            [names[row.category_pk], model.model, model.n, *interval_cells(model.mean, model), model.rank]
            for row in rows
            if not isinstance(row.means, Missing)
            for model in row.means.models
        ],
        caption=gettext("Mean score"),
    )
    silent = ", ".join(names[row.category_pk] for row in rows if isinstance(row.means, Missing))
    notes = [gettext("Only one model has been rated in these categories: %(names)s.") % {"names": silent}]
    return [Block("categories", gettext("By category"), table=table, notes=notes if silent else [])]
