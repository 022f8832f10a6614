"""Two models of a leaderboard over the API: their difference, the instructions that both answered, and one in full."""

import pytest
from django.urls import reverse

from annotation.models import Score
from generation.models import Instruction
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater, make_user, make_workspace
from tests.judging.api.conftest import head
from tests.page_files import check_files

pytestmark = pytest.mark.django_db
ASKED = {"judge": "gpt-4o", "first": "model0", "second": "model1"}


@pytest.fixture
def study():
    """Two models on 24 instructions, 6 of them Chinese; the judge gives model0 .75 and model1 .5, in Chinese both .5."""
    study = make_checklist_study(instructions=24, models=2)
    judge = make_judge_rater(study.workspace)
    chinese = list(Instruction.objects.order_by("pk").values_list("pk", flat=True))[::4]
    Instruction.objects.filter(pk__in=chinese).update(language="zh")
    for task in study.tasks.select_related("response_a__instruction", "response_a__model"):
        value = (
            0.75 if task.response_a.model.name == "model0" and task.response_a.instruction_id not in chinese else 0.5
        )
        answer = make_answer(task, judge, {})
        Score.objects.bulk_create(
            Score(assignment=answer, criterion=criterion, value=value, reason=f"said of {task.response_a.model.name}")
            for criterion in task.answer_rubric.criteria.filter(role="item")
        )
    return study


def own(study):
    return study.workspace.slug, study.benchmark.slug


def test_the_difference_is_that_of_the_page(call, study):
    found = call("get", "compare_models", *own(study), sent=ASKED).json()
    overall = found["overall"]
    # 75 and 50 points on 18 instructions, equal on 6; four points of the board are one of the judge.
    assert (overall["n"], overall["first_better"], overall["second_better"], overall["equal"]) == (24, 18, 0, 6)
    assert overall["value"] == pytest.approx(18 / 24 * 100) and overall["low"] < overall["value"] < overall["high"]
    assert found["p"] < 0.001 and found["discredited"] is False
    assert list(found["categories"]) and found["judge"] == "gpt-4o"
    turned = call("get", "compare_models", *own(study), sent={**ASKED, "first": "model1", "second": "model0"}).json()
    assert turned["overall"]["value"] == pytest.approx(-overall["value"])
    chinese = call("get", "compare_models", *own(study), sent={**ASKED, "language": "zh"}).json()["overall"]
    assert (chinese["n"], chinese["value"]) == (6, 0)


def test_a_board_and_the_instructions_of_two_models_are_files(client, lead, study):
    client.force_login(lead)
    board = reverse("api:board", args=own(study))
    page = reverse("judging:leaderboard", args=[study.benchmark])
    asked = {"judge": "gpt-4o", "weights": "equal", "language": "zh"}
    names = check_files(client, board, page, asked, without=("board.json",))
    whole, of_page = (
        client.get(path, sent).json()
        for path, sent in ((f"{board}files/board.json/", asked), (page, {**asked, "file": "board.json"}))
    )
    assert whole.pop("query")["experiment"] == "main" and whole.pop("address") != of_page.pop("address")
    assert whole == {name: value for name, value in of_page.items() if name != "query"}
    assert {"scores.svg", "scores.tex", "page.json", "board.json"} <= set(names)
    assert client.get(f"{board}files/").status_code == 400
    pair = reverse("judging:compare_models", args=[study.benchmark])
    listed = client.get(f"{board}compare/files/", ASKED).json()
    assert [one["name"] for one in listed["files"]] == ["items.csv"] and "model0" in listed["title"]
    file = client.get(f"{board}compare/files/items.csv/", ASKED)
    assert file.content == client.get(pair, {**ASKED, "weights": "equal", "file": "items.csv"}).content
    assert file.content.count(b"\n") == 25 and file["Content-Type"] == "text/csv; charset=utf-8"
    assert client.get(f"{board}compare/files/items.tex/", ASKED).status_code == 404


def test_the_instructions_come_in_the_order_asked(call, study):
    page = call("get", "compared_instructions", *own(study), sent={**ASKED, "size": 20}).json()
    assert (page["count"], len(page["results"])) == (24, 20) and "page=2" in page["next"]
    assert all(row["gap"] == row["first"] - row["second"] > 0 for row in page["results"][:18])
    assert page["results"][18]["gap"] == 0
    ordered = call("get", "compared_instructions", *own(study), sent={**ASKED, "order": "order"}).json()["results"]
    names = [row["external_id"] for row in ordered]
    assert names == sorted(names)
    call("get", "compared_instructions", *own(study), sent={**ASKED, "order": "best"}, status=400)


def test_one_instruction_has_both_sides(call, client, lead, study):
    instruction = Instruction.objects.get(external_id="essays-1")
    task = study.tasks.get(response_a__instruction=instruction, response_a__model__name="model0")
    make_answer(task, make_rater(study), {"item0": 1.0})
    found = call("get", "compared_instruction", *own(study), instruction.public_id, sent=ASKED).json()
    assert (found["external_id"], found["text"]) == ("essays-1", "Write about topic 1.")
    first, second = found["sides"]
    assert (first["model"], first["response"], second["model"]) == ("model0", task.response_a.public_id, "model1")
    assert first["text"].startswith("# Topic 1") and first["value"] > second["value"]
    verdict = first["verdicts"][0]
    assert (verdict["score"], verdict["reason"], verdict["people"], verdict["raters"]) == (
        "0.75",
        "said of model0",
        1.0,
        1,
    )
    assert second["verdicts"][0]["people"] is None and found["pair"] == []
    assert sum(found["weights"].values()) == pytest.approx(100)
    call("get", "compared_instruction", *own(study), "nothing", sent=ASKED, status=404)
    path = f"/api/v1/w/lab/leaderboards/essays-benchmark/compare/instructions/{instruction.public_id}/"
    assert client.get(path, ASKED, headers=head(lead, "read")).status_code == 403


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"judge": "nobody"}, "No judge 'nobody'"),
        ({"first": ""}, "first and second"),
        ({"second": "model0"}, "first and second"),
        ({"second": "model9"}, "no model 'model9'"),
        ({"weights": "none"}, "none"),
        ({"language": "fr"}, ""),
    ],
    ids=str,
)
@pytest.mark.parametrize("name", ["compare_models", "compared_instructions"])
def test_what_cannot_be_compared_is_refused(call, study, name, change, said):
    assert said in call("get", name, *own(study), sent={**ASKED, **change}, status=400).json()["detail"]


def test_only_who_reads_results_compares(call, study):
    for name, more in (("compare_models", ()), ("compared_instructions", ()), ("compared_instruction", ("x",))):
        stranger = make_user("lead", make_workspace("elsewhere"))
        call("get", name, *own(study), *more, sent=ASKED, user=stranger, status=404)
        call("get", name, *own(study), *more, sent=ASKED, user=make_user("rater"), status=403)
    call("get", "compare_models", *own(study), sent=ASKED, user=make_user("analyst"))
