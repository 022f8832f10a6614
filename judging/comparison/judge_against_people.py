"""A judge against people on the same responses of a study: points against overall scores, item against item.

Responses are matched by id and items by key, so a verdict counts wherever it was given.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from annotation.models import Assignment, Criterion, Rater, Score, Study
from calibration.data.frames import ABOUT_RESPONSES, ROLES, Floats, Ints, NothingToRead, ScoreFrame, data_hash
from calibration.data.scores import label_frame, score_frame
from calibration.data.verdicts import judged_elsewhere, judges_by_verdicts, judges_verdicts
from calibration.models import Fit, fitted_kind
from calibration.report_store.questions import Question, question_of
from calibration.reports.cache import cached_report, shown_setting
from calibration.reports.codec import plain, read_back
from calibration.reports.judge_matches import are_positions
from calibration.reports.registry import Plain
from calibration.statistics.agreement.leave_one_out import outer_leave_one_out
from calibration.statistics.errors import NoStatistic
from calibration.statistics.judges.agreement import LabelledTasks, beside_people
from calibration.statistics.judges.correlations import (
    JudgeCorrelation,
    PeopleCorrelation,
    ScoredResponses,
    judge_correlation,
    judge_minus_people,
    people_correlation,
)
from calibration.statistics.judges.estimates import PeopleEstimate
from calibration.statistics.ties import level_places, settle_ties
from generation.models import Category
from judging.leaderboards.observations import weighted_points
from judging.leaderboards.table import one_of_judges
from judging.leaderboards.weighting import EQUAL, Weighting, fit_name, weighting_of

DRAWS = 1000
DIGITS = 9
"""Decimals of the points compared, few enough to hide the rounding of sums; other scores differ by far more."""
KIND = "judge against people"


class NothingShared(NothingToRead):
    """No response has both a usable verdict from this judge and an overall score from a rater."""


def has_overall(study: Study) -> bool:
    """Whether a person has given an overall score in this study."""
    answered = Assignment.objects.filter(task__study=study, task__kind__in=ABOUT_RESPONSES).answered()
    scores = Score.objects.filter(assignment__in=answered.of_people())
    return scores.filter(criterion__role=Criterion.Role.OVERALL).exists()


def judges_in(study: Study) -> list[Rater]:
    """Return the judges with verdicts on this study's responses, given here or in another study, most verdicts first."""
    return [row.judge for row in judges_by_verdicts(study)]


def judge_in(study: Study, name: str) -> Rater:
    """Return the judge with this name. Raises UnknownJudge."""
    return one_of_judges(judges_in(study), name, f"responses of study {study.slug}")


def weighting_for(study: Study, fit: Fit | None = None) -> Weighting:
    """Return the weights of the given fit, else the study's newest one, else equal weights."""
    chosen = fit or Fit.objects.filter(study=study, kind=fitted_kind()).first()
    return weighting_of(chosen, fit_name(chosen)) if chosen else Weighting(EQUAL)


@dataclass(frozen=True)
class SharedResponse:
    """A response that both have scored: the judge's points, 0 to 100, and people's mean, 0 to 10, of `raters` people."""

    response: int
    instruction: str
    model: str
    judge: float
    people: float
    raters: int


@dataclass(frozen=True)
class ItemAgreement:
    """Outer leave-one-out agreement of the judge on an item, people's inner one on the same `n` responses, the difference.

    `chance` is what the judge's labels would reach if they were dealt to the responses at random.
    """

    key: str
    judge: PeopleEstimate
    people: PeopleEstimate
    apart: PeopleEstimate
    chance: float
    n: int


@dataclass(frozen=True)
class NoItemAgreement:
    """An item without agreement; `why` is the name of the reason."""

    key: str
    loo: float | None
    why: str


@dataclass(frozen=True)
class JudgeComparison:
    """A judge against people, as it is stored. `people` counts raters, `unscored` the judge's unusable verdicts.

    `equal` are the correlations with equal weights. Where there are none, `correlation_why` and `equal_why` name the
    reason. `own_weights`: the weights were fitted to the same people's answers. `bias` is the mean of the judge's points
    minus people's mean score, both on 0 to 100.
    """

    judge: str
    weights: str
    own_weights: bool
    overall: str
    n: int
    unscored: int
    people: int
    points: tuple[SharedResponse, ...]
    items: tuple[ItemAgreement | NoItemAgreement, ...]
    correlation: JudgeCorrelation | None = None
    correlation_why: str = ""
    equal: PeopleCorrelation | None = None
    equal_why: str = ""
    bias: PeopleEstimate | None = None


