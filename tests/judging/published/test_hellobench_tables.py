"""HelloBench's printed tables beside ours: on the authors' data where there is some, and on a small clone made here."""

import csv
import gzip
import io
import json

import numpy as np
import pytest
from django.core.management import call_command
from django.urls import reverse
from scipy.stats import spearmanr

from accounts.models import Workspace
from annotation.models import Study, Task
from generation.models import Benchmark, Response
from judging.judges.questions import Questions
from judging.leaderboards.table import judge_named, leaderboard
from judging.published.hellobench.lookup import printed_figures
from judging.published.paper_table import Status
from judging.published.papers.hellobench import TABLES
from judging.published.tables import printed_beside
from tests.annotation.tables import load, written
from tests.conftest import shared_path
from tests.factories import make_user
from tests.judging.management.test_load_hellobench import lines, verdict
from tests.markup import markup

pytestmark = pytest.mark.django_db
ROWS = {table.number: table for table in TABLES}


def cells_of(number, workspace=None):
    return list(ROWS[number].compute(workspace or Workspace.objects.get()))


def statuses(cells):
    counts = dict.fromkeys(Status, 0)
    for cell in cells:
        counts[cell.status] += 1
    return {str(status): n for status, n in counts.items() if n}


@pytest.fixture
def twelve_models():
    """GPT-4o's verdicts on twelve models, with the repository's weights, and words as they are counted here."""
    path = shared_path("hellobench/judgements.csv.gz")
    call_command("load_library", stdout=io.StringIO())
    call_command("load_hellobench", str(shared_path("hellobench/sample_repo")), stdout=io.StringIO())
    columns = {"item": "id", "model": "model", "category": "subcategory", "item_index": "item_index", "value": "score"}
    load(
        "judgements",
        path,
        *("--study", "hellobench-12", "--benchmark", "hellobench", "--create-items", "--judge-name", "gpt-4o"),
        *(word for name, column in columns.items() for word in ("--column", f"{name}={column}")),
    )
    with gzip.open(shared_path("hellobench/responses.csv.gz"), "rt", encoding="utf-8") as file:
        words = {(row["id"], row["model"]): int(row["wc_nltk_punkt_untrained"]) for row in csv.DictReader(file)}
    rows = list(Response.objects.select_related("instruction", "model"))
    for row in rows:
        row.words = words[row.instruction.external_id, row.model.name]
    Response.objects.bulk_update(rows, ["words"], batch_size=2000)


def test_every_table_is_there_with_every_printed_cell():
    assert list(ROWS) == ["2", "3", "4", "5", "6", "7", "8", "17", "18", "19", "20", "21", "22", "23", "24"]
    workspace = Workspace.objects.create(slug="empty", name="Empty")
    sizes = {number: len(cells_of(number, workspace)) for number in ROWS}
    assert sizes == {
        **{"2": 23 * 12, "3": 9 * 10, "4": 20, "5": 3, "6": 9, "7": 43, "8": 15, "17": 231, "18": 25, "19": 76},
        **{"20": 4, "21": 9, "22": 5, "23": 6 * 12, "24": 7 * 11},
    }
    for number in ROWS:
        for cell in cells_of(number, workspace):
            assert (cell.status, cell.recomputed) == (Status.NOT_COMPUTABLE, None)
            assert "upload its repository" in cell.reason
        assert set(ROWS[number].titles) == {"en", "zh-hans"}
        assert ROWS[number].source.endswith(f"arXiv 2409.16191, table {number}")


