"""A frame's values as labels and answer matrices, the input of statistics of raters and weights."""

from dataclasses import dataclass

import numpy as np

from calibration.data.frames import UNCATEGORISED, Floats, Ints, NothingToRead, ScoreFrame


@dataclass(frozen=True)
class CategoryRows:
    """One category's complete checklist answers: answers (n, p) in [0, 1], overall (n,) 0..10.

    instruction, rater and model are pks, shape (n,), model 0 where unknown. Answers with an item that does not
    apply, or with items missing, are left out and counted.
    """

    key: str
    category: int
    parent: int
    keys: tuple[str, ...]
    answers: Floats
    overall: Floats
    assignment: Ints
    instruction: Ints
    rater: Ints
    model: Ints
    dropped_not_applicable: int
    dropped_incomplete: int


def checklist_rows(frame: ScoreFrame) -> list[CategoryRows]:
    """Per leaf category, in order of its pk, the complete answers as a matrix; one category 'all' where there is none.

    Raises NothingToRead where no answer has both items and an overall score.
    """
    names = _unique_names(frame)
    found = []
    for category in np.unique(frame.category):
        part = frame.select(frame.category == category)
        rows = _category_rows(part, names[int(category)], int(category))
        if rows is not None:
            found.append(rows)
    if not found:
        raise NothingToRead("no answer has both checklist items and an overall score")
    return found


def _unique_names(frame: ScoreFrame) -> dict[int, str]:
    """A name for each leaf category; the parent's key stands before it where two leaves share a key."""
    leaves, first = np.unique(frame.category, return_index=True)
    plain = {int(leaf): frame.category_names.get(int(leaf), UNCATEGORISED) for leaf in leaves}
    parents = {int(leaf): int(frame.parent[place]) for leaf, place in zip(leaves, first, strict=True)}
    counts: dict[str, int] = {}
    for name in plain.values():
        counts[name] = counts.get(name, 0) + 1
    return {
        leaf: name if counts[name] == 1 else f"{frame.category_names.get(parents[leaf], UNCATEGORISED)}/{name}"
        for leaf, name in plain.items()
    }


def _category_rows(part: ScoreFrame, name: str, category: int) -> CategoryRows | None:
    keys, overall_keys = part.keys_of_role("item"), part.keys_of_role("overall")
    if not keys or not overall_keys:
        return None
    columns = {part.criterion_keys.index(key): column for column, key in enumerate([*keys, overall_keys[0]])}
    wanted = part.select(np.isin(part.criterion, list(columns)))
    owners, first, row = np.unique(wanted.assignment, return_index=True, return_inverse=True)
    column = np.array([columns.get(code, 0) for code in range(len(part.criterion_keys))])[wanted.criterion]
    table = np.full((len(owners), len(columns)), np.nan)
    table[row, column] = (wanted.value - wanted.low) / (wanted.high - wanted.low)
    hidden = np.zeros(len(owners), dtype=bool)
    hidden[row[~wanted.applicable]] = True
    complete = ~np.isnan(table).any(axis=1)
    keep = complete & ~hidden
    if not keep.any():
        return None
    return CategoryRows(
        key=name,
        category=category,
        parent=int(part.parent[0]),
        keys=tuple(keys),
        answers=table[keep, :-1],
        overall=table[keep, -1] * 10,
        assignment=owners[keep],
        instruction=wanted.instruction[first][keep],
        rater=wanted.rater[first][keep],
        model=wanted.model[first][keep],
        dropped_not_applicable=int(hidden.sum()),
        dropped_incomplete=int((~complete & ~hidden).sum()),
    )
