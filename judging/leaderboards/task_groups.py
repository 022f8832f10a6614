"""Groups of tasks that overlap: an instruction counts in the top category of its own category and of each of its tags."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from django.conf import settings

from calibration.data.frames import Ints
from core.errors import UserError
from core.messages.message import Wording
from generation.models import Benchmark, Category, Instruction
from judging.leaderboards.observations import LeftOut, Observations, Unusable

LARGEST_WEIGHT = 1e6
NO_WEIGHT = Wording("groups.no_weight", "%(text)s is no weight of a group; write key=weight, such as coding=1.25.")
NO_GROUP = Wording("groups.no_group", "Benchmark %(benchmark)s has no group %(group)s; its groups are %(known)s.")


class UnknownGroup(UserError):
    """A weight that cannot be read, or of a group that the benchmark does not have; the sentence lists those it has."""


@dataclass(frozen=True)
class TaskGroups:
    """`columns` are the keys of the groups by their pk, in the benchmark's order; `of` the groups of each instruction.

    `weights` by pk make the overall score a weighted mean of the groups; empty where all count the same.
    """

    columns: Mapping[int, str]
    of: Mapping[int, Sequence[int]]
    weights: Mapping[int, float]

    def spread(self, observations: Observations) -> tuple[Observations, Ints]:
        """Return each observation once for each of its groups, and the group; those without a group are left out."""
        groups = [self.of.get(pk, ()) for pk in observations.instruction.tolist()]
        rows = np.repeat(np.arange(len(observations)), [len(own) for own in groups])
        return observations.select(rows), np.array([pk for own in groups for pk in own], dtype=np.int64)

    def left_out(
        self, unusable: Iterable[Unusable], wanted: set[int] | None, models: set[int] | None, rivals: set[int] | None
    ) -> LeftOut:
        """Count the unusable verdicts that the filters keep, in each group of their instruction."""
        verdicts, cells = 0, Counter[tuple[int, int]]()
        for verdict in unusable:
            if wanted is not None and verdict.instruction not in wanted:
                continue
            sides = [
                model
                for model, rival in verdict.sides
                if (models is None or model in models) and (rivals is None or rival in rivals)
            ]
            groups = self.of.get(verdict.instruction, ())
            cells.update((model, group) for model in sides for group in groups)
            verdicts += bool(sides and groups)
        return LeftOut(verdicts, cells)

    def among(self, column: Ints) -> "TaskGroups":
        """Return the groups that occur among these."""
        present = set(np.unique(column).tolist())
        return TaskGroups(
            {pk: key for pk, key in self.columns.items() if pk in present},
            self.of,
            {pk: weight for pk, weight in self.weights.items() if pk in present},
        )


def task_groups(benchmark: Benchmark, written: str = "") -> TaskGroups:
    """Return the benchmark's groups, weighted as `written` ("coding=1.25,math_and_data=1"), else as its paper did.

    WildBench (arXiv 2406.04770), appendix E, and leaderboard/data_dir/_create_tables.py of its repository: a task has
    a group for each of its tags. Raises UnknownGroup.
    """
    tops: dict[str, int] = {}
    columns: dict[int, str] = {}
    parents: dict[int, int | None] = {}
    for category in Category.objects.filter(benchmark=benchmark).order_by("position", "pk"):
        parents[category.pk] = category.parent_id
        if category.parent_id is None:
            columns[category.pk] = category.key
        for name in (category.key, *category.aliases):
            tops.setdefault(name.casefold(), category.parent_id or category.pk)
    of: dict[int, tuple[int, ...]] = {}
    rows = Instruction.objects.filter(benchmark=benchmark).order_by().values_list("pk", "category_id", "tags")
    for pk, category_pk, tags in rows.iterator(2000):
        own = [parents[category_pk] or category_pk] if category_pk else []
        own += [tops[str(tag).casefold()] for tag in tags or () if str(tag).casefold() in tops]
        of[pk] = tuple(dict.fromkeys(own))
    return TaskGroups(columns, of, _weights(benchmark, columns, written))


def _weights(benchmark: Benchmark, columns: Mapping[int, str], written: str) -> dict[int, float]:
    given = read_weights(written) if written else published_weights(benchmark.slug)
    unknown = sorted(set(given) - set(columns.values()))
    if unknown and written:
        raise UnknownGroup(
            NO_GROUP(benchmark=benchmark.slug, group=unknown[0], known=", ".join(columns.values()) or "–")
        )
    if not given:
        return {}
    # A group that is not mentioned counts once, as it would without weights.
    return {pk: given.get(key, 1.0) for pk, key in columns.items()}


def read_weights(written: str) -> dict[str, float]:
    """Read "coding=1.25,math_and_data=1". Raises UnknownGroup."""
    weights = {}
    for text in filter(None, (part.strip() for part in written.split(","))):
        key, equals, number = text.partition("=")
        try:
            weight = float(number)
        except ValueError:
            weight = -1.0
        if not (equals and key.strip() and 0 < weight <= LARGEST_WEIGHT):
            raise UnknownGroup(NO_WEIGHT(text=text[:50]))
        weights[key.strip()] = weight
    return weights


@cache
def published_weights(slug: str) -> Mapping[str, float]:
    """Return the weights of the benchmark's groups that its authors use, by the groups' keys; none where unknown."""
    path = settings.BASE_DIR / "fixtures" / "taxonomies" / f"{slug}.json"
    if not path.exists():
        return {}
    found: Mapping[str, float] = json.loads(path.read_text(encoding="utf-8")).get("group_weights", {})
    return found
