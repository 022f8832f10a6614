"""The steps of an upload in the API: upload, recognition, mapping, check, loading as a job, undo, and who may."""

import pytest
from django.urls import reverse

from accounts.api.tokens import issue_token
from annotation.models import MailedInvitation, Rubric, Score, Study
from annotation.tasks import load_table
from annotation.uploads.kept_files import kept_tables
from core.models import RequestedTask
from generation.models import Import, Instruction
from tests.factories import make_checklist_study, make_user, make_workspace

pytestmark = pytest.mark.django_db
TABLE = b"item,rater,points\na1,r1,4\na2,r2,2\n"
MAPPING = {"columns": {"item": "item", "rater": "rater", "points": "criterion_column"}, "kind": "ratings"}


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    settings.DATA_DIR = tmp_path
    return tmp_path / "tables"


def head(user, scopes=("change",)):
    return {"headers": {"Authorization": f"Bearer {issue_token(user=user, name='script', scopes=scopes)[1]}"}}


@pytest.fixture
def lead():
    return make_user("lead", make_workspace(), username="lena")


@pytest.fixture
def ask(client, lead):
    """Send JSON to an address of the upload, as a program with a token."""
    with_token = head(lead)

    def asked(verb, given=None, status=200):
        public_id = next(kept_tables()).public_id
        path = f"/api/v1/uploads/{public_id}/{verb}"
        answer = (
            client.post(path, given or {}, "application/json", **with_token) if verb else client.get(path, **with_token)
        )
        assert answer.status_code == status, answer.content
        return answer.json() if answer.content else None

    return asked


def send(client, content, with_token, name="marks.csv", kind="application/octet-stream", slug=None):
    path = reverse("api:upload_file", args=[slug or make_workspace().slug])
    return client.post(f"{path}?name={name}", content, content_type=kind, **with_token)


def work():
    for task in RequestedTask.objects.filter(task="annotation.load_table"):
        task.delete()
        load_table(*task.arguments)


def test_a_table_is_uploaded_mapped_checked_loaded_and_undone(client, lead, ask):
    made = send(client, TABLE, head(lead))
    assert made.status_code == 201, made.content
    said = made.json()
    assert (said["kind"], said["into"], said["state"]) == ("ratings", "marks", "new")
    assert said["file_columns"] == ["item", "rater", "points"] and said["first_rows"][0] == ["a1", "r1", "4"]
    assert said == ask("")
    mapped = ask("mapping/", {**MAPPING, "into": "by-program", "options": {"scale": "1:5"}})
    assert mapped["columns"] == MAPPING["columns"] and mapped["into"] == "by-program"
    assert ask("check/")["state"] == "checking"
    assert "A worker is reading" in ask("load/", status=400)["detail"]
    work()
    checked = ask("")
    assert (checked["state"], checked["counts"], checked["problem"]) == ("checked", {"created": 2}, "")
    assert not Study.objects.exists()
    assert ask("load/")["state"] == "loading"
    work()
    loaded = ask("")
    found = Import.objects.get()
    assert (loaded["state"], loaded["imported"], found.actor) == ("loaded", found.pk, lead)
    assert Score.objects.count() == 2 and Study.objects.get().slug == "by-program"
    undone = client.post(reverse("api:undo_loading", args=[found.pk]), **head(lead))
    assert undone.status_code == 200 and sum(undone.json()["removed"].values()) > 2
    assert not Score.objects.exists() and not Study.objects.exists()
    again = client.post(reverse("api:undo_loading", args=[found.pk]), **head(lead))
    assert again.status_code == 400


def test_bad_rows_are_told_and_left_out_when_asked(client, lead, ask):
    send(client, TABLE + b"a3,r1,9\n", head(lead))
    ask("mapping/", {**MAPPING, "options": {"scale": "1:5"}})
    ask("check/")
    work()
    told = ask("")
    assert (told["bad"], told["first_bad_rows"][0]["line"]) == (1, 4)
    assert "off the scale" in told["first_bad_rows"][0]["reason"]
    ask("load/")
    work()
    assert ask("")["state"] == "refused" and "marks.csv line 4" in ask("")["problem"] and not Score.objects.exists()
    ask("load/", {"leave_out_bad_rows": True})
    work()
    assert ask("")["state"] == "loaded" and Score.objects.count() == 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"kind": "poems"}, "kind: "),
        ({"columns": {"colour": "item"}}, "no column 'colour'"),
        ({"columns": "item"}, "columns: "),
        ({"separator": "comma"}, "separator: "),
        ({"into": "x" * 200}, "into: "),
    ],
)
def test_a_wrong_mapping_is_said_and_changes_nothing(client, lead, ask, given, said):
    before = send(client, TABLE, head(lead)).json()
    assert said in ask("mapping/", given, 400)["detail"]
    assert ask("") == before


