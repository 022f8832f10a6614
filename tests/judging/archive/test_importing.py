"""An archive with texts, loaded into an empty installation: the same rows, the same figures, or nothing at all."""

import io
import json
import zipfile

import pytest
from django.core.management import call_command
from django.utils import timezone

from accounts.api.tokens import issue_token
from accounts.models import ApiToken, Event, User
from annotation.importing.undo import undo_import
from annotation.models import Assignment, Cohort, Guideline, Rater, Score, Study
from annotation.uploads.study_archives import is_archive
from core.errors import UserError
from generation.models import Benchmark, Endpoint, Import, Instruction
from judging.archive.export import export_study
from judging.archive.importing import import_archive
from judging.archive.recompute import recompute
from judging.demonstration.background import make_demonstration
from judging.models import JudgeRun, PlannedItem, Reply
from judging.runs.worker import work_on
from tests.calibration.answered_studies import answered_study
from tests.factories import make_user, make_workspace

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    settings.DATA_DIR = tmp_path


def exported(study, tmp_path, *, texts=True):
    path = tmp_path / "study.plumbline.zip"
    export_study(study, path, texts=texts)
    return path


def emptied():
    """An installation with a workspace and its lead, and nothing else."""
    call_command("flush", "--no-input", verbosity=0)
    workspace = make_workspace("lab")
    return workspace, make_user("lead", workspace, username="lena")


def bearer(user):
    _token, secret = issue_token(user=user, name="script", scopes=ApiToken.Scope.values)
    return {"Authorization": f"Bearer {secret}"}


def said(client, user, study):
    """What every address of results says of the study, without what is of this installation alone."""
    head, slug, benchmark = bearer(user), study.slug, study.benchmark.slug
    found = {}

    def ask(path, **query):
        answer = client.get(f"/api/v1/{path}", {"size": 1000, **query}, headers=head)
        content = b"".join(answer.streaming_content) if answer.streaming else answer.content
        lines = [json.loads(line) for line in content.decode().splitlines()]
        if path in ("rubrics/", "benchmarks/"):
            lines = [
                one for one in lines[0]["results"] if study.benchmark.slug in (one.get("slug"), one.get("benchmark"))
            ]
            assert lines
        found[path, *query.items()] = (answer.status_code, _without_what_stays(lines))

    of_study = ("", "scores/", "scores/all/", "settings/", "tasks/", "raters/", "exclusions/", "alignments/", "panel/")
    for part in of_study:
        ask(f"w/lab/studies/{slug}/{part}")
    for part in ("instructions/", "responses/"):
        ask(f"w/lab/benchmarks/{benchmark}/{part}")
    for path in ("rubrics/", "benchmarks/", "fits/", "judges/", "runs/"):
        ask(path)
    for fit in found["fits/",][1][0]["results"]:
        ask(f"fits/{fit['id']}/")
    for run in found["runs/",][1][0]["results"]:
        ask(f"runs/{run['id']}/")
        ask(f"runs/{run['id']}/verdicts/", raw="1")
    for judge in found["judges/",][1][0]["results"]:
        ask(f"judges/{judge['id']}/card/")
        ask(f"w/lab/leaderboards/{benchmark}/", judge=judge["name"])
        ask(f"w/lab/leaderboards/{benchmark}/", judge=judge["name"], weights="demo")
        ask(f"w/lab/leaderboards/{benchmark}/lengths/", judge=judge["name"])
        ask(f"w/lab/studies/{slug}/transport/", judge=judge["name"])
    return found


def _without_what_stays(value):
    """Leave out a model's endpoint and provider, which stay behind, and the benchmark of another paper's weights."""
    if isinstance(value, dict):
        left_out = {"provider", "endpoint"} | ({"benchmark"} if value.get("kind") == "published" else set())
        return {name: _without_what_stays(one) for name, one in value.items() if name not in left_out}
    return [_without_what_stays(one) for one in value] if isinstance(value, list) else value


def test_the_demonstration_is_the_same_in_an_empty_installation(client, tmp_path):
    workspace = make_workspace("lab")
    make_demonstration(workspace, lead=make_user("lead", workspace, username="lena"))
    work_on(JudgeRun.objects.get())
    study = Study.objects.get(slug__contains="demo")
    before = said(client, User.objects.get(username="lena"), study)
    counts = {model: model.objects.count() for model in (Score, Assignment, JudgeRun, PlannedItem, Reply, Instruction)}
    texts = list(Instruction.objects.order_by("pk").values_list("messages", flat=True))
    path = exported(study, tmp_path)
    assert recompute(path).same

    workspace, lead = emptied()
    loaded = import_archive(path, workspace, lead)
    assert loaded.rows["annotation.score"] == counts[Score] > 100
    assert {model: model.objects.count() for model in counts} == counts and all(counts.values())
    assert list(Instruction.objects.order_by("pk").values_list("messages", flat=True)) == texts and texts[0]
    again = Study.objects.get(slug=study.slug)
    after = said(client, lead, again)
    assert len(before) > 20 and {status for status, _content in before.values()} <= {200, 400}
    assert after.keys() == before.keys()
    different = {path: (before[path], after[path]) for path in before if before[path] != after[path]}
    assert different == {}
    own = tmp_path / "again"
    own.mkdir()
    stored = recompute(exported(again, own))
    assert stored.same and len(stored.results) > 0


