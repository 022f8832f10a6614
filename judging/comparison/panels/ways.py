"""What adds to one judge: the length and format of what it judges, both orders of a pair, and further answers.

Each is measured as a panel is, by what the judge with it predicts of people's differences that the judge alone does not.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import log2
from typing import Literal, TypeAlias

import numpy as np
from django.db.models import Q

from annotation.models import Assignment, Rater, Study, Task
from calibration.data.frames import ABOUT_RESPONSES, ROLES, ScoreFrame
from calibration.data.scores import score_frame
from calibration.data.verdicts import judged_elsewhere
from calibration.statistics.errors import ConstantScores, TooFewRatings
from calibration.statistics.judges.estimates import SIGNIFICANT, holm
from calibration.statistics.judges.panels import Beaten, PanelGain, panel_gain
from core.db.many_ids import with_ids
from generation.models import Category, Response
from judging.audit.ratings import has_marks
from judging.comparison.panels.scores import JudgedScore, ScoredUnit, alike, preferences_in, single_observations
from judging.leaderboards.weighting import Weighting
from judging.models import JudgeRun, PlannedItem

TEXTS_AT_ONCE = 500
SAME = 1e-9
"""Answers that differ by less are the same."""

WayName: TypeAlias = Literal["length_and_format", "both_orders", "repeats"]
WhyNoWay: TypeAlias = Literal["few_instructions", "same_answers", "no_differences", "no_texts"]


@dataclass(frozen=True)
class WayGain:
    """What a way adds to a judge, whose public id is `id`: `found.single` is the judge alone, `found.panel` with it.

    One verdict with it takes `answers` answers of the judge, where alone it takes one. `p` is that of the gain, corrected
    by Holm over all rows of a study; None where the gain has no interval.
    """

    judge: str
    id: str
    way: WayName
    answers: float
    found: PanelGain
    p: float | None = None

    @property
    def shown(self) -> bool:
        """Whether the judge is shown to predict people's differences better with it than alone."""
        return self.found.better and self.p is not None and self.p < SIGNIFICANT


@dataclass(frozen=True)
class NoWay:
    """Why a way of a judge is not measured: `n` instructions where MIN_CLUSTERS are needed, all answers alike, no
    differences of the judge or of people, or no texts."""

    judge: str
    way: WayName
    why: WhyNoWay
    n: int = 0


@dataclass(frozen=True)
class JudgeWays:
    """What adds to each of a study's judges, and what could not be measured; `paired` where people compared pairs."""

    rows: list[WayGain]
    not_measured: list[NoWay]
    paired: bool

    def asked(self, way: WayName) -> bool:
        """Whether there is a judge of whom this could be measured."""
        return way in {row.way for row in self.rows} | {one.way for one in self.not_measured}


@dataclass(frozen=True)
class _OrderedAnswer:
    """A judge's answer and whether it was shown the unit's first response first, as is every single response."""

    said: JudgedScore
    straight: bool


def ways_of(
    study: Study,
    judges: Sequence[Rater],
    rated: ScoreFrame,
    scored: Mapping[int, Mapping[ScoredUnit, JudgedScore]],
    weighting: Weighting,
    seed: int,
) -> JudgeWays:
    """Measure what adds to each judge; `rated` are people's ratings and `scored` what each judge said of each unit."""
    paired = bool(rated.role[0] == ROLES.index("preference"))
    units = {unit for judge in judges for unit in scored[judge.pk]}
    traits = _traits_of({pk for unit in units for pk in unit if pk})
    answers = _answers_of(study, judges, weighting, paired)
    measure = _Measure(rated, paired, seed)
    found: list[WayGain | NoWay] = []
    for judge in judges:
        own = scored[judge.pk]
        with_texts = [unit for unit in own if all(pk in traits for pk in unit if pk)]
        columns = [own, *(_covariate(own, traits, with_texts, place) for place in range(2))]
        if with_texts:
            found.append(measure.of(judge, "length_and_format", columns, with_texts, 1.0))
        else:
            found.append(NoWay(judge.name, "length_and_format", "no_texts"))
        for way, given in _ways_to_ask(answers.get(judge.pk, {})):
            found.append(measure.asked(judge, way, given))
    rows = [one for one in found if isinstance(one, WayGain)]
    corrected = holm([one.found.gain.p for one in rows])
    rows = [replace(one, p=p) for one, p in zip(rows, corrected, strict=True)]
    return JudgeWays(rows, [one for one in found if isinstance(one, NoWay)], paired)


