"""What of a leaderboard stands beside each column of a paper's table: the same quantity, computed as the paper does."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from django.utils.translation import gettext

from calibration.models import Fit
from generation.models import Category
from judging.leaderboards.check_counts import Output
from judging.leaderboards.observations import BoardEntries
from judging.leaderboards.table import Leaderboard
from judging.leaderboards.weighting import PUBLISHED
from judging.published.columns import (
    MOST_OF_IT,
    Numbers,
    Published,
    Quantities,
    Quantity,
    counts_by_model,
    games_against,
    judged_in_part,
    known_shifts,
    means_by_model,
    places,
    same_name,
)
from judging.scores.benchmark_scores import NothingScored, weighted_average, wildbench_mix
from judging.scores.metrics import FULFILLED, GRADED, POINTS, REWARD, STARS, WINS
from judging.scores.points import CategoryScore

COLUMN_OF = {
    "open_ended_qa": "OEQA_S",
    "summarization": "Summ_S",
    "chat": "Chat_S",
    "text_completion": "TC_S",
    "heuristic_text_generation": "HTG_S",
}
SCIENCE = {"fact_checking", "multi_document_synthesis", "reasoning_over_numerical_data"}
"""HREF's categories that only its evaluation set has."""
SHORT_PARTS = 100
"""LongGenBench's short version asks for 52 or 100 parts, its long one for 300 and more."""
STARS_EACH = 3


def quantities_of(board: Leaderboard, published: Published, printed_of: Mapping[str, str]) -> Quantities | None:
    """None where the paper printed nothing that this board computes; `printed_of` is the paper's name of each model."""
    reader = READERS.get((board.benchmark.slug, board.measure.name))
    return reader(board, published, printed_of) if reader else None


def _hellobench(board: Leaderboard, published: Published, printed_of: Mapping[str, str]) -> Quantities | None:
    """Table 2: the categories' scores and their average."""
    keys = list(board.categories.values())
    if not set(keys) <= set(COLUMN_OF):
        return None
    names = {row.key: row for row in Category.objects.filter(benchmark=board.benchmark, pk__in=board.categories)}
    whole = _whole_counts(board)
    partial = {
        key: frozenset(one.model for one in board.models if _is_partial(one.categories.get(key), whole.get(key)))
        for key in COLUMN_OF
    }
    known = known_shifts(published, printed_of)
    columns = [
        Quantity(
            COLUMN_OF[key],
            names[key].name if key in names else key,
            {one.model: one.categories[key].score for one in board.models if key in one.categories},
            2,
            partial[key],
            expected={model: shifts[key] for model, shifts in known.items() if key in shifts},
        )
        for key in keys
    ]
    averages = {one.model: one.average for one in board.models} if len(keys) == len(COLUMN_OF) else {}
    columns.append(
        Quantity(
            "AVG_S",
            gettext("Average"),
            averages,
            2,
            frozenset().union(*partial.values()),
            on_axis=True,
            expected={model: sum(shifts.values()) / len(COLUMN_OF) for model, shifts in known.items()},
        )
    )
    fit = board.weighting.fit
    as_printed = board.weighting.name == PUBLISHED or (fit is not None and fit.kind == Fit.Kind.PUBLISHED)
    told = gettext("The paper used its published weights. Choose them above for a like-for-like comparison.")
    return Quantities("table_2", columns, () if as_printed else (told,))


def _whole_counts(board: Leaderboard) -> dict[str, int]:
    """How many instructions each category of the whole benchmark has, where that is known."""
    counts: dict[str, int] = {}
    for category in Category.objects.filter(benchmark=board.benchmark, parent=None).prefetch_related("children"):
        parts = sum(child.expected_count or 0 for child in category.children.all())
        if total := category.expected_count or parts:
            counts[category.key] = total
    return counts


def _is_partial(score: CategoryScore | None, whole: int | None) -> bool:
    """Whether clearly less than the whole category was judged; a few missing verdicts are usual."""
    judged = score.n + score.unscored if score else 0
    return whole is not None and judged < MOST_OF_IT * whole


def _wildbench_score(board: Leaderboard, published: Published, printed_of: Mapping[str, str]) -> Quantities:
    """Table 2, its last column: WB-Score over all tasks."""
    judged = {one.model: sum(cell.n + cell.unscored for cell in one.categories.values()) for one in board.models}
    ours = {one.model: one.average for one in board.models}
    few = judged_in_part(judged, published["table_2"]["instructions"])
    return Quantities("table_2", [Quantity("score", gettext("WB-Score"), ours, 1, few, on_axis=True)])


