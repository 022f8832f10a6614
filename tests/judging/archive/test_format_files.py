"""A study's answers go out in a format and come back into another study with the same values; and who is left out."""

import json
import zipfile

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from accounts.api.tokens import issue_token
from annotation.models import Assignment, Rater, Score, Study
from generation.models import Import, Instruction, Response
from judging.archive.made_files import ask_for, known_file, make
from judging.formats.registry import WRITERS
from tests.calibration.answered_studies import answered_study
from tests.calibration.pair_studies import pair_study
from tests.factories import make_user

pytestmark = pytest.mark.django_db


def run(*arguments, capsys):
    call_command(*arguments)
    return capsys.readouterr().out


def values(study):
    """Each answer by what it is about and who gave it."""
    scores = Score.objects.filter(assignment__task__study=study, assignment__status="submitted")
    found = {}
    for score in scores.select_related("assignment__task__response_b__model", "assignment__rater"):
        task = score.assignment.task
        models = [task.response_a.model.name, task.response_b.model.name if task.response_b else ""]
        sign = 1
        if task.response_b and models[0] > models[1]:
            models, sign = models[::-1], -1
        key = (task.response_a.instruction.external_id, *models, score.assignment.rater.label, score.criterion.key)
        found[key] = sign * score.value
    return found


@pytest.mark.parametrize("key", ["label-studio", "alpaca-eval", "arena", "argilla"])
def test_a_study_of_pairs_comes_back_equal(key, tmp_path, capsys):
    study = pair_study(models=3, instructions=4)
    Instruction.objects.update(messages=[{"role": "user", "content": "Which one?"}])
    for one in Instruction.objects.all():
        one.messages = [{"role": "user", "content": f"Which one, {one.external_id}?"}]
        one.save()
    target = tmp_path / f"out.{WRITERS[key].ending}"
    run("export", "duels", "--format", key, "--out", str(target), capsys=capsys)
    said = run("import", "auto", str(target), "--study", "again", capsys=capsys)
    assert f"The file is read as {WRITERS[key].name}" in said and "not read" not in said
    back = Study.objects.get(slug="again")
    assert len(values(study)) == 36 and values(back) == values(study)
    texts = {one.text for one in Response.objects.filter(instruction__benchmark=back.benchmark)}
    assert texts == {one.text for one in Response.objects.filter(instruction__benchmark=study.benchmark)}
    again = run("import", "auto", str(target), "--study", "again", capsys=capsys)
    assert "Nothing has changed." in again


@pytest.mark.parametrize("key", ["label-studio", "argilla"])
def test_ratings_come_back_equal(key, tmp_path, capsys):
    study = answered_study(instructions=4)
    target = tmp_path / f"out.{WRITERS[key].ending}"
    run("export", study.slug, "--format", key, "--out", str(target), capsys=capsys)
    run("import", key, str(target), "--study", "again", "--scale", "*=0:10:0.25", capsys=capsys)
    assert values(Study.objects.get(slug="again")) == values(study)


def test_raters_are_named_by_pseudonym_and_reasons_only_on_request(tmp_path, capsys):
    study = pair_study(models=2, instructions=2, raters=1)
    Rater.objects.filter(study=study).update(label="Ada Lovelace", pseudonym="rater 7")
    for score in Score.objects.all():
        Score.objects.create(
            assignment=score.assignment,
            criterion=score.criterion,
            revision=1,
            value=score.value,
            level=score.level,
            reason="Private thought.",
        )
    for name in ("label-studio", "alpaca-eval", "arena"):
        target = tmp_path / name
        call_command("export", "duels", "--format", name, "--out", str(target))
        assert "rater 7" in target.read_text() and "Lovelace" not in target.read_text()
        assert "Private" not in target.read_text()
        call_command("export", "duels", "--format", name, "--out", str(target), "--texts")
        assert "Private thought." in target.read_text()


def test_answers_that_no_result_counts_are_left_out_and_counted(tmp_path, capsys):
    pair_study(models=2, instructions=4, raters=2)
    one = Assignment.objects.first()
    Assignment.objects.filter(pk=one.pk).update(status="excluded")
    canary = Assignment.objects.exclude(task=one.task).first().task
    Response.objects.filter(pk=canary.response_b_id).update(kind="canary")
    said = run("export", "duels", "--format", "arena", "--out", str(tmp_path / "a"), capsys=capsys)
    assert "5 rows of 5 answers" in said and "3 answers that no result counts were left out" in said