@dataclass(frozen=True)
class _Measure:
    """Measures ways by people's ratings, of pairs of responses where `paired`."""

    rated: ScoreFrame
    paired: bool
    seed: int

    def asked(
        self, judge: Rater, way: WayName, given: Mapping[ScoredUnit, Sequence[_OrderedAnswer]]
    ) -> WayGain | NoWay:
        """Measure the mean of several answers beside the first of them."""
        first = {unit: answers[0].said for unit, answers in given.items()}
        mean = {
            unit: replace(answers[0].said, score=float(np.mean([one.said.score for one in answers])))
            for unit, answers in given.items()
        }
        if all(abs(mean[unit].score - first[unit].score) < SAME for unit in given):
            return NoWay(judge.name, way, "same_answers")
        each = float(np.mean([len(answers) for answers in given.values()]))
        return self.of(judge, way, [first, mean], list(given), each)

    def of(
        self,
        judge: Rater,
        way: WayName,
        columns: Sequence[Mapping[ScoredUnit, JudgedScore]],
        units: Iterable[ScoredUnit],
        answers: float,
    ) -> WayGain | NoWay:
        """Measure what the further columns add to the first, on these units."""
        given = alike(self.rated, self.paired, columns, sorted(units))
        over = Beaten(free=len(columns) - 1 if way == "length_and_format" else 0)
        try:
            found = panel_gain(given, seed=self.seed, over=over)
        except TooFewRatings as error:
            return NoWay(judge.name, way, "few_instructions", error.n)
        except ConstantScores:
            return NoWay(judge.name, way, "no_differences")
        return WayGain(judge.name, judge.public_id, way, answers, found)


def _traits_of(responses: Collection[int]) -> dict[int, tuple[float, float]]:
    """Return log2 of the characters of each response with a text, and 1 where it is formatted, else 0."""
    found = {}
    rows = with_ids(Response.objects.filter(text__isnull=False), responses).order_by().values_list("pk", "text")
    for pk, text in rows.iterator(TEXTS_AT_ONCE):
        found[pk] = log2(max(1, len(text or ""))), float(has_marks(text or ""))
    return found


def _covariate(
    own: Mapping[ScoredUnit, JudgedScore],
    traits: Mapping[int, tuple[float, float]],
    units: Iterable[ScoredUnit],
    place: int,
) -> dict[ScoredUnit, JudgedScore]:
    """Return a trait of each response, or the first response's minus the second's, as if a judge had said it."""
    found = {}
    for first, second in units:
        value = traits[first][place] - (traits[second][place] if second else 0.0)
        found[first, second] = replace(own[first, second], score=value)
    return found


def _ways_to_ask(
    answers: Mapping[ScoredUnit, Sequence[_OrderedAnswer]],
) -> Iterable[tuple[WayName, dict[ScoredUnit, list[_OrderedAnswer]]]]:
    """Yield the units asked about in both orders, with the first answer in each, and those asked about several times in
    one order, with the answers in it; the first answer of all is the first of each."""
    orders, repeats = {}, {}
    for unit, given in answers.items():
        same = [one for one in given if one.straight == given[0].straight]
        turned = [one for one in given if one.straight != given[0].straight]
        if turned:
            orders[unit] = [given[0], turned[0]]
        if len(same) > 1:
            repeats[unit] = same
    if orders:
        yield "both_orders", orders
    if repeats:
        yield "repeats", repeats


