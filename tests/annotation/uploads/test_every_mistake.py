"""Every mistake with every kind of table, through the page: one sentence with the row in the reader's language, the remedy
as a button where the program can, and nothing stored."""

import gzip
import html
import re
from dataclasses import dataclass, field

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils.translation import override

from annotation.models import MailedInvitation, Rubric, Score, Study, Task
from annotation.tasks import load_table
from annotation.uploads.kept_files import TableUpload, kept_tables
from annotation.uploads.kinds import KINDS
from core.models import RequestedTask
from generation.models import Benchmark, Import, Instruction, Response
from tests.annotation.uploads.test_table_uploads import browser, folder, form_of, lead, uploaded
from tests.factories import make_checklist_study, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db
__all__ = ["browser", "folder", "lead"]
CHINESE = re.compile("[\u4e00-\u9fff]")
LANGUAGES = ["en", "zh-hans"]


@dataclass(frozen=True)
class Sample:
    """A sound table of a kind. `columns` say what each holds, `into` and `options` what is chosen beside.

    `needed` is the column that must be chosen; `off` is a row with an answer or a scale that is none, or the options that
    are so; `twice` a row that says what one above said already.
    """

    header: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    into: str
    needed: int
    off: str | dict = ""
    twice: str = ""
    options: dict = field(default_factory=dict)

    @property
    def content(self):
        return "\n".join([self.header, *self.rows, ""])


SAMPLES = {
    "instructions": Sample(
        "id,prompt,topic",
        ("b1,Tell a story.,story", "b2,Sum it up.,summary"),
        ("instruction", "prompt", "category"),
        "fresh",
        0,
        off={"scale": "many"},
        twice="b1,Tell it again.,story",
    ),
    "responses": Sample(
        "id,output,system",
        ("a1,Once.,m1", "a2,Short.,m1"),
        ("instruction", "response", "model"),
        "tasks",
        1,
        twice="a1,Twice.,m1",
    ),
    "ratings": Sample(
        "item,rater,score,comment",
        ("a1,r1,4,well", "a2,r1,2,poor"),
        ("item", "rater", "value", "reason"),
        "fresh",
        1,
        off="a3,r1,9,off",
        twice="a1,r1,3,again",
        options={"scale": "1:5"},
    ),
    "preferences": Sample(
        "item,model_a,model_b,rater,winner",
        ("a1,m1,m2,r1,A", "a2,m1,m2,r1,B"),
        ("item", "model_a", "model_b", "rater", "choice"),
        "fresh",
        4,
        off="a3,m1,m2,r1,maybe",
        twice="a1,m1,m2,r1,B",
    ),
    "truth": Sample("item,truth", ("a1,4", "a2,2"), ("item", "value"), "marks", 1, off="a1,9", twice="a1,3"),
    "gold": Sample(
        "id,system,criterion,expected",
        ("{0},{m},overall,7", "{1},{m},overall,5"),
        ("instruction", "model", "criterion", "value"),
        "{study}",
        3,
        off="{0},{m},item0,99",
        twice="{0},{m},overall,6",
    ),
    "checks": Sample(
        "id,question,numbers,mark",
        ("a1,Is it short?,1-3,Week", "a2,Is it long?,,"),
        ("instruction", "question", "numbers", "mark"),
        "tasks",
        1,
        off="a2,Is it?,third,Week",
        twice="a2,Is it long?,,",
    ),
    "checklists": Sample(
        "id,question",
        ("a1,Is it short?", "a2,Is it long?"),
        ("instruction", "question"),
        "tasks",
        1,
        off={"scale": "many"},
        twice="a1,Is it short?",
    ),
    "rubrics": Sample(
        "rubric,criterion,question,scale",
        ("essay,clear,Is it clear?,1:5", "essay,true,Is it true?,yes_no"),
        ("rubric", "criterion", "question", "scale"),
        "",
        2,
        off="essay,new,Is it new?,5:x",
        twice="essay,true,Is it true?,yes_no",
    ),
    "raters": Sample(
        "name,email",
        ("Ada Lovelace,ada@example.org", "Bo Li,bo@example.org"),
        ("name", "email"),
        "{study}",
        1,
        twice="Ada,ADA@example.org",
    ),
}


