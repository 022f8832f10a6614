"""The report on whether a study's raters can be trusted, by rater, kind and cohort.

Raters are people. Judges' answers (repeats, swapped sides, further rounds) say nothing about them. Judges appear beside
people only in the accuracy table, as a kind of their own, compared with people's means.

Positions in a data set are not persons: nothing is ever reported about a single position.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from annotation.models import Rater, Study
from calibration.data.circumstances import Circumstances, circumstances
from calibration.data.frames import EVERY_KIND, Ints, NothingToRead, ScoreFrame, data_hash
from calibration.data.scores import score_frame
from calibration.reports.agreement import ROLE_ORDER, ordered_keys
from calibration.reports.codec import plain, plain_part, stored
from calibration.reports.rater_behaviour import habits_part
from calibration.reports.rater_effects import consensus_part, severity_part, variance_part
from calibration.reports.registry import Plain, ReportKind, Settings, missing, register
from calibration.statistics.agreement.proportions import Proportion
from calibration.statistics.errors import TooFewRatings
from calibration.statistics.raters.reliability import (
    Accuracy,
    GroupSummary,
    accuracy_within_sigma,
    shrink_shares,
    summarise_groups,
)
from calibration.statistics.raters.repeats import Consistency, consistency, pair_consistency, repeat_kappa
from calibration.statistics.report_reasons import NeverRepeated, OnlyJudges, TooFewAnswers

DRAWS = 1000


@dataclass(frozen=True)
class Who:
    """The study's raters by pk, with their names, kinds and cohorts."""

    names: Mapping[int, str]
    kinds: Mapping[int, str]
    doors: Mapping[int, str]
    cohorts: Mapping[int, str]

    @cached_property
    def slots(self) -> set[int]:
        return {pk for pk, kind in self.kinds.items() if kind == Rater.Kind.SLOT}


def rater_settings(criterion: str = "") -> Plain:
    return {"criterion": criterion, "draws": DRAWS, "seed": 0}


def main_criterion(frame: ScoreFrame, asked: str) -> str:
    """Choose the requested criterion, else the overall score, the preference, or the first item. Raises NothingToRead."""
    if asked:
        return asked
    for role in ROLE_ORDER:
        keys = frame.keys_of_role(role)
        if keys:
            return keys[0]
    raise NothingToRead("nobody has rated anything in this study yet")


def who_rated(frame: ScoreFrame) -> Who:
    rows = Rater.objects.filter(pk__in=np.unique(frame.rater).tolist()).select_related("cohort")
    found = list(rows.order_by("pk"))
    return Who(
        names={row.pk: row.name for row in found},
        kinds={row.pk: row.kind for row in found},
        doors={row.pk: row.cohort.kind if row.cohort else row.kind for row in found},
        cohorts={row.pk: row.cohort.name for row in found if row.cohort},
    )


def _compute(study: Study, settings: Settings) -> tuple[str, Plain]:
    everybody = score_frame(kinds=EVERY_KIND, study=study, repeats=True)
    hashed = data_hash(everybody)
    frame = everybody.select(~everybody.is_judge)
    if len(everybody) and not len(frame):
        return hashed, _why(OnlyJudges("Only judges have answered in this study."))
    try:
        key = main_criterion(frame, str(settings["criterion"]))
        main = frame.of_criterion(key)
    except NothingToRead as error:
        return hashed, _why(error)
    who = who_rated(everybody)
    people = set(np.unique(frame.rater).tolist())
    around = circumstances(study, judges=False)
    first = everybody.select((everybody.repeat == 0) & everybody.applicable)
    draws, seed = int(settings["draws"]), int(settings["seed"])
    steady = plain_part(lambda: _consistency(frame, who, around, draws, seed))
    parts = {
        "study": study.slug,
        "criterion": key,
        "criteria": ordered_keys(frame),
        "n_scores": int((frame.repeat == 0).sum()),
        "n_answers": len(np.unique(frame.assignment[frame.repeat == 0])),
        "n_raters": len(people),
        "n_judged": len(np.unique(everybody.assignment[everybody.is_judge & (everybody.repeat == 0)])),
        "kinds": _counted(door for pk, door in who.doors.items() if pk in people),
        "slots": bool(who.slots),
        "accuracy": plain_part(lambda: _accuracy(first, who, draws, seed)),
        "consistency": steady,
        "kappa": plain_part(lambda: _kappa(main, draws, seed)) if not missing(steady) else steady,
        "severity": plain_part(lambda: severity_part(main.select(main.repeat == 0), around, who.names, who.slots)),
        "variance": plain_part(lambda: variance_part(main, around)),
        "consensus": plain_part(lambda: consensus_part(main.select(main.repeat == 0), who.slots)),
        **habits_part(study, frame, main, around, who.names, who.slots),
    }
    return hashed, stored(parts)


