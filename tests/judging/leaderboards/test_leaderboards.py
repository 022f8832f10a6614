import io
import json

import pandas as pd
import pytest
from django.core.management import CommandError, call_command

from annotation.models import Assignment, Study, Task
from calibration.models import CategoryFit, Fit, FittedWeight
from generation.models import Benchmark, Category, GenerationRun, Instruction, LanguageModel, Response
from judging.leaderboards.filters import Filters
from judging.leaderboards.table import UnknownJudge, judge_named, leaderboard
from judging.leaderboards.weighting import MissingWeights, UnknownWeights
from judging.published.tables import printed_beside
from judging.scores.points import NoVerdicts
from tests.conftest import shared_path
from tests.factories import make_answer, make_judge_rater, make_rubric, make_workspace

pytestmark = pytest.mark.django_db
TASKS = ("open_ended_qa", "summarization", "chat", "text_completion", "heuristic_text_generation")


class Board:
    """A benchmark of two categories, one with a leaf, judged by hand."""

    def __init__(self, slug="bench"):
        self.workspace = make_workspace()
        self.benchmark = Benchmark.objects.create(workspace=self.workspace, slug=slug)
        self.study = Study.objects.create(
            workspace=self.workspace, slug=f"{slug}-judged", kind="checklist", benchmark=self.benchmark
        )
        self.judge = make_judge_rater(self.workspace)
        self.chat = Category.objects.create(benchmark=self.benchmark, key="chat", position=1)
        self.essay = Category.objects.create(benchmark=self.benchmark, parent=self.chat, key="essay")
        self.qa = Category.objects.create(benchmark=self.benchmark, key="open_ended_qa", position=0)
        self.rubrics = {
            category: make_rubric(self.workspace, 2, benchmark=self.benchmark, category=category)
            for category in (self.essay, self.qa)
        }

    def response(self, category, number, model, run=None):
        instruction, _ = Instruction.objects.get_or_create(
            benchmark=self.benchmark, external_id=f"{category.key}_{number}", category=category
        )
        model, _ = LanguageModel.objects.get_or_create(workspace=self.workspace, name=model)
        return Response.objects.create(instruction=instruction, model=model, text="words", run=run)

    def judged(self, category, number, model, values, run=None, study=None):
        response = self.response(category, number, model, run)
        task = Task.objects.create(
            study=study or self.study,
            kind="single",
            key=f"r:{response.pk}",
            response_a=response,
            answer_rubric=self.rubrics[category],
        )
        if values is None:
            return Assignment.objects.create(task=task, rater=self.judge, status="unscored", reason="prose: x")
        return make_answer(task, self.judge, {f"item{n}": value for n, value in enumerate(values)})

    def fit(self, name, weights, *, positions=False, **fields):
        fit = Fit.objects.create(
            workspace=self.workspace, kind="published", benchmark=self.benchmark, published_name=name, **fields
        )
        for place, (category, values) in enumerate(weights.items()):
            row = CategoryFit.objects.create(fit=fit, category=category, key=str(category), position=place)
            for n, weight in enumerate(values):
                key = f"other{n}" if positions else f"item{n}"
                FittedWeight.objects.create(category_fit=row, criterion_key=key, position=n, weight=weight)
        return fit


@pytest.fixture
def board():
    board = Board()
    board.judged(board.essay, 1, "ada", [1.0, 0.5])
    board.judged(board.essay, 2, "ada", [0.5, 0.75])
    board.judged(board.qa, 1, "ada", [1.0, 1.0])
    board.judged(board.essay, 1, "bob", [0.0, 1.0])
    board.judged(board.essay, 2, "bob", None)
    board.judged(board.qa, 1, "bob", [0.25, 0.75])
    return board


def scores(found):
    return {
        one.model: ({key: (cell.score, cell.n, cell.unscored) for key, cell in one.categories.items()}, one.average)
        for one in found.models
    }


def test_equal_weights_by_hand(board):
    # ada: essay (75 + 62.5)/2 = 68.75 -> -25; qa 100 -> 100; average 37.5.
    # bob: essay 50 -> -100, one verdict unusable and left out; qa 50 -> -100; average -100.
    found = leaderboard(board.benchmark, board.judge, "equal")
    assert list(found.categories.values()) == ["open_ended_qa", "chat"]
    assert scores(found) == {
        "ada": ({"open_ended_qa": (100.0, 1, 0), "chat": (-25.0, 2, 0)}, 37.5),
        "bob": ({"open_ended_qa": (-100.0, 1, 0), "chat": (-100.0, 1, 1)}, -100.0),
    }


