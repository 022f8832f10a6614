"""The precision, hours and cost to expect of a planned study. PURE.

The study is simulated several times with calibration.statistics.design.simulation and analysed like a real one; the
expected interval has the mean ends over the simulations. Cost is computed from reading time and answering time.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from typing import Literal, TypeAlias

import numpy as np

from calibration.statistics.agreement.alpha import krippendorff_alpha
from calibration.statistics.agreement.leave_one_out import leave_one_out
from calibration.statistics.agreement.proportions import plain_proportion
from calibration.statistics.design.simulation import SimulatedRatings, simulate_checklist
from calibration.statistics.errors import NoStatistic, out_of_range
from calibration.statistics.resampling import FloatArray, IntArray, IntervalKind
from calibration.statistics.weights.fit import DEFAULT_FLOOR, fit_weights, weight_intervals
from calibration.statistics.weights.least_squares import cluster_sums

PlannedInterval: TypeAlias = IntervalKind | Literal["wilson95"]

LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0)
PREFERENCES = (0.0, 0.5, 1.0)
"""One response is better, neither, the other."""

ROWS_FOR_SIMULATION = 60_000
"""Ratings simulated in all: large studies are simulated fewer times, for each says more."""


@dataclass(frozen=True)
class PlannedStudy:
    """Every model answers every instruction; each response gets `overlap` different raters of the `raters`.

    `repeat_share` of the assignments (0..1) come a second time. Words are those of one response and of one instruction;
    reading_speed in words a minute (238: the mean of silent reading of English non-fiction, Brysbaert 2019);
    `seconds_per_answer` for each question: `items` and, with `overall`, the overall score; hourly_pay in any currency.

    `levels` are those of an item's scale as shares of it, ascending. With `pairs`, that many pairs of an instruction's
    responses are compared, by one question whose answers are the levels.
    """

    instructions: int
    models: int
    raters: int
    overlap: int
    items: int = 6
    repeat_share: float = 0.02
    words_per_response: float = 600
    words_per_instruction: float = 100
    reading_speed: float = 238
    seconds_per_answer: float = 6
    hourly_pay: Decimal = Decimal(0)
    levels: tuple[float, ...] = LEVELS
    overall: bool = True
    pairs: int = 0

    @property
    def tasks(self) -> int:
        return self.instructions * (self.pairs or self.models)

    @property
    def seconds(self) -> float:
        """Seconds for one answer to a task: reading its texts and answering its questions."""
        words = self.words_per_response * (2 if self.pairs else 1) + self.words_per_instruction
        questions = 1 if self.pairs else self.items + self.overall
        return 60 * words / self.reading_speed + self.seconds_per_answer * questions


@dataclass(frozen=True)
class Assumptions:
    """How ratings will vary, stated or measured in a pilot.

    `agreement`: correlation of two raters' overall scores of a response (0..1); `overall_mse`: error of a fit of
    overall scores on answers, 0..10 scale; `repeat_agreement`: share of answers given again to the same question;
    the standard deviations are of the true quality (0..1) between instructions, models, responses, and the items of
    a response; `quality` its mean; `weights` (items,) of any positive sum, equal where empty.
    """

    agreement: float = 0.5
    overall_mse: float = 0.6
    repeat_agreement: float = 0.8
    quality: float = 0.6
    instruction_sd: float = 0.1
    model_sd: float = 0.08
    response_sd: float = 0.12
    item_sd: float = 0.15
    weights: tuple[float, ...] = field(default=())


@dataclass(frozen=True)
class Expected:
    """A quantity's expected value and ends; width = high - low. Kinds as in calibration.resampling and proportions."""

    value: float
    low: float
    high: float
    width: float
    interval_kind: PlannedInterval


@dataclass(frozen=True)
class Plan:
    """What to expect of a planned study.

    `assignments` to hand out, `repeats` among them; `per_rater` the most any rater gets. `seconds` an assignment,
    `hours` in all, `hours_per_rater`, `cost` at the hourly pay. `agreement` has "alpha" (interval metric) and
    "leave_one_out" of overall scores, or of the first question where there is none (nominal alpha for pairs), and is empty
    where every response has one rater. `consistency` is
    first-repeat agreement of the whole study and `consistency_of_rater` of one rater, empty where nothing is
    repeated for them. `weights` (items,) are the checklist weights in points of 100, `r2` that of their fit; empty
    where there are fewer ratings than items or no overall score. Means over `simulations` simulated studies.
    """

    assignments: int
    repeats: int
    per_rater: int
    seconds: float
    hours: float
    hours_per_rater: float
    cost: Decimal
    agreement: Mapping[str, Expected]
    consistency: tuple[Expected, ...]
    consistency_of_rater: tuple[Expected, ...]
    weights: tuple[Expected, ...]
    r2: tuple[Expected, ...]
    simulations: int
    draws: int
    seed: int


