"""The export of a study, the page it is taken from, and computing every number again from it alone."""

import csv
import io
import json
import zipfile

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.models import Assignment, Rater, Score, Study
from calibration.fits.store import run_fit
from calibration.models import Report
from calibration.reports.agreement import agreement_report
from calibration.reports.rankings import RANKINGS, ranking_settings
from calibration.reports.raters import RATERS, rater_settings
from calibration.reports.registry import report_of
from core.errors import UserError
from generation.models import Instruction, Response
from judging.archive.export import export_study
from judging.archive.recompute import recompute
from judging.comparison.judge_against_people import compare, judges_in, weighting_for
from judging.leaderboards.table import leaderboard
from tests.calibration.answered_studies import answered_study
from tests.calibration.pair_studies import pair_study
from tests.calibration.result_page_checks import signed_in
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater, make_user
from tests.markup import markup

pytestmark = pytest.mark.django_db


def with_everything(study, criterion=""):
    """Every report of a checklist study, and a fit."""
    run_fit(study=study, draws=50)
    agreement_report(study)
    report_of(study, RATERS, rater_settings())
    report_of(study, RANKINGS, ranking_settings())
    for judge in judges_in(study):
        compare(study, judge, weighting_for(study))
    return study


def exported(study, path):
    export_study(study, path)
    return path


def lines(path, name):
    with zipfile.ZipFile(path) as archive:
        return [json.loads(line) for line in archive.read(name).splitlines()]


def test_every_stored_number_comes_out_the_same(tmp_path):
    study = with_everything(answered_study(instructions=22, judge="gpt-4o"))
    found = recompute(exported(study, tmp_path / "essays.zip"))
    assert sorted(one.kind for one in found.results) == [
        "agreement",
        "fit",
        "judge against people",
        "leaderboard",
        "leaderboard",
        "rankings",
        "raters",
    ]
    assert found.same, [one.differences for one in found.results]
    assert all(one.values > (20 if one.kind == "leaderboard" else 50) for one in found.results)
    # What was computed in between went to the scratch database and nowhere else.
    assert Report.objects.count() == 4 and Rater.objects.filter(label="gpt-4o").count() == 1


def test_pairs_with_sides_times_and_lengths_come_out_the_same(tmp_path):
    study = pair_study(models=3, instructions=21, position=1.0)
    report_of(study, RANKINGS, ranking_settings())
    report_of(study, RATERS, rater_settings())
    found = recompute(exported(study, tmp_path / "duels.zip"))
    assert found.same and len(found.results) == 2


def test_a_judge_who_judged_in_another_study_is_in_the_export(tmp_path):
    study = answered_study(instructions=20)
    other = make_checklist_study(slug="whole", workspace=study.workspace)
    judge = Rater.objects.create(workspace=study.workspace, kind="judge", label="elsewhere")
    for number, task in enumerate(study.tasks.select_related("response_a", "answer_rubric")):
        copy = other.tasks.create(
            kind="single", key=f"copy{number}", response_a=task.response_a, answer_rubric=task.answer_rubric
        )
        make_answer(copy, judge, {f"item{place}": number % 5 / 4 for place in range(4)} | {"overall": number % 11})
    with_everything(study)
    found = recompute(exported(study, tmp_path / "essays.zip"))
    assert found.same and "judge against people" in {one.kind for one in found.results}


def test_a_changed_score_in_the_file_is_found(tmp_path):
    study = with_everything(answered_study(instructions=20))
    path = exported(study, tmp_path / "essays.zip")
    changed = tmp_path / "changed.zip"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "rows/annotation.score.jsonl":
                rows = [json.loads(line) for line in content.splitlines()]
                row = next(row for row in rows if row["value"] == 0.5)
                row["value"] = 0.75
                content = "\n".join(json.dumps(row) for row in rows).encode()
            new.writestr(name, content)
    found = recompute(changed)
    assert not found.same
    assert {one.kind for one in found.results if not one.same} >= {"raters"}
    with pytest.raises(CommandError, match="Some numbers differ"):
        call_command("recompute", str(changed), stdout=io.StringIO(), stderr=io.StringIO())