def compare(study: Study, judge: Rater, weighting: Weighting, *, draws: int = DRAWS, seed: int = 0) -> JudgeComparison:
    """Return the comparison, from the cache where nothing has changed. Raises as `stored_comparison`."""
    return read_back(JudgeComparison, stored_comparison(study, judge, weighting, draws=draws, seed=seed))


def stored_comparison(study: Study, judge: Rater, weighting: Weighting, *, draws: int = DRAWS, seed: int = 0) -> Plain:
    """Return the comparison as JSON values, from the cache where nothing has changed.

    Raises NothingShared, NothingToRead, MissingWeights.
    """
    asked = _settings(judge, weighting, draws, seed)
    return cached_report(study, KIND, asked, lambda: _compute(study, judge, weighting, draws, seed))


def question_about(study: Study, judge: Rater, weighting: Weighting) -> Question:
    """Return what identifies the stored comparison."""
    return question_of(study, KIND, _settings(judge, weighting, DRAWS, 0))


def _settings(judge: Rater, weighting: Weighting, draws: int, seed: int) -> Plain:
    fit = weighting.fit.public_id if weighting.fit else EQUAL
    return {"judge": judge.public_id, "weights": fit, "draws": draws, "seed": seed, **shown_setting()}


def _compute(study: Study, judge: Rater, weighting: Weighting, draws: int, seed: int) -> tuple[str, Plain]:
    people = score_frame(kinds=ABOUT_RESPONSES, study=study, judges=False)
    verdicts = judge_scores(study, judge)
    overall_keys = people.keys_of_role("overall")
    if not overall_keys:
        raise NothingToRead("This study has no overall scores from people, so the judge cannot be compared with them.")
    labels = label_frame(kinds=ABOUT_RESPONSES, study=study, people=people)
    response, mean, raters = _people_means(labels.of_criterion(overall_keys[0]))
    used = np.unique(verdicts.category).tolist()
    leaves = {leaf.pk: leaf for leaf in Category.objects.filter(pk__in=used).select_related("parent")}
    weighted = weighted_points(verdicts, weighting, leaves)
    plain_points = weighted_points(verdicts, Weighting(EQUAL), leaves)
    shared, at_judge, at_people = np.intersect1d(weighted.response, response, return_indices=True)
    if not shared.size:
        raise NothingShared("No response has both a usable verdict from this judge and an overall score from a rater.")
    instruction, model = _about(labels, shared)
    overall = labels.of_criterion(overall_keys[0])
    x, y = _exact(weighted.points[at_judge]), _exact(mean[at_people])
    points = [
        SharedResponse(pk, labels.instruction_ids[place], labels.model_names.get(writer, ""), own_points, score, number)
        for pk, place, writer, own_points, score, number in zip(
            *(column.tolist() for column in (shared, instruction, model, x, y, raters[at_people])), strict=True
        )
    ]
    report = {
        "judge": judge.name,
        "weights": weighting.name,
        "own_weights": bool(weighting.fit and weighting.fit.study_id == study.pk),
        "overall": overall_keys[0],
        "n": int(shared.size),
        "unscored": int(judges_verdicts(study, overall_keys[0]).unscored.get(judge.pk, 0)),
        "people": len(np.unique(people.rater)),
        "points": plain(points),
        **_correlation("correlation", judge_correlation, beside(overall, shared, x), seed),
        **_correlation(
            "equal", people_correlation, beside(overall, shared, _exact(plain_points.points[at_judge])), seed
        ),
        "bias": plain(judge_minus_people(beside(overall, shared, x), seed=seed)),
        "items": [
            plain(_item_agreement(people, verdicts, key, seed))
            for key in people.keys_of_role("item")
            if key in verdicts.criterion_keys
        ],
    }
    return data_hash(labels), report


def _exact(values: Floats) -> Floats:
    """Return scores as the page's file writes them: equal ones the same number, and no digits that rounding left behind."""
    return np.round(settle_ties(values), DIGITS)


def judge_scores(study: Study, judge: Rater) -> ScoreFrame:
    """Return the judge's item scores of this study's responses; where a response was judged twice, the verdict given here.

    Raises NothingShared.
    """
    frames = [score_frame(kinds=ABOUT_RESPONSES, study=study, raters=[judge.pk], people=False)]
    others = judged_elsewhere(study).filter(rater=judge).values("task__study")
    frames += [
        score_frame(kinds=[study.task_kind], study=one, raters=[judge.pk], people=False)
        for one in Study.objects.filter(pk__in=others).order_by("pk")
    ]
    wanted = np.array(list(study.tasks.filter(response_b=None).values_list("response_a", flat=True)), dtype=np.int64)
    for frame in frames:
        usable = np.isin(frame.response, wanted) & (frame.role == ROLES.index("item")) & frame.applicable
        if usable.any():
            return _with_others(frame.select(usable), [one for one in frames if one is not frame], wanted)
    raise NothingShared(f"{judge} has no usable verdicts on the responses of this study.")


