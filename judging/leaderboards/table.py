"""Rank models by a judge's verdicts: from rows to scores with a measure, for all or a part of a benchmark."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from annotation.models import Assignment, AssignmentQuerySet, Rater, Study
from calibration.data.frames import ABOUT_RESPONSES, ROLES, Ints, ScoreFrame, data_hash
from calibration.data.scores import score_frame
from calibration.data.verdicts import JudgesVerdicts, judges_of_answers
from calibration.statistics.errors import NoStatistic
from calibration.statistics.ties import descending, settle_ties
from generation.models import MAIN_EXPERIMENT, Benchmark, Category, Response
from judging.leaderboards.check_counts import Output, Uncounted, counted
from judging.leaderboards.filters import (
    LeftOut,
    Unusable,
    against_itself,
    columns_of,
    kept,
    left_out,
    mapped,
    unusable_of,
    wanted_instructions,
    wanted_models,
)
from judging.leaderboards.observations import BoardEntries, entries_of, item_weights, metrics_in
from judging.leaderboards.query import MODEL, WORDS, BoardQuery
from judging.leaderboards.weighting import Weighting, weighting_named
from judging.scores.corrected_scores import Corrected, Entries, corrected_score
from judging.scores.metrics import FULFILLED, METRICS, REWARD, WINS, Metric
from judging.scores.points import (
    ModelScores,
    NoVerdicts,
    OnlyDiscredited,
    Points,
    PointsRule,
    ScoreIntervals,
    average_intervals,
    model_scores,
    response_points,
)

EVERYTHING = BoardQuery()
TIES = {WINS: 0.5, REWARD: 0.0}
"""Value of a tie for a model, by measure of pairs."""


class UnknownJudge(LookupError):
    """There is no judge with this name; the sentence lists the judges."""


@dataclass(frozen=True)
class Leaderboard:
    """`models` best first, or as the query sorts; `categories` are the columns' keys by code, in the benchmark's order.

    `entries` are the judged responses behind the scores and `column` (n,) the column of each; `people` the same for
    people's scores; `wins` the comparisons between all models; `left_out` counts models with too few judged responses,
    `unusable` the verdicts that could not be used, `discredited` those of runs that failed their canary texts, which
    are excluded unless the query asks for them; `outputs` are the counts behind instruction checks, `uncounted` what is
    in none of them. `words` are mean words by (model's name, column's key), with '' for the mean over columns.
    """

    benchmark: Benchmark
    judge: Rater
    weighting: Weighting
    experiment: str
    measure: Metric
    measures: tuple[Metric, ...]
    query: BoardQuery
    categories: Mapping[int, str]
    models: tuple[ModelScores, ...]
    entries: BoardEntries
    column: Ints
    model_names: Mapping[int, str]
    data_hash: str
    left_out: int = 0
    unusable: int = 0
    discredited: int = 0
    outputs: tuple[Output, ...] = ()
    uncounted: Uncounted = field(default_factory=Uncounted)
    people: BoardEntries | None = None
    wins: BoardEntries | None = None
    words: Mapping[tuple[str, str], float] = field(default_factory=dict)

    @cached_property
    def intervals(self) -> ScoreIntervals:
        """By the model's pk and the column's code; leads are those of the best model on the board."""
        known = [one for one in self.models if one.average is not None]
        first = descending(np.array([one.average for one in known], dtype=np.float64))[:1]
        best = known[int(first[0])] if first.size else None
        return average_intervals(
            model=self.entries.model,
            category=self.column,
            instruction=self.entries.instruction,
            points=self.entries.top,
            under=self.entries.under,
            rule=self.rule,
            leader=None if best is None else self.pks[best.model],
        )

    @property
    def ranked(self) -> bool:
        """Whether the board ranks its models, which it does not by discredited verdicts."""
        return not (self.query.discredited and self.discredited)

    @property
    def rule(self) -> PointsRule:
        return rule_of(self.measure, self.query)

    @cached_property
    def pks(self) -> Mapping[str, int]:
        return {name: pk for pk, name in self.model_names.items()}

    @cached_property
    def corrected(self) -> Mapping[str, Corrected]:
        """By model name, for models of which people scored enough responses."""
        if self.people is None:
            return {}
        found = {}
        for one in self.models:
            mine = self.entries.model == self.pks[one.model]
            theirs = self.people.model == self.pks[one.model]
            try:
                found[one.model] = _corrected(
                    self.entries.select(mine), self.column[mine], self.people.select(theirs), self.rule
                )
            except NoStatistic:
                continue
        return found

    def as_json(self) -> dict[str, Any]:
        marks = {"ranked": self.ranked, "discredited_verdicts": self.discredited}
        return {
            **(marks if self.discredited else {}),
            "models": [
                {
                    "model": one.model,
                    "categories": {
                        key: {"score": cell.score, "n": cell.n, "unscored": cell.unscored}
                        for key, cell in one.categories.items()
                    },
                    "average": one.average,
                }
                for one in self.models
            ],
        }


def judges_of(benchmark: Benchmark) -> list[Rater]:
    """Return the judges that have rated this benchmark's responses, as `verdicts_on` annotates them."""
    return [row.judge for row in verdicts_on(benchmark)]


