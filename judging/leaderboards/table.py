"""Rank models by a judge's verdicts: from rows to scores with a metric, for all or a part of a benchmark."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from annotation.models import Assignment, AssignmentQuerySet, Rater, Study, are_excluded_shown, excluded_shown
from calibration.data.frames import ABOUT_RESPONSES, ROLES, Ints, ScoreFrame, data_hash
from calibration.data.scores import label_frame, score_frame
from calibration.data.verdicts import JudgesVerdicts, failed_judges, judges_of_answers
from calibration.reports.cache import SHOWN
from calibration.statistics.errors import NoStatistic
from calibration.statistics.ranking.coverage import Unranked
from calibration.statistics.ties import descending
from core.errors import UserError
from generation.models import Benchmark, Category, Response
from judging.leaderboards.board_json import BoardJson, ModelJson, NotRankedJson, RankJson
from judging.leaderboards.check_counts import Output, Uncounted, counted
from judging.leaderboards.filters import Filters, columns_of, kept, mapped, wanted_instructions, wanted_models
from judging.leaderboards.observations import (
    LeftOut,
    Observations,
    Unusable,
    against_itself,
    left_out,
    metrics_in,
    observations_of,
    unusable_of,
)
from judging.leaderboards.people_beside import PeopleObservations, corrected_of, people_observations
from judging.leaderboards.ranked_models import in_order, score_ranks, unranked_models
from judging.leaderboards.task_groups import TaskGroups, UnknownGroup, task_groups
from judging.leaderboards.weighting import MissingWeights, UnknownWeights, Weighting, weighting_named
from judging.scores.corrected_scores import Corrected
from judging.scores.leads import Lead, comparisons_of, ranks_left
from judging.scores.metrics import FULFILLED, METRICS, REWARD, WINS, Metric
from judging.scores.points import (
    ModelScores,
    NoVerdicts,
    OnlyDiscredited,
    PointsRule,
    ScoreIntervals,
    WithoutWeight,
    average_intervals,
    model_scores,
)

EVERYTHING = Filters()
TIES = {WINS: 0.5, REWARD: 0.0}
"""Value of a tie for a model, by metric of pairs."""


class UnknownJudge(UserError):
    """There is no judge with this name; the sentence lists the judges."""


NO_BOARD = (UnknownJudge, NoVerdicts, WithoutWeight, MissingWeights, UnknownWeights, UnknownGroup, NoStatistic)
"""The reasons why there is no leaderboard for what was asked."""


@dataclass(frozen=True)
class Leaderboard:
    """`models` best first, or as the filters sort; `categories` are the columns' keys by code, in the benchmark's order.
    `unranked` are the models that are listed without a rank, by name, because they were judged on too few instructions.

    `observations` are the judged responses behind the scores, computed from `frame`, and `column` (n,) the column of
    each; `beside` and `people_frame` are the same for people's scores; `wins` the comparisons between all models;
    `left_out` counts models with too few judged responses, `unusable` the verdicts that could not be used,
    `discredited` those of runs that failed their canary texts, which are excluded unless the filters ask for them;
    `outputs` are the counts behind instruction checks, `uncounted` what is in none of them. `words` are mean words by
    (model's name, column's key), with '' for the mean over columns; `weights` are those of the columns where they are
    groups of tasks, by code.
    """

    benchmark: Benchmark
    judge: Rater
    weighting: Weighting
    metric: Metric
    metrics: tuple[Metric, ...]
    filters: Filters
    categories: Mapping[int, str]
    models: tuple[ModelScores, ...]
    frame: ScoreFrame
    observations: Observations
    column: Ints
    model_names: Mapping[int, str]
    unranked: Mapping[str, Unranked] = field(default_factory=dict)
    left_out: int = 0
    unusable: int = 0
    discredited: int = 0
    outputs: tuple[Output, ...] = ()
    uncounted: Uncounted = field(default_factory=Uncounted)
    beside: PeopleObservations | None = None
    people_frame: ScoreFrame | None = None
    wins: Observations | None = None
    words: Mapping[tuple[str, str], float] = field(default_factory=dict)
    weights: Mapping[int, float] = field(default_factory=dict)

    @cached_property
    def intervals(self) -> ScoreIntervals:
        """By the model's pk and the column's code."""
        return average_intervals(
            model=self.observations.model,
            category=self.column,
            instruction=self.observations.instruction,
            points=self.observations.top,
            under=self.observations.under,
            rule=self.rule,
        )

    @cached_property
    def ranks(self) -> Mapping[str, int]:
        """By name, 1 for the best overall score; equal scores share a rank.

        Models without a score, or judged on too few instructions, have none.
        """
        known = {row.model: row.average for row in self.models if row.average is not None} if self.ranked else {}
        return score_ranks({model: score for model, score in known.items() if model not in self.unranked})

    @cached_property
    def comparisons(self) -> Mapping[tuple[int, int], Lead]:
        """How far each ranked model is ahead of each one with a lower score, by their pks, where that is stated."""
        return comparisons_of(
            model=self.observations.model,
            category=self.column,
            instruction=self.observations.instruction,
            points=self.observations.top,
            under=self.observations.under,
            rule=self.rule,
            models=self._best_first,
        )

    @property
    def leads(self) -> Mapping[int, Lead]:
        """How far the best ranked model is ahead of each other ranked one, by its pk, where that is stated."""
        first = self._best_first[:1]
        return {other: lead for (one, other), lead in self.comparisons.items() if [one] == first}

    @cached_property
    def ranks_left(self) -> Mapping[str, tuple[int, int]]:
        """The smallest and the largest rank of each ranked model, by name, that the comparisons leave possible."""
        found = ranks_left(self._best_first, self.comparisons)
        return {self.model_names[pk]: ends for pk, ends in found.items()}

    @property
    def _best_first(self) -> list[int]:
        scores = {row.model: row.average or 0.0 for row in self.models}
        names = list(self.ranks)
        order = descending(np.array([scores[name] for name in names], dtype=np.float64))
        return [self.pks[names[place]] for place in order.tolist()]

    @property
    def ranked(self) -> bool:
        """Whether the board ranks its models, which it does not by discredited verdicts."""
        return not (self.filters.discredited and self.discredited)

    @property
    def failed(self) -> list[JudgesVerdicts]:
        """The board's judge, if a run of it on this benchmark failed its canary texts."""
        return [JudgesVerdicts(self.judge, 0, self.discredited)] if self.discredited else []

    @property
    def rule(self) -> PointsRule:
        return rule_of(self.metric, self.filters, self.weights)

    @property
    def people(self) -> Observations | None:
        """People's observations, each response's or pair's together."""
        return self.beside.together if self.beside else None

    @property
    def data_hash(self) -> str:
        return data_hash(self.frame)

    @cached_property
    def pks(self) -> Mapping[str, int]:
        return {name: pk for pk, name in self.model_names.items()}

    @cached_property
    def corrected(self) -> Mapping[str, Corrected]:
        """By model name, for models of which people scored enough responses."""
        if self.beside is None:
            return {}
        corrected = {}
        for row in self.models:
            with suppress(NoStatistic):
                corrected[row.model] = corrected_of(
                    self.observations, self.column, self.beside, self.pks[row.model], self.rule
                )
        return corrected

    def as_json(self) -> BoardJson:
        models: list[ModelJson] = [
            {
                "model": row.model,
                "categories": {
                    key: {"score": cell.score, "n": cell.n, "unscored": cell.unscored}
                    for key, cell in row.categories.items()
                },
                "average": row.average,
                **self._rank(row),
                **self._not_ranked(row),
            }
            for row in self.models
        ]
        found: BoardJson = {}
        if self.discredited:
            found |= {"ranked": self.ranked, "discredited_verdicts": self.discredited}
        if self.judge.provenance == Rater.Provenance.SCRIPTED:
            found["scripted_judges"] = [self.judge.name]
        return {**found, "models": models}

    def _rank(self, row: ModelScores) -> RankJson:
        if row.model not in self.ranks:
            return {}
        low, high = self.ranks_left[row.model]
        return {"rank": self.ranks[row.model], "rank_low": low, "rank_high": high}

    def _not_ranked(self, row: ModelScores) -> NotRankedJson:
        """Only models that would be ranked otherwise are said not to be."""
        why = self.unranked.get(row.model) if row.average is not None else None
        return {"not_ranked": why.value} if why else {}


