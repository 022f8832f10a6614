"""Length, position and family bias, and gaps between judge and people: by hand, on real stars, and as properties."""

import csv
import gzip

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from calibration.statistics.errors import TooFewRatings
from calibration.statistics.judges.bias import length_bias, position_bias, score_gaps, self_preference, swap_agreement
from tests.calibration.undefined import undefined

PREFERENCES = st.sampled_from([0.0, 0.5, 1.0])


def preferences(size):
    return arrays(np.float64, size, elements=PREFERENCES)


@st.composite
def measured(draw):
    n = draw(st.integers(2, 30))
    lengths = arrays(np.int64, n, elements=st.integers(0, 900))
    return draw(lengths), draw(lengths), draw(preferences(n))


# Length


def test_length_bias_by_hand():
    # Longer by 400 (wins), 150 (second longer, wins), 120 (tie), 500 (second longer, loses), 20 (too near for 100).
    first = np.array([500, 100, 320, 100, 120])
    second = np.array([100, 250, 200, 600, 100])
    score = np.array([1, 0, 0.5, 1, 1])
    at_100 = length_bias(first, second, score, threshold=100)
    assert (at_100.wins, at_100.ties, at_100.losses, at_100.n, at_100.n_closer) == (2, 1, 1, 4, 1)
    assert (at_100.win_share.value, at_100.tie_share.value, at_100.loss_share.value) == (0.5, 0.25, 0.25)
    assert at_100.rate.value == 0.25
    assert at_100.win_share.interval_kind == "none"
    at_300 = length_bias(first, second, score, threshold=300)
    assert (at_300.wins, at_300.ties, at_300.losses) == (1, 0, 1)
    assert at_300.rate.value == 0


def test_shares_of_llmeval_table_3():
    # Its counts give its percentages, and HREF's rate as their difference.
    for counts, shares in [
        ((32534, 30395, 7128), (46.4, 43.4, 10.2)),
        ((14679, 11360, 2523), (51.4, 39.8, 8.8)),
        ((12183, 1440, 2989), (73.3, 8.7, 18.0)),
        ((5606, 538, 970), (78.8, 7.6, 13.6)),
    ]:
        score = np.repeat([1, 0.5, 0], counts)
        result = length_bias(np.full(score.size, 300), np.zeros(score.size), score, threshold=300)
        found = (result.win_share.value, result.tie_share.value, result.loss_share.value)
        assert [round(100 * share, 1) for share in found] == list(shares)
        assert result.rate.value == pytest.approx((counts[0] - counts[2]) / sum(counts))


@given(measured())
def test_length_bias_ignores_sides_and_turns_with_the_results(data):
    first, second, score = data
    if (first == second).all():
        with pytest.raises(TooFewRatings):
            length_bias(first, second, score)
        return
    result = length_bias(first, second, score)
    assert length_bias(second, first, 1 - score) == result
    assert length_bias(first, second, 1 - score).rate.value == pytest.approx(-result.rate.value)
    assert result.wins + result.ties + result.losses == result.n
    assert result.n + result.n_closer == score.size


