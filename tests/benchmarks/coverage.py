"""Do the stated intervals hold the true value as often as they say? Simulated data, seeded.

Every line draws data sets whose rows come in clusters (instructions whose answers resemble each other), asks the
product for its intervals, and counts how often they hold the value that an endless data set would give. "rows" is what
the same intervals would cover if every row, or every task of an instruction, were taken as independent (on a tenth of
the data sets). The last line is JSON: promised (intervals), kept (of them), min and max coverage in percent.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from calibration.agreement import krippendorff_alpha, leave_one_out, outer_leave_one_out
from calibration.comparison import correlate
from calibration.least_squares import cluster_sums
from calibration.prediction_powered import (
    ModelScores,
    prediction_powered_difference,
    prediction_powered_mean,
)
from calibration.proportions import clustered_proportion, plain_proportion
from calibration.ranking import as_games, bradley_terry, bradley_terry_intervals
from calibration.weights import weight_intervals
from judging.scoring import average_intervals

SEED = 2409
EXACT = (0.93, 0.97)
AT_LEAST = (0.90, 1.0)

Held = dict[str, np.ndarray]
"""For each quantity, which of one data set's intervals held its true value."""


@dataclass(frozen=True)
class Design:
    """`draw(rng, resamples, clustered)` draws one data set and says which intervals held; `promises` by quantity."""

    text: str
    promises: dict[str, tuple[float, float]]
    draw: Callable[[np.random.Generator, int, bool], Held]
    rows_fail: bool = True


def held(low, high, truth) -> np.ndarray:
    return np.atleast_1d((np.asarray(low) <= truth) & (truth <= np.asarray(high)))


def seed_of(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))


# Weights: y = x w + what an instruction adds to all its overall scores + error; answers differ between responses.

WEIGHTS = np.array([1.2, 1.8, 2.4, 0.9, 1.5])
AT_FLOOR = np.array([0.5, 2.0, 0.5, 2.5, 2.0])
RESPONSES, RATERS = 4, 3


def annotations(rng, instructions, weights):
    """Answers (n, items), overall (n,), instruction (n,), with response effects shared by a response's raters."""
    shape = (instructions, RESPONSES, RATERS, len(weights))
    instruction = rng.uniform(-0.15, 0.15, size=(instructions, 1, 1, len(weights)))
    response = rng.uniform(-0.2, 0.2, size=(instructions, RESPONSES, 1, len(weights)))
    x = 0.5 + instruction + response + rng.uniform(-0.1, 0.1, size=shape)
    own = rng.normal(scale=0.5, size=(instructions, 1, 1)) + rng.normal(
        scale=0.4, size=(instructions, RESPONSES, 1)
    )
    y = x @ weights + own + rng.normal(scale=0.4, size=shape[:3])
    return x.reshape(-1, len(weights)), y.ravel(), np.repeat(np.arange(instructions), RESPONSES * RATERS)


def true_r2(weights) -> float:
    """Variances of the parts: answers (.3^2 + .4^2 + .2^2)/12 each, instruction .25, response .16, error .16."""
    explained = float(weights @ weights) * (0.3**2 + 0.4**2 + 0.2**2) / 12
    return explained / (explained + 0.25 + 0.16 + 0.16)


def weights_design(instructions: int, weights, names: tuple[str, str]):
    truth, r2 = 100 * weights / weights.sum(), true_r2(weights)

    def draw(rng, resamples, clustered):
        x, y, instruction = annotations(rng, instructions, weights)
        codes = instruction if clustered else np.arange(y.size)
        sums = cluster_sums(x, y, codes, int(codes.max()) + 1)
        found = weight_intervals(sums, 0.5, draws=resamples, seed=seed_of(rng))
        on_weights = held(found.weights_low, found.weights_high, truth)
        return {names[0]: on_weights, names[1]: held(found.r2_low, found.r2_high, r2)}

    return draw


# Agreement: five levels cut from a response's quality, in which an instruction's responses resemble each other.

TASKS_EACH = 3