def verdicts_on(benchmark: Benchmark) -> list[JudgesVerdicts]:
    """Return the judges with their numbers of verdicts on this benchmark, most first; judges without a usable one come
    last.
    """
    answers = Assignment.objects.filter(task__response_a__instruction__benchmark=benchmark)
    usable = judges_of_answers(answers)
    asked = answers.of_judges().filter(task__gold__isnull=True).order_by().values("rater")
    others = Rater.objects.filter(pk__in=asked).exclude(pk__in=[row.judge.pk for row in usable])
    return [*usable, *(JudgesVerdicts(judge, 0, 0) for judge in others.order_by("label"))]


def judges_of(benchmark: Benchmark) -> list[Rater]:
    """Return the judges that have rated this benchmark's responses, as `verdicts_on` annotates them."""
    return [row.judge for row in verdicts_on(benchmark)]


def judge_named(benchmark: Benchmark, name: str) -> Rater:
    """Return the judge with this name. Raises UnknownJudge."""
    return one_of_judges(judges_of(benchmark), name, f"benchmark {benchmark.slug}")


def one_of_judges(judges: Sequence[Rater], name: str, rated: str) -> Rater:
    """Return the judge with this label, name or public id. Raises UnknownJudge, which names what they have rated."""
    judge = next((judge for judge in judges if name in (judge.label, judge.name, judge.public_id)), None)
    if judge is None:
        names = ", ".join(judge.label for judge in judges) or "none yet"
        raise UnknownJudge(f"No judge {name!r} has rated {rated}; its judges are: {names}.")
    return judge


