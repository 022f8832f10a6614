"""The filters of a leaderboard, which the page, its files, the API and the command read, and what they keep."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from urllib.parse import urlencode

import numpy as np
from django.http import QueryDict

from calibration.data.frames import UNCATEGORISED, Bools, Ints
from calibration.reports.cache import SHOWN
from generation.models import MAIN_EXPERIMENT, Benchmark, Category, Instruction, LanguageModel
from judging.leaderboards.observations import Observations
from judging.scores.metrics import METRICS

AVERAGE, WORDS, MODEL = "average", "words", "model"
TAGS = "tags"
LONGEST_WEIGHTS = 1000
MOST_RIVALS = 8
ALL = 0
"""Column of observations without a category, if none has one."""


@dataclass(frozen=True)
class Filters:
    """The choices of a leaderboard's address; '' and None mean the default or everything.

    `measure` is the name of a metric, `against` are models by name, `smallest` and `largest` billions of parameters,
    `least` is the minimum number of judged responses, `margin` WildBench's K in characters; `sort` is a category's key,
    AVERAGE, WORDS or MODEL, with the worst first if `rising`. With `discredited`, verdicts of runs that failed their
    canary texts are included, and nothing is ranked. With `excluded` "shown", people's excluded answers count too. With
    `groups` TAGS, a task counts in the group of each of its tags, and `group_weights` ("coding=1.25") weight the groups.
    """

    judge: str = ""
    weights: str = ""
    experiment: str = ""
    measure: str = ""
    category: str = ""
    language: str = ""
    tag: str = ""
    family: str = ""
    smallest: float | None = None
    largest: float | None = None
    least: int = 0
    margin: int | None = None
    against: tuple[str, ...] = ()
    sort: str = AVERAGE
    rising: bool = False
    discredited: bool = False
    excluded: str = ""
    groups: str = ""
    group_weights: str = ""

    @property
    def run_experiment(self) -> str:
        return self.experiment or MAIN_EXPERIMENT

    @property
    def narrows(self) -> bool:
        """Whether the filters keep only a part of the instructions."""
        return bool(self.category or self.language or self.tag)

    @property
    def is_of_whole(self) -> bool:
        """Whether every instruction counts once, as in the tables of papers."""
        return not (self.narrows or self.groups)

    def address(self, **changes: object) -> str:
        """Return the filters with these changes as an address, without default values; '' if all are defaults."""
        asked = replace(self, **changes)  # type: ignore[arg-type]
        plain: list[tuple[str, str]] = []
        for choice in fields(Filters):
            value = getattr(asked, choice.name)
            if value == choice.default or value is None:
                continue
            if choice.name == "against":
                plain += [("against", name) for name in value]
            else:
                text = "1" if value is True else f"{value:g}" if isinstance(value, float) else str(value)
                plain.append((choice.name, text))
        return urlencode(plain)

    def as_json(self) -> Mapping[str, object]:
        return {choice.name: getattr(self, choice.name) for choice in fields(Filters)}


def read_filters(given: QueryDict) -> Filters:
    """Read the filters from an address; an invalid number counts as not given, and NUL, which no database stores, is
    dropped.
    """
    against = tuple(dict.fromkeys(name for name in given.getlist("against") if name))
    measure = given.get("measure", "")
    return Filters(
        **{
            name: given.get(name, "").replace("\0", "").strip()
            for name in ("judge", "weights", "experiment", "category", "language", "tag", "family")
        },
        measure=measure if measure in METRICS else "",
        smallest=_number(given.get("smallest", "")),
        largest=_number(given.get("largest", "")),
        least=int(_number(given.get("least", "")) or 0),
        margin=_margin(given),
        against=against[:MOST_RIVALS],
        sort=given.get("sort", "") or AVERAGE,
        rising=given.get("rising", "") == "1",
        discredited=given.get("discredited", "") == "1",
        excluded=SHOWN if given.get("excluded", "") == SHOWN else "",
        groups=TAGS if given.get("groups", "") == TAGS else "",
        group_weights=given.get("group_weights", "").replace("\0", "").strip()[:LONGEST_WEIGHTS],
    )


def _margin(given: QueryDict) -> int | None:
    """Return the margin; the right end of the page's slider, which `margin_off` states, is none."""
    margin, off = (_number(given.get(name, "")) for name in ("margin", "margin_off"))
    return None if margin is None or margin == off else int(margin)