def test_the_authors_verdicts_give_table_2(twelve_models):
    cells = [cell for cell in cells_of("2") if cell.status != Status.NOT_COMPUTABLE]
    scores = [cell for cell in cells if cell.column.endswith("_S")]
    assert statuses(scores) == {"equal": 60, "misprint": 2, "differs": 10}
    assert {(cell.row, cell.column) for cell in scores if cell.status == Status.MISPRINT} == {
        ("Yi-1.5-34B", "AVG_S"),
        ("Suri-I-ORPO", "Chat_S"),
    }
    assert {cell.row for cell in scores if cell.status == Status.DIFFERS} == {
        *("Claude-3.5-Sonnet", "Qwen-Max", "Gemma-2-27B", "LLaMA-3.1-8B")
    }
    assert all(cell.reason for cell in cells if cell.status != Status.EQUAL)
    yi = next(cell for cell in scores if (cell.row, cell.column) == ("Yi-1.5-34B", "AVG_S"))
    assert yi.recomputed == pytest.approx(23.6168, abs=1e-4) and "mean of 23.62" in yi.reason
    words = [cell for cell in cells if cell.column.endswith("_WC")]
    assert statuses(words) == {"equal": 30, "differs": 42}
    reproduced = [cell for cell in words if "with which this figure was reproduced" in cell.reason]
    # nltk's trained splitter gives 62 of the 72, so it explains those of them that differ here, and no other.
    agrees = printed_figures()["trained_splitter"]["agrees"]
    assert sum(map(len, agrees.values())) == 62
    assert all(cell.column in agrees[cell.row] for cell in reproduced) and len(reproduced) == 33
    unknown = [cell for cell in words if "the reason is not known" in cell.reason]
    assert unknown and not any(cell.column in agrees[cell.row] for cell in unknown)
    assert not any("was not checked" in cell.reason for cell in words)
    assert statuses(cells_of("3")) == {"equal": 6, "differs": 4, "not computable": 80}
    assert statuses(cells_of("23")) == {"equal": 10, "misprint": 1, "differs": 1, "not computable": 60}
    assert statuses(cells_of("17")) == {"equal": 231}
    assert statuses(cells_of("7")) == {"equal": 43}
    lengths = cells_of("8")
    assert {cell.status for cell in lengths} == {Status.NOT_COMPUTABLE}
    assert "of 200 instructions have a text here" in lengths[0].reason
    beside = beside_the_leaderboard()
    assert (beside.compared, beside.differing, beside.unexplained) == (72, 12, 0)
    (row,) = [row for row in beside.rows if row.printed_name == "Yi-1.5-34B"]
    assert row.overall.known and row.overall.differs


def test_the_misprints_follow_from_the_rest_of_their_rows():
    columns = printed_figures()["table_2"]["columns"]
    for name, places in printed_figures()["misprints"].items():
        row = dict(zip(columns, printed_figures()["table_2"]["rows"][name], strict=True))
        five = [row[f"{prefix}_S"] for prefix in ("OEQA", "Summ", "Chat", "TC", "HTG")]
        # Five cells rounded to hundredths have a mean within .005, and so has the printed average.
        assert abs(np.mean(five) - row["AVG_S"]) > 0.0100
        for column, misprint in places.items():
            right = {**row, column: misprint["correct"]}
            five = [right[f"{prefix}_S"] for prefix in ("OEQA", "Summ", "Chat", "TC", "HTG")]
            assert abs(np.mean(five) - right["AVG_S"]) <= 0.0100


def beside_the_leaderboard():
    benchmark = Benchmark.objects.get(slug="hellobench")
    return printed_beside(leaderboard(benchmark, judge_named(benchmark, "gpt-4o"), "published"))


LENGTHS = {"": 900, "_2k": 1500, "_16k": 1400}


def small_clone(root):
    """Two models, one of them in every length, and a long-context variant; GPT-4o's answers are all alike in a file."""
    asked = {task: [f"{task}_{n:03}" for n in range(2)] for task in QUESTIONS}
    for task, (leaf, items) in QUESTIONS.items():
        rows = [{"id": name, "category": leaf, "instruction": f"Task {name}."} for name in asked[task]]
        lines(root / "data" / "main_data" / f"{task}.jsonl", rows)
        questions = {leaf: [f"Question {n}?" for n in range(items)]}
        (root / "checklists").mkdir(exist_ok=True)
        (root / "checklists" / f"{task}_checklist.json").write_text(json.dumps(questions))
    weights = {leaf: [1.0] * (items - 1) + [2.5] for leaf, items in QUESTIONS.values()}
    (root / "weighted_scores.txt").write_text(f"W = {weights}\n")
    for size in ("2k", "16k"):
        rows = [
            {"id": name, "category": "story_writing", "instruction": f"{name} in {size}."} for name in asked[WRITING]
        ]
        lines(root / "data" / "length_constrained_data" / f"{WRITING}_{size}.jsonl", rows)
    for task, (_leaf, items) in QUESTIONS.items():
        for folder, model, score in (("main_exp", "claude35", 0.75), ("longcontext_exp", "glm4_9b_1m", 0.5)):
            results(root, f"{folder}/{model}/{task}_results.jsonl", asked[task], [score] * items, 40)
    for suffix, score in (("_2k", 1.0), ("_16k", 0.25)):
        name = f"length_constrained_exp/claude35/{WRITING}{suffix}_results.jsonl"
        results(root, name, asked[WRITING], [score] * 5, LENGTHS[suffix])


def results(root, name, asked, scores, words):
    rows = [
        {
            "id": one,
            "instruction": f"Task {one}.",
            "response": " ".join(["word"] * words),
            "checklist_wise_evaluation": verdict(*scores),
        }
        for one in asked
    ]
    lines(root / "results" / "judgements" / name, rows)
    lines(root / "results" / "generations" / name, rows)


QUESTIONS = {
    "open_ended_qa": ("science", 7),
    "summarization": ("blogs", 6),
    "chat": ("rewrite", 6),
    "text_completion": ("continuation", 5),
    "heuristic_text_generation": ("story_writing", 5),
}
WRITING = "heuristic_text_generation"