def requested_board(benchmark: Benchmark, filters: Filters, *, beside_people: bool = False) -> Leaderboard:
    """Return the board of the judge and the weights that the filters name. Raises an error of NO_BOARD."""
    judge = judge_named(benchmark, filters.judge)
    return leaderboard(benchmark, judge, filters.weights, filters=filters, beside_people=beside_people)


def leaderboard(
    benchmark: Benchmark,
    judge: Rater,
    weights: str | Weighting,
    *,
    filters: Filters = EVERYTHING,
    beside_people: bool = False,
    people_of: Study | None = None,
) -> Leaderboard:
    """Return the board for `filters`; with `beside_people`, people's scores are read too, or those of one study.

    A response judged in several studies counts once, with the mean of its points. Raises NoVerdicts, OnlyDiscredited,
    UnknownWeights, MissingWeights, WithoutWeight, NotOnScale.
    """
    with excluded_shown(filters.excluded == SHOWN or are_excluded_shown()):
        return _board(benchmark, judge, weights, filters, beside_people, people_of)


def _board(
    benchmark: Benchmark,
    judge: Rater,
    weights: str | Weighting,
    filters: Filters,
    beside_people: bool,
    people_of: Study | None,
) -> Leaderboard:
    weighting = weighting_named(benchmark, weights) if isinstance(weights, str) else weights
    discredited = discredited_on(benchmark, judge)
    frame = score_frame(
        kinds=ABOUT_RESPONSES,
        benchmark=benchmark,
        raters=[judge.pk],
        people=False,
        experiment=filters.run_experiment,
        discredited=filters.discredited,
    )
    metrics = _metrics(frame, benchmark, judge, filters, discredited)
    metric = next((metric for metric in metrics if metric.name == filters.measure), metrics[0])
    frame = frame.select(frame.role == ROLES.index(metric.role))
    leaves = {
        category.pk: category for category in Category.objects.filter(benchmark=benchmark).select_related("parent")
    }
    names = dict(benchmark.workspace.language_models.values_list("pk", "name"))
    groups = task_groups(benchmark, filters.group_weights) if filters.groups else None
    observations, column, columns, missing = _narrowed(
        benchmark,
        filters,
        metric,
        leaves,
        names,
        observations_of(frame, metric, weighting, leaves, margin=filters.margin),
        unusable_of(benchmark, judge, filters.run_experiment, metric, discredited=filters.discredited),
        groups,
    )
    shares = groups.among(column).weights if groups else {}
    if not len(observations):
        raise NoVerdicts(f"{judge} has no verdicts for this selection; remove a filter.")
    scored = model_scores(
        model=observations.model,
        category=column,
        points=observations.top,
        under=observations.under,
        rule=rule_of(metric, filters, shares),
        judged=observations.response > 0,
        unscored=missing.cells,
        model_names=names,
        category_keys=columns,
    )
    unranked = unranked_models(observations, names)
    enough = [row for row in scored if sum(cell.n for cell in row.categories.values()) >= filters.least]
    words = _words(benchmark, observations, column, names, columns)
    outputs, uncounted = _outputs(frame, observations, filters) if metric.name == FULFILLED else ((), Uncounted())
    wins = None
    if metric.paired and beside_people:
        every = observations_of(frame, METRICS[WINS], weighting, leaves)
        wins = every.select(np.isin(every.instruction, np.unique(observations.instruction)))
    board = Leaderboard(
        benchmark=benchmark,
        judge=judge,
        weighting=weighting,
        metric=metric,
        metrics=metrics,
        filters=filters,
        categories=columns,
        models=in_order(enough, filters, words, columns, unranked),
        frame=frame,
        observations=observations,
        column=column,
        model_names=names,
        unranked=unranked,
        left_out=len(scored) - len(enough),
        unusable=missing.verdicts,
        discredited=discredited,
        outputs=outputs,
        uncounted=uncounted,
        wins=wins,
        words=words,
        weights=shares,
    )
    if groups is not None:
        return board
    if people_of is not None:
        return _beside(board, label_frame(kinds=ABOUT_RESPONSES, study=people_of), leaves)
    if beside_people:
        people = label_frame(kinds=ABOUT_RESPONSES, benchmark=benchmark, experiment=filters.run_experiment)
        return _beside(board, people, leaves)
    return board


