"""Saved mappings over the API: kept from an upload, listed, used for the next file, replaced and removed, and by whom."""

import pytest

from annotation.models import SavedMapping, Score
from annotation.uploads.asked import begin_check
from annotation.uploads.kept_files import CHECKING, MOST_WAITING, known_table
from annotation.uploads.saved_mappings import MOST_SAVED
from core.models import RequestedTask
from tests.annotation.uploads.test_uploads_by_api import folder, head, lead, send, work
from tests.factories import make_user, make_workspace

pytestmark = pytest.mark.django_db
__all__ = ["folder", "lead"]
ROWS = b"thing,who,points,words\na1,r1,4,fine\na2,r2,2,\n"
COLUMNS = {"thing": "item", "who": "rater", "points": "criterion_column"}
SAID = {"kind": "ratings", "columns": COLUMNS, "options": {"scale": "1:5"}}
LIST = "/api/v1/w/lab/mappings/"


@pytest.fixture
def ask(client, lead):
    """Return a function that sends JSON to an address as the lead, and checks the status."""
    with_token = head(lead)

    def asked(method, path, given=None, status=200, user=with_token):
        given = ({},) if method == "get" else (given or {}, "application/json")
        answer = getattr(client, method)(path, *given, **user)
        assert answer.status_code == status, answer.content
        return answer.json() if answer.content else None

    return asked


def uploaded(client, lead, content=ROWS, name="first.csv"):
    return send(client, content, head(lead), name=name).json()["id"]


@pytest.fixture
def first(client, lead, ask):
    """An upload whose columns nobody recognises, with what was said of them."""
    made = uploaded(client, lead)
    ask("post", f"/api/v1/uploads/{made}/mapping/", SAID)
    return made


def keep(ask, upload, name="Our marks", status=201):
    return ask("post", LIST, {"upload": upload, "name": name}, status)


def test_a_mapping_is_kept_and_the_next_file_with_the_same_columns_is_read_by_it(client, lead, ask, first):
    kept = keep(ask, first, "  Our  marks ")
    assert (kept["name"], kept["kind"], kept["columns"], kept["by"]) == ("Our marks", "ratings", COLUMNS, "lena")
    assert kept["file_columns"] == ["points", "thing", "who", "words"] and kept["options"] == {"scale": "1:5"}
    assert ask("get", LIST)["results"] == [kept]
    assert known_table(first).mapping == "Our marks"
    second = uploaded(client, lead, b"who,words,thing,points\nr3,good,a1,5\n", "second.csv")
    found = ask("get", f"/api/v1/uploads/{second}/")
    assert (found["mapping"], found["columns"], found["into"]) == ("Our marks", COLUMNS, "second")
    ask("post", f"/api/v1/uploads/{second}/load/")
    work()
    assert Score.objects.get().value == 5


def test_one_of_several_is_used_by_its_number_and_what_else_is_sent_takes_precedence(client, lead, ask, first):
    marks = keep(ask, first)["number"]
    path = f"/api/v1/uploads/{first}/mapping/"
    ask("post", path, {"kind": "truth", "columns": {"thing": "item", "points": "value"}, "options": {}})
    keep(ask, first, "Right answers")
    used = ask("post", path, {"mapping": marks, "into": "third"})
    assert (used["mapping"], used["kind"], used["columns"]) == ("Our marks", "ratings", COLUMNS)
    assert (used["options"], used["into"]) == ({"scale": "1:5"}, "third")
    other = ask("post", path, {"mapping": marks, "options": {"scale": "0:9"}})
    assert (other["mapping"], other["columns"], other["options"]) == ("", COLUMNS, {"scale": "0:9"})


def test_a_change_is_no_longer_called_by_the_name_nor_checked(ask, first):
    keep(ask, first)
    path = f"/api/v1/uploads/{first}"
    ask("post", f"{path}/check/")
    work()
    assert ask("get", f"{path}/")["state"] == "checked"
    changed = ask("post", f"{path}/mapping/", {"columns": {**COLUMNS, "words": "reason"}})
    assert (changed["mapping"], changed["state"], changed["counts"]) == ("", "new", {})


def test_it_is_found_by_the_columns_as_the_same_request_says_that_the_file_is_read(client, lead, ask, first):
    marks = keep(ask, first)["number"]
    other = uploaded(client, lead, ROWS.replace(b",", b"|"), "bars.csv")
    path = f"/api/v1/uploads/{other}/mapping/"
    assert "not for files with these columns" in ask("post", path, {"mapping": marks}, 400)["detail"]
    used = ask("post", path, {"mapping": marks, "separator": "bar"})
    assert (used["mapping"], used["separator"], used["file_columns"][0]) == ("Our marks", "bar", "thing")