def test_inspect_scores_are_a_zip_with_a_file_for_each_model(tmp_path):
    study = answered_study(instructions=3)
    call_command("export", study.slug, "--format", "inspect-scores", "--out", str(tmp_path / "s.zip"))
    with zipfile.ZipFile(tmp_path / "s.zip") as archive:
        rows = [json.loads(line) for name in archive.namelist() for line in archive.read(name).splitlines()]
        assert len(archive.namelist()) == 2 and len(rows) == 6
    row = rows[0]
    scores = Score.objects.filter(
        assignment__task__response_a__instruction__external_id=row["id"],
        assignment__task__response_a__model__name=row["metadata"]["model"],
        criterion__key=next(iter(row["value"])),
    ).values_list("value", flat=True)
    assert row["value"][next(iter(row["value"]))] == pytest.approx(sum(scores) / len(scores))


def test_a_format_without_room_for_the_answers_is_refused(tmp_path):
    study = answered_study(instructions=2)
    with pytest.raises(CommandError, match=r"for which Arena battles has no room: use inspect-scores"):
        call_command("export", study.slug, "--format", "arena", "--out", str(tmp_path / "a"))
    with pytest.raises(CommandError, match="There is no format 'x'; the formats are inspect-scores"):
        call_command("export", study.slug, "--format", "x")
    Response.objects.update(text=None)
    assert not (tmp_path / "a").exists()


def test_the_page_and_a_worker_make_the_file(client, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    study = pair_study(models=2, instructions=2)
    lead = make_user("lead", study.workspace)
    client.force_login(lead)
    page = client.get(reverse("judging:export", args=[study])).content.decode()
    assert "Arena battles" in page and "inspect_ai" not in page
    client.post(reverse("judging:make_file", args=[study]), {"kind": "arena"})
    made = ask_for(study, lead, "arena")
    make(made.public_id)
    made = known_file(made.public_id)
    assert (made.state, made.name, made.done) == ("made", "duels-arena.jsonl", 6)
    assert len(made.path.read_text().splitlines()) == 6
    refused = client.post(reverse("judging:make_file", args=[study]), {"kind": "inspect-scores"}, follow=True)
    assert "This study compares pairs" in refused.content.decode()
    Assignment.objects.update(status="excluded")
    made = ask_for(study, lead, "arena")
    make(made.public_id)
    assert known_file(made.public_id).state == "failed"
    page = client.get(reverse("judging:made_files", args=[study])).content.decode()
    assert "has no answer that Arena battles can hold" in page


def test_the_api_gives_the_file(client, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    study = pair_study(models=2, instructions=2)
    lead = make_user("lead", study.workspace)
    token = {"headers": {"Authorization": f"Bearer {issue_token(user=lead, name='t', scopes=('ratings',))[1]}"}}
    path = reverse("api:export", args=[study.workspace.slug, study.slug])
    answer = client.get(path, {"as": "arena"}, **token)
    assert answer.status_code == 200
    assert len(b"".join(answer.streaming_content).splitlines()) == 6
    assert client.get(path, {"as": "nothing"}, **token).status_code == 400
    assert client.get(path, {"as": "inspect-scores"}, **token).status_code == 400


def test_a_load_of_a_bad_file_stores_nothing_and_a_good_one_can_be_undone(tmp_path):
    pair_study(models=2, instructions=2)
    call_command("export", "duels", "--format", "arena", "--out", str(tmp_path / "a.jsonl"))
    text = (tmp_path / "a.jsonl").read_text()
    (tmp_path / "b.jsonl").write_text(text + text.splitlines()[0].replace('"winner": "', '"winner": "x') + "\n")
    before = Study.objects.count(), Response.objects.count(), Import.objects.count()
    with pytest.raises(CommandError, match=r"b.jsonl line 7: the field winner is"):
        call_command("import", "arena", str(tmp_path / "b.jsonl"), "--study", "again")
    call_command("import", "arena", str(tmp_path / "b.jsonl"), "--study", "again", "--check")
    assert (Study.objects.count(), Response.objects.count(), Import.objects.count()) == before
    call_command("import", "arena", str(tmp_path / "b.jsonl"), "--study", "again", "--on-error", "skip")
    assert Assignment.objects.filter(task__study__slug="again").count() == 6
    call_command("undo_import", str(Import.objects.get().pk), "--yes")
    assert (Study.objects.count(), Response.objects.count()) == before[:2]