def _metrics(
    frame: ScoreFrame, benchmark: Benchmark, judge: Rater, filters: Filters, discredited: int
) -> tuple[Metric, ...]:
    """Return the metrics that the frame allows. Raises NoVerdicts, OnlyDiscredited."""
    metrics = tuple(metrics_in(frame)) if len(frame) else ()
    if metrics:
        return metrics
    if discredited and not filters.discredited and not _verdicts_of(benchmark, judge).believed().exists():
        raise OnlyDiscredited(
            f"All {discredited} verdicts of {judge} on benchmark {benchmark.slug} come from a run that failed its "
            "canary texts, so they are not ranked; ask another judge, or use this model with a different prompt."
        )
    raise NoVerdicts(
        f"{judge} has no usable verdicts on benchmark {benchmark.slug}, experiment {filters.run_experiment}."
    )


def discredited_on(benchmark: Benchmark, judge: Rater) -> int:
    """Count the judge's verdicts on this benchmark from runs that failed their canary texts."""
    return sum(row.discredited for row in failed_judges(benchmark, judge))


def _verdicts_of(benchmark: Benchmark, judge: Rater) -> AssignmentQuerySet:
    return Assignment.objects.filter(task__response_a__instruction__benchmark=benchmark, rater=judge).verdicts()


def _outputs(frame: ScoreFrame, observations: Observations, filters: Filters) -> tuple[tuple[Output, ...], Uncounted]:
    """Return the outputs behind the observations; what is not counted is known only for the whole benchmark."""
    outputs, uncounted = counted(frame)
    inside = set(observations.response.tolist())
    kept_outputs = tuple(output for output in outputs if output.response in inside)
    return kept_outputs, Uncounted() if filters.narrows else uncounted


