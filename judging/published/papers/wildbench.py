"""Tables 2 and 3 and figure 4 of WildBench (arXiv 2406.04770), computed from the verdicts that a workspace holds.

The paper's rewards count every comparison, those with a cut or empty response too; these are loaded as left out of
results, so excluded answers are read here. Two baselines were compared twice, once in the file of each: the study of a
baseline's comparisons tells them apart.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from accounts.models import Workspace
from annotation.models import Rater, Study, Task, excluded_shown
from calibration.data.circumstances import response_characters
from calibration.data.frames import ROLES, ScoreFrame
from calibration.data.scores import score_frame
from calibration.statistics.errors import NoStatistic
from calibration.statistics.ranking.rank_correlations import rank_correlations
from core.messages.localized import localized
from core.messages.message import Wording
from generation.importers.wildbench import EvalFile
from generation.models import MAIN_EXPERIMENT, Benchmark, Category, Response
from judging.leaderboards.observations import Observations, metrics_in, observations_of
from judging.leaderboards.table import judges_of
from judging.leaderboards.task_groups import task_groups
from judging.leaderboards.weighting import EQUAL, Weighting
from judging.published.columns import MOST_OF_IT, scores_over
from judging.published.paper_table import Cell, PaperTable, Status, compared
from judging.published.tables import judges_of_paper, printed_names, published_tables
from judging.scores.benchmark_scores import NothingScored, wildbench_mix
from judging.scores.metrics import GRADED, METRICS, REWARD

SLUG = "wildbench"
SOURCE = "Bill Yuchen Lin, Yuntian Deng, Khyathi Chandu et al., WildBench, arXiv 2406.04770"
MIX, SCORE, LENGTH, ELO = "reward_mix", "score", "length", "arena_elo"
OUTSIDE = {
    ELO: "Arena Elo (hard, English)",
    "arena_hard": "Arena-Hard",
    "alpaca_eval_lc": "AlpacaEval2 LC",
    "alpaca_eval": "AlpacaEval2",
}
COEFFICIENTS = {
    "pearson_top": "Pearson, top 6",
    "pearson_all": "Pearson, all",
    "spearman_all": "Spearman, all",
    "kendall_all": "Kendall, all",
}
NO_SCORES = Wording(
    "wildbench.no_scores",
    "No judge named %(judge)s has scored this model here. Upload the repository's score files as a benchmark.",
)
NO_PAIRS = Wording(
    "wildbench.no_pairs",
    "No judge named %(judge)s has compared this model with %(baselines)s here. Upload the repository's pairwise files as a "
    "benchmark.",
)
NOT_WILDBENCH = Wording("wildbench.outside", "Another benchmark's figure, which WildBench's data do not give.")
PARTLY = Wording("wildbench.partly", "Only %(n)s of the paper's %(whole)s tasks are judged here.")
EVERY_VERDICT = Wording(
    "wildbench.every_verdict",
    "Computed over all verdicts here, those on cut or empty responses included. Why the paper's figure is another is not "
    "known.",
)
NOT_ALL_MODELS = Wording(
    "wildbench.not_all_models",
    "Needs this number for all %(n)s models, whole; upload the repository's files as a benchmark.",
)
NOT_COMPARED = Wording(
    "wildbench.not_compared",
    "A baseline is not compared with itself. The paper prints 0 here, which rests on no verdict.",
)
FROM_DATA = Wording(
    "wildbench.from_data", "Computed from the verdicts here, which do not give all of table 2 as printed."
)
FROM_TABLE = Wording("wildbench.from_table", "Computed from the figures that table 2 prints.")
ONLY_DRAWN = Wording(
    "wildbench.only_drawn", "The paper draws this without printing a number, so there is nothing to compare ours with."
)
NO_GROUPS = Wording(
    "wildbench.no_groups",
    "The paper draws this without printing a number. For ours, load the score files and the tasks, whose tags make the "
    "groups.",
)


@dataclass(frozen=True)
class Means:
    """A quantity of each model by its printed name, and over how many tasks."""

    value: Mapping[str, float]
    n: Mapping[str, int]

    def whole(self, model: str, instructions: int) -> float | None:
        """The value where it rests on most of the benchmark."""
        return self.value.get(model) if self.n.get(model, 0) >= MOST_OF_IT * instructions else None


class WildbenchNumbers:
    """What the workspace's verdicts by the paper's judge give, computed when asked for."""

    def __init__(self, workspace: Workspace) -> None:
        self.published: Mapping[str, Any] = published_tables(SLUG) or {}
        self.benchmark = Benchmark.objects.filter(workspace=workspace, slug=SLUG).first()
        self.names = dict(workspace.language_models.values_list("pk", "name"))
        self.printed_of = printed_names(self.published, self.names.values())
        self._rewards: dict[int | None, dict[str, Means]] = {}

    @cached_property
    def judge(self) -> Rater | None:
        judges = judges_of(self.benchmark) if self.benchmark else []
        return next(iter(judges_of_paper(judges, self.published)), None)

    @property
    def judge_names(self) -> tuple[str, ...]:
        return (self.judge.name,) if self.judge else ()

    @cached_property
    def instructions(self) -> int:
        return int(self.published["table_2"]["instructions"])

    @cached_property
    def score_verdicts(self) -> Observations | None:
        return self._scored(shown=True)

    def _scored(self, *, shown: bool) -> Observations | None:
        if self.benchmark is None or self.judge is None:
            return None
        with excluded_shown(shown):
            frame = score_frame(
                kinds=[Task.Kind.SINGLE], benchmark=self.benchmark, raters=[self.judge.pk], people=False
            )
        frame = frame.select(frame.role == ROLES.index(METRICS[GRADED].role))
        if METRICS[GRADED] not in metrics_in(frame):
            return None
        return observations_of(frame, METRICS[GRADED], Weighting(EQUAL), {})

    @cached_property
    def scores(self) -> Means:
        """WB-Score over all verdicts."""
        return self._means(self.score_verdicts, GRADED)

    def _means(self, observations: Observations | None, metric: str) -> Means:
        if observations is None or not len(observations):
            return Means({}, {})
        values, counts = scores_over(observations, self.names, METRICS[metric].rule)
        kept = {self.printed_of[name]: name for name in values if name in self.printed_of}
        return Means(
            {printed: values[name] for printed, name in kept.items()},
            {printed: counts[name] for printed, name in kept.items()},
        )

    def rewards(self, margin: int | None) -> dict[str, Means]:
        """WB-Reward by column: against each baseline, and their mean."""
        if margin not in self._rewards:
            baselines = self.published["baselines"]
            found = {column: self._against(printed, margin) for column, printed in baselines.items()}
            self._rewards[margin] = {MIX: self._mix(found), **found}
        return self._rewards[margin]

    def _against(self, printed: str, margin: int | None) -> Means:
        pk = next((pk for pk, name in self.names.items() if self.printed_of.get(name) == printed), None)
        frame = self._pairs(printed) if pk is not None else None
        if frame is None or not len(frame):
            return Means({}, {})
        seen = observations_of(frame, METRICS[REWARD], Weighting(EQUAL), {}, margin=margin)
        found = self._means(seen.select(np.asarray(seen.opponent == pk)), REWARD)
        # A baseline is not compared with itself: for correlations it has the 0 that the paper prints.
        return Means({**found.value, printed: 0.0}, {**found.n, printed: self.instructions})

    def _pairs(self, printed: str) -> ScoreFrame | None:
        """The comparisons with a baseline: of its own study, or of all studies where it has none."""
        if self.benchmark is None or self.judge is None:
            return None
        own = study_of(self.benchmark, self.published["model_folders"][printed])
        with excluded_shown():
            frame = score_frame(
                kinds=[Task.Kind.PAIR],
                study=own,
                benchmark=None if own else self.benchmark,
                raters=[self.judge.pk],
                people=False,
            )
        return frame.select((frame.role == ROLES.index(METRICS[REWARD].role)) & frame.applicable)

    def _mix(self, found: Mapping[str, Means]) -> Means:
        baselines = self.published["baselines"]
        itself = {printed: column for column, printed in baselines.items()}
        values: dict[str, float] = {}
        for model in {name for means in found.values() for name in means.value}:
            against = {column: means.value[model] for column, means in found.items() if model in means.value}
            try:
                values[model] = wildbench_mix(against, list(baselines), itself.get(model, model))
            except NothingScored:
                continue
        return Means(values, {model: min(means.n[model] for means in found.values()) for model in values})

    @cached_property
    def lengths(self) -> Means:
        """The mean number of characters of each model's responses in the main experiment."""
        if self.benchmark is None:
            return Means({}, {})
        others = self.benchmark.generation_runs.exclude(experiment=MAIN_EXPERIMENT)
        rows = Response.objects.filter(instruction__benchmark=self.benchmark, text__isnull=False, model__isnull=False)
        pairs = list(rows.exclude(run__in=others).order_by().values_list("pk", "model__name"))
        sizes = response_characters(np.array([pk for pk, _name in pairs], dtype=np.int64))
        by_model: dict[str, list[int]] = {}
        for pk, name in pairs:
            if name in self.printed_of and pk in sizes:
                by_model.setdefault(self.printed_of[name], []).append(sizes[pk])
        return Means(
            {name: float(np.mean(values)) for name, values in by_model.items()},
            {name: len(values) for name, values in by_model.items()},
        )

    def group_scores(self) -> dict[str, dict[str, float]]:
        """WB-Score by group of tasks and model, without verdicts on cut or empty responses."""
        observations = self._scored(shown=False)
        if self.benchmark is None or observations is None:
            return {}
        groups = task_groups(self.benchmark)
        spread, column = groups.spread(observations)
        return {
            key: dict(self._means(spread.select(np.asarray(column == pk)), GRADED).value)
            for pk, key in groups.columns.items()
        }


