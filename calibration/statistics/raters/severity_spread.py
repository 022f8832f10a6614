"""Do raters differ in severity: a test and an interval for the standard deviation between them. PURE.

score = item + severity of the rater + error, items fixed. Least squares gives every rater's severity; their errors come from
whole instructions, so that answers to one instruction may resemble each other.
"""

from dataclasses import dataclass

import numpy as np

from calibration.statistics.agreement.rating_tables import sum_by
from calibration.statistics.errors import NoStatistic, TooFewRatings, Undefined
from calibration.statistics.resampling import MIN_CLUSTERS, FloatArray, Labels, cluster_codes

LEAST_RATERS = 3
POWER = 0.8
LEVEL = 0.05


@dataclass(frozen=True)
class SeveritySpread:
    """The standard deviation of severity between raters, in points, with the ends of its 95 % interval.

    `p` is that of the F test of no difference. A difference is `shown` where the interval does not reach 0. `needed` is the
    number of instructions that would show a standard deviation of `worth` points in 80 % of studies with as many raters.
    """

    sd: float
    low: float
    high: float
    p: float
    shown: bool
    worth: float
    needed: int
    raters: int
    instructions: int


def severity_spread(
    scores: FloatArray, *, items: Labels, raters: Labels, clusters: Labels, worth: float
) -> SeveritySpread:
    """Test and interval from one line per score (n,) of one criterion; clusters are instructions.

    F = S^2/e with S^2 the variance of raters' estimated severities and e the mean variance of their errors, the larger one
    of that over instructions and the classical one. The ends invert F with R - 1 and I - 1 degrees of freedom (Williams and
    Tukey's interval of a component of variance; Burdick and Graybill 1992); for the upper end F is at least 1, because a
    smaller one is chance. Raises TooFewRatings under three raters who share items or 20 instructions, Undefined
    (NobodyToCompare) where some raters share no item with the others, even through a third.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components
    from scipy.special import fdtr, fdtri

    y = np.asarray(scores, dtype=np.float64)
    item, m = cluster_codes(items)
    shared = np.bincount(item, minlength=m)[item] > 1
    if not shared.any():
        raise Undefined("NobodyToCompare", "No two raters rated the same item, so there is nobody to compare with.")
    y = y[shared]
    item, m = cluster_codes(item[shared])
    rater, people = cluster_codes(cluster_codes(raters)[0][shared])
    cluster, k = cluster_codes(cluster_codes(clusters)[0][shared])
    if people < LEAST_RATERS:
        raise TooFewRatings(people, LEAST_RATERS, "raters who share items")
    if k < MIN_CLUSTERS:
        raise TooFewRatings(k, MIN_CLUSTERS, "instructions")
    given = np.bincount(item, minlength=m).astype(np.float64)
    here = csr_array((np.ones(len(y)), (item, rater)), shape=(m, people))
    shares = csr_array((1 / given[item], (item, rater)), shape=(m, people))
    crossed = csr_array(here.T @ shares)
    if connected_components(crossed, directed=False)[0] > 1:
        raise Undefined(
            "NobodyToCompare", "Some raters share no item with the others, so there is nobody to compare with."
        )
    laplacian = np.diag(np.bincount(rater, minlength=people).astype(np.float64)) - crossed.toarray()
    inverse = _Pseudoinverse(laplacian)
    centred = y - (sum_by(item, m, y) / given)[item]
    effects = inverse.times(sum_by(rater, people, centred)[:, None])[:, 0]
    left = centred - (effects[rater] - (np.asarray(here @ effects) / given)[item])
    # A rater's answers to one instruction may share an error, so that these cells, not the scores, are what is left;
    # the square is what leaving out instructions would give where raters have few of them.
    cells = len(np.unique(cluster * people + rater))
    freedom, of_cells = len(y) - m - people + 1, cells - k - people + 1
    if min(freedom, of_cells) < 1 or float(np.abs(left).max()) < 1e-12:
        raise NoStatistic("Raters' scores leave no error by which to judge their differences.")
    by_cell = np.bincount(cluster * people + rater, weights=left, minlength=k * people).reshape(k, people)
    turned = inverse.times(by_cell.T.astype(np.float64))
    robust = float((turned**2).sum()) * k / (k - 1) * max((len(y) - m) / freedom, (cells - k) / of_cells) ** 2
    classical = float((left**2).sum()) / freedom * inverse.trace()
    error = max(robust, classical) / (people - 1)
    between = float(((effects - effects.mean()) ** 2).sum()) / (people - 1)
    first, second = people - 1, min(k - 1, freedom, of_cells)
    ratio = between / error
    most, least = float(fdtri(first, second, 0.975)), float(fdtri(first, second, 0.025))
    low, high = max(0.0, error * (ratio / most - 1)), max(0.0, error * (max(ratio, 1.0) / least - 1))
    wanted = most / float(fdtri(first, second, 1 - POWER)) - 1
    return SeveritySpread(
        sd=float(np.sqrt(max(0.0, between - error))),
        low=float(np.sqrt(low)),
        high=float(np.sqrt(high)),
        p=float(1 - fdtr(first, second, ratio)),
        shown=low > 0,
        worth=worth,
        needed=int(np.ceil(k * error * wanted / worth**2)),
        raters=people,
        instructions=k,
    )


class _Pseudoinverse:
    """Of the Laplacian (n, n) of raters who are all connected: only a severity common to all of them has eigenvalue 0.

    With 1/n added everywhere it has the Cholesky factor kept here, and its inverse less 1/n everywhere is the pseudoinverse.
    """

    def __init__(self, laplacian: FloatArray) -> None:
        from scipy.linalg.lapack import dpotrf

        self._people = len(laplacian)
        self._factor, failed = dpotrf(laplacian + 1 / self._people, lower=1)
        if failed:
            raise NoStatistic("Raters share too few items to tell their severities apart.")

    def times(self, columns: FloatArray) -> FloatArray:
        """The pseudoinverse times columns (n, q)."""
        from scipy.linalg.lapack import dpotrs

        found, _ = dpotrs(self._factor, columns, lower=1)
        return np.asarray(found - columns.sum(axis=0) / self._people, dtype=np.float64)

    def trace(self) -> float:
        from scipy.linalg.lapack import dtrtri

        inverse, _ = dtrtri(self._factor, lower=1)
        return float((np.tril(inverse) ** 2).sum()) - 1