@pytest.fixture
def names(lead):
    """What the tables are about: a benchmark with two instructions, a study of ratings, and one with tasks."""
    workspace = make_workspace()
    benchmark = Benchmark.objects.create(workspace=workspace, slug="tasks")
    for name in ("a1", "a2"):
        Instruction.objects.create(benchmark=benchmark, external_id=name, messages=[])
    study = make_checklist_study(instructions=2, models=1, workspace=workspace)
    first, second = study.tasks.order_by("pk")
    return {
        "study": study.slug,
        "0": first.response_a.instruction.external_id,
        "1": second.response_a.instruction.external_id,
        "m": first.response_a.model.name,
    }


def filled(text, names):
    for name, value in names.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def work():
    for task in RequestedTask.objects.filter(task="annotation.load_table"):
        task.delete()
        load_table(*task.arguments)


def ready(browser, kind, names):
    """Load what must be there before a table of this kind."""
    if kind == "truth":
        send(browser, "ratings", names, content=SAMPLES["ratings"].content, into="marks")


def upload_of(address):
    (found,) = [one for one in kept_tables() if one.public_id in address]
    return found


def choices(kind, names, upload, **changed):
    """The form with what must be said of the sample."""
    sample = SAMPLES[kind]
    columns = {f"column-{place}": held for place, held in enumerate(sample.columns)}
    sent = {**form_of(upload), "kind": kind, "into": filled(sample.into, names), **columns, **sample.options}
    return sent | {"do": "load"} | changed


def send(browser, kind, names, *, content, name="table.csv", **changed):
    """Upload the content and load it as the sample's columns say; the page and the status of the form."""
    address = uploaded(browser, filled(content, names) if isinstance(content, str) else content, name)
    browser.post(address, choices(kind, names, upload_of(address), do="update"))
    answer = browser.post(address, choices(kind, names, upload_of(address), **changed))
    work()
    return (answer if answer.status_code == 422 else browser.get(address)), address


def alerts(answer):
    page = answer.content.decode()
    assert "Traceback" not in page
    parts = [part.partition("</p>")[0] for part in page.split('role="alert">')[1:]]
    return [html.unescape(re.sub("<[^>]+>", "", part)).strip() for part in parts]


def stored():
    """How many rows there are of what tables are loaded into."""
    gold = Task.objects.exclude(gold=None).count()
    rows = (Instruction, Response, Score, Rubric, MailedInvitation, Study, Benchmark, Import)
    return [model.objects.count() for model in rows] + [gold]


def check_sentence(answer, language, *, row=None):
    said = alerts(answer)
    assert len(said) == 1, said
    (sentence,) = said
    assert "\n" not in sentence and len(sentence) < 400
    plain = re.sub("'[^']*'|写一首诗", "", sentence)
    assert bool(CHINESE.search(plain)) == (language == "zh-hans"), sentence
    assert not re.search(r"--[a-z]|manage\.py|\bNone\b|Error\b", sentence), sentence
    if language == "zh-hans":  # no half of it is left in English
        left = re.sub(
            r"[\w.-]+\.(csv|gz|xlsx|parquet|jsonl?|zip|rar)|[a-z]\w*[_:]\w*|UTF-?\d*|GBK|CSV|JSON|Parquet|gzip",
            "",
            plain,
        )
        assert not re.search(r"[A-Za-z]+ [a-z]+ [a-z]+", left), sentence
    if row is not None:
        assert re.search(rf"\b{row}\b", sentence), sentence
    return sentence


every_kind = pytest.mark.parametrize("kind", SAMPLES)
every_language = pytest.mark.parametrize("language", LANGUAGES)


def test_every_kind_has_a_sample():
    assert set(SAMPLES) == set(KINDS)