RATERS = register(ReportKind("raters", _compute, slow_from=4_000))


def _counted(labels: Any) -> dict[str, int]:
    counts: dict[str, int] = {}
    for label in labels:
        counts[label] = counts.get(label, 0) + 1
    return counts


def _why(error: Exception) -> Plain:
    return {"why": type(error).__name__, "reason": str(error)}


def _accuracy(first: ScoreFrame, who: Who, draws: int, seed: int) -> Plain:
    """Compute LLMEval's accuracy of people; judges are also compared with people's means but enter no total."""
    of_people = _within_sigma(first.select(~first.is_judge))
    found = _within_sigma(first)
    known = {pk: rate for pk, rate in found.raters.items() if pk not in who.slots}
    judges = set(np.unique(first.rater[first.is_judge]).tolist())
    return {
        "overall": plain(of_people.overall),
        "rates": _rate_rows(known, who),
        "groups": [
            *_groups("kind", known, found, who, who.doors, draws, seed),
            *_groups("cohort", known, found, who, who.cohorts, draws, seed),
        ],
        "too_few": sum(pk not in who.slots | judges for pk in found.too_few),
        "min_answers": found.min_answers,
        "sigma": {first.criterion_keys[int(str(code))]: value for code, value in found.sigma.items()},
        "alone": of_people.alone,
        "no_mean": found.no_mean,
    }


def _within_sigma(first: ScoreFrame) -> Accuracy:
    """Compute accuracy of everybody in the frame by the means and the spread of its people. Raises TooFewAnswers."""
    share = (first.value - first.low) / np.where(first.high > first.low, first.high - first.low, 1.0)
    try:
        return accuracy_within_sigma(
            share,
            items=first.task,
            raters=first.rater,
            criteria=first.criterion,
            clusters=first.instruction,
            in_mean=~first.is_judge,
        )
    except TooFewRatings as error:
        raise TooFewAnswers(str(error)) from error


def _rate_rows(rates: Mapping[Hashable, Proportion], who: Who) -> list[Plain]:
    """List a row per rater, lowest first, shrunk toward the mean of its kind if the kind has three raters."""
    shrunk: dict[Hashable, Any] = {}
    for door in sorted(set(who.doors.values())):
        own = {pk: rate for pk, rate in rates.items() if who.doors[int(str(pk))] == door}
        if len(own) >= 3:
            shrunk |= shrink_shares(own).raters
    rows = []
    for pk, rate in sorted(rates.items(), key=lambda pair: (pair[1].value, who.names[int(str(pair[0]))])):
        code = int(str(pk))
        rows.append(
            {
                "rater": who.names[code],
                "kind": who.doors[code],
                "cohort": who.cohorts.get(code, ""),
                "value": rate.value,
                "low": rate.low,
                "high": rate.high,
                "n": rate.n,
                "interval_kind": rate.interval_kind,
                "clusters": rate.clusters,
                "shrunk": plain(shrunk[pk]) if pk in shrunk else None,
            }
        )
    return rows


def _groups(
    by: str,
    rates: Mapping[Hashable, Proportion],
    found: Accuracy,
    who: Who,
    groups: Mapping[int, str],
    draws: int,
    seed: int,
) -> list[Plain]:
    own = {pk: rate for pk, rate in rates.items() if pk in groups}
    few = {pk: n for pk, n in found.too_few.items() if pk in groups and pk not in who.slots}
    if not own:
        return []
    by_rater: dict[Hashable, Hashable] = dict(groups.items())
    summaries = summarise_groups(own, by_rater, too_few=few, draws=draws, seed=seed)
    rows = [_group_row(by, one, who) for one in summaries.values()]
    return sorted(rows, key=lambda row: str(row["group"]))


def _group_row(by: str, one: GroupSummary, who: Who) -> Plain:
    return {
        "by": by,
        "group": one.group,
        "n": one.n,
        "too_few": one.too_few,
        "mean": one.mean,
        "low": one.low,
        "high": one.high,
        "interval_kind": one.interval_kind,
        "minimum": one.minimum,
        "lowest": who.names[int(str(one.lowest))],
        "median": one.median,
        "rates": list(one.rates),
    }


