"""The detailed report on a study's judges: biases, gaps to people's scores, prediction-powered estimates, findings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np
from django.db.models import Count, Max, QuerySet

from annotation.models import Assignment, Rater, Score, Study, Task
from calibration.data.frames import EVERY_KIND, ROLES, Bools, Floats, Ints, NothingToRead, ScoreFrame, data_hash
from calibration.data.scores import label_frame, score_frame
from calibration.data.verdicts import judged_elsewhere, judges_by_verdicts
from calibration.reports.codec import INLINED, Missing, part
from calibration.reports.judge_matches import (
    Correlations,
    PairMatches,
    are_positions,
    criterion_apart,
    item_offset,
    item_shares,
    item_slopes,
    pair_matches,
    pair_offset,
    pair_shares,
    pair_slopes,
    score_correlations,
)
from calibration.reports.people.judged_truth import JudgedTruth, judged_truth
from calibration.reports.people.powered import PoweredWins, powered_preferences, powered_scores
from calibration.reports.people.reviewed_verdicts import ReasonableRate, reasonable_rates, review_state
from calibration.reports.people.sways import Sways, preferences, sways_of
from calibration.reports.raters import correct_answers
from calibration.reports.registry import ReportKind, Settings, register
from calibration.statistics.errors import Undefined
from calibration.statistics.judges.bias import ScoreGaps, SelfPreference, score_gaps, self_preference
from calibration.statistics.judges.calibration import SoftVerdicts
from calibration.statistics.judges.correlations import ScoredResponses, Slopes, judge_minus_people
from calibration.statistics.judges.estimates import PeopleEstimate, SingleAnswers
from calibration.statistics.judges.prediction_powered import (
    Estimate,
    LabelsNeeded,
    LabelsSaved,
    ModelScores,
    PredictionPowered,
    labels_saved,
    labels_to_separate,
    prediction_powered_difference,
    prediction_powered_mean,
    shared_power,
)
from calibration.statistics.report_reasons import NoPairs, TooFewModels
from calibration.statistics.ties import descending
from generation.models import LanguageModel

DRAWS = 1000
SHARED_FROM = 3
"""Models from which all differences share one weight on the judge."""


@dataclass(frozen=True)
class OwnFamily(SelfPreference):
    """A judge's lift for its own family; `over_people` is the lift for raters like these and for these raters."""

    over_people: PeopleEstimate | Missing


@dataclass(frozen=True)
class CriterionGaps(ScoreGaps):
    """A judge's gaps on a criterion; `apart` is judge minus people for raters like these and for these raters."""

    apart: PeopleEstimate | Missing


@dataclass(frozen=True)
class PairJudge:
    """A judge's preferences beside people's."""

    judge: str
    sways: Sways = field(metadata=INLINED)
    matches: PairMatches | Missing
    soft: SoftVerdicts | Missing
    slopes: Slopes | Missing
    own_family: OwnFamily | Missing
    offset: PeopleEstimate | Missing
    wins: PoweredWins | Missing


@dataclass(frozen=True)
class ModelEstimate:
    """The mean score (0 to 10) of one model, estimated from people's and the judge's scores."""

    model: str
    estimate: PredictionPowered | Missing = field(metadata=INLINED)


@dataclass(frozen=True)
class Separation(LabelsNeeded):
    """The labels that separate two models, the prediction-powered difference of their means, and what the judge saves."""

    one: str
    other: str
    powered: Estimate
    saved: LabelsSaved | Missing


@dataclass(frozen=True)
class ScoreJudge:
    """A judge's scores beside people's."""

    judge: str
    correlations: Correlations | Missing
    soft: SoftVerdicts | Missing
    slopes: Slopes | Missing
    gaps: list[CriterionGaps] | Missing
    offset: PeopleEstimate | Missing
    powered: list[ModelEstimate] | Missing
    separate: Separation | Missing
    wins: PoweredWins | Missing