def test_a_changed_result_in_the_file_is_named(tmp_path):
    study = answered_study()
    agreement_report(study)
    Report.objects.update(result={**Report.objects.get().result, "loo": 0.5})
    found = recompute(exported(study, tmp_path / "essays.zip"))
    assert len(found.results[0].differences) == 1 and found.results[0].differences[0].startswith("/loo: 0.5 stored")


def test_results_of_earlier_answers_stay_behind(tmp_path):
    study = answered_study()
    agreement_report(study)
    fit = run_fit(study=study, draws=0)
    make_answer(study.tasks.first(), make_rater(study), {"overall": 1})
    path = exported(study, tmp_path / "essays.zip")
    assert lines(path, "reports.jsonl") == []
    found = recompute(path)
    assert [(one.kind, one.name, one.same) for one in found.results] == [("fit", fit.public_id, True)]


def test_nothing_that_tells_who_a_rater_is_or_what_a_text_says_leaves(tmp_path):
    study = answered_study()
    user = make_user("rater", study.workspace, username="ada.lovelace", email="ada@example.org")
    Rater.objects.filter(study=study, label="rater-0").update(label="Ada Lovelace", pseudonym="R1", user=user)
    Instruction.objects.update(reference="the secret reference", hint="the secret hint")
    task = study.tasks.first()
    Score.objects.create(
        assignment=task.assignments.first(),
        criterion=task.answer_rubric.criteria.first(),
        revision=1,
        value=0.5,
        reason="a private reason",
    )
    with_everything(study)
    with zipfile.ZipFile(exported(study, tmp_path / "essays.zip")) as archive:
        content = b"".join(archive.read(name) for name in archive.namelist()).decode()
    for secret in ("Lovelace", "lovelace", "ada@", "secret", "private reason", "Write about topic", "Some words"):
        assert secret not in content
    text = Response.objects.first().text
    assert lines(tmp_path / "essays.zip", "rows/generation.response.jsonl")[0]["characters"] == len(text)
    assert recompute(tmp_path / "essays.zip").same


def test_the_table_for_people_has_every_score_once(tmp_path):
    study = answered_study()
    path = exported(study, tmp_path / "essays.zip")
    with zipfile.ZipFile(path) as archive:
        rows = list(csv.DictReader(io.StringIO(archive.read("tables/scores.csv").decode())))
    assert len(rows) == Score.objects.count()
    score = Score.objects.order_by("pk").select_related("assignment__task", "criterion").first()
    assert (rows[0]["task"], rows[0]["criterion"]) == (score.assignment.task.key, score.criterion.key)
    assert float(rows[0]["value"]) == score.value and rows[0]["rater"] == "rater-0"


def test_the_table_of_scores_has_the_names_that_the_loaded_file_uses(tmp_path):
    table = tmp_path / "r.csv"
    table.write_text("id,q,who,clear\nanswer-7,q1,ann,3\n")
    named = [f"--column={name}" for name in ("item=id", "instruction=q", "rater=who", "value=clear")]
    call_command("load_table", "ratings", str(table), "--study=s", *named, "--scale=*=1:6", stdout=io.StringIO())
    path = exported(Study.objects.get(slug="s"), tmp_path / "s.zip")
    with zipfile.ZipFile(path) as archive:
        (row,) = csv.DictReader(io.StringIO(archive.read("tables/scores.csv").decode()))
    assert (row["item"], row["item_b"], row["instruction"], row["rater"]) == ("answer-7", "", "q1", "ann")


@pytest.mark.parametrize("content", ["nothing", "no zip", "another format"])
def test_a_file_that_is_no_export_is_refused_in_a_sentence(tmp_path, content):
    path = tmp_path / "wrong.zip"
    if content == "no zip":
        path.write_text("hello")
    elif content == "another format":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("manifest.json", '{"format": "other"}')
    with pytest.raises(UserError, match="export"):
        recompute(path)
    with pytest.raises(CommandError, match="export"):
        call_command("recompute", str(path), stdout=io.StringIO(), stderr=io.StringIO())