def _narrowed(
    benchmark: Benchmark,
    filters: Filters,
    metric: Metric,
    leaves: Mapping[int, Category],
    names: Mapping[int, str],
    observations: Observations,
    unusable: list[Unusable],
    groups: TaskGroups | None,
) -> tuple[Observations, Ints, Mapping[int, str], LeftOut]:
    """Return the observations that the filters keep, the column of each, the columns, and their unusable verdicts."""
    wanted, models = wanted_instructions(benchmark, filters, leaves), wanted_models(benchmark, filters)
    observations = observations.select(kept(observations, wanted, models, filters, names))
    against = {pk: name for name in filters.against for pk, other in names.items() if other == name}
    rivals = set(against) if metric.paired and filters.against else None
    if metric.paired and len(filters.against) > 1:
        observations, column = against_itself(observations, observations.opponent, list(against), TIES[metric.name])
    if groups is not None:
        observations, column = groups.spread(observations)
        missing = groups.left_out(unusable, wanted, models, rivals)
        return observations, column, groups.among(column).columns, missing
    if metric.paired and len(filters.against) > 1:
        missing = left_out(unusable, lambda _leaf, rival: rival, wanted, models, rivals)
        return observations, column, against, missing
    columns, of_leaf = columns_of(observations, [verdict.leaf for verdict in unusable], leaves, filters)
    column = mapped(observations.category, of_leaf)
    inside = column >= 0
    missing = left_out(unusable, lambda leaf, _rival: of_leaf.get(leaf), wanted, models, rivals)
    return observations.select(inside), column[inside], columns, missing


def rule_of(metric: Metric, filters: Filters, weights: Mapping[int, float]) -> PointsRule:
    """Return the metric's rule: leaves of one category are pooled; several baselines, and groups of tasks, count with
    their mean, which `weights` by column may weight.
    """
    if filters.groups:
        return replace(metric.rule, pooled=False, weights=weights)
    if metric.paired and len(filters.against) > 1:
        return replace(metric.rule, pooled=False)
    return replace(metric.rule, pooled=True) if filters.category else metric.rule


def _beside(board: Leaderboard, people: ScoreFrame, leaves: Mapping[int, Category]) -> Leaderboard:
    """Add people's ratings of responses on the same metric, if there are any."""
    frame = people.select(people.role == ROLES.index(board.metric.role))
    if not len(frame):
        return board
    try:
        found = people_observations(frame, board.metric, board.weighting, leaves, margin=board.filters.margin)
    except UserError:
        return board
    # A sample of checks drawn for people makes no observation.
    return replace(board, beside=found, people_frame=frame) if len(found.together) else board


def _words(
    benchmark: Benchmark, observations: Observations, column: Ints, names: Mapping[int, str], columns: Mapping[int, str]
) -> dict[tuple[str, str], float]:
    """Return the mean words of the judged responses, each counted once in a column; under '' the mean over the columns
    that have any.
    """
    places = np.column_stack([observations.response, column])
    _, first = np.unique(places, axis=0, return_index=True)
    first = first[observations.response[first] > 0]
    rows = Response.objects.filter(instruction__benchmark=benchmark, words__isnull=False).order_by()
    counts = dict(rows.values_list("pk", "words"))
    known: dict[tuple[str, str], list[int]] = {}
    for response, model, code in zip(
        observations.response[first].tolist(), observations.model[first].tolist(), column[first].tolist(), strict=True
    ):
        if (words := counts.get(response)) is not None:
            known.setdefault((names[model], columns[code]), []).append(words)
    means = {place: float(np.mean(values)) for place, values in known.items()}
    for name in {name for name, _ in known}:
        means[name, ""] = float(np.mean([mean for (other, _), mean in means.items() if other == name]))
    return means
