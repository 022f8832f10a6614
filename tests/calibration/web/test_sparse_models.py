"""A model that was rated on few instructions is listed without a rank, whatever its mean, on the page and in its files."""

import csv
import io
import json

import pytest
from django.urls import reverse

from calibration.reports.rankings import RANKINGS, ranking_settings
from calibration.reports.registry import report_of
from tests.calibration.result_page_checks import answer_of, signed_in, text_of
from tests.factories import make_answer, make_checklist_study, make_rater
from tests.markup import markup

pytestmark = pytest.mark.django_db


def study_with(answered, instructions=40):
    """A study of three models with means of 4, 6 and 9, the last of which is rated on the first `answered` instructions."""
    study = make_checklist_study(instructions=instructions, models=3)
    rater = make_rater(study)
    places = {}
    for task in study.tasks.select_related("response_a__model").order_by("response_a__instruction_id", "pk"):
        place = places.setdefault(task.response_a.instruction_id, len(places))
        model = int(task.response_a.model.name[-1])
        if model < 2 or place < answered:
            make_answer(task, rater, {"overall": (4, 6, 9)[model] + (place % 3 - 1) * (0.5 if model < 2 else 0)})
    return study


def scores_of(study):
    return report_of(study, RANKINGS, ranking_settings()).parts


def file_of(study, name):
    answer = signed_in("analyst", study.workspace).get(reverse("calibration:rankings", args=[study]), {"file": name})
    assert answer.status_code == 200
    return answer.content.decode("utf-8-sig")


def test_a_model_with_a_tenth_of_the_instructions_never_leads():
    study = study_with(4)
    rows = scores_of(study).scores.models
    assert [(row.model, row.rank, row.not_ranked) for row in rows] == [
        ("model1", 1, ""),
        ("model0", 2, ""),
        ("model2", None, "few"),
    ]
    assert rows[2].mean == 9 and (rows[2].rank_low, rows[2].rank_high) == (None, None)
    # The ranks of the others do not allow for it.
    assert [(row.rank_low, row.rank_high) for row in rows[:2]] == [(1, 1), (2, 2)]
    page = markup(signed_in("lead", study.workspace).get(reverse("calibration:rankings", args=[study])))
    assert answer_of(page).startswith("model1 has the highest mean score")
    assert "fewer than half of the median number of instructions of all models: model2 (4)" in text_of(page)
    assert "not ranked" in page


def test_every_file_says_that_it_has_no_rank():
    study = study_with(4)
    rows = {row["Model"]: row for row in csv.DictReader(io.StringIO(file_of(study, "means.csv")))}
    assert (rows["model2"]["Rank"], rows["model2"]["Not ranked"]) == ("", "few")
    assert (rows["model1"]["Rank"], rows["model1"]["Not ranked"]) == ("1", "")
    table = json.loads(file_of(study, "means.json"))
    assert table["rows"][2][0] == "model2" and table["rows"][2][-4:] == [None, None, None, "few"]
    assert "rated too seldom" in file_of(study, "means.tex")
    assert "not ranked" in file_of(study, "means.svg")
    whole = json.loads(file_of(study, "page.json"))
    assert next(block for block in whole["blocks"] if block["key"] == "means")["table"] == table


def test_shared_ranks_and_power_compare_the_ranked_models_on_all_their_instructions():
    parts = scores_of(study_with(4))
    assert parts.shared.models == ("model1", "model0") and parts.shared.tasks == 40
    assert parts.power.models == 2


def test_a_model_without_an_interval_is_not_ranked_beside_those_that_have_one():
    # 15 of 24 are more than half, and fewer than the 20 that an interval needs.
    study = study_with(15, instructions=24)
    assert [row.not_ranked for row in scores_of(study).scores.models] == ["", "", "no_interval"]
    page = markup(signed_in("lead", study.workspace).get(reverse("calibration:rankings", args=[study])))
    assert "fewer than 20 instructions, too few for an interval: model2 (15)" in text_of(page)


def test_a_single_ranked_model_leads_nobody():
    study = study_with(40)
    # What is left of the first two models is one instruction each.
    kept = study.tasks.order_by("response_a__instruction_id").first().response_a.instruction_id
    others = study.tasks.exclude(response_a__model__name="model2").exclude(response_a__instruction=kept)
    for task in others:
        task.assignments.update(status="surplus")
    page = markup(signed_in("lead", study.workspace).get(reverse("calibration:rankings", args=[study])))
    parts = scores_of(study)
    assert [row.not_ranked for row in parts.scores.models] == ["", "no_interval", "no_interval"]
    assert answer_of(page).startswith("model2 has a mean score of 9.00")
    assert parts.shared.why == "TooFewRanked"