def ratings(rng, instructions):
    """Labels 0..4: people (tasks, 3), judge (tasks,), and the instruction of each task."""
    level = np.repeat(rng.normal(scale=0.9, size=instructions), TASKS_EACH)
    # How clear an instruction's quality is to anyone is its own as well: agreement itself comes in clusters.
    noise = np.repeat(rng.choice([0.3, 1.3], size=instructions), TASKS_EACH)
    quality = level + rng.normal(scale=0.4, size=level.size)
    seen = quality[:, None] + noise[:, None] * rng.normal(size=(level.size, 4))
    labels = np.digitize(seen, [-1.2, -0.4, 0.4, 1.2])
    return labels[:, :3], labels[:, 3], np.repeat(np.arange(instructions), TASKS_EACH)


METRICS = ("nominal", "ordinal", "interval")


def agreement_values(people, judge, clusters, resamples, seed):
    tasks = np.repeat(np.arange(len(people)), 3)
    lines = np.repeat(clusters, 3)
    settings = {"draws": resamples, "seed": seed, "clusters": lines}
    found = {
        f"alpha, {metric}": krippendorff_alpha(tasks, people.ravel().astype(float), metric=metric, **settings)
        for metric in METRICS
    }
    found["leave-one-out, inner"] = leave_one_out(tasks, people.ravel(), **settings)
    found["leave-one-out, outer"] = outer_leave_one_out(tasks, people.ravel(), judge, **settings)
    return found


def agreement_design(instructions: int):
    people, judge, of_task = ratings(np.random.default_rng(SEED), 200_000)
    endless = agreement_values(people, judge, of_task, 0, 0)
    truth = {name: getattr(one, "value", getattr(one, "rate", None)) for name, one in endless.items()}

    def draw(rng, resamples, clustered):
        people, judge, of_task = ratings(rng, instructions)
        clusters = of_task if clustered else np.arange(len(people))
        found = agreement_values(people, judge, clusters, resamples, seed_of(rng))
        return {name: held(one.low, one.high, truth[name]) for name, one in found.items()}

    return draw


# Judge against people: mean human score and judge score of responses, both partly the instruction's.


def scored_responses(rng, instructions):
    shared = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], size=instructions)
    own = rng.multivariate_normal([0, 0], [[0.5, 0.15], [0.15, 0.5]], size=(instructions, TASKS_EACH))
    both = (shared[:, None, :] + own).reshape(-1, 2)
    return both[:, 0], both[:, 1], np.repeat(np.arange(instructions), TASKS_EACH)


def pearson_design(instructions: int):
    truth = (0.8 + 0.15) / 1.5

    def draw(rng, resamples, clustered):
        people, judge, of_task = scored_responses(rng, instructions)
        clusters = of_task if clustered else None
        found = correlate(judge, people, clusters=clusters, draws=resamples, seed=seed_of(rng)).pearson
        return {"Pearson of judge and people": held(found.low, found.high, truth)}

    return draw


# Pairs: models' strengths differ from instruction to instruction, and each pair meets several raters on it.

STRENGTHS = np.array([0.9, 0.5, 0.4, -0.3, -1.5])
PAIR_RATERS = 3


def preferences(rng, instructions):
    first, second = np.triu_indices(len(STRENGTHS), 1)
    own = STRENGTHS + rng.normal(scale=1.0, size=(instructions, len(STRENGTHS)))
    chance = 1 / (1 + np.exp(own[:, second] - own[:, first]))
    uniform = rng.uniform(size=(*chance.shape, PAIR_RATERS))
    score = np.where(uniform < 0.15, 0.5, rng.uniform(size=uniform.shape) < chance[..., None])
    shape = score.shape
    return (
        np.broadcast_to(first[None, :, None], shape).ravel(),
        np.broadcast_to(second[None, :, None], shape).ravel(),
        score.ravel().astype(float),
        np.broadcast_to(np.arange(instructions)[:, None, None], shape).ravel(),
    )


