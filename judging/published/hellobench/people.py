"""HelloBench's tables of annotators: 5, 6, 18 and 20 to 22."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from accounts.models import Workspace
from annotation.models import Rater, Score, Study
from calibration.data.frames import ABOUT_RESPONSES, ROLES, NothingToRead, ScoreFrame
from calibration.data.scores import label_frame, score_frame
from calibration.reports.people.reviewed_verdicts import reasonable_rates, review_scores
from calibration.statistics.agreement.rater_correlations import LEAST_IN_COMMON, rater_matrix
from calibration.statistics.errors import NoStatistic
from calibration.statistics.report_reasons import NeverReviewed
from calibration.statistics.resampling import FloatArray
from generation.models import Benchmark, Category
from judging.leaderboards.observations import observations_of
from judging.leaderboards.weighting import EQUAL, Weighting
from judging.published.columns import plain_name
from judging.published.hellobench.lookup import Absent, benchmark_of, names_here, printed_figures
from judging.published.hellobench.methods import study_of_people
from judging.published.hellobench.reasons import (
    BY_NAME,
    FEW_IN_COMMON,
    NO_ANSWERS,
    NO_PAIRS,
    NO_REVIEWS,
    ON_OVERALL_SCORES,
    OTHER_NUMBER,
    OVER_COMPARISONS,
    OVER_FINDINGS,
)
from judging.published.paper_table import Cell, compared
from judging.scores.metrics import METRICS, WINS

OVER_1000 = "over_1000_words"
"""The criterion by which annotators say whether the response to an instruction should exceed 1,000 words."""
PERCENT = 100.0
MATRIX_DIGITS, RATE_DIGITS, FINE_DIGITS = 2, 2, 4


@dataclass(frozen=True)
class Given:
    """What raters gave, arrays (n,): the item, the rater and the value; `names` are the raters' by primary key."""

    item: FloatArray
    rater: FloatArray
    value: FloatArray
    names: Mapping[int, str]

    @property
    def raters(self) -> list[int]:
        """Raters by name, which is how they are laid beside the paper's."""
        present = set(np.unique(self.rater).astype(int).tolist())
        return sorted(present, key=lambda pk: (self.names.get(pk, ""), pk))


def long_rates(workspace: Workspace) -> Sequence[Cell]:
    """Recompute table 5: the share of instructions of which each annotator expects over 1,000 words, in percent."""
    printed = printed_figures()["table_5"]["annotators"]
    found = _expected_length(workspace)
    given = found if isinstance(found, Absent) else _as_many(found, len(printed))
    cells = []
    for place, (name, rate) in enumerate(printed.items()):
        ours = None
        if isinstance(given, Given):
            ours = PERCENT * float(given.value[given.rater == given.raters[place]].mean())
        missing = given.reason if isinstance(given, Absent) else ""
        cells.append(compared(name, "rate", rate, ours, digits=RATE_DIGITS, missing=missing, reason=_by_name()))
    return cells


def long_matrix(workspace: Workspace) -> Sequence[Cell]:
    """Recompute table 6: the annotators' correlations on the same question."""
    return _matrix("table_6", _expected_length(workspace), FINE_DIGITS, _by_name())


def annotators(workspace: Workspace) -> Sequence[Cell]:
    """Recompute table 18: the annotators' correlations. On which scores is not printed; here, on overall scores."""
    benchmark = benchmark_of(workspace)
    study = benchmark if isinstance(benchmark, Absent) else study_of_people(benchmark)
    found: Given | Absent = study if isinstance(study, Absent) else _overall(study)
    reason = ON_OVERALL_SCORES()
    return _matrix("table_18", found, MATRIX_DIGITS, reason)


def reasonable(workspace: Workspace) -> Sequence[Cell]:
    """Recompute table 20: the share of each judge's verdicts that people called reasonable, in percent."""
    benchmark = benchmark_of(workspace)
    rates = {} if isinstance(benchmark, Absent) else _rates(benchmark)
    cells = []
    for name, printed in printed_figures()["table_20"]["judges"].items():
        ours = rates.get(plain_name(name).replace("-", ""))
        missing = benchmark.reason if isinstance(benchmark, Absent) else _without_reviews()
        value = PERCENT * ours.hits / ours.n if ours else None
        reason = OVER_FINDINGS(n=ours.n) if ours else ""
        judges = ours.judges if ours else ()
        cells.append(
            compared(name, "RR", printed, value, digits=RATE_DIGITS, missing=missing, reason=reason, judges=judges)
        )
    return cells


def reviewers(workspace: Workspace) -> Sequence[Cell]:
    """Recompute table 21: the correlations of those who reviewed verdicts."""
    benchmark = benchmark_of(workspace)
    found = benchmark if isinstance(benchmark, Absent) else _reviews(benchmark)
    return _matrix("table_21", found, MATRIX_DIGITS, _by_name())


def win_rates(workspace: Workspace) -> Sequence[Cell]:
    """Recompute table 22: each model's share of people's comparisons with the baseline that it won, ties half."""
    table = printed_figures()["table_22"]
    benchmark = benchmark_of(workspace)
    shares = benchmark if isinstance(benchmark, Absent) else _wins(benchmark, table["baseline"], table["win_rates"])
    cells = []
    for name, printed in table["win_rates"].items():
        ours = None if isinstance(shares, Absent) else shares.get(name)
        missing = shares.reason if isinstance(shares, Absent) else _without_pairs()
        value = PERCENT * ours[0] if ours else None
        reason = OVER_COMPARISONS(n=ours[1]) if ours else ""
        cells.append(compared(name, "win rate", printed, value, digits=RATE_DIGITS, missing=missing, reason=reason))
    return cells


