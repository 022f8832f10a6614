"""The method that agrees best with people in each category, cross-fitted: no task has a part in the choice made for it.

PURE. The instructions of each category are split into two halves at random. The tasks of each half are decided by the
method that agreed best on the other half, so that every task counts and none flatters its own choice; with several
splits a task's agreement is the mean over them, so that no single split decides the result. HREF (arXiv 2412.15524),
3.3, chose and reported on the same tasks, which overstates the agreement.
"""

import hashlib
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.errors import UserError
from core.messages.message import marked
from judging.methods import messages as reply_messages
from judging.methods.parsing import Unscored, Verdict, Why
from judging.methods.spec import HREF, MethodSpec, Transport

KEY = "composite"
TASK_KIND = "pair"
ROLE = "preference"
LEAST_SHARE = 0.8
DIGITS = 9
SPLITS = 20
HALVES = (0, 1)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class TooFewTasks(UserError):
    """A category has too few instructions for two halves, or no method that judged enough of them."""


@dataclass(frozen=True)
class Agreement:
    """The agreement of one method's verdict on one task with people, 0..1; None if it gave no verdict.

    Tasks of the same `instruction` stay in the same half.
    """

    task: str
    instruction: str
    category: str
    method: str
    value: float | None


@dataclass(frozen=True)
class Choices:
    """Which method decides a task: one chosen without it where people rated it, else the best of its category."""

    rated: Mapping[str, str]
    others: Mapping[str, str]

    def method_of(self, task: str, category: str) -> str | None:
        return self.rated.get(task) or self.others.get(category)


@dataclass(frozen=True)
class Split:
    """One split: `half` (m,) says in which half each task is, `methods` which method decides a half of a category."""

    half: Ints
    methods: Mapping[tuple[int, int], str]

    def method_of(self, category: int, place: int) -> str:
        return self.methods[category, int(self.half[place])]


@dataclass(frozen=True)
class CrossFitted:
    """Agreement with people, 0 to 1, of each task (m,), by methods that were chosen without it; NaN without a verdict.

    `composite` chooses a method for each category, `single` one for all of them. `choices` count by category how often
    each method was chosen, of two halves a split, the most frequent first; `singles` are the same for all categories.
    """

    composite: Floats
    single: Floats
    choices: Mapping[int, tuple[tuple[str, int], ...]]
    singles: tuple[tuple[str, int], ...]
    splits: tuple[Split, ...]


def cross_fit(
    matches: Mapping[str, Floats],
    category: Ints,
    instruction: Ints,
    *,
    seed: int,
    splits: int = SPLITS,
    least_share: float = LEAST_SHARE,
) -> CrossFitted:
    """Choose by halves of the instructions from `matches`, each method's agreement with people (m,), NaN for no verdict.

    A method can be chosen if it gave a verdict on at least `least_share` of the choosing half; of equal rates the first
    method by name wins. Raises TooFewTasks.
    """
    if not matches or not category.size:
        raise TooFewTasks(reply_messages.NO_AGREEMENT())
    names = sorted(matches)
    table = np.vstack([matches[name] for name in names])
    found = [_split(names, table, category, instruction, f"{seed} {number}", least_share) for number in range(splits)]
    places = np.arange(len(category))
    composite = [table[methods, places] for _split_made, methods, _singles in found]
    single = [table[np.array(singles)[made.half], places] for made, _methods, singles in found]
    chosen = {
        int(key): _most_first(made.methods[int(key), half] for made, _methods, _singles in found for half in HALVES)
        for key in np.unique(category)
    }
    return CrossFitted(
        composite=_means(composite),
        single=_means(single),
        choices=chosen,
        singles=_most_first(names[place] for _made, _methods, singles in found for place in singles),
        splits=tuple(made for made, _methods, _singles in found),
    )


def _split(
    names: Sequence[str], table: Floats, category: Ints, instruction: Ints, seed: str, least_share: float
) -> tuple[Split, Ints, list[int]]:
    """Return a split, the place of the method that decides each task (m,), and that of the single best for each half."""
    half = np.zeros(len(category), dtype=np.int64)
    for key in np.unique(category).tolist():
        here = category == key
        half[here & np.isin(instruction, _second_half(instruction[here], f"{seed} {key}", key))] = 1
    methods: dict[tuple[int, int], str] = {}
    decides = np.zeros(len(category), dtype=np.int64)
    for key in np.unique(category).tolist():
        for side in HALVES:
            place = best_place(table, (category == key) & (half != side), least_share, str(key))
            methods[int(key), side] = names[place]
            decides[(category == key) & (half == side)] = place
    singles = [best_place(table, half != side, least_share, "all") for side in HALVES]
    return Split(half, methods), decides, singles


