"""A study's leaderboards as reports, so that an export contains them and every number can be recomputed."""

from collections.abc import Iterator
from dataclasses import asdict

from annotation.models import Rater, Study
from calibration.models import Fit
from calibration.reports.codec import stored
from calibration.reports.judges import judges_beside
from calibration.reports.registry import Plain, ReportKind, Settings, register
from calibration.statistics.errors import NoStatistic
from generation.models import MAIN_EXPERIMENT
from judging.leaderboards.filters import Filters
from judging.leaderboards.table import Leaderboard, leaderboard
from judging.leaderboards.weighting import EQUAL, MissingWeights, Weighting, fit_name, most_exact, weighting_of
from judging.scores.points import NoVerdicts, WithoutWeight

NAME = "leaderboard"


def _compute(study: Study, settings: Settings) -> tuple[str, Plain]:
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
    return board.data_hash, stored(board_plain(board))


register(ReportKind(NAME, _compute, slow_from=60_000))


def board_plain(board: Leaderboard) -> Plain:
    """Return every number of a board: scores, intervals, corrected scores and lengths, by model and category."""
    ends = board.intervals
    names = board.model_names
    return {
        "judge": board.judge.public_id,
        "weights": board.weighting.name,
        "measure": board.metric.name,
        **board.as_json(),
        "averages": {names[pk]: asdict(interval) for pk, interval in sorted(ends.averages.items())},
        "cells": {
            f"{names[pk]} / {board.categories[code]}": asdict(interval)
            for (pk, code), interval in sorted(ends.cells.items())
        },
        "leads": {names[pk]: asdict(interval) for pk, interval in sorted(ends.leads.items())},
        "interval_kind": ends.kind,
        "clusters": ends.clusters,
        "corrected": {name: asdict(score) for name, score in board.corrected.items()},
        "words": {f"{model} / {key}": mean for (model, key), mean in sorted(board.words.items())},
    }


def leaderboards_of(study: Study) -> Iterator[tuple[Settings, str, Plain]]:
    """Yield the settings, data hash and report of each judge of the study on its benchmark.

    The weights are the newest fit, the published ones and equal weights.
    """
    if study.benchmark is None:
        return
    judges = Rater.objects.filter(pk__in=judges_beside(study).values("rater")).order_by("label", "public_id")
    fits = [
        study.fits.filter(kind=Fit.Kind.FITTED).first(),
        most_exact(
            list(Fit.objects.filter(workspace=study.workspace_id, kind=Fit.Kind.PUBLISHED, benchmark=study.benchmark))
        ),
    ]
    weights = [*(fit.public_id for fit in fits if fit is not None), EQUAL]
    for judge in judges:
        for name in weights:
            settings = {"judge": judge.public_id, "weights": name, "experiment": study.experiment or MAIN_EXPERIMENT}
            try:
                hashed, result = _compute(study, settings)
            except (NoVerdicts, MissingWeights, WithoutWeight, NoStatistic):
                continue
            yield settings, hashed, result
            if result["measure"] != "points":
                break
