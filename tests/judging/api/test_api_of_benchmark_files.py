"""A benchmark's own files over the API: loaded by a worker, undone, with bad rows; and the bad rows of a table."""

import io
import json
import zipfile

import pytest

from annotation.uploads.kept_files import TableUpload, kept_tables, known_table
from annotation.uploads.loading import carry_out as check
from core.models import RequestedTask
from generation.models import Import, Instruction, Response
from judging.importing import uploads
from tests.factories import make_user, make_workspace
from tests.generation.importers.longgenbench_files import DIARY, STATIC, TOWER
from tests.judging.web.test_uploads import clone

pytestmark = pytest.mark.django_db
ADDRESS = "/api/v1/w/lab/benchmark-files/"


@pytest.fixture
def send(client, call, lead):
    """Return a function that uploads bytes as the lead, signed in, and checks the status."""
    client.force_login(lead)

    def sent(content, query="?name=HelloBench.zip&benchmark=hellobench", status=201, kind="application/octet-stream"):
        answer = client.post(ADDRESS + query, content, content_type=kind)
        assert answer.status_code == status, answer.content
        return answer.json()

    return sent


def work():
    task = RequestedTask.objects.get(task="judging.load_upload")
    task.delete()
    uploads.carry_out(*task.arguments)


def test_files_are_loaded_and_undone(study, send, call):
    made = send(clone())
    assert (made["state"], made["benchmark"], made["imported"]) == ("waiting", "hellobench", None)
    work()
    done = call("get", "uploaded_benchmark_files", made["id"]).json()
    assert (done["state"], done["problem"], done["bad"]) == ("loaded", "", 0)
    assert done["result"]["responses"]["created"] == 1
    assert Response.objects.filter(text="Once upon a time.").exists()
    call("post", "undo_loading", done["imported"])
    assert Import.objects.get(pk=done["imported"]).undone_at
    assert not Response.objects.filter(text="Once upon a time.").exists()


def test_a_bad_row_stops_it_or_is_left_out(send, call):
    made = send(clone(bad=True))
    work()
    stopped = call("get", "uploaded_benchmark_files", made["id"]).json()
    assert stopped["state"] == "refused" and "not valid JSON" in stopped["problem"]
    made = send(clone(bad=True), "?name=HelloBench.zip&benchmark=hellobench&leave_out_bad_rows=1")
    work()
    loaded = call("get", "uploaded_benchmark_files", made["id"]).json()
    assert (loaded["state"], loaded["bad"], loaded["first_bad_rows"][0]["line"]) == ("loaded", 1, 2)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("?name=HelloBench.zip", "benchmark"),
        ("?name=HelloBench.zip&benchmark=none", "benchmark"),
        ("?benchmark=hellobench", "name"),
        ("?name=HelloBench.csv&benchmark=hellobench", ".zip"),
        ("?name=a.zip&benchmark=hellobench&leave_out_bad_rows=perhaps", "leave_out_bad_rows"),
    ],
)
def test_what_says_too_little_is_refused(send, query, said):
    assert said in send(clone(), query, 400)["detail"]
    assert not list(uploads.uploads())


def test_one_at_a_time_and_only_for_leads(study, send, call, client):
    made = send(clone())
    assert "HelloBench.zip" in send(clone(), status=400)["detail"]
    client.logout()
    for user, status in (
        (make_user("analyst", study.workspace, username="ana"), 404),
        (make_user("lead", make_workspace("else"), username="eve"), 404),
    ):
        call("get", "uploaded_benchmark_files", made["id"], user=user, status=status)
        call("post", "upload_benchmark_files", "lab", user=user, status=403 if user.username == "ana" else 404)


