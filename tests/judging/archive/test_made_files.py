"""Files of a study's data that a worker makes: the page, the making, what stops it, and who may take them away."""

import csv
import io
import zipfile
from datetime import timedelta

import pytest
from django.urls import reverse

from accounts.models import Event
from annotation.models import Study
from judging.archive import made_files
from judging.archive.made_files import ask_for, files_of, known_file, make, remove, remove_old
from judging.web import archive
from tests.calibration.answered_studies import answered_study
from tests.calibration.result_page_checks import signed_in
from tests.factories import make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db


@pytest.fixture
def asked(settings, tmp_path, monkeypatch):
    """What was sent to the workers; nothing is made until a test says so."""
    settings.DATA_DIR = tmp_path
    sent = []
    monkeypatch.setattr(made_files, "send_after_commit", lambda task, public_id: sent.append((task, public_id)))
    return sent


@pytest.fixture
def study():
    return answered_study(instructions=3)


@pytest.fixture
def lead(study):
    return signed_in("lead", study.workspace)


def taken(client, study, public_id):
    response = client.get(reverse("judging:made_file", args=[study, public_id]))
    return response, b"".join(response.streaming_content) if response.status_code == 200 else b""


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "archive"])
def test_a_file_is_asked_for_made_and_taken_away(asked, study, lead, kind):
    page = reverse("judging:export", args=[study])
    response = lead.post(reverse("judging:make_file", args=[study]), {"kind": kind})
    assert response.status_code == 302 and response["Location"] == page
    [(task, public_id)] = asked
    assert task == "judging.make_file"
    assert "Waits for a worker" in markup(lead.get(page)) and 'hx-trigger="every 2s"' in markup(lead.get(page))
    assert taken(lead, study, public_id)[0].status_code == 404
    make(public_id)
    shown = markup(lead.get(page))
    assert reverse("judging:made_file", args=[study, public_id]) in shown and "every 2s" not in shown
    response, content = taken(lead, study, public_id)
    assert f'filename="{known_file(public_id).name}"' in response["Content-Disposition"]
    if kind == "csv":
        rows = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"))))
        assert len(rows) == known_file(public_id).total == 3 * 2 * 3
    elif kind == "archive":
        assert "manifest.json" in zipfile.ZipFile(io.BytesIO(content)).namelist()
    else:
        assert content
    assert known_file(public_id).path.stat().st_mode & 0o077 == 0
    verb = "export_study" if kind == "archive" else "export_answers"
    assert Event.objects.filter(verb=verb, object_id=study.public_id).count() == 1


def test_the_same_file_is_not_made_twice_at_once(asked, study):
    user = make_user("lead", study.workspace)
    first = ask_for(study, user, "csv")
    assert ask_for(study, user, "csv") == first
    assert ask_for(study, user, "csv", texts=True) != first
    make(first.public_id)
    assert ask_for(study, user, "csv").public_id != first.public_id
    assert len(asked) == 3


def test_making_twice_changes_nothing(asked, study):
    made = ask_for(study, make_user("lead", study.workspace), "jsonl")
    make(made.public_id)
    before = known_file(made.public_id).path.stat().st_mtime_ns
    make(made.public_id)
    assert known_file(made.public_id).path.stat().st_mtime_ns == before


def test_who_may_not_read_the_results_gets_no_file(asked, study, lead):
    made = ask_for(study, make_user("owner", study.workspace), "csv")
    make(made.public_id)
    other = answered_study(instructions=1, slug="other", workspace=study.workspace)
    stranger = signed_in("owner", make_workspace("other-lab"))
    for verb, name in (("get", "made_file"), ("post", "remove_file")):
        address = reverse(f"judging:{name}", args=[study, made.public_id])
        for role in ("rater", "reviewer"):
            assert getattr(signed_in(role, study.workspace), verb)(address).status_code == 403
        assert getattr(stranger, verb)(address).status_code == 404
        of_other = reverse(f"judging:{name}", args=[other, made.public_id])
        assert getattr(lead, verb)(of_other).status_code == 404
    assert stranger.post(reverse("judging:make_file", args=[study]), {"kind": "csv"}).status_code == 404
    assert lead.get(reverse("judging:made_file", args=[study, "..secret"])).status_code == 404
    assert known_file(made.public_id) is not None


def test_removing_a_file_while_it_is_made_stops_it(asked, study, monkeypatch):
    made = ask_for(study, make_user("lead", study.workspace), "csv")

    def removed_on_the_way(*args, **options):
        yield 1
        remove(made)
        yield 2

    monkeypatch.setattr(made_files, "write_answers", removed_on_the_way)
    monkeypatch.setattr(made_files, "SECONDS_BETWEEN_WRITES", 0)
    make(made.public_id)
    assert known_file(made.public_id) is None and not made.folder.exists()


def test_a_full_disk_is_said_and_leaves_no_half_file(asked, study, lead, monkeypatch):
    made = ask_for(study, make_user("lead", study.workspace), "csv")

    def full(study, path, form, **options):
        path.write_text("half")
        raise OSError(28, "No space left on device")
        yield

    monkeypatch.setattr(made_files, "write_answers", full)
    make(made.public_id)
    assert known_file(made.public_id).state == "failed"
    assert sorted(path.name for path in made.folder.iterdir()) == ["state.json"]
    assert "could not be written" in markup(lead.get(reverse("judging:export", args=[study])))


def test_files_go_after_a_day(asked, study, monkeypatch):
    made = ask_for(study, make_user("lead", study.workspace), "csv")
    make(made.public_id)
    later = made_files.timezone.now() + timedelta(hours=23)
    monkeypatch.setattr(made_files.timezone, "now", lambda: later)
    remove_old()
    assert files_of(study)
    later += timedelta(hours=2)
    remove_old()
    assert not files_of(study) and not made.folder.exists()


def test_the_part_that_changes_is_the_part_of_the_page(asked, study, lead):
    ask_for(study, make_user("owner", study.workspace), "csv")
    part = lead.get(reverse("judging:made_files", args=[study])).content.decode()
    assert part.strip().startswith("<section") and "answers.csv" in part and "<html" not in part


def test_what_is_no_format_makes_nothing(asked, study, lead):
    lead.post(reverse("judging:make_file", args=[study]), {"kind": "exe"})
    assert asked == [] and files_of(study) == []


def test_a_study_too_large_to_wait_for_is_made_by_a_worker(asked, study, lead, monkeypatch):
    monkeypatch.setattr(archive, "LARGEST", 10)
    assert lead.get(reverse("judging:export_file", args=[study])).status_code == 404
    page = markup(lead.get(reverse("judging:export", args=[study])))
    assert "Create archive" in page and "manage.py" not in page
    assert Study.objects.count() == 1
