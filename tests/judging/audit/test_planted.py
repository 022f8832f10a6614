"""Biases planted in a simulated judge are found with their sign and size, and an honest judge has none."""

import numpy as np
import pytest

from calibration.statistics.agreement.such_raters import alpha_variance
from judging.audit.auditing import audit
from judging.audit.measures import common_lines, holm, interval_alpha
from judging.audit.ratings import read_ratings
from judging.audit.roles import AuditOptions, find_layout, moment, read_table
from tests.judging.audit.tables import as_long, pairs, scores, write


def found_in(tmp_path, rows, name="table.csv"):
    return audit(write(tmp_path / name, rows), AuditOptions())


def check(report, kind):
    (found,) = [one for one in report.checks if one.kind == kind]
    return found


@pytest.mark.parametrize("make", [scores, pairs])
def test_an_honest_judge_has_hardly_ever_a_finding(tmp_path, make):
    """A test at 5 % for a whole audit: 3 or more of 12 audits happen in 2 % of runs, and these seeds are fixed."""
    found = [found_in(tmp_path, make(items=60, seed=seed)).findings for seed in range(12)]
    assert sum(bool(one) for one in found) <= 2


def test_a_judge_that_uses_less_of_the_scale_is_not_called_biased(tmp_path):
    """Better responses are longer here: half the slope on quality would look like a dislike of length without b."""
    report = found_in(tmp_path, scores(seed=2, slope=0.5, noise=0.1))
    assert abs(check(report, "length").effect.value) < 0.05 and not check(report, "length").finding
    people = found_in(tmp_path, scores(seed=2, slope=0.5, noise=0.1, raters=1))
    assert check(people, "length").effect.value < -0.1


@pytest.mark.parametrize(
    ("kind", "size", "rows"),
    [
        ("length", 0.15, {"length": 0.15}),
        ("length", -0.15, {"length": -0.15}),
        ("family", 0.4, {"family": 0.4}),
        ("severity", -0.6, {"severity": -0.6}),
        ("format", 0.3, {"formatted": 0.3}),
        ("drift", -0.4, {"drift": -0.4}),
    ],
)
def test_a_planted_bias_of_scores_is_found_with_its_size(tmp_path, kind, size, rows):
    found = check(found_in(tmp_path, scores(seed=11, **rows)), kind)
    assert found.finding and found.population == "such"
    assert found.effect.such.low < size < found.effect.such.high
    assert abs(found.effect.value - size) < 0.12


def test_a_length_bias_does_not_look_smaller_because_better_responses_are_longer(tmp_path):
    """Quality and length correlate at .53 here, so that a slope without the judge's own regression would be .72 of it."""
    sizes = [check(found_in(tmp_path, scores(seed=seed, length=0.3, noise=0.2)), "length") for seed in range(4)]
    assert np.mean([one.effect.value for one in sizes]) == pytest.approx(0.3, abs=0.03)


def test_a_judge_that_repeats_one_person_is_found_and_named(tmp_path):
    found = check(found_in(tmp_path, scores(seed=12, copy=0.5)), "copy")
    assert found.finding and found.about == "annotator0" and found.population == "these"
    assert found.effect.these.low < 0.5 < found.effect.these.high and found.effect.why == "one_person"
    assert not check(found_in(tmp_path, scores(seed=12)), "copy").finding
    # One of five people was chosen, so what is detectable is 1.76 half widths of a 95 % interval, and not 1.42.
    half = (found.effect.these.high - found.effect.these.low) / 2
    assert len(found_in(tmp_path, scores(seed=12)).people) == 5 and found.detectable / half == pytest.approx(
        1.76, abs=0.08
    )


