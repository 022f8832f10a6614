"""The client on a real socket: every status and every broken body becomes one error of the family."""

import asyncio
import json

import pytest

from generation.llm.chat import OpenAIChat, key_named
from generation.llm.errors import (
    Forbidden,
    NoMoney,
    RateLimited,
    Refused,
    ServerFailed,
    TimedOut,
    TooLong,
    Unauthorised,
    Unreachable,
    retry_after,
)
from generation.llm.requests import Request
from tests.generation.hostile_server import HERE, Act, HostileServer, completion, fails, says

QUESTION = Request("m", [{"role": "user", "content": "Hi"}], {"temperature": 0})


def ask(base_url, request=QUESTION, timeout=5.0):
    async def once():
        chat = OpenAIChat(base_url=base_url, key="k", timeout_seconds=timeout, reach=HERE)
        try:
            return await chat.complete(request)
        finally:
            await chat.close()

    return asyncio.run(once())


def answer(act, **options):
    with HostileServer(lambda request, n: act) as server:
        return ask(server.base_url, **options), server


def test_a_reply_with_its_tokens_and_seconds():
    reply, server = answer(says("Hello 你好", finish_reason="length", read=7, written=3))
    assert (reply.text, reply.finish_reason, reply.input_tokens, reply.output_tokens) == ("Hello 你好", "length", 7, 3)
    assert 0 < reply.seconds < 5
    assert server.requests == [{"model": "m", "messages": [{"role": "user", "content": "Hi"}], "temperature": 0}]
    assert server.keys == ["Bearer k"]


def test_a_schema_is_sent_only_where_it_is_taken():
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    _, plain = answer(says("x"), request=Request("m", QUESTION.messages, schema=schema))
    assert "response_format" not in plain.requests[0]
    _, structured = answer(says("x"), request=Request("m", QUESTION.messages, schema=schema, structured=True))
    assert structured.requests[0]["response_format"]["json_schema"]["schema"] == schema


def test_a_refusal_and_missing_counts_are_read():
    body = completion("")
    body["choices"][0]["message"] = {"role": "assistant", "content": None, "refusal": "I will not."}
    del body["usage"]
    reply, _ = answer(Act(body=body))
    assert (reply.text, reply.finish_reason, reply.estimated) == ("I will not.", "refusal", True)
    # "Hi" and 8 for its message; eleven characters are three tokens and a message of 8.
    assert (reply.input_tokens, reply.output_tokens) == (8, 11)


@pytest.mark.parametrize(
    ("act", "error", "words"),
    [
        (fails(400, "unknown parameter foo"), Refused, "400: unknown parameter foo"),
        (fails(404, "no model m"), Refused, "404: no model m"),
        (fails(422, "bad shape"), Refused, "422"),
        (fails(401, "wrong key"), Unauthorised, "401: wrong key"),
        (fails(403, "not you"), Forbidden, "403: not you"),
        (fails(402, "no credit"), NoMoney, "402: no credit"),
        (fails(413, "too large"), TooLong, "413: too large"),
        (fails(408, "slow"), TimedOut, "408"),
        (fails(409, "busy"), ServerFailed, "409"),
        (fails(500, "oops"), ServerFailed, "500: oops"),
        (
            Act(503, b"<html><style>p {}</style><p>We are\n<b>down</b></html>", {"Content-Type": "text/html"}),
            ServerFailed,
            "503: We are down",
        ),
        (fails(429, "slow down"), RateLimited, "429: slow down"),
        (fails(429, "pay first", "insufficient_quota"), NoMoney, "pay first"),
        (fails(400, "too many tokens", "context_length_exceeded"), TooLong, "too many tokens"),
        (fails(400, "This model's maximum context length is 8 tokens."), TooLong, "maximum context length"),
        (Act(body={"error": {"message": "overloaded"}}), ServerFailed, "overloaded"),
        (Act(body=b'{"choices": [{"mess'), ServerFailed, "not JSON"),
        (Act(body=b"<html>hello</html>", headers={"Content-Type": "text/html"}), ServerFailed, "hello"),
        (Act(body={"choices": []}), ServerFailed, "with no completion"),
        (Act(body=[1, 2]), ServerFailed, "with no completion"),
        (Act(body={"choices": {"0": "x"}}), ServerFailed, "with no completion"),
        (Act(body={"choices": [{"message": {"content": {"score": 1}}}]}), ServerFailed, "with no completion"),
        (Act(body={"choices": [{"message": {"content": 7}}]}), ServerFailed, "with no completion"),
        (Act(body={"choices": [{"message": {"content": "x", "refusal": 7}}]}), ServerFailed, "no completion"),
        (Act(body={"choices": [{"message": {"content": [{"text": "x"}]}}]}), ServerFailed, "no completion"),
        (Act(body=b"[" * 100_000), ServerFailed, "not JSON"),
        (Act(400, b"[" * 100_000), Refused, "400: [[["),
        (Act(body=completion("cut"), cut=20), Unreachable, "127.0.0.1"),
        (Act(body=completion("late"), seconds=1.0), TimedOut, "0.2"),
    ],
)
def test_every_failure_is_one_error_with_the_servers_words(act, error, words):
    with pytest.raises(error) as caught:
        answer(act, timeout=0.2 if act.seconds else 5.0)
    assert type(caught.value) is error
    assert words in str(caught.value)


