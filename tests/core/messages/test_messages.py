"""Messages of the program: a code with parameters, English where they are logged, the reader's language on a page."""

import ast
import copy
import json
import pickle
import re
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.template import engines
from django.utils import translation

from core.messages.message import Message, Untranslated, Wording, from_json, sentences, stored, stored_text, to_json
from core.messages.rendering import for_reader, render
from generation.llm.protocol import messages as call_messages
from judging.methods import messages as reply_messages
from judging.methods.canaries import CanaryFailed, Sung

ROOT = Path(__file__).resolve().parents[3]
APPS = ("core", "accounts", "generation", "annotation", "calibration", "judging")
CHINESE = re.compile(r"[\u4e00-\u9fff]")
HUNDRED = Wording("test.hundred", "Model %(model)s has 100 %% of %(n)s.")


def wordings():
    """(file, line, code and text) of each wording in the code; None for what is not a literal."""
    for app in APPS:
        for path in sorted((ROOT / app).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
                    continue
                if node.func.id in ("Wording", "Untranslated"):
                    texts = [one.value if isinstance(one, ast.Constant) else None for one in node.args]
                    yield path.name, node.lineno, node.func.id, *texts


MSGIDS = sorted({msgid for _file, _line, kind, _code, msgid in wordings() if kind == "Wording" and msgid is not None})


def test_every_wording_is_a_literal_with_a_code_of_its_own():
    """Else it is not extracted for translation, or rows name the wrong one."""
    codes = set()
    for file, line, _kind, code, msgid in wordings():
        assert code is not None and msgid is not None, (file, line)
        assert re.fullmatch(r"[a-z_]+(\.[a-z0-9_]+)?", code) and code not in codes, (file, line)
        codes.add(code)
        assert not re.search(r"%(?!\(\w+\)s|%)", msgid), (file, line)
    assert len(codes) > 150


def test_two_wordings_may_not_share_a_code():
    with pytest.raises(ValueError, match=r"two wordings have the code test\.hundred"):
        Wording("test.hundred", "Something else.")


@pytest.mark.parametrize("msgid", MSGIDS)
def test_every_marked_sentence_has_a_translation_with_the_same_values(msgid):
    with translation.override("zh-hans"):
        said = translation.gettext(msgid)
    assert CHINESE.search(said), msgid
    assert sorted(re.findall(r"%\((\w+)\)s", said)) == sorted(re.findall(r"%\((\w+)\)s", msgid))
    assert "%" not in re.sub(r"%%|%\(\w+\)s", "", said), "a percent sign stands twice in a template"


def test_a_message_is_its_english_text_and_remembers_code_and_parameters():
    message = HUNDRED(model="m", n=3)
    assert message == "Model m has 100 % of 3."
    copies = (copy.deepcopy(message), pickle.loads(pickle.dumps(message)), str(message), str(ValueError(message)))
    for again in copies:
        assert isinstance(again, Message)
        assert (again, again.code, again.params) == (message, "test.hundred", {"model": "m", "n": 3})
    assert type(message[:5]) is str
    with pytest.raises(AttributeError, match="immutable"):
        message.code = "test.other"
    with pytest.raises(TypeError):
        message.params["n"] = 4
    with pytest.raises(KeyError):
        HUNDRED(model="m")


def test_a_message_with_messages_within_comes_back_from_json():
    message = reply_messages.JUDGE_FELL(
        n=2,
        which=[
            reply_messages.CANARY_NAMES["empty"](what=reply_messages.TIED(order=reply_messages.A_FIRST())),
            "other: it said yes",
        ],
    )
    data = json.loads(json.dumps(to_json(message)))
    again = from_json(data)
    assert again == message and again.params == message.params
    assert [type(part) for part in again.params["which"]] == [Message, str]
    assert again.params["which"][0].params["what"].params["order"].code == "judge.a_first"
    with translation.override("zh-hans"):
        said = for_reader(again)
    assert CHINESE.search(said) and "other: it said yes" in said and "ordinary" not in said and "；" in said


def test_a_message_is_rendered_in_either_language():
    message = call_messages.NO_REPLY(seconds="5")
    assert render(message, "en") == str(message)
    chinese = render(message, "zh-hans")
    assert CHINESE.search(chinese) and "5" in chinese
    with translation.override("zh-hans"):
        assert render(message) == chinese == for_reader(message) == for_reader(ValueError(message))


@pytest.mark.parametrize(
    "data",
    [
        None,
        "call.no_reply",
        7,
        [],
        {},
        {"code": "call.no_reply"},
        {"code": "call.no_reply", "params": None},
        {"code": "call.no_reply", "params": {}},
        {"code": "call.no_reply", "params": ["seconds"]},
        {"code": "call.no_reply", "params": {"seconds": None}},
        {"code": "call.no_reply", "params": {"seconds": {"code": "no.such", "params": {}}}},
        {"code": "call.no_reply", "params": {"seconds": [None]}},
        {"code": "call.no_reply", "params": {"seconds": {"a": "b"}}},
        {"code": "no.such", "params": {"seconds": "5"}},
        {"code": ["call.no_reply"], "params": {"seconds": "5"}},
        {"code": {}, "params": {}},
    ],
    ids=lambda data: str(data)[:60],
)
def test_what_a_column_holds_that_is_no_message_leaves_the_stored_text(data):
    assert from_json(data) is None
    with translation.override("zh-hans"):
        assert for_reader(stored_text(SimpleNamespace(error="401: no", error_json=data), "error")) == "401: no"


def test_messages_too_deep_within_one_another_are_not_read():
    data = {"code": "call.no_reply", "params": {"seconds": "5"}}
    for _level in range(3):
        data = {"code": "call.put_off", "params": {"words": data}}
    assert from_json(data) is not None
    for _level in range(5_000):
        data = {"code": "call.put_off", "params": {"words": data}}
    assert from_json(data) is None


def test_parameters_are_markup_for_nobody_and_more_of_them_do_no_harm():
    data = {"code": "call.no_reply", "params": {"seconds": "%(seconds)s {0} <b>", "other": "x"}}
    assert from_json(data) == "no reply in %(seconds)s {0} <b> seconds"


def test_what_is_stored_fits_its_column_and_every_database():
    words = "a\0b\ud800" + "x" * 50
    row = stored("error", call_messages.NOT_JSON(words=words), 30)
    assert row["error"] == "status 200 with a body that is"
    assert row["error_json"] == {"code": "call.not_json", "params": {"words": ("a\ufffdb\ufffd" + "x" * 50)[:30]}}
    assert stored("error", "401: no") == {"error": "401: no", "error_json": None}
    assert stored("error", "") == {"error": "", "error_json": None}
    assert to_json(HUNDRED(model=Decimal("1.5"), n=float("nan")))["params"] == {"model": "1.5", "n": "nan"}


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
        assert for_reader(words) == words == for_reader(ValueError(words))


def test_a_sentence_inside_a_sentence_is_said_in_the_same_language():
    unread = call_messages.BAD_BODY(what=call_messages.NO_LIST(words="<html>"))
    with translation.override("zh-hans"):
        said = for_reader(ValueError(unread))
        assert said == for_reader(from_json(to_json(unread)))
    assert "<html>" in said and not re.search("status|list", said)


def test_several_sentences_in_one_are_told_apart():
    sung = [
        Sung("empty", reply_messages.SCORED_ABOVE(value="1.00", middle="0.50")),
        Sung("order", reply_messages.BEAT(order=reply_messages.B_FIRST())),
    ]
    error = CanaryFailed(sung)
    assert str(error) == (
        "The judge believed 2 canary text(s) that deserve nothing (empty: it scored 1.00 where the median of the run "
        "is 0.50; order: it beat an ordinary response (B first)). Change the prompt or the model before trusting this run."
    )
    with translation.override("zh-hans"):
        said = for_reader(error)
    assert not re.search("[a-z]{3}", said)
    assert "1.00" in said and "0.50" in said


def test_what_stopped_several_models_is_told_one_by_one():
    parts = [call_messages.NO_ENDPOINT(model="a"), "401: no", call_messages.NO_ENDPOINT(model="b")]
    text = sentences(parts)
    assert text == " ".join(parts) and isinstance(text, Message)
    with translation.override("zh-hans"):
        assert for_reader(from_json(to_json(text))) == " ".join(for_reader(part) for part in parts)
    assert sentences(parts[:1]) is parts[0] and sentences([]) == ""
    assert isinstance(Wording.known["sentences"], Untranslated)


def test_in_english_nothing_changes():
    for text in ("no reply in 60 seconds", "401: no such key", str(reply_messages.JUDGE_FELL(n=1, which="null: x"))):
        assert for_reader(text) == text


def test_templates_say_it_by_a_filter_and_escape_what_is_not_ours():
    page = engines["django"].from_string("{% load sentences %}{{ message|for_reader }}{{ row|stored_text:'error' }}")
    with translation.override("zh-hans"):
        row = SimpleNamespace(**stored("error", call_messages.NO_LIST(words="<i>")))
        said = page.render({"message": call_messages.NOT_JSON(words="<b>"), "row": row})
    assert CHINESE.search(said) and "&lt;b&gt;" in said and "&lt;i&gt;" in said
    assert not re.search("status|list", said)


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
