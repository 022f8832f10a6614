"""Model-based statistics of raters: severity and drift, sources of variance, consensus labels."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from calibration.data.circumstances import Circumstances
from calibration.data.frames import ROLES, NothingToRead, ScoreFrame
from calibration.reports.codec import plain
from calibration.reports.registry import Plain
from calibration.statistics.errors import NoStatistic
from calibration.statistics.raters.consensus import dawid_skene, majority_consensus
from calibration.statistics.raters.decision import DecisionStudy, TargetOutOfReach, cheapest_design, decide
from calibration.statistics.raters.severity import fit_severity
from calibration.statistics.raters.variance import ConfoundedEffects, VarianceSplit, split_ratings
from calibration.statistics.report_reasons import NoCategories, OnlySlots

CATEGORICAL_ROLES = ("preference", "check")
MOST_LABELS = 4
BUDGET = 5.0
TARGETS = (0.7, 0.8, 0.9)
SIMULATED_SCORES = 4_000_000
MOST_DRAWS = 200


def severity_part(frame: ScoreFrame, around: Circumstances, names: Mapping[int, str], slots: set[int]) -> Plain:
    """Compute severity and drift of every person; positions in the session are used if all are known."""
    if slots and set(np.unique(frame.rater).tolist()) <= slots:
        raise OnlySlots("The raters are positions in a data set.")
    places = around.place[around.rows(frame.assignment)]
    timed = bool(np.isfinite(places).all()) and _several(frame, places)
    found = fit_severity(frame.value, items=frame.task, raters=frame.rater, positions=places if timed else None)
    rows = [
        {"rater": names[int(str(pk))], **plain(one)} for pk, one in found.raters.items() if int(str(pk)) not in slots
    ]
    rows.sort(key=lambda row: (-abs(row["severity"]), row["rater"]))
    low, high = float(frame.low.min()), float(frame.high.max())
    kept = {name: value for name, value in plain(found).items() if name != "raters"}
    return {**kept, "raters": rows, "drifting": timed, "scale": [low, high]}


def _several(frame: ScoreFrame, places: np.ndarray) -> bool:
    """Whether every rater has more than one position; otherwise there is no session over which to drift."""
    return all(np.ptp(places[frame.rater == rater]) > 0 for rater in np.unique(frame.rater))


def variance_part(frame: ScoreFrame, around: Circumstances) -> Plain:
    """Split the variance by source and derive the recommended designs; instructions are the items."""
    if not len(frame):
        raise NothingToRead("No person has rated anything.")
    models = frame.model if frame.model.all() and not frame.response_b.any() else None
    sides = around.first[around.rows(frame.assignment)]
    orders = sides if sides.all() and np.ptp(sides) > 0 else None
    items = frame.instruction if models is not None else frame.task
    draws = int(min(MOST_DRAWS, max(0, SIMULATED_SCORES // max(len(frame), 1))))
    try:
        found = split_ratings(frame.value, items=items, raters=frame.rater, models=models, orders=orders, draws=draws)
    except ConfoundedEffects:
        # If every instruction has one model, or the like, only the response as a whole can be distinguished.
        found = split_ratings(frame.value, items=frame.task, raters=frame.rater, draws=draws)
    return {**plain(found), "design": _design(found)}


def _design(found: VarianceSplit) -> Any:
    variances = {name: one.variance for name, one in found.components.items()}
    try:
        study = decide(variances, budget=BUDGET)
    except NoStatistic as error:
        return {"why": type(error).__name__, "reason": str(error)}
    targets = {str(target): _cheapest(study, target) for target in TARGETS}
    shown = [one for one in study.designs if one.repeats <= 2 and one.raters <= 10]
    shown.sort(key=lambda one: (one.repeats, one.raters))
    return {
        "best": plain(study.best),
        "budget": BUDGET,
        "gain_of_rater": study.gain_of_rater,
        "gain_of_repeat": study.gain_of_repeat,
        "targets": targets,
        "designs": plain(shown),
    }


def _cheapest(study: DecisionStudy, target: float) -> Plain | None:
    try:
        found: Plain = plain(cheapest_design(study, target))
    except TargetOutOfReach:
        return None
    return found


def consensus_part(frame: ScoreFrame, slots: set[int]) -> Plain:
    """Compute majority and Dawid-Skene labels of unordered choices. Raises NoCategories for an ordered scale."""
    if not len(frame):
        raise NothingToRead("No person has rated anything.")
    labels = np.unique(frame.label_values)
    categorical = ROLES[int(frame.role[0])] in CATEGORICAL_ROLES
    if not categorical and (len(labels) > MOST_LABELS or len(frame.criterion_keys) > 1):
        raise NoCategories("The scale is ordered.")
    majority = majority_consensus(frame.task, frame.label_values)
    found = dawid_skene(frame.task, frame.label_values, frame.rater)
    same = [found.chosen[item] == label for item, label in majority.labels.items()]
    certain = found.posterior.max(axis=1)
    return {
        "labels": [float(str(label)) for label in found.labels],
        "prevalence": plain(found.prevalence),
        "majority": [sum(one == label for one in majority.labels.values()) for label in found.labels],
        "items": len(found.items),
        "tied": len(majority.tied),
        "alone": majority.alone,
        "same_as_majority": float(np.mean(same)) if same else None,
        "certain": float((certain >= 0.95).mean()),
        "iterations": found.iterations,
        "raters": sorted(
            (
                {"rater": frame.rater_names[int(str(pk))], "accuracy": float(value)}
                for pk, value in found.accuracy.items()
                if int(str(pk)) not in slots
            ),
            key=lambda row: (row["accuracy"], row["rater"]),
        ),
    }