def test_no_person_and_no_secret_comes_along(tmp_path):
    study = answered_study(instructions=3)
    Rater.objects.filter(pk=Rater.objects.first().pk).update(user=make_user("rater", study.workspace, username="rita"))
    cohort = Cohort.objects.create(study=study, name="crowd", codes={"complete": "C0DE"}, consents={"en": "Yes?"})
    Rater.objects.filter(study=study).update(cohort=cohort)
    labels, token = set(Rater.objects.filter(study=study).values_list("label", flat=True)), cohort.entry_token
    path = exported(study, tmp_path)
    with zipfile.ZipFile(path) as archive:
        content = b"".join(archive.read(name) for name in archive.namelist()).decode()
    assert not [secret for secret in ("rita", "C0DE", token) if secret in content]
    workspace, lead = emptied()
    import_archive(path, workspace, lead)
    assert not set(Rater.objects.values_list("label", flat=True)) & labels
    assert set(Rater.objects.values_list("user", flat=True)) == {None}
    assert Cohort.objects.get().entry_token not in (token, f"cohort-{cohort.pk}")


def test_no_name_of_an_account_and_no_address_of_a_model_comes_along(tmp_path):
    workspace = make_workspace("lab")
    make_demonstration(workspace, lead=make_user("lead", workspace, username="lenalead", email="lena@example.org"))
    run = JudgeRun.objects.get()
    work_on(run)
    run.refresh_from_db()
    asked, juror = run.manifest["asked"], run.manifest["asked"]["jurors"][0]
    assert asked["endpoint"] and juror["endpoint"]
    asked["endpoint"] = juror["endpoint"] = "http://10.1.2.3:8000/v1"
    run.message = "10.1.2.3 may not be called, because it is no public address."
    run.save()
    Endpoint.objects.update(base_url="http://10.1.2.3:8000/v1")
    path = exported(Study.objects.get(slug__contains="demo"), tmp_path)
    with zipfile.ZipFile(path) as archive:
        content = b"".join(archive.read(name) for name in archive.namelist()).decode()
    assert not [secret for secret in ("lenalead", "lena@example", "10.1.2.3") if secret in content]
    kept = json.loads(zipfile.ZipFile(path).read("rows/judging.judgerun.jsonl"))["manifest"]
    assert kept["asked"]["served_name"] == asked["served_name"] and kept["data_hash"] == run.manifest["data_hash"]


def test_all_that_the_paper_holds_is_computed_again_and_the_guideline_comes_along(tmp_path):
    """Some reports rest on texts, reasons and the guideline; without texts they are left out, or quote nothing."""
    workspace = make_workspace("lab")
    make_demonstration(workspace, lead=make_user("lead", workspace))
    work_on(JudgeRun.objects.get())
    study = Study.objects.get(slug__contains="demo")
    Guideline.objects.create(workspace=workspace, key="other", texts={"en": "Another study's."})
    call_command("paper", study.slug, str(tmp_path / "paper"), stdout=io.StringIO())
    kinds = {}
    for texts in (False, True):
        path = exported(study, tmp_path, texts=texts)
        done = recompute(path)
        assert done.same, [one for one in done.results if not one.same]
        kinds[texts] = {one.kind for one in done.results}
    assert kinds[True] - kinds[False] == {"methods against people"} and "causes of disagreement" in kinds[False]
    guideline = study.guideline
    assert guideline.texts["en"]
    import_archive(path, *emptied())
    assert list(Guideline.objects.values_list("key", "texts")) == [(guideline.key, guideline.texts)]
    assert Study.objects.get(slug=study.slug).guideline == Guideline.objects.get()
    undo_import(Import.objects.get(), by=None, clock=timezone.now)
    assert not Guideline.objects.exists()


def test_a_check_says_what_would_be_stored_and_stores_nothing(tmp_path):
    path = exported(answered_study(instructions=3), tmp_path)
    workspace, lead = emptied()
    found = import_archive(path, workspace, lead, check=True)
    assert found.rows["annotation.study"] == 1 and found.imported is None
    assert (
        not Study.objects.exists() and not Import.objects.exists() and not Event.objects.filter(verb="loaded").exists()
    )


