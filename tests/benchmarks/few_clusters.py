"""From how many clusters on may 95 % be said? Coverage of every kind of clustered interval at 5 to 50 clusters.

Under 20 clusters the product states no 95 % but the range over leaving one cluster out. Here the 95 % interval is made
all the same, to see what it would be worth; behind it, in brackets, stands how often that range holds the truth. Of
boards, the clusters are the instructions of each of three categories. The last line is JSON: coverage in percent by
quantity, in the order of the numbers of clusters.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

import coverage as wide

from calibration.statistics import resampling
from calibration.statistics.agreement import proportions
from calibration.statistics.judges import prediction_powered
from calibration.statistics.judges.prediction_powered import prediction_powered_mean
from calibration.statistics.ranking import comparisons as games, scores as score_ranking
from calibration.statistics.ranking.bradley_terry import bradley_terry_intervals
from calibration.statistics.ranking.comparisons import pair_tables
from calibration.statistics.raters import repeats
from calibration.statistics.raters.repeats import consistency
from calibration.statistics.weights.fit import weight_intervals
from judging.scores import leads, paired_difference
from judging.scores.points import HELLOBENCH

CLUSTERS = (5, 7, 10, 20, 50)
SHARES_ALIKE = (0.6, 0.8, 0.95)


@contextmanager
def stating_from(clusters: int) -> Iterator[None]:
    """95 % intervals from so many clusters on."""
    modules = (games, leads, paired_difference, prediction_powered, proportions, repeats, resampling, score_ranking)
    functions = (resampling.cluster_intervals, pair_tables, bradley_terry_intervals, weight_intervals)
    usual = resampling.MIN_CLUSTERS

    def state(least: int) -> None:
        for module in modules:
            module.MIN_CLUSTERS = least
        for function in functions:
            function.__kwdefaults__["min_clusters"] = least

    state(clusters)
    try:
        yield
    finally:
        state(usual)


def powered_design(instructions: int):
    labels = np.repeat(np.arange(instructions + 400), wide.TASKS_EACH)

    def draw(rng, _resamples, _clustered):
        level = rng.normal(scale=0.8, size=instructions + 400)
        scores = wide.model_scores(rng, 3.4, level, labels, instructions * wide.TASKS_EACH)
        found = prediction_powered_mean(scores)
        return {
            "prediction-powered mean": wide.held(found.powered.low, found.powered.high, 3.4),
            "people's mean alone": wide.held(found.human_only.low, found.human_only.high, 3.4),
        }

    return draw


def repeats_design(units: int, questions: int):
    """One rater asked `units` tasks twice, `questions` each, whose answers are as unlike as the task is hard."""
    name = "repeat consistency" if questions == 1 else f"repeat consistency, {questions} questions a task"
    unit = np.repeat(np.arange(units), questions)
    lines = np.tile(np.arange(unit.size), 2)
    order = np.repeat([0, 1], unit.size)

    def draw(rng, resamples, _clustered):
        inside = []
        for share in SHARES_ALIKE:
            chance = np.full(units, share) if questions == 1 else rng.beta(4 * share, 4 * (1 - share), units)
            again = rng.uniform(size=unit.size) < chance[unit]
            found = consistency(
                np.concatenate([np.zeros(unit.size, dtype=int), (~again).astype(int)]),
                units=lines,
                raters=np.zeros(lines.size, dtype=int),
                order=order,
                clusters=unit[lines],
                draws=resamples,
                seed=wide.seed_of(rng),
            ).overall
            inside.append(wide.held(found.low, found.high, (1 + share) / 2))
        return {name: np.concatenate(inside)}

    return draw


DESIGNS = (
    lambda k: wide.weights_design(k, wide.WEIGHTS, ("weights", "R2 of the weights")),
    wide.agreement_design,
    wide.pearson_design,
    wide.bradley_terry_design,
    powered_design,
    wide.means_design,
    lambda k: wide.leads_design(k, "one ahead"),
    lambda k: wide.corrected_design(k, HELLOBENCH, "corrected score"),
    wide.boundary_design,
    lambda k: repeats_design(k, 1),
    lambda k: repeats_design(k, 4),
)


def measured(draw, draws: int, resamples: int) -> Mapping[str, float]:
    """Percent of the intervals that held, by quantity; those without ends are left out."""
    hits: dict[str, list[float]] = {}
    for number in range(draws):
        for name, inside in draw(np.random.default_rng([wide.SEED, number]), resamples, True).items():
            if inside.size:
                hits.setdefault(name, []).append(float(inside.mean()))
    return {name: round(100 * sum(held) / len(held), 1) for name, held in hits.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=2000, help="data sets a number of clusters")
    parser.add_argument("--resamples", type=int, default=1000, help="bootstrap samples an interval")
    parser.add_argument("--clusters", type=int, nargs="+", default=CLUSTERS)
    parser.add_argument("--only", type=int, nargs="+", help="only designs of these places, from 0")
    arguments = parser.parse_args()
    found: dict[str, list[float]] = {}
    for place in range(len(DESIGNS)) if arguments.only is None else arguments.only:
        lines: dict[str, list[str]] = {}
        for clusters in arguments.clusters:
            draw = DESIGNS[place](clusters)
            with stating_from(2):
                forced = measured(draw, arguments.draws, arguments.resamples)
            shown = measured(draw, arguments.draws // 4, arguments.resamples) if clusters < 20 else {}
            for name, share in forced.items():
                found.setdefault(name, []).append(share)
                lines.setdefault(name, []).append(
                    f"{share:.1f} ({shown[name]:.0f})" if name in shown else f"{share:.1f}"
                )
        for name, cells in lines.items():
            print(f"{name:44}" + "".join(f"{cell:>12}" for cell in cells), flush=True)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
