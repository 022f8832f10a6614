"""A small WildBench from its own files to a judge's verdicts and the board: grades and graded pairs, by a script."""

import io
import json

import pytest
from django.core.management import call_command
from django.urls import reverse

from annotation.models import Assignment, Score
from generation.models import Endpoint, LanguageModel
from judging.models import Reply
from tests.factories import make_user
from tests.generation.importers.wildbench_files import (
    CUT_PAIR,
    HAIKU,
    pair_row,
    pairs_of,
    put,
    score_row,
    scores_of,
    task_rows,
)
from tests.judging.loading import loaded_benchmark
from tests.markup import markup

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def benchmark(tmp_path):
    put(tmp_path, scores_of("m"), [score_row(f"t{n}", n + 2, f"Answer {n}") for n in range(1, 5)])
    rows = [pair_row(f"t{n}", "openai/m", 1, texts=(f"Answer {n}", "The other")) for n in range(1, 4)]
    put(tmp_path, pairs_of("m"), [*rows, pair_row("t4", HAIKU, 2, texts=CUT_PAIR)])
    benchmark = loaded_benchmark("wildbench", tmp_path, tasks=put(tmp_path, "tasks.json", task_rows()))
    endpoint = Endpoint.objects.create(workspace=benchmark.workspace, name="script", kind="scripted")
    LanguageModel.objects.create(
        workspace=benchmark.workspace, name="own", endpoint=endpoint, parameters={"script": {"seed": 1}}
    )
    return benchmark


def judged(target, method):
    call_command("judge", target, model="own", method=method, no_canaries=True, stdout=io.StringIO())
    return Score.objects.filter(assignment__rater__label__startswith="own")


def board(measure, **options):
    out = io.StringIO()
    call_command(
        "leaderboard", "wildbench", judge=options.pop("judge"), measure=measure, json=True, stdout=out, **options
    )
    return {row["model"]: row["average"] for row in json.loads(out.getvalue())["models"]}


def test_the_published_verdicts_are_on_the_board(benchmark):
    judge = "gpt-4-turbo-2024-04-09"
    # Scores 3, 4, 5, 6: (4.5 - 5) x 20. Rewards .5 three times; the fourth is of a cut response.
    assert board("graded", judge=judge) == {"m": -10}
    assert board("reward", judge=judge) == {"m": 50, HAIKU: -50}
    assert board("reward", judge=judge, excluded=True) == {"m": 12.5, HAIKU: -12.5}
    assert Assignment.objects.filter(status="excluded").count() == 1


def test_pages_say_that_the_source_leaves_an_answer_out(benchmark, client):
    client.force_login(make_user("lead", benchmark.workspace))
    html = markup(client.get(reverse("judging:leaderboard", args=[benchmark]), {"measure": "reward"}))
    assert "1 answer is excluded and is not counted here (raters: 1): the source of the data leaves it out." in html
    assert "Comparisons of cut or empty responses, which the paper seems to count" in html
    shown = markup(client.get(reverse("judging:leaderboard", args=[benchmark]), {"excluded": "shown"}))
    assert "1 excluded answer (raters: 1) is counted in this view" in shown
    call_command(
        "leaderboard", "wildbench", judge="gpt-4-turbo-2024-04-09", measure="reward", stdout=(out := io.StringIO())
    )
    assert "Excluded, 1 of them by the source of the data: 1 answers of 1 raters, not counted" in out.getvalue()


def test_a_judge_grades_by_each_tasks_own_checklist(benchmark):
    scores = judged("wildbench", "graded_score")
    # Two responses to each of the three tasks that have a checklist.
    assert scores.count() == 6
    assert all(1 <= score.value <= 10 for score in scores)
    assert set(board("graded", judge="own graded_score")) == {"m", HAIKU}


def test_a_judge_compares_on_five_levels(benchmark):
    scores = judged("wildbench-pairs-claude-3-haiku-20240307", "pair_of_five")
    assert scores.count() == 3
    assert set(scores.values_list("level", flat=True)) <= {"a_much", "a", "tie", "b", "b_much"}
    assert Reply.objects.count() == 3
    assert set(board("reward", judge="own pair_of_five")) == {"m", HAIKU}
