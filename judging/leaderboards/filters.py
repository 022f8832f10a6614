"""The part of a benchmark that a leaderboard keeps, and its columns."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields

import numpy as np

from annotation.models import Assignment, Rater
from calibration.data.frames import UNCATEGORISED, Bools, Ints
from generation.models import MAIN_EXPERIMENT, Benchmark, Category, Instruction, LanguageModel
from judging.leaderboards.observations import BoardEntries
from judging.leaderboards.query import BoardQuery
from judging.scores.metrics import Metric

ALL = 0
"""Column of entries without a category, if no entry has one."""


def wanted_instructions(benchmark: Benchmark, query: BoardQuery, leaves: Mapping[int, Category]) -> set[int] | None:
    """Return the instructions that the query keeps; None means all."""
    if not query.narrows:
        return None
    found = Instruction.objects.filter(benchmark=benchmark)
    if query.language:
        found = found.filter(language=query.language)
    if query.category:
        pks = [
            pk
            for pk, one in leaves.items()
            if query.category in (one.key, str(one)) or (one.parent and one.parent.key == query.category)
        ]
        found = found.filter(category__in=pks)
    rows = found.values_list("pk", "tags")
    return {pk for pk, tags in rows if not query.tag or query.tag in (tags or [])}


def wanted_models(benchmark: Benchmark, query: BoardQuery) -> set[int] | None:
    """Return the models of the requested family and size; None means all. A model of unknown size has no size."""
    if not (query.family or query.smallest is not None or query.largest is not None):
        return None
    found = LanguageModel.objects.filter(workspace=benchmark.workspace)
    if query.family:
        found = found.filter(family=query.family)
    if query.smallest is not None:
        found = found.filter(billions_of_parameters__gte=query.smallest)
    if query.largest is not None:
        found = found.filter(billions_of_parameters__lte=query.largest)
    return set(found.values_list("pk", flat=True))


def kept(
    entries: BoardEntries, wanted: set[int] | None, models: set[int] | None, query: BoardQuery, names: Mapping[int, str]
) -> Bools:
    keep = np.ones(len(entries), dtype=bool)
    if wanted is not None:
        keep &= np.isin(entries.instruction, list(wanted))
    if models is not None:
        keep &= np.isin(entries.model, list(models))
    if query.against and entries.opponent.any():
        keep &= np.isin(entries.opponent, [pk for pk, name in names.items() if name in query.against])
    return keep


def columns_of(
    entries: BoardEntries, unscored: list[int], leaves: Mapping[int, Category], query: BoardQuery
) -> tuple[dict[int, str], dict[int, int]]:
    """Return column code -> key, in the benchmark's order, and leaf -> column.

    The columns are the leaves of a category if the query names one. Entries without a category are left out, unless
    none has a category.
    """
    seen = set(entries.category.tolist()) | {leaf for leaf in unscored if leaf in leaves}
    inside = {pk for pk in seen if pk in leaves}
    if not inside:
        return {ALL: UNCATEGORISED}, {0: ALL}
    if query.category:
        inside = {
            pk
            for pk in inside
            if query.category in (leaves[pk].key, str(leaves[pk]))
            or (leaves[pk].parent and leaves[pk].parent.key == query.category)  # type: ignore[union-attr]
        }
        of_leaf = {pk: pk for pk in inside}
    else:
        of_leaf = {pk: leaves[pk].parent_id or pk for pk in inside}
    ordered = sorted({leaves[pk] for pk in of_leaf.values()}, key=lambda one: (one.position, one.pk))
    return {one.pk: one.key for one in ordered}, of_leaf


def mapped(category: Ints, of_leaf: Mapping[int, int]) -> Ints:
    """Return the column of each entry, -1 for none."""
    known, place = np.unique(category, return_inverse=True)
    codes = np.array([of_leaf.get(int(leaf), -1) for leaf in known], dtype=np.int64)
    return codes[place.reshape(-1)] if len(known) else category


def against_itself(entries: BoardEntries, column: Ints, rivals: list[int], tie: float) -> tuple[BoardEntries, Ints]:
    """Add a tie of each baseline with itself on each of its instructions, as in WildBench's mixed score.

    Such an entry has no response, because nobody judged it.
    """
    added = [_ties(np.unique(entries.instruction[entries.model == pk]), pk, tie) for pk in rivals]
    whole = BoardEntries(
        **{
            one.name: np.concatenate([getattr(part, one.name) for part in (entries, *added)])
            for one in fields(BoardEntries)
        }
    )
    return whole, np.concatenate([column, *(part.model for part in added)])


def _ties(instruction: Ints, model: int, tie: float) -> BoardEntries:
    n = len(instruction)
    nothing, own = np.zeros(n, dtype=np.int64), np.full(n, model, dtype=np.int64)
    return BoardEntries(nothing, nothing, instruction, nothing, nothing, own, own, np.full(n, tie), np.ones(n))


@dataclass(frozen=True)
class Unusable:
    """A verdict that could not be used: its instruction, its leaf (0 for none), and each judged model with its rival.

    The rival is 0 if a response was judged alone.
    """

    instruction: int
    leaf: int
    sides: tuple[tuple[int, int], ...]


def unusable_of(
    benchmark: Benchmark, judge: Rater, experiment: str, measure: Metric, *, discredited: bool = False
) -> list[Unusable]:
    """Return the unusable verdicts on what the board shows; those of failed runs only if `discredited` is set."""
    found = Assignment.objects.filter(
        rater=judge,
        status=Assignment.Status.UNSCORED,
        repeat=0,
        task__gold__isnull=True,
        task__response_a__instruction__benchmark=benchmark,
    ).order_by()
    if not discredited:
        found = found.believed()
    if experiment == MAIN_EXPERIMENT:
        found = found.exclude(task__response_a__run__in=benchmark.generation_runs.exclude(experiment=experiment))
    elif experiment:
        found = found.filter(task__response_a__run__experiment=experiment)
    place = "task__response_a__instruction"
    rows = found.values_list(
        f"{place}_id", f"{place}__category_id", "task__response_a__model_id", "task__response_b__model_id"
    )
    verdicts = []
    for instruction, leaf, model, other in rows:
        if measure.paired and model and other and model != other:
            verdicts.append(Unusable(instruction, leaf or 0, ((model, other), (other, model))))
        elif not measure.paired and model:
            verdicts.append(Unusable(instruction, leaf or 0, ((model, 0),)))
    return verdicts


@dataclass(frozen=True)
class LeftOut:
    """Count the unusable verdicts, in total and by (model, column); a verdict on a pair counts for both models."""

    verdicts: int
    cells: Mapping[tuple[int, int], int]


def left_out(
    unusable: Iterable[Unusable],
    column_of: Callable[[int, int], int | None],
    wanted: set[int] | None,
    models: set[int] | None,
    rivals: set[int] | None,
) -> LeftOut:
    """Keep what the query keeps; `column_of` maps a leaf and a rival to a column, or to None."""
    verdicts, cells = 0, Counter[tuple[int, int]]()
    for one in unusable:
        if wanted is not None and one.instruction not in wanted:
            continue
        places = [
            (model, column)
            for model, rival in one.sides
            if (models is None or model in models)
            and (rivals is None or rival in rivals)
            and (column := column_of(one.leaf, rival)) is not None
        ]
        cells.update(places)
        verdicts += bool(places)
    return LeftOut(verdicts, cells)
