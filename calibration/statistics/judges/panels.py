"""A panel of judges as one: non-negative weights that predict people's differences of models, cross-fitted. PURE.

What a panel predicts of an instruction never rests on what people said of it: the labelled instructions are split into
folds, and each fold is predicted with the weights of the others (Zrnic and Candes 2024, Cross-prediction-powered inference).
The weights are those of non-negative least squares on scores without the mean of their instruction and of their model,
which is least squares on the differences of all pairs of models at once.

What a panel is worth is stated as R2 of people's differences, out of sample: 1 - (squared error of the predictions)/(squared
differences), both without the mean of their instruction and of their model, so that rho^2 of the differences of two models
is the R2 of a judge with the best slope. The best single judge is chosen and scaled in the same folds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from calibration.statistics.agreement.rating_tables import sum_by
from calibration.statistics.design.needed import needed_for
from calibration.statistics.errors import ConstantScores, TooFewRatings
from calibration.statistics.judges.estimates import PeopleEstimate, people_estimate
from calibration.statistics.populations import CrossedVariance, left_out_groups
from calibration.statistics.replicates import MOST_REPLICATES, Replicates, variance_of_replicates
from calibration.statistics.resampling import MIN_CLUSTERS, BoolArray, FloatArray, IntArray, Labels, cluster_codes

FOLDS = 5
SPLITS = 3
"""Divisions into folds over which R2 is averaged."""
DRAWS = 100
"""Bootstrap draws of instructions."""
LEAST_JUDGES = 2
COLLINEAR = 1e-9


@dataclass(frozen=True)
class Panel:
    """`labelled` (n, models) and `others` (N - n, models): the panel's scores; `weights` (judges,): the folds' mean."""

    labelled: FloatArray
    others: FloatArray
    weights: FloatArray


def stacked_panel(
    people: FloatArray,
    labelled: FloatArray,
    others: FloatArray,
    *,
    single: bool = False,
    folds: int = FOLDS,
    seed: int = 0,
) -> Panel:
    """Stack judges on people's scores (n, models), from theirs (judges, n, models) and (judges, N - n, models).

    With `single` each fold takes the one judge that predicts the other folds best instead, with the weight 1. Raises
    TooFewRatings under two instructions a fold.
    """
    n = len(people)
    if n < 2 * folds:
        raise TooFewRatings(n, 2 * folds, "labelled instructions")
    fold = np.random.default_rng(seed).permutation(n) % folds
    weights = np.array(
        [_weights(people[fold != k], labelled[:, fold != k], single=single) for k in range(folds)], dtype=np.float64
    )
    own = np.einsum("nj,jnm->nm", weights[fold], labelled)
    mean = weights.mean(axis=0)
    return Panel(own, np.einsum("j,jnm->nm", mean, others), mean)


@dataclass(frozen=True)
class JudgedAlike:
    """Responses that every judge of a panel scored, and people's ratings of some of them.

    `judges` (judges, n) are the scores, with the labels of each response's instruction and model (n,); `response` (m,) is
    the place 0..n-1 of each rating's response, `rater` (m,) who gave it, `value` (m,) on the scale of people. For pairs of
    responses `rivals` (n,) are the models of the second ones, and scores and values are preferences for the first.
    `positions`: the raters are positions in a data set rather than persons.
    """

    judges: FloatArray
    instructions: Labels
    models: Labels
    response: IntArray
    rater: Labels
    value: FloatArray
    rivals: Labels | None = None
    positions: bool = False


@dataclass(frozen=True)
class PanelMember:
    """A judge of the panel. `weight` is what a difference of one standard deviation of its own adds to the panel's, in
    points of people's scale, and `share` (0..1) its part in the sum of these; `slope` is the same for a difference of one
    point on its own scale. In `used` of the fits its weight is above 0, in `chosen` of them it is the best single judge.
    `alone` is the R2 of people's differences that it reaches alone, out of sample.
    """

    weight: float
    share: float
    slope: float
    used: int
    chosen: int
    alone: PeopleEstimate


@dataclass(frozen=True)
class PanelGain:
    """What a panel predicts of people's differences of models, out of sample.

    `panel` is its R2, `single` that of the best single judge, `gain` the first minus the second; `needed` instructions would
    show a gain of this size with 80 % power, None where it is not above 0 or no number would. `most` = R2 (1 - n/N) is the
    most of the labels that the panel can save, with n = `instructions` rated of the N = `pool` that every judge scored, and
    `most_single` that of the best single judge. There were `fits` fits, one without each of the `folds` folds of several
    divisions. `n` are the responses, or pairs, that people rated.
    """

    members: tuple[PanelMember, ...]
    panel: PeopleEstimate
    single: PeopleEstimate
    gain: PeopleEstimate
    needed: int | None
    most: float
    most_single: float
    folds: int
    fits: int
    n: int
    instructions: int
    pool: int
    models: int
    raters: int


@dataclass(frozen=True)
class _Differences:
    """Responses (n,) by codes of instruction and model, or pairs with the code of the rival."""

    instruction: IntArray
    model: IntArray
    rival: IntArray | None
    models: int

    def select(self, kept: BoolArray | IntArray) -> "_Differences":
        rival = None if self.rival is None else self.rival[kept]
        return replace(self, instruction=self.instruction[kept], model=self.model[kept], rival=rival)

    def left(self, values: FloatArray) -> FloatArray:
        """Values (k, n) without what their instructions and models explain by least squares."""
        effects = np.zeros((values.shape[1], self.models))
        place = np.arange(values.shape[1])
        effects[place, self.model] = 1.0
        found = values
        if self.rival is not None:
            effects[place, self.rival] = -1.0
        else:
            codes, k = cluster_codes(self.instruction)
            sizes = np.bincount(codes, minlength=k)
            effects -= (sum_by(codes, k, effects) / sizes[:, None])[codes]
            found = values - (sum_by(codes, k, values.T) / sizes[:, None])[codes].T
        inside = np.linalg.pinv(effects.T @ effects, rcond=COLLINEAR, hermitian=True)
        return np.asarray(found - (inside @ (effects.T @ found.T)).T @ effects.T, dtype=np.float64)


def panel_gain(given: JudgedAlike, *, folds: int = FOLDS, seed: int = 0) -> PanelGain:
    """What a panel of the judges adds to the best of them, as the mean over several divisions into folds.

    Only instructions with two or more rated responses (or a rated pair) count. The variance over instructions is that of
    bootstrap draws in which everything is fitted and chosen anew; raters, and their answers to one instruction, are left out
    in turn with the fits as they are. Raises TooFewRatings under two judges or 20 such instructions, and ConstantScores
    where people's differences, or a judge's, are all alike.
    """
    judges, value = np.asarray(given.judges, dtype=np.float64), np.asarray(given.value, dtype=np.float64)
    if len(judges) < LEAST_JUDGES:
        raise TooFewRatings(len(judges), LEAST_JUDGES, "judges")
    rated, pool = _of_differences(given)
    rows = _coded(given, rated)
    if len(np.unique(rows.instruction)) < MIN_CLUSTERS:
        raise TooFewRatings(len(np.unique(rows.instruction)), MIN_CLUSTERS, "instructions with people's differences")
    kept = rated[given.response]
    place = (np.cumsum(rated) - 1)[given.response[kept]].astype(np.int64)
    given_value, rater = value[kept], cluster_codes(np.asarray(given.rater)[kept])
    scores, n = judges[:, rated], int(rated.sum())
    people = sum_by(place, n, given_value) / np.bincount(place, minlength=n)
    own = rows.left(np.vstack([people, scores]))
    spread = np.sqrt((own**2).mean(axis=1))
    for at, size in enumerate(spread):
        if size <= COLLINEAR * max(1.0, float(np.abs([people, *scores][at]).max())):
            raise ConstantScores("differences of people" if at == 0 else f"differences of judge {at}", 0.0)
    rng = np.random.default_rng(seed)
    splits = [(rng.permutation(int(rows.instruction.max()) + 1) % folds)[rows.instruction] for _split in range(SPLITS)]
    trained = [_folds(rows, people, scores, fold, folds) for fold in splits]
    predicted = np.vstack([_predicted(parts, scores, fold) for parts, fold in zip(trained, splits, strict=True)])

    def values(chosen: BoolArray) -> FloatArray:
        counts = np.bincount(place[chosen], minlength=n)
        known = counts > 0
        means = sum_by(place[chosen], n, given_value[chosen])[known] / counts[known]
        return _quantities(rows.select(known), means, predicted[:, known], SPLITS)

    drawn = [_drawn(rows, people, scores, splits, folds, rng) for _draw in range(DRAWS)]
    found = _variances(rows.instruction[place], rater[0], values, np.array(drawn), seed)
    estimates = [people_estimate(one, "plain", left_out=np.zeros(0), positions=given.positions) for one in found]
    whole = _trained(rows, people, scores).rules[0]
    weight = whole * spread[1:]
    total = float(weight.sum())
    instructions = int(rows.instruction.max()) + 1
    gain, spare = estimates[2], 1 - instructions / pool
    return PanelGain(
        members=tuple(
            PanelMember(
                weight=float(weight[at]),
                share=float(weight[at]) / total if total > 0 else 0.0,
                slope=float(whole[at]),
                used=sum(bool(one.rules[0][at] > 0) for parts in trained for one in parts),
                chosen=sum(one.best == at for parts in trained for one in parts),
                alone=estimates[3 + at],
            )
            for at in range(len(scores))
        ),
        panel=estimates[0],
        single=estimates[1],
        gain=gain,
        needed=_needed(found[2], gain),
        most=max(0.0, estimates[0].value) * spare,
        most_single=max(0.0, estimates[1].value) * spare,
        folds=folds,
        fits=folds * SPLITS,
        n=n,
        instructions=instructions,
        pool=pool,
        models=rows.models,
        raters=rater[1],
    )


def weights_by_fold(given: JudgedAlike, fold: IntArray, folds: int) -> FloatArray:
    """The slopes (folds, judges) of the panel fitted without each fold; `fold` (n,) is that of each response, 0..folds-1.

    So the panel's score of a response never rests on what people said of its instruction. Raises TooFewRatings where
    without a fold no difference of people is left, or no judge goes with people.
    """
    rated, _pool = _of_differences(given)
    rows = _coded(given, rated)
    kept = rated[given.response]
    place = (np.cumsum(rated) - 1)[given.response[kept]].astype(np.int64)
    n = int(rated.sum())
    people = sum_by(place, n, np.asarray(given.value, dtype=np.float64)[kept]) / np.bincount(place, minlength=n)
    scores, parts = np.asarray(given.judges, dtype=np.float64)[:, rated], fold[rated]
    found = []
    for number in range(folds):
        others = parts != number
        left = int(np.unique(rows.instruction[others]).size)
        rule = _trained(rows.select(others), people[others], scores[:, others]).rules[0] if left else np.zeros(0)
        if not rule.sum() > 0:
            raise TooFewRatings(left, 2 * folds, "instructions with people's differences that a judge goes with")
        found.append(rule)
    return np.array(found, dtype=np.float64)


@dataclass(frozen=True)
class _Trained:
    """Rules (2 + judges, judges): the coefficients of the panel, of the best single judge `best`, and of each judge alone.

    `best` is -1 where no judge goes with people.
    """

    rules: FloatArray
    best: int


def _folds(rows: _Differences, people: FloatArray, scores: FloatArray, fold: IntArray, folds: int) -> list[_Trained]:
    """What is fitted without each fold of the instructions."""
    parts = [fold != k for k in range(folds)]
    return [_trained(rows.select(others), people[others], scores[:, others]) for others in parts]


def _predicted(trained: Sequence[_Trained], scores: FloatArray, fold: IntArray) -> FloatArray:
    """The predictions (2 + judges, n) of each response by what was fitted without its fold."""
    rules = np.array([one.rules for one in trained])
    return np.asarray(np.einsum("nqj,jn->qn", rules[fold], scores), dtype=np.float64)


def _quantities(rows: _Differences, people: FloatArray, predicted: FloatArray, splits: int) -> FloatArray:
    """R2 of the panel and of the best single judge, their difference, and R2 of each judge alone: means over the splits.

    `predicted` (splits x (2 + judges), n) are the predictions; nan where people's differences are all alike.
    """
    left = rows.left(np.vstack([people, predicted]))
    whole = float(left[0] @ left[0])
    if whole <= 0:
        return np.full(1 + len(predicted) // splits, np.nan)
    each = 1 - ((left[1:] - left[0]) ** 2).sum(axis=1) / whole
    r2 = each.reshape(splits, -1).mean(axis=0)
    return np.concatenate([[r2[0], r2[1], r2[0] - r2[1]], r2[2:]])


def _drawn(
    rows: _Differences,
    people: FloatArray,
    scores: FloatArray,
    splits: Sequence[IntArray],
    folds: int,
    rng: np.random.Generator,
) -> FloatArray:
    """The quantities of a draw of instructions with replacement; all draws of an instruction stay in its fold."""
    k = int(rows.instruction.max()) + 1
    order = np.argsort(rows.instruction, kind="stable")
    sizes = np.bincount(rows.instruction, minlength=k)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    chosen = rng.integers(0, k, size=k)
    places = np.concatenate([order[starts[one] : starts[one] + sizes[one]] for one in chosen.tolist()])
    some = replace(rows.select(places), instruction=np.repeat(np.arange(k), sizes[chosen]).astype(np.int64))
    own = scores[:, places]
    predicted = []
    for fold in splits:
        parts = fold[places]
        predicted.append(_predicted(_folds(some, people[places], own, parts, folds), own, parts))
    return _quantities(some, people[places], np.vstack(predicted), len(splits))


def _variances(
    instruction: IntArray, rater: IntArray, values: Callable[[BoolArray], FloatArray], drawn: FloatArray, seed: int
) -> list[CrossedVariance]:
    """Variances (q,) with the bootstrap's `drawn` (draws, q) over instructions, and raters and cells left out in turn.

    The choice of the best judge jumps, for which leaving out one instruction at a time finds no variance; a bootstrap does.
    """
    value = values(np.ones(instruction.size, dtype=np.bool_))
    _, of_raters, cells = left_out_groups(instruction, rater, most=MOST_REPLICATES, seed=seed)
    by_rater, by_cell = (
        np.array([values(codes != code) for code in range(int(codes.max()) + 1)]) for codes in (of_raters, cells)
    )
    known = drawn[np.isfinite(drawn).all(axis=1)]
    g = len(known)
    # As replicates of a jackknife: their (g - 1)/g times the sum of squares is the variance of the draws.
    by_instruction = value + (known - known.mean(axis=0)) * (g**0.5 / (g - 1))
    sizes = int(instruction.max()) + 1, int(rater.max()) + 1
    found = []
    for at in range(value.size):
        one = slice(at, at + 1)
        replicates = Replicates(value[one], by_instruction[:, one], by_rater[:, one], by_cell[:, one], *sizes)
        found.append(variance_of_replicates(replicates))
    return found


def _trained(rows: _Differences, people: FloatArray, scores: FloatArray) -> _Trained:
    from scipy.optimize import nnls

    left = rows.left(np.vstack([people, scores]))
    y, x = left[0], left[1:].T
    size = (x**2).sum(axis=0)
    slope = np.where(size > 0, np.maximum(x.T @ y, 0.0) / np.where(size > 0, size, 1.0), 0.0)
    explained = slope**2 * size
    best = int(np.argmax(explained)) if explained.max() > 0 else -1
    alone = np.diag(slope)
    single = alone[best] if best >= 0 else np.zeros(len(slope))
    # Scaled to one spread each, so that the solver's tolerance means the same for every judge.
    unit = np.sqrt(np.where(size > 0, size, 1.0))
    panel = nnls(x / unit, y)[0] / unit
    return _Trained(np.vstack([panel, single, alone]), best)


def _of_differences(given: JudgedAlike) -> tuple[BoolArray, int]:
    """Which responses (n,) are rated and of an instruction that shows differences, and how many were judged that do."""
    instruction, k = cluster_codes(given.instructions)
    n = len(instruction)
    least = 1 if given.rivals is not None else 2
    pool = int((np.bincount(instruction, minlength=k) >= least).sum())
    rated = np.bincount(given.response, minlength=n) > 0
    enough = np.bincount(instruction[rated], minlength=k) >= least
    return rated & enough[instruction], pool


def _coded(given: JudgedAlike, rated: BoolArray) -> _Differences:
    instruction = cluster_codes(np.asarray(given.instructions)[rated])[0]
    models = np.asarray(given.models)[rated]
    if given.rivals is None:
        codes, k = cluster_codes(models)
        return _Differences(instruction, codes, None, k)
    both, k = cluster_codes(np.concatenate([models, np.asarray(given.rivals)[rated]]))
    return _Differences(instruction, both[: len(models)], both[len(models) :], k)


def _needed(variance: CrossedVariance, gain: PeopleEstimate) -> int | None:
    if gain.value <= 0 or gain.interval_kind != "crossed95":
        return None
    fixed = float(variance.raters[0]) if gain.population == "such" else 0.0
    return needed_for(gain.value, float(variance.these[0]), variance.n_instructions, fixed=fixed)


def _weights(people: FloatArray, judges: FloatArray, *, single: bool) -> FloatArray:
    from scipy.optimize import nnls

    y = _centred(people).ravel()
    x = np.column_stack([_centred(one).ravel() for one in judges])
    if not single:
        return np.asarray(nnls(x, y)[0], dtype=np.float64)
    size = np.sqrt((x**2).sum(axis=0))
    chosen = int(np.argmax(np.where(size > 0, (x.T @ y) / np.where(size > 0, size, 1.0), -np.inf)))
    return np.asarray(np.arange(x.shape[1]) == chosen, dtype=np.float64)


def _centred(scores: FloatArray) -> FloatArray:
    """Scores (n, models) without the mean of their instruction and of their model."""
    rows, columns = scores.mean(axis=1, keepdims=True), scores.mean(axis=0, keepdims=True)
    return np.asarray(scores - rows - columns + scores.mean(), dtype=np.float64)
