"""Judges in depth: bias beside people's, gaps, prediction-powered means, labels still needed."""

import numpy as np
import pytest
from django.template.loader import render_to_string
from django.urls import reverse

from annotation.models import Rater
from calibration.reports.judges import JUDGES, judges_settings
from calibration.reports.registry import report_of
from calibration.web.judges.page import judge_depth_blocks
from generation.models import LanguageModel
from tests.calibration.pair_studies import pair_study
from tests.calibration.result_page_checks import answer_of, check_access, check_files, never_nan, signed_in, text_of
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater
from tests.markup import markup

pytestmark = pytest.mark.django_db


def address(study, query=""):
    return reverse("judging:judges_depth", args=[study]) + query


def page_of(study, query=""):
    return markup(signed_in("lead", study.workspace).get(address(study, query)))


def report(study, *models, **more):
    return report_of(study, JUDGES, judges_settings(study, *models, **more))


def scored(*, gap=1.0, instructions=60, by_people=25, spread=1.0):
    """Two models a gap apart; a judge scores all responses one point too high, people the first instructions only."""
    study = make_checklist_study(instructions=instructions, models=2, items=1)
    rng = np.random.default_rng(7)
    rater, judge = make_rater(study), make_judge_rater(study.workspace)
    for place, task in enumerate(study.tasks.select_related("response_a__model").order_by("pk")):
        better = task.response_a.model.name == "model1"
        truth = 4 + gap * better + rng.normal(0, spread)
        make_answer(task, judge, {"overall": float(np.clip(round(truth) + 1, 0, 10))})
        if place // 2 < by_people:
            make_answer(task, rater, {"overall": float(np.clip(round(truth), 0, 10))})
    return study


def judged_pairs(**fields):
    study = pair_study(models=3, instructions=21, raters=2, **fields)
    judge = make_judge_rater(study.workspace)
    for task in study.tasks.select_related("response_a", "response_b"):
        longer = len(task.response_a.text or "") > len(task.response_b.text or "")
        make_answer(task, judge, {"preference": 1 if longer else -1}, shown_first="a")
    return study


def test_only_those_who_read_results_see_it():
    check_access("judging:judges_depth", scored(instructions=4, by_people=2))


def test_powered_means_are_corrected_for_the_judges_error_and_narrower():
    rows = report(scored()).judges[0].powered
    assert [row.model for row in rows] == ["model0", "model1"]
    for row, truth in zip(rows, (4.0, 5.0), strict=True):
        powered, human = row.estimate.powered, row.estimate.human_only
        assert powered.low < truth < powered.high < truth + 1
        assert powered.high - powered.low < human.high - human.low
        assert (row.estimate.n, row.estimate.n_judge_only) == (25, 35) and row.estimate.effective_n > 25


def test_the_gap_to_people_is_the_planted_one():
    gaps = {row.criterion: row for row in report(scored(spread=0.0)).judges[0].gaps}
    assert gaps["overall"].mean_gap.value == 1.0 and gaps["overall"].counts == (50, 0, 0, 0)


def test_the_gap_of_a_single_criterion_is_not_called_the_widest():
    said = text_of(page_of(scored(instructions=24)))
    assert "The mean gap on “" in said and "widest mean gap" not in said


def test_the_widest_of_several_gaps_is_not_called_tested():
    study = make_checklist_study(instructions=24, models=1, items=2)
    rater, judge = make_rater(study), make_judge_rater(study.workspace)
    for place, task in enumerate(study.tasks.order_by("pk")):
        make_answer(task, rater, {"item0": place % 3 / 4, "item1": place % 4 / 4})
        make_answer(task, judge, {"item0": (place % 3 + 2) / 4, "item1": (place % 4 + 1) / 4})
    said = text_of(page_of(study))
    assert "Its interval is not corrected for choosing the widest" in said


def test_labels_that_would_separate_two_models_are_said_in_the_opening():
    study = scored(gap=0.3, spread=1.5)
    found = report(study, "model0", "model1").judges[0].separate
    assert {found.one, found.other} == {"model0", "model1"}
    assert found.separated or found.more > 0
    page = page_of(study, "?one=model0&other=model1")
    assert "model0 and model1" in answer_of(page) and "10 points" in answer_of(page)
    names = check_files(signed_in("lead", study.workspace), address(study))
    assert {"powered-0.svg", "powered-0.csv", "gaps-0.png", "separate-0.csv"} <= set(names)


def test_a_judge_that_loves_length_is_told_from_people():
    study = judged_pairs()
    found = report(study)
    judge, people = found.judges[0].sways.length[0], found.people.length[0]
    assert judge.rate.value == 1.0 and people.rate.value < 0.5
    page = page_of(study)
    assert "gpt-4o prefers it by a margin of 1.00" in answer_of(page)
    names = check_files(signed_in("lead", study.workspace), address(study))
    assert {"length.svg", "length.csv", "position.png"} <= set(names)