@dataclass(frozen=True)
class _PlannedRows:
    """One line a rating: instruction and response codes, answers (n, items), overall (n,)."""

    instruction: IntArray
    response: IntArray
    answers: FloatArray
    overall: FloatArray


def plan_study(
    study: PlannedStudy,
    assumptions: Assumptions | None = None,
    *,
    simulations: int = 20,
    draws: int = 200,
    seed: int = 0,
) -> Plan:
    """Simulate a planned study and return the results to expect. Raises Undefined (OutOfRange), NoStatistic."""
    assumed = assumptions or Assumptions()
    _check(study, assumed)
    first = study.tasks * study.overlap
    repeats = round(first * study.repeat_share)
    seconds = study.seconds
    hours = (first + repeats) * seconds / 3600
    times = max(1, min(simulations, ROWS_FOR_SIMULATION // first))
    rng = np.random.default_rng(seed)
    found: dict[str, list[FloatArray]] = {}
    kinds: dict[str, PlannedInterval] = {}
    for run in range(times):
        rows = _simulated_pairs(study, assumed, rng) if study.pairs else _simulate(study, assumed, rng)
        for name, (ends, kind) in _measured(rows, study, draws, seed + run).items():
            found.setdefault(name, []).append(ends)
            kinds[name] = kind
    expected = {name: _expected(np.mean(ends, axis=0), kinds[name]) for name, ends in found.items()}
    own_repeats = repeats // study.raters
    return Plan(
        assignments=first + repeats,
        repeats=repeats,
        per_rater=-(-(first + repeats) // study.raters),
        seconds=seconds,
        hours=hours,
        hours_per_rater=hours / study.raters,
        cost=(Decimal(str(hours)) * study.hourly_pay).quantize(Decimal("0.01"), ROUND_HALF_UP),
        agreement={name: expected[name] for name in ("alpha", "leave_one_out") if name in expected},
        consistency=_consistency(assumed.repeat_agreement, repeats),
        consistency_of_rater=_consistency(assumed.repeat_agreement, own_repeats),
        weights=tuple(expected[f"weight {i}"] for i in range(study.items) if f"weight {i}" in expected),
        r2=(expected["r2"],) if "r2" in expected else (),
        simulations=times,
        draws=draws,
        seed=seed,
    )


def _check(study: PlannedStudy, assumed: Assumptions) -> None:
    for name in ("instructions", "models", "raters", "overlap", "items", "reading_speed"):
        if not getattr(study, name) >= 1:
            raise out_of_range(f"The number for {name.replace('_', ' ')}", 1, float("inf"), getattr(study, name))
    for name in ("words_per_response", "words_per_instruction", "seconds_per_answer"):
        if not getattr(study, name) >= 0:
            raise out_of_range(f"The number for {name.replace('_', ' ')}", 0, float("inf"), getattr(study, name))
    for what, share in (
        ("The share of repeats", study.repeat_share),
        ("The agreement of two raters", assumed.agreement),
        ("The agreement of repeats", assumed.repeat_agreement),
        ("The mean quality", assumed.quality),
    ):
        if not 0 <= share <= 1:
            raise out_of_range(what, 0, 1, share)
    if study.pairs < 0 or (study.pairs and study.models < 2):
        raise NoStatistic("One model makes no pairs; plan at least two models.")
    if len(study.levels) < 2 or list(study.levels) != sorted(set(study.levels)):
        raise NoStatistic("A question needs at least two levels in ascending order.")
    if study.overlap > study.raters:
        raise NoStatistic(
            f"{study.overlap} raters of each response are planned but only {study.raters} raters; "
            "plan more raters or less overlap."
        )
    if assumed.weights and (len(assumed.weights) != study.items or min(assumed.weights) <= 0):
        raise NoStatistic(
            f"{len(assumed.weights)} weights for {study.items} checklist items; give one above 0 for each."
        )


def _simulate(study: PlannedStudy, assumed: Assumptions, rng: np.random.Generator) -> _PlannedRows:
    """One study's first ratings. Raters differ only by chance, so that a response's raters may be simulated alone."""
    instruction = np.repeat(np.arange(study.instructions), study.models)
    model = np.tile(np.arange(study.models), study.instructions)
    level = (
        assumed.quality
        + rng.normal(scale=assumed.instruction_sd, size=study.instructions)[instruction]
        + rng.normal(scale=assumed.model_sd, size=study.models)[model]
        + rng.normal(scale=assumed.response_sd, size=instruction.size)
    )
    own = rng.normal(scale=assumed.item_sd, size=(instruction.size, study.items))
    ratings: SimulatedRatings = simulate_checklist(
        np.clip(level[:, None] + own, 0.0, 1.0),
        np.array(assumed.weights or (1.0,) * study.items),
        loadings=np.full(study.overlap, np.sqrt(assumed.agreement)),
        overall_mse=assumed.overall_mse,
        levels=np.array(study.levels),
        rng=rng,
    )
    answers = ratings.answers.reshape(-1, study.items)
    return _PlannedRows(
        instruction=np.tile(instruction, study.overlap),
        response=np.tile(np.arange(instruction.size), study.overlap),
        answers=answers,
        overall=ratings.overall.reshape(-1) if study.overall else _places(answers[:, 0], study),
    )


def _places(answers: FloatArray, study: PlannedStudy) -> FloatArray:
    """The places, from 0, of the answers among the levels."""
    return np.searchsorted(np.array(study.levels), answers).astype(np.float64)


def _simulated_pairs(study: PlannedStudy, assumed: Assumptions, rng: np.random.Generator) -> _PlannedRows:
    """One study's first choices: each rater sees the difference of two responses' quality with an error of their own.

    What two raters see correlates as assumed. The levels divide what is seen into equally frequent choices.
    """
    first, second = (np.resize(side, study.pairs) for side in np.triu_indices(study.models, 1))
    model = rng.normal(scale=assumed.model_sd, size=study.models)
    size = study.instructions, study.models
    quality = model + rng.normal(scale=assumed.response_sd, size=size)
    apart = (quality[:, first] - quality[:, second]).reshape(-1)
    shared = min(max(assumed.agreement, 0.05), 1.0)
    error = float(np.std(apart)) * np.sqrt((1 - shared) / shared)
    seen = apart + rng.normal(scale=error or 1e-12, size=(study.overlap, apart.size))
    cuts = np.quantile(seen, np.linspace(0, 1, len(study.levels) + 1)[1:-1])
    choice = np.searchsorted(cuts, seen).astype(np.float64).reshape(-1)
    instruction = np.repeat(np.arange(study.instructions), first.size)
    return _PlannedRows(
        instruction=np.tile(instruction, study.overlap),
        response=np.tile(np.arange(apart.size), study.overlap),
        answers=choice[:, None],
        overall=choice,
    )


def _measured(
    rows: _PlannedRows, study: PlannedStudy, draws: int, seed: int
) -> dict[str, tuple[FloatArray, PlannedInterval]]:
    """Return value, low and high of every quantity that this study defines, with the kind of its ends."""
    found: dict[str, tuple[FloatArray, PlannedInterval]] = {}
    if np.ptp(rows.overall) == 0:
        return found
    if study.overlap >= 2:
        alpha = krippendorff_alpha(
            rows.response,
            rows.overall,
            metric="nominal" if study.pairs else "interval",
            draws=draws,
            seed=seed,
            clusters=rows.instruction,
        )
        found["alpha"] = np.array([alpha.value, alpha.low, alpha.high]), alpha.interval_kind
        inner = leave_one_out(
            rows.response, rows.overall.astype(np.int64), draws=draws, seed=seed, clusters=rows.instruction
        )
        found["leave_one_out"] = np.array([inner.rate, inner.low, inner.high]), inner.interval_kind
    if study.overall and not study.pairs and len(rows.overall) >= study.items:
        fit = fit_weights(rows.answers, rows.overall)
        sums = cluster_sums(rows.answers, rows.overall, rows.instruction, study.instructions)
        ends = weight_intervals(sums, DEFAULT_FLOOR, draws=draws, seed=seed)
        for i in range(study.items):
            place = np.array([fit.weights[i], ends.weights_low[i], ends.weights_high[i]])
            found[f"weight {i}"] = place, ends.interval_kind
        found["r2"] = np.array([fit.r2, ends.r2_low, ends.r2_high]), ends.interval_kind
    return found


def _consistency(share: float, repeats: int) -> tuple[Expected, ...]:
    """Compute Wilson's interval at the whole number of equal answers that is nearest to the share."""
    if repeats < 1:
        return ()
    found = plain_proportion(round(share * repeats), repeats)
    return (_expected(np.array([found.value, found.low, found.high]), "wilson95"),)


def _expected(ends: FloatArray, kind: PlannedInterval) -> Expected:
    value, low, high = (float(end) for end in ends)
    return Expected(value, low, high, high - low, kind)
