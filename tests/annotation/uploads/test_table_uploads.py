"""Uploading a table: who may, what is recognised, what a check says, what is loaded, and that nothing else is left."""

import csv
import gzip
import html
import io
import json
import stat
from dataclasses import replace
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone, translation
from openpyxl import Workbook

from annotation.importing.messages import CORRECT_VALUE, OFF_SCALE, WIDE_SCALE
from annotation.models import Score, Study
from annotation.tasks import load_table, retain
from annotation.uploads.kept_files import kept_tables
from annotation.uploads.remedies import on_page
from core.messages.message import from_value
from core.messages.rendering import render
from core.models import RequestedTask
from generation.models import Benchmark, Import, Instruction, Response
from tests.factories import make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db
ADDRESS = "/imports/table/"
INSTRUCTIONS = "id,prompt,topic\na1,Tell a story.,story\na2,Sum it up.,summary\n"
RATINGS = "item,rater,criterion,score\n" + "".join(
    f"a{item},r{rater},{criterion},{(item + rater) % 5 + 1}\n"
    for item in range(3)
    for rater in range(2)
    for criterion in ("clear", "true")
)


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    settings.DATA_DIR = tmp_path / "data"
    return settings.DATA_DIR / "tables"


@pytest.fixture
def lead():
    return make_user("lead", make_workspace(), username="lena")


@pytest.fixture
def browser(lead):
    browser = Client()
    browser.force_login(lead)
    return browser


def send(browser, content, name):
    content = content.encode() if isinstance(content, str) else content
    sent = {"workspace": make_workspace().pk, "table": SimpleUploadedFile(name, content)}
    return browser.post(ADDRESS, sent)


def uploaded(browser, content, name):
    answer = send(browser, content, name)
    assert answer.status_code == 302, markup(answer)
    return answer["Location"]


def the_upload():
    (upload,) = kept_tables()
    return upload


def form_of(upload, **more):
    """What the page's form sends without a change."""
    from annotation.uploads.reading import preview

    first = preview(upload).first
    columns = first.columns if first else []
    sent = {f"column-{place}": upload.columns.get(name, "") for place, name in enumerate(columns)}
    return {"kind": upload.kind, "into": upload.into, **sent, **upload.options, **more}


def do(browser, address, what, **more):
    answer = browser.post(address, form_of(the_upload(), do=what, **more))
    assert answer.status_code == 302, markup(answer)
    for task in RequestedTask.objects.filter(task="annotation.load_table"):
        task.delete()
        load_table(*task.arguments)
    return markup(browser.get(address))


def test_a_table_is_recognised_checked_loaded_and_undone(browser, folder, lead):
    address = uploaded(browser, INSTRUCTIONS, "Old tasks.csv")
    page = markup(browser.get(address))
    assert "Tell a story." in page and "Instructions" in page
    upload = the_upload()
    assert (upload.kind, upload.into) == ("instructions", "old-tasks")
    assert upload.columns == {"id": "instruction", "prompt": "prompt", "topic": "category"}
    assert stat.S_IMODE(upload.path.stat().st_mode) == 0o600
    checked = do(browser, address, "check")
    assert "Nothing has been stored yet." in checked and 'value="load"' in checked
    assert the_upload().counts == {"created": 2}
    assert not Instruction.objects.exists() and not Import.objects.exists()
    loaded = do(browser, address, "load")
    found = Import.objects.get()
    assert (found.command, found.actor, found.about) == ("load_instructions", lead, "old-tasks")
    assert sorted(Instruction.objects.values_list("external_id", flat=True)) == ["a1", "a2"]
    assert reverse("annotation:undo_import", args=[found.pk]) in loaded
    assert not upload.path.exists()
    assert browser.post(reverse("annotation:undo_import", args=[found.pk])).status_code == 302
    assert not Instruction.objects.exists()
    assert not (folder.parent / "reports").exists()


@pytest.mark.parametrize(
    ("slugs", "names", "into"),
    [
        (["essays"], "a1 a2", "essays"),
        (["essays"], "a1 a3", "answers"),
        (["essays", "others"], "a1 a2", "answers"),
        (["essays", "answers"], "a1 a2", "answers"),
        ([], "a1 a2", "answers"),
    ],
)
def test_responses_go_where_their_instructions_are(browser, slugs, names, into):
    """Into the only benchmark that has all of the first rows, unless one has the file's name."""
    for slug in slugs:
        benchmark = Benchmark.objects.create(workspace=make_workspace(), slug=slug)
        for name in ("a1", "a2"):
            Instruction.objects.create(benchmark=benchmark, external_id=name)
    foreign = Benchmark.objects.create(workspace=make_workspace("elsewhere"), slug="theirs")
    Instruction.objects.create(benchmark=foreign, external_id="a3")
    rows = "".join(f"{name},alder,Yes.\n" for name in names.split())
    uploaded(browser, f"instruction,model,response\n{rows}", "Answers.csv")
    assert (the_upload().kind, the_upload().into) == ("responses", into)


