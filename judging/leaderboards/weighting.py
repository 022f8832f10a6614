"""The weights that a leaderboard uses, and the weight of each item of each category under them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from calibration.models import CategoryFit, Fit, FittedWeight, fitted_kind
from core.errors import UserError
from core.messages.message import Wording
from generation.models import Benchmark, Category

EQUAL = "equal"
PUBLISHED = "published"
EVERYWHERE = "all"
PRINTED_DIGITS = 2


CATEGORY_NOT_COVERED = Wording(
    "weights.category_not_covered",
    "The weights %(weights)s do not cover category %(category)s with its %(n)s items; choose other weights, "
    "such as equal, or fit them on a study that has this category.",
)
NO_SUCH_WEIGHTS = Wording(
    "weights.none_such", "There are no weights %(name)s for benchmark %(benchmark)s; there are: %(known)s."
)


class UnknownWeights(UserError):
    """There are no weights with this name; the sentence lists the weights."""


class MissingWeights(UserError):
    """The weights do not cover what is to be scored; the sentence names the categories or items."""


@dataclass(frozen=True)
class CategoryWeights:
    """Weights of one category: by criterion key, and by position in the benchmark's own checklist."""

    by_key: Mapping[str, float]
    by_position: Mapping[int, float]

    def of(self, keys: Sequence[str], positions: Sequence[int]) -> list[float] | None:
        """Return the weights of the items, by key if all keys are known, else by position; None if neither works."""
        if all(key in self.by_key for key in keys):
            return [self.by_key[key] for key in keys]
        if all(position in self.by_position for position in positions):
            return [self.by_position[position] for position in positions]
        return None


@dataclass(frozen=True)
class Weighting:
    """`name` is the requested name; `fit` is None for equal weights."""

    name: str
    fit: Fit | None = None
    by_category: Mapping[int, CategoryWeights] = field(default_factory=dict)
    by_name: Mapping[str, CategoryWeights] = field(default_factory=dict)

    def weights(self, category: Category | None, keys: Sequence[str], positions: Sequence[int]) -> list[float]:
        """Return the weights of a category's items, from the category, its parent, or the weights for everything.

        Raises MissingWeights.
        """
        if self.fit is None:
            return [1.0] * len(keys)
        for candidate in self._candidates(category):
            weights = candidate.of(keys, positions)
            if weights is not None:
                return weights
        raise MissingWeights(CATEGORY_NOT_COVERED(weights=self.name, category=category or EVERYWHERE, n=len(keys)))

    def _candidates(self, category: Category | None) -> list[CategoryWeights]:
        candidates: list[CategoryWeights | None] = []
        for level in (category, category.parent if category else None):
            if level is not None:
                candidates += [
                    self.by_category.get(level.pk),
                    self.by_name.get(str(level)),
                    self.by_name.get(level.key),
                ]
        candidates.append(self.by_name.get(EVERYWHERE))
        return [weights for weights in candidates if weights is not None]


def weighting_named(benchmark: Benchmark, name: str) -> Weighting:
    """Return equal or published weights (see most_exact), or a fit by id, published name or study slug (its newest
    fit).

    Raises UnknownWeights.
    """
    if name == EQUAL:
        return Weighting(EQUAL)
    fits = fits_for(benchmark)
    if name == PUBLISHED:
        fit = most_exact([fit for fit in fits if fit.kind == Fit.Kind.PUBLISHED and fit.benchmark_id == benchmark.pk])
    else:
        every = (
            Fit.objects.filter(workspace=benchmark.workspace).select_related("study") if name else Fit.objects.none()
        )
        fit = (
            every.filter(public_id=name).first()
            or every.filter(published_name=name).first()
            or every.filter(study__slug=name, kind=fitted_kind()).first()
        )
    if fit is None:
        known = [EQUAL, *(fit_name(fit) for fit in fits)]
        raise UnknownWeights(NO_SUCH_WEIGHTS(name=repr(name), benchmark=benchmark.slug, known=", ".join(known)))
    return weighting_of(fit, name)


def most_exact(fits: Sequence[Fit]) -> Fit | None:
    """Of several published fits, return the first with more digits than a printed table has, else the first."""
    for fit in fits:
        weights = FittedWeight.objects.filter(category_fit__fit=fit).values_list("weight", flat=True)
        if any(abs(weight - round(weight, PRINTED_DIGITS)) > 1e-9 for weight in weights):
            return fit
    return fits[0] if fits else None


def fits_for(benchmark: Benchmark) -> list[Fit]:
    """Return the fits that can weigh this benchmark's items: its own, published, and fitted on its studies, newest
    first.
    """
    kinds = (Fit.Kind.PUBLISHED, fitted_kind())
    fits = Fit.objects.filter(workspace=benchmark.workspace, kind__in=kinds).select_related("study")
    return [
        fit
        for fit in fits
        if fit.benchmark_id == benchmark.pk or (fit.study is not None and fit.study.benchmark_id == benchmark.pk)
    ]


def fit_name(fit: Fit) -> str:
    """Return the name by which a fit can be requested."""
    return fit.published_name or fit.public_id


def weighting_of(fit: Fit, name: str) -> Weighting:
    """Return the weights of a fit under the name by which they were requested."""
    by_category: dict[int, CategoryWeights] = {}
    by_name: dict[str, CategoryWeights] = {}
    for row in CategoryFit.objects.filter(fit=fit).defer("diagnostics", "rows").prefetch_related("weights"):
        weights = list(row.weights.all())
        category_weights = CategoryWeights(
            {weight.criterion_key: weight.weight for weight in weights},
            {weight.position: weight.weight for weight in weights},
        )
        by_name[row.key] = category_weights
        if row.category_id is not None:
            by_category[row.category_id] = category_weights
    return Weighting(name, fit, by_category, by_name)
