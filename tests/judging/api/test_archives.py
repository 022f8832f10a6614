"""An archive of a study over the API: its check, loading, undo, and what is refused."""

import io

import pytest
from django.core.management import call_command

from accounts.api.tokens import issue_token
from annotation.models import Score, Study
from annotation.uploads.study_archives import StudyArchive
from core.models import RequestedTask
from judging.archive.export import export_study
from judging.archive.uploads import carry_out
from tests.calibration.answered_studies import answered_study
from tests.factories import make_user, make_workspace

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    settings.DATA_DIR = tmp_path
    return tmp_path / "archives"


@pytest.fixture
def archive():
    content = io.BytesIO()
    export_study(answered_study(instructions=3), content, texts=True)
    call_command("flush", "--no-input", verbosity=0)
    return content.getvalue()


@pytest.fixture
def ask(client, archive):
    """Send a request as a program with a lead's token, and return its JSON."""
    user = make_user("lead", make_workspace("lab"), username="lena")
    bearer = {"Authorization": f"Bearer {issue_token(user=user, name='script', scopes=('change',))[1]}"}

    def asked(path, body=None, status=200):
        kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
        send = client.get if body is None else client.post
        more = {} if body is None else {"data": body, "content_type": kind}
        answer = send(f"/api/v1/{path}", headers=bearer, **more)
        assert answer.status_code == status, answer.content
        return answer.json() if answer.content else None

    return asked


def work():
    for task in RequestedTask.objects.filter(task=StudyArchive.TASK):
        task.delete()
        carry_out(*task.arguments)


def test_it_is_checked_loaded_and_undone(ask, archive):
    sent = ask("w/lab/archives/?name=study.zip", archive, 201)
    assert (sent["state"], sent["workspace"], sent["study"]) == ("checking", "lab", "")
    path = f"archives/{sent['id']}/"
    assert "Nothing has changed." in str(ask(path + "load/", {}, 400))
    work()
    checked = ask(path)
    assert checked["state"] == "checked" and checked["study"] and checked["done"] == checked["total"] > 100
    assert not Study.objects.exists()
    assert ask(path + "load/", {})["state"] == "loading"
    assert "A worker is reading" in str(ask(path + "discard/", {}, 400))
    work()
    loaded = ask(path)
    assert (loaded["state"], loaded["study"]) == ("loaded", Study.objects.get().slug)
    assert loaded["rows"] == checked["rows"] and loaded["rows"]["annotation.score"] == Score.objects.count()
    removed = ask(f"imports/{loaded['imported']}/undo/", {})["removed"]
    assert removed["annotation.Study"] == 1 and not Study.objects.exists()
    assert ask(path + "discard/", {}, 204) is None
    assert "There is no such upload." in str(ask(path, status=404))


def test_another_file_is_refused_in_a_sentence(ask, folder):
    assert "must end in .zip" in str(ask("w/lab/archives/?name=study.csv", b"a", 400))
    sent = ask("w/lab/archives/?name=holiday.zip", b"PK", 201)
    work()
    refused = ask(f"archives/{sent['id']}/")
    assert refused["state"] == "refused" and refused["imported"] is None
    assert refused["problem"] == "holiday.zip is no archive of a study. Choose a file that the page Export made."
    assert not list(folder.glob("*/file"))