def test_while_a_worker_reads_it_the_page_asks_again_and_takes_no_change(browser):
    address = uploaded(browser, INSTRUCTIONS, "tasks.csv")
    assert browser.post(address, form_of(the_upload(), do="load")).status_code == 302
    assert RequestedTask.objects.get().task == "annotation.load_table"
    page = markup(browser.get(address))
    assert 'hx-trigger="every 2s"' in page and "<select" not in page
    assert "HX-Refresh" not in browser.get(address + "state/")
    assert browser.post(address, {"do": "load"}).status_code == 422
    load_table(*RequestedTask.objects.get().arguments)
    load_table(*RequestedTask.objects.get().arguments)
    assert browser.get(address + "state/")["HX-Refresh"] == "true"
    assert Import.objects.count() == 1


@pytest.mark.parametrize("name", ["r.csv", "r.tsv", "r.jsonl", "r.json", "r.csv.gz", "r.xlsx", "r.parquet"])
def test_every_format_gives_the_same_ratings(browser, name):
    rows = list(csv.DictReader(io.StringIO(RATINGS)))
    address = uploaded(browser, written(rows, name), name)
    do(browser, address, "load", into="marks", scale="1:5", overall="true")
    study = Study.objects.get(slug="marks")
    assert Score.objects.filter(assignment__task__study=study).count() == len(rows)
    assert study.kind == "checklist"


def written(rows, name):
    import pyarrow
    from pyarrow import parquet

    packed = io.BytesIO()
    match name.removeprefix("r."):
        case "tsv":
            return RATINGS.replace(",", "\t")
        case "jsonl":
            return "\n".join(map(json.dumps, rows))
        case "json":
            return json.dumps(rows)
        case "csv.gz":
            return gzip.compress(RATINGS.encode(), mtime=0)
        case "xlsx":
            book = Workbook()
            for row in [list(rows[0]), *(list(row.values()) for row in rows)]:
                book.active.append(row)
            book.save(packed)
            return packed.getvalue()
        case "parquet":
            parquet.write_table(pyarrow.Table.from_pylist(rows), packed)
            return packed.getvalue()
    return RATINGS


def loaded(browser, content, name, **more):
    """Upload a table and load it; the page after it."""
    address = uploaded(browser, content, name)
    (upload,) = [one for one in kept_tables() if one.public_id in address]
    answer = browser.post(address, form_of(upload, do="load", **more))
    assert answer.status_code == 302, markup(answer)
    (task,) = RequestedTask.objects.filter(task="annotation.load_table")
    task.delete()
    load_table(*task.arguments)
    assert [one.problem for one in kept_tables() if one.public_id in address] == [""]
    return markup(browser.get(address))


def test_responses_preferences_correct_answers_and_checks(browser):
    assert "has been loaded" in loaded(browser, INSTRUCTIONS, "tasks.csv", into="tasks")
    assert "has been loaded" in loaded(browser, "id,output\na1,Once.\na2,Short.\n", "a.csv", into="tasks", model="m1")
    assert list(Response.objects.values_list("model__name", "text").order_by("pk")) == [
        ("m1", "Once."),
        ("m1", "Short."),
    ]
    pairs = "item,model_a,model_b,rater,winner\na1,m1,m2,r1,1\na2,m1,m2,r1,0\n"
    assert "has been loaded" in loaded(browser, pairs, "pairs.csv", labels="1=A, 0=tie")
    assert Study.objects.get(slug="pairs").kind == "pair" and Score.objects.count() == 2
    marks = "item,rater,answer\na1,r1,yes\na2,r1,no\n"
    assert "has been loaded" in loaded(browser, marks, "marks.csv")
    assert "has been loaded" in loaded(browser, "item,truth\na1,yes\n", "truth.csv", into="marks")
    assert Score.objects.filter(assignment__rater__kind="key").count() == 1
    checks = "id,question,numbers,mark\na1,Is it short?,1-3,Week\n"
    assert "has been loaded" in loaded(browser, checks, "checks.csv", into="tasks")
    assert sorted(Import.objects.values_list("command", flat=True)) == [
        "load_checks",
        "load_instructions",
        "load_responses",
        "load_table",
        "load_table",
        "load_table",
    ]


