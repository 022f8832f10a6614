"""The program's library and tables of known answers are imports, too: listed, and undone until an answer depends on them."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.assignment.attention_checks import mark_gold
from annotation.assignment.new_slots import make_seats
from annotation.models import Criterion, Rubric, Seat, Study
from annotation.studies.life_cycle import log_event
from calibration.models import Fit
from generation.models import Import
from tests.annotation.importing.test_undo import rows_but_the_log, undo
from tests.annotation.tables import written
from tests.factories import make_answer, make_checklist_study, make_rater, make_user, make_workspace

pytestmark = pytest.mark.django_db
HEADER = "instruction,model,criterion,value\n"


@pytest.fixture
def study():
    study = make_checklist_study(instructions=3, models=2)
    make_seats(study)
    Study.objects.filter(pk=study.pk).update(status=Study.Status.OPEN)
    study.refresh_from_db()
    return study


@pytest.fixture
def mark(study, tmp_path):
    def mark(value, place=0):
        task = study.tasks.order_by("pk")[place]
        row = f"{task.response_a.instruction.external_id},{task.response_a.model.name},overall,{value}\n"
        file = written(tmp_path, HEADER + row, "gold.csv")
        call_command("plant_controls", study.slug, gold=file, workspace=study.workspace.slug)
        return task

    return mark


def all_but_slots():
    """The rows, with the slots by what they say, as those that come back have new keys."""
    rows = rows_but_the_log()
    slots = sorted(Seat.objects.values_list("task", "place", "draw_key", "state"))
    return {**rows, "annotation.Seat": slots}


def test_the_library_is_an_import_and_its_undo_leaves_nothing(client):
    workspace = make_workspace("main")
    before = rows_but_the_log()
    call_command("load_library", stdout=StringIO())
    found = Import.objects.get()
    assert (found.command, found.file, found.about) == ("load_library", "fixtures", "library")
    assert found.made_by
    assert found.counts["created"] == sum(found.counts.values())
    client.force_login(make_user("lead", workspace))
    assert b"load_library" in client.get(reverse("annotation:imports")).content
    page = client.get(reverse("annotation:undo_import", args=[found.pk])).content.decode()
    assert "1 guidelines" in page
    assert "other rows" not in page
    before["accounts.User"] = rows_but_the_log()["accounts.User"]
    before["accounts.Membership"] = rows_but_the_log()["accounts.Membership"]
    undo()
    assert rows_but_the_log() == before


def test_a_library_that_is_there_makes_no_second_import():
    for _time in range(2):
        call_command("load_library", stdout=StringIO())
    assert Import.objects.count() == 1


def test_what_a_study_uses_of_the_library_stays_whole():
    call_command("load_library", stdout=StringIO())
    study = make_checklist_study(workspace=make_workspace("main"))
    rubric = Rubric.objects.get(key="hellobench-travel")
    criteria = set(rubric.criteria.values_list("pk", flat=True))
    study.tasks.update(answer_rubric=rubric)
    assert "Kept, because others use them: 1 rubrics" in undo()
    assert set(rubric.criteria.values_list("pk", flat=True)) == criteria
    assert not Rubric.objects.filter(key="hellobench-sports").exists()
    assert not Fit.objects.exists()
    assert Criterion.objects.filter(rubric__key="hellobench-travel").count() == 8


def test_known_answers_from_a_table_go_and_the_slots_come_back(study, mark):
    before = all_but_slots()
    task = mark(7)
    assert not task.seats.exists()
    found = Import.objects.get()
    assert (found.command, found.file, found.about, found.counts) == (
        "plant_controls",
        "gold.csv",
        study.slug,
        {"created": 1},
    )
    assert "Emptied: 1 tasks" in undo()
    assert all_but_slots() == before
    with pytest.raises(CommandError, match="undone already"):
        undo()


def test_a_draft_gets_no_slots_before_it_is_launched(study, mark):
    Seat.objects.all().delete()
    Study.objects.update(status=Study.Status.DRAFT)
    mark(7)
    undo()
    assert not Seat.objects.exists()


def test_a_known_answer_that_a_rater_has_met_stays(study, mark):
    task = mark(7)
    make_answer(task, make_rater(study), {"overall": 7})
    with pytest.raises(CommandError, match="depend on it by now: 1 answers"):
        undo()
    task.refresh_from_db()
    assert task.gold["expected"] == {"overall": 7.0}


def test_of_two_tables_about_a_task_the_later_goes_first(study, mark):
    mark(7)
    task = mark(3)
    first, second = Import.objects.order_by("pk").values_list("pk", flat=True)
    with pytest.raises(CommandError, match="depend on it by now: 1 tasks"):
        undo(first)
    undo(second)
    task.refresh_from_db()
    assert task.gold["expected"] == {"overall": 7.0}
    assert not task.seats.exists()
    undo(first)
    task.refresh_from_db()
    assert task.gold is None
    assert task.seats.exists()


def test_a_known_answer_that_a_lead_changed_since_stays(study, mark):
    task = mark(7)
    mark_gold(task, {"overall": 2})
    log_event(study, None, "mark_known_answer", about=task, after={"task": task.key, **task.gold})
    with pytest.raises(CommandError, match="depend on it by now: 1 tasks"):
        undo()


def test_a_table_with_a_wrong_row_is_no_import(study, mark):
    with pytest.raises(CommandError):
        mark("lots")
    assert not Import.objects.exists()
