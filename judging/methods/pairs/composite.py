"""The method that agrees best with people in each category, chosen on one half of the tasks and reported on the other.

PURE. HREF (arXiv 2412.15524), 3.3, chose and reported on the same tasks, which overstates the agreement.
"""

import hashlib
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

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
class CategoryChoice:
    """A category's method, chosen for `chosen_rate` over `chosen_tasks` and tested by `rate` over `tasks`.

    `left_out` are the methods that judged too few tasks to be chosen; `held_out` counts all tasks of the half without
    part in choosing, of which `tasks` have a verdict of the method.
    """

    category: str
    method: str
    chosen_rate: float
    chosen_tasks: int
    rate: float
    tasks: int
    left_out: tuple[str, ...]
    held_out: tuple[str, ...] = ()


@dataclass(frozen=True)
class Composite:
    """`rate` is that of the composite over all held-out tasks; `single` is the one best method on the choosing half,
    and `single_rate` its rate on the same held-out tasks.
    """

    choices: tuple[CategoryChoice, ...]
    rate: float
    tasks: int
    single: str
    single_rate: float

    @property
    def method_of(self) -> dict[str, str]:
        return {choice.category: choice.method for choice in self.choices}


Table = Mapping[str, Mapping[str, float | None]]


def choose(agreements: Sequence[Agreement], *, seed: int, least_share: float = LEAST_SHARE) -> Composite:
    """Return the best method of each category, with its agreement on tasks that had no part in the choice.

    A method can be chosen if it gave a verdict on at least `least_share` of the choosing half; of equal rates the first
    method by name wins. A held-out task without a verdict of the chosen method does not count. Raises TooFewTasks.
    """
    tables = _by_category(agreements)
    methods = sorted({row.method for row in agreements})
    halves = {category: _halves(rows, f"{seed} {category}", category) for category, rows in sorted(tables.items())}
    choices = tuple(
        _choice(category, choosing, testing, methods, least_share) for category, (choosing, testing) in halves.items()
    )
    everything = {task: row for choosing, _testing in halves.values() for task, row in choosing.items()}
    single = _best(everything, methods, least_share, "all")[0]
    pooled = [value for choice in choices for value in _values(halves[choice.category][1], choice.method)]
    single_values = [value for _choosing, testing in halves.values() for value in _values(testing, single)]
    if not single_values:
        raise TooFewTasks(reply_messages.NONE_HELD_OUT(method=single))
    return Composite(choices, fmean(pooled), len(pooled), single, fmean(single_values))


def _by_category(agreements: Sequence[Agreement]) -> dict[str, list[Agreement]]:
    if not agreements:
        raise TooFewTasks(reply_messages.NO_AGREEMENT())
    rows: dict[str, list[Agreement]] = defaultdict(list)
    for row in agreements:
        rows[row.category].append(row)
    return rows


def _halves(rows: Sequence[Agreement], seed: str, category: str) -> tuple[Table, Table]:
    first = _first_half({row.instruction for row in rows}, seed, category)
    choosing: dict[str, dict[str, float | None]] = defaultdict(dict)
    testing: dict[str, dict[str, float | None]] = defaultdict(dict)
    for row in rows:
        (choosing if row.instruction in first else testing)[row.task][row.method] = row.value
    return choosing, testing


def _first_half(instructions: set[str], seed: str, category: str) -> set[str]:
    if len(instructions) < 2:
        raise TooFewTasks(reply_messages.TOO_FEW_INSTRUCTIONS(category=repr(category), n=len(instructions)))
    order = sorted(instructions)
    random.Random(hashlib.sha256(seed.encode()).digest()).shuffle(order)
    return set(order[: len(order) // 2])


def _values(table: Table, method: str) -> list[float]:
    return [value for row in table.values() if (value := row.get(method)) is not None]


def _best(
    table: Table, methods: Sequence[str], least_share: float, category: str
) -> tuple[str, float, int, tuple[str, ...]]:
    """Return the method with the highest mean, that mean, its tasks, and the methods that judged too few."""
    judged = {method: _values(table, method) for method in methods}
    enough = {m: values for m, values in judged.items() if values and len(values) >= least_share * len(table)}
    if not enough:
        raise TooFewTasks(
            reply_messages.NO_METHOD_JUDGED(category=repr(category), share=f"{least_share:.0%}", n=len(table))
        )
    # Means of different tasks that are equal differ in their last digit.
    best = max(enough, key=lambda method: round(fmean(enough[method]), DIGITS))
    return best, fmean(enough[best]), len(enough[best]), tuple(m for m in methods if m not in enough)


def _choice(
    category: str, choosing: Table, testing: Table, methods: Sequence[str], least_share: float
) -> CategoryChoice:
    method, rate, n, left_out = _best(choosing, methods, least_share, category)
    values = _values(testing, method)
    if not values:
        raise TooFewTasks(reply_messages.NONE_HELD_OUT_IN(category=repr(category), method=method))
    return CategoryChoice(category, method, rate, n, fmean(values), len(values), left_out, tuple(sorted(testing)))


def verdict_of(composite: Composite, category: str, verdicts: Mapping[str, Verdict | Unscored]) -> Verdict | Unscored:
    """Return the verdict of the category's method among those of all methods, by name."""
    method = composite.method_of.get(category)
    if method is None:
        return Unscored(Why.MISSING, reply_messages.NO_METHOD_CHOSEN(category=repr(category)))
    return verdicts.get(method) or Unscored(Why.MISSING, reply_messages.METHOD_WITHOUT_VERDICT(method=method))


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
