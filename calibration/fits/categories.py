"""The computation of a study's weights by category, from labelled rows that a stored fit keeps to repeat it.

Nothing here reads the database; the same rows and settings give the same figures to the last digit.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from calibration.statistics.errors import NoStatistic
from calibration.statistics.weights.fit import (
    PooledFits,
    WeightCertificate,
    certify_weights,
    pool_weights,
    with_finding,
)
from calibration.statistics.weights.gains import better_than_equal
from core.errors import UserError

Progress = Callable[[int, int, str], None]

FIT_REFUSED = "fit refused"
"""The verb of the event that stores why a fit was refused."""


class FitRefused(UserError):
    """A fit cannot be computed or stored; the message is one sentence with the remedy.

    `small` lists the categories with too few answers as (category, answers, items); `category` is the one that cannot
    be fitted, `family` the parent whose categories cannot be pooled ('' for the whole study).
    """

    def __init__(
        self, message: str, *, small: Sequence[tuple[str, int, int]] = (), category: str = "", family: str | None = None
    ) -> None:
        self.small = tuple(small)
        self.category = category
        self.family = family
        super().__init__(message)


@dataclass(frozen=True)
class FitSettings:
    """floor: the smallest raw weight; pool: pool categories toward their parents; draws: of the cluster bootstrap."""

    floor: float = 0.5
    pool: bool = False
    draws: int = 1000
    seed: int = 0


@dataclass(frozen=True)
class LabelledRows:
    """One category's rows in labels: answers (n, p) in 0..1, overall (n,) in 0..10, one label of each kind per row.

    `raters` is empty if the data number positions instead of persons, `models` if the data name no models.
    """

    key: str
    parent: str
    items: tuple[str, ...]
    answers: np.ndarray
    overall: np.ndarray
    instructions: tuple[str, ...]
    raters: tuple[str, ...]
    models: tuple[str, ...]
    dropped_not_applicable: int
    dropped_incomplete: int


@dataclass(frozen=True)
class FittedCategory:
    """The stored result of one category; weights sum to 100 and are the pooled ones if pooling was requested."""

    rows: LabelledRows
    certificate: WeightCertificate
    pooled: PooledFits | None
    weights: tuple[float, ...]
    raw_weights: tuple[float, ...]
    r2: float
    mse: float


def fit_categories(
    rows: Sequence[LabelledRows], settings: FitSettings, progress: Progress | None = None
) -> list[FittedCategory]:
    """Compute the certificates of all categories and, if requested, the pooled weights. Deterministic."""
    certificates = []
    for done, row in enumerate(rows):
        if progress:
            progress(done, len(rows), row.key)
        certificates.append(_certified(row, settings))
    findings = better_than_equal([certificate.gain for certificate in certificates])
    certificates = [with_finding(*each) for each in zip(certificates, findings, strict=True)]
    pooled = _pooled(rows, settings) if settings.pool else {}
    if progress:
        progress(len(rows), len(rows), "")
    return [_fitted(row, made, pooled.get(row.key)) for row, made in zip(rows, certificates, strict=True)]


def _certified(row: LabelledRows, settings: FitSettings) -> WeightCertificate:
    try:
        return certify_weights(
            row.answers,
            row.overall,
            instructions=row.instructions,
            raters=row.raters or None,
            models=row.models or None,
            floor=settings.floor,
            draws=settings.draws,
            seed=settings.seed,
        )
    except NoStatistic as error:
        raise FitRefused(f"Category {row.key}: {error}", category=row.key) from error


def _pooled(rows: Sequence[LabelledRows], settings: FitSettings) -> dict[str, PooledFits]:
    """Map category keys to the pooled fits of their parent; an only child is not pooled."""
    found: dict[str, PooledFits] = {}
    for parent in sorted({row.parent for row in rows}):
        family = [row for row in rows if row.parent == parent]
        if len(family) < 2:
            continue
        try:
            pooled = pool_weights(
                {row.key: (row.answers, row.overall, row.items, row.instructions) for row in family},
                floor=settings.floor,
                seed=settings.seed,
                raters={row.key: row.raters for row in family} if all(row.raters for row in family) else None,
            )
        except NoStatistic as error:
            raise FitRefused(f"Pooling the categories of {parent or 'the study'}: {error}", family=parent) from error
        found |= {row.key: pooled for row in family}
    return found


def _fitted(row: LabelledRows, certificate: WeightCertificate, pooled: PooledFits | None) -> FittedCategory:
    chosen = pooled.categories[row.key] if pooled else certificate.fit
    return FittedCategory(
        row,
        certificate,
        pooled,
        tuple(chosen.weights.tolist()),
        tuple(chosen.raw_weights.tolist()),
        chosen.r2,
        chosen.mse,
    )


class StoredLabels(TypedDict):
    """A label for each row: `codes` index `labels`."""

    labels: list[str]
    codes: list[int]


class StoredRows(TypedDict):
    """LabelledRows as JSON values, without their key."""

    parent: str
    items: list[str]
    answers: list[list[float]]
    overall: list[float]
    dropped_not_applicable: int
    dropped_incomplete: int
    instructions: StoredLabels
    raters: StoredLabels
    models: StoredLabels


def rows_to_json(rows: LabelledRows) -> StoredRows:
    """Convert rows to JSON values: the labels of each kind once, and codes that index them."""
    return {
        "parent": rows.parent,
        "items": list(rows.items),
        "answers": rows.answers.tolist(),
        "overall": rows.overall.tolist(),
        "dropped_not_applicable": rows.dropped_not_applicable,
        "dropped_incomplete": rows.dropped_incomplete,
        "instructions": _stored_labels(rows.instructions),
        "raters": _stored_labels(rows.raters),
        "models": _stored_labels(rows.models),
    }


def _stored_labels(labels: Sequence[str]) -> StoredLabels:
    known = list(dict.fromkeys(labels))
    place = {label: index for index, label in enumerate(known)}
    return {"labels": known, "codes": [place[label] for label in labels]}


def _labels(stored: StoredLabels) -> tuple[str, ...]:
    return tuple(stored["labels"][code] for code in stored["codes"])


def rows_from_json(key: str, plain: StoredRows) -> LabelledRows:
    """Read rows that rows_to_json wrote; raises KeyError, IndexError, TypeError or ValueError for anything else."""
    return LabelledRows(
        key=key,
        parent=plain["parent"],
        items=tuple(plain["items"]),
        answers=np.array(plain["answers"], dtype=np.float64).reshape(-1, len(plain["items"])),
        overall=np.array(plain["overall"], dtype=np.float64),
        instructions=_labels(plain["instructions"]),
        raters=_labels(plain["raters"]),
        models=_labels(plain["models"]),
        dropped_not_applicable=plain["dropped_not_applicable"],
        dropped_incomplete=plain["dropped_incomplete"],
    )
