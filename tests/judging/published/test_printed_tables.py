"""The papers' printed tables beside ours: on the authors' data where there is some, else by hand."""

import csv
import gzip
import io
import json
import re
from collections import defaultdict

import pytest
from django.conf import settings as project
from django.core.management import call_command
from django.urls import reverse

from annotation.models import Assignment, Criterion, Rater, Rubric, Score, Study, Task
from generation.models import Benchmark, Category, GenerationRun, Instruction, LanguageModel, Response
from judging.leaderboards.check_counts import Output
from judging.leaderboards.filters import Filters
from judging.leaderboards.table import judge_named, leaderboard
from judging.methods.pairs.base import SCORES
from judging.models import Judge
from judging.published.columns import completion_as_printed
from judging.published.tables import printed_beside
from judging.scores.benchmark_scores import InstructionCounts
from tests.annotation.tables import load, written
from tests.conftest import shared_path
from tests.factories import make_judge_rater, make_user
from tests.markup import markup

pytestmark = pytest.mark.django_db
STAR_SCALES = {
    "Correctness": "1,3",
    "Explanation Correctness": "1,2",
    "Accuracy": "1,3,5",
    "Fluency": "1:3",
    "Informativeness": "1:3",
    "Logicality": "1:3",
}
FULL_MARKS = {
    "Correctness": 3,
    "Explanation Correctness": 2,
    "Accuracy": 5,
    "Fluency": 3,
    "Informativeness": 3,
    "Logicality": 3,
}


def published(slug):
    path = project.BASE_DIR / "fixtures" / "published" / f"{slug}.json"
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture
def library():
    call_command("load_library", stdout=io.StringIO())


def board_of(slug, judge, people=True, **asked):
    benchmark = Benchmark.objects.get(slug=slug)
    return leaderboard(
        benchmark, judge_named(benchmark, judge), "equal", filters=Filters(**asked), beside_people=people
    )


def page_of(client, slug, **asked):
    client.force_login(make_user("lead", Benchmark.objects.get(slug=slug).workspace))
    return markup(client.get(reverse("judging:leaderboard", args=[Benchmark.objects.get(slug=slug)]), asked))


def printed_part(html):
    return re.search(r'<section[^>]*id="printed".*?</section>', html, re.DOTALL)[0]


def cells_of(table, model):
    (row,) = [row for row in table.rows if row.model == model]
    return dict(zip(table.heads, row.cells, strict=True))


def test_wildbenchs_scores_of_two_models_come_out_as_printed(library, client):
    load(
        "ratings",
        shared_path("wildbench/score.csv.gz"),
        "--study",
        "wildbench-scores",
        "--benchmark",
        "wildbench",
        "--create-items",
        "--column",
        "item=session_id",
        "--column",
        "model=model",
        "--column",
        "value=score",
        "--judge-name",
        "gpt-4-turbo-2024-04-09",
        "--scale",
        "score=1:10",
        "--overall",
        "score",
    )
    table = printed_beside(board_of("wildbench", "gpt-4-turbo-2024-04-09"))
    assert {row.printed_name: row.cells[0].printed for row in table.rows} == {
        "Gemma-2B-it": 6.2,
        "GPT-3.5-turbo-0125": 42.1,
    }
    # 6.2109375 and 42.109375 over 1,024 tasks.
    assert [row.cells[0].ours for row in table.rows] == pytest.approx([42.109375, 6.2109375])
    assert (table.compared, table.differing, table.unexplained) == (2, 0, 0)
    assert table.rows[0].overall == table.rows[0].cells[0]
    part = printed_part(page_of(client, "wildbench"))
    assert "2 of 2 scores equal the published ones up to rounding." in part
    assert "WB-Score was checked on the authors" in part
    assert "has every verdict behind these rewards" not in part
    assert "arXiv 2406.04770, table 2" in part
    call_command("leaderboard", "wildbench", judge="gpt-4-turbo-2024-04-09", stdout=(out := io.StringIO()))
    assert "2 of 2 scores equal the published table" in " ".join(out.getvalue().split())


