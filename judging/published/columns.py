"""Our numbers for the columns of the papers' tables: the same quantities, computed as each paper computed them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from django.utils.translation import gettext

from annotation.monitoring.exclusion import excluded_in
from calibration.data.frames import ABOUT_RESPONSES, Bools, ScoreFrame
from calibration.data.scores import score_frame
from calibration.models import Fit
from calibration.reports.cache import SHOWN
from generation.models import Category
from judging.leaderboards.check_counts import Output
from judging.leaderboards.observations import Observations
from judging.leaderboards.table import Leaderboard
from judging.leaderboards.weighting import PUBLISHED
from judging.scores.benchmark_scores import NothingScored, llmeval1_mean, pooled_counts, weighted_average, wildbench_mix
from judging.scores.metrics import FULFILLED, GRADED, POINTS, REWARD, STARS, WINS
from judging.scores.points import CategoryScore, PointsRule, model_scores

MOST_OF_IT = 0.9
HELLOBENCH_COLUMNS = {
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
UNSCALED = PointsRule(0.0, 1.0, pooled=True)

Published = Mapping[str, Any]
"""What a benchmark's paper printed: the JSON of fixtures/published."""
Numbers = Mapping[str, float | None]
"""Values by the board's name of a model."""


@dataclass(frozen=True)
class Quantity:
    """A column: its key in the paper's table, what it is called, and our numbers.

    `partial` are models whose number rests on a part of the benchmark. Where not `compared`, only the printed number is
    shown. `expected` are known differences, ours minus the printed one. `on_axis`: this is the board's overall score.
    `by_judge`: a judge gave it, not people.
    """

    column: str
    head: str
    ours: Numbers
    digits: int
    partial: frozenset[str] = frozenset()
    compared: bool = True
    on_axis: bool = False
    by_judge: bool = True
    expected: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Quantities:
    """`table` is the key of the paper's table; `conditions` state, in sentences, how the board differs from the paper."""

    table: str
    columns: Sequence[Quantity]
    conditions: Sequence[str] = ()


def quantities_of(board: Leaderboard, published: Published, printed_of: Mapping[str, str]) -> Quantities | None:
    """Return what the board computes of the paper's tables, or None; `printed_of` is the paper's name of each model."""
    key = (board.benchmark.slug, board.metric.name)
    if key in JUDGE_AND_PEOPLE:
        return _judge_and_people(board, published, printed_of, *JUDGE_AND_PEOPLE[key])
    return READERS[key](board, published, printed_of) if key in READERS else None


def _hellobench(board: Leaderboard, published: Published, printed_of: Mapping[str, str]) -> Quantities | None:
    """Table 2: the categories' scores and their average."""
    keys = list(board.categories.values())
    if not set(keys) <= set(HELLOBENCH_COLUMNS):
        return None
    names = {row.key: row.name for row in Category.objects.filter(benchmark=board.benchmark, pk__in=board.categories)}
    whole = _whole_counts(board)
    partial = {
        key: frozenset(row.model for row in board.models if _is_partial(row.categories.get(key), whole.get(key)))
        for key in HELLOBENCH_COLUMNS
    }
    known = _known_differences(published, printed_of)
    columns = [
        Quantity(
            HELLOBENCH_COLUMNS[key],
            names.get(key, key),
            {row.model: row.categories[key].score for row in board.models if key in row.categories},
            2,
            partial[key],
            expected=_of_column(known, key),
        )
        for key in keys
    ]
    columns.append(
        Quantity(
            "AVG_S",
            gettext("Average"),
            {row.model: row.average for row in board.models} if len(keys) == len(HELLOBENCH_COLUMNS) else {},
            2,
            frozenset().union(*partial.values()),
            on_axis=True,
            expected={
                **{model: sum(gaps.values()) / len(HELLOBENCH_COLUMNS) for model, gaps in known.items()},
                **_misprinted(published, printed_of, "AVG_S"),
            },
        )
    )
    fit = board.weighting.fit
    if board.weighting.name == PUBLISHED or (fit is not None and fit.kind == Fit.Kind.PUBLISHED):
        return Quantities("table_2", columns)
    condition = gettext("The paper used its published weights. Choose them above for a like-for-like comparison.")
    return Quantities("table_2", columns, (condition,))


