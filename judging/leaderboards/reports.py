"""A study's leaderboards as reports, so that an export contains them and every number can be recomputed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from annotation.models import Rater, Study
from calibration.models import Fit, fitted_kind
from calibration.reports.codec import INLINED
from calibration.reports.judges import judges_beside
from calibration.reports.registry import ReportKind, Settings, register
from calibration.statistics.errors import NoStatistic
from calibration.statistics.resampling import IntervalKind
from generation.models import MAIN_EXPERIMENT
from judging.leaderboards.board_json import BoardJson
from judging.leaderboards.filters import Filters
from judging.leaderboards.table import Leaderboard, leaderboard
from judging.leaderboards.weighting import EQUAL, MissingWeights, Weighting, fit_name, most_exact, weighting_of
from judging.scores.corrected_scores import Corrected
from judging.scores.leads import Lead
from judging.scores.points import Interval, NoVerdicts, WithoutWeight

NAME = "leaderboard"


@dataclass(frozen=True)
class BoardReport:
    """Every number of a board: scores, intervals, corrected scores and mean words.

    `judge` is the judge's public id and `measure` the name of the metric. `averages`, `leads` and `corrected` are by model,
    with the leads of the first ranked model over the others, corrected for all pairs of ranked models; `cells` and `words`
    are by "model / category"; `interval_kind` and `clusters` are those of the intervals.
    """

    judge: str
    weights: str
    measure: str
    board: BoardJson = field(metadata=INLINED)
    averages: Mapping[str, Interval]
    cells: Mapping[str, Interval]
    leads: Mapping[str, Lead]
    interval_kind: IntervalKind
    clusters: int
    corrected: Mapping[str, Corrected]
    words: Mapping[str, float]


def _compute(study: Study, settings: Settings) -> tuple[str, BoardReport]:
    """Compute the board. Raises NoVerdicts, MissingWeights, WithoutWeight, NoStatistic."""
    assert study.benchmark is not None
    judge = Rater.objects.get(public_id=settings["judge"])
    name = str(settings["weights"])
    fit = None if name == EQUAL else Fit.objects.get(public_id=name)
    board = leaderboard(
        study.benchmark,
        judge,
        weighting_of(fit, fit_name(fit)) if fit else Weighting(EQUAL),
        filters=Filters(experiment=str(settings["experiment"])),
        people_of=study,
    )
    return board.data_hash, board_report(board)


register(ReportKind(NAME, _compute, slow_from=60_000, shape=BoardReport))


def board_report(board: Leaderboard) -> BoardReport:
    ends, names = board.intervals, board.model_names
    return BoardReport(
        judge=board.judge.public_id,
        weights=board.weighting.name,
        measure=board.metric.name,
        board=board.as_json(),
        averages={names[pk]: interval for pk, interval in sorted(ends.averages.items())},
        cells={
            f"{names[pk]} / {board.categories[code]}": interval for (pk, code), interval in sorted(ends.cells.items())
        },
        leads={names[pk]: lead for pk, lead in sorted(board.leads.items())},
        interval_kind=ends.kind,
        clusters=ends.clusters,
        corrected=board.corrected,
        words={f"{model} / {key}": mean for (model, key), mean in sorted(board.words.items())},
    )


def leaderboards_of(study: Study) -> Iterator[tuple[Settings, str, BoardReport]]:
    """Yield settings, data hash and report of each judge's boards: by the newest fit, published and equal weights."""
    if study.benchmark is None:
        return
    judges = Rater.objects.filter(pk__in=judges_beside(study).values("rater")).order_by("label", "public_id")
    fits = [
        study.fits.filter(kind=fitted_kind()).first(),
        most_exact(
            list(Fit.objects.filter(workspace=study.workspace_id, kind=Fit.Kind.PUBLISHED, benchmark=study.benchmark))
        ),
    ]
    weights = [*(fit.public_id for fit in fits if fit is not None), EQUAL]
    for judge in judges:
        for name in weights:
            settings = {"judge": judge.public_id, "weights": name, "experiment": study.experiment or MAIN_EXPERIMENT}
            try:
                data_hash, report = _compute(study, settings)
            except (NoVerdicts, MissingWeights, WithoutWeight, NoStatistic):
                continue
            yield settings, data_hash, report
            if report.measure != "points":
                break