def test_the_moments_of_verdicts_and_the_marks_of_formatting_are_read(tmp_path):
    table = read_table(write(tmp_path / "t.csv", scores(items=20, seed=13, drift=1.0)))
    ratings = read_ratings(table, find_layout(table, AuditOptions()))
    assert set(ratings.formatted) == {0.0, 1.0}
    assert np.diff(ratings.moments["gpt4_score"]).min() == 0 and ratings.moments["gpt4_score"][0] == 1767261600.0
    lacking = found_in(tmp_path, scores(items=20, seed=13))
    said = [text.code for text in lacking.cannot_say]
    assert "audit.no_format" in said and "audit.no_times" in said


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2026-01-01", 1767225600.0),
        ("2026-01-01T01:00:00+01:00", 1767225600.0),
        ("1767225600", 1767225600.0),
        ("1767225600000", 1767225600.0),
        ("42", None),
        ("soon", None),
        ("", None),
    ],
)
def test_a_moment_is_a_date_or_seconds_of_this_age_and_no_duration(text, found):
    assert moment(text) == found


def test_a_judge_that_takes_the_first_side_is_found_and_one_with_its_repeats_too(tmp_path):
    report = found_in(tmp_path, pairs(seed=4, first=0.3))
    assert check(report, "position").finding and check(report, "position").effect.value > 0.05
    assert not report.repeats
    report = found_in(tmp_path, pairs(seed=4, follows=0.3, swapped=True))
    assert check(report, "swaps").finding and 0.2 < check(report, "swaps").effect.value < 0.4
    (repeats,) = report.repeats
    assert repeats.swapped and repeats.n == 300 and 0.6 < repeats.same < 0.8
    assert repeats.ends.low < repeats.same < repeats.ends.high


def test_a_noisy_judge_agrees_less_than_people_and_a_copy_of_their_mean_more(tmp_path):
    noisy = found_in(tmp_path, scores(seed=5, noise=2.0))
    assert check(noisy, "agreement").finding and check(noisy, "agreement").effect.value < -0.2
    (agreement,) = noisy.agreement
    assert agreement.measure == "correlation" and agreement.value.value < agreement.ceiling.value
    best = check(found_in(tmp_path, scores(seed=5, noise=0.01)), "agreement")
    assert best.effect.value > 0 and best.corrected < 0.05 and not best.finding


def test_a_long_table_says_what_its_wide_one_says(tmp_path):
    rows = list(scores(items=60, seed=6))
    wide = found_in(tmp_path, rows)
    long = found_in(tmp_path, as_long(rows), "long.csv")
    assert wide.agreement == long.agreement and long.alpha == wide.alpha
    assert check(wide, "agreement").p == check(long, "agreement").p


def test_few_items_state_no_interval_and_no_finding(tmp_path):
    report = found_in(tmp_path, scores(items=10, seed=7, severity=3.0))
    assert report.checks == () and any("at least 20 items" in text for text in report.cannot_say)


def test_what_more_items_would_show_is_stated_with_its_interval(tmp_path):
    """By hand: 80 % power for d needs a standard error of d / 2.8016; the items' variance falls as 1/items."""
    report = found_in(tmp_path, pairs(items=40, seed=8))
    found = check(report, "agreement")
    assert found.needed is not None and found.needed.target == 0.05
    needed = found.needed
    assert needed.items is None or (needed.low < needed.items < needed.high and needed.items > found.items)


def test_alpha_by_sums_is_alpha_by_counts(tmp_path):
    table = read_table(write(tmp_path / "t.csv", scores(items=30, seed=9)))
    ratings = read_ratings(table, find_layout(table, AuditOptions()))
    rows = ratings.instruction[ratings.task]
    counted = alpha_variance(ratings.task, ratings.value, ratings.rater, rows, metric="interval")
    summed = interval_alpha(common_lines(ratings, np.zeros(len(ratings.instruction)), 2, centred=False))
    for name in ("value", "these", "raters", "such", "freedom"):
        assert getattr(summed, name) == pytest.approx(getattr(counted, name), rel=1e-9)


def test_holm_by_hand():
    """.01 x 4, .02 x 3, .03 x 2, .04 x 1, never falling."""
    assert holm(np.array([0.04, 0.01, 0.03, 0.02])) == pytest.approx([0.06, 0.04, 0.06, 0.06])