def _whole_counts(board: Leaderboard) -> dict[str, int]:
    """Return the number of instructions of each category of the whole benchmark, where it is known."""
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
    judged = {row.model: sum(cell.n + cell.unscored for cell in row.categories.values()) for row in board.models}
    ours = {row.model: row.average for row in board.models}
    few = _judged_in_part(judged, published["table_2"]["instructions"])
    return Quantities("table_2", [Quantity("score", gettext("WB-Score"), ours, 1, few, on_axis=True)])


def _wildbench_reward(board: Leaderboard, published: Published, printed_of: Mapping[str, str]) -> Quantities | None:
    """Table 2: the reward against each of three baselines, and their mean, a baseline against itself counting 0."""
    pks = {printed_of.get(name): pk for pk, name in reversed(list(board.model_names.items()))}
    baselines = {column: pks.get(printed) for column, printed in published["baselines"].items()}
    by_column = {column: _scores(board, board.observations, _against(board, pk)) for column, pk in baselines.items()}
    rewards = {column: scores for column, (scores, _counts) in by_column.items()}
    if not any(rewards.values()):
        return None
    whole = published["table_2"]["instructions"]
    few = {column: _judged_in_part(counts, whole) for column, (_scores, counts) in by_column.items()}
    itself = {board.model_names[pk]: column for column, pk in baselines.items() if pk is not None}
    mixes: dict[str, float | None] = {}
    for row in board.models:
        against = {column: scores[row.model] for column, scores in rewards.items() if row.model in scores}
        try:
            mixes[row.model] = wildbench_mix(against, list(baselines), itself.get(row.model, row.model))
        except NothingScored:
            mixes[row.model] = None
    asked = {pk for pk, name in board.model_names.items() if name in board.filters.against}
    known = {pk for pk in baselines.values() if pk is not None}
    every = asked == known and len(known) == len(baselines)
    columns = [
        Quantity("reward_mix", gettext("Mean of the three"), mixes, 1, frozenset().union(*few.values()), on_axis=every)
    ]
    for column, pk in baselines.items():
        head = gettext("against %(model)s") % {"model": published["baselines"][column]}
        columns.append(Quantity(column, head, rewards[column], 1, few[column], on_axis=asked == {pk}))
    conditions = []
    if board.filters.margin is not None:
        conditions.append(gettext("The paper's rewards have no length margin. Clear K for a like-for-like comparison."))
    if (
        board.filters.excluded != SHOWN
        and excluded_in(task__response_a__instruction__benchmark=board.benchmark).answers
    ):
        conditions.append(
            gettext(
                "Comparisons of cut or empty responses, which the paper seems to count, are left out here. Show the "
                "excluded answers for a like-for-like comparison."
            )
        )
    return Quantities("table_2", columns, conditions)


def _href(board: Leaderboard, published: Published, printed_of: Mapping[str, str]) -> Quantities | None:
    """Table 5 where the evaluation set's own categories were judged, else table 6: expected win rates by category."""
    names = {plain_name(name): pk for pk, name in reversed(list(board.model_names.items()))}
    baseline = names.get(plain_name(published["baseline"]))
    mask = _against(board, baseline)
    if not mask.any():
        return None
    top = _top_categories(board.observations)
    rows = {row.pk: row for row in Category.objects.filter(benchmark=board.benchmark)}
    named = {row.key: row.name for row in reversed(rows.values())}
    judged = {rows[pk].key: pk for pk in np.unique(top[mask]).tolist() if pk in rows}
    name = "table_5" if SCIENCE & set(judged) else "table_6"
    rates, counts = _scores(board, board.observations, mask)
    few = _judged_in_part(counts, published[name]["instructions"])
    columns = []
    for key in published[name]["columns"][:-1]:
        ours = _scores(board, board.observations, mask & (top == judged.get(key, -1)))[0]
        columns.append(Quantity(key, named.get(key, key), ours, 1, few))
    opponents = board.observations.opponent[board.observations.model != baseline]
    alone = bool((opponents == baseline).all())
    columns.append(Quantity("all", gettext("All"), rates, 1, few, on_axis=alone))
    return Quantities(name, columns)


