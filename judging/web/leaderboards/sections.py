"""The sections below a leaderboard's scores: standings of pairs, completion, corrected scores, lengths in words."""

from collections.abc import Sequence

from django.utils.translation import gettext, ngettext

from calibration.figures.curves import Curve, curves
from calibration.figures.drawing import number
from calibration.figures.spreads import RangeRow, Span, ranges
from calibration.statistics.errors import NoStatistic
from calibration.statistics.judges.estimates import LEAST_RATERS_OF_MEANS
from calibration.web.blocks import Block, Column, Table
from calibration.web.messages.people_estimates import people_cells, people_columns, people_span, populations_meaning
from calibration.web.messages.reasons import error_words
from calibration.web.messages.statistics import interval_meaning
from calibration.web.rankings.pairs import not_ranked_column
from judging.leaderboards.check_counts import POSITIONS
from judging.leaderboards.ranked_models import EVEN
from judging.leaderboards.sections import KINDS, Standing, completion_of, fulfilled_by_position, standings
from judging.leaderboards.table import Leaderboard
from judging.web.leaderboards.messages import MetricMessages, named, notes_on_unranked, taken_as_given

CURVES = 6
"""At most this many models are drawn in a figure of curves; the table has all."""


def corrected_block(board: Leaderboard, messages: MetricMessages) -> Block | None:
    """Show raw and corrected scores side by side; None if people have scored nothing of it."""
    title = gettext("Scores corrected by people's ratings")
    if board.people is None:
        return None
    if not board.corrected:
        return Block(
            "corrected",
            title,
            reason=gettext(
                "People and this judge have too few rated responses in common to correct the judge: for each "
                "model, both must have scored two instructions, and one in every category."
            ),
        )
    rows, drawn = [], []
    gap = 0.0
    for model in board.models:
        score = board.corrected.get(model.model)
        if score is None:
            continue
        raw = board.intervals.averages.get(board.pks[model.model])
        rows.append(
            [
                model.model,
                model.average,
                *people_cells(score),
                *people_cells(score.people),
                score.n,
                score.effective_n,
                score.power,
            ]
        )
        span = Span(model.average, raw.low, raw.high) if raw and model.average is not None else None
        drawn.append(RangeRow(model.model, [span, people_span(score)]))
        gap += abs(score.value - (model.average or 0.0))
    columns = [
        Column(gettext("Model")),
        Column(gettext("Judge alone"), 1),
        *people_columns(gettext("Corrected"), 1),
        *people_columns(gettext("People alone"), 1),
        Column(gettext("Scored by people"), 0),
        Column(gettext("Effective sample size"), 0),
        Column(gettext("Weight of the judge"), 2),
    ]
    notes = [
        gettext(
            "The corrected score estimates what people would have given. It combines people's scores of some "
            "responses with the judge's scores of all, shifted by the judge's error where both scored "
            "(prediction-powered inference, arXiv 2311.01453). It is unbiased however wrong the judge is; a "
            "good judge makes it more precise. The effective sample size is the number of people's scores that"
            " alone would be equally precise."
        )
    ]
    if not any(score.power for score in board.corrected.values()):
        notes.append(
            gettext("People scored everything that the judge scored, so the corrected score is people's score.")
        )
    notes += corrected_populations(board)
    return Block(
        "corrected",
        title,
        answer=ngettext(
            "On %(n)d model that people rated too, the correction changes the score by %(gap)s.",
            "On %(n)d models that people rated too, the correction changes the scores by %(gap)s on average.",
            len(rows),
        )
        % {"n": len(rows), "gap": number(gap / len(rows), 0.1)},
        figure=ranges(
            drawn,
            title=gettext("Scores from the judge alone and corrected by people's ratings"),
            x_title=messages.axis,
            series=[gettext("judge alone"), gettext("corrected")],
            step=0.1,
        ),
        caption=gettext(
            "The bars of the judge alone are about its verdicts, with the instructions drawn again; those of the corrected "
            "scores are for raters like these where the table states that, and for exactly these raters otherwise."
        ),
        table=Table(columns, rows),
        notes=notes,
    )


def corrected_populations(board: Leaderboard) -> list[str]:
    """Say for which raters the intervals of the corrected scores hold, and why for some only for exactly these."""
    return populations_meaning(board.corrected.values(), least_raters=LEAST_RATERS_OF_MEANS)