@dataclass(frozen=True)
class JudgeReport:
    """What every report on judges has: `one` and `other` are the models to separate, by name."""

    study: str
    one: str
    other: str
    reasonable: list[ReasonableRate] | Missing
    truth: list[JudgedTruth] | Missing


@dataclass(frozen=True)
class ReviewReport(JudgeReport):
    """The report on a study that reviews verdicts."""

    kind: Literal["reviews"]


@dataclass(frozen=True)
class PairJudgeReport(JudgeReport):
    """The report on judges of pairs, and on people."""

    kind: Literal["pairs"]
    people: Sways
    judges: list[PairJudge]


@dataclass(frozen=True)
class ScoreJudgeReport(JudgeReport):
    """The report on judges of single responses."""

    kind: Literal["scores"]
    judges: list[ScoreJudge]


JudgesInDepth: TypeAlias = ReviewReport | PairJudgeReport | ScoreJudgeReport | Missing


def judges_settings(
    study: Study,
    one: str = "",
    other: str = "",
    families: Mapping[str, str] | None = None,
    beside: QuerySet[Assignment] | None = None,
) -> Settings:
    """Return the settings: `one` and `other` to separate, by name ('' for the two models with the closest means).

    `families` maps judges' public ids to their families;
    `beside` is the state of the judges' answers elsewhere on the benchmark (judges_beside, if they are not given), which
    prediction-powered estimates use;
    `reviews` is the state of people's findings on these judges' verdicts.
    """
    return {
        "one": one,
        "other": other,
        "families": dict(families or {}),
        "beside": _state_beside(judges_beside(study) if beside is None else beside),
        "reviews": review_state(study),
        "draws": DRAWS,
        "seed": 0,
    }


def judges_beside(study: Study) -> QuerySet[Assignment]:
    """Select what this study's judges answered anywhere on its benchmark, one answer per task."""
    here = Assignment.objects.filter(task__study=study, rater__kind=Rater.Kind.JUDGE)
    judges = set(here.values_list("rater", flat=True)) | set(judged_elsewhere(study).values_list("rater", flat=True))
    return Assignment.objects.filter(
        rater__in=judges, repeat=0, task__response_a__instruction__benchmark=study.benchmark_id
    )


def _state_beside(beside: QuerySet[Assignment]) -> dict[str, int]:
    found = Score.objects.filter(assignment__in=beside).aggregate(n=Count("pk"), last=Max("pk"))
    found["discredited"] = beside.filter(discredited=True).count()
    return {name: value or 0 for name, value in found.items()}


def _compute(study: Study, settings: Settings) -> tuple[str, JudgesInDepth]:
    people = score_frame(kinds=EVERY_KIND, study=study, judges=False)
    labels = label_frame(kinds=EVERY_KIND, study=study, people=people)
    truth = correct_answers(study)
    hashed = (
        data_hash(labels) if truth is None else sha256(f"{data_hash(labels)} {data_hash(truth)}".encode()).hexdigest()
    )
    draws, seed = int(settings["draws"]), int(settings["seed"])
    kind = kind_asked(study)
    judges = [row.judge for row in judges_by_verdicts(study, elsewhere=kind != "pairs") if row.verdicts]
    if not judges and study.kind != Study.Kind.REVIEW:
        return hashed, Missing.because(Undefined("NoJudge", "no judge has judged responses of this study"))
    common = JudgeReport(
        study=study.slug,
        one=settings["one"],
        other=settings["other"],
        reasonable=part(lambda: reasonable_rates(study, draws, seed)),
        truth=part(lambda: judged_truth(study, truth)),
    )
    if kind == "pairs":
        rows = [_on_pairs(study, people, labels, judge, settings) for judge in judges]
        return hashed, PairJudgeReport(
            **vars(common), kind="pairs", people=sways_of(study, None, draws, seed), judges=rows
        )
    if kind == "scores":
        scored = [_on_scores(study, labels, judge, settings) for judge in judges]
        return hashed, ScoreJudgeReport(**vars(common), kind="scores", judges=scored)
    return hashed, ReviewReport(**vars(common), kind="reviews")