def test_length_bias_interval_draws_whole_clusters():
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(30), 20)
    score = np.repeat(rng.choice([0, 0.5, 1], 30), 20)
    lengths = np.full(600, 400), np.full(600, 100)
    whole = length_bias(*lengths, score, clusters=clusters, draws=500).rate
    alone = length_bias(*lengths, score, draws=500).rate
    assert (whole.interval_kind, whole.clusters, whole.draws) == ("bootstrap95", 30, 500)
    assert whole.low < whole.value < whole.high
    assert whole.high - whole.low > 3 * (alone.high - alone.low)
    few = length_bias(*lengths, score, clusters=clusters // 5, draws=500).rate
    assert few.interval_kind == "leave_one_out_range"


@pytest.mark.parametrize(
    ("first", "score", "threshold", "said"),
    [
        ([400, 500], [1, 0.2], 100, "1, 0.5 or 0"),
        ([400], [1, 0], 100, "1 length differences for 2"),
        ([400, 500], [1, 0], 0, "at least 1 character"),
    ],
)
def test_length_bias_refuses(first, score, threshold, said):
    with pytest.raises(ValueError, match=said):
        length_bias(np.array(first), np.zeros(len(first)), np.array(score), threshold=threshold)


# Position


def test_position_bias_by_hand():
    # 3 first, 2 ties, 1 second: points (3 + 1)/6, and 3 of the 4 decided.
    result = position_bias(np.array([1, 1, 1, 0.5, 0.5, 0]))
    assert result.first_points.value == pytest.approx(4 / 6)
    assert result.first_wins.value == 0.75
    assert (result.n, result.n_decided) == (6, 4)
    with pytest.raises(TooFewRatings):
        position_bias(np.full(3, 0.5))


@given(preferences(12))
def test_swapping_every_side_turns_position_bias(score):
    if (score == 0.5).all():
        return
    one, other = position_bias(score), position_bias(1 - score)
    assert one.first_points.value + other.first_points.value == pytest.approx(1)
    assert one.first_wins.value + other.first_wins.value == pytest.approx(1)


def test_position_bias_covers_a_planted_share_on_clusters():
    kept = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        leaning = np.clip(rng.normal(0.6, 0.2, 40), 0, 1)
        score = (rng.random((40, 10)) < leaning[:, None]).astype(float).reshape(-1)
        share = position_bias(score, clusters=np.repeat(np.arange(40), 10), draws=400, seed=seed).first_wins
        kept += share.low <= 0.598 <= share.high
    assert 0.90 <= kept / 200 <= 0.99


def test_swap_agreement_by_hand():
    # Points of the side shown first, before and after the swap: same response, first twice, second twice, tie to first.
    result = swap_agreement(np.array([1, 1, 0, 0.5]), np.array([0, 1, 0, 1]))
    assert result.agreement.value == 0.25
    assert result.flip_rate.value == 0.5
    assert (result.first_both_times, result.second_both_times, result.n) == (1, 1, 4)


@given(preferences(9))
def test_a_rater_who_sees_only_responses_never_flips_and_one_who_sees_only_sides_always_does(score):
    assert swap_agreement(score, 1 - score).agreement.value == 1
    assert swap_agreement(score, 1 - score).flip_rate.value == 0
    assert swap_agreement(score, score).flip_rate.value == pytest.approx((score != 0.5).mean())


# Family


def test_self_preference_by_hand():
    # Own side first, second, first; the last game has both sides of the family and is left out.
    first, second = np.array([1, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    result = self_preference(first, second, np.array([1, 0, 0.5, 0]), np.array([0.5, 0.5, 0, 1]))
    # Judge: 1, 1, .5 for its family, people .5, .5, 0: lift .5.
    assert result.n == 3
    assert result.judge.value == pytest.approx(2.5 / 3)
    assert result.reference.value == pytest.approx(1 / 3)
    assert result.lift.value == pytest.approx(0.5)


@given(preferences(10))
def test_a_judge_that_answers_as_people_do_has_no_lift(score):
    own = np.arange(10) % 2 == 0
    result = self_preference(own, ~own, score, score)
    assert result.lift.value == 0
    turned = self_preference(~own, own, 1 - score, 1 - score)
    assert turned.judge.value == pytest.approx(result.judge.value)


def test_self_preference_needs_games_of_one_family_side():
    neither = np.zeros(2, bool)
    with pytest.raises(TooFewRatings):
        self_preference(neither, neither, np.ones(2), np.ones(2))
    with undefined("OutOfRange"):
        self_preference(~neither, neither, np.ones(2), np.full(2, 1.5))


# Gaps of scores


def test_score_gaps_by_hand():
    # Gaps of accuracy 0, 2, -4, and of fluency 1; at least 2: 2 of 3; at least 4: 1 of 3.
    accuracy, fluency = score_gaps(
        np.array([3, 5, 1, 3]), np.array([3, 3, 5, 2]), ["accuracy", "accuracy", "accuracy", "fluency"]
    )
    assert accuracy.criterion == "accuracy"
    assert accuracy.counts == (2, 2, 1, 1)
    assert [share.value for share in accuracy.shares] == pytest.approx([2 / 3, 2 / 3, 1 / 3, 1 / 3])
    assert accuracy.mean_gap.value == pytest.approx(-2 / 3)
    assert fluency.counts == (1, 0, 0, 0)
    assert fluency.n == 1


@given(arrays(np.float64, (2, 15), elements=st.integers(1, 5).map(float)), st.floats(-3, 3))
def test_gaps_ignore_who_is_higher_and_a_common_shift(scores, shift):
    one, two = scores
    criteria = np.arange(15) % 3
    gaps = score_gaps(one, two, criteria)
    turned = score_gaps(two + shift, one + shift, criteria)
    for gap, other in zip(gaps, turned, strict=True):
        assert gap.counts == other.counts
        assert list(gap.counts) == sorted(gap.counts, reverse=True)
        assert gap.mean_gap.value == pytest.approx(-other.mean_gap.value)


def test_gaps_of_llmeval2_six_subjects(shared_data):
    with gzip.open(shared_data("llmeval2/stars.csv.gz"), "rt", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    found = {
        gap.criterion: gap
        for gap in score_gaps(
            np.array([float(line["gpt4"]) for line in lines]),
            np.array([float(line["human"]) for line in lines]),
            [f"{line['type']} {line['criterion']}" for line in lines],
            clusters=[line["question_uuid"] for line in lines],
            draws=500,
        )
    }
    # Counted by hand on the six of twelve subjects there are; the paper's twelve give 37.05, 6.99, 3.49, 7.87, 9.97.
    assert {key: gap.counts for key, gap in found.items()} == {
        "A Correctness": (702, 422, 0, 0),
        "A Explanation Correctness": (889, 0, 0, 0),
        "B Accuracy": (732, 732, 127, 127),
        "B Fluency": (373, 65, 0, 0),
        "B Informativeness": (802, 188, 0, 0),
        "B Logicality": (658, 167, 0, 0),
    }
    # Correctness on 1 and 3 cannot differ by 3: the printed "12.98 % >= 3" lies in the interval of >= 2.
    over_2 = found["A Correctness"].shares[1]
    assert over_2.low < 0.1298 < over_2.high
    assert over_2.clusters == 154
    assert over_2.interval_kind == "wilson95"
    assert found["A Correctness"].mean_gap.interval_kind == "bootstrap95"
    for criterion, printed in [("B Fluency", 0.0349), ("B Logicality", 0.0787), ("B Informativeness", 0.0997)]:
        assert found[criterion].shares[1].low < printed < found[criterion].shares[1].high


def test_gaps_refuse_what_is_not_a_score():
    with pytest.raises(TooFewRatings):
        score_gaps(np.array([]), np.array([]), [])
    with undefined("OutOfRange"):
        score_gaps(np.array([np.nan]), np.array([1.0]), ["a"])
    with pytest.raises(ValueError, match="cluster labels"):
        score_gaps(np.ones(2), np.ones(2), ["a", "a"], clusters=[1])
