"""Sentences that are English where they are stored and the reader's own language on a page."""

import ast
import copy
import pickle
import re
from pathlib import Path

import pytest
from django.template import engines
from django.utils import translation

from core.messages.reader_language import for_reader, is_programs_own
from core.messages.sentences import Sentence, Wording, read_back, worded
from generation.llm.protocol import messages as call_messages
from judging.methods import messages as reply_messages
from judging.methods.canaries import CanaryFailed, Sung

ROOT = Path(__file__).resolve().parent.parent.parent
APPS = ("accounts", "generation", "annotation", "calibration", "judging")
CHINESE = re.compile(r"[\u4e00-\u9fff]")
HUNDRED = "Model %(model)s has 100 %% of %(n)s."


def marked():
    """(file, line, first argument) of each sentence that the code marks; None where it is not a literal."""
    for app in APPS:
        for path in sorted((ROOT / app).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
                    continue
                if node.func.id in ("worded", "Wording"):
                    first = node.args[0]
                    yield path.name, node.lineno, first.value if isinstance(first, ast.Constant) else None


MSGIDS = sorted({msgid for _file, _line, msgid in marked() if msgid is not None})


def test_every_marked_sentence_is_a_literal_with_text_in_its_holes():
    """Else it is not extracted, or a stored sentence is not read back."""
    for file, line, msgid in marked():
        assert msgid is not None, (file, line)
        assert not re.search(r"%(?!\(\w+\)s|%)", msgid), (file, line)
        names = re.findall(r"%\((\w+)\)s", msgid)
        assert len(names) == len(set(names)), (file, line)


@pytest.mark.parametrize("msgid", MSGIDS)
def test_every_marked_sentence_has_a_translation_with_the_same_values(msgid):
    with translation.override("zh-hans"):
        said = translation.gettext(msgid)
    assert CHINESE.search(said), msgid
    assert sorted(re.findall(r"%\((\w+)\)s", said)) == sorted(re.findall(r"%\((\w+)\)s", msgid))


def test_a_sentence_is_its_english_text_and_remembers_what_it_was_made_of():
    said = worded(HUNDRED, model="m", n=3)
    assert said == "Model m has 100 % of 3."
    for again in (copy.deepcopy(said), pickle.loads(pickle.dumps(said))):
        assert (again, again.msgid, again.values) == (said, said.msgid, {"model": "m", "n": 3})
    assert type(str(said)) is str


def test_what_is_stored_is_read_back_by_the_wording_with_the_most_letters():
    with_reason = reply_messages.NOT_SERVED_WHY(model="m (old)", words="no reply in 5 seconds")
    found = read_back(str(with_reason))
    assert isinstance(found, Sentence)
    assert found.msgid == reply_messages.NOT_SERVED_WHY.msgid
    assert found.values == {"model": "m (old)", "words": "no reply in 5 seconds"}


@pytest.mark.parametrize("wording", Wording.known.values(), ids=lambda wording: wording.msgid[:40])
def test_every_wording_reads_what_it_wrote(wording):
    fitting = {"entry": "'x'", "how": "mean", "values": "1, a_much", "item": "'a'", "name": "'b'"}
    names = re.findall(r"%\((\w+)\)s", wording.msgid)
    said = wording(**{name: fitting.get(name, "7") for name in names})
    read = wording.read(str(said))
    assert read == said and set(read.values) == set(names)


@pytest.mark.parametrize(
    "words",
    [
        "400: The model has no chat template",
        "The model has no chat template",
        "The best of both worlds.",
        "The majority of claims are supported. It reads well.",
        "Cosine with the reference: high for A, low for B.",
        "",
    ],
)
def test_words_of_others_stay_as_they_are(words):
    with translation.override("zh-hans"):
        assert for_reader(words) == words


def test_a_sentence_inside_a_sentence_is_said_in_the_same_language():
    unread = call_messages.BAD_BODY(what=call_messages.NO_LIST(words="<html>"))
    with translation.override("zh-hans"):
        said = for_reader(ValueError(unread))
        assert said == for_reader(str(unread))
    assert "<html>" in said and not re.search("status|list", said)


def test_several_sentences_in_one_are_told_apart():
    sung = [
        Sung("empty", reply_messages.SCORED_ABOVE(value="1.00", middle="0.50")),
        Sung("order", reply_messages.BEAT(order=reply_messages.B_FIRST())),
    ]
    error = CanaryFailed(sung)
    assert str(error) == (
        "The judge fell for 2 planted text(s) that deserve nothing (empty: it scored 1.00 where the median of the run "
        "is 0.50; order: it beat an ordinary response (B first)). Change the prompt or the model before trusting this run."
    )
    with translation.override("zh-hans"):
        said = for_reader(str(error))
    assert not re.search("[a-z]{3}", said)
    assert "1.00" in said and "0.50" in said


def test_what_stopped_several_models_is_told_one_by_one():
    stored = " ".join(call_messages.NO_ENDPOINT(model=name) for name in ("a", "b"))
    with translation.override("zh-hans"):
        said = for_reader(stored)
        assert said == " ".join(for_reader(call_messages.NO_ENDPOINT(model=name)) for name in ("a", "b"))
    assert "has no endpoint" not in said
    assert is_programs_own(stored) and not is_programs_own(stored + " It was 401: no.")


def test_in_english_nothing_changes():
    for text in ("no reply in 60 seconds", "401: no such key", str(reply_messages.JUDGE_FELL(n=1, which="null: x"))):
        assert for_reader(text) == text


def test_templates_say_it_by_a_filter_and_escape_what_is_not_ours():
    page = engines["django"].from_string("{% load sentences %}{{ message|for_reader }}")
    with translation.override("zh-hans"):
        said = page.render({"message": str(call_messages.NOT_JSON(words="<b>"))})
    assert CHINESE.search(said) and "&lt;b&gt;" in said and "status" not in said


def test_sentences_within_one_another_are_read_a_few_levels_deep():
    nested = "The same in both orders. [A first] " * 300 + "x" + " [B first] y" * 300
    assert for_reader(nested)


def test_a_shape_is_not_tried_where_its_words_are_missing(monkeypatch):
    """The shape alone would look for the second piece from every place of the first."""
    wording = Wording("%(one)s and %(two)s, then %(three)s at last")
    tried = []

    class Shape:
        def fullmatch(self, text):
            tried.append(text)

    monkeypatch.setattr(wording, "_shape", Shape())
    assert wording.read("a and b, " * 1_000) is None
    assert wording.read("at last, then and at last") is None
    assert not tried
    assert wording.read("a and b, then c at last") is None
    assert tried


def test_a_text_cut_on_a_page_is_read_only_to_where_it_is_cut(monkeypatch):
    from django.template import Context, Template
    from django.utils import text as cutting

    seen = []
    normalize = cutting.unicodedata.normalize
    monkeypatch.setattr(
        cutting.unicodedata, "normalize", lambda form, text: (seen.append(len(text)), normalize(form, text))[1]
    )
    shown = Template("{{ text|truncatechars:90 }}").render(Context({"text": "a" + "\u0301\u0323" * 50_000}))
    assert shown and max(seen) <= 900
    assert Template("{{ text|truncatechars:5 }}").render(Context({"text": "<b>abcdef"})) == "&lt;b&gt;a…"