def kind_asked(study: Study) -> str:
    """Return what the study asks: "pairs", "scores", or "reviews" of verdicts (which are not scores of responses).

    The tasks decide, so the report is of the same kind before anybody has answered.
    """
    if study.kind == Study.Kind.REVIEW:
        return "reviews"
    pairs = study.kind == Study.Kind.PAIR or study.tasks.filter(response_b__isnull=False).exists()
    return "pairs" if pairs else "scores"


JUDGES: ReportKind[JudgesInDepth] = register(
    ReportKind("judges in depth", _compute, slow_from=60_000, shape=JudgesInDepth)
)


def _on_pairs(study: Study, people: ScoreFrame, labels: ScoreFrame, judge: Rater, settings: Settings) -> PairJudge:
    draws, seed = int(settings["draws"]), int(settings["seed"])
    frame = score_frame(kinds=[Task.Kind.PAIR], study=study, raters=[judge.pk], people=False)
    family = settings["families"].get(judge.public_id, "")
    return PairJudge(
        judge=judge.name,
        sways=sways_of(study, judge, draws, seed),
        matches=part(lambda: pair_matches(people, labels, frame, seed)),
        soft=part(lambda: pair_shares(labels, frame, draws, seed)),
        slopes=part(lambda: pair_slopes(labels, frame, seed)),
        own_family=part(lambda: _own_family(labels, frame, family, draws, seed)),
        offset=part(lambda: pair_offset(labels, frame, seed)),
        wins=part(lambda: powered_preferences(labels, frame, seed)),
    )


def _own_family(people: ScoreFrame, frame: ScoreFrame, family: str, draws: int, seed: int) -> OwnFamily:
    """Compute the judge's lift for models of its own family over people's mean preference on the same pairs."""
    if not family:
        raise Undefined("NoFamily", "The judge's own family is not known.")
    own, theirs = preferences(frame), preferences(people)
    if not len(own):
        raise NoPairs("The judge has judged no pair.")
    known = dict(LanguageModel.objects.filter(pk__in=frame.model_names).values_list("pk", "family"))
    tasks, place = np.unique(theirs.task, return_inverse=True)
    mean = np.bincount(place.reshape(-1), weights=(1 + np.sign(theirs.value)) / 2) / np.bincount(place.reshape(-1))
    own = own.select(np.isin(own.task, tasks))
    related = [np.array([known.get(pk) == family for pk in side.tolist()]) for side in (own.model, own.model_b)]
    found = self_preference(
        related[0],
        related[1],
        (1 + np.sign(own.value)) / 2,
        mean[np.searchsorted(tasks, own.task)],
        clusters=own.instruction,
        draws=draws,
        seed=seed,
    )
    one = related[0] != related[1]
    over = part(partial(_lift, own.select(one), related[0][one], theirs, seed))
    return OwnFamily(**vars(found), over_people=over)


def _lift(own: ScoreFrame, first: Bools, theirs: ScoreFrame, seed: int) -> PeopleEstimate:
    """Judge minus people over the judge's verdicts, in points of the side of its family, which is `first` or the second."""
    side = dict(zip(own.task.tolist(), first.tolist(), strict=True))
    theirs = theirs.select(np.isin(theirs.task, own.task))
    tasks, at, place = np.unique(theirs.task, return_index=True, return_inverse=True)
    of_family = np.array([side[task] for task in theirs.task.tolist()])
    said, given = (1 + np.sign(own.value)) / 2, (1 + np.sign(theirs.value)) / 2
    judge = dict(zip(own.task.tolist(), np.where(first, said, 1 - said).tolist(), strict=True))
    return judge_minus_people(
        ScoredResponses(
            judge=np.array([judge[task] for task in tasks.tolist()]),
            instruction=theirs.instruction[at],
            model=np.zeros(len(tasks), dtype=np.int64),
            response=place.reshape(-1).astype(np.int64),
            rater=theirs.rater,
            value=np.where(of_family, given, 1 - given),
            positions=are_positions(theirs),
        ),
        seed=seed,
    )


