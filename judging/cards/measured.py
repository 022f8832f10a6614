"""What was measured of a study's judges: agreement beside that of people, biases, calibration, drift, cost and pace."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from django.db.models import QuerySet

from annotation.models import Assignment, Rater, Study
from calibration.data.verdicts import judges_by_verdicts
from calibration.reports.codec import Missing
from calibration.reports.judges import (
    JudgesInDepth,
    PairJudge,
    PairJudgeReport,
    ScoreJudge,
    ScoreJudgeReport,
    judges_beside,
    judges_settings,
)
from calibration.reports.registry import Settings
from calibration.statistics.judges.agreement import Beside
from calibration.statistics.judges.bias import LengthBias
from calibration.statistics.judges.estimates import PeopleEstimate
from calibration.statistics.shares import Share
from judging.comparison.judge_costs import costs_in, judges_made
from judging.comparison.method_table import MethodReport, MethodTable
from judging.comparison.run_lists import is_priced
from judging.judges.families import judge_families
from judging.monitoring.readings import drift_in

PER = 1_000
"""Verdicts to which costs and seconds refer."""
Drift: TypeAlias = Literal["changed", "not_shown", "not_watched"]


@dataclass(frozen=True)
class CardStudy:
    """A judge in one study. `beside` is its agreement with people, people's among themselves on the same tasks, and the
    difference, on one criterion; None where two people have not rated what it judged, or while this is `being_computed`.

    `length`, `position`, `flips` are those of pairs, and so is `family`, the lift of its own family of models over people's;
    `offset` is the judge's mean minus people's, as a share of the scale; `slope` is the judge's slope minus a person's,
    `calibration` the slope of people's share on its graded verdicts (1 is calibrated). `money` and `seconds` are of PER
    verdicts, None where unknown. `failed`: a run of it failed its canary texts.
    """

    study: str
    name: str
    verdicts: int
    failed: bool
    being_computed: bool
    criterion: str
    beside: Beside | None
    length: Share | None
    position: Share | None
    flips: Share | None
    family: PeopleEstimate | None
    offset: PeopleEstimate | None
    slope: PeopleEstimate | None
    calibration: Share | None
    money: str | None
    seconds: float | None
    drift: Drift


def measured_in(
    study: Study, raters: Sequence[Rater], table: MethodReport | None, depth: JudgesInDepth | None
) -> list[CardStudy]:
    """Return what is known of each of these judges in the study, by its two reports; None stands for one that is being
    computed.
    """
    pks = [rater.pk for rater in raters]
    costs, made, drift = costs_in(study, pks), judges_made(pks), drift_in(study, pks)
    counted = {row.judge.pk: row for row in judges_by_verdicts(study)}
    rows = []
    for rater in raters:
        row = None
        if isinstance(table, MethodTable):
            row = next((one for one in table.methods if one.judge == rater.name), None)
        found = _of_judge(depth, rater.name)
        pairs = found if isinstance(found, PairJudge) else None
        sways = pairs.sways if pairs else None
        cost, number, watch = costs.get(rater.pk), counted.get(rater.pk), drift.get(rater.pk)
        money = cost.money if cost else None
        priced = rater.pk in made and money is not None and is_priced(made[rater.pk], money)
        rows.append(
            CardStudy(
                study=study.slug,
                name=study.name,
                verdicts=number.verdicts + number.discredited if number else 0,
                failed=bool(number and number.discredited),
                being_computed=table is None or depth is None,
                criterion=table.criterion if isinstance(table, MethodTable) and row and row.beside else "",
                beside=row.beside if row else None,
                length=_length(sways.length) if sways else None,
                position=sways.position.first_points if sways and not isinstance(sways.position, Missing) else None,
                flips=sways.swap.flip_rate if sways and not isinstance(sways.swap, Missing) else None,
                family=_family(pairs) if pairs else None,
                offset=found.offset if found and not isinstance(found.offset, Missing) else None,
                slope=found.slopes.apart if found and not isinstance(found.slopes, Missing) else None,
                calibration=found.soft.slope if found and not isinstance(found.soft, Missing) else None,
                money=f"{PER * money:f}" if priced and money is not None else None,
                seconds=PER * cost.seconds if cost and cost.seconds is not None else None,
                drift="not_watched" if watch is None else "changed" if watch[1] else "not_shown",
            )
        )
    return rows


def _family(found: PairJudge) -> PeopleEstimate | None:
    own = found.own_family
    return None if isinstance(own, Missing) or isinstance(own.over_people, Missing) else own.over_people


def depth_settings(study: Study, beside: QuerySet[Assignment] | None = None) -> Settings:
    """Return the settings of the report on judges in depth, as its own page asks for it."""
    beside = judges_beside(study) if beside is None else beside
    return judges_settings(study, "", "", judge_families(study, beside), beside)


def _of_judge(report: object, name: str) -> PairJudge | ScoreJudge | None:
    if not isinstance(report, PairJudgeReport | ScoreJudgeReport):
        return None
    judges: Sequence[PairJudge | ScoreJudge] = report.judges
    return next((one for one in judges if one.judge == name), None)


def _length(found: list[LengthBias | Missing] | Missing) -> Share | None:
    """Return the length bias rate over all pairs of different length."""
    if isinstance(found, Missing):
        return None
    return next((one.rate for one in found if not isinstance(one, Missing)), None)
