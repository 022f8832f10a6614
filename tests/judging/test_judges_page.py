"""The page 'judges' of studies whose people compared responses, or reviewed verdicts: it answers for those as well."""

import pytest
from django.urls import reverse

from tests.calibration.pair_studies import pair_study
from tests.calibration.result_page_checks import FILES, answer_of, check_access, never_nan, signed_in, text_of
from tests.calibration.test_judge_blocks import reviewed
from tests.factories import make_answer, make_judge_rater

pytestmark = pytest.mark.django_db


def page_of(study):
    page = (
        signed_in("lead", study.workspace).get(reverse("judging:judges", args=[study.slug])).content.decode()
    )
    never_nan(page)
    return page


def test_of_pairs_it_says_how_often_the_judge_prefers_what_people_prefer():
    study = pair_study(models=2, instructions=24, raters=3, outcome=lambda i, j: 1)
    judge = make_judge_rater(study.workspace)
    for place, task in enumerate(study.tasks.order_by("pk")):
        make_answer(task, judge, {"preference": 1 if place % 4 else -1}, shown_first="a")
    check_access("judging:judges", study)
    page = page_of(study)
    assert answer_of(page).startswith("gpt-4o prefers what most people prefer in 0.75 (95 % interval")
    assert "overall score" not in text_of(page)
    client = signed_in("lead", study.workspace)
    for name in FILES.findall(page):
        assert (
            client.get(reverse("judging:judges_depth", args=[study.slug]) + f"?file={name}").status_code
            == 200
        )
    assert "matches.csv" in FILES.findall(page)


def test_of_reviews_it_says_how_many_verdicts_are_reasonable():
    _, reviews = reviewed([lambda place: (1, place % 2)])
    assert answer_of(page_of(reviews)).startswith("Reviewers call 0.75 (95 % interval")


def test_of_pairs_that_no_judge_has_seen_it_says_so():
    assert "No judge has been here yet" in page_of(pair_study(models=2, instructions=2))
