"""A judge's answers compared with people's: matching preferences, correlations and graded shares."""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, TypeAlias, TypedDict

import numpy as np

from annotation.models import Rater
from calibration.data.frames import ROLES, Bools, Floats, Ints, NothingToRead, ScoreFrame
from calibration.reports.codec import INLINED, Missing, part
from calibration.statistics.agreement.leave_one_out import OuterLeaveOneOut, outer_leave_one_out
from calibration.statistics.errors import Undefined
from calibration.statistics.judges.agreement import Beside, LabelledTasks, beside_people, same_as_majority
from calibration.statistics.judges.calibration import SoftVerdicts, soft_verdicts
from calibration.statistics.judges.comparison import (
    Confusion,
    MajorityAccuracy,
    accuracy_against_majority,
    confusion,
    majority_labels,
)
from calibration.statistics.judges.correlations import (
    JudgeCorrelation,
    ScoredResponses,
    Slopes,
    judge_correlation,
    judge_minus_people,
    judge_slopes,
)
from calibration.statistics.judges.estimates import PeopleEstimate
from calibration.statistics.ranking.rank_correlations import RankCorrelations, rank_correlations

SIDES = ("b", "tie", "a", "both_bad")
"""Labels of a preference; a level of the value 0 beside the tie is "both bad"."""


@dataclass(frozen=True)
class PairMatches:
    """A judge's preferences beside people's; the counts (4, 4) of the confusion are in the order of SIDES.

    `accuracy` and `leave_one_out` count tasks and verdicts; `majority` and `beside` have the same rates with their intervals
    for raters like these and for these raters, `beside` also people's own on the same pairs.
    """

    accuracy: MajorityAccuracy | Missing
    leave_one_out: OuterLeaveOneOut | Missing
    confusion: Confusion | Missing
    majority: PeopleEstimate | Missing
    beside: Beside | Missing


@dataclass(frozen=True)
class GroupCorrelation:
    """A judge's correlation with people on the criterion `group`."""

    by: Literal["criterion"]
    group: str
    correlation: JudgeCorrelation | Missing = field(metadata=INLINED)


@dataclass(frozen=True)
class ModelsCorrelation:
    """A judge's correlation with people over models' means, which are the units; `group` is ''."""

    by: Literal["models"]
    group: str
    correlation: RankCorrelations | Missing = field(metadata=INLINED)


@dataclass(frozen=True)
class CategoryCorrelation:
    """A judge's correlation with people in one category."""

    by: Literal["category"]
    group: str
    category: str
    category_pk: int
    correlation: JudgeCorrelation | Missing = field(metadata=INLINED)


Correlations: TypeAlias = list[GroupCorrelation | CategoryCorrelation | ModelsCorrelation]


class Drawn(TypedDict):
    """What the interval of a statistic is drawn from: the labels (n,) of the clusters, the draws, the seed."""

    draws: int
    seed: int
    clusters: Ints


def preferences(frame: ScoreFrame) -> ScoreFrame:
    """Select the usable preferences of the first preference criterion. Raises NothingToRead."""
    keys = frame.keys_of_role("preference")
    if not keys:
        raise NothingToRead("there is no preference")
    return frame.of_criterion(keys[0])


def side_labels(frame: ScoreFrame) -> Ints:
    """Each preference as an index into SIDES, regardless of its strength: (n,)."""
    return sides(frame.label_values, float(frame.high.max()))


def sides(values: Floats, highest: float) -> Ints:
    """Indices into SIDES of label values (ScoreFrame.label_values) on a scale that ends at `highest`: (n,)."""
    return np.where(values > highest, 3, np.sign(values) + 1).astype(np.int64)


def shares_of(frame: ScoreFrame) -> Floats:
    """Values as shares of their criterion's scale, 0..1: (n,)."""
    width = np.where(frame.high > frame.low, frame.high - frame.low, 1.0)
    return np.clip((frame.value - frame.low) / width, 0.0, 1.0)


def pair_matches(people: ScoreFrame, labels: ScoreFrame, judge: ScoreFrame, seed: int) -> PairMatches:
    """Compute accuracy against the labels (people's majority), outer leave-one-out and confusions, on the pairs that both
    answered. Leave-one-out measures the judge among the raters, `people`.
    """
    verdict, settled = _beside(labels, judge)
    beside = part(lambda: _beside(people, judge))
    if isinstance(beside, Missing):
        outer: OuterLeaveOneOut | Missing = beside
        both: Beside | Missing = beside
    else:
        own, among = beside
        outer = part(partial(outer_leave_one_out, among.task, among.label, own))
        both = part(partial(beside_people, among, own, seed=seed))
    return PairMatches(
        accuracy=part(partial(accuracy_against_majority, verdict, settled.task, settled.label)),
        leave_one_out=outer,
        confusion=part(lambda: _confusion(verdict, majority_labels(settled.task, settled.label))),
        majority=part(partial(same_as_majority, settled, verdict, seed=seed)),
        beside=both,
    )


