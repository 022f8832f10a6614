"""A backup restores every row, number and trigger; half a file, a changed one or another version changes nothing."""

import io
import json
import stat
import sys
import tarfile

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection

from accounts.models import Event
from annotation.models import Score
from core.backup.archive import MANIFEST
from core.backup.rows import RowsHash, lines_of, tables
from tests.factories import make_answer, make_checklist_study, make_rater, make_workspace

pytestmark = pytest.mark.django_db(transaction=True)


def state():
    """Count and hash of every table that holds rows."""
    found = {}
    for name, model in tables().items():
        rows = RowsHash(model)
        for _line in lines_of(model, using="default", into=rows):
            pass
        found[name] = (rows.count, rows.hash)
    return found


@pytest.fixture
def study():
    study = make_checklist_study(instructions=1, models=2)
    rater = make_rater(study)
    make_answer(study.tasks.first(), rater, {"item1": 0.25, "overall": 4.0})
    Event.objects.create(
        workspace=study.workspace, verb="change", after={"b": [1.0, 0.5, -0.0, 1e22], "a": {"文": None, "é": "\u2028"}}
    )
    return study


@pytest.fixture
def saved(study, tmp_path, settings):
    log = settings.JOURNAL_DIR / "run1.host-1-2.0.jsonl"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_bytes(b'{"item": 1}\n')
    path = tmp_path / "saved.tar"
    call_command("backup", str(path), stdout=io.StringIO())
    log.unlink()
    yield path
    for left in settings.JOURNAL_DIR.glob("*"):
        left.unlink()


def restore(path, *options, typed=None, monkeypatch=None):
    out = io.StringIO()
    if monkeypatch is not None:
        monkeypatch.setattr(sys, "stdin", io.StringIO(f"{typed}\n"))
    call_command("restore", str(path), *options, stdout=out)
    return out.getvalue()


def typed_name():
    return str(connection.settings_dict["NAME"]).rpartition("/")[2]


def changed(path, tmp_path, change, leave_out=()):
    """A copy of the backup whose manifest went through `change`."""
    copy = tmp_path / "changed.tar"
    with tarfile.open(path) as old, tarfile.open(copy, "w") as new:
        for member in old:
            content = old.extractfile(member).read()
            if member.name == MANIFEST:
                manifest = json.loads(content)
                change(manifest)
                content = json.dumps(manifest).encode()
            if member.name not in leave_out:
                member.size = len(content)
                new.addfile(member, io.BytesIO(content))
    return copy


def test_everything_is_as_it_was(saved, study, monkeypatch, settings):
    before = state()
    highest = Event.objects.order_by("-pk").first().pk
    make_answer(study.tasks.last(), make_rater(study), {"item1": 1.0})
    study.slug = "renamed"
    study.save()
    assert state() != before
    said = restore(saved, "--replace", typed=typed_name(), monkeypatch=monkeypatch)
    assert "counts and hashes agree" in said
    assert state() == before
    assert Event.objects.create(workspace=study.workspace, verb="later").pk == highest + 1
    left = list(settings.JOURNAL_DIR.glob("*"))
    assert [path.name for path in left] == ["run1.left-host-1-2.0.jsonl"] and left[0].read_bytes() == b'{"item": 1}\n'
    with pytest.raises(DatabaseError, match="append-only"):
        Score.objects.update(value=0.0)


def test_what_a_trigger_adds_is_not_added_again(study, tmp_path, monkeypatch):
    adds = "INSERT INTO auth_group (name) VALUES ('for ' || NEW.slug)"
    ends = ["DROP TRIGGER counted"]
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            body = f"BEGIN {adds}; RETURN NULL; END"
            cursor.execute(f"CREATE FUNCTION counted() RETURNS trigger AS $$ {body} $$ LANGUAGE plpgsql")
            cursor.execute(
                "CREATE TRIGGER counted AFTER INSERT ON accounts_workspace FOR EACH ROW EXECUTE FUNCTION counted()"
            )
            ends = ["DROP TRIGGER counted ON accounts_workspace", "DROP FUNCTION counted"]
        else:
            cursor.execute(f"CREATE TRIGGER counted AFTER INSERT ON accounts_workspace BEGIN {adds}; END")
    try:
        make_workspace("other")
        before = state()
        assert before["auth_group"][0] == 1
        call_command("backup", str(tmp_path / "one.tar"), stdout=io.StringIO())
        restore(tmp_path / "one.tar", "--replace", typed=typed_name(), monkeypatch=monkeypatch)
        assert state() == before
        make_workspace("third")
        assert state()["auth_group"][0] == 2
    finally:
        with connection.cursor() as cursor:
            for statement in ends:
                cursor.execute(statement)