def _with_others(frame: ScoreFrame, others: list[ScoreFrame], wanted: Ints) -> ScoreFrame:
    """Add to the frame the responses that only another study's verdicts cover, from the first that does."""
    missing = np.setdiff1d(wanted, frame.response)
    for other in others:
        usable = np.isin(other.response, missing) & (other.role == ROLES.index("item")) & other.applicable
        if usable.any():
            frame = joined(frame, other.select(usable))
            missing = np.setdiff1d(missing, other.response[usable])
    return frame


def joined(one: ScoreFrame, two: ScoreFrame) -> ScoreFrame:
    """Join the entries of both frames, criteria recoded to the keys of both."""
    keys = tuple(sorted(set(one.criterion_keys) | set(two.criterion_keys)))
    place = {key: code for code, key in enumerate(keys)}
    columns: dict[str, Any] = {}
    for name, values in vars(one).items():
        other = getattr(two, name)
        if name == "criterion":
            columns[name] = np.concatenate([_recoded(frame, place) for frame in (one, two)])
        elif isinstance(values, np.ndarray):
            columns[name] = np.concatenate([values, other])
        elif isinstance(values, Mapping):
            columns[name] = {**other, **values}
    return ScoreFrame(**columns, criterion_keys=keys)


def _recoded(frame: ScoreFrame, place: Mapping[str, int]) -> Ints:
    codes = np.array([place[key] for key in frame.criterion_keys], dtype=np.int64)
    return codes[frame.criterion]


def _people_means(overall: ScoreFrame) -> tuple[Ints, Floats, Ints]:
    """Return responses, their mean overall score on 0..10, and how many people gave one."""
    response, place = np.unique(overall.response, return_inverse=True)
    share = (overall.value - overall.low) / (overall.high - overall.low)
    counts = np.bincount(place)
    return response, 10 * np.bincount(place, weights=share) / counts, counts.astype(np.int64)


def _about(frame: ScoreFrame, responses: Ints) -> tuple[Ints, Ints]:
    """Return the instruction and the model of each response."""
    known, first = np.unique(frame.response, return_index=True)
    places = first[np.searchsorted(known, responses)]
    return frame.instruction[places], frame.model[places]


def beside(overall: ScoreFrame, shared: Ints, judge: Floats) -> ScoredResponses:
    """Return a judge's scores (m,) of the responses `shared` (m,), ascending, beside people's, both on 0 to 100."""
    given = overall.select(np.isin(overall.response, shared))
    instruction, model = _about(given, shared)
    return ScoredResponses(
        judge=judge,
        instruction=instruction,
        model=model,
        response=np.searchsorted(shared, given.response).astype(np.int64),
        rater=given.rater,
        value=100 * (given.value - given.low) / (given.high - given.low),
        positions=are_positions(given),
    )


def _correlation(name: str, correlate: Callable[..., PeopleCorrelation], scored: ScoredResponses, seed: int) -> Plain:
    try:
        return {name: plain(correlate(scored, seed=seed))}
    except NoStatistic as error:
        return {name: None, f"{name}_why": error.code}


def _item_agreement(people: ScoreFrame, verdicts: ScoreFrame, key: str, seed: int) -> ItemAgreement | NoItemAgreement:
    """Compare the judge with people on an item, on the responses that both have labelled."""
    given, judged = people.of_criterion(key), verdicts.of_criterion(key)
    both = np.intersect1d(given.response, judged.response)
    given, judged = given.select(np.isin(given.response, both)), judged.select(np.isin(judged.response, both))
    if not len(both):
        return NoItemAgreement(key, None, "NothingShared")
    labels = level_places(np.concatenate([given.value, judged.value]))
    tasks = np.searchsorted(both, given.response).astype(np.int64)
    of_judge = np.full(len(both), -1, dtype=np.int64)
    of_judge[np.searchsorted(both, judged.response)] = labels[len(given) :]
    of_people = labels[: len(given)]
    rater, instruction = (
        np.unique(codes, return_inverse=True)[1].reshape(-1).astype(np.int64)
        for codes in (given.rater, given.instruction)
    )
    labelled = LabelledTasks(tasks, of_people, rater, instruction, are_positions(given))
    try:
        found = beside_people(labelled, of_judge, seed=seed)
        chance = outer_leave_one_out(tasks, of_people, of_judge).chance
    except NoStatistic as error:
        return NoItemAgreement(key, None, error.code)
    return ItemAgreement(key, found.judge, found.people, found.apart, chance, found.n)