@every_kind
def test_the_sound_table_is_loaded(browser, names, kind):
    ready(browser, kind, names)
    before = stored()
    answer, address = send(browser, kind, names, content=SAMPLES[kind].content)
    assert alerts(answer) == [], alerts(answer)
    assert upload_of(address).state == "loaded" and stored() != before
    undo = f"/imports/{upload_of(address).imported}/undo/"
    assert undo in markup(answer)
    assert browser.post(undo).status_code == 302
    assert stored()[:-2] + stored()[-1:] == before[:-2] + before[-1:]


@every_language
@every_kind
def test_a_needed_column_that_is_not_chosen(browser, names, kind, language):
    sample = SAMPLES[kind]
    browser.defaults["HTTP_ACCEPT_LANGUAGE"] = language
    ready(browser, kind, names)
    before = stored()
    without = {f"column-{sample.needed}": ""}
    if kind == "raters":  # who may be named by either column
        without = {"column-0": "", "column-1": ""}
    if kind == "rubrics":
        without = {"column-1": "", "column-2": ""}
    answer, _address = send(browser, kind, names, content=sample.content, **without)
    sentence = check_sentence(answer, language)
    with override(language):
        needed = [KINDS[kind].field(name) for name in sample.columns]
        assert any(str(one.label) in sentence for one in needed if one) or kind == "ratings"
    assert stored() == before


@every_language
@pytest.mark.parametrize("kind", [kind for kind, sample in SAMPLES.items() if sample.off])
def test_an_answer_or_a_scale_that_is_none(browser, names, kind, language):
    sample = SAMPLES[kind]
    browser.defaults["HTTP_ACCEPT_LANGUAGE"] = language
    ready(browser, kind, names)
    before = stored()
    if isinstance(sample.off, dict):
        answer, _address = send(browser, kind, names, content=sample.content, **sample.off)
        check_sentence(answer, language)
    else:
        answer, _address = send(browser, kind, names, content=f"{sample.content}{sample.off}\n")
        check_sentence(answer, language, row=4)
        assert 'value="load_without"' in answer.content.decode()
    assert stored() == before


@every_language
@pytest.mark.parametrize("kind", [kind for kind, sample in SAMPLES.items() if sample.twice])
def test_a_row_that_is_there_twice(browser, names, kind, language):
    sample = SAMPLES[kind]
    browser.defaults["HTTP_ACCEPT_LANGUAGE"] = language
    ready(browser, kind, names)
    before = stored()
    answer, address = send(browser, kind, names, content=f"{sample.content}{sample.twice}\n")
    check_sentence(answer, language, row=4)
    page = answer.content.decode()
    assert stored() == before
    if kind == "ratings":
        assert 'value="duplicates:drop"' in page
        return
    assert 'value="load_without"' in page
    browser.post(address, choices(kind, names, upload_of(address), do="load_without"))
    work()
    assert upload_of(address).state == "loaded" and upload_of(address).bad == 1


@every_language
@every_kind
def test_another_encoding_is_read_by_a_button(browser, names, kind, language):
    sample = SAMPLES[kind]
    browser.defaults["HTTP_ACCEPT_LANGUAGE"] = language
    ready(browser, kind, names)
    text = filled(f"备注,{sample.header}\n" + "".join(f"写一首诗,{row}\n" for row in sample.rows), names)
    address = uploaded(browser, text.encode("gb18030"), "table.csv")
    answer = browser.get(address)
    check_sentence(answer, language)
    assert 'value="encoding:gb18030"' in answer.content.decode()
    assert browser.post(address, {"read_as": "encoding:gb18030"}).status_code == 302
    columns = {f"column-{place}": held for place, held in enumerate(("", *sample.columns))}
    browser.post(address, choices(kind, names, upload_of(address), encoding="gb18030", **columns))
    work()
    assert upload_of(address).state == "loaded", upload_of(address).problem
    assert Import.objects.filter(sha256=upload_of(address).sha256, file="table.csv").count() == 1