def bradley_terry_design(instructions: int):
    first, second, score, cluster = preferences(np.random.default_rng(SEED), 60_000)
    truth = bradley_terry(as_games(first, second, score, clusters=cluster)).strength
    ahead = truth[:, None] - truth[None, :]
    rank = 1 + (truth[None, :] > truth[:, None]).sum(axis=1)
    upper = np.triu_indices(len(STRENGTHS), 1)

    def draw(rng, resamples, clustered):
        first, second, score, cluster = preferences(rng, instructions)
        games = as_games(first, second, score, clusters=cluster if clustered else None)
        found = bradley_terry_intervals(games, draws=resamples, seed=seed_of(rng))
        return {
            "Bradley-Terry differences": held(
                found.difference_low[upper], found.difference_high[upper], ahead[upper]
            ),
            "rank intervals": held(found.rank_low, found.rank_high, rank),
        }

    return draw


# Prediction-powered means: 300 human scores of 100 instructions, 9,999 further judge scores of 3,333.


def model_scores(rng, mean, level, labels, people):
    truth = mean + level[labels] + rng.normal(scale=0.5, size=labels.size)
    judge = truth + 0.6 + rng.normal(scale=0.5, size=labels.size)
    return ModelScores(truth[:people], judge[:people], labels[:people], judge[people:], labels[people:])


def powered_design():
    labels = np.repeat(np.arange(100 + 3333), TASKS_EACH)

    def draw(rng, resamples, clustered):
        level = rng.normal(scale=0.8, size=100 + 3333)
        own = labels if clustered else np.arange(labels.size)
        levels = level if clustered else level[labels]
        one = model_scores(rng, 3.4, levels, own, 300)
        other_level = levels + (
            rng.normal(scale=0.4, size=100 + 3333) if clustered else rng.normal(scale=0.4, size=3433)[labels]
        )
        two = model_scores(rng, 3.1, other_level, own, 300)
        mean, difference = (
            prediction_powered_mean(one).powered,
            prediction_powered_difference(one, two).powered,
        )
        return {
            "prediction-powered mean": held(mean.low, mean.high, 3.4),
            "prediction-powered difference": held(difference.low, difference.high, 0.3),
        }

    return draw


# Model mean scores: points 0..100 of two models in three categories, several judged answers an instruction.


def means_design(instructions: int):
    categories, models, answers = 3, 2, 4
    centres = np.array([[70.0, 75, 80], [60, 72, 78]])
    truth = (centres.mean(axis=1) - 75) * 4

    def draw(rng, resamples, clustered):
        shape = (models, categories, instructions, answers)
        model, category, instruction, _ = (axis.ravel() for axis in np.indices(shape))
        shared = rng.normal(scale=8, size=(1, categories, instructions, 1))
        own = rng.normal(scale=5, size=(models, categories, instructions, 1))
        points = centres[:, :, None, None] + shared + own + rng.normal(scale=4, size=shape)
        whole = category * instructions + instruction
        found = average_intervals(
            model=model,
            category=category,
            instruction=whole if clustered else np.arange(whole.size),
            points=points.ravel(),
            draws=resamples,
            seed=seed_of(rng),
        )
        ends = [found.averages[code] for code in range(models)]
        return {"model mean scores": held([one.low for one in ends], [one.high for one in ends], truth)}

    return draw


# Shares of one rater: repeats that agree, and an accuracy near 1 in clusters.


def repeats_design(repeats: int):
    ends = [plain_proportion(hits, repeats) for hits in range(repeats + 1)]

    def draw(rng, resamples, clustered):
        found = [ends[int(rng.binomial(repeats, p))] for p in (0.6, 0.8, 0.95)]
        truth = np.array([0.6, 0.8, 0.95])
        name = f"repeat agreement, {repeats} repeats"
        return {name: held([one.low for one in found], [one.high for one in found], truth)}

    return draw


def boundary_design(items: int):
    def draw(rng, resamples, clustered):
        chance = rng.beta(4 * 0.97, 4 * 0.03, size=items)
        hit = rng.uniform(size=(items, 5)) < chance[:, None]
        clusters = np.repeat(np.arange(items), 5) if clustered else np.arange(items * 5)
        found = clustered_proportion(hit.ravel(), clusters)
        return {"accuracy near 1": held(found.low, found.high, 0.97)}

    return draw


