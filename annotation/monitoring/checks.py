"""When failed quality checks say something about a rater: the one rule of the dashboard, the rater page and payment."""

from math import comb

FEWEST_CHECKS = 5
"""Nothing is said from fewer checks, whatever their outcome."""
ACCEPTED_SHARE = 0.2
"""The share of failed checks that a careful rater may have."""
RARE = 0.025


def fails_checks(failed: int, answered: int) -> bool:
    """Whether so many failed checks are no accident of a rater who fails a fifth of them.

    At least FEWEST_CHECKS were answered, and a rater who fails each with probability ACCEPTED_SHARE fails as many in
    under 2.5 of 100 cases (the exact binomial tail).
    """
    if answered < FEWEST_CHECKS:
        return False
    chances = (
        comb(answered, k) * ACCEPTED_SHARE**k * (1 - ACCEPTED_SHARE) ** (answered - k)
        for k in range(failed, answered + 1)
    )
    return sum(chances) < RARE
