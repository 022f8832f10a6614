"""What part of a benchmark a leaderboard keeps, and the columns it stands in."""

from collections.abc import Mapping
from dataclasses import fields

import numpy as np

from annotation.models import Assignment, Rater
from calibration.datasets import UNCATEGORISED, Bools, Ints
from generation.models import MAIN_EXPERIMENT, Benchmark, Category, Instruction, LanguageModel
from judging.board_entries import BoardEntries
from judging.board_query import BoardQuery
from judging.measures import Measure

ALL = 0
"""The column of entries without a category, where none has one."""


def wanted_instructions(
    benchmark: Benchmark, query: BoardQuery, leaves: Mapping[int, Category]
) -> set[int] | None:
    """Instructions that the query keeps; None for all."""
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
    """Models of the family and size asked for; a model of unknown size has none. None for all."""
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
    entries: BoardEntries,
    wanted: set[int] | None,
    models: set[int] | None,
    query: BoardQuery,
    names: Mapping[int, str],
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
    """Column code -> key, in the benchmark's order, and leaf -> column; leaves of a category where one is asked for.

    What belongs to no category is on no board, unless nothing belongs to any.
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
    """The column of each entry, -1 for none."""
    known, place = np.unique(category, return_inverse=True)
    codes = np.array([of_leaf.get(int(leaf), -1) for leaf in known], dtype=np.int64)
    return codes[place.reshape(-1)] if len(known) else category


def against_itself(
    entries: BoardEntries, column: Ints, rivals: list[int], tie: float
) -> tuple[BoardEntries, Ints]:
    """With an entry of a tie for each baseline against itself, as WildBench's mix has it."""
    tied = [pk for pk in rivals if (entries.model == pk).any()]
    if not tied:
        return entries, column
    n = len(tied)
    nothing, own = np.zeros(n, dtype=np.int64), np.array(tied, dtype=np.int64)
    added = BoardEntries(
        nothing, nothing, np.full(n, entries.instruction[0]), nothing, nothing, own, own,
        np.full(n, tie), np.ones(n),
    )  # fmt: skip
    joined = {
        name: np.concatenate([getattr(entries, name), getattr(added, name)])
        for name in (one.name for one in fields(entries))
    }
    return BoardEntries(**joined), np.concatenate([column, own])


def unscored_of(
    benchmark: Benchmark, judge: Rater, experiment: str, measure: Measure
) -> dict[tuple[int, int, int], int]:
    """By (instruction, model, leaf), 0 for none; an unusable verdict on a pair counts for both models."""
    found = Assignment.objects.filter(
        rater=judge,
        status=Assignment.Status.UNSCORED,
        repeat=0,
        task__response_a__instruction__benchmark=benchmark,
    ).order_by()
    if experiment == MAIN_EXPERIMENT:
        found = found.exclude(
            task__response_a__run__in=benchmark.generation_runs.exclude(experiment=experiment)
        )
    elif experiment:
        found = found.filter(task__response_a__run__experiment=experiment)
    place = "task__response_a__instruction"
    rows = found.values_list(
        f"{place}_id", f"{place}__category_id", "task__response_a__model_id", "task__response_b__model_id"
    )
    counts: dict[tuple[int, int, int], int] = {}
    for instruction, leaf, model, other in rows:
        for one in {model, other} if measure.paired else {model}:
            if one:
                counts[instruction, one, leaf or 0] = counts.get((instruction, one, leaf or 0), 0) + 1
    return counts


def placed(
    unscored: Mapping[tuple[int, int, int], int],
    of_leaf: Mapping[int, int],
    wanted: set[int] | None,
    models: set[int] | None,
) -> dict[tuple[int, int], int]:
    """By (model, column), of what the query keeps."""
    found: dict[tuple[int, int], int] = {}
    for (instruction, model, leaf), number in unscored.items():
        if leaf not in of_leaf or (wanted is not None and instruction not in wanted):
            continue
        if models is not None and model not in models:
            continue
        place = model, of_leaf[leaf]
        found[place] = found.get(place, 0) + number
    return found