def test_responses_without_a_model_are_refused_with_what_to_do(browser):
    address = uploaded(browser, "id,output\na1,Once.\n", "a.csv")
    assert "Name the model" in markup(browser.post(address, form_of(the_upload(), do="load")))


def test_bad_rows_are_listed_with_reasons_as_a_file_and_left_out_by_a_button(browser):
    address = uploaded(browser, RATINGS + "a9,r1,clear,9\n=a9,r1,true,x\n", "marks.csv")
    page = do(browser, address, "check", scale="1:5")
    assert "2 rows are bad." in page and "Leave out the bad rows and load" in page
    listed = browser.get(address + "bad-rows.csv")
    assert listed["Content-Disposition"] == 'attachment; filename="bad_rows.csv"'
    rows = list(csv.reader(io.StringIO(listed.content.decode())))
    assert rows[0] == ["file", "line", "reason", "remedy"]
    assert [row[1] for row in rows[1:]] == ["14", "15"]
    chinese = browser.get(address + "bad-rows.csv", headers={"Accept-Language": "zh-hans"}).content.decode()
    assert render(OFF_SCALE(value="'9'", criterion="clear", scale="1 to 5"), "zh-hans") in chinese.splitlines()[1]
    assert "--off-scale" not in rows[1][3] and "--off-scale" not in chinese
    refused = do(browser, address, "load", scale="1:5")
    assert "marks.csv line 14" in refused and "--" not in refused.partition('role="alert"')[2].partition("</p>")[0]
    assert not Score.objects.exists()
    loaded = do(browser, address, "load_without", scale="1:5")
    assert "The file has been loaded." in loaded and Score.objects.count() == 12


def test_a_scale_that_is_wider_than_the_values_is_remarked_on_the_page(browser):
    many = "item,rater,criterion,score\n" + "".join(f"a{n},r1,clear,{n % 3 + 1}\n" for n in range(60))
    address = uploaded(browser, many, "marks.csv")
    page = do(browser, address, "check", scale="0:10")
    assert "The scale of clear is 0 to 10, but its values are 1 to 3" in page
    assert "--scale" not in page and from_value(the_upload().remarks[0]).code == WIDE_SCALE.code
    assert "but its values are" not in do(browser, address, "check", scale="1:3")


def test_a_refusal_is_in_the_language_of_the_reader_with_the_remedy_of_the_page(browser):
    address = uploaded(browser, RATINGS + "a9,r1,clear,9\n", "marks.csv")
    do(browser, address, "load", scale="1:5")
    kept = from_value(the_upload().problem)
    assert kept == "marks.csv line 14: '9' is off the scale of clear, 1 to 5; " + CORRECT_VALUE() + "."
    assert kept.params["reason"].code == OFF_SCALE.code and the_upload().problem["text"] == kept
    chinese = html.unescape(browser.get(address, headers={"Accept-Language": "zh-hans"}).content.decode())
    assert render(kept.params["reason"], "zh-hans") in chinese and "--off-scale" not in chinese
    with translation.override("zh-hans"):
        assert on_page(kept) in chinese


def test_numbers_without_a_scale_are_told_where_to_state_it(browser):
    page = do(browser, uploaded(browser, RATINGS, "marks.csv"), "load")
    assert "state it under Scale below" in page and "--scale" not in page


