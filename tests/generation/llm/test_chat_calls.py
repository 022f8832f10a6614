"""Streams, samples, embeddings, prompt log-probabilities and lists of models on a real socket, good and broken."""

import asyncio
import json
from dataclasses import replace

import pytest

from generation.llm.chat import OpenAIChat
from generation.llm.errors import ServerFailed, Stalled, TimedOut, TooLong, Unreachable
from generation.llm.replies import BROKEN_OFF
from generation.llm.requests import Request
from generation.llm.scripted import ScriptedChat, script_from
from tests.generation.hostile_server import HERE, Act, HostileServer, completion, fails, says, streams

QUESTION = Request("m", [{"role": "user", "content": "Hi"}], {"temperature": 0}, stall_seconds=0.3)
TEXT = "One two three four five six seven eight nine ten."


def call(act, ask, timeout=5.0):
    async def once():
        chat = OpenAIChat(base_url=server.base_url, key="k", timeout_seconds=timeout, reach=HERE)
        try:
            return await ask(chat)
        finally:
            await chat.close()

    with HostileServer(lambda request, n: act) as server:
        return asyncio.run(once()), server.requests


def stream(act, **options):
    return call(act, lambda chat: chat.complete(QUESTION), **options)


def test_a_stream_becomes_one_reply_with_its_tokens():
    reply, requests = stream(streams(TEXT, finish_reason="length", read=7, written=11))
    assert (reply.text, reply.finish_reason) == (TEXT, "length")
    assert (reply.input_tokens, reply.output_tokens) == (7, 11)
    assert requests[0]["stream"] is True and requests[0]["stream_options"] == {"include_usage": True}


def test_a_silence_amid_the_stream_is_a_stall_and_can_be_tried_again():
    with pytest.raises(Stalled, match=r"silent for 0\.3 seconds after") as caught:
        stream(streams(TEXT, silent_after=300, silent_seconds=1.5))
    assert caught.value.retryable


def test_waiting_for_the_first_words_is_no_stall():
    reply, _ = stream(streams(TEXT, silent_after=0, silent_seconds=0.8))
    assert reply.text == TEXT


def test_what_a_server_holds_back_after_the_last_event_is_not_waited_for():
    whole = streams(TEXT)
    held = Act(body=whole.body + b": bye\n\n", headers=whole.headers, silent_after=len(whole.body), silent_seconds=4.0)
    reply, _ = stream(held)
    assert reply.text == TEXT
    assert reply.seconds < 3.0


def test_a_stream_that_ends_before_its_end_is_no_reply():
    with pytest.raises(Unreachable, match=f"broke off after {len(TEXT)} characters"):
        stream(streams(TEXT, finish_reason=""))
    with pytest.raises(Unreachable):
        stream(streams(TEXT, cut=400))


@pytest.mark.parametrize(
    ("act", "error", "patience"),
    [
        (streams(TEXT, finish_reason=""), Unreachable, 5.0),
        (streams(TEXT, silent_after=300, silent_seconds=1.0), Stalled, 0.3),
        (streams(TEXT, silent_after=300, silent_seconds=2.5), TimedOut, 60.0),
    ],
    ids=["broken off", "silent", "too slow"],
)
def test_what_came_of_a_text_before_it_failed_goes_with_the_error(act, error, patience):
    asked = replace(QUESTION, parameters={"max_tokens": 9}, stall_seconds=patience, longest_seconds=1.5)
    with pytest.raises(error) as caught:
        call(act, lambda chat: chat.complete(asked))
    came = caught.value.came
    assert TEXT.startswith(came.text) and came.finish_reason == BROKEN_OFF
    # "Hi" is guessed at 8 tokens; of the answer no more than were allowed.
    assert (came.input_tokens, came.output_tokens, came.estimated) == (8, 9, True)


def test_thoughts_count_in_what_came_and_are_no_part_of_the_text():
    thought = {"choices": [{"delta": {"reasoning_content": "Hm. " * 30}}]}
    body = f"data: {json.dumps(thought)}\n\n".encode()
    with pytest.raises(Unreachable) as caught:
        stream(Act(body=body, headers={"Content-Type": "text/event-stream"}))
    # 120 characters at three a token, and 8 for the message.
    assert (caught.value.came.text, caught.value.came.output_tokens) == ("", 48)


def test_a_stream_of_which_nothing_came_costs_nothing_more():
    with pytest.raises(Unreachable) as caught:
        stream(Act(body=b": wait\n\n", headers={"Content-Type": "text/event-stream"}))
    assert caught.value.came is None


def test_an_error_amid_the_stream_is_told_in_its_words():
    body = b'data: {"choices": [{"delta": {"content": "a"}}]}\n\ndata: {"error": {"message": "out of memory"}}\n\n'
    with pytest.raises(ServerFailed, match="out of memory"):
        stream(Act(body=body, headers={"Content-Type": "text/event-stream"}))


def test_a_server_that_does_not_stream_is_read_all_the_same():
    reply, _ = stream(says(TEXT))
    assert (reply.text, reply.output_tokens) == (TEXT, 20)


@pytest.mark.parametrize("chunk", [{}, {"choices": None}, {"usage": "many"}, {"usage": {"prompt_tokens": 7}}])
def test_a_chunk_without_words_amid_a_stream_costs_nothing_of_it(chunk):
    whole = streams(TEXT, read=7, written=11)
    event = f"data: {json.dumps(chunk)}\n\n".encode()
    parts = whole.body.partition(b"\n\n")
    reply, _ = stream(Act(body=parts[0] + parts[1] + event + parts[2], headers=whole.headers))
    assert (reply.text, reply.input_tokens, reply.output_tokens) == (TEXT, 7, 11)