def test_preference_for_the_judges_own_family_needs_the_family():
    study = judged_pairs()
    judge = Rater.objects.get(kind="judge")
    assert report(study).judges[0].own_family.why == "NoFamily"
    LanguageModel.objects.filter(name="model0").update(family="gpt")
    found = report(study, families={judge.public_id: "gpt"}).judges[0].own_family
    # Two of the three pairs of models on each of 21 instructions have exactly one side of the family.
    assert found.n == 42
    assert found.lift.value == pytest.approx(found.judge.value - found.reference.value)


def test_the_blocks_stand_in_another_page_too():
    study = scored()
    blocks = judge_depth_blocks(study, report(study))
    shown = render_to_string("calibration/_blocks.html", {"blocks": blocks, "path": "/somewhere/", "query": ""})
    assert shown.count("<section") == len(blocks) and "/somewhere/?file=powered-0.svg" in shown
    assert [block.key for block in blocks] == [
        "soft",
        "soft-summary",
        "reasonable",
        "powered-0",
        "separate-0",
        "powered-wins-0",
        "correlations-0",
        "gaps-0",
    ]


@pytest.mark.parametrize("missing", ["judge", "people", "further"])
def test_what_is_missing_is_named(missing):
    study = make_checklist_study(instructions=3)
    rater = make_rater(study)
    judge = make_judge_rater(study.workspace)
    for task in study.tasks.all():
        if missing != "people":
            make_answer(task, rater, {"overall": 5})
        if missing != "judge":
            make_answer(task, judge, {"overall": 5})
    page = page_of(study)
    never_nan(page)
    said = {"judge": "No judge", "people": "Nobody", "further": "once it scores other responses"}[missing]
    assert said in text_of(page)


def rated_by(raters, *, severity=0.0, taste=0.0, gap=0.5):
    """60 instructions with two models, 25 of them scored by all raters, who differ in severity and taste by fixed steps."""
    study = make_checklist_study(instructions=60, models=2, items=1)
    judge, people = make_judge_rater(study.workspace), [make_rater(study) for _ in range(raters)]
    rng = np.random.default_rng(1)
    for place, task in enumerate(study.tasks.order_by("pk").select_related("response_a__model")):
        better = task.response_a.model.name == "model1"
        truth = 4 + gap * better + rng.normal(0, 1)
        make_answer(task, judge, {"overall": float(np.clip(round(truth) + 1, 0, 10))})
        if place // 2 < 25:
            for number, rater in enumerate(people):
                away = (number - (raters - 1) / 2) * (severity + taste * better)
                make_answer(task, rater, {"overall": float(np.clip(round(truth + away + rng.normal(0, 0.5)), 0, 10))})
    return study


def test_means_are_first_for_raters_like_these_and_then_for_exactly_these():
    study = rated_by(3, severity=1.0)
    found = report(study).judges[0].powered[0].estimate.powered
    assert (found.population, found.raters) == ("such", 3)
    assert found.low < found.these_low < found.these_high < found.high
    block = next(one for one in judge_depth_blocks(study, report(study)) if one.key == "powered-0")
    heads = [str(column.label) for column in block.table.columns]
    assert heads.index("Raters like these: low") < heads.index("These raters: low")
    assert any("takes only the instructions as drawn" in note for note in block.notes)


def test_labels_that_no_number_of_these_raters_can_give_are_not_promised():
    # Three raters whose differences of the two models lie 3 points apart: which raters were asked decides.
    study = rated_by(3, taste=3.0, gap=0.5)
    found = report(study, "model0", "model1").judges[0].separate
    assert (found.population, found.more, found.alone) == ("such", None, None)
    said = answer_of(page_of(study, "?one=model0&other=model1"))
    assert "for raters like these" in said
    assert said.endswith(
        "More labels by these raters would not separate them for raters like these: that takes more raters."
    )


def test_labels_still_needed_are_for_raters_like_these():
    study = rated_by(5, gap=0.1)
    found = report(study, "model0", "model1").judges[0].separate
    assert (found.population, found.separated) == ("such", False)
    said = answer_of(page_of(study, "?one=model0&other=model1"))
    assert f"For raters like these, about {found.more:,} more labels by these raters for each model would" in said


def test_one_rater_says_nothing_of_raters_like_it():
    study = scored(gap=0.1, spread=1.5)
    found = report(study, "model0", "model1").judges[0].separate
    assert (found.population, found.powered.why_not) == ("these", "few_raters")
    said = answer_of(page_of(study, "?one=model0&other=model1"))
    assert "95 % interval for exactly these raters" in said and "For exactly these raters, about" in said
