"""Models that are served in the responses form: found out by the refusal of chat completions, whole and streamed."""

import asyncio
import json
from dataclasses import replace

import pytest

from generation.llm.chat import OpenAIChat
from generation.llm.errors import NoMoney, RateLimited, Refused, ServerFailed, Stalled, Unreachable
from generation.llm.forms import CHAT, RESPONSES
from generation.llm.replies import BROKEN_OFF
from generation.llm.requests import Request
from tests.generation.hostile_server import (
    HERE,
    Act,
    HostileServer,
    completion,
    fails,
    responds,
    responds_streamed,
    says,
)

QUESTION = Request(
    "pro", [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}], {"max_tokens": 99}
)
TEXT = "One two three four five."
NOT_CHAT = fails(404, "This is not a chat model and thus not supported in the v1/chat/completions endpoint.")


def call(play, request=QUESTION, calls=1, responses=()):
    """The replies (or the error) to so many calls at once, what the server was sent, and the form known at the end."""

    async def once():
        chat = OpenAIChat(base_url=server.base_url, key="k", timeout_seconds=5.0, reach=HERE, responses=responses)
        try:
            return await asyncio.gather(*(chat.complete(request) for _ in range(calls))), chat.form_of(request.model)
        finally:
            await chat.close()

    with HostileServer(play) as server:
        replies, form = asyncio.run(once())
        return replies, server.requests, form


def as_responses(act):
    """Refuses chat completions and answers responses with the act."""
    return lambda request, n: act if "input" in request else replace(NOT_CHAT, headers={})


@pytest.mark.parametrize(
    "refusal",
    [
        NOT_CHAT,
        fails(400, "This model is only supported in v1/responses and not in v1/chat/completions."),
        fails(400, "Unsupported legacy protocol. Please use /v1/responses."),
        Act(404, b"Not Found"),
        Act(405, b"Method Not Allowed"),
    ],
)
def test_a_model_without_chat_completions_is_asked_in_the_other_form(refusal):
    act = responds(TEXT, read=7, written=11)
    play = lambda request, n: act if "input" in request else replace(refusal, headers={})  # noqa: E731
    (reply,), requests, form = call(play)
    assert (reply.text, reply.finish_reason, reply.input_tokens, reply.output_tokens) == (TEXT, "stop", 7, 11)
    assert form is RESPONSES and [("messages" in one, "input" in one) for one in requests] == [
        (True, False),
        (False, True),
    ]
    assert requests[1] == {"model": "pro", "input": list(QUESTION.messages), "max_output_tokens": 99, "store": False}


def test_many_calls_at_once_find_it_out_together():
    replies, requests, _ = call(as_responses(responds(TEXT)), calls=12)
    assert [reply.text for reply in replies] == [TEXT] * 12
    assert sum("input" in one for one in requests) == 12


def test_what_is_known_is_not_tried_in_the_first_form():
    _, requests, _ = call(as_responses(responds(TEXT)), responses=["pro"])
    assert ["input" in one for one in requests] == [True]


def test_other_refusals_are_not_asked_again():
    with pytest.raises(Refused, match="temperature"):
        call(lambda request, n: fails(400, "temperature must be at most 1"))
    with HostileServer(lambda request, n: fails(400, "no")) as server:
        with pytest.raises(Refused):
            asyncio.run(_complete(server))
        assert len(server.requests) == 1


async def _complete(server):
    chat = OpenAIChat(base_url=server.base_url, key="k", timeout_seconds=5.0, reach=HERE)
    try:
        return await chat.complete(QUESTION)
    finally:
        await chat.close()


def test_a_model_that_is_in_neither_form_is_refused_in_the_first_words():
    with pytest.raises(Refused, match="model pro does not exist"):
        call(lambda request, n: fails(404, "The model pro does not exist" if "messages" in request else "Not here"))


def test_a_server_without_either_address_is_asked_twice_and_no_more():
    async def twice():
        chat = OpenAIChat(base_url=server.base_url, key="k", timeout_seconds=5.0, reach=HERE)
        try:
            for _ in range(2):
                with pytest.raises(Refused):
                    await chat.complete(QUESTION)
            assert chat.form_of("pro") is CHAT
        finally:
            await chat.close()

    with HostileServer(lambda request, n: Act(404, b"Not Found")) as server:
        asyncio.run(twice())
        assert [("input" in one) for one in server.requests] == [False, True, False]


def test_a_schema_and_a_reasoning_effort_have_their_other_place():
    schema = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    asked = replace(
        QUESTION,
        parameters={"max_completion_tokens": 5, "reasoning_effort": "low", "text": {"verbosity": "low"}, "top_p": 0.5},
        schema=schema,
        structured=True,
    )
    body = RESPONSES.body(asked)
    wanted = {"type": "json_schema", "name": "answer", "strict": True, "schema": schema}
    assert body["text"] == {"verbosity": "low", "format": wanted}
    assert (body["max_output_tokens"], body["reasoning"], body["top_p"]) == (5, {"effort": "low"}, 0.5)
    assert not {"response_format", "messages", "reasoning_effort", "max_completion_tokens"} & set(body)


