"""The page, command and address of models that nobody rated: what they say, and what they refuse."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.models import Task
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater, make_user, make_workspace
from tests.judging.comparison.test_run_pairs import text
from tests.page_files import check_files

pytestmark = pytest.mark.django_db
LEVELS = (0, 0.25, 0.5, 0.75, 1)
UNRATED = "model3"


def rated_study(rated):
    """Seven models scored by a judge, the `rated` ones also by two people: 2 + 6 x its share, and 1 more."""
    study = make_checklist_study(instructions=20, models=7, items=1)
    judge = make_judge_rater(study.workspace)
    raters = [make_rater(study) for _ in range(2)]
    for place, task in enumerate(Task.objects.filter(study=study).select_related("answer_rubric").order_by("pk")):
        number, instruction = place % 7, place // 7
        level = LEVELS[(number + instruction % 5) // 3]
        make_answer(task, judge, {"item0": level})
        if number in rated:
            for severity, rater in enumerate(raters):
                make_answer(task, rater, {"item0": level, "overall": 2 + 6 * level + severity})
    return study


def address(study, **query):
    return reverse("judging:unrated_models", args=[study], query=query)


def test_the_page_the_command_and_the_api_give_one_estimate(client):
    study = rated_study(set(range(7)) - {3})
    client.force_login(make_user("lead"))
    page = text(client.get(address(study, shape="means")))
    assert "Of 1 model that people rated too little or not at all, gpt-4o" in page
    assert "The calibration holds across the 6 rated models" in page and "within the margin of 0.5 points" in page
    table = client.get(address(study, file="means.json")).json()
    row = table["rows"][0]
    levels = [LEVELS[(3 + number % 5) // 3] for number in range(20)]
    assert row[0] == UNRATED and row[1] == pytest.approx(2.5 + 6 * sum(levels) / 20)
    assert row[2] < row[1] < row[3]
    whole = client.get(address(study, file="page.json")).json()
    assert [block["key"] for block in whole["blocks"]] == ["means", "models", "calibration"]
    assert client.get(address(study, file="nothing.csv")).status_code == 404
    out = StringIO()
    call_command("transport", study.slug, "--judge", "gpt-4o", "--json", stdout=out)
    told = json.loads(out.getvalue())
    served = client.get(
        reverse("api:transport", args=[study.workspace.slug, study.slug], query={"judge": "gpt-4o"})
    ).json()
    asked = reverse("api:transport", args=[study.workspace.slug, study.slug])
    assert "means.tex" in check_files(
        client, asked, address(study), {"judge": "gpt-4o"}, asked_of_page={"shape": "means"}
    )
    assert served == told and told["transport"]["carried"][0]["value"] == row[1]
    for shape in ("--csv", "--latex", "--markdown", "--json"):
        out = StringIO()
        call_command("transport", study.slug, "--judge", "gpt-4o", "--shape", "linear", shape, stdout=out)
        assert UNRATED in out.getvalue()
    for wrong in ("nan", "-1", "abc", "11"):
        assert "scale, which is 10." in text(client.get(address(study, margin=wrong)))
    assert client.get(address(study, judge="nobody")).status_code == 404
    assert reverse("judging:unrated_models", args=[study]) in text(client.get(reverse("judging:judges", args=[study])))
    board = client.get(reverse("judging:leaderboard", args=[study.benchmark]))
    assert reverse("judging:unrated_models", args=[study]) in text(board)
    client.force_login(make_user("lead", workspace=make_workspace("elsewhere")))
    assert client.get(address(study)).status_code == 404


def test_what_is_missing_is_a_sentence_with_the_number_needed(client):
    study = rated_study({0, 2, 3, 5, 6})
    client.force_login(make_user("lead"))
    wanted = "5 models of which people rated responses to at least 5 instructions where at least 6 are needed"
    assert wanted in text(client.get(address(study, shape="means")))
    with pytest.raises(CommandError, match="at least 6 are needed"):
        call_command("transport", study.slug, "--judge", "gpt-4o")
    path = reverse("api:transport", args=[study.workspace.slug, study.slug])
    refused = client.get(path, {"judge": "gpt-4o"})
    assert refused.status_code == 400 and "at least 6 are needed" in refused.content.decode()
    for asked in ({"judge": "gpt-4o", "margin": "much"}, {"judge": "gpt-4o", "shape": "round"}, {"judge": "nobody"}):
        assert client.get(path, asked).status_code == 400


def test_without_a_judge_or_overall_scores_the_page_says_so(client):
    study = make_checklist_study(instructions=2, models=2, items=1)
    client.force_login(make_user("lead"))
    assert "No judge has scored the responses of this study." in text(client.get(address(study, shape="means")))
    judge, rater = make_judge_rater(study.workspace), make_rater(study)
    for task in study.tasks.all():
        make_answer(task, judge, {"item0": 1})
        make_answer(task, rater, {"item0": 1})
    assert "People gave no overall scores in this study" in text(client.get(address(study, shape="means")))
