"""Judges compared with people on every criterion; no overall score is needed."""

from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import numpy as np

from annotation.models import Rater, Study
from calibration.data.frames import ABOUT_RESPONSES, Ints, NothingToRead, ScoreFrame, data_hash
from calibration.data.scores import label_frame, score_frame
from calibration.data.verdicts import Verdicts, judges_verdicts
from calibration.reports.agreement import ordered_keys
from calibration.reports.codec import INLINED, Missing, part
from calibration.reports.judge_matches import labelled_tasks
from calibration.reports.registry import ReportKind, Settings, register
from calibration.statistics.agreement.leave_one_out import (
    LeaveOneOut,
    OuterLeaveOneOut,
    leave_one_out,
    outer_leave_one_out,
)
from calibration.statistics.crossed import holm
from calibration.statistics.judges.agreement import Beside, LabelledTasks, beside_people, same_as_majority
from calibration.statistics.judges.comparison import (
    MajorityAccuracy,
    accuracy_against_majority,
    confusion,
    majority_labels,
)
from calibration.statistics.judges.estimates import SIGNIFICANT, PeopleEstimate
from calibration.statistics.ties import level_places


@dataclass(frozen=True)
class EqualAnswers(MajorityAccuracy):
    """The share of equal answers; `chance` is the share if the judge's answers were assigned to the tasks at random."""

    chance: float


@dataclass(frozen=True)
class Matches:
    """A judge beside people: leave-one-out agreement of both, and equal answers; `unscored` verdicts are left out.

    `outer`, `people` and `majority` count tasks and chance; `beside` and `equal` have the same rates with intervals for
    raters like these and for these raters.
    """

    unscored: int
    outer: OuterLeaveOneOut | Missing
    people: LeaveOneOut | Missing
    majority: EqualAnswers | Missing
    beside: Beside | Missing
    equal: PeopleEstimate | Missing


@dataclass(frozen=True)
class CriterionMatches:
    """A judge beside people on one criterion; missing where they share no task."""

    criterion: str
    matches: Matches | Missing = field(metadata=INLINED)


@dataclass(frozen=True)
class AgainstPeople:
    """A judge's leave-one-out agreement on a criterion minus that of people with each other, on the same `n` tasks.

    `p` is corrected for all criteria on which it has a 95 % interval (Holm), None without one. `shown` is "more" only for
    raters like these: a judge may repeat one of two raters, and two show nothing of others.
    """

    criterion: str
    apart: PeopleEstimate
    n: int
    p: float | None

    @property
    def shown(self) -> Literal["less", "more", "not_shown"]:
        if self.p is None or self.p >= SIGNIFICANT:
            return "not_shown"
        if self.apart.value < 0:
            return "less"
        return "more" if self.apart.population == "such" else "not_shown"


@dataclass(frozen=True)
class JudgeMatches:
    """A judge, by name and public id, beside people on each criterion."""

    judge: str
    public: str
    criteria: list[CriterionMatches]

    @property
    def against_people(self) -> list[AgainstPeople]:
        """The criteria on which people can be compared with each other, with p values corrected for their number."""
        known = [
            (row.criterion, row.matches.beside)
            for row in self.criteria
            if not isinstance(row.matches, Missing) and not isinstance(row.matches.beside, Missing)
        ]
        corrected = holm(np.array([np.nan if one.apart.p is None else one.apart.p for _, one in known]))
        return [
            AgainstPeople(key, one.apart, one.n, None if np.isnan(p) else float(p))
            for (key, one), p in zip(known, corrected, strict=True)
        ]


@dataclass(frozen=True)
class JudgesByCriterion:
    """The judges of a study, those with the most verdicts first."""

    study: str
    judges: list[JudgeMatches]


def criterion_settings() -> Settings:
    return {"seed": 0}


def _compute(study: Study, settings: Settings) -> tuple[str, JudgesByCriterion]:
    people = score_frame(kinds=ABOUT_RESPONSES, study=study, judges=False)
    labels = label_frame(kinds=ABOUT_RESPONSES, study=study, people=people)
    hashed = data_hash(labels)
    people, labels = (of.select((of.response_b == 0) & of.applicable) for of in (people, labels))
    seed = int(settings["seed"])
    rows: dict[int, list[CriterionMatches]] = {}
    counts: Counter[int] = Counter()
    for key in ordered_keys(people):
        verdicts = judges_verdicts(study, key)
        counts.update(verdicts.judge.tolist())
        for pk in verdicts.names:
            matches = part(partial(_matches, people.of_criterion(key), labels, key, verdicts, pk, seed))
            rows.setdefault(pk, []).append(CriterionMatches(key, matches))
    known = Rater.objects.in_bulk(rows)
    judges = sorted(known.values(), key=lambda judge: (-counts[judge.pk], judge.name, judge.pk))
    found = [JudgeMatches(judge.name, judge.public_id, rows[judge.pk]) for judge in judges]
    return hashed, JudgesByCriterion(study.slug, found)


BY_CRITERION: ReportKind[JudgesByCriterion] = register(
    ReportKind("judges by criterion", _compute, slow_from=60_000, shape=JudgesByCriterion)
)


def _matches(people: ScoreFrame, labels: ScoreFrame, key: str, verdicts: Verdicts, judge: int, seed: int) -> Matches:
    """Compare one judge with people on one criterion, on the tasks that both have answered. Raises NothingToRead.

    Leave-one-out measures the judge as a rater among raters; `labels` are what its equal answers are counted against.
    """
    among, verdict = _beside(people, verdicts, judge)
    settled, said = _beside(labels.of_criterion(key), verdicts, judge)
    return Matches(
        unscored=int(verdicts.unscored.get(judge, 0)),
        outer=part(partial(outer_leave_one_out, among.task, among.label, verdict)),
        people=part(partial(leave_one_out, among.task, among.label)),
        majority=part(partial(_majority, said, settled)),
        beside=part(partial(beside_people, among, verdict, seed=seed)),
        equal=part(partial(same_as_majority, settled, said, seed=seed)),
    )


def _beside(people: ScoreFrame, verdicts: Verdicts, judge: int) -> tuple[LabelledTasks, Ints]:
    """People's answers, and by task the judge's verdict."""
    own = verdicts.judge == judge
    tasks = np.intersect1d(verdicts.task[own], people.task)
    if not tasks.size:
        raise NothingToRead("people and this judge have answered nothing in common")
    theirs = people.select(np.isin(people.task, tasks))
    own &= np.isin(verdicts.task, tasks)
    labels = level_places(np.concatenate([theirs.label_values, verdicts.value[own]]))
    given, verdict = labels[: len(theirs)], np.full(len(tasks), -1, dtype=np.int64)
    verdict[np.searchsorted(tasks, verdicts.task[own])] = labels[len(theirs) :]
    place = np.searchsorted(tasks, theirs.task).astype(np.int64)
    return labelled_tasks(theirs, place, given), verdict


def _majority(verdict: Ints, people: LabelledTasks) -> EqualAnswers:
    found = accuracy_against_majority(verdict, people.task, people.label)
    counts = confusion(verdict, majority_labels(people.task, people.label)).counts
    chance = float(counts.sum(axis=0) @ counts.sum(axis=1)) / float(counts.sum()) ** 2
    return EqualAnswers(**vars(found), chance=chance)