def verdicts_on(benchmark: Benchmark) -> list[JudgesVerdicts]:
    """Return the judges with their numbers of verdicts on this benchmark, most first; judges without a usable one come
    last.
    """
    answers = Assignment.objects.filter(task__response_a__instruction__benchmark=benchmark)
    found = judges_of_answers(answers)
    asked = answers.of_judges().filter(task__gold__isnull=True).order_by().values("rater")
    others = Rater.objects.filter(pk__in=asked).exclude(pk__in=[row.judge.pk for row in found])
    return [*found, *(JudgesVerdicts(judge, 0, 0) for judge in others.order_by("label"))]


def judge_named(benchmark: Benchmark, name: str) -> Rater:
    """Return the judge with this name. Raises UnknownJudge."""
    known = judges_of(benchmark)
    found = next((judge for judge in known if name in (judge.label, judge.name, judge.public_id)), None)
    if found is None:
        names = ", ".join(judge.label for judge in known) or "none yet"
        raise UnknownJudge(f"No judge {name!r} has rated benchmark {benchmark.slug}; its judges are: {names}.")
    return found


def leaderboard(
    benchmark: Benchmark,
    judge: Rater,
    weights: str | Weighting,
    *,
    experiment: str = MAIN_EXPERIMENT,
    query: BoardQuery = EVERYTHING,
    beside_people: bool = False,
    people_of: Study | None = None,
) -> Leaderboard:
    """Return the board for `query`; with `beside_people`, people's scores are read too, or those of one study.

    A response judged in several studies counts once, with the mean of its points. Raises NoVerdicts, OnlyDiscredited,
    UnknownWeights, MissingWeights, WithoutWeight, NotOnScale.
    """
    weighting = weighting_named(benchmark, weights) if isinstance(weights, str) else weights
    frame = score_frame(
        kinds=ABOUT_RESPONSES,
        benchmark=benchmark,
        raters=[judge.pk],
        people=False,
        experiment=experiment,
        discredited=query.discredited,
    )
    measures = tuple(metrics_in(frame)) if len(frame) else ()
    doubted = discredited_on(benchmark, judge)
    leaves_out = doubted and not query.discredited
    if not measures and leaves_out and not _verdicts_of(benchmark, judge).believed().exists():
        raise OnlyDiscredited(
            f"All {doubted} verdicts of {judge} on benchmark {benchmark.slug} come from a run that failed its canary "
            "texts, so they are not ranked; ask another judge, or use this model with a different prompt."
        )
    if not measures:
        raise NoVerdicts(
            f"{judge} has no usable verdicts on benchmark {benchmark.slug}, experiment {experiment or 'any'}."
        )
    measure = next((one for one in measures if one.name == query.measure), measures[0])
    frame = frame.select(frame.role == ROLES.index(measure.role))
    leaves = {
        category.pk: category for category in Category.objects.filter(benchmark=benchmark).select_related("parent")
    }
    names = dict(benchmark.workspace.language_models.values_list("pk", "name"))
    entries = entries_of(frame, measure, weighting, leaves, margin=query.margin)
    unusable = unusable_of(benchmark, judge, experiment, measure, discredited=query.discredited)
    entries, column, columns, missing = _narrowed(benchmark, query, measure, leaves, names, entries, unusable)
    if not len(entries):
        raise NoVerdicts(f"{judge} has no verdicts for this selection; remove a filter.")
    scored = model_scores(
        model=entries.model,
        category=column,
        points=entries.top,
        under=entries.under,
        rule=rule_of(measure, query),
        judged=entries.response > 0,
        unscored=missing.cells,
        model_names=names,
        category_keys=columns,
    )
    enough = tuple(one for one in scored if sum(cell.n for cell in one.categories.values()) >= query.least)
    board = Leaderboard(
        benchmark,
        judge,
        weighting,
        experiment,
        measure,
        measures,
        query,
        columns,
        enough,
        entries,
        column,
        names,
        data_hash(frame),
        left_out=len(scored) - len(enough),
        unusable=missing.verdicts,
        words=_words(benchmark, entries, column, names, columns),
        discredited=doubted,
    )
    people = None
    if beside_people or people_of is not None:
        theirs = (
            score_frame(kinds=ABOUT_RESPONSES, study=people_of, judges=False)
            if people_of is not None
            else score_frame(kinds=ABOUT_RESPONSES, benchmark=benchmark, judges=False, experiment=experiment)
        )
        people = _people(theirs, measure, weighting, leaves, query)
    wins = None
    if measure.paired and beside_people:
        won = entries_of(frame, METRICS[WINS], weighting, leaves)
        wins = won.select(np.isin(won.instruction, np.unique(entries.instruction)))
    outputs, uncounted = _outputs(frame, entries, query) if measure.name == FULFILLED else ((), Uncounted())
    return replace(board, models=_sorted(board), people=people, wins=wins, outputs=outputs, uncounted=uncounted)


