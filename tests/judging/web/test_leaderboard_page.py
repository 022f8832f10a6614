"""The leaderboard's page: filters, measures, corrected scores, files, and the comparison of two models."""

import csv
import io
import json
import re

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.models import Assignment, Criterion, Rubric, Score, Study, Task
from generation.models import Benchmark, Category, Instruction, LanguageModel, Response
from judging.leaderboards.filters import Filters
from judging.leaderboards.table import leaderboard
from judging.methods.pairs.base import SCORES
from judging.web.leaderboards.messages import opening
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater, make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db


@pytest.fixture
def judged():
    """Two models on 24 instructions in two languages; the judge gives model0 .75 and model1 .5, less .25 in Chinese."""
    study = make_checklist_study(instructions=24, models=2)
    judge = make_judge_rater(study.workspace)
    for number, instruction in enumerate(Instruction.objects.order_by("pk")):
        instruction.language = "zh" if number % 4 == 0 else "en"
        instruction.tags = ["hard"] if number < 6 else []
        instruction.save()
    LanguageModel.objects.filter(name="model0").update(family="zero", billions_of_parameters=7)
    LanguageModel.objects.filter(name="model1").update(family="one", billions_of_parameters=70)
    for task in study.tasks.select_related("response_a__instruction", "response_a__model"):
        value = 0.75 if task.response_a.model.name == "model0" else 0.5
        value -= 0.25 if task.response_a.instruction.language == "zh" else 0
        answer = make_answer(task, judge, {})
        Score.objects.bulk_create(
            Score(assignment=answer, criterion=criterion, value=value, reason=f"said of {task.response_a.model.name}")
            for criterion in task.answer_rubric.criteria.filter(role="item")
        )
    return study, judge


def board_of(study, judge, **asked):
    people = asked.pop("people", False)
    return leaderboard(study.benchmark, judge, "equal", filters=Filters(**asked), beside_people=people)


def averages(board):
    return {one.model: one.average for one in board.models}


def page(client, study, **asked):
    address = reverse("judging:leaderboard", args=[study.benchmark])
    return client.get(address, {"weights": "equal", **asked})


def test_filters_by_hand(judged):
    study, judge = judged
    # 18 of 24 at 75 points and 6 at 50: mean 68.75 -> -25; the other model 43.75 -> -125.
    assert averages(board_of(study, judge)) == {"model0": -25.0, "model1": -125.0}
    assert averages(board_of(study, judge, language="en")) == {"model0": 0.0, "model1": -100.0}
    assert averages(board_of(study, judge, language="zh")) == {"model0": -100.0, "model1": -200.0}
    # Instructions 0 to 5 are hard, of which 0 and 4 are Chinese: (4 x 75 + 2 x 50)/6 - 75 = -8.33; x 4.
    assert averages(board_of(study, judge, tag="hard"))["model0"] == pytest.approx(-100 / 3)
    assert averages(board_of(study, judge, family="one")) == {"model1": -125.0}
    assert averages(board_of(study, judge, largest=10.0)) == {"model0": -25.0}
    assert averages(board_of(study, judge, category="writing")) == {"model0": -25.0, "model1": -125.0}
    assert list(board_of(study, judge, category="writing").categories.values()) == ["essay"]
    few = board_of(study, judge, least=25)
    assert (few.models, few.left_out) == ((), 2)
    assert [one.model for one in board_of(study, judge, rising=True).models] == ["model1", "model0"]
    assert board_of(study, judge).words["model0", ""] == 7


def test_people_correct_the_judge(judged):
    study, judge = judged
    people = [make_rater(study), make_rater(study)]
    rated = study.tasks.filter(response_a__instruction__in=Instruction.objects.order_by("pk")[:12])
    for task in rated:
        for person in people:
            make_answer(task, person, dict.fromkeys(("item0", "item1", "item2"), 1.0))
    board = board_of(study, judge, people=True)
    assert averages(board)["model0"] == -25.0
    found = board.corrected["model0"]
    # People gave every one of the 12 responses 100 points: they vary not at all, so the judge has no weight.
    assert (found.value, found.people.value, found.n, found.power) == (100.0, 100.0, 12, 0.0)
    assert board_of(study, judge).people is None