def _second_half(instructions: Ints, seed: str, category: int) -> list[int]:
    known = sorted(set(instructions.tolist()))
    if len(known) < len(HALVES):
        raise TooFewTasks(reply_messages.TOO_FEW_INSTRUCTIONS(category=repr(category), n=len(known)))
    random.Random(hashlib.sha256(seed.encode()).digest()).shuffle(known)
    return known[len(known) // 2 :]


def best_place(table: Floats, mask: Bools, least_share: float, category: str) -> int:
    """Return the row of the table with the highest mean under the mask. Raises TooFewTasks."""
    values = table[:, mask]
    known = np.isfinite(values)
    counts = known.sum(axis=1)
    enough = (counts > 0) & (counts >= least_share * values.shape[1])
    if not enough.any():
        said = reply_messages.NO_METHOD_JUDGED(category=repr(category), share=f"{least_share:.0%}", n=values.shape[1])
        raise TooFewTasks(said)
    means = np.where(known, values, 0.0).sum(axis=1) / np.maximum(counts, 1)
    # Means of different tasks that are equal differ in their last digit.
    return int(np.argmax(np.where(enough, means.round(DIGITS), -1.0)))


def _means(values: Sequence[Floats]) -> Floats:
    """Return the mean over the splits of each task (m,), of those in which its method gave a verdict."""
    stacked = np.vstack(values)
    known = np.isfinite(stacked)
    sums = np.where(known, stacked, 0.0).sum(axis=0)
    means: Floats = np.full(stacked.shape[1], np.nan)
    np.divide(sums, known.sum(axis=0), out=means, where=known.any(axis=0))
    return means


def _most_first(names: Iterable[str]) -> tuple[tuple[str, int], ...]:
    counts = Counter(names)
    return tuple(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def choices_from(agreements: Sequence[Agreement], *, seed: int, least_share: float = LEAST_SHARE) -> Choices:
    """Choose the method for each task that people rated, by one split, and for all other tasks of each category.

    Raises TooFewTasks.
    """
    rows: dict[str, dict[str, float]] = defaultdict(dict)
    about: dict[str, tuple[str, str]] = {}
    for one in agreements:
        about[one.task] = one.category, one.instruction
        rows[one.method][one.task] = np.nan if one.value is None else one.value
    tasks = sorted(about)
    categories, category = np.unique([about[task][0] for task in tasks], return_inverse=True)
    _known, instruction = np.unique([about[task][1] for task in tasks], return_inverse=True)
    matches = {name: np.array([given.get(task, np.nan) for task in tasks]) for name, given in rows.items()}
    codes = category.astype(np.int64)
    found = cross_fit(matches, codes, instruction.astype(np.int64), seed=seed, splits=1, least_share=least_share)
    names = sorted(matches)
    table = np.vstack([matches[name] for name in names])
    (split,) = found.splits
    return Choices(
        rated={task: split.method_of(int(codes[place]), place) for place, task in enumerate(tasks)},
        others={
            str(key): names[best_place(table, codes == code, least_share, str(key))]
            for code, key in enumerate(categories)
        },
    )


def verdict_of(
    choices: Choices, task: str, category: str, verdicts: Mapping[str, Verdict | Unscored]
) -> Verdict | Unscored:
    """Return the verdict of the task's method among those of all methods, by name."""
    method = choices.method_of(task, category)
    if method is None:
        return Unscored(Why.MISSING, reply_messages.NO_METHOD_CHOSEN(category=repr(category)))
    return verdicts.get(method) or Unscored(Why.MISSING, reply_messages.METHOD_WITHOUT_VERDICT(method=method))


def says_composite(name: str) -> bool:
    """Whether a judge's name says that it is a composite."""
    return re.search(r"\bcomposite\b", name, re.IGNORECASE) is not None


SPECS = (
    MethodSpec(
        key=KEY,
        name=marked("Composite"),
        asks=marked("In each category, the method that agreed best with people on other tasks. Calls no model."),
        source=HREF,
        task_kind=TASK_KIND,
        role=ROLE,
        transport=Transport.VERDICTS,
    ),
)