def study_of(benchmark: Benchmark, baseline: str) -> Study | None:
    """The study into which the comparisons with a baseline are loaded, by the baseline's name in the repository."""
    slug = EvalFile.study_slug(baseline)
    return Study.objects.filter(workspace=benchmark.workspace, benchmark=benchmark, slug=slug).first()


def table_2(workspace: Workspace) -> Sequence[Cell]:
    """Rewards against each baseline without a length margin, their mean, WB-Score; the outside scores as printed."""
    ours = WildbenchNumbers(workspace)
    table = ours.published["table_2"]
    judge = localized(ours.published["judge"]["text"])
    baselines = ours.published["baselines"]
    cells = []
    for model, printed in table["rows"].items():
        for column, value in zip(table["columns"], printed, strict=True):
            if baselines.get(column) == model:
                name = column_name(column, baselines)
                cells.append(Cell(model, name, value, None, Status.NOT_COMPUTABLE, NOT_COMPARED(), table["digits"]))
                continue
            if column == SCORE:
                means, missing = ours.scores, NO_SCORES(judge=judge)
            else:
                found = ours.rewards(None)
                asked = [column] if column in baselines else list(baselines)
                against = [baselines[one] for one in asked if model not in found[one].value]
                means, missing = found[column], NO_PAIRS(judge=judge, baselines=against)
            n = means.n.get(model, 0)
            part = PARTLY(n=n, whole=ours.instructions) if n < ours.instructions else EVERY_VERDICT()
            cells.append(
                compared(
                    model,
                    column_name(column, baselines),
                    value,
                    means.value.get(model),
                    digits=table["digits"],
                    missing=missing,
                    reason=part,
                    judges=ours.judge_names,
                )
            )
        outside = zip(table["external_columns"], table["external"][model], strict=True)
        cells += [
            Cell(model, OUTSIDE[column], value, None, Status.NOT_COMPUTABLE, NOT_WILDBENCH(), 0 if column == ELO else 1)
            for column, value in outside
            if value is not None
        ]
    return cells