def test_a_number_that_a_deleted_row_had_is_not_given_out_again(study, tmp_path, monkeypatch):
    last = make_rater(study)
    number = last.pk
    last.delete()
    call_command("backup", str(tmp_path / "one.tar"), stdout=io.StringIO())
    restore(tmp_path / "one.tar", "--replace", typed=typed_name(), monkeypatch=monkeypatch)
    assert make_rater(study).pk == number + 1


def test_a_filled_database_is_refused_and_replaced_only_by_typing_its_name(saved, monkeypatch):
    before = state()
    with pytest.raises(CommandError, match=r"is not empty: \d+ tables hold .* nothing has been changed"):
        restore(saved)
    for typed in ("", "yes"):
        with pytest.raises(CommandError, match="nothing has been changed"):
            restore(saved, "--replace", typed=typed, monkeypatch=monkeypatch)
    assert state() == before


def half(path, tmp_path):
    copy = tmp_path / "half.tar"
    copy.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    return copy


def other_bytes(path, tmp_path):
    def change(manifest):
        manifest["tables"]["annotation_score"]["file"] = "0" * 64

    return changed(path, tmp_path, change)


def a_later_version(path, tmp_path):
    return changed(path, tmp_path, lambda manifest: manifest["migrations"]["annotation"].append("9999_later"))


def an_earlier_version(path, tmp_path):
    return changed(path, tmp_path, lambda manifest: manifest["migrations"]["annotation"].pop())


def another_format(path, tmp_path):
    return changed(path, tmp_path, lambda manifest: manifest.update(format="plumbline-backup-9"))


def no_table(path, tmp_path):
    return changed(path, tmp_path, lambda manifest: None, leave_out=["tables/annotation_score.jsonl.gz"])


def a_path_out_of_the_journal(path, tmp_path):
    return changed(path, tmp_path, lambda manifest: manifest["journal"].update({"journal/../../etc.jsonl": "0"}))


def no_tar(path, tmp_path):
    copy = tmp_path / "text.tar"
    copy.write_text("not a backup")
    return copy


def a_wrong_hash(path, tmp_path):
    """Every file is as the manifest says, but the rows do not come back as they were."""

    def change(manifest):
        manifest["tables"]["annotation_score"]["hash"] = "0" * 64

    return changed(path, tmp_path, change)


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (half, "only a part of one"),
        (no_tar, "only a part of one"),
        (no_table, "only a part of one"),
        (other_bytes, "is damaged: tables/annotation_score"),
        (a_later_version, "does not know .*annotation.9999_later"),
        (an_earlier_version, "another version, .*lacks 1 of this version's migrations"),
        (another_format, "has the format 'plumbline-backup-9'"),
        (a_path_out_of_the_journal, "its manifest cannot be read"),
        (a_wrong_hash, "annotation_score held .* nothing has been changed"),
    ],
)
def test_what_cannot_be_restored_is_refused_in_a_sentence_and_changes_nothing(
    saved, tmp_path, broken, words, monkeypatch
):
    before = state()
    with pytest.raises(CommandError, match=words) as refused:
        restore(broken(saved, tmp_path), "--replace", typed=typed_name(), monkeypatch=monkeypatch)
    assert "\n" not in str(refused.value)
    assert state() == before


def test_secrets_are_named_and_not_saved(study, tmp_path, monkeypatch, settings):
    monkeypatch.setenv("PLUMBLINE_SECRET_KEY", "s3cret-value")
    monkeypatch.setenv("PLUMBLINE_ALLOWED_HOSTS", "rate.example.org")
    monkeypatch.setenv("PLUMBLINE_SOMETHING", "https://user:s3cret-value@example.org")
    monkeypatch.setenv("DATABASE_URL", "postgres://user:s3cret-value@host/name")
    path = tmp_path / "saved.tar"
    out = io.StringIO()
    call_command("backup", str(path), stdout=out)
    with tarfile.open(path) as tar:
        manifest = json.load(tar.extractfile(MANIFEST))
    assert manifest["settings"]["PLUMBLINE_ALLOWED_HOSTS"] == "rate.example.org"
    for name in ("PLUMBLINE_SECRET_KEY", "PLUMBLINE_SOMETHING", "DATABASE_URL"):
        assert manifest["settings"][name] is None and name in out.getvalue()
    assert b"s3cret-value" not in path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    settings.SECRET_KEY = "another key of another server, also long enough"
    said = restore(path, "--replace", typed=typed_name(), monkeypatch=monkeypatch)
    assert "PLUMBLINE_SECRET_KEY is not the one" in said


def test_a_backup_replaces_no_file_and_leaves_no_part_of_one(study, tmp_path, monkeypatch):
    taken = tmp_path / "taken.tar"
    taken.write_text("something else")
    with pytest.raises(CommandError, match="exists already"):
        call_command("backup", str(taken))
    assert taken.read_text() == "something else"

    def full(*_args, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("core.backup.archive.tarfile.TarFile.addfile", full)
    with pytest.raises(CommandError, match="No space left"):
        call_command("backup", str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["taken.tar"]