def _beside(people: ScoreFrame, judge: ScoreFrame) -> tuple[Ints, LabelledTasks]:
    """By pair the judge's side, and people's sides."""
    theirs, own = preferences(people), preferences(judge)
    tasks, place = np.unique(theirs.task, return_inverse=True)
    own = own.select(np.isin(own.task, tasks))
    if not len(own):
        raise NothingToRead("people and this judge have no pair in common")
    verdict = np.full(len(tasks), -1, dtype=np.int64)
    verdict[np.searchsorted(tasks, own.task)] = side_labels(own)
    return verdict, labelled_tasks(theirs, place.reshape(-1).astype(np.int64), side_labels(theirs))


def labelled_tasks(people: ScoreFrame, task: Ints, label: Ints) -> LabelledTasks:
    """People's labels, one line each (n,), of tasks and labels as codes from 0 up."""
    rater, instruction = (
        np.unique(codes, return_inverse=True)[1].reshape(-1).astype(np.int64)
        for codes in (people.rater, people.instruction)
    )
    return LabelledTasks(task, label, rater, instruction, are_positions(people))


def _confusion(verdict: Ints, majority: Ints) -> Confusion:
    """Count by side: people in rows, judge in columns, in the order of SIDES."""
    found = confusion(verdict, majority)
    counts = np.zeros((len(SIDES), len(SIDES)), dtype=np.int64)
    counts[: found.counts.shape[0], : found.counts.shape[1]] = found.counts
    return replace(found, counts=counts)


def are_positions(frame: ScoreFrame) -> bool:
    """Whether the raters are positions of a data set rather than persons."""
    raters = np.unique(frame.rater).tolist()
    return Rater.objects.filter(pk__in=raters, kind=Rater.Kind.SLOT).exists()


@dataclass(frozen=True)
class _SharedQuestions:
    """Questions that both answered, as shares of the scale: codes of the questions, people's answers and the judge's."""

    theirs: ScoreFrame
    questions: Ints
    own: ScoreFrame
    judged: Ints


def _pairs_asked(people: ScoreFrame, judge: ScoreFrame) -> _SharedQuestions:
    theirs, own = preferences(people), preferences(judge)
    return _SharedQuestions(theirs, theirs.task, own, own.task)


def _items_asked(people: ScoreFrame, judge: ScoreFrame) -> _SharedQuestions:
    for role in ("item", "overall"):
        theirs, own = _single(people, role), _single(judge, role)
        if len(theirs) and len(own):
            keys = {key: code for code, key in enumerate(people.criterion_keys)}
            code = np.array([keys.get(key, -1) for key in judge.criterion_keys], dtype=np.int64)[own.criterion]
            known, width = code >= 0, len(keys)
            own, code = own.select(known), code[known]
            return _SharedQuestions(
                theirs, theirs.response * width + theirs.criterion, own, own.response * width + code
            )
    raise NothingToRead("people and this judge have no response in common")


def pair_shares(people: ScoreFrame, judge: ScoreFrame, draws: int, seed: int) -> SoftVerdicts:
    """Compare graded preferences for response A with the mean of people's, by task."""
    return _soft(_pairs_asked(people, judge), draws, seed)


def item_shares(people: ScoreFrame, judge: ScoreFrame, draws: int, seed: int) -> SoftVerdicts:
    """Compare graded answers to items (or overall scores) with the mean of people's, by response and item."""
    return _soft(_items_asked(people, judge), draws, seed)


def pair_slopes(people: ScoreFrame, judge: ScoreFrame, seed: int) -> Slopes:
    """The slope of people's graded preferences on the judge's, beside a typical person's."""
    return _slopes(_pairs_asked(people, judge), seed)


def item_slopes(people: ScoreFrame, judge: ScoreFrame, seed: int) -> Slopes:
    """The same of graded answers to items, or overall scores."""
    return _slopes(_items_asked(people, judge), seed)


def pair_offset(people: ScoreFrame, judge: ScoreFrame, seed: int) -> PeopleEstimate:
    """The mean over pairs of the judge's graded preference minus people's, as shares of the scale."""
    return judge_minus_people(_scored(_pairs_asked(people, judge)), seed=seed)


def item_offset(people: ScoreFrame, judge: ScoreFrame, seed: int) -> PeopleEstimate:
    """The same of graded answers to items, or overall scores."""
    return judge_minus_people(_scored(_items_asked(people, judge)), seed=seed)


def _slopes(asked: _SharedQuestions, seed: int) -> Slopes:
    return judge_slopes(_scored(asked), seed=seed)


def _scored(asked: _SharedQuestions) -> ScoredResponses:
    own, verdict = _means(asked.judged, shares_of(asked.own))
    theirs, questions = asked.theirs, asked.questions
    given = np.isin(questions, own)
    if not given.any():
        raise NothingToRead("people and this judge have nothing in common")
    theirs, questions = theirs.select(given), questions[given]
    known, first, place = np.unique(questions, return_index=True, return_inverse=True)
    return ScoredResponses(
        judge=verdict[np.searchsorted(own, known)],
        instruction=theirs.instruction[first],
        model=theirs.model[first],
        response=place.reshape(-1).astype(np.int64),
        rater=theirs.rater,
        value=shares_of(theirs),
        positions=are_positions(theirs),
    )