@pytest.mark.parametrize("content", [["a"], 7, {"text": "a"}])
def test_a_chunk_with_words_of_another_kind_is_told(content):
    body = f"data: {json.dumps({'choices': [{'delta': {'content': content}}]})}\n\n".encode()
    with pytest.raises(ServerFailed, match="a stream of something else"):
        stream(Act(body=body, headers={"Content-Type": "text/event-stream"}))


@pytest.mark.parametrize("kind", ["text/plain; charset=utf-8", "application/json", ""])
def test_a_whole_reply_where_a_stream_was_asked_for_is_read_whatever_it_is_called(kind):
    reply, _ = stream(Act(body=completion(TEXT, read=7, written=11), headers={"Content-Type": kind}))
    assert (reply.text, reply.input_tokens, reply.output_tokens) == (TEXT, 7, 11)


def test_a_stream_that_is_called_plain_text_is_read_as_one():
    whole = streams(TEXT, read=7, written=11)
    reply, _ = stream(Act(body=b": so far so good\n\n" + whole.body, headers={"Content-Type": "text/plain"}))
    assert (reply.text, reply.input_tokens, reply.output_tokens) == (TEXT, 7, 11)


@pytest.mark.parametrize("body", [b"", b"null", b"not today"])
def test_no_reply_at_all_where_a_stream_was_asked_for_is_told_as_it_is(body):
    with pytest.raises(ServerFailed, match="status 200 with"):
        stream(Act(body=body, headers={"Content-Type": "text/plain"}))


def test_a_sign_in_page_in_place_of_a_stream_is_shown():
    page = Act(body=b"<html>Sign in to the proxy</html>", headers={"Content-Type": "text/html; charset=utf-8"})
    with pytest.raises(ServerFailed, match=r"not JSON: Sign in to the proxy$"):
        stream(page)


def test_a_stream_without_counts_has_estimated_ones():
    reply, _ = stream(streams(TEXT, read=0, written=0))
    assert reply.estimated and reply.input_tokens > 0 and reply.output_tokens > len(TEXT) // 4


def test_statuses_mean_the_same_in_a_stream():
    with pytest.raises(TooLong):
        stream(fails(400, "This model's maximum context length is 8 tokens."))
    with pytest.raises(TooLong):
        stream(fails(400, "max_tokens is too large: this model supports at most 4096 completion tokens"))


def test_samples_are_counted_once_and_must_be_as_many_as_asked():
    body = completion("a")
    body["choices"].append({"index": 1, "finish_reason": "stop", "message": {"content": "b"}})
    replies, requests = call(Act(body=body), lambda chat: chat.samples(QUESTION, 2))
    assert [(reply.text, reply.output_tokens) for reply in replies] == [("a", 20), ("b", 0)]
    assert requests[0]["n"] == 2
    with pytest.raises(ServerFailed, match="1 replies instead of the 3 requested"):
        call(says("a"), lambda chat: chat.samples(QUESTION, 3))


def embedded(rows):
    return Act(body={"data": rows, "usage": {"prompt_tokens": 4}})


def test_embeddings_stand_in_the_order_of_the_texts():
    rows = [{"index": 1, "embedding": [3, 4]}, {"index": 0, "embedding": [1.5, 2]}]
    found, requests = call(embedded(rows), lambda chat: chat.embeddings("m", ["x", "y"]))
    assert found.vectors == ((1.5, 2.0), (3.0, 4.0))
    assert found.input_tokens == 4
    assert requests[0]["input"] == ["x", "y"]


@pytest.mark.parametrize(
    "rows",
    [
        [{"index": 0, "embedding": [1.0]}],
        [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}],
        [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": []}],
        [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [float("inf")]}],
        [{"index": 0, "embedding": "AAAA"}, {"index": 1, "embedding": "AAAA"}],
        "nothing",
    ],
)
def test_embeddings_that_are_too_few_doubled_empty_infinite_or_packed_are_refused(rows):
    with pytest.raises(ServerFailed):
        call(embedded(rows), lambda chat: chat.embeddings("m", ["x", "y"]))


def test_log_probabilities_of_the_prompt_come_as_the_server_gives_them():
    scores = [None, {"5": {"logprob": -1.5}}]
    body = {**completion("x", read=2), "prompt_logprobs": scores}
    found, requests = call(Act(body=body), lambda chat: chat.prompt_log_probabilities(QUESTION))
    assert found.log_probabilities == scores
    assert found.reply.input_tokens == 2
    assert requests[0]["prompt_logprobs"] == 0
    with pytest.raises(ServerFailed, match="without the requested log-probabilities"):
        call(says("x"), lambda chat: chat.prompt_log_probabilities(QUESTION))


def test_the_models_a_server_serves_with_their_context():
    body = {"data": [{"id": "tiny", "max_model_len": 1024}, {"id": "other"}]}
    models, _ = call(Act(body=body), lambda chat: chat.models())
    assert [(model.name, model.context_tokens) for model in models] == [("tiny", 1024), ("other", None)]
    with pytest.raises(ServerFailed):
        call(Act(body=["tiny"]), lambda chat: chat.models())


def test_a_scripted_model_writes_and_embeds_the_same_again():
    async def ask():
        chat = ScriptedChat(script_from({"writes": 60}))
        request = Request("m", QUESTION.messages, subject={"response": "a/m"})
        texts = [await chat.complete(request) for _ in range(2)]
        vectors = await chat.embeddings("m", ["a river", "a river", "the house"])
        return texts, vectors.vectors

    texts, vectors = asyncio.run(ask())
    assert texts[0].text == texts[1].text
    assert 40 <= len(texts[0].text.split()) <= 80
    assert vectors[0] == vectors[1] != vectors[2]
    assert json.dumps(vectors)