def designs() -> list[Design]:
    rows = f"{RESPONSES} responses x {RATERS} raters"
    lines = [
        Design(
            f"{k} instructions x {rows}, 5 items",
            {f"weights, {k} instructions": EXACT, f"R2, {k} instructions": EXACT},
            weights_design(k, WEIGHTS, (f"weights, {k} instructions", f"R2, {k} instructions")),
        )
        for k in (40, 100)
    ]
    lines.append(
        Design(
            f"60 instructions x {rows}, 2 of 5 true weights at the floor",
            {"weights at the floor": AT_LEAST, "R2 at the floor": AT_LEAST},
            weights_design(60, AT_FLOOR, ("weights at the floor", "R2 at the floor")),
        )
    )
    agreement = [f"alpha, {metric}" for metric in METRICS] + ["leave-one-out, inner", "leave-one-out, outer"]
    lines += [
        Design("80 instructions x 3 tasks x 3 raters", dict.fromkeys(agreement, EXACT), agreement_design(80)),
        Design("100 instructions x 3 responses", {"Pearson of judge and people": EXACT}, pearson_design(100)),
        Design(
            f"60 instructions x 10 pairs of 5 models x {PAIR_RATERS} raters",
            {"Bradley-Terry differences": EXACT, "rank intervals": AT_LEAST},
            bradley_terry_design(60),
        ),
        Design(
            "300 human scores of 100 instructions, 9,999 judge scores",
            {"prediction-powered mean": EXACT, "prediction-powered difference": EXACT},
            powered_design(),
        ),
        Design("3 categories x 40 instructions x 4 answers", {"model mean scores": EXACT}, means_design(40)),
        Design("40 items x 5 criteria, 97 % right", {"accuracy near 1": AT_LEAST}, boundary_design(40)),
    ]
    lines += [
        Design(
            f"{n} repeats, 60 to 95 % agree",
            {f"repeat agreement, {n} repeats": AT_LEAST},
            repeats_design(n),
            rows_fail=False,
        )
        for n in (10, 20, 30)
    ]
    return lines


def covered(design: Design, draws: int, resamples: int, seed: int, clustered: bool) -> dict[str, float]:
    """Share of intervals that held, by quantity, over `draws` data sets."""
    hits = dict.fromkeys(design.promises, 0.0)
    for number in range(draws):
        found = design.draw(np.random.default_rng([seed, number]), resamples, clustered)
        for name in hits:
            hits[name] += float(found[name].mean())
    return {name: count / draws for name, count in hits.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=2000, help="data sets a line (2,000 for a promise)")
    parser.add_argument("--resamples", type=int, default=1000, help="bootstrap samples an interval")
    parser.add_argument("--only", default="", help="only lines whose quantity holds this text")
    arguments = parser.parse_args()
    measured: list[tuple[float, bool]] = []
    for place, design in enumerate(designs()):
        if arguments.only and not any(arguments.only in name for name in design.promises):
            continue
        start = time.perf_counter()
        found = covered(design, arguments.draws, arguments.resamples, SEED + place, True)
        few = max(50, arguments.draws // 10)
        rows = covered(design, few, arguments.resamples, SEED + place, False) if design.rows_fail else {}
        seconds = time.perf_counter() - start
        for name, (least, most) in design.promises.items():
            coverage = found[name]
            kept = least <= coverage <= most
            measured.append((coverage, kept))
            promise = (
                f"{100 * least:.0f} to {100 * most:.0f} %" if most < 1 else f"at least {100 * least:.0f} %"
            )
            beside = f", rows {100 * rows[name]:.1f} %" if rows else ""
            verdict = "kept" if kept else "NOT KEPT"
            print(
                f"{name:32} {100 * coverage:5.1f} %  {promise:16} {verdict:8}  {design.text}{beside}",
                flush=True,
            )
        print(f"    {seconds:.0f} s", file=sys.stderr, flush=True)
    print(
        json.dumps(
            {
                "promised": len(measured),
                "kept": sum(kept for _, kept in measured),
                "min": round(100 * min(coverage for coverage, _ in measured), 2),
                "max": round(100 * max(coverage for coverage, _ in measured), 2),
            }
        )
    )


if __name__ == "__main__":
    main()