def test_the_commands_say_what_they_did(tmp_path):
    study = with_everything(answered_study())
    path, out = tmp_path / "essays.zip", io.StringIO()
    call_command("export", study.slug, "--to", str(path), stdout=out)
    assert "360 scores of 72 ratings, 1 fits, 3 reports" in out.getvalue()
    out = io.StringIO()
    call_command("recompute", str(path), stdout=out, stderr=io.StringIO())
    assert "all the same to the last digit" in out.getvalue()
    with pytest.raises(CommandError, match="no study"):
        call_command("export", "nowhere", "--to", str(path), stdout=out)
    with pytest.raises(CommandError, match="cannot be written"):
        call_command("export", study.slug, "--to", str(tmp_path / "no" / "such" / "folder.zip"), stdout=out)


class TestPage:
    def test_only_those_who_read_results_see_it(self):
        study = answered_study()
        for name in ("judging:export", "judging:export_file"):
            address = reverse(name, args=[study])
            assert signed_in("analyst", study.workspace).get(address).status_code == 200
            for role in ("rater", "reviewer", None):
                assert signed_in(role, study.workspace).get(address).status_code == 403
            assert signed_in("owner").get(reverse(name, args=["lab/nowhere"])).status_code == 404

    def test_the_file_can_be_recomputed(self, tmp_path):
        study = with_everything(answered_study())
        client = signed_in("lead", study.workspace)
        page = markup(client.get(reverse("judging:export", args=[study])))
        assert "This study has 72 answers." in page and ">360<" in page
        assert "rebuilds every report and fit from the archive alone" in page
        response = client.get(reverse("judging:export_file", args=[study]))
        path = tmp_path / "downloaded.zip"
        path.write_bytes(b"".join(response.streaming_content))
        assert recompute(path).same

    def test_an_empty_study_says_what_to_do(self):
        study = make_checklist_study()
        page = markup(signed_in("lead", study.workspace).get(reverse("judging:export", args=[study])))
        assert "Nothing to export yet" in page


def test_a_leaderboard_comes_out_of_the_export_with_people_and_what_the_judge_judged_elsewhere(tmp_path):
    study = make_checklist_study(instructions=24, models=2)
    judge = make_judge_rater(study.workspace, "gpt-4o")
    tasks = list(study.tasks.order_by("pk"))
    for number, task in enumerate(tasks[:-1]):
        level = (number * 7 % 5) / 4
        make_answer(task, judge, {"item0": level, "item1": 0.5, "item2": 1 - level})
    Assignment.objects.create(task=tasks[-1], rater=judge, status="unscored", reason="prose: x")
    for person in (make_rater(study), make_rater(study)):
        for number, task in enumerate(tasks[:16]):
            make_answer(task, person, {"item0": (number % 5) / 4, "item1": 0.25, "item2": 1.0})
    other = make_checklist_study(instructions=0, slug="whole", workspace=study.workspace)
    more = Instruction.objects.create(
        benchmark=study.benchmark, external_id="more", category=tasks[0].response_a.instruction.category
    )
    response = Response.objects.create(instruction=more, model=tasks[0].response_a.model, text="More.", words=1)
    extra = other.tasks.create(kind="single", key="more", response_a=response, answer_rubric=tasks[0].answer_rubric)
    make_answer(extra, judge, {"item0": 1.0, "item1": 1.0, "item2": 1.0})
    path = exported(study, tmp_path / "board.zip")
    (stored,) = [row for row in lines(path, "reports.jsonl") if row["kind"] == "leaderboard"]
    shown = leaderboard(study.benchmark, judge, "equal")
    assert stored["result"]["models"] == json.loads(json.dumps(shown.as_json()["models"]))
    cells = {one["model"]: one["categories"]["writing"] for one in stored["result"]["models"]}
    assert (cells["model0"]["n"], cells["model1"]["n"], cells["model1"]["unscored"]) == (25, 23, 1)
    assert stored["result"]["corrected"]["model0"]["n"] == 8
    found = recompute(path)
    assert found.same, [one.differences for one in found.results]
    assert [one.kind for one in found.results] == ["leaderboard"]
    # A changed number is named.
    tampered = tmp_path / "tampered.zip"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(tampered, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "reports.jsonl":
                row = json.loads(content)
                row["result"]["averages"]["model0"]["low"] += 1e-9
                content = json.dumps(row).encode() + b"\n"
            new.writestr(name, content)
    (wrong,) = recompute(tampered).results
    assert not wrong.same
    assert wrong.differences[0].startswith("/averages/model0/low")