def _longgenbench(board: Leaderboard, published: Published, printed_of: Mapping[str, str]) -> Quantities:
    """Table 2: each version's completion rate, STIC-1, STIC-2 and weighted average; words as printed only."""
    whole, known = published["table_2"]["instructions"], _known_differences(published, printed_of)
    columns = []
    for version, head in (("short", gettext("Short: %(what)s")), ("long", gettext("Long: %(what)s"))):
        shares = {}
        for row in board.models:
            outputs = [output for output in board.outputs if output.model == board.pks[row.model]]
            shares[row.model] = completion_as_printed(
                [output for output in outputs if (output.counts.asked <= SHORT_PARTS) == (version == "short")]
            )
        few = _judged_in_part({model: found.n for model, found in shares.items() if found}, whole)
        for name, what in (
            ("completion", gettext("completion rate")),
            ("stic_1", "STIC-1"),
            ("stic_2", "STIC-2"),
            ("words", gettext("words")),
            ("average", gettext("weighted average")),
        ):
            column, is_words = f"{version}_{name}", name == "words"
            columns.append(
                Quantity(
                    column,
                    head % {"what": what},
                    {model: getattr(found, name, None) for model, found in shares.items()},
                    0 if is_words else published["table_2"]["digits"],
                    few,
                    compared=not is_words,
                    expected=_of_column(known, column),
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
    """Return the shares with the mean of the outputs' own completion rates; the leaderboard pools all parts instead.

    None without outputs that ask for parts and instructions. LongGenBench (arXiv 2409.02076), table 2: its repository's
    rates are fractions that 400 outputs give in this way only.
    """
    asked = [output.counts for output in outputs if output.counts.asked]
    counts = pooled_counts(asked)
    if not counts.instructions:
        return None
    completion = 100 * float(np.mean([row.present / row.asked for row in asked]))
    stic_2 = counts.fulfilled / counts.instructions
    return PrintedShares(
        completion=completion,
        stic_1=100 * counts.fulfilled / counts.answered if counts.answered else None,
        stic_2=100 * stic_2,
        average=weighted_average(completion, stic_2),
        n=len(asked),
    )


Score = Callable[[Leaderboard, Observations, ScoreFrame], Numbers]


def _judge_and_people(
    board: Leaderboard, published: Published, printed_of: Mapping[str, str], name: str, score: Score, on_axis: bool
) -> Quantities:
    """The scores by the judge and by people, and the ranks that follow from them."""
    table = published[name]
    # In pairs, each model meets every other one on each instruction.
    whole = table["instructions"] * (len(table["rows"]) - 1 if board.metric.paired else 1)
    columns: list[Quantity] = []
    for who, observations, frame, heads in (
        ("judge", board.observations, board.frame, (gettext("judge's score"), gettext("judge's rank"))),
        ("people", board.people, board.people_frame, (gettext("people's score"), gettext("people's rank"))),
    ):
        ours: Numbers = {}
        few: frozenset[str] = frozenset()
        if observations is not None and frame is not None:
            ours = score(board, observations, frame)
            pks, counts = np.unique(observations.model[observations.response > 0], return_counts=True)
            by_name = {board.model_names[pk]: n for pk, n in zip(pks.tolist(), counts.tolist(), strict=True)}
            few = _judged_in_part(by_name, whole)
        ranks = _ranks(ours, table["rows"], printed_of)
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


def _ranks(ours: Numbers, rows: Mapping[str, object], printed_of: Mapping[str, str]) -> Numbers:
    """Ranks among the paper's models, where all of them have a score here; else none."""
    scores = {model: value for model, value in ours.items() if printed_of.get(model) in rows and value is not None}
    if len(scores) < len(rows):
        return {}
    return {model: 1.0 + sum(other > value for other in scores.values()) for model, value in scores.items()}


def _subject_totals(board: Leaderboard, observations: Observations, _frame: ScoreFrame) -> Numbers:
    """The mean over the board's subjects of 100 x stars/full marks, of models scored in all of them."""
    top = _top_categories(observations)
    inside = np.isin(top, list(board.categories))
    rows = model_scores(
        model=observations.model[inside],
        category=top[inside],
        points=observations.top[inside],
        under=observations.under[inside],
        unscored={},
        model_names=board.model_names,
        category_keys=board.categories,
        rule=board.rule,
    )
    return {row.model: row.average for row in rows if row.average is not None}


def _mean_stars(board: Leaderboard, _observations: Observations, frame: ScoreFrame) -> Numbers:
    """The mean over the criteria of their mean stars, of three; repeated ratings count, as they do in the paper."""
    judged = bool(frame.is_judge.any())
    every = score_frame(
        kinds=ABOUT_RESPONSES,
        benchmark=board.benchmark,
        raters=np.unique(frame.rater).tolist(),
        people=not judged,
        judges=judged,
        experiment=board.filters.run_experiment,
        repeats=True,
        discredited=board.filters.discredited,
    )
    again = every.select((every.repeat > 0) & np.isin(every.role, np.unique(frame.role)))
    rows = [(one, one.applicable & (one.model > 0)) for one in (frame, again)]
    keys = np.concatenate([np.array(one.criterion_keys)[one.criterion[mask]] for one, mask in rows])
    models = np.concatenate([one.model[mask] for one, mask in rows])
    stars = np.concatenate([STARS_EACH * one.value[mask] / one.high[mask] for one, mask in rows])
    return {
        board.model_names[pk]: llmeval1_mean(keys[models == pk].tolist(), stars[models == pk])
        for pk in np.unique(models).tolist()
    }


def _points_per_comparison(board: Leaderboard, observations: Observations, _frame: ScoreFrame) -> Numbers:
    return _scores(board, observations, observations.response > 0, UNSCALED)[0]


READERS: Mapping[tuple[str, str], Callable[[Leaderboard, Published, Mapping[str, str]], Quantities | None]] = {
    ("hellobench", POINTS): _hellobench,
    ("wildbench", GRADED): _wildbench_score,
    ("wildbench", REWARD): _wildbench_reward,
    ("href", WINS): _href,
    ("longgenbench", FULFILLED): _longgenbench,
}
JUDGE_AND_PEOPLE: Mapping[tuple[str, str], tuple[str, Score, bool]] = {
    ("llmeval1", STARS): ("table_6", _mean_stars, False),
    ("llmeval1", WINS): ("table_7", _points_per_comparison, False),
    ("llmeval2", STARS): ("table_8", _subject_totals, True),
}
"""By benchmark and metric: the table, the score, and whether it is the board's overall score."""


def _known_differences(published: Published, printed_of: Mapping[str, str]) -> dict[str, Mapping[str, float]]:
    """Return the known differences of our models, each by what the file calls the column."""
    folders = {model: published["model_folders"].get(printed, printed) for model, printed in printed_of.items()}
    known = published["known_differences"]["differences"]
    return {model: known[folder] for model, folder in folders.items() if folder in known}


def _misprinted(published: Published, printed_of: Mapping[str, str], column: str) -> dict[str, float]:
    """Return by our model's name what a misprint of a column is off by, right minus printed."""
    found = {}
    for model, printed in printed_of.items():
        misprint = published.get("misprints", {}).get(printed, {}).get(column)
        if misprint is not None:
            table = published["table_2"]
            found[model] = misprint["correct"] - table["rows"][printed][table["columns"].index(column)]
    return found


def _of_column(known: Mapping[str, Mapping[str, float]], column: str) -> dict[str, float]:
    return {model: gaps[column] for model, gaps in known.items() if column in gaps}


def _against(board: Leaderboard, opponent: int | None) -> Bools:
    """Mark the comparisons with one model, but not its own with itself."""
    return np.asarray((board.observations.opponent == (opponent or -1)) & (board.observations.response > 0), dtype=bool)


def _top_categories(observations: Observations) -> Any:
    return np.where(observations.parent > 0, observations.parent, observations.category)


def _scores(
    board: Leaderboard, observations: Observations, mask: Bools, rule: PointsRule | None = None
) -> tuple[dict[str, float], dict[str, int]]:
    """Return each model's score over all observations under the mask, by the board's metric, and how many there are."""
    return scores_over(observations.select(mask), board.model_names, rule or board.metric.rule)


def scores_over(
    observations: Observations, names: Mapping[int, str], rule: PointsRule
) -> tuple[dict[str, float], dict[str, int]]:
    """Return each model's score over all observations at once, and how many there are, by the model's name."""
    rows = model_scores(
        model=observations.model,
        category=np.zeros(len(observations), dtype=np.int64),
        points=observations.top,
        under=observations.under,
        unscored={},
        model_names=names,
        category_keys={0: "all"},
        rule=rule,
    )
    scores = {row.model: row.average for row in rows if row.average is not None}
    return scores, {row.model: row.categories["all"].n for row in rows}


def _judged_in_part(counts: Mapping[str, int], whole: int) -> frozenset[str]:
    """Return the models of which clearly less than the whole was judged."""
    return frozenset(model for model, n in counts.items() if n < MOST_OF_IT * whole)


def plain_name(name: str) -> str:
    """Return a model's name in lower case, without the account before a slash."""
    return name.rsplit("/", 1)[-1].strip().casefold()