@pytest.mark.parametrize(
    ("content", "name", "said", "button"),
    [
        ("编号,prompt\n甲,写一首诗\n".encode("gb18030"), "a.csv", "not UTF-8", "Read as GB 18030 (GBK)"),
        ("id,prompt\na,b\n".encode("utf-16"), "a.csv", "UTF-16", "Read as UTF-16"),
        ("id;prompt\na;Tell.\n", "a.csv", None, "Read as separated by semicolons"),
        ("", "a.csv", "the file is empty", None),
        ("id,prompt\n", "a.csv", "no rows below its header", None),
        ("id,id\n1,2\n", "a.csv", "two columns named", None),
        (gzip.compress(INSTRUCTIONS.encode(), mtime=0)[:-9], "a.csv.gz", "ends early", None),
        (b"PK\x03\x04 no workbook", "a.xlsx", "not a workbook", None),
        (b"PAR1 no table", "a.parquet", "Parquet", None),
        ('[{"id": "a", "prompt": "b"', "a.json", "a.json", None),
    ],
)
def test_a_mistake_is_one_sentence_with_a_button_where_there_is_one(browser, content, name, said, button):
    address = uploaded(browser, content, name)
    page = markup(browser.get(address))
    if said is not None:
        (alert,) = [part.partition("</p>")[0] for part in page.split('role="alert">')[1:]]
        assert said in alert and "Traceback" not in page
    if button is None:
        assert "Read as" not in page
        return
    assert button in page
    way = page.partition('name="read_as" value="')[2].partition('"')[0]
    assert browser.post(address, {"read_as": way}).status_code == 302
    page = markup(browser.get(address))
    assert 'role="alert"' not in page and 'name="column-1"' in page
    do(
        browser,
        address,
        "load",
        into="tasks",
        **{"column-0": "instruction", "column-1": "prompt", "kind": "instructions"},
    )
    assert Instruction.objects.count() == 1


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"column-1": ""}, "Choose the column of: Rater."),
        ({"column-1": "item"}, "Choose the column of: Rater."),
        ({"column-2": "item"}, "Two columns are chosen for Name of the item."),
        ({"column-3": ""}, "Choose either one column of answers"),
        ({"into": "two words"}, "short name"),
        ({"into": "--settings"}, "short name"),
        ({"scale": "many"}, "is not a scale"),
        ({"duplicates": "burn"}, "repeated answers"),
        ({"kind": "truth", "column-3": "value"}, "There is no study"),
        ({"encoding": "rot13"}, "Choose one of the ways"),
    ],
)
def test_a_wrong_choice_is_said_before_a_worker_is_asked(browser, changed, said):
    address = uploaded(browser, RATINGS, "marks.csv")
    answer = browser.post(address, form_of(the_upload(), do="load", **changed))
    if changed.get("kind"):
        answer = browser.post(address, form_of(the_upload(), do="load", **{"column-3": "value"}))
    assert answer.status_code == 422 and said in markup(answer)
    assert not RequestedTask.objects.exists()


def test_the_same_file_again_is_known(browser):
    loaded(browser, INSTRUCTIONS, "tasks.csv")
    address = uploaded(browser, INSTRUCTIONS, "tasks.csv")
    assert "The same file was loaded on" in markup(browser.get(address))


@pytest.mark.parametrize(("name", "status"), [("a.pdf", 422), ("a", 422), ("../../etc/a.csv", 302)])
def test_the_name_of_a_file_is_checked(browser, folder, name, status):
    assert send(browser, INSTRUCTIONS, name).status_code == status
    assert [path.name for path in folder.glob("*/file/*")] == (["a.csv"] if status == 302 else [])


def test_a_file_above_the_limit_is_refused(browser, settings, folder):
    settings.UPLOAD_MOST = 100
    assert send(browser, "x" * 200, "a.csv").status_code == 413
    assert not folder.exists()


def test_what_is_not_loaded_within_a_day_is_removed(browser, folder):
    uploaded(browser, INSTRUCTIONS, "tasks.csv")
    retain()
    upload = the_upload()
    replace(upload, asked_at=(timezone.now() - timedelta(hours=25)).isoformat()).save()
    retain()
    assert not list(folder.iterdir())


def test_a_file_can_be_removed(browser, folder):
    address = uploaded(browser, INSTRUCTIONS, "tasks.csv")
    assert browser.post(address, {"do": "discard"})["Location"] == "/imports/"
    assert not list(folder.iterdir()) and browser.get(address).status_code == 404


@pytest.mark.parametrize("role", ["rater", "reviewer", "analyst"])
def test_nobody_else_uploads_or_sees_an_upload(browser, role):
    """The attack: read or load the file of another workspace by its address."""
    address = uploaded(browser, INSTRUCTIONS, "tasks.csv")
    others = [make_user(role, make_workspace()), make_user("lead", make_workspace("other"), username="otto")]
    for user in others:
        client = Client()
        client.force_login(user)
        for path in (address, address + "state/", address + "bad-rows.csv"):
            assert client.get(path).status_code in (403, 404)
        assert client.post(address, {"do": "load"}).status_code in (403, 404)
    client = Client()
    client.force_login(others[0])
    assert send(client, INSTRUCTIONS, "a.csv").status_code in (400, 403, 404)
    client.force_login(others[1])
    assert send(client, INSTRUCTIONS, "a.csv").status_code == 422
    assert Client().get(address)["Location"].startswith("/sign-in/")
    assert the_upload().state == "new"


def test_a_form_of_another_site_changes_nothing(browser, lead):
    address = uploaded(browser, INSTRUCTIONS, "tasks.csv")
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(lead)
    assert send(strict, INSTRUCTIONS, "a.csv").status_code == 403
    assert strict.post(address, {"do": "load"}).status_code == 403
    assert the_upload().state == "new"
