"""Weights that others have published, stored as a named fit that never changes."""

import math
from collections.abc import Mapping, Sequence

from django.db import transaction

from annotation.models import Criterion
from annotation.rubrics.library import RubricsOf
from calibration.models import CategoryFit, Fit, FittedWeight
from core.db.created_rows import note_created
from core.errors import UserError
from generation.library.loading import Categories
from generation.models import Benchmark, Category

SUM = 100.0


def load_published_weights(
    *, benchmark: Benchmark, name: str, source: str, weights: Mapping[str, Sequence[float]]
) -> tuple[Fit, bool]:
    """Store the weights of each category, by checklist position, as the fit `name`: (fit, whether it is new).

    Categories are named by their key or an alias; weights are scaled to a sum of 100. If a fit of that name already
    exists, it must have the same weights. Raises UserError.
    """
    categories, rubrics = Categories(benchmark), RubricsOf(benchmark)
    wanted: dict[str, tuple[Category, list[float]]] = {}
    for key, values in weights.items():
        category = categories.find(key)
        if category is None:
            raise UserError(f"{source}: benchmark {benchmark.slug} has no category {key!r}; load its taxonomy.")
        wanted[category.key] = category, _scaled(source, key, values)
    known = Fit.objects.filter(workspace=benchmark.workspace, published_name=name).first()
    if known is not None:
        _compare(known, source, {key: values for key, (_category, values) in wanted.items()})
        return known, False
    with transaction.atomic():
        fit = Fit.objects.create(
            workspace=benchmark.workspace,
            kind=Fit.Kind.PUBLISHED,
            benchmark=benchmark,
            published_name=name,
            source=source[:300],
        )
        note_created([fit])
        for position, (key, (category, values)) in enumerate(wanted.items()):
            part = CategoryFit.objects.create(fit=fit, category=category, key=key, position=position)
            keys = _criterion_keys(rubrics, category)
            FittedWeight.objects.bulk_create(
                FittedWeight(
                    category_fit=part, position=place, weight=value, criterion_key=keys.get(place, f"item{place}")
                )
                for place, value in enumerate(values)
            )
    return fit, True


def _scaled(source: str, key: str, values: Sequence[float]) -> list[float]:
    total = math.fsum(values)
    if not values or min(values) < 0 or not math.isfinite(total) or total <= 0:
        raise UserError(f"{source}: the weights of {key!r} must be numbers of at least 0; check the file.")
    return [SUM * value / total for value in values]


def _criterion_keys(rubrics: RubricsOf, category: Category) -> dict[int, str]:
    rubric = rubrics.nearest(None, category.pk)
    criteria = rubric.criteria.all() if rubric else []
    return {one.position: one.key for one in criteria if one.role == Criterion.Role.ITEM}


def _compare(fit: Fit, source: str, wanted: Mapping[str, Sequence[float]]) -> None:
    stored: dict[str, list[float]] = {}
    rows = FittedWeight.objects.filter(category_fit__fit=fit).order_by("category_fit", "position")
    for key, weight in rows.values_list("category_fit__key", "weight"):
        stored.setdefault(key, []).append(weight)
    same = stored.keys() == wanted.keys() and all(
        len(stored[key]) == len(values) and all(map(math.isclose, stored[key], values))
        for key, values in wanted.items()
    )
    if not same:
        raise UserError(
            f"{source}: the fit {fit.published_name!r} already exists with other weights, and a fit never changes."
        )
