"""Agreement among a study's raters and of judges with them, as plain values for a page or a command."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from annotation.models import Rater, Study
from calibration.data.frames import EVERY_KIND, ROLES, Floats, Ints, NothingToRead, ScoreFrame, data_hash
from calibration.data.scores import score_frame
from calibration.data.verdicts import judges_verdicts
from calibration.reports.cache import cached_report, known_report
from calibration.statistics.agreement.coefficients import (
    Alpha,
    LeaveOneOut,
    OuterLeaveOneOut,
    krippendorff_alpha,
    leave_one_out,
    outer_leave_one_out,
    rater_matrix,
)
from calibration.statistics.errors import NoStatistic
from calibration.statistics.ties import level_places
from core.errors import UserError

METRICS = ("nominal", "ordinal", "interval")
ROLE_ORDER = ("overall", "preference", "item", "check")
DRAWS = 1000
MOST_RATERS_IN_MATRIX = 30


class AmbiguousCriterion(UserError):
    """The study has several criteria and none of them is the obvious one."""


def default_criterion(frame: ScoreFrame) -> str:
    """Choose the overall criterion, else the preference, else the only one. Raises AmbiguousCriterion, NothingToRead."""
    for role in ("overall", "preference"):
        keys = frame.keys_of_role(role)
        if keys:
            return keys[0]
    if not len(frame):
        raise NothingToRead("nobody has rated anything in this study yet")
    if len(frame.criterion_keys) == 1:
        return frame.criterion_keys[0]
    raise AmbiguousCriterion(
        f"The study has no overall criterion; choose one with --criterion: {', '.join(ordered_keys(frame))}."
    )


def ordered_keys(frame: ScoreFrame) -> list[str]:
    """List criterion keys: overall first, then the others in the order of their rubric."""
    found = [key for role in ROLE_ORDER for key in frame.keys_of_role(role)]
    return list(dict.fromkeys(found))


def agreement_report(study: Study, criterion: str = "", *, draws: int = DRAWS, seed: int = 0) -> dict[str, Any]:
    """Return the report of one criterion (the default one for ''), from the cache if nothing has changed.

    Raises NothingToRead, AmbiguousCriterion, NoStatistic (TooFewRatings where no task has two raters).
    """
    settings = {"criterion": criterion, "draws": draws, "seed": seed}
    return cached_report(study, "agreement", settings, lambda: _compute(study, criterion, draws, seed))


def known_agreement_report(study: Study, criterion: str = "") -> dict[str, Any] | None:
    """Return the cached report, or None if it has to be computed."""
    settings = {"criterion": criterion, "draws": DRAWS, "seed": 0}
    return known_report(study, "agreement", settings)


def _compute(study: Study, criterion: str, draws: int, seed: int) -> tuple[str, dict[str, Any]]:
    frame = score_frame(kinds=EVERY_KIND, study=study, judges=False)
    key = criterion or default_criterion(frame)
    part = frame.of_criterion(key)
    kinds = _kinds(part)
    labels = _codes(part.label_values)
    loo = leave_one_out(part.task, labels, draws=draws, seed=seed, clusters=part.instruction)
    result = {
        "study": study.slug,
        "criterion": key,
        "criteria": ordered_keys(frame),
        "n_tasks": loo.n_tasks,
        "n_tasks_left_out": loo.n_tasks_left_out,
        "n_labels": loo.n_labels,
        "n_raters": len(np.unique(part.rater)),
        "n_instructions": len(np.unique(part.instruction)),
        "loo": loo.rate,
        "chance": loo.chance,
        "loo_interval": _ends(loo),
        "alpha": {metric: _alpha(part, metric, draws, seed) for metric in METRICS},
        "slots": Rater.Kind.SLOT in kinds.values(),
        "by_criterion": [_criterion_row(frame, one, draws, seed) for one in ordered_keys(frame)],
        "by_category": _category_rows(part),
        "by_cohort": _cohort_rows(part),
        "matrix": _matrix(part, kinds),
        "judges": _judges(study, part, key, draws, seed),
    }
    return data_hash(frame), result


def _kinds(part: ScoreFrame) -> dict[int, str]:
    return dict(Rater.objects.filter(pk__in=np.unique(part.rater).tolist()).values_list("pk", "kind"))


def _codes(values: Floats) -> Ints:
    return level_places(values)


def _ends(found: LeaveOneOut | OuterLeaveOneOut | Alpha) -> dict[str, Any]:
    return {"low": found.low, "high": found.high, "kind": found.interval_kind, "clusters": found.clusters}


def _alpha(part: ScoreFrame, metric: str, draws: int, seed: int) -> dict[str, Any]:
    """Compute alpha with its ends; if there is none, the value is None and "why" names the error."""
    assert metric in METRICS
    try:
        found = krippendorff_alpha(
            part.task,
            part.label_values if metric == "nominal" else part.value,
            metric=metric,  # type: ignore[arg-type]
            draws=draws,
            seed=seed,
            clusters=part.instruction,
        )
    except NoStatistic as error:
        return {"value": None, "reason": str(error), "why": type(error).__name__}
    return {"value": found.value, "n_units": found.n_units, "n_values": found.n_values, **_ends(found)}


def _criterion_row(frame: ScoreFrame, key: str, draws: int, seed: int) -> dict[str, Any]:
    part = frame.of_criterion(key)
    metric = "nominal" if part.role[0] == ROLES.index("preference") else "ordinal"
    return {"criterion": key, "metric": metric, "alpha": _alpha(part, metric, draws, seed), "loo": _rate(part)}


def _rate(part: ScoreFrame) -> float | None:
    try:
        return leave_one_out(part.task, _codes(part.label_values)).rate
    except NoStatistic:
        return None


def _category_rows(part: ScoreFrame) -> list[dict[str, Any]]:
    rows = []
    for category in np.unique(part.category).tolist():
        own = part.select(part.category == category)
        metric = "nominal" if part.role[0] == ROLES.index("preference") else "ordinal"
        rows.append(
            {
                "category": part.category_names.get(category, "all"),
                "category_pk": category,
                "n_tasks": len(np.unique(own.task)),
                "n_labels": len(own),
                "loo": _rate(own),
                "alpha": _alpha(own, metric, 0, 0)["value"],
            }
        )
    return rows if len(rows) > 1 else []


def _cohort_rows(part: ScoreFrame) -> list[dict[str, Any]]:
    """Compute agreement within each cohort; empty if nobody belongs to one."""
    raters = Rater.objects.filter(pk__in=np.unique(part.rater).tolist(), cohort__isnull=False)
    cohorts: dict[str, list[int]] = {}
    for rater in raters.select_related("cohort"):
        assert rater.cohort is not None
        cohorts.setdefault(rater.cohort.name, []).append(rater.pk)
    rows = []
    for name, pks in sorted(cohorts.items()):
        own = part.select(np.isin(part.rater, pks))
        alpha = _alpha(own, "ordinal", 0, 0)["value"]
        rows.append({"cohort": name, "n_raters": len(pks), "n_labels": len(own), "loo": _rate(own), "alpha": alpha})
    return rows


def _matrix(part: ScoreFrame, kinds: Mapping[int, str]) -> dict[str, Any] | None:
    """Correlate persons (the most active ones if there are many); None for slots or a single person."""
    persons = [pk for pk, kind in kinds.items() if kind == Rater.Kind.PERSON]
    raters, counts = np.unique(part.rater, return_counts=True)
    busiest = [int(pk) for pk in raters[np.argsort(-counts, kind="stable")] if int(pk) in set(persons)]
    shown = sorted(busiest[:MOST_RATERS_IN_MATRIX], key=lambda pk: _by_number(part.rater_names[pk]))
    own = part.select(np.isin(part.rater, shown))
    if len(shown) < 2:
        return None
    order = np.argsort([shown.index(int(pk)) for pk in own.rater], kind="stable")
    found = rater_matrix(own.task[order], own.rater[order], own.value[order])
    names = [part.rater_names[int(str(pk))] for pk in found.raters]

    def cells(values: Floats) -> list[list[float | None]]:
        return [
            [float(value) if known else None for value, known in zip(row, defined, strict=True)]
            for row, defined in zip(values, found.defined, strict=True)
        ]

    return {
        "raters": names,
        "pearson": cells(found.pearson),
        "spearman": cells(found.spearman),
        "n": found.n.tolist(),
        "n_persons": len(persons),
    }


def _by_number(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts rater 2 before rater 10."""
    return [(int(piece), "") if piece.isdecimal() else (0, piece) for piece in re.split(r"(\d+)", name)]