def discredited_on(benchmark: Benchmark, judge: Rater) -> int:
    """Count the judge's verdicts on this benchmark from runs that failed their canary texts."""
    return _verdicts_of(benchmark, judge).filter(discredited=True).count()


def _verdicts_of(benchmark: Benchmark, judge: Rater) -> AssignmentQuerySet:
    given = Assignment.objects.filter(task__response_a__instruction__benchmark=benchmark, rater=judge)
    return given.verdicts()


def _outputs(frame: ScoreFrame, entries: BoardEntries, query: BoardQuery) -> tuple[tuple[Output, ...], Uncounted]:
    """Return the outputs behind the entries; what is not counted is known only for the whole benchmark."""
    found, uncounted = counted(frame)
    inside = set(entries.response.tolist())
    kept_outputs = tuple(one for one in found if one.response in inside)
    return kept_outputs, Uncounted() if query.narrows else uncounted


def _narrowed(
    benchmark: Benchmark,
    query: BoardQuery,
    measure: Metric,
    leaves: Mapping[int, Category],
    names: Mapping[int, str],
    entries: BoardEntries,
    unusable: list[Unusable],
) -> tuple[BoardEntries, Ints, dict[int, str], LeftOut]:
    """Return the entries that the query keeps, the column of each, the columns, and their unusable verdicts."""
    wanted, models = wanted_instructions(benchmark, query, leaves), wanted_models(benchmark, query)
    entries = entries.select(kept(entries, wanted, models, query, names))
    against = {pk: name for name in query.against for pk, other in names.items() if other == name}
    rivals = set(against) if measure.paired and query.against else None
    if measure.paired and len(query.against) > 1:
        entries, column = against_itself(entries, entries.opponent, list(against), TIES[measure.name])
        missing = left_out(unusable, lambda _leaf, rival: rival, wanted, models, rivals)
        return entries, column, against, missing
    columns, of_leaf = columns_of(entries, [one.leaf for one in unusable], leaves, query)
    column = mapped(entries.category, of_leaf)
    inside = column >= 0
    missing = left_out(unusable, lambda leaf, _rival: of_leaf.get(leaf), wanted, models, rivals)
    return entries.select(inside), column[inside], columns, missing