def _wildbench_reward(board: Leaderboard, published: Published, printed_of: Mapping[str, str]) -> Quantities | None:
    """Table 2: the reward against each of three baselines, and their mean, a baseline against itself counting 0."""
    baselines = {
        column: next((pk for pk, name in board.model_names.items() if printed_of.get(name) == printed), None)
        for column, printed in published["baselines"].items()
    }
    rewards: dict[str, dict[str, float]] = {}
    counts: dict[str, dict[str, int]] = {}
    for column, pk in baselines.items():
        rewards[column], counts[column] = means_by_model(
            board.entries, games_against(board.entries, pk), board.model_names
        )
    if not any(rewards.values()):
        return None
    whole = published["table_2"]["instructions"]
    itself = {board.model_names[pk]: column for column, pk in baselines.items() if pk is not None}
    mixes: dict[str, float | None] = {}
    for one in board.models:
        own = {column: 100 * found[one.model] for column, found in rewards.items() if one.model in found}
        try:
            mixes[one.model] = wildbench_mix(own, list(baselines), itself.get(one.model, one.model))
        except NothingScored:
            mixes[one.model] = None
    asked = {pk for pk, name in board.model_names.items() if name in board.query.against}
    known = {pk for pk in baselines.values() if pk is not None}
    few = {column: judged_in_part(counts[column], whole) for column in baselines}
    columns = [
        Quantity(
            "reward_mix",
            gettext("Mean of the three"),
            mixes,
            1,
            frozenset().union(*few.values()),
            on_axis=asked == known and len(known) == len(baselines),
        )
    ]
    columns += [
        Quantity(
            column,
            gettext("against %(model)s") % {"model": published["baselines"][column]},
            {model: 100 * value for model, value in rewards[column].items()},
            1,
            few[column],
            on_axis=asked == {pk},
        )
        for column, pk in baselines.items()
    ]
    told = gettext("The paper's rewards have no length margin. Clear K for a like-for-like comparison.")
    return Quantities("table_2", columns, () if board.query.margin is None else (told,))


def _href(board: Leaderboard, published: Published, printed_of: Mapping[str, str]) -> Quantities | None:
    """Table 5 where the evaluation set's own categories were judged, else table 6: expected win rates by category."""
    baseline = next((pk for pk, name in board.model_names.items() if same_name(name, published["baseline"])), None)
    mask = games_against(board.entries, baseline)
    if not mask.any():
        return None
    top = np.where(board.entries.parent > 0, board.entries.parent, board.entries.category)
    rows = {row.pk: row for row in Category.objects.filter(benchmark=board.benchmark)}
    here = {rows[pk].key: pk for pk in np.unique(top[mask]).tolist() if pk in rows}
    name = "table_5" if SCIENCE & set(here) else "table_6"
    rates, counts = means_by_model(board.entries, mask, board.model_names)
    few = judged_in_part(counts, published[name]["instructions"])
    columns = []
    for key in published[name]["columns"][:-1]:
        row = next((row for row in rows.values() if row.key == key), None)
        own = means_by_model(board.entries, mask & (top == here.get(key, -1)), board.model_names)[0]
        ours = {model: 100 * value for model, value in own.items()}
        columns.append(Quantity(key, row.name if row else key, ours, 1, few))
    others = board.entries.opponent[board.entries.model != baseline]
    total = {model: 100 * value for model, value in rates.items()}
    columns.append(Quantity("all", gettext("All"), total, 1, few, on_axis=bool((others == baseline).all())))
    return Quantities(name, columns)


def _longgenbench(board: Leaderboard, published: Published, printed_of: Mapping[str, str]) -> Quantities:
    """Table 2: each version's completion rate, STIC-1, STIC-2 and weighted average; words as printed only."""
    whole, known = published["table_2"]["instructions"], known_shifts(published, printed_of)
    columns = []
    for version, head in (("short", gettext("Short: %(what)s")), ("long", gettext("Long: %(what)s"))):
        found = {
            one.model: completion_as_printed(
                [
                    output
                    for output in board.outputs
                    if output.model == board.pks[one.model]
                    and (output.counts.asked <= SHORT_PARTS) == (version == "short")
                ]
            )
            for one in board.models
        }
        few = judged_in_part({model: shares.n for model, shares in found.items() if shares}, whole)
        for name, what in (
            ("completion", gettext("completion rate")),
            ("stic_1", "STIC-1"),
            ("stic_2", "STIC-2"),
            ("words", gettext("words")),
            ("average", gettext("weighted average")),
        ):
            ours = {model: getattr(shares, name, None) for model, shares in found.items()}
            column = f"{version}_{name}"
            columns.append(
                Quantity(
                    column,
                    head % {"what": what},
                    ours,
                    0 if name == "words" else published["table_2"]["digits"],
                    few,
                    compared=name != "words",
                    expected={model: shifts[column] for model, shifts in known.items() if column in shifts},
                )
            )
    return Quantities("table_2", columns)


@dataclass(frozen=True)
class PrintedShares:
    """LongGenBench's shares of one version in percent, as its table 2 has them; n counts the outputs."""

    completion: float
    stic_1: float | None
    stic_2: float
    average: float
    n: int