def standings_block(board: Leaderboard) -> Block | None:
    """Show points, Elo, Bradley-Terry and shared ranks of pairs; None for other metrics."""
    if board.wins is None or not len(board.wins):
        return None
    title = gettext("Pairwise comparisons")
    try:
        table = standings(board.observations, board.wins, board.model_names)
    except NoStatistic as error:
        return Block("tournament", title, reason=error_words(error.code))
    columns = [
        Column(gettext("Model")),
        Column(gettext("Points"), 1),
        Column(gettext("Comparisons"), 0),
        Column(gettext("Points per comparison"), 3),
        Column("Elo", 0),
        *Column.interval(gettext("Strength"), 0),
        Column(gettext("Shared rank, as in the paper"), 0),
        not_ranked_column(),
    ]
    rows = [
        [
            *(row.model, row.points, row.comparisons, row.per_comparison, row.elo),
            *(row.strength, row.low, row.high, row.rank, str(row.not_ranked or "")),
        ]
        for row in table.rows
    ]
    notes = [
        gettext(
            "All comparisons on these instructions count, whatever baseline is chosen above. A win is 1 point, a "
            "tie ½. Elo starts at 1500 with K = 32 and processes the comparisons by instruction; another order "
            "gives other ratings. Strength is from the Bradley-Terry model, on Elo's scale, and does not depend on"
            " the order."
        ),
        gettext(
            "The shared rank is as in the paper (HREF, table 3): a model shares the leader's rank as long as a paired t "
            "test over the instructions that all models have gives p ≥ .05, without a correction for the number of "
            "models. It shows no leader."
        ),
        taken_as_given(),
    ]
    if table.strengthless:
        notes.append(error_words(table.strengthless))
    else:
        notes.append(interval_meaning(table.interval_kind, table.clusters, gettext("instructions")))
    said = {row.model: (row.not_ranked, row.instructions) for row in table.rows if row.model not in board.unranked}
    notes += notes_on_unranked(said)
    ranked = [row for row in table.rows if row.not_ranked is None]
    return Block("tournament", title, answer=_most_points(ranked), table=Table(columns, rows), notes=notes)


def _most_points(rows: Sequence[Standing]) -> str:
    """Name the ranked model with the most points per comparison, those that tie with it, and those that share its rank."""
    if not rows:
        return ""
    leader = rows[0]
    level = [row for row in rows if leader.per_comparison - row.per_comparison <= EVEN]
    if len(level) > 1:
        return gettext("%(n)d models tie for the most points per comparison, %(points)s: %(models)s.") % {
            "n": len(level),
            "points": number(leader.per_comparison, 0.001),
            "models": named(row.model for row in level),
        }
    sentence = gettext("%(model)s has the most points per comparison: %(points)s in %(games)s comparisons.") % {
        "model": leader.model,
        "points": number(leader.per_comparison, 0.001),
        "games": leader.comparisons,
    }
    sharing = [row.model for row in rows[1:] if row.rank == leader.rank == 1]
    if sharing:
        sentence += " " + gettext("As in the paper, %(models)s share its rank: a difference is not shown.") % {
            "models": named(sharing)
        }
    return sentence


def completion_block(board: Leaderboard) -> Block | None:
    """Show LongGenBench's shares of each model, with the weighted average's interval; None for other metrics."""
    if not board.outputs:
        return None
    rows: list[tuple[float, list[object]]] = []
    for model in board.models:
        by_response = {output.response: output for output in board.outputs if output.model == board.pks[model.model]}
        outputs = list(by_response.values())
        shares = completion_of(outputs)
        if shares is None:
            continue
        complete = [
            output.words
            for output in outputs
            if output.counts.asked and output.counts.present >= 0.8 * output.counts.asked
        ]
        cells: list[object] = [
            model.model,
            shares.completion_rate,
            shares.stic_1,
            shares.stic_2,
            shares.weighted_average,
            shares.low,
            shares.high,
            shares.counts.present,
            shares.counts.asked,
            shares.counts.fulfilled,
            shares.counts.instructions,
            len(outputs),
            len(complete),
            sum(complete) / len(complete) if complete else None,
            *(shares.by_kind.get(kind) for kind in KINDS),
        ]
        rows.append((shares.weighted_average, cells))
    rows.sort(key=lambda row: -row[0])
    columns = [
        Column(gettext("Model")),
        Column(gettext("Completion rate"), 1),
        Column("STIC-1", 1),
        Column("STIC-2", 1),
        *Column.interval(gettext("Weighted average"), 1),
        Column(gettext("Parts present"), 0),
        Column(gettext("Parts asked for"), 0),
        Column(gettext("Fulfilled"), 0),
        Column(gettext("Instructions"), 0),
        Column(gettext("Outputs"), 0),
        Column(gettext("At least 80 percent complete"), 0),
        Column(gettext("Words of these outputs"), 0),
        Column(gettext("Single"), 1),
        Column(gettext("Range"), 1),
        Column(gettext("Periodic"), 1),
    ]
    return Block(
        "completion",
        gettext("Completion and instructions"),
        table=Table(columns, [cells for _average, cells in rows]),
        notes=[
            gettext(
                "Shares are in percent. The last three columns show STIC-2 for instructions on single parts, on "
                "ranges of parts, and on periodic parts. The interval is for the weighted average, over whole "
                "instructions."
            ),
            *uncounted_notes(board),
        ],
    )