def test_one_for_other_columns_or_of_another_workspace_is_not_used(client, lead, ask, first):
    marks = keep(ask, first)["number"]
    wide = uploaded(client, lead, b"thing,who,points,words,more\na1,r1,4,,\n", "wide.csv")
    before = ask("get", f"/api/v1/uploads/{wide}/")
    for number in (marks, marks + 1, 10**30):
        said = ask("post", f"/api/v1/uploads/{wide}/mapping/", {"mapping": number}, 400)["detail"]
        assert "not for files with these columns" in said
    assert ask("get", f"/api/v1/uploads/{wide}/") == before
    SavedMapping.objects.update(workspace=make_workspace("other"))
    ask("post", f"/api/v1/uploads/{first}/mapping/", {"mapping": marks}, 400)
    assert ask("get", LIST)["results"] == []
    assert "mapping: " in ask("post", f"/api/v1/uploads/{wide}/mapping/", {"mapping": "Our marks"}, 400)["detail"]


def test_a_file_of_another_tool_is_read_by_none(client, lead, ask, first):
    marks = keep(ask, first)["number"]
    battles = (
        b'[{"question_id": "q1", "model_a": "m1", "model_b": "m2", "winner": "model_a", "judge": "r1", "turn": 1}]'
    )
    other = uploaded(client, lead, battles, "battles.json")
    path = f"/api/v1/uploads/{other}/"
    if not ask("get", path)["format"]:
        ask("post", path + "mapping/", {"format": "arena"})
    assert "for tables" in ask("post", path + "mapping/", {"mapping": marks}, 400)["detail"]


def test_a_name_is_used_once_and_must_be_one(ask, first):
    number = keep(ask, first)["number"]
    ask("post", f"/api/v1/uploads/{first}/mapping/", {"options": {"scale": "0:9"}})
    again = keep(ask, first)
    assert (again["number"], again["options"], SavedMapping.objects.count()) == (number, {"scale": "0:9"}, 1)
    for name in ("", "   ", "x" * 101):
        assert "name" in keep(ask, first, name, 400)["detail"]
    assert SavedMapping.objects.count() == 1


def test_what_says_nothing_cannot_be_kept(client, lead, ask, first):
    unknown = uploaded(client, lead, b"colour,shape\nred,round\n", "other.csv")
    assert "at least one column" in keep(ask, unknown, status=400)["detail"]
    assert "no uploaded file" in keep(ask, "none", status=400)["detail"]
    ask("post", f"/api/v1/uploads/{first}/check/")
    assert "A worker is reading" in keep(ask, first, status=400)["detail"]
    assert RequestedTask.objects.exists() and not SavedMapping.objects.exists()


def test_a_workspace_keeps_no_more_than_it_may(ask, first):
    lab = make_workspace()
    SavedMapping.objects.bulk_create(
        SavedMapping(workspace=lab, name=f"m{n}", kind="ratings") for n in range(MOST_SAVED)
    )
    assert f"{MOST_SAVED} mappings" in keep(ask, first, status=400)["detail"]
    assert len(ask("get", f"{LIST}?size=1000")["results"]) == MOST_SAVED > MOST_WAITING


def test_only_leads_of_its_workspace_see_keep_and_remove(client, lead, ask, first):
    number = keep(ask, first)["number"]
    foreign = make_user("lead", make_workspace("other"), username="otto")
    theirs = uploaded_by(client, foreign)
    strangers = {404: head(foreign), 403: head(make_user("analyst", make_workspace(), username="ana"))}
    for status, user in strangers.items():
        ask("get", LIST, status=status, user=user)
        ask("post", LIST, {"upload": first, "name": "mine"}, status, user)
        ask("delete", f"{LIST}{number}/", status=status, user=user)
    assert "no uploaded file" in keep(ask, theirs, status=400)["detail"]
    ask("delete", f"/api/v1/w/other/mappings/{number}/", status=404, user=head(foreign))
    assert SavedMapping.objects.count() == 1
    ask("delete", f"{LIST}{number}/", status=204)
    ask("delete", f"{LIST}{number}/", status=404)
    assert not SavedMapping.objects.exists() and known_table(first).columns == COLUMNS


def uploaded_by(client, user):
    return send(client, ROWS, head(user), slug="other").json()["id"]


def test_a_file_that_is_discarded_or_checked_meanwhile_stays_so(monkeypatch, client, lead, ask, first):
    def meanwhile(happens):
        def counted(self, *args, **kwargs):
            happens()
            return real(*args, **kwargs)

        real = SavedMapping.objects.update_or_create
        monkeypatch.setattr(type(SavedMapping.objects), "update_or_create", counted)

    meanwhile(lambda: begin_check(known_table(first)))
    keep(ask, first)
    monkeypatch.undo()
    assert known_table(first).state == CHECKING and known_table(first).mapping == ""
    work()
    second = uploaded(client, lead, name="second.csv")
    meanwhile(known_table(second).discard)
    keep(ask, second, "Their marks")
    monkeypatch.undo()
    assert known_table(second) is None
    assert {one["name"] for one in ask("get", LIST)["results"]} == {"Our marks", "Their marks"}
