"""How fast rankings and agreement are at LLMEval-1's size: 243,337 ratings, 29,898 pairs, 12 models, 453 questions.

Simulated data, seeded. The last line is JSON: bt_boot_s (Bradley-Terry with 1,000 bootstraps over questions,
counting included), bt_vs_evalica (how many fits it makes in the time of one of evalica's), alpha_boot_s (ordinal alpha
with 1,000 bootstraps over questions), loo_ms (inner leave-one-out), elo_orders_s (Elo in 200 orders), peak_mb of this
process, and report_s, all reports of a study and of its pairs from a warm database, made in processes of their own, also as
a multiple of the time in which their scores are read once (see whole_report.py; --no-report leaves it out).

--ratings N ... measures instead how time and memory grow: for each N, in a process of its own, N ratings and N pairs in
arrays, nine ratings a unit as in LLMEval-1 and questions in proportion, through leave-one-out, ordinal alpha with
bootstraps, mean scores and Bradley-Terry with theirs. The last line is JSON: a row of seconds and peak_mb for each N, and
`growth`, the exponent of N with which their sum grows from the first to the last (1 is linear).
"""

import argparse
import json
import math
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from calibration.statistics.agreement.alpha import krippendorff_alpha
from calibration.statistics.agreement.leave_one_out import leave_one_out
from calibration.statistics.ranking.pairs import Games, as_games, bradley_terry, bradley_terry_intervals, elo_orders
from calibration.statistics.ranking.scores import mean_scores

RATINGS, PAIRS, MODELS, QUESTIONS, CRITERIA, LEVELS = 243_337, 29_898, 12, 453, 5, 5
SEED = 2312
BOOTSTRAPS = 1000
ORDERS = 200
GROWTH_DRAWS = 100
RATINGS_A_UNIT = 9


