"""WB-Reward over the length margin K: the scores of a board of rewards at several margins at once."""

from collections.abc import Mapping, Sequence

import numpy as np

from calibration.data.frames import Ints
from judging.leaderboards.observations import LARGEST_GRADE, characters_of
from judging.leaderboards.table import Leaderboard
from judging.scores.benchmark_scores import wildbench_rewards
from judging.scores.points import model_scores

MARGINS: tuple[int | None, ...] = (0, 100, 300, 500, 1000, 1500, 2000, 3000, None)
"""Those of the authors' script (leaderboard/data_dir/_merge_results.py in allenai/WildBench), and 0; None is no margin."""


def rewards_by_margin(
    board: Leaderboard, margins: Sequence[int | None] = MARGINS
) -> Mapping[str, tuple[float | None, ...]]:
    """Return each model's overall reward at each margin, over the same comparisons as the board.

    WildBench (arXiv 2406.04770), 3.2: a slight win is a tie if the winner is longer by more than K characters.
    """
    frame = board.frame
    scores = frame.select(frame.applicable & (frame.model > 0) & (frame.model_b > 0) & (frame.model != frame.model_b))
    grade = np.rint(np.clip(scores.value, -LARGEST_GRADE, LARGEST_GRADE)).astype(np.int64)
    ours, theirs = characters_of(scores)
    pairs, place = np.unique(_codes(scores.response, scores.response_b), return_inverse=True)
    counts = np.bincount(place)
    seen = board.observations
    there, forward = _find(pairs, _codes(seen.response, seen.rival))
    back, backward = _find(pairs, _codes(seen.rival, seen.response))
    averages: dict[str, list[float | None]] = {row.model: [] for row in board.models}
    for margin in margins:
        of_a = np.bincount(place, weights=wildbench_rewards(grade, ours, theirs, margin=margin)) / counts
        # A baseline's tie with itself is in no pair, and stays 0.
        top = np.where(there, of_a[forward], np.where(back, -of_a[backward], 0.0))
        rows = model_scores(
            model=seen.model,
            category=board.column,
            points=top,
            under=seen.under,
            unscored={},
            model_names=board.model_names,
            category_keys=board.categories,
            rule=board.rule,
        )
        found = {row.model: row.average for row in rows}
        for name, values in averages.items():
            values.append(found.get(name))
    return {name: tuple(values) for name, values in averages.items()}


def _codes(first: Ints, second: Ints) -> Ints:
    """One number for each pair of primary keys, which are under 2^31."""
    return (first << 32) | second


def _find(known: Ints, wanted: Ints) -> tuple[Ints, Ints]:
    """Whether each wanted number is known, and where (0 if it is not)."""
    spot = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    there = known[spot] == wanted
    return there, np.where(there, spot, 0)
