"""A panel of judges as one: non-negative weights that predict people's differences of models, cross-fitted. PURE.

What a panel predicts of an instruction never rests on what people said of it: the labelled instructions are split into
folds, and each fold is predicted with the weights of the others (Zrnic and Candes 2024, Cross-prediction-powered inference).
The weights are those of non-negative least squares on scores without the mean of their instruction and of their model,
which is least squares on the differences of all pairs of models at once.

What a panel is worth is stated as R2 of people's differences, out of sample: 1 - (squared error of the predictions)/(squared
differences), both without the mean of their instruction and of their model, so that rho^2 of the differences of two models
is the R2 of a judge with the best slope. The best single judge is chosen and scaled in the same folds.

In place of the best of them, one named judge can be the one to beat, and rows that are no judges, such as the length of a
response, can have a weight of either sign.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from calibration.statistics.agreement.rating_tables import sum_by
from calibration.statistics.design.needed import needed_for
from calibration.statistics.errors import ConstantScores, TooFewRatings
from calibration.statistics.judges.estimates import PeopleEstimate, following_skew, people_estimate
from calibration.statistics.populations import CrossedVariance, left_out_groups
from calibration.statistics.replicates import MOST_REPLICATES, NUMBERS_AT_ONCE, Replicates, variance_of_replicates
from calibration.statistics.resampling import MIN_CLUSTERS, BoolArray, FloatArray, IntArray, Labels, cluster_codes
from calibration.statistics.weights.least_squares import Sums, partly_floored_solve

FOLDS = 5
SPLITS = 3
"""Divisions into folds over which R2 is averaged."""
DRAWS = 100
"""Bootstrap draws of instructions."""
LEAST_JUDGES = 2
COLLINEAR = 1e-9
ROUNDING = 1e-12


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
    divisions. `n` are the responses, or pairs, that people rated. Where one judge was named to be beaten, `single` is that
    judge, and there are no `members`.
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

    @property
    def better(self) -> bool:
        """Whether the panel is shown to predict people's differences better than the best single judge."""
        return self.panel.value > 0 and self.gain.value > COLLINEAR and self.gain.excludes_zero


@dataclass(frozen=True)
class Beaten:
    """What a panel is compared with in place of the best judge: the judge of this row, scaled by people.

    The last `free` rows are covariates, whose weights have either sign; they may be without differences.
    """

    row: int = 0
    free: int = 0


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