@pytest.fixture
def rated(judged):
    """The same with scores of three people, who differ in severity, for 20 of the 24 instructions."""
    study, judge = judged
    people = [make_rater(study) for _ in range(3)]
    some = set(Instruction.objects.order_by("pk").values_list("pk", flat=True)[:20])
    for task in study.tasks.select_related("response_a"):
        if (number := task.response_a.instruction_id) not in some:
            continue
        for place, person in enumerate(people):
            given = [0.25 * (number % 3) + 0.25 * place, 0.5, 0.25 * place]
            make_answer(task, person, dict(zip(("item0", "item1", "item2"), given, strict=True)))
    return study, judge


def test_corrected_scores_say_for_which_raters_their_intervals_hold(client, rated, capsys):
    study, judge = rated
    found = board_of(study, judge, people=True).corrected["model0"]
    assert (found.population, found.raters) == ("such", 3)
    assert found.low < found.these_low < found.value < found.these_high < found.high
    client.force_login(make_user("lead"))
    html = markup(page(client, study))
    block = html[html.index('id="corrected"') :]
    heads = ["Raters like these: low", "Raters like these: high", "These raters: low", "These raters: high"]
    assert re.findall("|".join(heads), block)[:4] == heads
    assert "those of the corrected scores are for raters like these where the table states that" in block
    assert "one for exactly these raters takes only the instructions as drawn" in block
    alone = re.search(r"<th scope=\"row\">\s*model0\s*</th>\s*<td class=\"num\">\s*([^<]+?)\s*</td>", block).group(1)
    assert alone.replace("−", "-") == f"{board_of(study, judge, people=True).models[0].average:.1f}"
    shown = markup(
        client.get(reverse("judging:leaderboard", args=[study.benchmark]), headers={"Accept-Language": "zh-hans"})
    )
    block = shown[shown.index('id="corrected"') :]
    assert block.index("同类评分者：下限") < block.index("这些评分者：下限")
    assert "校正后分数的线段在表中给出时针对同类评分者" in block
    asked = {"judge": judge.label, "weights": "equal"}
    call_command("leaderboard", study.benchmark.slug, json=True, details=True, **asked)
    stated = json.loads(capsys.readouterr().out)["corrected"]["model0"]
    assert (stated["low"], stated["these_high"]) == (found.low, found.these_high)
    assert stated["people"]["population"] == "such"
    call_command("leaderboard", study.benchmark.slug, **asked)
    table = capsys.readouterr().out
    assert "Raters like these" in table and f"{found.low:.1f} to {found.high:.1f}" in table


def test_a_rank_stands_with_the_ranks_that_stay_possible(client, judged, capsys):
    study, judge = judged
    client.force_login(make_user("lead"))
    html = markup(page(client, study))
    # model0 is ahead on every instruction: each has one rank left.
    rows = re.findall(r'<td class="num">\s*(\d)\s*<span class="muted small">\(([^)]*)\)</span>', html)
    assert rows == [("1", "1"), ("2", "2")]
    assert "Beside each rank by score stand the ranks that stay possible" in html
    table = page(client, study, file="scores.csv").content.decode("utf-8-sig")
    first = next(csv.DictReader(io.StringIO(table)))
    assert (first["Rank"], first["Best rank"], first["Worst rank"]) == ("1", "1", "1")
    board = json.loads(page(client, study, file="board.json").content)
    assert [(row["rank_low"], row["rank_high"]) for row in board["models"]] == [(1, 1), (2, 2)]
    few = markup(page(client, study, tag="hard"))
    assert re.findall(r'<span class="muted small">\((\d–\d)\)</span>', few) == ["1–2", "1–2"]
    asked = reverse("judging:leaderboard", args=[study.benchmark])
    assert "每个按分数得出的名次旁边是仍有可能的名次" in markup(
        client.get(asked, headers={"Accept-Language": "zh-hans"})
    )
    call_command("leaderboard", study.benchmark.slug, judge=judge.label, weights="equal", tag="hard")
    shown = capsys.readouterr().out
    assert "Ranks possible" in shown and shown.count("1 to 2") == 2