@pytest.mark.parametrize(
    ("act", "text", "reason"),
    [
        (responds(TEXT, status="incomplete", why="max_output_tokens"), TEXT, "length"),
        (responds("", status="incomplete", why="max_output_tokens"), "", "length"),
        (responds(TEXT, status="incomplete", why="content_filter"), TEXT, "content_filter"),
        (responds("", refusal="I cannot."), "I cannot.", "refusal"),
        (responds(TEXT, comment="Let me see."), TEXT, "stop"),
    ],
)
@pytest.mark.parametrize("streamed", [False, True])
def test_how_a_response_ends(act, text, reason, streamed):
    asked = replace(QUESTION, stall_seconds=1.0 if streamed else None)
    made = responds_streamed(act) if streamed else act
    (reply,), requests, _ = call(as_responses(made), asked)
    assert (reply.text, reply.finish_reason, reply.served) == (text, reason, "pro-2026")
    assert requests[1].get("stream", False) is streamed and "stream_options" not in requests[1]


def test_reasoning_is_no_part_of_the_text():
    body = responds(TEXT).body
    assert body["output"][0]["type"] == "reasoning"
    assert RESPONSES.reply(body, 0.0).text == TEXT


@pytest.mark.parametrize(
    ("body", "error", "words"),
    [
        (
            {"status": "failed", "error": {"code": "server_error", "message": "burst pipe"}, "output": []},
            ServerFailed,
            "burst",
        ),
        ({"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "slow"}}, RateLimited, "slow"),
        ({"status": "failed", "error": {"code": "insufficient_quota", "message": "broke"}}, NoMoney, "broke"),
        ({"status": "failed", "error": {"code": "invalid_prompt", "message": "not this"}}, Refused, "not this"),
        ({"status": "failed", "error": None}, ServerFailed, "reported an error"),
        ({"status": "in_progress", "output": []}, ServerFailed, "no completion"),
        ({"status": "completed"}, ServerFailed, "no completion"),
        (
            {"status": "completed", "output": [{"type": "message", "content": [{"type": "output_text"}]}]},
            ServerFailed,
            "no",
        ),
        ({"status": "completed", "output": [7]}, ServerFailed, "no completion"),
        ([], ServerFailed, "no completion"),
        (completion(TEXT), ServerFailed, "no completion"),
    ],
)
def test_a_body_that_is_no_response_is_told(body, error, words):
    with pytest.raises(error, match=words):
        call(as_responses(Act(body=body)))


def test_tokens_of_an_unusable_response_are_counted():
    body = {"status": "failed", "error": {"message": "burst"}, "usage": {"input_tokens": 7, "output_tokens": 3}}
    with pytest.raises(ServerFailed) as caught:
        call(as_responses(Act(body=body)))
    assert (caught.value.came.input_tokens, caught.value.came.output_tokens) == (7, 3)


def test_a_stream_that_breaks_off_falls_silent_or_fails_keeps_what_came():
    whole = responds_streamed(responds(TEXT)).body
    end = whole.index(b"event: response.completed")
    asked = replace(QUESTION, stall_seconds=0.3)
    events = {"Content-Type": "text/event-stream"}
    failing = b'data: {"type": "error", "code": "server_error", "message": "out of memory", "param": null}\n\n'
    for act, error in (
        (Act(body=whole[:end], headers=dict(events)), Unreachable),
        (Act(body=whole, headers=dict(events), silent_after=end, silent_seconds=1.5), Stalled),
        (Act(body=whole[:end] + failing, headers=dict(events)), ServerFailed),
    ):
        with pytest.raises(error) as caught:
            call(as_responses(act), asked, responses=["pro"])
        assert (caught.value.came.text, caught.value.came.finish_reason) == (TEXT, BROKEN_OFF)


def test_a_server_that_does_not_stream_this_form_is_read_all_the_same():
    (reply,), _, _ = call(as_responses(responds(TEXT)), replace(QUESTION, stall_seconds=1.0), responses=["pro"])
    assert reply.text == TEXT


def test_models_of_one_client_have_forms_of_their_own():
    async def both():
        chat = OpenAIChat(base_url=server.base_url, key="k", timeout_seconds=5.0, reach=HERE)
        try:
            return [await chat.complete(replace(QUESTION, model=model)) for model in ("pro", "usual", "pro")]
        finally:
            await chat.close()

    def play(request, n):
        if request["model"] == "usual":
            return says("chat") if "messages" in request else fails(404, "no")
        return responds("other") if "input" in request else replace(NOT_CHAT, headers={})

    with HostileServer(play) as server:
        assert [reply.text for reply in asyncio.run(both())] == ["other", "chat", "other"]
        assert len(server.requests) == 4


def test_the_body_is_json():
    assert json.loads(json.dumps(RESPONSES.streamed(RESPONSES.body(QUESTION), counted=True)))["stream"] is True
