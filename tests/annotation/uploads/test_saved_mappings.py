"""Mappings of columns that are saved under a name: offered for the next file with the same columns, and removable."""

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import SavedMapping, Score
from annotation.uploads.kept_files import kept_tables
from tests.annotation.uploads.test_table_uploads import browser, do, folder, form_of, lead, uploaded
from tests.factories import make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db
__all__ = ["browser", "folder", "lead"]
ROWS = "thing,who,points,words\na1,r1,4,fine\na2,r2,2,\n"
MAPPED = {"kind": "ratings", "column-0": "item", "column-1": "rater", "column-2": "criterion_column", "scale": "1:5"}


def last(public_id=None):
    return sorted(kept_tables(), key=lambda one: one.asked_at)[-1]


def saved(browser, **more):
    """Upload a table that nobody recognises, say what it holds and save that."""
    address = uploaded(browser, ROWS, "first.csv")
    assert last().kind == ""
    answer = browser.post(address, form_of(last(), do="keep", **MAPPED, mapping_name=" Our  marks ", **more))
    assert answer.status_code == 302, markup(answer)
    return address


def test_the_next_file_with_the_same_columns_is_read_by_it(browser, lead):
    first = saved(browser)
    mapping = SavedMapping.objects.get()
    assert (mapping.name, mapping.created_by, mapping.file_columns) == (
        "Our marks",
        lead,
        ["points", "thing", "who", "words"],
    )
    browser.post(first, {"do": "discard"})
    address = uploaded(browser, "who,words,thing,points\nr3,good,a1,5\n", "second.csv")
    upload = last()
    assert (upload.kind, upload.into, upload.mapping) == ("ratings", "second", "Our marks")
    assert upload.columns == {"thing": "item", "who": "rater", "points": "criterion_column"}
    assert "saved mapping Our marks" in markup(browser.get(address))
    assert "has been loaded" in do(browser, address, "load")
    assert Score.objects.get().value == 5


def test_other_columns_and_other_workspaces_are_not_read_by_it(browser):
    saved(browser)
    for content in ("thing,who,points\na1,r1,4\n", "thing,who,points,words,more\na1,r1,4,,\n"):
        uploaded(browser, content, "other.csv")
        assert last().mapping == ""
    SavedMapping.objects.update(workspace=make_workspace("other"))
    address = uploaded(browser, ROWS, "again.csv")
    assert last().mapping == "" and "/imports/mappings/" not in markup(browser.get(address))
    sent = form_of(last(), do="use", mapping=SavedMapping.objects.get().pk)
    assert browser.post(address, sent).status_code == 422 and last().kind == ""


def test_one_of_several_is_chosen_and_a_change_is_no_longer_called_saved(browser):
    address = saved(browser)
    pairs = {**MAPPED, "kind": "truth", "column-1": "", "column-2": "value"}
    browser.post(address, form_of(last(), do="keep", **pairs, mapping_name="Right answers"))
    assert last().mapping == "Right answers"
    asked = SavedMapping.objects.get(name="Our marks").pk
    assert browser.post(address, {"do": "use", "mapping": asked}).status_code == 302
    assert (last().mapping, last().kind, last().options["scale"]) == ("Our marks", "ratings", "1:5")
    browser.post(address, form_of(last(), do="update", **{"column-3": "reason"}))
    assert last().mapping == ""


def test_a_name_is_used_once_and_must_be_one(browser):
    address = saved(browser)
    browser.post(address, form_of(last(), do="keep", **{**MAPPED, "scale": "0:9"}, mapping_name="Our marks"))
    assert SavedMapping.objects.get().options["scale"] == "0:9"
    for name, columns in (("", MAPPED), ("x" * 101, MAPPED), ("None", {"kind": "ratings", "column-0": ""})):
        sent = {"kind": "ratings", "into": "a", "do": "keep", **columns, "mapping_name": name}
        assert browser.post(address, sent).status_code == 422
    assert SavedMapping.objects.count() == 1


def test_it_is_removed_by_a_lead_of_its_workspace_alone(browser):
    address = saved(browser)
    path = reverse("annotation:remove_mapping", args=[SavedMapping.objects.get().pk])
    assert path in markup(browser.get(address)) and path in markup(browser.get("/imports/table/"))
    strangers = [
        make_user("rater", make_workspace()),
        make_user("analyst", make_workspace()),
        make_user("lead", make_workspace("other"), username="otto"),
    ]
    for user in strangers:
        client = Client()
        client.force_login(user)
        assert client.post(path).status_code in (403, 404)
    assert browser.get(path).status_code == 405 and SavedMapping.objects.exists()
    answer = browser.post(path, {"upload": last().public_id})
    assert answer["Location"] == address and not SavedMapping.objects.exists()
    assert "/imports/mappings/" not in markup(browser.get("/imports/table/"))