def test_of_one_rater_the_corrected_scores_are_for_exactly_this_one(client, judged):
    study, judge = judged
    person = make_rater(study)
    for task in study.tasks.select_related("response_a"):
        make_answer(
            task, person, dict.fromkeys(("item0", "item1", "item2"), 0.25 * (task.response_a.instruction_id % 3))
        )
    assert board_of(study, judge, people=True).corrected["model0"].why_not == "few_raters"
    client.force_login(make_user("lead"))
    html = markup(page(client, study))
    assert "for raters like these, at least 2 raters are needed, and there is 1." in html


def test_the_address_holds_the_view_and_the_page_names_it(client, judged):
    study, _judge = judged
    client.force_login(make_user("lead"))
    html = markup(page(client, study, language="en", least="3"))
    assert "model0 is first, average 0.0" in html
    assert '<option value="en" selected>' in html
    assert re.search(r'name="least"[^>]*value="3"', html)
    part = client.get(
        reverse("judging:leaderboard", args=[study.benchmark]),
        {"weights": "equal", "language": "en", "category": "", "tag": ""},
        headers={"HX-Request": "true"},
    )
    assert "<html" not in markup(part)
    assert part["HX-Push-Url"].endswith("?weights=equal&language=en")
    same = markup(client.get(part["HX-Push-Url"]))
    assert "model0 is first, average 0.0" in same
    assert "nothing of what is asked" not in same
    empty = markup(page(client, study, family="nobody"))
    assert "Nothing to rank" in empty
    assert page(client, study, least="many", margin="-3", smallest="nan").status_code == 200


def test_files_hold_exactly_what_the_page_shows(client, judged):
    study, _judge = judged
    client.force_login(make_user("analyst"))
    answer = page(client, study, language="en", file="scores.csv")
    rows = list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"))))
    assert [(row["Model"], float(row["Average"])) for row in rows] == [("model0", 0.0), ("model1", -100.0)]
    assert rows[0]["Judged"] == "18"
    stored = json.loads(page(client, study, language="en", file="board.json").content)
    assert stored["format"] == "plumbline-leaderboard-1"
    assert stored["query"]["language"] == "en"
    assert [one["average"] for one in stored["models"]] == [0.0, -100.0]
    assert len(stored["data_hash"]) == 64
    # The address in the file shows the same board again.
    again = client.get(f"{reverse('judging:leaderboard', args=[study.benchmark])}?{stored['address']}&file=board.json")
    repeated = json.loads(again.content)
    assert (repeated["models"], repeated["tables"]) == (stored["models"], stored["tables"])
    assert page(client, study, file="scores.svg").content.startswith(b"<svg")
    assert page(client, study, file="scores.png").content.startswith(b"\x89PNG")
    assert page(client, study, file="nothing.csv").status_code == 404


def pairs_benchmark():
    """Three models; c is the baseline. On each of four instructions a much beats c, b ties with c, a slightly beats b."""
    workspace = make_workspace()
    benchmark = Benchmark.objects.create(workspace=workspace, slug="wild")
    category = Category.objects.create(benchmark=benchmark, key="planning")
    rubric = Rubric.objects.create(workspace=workspace, key="pair")
    Criterion.objects.create(
        rubric=rubric,
        key="better",
        role="preference",
        position=0,
        questions={"en": "Which is better?"},
        levels=[
            {"key": key, "value": value, "label": {"en": key}, "description": {}}
            for key, value in SCORES.items()
            if key != "both_bad"
        ],
    )
    study = Study.objects.create(workspace=workspace, slug="wild", kind="pair", benchmark=benchmark)
    models = {name: LanguageModel.objects.create(workspace=workspace, name=name) for name in "abc"}
    judge = make_judge_rater(workspace, "pairs judge")
    for number in range(4):
        instruction = Instruction.objects.create(
            benchmark=benchmark,
            external_id=f"i{number}",
            category=category,
            messages=[{"role": "user", "content": "Plan a day."}],
        )
        texts = {"a": "a" * 700, "b": "b" * 100, "c": "c" * 90}
        responses = {
            name: Response.objects.create(instruction=instruction, model=models[name], text=texts[name], words=1)
            for name in "abc"
        }
        for one, other, grade in (("a", "c", 2.0), ("b", "c", 0.0), ("b", "a", -1.0)):
            task = Task.objects.create(
                study=study,
                kind="pair",
                key=f"p:{number}{one}{other}",
                response_a=responses[one],
                response_b=responses[other],
                answer_rubric=rubric,
            )
            make_answer(task, judge, {"better": grade})
    return benchmark, judge, study


