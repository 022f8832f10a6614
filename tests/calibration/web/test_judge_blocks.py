"""What the page on judges in depth says of matches, swapped sides, graded verdicts and findings, and who is meant."""

import numpy as np
import pytest
from django.urls import reverse

from annotation.models import Rater, Study
from annotation.rubrics.reviews import review_rubric
from calibration.reports.judges import JUDGES, judges_settings
from calibration.reports.registry import report_of
from tests.calibration.pair_studies import pair_study
from tests.calibration.result_page_checks import check_files, never_nan, signed_in, text_of
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater
from tests.markup import markup

pytestmark = pytest.mark.django_db


def report(study):
    return report_of(study, JUDGES, judges_settings(study))


def address(study):
    return reverse("judging:judges_depth", args=[study])


def words_of(study):
    page = markup(signed_in("lead", study.workspace).get(address(study)))
    never_nan(page)
    return text_of(page)


def test_matches_count_the_side_and_both_bad_is_an_answer_of_its_own():
    # Three people on three pairs: all A; all both bad; A, A, B. The judge: A, tie, A.
    study = pair_study(models=2, instructions=3, raters=3, outcome=lambda i, j: 1)
    judge = make_judge_rater(study.workspace)
    first, second, third = study.tasks.order_by("pk")
    for answer in second.assignments.all():
        scores = answer.scores.get()
        answer.scores.create(criterion=scores.criterion, revision=1, value=0, level="both_bad")
    last = third.assignments.order_by("pk").last().scores.get()
    last.assignment.scores.create(criterion=last.criterion, revision=1, value=-1, level="b")
    for task, value in ((first, 1), (second, 0), (third, 1)):
        make_answer(task, judge, {"preference": value}, shown_first="a")
    found = report(study).judges[0].matches
    assert found.accuracy.rate == pytest.approx(2 / 3) and found.accuracy.n_tasks == 3
    # Leave one out: 1, 0, and on the third pair two of the three leave A and B tied: (1 + 1/2 + 1/2)/3.
    assert found.leave_one_out.rate == pytest.approx((1 + 0 + 2 / 3) / 3)
    assert found.majority.value == found.accuracy.rate and found.beside.judge.value == found.leave_one_out.rate
    assert found.confusion.counts.tolist() == [[0] * 4, [0] * 4, [0, 0, 2, 0], [0, 1, 0, 0]]
    names = check_files(signed_in("lead", study.workspace), address(study))
    assert {"matches.svg", "matches.csv", "confusion-0.csv"} <= set(names)
    assert "both bad" in words_of(study)


def test_a_judge_asked_in_both_orders_is_compared_with_itself():
    study = pair_study(models=2, instructions=24, raters=1)
    judge = make_judge_rater(study.workspace)
    for place, task in enumerate(study.tasks.order_by("pk")):
        # Every third pair: always the side shown first; the others: always response A.
        loves_first = place % 3 == 0
        make_answer(task, judge, {"preference": 1}, shown_first="a")
        make_answer(task, judge, {"preference": -1 if loves_first else 1}, shown_first="b", repeat=1)
    found = report(study).judges[0].sways
    assert found.swap.n == 24 and found.swap.agreement.value == pytest.approx(2 / 3)
    assert found.swap.flip_rate.value == pytest.approx(1 / 3)
    assert (found.swap.first_both_times, found.swap.second_both_times) == (8, 0)
    # Seen from both sides, what is liked for itself is first as often as second: (8 x 2 + 16)/48.
    assert found.position.n == 48 and found.position.first_wins.value == pytest.approx(2 / 3)
    assert report(study).people.swap.why == "NeverSwapped"
    names = check_files(signed_in("lead", study.workspace), address(study))
    assert {"swap.svg", "swap.csv"} <= set(names)


def test_graded_answers_are_held_against_peoples_mean():
    # Two people answer item0 with 0.5 and 1 on every response, the judge with 0.25 or 1.
    study = make_checklist_study(instructions=22, models=1, items=1)
    people, judge = [make_rater(study), make_rater(study)], make_judge_rater(study.workspace)
    for place, task in enumerate(study.tasks.order_by("pk")):
        for rater, value in zip(people, (0.5, 1.0), strict=True):
            make_answer(task, rater, {"item0": value, "overall": 5 + place % 2})
        make_answer(task, judge, {"item0": 0.25 if place % 2 else 1.0, "overall": 5})
    soft = report(study).judges[0].soft
    assert [(one.judge, one.people.value, one.n) for one in soft.groups] == [(0.25, 0.75, 11), (1.0, 0.75, 11)]
    assert soft.slope.value == pytest.approx(0) and soft.offset.value == pytest.approx(-0.125)
    assert soft.error.value == pytest.approx((0.5 + 0.25) / 2)
    client = signed_in("lead", study.workspace)
    assert {"soft.svg", "soft.csv", "soft-summary.csv"} <= set(check_files(client, address(study)))
    page = text_of(markup(client.get(address(study))))
    assert "People's means are for exactly these raters: " in page


def test_correlations_by_criterion_and_over_models():
    study = make_checklist_study(instructions=10, models=4, items=1)
    rater, judge = make_rater(study), make_judge_rater(study.workspace)
    for place, task in enumerate(study.tasks.order_by("pk")):
        quality = place % 4 + place % 3
        make_answer(task, rater, {"item0": place % 5 / 4, "overall": quality})
        make_answer(task, judge, {"item0": 1 - place % 5 / 4, "overall": quality + 2})
    rows = {(row.by, row.group): row for row in report(study).judges[0].correlations}
    assert rows["criterion", "overall"].correlation.pearson.value == pytest.approx(1)
    assert rows["criterion", "item0"].correlation.spearman.value == pytest.approx(-1)
    assert rows["models", ""].correlation.n == 4 and rows["models", ""].correlation.kendall.value == pytest.approx(1)
    assert "model means" in words_of(study)