def column_name(column: str, baselines: Mapping[str, str]) -> str:
    if column in baselines:
        return f"WB-Reward against {baselines[column]}"
    return {MIX: "WB-Reward, mean of three", SCORE: "WB-Score", LENGTH: "Average length", **OUTSIDE}[column]


def table_3(workspace: Workspace) -> Sequence[Cell]:
    """Each metric's correlation with Arena Elo over the 14 models that have all; the top six by Elo."""
    ours = WildbenchNumbers(workspace)
    return [
        cell for key, printed in ours.published["table_3"]["rows"].items() for cell in _correlations(ours, key, printed)
    ]


def _correlations(ours: WildbenchNumbers, key: str, printed: Sequence[float]) -> Iterator[Cell]:
    """A row: from the workspace's numbers where it has them for all models, else from table 2 as printed."""
    table, baselines = ours.published["table_3"], ours.published["baselines"]
    models = list(table["models"])
    column, _at, margin = key.partition("@")
    name = column_name(column, baselines) + (f", K = {margin}" if margin else "")
    values, from_data = _values(ours, column, int(margin) if margin else None, models)
    outside = column in OUTSIDE
    found = _coefficients(values, _printed_column(ours, ELO, models), table["top"]) if values else {}
    for coefficient, value in zip(table["columns"], printed, strict=False):
        yield compared(
            name if from_data or outside or not values else f"{name} (table 2 as printed)",
            COEFFICIENTS[coefficient],
            value,
            found.get(coefficient),
            digits=table["digits"],
            missing=NOT_ALL_MODELS(n=len(models)),
            reason=FROM_DATA() if from_data else FROM_TABLE(),
            judges=ours.judge_names if from_data and column != LENGTH else (),
        )