def test_pairs_by_hand():
    benchmark, judge, _study = pairs_benchmark()

    def board(**asked):
        return leaderboard(benchmark, judge, "equal", filters=Filters(**asked), beside_people=True)

    # Rewards over all: a (1 + .5)/2 = 75, b (0 - .5)/2 = -25, c (-1 + 0)/2 = -50.
    assert averages(board()) == {"a": 75.0, "b": -25.0, "c": -50.0}
    assert averages(board(against=("c",))) == {"a": 100.0, "b": 0.0}
    # K = 500: a's slight win over b is a tie, since a is 600 characters longer; its much better stays.
    assert averages(board(margin=500)) == {"a": 50.0, "b": 0.0, "c": -50.0}
    assert averages(board(margin=600))["a"] == 75.0
    # The mix over b and c: a (50 + 100)/2, b (itself 0 + 0)/2, c (0 + 0)/2.
    mix = board(against=("b", "c"))
    assert averages(mix) == {"a": 75.0, "b": 0.0, "c": 0.0}
    assert list(mix.categories.values()) == ["b", "c"]
    # Wins and half the ties: a 2 of 2, b .5 of 2, c .5 of 2.
    assert averages(board(measure="wins")) == {"a": 100.0, "b": 25.0, "c": 25.0}
    Assignment.objects.filter(task__key="p:0bc").update(status="unscored", reason="prose")
    found = {one.model: sum(one.unscored.values()) for one in board().models}
    assert found == {"a": 0, "b": 1, "c": 1}


@pytest.mark.parametrize(
    ("asked", "judged", "unusable", "unscored"),
    [
        # Of 12 pairs one on instruction 0, b against c, and one on 1, a against c, could not be used.
        ({}, 10, 2, {"a": 1, "b": 1, "c": 2}),
        ({"against": ("c",)}, 6, 2, {"a": 1, "b": 1}),
        ({"against": ("b",)}, 7, 1, {"a": 0, "c": 1}),
        ({"against": ("b", "c")}, 10, 2, {"a": 1, "b": 1, "c": 1}),
        ({"family": "first"}, 7, 1, {"a": 1}),
    ],
)
def test_a_pair_and_a_verdict_on_it_count_once_whatever_is_shown(asked, judged, unusable, unscored):
    benchmark, judge, _study = pairs_benchmark()
    LanguageModel.objects.filter(name="a").update(family="first")
    lost = Assignment.objects.filter(task__key__in=("p:0bc", "p:1ac"))
    lost.update(status="unscored", reason="prose")
    board = leaderboard(benchmark, judge, "equal", filters=Filters(**asked), beside_people=True)
    said = opening(board)
    assert f"pairs judge judged {judged} pairs." in said
    ending = "verdict could not be used and is" if unusable == 1 else "verdicts could not be used and are"
    assert f" {unusable} {ending} excluded." in said
    assert {one.model: sum(one.unscored.values()) for one in board.models} == unscored


def test_a_baseline_ties_with_itself_on_every_instruction_and_nobody_judged_that(client):
    """On one instruction alone it would decide which draws of instructions have a mean at all."""
    benchmark, judge, _study = pairs_benchmark()
    board = leaderboard(benchmark, judge, "equal", filters=Filters(against=("b", "c")))
    itself = board.observations.response == 0
    assert sorted(board.observations.instruction[itself].tolist()) == sorted(
        2 * list(Instruction.objects.values_list("pk", flat=True))
    )
    counts = {one.model: {key: cell.n for key, cell in one.categories.items()} for one in board.models}
    assert counts == {"a": {"b": 4, "c": 4}, "b": {"b": 0, "c": 4}, "c": {"b": 4, "c": 0}}
    client.force_login(make_user("analyst"))
    address = reverse("judging:compare_item", args=[benchmark])
    for instruction in Instruction.objects.all():
        asked = {"first": "b", "second": "c", "against": ["b", "c"], "item": instruction.public_id}
        assert client.get(address, asked).status_code == 200