@pytest.mark.parametrize("count", [-5, 10**30, 1e300, "7", None, True, [3]])
def test_a_count_of_tokens_that_no_call_can_have_is_no_count(count):
    body = {**completion("x"), "usage": {"prompt_tokens": count, "completion_tokens": 4}}
    reply, _ = answer(Act(body=body))
    # "Hi": nothing of three characters, and 8 for the message.
    assert (reply.text, reply.input_tokens, reply.output_tokens, reply.estimated) == ("x", 8, 4, True)


@pytest.mark.parametrize("usage", [None, 3, [1], "many"])
def test_a_usage_that_is_none_is_no_failure(usage):
    reply, _ = answer(Act(body={**completion("x"), "usage": usage}))
    assert (reply.text, reply.input_tokens, reply.estimated) == ("x", 8, True)


def test_a_count_that_is_infinite_counts_nothing():
    whole = json.dumps({**completion("x"), "usage": {"prompt_tokens": 7}}).replace("7}", "1e400}")
    reply, _ = answer(Act(body=whole.encode()))
    assert (reply.input_tokens, reply.estimated) == (8, True)


def test_a_text_in_parts_is_put_together():
    parts = [{"type": "thinking", "thinking": []}, {"type": "text", "text": "One, "}, {"type": "text", "text": "two."}]
    reply, _ = answer(Act(body={"choices": [{"message": {"content": parts}}]}))
    assert reply.text == "One, two."


def test_nobody_there():
    with HostileServer(lambda request, n: says("x")) as server:
        base_url = server.base_url
    with pytest.raises(Unreachable, match=r"127\.0\.0\.1"):
        ask(base_url)


def test_nothing_is_retried_behind_our_back():
    with HostileServer(lambda request, n: fails(500, "x")) as server:
        with pytest.raises(ServerFailed):
            ask(server.base_url)
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": "Thu, 01 Jan 1970 00:01:40 GMT"}, 90.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:01 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after-ms": "nan"}, None),
        ({"retry-after-ms": "inf"}, 3600.0),
        ({"retry-after": "9" * 400}, 3600.0),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 -2359"}, 3600.0),
    ],
)
def test_retry_after_is_seconds_or_a_date(headers, seconds):
    assert retry_after(headers, 10.0) == seconds


def test_which_errors_may_pass_and_which_stop_a_run():
    assert all(error.retryable for error in (Unreachable, TimedOut, ServerFailed, RateLimited))
    assert not any(error.retryable for error in (Refused, TooLong, Unauthorised))
    assert all(error.fatal for error in (NoMoney, Unauthorised))
    assert all(error.doubtful and not error.fatal for error in (Refused, Forbidden))
    assert not any(error.fatal or error.doubtful for error in (Unreachable, RateLimited, TooLong))


def test_a_key_is_read_from_its_variable_or_missed_by_name(monkeypatch):
    monkeypatch.setenv("A_KEY", " abc ")
    assert key_named("A_KEY") == "abc"
    assert key_named("") == "none"
    monkeypatch.delenv("A_KEY")
    with pytest.raises(Unauthorised, match="A_KEY"):
        key_named("A_KEY")