def _values(
    ours: WildbenchNumbers, column: str, margin: int | None, models: Sequence[str]
) -> tuple[list[float] | None, bool]:
    """A metric's value of each model, and whether the workspace's data gave it; None where neither they nor the table do."""
    if column in OUTSIDE:
        return _printed_column(ours, column, models), False
    means = {SCORE: lambda: ours.scores, LENGTH: lambda: ours.lengths}.get(
        column, lambda: ours.rewards(margin)[column]
    )()
    own = [means.whole(model, ours.instructions) for model in models]
    if None not in own:
        return [value for value in own if value is not None], True
    if column == LENGTH or margin is not None:
        return None, False
    if column == MIX:
        # The mean of the three as printed: the printed mean is rounded once more.
        three = [_printed_column(ours, baseline, models) for baseline in ours.published["baselines"]]
        return [float(np.mean(values)) for values in zip(*three, strict=True)], False
    return _printed_column(ours, column, models), False


def _printed_column(ours: WildbenchNumbers, column: str, models: Sequence[str]) -> list[float]:
    table = ours.published["table_2"]
    if column in table["external_columns"]:
        place = table["external_columns"].index(column)
        return [float(table["external"][model][place]) for model in models]
    place = table["columns"].index(column)
    return [float(table["rows"][model][place]) for model in models]


def _coefficients(values: Sequence[float], elo: Sequence[float], top: int) -> dict[str, float]:
    x, y = np.array(values, dtype=np.float64), np.array(elo, dtype=np.float64)
    best = np.argsort(-y, kind="stable")[:top]
    try:
        every, leading = rank_correlations(x, y), rank_correlations(x[best], y[best])
    except NoStatistic:
        return {}
    return {
        "pearson_top": leading.pearson.value,
        "pearson_all": every.pearson.value,
        "spearman_all": every.spearman.value,
        "kendall_all": every.kendall.value,
    }


def figure_4(workspace: Workspace) -> Sequence[Cell]:
    """WB-Score of six models by group of tasks; the figure prints no number."""
    ours = WildbenchNumbers(workspace)
    figure = ours.published["figure_4"]
    scores = ours.group_scores()
    rows = Category.objects.filter(benchmark=ours.benchmark, parent=None) if ours.benchmark else ()
    names = {row.key: localized(row.names) or row.key for row in rows}
    cells = []
    for model in figure["models"]:
        for key in figure["columns"]:
            value = scores.get(key, {}).get(model)
            why = NO_GROUPS() if value is None else ONLY_DRAWN()
            judges = () if value is None else ours.judge_names
            name, digits = names.get(key, key), figure["digits"]
            cells.append(Cell(model, name, None, value, Status.NOT_COMPUTABLE, why, digits, judges))
    return cells


def _table(number: str, key: str, compute: Any) -> PaperTable:
    titles = (published_tables(SLUG) or {})[key]["title"]
    return PaperTable(SLUG, number, titles, f"{SOURCE}, {key.replace('_', ' ')}", compute)


TABLES: tuple[PaperTable, ...] = (
    _table("2", "table_2", table_2),
    _table("3", "table_3", table_3),
    _table("figure 4", "figure_4", figure_4),
)