def _on_scores(study: Study, people: ScoreFrame, judge: Rater, settings: Settings) -> ScoreJudge:
    draws, seed = int(settings["draws"]), int(settings["seed"])
    frame = (
        score_frame(
            kinds=[study.task_kind], benchmark=study.benchmark, raters=[judge.pk], people=False, experiment=None
        )
        if study.benchmark
        else score_frame(kinds=[study.task_kind], study=study, raters=[judge.pk], people=False)
    )
    powered, separate = _powered(people, frame, str(settings["one"]), str(settings["other"]))
    return ScoreJudge(
        judge=judge.name,
        correlations=part(lambda: score_correlations(people, frame, seed)),
        soft=part(lambda: item_shares(people, frame, draws, seed)),
        slopes=part(lambda: item_slopes(people, frame, seed)),
        gaps=part(lambda: _gaps(people, frame, draws, seed)),
        offset=part(lambda: item_offset(people, frame, seed)),
        powered=powered,
        separate=separate,
        wins=part(lambda: powered_scores(people, frame, seed)),
    )


def _gaps(people: ScoreFrame, judge: ScoreFrame, draws: int, seed: int) -> list[CriterionGaps]:
    """Compare the judge's score of each response and criterion with the mean of people's."""
    ours, theirs, names, clusters = [], [], [], []
    for key in judge.criterion_keys:
        if key not in people.criterion_keys:
            continue
        one, other = _by_response(judge, key), _by_response(people, key)
        shared = sorted(one.keys() & other.keys())
        ours += [one[pk][0] for pk in shared]
        theirs += [other[pk][0] for pk in shared]
        clusters += [one[pk][1] for pk in shared]
        names += [key] * len(shared)
    if not names:
        raise NothingToRead("people and this judge have no response in common")
    width = float((people.high - people.low).max())
    limits = (1.0, 2.0, 3.0, 4.0) if width > 1 else (0.25, 0.5, 0.75, 1.0)
    found = score_gaps(
        np.array(ours), np.array(theirs), names, at_least=limits, clusters=clusters, draws=draws, seed=seed
    )
    return [
        CriterionGaps(**vars(row), apart=part(partial(criterion_apart, people, judge, str(row.criterion), seed)))
        for row in found
    ]


def _by_response(frame: ScoreFrame, key: str) -> dict[int, tuple[float, int]]:
    """Return the mean value and the instruction of each response that has a value."""
    mask = (frame.criterion == frame.criterion_keys.index(key)) & frame.applicable & (frame.response_b == 0)
    return _means(frame.select(mask), frame.value[mask])


def _means(own: ScoreFrame, values: Floats) -> dict[int, tuple[float, int]]:
    responses, first, place = np.unique(own.response, return_index=True, return_inverse=True)
    counts = np.bincount(place.reshape(-1), minlength=len(responses))
    mean = np.bincount(place.reshape(-1), weights=values, minlength=len(responses)) / np.maximum(counts, 1)
    return {
        int(pk): (float(value), int(own.instruction[at])) for pk, value, at in zip(responses, mean, first, strict=True)
    }


def _overall(frame: ScoreFrame) -> ScoreFrame:
    """Select overall scores, or items if a judge gives no overall score."""
    for role in ("overall", "item"):
        mask = (frame.role == ROLES.index(role)) & frame.applicable & (frame.response_b == 0)
        if mask.any():
            return frame.select(mask)
    raise NothingToRead("there is neither an overall score nor an item score")


def _points(frame: ScoreFrame) -> dict[int, tuple[float, int]]:
    own = _overall(frame)
    return _means(own, _of_ten(own))


def _of_ten(frame: ScoreFrame) -> Floats:
    return 10 * (frame.value - frame.low) / np.where(frame.high > frame.low, frame.high - frame.low, 1.0)