@every_language
@every_kind
def test_another_separator_is_read_by_a_button(browser, names, kind, language):
    sample = SAMPLES[kind]
    browser.defaults["HTTP_ACCEPT_LANGUAGE"] = language
    ready(browser, kind, names)
    address = uploaded(browser, filled(sample.content, names).replace(",", ";"), "table.csv")
    assert 'value="separator:semicolon"' in browser.get(address).content.decode()
    assert browser.post(address, {"read_as": "separator:semicolon"}).status_code == 302
    browser.post(address, choices(kind, names, upload_of(address), separator="semicolon"))
    work()
    assert upload_of(address).state == "loaded", upload_of(address).problem


@every_language
@pytest.mark.parametrize("kind", ["instructions", "rubrics", "raters"])
@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("table.csv", lambda text: b""),
        ("table.csv", lambda text: text.partition("\n")[0].encode()),
        ("table.csv.gz", lambda text: gzip.compress(text.encode(), mtime=0)[:-9]),
        ("table.csv.gz", lambda text: text.encode()),
        ("table.xlsx", lambda text: text.encode()),
        ("table.parquet", lambda text: text.encode()),
        ("table.json", lambda text: b'[{"id": "a", "prompt": "b"'),
        ("table.csv", lambda text: b'"' + text.encode()),
    ],
    ids=["empty", "only a header", "half a file", "no gzip", "no workbook", "no Parquet", "half of JSON", "open quote"],
)
def test_a_file_that_cannot_be_read(browser, names, kind, name, spoil, language):
    browser.defaults["HTTP_ACCEPT_LANGUAGE"] = language
    before = stored()
    address = uploaded(browser, spoil(SAMPLES[kind].content), name)
    check_sentence(browser.get(address), language)
    assert 'value="discard"' in browser.get(address).content.decode()
    assert browser.post(address, {"do": "load", "kind": kind}).status_code == 422
    assert stored() == before and not RequestedTask.objects.exists()


@every_language
@every_kind
def test_a_row_cut_short(browser, names, kind, language):
    sample = SAMPLES[kind]
    browser.defaults["HTTP_ACCEPT_LANGUAGE"] = language
    ready(browser, kind, names)
    before = stored()
    answer, _address = send(browser, kind, names, content=f"{sample.content}half")
    check_sentence(answer, language, row=4)
    assert stored() == before and 'value="load_without"' in answer.content.decode()


@every_language
@pytest.mark.parametrize(("name", "most", "status"), [("a.pdf", 0, 422), ("a.zip", 0, 422), ("a.csv", 100, 413)])
def test_a_wrong_type_and_a_huge_file(browser, names, settings, language, name, most, status):
    settings.UPLOAD_MOST = most or settings.UPLOAD_MOST
    sent = {"workspace": make_workspace().pk, "table": SimpleUploadedFile(name, b"x" * 200)}
    answer = browser.post("/imports/table/", sent, headers={"Accept-Language": language})
    assert answer.status_code == status and not list(kept_tables())
    assert bool(CHINESE.search(answer.content.decode().partition("<main")[2])) == (language == "zh-hans")


@every_language
@every_kind
def test_the_same_file_again_is_said_with_its_undo(browser, names, kind, language):
    ready(browser, kind, names)
    _answer, address = send(browser, kind, names, content=SAMPLES[kind].content)
    assert upload_of(address).state == "loaded"
    again = uploaded(browser, filled(SAMPLES[kind].content, names), "table.csv")
    page = browser.get(again, headers={"Accept-Language": language}).content.decode()
    (note,) = [
        part.partition("</p>")[0] for part in page.split('class="note">')[1:] if "/undo/" in part.partition("</p>")[0]
    ]
    assert f"/imports/{upload_of(address).imported}/undo/" in note
    assert bool(CHINESE.search(note)) == (language == "zh-hans")
    assert isinstance(upload_of(again), TableUpload)
