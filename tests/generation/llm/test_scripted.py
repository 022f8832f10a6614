import asyncio
import json

import pytest

from core.errors import UserError
from generation.llm.errors import Refused
from generation.llm.requests import Reply, Request
from generation.llm.scripted import ScriptedChat, read_script, script_from

SCALE = [0, 0.25, 0.5, 0.75, 1]
ITEM = {"type": "object", "properties": {"reason": {"type": "string"}, "score": {"type": "number", "enum": SCALE}}}
SCHEMA = {"type": "object", "properties": {"clear": ITEM, "right": ITEM}}


def request(subject="r1", **more):
    about = {"response": subject, "instruction": "i", "repeat": "0"}
    return Request("m", [{"role": "user", "content": "x" * 40}], schema=SCHEMA, subject=about, **more)


def said(plan, asked=None):
    reply = asyncio.run(ScriptedChat(script_from(plan)).complete(asked or request()))
    return json.loads(reply.text)


def test_what_is_written_down_is_said():
    plan = {"answers": {"r1": {"clear": 0.5, "right": {"reason": "two slips", "score": 0}}}}
    answer = said(plan)
    assert answer["clear"]["score"] == 0.5
    assert answer["right"] == {"reason": "two slips", "score": 0}
    assert answer["clear"]["reason"]


def test_what_is_not_is_drawn_within_the_schema_and_always_the_same():
    one, again, other = said({"seed": 1}), said({"seed": 1}), said({"seed": 2, "quality": 0.1})
    assert one == again
    assert one != other
    for seed in range(50):
        answer = said({"seed": seed})
        assert list(answer) == ["clear", "right"]
        assert {item["score"] for item in answer.values()} <= set(SCALE)


def test_quality_moves_the_draws():
    def mean(quality):
        answers = [said({"quality": quality}, request(f"r{n}")) for n in range(60)]
        return sum(item["score"] for answer in answers for item in answer.values()) / 120

    assert mean(0.15) < 0.35 < 0.6 < mean(0.85)


def test_a_reply_may_be_given_word_for_word():
    reply = asyncio.run(ScriptedChat(script_from({"replies": {"r1": "I would rather not."}})).complete(request()))
    assert (reply.text, reply.finish_reason, reply.input_tokens) == ("I would rather not.", "stop", 10)


def test_a_script_may_be_a_function_and_may_fail():
    replies = iter([Reply("a", "stop", 1, 2, 3.0), Refused("400: no")])
    chat = ScriptedChat(lambda _request: next(replies))
    assert asyncio.run(chat.complete(request())).seconds == 3.0
    with pytest.raises(Refused):
        asyncio.run(chat.complete(request()))
    assert len(chat.requests) == 2


def test_without_a_schema_only_what_is_written_can_be_said():
    with pytest.raises(Refused):
        asyncio.run(ScriptedChat(script_from({})).complete(Request("m", [])))


def test_a_script_is_a_mapping_or_a_file(tmp_path):
    (tmp_path / "script.json").write_text('{"seed": 3}')
    assert read_script("script.json", tmp_path) == {"seed": 3}
    assert read_script({"seed": 4}, tmp_path) == {"seed": 4}
    (tmp_path / "list.json").write_text("[1]")
    for bad in ("absent.json", "list.json", 7):
        with pytest.raises(UserError, match="script"):
            read_script(bad, tmp_path)


def test_a_text_goes_on_from_a_numbered_heading_in_parts():
    asked = Request("m", [{"role": "user", "content": "Write."}, {"role": "assistant", "content": "#*# Week 1:"}])
    text = asyncio.run(ScriptedChat(script_from({"writes": 90})).complete(asked)).text
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert len(headings) > 3
    assert headings == [f"#*# Week {number}:" for number in range(2, len(headings) + 2)]
    assert not text.startswith("#")


def test_a_text_goes_on_in_one_piece_from_another_beginning():
    asked = Request("m", [{"role": "user", "content": "Write."}, {"role": "assistant", "content": "Once upon a time"}])
    assert "\n" not in asyncio.run(ScriptedChat(script_from({"writes": 90})).complete(asked)).text
