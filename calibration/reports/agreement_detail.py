"""Agreement by criterion, category and cohort, and whether a judge can replace a rater."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from annotation.models import Rater, Study
from calibration.data.frames import EVERY_KIND, ROLES, Ints, NothingToRead, ScoreFrame, data_hash
from calibration.data.scores import score_frame
from calibration.data.verdicts import judges_verdicts
from calibration.reports.agreement import ordered_keys
from calibration.reports.codec import plain, plain_part, stored
from calibration.reports.raters import main_criterion
from calibration.reports.registry import Plain, ReportKind, Settings, register
from calibration.statistics.agreement.alpha import krippendorff_alpha
from calibration.statistics.agreement.alternative_annotator import (
    CROWD,
    EXPERTS,
    MIN_ITEMS,
    MIN_RATERS,
    SKILLED,
    alternative_annotator_test,
)
from calibration.statistics.agreement.kappas import fleiss_kappa
from calibration.statistics.agreement.leave_one_out import leave_one_out
from calibration.statistics.agreement.rater_correlations import icc
from calibration.statistics.report_reasons import NoJudge, OnlySlots
from calibration.statistics.ties import level_places

DRAWS = 1000
EPSILONS = {"experts": EXPERTS, "skilled": SKILLED, "crowd": CROWD}
ORDERED_FROM = 3
"""Scales with at least this number of ordered levels are compared as numbers in the alternative annotator test."""


def detail_settings(criterion: str = "") -> Plain:
    return {"criterion": criterion, "draws": DRAWS, "seed": 0}


def _compute(study: Study, settings: Settings) -> tuple[str, Plain]:
    frame = score_frame(kinds=EVERY_KIND, study=study, judges=False)
    hashed = data_hash(frame)
    draws, seed = int(settings["draws"]), int(settings["seed"])
    try:
        key = main_criterion(frame, str(settings["criterion"]))
        frame.of_criterion(key)
    except NothingToRead as error:
        return hashed, {"why": "NothingToRead", "reason": str(error)}
    rows = [
        {"by": by, "group": group, "criterion": one, **_numbers(own.of_criterion(one), draws, seed)}
        for by, group, own in _groups(frame)
        for one in ordered_keys(own)
        if _has(own, one)
    ]
    report = {
        "study": study.slug,
        "criterion": key,
        "rows": rows,
        "judges": plain_part(lambda: _judges(study, frame.of_criterion(key), key, draws, seed)),
    }
    return hashed, stored(report)


AGREEMENT_DETAIL = register(ReportKind("agreement by group", _compute, slow_from=20_000))


def _has(frame: ScoreFrame, key: str) -> bool:
    return bool(((frame.criterion == frame.criterion_keys.index(key)) & frame.applicable).any())


def _groups(frame: ScoreFrame) -> list[tuple[str, str, ScoreFrame]]:
    """Group the data: everybody, then each category (if there are several), then each cohort."""
    found = [("all", "", frame)]
    categories = np.unique(frame.category)
    if len(categories) > 1:
        found += [
            ("category", frame.category_names.get(int(pk), "all"), frame.select(frame.category == pk))
            for pk in categories
        ]
    raters = Rater.objects.filter(pk__in=np.unique(frame.rater).tolist(), cohort__isnull=False)
    cohorts: dict[str, list[int]] = {}
    for rater in raters.select_related("cohort").order_by("pk"):
        if rater.cohort is not None:
            cohorts.setdefault(rater.cohort.name, []).append(rater.pk)
    found += [("cohort", name, frame.select(np.isin(frame.rater, pks))) for name, pks in sorted(cohorts.items())]
    return found


def _numbers(own: ScoreFrame, draws: int, seed: int) -> Plain:
    """Compute every coefficient with its ends, or why it has none; as a nominal label, both bad counts on its own."""
    labels = level_places(own.label_values)
    shared: dict[str, Any] = {"draws": draws, "seed": seed, "clusters": own.instruction}

    def alpha(metric: Any) -> Callable[[], Any]:
        values = own.label_values if metric == "nominal" else own.value
        return lambda: krippendorff_alpha(own.task, values, metric=metric, **shared)

    return {
        "n_labels": len(own),
        "n_tasks": len(np.unique(own.task)),
        "n_raters": len(np.unique(own.rater)),
        "leave_one_out": plain_part(lambda: leave_one_out(own.task, labels, **shared)),
        "alpha_nominal": plain_part(alpha("nominal")),
        "alpha_ordinal": plain_part(alpha("ordinal")),
        "alpha_interval": plain_part(alpha("interval")),
        "fleiss": plain_part(lambda: fleiss_kappa(own.task, labels, **shared)),
        "icc": plain_part(lambda: _icc(own, draws, seed)),
    }


def _icc(own: ScoreFrame, draws: int, seed: int) -> Any:
    """Compute intraclass correlations, which require that every rater rated every task."""
    return icc(
        np.unique(own.task, return_inverse=True)[1].reshape(-1).astype(np.int64),
        np.unique(own.rater, return_inverse=True)[1].reshape(-1).astype(np.int64),
        own.value,
        draws=draws,
        seed=seed,
        clusters=own.instruction,
    )


def _judges(study: Study, people: ScoreFrame, key: str, draws: int, seed: int) -> list[Plain]:
    """Run the alternative annotator test of each judge, for the three kinds of people it could replace."""
    slots = Rater.objects.filter(pk__in=np.unique(people.rater).tolist(), kind=Rater.Kind.SLOT)
    verdicts = judges_verdicts(study, key)
    if not verdicts.names:
        raise NoJudge("No judge has judged responses of this study.")
    if slots.exists() and slots.count() == len(np.unique(people.rater)):
        raise OnlySlots("The raters are positions in a data set.")
    categorical = ROLES[int(people.role[0])] in ("preference", "check") or len(np.unique(people.value)) < ORDERED_FROM
    kind = "categorical" if categorical else "numeric"
    found = []
    for pk, name in sorted(verdicts.names.items(), key=lambda pair: pair[1]):
        own = verdicts.judge == pk
        labels = dict(zip(verdicts.task[own].tolist(), verdicts.value[own].tolist(), strict=True))
        tests = {
            who: plain_part(_test(people, labels, kind, epsilon, draws, seed)) for who, epsilon in EPSILONS.items()
        }
        found.append({"judge": name, "kind": kind, "n_verdicts": len(labels), "tests": tests})
    return sorted(found, key=lambda row: (-row["n_verdicts"], row["judge"]))


def _test(
    people: ScoreFrame, labels: Mapping[Any, float], kind: Any, epsilon: float, draws: int, seed: int
) -> Callable[[], Any]:
    def found() -> Plain:
        names = people.rater_names
        raters: Ints = people.rater
        values = people.label_values if kind == "categorical" else people.value
        test = alternative_annotator_test(
            people.task,
            values,
            raters,
            labels,
            kind=kind,
            epsilon=epsilon,
            clusters=people.instruction,
            min_items=MIN_ITEMS,
            min_raters=MIN_RATERS,
            draws=draws,
            seed=seed,
        )
        kept: Plain = {name: value for name, value in plain(test).items() if name not in ("raters", "left_out")}
        contests = [{"rater": names[int(str(pk))], **plain(one)} for pk, one in test.raters.items()]
        return {**kept, "raters": sorted(contests, key=lambda row: row["rater"]), "left_out": len(test.left_out)}

    return found
