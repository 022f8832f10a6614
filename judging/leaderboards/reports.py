"""A study's leaderboards as reports, so that an export contains them and every number can be recomputed."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from annotation.models import Rater, Study
from calibration.models import Fit
from calibration.reports.codec import stored
from calibration.reports.judges import judges_beside
from calibration.reports.registry import Plain, ReportKind, Settings, register
from calibration.statistics.errors import NoStatistic
from generation.models import MAIN_EXPERIMENT
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
        experiment=str(settings["experiment"]),
        people_of=study,
    )
    return board.data_hash, stored(board_plain(board))


LEADERBOARD = register(ReportKind(NAME, _compute, slow_from=60_000))


def board_plain(board: Leaderboard) -> Plain:
    """Return every number of a board: scores, intervals, corrected scores and lengths, by model and category."""
    ends = board.intervals
    names = board.model_names
    return {
        "judge": board.judge.public_id,
        "weights": board.weighting.name,
        "measure": board.measure.name,
        **board.as_json(),
        "averages": {names[pk]: asdict(one) for pk, one in sorted(ends.averages.items())},
        "cells": {
            f"{names[pk]} / {board.categories[code]}": asdict(one) for (pk, code), one in sorted(ends.cells.items())
        },
        "leads": {names[pk]: asdict(one) for pk, one in sorted(ends.leads.items())},
        "interval_kind": ends.kind,
        "clusters": ends.clusters,
        "corrected": {name: asdict(one) for name, one in board.corrected.items()},
        "words": {f"{model} / {key}": mean for (model, key), mean in sorted(board.words.items())},
    }


def leaderboards_of(study: Study) -> Iterator[dict[str, Any]]:
    """Return export rows: each judge of the study on its benchmark, with the newest fit, published and equal weights."""
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
            yield {"kind": NAME, "settings": settings, "data_hash": hashed, "result": result}
            if result["measure"] != "points":
                break