def simulated_pairs(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """First and second model, the first's points and the question of each pair."""
    first = rng.integers(0, MODELS, PAIRS)
    second = (first + rng.integers(1, MODELS, PAIRS)) % MODELS
    ahead = np.linspace(1, -1, MODELS)[first] - np.linspace(1, -1, MODELS)[second]
    won = rng.random(PAIRS) < 1 / (1 + np.exp(-ahead))
    score = np.where(rng.random(PAIRS) < 0.4, 0.5, won)
    return first, second, score, rng.integers(0, QUESTIONS, PAIRS)


def simulated_stars(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Unit (a response and a criterion), stars and question of each rating."""
    units = rng.integers(0, QUESTIONS * MODELS * CRITERIA, RATINGS)
    quality = rng.normal(3, 0.8, QUESTIONS * MODELS * CRITERIA)
    stars = np.clip(np.rint(quality[units] + rng.normal(0, 0.9, RATINGS)), 1, LEVELS)
    return units, stars, units // (MODELS * CRITERIA)


def seconds(work: Callable[[], object], repeats: int = 5) -> float:
    """Median over repeats, after one run that loads what is loaded once."""
    work()
    taken = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def evalica_seconds(games: Games) -> float:
    """One fit of evalica on one resample; stops where the two fits differ by 1e-7 on the games themselves."""
    import evalica

    winner = {1.0: evalica.Winner.X, 0.5: evalica.Winner.Draw, 0.0: evalica.Winner.Y}
    winners = [winner[points] for points in games.score.tolist()]
    first, second = games.first.tolist(), games.second.tolist()
    exact = evalica.bradley_terry(first, second, winners, tolerance=1e-12, limit=10_000)
    apart = np.abs(np.log(exact.scores.sort_index().to_numpy()) - bradley_terry(games).strength).max()
    if apart > 1e-7:
        raise SystemExit(f"Strengths differ from evalica's by {apart:.1e}.")
    print(f"strengths equal evalica's to {apart:.1e}")
    drawn = np.random.default_rng(SEED).integers(0, len(games), len(games)).tolist()
    lines = [first[i] for i in drawn], [second[i] for i in drawn], [winners[i] for i in drawn]
    return seconds(lambda: evalica.bradley_terry(*lines, index=exact.index))


def timed(work: Callable[[], object]) -> float:
    """Processor seconds of doing it once."""
    began = time.process_time()
    work()
    return round(time.process_time() - began, 3)


def grown_scores(ratings: int, rng: np.random.Generator) -> dict[str, float]:
    units = max(1, ratings // RATINGS_A_UNIT)
    unit = rng.integers(0, units, ratings)
    question = unit // (MODELS * CRITERIA)
    stars = np.clip(np.rint(rng.normal(3, 0.8, units)[unit] + rng.normal(0, 0.9, ratings)), 1, LEVELS)
    shared = {"draws": GROWTH_DRAWS, "clusters": question}
    return {
        "leave_one_out_s": timed(lambda: leave_one_out(unit, stars.astype(np.int64), **shared)),
        "alpha_s": timed(lambda: krippendorff_alpha(unit, stars, metric="ordinal", **shared)),
        "mean_scores_s": timed(lambda: mean_scores(stars, unit % MODELS, **shared)),
    }


def grown_pairs(pairs: int, rng: np.random.Generator) -> dict[str, float]:
    question = rng.integers(0, max(1, pairs // (RATINGS_A_UNIT * MODELS * CRITERIA)), pairs)
    first = rng.integers(0, MODELS, pairs)
    second = (first + rng.integers(1, MODELS, pairs)) % MODELS
    ahead = np.linspace(1, -1, MODELS)
    won = rng.random(pairs) < 1 / (1 + np.exp(ahead[second] - ahead[first]))
    score = np.where(rng.random(pairs) < 0.4, 0.5, won)

    def ranked() -> object:
        return bradley_terry_intervals(as_games(first, second, score, clusters=question), draws=GROWTH_DRAWS)

    return {"bradley_terry_s": timed(ranked)}


def grown(ratings: int) -> dict[str, float]:
    """Processor seconds of each step on `ratings` ratings and as many pairs, and this process's peak memory."""
    rng = np.random.default_rng(SEED)
    taken = {**grown_scores(ratings, rng), **grown_pairs(ratings, rng)}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"ratings": ratings, **taken, "peak_mb": round(peak, 1)}


def growth(sizes: list[int]) -> dict[str, object]:
    rows = []
    for size in sizes:
        found = subprocess.run(
            [sys.executable, __file__, "--at", str(size)], check=True, stdout=subprocess.PIPE, text=True
        )
        rows.append(json.loads(found.stdout.splitlines()[-1]))
        print(json.dumps(rows[-1]), flush=True)
    sums = [sum(value for name, value in row.items() if name.endswith("_s")) for row in rows]
    exponent = math.log(sums[-1] / sums[0]) / math.log(sizes[-1] / sizes[0]) if len(sizes) > 1 else 1.0
    return {"rows": rows, "growth": round(exponent, 3)}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--no-report", action="store_true", help="Leave out the reports, a minute to set up.")
    parser.add_argument("--ratings", type=int, nargs="+", help="Measure growth at these sizes instead.")
    parser.add_argument("--at", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.at or options.ratings:
        print(json.dumps(grown(options.at) if options.at else growth(options.ratings)))
        return
    rng = np.random.default_rng(SEED)
    pairs = simulated_pairs(rng)
    units, stars, question = simulated_stars(rng)
    games = as_games(*pairs[:3], clusters=pairs[3])

    def fit() -> object:
        return bradley_terry_intervals(as_games(*pairs[:3], clusters=pairs[3]), draws=BOOTSTRAPS)

    bt_boot = seconds(fit)
    found = {
        "bt_boot_s": round(bt_boot, 4),
        "bt_vs_evalica": round(evalica_seconds(games) * BOOTSTRAPS / bt_boot, 1),
        "alpha_boot_s": round(
            seconds(lambda: krippendorff_alpha(units, stars, metric="ordinal", draws=BOOTSTRAPS, clusters=question)), 3
        ),
        "loo_ms": round(1000 * seconds(lambda: leave_one_out(units, stars.astype(np.int64))), 2),
        "elo_orders_s": round(seconds(lambda: elo_orders(games, orders=ORDERS)), 3),
    }
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if not options.no_report:
        from whole_report import run_apart

        report = run_apart()
        print(json.dumps({"report": report}))
        found |= {"report_s": report["report_s"], "report_vs_floor": report["report_vs_floor"]}
        peak = max(peak, float(str(report["peak_mb"])))
    found["peak_mb"] = round(peak, 1)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
