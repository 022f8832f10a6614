"""Uploading a benchmark's files: who may, what the page says while it is loaded and after, and that nothing is left."""

import html
import io
import json
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from accounts.models import Membership
from annotation.models import Study
from core.messages.message import from_value
from core.messages.rendering import render
from core.models import RequestedTask
from core.tables import messages
from generation.models import Import, Instruction, Response
from judging.importing import uploads
from judging.web.uploads import KINDS
from tests.factories import make_user, make_workspace

pytestmark = pytest.mark.django_db
ADDRESS = "/imports/upload/"
TASK = "heuristic_text_generation"


def clone(*, bad=False, broken=False):
    """A clone of HelloBench with one instruction, one model and its verdicts, as an archive."""
    asked = {"id": f"{TASK}_000", "category": "story_writing", "instruction": "Tell a story."}
    answered = {"id": f"{TASK}_000", "instruction": "Tell a story.", "response": "Once upon a time."}
    items = [{"checklist_id": number, "reason": "so", "evaluation_score": 1.0} for number in range(2)]
    result = f"main_exp/m1/{TASK}_results.jsonl"
    files = {
        f"data/main_data/{TASK}.jsonl": json.dumps({**asked, "note": "?"}) + "\n",
        f"checklists/{TASK}_checklist.json": json.dumps({"story_writing": ["Is it one?", "Is it long?"]}),
        f"results/generations/{result}": json.dumps(answered) + "\n" + ("{\n" if bad else ""),
        f"results/judgements/{result}": "" if broken else json.dumps({**answered, "checklist_wise_evaluation": items}),
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for name, content in files.items():
            file.writestr(f"HelloBench-main/{name}", content)
    return packed.getvalue()


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    settings.DATA_DIR = tmp_path / "data"
    return settings.DATA_DIR / "uploads"


@pytest.fixture
def lead():
    return make_user("lead", make_workspace())


@pytest.fixture
def browser(lead):
    browser = Client()
    browser.force_login(lead)
    return browser


def send(browser, content, name="HelloBench.zip", **more):
    data = {"workspace": make_workspace().pk, "benchmark": "hellobench", **more}
    return browser.post(ADDRESS, {**data, "archive": SimpleUploadedFile(name, content)})


def page(browser, response):
    return browser.get(response.url).content.decode()


def left_in(folder):
    return sorted(path.name for path in folder.glob("*/*"))


def test_an_archive_is_loaded_by_a_worker_and_can_be_undone(browser, folder, lead):
    form = browser.get(ADDRESS).content.decode()
    assert 'enctype="multipart/form-data"' in form and "HelloBench" in form
    response = send(browser, clone())
    assert response.status_code == 302
    waiting = page(browser, response)
    assert "waits for a worker" in waiting and 'hx-trigger="every 2s"' in waiting
    task = RequestedTask.objects.get()
    assert task.task == "judging.load_upload"
    uploads.carry_out(*task.arguments)
    found = Import.objects.get()
    assert (found.file, found.actor, found.about) == ("HelloBench.zip", lead, "hellobench")
    assert Response.objects.get().text == "Once upon a time."
    done = page(browser, response)
    assert "hx-trigger" not in done
    assert "data/main_data/*: note (1)" in done
    assert "weighted_scores.txt" in done
    assert reverse("annotation:undo_import", args=[found.pk]) in done
    assert left_in(folder) == ["state.json"]
    assert browser.post(reverse("annotation:undo_import", args=[found.pk])).status_code == 302
    assert not Response.objects.exists()


def test_the_state_is_a_part_that_asks_again_while_it_loads(browser):
    response = send(browser, clone())
    (upload,) = uploads.uploads()
    uploads.replace(upload, state="loading", done=1_500_000, total=3_000_000, part="data/x.jsonl").save()
    part = browser.get(response.url + "state/").content.decode()
    assert part.lstrip().startswith("<section") and "data/x.jsonl" in part and "every 2s" in part
    assert 'value="1500000"' in part and "1.4" in part


def test_a_bad_row_stops_it_and_is_named(browser, folder):
    response = send(browser, clone(bad=True))
    uploads.carry_out(*RequestedTask.objects.get().arguments)
    shown = page(browser, response)
    assert "Loading stopped: results/generations/main_exp/m1" in shown
    assert "line 2: the line is not valid JSON" in shown
    assert "Nothing of the archive was loaded." in shown and "The files before it are loaded." not in shown
    assert not Response.objects.exists() and not Instruction.objects.exists() and not Study.objects.exists()
    assert left_in(folder) == ["state.json"]


def test_bad_rows_may_be_left_out_and_are_listed(browser):
    response = send(browser, clone(bad=True), skip="on")
    uploads.carry_out(*RequestedTask.objects.get().arguments)
    shown = page(browser, response)
    assert "_results.jsonl:2: the line is not valid JSON" in shown
    assert Response.objects.count() == 1


def test_bad_rows_are_explained_in_the_language_of_the_reader(browser):
    response = send(browser, clone(bad=True), skip="on")
    uploads.carry_out(*RequestedTask.objects.get().arguments)
    chinese = browser.get(response.url, headers={"Accept-Language": "zh-hans"}).content.decode()
    for said in (messages.NOT_JSON(), messages.OBJECT_PER_LINE()):
        assert render(said, "zh-hans") in chinese
    (kept,) = uploads.uploads()
    ((_file, _line, reason, _remedy),) = kept.bad_rows
    assert (reason["code"], reason["text"]) == ("table.not_json", "the line is not valid JSON")


def test_an_archive_of_something_else_is_refused(browser, folder):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("holiday/photo.txt", "sea")
    response = send(browser, packed.getvalue())
    uploads.carry_out(*RequestedTask.objects.get().arguments)
    shown = page(browser, response)
    assert "this is no clone of HelloBench" in shown and str(folder) not in shown
    assert not Import.objects.exists()
    assert left_in(folder) == ["state.json"]


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize(
    ("content", "name", "code"),
    [
        (clone()[:200], "HelloBench.zip", "archive.damaged"),
        (clone(), "HelloBench.tar.gz", "archive.damaged"),
        (b"", "HelloBench.zip", None),
        (io.BytesIO(b"PK\x05\x06" + bytes(18)).getvalue(), "HelloBench.zip", "archive.no_file"),
    ],
    ids=["half a file", "another format", "empty", "no file"],
)
def test_a_mistake_with_an_archive_is_one_sentence_in_the_readers_language(browser, language, content, name, code):
    browser.defaults["HTTP_ACCEPT_LANGUAGE"] = language
    response = send(browser, content, name)
    if code is None:
        assert response.status_code == 422 and not RequestedTask.objects.exists()
        main = response.content.decode()
        assert ("empty" in main) == (language == "en")
        return
    uploads.carry_out(*RequestedTask.objects.get().arguments)
    (kept,) = uploads.uploads()
    assert (kept.state, kept.problem["code"]) == ("refused", code)
    said = render(from_value(kept.problem), language)
    shown = page(browser, response)
    assert said in html.unescape(shown) and shown.count('role="alert"') == 1 and "Traceback" not in shown
    assert not Import.objects.exists()


def test_bad_rows_are_a_file_too_and_nobody_elses(browser):
    response = send(browser, clone(bad=True), skip="on")
    uploads.carry_out(*RequestedTask.objects.get().arguments)
    place = response.url + "bad-rows.csv"
    assert place in page(browser, response)
    listed = browser.get(place).content.decode().splitlines()
    assert listed[0] == "file,line,reason,remedy" and listed[1].endswith(
        f"_results.jsonl,2,{messages.NOT_JSON()},{messages.OBJECT_PER_LINE()}"
    )
    stranger = Client()
    stranger.force_login(make_user("lead", make_workspace("other")))
    assert stranger.get(place).status_code == 404
    sound = send(browser, clone())
    uploads.carry_out(*RequestedTask.objects.latest("pk").arguments)
    assert browser.get(sound.url + "bad-rows.csv").status_code == 404


def test_loading_it_again_changes_nothing(browser):
    for _time in range(2):
        response = send(browser, clone())
        uploads.carry_out(*RequestedTask.objects.latest("pk").arguments)
    assert "Nothing has changed." in page(browser, response)
    assert Import.objects.count() == 1


def test_one_at_a_time(browser):
    send(browser, clone())
    second = send(browser, clone())
    assert second.status_code == 422
    assert "HelloBench.zip is being loaded into this workspace" in second.content.decode()


def test_another_ending_is_refused(browser, folder):
    response = send(browser, b"x", name="bench.rar")
    assert response.status_code == 422
    assert "Choose a .zip or .tar.gz file." in response.content.decode()
    assert left_in(folder) == []


def test_a_name_cannot_lead_out_of_the_folder(browser, folder):
    send(browser, clone(), name="../../../evil.zip")
    assert left_in(folder) == ["archive", "state.json"]
    assert [path.name for path in folder.glob("*/archive/*")] == ["evil.zip"]


def test_files_over_the_limit_are_refused(browser, settings, folder):
    settings.UPLOAD_MOST = 1000
    response = send(browser, bytes(2000))
    assert response.status_code == 413
    assert "The files are larger than the limit" in response.content.decode()
    assert not folder.exists()


@pytest.mark.parametrize("role", ["analyst", "rater"])
def test_only_leads_may(role, folder):
    browser = Client()
    browser.force_login(make_user(role, make_workspace()))
    assert browser.get(ADDRESS).status_code in (403, 404)
    assert send(browser, clone()).status_code in (400, 403, 404)
    assert not folder.exists()


def test_a_stranger_is_asked_to_sign_in():
    assert Client().get(ADDRESS).status_code == 302
    assert send(Client(), clone()).status_code in (302, 400)


def test_a_forged_form_is_refused(lead, folder):
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(lead)
    assert send(browser, clone()).status_code == 403
    assert not folder.exists()


def test_what_another_workspace_uploaded_is_not_shown(browser):
    response = send(browser, clone())
    stranger = Client()
    stranger.force_login(make_user("lead", make_workspace("other")))
    for address in (response.url, response.url + "state/"):
        assert stranger.get(address).status_code == 404
    assert browser.get(ADDRESS + "none/").status_code == 404


def test_a_workspace_that_is_not_led_cannot_be_chosen(browser, lead):
    other = make_workspace("other")
    Membership.objects.create(workspace=other, user=lead, role="rater")
    assert send(browser, clone(), workspace=other.pk).status_code == 422


def test_kinds_of_records_are_named_in_the_readers_language_and_empty_ones_left_out(browser):
    response = send(browser, clone())
    uploads.carry_out(*RequestedTask.objects.get().arguments)
    (upload,) = uploads.uploads()
    assert set(KINDS) >= {key for key, one in upload.result.items() if isinstance(one, dict) and "created" in one}
    english = page(browser, response)
    assert '<th scope="row">verdicts</th>' in english and '<th scope="row">published weights</th>' not in english
    chinese = browser.get(response.url, headers={"Accept-Language": "zh-hans"}).content.decode()
    assert '<th scope="row">判定</th>' in chinese and ">verdicts<" not in chinese