def panel_gain(
    given: JudgedAlike, *, folds: int = FOLDS, draws: int = DRAWS, seed: int = 0, over: Beaten | None = None
) -> PanelGain:
    """What a panel of the judges adds to the best of them, or to the one named by `over`, which leaves `members` empty.

    All values are means over several divisions into folds.

    Only instructions with two or more rated responses (or a rated pair) count. The variance over instructions is that of
    bootstrap `draws` in which everything is fitted and chosen anew; raters, and their answers to one instruction, are left
    out in turn with the fits as they are. Raises TooFewRatings under two judges or 20 such instructions, and ConstantScores
    where people's differences, or a judge's, are all alike.
    """
    fitted = _fitted(given, folds, seed, over)
    rows, judges = fitted.rows, len(fitted.scores) if over is None else 0
    found, thirds = _variances(fitted, draws, seed)
    estimates = [people_estimate(one, "plain", left_out=np.zeros(0), positions=given.positions) for one in found]
    if over is not None:
        # What further answers add is the greater, and the less certain, the more the judge errs in a study.
        estimates = [following_skew(*one) for one in zip(estimates, found, thirds, strict=True)]
    whole = _trained(rows, fitted.people, fitted.scores, over).rules[0]
    weight = whole * fitted.spread
    total = float(weight.sum())
    instructions = int(rows.instruction.max()) + 1
    gain, spare = estimates[2], 1 - instructions / fitted.pool
    return PanelGain(
        members=tuple(
            PanelMember(
                weight=float(weight[at]),
                share=float(weight[at]) / total if total > 0 else 0.0,
                slope=float(whole[at]),
                used=sum(bool(one.rules[0][at] > 0) for parts in fitted.trained for one in parts),
                chosen=sum(one.best == at for parts in fitted.trained for one in parts),
                alone=estimates[3 + at],
            )
            for at in range(judges)
        ),
        panel=estimates[0],
        single=estimates[1],
        gain=gain,
        needed=_needed(found[2], gain),
        most=max(0.0, estimates[0].value) * spare,
        most_single=max(0.0, estimates[1].value) * spare,
        folds=folds,
        fits=folds * SPLITS,
        n=len(fitted.people),
        instructions=instructions,
        pool=fitted.pool,
        models=rows.models,
        raters=int(fitted.rater.max()) + 1,
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


def panel_values(given: JudgedAlike, *, folds: int = FOLDS, seed: int = 0, over: Beaten | None = None) -> FloatArray:
    """The quantities of panel_variances without their variances. Raises as panel_gain."""
    fitted = _fitted(given, folds, seed, over)
    found = _quantities(fitted.rows, fitted.people[None], fitted.predicted, SPLITS)
    return np.asarray(found[0], dtype=np.float64)


def panel_variances(
    given: JudgedAlike, *, folds: int = FOLDS, draws: int = DRAWS, seed: int = 0, over: Beaten | None = None
) -> list[CrossedVariance]:
    """The variances of panel_gain: of R2 of the panel, of R2 of the best single judge, of the gain, and of each judge's R2
    where none is named by `over`. Raises as panel_gain.
    """
    return _variances(_fitted(given, folds, seed, over), draws, seed)[0]


@dataclass(frozen=True)
class _Fitted:
    """What is fitted to the rated responses (n,), and what the variances are made of.

    `people` are their means, `scores` (judges, n) the judges' and `spread` (judges,) that of their differences. Ratings (m,)
    have the response's `place`, their `value`, and the `rater`'s code. `pool` instructions were judged.
    `splits` are the divisions into folds, `trained` what was fitted without each, and `predicted` what that predicts.
    """

    rows: _Differences
    people: FloatArray
    scores: FloatArray
    spread: FloatArray
    place: IntArray
    value: FloatArray
    rater: IntArray
    pool: int
    splits: Sequence[IntArray]
    trained: Sequence[Sequence["_Trained"]]
    predicted: FloatArray
    rng: np.random.Generator
    over: Beaten | None


def _fitted(given: JudgedAlike, folds: int, seed: int, over: Beaten | None = None) -> _Fitted:
    judges, value = np.asarray(given.judges, dtype=np.float64), np.asarray(given.value, dtype=np.float64)
    if len(judges) < LEAST_JUDGES:
        raise TooFewRatings(len(judges), LEAST_JUDGES, "judges")
    rated, pool = _of_differences(given)
    rows = _coded(given, rated)
    if len(np.unique(rows.instruction)) < MIN_CLUSTERS:
        raise TooFewRatings(len(np.unique(rows.instruction)), MIN_CLUSTERS, "instructions with people's differences")
    kept = rated[given.response]
    place = (np.cumsum(rated) - 1)[given.response[kept]].astype(np.int64)
    scores, n = judges[:, rated], int(rated.sum())
    people = sum_by(place, n, value[kept]) / np.bincount(place, minlength=n)
    own = rows.left(np.vstack([people, scores]))
    spread = np.sqrt((own**2).mean(axis=1))
    for at, size in enumerate(spread[: len(spread) - (over.free if over else 0)]):
        if size <= COLLINEAR * max(1.0, float(np.abs([people, *scores][at]).max())):
            raise ConstantScores("differences of people" if at == 0 else f"differences of judge {at}", 0.0)
    rng = np.random.default_rng(seed)
    splits = [(rng.permutation(int(rows.instruction.max()) + 1) % folds)[rows.instruction] for _split in range(SPLITS)]
    trained = [_folds(rows, people, scores, fold, folds, over) for fold in splits]
    predicted = np.vstack([_predicted(parts, scores, fold) for parts, fold in zip(trained, splits, strict=True)])
    rater = cluster_codes(np.asarray(given.rater)[kept])[0]
    parts = splits, trained, predicted
    return _Fitted(rows, people, scores, spread[1:], place, value[kept], rater, pool, *parts, rng, over)


@dataclass(frozen=True)
class _Trained:
    """Rules (2 + judges, judges): the coefficients of the panel, of the best single judge `best`, and of each judge alone.

    `best` is -1 where no judge goes with people. Where the one to beat is named, there are two rules.
    """

    rules: FloatArray
    best: int


def _folds(
    rows: _Differences, people: FloatArray, scores: FloatArray, fold: IntArray, folds: int, over: Beaten | None
) -> list[_Trained]:
    """What is fitted without each fold of the instructions."""
    parts = [fold != k for k in range(folds)]
    return [_trained(rows.select(others), people[others], scores[:, others], over) for others in parts]


def _predicted(trained: Sequence[_Trained], scores: FloatArray, fold: IntArray) -> FloatArray:
    """The predictions (2 + judges, n) of each response by what was fitted without its fold."""
    rules = np.array([one.rules for one in trained])
    return np.asarray(np.einsum("nqj,jn->qn", rules[fold], scores), dtype=np.float64)


def _quantities(rows: _Differences, people: FloatArray, predicted: FloatArray, splits: int) -> FloatArray:
    """R2 of the panel and of the best single judge, their difference, and R2 of each judge alone: means over the splits.

    `predicted` (splits x (2 + judges), n) are the predictions of each of `people` (b, n); the result is (b, 3 + judges), nan
    where people's differences are all alike.
    """
    left = rows.left(np.vstack([people, predicted]))
    theirs, ours = left[: len(people)], left[len(people) :]
    whole = (theirs**2).sum(axis=1)
    errors = whole[:, None] - 2 * theirs @ ours.T + (ours**2).sum(axis=1)
    each = 1 - errors / np.where(whole > 0, whole, np.nan)[:, None]
    r2 = each.reshape(len(people), splits, -1).mean(axis=1)
    return np.column_stack([r2[:, :2], r2[:, 0] - r2[:, 1], r2[:, 2:]])


def _moments(rows: _Differences, people: FloatArray, scores: FloatArray) -> FloatArray:
    """Products (instructions, d, d) of people's means, the judges' scores and the models' effects, by instruction.

    They are without the instruction's mean where `rows` are single responses, and add up over instructions.
    """
    n = len(people)
    effects = np.zeros((n, rows.models))
    effects[np.arange(n), rows.model] = 1.0
    if rows.rival is not None:
        effects[np.arange(n), rows.rival] = -1.0
    columns = np.column_stack([people, scores.T, effects])
    order = np.argsort(rows.instruction, kind="stable")
    found = []
    for places in np.split(order, np.cumsum(np.bincount(rows.instruction))[:-1]):
        own = columns[places]
        if rows.rival is None:
            own = own - own.mean(axis=0)
        found.append(own.T @ own)
    return np.array(found)


def _from_moments(
    moments: FloatArray, judges: int, folds: Sequence[IntArray], counts: FloatArray, over: Beaten | None = None
) -> FloatArray:
    """The quantities of _quantities (draws, 3 + judges) where everything is fitted and chosen anew, nan if undefined.

    Each instruction counts `counts` (draws, instructions) times; `folds` are its fold in each division.
    """
    k, d, _ = moments.shape
    z = 1 + judges
    every = counts @ moments.reshape(k, d * d)
    total = every.reshape(-1, d, d)
    inverse = np.linalg.pinv(total[:, z:, z:], rcond=COLLINEAR, hermitian=True)
    whole = _left_of(total, z)[:, 0, 0]
    known = whole > 0
    r2 = np.zeros((len(counts), 2 if over else 2 + judges))
    for fold in folds:
        squares, moved = np.zeros(r2.shape), np.zeros((*r2.shape, d - z))
        for code in np.unique(fold):
            own = ((counts * (fold == code)) @ moments.reshape(k, d * d)).reshape(-1, d, d)
            rules = _rules_from(_left_of(total - own, z), over)[0]
            errors = np.concatenate([np.full((*r2.shape, 1), -1.0), rules], axis=2)
            squares += ((errors @ own[:, :z, :z]) * errors).sum(axis=2)
            moved += errors @ own[:, :z, z:]
        squares -= ((moved @ inverse) * moved).sum(axis=2)
        r2 += 1 - squares / np.where(known, whole, np.nan)[:, None]
    r2 /= len(folds)
    return np.column_stack([r2[:, :2], r2[:, 0] - r2[:, 1], r2[:, 2:]])


def _left_of(moments: FloatArray, z: int) -> FloatArray:
    """Products (b, z, z) of people and judges without what the models' effects explain."""
    effects = moments[:, :z, z:]
    inverse = np.linalg.pinv(moments[:, z:, z:], rcond=COLLINEAR, hermitian=True)
    return np.asarray(moments[:, :z, :z] - effects @ inverse @ effects.transpose(0, 2, 1), dtype=np.float64)


def _rules_from(left: FloatArray, over: Beaten | None) -> tuple[FloatArray, IntArray]:
    """The rules (b, 2 + judges, judges) and the `best` (b,) of _Trained from products (b, 1 + judges, 1 + judges)."""
    size, shared = np.diagonal(left, axis1=1, axis2=2)[:, 1:], left[:, 1:, 0]
    rounding = ROUNDING * np.maximum(size.max(axis=1, keepdims=True), 0.0)
    seen = size > rounding
    safe = np.where(seen, size, 1.0)
    slope = np.where(seen, np.maximum(shared, 0.0) / safe, 0.0)
    explained = slope**2 * size
    judges = size.shape[1]
    alone = slope[:, :, None] * np.eye(judges)
    best = np.full(len(left), over.row) if over else explained.argmax(axis=1)
    every = np.arange(len(left))
    single = alone[every, best]
    # Scaled to one spread each, so that the solver's tolerance means the same for every judge.
    unit = np.sqrt(safe)
    gram = np.where(seen[:, :, None] & seen[:, None, :], left[:, 1:, 1:], 0.0) / (unit[:, :, None] * unit[:, None, :])
    zeros = np.zeros(len(left))
    sums = Sums(gram, np.where(seen, shared, 0.0) / unit, left[:, 0, 0], zeros, zeros)
    panel = partly_floored_solve(sums, over.free if over else 0) / unit
    rules = [panel[:, None], single[:, None], *([] if over else [alone])]
    return np.concatenate(rules, axis=1), np.where(explained[every, best] > 0, best, -1)


def _variances(fitted: _Fitted, draws: int, seed: int) -> tuple[list[CrossedVariance], list[float]]:
    """Variances with a bootstrap over instructions, and raters and cells left out in turn; the draws' third moments.

    The choice of the best judge jumps, for which leaving out one instruction at a time finds no variance; a bootstrap does.
    """
    rows, people, place = fitted.rows, fitted.people, fitted.place
    instruction = rows.instruction[place]
    value = _quantities(rows, people[None], fitted.predicted, SPLITS)[0]
    _, of_raters, cells = left_out_groups(instruction, fitted.rater, most=MOST_REPLICATES, seed=seed)
    by_rater, by_cell = (_without_each(fitted, codes) for codes in (of_raters, cells))
    k = int(rows.instruction.max()) + 1
    _, first = np.unique(rows.instruction, return_index=True)
    chosen = fitted.rng.integers(0, k, size=(draws, k))
    counts = np.bincount((chosen + k * np.arange(draws)[:, None]).ravel(), minlength=draws * k).reshape(draws, k)
    moments = _moments(rows, people, fitted.scores)
    of_instruction = [fold[first] for fold in fitted.splits]
    drawn = _from_moments(moments, len(fitted.scores), of_instruction, counts.astype(np.float64), fitted.over)
    known = drawn[np.isfinite(drawn).all(axis=1)]
    g = len(known)
    # As replicates of a jackknife: their (g - 1)/g times the sum of squares is the variance of the draws.
    by_instruction = value + (known - known.mean(axis=0)) * (g**0.5 / (g - 1))
    sizes = k, int(fitted.rater.max()) + 1
    found = []
    for at in range(value.size):
        one = slice(at, at + 1)
        replicates = Replicates(value[one], by_instruction[:, one], by_rater[:, one], by_cell[:, one], *sizes)
        found.append(variance_of_replicates(replicates))
    return found, ((known - known.mean(axis=0)) ** 3).mean(axis=0).tolist()


def _without_each(fitted: _Fitted, codes: IntArray) -> FloatArray:
    """The quantities (groups, 3 + judges) without the ratings of each group; `codes` (m,) are those of the ratings."""
    n, groups = len(fitted.people), int(codes.max()) + 1
    given, sums = np.bincount(fitted.place, minlength=n), sum_by(fitted.place, n, fitted.value)
    found = np.empty((groups, 1 + len(fitted.predicted) // SPLITS))
    at_once = max(1, NUMBERS_AT_ONCE // n)
    for start in range(0, groups, at_once):
        size = min(at_once, groups - start)
        taken = (codes >= start) & (codes < start + size)
        cell = (codes[taken] - start) * n + fitted.place[taken]
        counts = given - np.bincount(cell, minlength=size * n).reshape(size, n)
        means = sums - np.bincount(cell, weights=fitted.value[taken], minlength=size * n).reshape(size, n)
        means, known = means / np.maximum(counts, 1), counts > 0
        whole = known.all(axis=1)
        if whole.any():
            found[start : start + size][whole] = _quantities(fitted.rows, means[whole], fitted.predicted, SPLITS)
        for at in np.flatnonzero(~whole):
            kept = known[at]
            rows, predicted = fitted.rows.select(kept), fitted.predicted[:, kept]
            found[start + at] = _quantities(rows, means[None, at, kept], predicted, SPLITS)[0]
    return found


def _trained(rows: _Differences, people: FloatArray, scores: FloatArray, over: Beaten | None = None) -> _Trained:
    left = rows.left(np.vstack([people, scores]))
    rules, best = _rules_from((left @ left.T)[None], over)
    return _Trained(rules[0], int(best[0]))


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
