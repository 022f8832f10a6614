"""Win rates and strengths from people and a judge together, on the page of judges in depth."""

import numpy as np
import pytest
from django.urls import reverse

from calibration.reports.judges import JUDGES, judges_settings
from calibration.reports.registry import report_of
from tests.calibration.pair_studies import pair_study
from tests.calibration.result_page_checks import check_files, never_nan, signed_in, text_of
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater
from tests.markup import markup

pytestmark = pytest.mark.django_db


def found_in(study):
    return report_of(study, JUDGES, judges_settings(study)).judges[0].wins


def page_of(study):
    page = markup(signed_in("lead", study.workspace).get(reverse("judging:judges_depth", args=[study])))
    never_nan(page)
    return text_of(page)


def test_preferences_of_people_on_some_pairs_are_joined_with_the_judges_on_all():
    study = pair_study(models=2, instructions=60, raters=0)
    judge, people = make_judge_rater(study.workspace), [make_rater(study) for _ in range(3)]
    rng = np.random.default_rng(0)
    for place, task in enumerate(study.tasks.order_by("pk")):
        liked = rng.random() < 0.7
        make_answer(task, judge, {"preference": 1 if liked else -1}, shown_first="a")
        for rater in people if place < 25 else ():
            make_answer(task, rater, {"preference": 1 if liked == (rng.random() < 0.85) else -1}, shown_first="a")
    wins = found_in(study)
    assert (wins.n, wins.n_judge_only) == (25, 35)
    assert 0.2 < wins.power <= 1
    first = wins.models[0]
    assert first.win_rate.population == "such" and first.win_rate.low < first.win_rate.value < first.win_rate.high
    assert first.strength.value == pytest.approx(-wins.models[1].strength.value)
    page = page_of(study)
    assert "Win rates and strengths from people and gpt-4o together" in page
    assert "People's preferences on 25 instructions are combined with the judge's on 35 further ones" in page
    address = reverse("judging:judges_depth", args=[study])
    assert {"powered-wins-0.svg", "powered-wins-0.csv"} <= set(check_files(signed_in("lead", study.workspace), address))


def test_scores_of_one_rater_on_an_instruction_are_compared_with_each_other():
    study = make_checklist_study(instructions=40, models=2, items=1)
    judge, rater = make_judge_rater(study.workspace), make_rater(study)
    better = 0
    for task in study.tasks.select_related("response_a__model", "response_a__instruction").order_by("pk"):
        number = task.response_a.instruction_id % 7
        score = 5 if task.response_a.model.name == "model0" else 4 + number % 3
        make_answer(task, judge, {"overall": score})
        if task.response_a.instruction_id % 2:
            make_answer(task, rater, {"overall": score})
            better += (number % 3 == 0) + (number % 3 == 1) / 2 if task.response_a.model.name == "model1" else 0
    wins = found_in(study)
    assert (wins.n, wins.n_judge_only) == (20, 20)
    rates = {row.model: row.win_rate_alone.value for row in wins.models}
    assert rates["model0"] == pytest.approx(better / 20) and rates["model1"] == pytest.approx(1 - better / 20)
    # A judge that says what people say: with the weight 1, the estimate is its own win rate over the further instructions.
    assert wins.power > 0.3


def test_what_is_missing_is_a_sentence():
    study = pair_study(models=2, instructions=3, raters=1)
    judge = make_judge_rater(study.workspace)
    for task in study.tasks.all():
        make_answer(task, judge, {"preference": 1}, shown_first="a")
    assert found_in(study).why == "NoFurtherVerdicts"
    assert "once it scores other responses" in page_of(study) or "adds information" in page_of(study)
