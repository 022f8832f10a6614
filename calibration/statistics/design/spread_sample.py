"""A sample that is spread as evenly as what there is allows: over every mark, and over every combination of them. PURE."""

import random
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping

Marks = tuple[Hashable, ...]


def spread_sample(marked: Mapping[int, Marks], wanted: int, *, seed: int) -> list[int]:
    """At most `wanted` of the keys, ascending. All marks have the same length: a model, a category, a level, ...

    One by one the next comes from the combination of marks taken least so far; among equals, from the one whose
    single marks were taken least. The same seed draws the same sample.
    """
    draws = random.Random(seed)
    groups: dict[Marks, list[int]] = defaultdict(list)
    for key in sorted(marked):
        groups[marked[key]].append(key)
    for group in groups.values():
        draws.shuffle(group)
    turns = {marks: draws.random() for marks in sorted(groups, key=repr)}
    taken: Counter[Marks] = Counter()
    seen: list[Counter[Hashable]] = [Counter() for _ in next(iter(groups), ())]
    found: list[int] = []
    while groups and len(found) < wanted:
        marks = min(
            groups,
            key=lambda one: (taken[one], sum(count[mark] for count, mark in zip(seen, one, strict=True)), turns[one]),
        )
        found.append(groups[marks].pop())
        taken[marks] += 1
        for count, mark in zip(seen, marks, strict=True):
            count[mark] += 1
        if not groups[marks]:
            del groups[marks]
    return sorted(found)
