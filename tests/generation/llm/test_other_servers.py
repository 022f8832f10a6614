"""Servers that speak the protocol in their own way: events without data, no streams, no counting, two texts for one."""

import asyncio
import json

import pytest

from generation.llm.chat import OpenAIChat
from generation.llm.errors import Refused, ServerFailed, TimedOut
from generation.llm.requests import Request
from tests.generation.hostile_server import HERE, Act, HostileServer, fails, says, streams

TEXT = "The river bends twice."


def ask(server, calls=1):
    """The replies to so many calls at once over one chat."""

    async def send():
        chat = OpenAIChat(base_url=server.base_url, key="k", timeout_seconds=5.0, reach=HERE)
        request = Request("m", [{"role": "user", "content": "Write."}], stall_seconds=5.0)
        try:
            return await asyncio.gather(*(chat.complete(request) for _ in range(calls)))
        finally:
            await chat.close()

    return asyncio.run(send())


def stream_with(text, before=(), between=""):
    """A stream with these events before its chunks and these lines behind each of them."""
    chunks = streams(text).body.decode().split("\n\n")[:-1]
    events = [*before, *(f"{between}{chunk}" for chunk in chunks)]
    body = "".join(f"{event}\n\n" for event in events).encode()
    return Act(body=body, headers={"Content-Type": "text/event-stream"})


@pytest.mark.parametrize(
    ("before", "between"),
    [
        (["retry: 3000"], ""),
        (["event: ping\ndata:"], ""),
        (["id: 1"], ""),
        ([": a comment"], "id: 7\n"),
        (["id: 1", ": keepalive"], ""),
    ],
)
def test_events_that_bear_nothing_are_passed_over(before, between):
    with HostileServer(lambda request, n: stream_with(TEXT, before, between)) as server:
        (reply,) = ask(server)
    assert (reply.text, reply.finish_reason, reply.input_tokens) == (TEXT, "stop", 100)


def test_a_second_text_is_not_mixed_into_the_first():
    chunk = {"choices": [{"index": 1, "delta": {"content": "SECOND"}, "finish_reason": "stop"}]}
    with HostileServer(lambda request, n: stream_with(TEXT, [f"data: {json.dumps(chunk)}"])) as server:
        assert ask(server)[0].text == TEXT


def test_a_server_that_does_not_count_what_it_streams_is_asked_without():
    def serve(request, number):
        if "stream_options" in request:
            return fails(400, "Unknown parameter: 'stream_options'.")
        return streams(TEXT)

    with HostileServer(serve) as server:
        assert [reply.text for reply in ask(server, calls=4)] == [TEXT] * 4
        assert len(server.requests) == 8
        assert all(request["stream"] for request in server.requests)


def test_a_server_that_does_not_stream_is_asked_for_whole_texts():
    def serve(request, number):
        return fails(400, "stream is not supported") if request.get("stream") else says(TEXT)

    with HostileServer(serve) as server:
        assert [reply.text for reply in ask(server, calls=4)] == [TEXT] * 4
        assert len(server.requests) == 8


@pytest.mark.parametrize("words", ["Unknown parameter: 'stream_options'.", "The upstream model is unknown."])
def test_a_refusal_that_stays_is_told(words):
    with HostileServer(lambda request, n: fails(400, words)) as server:
        with pytest.raises(Refused, match=words):
            ask(server)
        assert len(server.requests) <= 2


@pytest.mark.parametrize(("status", "kind"), [(503, ServerFailed), (500, ServerFailed), (408, TimedOut)])
def test_how_long_a_server_asks_to_be_left_alone_is_known_whatever_the_status(status, kind):
    with (
        HostileServer(lambda request, n: fails(status, "busy", retry_after="7")) as server,
        pytest.raises(kind) as raised,
    ):
        ask(server)
    assert raised.value.retry_after == 7.0


def test_a_failure_without_a_wait_names_none():
    with HostileServer(lambda request, n: fails(503, "busy")) as server, pytest.raises(ServerFailed) as raised:
        ask(server)
    assert raised.value.retry_after is None


def test_a_whole_answer_of_no_use_to_a_stream_tells_what_it_cost():
    useless = Act(body={"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5}})
    with HostileServer(lambda request, n: useless) as server, pytest.raises(ServerFailed) as raised:
        ask(server)
    assert (raised.value.came.input_tokens, raised.value.came.output_tokens) == (10, 5)