@pytest.mark.parametrize("positions", [False, True])
def test_fitted_weights_by_hand_matched_by_key_or_position(board, positions):
    # essay weights 80, 20; qa 30, 70. ada: essay 90 and 55 -> 72.5 -> -10; qa 100 -> 100: average 45.
    # bob: essay 20 -> -220; qa 7.5 + 52.5 = 60 -> -60: average -140.
    board.fit("table-x", {board.essay: [80, 20], board.qa: [30, 70]}, positions=positions)
    for name in ("table-x", "published", Fit.objects.get().public_id):
        found = scores(leaderboard(board.benchmark, board.judge, name))
        assert found["ada"][0]["chat"][0] == pytest.approx(-10)
        assert found["ada"][1] == pytest.approx(45)
        assert found["bob"][1] == pytest.approx(-140)


def test_a_leaf_takes_its_parents_weights_and_missing_ones_are_named(board):
    board.fit("of-parents", {board.chat: [80, 20], board.qa: [30, 70]})
    assert scores(leaderboard(board.benchmark, board.judge, "of-parents"))["ada"][1] == pytest.approx(45)
    board.fit("half", {board.chat: [80, 20]})
    with pytest.raises(MissingWeights, match="open_ended_qa"):
        leaderboard(board.benchmark, board.judge, "half")
    for name in ("nowhere", ""):
        with pytest.raises(UnknownWeights, match=r"of-parents"):
            leaderboard(board.benchmark, board.judge, name)


def test_a_fit_without_a_name_is_not_found_by_an_empty_one(board):
    board.fit("", {board.chat: [80, 20], board.qa: [30, 70]})
    with pytest.raises(UnknownWeights, match="no weights ''"):
        leaderboard(board.benchmark, board.judge, "")


def test_other_experiments_stay_out_and_can_be_asked_for(board):
    run = GenerationRun.objects.create(benchmark=board.benchmark, name="long", experiment="length")
    board.judged(board.essay, 1, "ada", [0.0, 0.0], run=run)
    assert scores(leaderboard(board.benchmark, board.judge, "equal"))["ada"][0]["chat"] == (-25.0, 2, 0)
    other = scores(leaderboard(board.benchmark, board.judge, "equal", filters=Filters(experiment="length")))
    assert other == {"ada": ({"chat": (-300.0, 1, 0)}, -300.0)}


def test_a_response_judged_in_two_studies_counts_once(board):
    again = Study.objects.create(workspace=board.workspace, slug="again", kind="checklist", benchmark=board.benchmark)
    response = Response.objects.get(instruction__external_id="open_ended_qa_1", model__name="ada")
    task = Task.objects.create(
        study=again, kind="single", key="r", response_a=response, answer_rubric=board.rubrics[board.qa]
    )
    make_answer(task, board.judge, {"item0": 0.5, "item1": 0.5})
    # 100 and 50 for one response: 75 -> 0, n stays 1.
    assert scores(leaderboard(board.benchmark, board.judge, "equal"))["ada"][0]["open_ended_qa"] == (0.0, 1, 0)


def test_a_model_not_judged_everywhere_has_no_average_and_stands_last(board):
    board.judged(board.qa, 2, "cyd", [1.0, 1.0])
    found = leaderboard(board.benchmark, board.judge, "equal")
    assert [one.model for one in found.models] == ["ada", "bob", "cyd"]
    assert found.models[-1].average is None


def test_other_judges_do_not_count_and_unknown_ones_are_named(board):
    other = make_judge_rater(board.workspace, "strict")
    with pytest.raises(NoVerdicts):
        leaderboard(board.benchmark, other, "equal")
    with pytest.raises(UnknownJudge, match="gpt-4o"):
        judge_named(board.benchmark, "strict")


def test_the_command_prints_exactly_the_documented_json(board, capsys):
    call_command("leaderboard", "bench", judge="gpt-4o", weights="equal", json=True)
    printed = json.loads(capsys.readouterr().out)
    assert printed == {
        "models": [
            {
                "model": "ada",
                "categories": {
                    "open_ended_qa": {"score": 100.0, "n": 1, "unscored": 0},
                    "chat": {"score": -25.0, "n": 2, "unscored": 0},
                },
                "average": 37.5,
                "rank": 1,
                "rank_low": 1,
                "rank_high": 2,
            },
            {
                "model": "bob",
                "categories": {
                    "open_ended_qa": {"score": -100.0, "n": 1, "unscored": 0},
                    "chat": {"score": -100.0, "n": 1, "unscored": 1},
                },
                "average": -100.0,
                "rank": 2,
                "rank_low": 1,
                "rank_high": 2,
            },
        ]
    }


def test_the_command_prints_a_table_and_names_what_is_wrong(board, capsys):
    call_command("leaderboard", "bench", judge="gpt-4o")
    shown = capsys.readouterr().out
    assert "37.50" in shown
    assert "-100.00 (-1)" in shown
    for options, words in (({"judge": "nobody"}, "nobody"), ({"judge": "gpt-4o", "weights": "nothing"}, "nothing")):
        with pytest.raises(CommandError, match=words):
            call_command("leaderboard", "bench", **options)
    with pytest.raises(CommandError, match="bench"):
        call_command("leaderboard", "benches", judge="gpt-4o")