def _single(frame: ScoreFrame, role: str) -> ScoreFrame:
    mask: Bools = (frame.role == ROLES.index(role)) & frame.applicable & (frame.response_b == 0)
    return frame.select(mask)


def _soft(asked: _SharedQuestions, draws: int, seed: int) -> SoftVerdicts:
    """Compare by question: the judge's share (the mean where it was asked twice) against the mean of people's."""
    questions, mean = _means(asked.questions, shares_of(asked.theirs))
    own, first = np.unique(asked.judged, return_index=True)
    _, said = _means(asked.judged, shares_of(asked.own))
    both, left, right = np.intersect1d(own, questions, return_indices=True)
    if not both.size:
        raise NothingToRead("people and this judge have nothing in common")
    clusters = asked.own.instruction[first[left]]
    return soft_verdicts(said[left], mean[right], clusters=clusters, draws=draws, seed=seed)


def _means(codes: Ints, values: Floats) -> tuple[Ints, Floats]:
    known, place = np.unique(codes, return_inverse=True)
    place = place.reshape(-1)
    return known, np.bincount(place, weights=values) / np.maximum(np.bincount(place), 1)


def score_correlations(people: ScoreFrame, judge: ScoreFrame, seed: int) -> Correlations:
    """Correlate by criterion, and (on the overall score, else the mean item) by category and over model means.

    A response's score of a criterion is the mean of its raters'; the rows by category and of models take shares of
    the overall criterion's scale. Raises NothingToRead.
    """
    rows: Correlations = []
    for key in judge.criterion_keys:
        if key in people.criterion_keys:
            parts = _one_criterion(judge, key), _one_criterion(people, key)
            rows.append(GroupCorrelation("criterion", key, part(partial(_responses, *parts, seed))))
    if not rows:
        raise NothingToRead("people and this judge have no criterion in common")
    own, theirs = overall_or_items(judge), overall_or_items(people)
    categories = np.unique(theirs.category)
    if len(categories) > 1:
        for pk in categories.tolist():
            name = people.category_names.get(pk, "all")
            parts = own.select(own.category == pk), theirs.select(theirs.category == pk)
            found = part(partial(_responses, *parts, seed))
            rows.append(CategoryCorrelation("category", name, name, pk, found))
    return [*rows, ModelsCorrelation("models", "", part(lambda: _models(own, theirs)))]


def criterion_apart(people: ScoreFrame, judge: ScoreFrame, key: str, seed: int) -> PeopleEstimate:
    """The mean over responses of the judge's score of a criterion minus people's, in points of its scale."""
    own, theirs = _one_criterion(judge, key), _one_criterion(people, key)
    responses, verdict = _means(own.response, own.value)
    given = theirs.select(np.isin(theirs.response, responses))
    known, first, place = np.unique(given.response, return_index=True, return_inverse=True)
    scored = ScoredResponses(
        judge=verdict[np.searchsorted(responses, known)],
        instruction=given.instruction[first],
        model=given.model[first],
        response=place.reshape(-1).astype(np.int64),
        rater=given.rater,
        value=given.value,
        positions=are_positions(given),
    )
    return judge_minus_people(scored, seed=seed)


def _one_criterion(frame: ScoreFrame, key: str) -> ScoreFrame:
    mask = (frame.criterion == frame.criterion_keys.index(key)) & frame.applicable & (frame.response_b == 0)
    return frame.select(mask)


def overall_or_items(frame: ScoreFrame) -> ScoreFrame:
    """Select overall scores of single responses, or items where there are none."""
    overall = _single(frame, "overall")
    return overall if len(overall) else _single(frame, "item")


def _responses(judge: ScoreFrame, people: ScoreFrame, seed: int) -> JudgeCorrelation:
    """Correlate the scores of the responses that both scored."""
    own, verdict = _means(judge.response, shares_of(judge))
    given = people.select(np.isin(people.response, own))
    known, first, place = np.unique(given.response, return_index=True, return_inverse=True)
    scored = ScoredResponses(
        judge=verdict[np.searchsorted(own, known)],
        instruction=given.instruction[first],
        model=given.model[first],
        response=place.reshape(-1).astype(np.int64),
        rater=given.rater,
        value=shares_of(given),
        positions=are_positions(given),
    )
    return judge_correlation(scored, seed=seed)


def _models(judge: ScoreFrame, people: ScoreFrame) -> RankCorrelations:
    """Correlate models' mean scores on the responses that both scored."""
    shared = np.intersect1d(judge.response, people.response)
    own, theirs = (judge.select(np.isin(judge.response, shared)), people.select(np.isin(people.response, shared)))
    models, said = _means(own.model, shares_of(own))
    _, mean = _means(theirs.model, shares_of(theirs))
    if len(models) < 3:
        raise Undefined("TooFewModelMeans", "Fewer than three models were scored by people and judge.")
    return rank_correlations(said, mean)
