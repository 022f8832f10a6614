"""A leaderboard's ranking beside another: scores that are read, the command, and the page with its upload."""

import csv
import io
import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from annotation.models import Score
from core.errors import UserError
from judging.published.ranking_comparison import compare_rankings, read_scores
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_user, make_workspace
from tests.markup import markup

MODELS = 7


def test_scores_are_read_with_and_without_a_head():
    assert read_scores("model,score\nlab/A,71.5\n\nB, -2\n", "s").scores == {"lab/A": 71.5, "B": -2.0}
    assert read_scores("\ufeffA\t90%\nB\t1e2", "s").scores == {"A": 90.0, "B": 100.0}
    assert read_scores("A;1\nB;2", "s").scores == {"A": 1.0, "B": 2.0}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("A,1\nB,high", "scores.csv, line 2: 'high' is no number"),
        ("A,1\nlab/a,2", "scores.csv, line 2: lab/a has a score already"),
        ("A", "scores.csv, line 1: a line has a model and its score"),
        ("A,nan\nB,1\nC,nan", "scores.csv, line 3: 'nan' is no number"),
        ("", "scores.csv has no line with a model and its score."),
        ("A,1\n" * 8000, "scores.csv is too long"),
    ],
)
def test_unreadable_scores_are_refused_by_line(text, why):
    with pytest.raises(UserError, match=why):
        read_scores(text, "scores.csv")


def test_models_are_matched_by_plain_name_and_the_best_are_the_others():
    one = read_scores("a,5\nb,4\nc,3\nd,2\ne,1\nonly,9", "one")
    other = read_scores("lab/A,1\nlab/B,2\nlab/C,3\nlab/D,4\nlab/E,5\nelsewhere,7", "other")
    found = compare_rankings(one, other, top=3)
    assert (found.all.n, found.all.kendall.value, found.all.spearman.p) == (5, pytest.approx(-1), None)
    assert [row.model for row in found.models if row.top] == ["e", "d", "c"]
    assert next((row.rank, row.other_rank) for row in found.models) == (5, 1)
    assert (found.alone, found.other_alone) == (("only",), ("elsewhere",))


@pytest.fixture
def study(db):
    """Seven models on 20 instructions; the judge gives model0 most, and one that fails it, the second, the reverse."""
    study = make_checklist_study(instructions=20, models=MODELS)
    for label, turned in (("up", False), ("down", True)):
        judge = make_judge_rater(study.workspace, label)
        for task in study.tasks.select_related("response_a__model"):
            number = int(task.response_a.model.name[-1])
            value = (number if turned else MODELS - 1 - number) / 10
            answer = make_answer(task, judge, {})
            Score.objects.bulk_create(
                Score(assignment=answer, criterion=one, value=value)
                for one in task.answer_rubric.criteria.filter(role="item")
            )
    return study


def test_the_command_compares_boards_and_files(study, tmp_path):
    def said(**options):
        out = io.StringIO()
        call_command("compare_rankings", study.benchmark.slug, judge="up", stdout=out, **options)
        return out.getvalue()

    found = json.loads(said(with_judge="down", json=True))
    assert found["all"]["kendall"]["value"] == pytest.approx(-1)
    # One of 7! = 5040 orders is the reverse, one the same.
    assert found["all"]["kendall"]["p"] == pytest.approx(2 / 5040)
    path = tmp_path / "arena.csv"
    path.write_text("".join(f"model{n},{100 - n}\n" for n in range(MODELS)), encoding="utf-8")
    text = said(scores=str(path), top=5)
    assert "the best 5" in text and "Kendall" in text and "1.000" in text
    rows = list(csv.reader(io.StringIO(said(scores=str(path), csv=True))))
    assert rows[1][0] == "model0" and rows[1][4:] == ["1", "0"]
    assert "| Model |" in said(scores=str(path), markdown=True)
    with pytest.raises(CommandError, match="either --scores FILE or --with-judge"):
        said()
    with pytest.raises(CommandError, match="cannot be read"):
        said(scores=str(tmp_path / "none.csv"))


def test_the_page_compares_boards_with_a_figure_and_files(study, client):
    client.force_login(make_user("analyst", study.workspace))
    address = reverse("judging:rankings_beside", args=[study.benchmark])
    empty = markup(client.get(address, {"weights": "equal"}))
    assert "Nothing to compare yet" in empty
    judges = {name: row for row in study.workspace.raters.filter(kind="judge") for name in [row.label]}
    asked = {
        "judge": judges["up"].public_id,
        "weights": "equal",
        "other": f"{study.benchmark.slug}/{judges['down'].public_id}",
        "top": "6",
    }
    html = markup(client.get(address, asked))
    assert "in opposite order" in html and "<svg" in html and "the best 6" in html
    rows = list(
        csv.reader(io.StringIO(client.get(address, {**asked, "file": "ranks.csv"}).content.decode("utf-8-sig")))
    )
    assert len(rows) == MODELS + 1 and rows[1][0] == "model6"
    assert client.get(address, {**asked, "file": "coefficients.tex"}).content.startswith(rb"\begin{tabular}")
    board = markup(client.get(reverse("judging:leaderboard", args=[study.benchmark]), {"weights": "equal"}))
    assert address in board
    client.force_login(make_user("lead", make_workspace("elsewhere")))
    assert client.get(address).status_code == 404


def test_uploaded_scores_are_compared_and_faults_are_named(study, client):
    client.force_login(make_user("lead", study.workspace))
    address = reverse("judging:rankings_beside", args=[study.benchmark])
    judge = study.workspace.raters.get(label="up")
    lines = "".join(f"MODEL{n},{100 - n}\n" for n in range(MODELS))
    file = SimpleUploadedFile("arena.csv", f"model,elo\n{lines}".encode())
    answer = client.post(f"{address}?judge={judge.public_id}&weights=equal", {"file": file}, follow=True)
    html = markup(answer)
    assert "other=scores" in answer.redirect_chain[0][0]
    assert "rank 7 models alike" in html and "Uploaded: arena.csv" in html
    refused = client.post(address, {"text": "model0,high\nmodel1,x"})
    assert refused.status_code == 400 and "is no number" in markup(refused)
    few = client.post(f"{address}?judge={judge.public_id}&weights=equal", {"text": "model0,1\nmodel1,2"}, follow=True)
    assert "2 models where at least 3 are needed" in markup(few)


def test_a_file_is_taken_only_in_a_form_of_this_site_and_only_a_short_one(study):
    address = reverse("judging:rankings_beside", args=[study.benchmark])
    user = make_user("lead", study.workspace)
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(user)
    assert strict.post(address, {"file": SimpleUploadedFile("a.csv", b"model0,1")}).status_code == 403
    client = Client()
    client.force_login(user)
    long = SimpleUploadedFile("a.csv", b"model0,1\n" * 20_000)
    assert client.post(address, {"file": long}).status_code == 413
    assert Client().post(address, {"file": SimpleUploadedFile("a.csv", b"model0,1")}).status_code in (302, 400)