def graded_pairs(counts, judge="gpt-4-turbo-2024-04-09"):
    """A board of pairs on WildBench: {(model, baseline): {grade: how often}}, a pair an instruction."""
    benchmark = Benchmark.objects.get(slug="wildbench")
    workspace = benchmark.workspace
    rubric = Rubric.objects.create(workspace=workspace, key="pair")
    criterion = Criterion.objects.create(
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
    rater = make_judge_rater(workspace, judge)
    grades = {pair: [grade for grade, n in own.items() for _ in range(n)] for pair, own in counts.items()}
    category = Category.objects.get(benchmark=benchmark, key="coding_and_debugging")
    instructions = Instruction.objects.bulk_create(
        Instruction(benchmark=benchmark, external_id=f"w{n}", category=category)
        for n in range(max(map(len, grades.values())))
    )
    names = sorted({name for pair in counts for name in pair})
    models = {name: LanguageModel.objects.create(workspace=workspace, name=name) for name in names}
    responses = {
        name: Response.objects.bulk_create(
            Response(instruction=one, model=models[name], text="x" * (1 + 600 * place), words=1) for one in instructions
        )
        for place, name in enumerate(names)
    }
    tasks = Task.objects.bulk_create(
        Task(
            study=study,
            kind="pair",
            key=f"p:{model}:{baseline}:{n}",
            response_a=responses[model][n],
            response_b=responses[baseline][n],
            answer_rubric=rubric,
        )
        for (model, baseline), own in grades.items()
        for n in range(len(own))
    )
    answers = Assignment.objects.bulk_create(Assignment(task=task, rater=rater, status="submitted") for task in tasks)
    Score.objects.bulk_create(
        Score(assignment=answer, criterion=criterion, value=grade)
        for answer, grade in zip(answers, (grade for own in grades.values() for grade in own), strict=True)
    )


def test_wildbenchs_rewards_by_the_repositorys_counts_differ_and_are_said_to(library, client):
    names = {"haiku": "claude-3-haiku-20240307", "llama": "Llama-2-70b-chat-hf"}
    counts, expected = {}, {}
    with shared_path("wildbench/reward.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["K"] == "-1" and row["model"] == "gemma-2b-it":
                columns = {2: "win_much", 1: "win", 0: "tie", -1: "lose", -2: "lose_much"}
                own = {grade: int(row[column]) for grade, column in columns.items()}
                counts[row["model"], names[row["baseline"]]] = own
                total = sum(grade / 2 * n for grade, n in own.items())
                expected[row["baseline"]] = 100 * total / sum(own.values())
    graded_pairs(counts)
    table = printed_beside(board_of("wildbench", "gpt-4-turbo-2024-04-09", people=False))
    cells = cells_of(table, "gemma-2b-it")
    assert [cell.printed for cell in cells.values()] == [-74.1, -87.8, -73.6, -60.8]
    haiku, llama = cells["against Claude 3 Haiku"], cells["against Llama-2-70B-chat"]
    assert (haiku.ours, llama.ours) == pytest.approx((expected["haiku"], expected["llama"]))
    # -73.43 for -73.6 and -62.18 for -60.8: neither is equal, nothing says why, and no mix can be had of two baselines.
    assert haiku.difference == pytest.approx(0.17, abs=0.01)
    assert (cells["Mean of the three"].ours, cells["against GPT-4-Turbo-0409"].ours) == (None, None)
    assert (haiku.agrees, haiku.partial, llama.agrees) == (False, False, False)
    assert table.unexplained == 2
    part = printed_part(page_of(client, "wildbench", measure="reward"))
    assert "2 differ for an unknown reason." in part
    assert "has every verdict behind these rewards" in part
    assert '<span class="badge" title="This difference is unexplained">differs</span>' in part


def test_wildbenchs_mix_by_hand_and_its_length_margin(library):
    # Much better against each of the three: 100 each, and the mix 100. Against itself a baseline has 0 in its mix:
    # haiku lost all to gpt-4o (no baseline), and has a slight win over llama (50) and a slight loss to gpt-4-turbo.
    gpt4t, haiku, llama = "gpt-4-turbo-2024-04-09", "claude-3-haiku-20240307", "Llama-2-70b-chat-hf"
    won = {2: 4}
    graded_pairs(
        {
            ("gpt-4o-2024-05-13", gpt4t): won,
            ("gpt-4o-2024-05-13", haiku): won,
            ("gpt-4o-2024-05-13", llama): won,
            (haiku, llama): {1: 4},
            (haiku, gpt4t): {-1: 4},
        }
    )
    table = printed_beside(board_of("wildbench", gpt4t, people=False))
    assert [cell.ours for cell in cells_of(table, "gpt-4o-2024-05-13").values()] == [100, 100, 100, 100]
    assert [cell.ours for cell in cells_of(table, haiku).values()] == pytest.approx([0, -50, None, 50], nan_ok=True)
    # Four tasks of 1,024: a part, whose difference needs no reason.
    assert (table.unexplained, table.partial) == (0, table.differing)
    assert not any(row.overall for row in table.rows)
    mix = printed_beside(board_of("wildbench", gpt4t, people=False, against=(gpt4t, haiku, llama)))
    assert mix.rows[0].overall == mix.rows[0].cells[0]
    margin = printed_beside(board_of("wildbench", gpt4t, people=False, margin=500))
    assert "Clear K" in margin.conditions[0]
    assert not margin.comparable
    # gpt-4-turbo is 600 characters longer than haiku: its slight win over it is a tie at K = 500.
    assert cells_of(margin, haiku)["against GPT-4-Turbo-0409"].ours == 0
    assert printed_beside(board_of("wildbench", gpt4t, measure="wins")) is None
    assert printed_beside(board_of("wildbench", gpt4t, category="coding")) is None
    # The tables are of the papers' main experiments.
    benchmark = Benchmark.objects.get(slug="wildbench")
    run = GenerationRun.objects.create(benchmark=benchmark, name="long", experiment="length")
    Response.objects.update(run=run)
    judge = judge_named(benchmark, gpt4t)
    assert printed_beside(leaderboard(benchmark, judge, "equal", filters=Filters(experiment="length"))) is None


def test_llmeval2_stands_beside_table_8_for_its_judge_and_its_people(client):
    scales = [word for key, scale in STAR_SCALES.items() for word in ("--scale", f"{key}={scale}")]
    path = shared_path("llmeval2/stars.csv.gz")
    # A benchmark of the study's own: the library has two rubrics for LLMEval-2, and a table is read by one.
    load(
        "ratings",
        path,
        "--study",
        "llmeval2",
        "--column",
        "item=question_uuid",
        "--column",
        "model=llm_name",
        "--column",
        "category=subject",
        "--column",
        "criterion=criterion",
        "--wide",
        "human,gpt4",
        "--judge",
        "gpt4",
        "--off-scale",
        "keep",
        *scales,
    )
    table = printed_beside(board_of("llmeval2", "gpt4"))
    assert len(table.rows) == 20
    sums = defaultdict(lambda: [0.0, 0.0, 0.0])
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            own = sums[row["llm_name"], row["subject"]]
            full = FULL_MARKS[row["criterion"]]
            for place, value in enumerate((float(row["gpt4"]), float(row["human"]), full)):
                own[place] += value
    for row in table.rows:
        shares = [
            (100 * mine[0] / mine[2], 100 * mine[1] / mine[2])
            for (model, _), mine in sums.items()
            if model == row.model
        ]
        judge, _, people, _ = row.cells
        assert len(shares) == 6
        assert judge.ours == pytest.approx(sum(share for share, _ in shares) / 6)
        assert people.ours == pytest.approx(sum(share for _, share in shares) / 6)
    cells = cells_of(table, "GPT4")
    assert [cell.printed for cell in cells.values()] == [89.54, 1, 86.72, 1]
    assert [cell.ours for cell in cells.values()] == pytest.approx([90.1743, 1, 89.4953, 1], abs=1e-4)
    # Six of the twelve subjects: no difference is called unexplained, and every score differs.
    assert (table.unexplained, table.other_judge, table.known) == (0, 0, 0)
    assert not any(cell.agrees for row in table.rows for cell in (row.cells[0], row.cells[2]))
    part = printed_part(page_of(client, "llmeval2"))
    assert "cover only part of the benchmark" in part
    assert "people&#x27;s rank" in part
    assert "240 of 480 questions" in part


def long_outputs(version, folder):
    """400 outputs with the check set of each real instruction and the counts of the authors' file, and those counts."""
    with shared_path("longgenbench/items.csv").open(encoding="utf-8", newline="") as file:
        items = [row for row in csv.DictReader(file) if row["version"] == version]
    names = {f"{folder}_maxlen{16000 if version == 'short' else 32000}.json", f"{folder}.json"}
    with shared_path("longgenbench/static.csv").open(encoding="utf-8", newline="") as file:
        (known,) = [row for row in csv.DictReader(file) if row["Filename"] in names]
    checks = [sum(len(row[kind].split()) for kind in ("once_ids", "range_ids", "periodic_ids")) for row in items]
    asked = [int(row["number"]) for row in items]
    answered, fulfilled = int(known["Total Results"]), int(known["Total Yes"])
    outputs, rate = [], float(known["CR"]) / 100
    # Each output has nearly the mean rate; what rounding leaves over goes to the next one.
    owed = 0.0
    for place, (number, own) in enumerate(zip(asked, checks, strict=True)):
        owed += rate
        present = min(number, round(owed * number))
        owed -= present / number
        here = min(own, answered)
        good = min(here, fulfilled)
        answered, fulfilled = answered - here, fulfilled - good
        counts = InstructionCounts(number, present, own, here, good)
        outputs.append(Output(place, 1, place, 0, 0, 1, counts, {}))
    assert (answered, fulfilled) == (0, 0)
    assert sum(checks) == int(known["Total Checks"])
    return outputs


@pytest.mark.parametrize("version", ["short", "long"])
def test_longgenbenchs_real_counts_give_table_2_but_for_two_misprints(version):
    paper = published("longgenbench")
    places = {name: place for place, name in enumerate(paper["table_2"]["columns"])}
    differing = {}
    for printed_name, folder in paper["model_folders"].items():
        row = paper["table_2"]["rows"][printed_name]
        if row[places[f"{version}_completion"]] is None:
            continue
        found = completion_as_printed(long_outputs(version, folder))
        assert found.n == 400
        for name in ("completion", "stic_1", "stic_2", "average"):
            gap = getattr(found, name) - row[places[f"{version}_{name}"]]
            if abs(gap) > 0.06:
                differing[folder, f"{version}_{name}"] = round(gap, 1)
    known = paper["known_differences"]["differences"]
    assert differing == {
        (folder, column): round(shift, 1)
        for folder, columns in known.items()
        for column, shift in columns.items()
        if column.startswith(version)
    }


def test_completion_is_the_mean_of_outputs_not_pooled_by_hand():
    # 26 of 52 and 100 of 100: the mean of 50 % and 100 % is 75 %; pooled it would be 126/152 = 82.9 %.
    # 1 + 3 of 2 + 4 checks fulfilled: STIC-2 2/3, average 50 %; one of 2 is answered in the first: STIC-1 4/5.
    counts = [InstructionCounts(52, 26, 2, 1, 1), InstructionCounts(100, 100, 4, 4, 3)]
    outputs = [Output(place, 1, place, 0, 0, 1, one, {}) for place, one in enumerate(counts)]
    found = completion_as_printed(outputs)
    assert (found.completion, found.stic_1, found.stic_2, found.average, found.n) == pytest.approx(
        (75, 80, 200 / 3, 50, 2)
    )
    assert completion_as_printed([]) is None
    nothing = Output(1, 1, 1, 0, 0, 1, InstructionCounts(52, 0, 2, 0, 0), {})
    assert completion_as_printed([nothing]).stic_1 is None


def pairs_table(tmp_path, slug, rows, judge, people=()):
    """Load rows (item, category, model, other, choice) as a judge's, and `people` the same way as a person's."""
    head = "item,category,model_a,model_b,rater,choice\n"
    lines = [
        f"{','.join(row)}"
        for row in [*((*row[:4], judge, row[4]) for row in rows), *((*row[:4], "ann", row[4]) for row in people)]
    ]
    path = written(tmp_path, head + "\n".join(lines) + "\n", f"{slug}.csv")
    load(
        "preferences",
        path,
        "--study",
        f"{slug}-pairs",
        "--benchmark",
        slug,
        "--create-items",
        *(
            word
            for name in ("item", "category", "model_a", "model_b", "rater", "choice")
            for word in ("--column", f"{name}={name}")
        ),
        "--judge-prefix",
        judge,
        "--map",
        "A=A",
        "--map",
        "B=B",
        "--map",
        "tie=tie",
        "--map",
        "both=both_bad",
    )


def test_hrefs_table_is_that_of_the_set_whose_categories_were_judged(library, tmp_path, client):
    baseline, model = "Llama-3.1-405B-Instruct-FP8", "Llama-2-7b-chat-hf"
    rows = [
        ("i1", "Brainstorm", model, baseline, "A"),
        ("i2", "Brainstorm", model, baseline, "tie"),
        ("i3", "Open QA", model, baseline, "B"),
        ("i3", "Open QA", "Yi-1.5-34B-Chat", baseline, "A"),
        ("i3", "Open QA", model, "Yi-1.5-34B-Chat", "A"),
    ]
    pairs_table(tmp_path, "href", rows, "composite")
    table = printed_beside(board_of("href", "composite", people=False))
    # Against the baseline alone: brainstorming a win and a tie, 75; open QA lost; all three: 50.
    cells = cells_of(table, model)
    assert (cells["Brainstorming"].ours, cells["Brainstorming"].printed) == (75.0, 17.5)
    assert (cells["Open QA"].ours, cells["All"].ours, cells["All"].printed) == (0.0, 50.0, 17.7)
    assert (len(table.heads), "table 6" in table.source, "development set" in table.title) == (9, True, True)
    assert [row.printed_name for row in table.rows] == [model, "Yi-1.5-34B-Chat"]
    assert table.partial == table.differing
    # A category of the evaluation set's own: its table, with all eleven.
    pairs_table(tmp_path, "href", [("i4", "Fact Checking", model, baseline, "A")], "composite")
    table = printed_beside(board_of("href", "composite", people=False))
    assert (len(table.heads), "table 5" in table.source) == (12, True)
    assert cells_of(table, model)["Fact checking"].printed == 7.3
    part = printed_part(page_of(client, "href", measure="wins"))
    assert "half is used here" in part
    assert "not judged here" in part
    assert printed_beside(board_of("href", "composite", people=False, against=("Yi-1.5-34B-Chat",))) is None


def test_llmeval1s_points_a_game_by_the_judge_and_by_people(library, tmp_path):
    rows = [("q1", "reasoning", "GPT3.5", "GPT4.0", "B"), ("q2", "reasoning", "GPT3.5", "GPT4.0", "both")]
    pairs_table(tmp_path, "llmeval1", rows, "gpt-4", people=[(*rows[0][:4], "A")])
    table = printed_beside(board_of("llmeval1", "gpt-4", measure="wins"))
    # GPT-4 as judge: a loss and a draw, .25 a game; the person: a win, 1.
    cells = list(cells_of(table, "GPT3.5").values())
    assert [cell.printed for cell in cells] == [0.818, 2, 0.643, 2]
    assert [cell.ours for cell in cells] == [0.25, None, 1.0, None]
    # Ranks of two models of twelve say nothing: they are shown as printed only.
    assert [cell.compared for cell in cells] == [True, False, True, False]
    assert (cells[0].digits, cells[1].digits) == (3, 0)
    assert (table.compared, table.partial) == (4, 4)


def test_llmeval1s_stars_are_means_of_three(library, tmp_path):
    criteria = ("accuracy", "informativeness", "fluency", "logicality", "harmlessness")
    stars = {"GPT4.0": (3, 3, 3, 2, 3), "GPT3.5": (3, 2, 3, 2, 1)}
    lines = [
        f"q1,reasoning,{model},{criterion},{value}"
        for model, own in stars.items()
        for criterion, value in zip(criteria, own, strict=True)
    ]
    path = written(tmp_path, "item,category,model,criterion,value\n" + "\n".join(lines) + "\n", "stars.csv")
    load(
        "ratings",
        path,
        "--study",
        "stars",
        "--benchmark",
        "llmeval1",
        "--create-items",
        "--judge-name",
        "gpt-4",
        *(
            word
            for name in ("item", "category", "model", "criterion", "value")
            for word in ("--column", f"{name}={name}")
        ),
        "--scale",
        "*=1:3",
    )
    table = printed_beside(board_of("llmeval1", "gpt-4"))
    cells = list(cells_of(table, "GPT4.0").values())
    # 14 stars of five criteria: 2.8; GPT-3.5 has 11: 2.2.
    assert (cells[0].ours, cells[0].printed, cells[2].printed) == (pytest.approx(2.8), 2.917, 2.833)
    assert cells_of(table, "GPT3.5")["judge's score"].ours == pytest.approx(2.2)
    assert "table 6" in table.source


def test_another_judge_than_the_papers_needs_no_reason_to_differ(library):
    won = {("gpt-4o-2024-05-13", "claude-3-haiku-20240307"): {2: 1000}}
    graded_pairs(won, judge="our own judge")
    table = printed_beside(board_of("wildbench", "our own judge", people=False))
    assert (table.differing, table.other_judge, table.unexplained) == (1, 1, 0)
    rater = Rater.objects.get(label="our own judge")
    model = LanguageModel.objects.create(workspace=rater.workspace, name="openai/GPT-4-Turbo-2024-04-09")
    Judge.objects.create(
        workspace=rater.workspace, rater=rater, language_model=model, method="pair_of_five", prompt_hash="x"
    )
    table = printed_beside(board_of("wildbench", "our own judge", people=False))
    assert (table.differing, table.other_judge, table.unexplained) == (1, 0, 1)
