"""The sections of a leaderboard: scores corrected by people, rankings of pairs, lengths in words."""

from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext, ngettext

from calibration.figures.drawing import number
from calibration.figures.spreads import RangeRow, Span, ranges
from calibration.statistics.errors import NoStatistic
from calibration.web.blocks import Block, Column, Table
from calibration.web.messages.reasons import reason_of
from calibration.web.messages.statistics import interval_meaning
from judging.leaderboards.completion import KINDS, completion_of
from judging.leaderboards.pairwise import Standing, standings
from judging.leaderboards.table import Leaderboard
from judging.web.leaderboards.answer import EVEN, named
from judging.web.leaderboards.messages import MeasureWords


def corrected_block(board: Leaderboard, words: MeasureWords) -> Block | None:
    """Raw and corrected scores side by side; None if people have scored nothing of it."""
    title = gettext("Scores corrected by people's ratings")
    if board.people is None:
        return None
    found = board.corrected
    if not found:
        return Block(
            "corrected",
            title,
            reason=gettext(
                "People and this judge have too few rated responses in common to correct the judge: for each "
                "model, both must have scored two instructions, and one in every category."
            ),
        )
    rows, drawn = [], []
    for one in board.models:
        fixed = found.get(one.model)
        if fixed is None:
            continue
        raw = board.intervals.averages.get(board.pks[one.model])
        rows.append(
            [
                one.model,
                one.average,
                fixed.value,
                fixed.low,
                fixed.high,
                fixed.people,
                fixed.people_low,
                fixed.people_high,
                fixed.n,
                fixed.effective_n,
                fixed.power,
            ]
        )
        span = Span(one.average, raw.low, raw.high) if raw and one.average is not None else None
        drawn.append(RangeRow(one.model, [span, Span(fixed.value, fixed.low, fixed.high)]))
    gap = sum(abs(fixed.value - (one.average or 0.0)) for one in board.models if (fixed := found.get(one.model)))
    columns = [
        Column(gettext("Model")),
        Column(gettext("Judge alone"), 2),
        Column(gettext("Corrected"), 2),
        Column(gettext("From"), 1),
        Column(gettext("To"), 1),
        Column(gettext("People alone"), 2),
        Column(gettext("From"), 1),
        Column(gettext("To"), 1),
        Column(gettext("Scored by people"), 0),
        Column(gettext("Effective sample size"), 0),
        Column(gettext("Weight of the judge"), 2),
    ]
    kinds = {fixed.interval_kind for fixed in found.values()}
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
            x_title=words.axis,
            series=[gettext("judge alone"), gettext("corrected")],
            step=0.1,
        ),
        caption=gettext("Bars are intervals over whole instructions."),
        table=Table(columns, rows),
        notes=[
            gettext(
                "The corrected score estimates what people would have given. It combines people's scores of some "
                "responses with the judge's scores of all, shifted by the judge's error where both scored "
                "(prediction-powered inference, arXiv 2311.01453). It is unbiased however wrong the judge is; a "
                "good judge makes it more precise. The effective sample size is the number of people's scores that"
                " alone would be equally precise."
            ),
            *(
                [gettext("People scored everything that the judge scored, so the corrected score is people's score.")]
                if not any(fixed.power for fixed in found.values())
                else []
            ),
            *(
                [
                    gettext(
                        "With fewer than 20 instructions, the interval shows the range over leaving out one "
                        "instruction at a time."
                    )
                ]
                if "leave_one_out_range" in kinds
                else []
            ),
        ],
    )