def _matrix(key: str, given: Given | Absent, digits: int, reason: str) -> list[Cell]:
    """Compare a printed table of correlations with ours of as many raters, in order of name."""
    table = printed_figures()[key]
    names = table["raters"]
    found = given if isinstance(given, Absent) else _as_many(given, len(names))
    matrix: FloatArray | None = None
    defined = np.zeros((len(names), len(names)), dtype=np.bool_)
    missing = found.reason if isinstance(found, Absent) else FEW_IN_COMMON(needed=LEAST_IN_COMMON)
    if isinstance(found, Given):
        try:
            ours = rater_matrix(found.item.tolist(), found.rater.astype(int).tolist(), found.value)
        except NoStatistic:
            ours = None
        if ours is not None:
            order = [ours.raters.index(pk) for pk in found.raters]
            matrix, defined = ours.pearson[np.ix_(order, order)], ours.defined[np.ix_(order, order)]
    cells = []
    for a, row in enumerate(names):
        for b, column in enumerate(names):
            value = float(matrix[a, b]) if matrix is not None and defined[a, b] else None
            printed = table["matrix"][a][b]
            cells.append(compared(row, column, printed, value, digits=digits, missing=missing, reason=reason))
    return cells


def _as_many(given: Given, wanted: int) -> Given | Absent:
    n = len(given.raters)
    if n == wanted:
        return given
    return Absent(OTHER_NUMBER(n=n, wanted=wanted))


def _by_name() -> str:
    return BY_NAME()


def _without_reviews() -> str:
    return NO_REVIEWS()


def _without_pairs() -> str:
    return NO_PAIRS()


def _given(frame: ScoreFrame, key: str) -> Given:
    scores = frame.of_criterion(key)
    names = {pk: scores.rater_names.get(pk, "") for pk in np.unique(scores.rater).tolist()}
    share = (scores.value - scores.low) / (scores.high - scores.low)
    return Given(scores.response.astype(np.float64), scores.rater.astype(np.float64), share, names)


def _overall(study: Study) -> Given | Absent:
    frame = score_frame(kinds=ABOUT_RESPONSES, study=study, judges=False)
    return _given(frame, frame.keys_of_role("overall")[0])


def _expected_length(workspace: Workspace) -> Given | Absent:
    benchmark = benchmark_of(workspace)
    if isinstance(benchmark, Absent):
        return benchmark
    answered = Score.objects.filter(assignment__task__study__benchmark=benchmark, criterion__key=OVER_1000)
    for study in Study.objects.filter(pk__in=answered.values("assignment__task__study")).order_by("pk"):
        try:
            return _given(score_frame(kinds=ABOUT_RESPONSES, study=study, judges=False), OVER_1000)
        except NothingToRead:
            continue
    return Absent(NO_ANSWERS(key=OVER_1000))


def _reviews_on(benchmark: Benchmark) -> list[Study]:
    return list(Study.objects.filter(kind=Study.Kind.REVIEW, benchmark=benchmark).order_by("pk"))


@dataclass(frozen=True)
class Reviewed:
    """How many of `n` findings people called reasonable, and the names of the judges whose verdicts they are."""

    hits: float
    n: int
    judges: tuple[str, ...]


def _rates(benchmark: Benchmark) -> dict[str, Reviewed]:
    """Return what people said of each judge's verdicts, by its plain name without hyphens."""
    found: dict[str, Reviewed] = {}
    for study in _reviews_on(benchmark):
        try:
            rates = reasonable_rates(study, 0, 0)
        except NeverReviewed:
            continue
        for row in rates:
            if not row.criterion:
                name = plain_name(row.judge).replace("-", "")
                known = found.get(name, Reviewed(0.0, 0, ()))
                hits = known.hits + row.rate.value * row.n
                found[name] = Reviewed(hits, known.n + row.n, (*known.judges, row.judge))
    return found


def _reviews(benchmark: Benchmark) -> Given | Absent:
    latest: dict[tuple[int, int, int], float] = {}
    for study in _reviews_on(benchmark):
        rows = review_scores(study).filter(assignment__task__study=study).order_by("revision", "pk")
        for task, criterion, rater, value in rows.values_list(
            "assignment__task", "criterion", "assignment__rater", "value"
        ):
            latest[task, criterion, rater] = value or 0.0
    if not latest:
        return Absent(_without_reviews())
    items = {key: place for place, key in enumerate(sorted({(task, criterion) for task, criterion, _ in latest}))}
    raters = [rater for _task, _criterion, rater in latest]
    names = {row.pk: row.name for row in Rater.objects.filter(pk__in=set(raters))}
    return Given(
        np.array([items[task, criterion] for task, criterion, _rater in latest], dtype=np.float64),
        np.array(raters, dtype=np.float64),
        np.array(list(latest.values()), dtype=np.float64),
        names,
    )


def _wins(benchmark: Benchmark, baseline: str, printed: Mapping[str, float]) -> dict[str, tuple[float, int]] | Absent:
    frame = label_frame(kinds=ABOUT_RESPONSES, benchmark=benchmark)
    if not frame.keys_of_role("preference"):
        return Absent(_without_pairs())
    leaves = {leaf.pk: leaf for leaf in Category.objects.filter(benchmark=benchmark).select_related("parent")}
    wins = observations_of(
        frame.select(frame.role == ROLES.index("preference")), METRICS[WINS], Weighting(EQUAL), leaves
    )
    names = names_here(frame.model_names.values(), [*printed, baseline])
    pks = {name: [pk for pk, own in frame.model_names.items() if own == ours] for name, ours in names.items()}
    found = {}
    for name in printed:
        mask = np.isin(wins.model, pks.get(name, [])) & np.isin(wins.opponent, pks.get(baseline, []))
        if mask.any():
            found[name] = float(wins.top[mask].mean()), int(mask.sum())
    return found