def _consistency(frame: ScoreFrame, who: Who, around: Circumstances, draws: int, seed: int) -> Plain:
    """Compute consistency on every task that a rater answered twice, over all criteria; nothing for single positions."""
    rows = _repeated(frame)
    if not len(rows):
        raise NeverRepeated("Nobody was asked the same task twice.")
    unit = rows.task * len(rows.criterion_keys) + rows.criterion
    found = consistency(
        rows.label_values,
        units=unit,
        raters=rows.rater,
        order=rows.repeat,
        clusters=rows.instruction,
        draws=draws,
        seed=seed,
    )
    kinds: list[Plain] = []
    for door in sorted(set(who.doors.values())):
        own = rows.select(np.isin(rows.rater, [pk for pk, one in who.doors.items() if one == door]))
        if len(own):
            kinds.append({"group": door, **_steadiness(own, draws, seed)})
    return {
        "overall": plain(found.overall),
        "first_repeat": plain(found.first_repeat_overall),
        "groups": kinds,
        "raters": _steady_rows(found, who),
        "sides": plain_part(lambda: _sides(rows, around)),
    }


def _repeated(frame: ScoreFrame) -> ScoreFrame:
    """Select the scores of tasks that their rater answered more than once."""
    usable = frame.select(frame.applicable)
    again = usable.repeat > 0
    width = int(usable.task.max(initial=0)) + 1
    cell: Ints = usable.rater * width + usable.task
    return usable.select(np.isin(cell, np.unique(cell[again])))


def _steadiness(own: ScoreFrame, draws: int, seed: int) -> Plain:
    unit = own.task * len(own.criterion_keys) + own.criterion
    one = consistency(
        own.label_values,
        units=unit,
        raters=own.rater,
        order=own.repeat,
        clusters=own.instruction,
        draws=draws,
        seed=seed,
    )
    rates = [rate.value for rate in one.raters.values()]
    return {"n": len(rates), "mean": float(np.mean(rates)), "minimum": min(rates), **plain(one.overall)}


def _steady_rows(found: Consistency, who: Who) -> list[Plain]:
    rows = []
    for pk, rate in found.raters.items():
        code = int(str(pk))
        if code not in who.slots:
            again = found.first_repeat[pk]
            rows.append(
                {
                    "rater": who.names[code],
                    "value": rate.value,
                    "low": rate.low,
                    "high": rate.high,
                    "interval_kind": rate.interval_kind,
                    "units": rate.units,
                    "asked": rate.asked,
                    "first_repeat": plain(again),
                }
            )
    return sorted(rows, key=lambda row: (row["value"], row["rater"]))


def _sides(rows: ScoreFrame, around: Circumstances) -> dict[str, Any]:
    """Agreement of the first two answers to a pair, with the same sides and with swapped sides."""
    if not (rows.response_b > 0).any():
        raise NeverRepeated("Only pairs have sides.")
    pairs = rows.select((rows.response_b > 0) & (rows.repeat <= 1))
    order = np.lexsort([pairs.repeat, pairs.criterion, pairs.task, pairs.rater])
    same = (
        (np.diff(pairs.rater[order]) == 0) & (np.diff(pairs.task[order]) == 0) & (np.diff(pairs.criterion[order]) == 0)
    )
    one, two = order[:-1][same], order[1:][same]
    first = around.first[around.rows(pairs.assignment)]
    known = (first[one] > 0) & (first[two] > 0)
    if not known.any():
        raise NeverRepeated("It is not recorded which side was shown first.")
    one, two = one[known], two[known]
    found: dict[str, Any] = plain(
        pair_consistency(
            pairs.label_values[one],
            pairs.label_values[two],
            swapped=first[one] != first[two],
            clusters=pairs.instruction[one],
        )
    )
    return found


def _kappa(main: ScoreFrame, draws: int, seed: int) -> Any:
    rows = _repeated(main)
    if not len(rows):
        raise NeverRepeated("Nobody was asked the same task twice.")
    weights: Any = None if main.response_b.any() else "quadratic"
    return repeat_kappa(
        rows.value if weights else rows.label_values,
        units=rows.task,
        raters=rows.rater,
        order=rows.repeat,
        weights=weights,
        clusters=rows.instruction,
        draws=draws,
        seed=seed,
    )