def standings_block(board: Leaderboard) -> Block | None:
    """Points, Elo, Bradley-Terry and shared ranks of pairs; None for other measures."""
    if board.wins is None or not len(board.wins):
        return None
    title = gettext("Pairwise comparisons")
    try:
        found = standings(board.entries, board.wins, board.model_names)
    except NoStatistic as error:
        return Block("tournament", title, reason=reason_of({"why": type(error).__name__, "reason": str(error)}))
    columns = [
        Column(gettext("Model")),
        Column(gettext("Points"), 1),
        Column(gettext("Comparisons"), 0),
        Column(gettext("Points per comparison"), 3),
        Column("Elo", 0),
        Column(gettext("Strength"), 0),
        Column(gettext("From"), 0),
        Column(gettext("To"), 0),
        Column(gettext("Shared rank"), 0),
    ]
    rows = [
        [one.model, one.points, one.games, one.per_game, one.elo, one.strength, one.low, one.high, one.rank]
        for one in found.rows
    ]
    notes = [
        gettext(
            "All comparisons on these instructions count, whatever baseline is chosen above. A win is 1 point, a "
            "tie ½. Elo starts at 1500 with K = 32 and processes the comparisons by instruction; another order "
            "gives other ratings. Strength is from the Bradley-Terry model, on Elo's scale, and does not depend on"
            " the order."
        ),
        gettext(
            "A model shares the leader's rank as long as a paired t test over the instructions that all models "
            "have gives p ≥ .05 (HREF, table 3)."
        ),
    ]
    if found.strengthless:
        notes.append(reason_of({"why": found.strengthless, "reason": ""}))
    else:
        notes.append(interval_meaning(found.interval_kind, found.clusters, gettext("instructions")))
    return Block("tournament", title, answer=_most_points(found.rows), table=Table(columns, rows), notes=notes)


def _most_points(rows: Sequence[Standing]) -> str:
    """Name the model with the most points per comparison, models that tie with it, and those that share its rank."""
    leader = rows[0]
    level = [one for one in rows if leader.per_game - one.per_game <= EVEN]
    if len(level) > 1:
        return gettext("%(n)d models tie for the most points per comparison, %(points)s: %(models)s.") % {
            "n": len(level),
            "points": number(leader.per_game, 0.001),
            "models": named(one.model for one in level),
        }
    said = gettext("%(model)s has the most points per comparison: %(points)s in %(games)s comparisons.") % {
        "model": leader.model,
        "points": number(leader.per_game, 0.001),
        "games": leader.games,
    }
    sharing = [one.model for one in rows[1:] if one.rank is not None and one.rank == leader.rank == 1]
    if sharing:
        said += " " + gettext("By the t test, %(models)s are not significantly different from it.") % {
            "models": named(sharing)
        }
    return said


def completion_block(board: Leaderboard) -> Block | None:
    """LongGenBench's shares of each model, with the weighted average's interval; None for other measures."""
    if not board.outputs:
        return None
    rows: list[list[Any]] = []
    for one in board.models:
        own = {output.response: output for output in board.outputs if output.model == board.pks[one.model]}
        found = completion_of(list(own.values()))
        if found is None:
            continue
        complete = [
            output.words
            for output in own.values()
            if output.counts.asked and output.counts.present >= 0.8 * output.counts.asked
        ]
        rows.append(
            [
                one.model,
                *found.shares,
                found.low,
                found.high,
                found.counts.present,
                found.counts.asked,
                found.counts.fulfilled,
                found.counts.instructions,
                len(own),
                len(complete),
                sum(complete) / len(complete) if complete else None,
                *(found.by_kind.get(kind) for kind in KINDS),
            ]
        )
    rows.sort(key=lambda row: -float(row[4]))
    columns = [
        Column(gettext("Model")),
        Column(gettext("Completion rate"), 1),
        Column("STIC-1", 1),
        Column("STIC-2", 1),
        Column(gettext("Weighted average"), 1),
        Column(gettext("From"), 1),
        Column(gettext("To"), 1),
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
        table=Table(columns, rows),
        notes=[
            gettext(
                "Shares are in percent. The last three columns show STIC-2 for instructions on single parts, on "
                "ranges of parts, and on periodic parts. The interval is for the weighted average, over whole "
                "instructions."
            ),
            *uncounted_notes(board),
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


def words_block(board: Leaderboard, names: dict[str, str], words: MeasureWords) -> Block | None:
    """Mean words of the judged responses, by category; None if no length is known."""
    if not board.words:
        return None
    keys = list(board.categories.values())
    columns = [Column(gettext("Model")), *(Column(names[key], 0) for key in keys), Column(gettext("Mean"), 0)]
    rows = [
        [one.model, *(board.words.get((one.model, key)) for key in keys), board.words.get((one.model, ""))]
        for one in board.models
    ]
    return Block(
        "words",
        gettext("Length in words"),
        table=Table(columns, rows),
        notes=[gettext("Mean over the responses of each category; the overall value is the mean over categories.")],
        folded=True,
    )