def test_lengths_and_long_context_models_have_boards_of_their_own(tmp_path):
    small_clone(tmp_path)
    call_command("load_hellobench", str(tmp_path), stdout=io.StringIO())
    by_place = {(cell.row, cell.column): cell for cell in cells_of("3")}
    claude = "Claude-3.5-Sonnet"
    # (75 - 75) x 4 without a length, (100 - 75) x 4 with 2,000 words asked, (25 - 75) x 4 with 16,000.
    for column, score, words in (("none", 0, 40), ("2K", 100, 1500), ("16K", -200, 1400)):
        assert by_place[claude, f"{column}_S"].recomputed == pytest.approx(score)
        assert by_place[claude, f"{column}_WC"].recomputed == words
    assert "2 of 123 instructions" in by_place[claude, "2K_S"].reason
    assert "experiment length-4k" in by_place[claude, "4K_S"].reason
    assert by_place["Yi-Large", "2K_S"].reason == "This model has no verdicts here; load its results."
    call_command(
        "length_scores", "hellobench", judge="gpt-4o", weights="published", json=True, stdout=(out := io.StringIO())
    )
    rows = {row["experiment"]: row for row in json.loads(out.getvalue())}
    assert [(name, row["words"]) for name, row in rows.items()] == [
        ("main", 40),
        ("length-2k", 1500),
        ("length-16k", 1400),
    ]
    # The main experiment counts with the two prompts that the lengths have, and each length is laid beside the same two.
    assert [(row["n"], row["score"], row["difference"], row["shared"]) for row in rows.values()] == [
        (2, pytest.approx(0), None, 0),
        (2, pytest.approx(100), pytest.approx(100), 2),
        (2, pytest.approx(-200), pytest.approx(-200), 2),
    ]
    long = {(cell.row, cell.column): cell for cell in cells_of("23")}
    assert long["GLM-4-9B-1M", "AVG_S"].recomputed == pytest.approx(-100)
    assert long["GLM-4-9B", "AVG_S"].status == Status.NOT_COMPUTABLE


def test_people_are_correlated_rated_and_compared(tmp_path):
    small_clone(tmp_path / "clone")
    call_command("load_hellobench", str(tmp_path / "clone"), stdout=io.StringIO())
    names = [f"{task}_{n:03}" for task in QUESTIONS for n in range(2)]
    marks = {
        "r1": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
        "r2": [1, 3, 2, 4, 6, 5, 7, 8, 10, 9],
        "r3": [5, 2, 7, 4, 5, 6, 7, 0, 9, 1],
    }
    rows = [(name, "claude35", rater, own[place]) for rater, own in marks.items() for place, name in enumerate(names)]
    people_answer(tmp_path, "long", "over_1000_words", rows, "--scale", "over_1000_words=0:10")
    found = {(cell.row, cell.column): cell.recomputed for cell in cells_of("6")}
    for a, b in (("r1", "r2"), ("r1", "r3"), ("r2", "r3")):
        key = a.replace("r", "HM"), b.replace("r", "HM")
        assert found[key] == pytest.approx(np.corrcoef(marks[a], marks[b])[0, 1])
    assert [cell.recomputed for cell in cells_of("5")] == pytest.approx([55, 55, 46])
    assert statuses(cells_of("18")) == {"not computable": 25}
    assert "No overall scores from people" in cells_of("18")[0].reason


def people_answer(folder, study, criterion, rows, *arguments, judge=""):
    """Load rows of (instruction, model, rater, value); without a judge's name, the raters are people."""
    columns = {"item": "item", "model": "model", "rater": "rater", "value": criterion}
    if judge:
        columns.pop("rater")
        arguments = (*arguments, "--judge-name", judge)
    text = "\n".join([f"item,model,rater,{criterion}", *(",".join(map(str, row)) for row in rows)])
    named = [word for name, column in columns.items() for word in ("--column", f"{name}={column}")]
    path = written(folder, text + "\n", f"{study}.csv")
    load("ratings", path, "--study", study, "--benchmark", "hellobench", *arguments, *named)


