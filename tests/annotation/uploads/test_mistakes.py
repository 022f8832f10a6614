"""Every mistake with an uploaded table is one sentence, with its row, in the language of the reader, and a button for it."""

import gzip
import html
import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from annotation.models import Score
from annotation.tasks import load_table
from annotation.uploads.kept_files import kept_tables
from core.models import RequestedTask
from tests.annotation.uploads.test_table_uploads import INSTRUCTIONS, RATINGS, browser, folder, form_of, lead, uploaded
from tests.factories import make_workspace

pytestmark = pytest.mark.django_db
__all__ = ["browser", "folder", "lead"]
CHINESE = re.compile("[\u4e00-\u9fff]")
SCALE = {"scale": "1:5"}
TWICE = RATINGS + "a0,r0,clear,2\n"
MISTAKES = {
    "wrong column": (RATINGS, "marks.csv", {**SCALE, "column-1": ""}, None),
    "two for one": (RATINGS, "marks.csv", {**SCALE, "column-3": "rater"}, None),
    "no scale": (RATINGS, "marks.csv", {}, 'name="fix" value="scale:1:4"'),
    "off the scale": (RATINGS + "a9,r1,clear,9\n", "marks.csv", SCALE, 'value="load_without"'),
    "a duplicate": (TWICE, "marks.csv", SCALE, 'name="fix" value="duplicates:drop"'),
    "encoding": ("编号,prompt\n甲,写诗\n".encode("gb18030"), "a.csv", None, 'value="encoding:gb18030"'),
    "wide encoding": (INSTRUCTIONS.encode("utf-16"), "a.csv", None, 'value="encoding:utf-16"'),
    "separator": (RATINGS.replace(",", ";"), "a.csv", {"kind": "ratings"}, 'value="separator:semicolon"'),
    "empty": ("", "a.csv", None, None),
    "only a header": ("id,prompt\n", "a.csv", None, None),
    "half a file": (gzip.compress(INSTRUCTIONS.encode(), mtime=0)[:-9], "a.csv.gz", None, None),
    "half a row": ("item,rater,score\na1,r1,2\na2,r", "marks.csv", SCALE, None),
    "an open quote": ('item,rater,score\na1,"r1,2\n', "marks.csv", None, None),
    "no workbook": (b"PK\x03\x04 no workbook", "a.xlsx", None, None),
    "no Parquet": (b"PAR1 no table", "a.parquet", None, None),
    "half of JSON": ('[{"id": "a", "prompt": "b"', "a.json", None, None),
}
IN_A_ROW = {"off the scale": 14, "a duplicate": 14, "half a row": 3, "no scale": 2}


def alerts(page):
    parts = [part.partition("</p>")[0] for part in page.split('role="alert">')[1:]]
    return [html.unescape(re.sub("<[^>]+>", "", part)).strip() for part in parts]


def after(browser, address, sent):
    """The page after a form is sent and the worker has done what it asks for."""
    answer = browser.post(address, sent)
    for task in RequestedTask.objects.filter(task="annotation.load_table"):
        task.delete()
        load_table(*task.arguments)
    return answer if answer.status_code == 422 else browser.get(address)


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_sentence_with_its_row_and_a_button(browser, mistake, language):
    content, name, choices, button = MISTAKES[mistake]
    browser.defaults["HTTP_ACCEPT_LANGUAGE"] = language
    address = uploaded(browser, content, name)
    if choices is None:
        answer = browser.get(address)
    else:
        (upload,) = kept_tables()
        answer = after(browser, address, form_of(upload, do="load", **choices))
    page = answer.content.decode()
    said = alerts(page)
    assert len(said) == 1 and len(said[0]) < 400 and "\n" not in said[0], said
    assert bool(CHINESE.search(said[0].replace("甲", ""))) == (language == "zh-hans"), said
    assert "--" not in said[0] and "manage.py" not in said[0] and "Traceback" not in page
    if mistake in IN_A_ROW:
        assert re.search(rf"\b{IN_A_ROW[mistake]}\b", said[0]), said
    assert button is None or button in page
    assert not Score.objects.exists()


@pytest.mark.parametrize(
    ("content", "choices", "fix", "stored"),
    [
        (RATINGS, {}, "scale:1:4", 12),
        (TWICE, SCALE, "duplicates:drop", 12),
        (TWICE, SCALE, "duplicates:repeat", 13),
        ("item,rater,clear,true\na1,r1,1,10\na2,r1,3,40\n", {}, "scale:clear=1:3; true=10:40", 4),
    ],
)
def test_the_button_does_what_it_says_and_the_table_can_be_loaded(browser, content, choices, fix, stored):
    address = uploaded(browser, content, "marks.csv")
    (upload,) = kept_tables()
    assert f'value="{fix}"' in after(browser, address, form_of(upload, do="check", **choices)).content.decode()
    page = after(browser, address, {"fix": fix}).content.decode()
    assert alerts(page) == [] and 'value="load"' in page and 'name="fix"' not in page
    (upload,) = kept_tables()
    assert (upload.state, upload.bad) == ("checked", 0)
    after(browser, address, form_of(upload, do="load"))
    assert Score.objects.count() == stored


def test_what_was_not_offered_is_not_done(browser):
    address = uploaded(browser, RATINGS, "marks.csv")
    for fix in ("scale:0:100", "benchmark:theirs", "x"):
        assert browser.post(address, {"fix": fix}).status_code == 422
    assert not RequestedTask.objects.exists() and next(kept_tables()).options == {}


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize(("name", "most", "status"), [("a.pdf", 0, 422), ("a.csv", 100, 413)])
def test_a_wrong_kind_of_file_and_a_huge_one_are_refused_at_once(browser, settings, language, name, most, status):
    settings.UPLOAD_MOST = most or settings.UPLOAD_MOST
    sent = {"workspace": make_workspace().pk, "table": SimpleUploadedFile(name, b"x" * 200)}
    answer = browser.post("/imports/table/", sent, headers={"Accept-Language": language})
    assert answer.status_code == status and not list(kept_tables())
    main = answer.content.decode().partition("<main")[2]
    assert bool(CHINESE.search(main)) == (language == "zh-hans")


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_same_file_twice_is_said_with_its_undo(browser, language):
    address = uploaded(browser, INSTRUCTIONS, "tasks.csv")
    (upload,) = kept_tables()
    after(browser, address, form_of(upload, do="load"))
    address = uploaded(browser, INSTRUCTIONS, "tasks.csv")
    page = browser.get(address, headers={"Accept-Language": language}).content.decode()
    (note,) = [part.partition("</p>")[0] for part in page.split('class="note">')[1:]]
    assert "/undo/" in note and "tasks" in note and bool(CHINESE.search(note)) == (language == "zh-hans")