def rule_of(measure: Metric, query: BoardQuery) -> PointsRule:
    """Return the measure's rule: leaves of one category are pooled; several baselines count with their mean."""
    if measure.paired and len(query.against) > 1:
        return replace(measure.rule, pooled=False)
    return replace(measure.rule, pooled=True) if query.category else measure.rule


def weighted_points(frame: ScoreFrame, weighting: Weighting, leaves: Mapping[int, Category]) -> Points:
    """Return the points of each response from item scores, with answers mapped to 0..1 by their scale."""
    answer = (frame.value - frame.low) / (frame.high - frame.low)
    return response_points(frame.response, answer, item_weights(frame, weighting, leaves))


def _people(
    frame: ScoreFrame, measure: Metric, weighting: Weighting, leaves: Mapping[int, Category], query: BoardQuery
) -> BoardEntries | None:
    """Return people's ratings of responses on the same measure; None if there are none."""
    frame = frame.select(frame.role == ROLES.index(measure.role))
    if not len(frame):
        return None
    try:
        return entries_of(frame, measure, weighting, leaves, margin=query.margin)
    except (LookupError, ValueError):
        return None


def _corrected(judge: BoardEntries, column: Ints, people: BoardEntries, rule: PointsRule) -> Corrected:
    """Match people's entries with the judge's by response and rival; drop those that the judge did not score."""
    place = {key: row for row, key in enumerate(zip(people.response.tolist(), people.rival.tolist(), strict=True))}
    keys = list(zip(judge.response.tolist(), judge.rival.tolist(), strict=True))
    rows = np.array([place.get(key, -1) for key in keys], dtype=np.int64)
    both = rows >= 0

    def part(of: BoardEntries, mask: Any, where: Ints) -> Entries:
        return Entries(where, of.instruction[mask], of.top[mask], of.under[mask])

    return corrected_score(
        part(people, rows[both], column[both]), part(judge, both, column[both]), part(judge, ~both, column[~both]), rule
    )


def _words(
    benchmark: Benchmark, entries: BoardEntries, column: Ints, names: Mapping[int, str], columns: Mapping[int, str]
) -> dict[tuple[str, str], float]:
    """Return the mean words of the judged responses, each counted once; under '' the mean over the columns that have
    any.
    """
    _, first = np.unique(entries.response, return_index=True)
    first = first[entries.response[first] > 0]
    counts = _word_counts(benchmark)
    known: dict[tuple[str, str], list[int]] = {}
    for response, model, code in zip(
        entries.response[first].tolist(), entries.model[first].tolist(), column[first].tolist(), strict=True
    ):
        if response in counts:
            known.setdefault((names[model], columns[code]), []).append(counts[response])
    found = {place: float(np.mean(values)) for place, values in known.items()}
    for model in {model for model, _ in known}:
        found[model, ""] = float(np.mean([mean for (one, _), mean in found.items() if one == model]))
    return found


def _word_counts(benchmark: Benchmark) -> dict[int, int]:
    rows = Response.objects.filter(instruction__benchmark=benchmark, words__isnull=False).order_by()
    return {pk: words for pk, words in rows.values_list("pk", "words") if words is not None}


def _sorted(board: Leaderboard) -> tuple[ModelScores, ...]:
    """Sort as the query asks; models without such a value come last."""
    query = board.query
    if query.sort == MODEL:
        return tuple(sorted(board.models, key=lambda one: one.model.lower(), reverse=query.rising))

    def value(one: ModelScores) -> float | None:
        if query.sort == WORDS:
            return board.words.get((one.model, ""))
        if query.sort in one.categories:
            return one.categories[query.sort].score
        return one.average if query.sort not in board.categories.values() else None

    sign = 1 if query.rising else -1
    values = [value(one) for one in board.models]
    settled = settle_ties(np.array([sign * (found or 0.0) for found in values])).tolist()
    ordered = sorted(
        zip(values, settled, board.models, strict=True), key=lambda row: (row[0] is None, row[1], row[2].model)
    )
    return tuple(one for _value, _settled, one in ordered)
