"""Uploading a file of another tool: what it is recognised as, the choice of another format, loading, and undo."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from accounts.api.tokens import issue_token
from annotation.models import Score, Study
from annotation.tasks import load_table
from annotation.uploads.kept_files import kept_tables
from core.models import RequestedTask
from generation.importers.formats.registry import FORMATS
from generation.models import Import, Response
from tests.factories import make_user, make_workspace
from tests.generation.importers.formats import inspect_package
from tests.markup import markup

pytestmark = pytest.mark.django_db
BATTLES = [
    {
        "question_id": f"q{number}",
        "model_a": "x",
        "model_b": "y",
        "winner": winner,
        "judge": "ann",
        "conversation_a": [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "A"}],
        "conversation_b": [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "B"}],
        "turn": 1,
    }
    for number, winner in enumerate(("model_a", "model_b", "tie"))
]
LABELS = [
    {
        "id": number,
        "data": {"prompt": "Say it.", "response": f"It {number}.", "model": "m"},
        "annotations": [
            {
                "completed_by": 4,
                "was_cancelled": False,
                "result": [{"type": "rating", "from_name": "quality", "to_name": "t", "value": {"rating": number + 2}}],
            }
        ],
    }
    for number in range(3)
]


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    settings.DATA_DIR = tmp_path / "data"


@pytest.fixture
def lead():
    return make_user("lead", make_workspace(), username="lena")


@pytest.fixture
def browser(lead):
    browser = Client()
    browser.force_login(lead)
    return browser


def uploaded(browser, content, name):
    content = content if isinstance(content, bytes) else json.dumps(content).encode()
    sent = {"workspace": make_workspace().pk, "table": SimpleUploadedFile(name, content)}
    answer = browser.post("/imports/table/", sent)
    assert answer.status_code == 302, markup(answer)
    return answer["Location"]


def the_upload():
    (upload,) = kept_tables()
    return upload


def do(browser, address, what, status=302, **more):
    upload = the_upload()
    answer = browser.post(address, {"format": upload.format, "into": upload.into, **upload.options, "do": what, **more})
    assert answer.status_code == status, markup(answer)
    for task in RequestedTask.objects.filter(task="annotation.load_table"):
        task.delete()
        load_table(*task.arguments)
    return markup(browser.get(address) if status == 302 else answer)


def test_the_format_is_recognised_with_its_reason_and_all_others_are_offered(browser):
    address = uploaded(browser, BATTLES, "Old battles.json")
    assert (the_upload().format, the_upload().into) == ("arena", "old-battles")
    page = markup(browser.get(address))
    assert "The file is read as Arena battles: its first row has the fields model_a, model_b, winner." in " ".join(
        page.split()
    )
    for each in FORMATS.values():
        assert f'<option value="{each.key}" {"selected" if each.key == "arena" else ""}>{each.name}</option>' in page
    assert "A table, whose columns you name" in page


def test_a_file_in_a_format_is_checked_loaded_and_undone(browser):
    address = uploaded(browser, BATTLES, "battles.json")
    checked = do(browser, address, "check")
    assert "Nothing has been stored yet." in checked and not Study.objects.exists()
    assert the_upload().counts == {"created": 3}
    do(browser, address, "load")
    found = Import.objects.get()
    assert (found.command, found.about) == ("import_arena", "battles") and Score.objects.count() == 3
    assert set(Response.objects.values_list("text", flat=True)) == {"A", "B"}
    assert browser.post(reverse("annotation:undo_import", args=[found.pk])).status_code == 302
    assert not Score.objects.exists() and not Response.objects.exists()


def test_another_format_can_be_chosen_and_refuses_the_file_with_the_one_that_fits(browser):
    address = uploaded(browser, BATTLES, "battles.json")
    page = do(browser, address, "check", format="label-studio")
    assert the_upload().format == "label-studio" and the_upload().recognised_by == ""
    assert "The file is read as" not in page
    page = do(browser, address, "check")
    assert "this is not a file of Label Studio" in page and "its fields are those of Arena battles" in page
    assert not Study.objects.exists()


def test_a_file_can_be_read_as_a_table_instead_and_as_its_format_again(browser):
    address = uploaded(browser, LABELS, "labels.json")
    assert the_upload().format == "label-studio"
    page = do(browser, address, "", format="")
    assert the_upload().format == "" and 'name="column-0"' in page and "A table, whose columns you name" in page
    page = do(browser, address, "", format="label-studio")
    assert the_upload().format == "label-studio" and 'name="column-0"' not in page
    do(browser, address, "load", scale="quality=1:5")
    assert sorted(Score.objects.values_list("value", flat=True)) == [2.0, 3.0, 4.0]


def test_what_the_columns_hold_is_recognised_once_the_file_is_read_as_a_table(browser):
    rows = [{"instruction": f"i{number}", "output": "Text.", "generator": "m"} for number in range(2)]
    address = uploaded(browser, rows, "outputs.json")
    assert (the_upload().format, the_upload().columns) == ("alpaca-eval-outputs", {})
    do(browser, address, "", format="")
    assert the_upload().kind == "responses" and the_upload().columns["instruction"] == "instruction"


def test_a_format_that_does_not_exist_changes_nothing(browser):
    address = uploaded(browser, BATTLES, "battles.json")
    page = do(browser, address, "check", 422, format="csv-of-the-moon")
    assert "There is no format" in page and the_upload().format == "arena"
    page = do(browser, address, "check", 422, fields="nonsense")
    assert "names no field" in page and not RequestedTask.objects.exists()


def test_options_of_a_format_say_who_is_a_judge(browser):
    address = uploaded(browser, LABELS, "labels.json")
    do(browser, address, "load", scale="1:5", judges="*")
    assert set(Score.objects.values_list("assignment__rater__kind", flat=True)) == {"judge"}


@pytest.mark.parametrize("present", [True, False])
def test_an_archive_of_inspect_ai_is_recognised_and_read_where_its_package_is(browser, tmp_path, monkeypatch, present):
    (inspect_package.provide if present else inspect_package.take_away)(monkeypatch)
    path = tmp_path / "log.eval"
    rows = [inspect_package.sample(name, "Four.", {"match": {"value": "C"}}) for name in ("a", "b")]
    inspect_package.write_archive(path, rows)
    address = uploaded(browser, path.read_bytes(), "log.eval")
    assert the_upload().format == "inspect-log"
    page = do(browser, address, "load")
    if present:
        assert list(Score.objects.values_list("value", flat=True)) == [1.0, 1.0]
        assert Response.objects.filter(text="Four.", model__name="openai/gpt-4o").count() == 2
    else:
        assert "inspect_ai, whose package reads its logs, is not installed" in page and not Study.objects.exists()


def test_a_program_chooses_the_format(client, lead):
    head = {"headers": {"Authorization": f"Bearer {issue_token(user=lead, name='script', scopes=('change',))[1]}"}}
    path = reverse("api:upload_file", args=[make_workspace().slug])
    answer = client.post(f"{path}?name=battles.json", json.dumps(BATTLES), "application/octet-stream", **head)
    assert answer.status_code in (200, 201) and answer.json()["format"] == "arena"
    address = f"/api/v1/uploads/{the_upload().public_id}/mapping/"
    wrong = client.post(address, {"format": "nothing"}, "application/json", **head)
    assert wrong.status_code == 400
    as_table = client.post(address, {"format": "", "kind": "ratings", "columns": {}}, "application/json", **head)
    assert as_table.status_code == 200 and as_table.json()["format"] == ""
    again = client.post(address, {"format": "arena", "into": "duels"}, "application/json", **head)
    assert again.status_code == 200 and (the_upload().format, the_upload().into) == ("arena", "duels")


def test_a_stranger_chooses_nothing(browser, client):
    address = uploaded(browser, BATTLES, "battles.json")
    client.force_login(make_user("rater", make_workspace(), username="rita"))
    assert client.post(address, {"format": "", "do": "check"}).status_code in (403, 404)
    assert the_upload().format == "arena"