def _judges(study: Study, part: ScoreFrame, key: str, draws: int, seed: int) -> dict[str, dict[str, Any]]:
    """Compare each judge with people: outer leave-one-out on tasks with a usable verdict; the others are counted."""
    verdicts = judges_verdicts(study, key)
    codes = level_places(np.concatenate([part.label_values, verdicts.value]))
    people, judged = codes[: len(part)], codes[len(part) :]
    tasks, places = np.unique(part.task, return_inverse=True)
    places = places.reshape(-1).astype(np.int64)
    found: dict[str, dict[str, Any]] = {}
    for pk, name in sorted(verdicts.names.items(), key=lambda pair: pair[1]):
        own = (verdicts.judge == pk) & np.isin(verdicts.task, tasks)
        labels = np.full(len(tasks), -1, dtype=np.int64)
        labels[np.searchsorted(tasks, verdicts.task[own])] = judged[own]
        unscored = verdicts.unscored.get(pk, 0)
        try:
            outer = outer_leave_one_out(places, people, labels, draws=draws, seed=seed, clusters=part.instruction)
        except NoStatistic as error:
            found[name] = {"loo": None, "n": 0, "unscored": unscored, "reason": str(error), "why": type(error).__name__}
            continue
        found[name] = {
            "loo": outer.rate,
            "n": outer.n_tasks,
            "unscored": unscored,
            "chance": outer.chance,
            "interval": _ends(outer),
        }
    return found