def _answers_of(
    study: Study, judges: Sequence[Rater], weighting: Weighting, paired: bool
) -> dict[int, dict[ScoredUnit, list[_OrderedAnswer]]]:
    """Return, of each judge that was asked about something again, all answers to each unit of the study, in their order.

    Rounds of a drift monitor and probes are none of them.
    """
    tasks = Task.objects.filter(study=study).values_list("response_a", "response_b")
    wanted = {(one, other or 0) for one, other in tasks if bool(other) == paired}
    pks = [judge.pk for judge in judges]
    studies = judged_elsewhere(study).filter(rater__in=pks).values("task__study")
    studies_asked = [study, *Study.objects.filter(pk__in=studies).order_by("pk")]
    again = Assignment.objects.filter(rater__in=pks, repeat__gt=0, task__study__in=[one.pk for one in studies_asked])
    raters = sorted(set(again.order_by().values_list("rater", flat=True)))
    found: dict[int, dict[ScoredUnit, dict[int, _OrderedAnswer]]] = defaultdict(lambda: defaultdict(dict))
    if not raters:
        return {}
    for one in studies_asked:
        frame = score_frame(
            kinds=ABOUT_RESPONSES if one == study else [study.task_kind],
            study=one,
            raters=raters,
            people=False,
            repeats=True,
            keep_derived=False,
        )
        frame = frame.select(~np.isin(frame.assignment, _of_other_runs(one, raters)))
        read = _pair_answers(frame, one, raters, wanted) if paired else _single_answers(frame, weighting)
        for rater, unit, repeat, answer in read:
            if unit in wanted:
                found[rater][unit].setdefault(repeat, answer)
    return {
        rater: {unit: [given[repeat] for repeat in sorted(given)] for unit, given in units.items()}
        for rater, units in found.items()
    }


def _of_other_runs(study: Study, raters: Sequence[int]) -> list[int]:
    """Return the assignments that only drift monitors' rounds and probes asked for."""
    items = PlannedItem.objects.filter(
        run__study=study, assignment__rater__in=raters, assignment__repeat__gt=0
    ).order_by()
    others = items.filter(Q(run__watch__isnull=False) | Q(run__probes__isnull=False))
    ordinary = items.filter(run__in=JudgeRun.objects.of_responses())
    return list(set(others.values_list("assignment", flat=True)) - set(ordinary.values_list("assignment", flat=True)))


_Read: TypeAlias = tuple[int, ScoredUnit, int, _OrderedAnswer]
"""A judge's pk, what it answered about, the number of the answer, and the answer."""


def _single_answers(frame: ScoreFrame, weighting: Weighting) -> Iterable[_Read]:
    leaves = Category.objects.select_related("parent").in_bulk(np.unique(frame.category).tolist())
    for rater in np.unique(frame.rater).tolist():
        metric = ""
        for repeat in np.unique(frame.repeat[frame.rater == rater]).tolist():
            part = frame.select((frame.rater == rater) & (frame.repeat == repeat))
            observed = single_observations(part, weighting, leaves)
            if observed is None or (metric and observed[0] != metric):
                continue
            metric, rows = observed
            columns = rows.response, rows.top / rows.under, rows.instruction, rows.model
            for response, score, instruction, model in zip(*(one.tolist() for one in columns), strict=True):
                yield rater, (response, 0), repeat, _OrderedAnswer(JudgedScore(score, instruction, model, 0), True)


def _pair_answers(
    frame: ScoreFrame, study: Study, raters: Sequence[int], wanted: Collection[ScoredUnit]
) -> Iterable[_Read]:
    keys = frame.keys_of_role("preference")
    if not keys:
        return
    shown = Assignment.objects.filter(task__study=study, rater__in=raters).order_by()
    sides = dict(shown.values_list("pk", "shown_first"))
    own = frame.of_criterion(keys[0])
    own = own.select((own.model > 0) & (own.model_b > 0) & (own.model != own.model_b))
    columns = (own.rater, own.response, own.response_b, own.repeat, own.assignment, preferences_in(own))
    about = (own.instruction, own.model, own.model_b)
    for rater, one, two, repeat, pk, value, instruction, model, rival in zip(
        *(column.tolist() for column in (*columns, *about)), strict=True
    ):
        straight = sides.get(pk) != "b"
        if (one, two) in wanted:
            yield rater, (one, two), repeat, _OrderedAnswer(JudgedScore(value, instruction, model, rival), straight)
        else:
            yield (
                rater,
                (two, one),
                repeat,
                _OrderedAnswer(JudgedScore(-value, instruction, rival, model), not straight),
            )