def test_it_is_undone(tmp_path):
    path = exported(answered_study(instructions=3), tmp_path)
    workspace, lead = emptied()
    loaded = import_archive(path, workspace, lead)
    undo_import(Import.objects.get(pk=loaded.imported), by=lead, clock=timezone.now)
    assert not Study.objects.exists() and not Score.objects.exists() and not Benchmark.objects.exists()
    assert import_archive(path, workspace, lead).rows == loaded.rows


def test_a_study_that_is_there_is_not_loaded_again(tmp_path):
    study = answered_study(instructions=3)
    path, before = exported(study, tmp_path), Score.objects.count()
    with pytest.raises(UserError, match=r"has .* already"):
        import_archive(path, study.workspace, None)
    with pytest.raises(UserError, match="other rows under the numbers"):
        import_archive(path, make_workspace("elsewhere"), None)
    assert Score.objects.count() == before and Study.objects.count() == 1


def rewritten(path, change):
    """The archive with each file's content changed."""
    target = path.with_name("changed.zip")
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(target, "w") as made:
        for name in source.namelist():
            content = change(name, source.read(name))
            if content is not None:
                made.writestr(name, content)
    return target


def lines_changed(table, change):
    def changed(name, content):
        if name != f"rows/{table}.jsonl":
            return content
        lines = [json.loads(line) for line in content.splitlines()]
        return b"".join(json.dumps(line).encode() + b"\n" for line in change(lines))

    return changed


def in_manifest(**values):
    def changed(name, content):
        return json.dumps({**json.loads(content), **values}) if name == "manifest.json" else content

    return changed


def with_value(name, value):
    return lambda rows: [{**rows[0], name: value}, *rows[1:]]


WRONG = {
    "another format": (in_manifest(format="plumbline-study-0"), "another version"),
    "another version": (in_manifest(migrations={}), "another version"),
    "no texts": (in_manifest(texts=False), "was made without texts"),
    "a row too few": (
        lines_changed("annotation.score", lambda rows: rows[:-1]),
        "rows of annotation.score are missing",
    ),
    "no table": (lambda name, content: None if "criterion" in name else content, "is damaged"),
    "a link to nothing": (lines_changed("annotation.score", with_value("assignment_id", 10**9)), "row that is missing"),
    "a text for a number": (lines_changed("annotation.score", with_value("value", "much")), "is damaged"),
    "a number out of range": (lines_changed("annotation.latechange", lambda rows: [{"id": 2**62}]), "no usable number"),
    "a row twice": (
        lines_changed("annotation.score", lambda rows: [rows[1], *rows[1:]]),
        "not in the order of their numbers",
    ),
    "one answer twice": (
        lines_changed("annotation.score", lambda rows: [rows[0] | {"id": 1}, rows[0] | {"id": 2}, *rows[2:]]),
        "database refuses",
    ),
    "no JSON": (lambda name, content: b"{\n" if "task" in name else content, "is damaged"),
}


def test_wrong_files_are_refused_with_a_sentence_and_leave_nothing(tmp_path):
    path = exported(answered_study(instructions=3), tmp_path)
    workspace, lead = emptied()
    for case, (change, words) in WRONG.items():
        with pytest.raises(UserError, match=words) as refused:
            import_archive(rewritten(path, change), workspace, lead)
        assert str(refused.value).endswith(".") and "nothing is stored" in str(refused.value), case
        assert not Benchmark.objects.exists() and not Import.objects.exists() and not Rater.objects.exists(), case


def test_half_of_a_file_and_another_file_are_no_archives(tmp_path):
    path = exported(answered_study(instructions=3), tmp_path)
    half = tmp_path / "half.zip"
    half.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    table = tmp_path / "table.csv"
    table.write_text("a,b\n1,2\n")
    assert is_archive(path) and not is_archive(half) and not is_archive(table)
    with pytest.raises(UserError, match=r"half\.zip is no archive of a study"):
        import_archive(half, make_workspace("elsewhere"), None)


def test_an_archive_writes_into_no_table_that_studies_do_not_have(tmp_path):
    path = exported(answered_study(instructions=3), tmp_path)
    more = rewritten(path, lambda _name, content: content)
    with zipfile.ZipFile(more, "a") as archive:
        archive.writestr("rows/accounts.user.jsonl", json.dumps({"id": 99, "username": "eve", "is_superuser": True}))
    workspace, lead = emptied()
    import_archive(more, workspace, lead)
    assert list(User.objects.values_list("username", flat=True)) == [lead.username]