def test_what_the_page_would_refuse_is_refused_in_its_words(client, lead, ask):
    send(client, TABLE, head(lead))
    ask("mapping/", {"columns": {"item": "item"}})
    for verb in ("check/", "load/"):
        assert ask(verb, status=400)["detail"] == "Choose the column of: Rater."
    assert not RequestedTask.objects.exists()


def test_a_file_in_another_encoding_is_read_once_that_is_said(client, lead, ask):
    told = send(client, "编号,prompt\n甲,写诗\n".encode("gb18030"), head(lead), name="a.csv").json()
    assert "not UTF-8" in told["problem"] and told["file_columns"] == []
    assert ask("mapping/", {"encoding": "gb18030"})["file_columns"] == ["编号", "prompt"]


def test_size_name_and_kind_of_body_are_checked_before_anything_is_kept(client, lead, settings, folder):
    with_token = head(lead)
    assert send(client, TABLE, with_token, name="a.pdf").status_code == 400
    assert send(client, TABLE, with_token, name="").status_code == 400
    assert send(client, TABLE, with_token, kind="application/x-www-form-urlencoded").status_code == 400
    settings.UPLOAD_MOST = 10
    assert send(client, TABLE, with_token).status_code == 413
    assert not folder.exists()


def test_a_body_longer_than_a_form_may_be_is_taken(client, lead, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 100
    told = send(client, TABLE + b"a,b,1\n" * 100, head(lead))
    assert told.status_code == 201 and next(kept_tables()).path.stat().st_size == len(TABLE) + 600


def test_a_file_is_removed_but_not_while_a_worker_reads_it(client, lead, ask, folder):
    send(client, TABLE, head(lead))
    ask("mapping/", {**MAPPING, "options": {"scale": "1:5"}})
    ask("check/")
    ask("discard/", status=400)
    work()
    ask("discard/", status=204)
    assert not list(folder.iterdir())


def test_nobody_else_uploads_reads_or_undoes(client, lead, folder):
    """The attack: a token of a reader of this workspace, of a lead of another one, or with another scope."""
    public_id = send(client, TABLE, head(lead)).json()["id"]
    found = Import.objects.create(workspace=make_workspace(), command="load_table", file="a.csv", about="a")
    others = [
        head(make_user("analyst", make_workspace())),
        head(make_user("lead", make_workspace("other"), username="otto")),
        head(lead, ("read", "ratings", "run")),
    ]
    for with_token in others:
        for verb in ("mapping/", "check/", "load/", "discard/"):
            answer = client.post(f"/api/v1/uploads/{public_id}/{verb}", {}, "application/json", **with_token)
            assert answer.status_code in (403, 404)
        assert client.get(f"/api/v1/uploads/{public_id}/", **with_token).status_code in (403, 404)
        assert client.post(f"/api/v1/imports/{found.pk}/undo/", **with_token).status_code in (403, 404)
        assert send(client, TABLE, with_token).status_code in (403, 404)
    found.refresh_from_db()
    assert len(list(folder.iterdir())) == 1 and found.undone_at is None


@pytest.mark.parametrize(
    ("kind", "content", "columns", "options"),
    [
        ("rubrics", b"rubric,question,scale\nessay,Clear?,1:5\nessay,True?,5:x\n", ("rubric", "question", "scale"), {}),
        ("checklists", b"id,question\na1,Clear?\nnowhere,True?\n", ("instruction", "question"), {"scale": "0:10"}),
        ("raters", b"name,email\nAda,ada@example.org\nBo,nobody\n", ("name", "email"), {"cohort": "night"}),
    ],
)
def test_rubrics_checklists_and_raters_are_checked_loaded_and_undone(
    client, lead, ask, kind, content, columns, options
):
    study = make_checklist_study(instructions=1, models=1)
    Instruction.objects.filter(benchmark=study.benchmark).update(external_id="a1")
    into = {"rubrics": "", "checklists": study.benchmark.slug, "raters": study.slug}[kind]
    before = Rubric.objects.count()
    send(client, content, head(lead), name="table.csv")
    names = content.decode().partition("\n")[0].split(",")
    ask("mapping/", {"kind": kind, "columns": dict(zip(names, columns, strict=True)), "into": into, "options": options})
    ask("check/")
    work()
    checked = ask("")
    assert (checked["state"], checked["bad"], checked["counts"]["created"]) == ("checked", 1, 1), checked
    assert [row["line"] for row in checked["first_bad_rows"]] == [3]
    assert Rubric.objects.count() == before and not MailedInvitation.objects.exists()
    if kind == "raters":
        assert checked["first_rows"][0] == ["A…", "a…@e…"]
    ask("load/", {"leave_out_bad_rows": True})
    work()
    assert ask("")["state"] == "loaded"
    assert (Rubric.objects.count() - before, MailedInvitation.objects.count()) == (
        (0, 1) if kind == "raters" else (1, 0)
    )
    undone = client.post(reverse("api:undo_loading", args=[ask("")["imported"]]), **head(lead))
    assert undone.status_code == 200, undone.content
    assert Rubric.objects.count() == before and not MailedInvitation.objects.exists()
