"""Known answers as an uploaded table: recognised, checked, loaded all or none, and undone."""

import pytest
from django.urls import reverse

from annotation.models import Task
from annotation.uploads.kept_files import kept_tables
from annotation.uploads.recognition import FirstRows, recognised_kind
from generation.models import Import
from tests.annotation.uploads.test_table_uploads import browser, do, folder, form_of, lead, uploaded
from tests.factories import make_checklist_study, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db
__all__ = ["browser", "folder", "lead"]


@pytest.fixture
def study(lead):
    return make_checklist_study(instructions=2, models=1, workspace=make_workspace())


def table_of(study, value="7"):
    (task, *_others) = study.tasks.order_by("pk")
    name, model = task.response_a.instruction.external_id, task.response_a.model
    return task, f"instruction,system,criterion,expected,purpose\n{name},{model},overall,{value},qualification\n"


def test_known_answers_are_checked_loaded_and_undone(browser, study, lead):
    task, content = table_of(study)
    address = uploaded(browser, content, f"{study.slug}.csv")
    (upload,) = kept_tables()
    assert (upload.kind, upload.into) == ("gold", study.slug)
    assert upload.columns["system"] == "model" and upload.columns["expected"] == "value"
    assert "Nothing has been stored yet." in do(browser, address, "check")
    assert not Task.objects.filter(gold__purpose="qualification").exists()
    loaded = do(browser, address, "load")
    assert reverse("annotation:desk", args=[study]) in loaded
    task.refresh_from_db()
    assert (task.gold["purpose"], task.gold["expected"]) == ("qualification", {"overall": 7.0})
    found = Import.objects.get()
    assert (found.command, found.actor, found.counts["created"]) == ("load_gold", lead, 1)
    browser.post(reverse("annotation:undo_import", args=[found.pk]))
    task.refresh_from_db()
    assert not task.gold


def test_one_bad_row_is_named_and_nothing_is_marked(browser, study):
    task, content = table_of(study)
    address = uploaded(browser, content + "nowhere,,overall,7,gold\n", f"{study.slug}.csv")
    page = do(browser, address, "load")
    assert f"{study.slug}.csv line 3" in page and "has no task of instruction" in page
    assert not Task.objects.exclude(gold=None).filter(pk=task.pk).exists()


def test_without_its_study_it_is_refused_before_a_worker_is_asked(browser, study):
    _task, content = table_of(study)
    address = uploaded(browser, content, "elsewhere.csv")
    answer = browser.post(address, form_of(next(kept_tables()), do="load"))
    assert answer.status_code == 422 and "Create the study before its known answers." in markup(answer)


def test_a_table_that_names_raters_holds_their_answers():
    columns = ["instruction", "model", "criterion", "value"]
    assert recognised_kind(FirstRows(columns, [])) == "gold"
    assert recognised_kind(FirstRows([*columns, "annotator"], [])) != "gold"