def reviewed(findings):
    """A judge's verdicts on 20 responses, and a study of reviews: findings[rater][place] for item0 and item1."""
    study = make_checklist_study(instructions=20, models=1, items=2)
    judge = make_judge_rater(study.workspace)
    reviews = Study.objects.create(
        workspace=study.workspace,
        slug="reviews",
        kind="review",
        status="open",
        names={"en": "Reviews"},
        benchmark=study.benchmark,
    )
    raters = [make_rater(reviews) for _ in findings]
    for place, task in enumerate(study.tasks.order_by("pk")):
        verdict = make_answer(task, judge, {"item0": 1.0, "item1": 0.5})
        review = reviews.tasks.create(
            kind="review",
            key=f"v:{verdict.pk}",
            response_a=task.response_a,
            reviews=verdict,
            answer_rubric=review_rubric(task.answer_rubric),
        )
        for rater, say in zip(raters, findings, strict=True):
            one, other = say(place)
            make_answer(review, rater, {"item0": one, "item1": other})
    return study, reviews


def test_the_reasonable_rate_counts_findings_by_criterion():
    study, reviews = reviewed([lambda place: (1, place % 2), lambda place: (1, 0)])
    for one in (study, reviews):
        rows = {row.criterion: row for row in report(one).reasonable}
        assert rows["item0"].rate.value == 1 and rows["item1"].rate.value == pytest.approx(0.25)
        every = rows[""]
        assert every.rate.value == pytest.approx(0.625) and every.rate.interval_kind == "wilson95"
        assert (every.n, every.verdicts, every.raters) == (80, 20, 2)
        assert "Reviewers call 0.63" in words_of(one) or "Reviewers call 0.62" in words_of(one)
    names = check_files(signed_in("lead", study.workspace), address(reviews))
    assert names == ["page.json", *(f"reasonable.{suffix}" for suffix in ("csv", "json", "png", "svg", "tex"))]


def test_the_reasonable_rate_states_raters_like_these_before_exactly_these():
    _study, reviews = reviewed([lambda place, k=k: ((place + k) % 4 > 0, (place * k) % 3 > 0) for k in range(1, 5)])
    row = next(row for row in report(reviews).reasonable if not row.criterion)
    assert row.such.low < row.rate.low < row.rate.value < row.rate.high < row.such.high
    assert f"95 % interval for raters like these {row.such.low:.2f} to" in words_of(reviews)
    assert "; for exactly these raters" in words_of(reviews)


def test_the_reasonable_rate_of_two_reviewers_says_whom_its_interval_is_about():
    _study, reviews = reviewed([lambda place: (1, place % 2), lambda place: (1, 0)])
    said = words_of(reviews)
    assert "95 % interval for exactly these raters" in said
    assert "No interval for raters like these is stated: that needs at least 3 raters, and there are 2." in said


def test_a_new_finding_is_counted_at_once():
    study, reviews = reviewed([lambda place: (1, 1)])
    assert report(study).reasonable[0].rate.value == 1
    task = reviews.tasks.first()
    make_answer(task, make_rater(reviews), {"item0": 0, "item1": 0})
    assert report(study).reasonable[0].rate.value == pytest.approx(40 / 42)


def test_without_a_review_the_page_says_how_to_get_one():
    study = make_checklist_study(instructions=2)
    judge = make_judge_rater(study.workspace)
    for task in study.tasks.all():
        make_answer(task, judge, {"overall": 5})
    assert "Create a study that reviews" in words_of(study)


def test_findings_are_no_scores_of_responses():
    """A study of reviews holds 1 and 0 under the items' keys: nothing of it may be held against the judge's scores."""
    _, reviews = reviewed([lambda place: (place % 2, 1)])
    found = report(reviews)
    assert found.kind == "reviews" and not hasattr(found, "judges")
    assert "How far" not in words_of(reviews)
    assert np.isclose(found.reasonable[0].rate.value, 0.75)


def test_judges_have_sensitivity_and_specificity_against_the_correct_answers():
    # 24 tasks, "A is better" correct for the first 12: the judge finds 9 of them, and says so wrongly of 3 of the others.
    study = pair_study(models=2, instructions=24, raters=1)
    study.policies = {**study.policies, "adjudicated_labels": True}
    study.save()
    key = make_rater(study, label="correct answers", kind=Rater.Kind.KEY)
    judge = make_judge_rater(study.workspace)
    for place, task in enumerate(study.tasks.order_by("pk")):
        truth = 1 if place < 12 else -1
        make_answer(task, key, {"preference": truth}, shown_first="a")
        said = -truth if place % 12 < 3 else truth
        make_answer(task, judge, {"preference": said}, shown_first="a")
    (found,) = report(study).truth
    (row,) = found.judges
    assert (row.rater, row.is_judge, found.tasks) == ("gpt-4o", True, 24)
    assert (row.sensitivity.value, row.sensitivity.n, row.specificity.value) == (0.75, 12, 0.75)
    # Wilson's interval of 9 of 12.
    assert (row.sensitivity.low, row.sensitivity.high) == pytest.approx((0.4677, 0.9111), abs=1e-4)
    assert "Judges against the correct answers" in words_of(study)
    assert "judged-truth-1.csv" in check_files(signed_in("lead", study.workspace), address(study))
