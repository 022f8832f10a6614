"""The items of a fit: their weights with both intervals, and the published weights beside them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from django.utils.translation import gettext

from calibration.fits.export import certificate_of
from calibration.models import CategoryFit, FittedWeight
from calibration.statistics.resampling import FloatArray
from calibration.statistics.weights.certificates import pooled_from_dict
from calibration.statistics.weights.populations import WeightPopulations
from calibration.web.blocks import Column, Table
from calibration.web.messages.populations import ends_columns
from calibration.web.messages.statistics import criterion_words

Ends = tuple[float, float] | None


@dataclass(frozen=True)
class WeightRow:
    """An item's fitted weight (a share of 100) and, if there is one, its published weight.

    `such` and `these` are its ends for raters like these and for exactly these raters, None where there are none.
    """

    label: str
    weight: float
    such: Ends
    these: Ends
    raw: float | None
    at_floor: bool
    published: float | None

    @property
    def difference(self) -> float | None:
        return None if self.published is None else self.weight - self.published


def item_rows(one: CategoryFit, published: CategoryFit | None, questions: Mapping[str, str]) -> list[WeightRow]:
    own = sorted(one.weights.all(), key=lambda weight: weight.position)
    others = sorted(published.weights.all(), key=lambda weight: weight.position) if published else []
    beside, ends = _matched(own, others), shown_populations(one)
    return [
        WeightRow(
            questions.get(weight.criterion_key, criterion_words(weight.criterion_key)),
            weight.weight,
            _ends_at(ends.such_low, ends.such_high, weight.position) if ends else None,
            _ends_at(ends.these_low, ends.these_high, weight.position) if ends else _stored_ends(weight),
            weight.raw_weight,
            weight.at_floor,
            beside.get(weight.position),
        )
        for weight in own
    ]


def shown_populations(one: CategoryFit) -> WeightPopulations | None:
    """The intervals of the weights that are shown, the pooled ones if they were pooled; None in fits made before."""
    if one.diagnostics["pooled"]:
        return pooled_from_dict(one.diagnostics["pooled"]).categories[one.key].populations
    return certificate_of(one).populations


def _ends_at(low: FloatArray, high: FloatArray, place: int) -> Ends:
    return (float(low[place]), float(high[place])) if len(low) else None


def _stored_ends(weight: FittedWeight) -> Ends:
    return None if weight.low is None or weight.high is None else (weight.low, weight.high)


def _matched(own: Sequence[FittedWeight], others: Sequence[FittedWeight]) -> dict[int, float]:
    """Map our positions to published weights: by criterion key if the keys are the same, else by checklist index."""
    by_key = {weight.criterion_key: weight.weight for weight in others}
    if set(by_key) == {weight.criterion_key for weight in own}:
        return {weight.position: by_key[weight.criterion_key] for weight in own}
    return {mine.position: theirs.weight for mine, theirs in zip(own, others, strict=False)}


def distinct_labels(rows: Sequence[WeightRow]) -> list[WeightRow]:
    """Number repeated labels, because a figure tells its bars apart by their labels."""
    seen: dict[str, int] = {}
    distinct = []
    for row in rows:
        seen[row.label] = seen.get(row.label, 0) + 1
        label = row.label if seen[row.label] == 1 else f"{row.label} ({seen[row.label]})"
        distinct.append(replace(row, label=label))
    return distinct


def weights_table(rows: Sequence[WeightRow]) -> Table:
    columns = [
        Column(gettext("Item")),
        Column(gettext("Weight"), 2),
        *ends_columns(1, optional=True),
        Column(gettext("Published"), 2, optional=True),
        Column(gettext("Difference"), 2, optional=True),
        Column(gettext("Raw"), 3),
        Column(gettext("Floor"), optional=True),
    ]
    at_floor = gettext("at the floor")
    return Table(
        columns,
        [
            [
                row.label,
                row.weight,
                *(row.such or (None, None)),
                *(row.these or (None, None)),
                row.published,
                row.difference,
                row.raw,
                at_floor if row.at_floor else None,
            ]
            for row in rows
        ],
    )


def floor_note() -> str:
    return gettext(
        "The interval of a weight at the floor is that of its coefficient in least squares without a floor, cut at the "
        "floor."
    )
