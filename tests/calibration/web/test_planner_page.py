"""The page that plans a study."""

import pytest
from django.urls import reverse

from calibration.reports.agreement import agreement_report
from tests.calibration.answered_studies import answered_study
from tests.calibration.pair_studies import pair_study
from tests.calibration.result_page_checks import answer_of, check_files, never_nan, signed_in, text_of
from tests.factories import make_checklist_study, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db

SMALL = (
    "?instructions=22&models=2&raters=4&overlap=2&items=3&hourly_pay=12.50&words_per_response=238&"
    "words_per_instruction=0&seconds_per_answer=0&repeat_share=0.1"
)


def address(study, query=""):
    return reverse("calibration:planner", args=[study]) + query


def page_of(study, query=""):
    return markup(signed_in("lead", study.workspace).get(address(study, query)))


def test_only_those_who_read_results_see_it():
    study = make_checklist_study(instructions=2)
    for role in ("owner", "lead", "analyst"):
        assert signed_in(role, study.workspace).get(address(study)).status_code == 200
    for role in ("rater", "reviewer", None):
        assert signed_in(role, study.workspace).get(address(study)).status_code == 403
    assert signed_in("owner", make_workspace("other-lab")).get(address(study)).status_code == 404


def test_hours_and_cost_by_hand():
    # 22 instructions x 2 models x 2 raters = 88, a tenth again: 97 answers of one minute each (238 words at 238 a
    # minute, no time to answer) = 1.617 hours, 0.4 for each of 4 raters, at 12.50 an hour 20.21.
    page = page_of(make_checklist_study(), SMALL)
    assert answer_of(page).startswith("97 ratings take 1.6 hours, 0.4 per rater, and cost 20.21.")
    assert "95 % interval" in answer_of(page)


def test_every_figure_and_table_can_be_taken_away():
    study = make_checklist_study()
    names = check_files(signed_in("lead", study.workspace), address(study, SMALL))
    assert {"intervals.svg", "weights.png", "overlap.csv", "work.csv"} <= set(names)


def test_it_starts_from_the_study_and_its_measured_agreement():
    study = answered_study(instructions=7, models=2)
    alpha = agreement_report(study).alpha["interval"].value
    page = page_of(study)
    assert 'name="instructions" value="7"' in page and 'name="models" value="2"' in page
    assert f'name="agreement" value="{round(alpha, 2)}"' in page


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("?instructions=0", "greater than or equal to 1"),
        ("?instructions=many", "whole number"),
        ("?overlap=6&raters=2", "cannot have more raters than the study has"),
        ("?instructions=5000&models=100", "simulates at most 200,000"),
        ("?agreement=2", "less than or equal to 1"),
    ],
)
def test_a_plan_that_cannot_be_is_explained(query, said):
    page = page_of(make_checklist_study(), query)
    assert said in text_of(page) and '<p class="answer">' not in page


def test_one_rater_and_no_repeats_is_a_sentence():
    page = page_of(make_checklist_study(), "?instructions=5&models=1&overlap=1&raters=1&repeat_share=0&items=6")
    never_nan(page)
    assert "no weights could be fitted" in text_of(page)


def test_it_says_where_overlap_takes_more_raters_than_are_planned():
    study = make_checklist_study()
    few = text_of(page_of(study, SMALL))  # 4 raters; overlaps of 5 and more are shown beside
    assert "plans with 5 or more raters per response assume that many raters instead of the 4 planned" in few
    many = text_of(page_of(study, SMALL.replace("raters=4", "raters=10")))
    assert "assume that many raters" not in many


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (
            {"raters": 2},
            "You expect 2 raters, but 3 ratings per task take that many different raters. The plan assumes 3.",
        ),
        ({"raters": 1}, "You expect 1 rater, but 3 ratings"),
        ({"raters": 3}, ""),
        ({}, ""),
    ],
)
def test_the_plan_beside_a_set_up_says_when_it_counts_more_raters_than_expected(plan, said):
    study = make_checklist_study(instructions=3, status="draft")
    study.policies = {"overlap": 3, "plan": plan}
    study.save()
    address = reverse("calibration:plan_fragment", args=[study])
    page = text_of(markup(signed_in("lead", study.workspace).get(address)))
    assert "Total hours" in page
    assert ("You expect" in page) == bool(said)
    assert said in page


def test_it_simulates_the_questions_of_the_study():
    study = make_checklist_study(items=4)
    page = text_of(page_of(study, "?instructions=6&models=2&raters=4&overlap=2"))
    levels = len(study.tasks.first().answer_rubric.criteria.filter(role="item").first().levels)
    assert f"Simulated: 4 items with {levels} levels each, and an overall score." in page


def test_a_study_of_pairs_is_simulated_as_one():
    study = pair_study()
    page = page_of(study, "?instructions=6&models=3&raters=4&overlap=2&repeat_share=0")
    assert answer_of(page).startswith("36 ratings take")  # 6 instructions x 3 pairs x 2 raters
    assert "Simulated: a choice among 3 answers for each pair of responses." in text_of(page)
    assert "Expected checklist weights" not in text_of(page)
    assert "Pairs need at least two models" in text_of(page_of(study, "?models=1"))