def test_the_page_of_pairs_is_a_tournament_too(client):
    benchmark, judge, study = pairs_benchmark()
    client.force_login(make_user("lead"))
    html = markup(client.get(reverse("judging:leaderboard", args=[benchmark])))
    assert "a is first, reward 75.0" in html
    assert "judged 12 pairs" in html
    assert "Pairwise comparisons" in html
    answer = client.get(reverse("judging:leaderboard", args=[benchmark]), {"file": "tournament.csv"})
    rows = {row["Model"]: row for row in csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig")))}
    assert [rows[name]["Points"] for name in "abc"] == ["8.0", "2.0", "2.0"]
    assert {rows[name]["Comparisons"] for name in "abc"} == {"8"}
    assert (rows["a"]["Shared rank, as in the paper"], rows["b"]["Shared rank, as in the paper"]) == ("1", "2")
    assert "a has the most points per comparison: 1.000 in 8 comparisons." in html
    assert "not significantly different from it" not in html
    Score.objects.bulk_create(
        Score(assignment=one, criterion=Criterion.objects.get(), revision=1, value=0)
        for one in Assignment.objects.filter(rater=judge)
    )
    even = markup(client.get(reverse("judging:leaderboard", args=[benchmark])))
    assert "No model clearly leads: a, b, c are even, each with reward 0.0." in even
    assert "3 models tie for the most points per comparison, 0.500: a, b, c." in even
    assert study.slug == "wild"


def test_stars_are_shares_of_full_marks():
    study = make_checklist_study(instructions=2, models=1, items=2)
    judge = make_judge_rater(study.workspace)
    for place, (top, name) in enumerate(((3, "item0"), (5, "item1"))):
        levels = [{"key": str(n), "value": n, "label": {"en": str(n)}, "description": {}} for n in range(1, top + 1)]
        Criterion.objects.filter(key=name).update(levels=levels, position=place)
    for task, stars in zip(study.tasks.order_by("pk"), ((3, 4), (1, 2)), strict=True):
        make_answer(task, judge, {"item0": stars[0], "item1": stars[1]})
    board = leaderboard(study.benchmark, judge, "equal")
    # 10 of 16 stars.
    assert board.metric.name == "stars"
    assert averages(board) == {"model0": pytest.approx(62.5)}


def compared(client, study, view="compare_models", **asked):
    address = reverse(f"judging:{view}", args=[study.benchmark])
    return client.get(address, {"weights": "equal", "first": "model0", "second": "model1", **asked})


def test_two_models_are_compared_instruction_by_instruction(client, judged):
    study, _judge = judged
    client.force_login(make_user("analyst"))
    html = markup(compared(client, study))
    assert "model0 is ahead of model1 by 100.0" in html
    assert "on 24 instructions that both answered" in html
    assert len(re.findall(r"compare/item/", html)) == 24
    rows = list(csv.reader(io.StringIO(compared(client, study, file="items.csv").content.decode("utf-8-sig"))))
    assert len(rows) == 25
    # On the scale of the difference above: 25 points of the checklist are 100 of the board.
    assert {float(row[4]) for row in rows[1:]} == {100.0}
    turned = markup(compared(client, study, first="model1", second="model0"))
    assert "model0 is ahead of model1 by 100.0" in turned
    assert "Choose two different models" in markup(compared(client, study, second="model0"))
    assert compared(client, study, first="nobody").status_code == 404


@pytest.mark.parametrize(
    ("wins", "said"),
    [
        # model0 is 25 points better on 13 of 24 instructions and 25 worse on 11: 4 x 25 x 2/24 = 8.3.
        (13, "Neither model is clearly ahead: model0 is 8.3 above model1 (−"),
        (12, "model0 and model1 are even on average: the difference is 0 (−"),
        (11, "Neither model is clearly ahead: model1 is 8.3 above model0 (−"),
    ],
)
def test_a_difference_that_may_be_chance_puts_neither_ahead(client, wins, said):
    study = make_checklist_study(instructions=24, models=2)
    judge = make_judge_rater(study.workspace)
    place = {pk: number for number, pk in enumerate(Instruction.objects.order_by("pk").values_list("pk", flat=True))}
    for task in study.tasks.select_related("response_a__model"):
        better = place[task.response_a.instruction_id] < wins
        value = 0.5 if task.response_a.model.name == "model0" else 0.25 if better else 0.75
        make_answer(task, judge, dict.fromkeys(("item0", "item1", "item2"), value))
    client.force_login(make_user("analyst"))
    html = markup(compared(client, study))
    assert said in html
    assert "is ahead of" not in html


def test_one_instruction_shows_both_responses_the_reasons_the_weights_and_people(client, judged):
    study, _judge = judged
    task = study.tasks.get(response_a__model__name="model0", response_a__instruction__external_id="essays-1")
    make_answer(task, make_rater(study), {"item0": 0.25, "item1": 0.5, "item2": 1.0})
    client.force_login(make_user("lead"))
    instruction = task.response_a.instruction
    html = markup(compared(client, study, view="compare_item", item=instruction.public_id, order="order"))
    assert "Write about topic 1." in html
    assert html.count("Some words about it.") == 2
    assert html.count("said of model0") == 3
    assert html.count("said of model1") == 3
    assert "1 person: 0.25" in html
    assert html.count(">33.3<") == 3
    assert 'rel="next"' in html
    assert 'rel="prev"' in html
    following = re.search(r'rel="next" href="([^"]+)"', html)[1].replace("&amp;", "&")
    assert "essays-10" in markup(client.get(following))
    assert compared(client, study, view="compare_item", item="nothing").status_code == 404
    assert "essays-0" in markup(compared(client, study, view="compare_item", order="order"))


def test_raters_and_strangers_never_see_who_wrote_what(client, judged):
    study, _judge = judged
    instruction = Instruction.objects.first()
    for role in ("rater", "reviewer", None):
        client.force_login(make_user(role))
        assert compared(client, study).status_code == 403
        assert compared(client, study, view="compare_item", item=instruction.public_id).status_code == 403
    client.force_login(make_user("lead", make_workspace("elsewhere")))
    assert compared(client, study).status_code == 404
    assert compared(client, study, view="compare_item", item=instruction.public_id).status_code == 404


def test_the_command_takes_the_same_filters_and_measures(judged, capsys):
    study, _judge = judged
    call_command("leaderboard", study.benchmark.slug, judge="gpt-4o", language="en", json=True)
    found = json.loads(capsys.readouterr().out)["models"]
    assert {one["model"]: one["average"] for one in found} == {"model0": 0.0, "model1": -100.0}
    with pytest.raises(CommandError, match="remove a filter"):
        call_command("leaderboard", study.benchmark.slug, judge="gpt-4o", language="fr")
    benchmark, _judge, _study = pairs_benchmark()
    call_command("leaderboard", benchmark.slug, judge="pairs judge", against=["b", "c"])
    shown = capsys.readouterr().out
    assert "100 x the mean reward" in shown
    assert "75.00" in shown


def test_the_command_gives_intervals_corrections_and_words_too(judged, capsys):
    study, judge = judged
    person = make_rater(study)
    for task in study.tasks.all():
        make_answer(task, person, dict.fromkeys(("item0", "item1", "item2"), 1.0))
    asked = {"judge": judge.label, "weights": "equal"}
    call_command("leaderboard", study.benchmark.slug, json=True, details=True, **asked)
    found = json.loads(capsys.readouterr().out)
    board = board_of(study, judge, people=True)
    (one,) = [row for row in found["models"] if row["model"] == "model0"]
    assert one["average"] == -25.0
    pk = board.pks["model0"]
    ends = board.intervals.averages[pk]
    assert found["averages"]["model0"] == {"low": ends.low, "high": ends.high}
    assert found["corrected"]["model0"]["value"] == 100.0
    assert found["words"]["model0 / "] == 7
    call_command("leaderboard", study.benchmark.slug, **asked)
    shown = capsys.readouterr().out
    assert "Interval" in shown
    assert "100.00" in shown and "100.0 to 100.0" not in shown
    assert "Where all of people's scores are alike, no interval is stated" in shown
    call_command("leaderboard", study.benchmark.slug, largest=10.0, **asked)
    shown = capsys.readouterr().out
    assert "model0" in shown
    assert "model1" not in shown