def position_block(board: Leaderboard) -> Block | None:
    """Show STIC-2 by the place of the part in the text, as LongGenBench's figure 3; None for other metrics."""
    shares = {
        model.model: fulfilled_by_position([row for row in board.outputs if row.model == board.pks[model.model]])
        for model in board.models
    }
    if not any(len(found) > 1 for found in shares.values()):
        return None
    tenths = [gettext("%(n)d of %(all)d") % {"n": place + 1, "all": POSITIONS} for place in range(POSITIONS)]
    drawn = [
        Curve(model, [(float(place), share) for place, share in found.items()])
        for model, found in list(shares.items())[:CURVES]
        if found
    ]
    return Block(
        "positions",
        gettext("Instructions fulfilled by position in the text"),
        figure=curves(
            drawn,
            title=gettext("Instructions fulfilled by position in the text"),
            x_title=gettext("tenth of the parts asked for"),
            y_title="STIC-2",
            x_labels=tenths,
            step=0.1,
        ),
        table=Table(
            [Column(gettext("Model")), *(Column(tenth, 1) for tenth in tenths)],
            [[model, *(found.get(place) for place in range(POSITIONS))] for model, found in shares.items()],
        ),
        notes=[
            gettext(
                "Each column is STIC-2, in percent, of the instructions on one tenth of the parts asked for: the first is "
                "the beginning of the text. An instruction whose part is missing counts as not fulfilled. LongGenBench "
                "(arXiv 2409.02076), figure 3, draws smoothed curves over the length of the text instead."
            )
        ],
    )


def uncounted_notes(board: Leaderboard) -> list[str]:
    """Count the instructions about which no judge could be asked, how they count, and what is not counted."""
    absent = len({output.instruction for output in board.outputs if not output.checkable})
    notes = []
    if absent:
        notes.append(
            ngettext(
                "%(n)d instruction counts as fulfilled by no model: the parts to check are missing from every "
                "output, so no judge could be asked about them.",
                "%(n)d instructions count as fulfilled by no model: the parts to check are missing from every "
                "output, so no judge could be asked about them.",
                absent,
            )
            % {"n": absent}
        )
    if board.uncounted.unasked:
        notes.append(
            ngettext(
                "%(n)d instruction is not counted: none of its outputs were checked, and no rubric of the "
                "benchmark says what to check.",
                "%(n)d instructions are not counted: none of their outputs were checked, and no rubric of the "
                "benchmark says what to check.",
                board.uncounted.unasked,
            )
            % {"n": board.uncounted.unasked}
        )
    if board.uncounted.unplanned:
        notes.append(
            ngettext(
                "%(n)d output is not counted: no judge was asked about its parts, because it was added after the "
                "study's tasks were created or was removed from them.",
                "%(n)d outputs are not counted: no judge was asked about their parts, because they were added "
                "after the study's tasks were created or were removed from them.",
                board.uncounted.unplanned,
            )
            % {"n": board.uncounted.unplanned}
        )
    return notes


def words_block(board: Leaderboard, names: dict[str, str]) -> Block | None:
    """Show mean words of the judged responses, by category; None if no length is known."""
    if not board.words:
        return None
    keys = list(board.categories.values())
    columns = [Column(gettext("Model")), *(Column(names[key], 0) for key in keys), Column(gettext("Mean"), 0)]
    rows = [
        [model.model, *(board.words.get((model.model, key)) for key in keys), board.words.get((model.model, ""))]
        for model in board.models
    ]
    return Block(
        "words",
        gettext("Length in words"),
        table=Table(columns, rows),
        notes=[gettext("Mean over the responses of each category; the overall value is the mean over categories.")],
        folded=True,
    )
