"""The cause of each difference between a judge and people, by hand and on simulated answers."""

import numpy as np
import pytest

from calibration.statistics.agreement.causes import (
    ALONE,
    CAUSES,
    GUIDELINE,
    JUDGE,
    RATER,
    AnswersBeside,
    causes_of,
    causes_of_lines,
)
from calibration.statistics.errors import TooFewRatings


def lines(*questions, tolerance=0.0):
    """Each question is (people's answers, the judge's)."""
    people = [np.asarray(answers, dtype=float) for answers, _judge in questions]
    counts = [len(one) for one in people]
    places = np.repeat(np.arange(len(questions)), counts)
    return AnswersBeside(
        question=places,
        rater=np.concatenate([np.arange(count) for count in counts]),
        instruction=places,
        value=np.concatenate(people),
        judge=np.repeat([float(judge) for _answers, judge in questions], counts),
        tolerance=np.full(sum(counts), tolerance),
    )


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([3, 3], [JUDGE, JUDGE]),
        ([3], [ALONE]),
        ([1, 3], [GUIDELINE, GUIDELINE]),
        ([3, 1, 3], [JUDGE, RATER, JUDGE]),
        ([5, 3, 3, 3], [RATER, JUDGE, JUDGE, JUDGE]),
        ([1, 1, 3, 3], [GUIDELINE] * 4),
        ([1, 2, 3], [GUIDELINE] * 3),
    ],
)
def test_the_cause_is_read_from_what_the_others_said(answers, expected):
    assert causes_of_lines(lines((answers, 4))).tolist() == expected
    shuffled = [answers[place] for place in np.random.default_rng(0).permutation(len(answers))]
    assert sorted(causes_of_lines(lines((shuffled, 4)))) == sorted(expected)


def test_answers_within_the_tolerance_agree_and_nobody_is_apart_where_either_end_could_be():
    found = causes_of_lines(lines(([5, 6], 9), ([5, 6, 7], 9), ([5, 6, 8], 9), tolerance=1.0))
    assert found.tolist() == [JUDGE, JUDGE, GUIDELINE, GUIDELINE, GUIDELINE, JUDGE, JUDGE, RATER]
    assert lines(([5, 6], 7), tolerance=1.0).apart.tolist() == [True, False]


def test_shares_are_of_the_differences_with_a_known_cause():
    found = causes_of(lines(([3, 3], 1), ([1, 3], 1), ([2], 1), ([1, 1, 4], 1)))
    # Apart: two of the judge's, one of the guideline's, one that nobody else answered, one rater's.
    assert (found.answers, found.differing) == (8, 5)
    assert found.share.value == pytest.approx(5 / 8)
    assert {cause: share.value for cause, share in found.shares.items()} == pytest.approx(
        {"judge": 0.5, "guideline": 0.25, "rater": 0.25}
    )


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(TooFewRatings):
        causes_of(lines(([1, 1], 1)))
    with pytest.raises(TooFewRatings):
        causes_of(lines(([2], 1)))


def test_planted_causes_are_recovered_with_their_intervals():
    """A judge that errs on a tenth of clear questions beside a guideline that splits people on a fifth."""
    rng = np.random.default_rng(5)
    questions = []
    for _number in range(400):
        truth = int(rng.integers(1, 6))
        if rng.uniform() < 0.2:
            questions.append((rng.choice([1, 2, 4, 5], 4, replace=False), truth))
        else:
            questions.append(([truth] * 4, truth if rng.uniform() < 0.9 else 6 - truth if truth != 3 else 1))
    found = causes_of(lines(*questions))
    judged = sum(4 for answers, judge in questions if len(set(answers)) == 1 and judge != answers[0])
    split = sum(sum(one != judge for one in answers) for answers, judge in questions if len(set(answers)) > 1)
    expected = judged / (judged + split)
    assert found.shares["judge"].value == pytest.approx(expected)
    assert found.shares["judge"].low < expected < found.shares["judge"].high
    assert set(found.shares) == set(CAUSES) - {"alone"}