def _number(written: str) -> float | None:
    """Return a finite number of at least 0, or None."""
    try:
        value = float(written)
    except ValueError:
        return None
    return value if 0 <= value < 1e12 else None


def wanted_instructions(benchmark: Benchmark, filters: Filters, leaves: Mapping[int, Category]) -> set[int] | None:
    """Return the instructions that the filters keep; None means all."""
    if not filters.narrows:
        return None
    instructions = Instruction.objects.filter(benchmark=benchmark)
    if filters.language:
        instructions = instructions.filter(language=filters.language)
    if filters.category:
        instructions = instructions.filter(
            category__in=[pk for pk, leaf in leaves.items() if _is_within(leaf, filters.category)]
        )
    rows = instructions.values_list("pk", "tags")
    return {pk for pk, tags in rows if not filters.tag or filters.tag in (tags or [])}


def _is_within(leaf: Category, name: str) -> bool:
    """Whether the category has this key or name, or lies in the category with this key."""
    return name in (leaf.key, str(leaf)) or bool(leaf.parent and leaf.parent.key == name)


def wanted_models(benchmark: Benchmark, filters: Filters) -> set[int] | None:
    """Return the models of the requested family and size; None means all. A model of unknown size has no size."""
    if not (filters.family or filters.smallest is not None or filters.largest is not None):
        return None
    models = LanguageModel.objects.filter(workspace=benchmark.workspace)
    if filters.family:
        models = models.filter(family=filters.family)
    if filters.smallest is not None:
        models = models.filter(billions_of_parameters__gte=filters.smallest)
    if filters.largest is not None:
        models = models.filter(billions_of_parameters__lte=filters.largest)
    return set(models.values_list("pk", flat=True))


def kept(
    observations: Observations,
    wanted: set[int] | None,
    models: set[int] | None,
    filters: Filters,
    names: Mapping[int, str],
) -> Bools:
    """Return which observations (n,) are of the wanted instructions, models and baselines."""
    keep = np.ones(len(observations), dtype=bool)
    if wanted is not None:
        keep &= np.isin(observations.instruction, list(wanted))
    if models is not None:
        keep &= np.isin(observations.model, list(models))
    if filters.against and observations.opponent.any():
        keep &= np.isin(observations.opponent, [pk for pk, name in names.items() if name in filters.against])
    return keep


def columns_of(
    observations: Observations, unscored: list[int], leaves: Mapping[int, Category], filters: Filters
) -> tuple[dict[int, str], dict[int, int]]:
    """Return column code -> key, in the benchmark's order, and leaf -> column.

    The columns are the leaves of a category if the filters name one. Observations without a category are left out,
    unless none has a category.
    """
    inside = {pk for pk in {*observations.category.tolist(), *unscored} if pk in leaves}
    if not inside:
        return {ALL: UNCATEGORISED}, {0: ALL}
    if filters.category:
        of_leaf = {pk: pk for pk in inside if _is_within(leaves[pk], filters.category)}
    else:
        of_leaf = {pk: leaves[pk].parent_id or pk for pk in inside}
    columns = sorted({leaves[pk] for pk in of_leaf.values()}, key=lambda column: (column.position, column.pk))
    return {column.pk: column.key for column in columns}, of_leaf


def mapped(category: Ints, of_leaf: Mapping[int, int]) -> Ints:
    """Return the column of each observation, -1 for none."""
    known, place = np.unique(category, return_inverse=True)
    codes = np.array([of_leaf.get(int(leaf), -1) for leaf in known], dtype=np.int64)
    return codes[place.reshape(-1)] if len(known) else category