def test_the_printed_table_stands_beside_ours_and_known_differences_are_marked():
    board = Board("hellobench")
    tops = [board.qa, Category.objects.create(benchmark=board.benchmark, key="summarization", position=2), board.essay]
    board.rubrics[tops[1]] = make_rubric(board.workspace, 2, benchmark=board.benchmark, category=tops[1])
    for top in tops:
        board.judged(top, 1, "claude35", [1.0, 0.5])
        board.judged(top, 1, "home-made", [1.0, 0.5])
    table = printed_beside(leaderboard(board.benchmark, board.judge, "equal"))
    assert table is not None
    (row,) = table.rows
    assert (row.model, row.printed_name) == ("claude35", "Claude-3.5-Sonnet")
    # Ours is 75 points -> 0 everywhere; printed are 62.73, 32.6 (Chat), 31.34; the average has two categories too few.
    assert [cell.printed for cell in row.cells[:3]] == [62.73, 32.6, 31.34]
    assert row.cells[0].difference == pytest.approx(-62.73)
    assert row.cells[-1].ours is None
    assert (table.compared, table.differing, table.unexplained) == (3, 3, 3)


def test_no_paper_printed_a_benchmark_of_ours(board):
    assert printed_beside(leaderboard(board.benchmark, board.judge, "equal")) is None


@pytest.fixture
def sample():
    """The cut clone, loaded; what its files say is read beside it by hand."""
    call_command("load_hellobench", str(shared_path("hellobench/sample_repo")), stdout=io.StringIO())
    return Benchmark.objects.get(slug="hellobench")


def by_hand(model, weighted):
    """(mean of sum(weight x score) - 75) x 4 and how many, of each category, from the clone's own files."""
    weights = json.loads(shared_path("hellobench/weights.json").read_text())
    verdicts = pd.read_csv(shared_path("hellobench/judgements.csv.gz"))
    kinds = dict(zip(verdicts["id"], verdicts["subcategory"], strict=True))
    found = {}
    for task in TASKS:
        path = f"hellobench/sample_repo/results/judgements/main_exp/{model}/{task}_results.jsonl"
        points = []
        for row in map(json.loads, shared_path(path).read_text().splitlines()):
            scores = [float(item["evaluation_score"]) for item in row["checklist_wise_evaluation"]]
            weight = weights[kinds[row["id"]]] if weighted else [100 / len(scores)] * len(scores)
            points.append(sum(w * x for w, x in zip(weight, scores, strict=True)))
        found[task] = ((sum(points) / len(points) - 75) * 4, len(points))
    return found


@pytest.mark.parametrize("weights", ["hellobench-repository", "equal"])
def test_a_clone_gives_what_its_files_give_by_hand(sample, weights):
    found = leaderboard(sample, judge_named(sample, "gpt-4o"), weights)
    assert {one.model for one in found.models} == {"claude35", "llama31_8b"}
    for one in found.models:
        expected = by_hand(one.model, weights != "equal")
        assert set(one.categories) == set(expected)
        for key, (score, n) in expected.items():
            assert one.categories[key].score == pytest.approx(score, abs=1e-9)
            assert (one.categories[key].n, one.categories[key].unscored) == (n, 0)
        assert one.average == pytest.approx(sum(score for score, _ in expected.values()) / 5, abs=1e-9)


def test_published_weights_are_the_most_exact_there_are(sample, capsys):
    rounded = Fit.objects.create(
        workspace=sample.workspace, kind="published", benchmark=sample, published_name="table-17"
    )
    for row in CategoryFit.objects.filter(fit__published_name="hellobench-repository"):
        copy = CategoryFit.objects.create(fit=rounded, category=row.category, key=row.key)
        for weight in row.weights.all():
            FittedWeight.objects.create(
                category_fit=copy,
                criterion_key=weight.criterion_key,
                position=weight.position,
                weight=round(weight.weight, 2),
            )
    call_command("leaderboard", "hellobench", judge="gpt-4o", weights="published", json=True)
    printed = {one["model"]: one for one in json.loads(capsys.readouterr().out)["models"]}
    for model in ("claude35", "llama31_8b"):
        for key, (score, _n) in by_hand(model, True).items():
            assert printed[model]["categories"][key]["score"] == pytest.approx(score, abs=1e-9)


def test_a_clones_models_stand_beside_the_printed_table(sample):
    run_board = leaderboard(sample, judge_named(sample, "gpt-4o"), "equal")
    table = printed_beside(run_board)
    assert table is not None
    assert {row.printed_name for row in table.rows} == {"Claude-3.5-Sonnet", "LLaMA-3.1-8B"}
    # 45 of 647 instructions were judged, so no difference is called unexplained.
    assert (table.compared, table.partial, table.unexplained) == (12, 12, 0)