def results():
    """An archive of LongGenBench's counts, without its tasks."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("LongGenBench-main/README.md", "LongGenBench")
        file.writestr("LongGenBench-main/Evalution/results/static.csv", STATIC)
    return packed.getvalue()


OF_RESULTS = "?name=LongGenBench.zip&benchmark=longgenbench"


@pytest.fixture
def tasks_file(study, client, lead):
    """Return a function that uploads a file of two tasks to a workspace, and returns its id."""
    client.force_login(lead)

    def sent(name="Dataset_short.json", slug="lab", user=lead):
        client.force_login(user)
        path = f"/api/v1/w/{slug}/uploads/?name={name}"
        made = client.post(path, json.dumps([DIARY, TOWER]), content_type="application/octet-stream")
        client.force_login(lead)
        assert made.status_code == 201, made.content
        return made.json()["id"]

    return sent


def test_tasks_that_are_published_apart_come_as_a_second_file(tasks_file, send, call):
    already = Instruction.objects.count()
    made = send(results(), f"{OF_RESULTS}&tasks={tasks_file()}")
    assert (made["state"], made["tasks"]) == ("waiting", "Dataset_short.json")
    assert not list(kept_tables())
    work()
    done = call("get", "uploaded_benchmark_files", made["id"]).json()
    assert (done["state"], done["problem"], done["result"]["instructions"]["created"]) == ("loaded", "", 2)
    assert Instruction.objects.count() == already + 2
    assert any("Nora keeps bees" in instruction.text for instruction in Instruction.objects.all())
    call("post", "undo_loading", done["imported"])
    assert Instruction.objects.count() == already


def test_without_the_second_file_there_are_no_tasks(study, send, call):
    already = Instruction.objects.count()
    made = send(results(), OF_RESULTS)
    work()
    done = call("get", "uploaded_benchmark_files", made["id"]).json()
    assert (done["state"], done["tasks"], Instruction.objects.count()) == ("loaded", "", already)


def test_only_a_file_of_the_same_workspace_is_taken_as_tasks(study, tasks_file, send):
    other = make_user("lead", make_workspace("else"), username="eve")
    for wrong in ("none", "../..", tasks_file(slug="else", user=other)):
        assert "no uploaded file" in send(results(), f"{OF_RESULTS}&tasks={wrong}", 400)["detail"]
    assert len(list(kept_tables())) == 1 and not list(uploads.uploads())


def test_tasks_that_vanish_before_they_are_read_are_a_refusal(tasks_file, send):
    name = tasks_file()
    known_table(name).path.unlink()
    assert "no uploaded file" in send(results(), f"{OF_RESULTS}&tasks={name}", 400)["detail"]


def test_a_file_of_tasks_stays_while_it_is_read_or_the_archive_is_refused(study, tasks_file, send, call):
    send(clone())
    name = tasks_file()
    assert "HelloBench.zip" in send(results(), f"{OF_RESULTS}&tasks={name}", 400)["detail"]
    assert known_table(name).path.is_file()
    work()
    call("post", "map_file", name, sent={"kind": "instructions", "columns": {"prompt": "instruction"}, "into": "a"})
    call("post", "check_file", name)
    assert "A worker is reading" in send(results(), f"{OF_RESULTS}&tasks={name}", 400)["detail"]
    assert known_table(name).path.is_file()


def test_all_bad_rows_of_a_table_are_given(study, call, client, lead):
    client.force_login(lead)
    table = b"id,prompt\n" + b"".join(b"e%d,\n" % number for number in range(120))
    address = "/api/v1/w/lab/uploads/?name=prompts.csv"
    made = client.post(address, table, content_type="application/octet-stream").json()
    mapping = {"kind": "instructions", "columns": {"id": "instruction", "prompt": "prompt"}, "into": "essays"}
    call("post", "map_file", made["id"], sent=mapping)
    assert call("get", "bad_rows", made["id"]).content.decode().splitlines() == ["file,line,reason,remedy"]
    call("post", "check_file", made["id"])
    check(*RequestedTask.objects.get(task=TableUpload.TASK).arguments)
    found = known_table(made["id"])
    lines = call("get", "bad_rows", made["id"]).content.decode().splitlines()
    assert found.bad == 120 and len(lines) == 121
    call("get", "bad_rows", "none", status=404)
