"""The columnar frame from which statistics are computed, and the hash that identifies the same data.

A frame holds one entry per current score; every array has the same length, and pks identify rows until labels are needed.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from annotation.models import Criterion, Task
from calibration.statistics.codes import numbered
from core.errors import UserError

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

ROLES = tuple(Criterion.Role.values)
ABOUT_RESPONSES = (Task.Kind.SINGLE, Task.Kind.PAIR, Task.Kind.CHECK)
"""Tasks whose answers say something of a response. A review's answers say, under the same criterion keys, whether a
judge's verdict on it is reasonable: they are no scores of the response."""
EVERY_KIND = tuple(Task.Kind)
"""For what holds of answers whatever they are about, as raters' agreement does; of one study, whose tasks are alike."""
UNCATEGORISED = "all"


class NothingToRead(UserError):
    """The study or benchmark has no scores of the kind asked for."""


@dataclass(frozen=True)
class ScoreFrame:
    """One entry a current score; arrays of shape (n,). `criterion` and `role` index criterion_keys and ROLES.

    value is on the criterion's own scale, whose ends are low and high; where `applicable` is false it is 0 and
    means nothing. variant tells levels of one value apart ("both bad" from a tie): 0 for the first such level.
    category, parent, model, model_b and response_b are 0 where there is none.
    """

    assignment: Ints
    task: Ints
    response: Ints
    response_b: Ints
    instruction: Ints
    category: Ints
    parent: Ints
    model: Ints
    model_b: Ints
    rater: Ints
    criterion: Ints
    role: Ints
    position: Ints
    value: Floats
    low: Floats
    high: Floats
    applicable: Bools
    variant: Ints
    repeat: Ints
    is_judge: Bools
    criterion_keys: tuple[str, ...]
    model_names: Mapping[int, str]
    rater_names: Mapping[int, str]
    category_names: Mapping[int, str]
    instruction_ids: Mapping[int, str]

    def __len__(self) -> int:
        return len(self.value)

    @property
    def label_values(self) -> Floats:
        """The values, with levels that share one told apart: a further level of a value lies above the scale.

        For nominal statistics; the same answer has the same number in every frame. Shape (n,).
        """
        return np.where(self.variant > 0, self.high + 1 + self.variant, self.value)

    def select(self, mask: Bools | Ints) -> "ScoreFrame":
        """The entries where `mask`, shape (n,), is true, or at these places; the labels stay."""
        places = np.flatnonzero(mask) if mask.dtype == np.bool_ else mask
        arrays = {
            field.name: getattr(self, field.name)[places]
            for field in fields(self)
            if isinstance(getattr(self, field.name), np.ndarray)
        }
        return replace(self, **arrays)

    def of_criterion(self, key: str) -> "ScoreFrame":
        """The applicable scores of one criterion; raises NothingToRead where there are none."""
        if key not in self.criterion_keys:
            raise NothingToRead(f"there is no criterion {key!r}; there are: {', '.join(self.criterion_keys)}")
        found = self.select((self.criterion == self.criterion_keys.index(key)) & self.applicable)
        if not len(found):
            raise NothingToRead(f"nobody has scored the criterion {key!r}")
        return found

    def keys_of_role(self, role: str) -> list[str]:
        """Keys of the criteria with this role that have scores, by position."""
        mask = self.role == ROLES.index(role)
        codes, first = np.unique(self.criterion[mask], return_index=True)
        positions = self.position[mask][first]
        return [self.criterion_keys[code] for code in codes[np.argsort(positions, kind="stable")]]


def data_hash(frame: ScoreFrame) -> str:
    """SHA-256 of who gave what to what in which category, in labels: the same data, the same hash in any database."""
    raters = _coded(frame.rater, frame.rater_names)
    models = _coded(frame.model, frame.model_names)
    rivals = _coded(frame.model_b, frame.model_names)
    instructions = _coded(frame.instruction, frame.instruction_ids)
    criteria_order = np.argsort(np.argsort(np.array(frame.criterion_keys or ("",))))
    criteria = criteria_order[frame.criterion] if len(frame) else frame.criterion
    columns = [instructions[0], models[0], rivals[0], raters[0], criteria, frame.repeat]
    order = np.lexsort([frame.variant, frame.value, *reversed(columns)])
    digest = hashlib.sha256()
    for labels in (instructions[1], models[1], rivals[1], raters[1], tuple(sorted(frame.criterion_keys))):
        digest.update("\x1f".join(labels).encode() + b"\x1e")
    for column in columns:
        digest.update(np.ascontiguousarray(column[order], dtype="<i8").tobytes())
    digest.update(np.ascontiguousarray(frame.value[order], dtype="<f8").tobytes())
    digest.update(np.packbits(frame.applicable[order]).tobytes())
    if frame.variant.any():
        digest.update(np.ascontiguousarray(frame.variant[order], dtype="<i8").tobytes())
    digest.update("\x1e".join(_filed(frame)).encode())
    return digest.hexdigest()


def _filed(frame: ScoreFrame) -> list[str]:
    """Each instruction with its category and the one above it, in labels: what is fitted by category rests on that."""
    pks, first = np.unique(frame.instruction, return_index=True)
    names = frame.category_names
    return sorted(
        "\x1f".join([frame.instruction_ids.get(pk, ""), names.get(leaf, ""), names.get(parent, "")])
        for pk, leaf, parent in zip(
            pks.tolist(), frame.category[first].tolist(), frame.parent[first].tolist(), strict=True
        )
    )


def _coded(pks: Ints, names: Mapping[int, str]) -> tuple[Ints, tuple[str, ...]]:
    """Codes into the sorted labels of the pks that occur, and those labels."""
    places, known = numbered(pks)
    labels = [names.get(pk, "") for pk in known.tolist()]
    ordered = tuple(sorted(set(labels)))
    code = {label: place for place, label in enumerate(ordered)}
    return np.array([code[label] for label in labels], dtype=np.int64)[places], ordered
