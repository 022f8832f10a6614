"""Uploading an archive of a study: from any page for files, what it would store, loading, undo, and refusals."""

import io
import zipfile
from dataclasses import replace

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotation.models import Score, Study
from annotation.tasks import retain
from annotation.uploads.study_archives import StudyArchive
from core.models import RequestedTask
from generation.models import Import
from judging.archive.export import export_study
from judging.archive.uploads import carry_out
from tests.calibration.answered_studies import answered_study
from tests.factories import make_user, make_workspace

pytestmark = pytest.mark.django_db(transaction=True)
ADDRESS = "/imports/archive/"
CHINESE = {"Accept-Language": "zh-hans"}


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    settings.DATA_DIR = tmp_path / "data"
    return settings.DATA_DIR / "archives"


def packed(study, *, texts=True):
    content = io.BytesIO()
    export_study(study, content, texts=texts)
    return content.getvalue()


@pytest.fixture
def archive():
    """The bytes of an archive; the installation is empty but for a workspace."""
    content = packed(answered_study(instructions=3))
    call_command("flush", "--no-input", verbosity=0)
    return content


@pytest.fixture
def browser(archive):
    browser = Client()
    browser.force_login(make_user("lead", make_workspace("lab"), username="lena"))
    return browser


def send(browser, content, name="study.plumbline.zip", address=ADDRESS, field="archive", **more):
    data = {"workspace": make_workspace("lab").pk, **more}
    return browser.post(address, {**data, field: SimpleUploadedFile(name, content)})


def work():
    for task in RequestedTask.objects.filter(task=StudyArchive.TASK):
        task.delete()
        carry_out(*task.arguments)


def page(browser, address, headers=None):
    return browser.get(address, headers=headers).content.decode()


def test_it_is_checked_loaded_and_undone(browser, archive, folder):
    sent = send(browser, archive)
    assert sent.status_code == 302 and "being checked" in page(browser, sent.url)
    work()
    checked, chinese = page(browser, sent.url), page(browser, sent.url, CHINESE)
    assert "Loading would store these rows" in checked and "Load the study" in checked
    assert "载入将存储以下各行" in chinese and "载入研究" in chinese and "Load the study" not in chinese
    assert not Study.objects.exists() and not Import.objects.exists()
    assert browser.post(sent.url, {"do": "load"}).status_code == 302
    assert "being loaded" in page(browser, sent.url) and "hx-trigger" in page(browser, sent.url)
    work()
    study, done = Study.objects.get(), page(browser, sent.url)
    assert f"The study {study.slug} has been loaded." in done and reverse("annotation:desk", args=[study]) in done
    scores = Score.objects.count()
    assert scores > 10 and f'<th scope="row">scores</th>\n                <td class="num">{scores}</td>' in done
    found = Import.objects.get()
    undo = reverse("annotation:undo_import", args=[found.pk])
    assert undo in done and (found.actor.username, found.command) == ("lena", "import_archive")
    assert [path.name for path in folder.glob("*/*")] == ["state.json"]
    assert browser.get(undo).status_code == 200 and browser.post(undo).status_code == 302
    assert not Study.objects.exists() and not Score.objects.exists()


def test_how_far_it_is_counts_rows(browser, archive):
    sent = send(browser, archive)
    (upload,) = StudyArchive.kept()
    seen = []
    save = StudyArchive.save

    def noting(self):
        seen.append((self.done, self.total))
        save(self)

    StudyArchive.save = noting
    try:
        carry_out(upload.public_id)
    finally:
        StudyArchive.save = save
    (ended,) = StudyArchive.kept()
    assert seen[-1] == (ended.total, ended.total) and ended.total == sum(ended.rows.values()) > 100
    replace(ended, state="checking", done=1500, total=12000).save()
    part = page(browser, sent.url + "state/")
    assert part.lstrip().startswith("<section") and "1,500 of 12,000 rows" in part and 'max="12000"' in part


@pytest.mark.parametrize(
    ("address", "field", "more"),
    [("/imports/table/", "table", {}), ("/imports/upload/", "archive", {"benchmark": "hellobench"})],
)
def test_the_other_pages_for_files_recognise_it(browser, archive, address, field, more):
    sent = send(browser, archive, address=address, field=field, **more)
    (upload,) = StudyArchive.kept()
    assert sent.url == reverse("judging:study_archive", args=[upload.public_id])
    work()
    assert "This is an archive of the study" in page(browser, sent.url)
    assert "upload an archive of a study" in page(browser, "/imports/table/").lower()
    assert ADDRESS in page(browser, "/imports/")


def test_another_file_is_refused_where_it_is_chosen(browser):
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w") as file:
        file.writestr("holiday/photo.txt", "sea")
    for address, field, words in (
        (ADDRESS, "archive", "holiday.zip is no archive of a study."),
        ("/imports/table/", "table", "This .zip is no archive of a study."),
    ):
        refused = send(browser, other.getvalue(), name="holiday.zip", address=address, field=field)
        assert refused.status_code == 422 and words in refused.content.decode()
    wrong = send(browser, b"a,b\n1,2\n", name="table.csv")
    assert wrong.status_code == 422 and "Choose the .zip file" in wrong.content.decode()
    assert not list(StudyArchive.kept()) and not RequestedTask.objects.exists()


def test_what_cannot_be_loaded_is_said_in_one_sentence_in_both_languages(browser, archive, folder):
    study = answered_study(instructions=2, workspace=make_workspace("elsewhere"))
    for content, words, chinese in (
        (packed(study, texts=False), "was made without texts", "不含文本"),
        (archive, "other rows under the numbers of the archive", "编号"),
    ):
        sent = send(browser, content)
        work()
        shown = page(browser, sent.url)
        assert words in shown and 'role="alert"' in shown and "Load the study" not in shown
        assert chinese in page(browser, sent.url, CHINESE)
        assert browser.post(sent.url, {"do": "load"}).status_code == 422
    assert not list(folder.glob("*/file")) and Study.objects.count() == 1


def test_it_is_removed_by_hand_or_after_a_day(browser, archive, folder):
    sent = send(browser, archive)
    work()
    assert browser.post(sent.url, {"do": "discard"}).url == reverse("annotation:imports")
    assert not list(folder.glob("*"))
    send(browser, archive)
    work()
    (upload,) = StudyArchive.kept()
    replace(upload, asked_at="2020-01-01T00:00:00+00:00").save()
    retain()
    assert not list(folder.glob("*"))


def test_nobody_else_uploads_or_sees_it(browser, archive):
    sent = send(browser, archive)
    work()
    for who in (make_user("lead", make_workspace("other")), make_user("reviewer", make_workspace("lab"))):
        stranger = Client()
        stranger.force_login(who)
        for answer in (
            stranger.get(sent.url),
            stranger.get(sent.url + "state/"),
            stranger.post(sent.url, {"do": "load"}),
            send(stranger, archive),
        ):
            assert answer.status_code in (403, 404, 422)
    (upload,) = StudyArchive.kept()
    assert upload.state == "checked"


def test_one_lead_does_not_fill_the_disk(browser, archive):
    for _number in range(5):
        assert send(browser, archive).status_code == 302
    refused = send(browser, archive)
    assert refused.status_code == 422 and "wait to be loaded" in refused.content.decode()
