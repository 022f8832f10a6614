"""A column of a paper's printed table with our numbers for it, and what all such columns are computed by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from calibration.data.frames import Bools
from judging.leaderboards.observations import BoardEntries

MOST_OF_IT = 0.9
Published = Mapping[str, Any]
Numbers = Mapping[str, float | None]


@dataclass(frozen=True)
class Quantity:
    """A column: its key in the paper's table, what it is called, and our numbers by the board's name of a model.

    `partial` are models whose number rests on a part of the benchmark. Where not `compared` only the printed one is
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
    """`table` is the key of the paper's table; `conditions` say, in sentences, what here is not as the paper had it."""

    table: str
    columns: Sequence[Quantity]
    conditions: Sequence[str] = field(default_factory=tuple)


def known_shifts(published: Published, printed_of: Mapping[str, str]) -> dict[str, Mapping[str, float]]:
    """The known differences of our models, each by what the file calls the column."""
    folders = {model: published["model_folders"].get(printed, printed) for model, printed in printed_of.items()}
    found = published["known_differences"]["differences"]
    return {model: found[folder] for model, folder in folders.items() if folder in found}


def places(ours: Numbers, rows: Mapping[str, Any], printed_of: Mapping[str, str]) -> Numbers:
    """Places among the paper's models, where all of them have a score here; else none."""
    own = {model: value for model, value in ours.items() if printed_of.get(model) in rows and value is not None}
    if len(own) < len(rows):
        return {}
    return {model: 1.0 + sum(other > value for other in own.values()) for model, value in own.items()}


def games_against(entries: BoardEntries, opponent: int | None) -> Bools:
    """The comparisons with one model, its own entry against itself left out."""
    return np.asarray((entries.opponent == (opponent or -1)) & (entries.response > 0), dtype=np.bool_)


def means_by_model(
    entries: BoardEntries, mask: Bools, names: Mapping[int, str]
) -> tuple[dict[str, float], dict[str, int]]:
    """The mean of each model's entries under the mask, and how many."""
    means, counts = {}, {}
    for pk in np.unique(entries.model[mask]).tolist():
        own = entries.top[mask & (entries.model == pk)]
        means[names[pk]], counts[names[pk]] = float(own.mean()), len(own)
    return means, counts


def counts_by_model(entries: BoardEntries, names: Mapping[int, str]) -> dict[str, int]:
    """How many entries of each somebody gave: a baseline's against itself nobody did."""
    pks, counts = np.unique(entries.model[entries.response > 0], return_counts=True)
    return {names[pk]: n for pk, n in zip(pks.tolist(), counts.tolist(), strict=True)}


def judged_in_part(counts: Mapping[str, int], whole: int) -> frozenset[str]:
    """The models of which clearly less than the whole was judged."""
    return frozenset(model for model, n in counts.items() if n < MOST_OF_IT * whole)


def same_name(name: str, printed: str) -> bool:
    return plain_name(name) == plain_name(printed)


def plain_name(name: str) -> str:
    """A model's name without the account before a slash and whatever its capitals."""
    return name.rsplit("/", 1)[-1].strip().casefold()