@dataclass(frozen=True)
class _SinglePoints:
    """What each rater gave each response, on 0..10 (m,), ordered by response; `positions` as are_positions."""

    response: Ints
    rater: Ints
    points: Floats
    positions: bool

    def of(self, responses: Sequence[int], judge: Floats) -> SingleAnswers:
        """The answers about some responses (n,), in ascending order, beside the judge's scores of them (n,)."""
        own = np.isin(self.response, responses)
        return SingleAnswers(
            place=np.searchsorted(np.array(responses), self.response[own]).astype(np.int64),
            rater=self.rater[own],
            top=self.points[own],
            under=np.ones(int(own.sum())),
            judge_top=judge,
            judge_under=np.ones(len(judge)),
            column=np.zeros(len(judge), dtype=np.int64),
            positions=self.positions,
        )


def _single_points(people: ScoreFrame) -> _SinglePoints:
    """A rater's score of a response is the mean of what it gave there."""
    own = _overall(people)
    keys, line = np.unique(np.column_stack([own.response, own.rater]), axis=0, return_inverse=True)
    line = line.reshape(-1)
    points = np.bincount(line, weights=_of_ten(own)) / np.bincount(line)
    return _SinglePoints(keys[:, 0], keys[:, 1], points, are_positions(own))


def _model_scores(people: ScoreFrame, judge: ScoreFrame) -> dict[str, ModelScores]:
    """Collect each model's human and judge scores on 0..10, and the judge's scores of responses that no person scored."""
    human, machine, single = _points(people), _points(judge), _single_points(people)
    model = dict(zip(judge.response.tolist(), judge.model.tolist(), strict=True))
    found: dict[str, ModelScores] = {}
    for pk in sorted({one for one in model.values() if one}):
        own = [response for response in sorted(machine) if model[response] == pk]
        both = [response for response in own if response in human]
        alone = [response for response in own if response not in human]
        if both:
            scored = np.array([machine[one][0] for one in both])
            found[judge.model_names[pk]] = ModelScores(
                human=np.array([human[one][0] for one in both]),
                judge=scored,
                instructions=[human[one][1] for one in both],
                judge_only=np.array([machine[one][0] for one in alone]),
                judge_only_instructions=[machine[one][1] for one in alone],
                answers=single.of(both, scored),
            )
    return found


def _powered(
    people: ScoreFrame, judge: ScoreFrame, one: str, other: str
) -> tuple[list[ModelEstimate] | Missing, Separation | Missing]:
    """Estimate all models' means with and without the judge, and the labels that would separate two models."""
    by_model = part(lambda: _model_scores(people, judge))
    if isinstance(by_model, Missing):
        return by_model, by_model
    if not any(len(scores.judge_only) for scores in by_model.values()):
        why = Missing.because(Undefined("NoFurtherVerdicts", "people scored every response that the judge did"))
        return why, why
    rows = [ModelEstimate(name, part(partial(prediction_powered_mean, scores))) for name, scores in by_model.items()]
    return rows, part(lambda: _separate(by_model, one, other))


def _separate(by_model: Mapping[str, ModelScores], one: str, other: str) -> Separation:
    """Compare two models: those requested, else the two whose human means are closest."""
    if one not in by_model or other not in by_model or one == other:
        names = list(by_model)
        means = np.array([float(by_model[name].human.mean()) for name in names])
        order = [names[place] for place in descending(means)]
        if len(order) < 2:
            raise TooFewModels("Fewer than two models were scored by people and judge.")
        gaps = [float(by_model[a].human.mean() - by_model[b].human.mean()) for a, b in pairwise(order)]
        place = int(np.argmin(gaps))
        one, other = order[place], order[place + 1]
    found = labels_to_separate(by_model[one], by_model[other])
    models = [scores for scores in by_model.values() if len(scores.judge_only)]
    shared = shared_power(models) if len(models) >= SHARED_FROM else None
    difference = prediction_powered_difference(by_model[one], by_model[other], shared=shared)
    saved = part(lambda: labels_saved(by_model[one], by_model[other], difference))
    return Separation(**vars(found), one=one, other=other, powered=difference.powered, saved=saved)
