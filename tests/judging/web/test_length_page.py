"""The page of scores by requested length: a line for each model with intervals, what a length costs, and the files."""

import csv
import io
import json

import pytest
from django.core.management import call_command
from django.urls import reverse

from annotation.models import Assignment, Rater, Study, Task
from generation.models import GenerationRun, Response
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_user, make_workspace
from tests.markup import markup
from tests.page_files import check_files

pytestmark = pytest.mark.django_db
MARK = "failed its canary texts"
PROMPTS = 24


@pytest.fixture
def study():
    """One judge on two models without a length and with two lengths, of which the longer costs more points."""
    study = make_checklist_study(instructions=PROMPTS, models=2)
    judge = make_judge_rater(study.workspace, "strict")
    tasks = list(study.tasks.select_related("response_a").order_by("pk"))
    for place, task in enumerate(tasks):
        rate(task, judge, 1 - (place % 4) / 8)
    for cost, experiment in ((0.125, "length-2k"), (0.375, "length-16k")):
        other = Study.objects.create(
            workspace=study.workspace,
            slug=experiment,
            kind=study.kind,
            benchmark=study.benchmark,
            experiment=experiment,
            status="open",
        )
        run = GenerationRun.objects.create(
            benchmark=study.benchmark, name=experiment, experiment=experiment, status="imported"
        )
        for place, task in enumerate(tasks):
            answer = task.response_a
            longer = Response.objects.create(
                instruction_id=answer.instruction_id, model_id=answer.model_id, run=run, text="Word " * 40, words=40
            )
            new = Task.objects.create(
                study=other,
                key=str(longer.pk),
                kind="single",
                response_a=longer,
                answer_rubric_id=task.answer_rubric_id,
            )
            rate(new, judge, 1 - (place % 4) / 8 - cost)
    return study


def rate(task, judge, level):
    make_answer(task, judge, {"item0": level, "item1": level, "item2": level})


@pytest.fixture
def address(study):
    return reverse("judging:length_scores", args=[study.benchmark])


@pytest.fixture
def lead(client, study):
    client.force_login(make_user("lead", study.workspace))
    return client


def table_of(client, address, name):
    text = client.get(address, {"weights": "equal", "file": name}).content.decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text)))


def test_the_page_has_the_numbers_of_the_command(lead, study, address):
    html = markup(lead.get(address, {"weights": "equal"}))
    assert "<svg" in html and "With at least 16,000 words requested" in html and "failed" not in html
    call_command(
        "length_scores",
        study.benchmark.slug,
        judge="strict",
        workspace=study.workspace.slug,
        json=True,
        stdout=(out := io.StringIO()),
    )
    printed = json.loads(out.getvalue())
    rows = table_of(lead, address, "lengths.csv")
    assert [row["Length"] for row in rows] == ["main", "length-2k", "length-16k"] * 2
    for row, one in zip(rows, printed, strict=True):
        found = [float(row[name]) for name in ("Score", "From", "To")]
        assert found == pytest.approx([one["score"], one["score_low"], one["score_high"]])
        assert found[1] < found[0] < found[2] and one["n"] == PROMPTS
    cost = table_of(lead, address, "differences.csv")
    assert len(cost) == 4
    for row in cost:
        # The same cost for each prompt: 1/8 or 3/8 of a hundred points, times 4.
        assert float(row["Difference"]) == pytest.approx({"length-2k": -50, "length-16k": -150}[row["Length"]])
        assert (float(row["From"]), float(row["To"])) == pytest.approx((float(row["Difference"]),) * 2)
        assert row["Prompts with both"] == str(PROMPTS)


def test_figure_and_tables_are_files(lead, address):
    for name, start in (
        ("lengths.svg", b"<svg"),
        ("lengths.png", b"\x89PNG"),
        ("lengths.tex", rb"\begin{tabular}"),
        ("differences.json", b"{"),
        ("page.json", b"{"),
    ):
        answer = lead.get(address, {"weights": "equal", "file": name})
        assert answer.status_code == 200 and answer.content.lstrip().startswith(start), name
    assert lead.get(address, {"weights": "equal", "file": "differences.svg"}).status_code == 404


def test_figure_and_tables_are_files_of_the_api(lead, study, address):
    asked = reverse("api:lengths", args=[study.workspace.slug, study.benchmark.slug])
    choices = {"judge": "strict", "weights": "equal"}
    assert "lengths.pdf" in check_files(lead, asked, address, choices)


def test_the_leaderboard_leads_there_where_there_are_lengths(lead, study, address):
    board = reverse("judging:leaderboard", args=[study.benchmark])
    assert address in markup(lead.get(board, {"weights": "equal"}))
    GenerationRun.objects.filter(benchmark=study.benchmark).update(experiment="other")
    assert address not in markup(lead.get(board, {"weights": "equal"}))
    assert "No responses of this benchmark were generated with a requested length." in markup(lead.get(address))


def test_a_failed_judge_is_marked(lead, study, address):
    some = Assignment.objects.filter(rater__label="strict", task__study=study).order_by("pk").values("pk")[:3]
    Assignment.objects.filter(pk__in=list(some.values_list("pk", flat=True))).update(discredited=True)
    html = markup(lead.get(address, {"weights": "equal"}))
    assert f"strict ({MARK})" in html
    for name in ("lengths.csv", "differences.csv"):
        assert {row["Canary texts"] for row in table_of(lead, address, name)} == {MARK}


def test_what_cannot_be_shown_is_said(lead, study, address):
    assert "There are no such weights." in markup(lead.get(address, {"weights": "nowhere"}))
    assert lead.get(address, {"judge": "nobody"}).status_code == 404
    Assignment.objects.exclude(task__study=study).update(status="unscored")
    assert "no usable verdicts on responses with a requested length" in markup(lead.get(address, {"weights": "equal"}))
    assert lead.get(address, {"weights": "equal", "file": "lengths.csv"}).status_code == 404


def test_only_readers_of_results_see_it(client, study, address):
    assert client.get(address).status_code == 302
    for role, workspace, status in (
        ("analyst", study.workspace, 200),
        ("rater", study.workspace, 403),
        ("lead", make_workspace("elsewhere"), 404),
    ):
        client.force_login(make_user(role, workspace, username=f"{role}-{workspace.slug}"))
        assert client.get(address, {"weights": "equal"}).status_code == status


def test_the_command_says_that_a_judge_is_scripted_and_how_many_words_each_length_has(study):
    def printed(**options):
        call_command("length_scores", study.benchmark.slug, judge="strict", stdout=(out := io.StringIO()), **options)
        return out.getvalue()

    plain = Response.objects.filter(run=None).order_by("pk")
    for number, response in enumerate(plain):
        response.words = 10 + number % 2 * 4
    Response.objects.bulk_update(plain, ["words"])
    by_model = {}
    for name, words in plain.values_list("model__name", "words"):
        by_model.setdefault(name, []).append(words)
    rows = json.loads(printed(json=True))
    assert {row["model"]: row["words"] for row in rows if row["experiment"] == "main"} == {
        name: sum(words) / PROMPTS for name, words in by_model.items()
    }
    assert {row["words"] for row in rows if row["experiment"] != "main"} == {40}
    assert "scripted" not in printed() and not any(row["judge_scripted"] for row in rows)
    Rater.objects.filter(label="strict").update(provenance=Rater.Provenance.SCRIPTED)
    assert printed().splitlines()[-1].startswith("strict is a scripted judge; its verdicts are drawn")
    assert all(row["judge_scripted"] for row in json.loads(printed(json=True)))