def completion_as_printed(outputs: Sequence[Output]) -> PrintedShares | None:
    """Completion is the mean of the outputs' own rates, unlike the leaderboard's, which pools all parts.

    None without outputs that ask for parts and instructions. LongGenBench (arXiv 2409.02076), table 2: its repository's
    rates are fractions that 400 outputs give in this way only.
    """
    asked = [one.counts for one in outputs if one.counts.asked]
    instructions = sum(one.instructions for one in asked)
    if not asked or not instructions:
        return None
    completion = 100 * float(np.mean([one.present / one.asked for one in asked]))
    answered, fulfilled = sum(one.answered for one in asked), sum(one.fulfilled for one in asked)
    stic_2 = fulfilled / instructions
    return PrintedShares(
        completion=completion,
        stic_1=100 * fulfilled / answered if answered else None,
        stic_2=100 * stic_2,
        average=weighted_average(completion, stic_2),
        n=len(asked),
    )


def _llmeval2(board: Leaderboard, published: Published, printed_of: Mapping[str, str]) -> Quantities:
    """Table 8: the totals of the judge and of people, and the ranks that follow from them."""
    return _judge_and_people(board, published, "table_8", printed_of, _subject_totals, 1, on_axis=True)


def _llmeval1_stars(board: Leaderboard, published: Published, printed_of: Mapping[str, str]) -> Quantities:
    """Table 6: mean stars of three, over all criteria."""
    return _judge_and_people(board, published, "table_6", printed_of, _mean_stars, 1)


def _llmeval1_pairs(board: Leaderboard, published: Published, printed_of: Mapping[str, str]) -> Quantities:
    """Table 7: points a game; each model meets every other one on each instruction."""
    rivals = len(published["table_7"]["rows"]) - 1
    return _judge_and_people(board, published, "table_7", printed_of, _points_a_game, rivals)


def _judge_and_people(
    board: Leaderboard,
    published: Published,
    name: str,
    printed_of: Mapping[str, str],
    score: Callable[[Leaderboard, BoardEntries], Numbers],
    each: int,
    *,
    on_axis: bool = False,
) -> Quantities:
    table = published[name]
    whole = table["instructions"] * each
    columns: list[Quantity] = []
    for who, entries, heads in (
        ("judge", board.entries, (gettext("judge's score"), gettext("judge's rank"))),
        ("people", board.people, (gettext("people's score"), gettext("people's rank"))),
    ):
        ours = score(board, entries) if entries is not None else {}
        few = judged_in_part(counts_by_model(entries, board.model_names), whole) if entries is not None else frozenset()
        ranks = places(ours, table["rows"], printed_of)
        judged = who == "judge"
        columns += [
            Quantity(
                who,
                heads[0],
                ours,
                table["digits"],
                few,
                compared=bool(ours),
                on_axis=on_axis and judged,
                by_judge=judged,
            ),
            Quantity(f"{who}_rank", heads[1], ranks, 0, few, compared=bool(ranks), by_judge=judged),
        ]
    return Quantities(name, columns)


def _subject_totals(board: Leaderboard, entries: BoardEntries) -> Numbers:
    """The mean over the board's subjects of 100 x stars/full marks, of models scored in all of them."""
    top = np.where(entries.parent > 0, entries.parent, entries.category)
    subjects = list(board.categories)
    if board.query.category or not subjects:
        return {}
    found: dict[str, float | None] = {}
    for pk in np.unique(entries.model).tolist():
        cells = [(entries.model == pk) & (top == code) for code in subjects]
        if all(cell.any() for cell in cells):
            shares = [entries.top[cell].sum() / entries.under[cell].sum() for cell in cells]
            found[board.model_names[pk]] = 100 * float(np.mean(shares))
    return found


def _mean_stars(board: Leaderboard, entries: BoardEntries) -> Numbers:
    """Where each response has all criteria, the mean of the criteria's means is the mean of all stars."""
    return {
        board.model_names[pk]: STARS_EACH * float(entries.top[own].sum() / entries.under[own].sum())
        for pk in np.unique(entries.model).tolist()
        if (own := entries.model == pk).any()
    }


def _points_a_game(board: Leaderboard, entries: BoardEntries) -> Numbers:
    return means_by_model(entries, entries.response > 0, board.model_names)[0]


READERS: Mapping[tuple[str, str], Callable[[Leaderboard, Published, Mapping[str, str]], Quantities | None]] = {
    ("hellobench", POINTS): _hellobench,
    ("wildbench", GRADED): _wildbench_score,
    ("wildbench", REWARD): _wildbench_reward,
    ("href", WINS): _href,
    ("longgenbench", FULFILLED): _longgenbench,
    ("llmeval1", STARS): _llmeval1_stars,
    ("llmeval1", WINS): _llmeval1_pairs,
    ("llmeval2", STARS): _llmeval2,
}
