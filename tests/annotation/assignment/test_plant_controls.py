"""Gold items from a table and degraded copies, by command; neither is counted among a study's tasks."""

import pytest
from django.core.management import CommandError, call_command

from accounts.models import Event
from annotation.assignment.attention_checks import check_tasks
from annotation.assignment.new_slots import make_seats
from annotation.models import Study, Task
from annotation.monitoring.progress import study_rows, tally_of
from generation.models import Response
from tests.factories import make_checklist_study
from tests.screen_studies import make_pair_study

pytestmark = pytest.mark.django_db
LONG = "\n\n".join(f"Paragraph {n} has quite a few words of its own to say. " * 4 for n in range(8))
HEADER = "instruction,model,criterion,value,purpose,why,why_zh\n"


@pytest.fixture
def study():
    study = make_checklist_study(instructions=3, models=2)
    Response.objects.update(text=LONG, words=300)
    make_seats(study)
    return study


def names(study):
    task = study.tasks.order_by("pk").first()
    return task, task.response_a.instruction.external_id, task.response_a.model.name


def test_gold_is_marked_and_copies_are_made(study, tmp_path, capsys):
    task, instruction, model = names(study)
    file = tmp_path / "gold.csv"
    file.write_text(
        f"{HEADER}{instruction},{model},overall,6-8,training,It is good.,不错。\n{instruction},{model},item0,level 3,,,\n",
        encoding="utf-8",
    )
    call_command("plant_controls", study.slug, gold=file, degraded=2)
    assert capsys.readouterr().out == "1 tasks have a known answer.\nCreated 2 attention checks; the study now has 2.\n"
    task.refresh_from_db()
    assert task.gold == {
        "purpose": "training",
        "expected": {"overall": [6.0, 8.0], "item0": 0.75},
        "why": {"en": "It is good.", "zh-hans": "不错。"},
    }
    assert not task.seats.exists()
    assert check_tasks(study, "control").count() == 2
    assert set(Event.objects.values_list("verb", flat=True)) == {"mark_known_answer", "make_controls"}


def test_what_measures_raters_is_not_among_the_tasks_counted(study, tmp_path):
    _task, instruction, model = names(study)
    file = tmp_path / "gold.csv"
    file.write_text(f"{HEADER}{instruction},{model},overall,7,,,\n")
    call_command("plant_controls", study.slug, gold=file, degraded=3)
    assert Task.objects.filter(study=study).count() == 9
    assert study_rows([study])[0].tasks == 5
    assert sum(row.tasks for row in tally_of(study).categories.values()) == 5


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("nowhere,{m},overall,7", "no task of instruction 'nowhere'"),
        ("{i},gpt-9,overall,7", "by gpt-9; use one of model0, model1"),
        ("{i},,overall,7", "2 tasks of instruction"),
        ("{i},{m},style,7", "no criterion 'style'; its criteria are item0"),
        ("{i},{m},overall,good", "'good' is not an answer to overall"),
        ("{i},{m},overall,8-6", "'8-6' is not an answer"),
        ("{i},{m},overall,11", "'11' is off the scale of overall"),
        ("{i},{m},overall,7,probe", "not one of gold"),
        ("{i},{m},overall,7\n{i},{m},overall,8", "has two rows"),
    ],
)
def test_a_row_that_cannot_be_taken_is_named_and_nothing_marked(study, tmp_path, row, said):
    _task, instruction, model = names(study)
    file = tmp_path / "gold.csv"
    good = study.tasks.order_by("-pk").first()
    first = f"{good.response_a.instruction.external_id},{good.response_a.model.name},overall,5"
    file.write_text(
        "\n".join(
            line + "," * (4 - line.count(","))
            for line in [
                "instruction,model,criterion,value,purpose",
                first,
                *row.format(i=instruction, m=model).split("\n"),
            ]
        )
    )
    with pytest.raises(CommandError, match=r"gold\.csv line \d") as refused:
        call_command("plant_controls", study.slug, gold=file, degraded=2)
    assert said in str(refused.value)
    assert not Task.objects.filter(gold__isnull=False).exists()
    assert not Event.objects.exists()


def test_a_pair_is_named_by_both_models(tmp_path):
    study = make_pair_study(instructions=1)
    task = study.tasks.get()
    file = tmp_path / "gold.csv"
    instruction = task.response_a.instruction.external_id
    file.write_text(f"instruction,model,model_b,criterion,value\n{instruction},model1,model0,preference,both_bad\n")
    call_command("plant_controls", study.slug, gold=file)
    task.refresh_from_db()
    assert task.gold["expected"] == {"preference": 0.0}


def test_a_draft_gets_its_tasks_first(study, tmp_path):
    _task, instruction, model = names(study)
    draft = Study.objects.create(
        workspace=study.workspace, slug="draft", kind="checklist", benchmark=study.benchmark, status="draft"
    )
    file = tmp_path / "gold.csv"
    file.write_text(f"{HEADER}{instruction},{model},overall,7,qualification,,\n")
    call_command("plant_controls", "draft", gold=file)
    assert check_tasks(draft, "qualification").count() == 1


def test_it_says_when_texts_run_out(study, capsys):
    call_command("plant_controls", study.slug, degraded=9)
    assert capsys.readouterr().out.startswith(
        "Created 6 attention checks; the study now has 6. The study has no more texts"
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["essays"], "Choose what to add"),
        (["essays", "--degraded", "-1"], "1 or more"),
        (["nothing", "--degraded", "1"], "no study 'nothing'"),
        (["essays", "--gold", "missing.csv"], "cannot be opened"),
    ],
)
def test_what_cannot_be_done_is_said(study, arguments, said):
    with pytest.raises(CommandError, match=said):
        call_command("plant_controls", *arguments)