def summaries_by_two_models(folder):
    """Six summaries, by two models, with GPT-4o's checklists, and people's overall scores of them."""
    names = [f"summarization_{n:03}" for n in range(3)]
    lines(
        folder / "clone" / "data" / "main_data" / "summarization.jsonl",
        [{"id": name, "category": "blogs", "instruction": "Sum up."} for name in names],
    )
    (folder / "clone" / "checklists").mkdir()
    questions = {"blogs": [f"Question {n}?" for n in range(6)]}
    (folder / "clone" / "checklists" / "summarization_checklist.json").write_text(json.dumps(questions))
    (folder / "clone" / "weighted_scores.txt").write_text("W = {'blogs': [0.5, 0.5, 0.5, 0.5, 0.5, 7.5]}\n")
    for model, marks in (("claude35", (1.0, 0.75, 0.5)), ("qwen2_72b", (0.25, 0.5, 0.0))):
        rows = [
            {
                "id": name,
                "instruction": "Sum up.",
                "response": f"{model} says {name} " + "in some words again " * (n + 2),
                "checklist_wise_evaluation": verdict(*[1.0 - mark] * 5, mark),
            }
            for n, (name, mark) in enumerate(zip(names, marks, strict=True))
        ]
        for kind in ("judgements", "generations"):
            lines(folder / "clone" / "results" / kind / "main_exp" / model / "summarization_results.jsonl", rows)
    call_command("load_hellobench", str(folder / "clone"), stdout=io.StringIO())
    people = {"claude35": (9, 8, 5), "qwen2_72b": (4, 6, 1)}
    rows = [(name, model, "r1", own[n]) for model, own in people.items() for n, name in enumerate(names)]
    people_answer(folder, "people", "overall", rows)
    return names, people


def test_every_method_stands_in_one_table_against_people(tmp_path, client):
    names, people = summaries_by_two_models(tmp_path)
    values = {"claude35": (10, 20, 30), "qwen2_72b": (40, 20, 90)}
    rows = [(name, model, "", own[n]) for model, own in values.items() for n, name in enumerate(names)]
    people_answer(tmp_path, "ppl", "perplexity", rows, "--scale", "perplexity=1:1000", judge="gpt2-large")
    cells = {(cell.row, cell.column): cell for cell in cells_of("4")}
    flat = {name: [one for own in table.values() for one in own] for name, table in (("p", people), ("v", values))}
    # With 7.5 of 10 points on the last item, a mark m is worth 75 m + 25 (1 - m); equally weighted, less where m is more.
    assert cells["HelloEval", "rho"].recomputed == pytest.approx(
        100 * spearmanr([1, 0.75, 0.5, 0.25, 0.5, 0], flat["p"])[0]
    )
    assert cells["AVG-C", "rho"].recomputed == pytest.approx(-cells["HelloEval", "rho"].recomputed)
    rho, p = spearmanr(flat["v"], flat["p"])
    assert (cells["PPL", "rho"].recomputed, cells["PPL", "p"].recomputed) == pytest.approx((100 * rho, p))
    assert "no human reference" in cells["METEOR", "rho"].reason
    assert "No judge of this kind" in cells["LLM-Eval", "rho"].reason
    assert cells["Distinct-4", "rho"].recomputed is not None
    means = {(cell.row, cell.column): cell for cell in cells_of("24")}
    assert means["Claude-3.5-Sonnet", "HE"].recomputed == pytest.approx(22 / 3)
    # Marks of 1, 0.75 and 0.5 are worth 75, 62.5 and 50, on average 62.5, rescaled (62.5 - 75) x 4.
    assert means["Claude-3.5-Sonnet", "HelloEval"].recomputed == pytest.approx(-50)
    assert means["Qwen-2-72B", "PPL"].recomputed == pytest.approx(50)
    assert means["GPT-4o-Mini", "HE"].status == Status.NOT_COMPUTABLE
    client.force_login(make_user("lead", Workspace.objects.get()))
    study = Study.objects.get(slug="people")
    html = markup(client.get(reverse("judging:judges_metrics", args=[study])))
    for name in ("METEOR", "BLEU-4", "ROUGE-L", "Repetition-4", "Distinct-4", "Perplexity by gpt2-large"):
        assert name in html
    assert "gpt-4o, checklist with equal weights" in html and "gpt-4o, checklist with weights" in html
    assert "these instructions have no human reference" in html
    stranger = make_user("lead", Workspace.objects.create(slug="other", name="Other"))
    client.force_login(stranger)
    assert client.get(reverse("judging:judges_metrics", args=[study])).status_code == 404


def test_a_judge_is_asked_with_the_length_that_was_requested(tmp_path):
    small_clone(tmp_path)
    call_command("load_hellobench", str(tmp_path), stdout=io.StringIO())
    task = Task.objects.filter(study__experiment="main", response_a__instruction__external_id=f"{WRITING}_000").first()
    plain = Questions("checklist", task.study).about(task).conversation
    task.study.experiment = "length-8k"
    asked = Questions("checklist", task.study).about(task).conversation
    assert "8,000" not in plain[-1][1] and "8,000" in asked[-1][1]
    own = Task.objects.filter(study__experiment="length-2k").first()
    assert Questions("checklist", own.study).about(own).conversation[-1][1].endswith("in 2k.")
