"""The protocol, limits and errors of a real vLLM server, and whole runs against it. What it says means nothing."""

import asyncio
import io
import json
import math
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from django.core.management import call_command
from django.utils import timezone

from annotation.models import Assignment
from generation.endpoints.probing import SCHEMA, obeys, probe_address, probe_endpoint
from generation.execution.worker import WorkerOptions
from generation.llm.chat import OpenAIChat
from generation.llm.errors import Refused, TooLong
from generation.llm.protocol.allowed_hosts import Reach
from generation.llm.requests import Request
from generation.models import Endpoint, GenerationRun, LanguageModel, Response
from judging.judges.making import create_judge
from judging.methods.guided import GuidedQuestion
from judging.methods.pairs import perplexity
from judging.models import Reply
from judging.runs.life_cycle import start_run
from judging.runs.worker import work_on
from tests.factories import make_checklist_study, make_workspace, plan_run
from tests.generation.responses.test_sampling import make_benchmark

pytestmark = [pytest.mark.realserver, pytest.mark.django_db]
HELLO = [{"role": "user", "content": "Hello"}]
REFERENCE = "The river runs past the house."


def ask(base_url, question, responses=()):
    async def once():
        reach = Reach(nearby=True)
        chat = OpenAIChat(base_url=base_url, key="none", timeout_seconds=120, reach=reach, responses=responses)
        try:
            return await question(chat)
        finally:
            await chat.close()

    return asyncio.run(once())


def test_the_probe_finds_what_vllm_can_do(served):
    found = probe_address(served)
    assert (found.model, found.context_tokens) == ("tiny", 4096)
    assert found.json_schema and found.prompt_log_probabilities and found.log_probabilities
    assert not found.embeddings and "embeddings" in found.words


def test_a_schema_is_obeyed_every_time_at_sixteen_at_once(served):
    asked = Request("tiny", HELLO, {"max_tokens": 64, "temperature": 1.0}, schema=SCHEMA, structured=True)

    async def many(chat):
        return await asyncio.gather(*(chat.complete(asked) for _ in range(48)))

    replies = ask(served, many)
    assert all(obeys(reply.text) for reply in replies)
    assert len({json.loads(reply.text)["bird"] for reply in replies}) == 2


def test_a_stream_says_what_a_whole_reply_says(served):
    greedy = {"temperature": 0.0, "max_tokens": 40}
    whole = ask(served, lambda chat: chat.complete(Request("tiny", HELLO, greedy)))
    streamed = ask(served, lambda chat: chat.complete(Request("tiny", HELLO, greedy, stall_seconds=30.0)))
    assert streamed.text == whole.text
    assert (streamed.finish_reason, streamed.output_tokens) == (whole.finish_reason, whole.output_tokens)
    assert streamed.input_tokens == whole.input_tokens


def test_the_responses_form_says_the_same_whole_and_streamed(served):
    greedy = {"temperature": 0.0, "max_tokens": 40}

    async def both(chat):
        asked = Request("tiny", HELLO, greedy)
        return await chat.complete(asked), await chat.complete(replace(asked, stall_seconds=30.0))

    chat_reply, _ = ask(served, both)
    whole, streamed = ask(served, both, responses=["tiny"])
    assert (whole.text, whole.finish_reason) == (streamed.text, streamed.finish_reason)
    assert (whole.text, whole.output_tokens) == (chat_reply.text, chat_reply.output_tokens)
    assert (whole.input_tokens, streamed.output_tokens) == (chat_reply.input_tokens, whole.output_tokens)
    assert not whole.estimated and not streamed.estimated


def test_a_schema_is_obeyed_in_the_responses_form(served):
    asked = Request("tiny", HELLO, {"max_tokens": 64, "temperature": 1.0}, schema=SCHEMA, structured=True)
    assert obeys(ask(served, lambda chat: chat.complete(asked), responses=["tiny"]).text)


def test_several_samples_of_one_prompt(served):
    asked = Request("tiny", HELLO, {"temperature": 1.0, "max_tokens": 20})
    replies = ask(served, lambda chat: chat.samples(asked, 4))
    assert len({reply.text for reply in replies}) == 4
    assert replies[0].output_tokens > 20 and replies[1].output_tokens == 0


def test_the_references_tokens_and_no_others_are_scored(served):
    question = GuidedQuestion((("user", "Hello"),), ("a", "b"), (), reference=REFERENCE)
    prefix = Request("tiny", perplexity.prefix_messages(question), perplexity.PREFIX_PARAMETERS)
    scoring = Request("tiny", perplexity.scoring_messages(question), perplexity.SCORING_PARAMETERS)
    before = ask(served, lambda chat: chat.complete(prefix)).input_tokens
    scored = ask(served, lambda chat: chat.prompt_log_probabilities(scoring))
    assert len(scored.log_probabilities) == scored.reply.input_tokens
    found = perplexity.reference_log_probability(scored.log_probabilities, before)
    assert found.tokens == scored.reply.input_tokens - before
    entries = [next(iter(entry.values())) for entry in scored.log_probabilities[before:]]
    assert "".join(entry["decoded_token"] for entry in entries) == REFERENCE
    # A model with random weights finds every token about as likely as any other.
    assert 0.3 * 500 < found.perplexity < 3 * 500


def test_embeddings_of_equal_texts_are_equal_and_in_order(embedder):
    texts = ["The river.", "A long essay about paper.", "The river."]
    found = ask(embedder, lambda chat: chat.embeddings("tiny", texts))
    one, other, again = found.vectors
    cosine = math.fsum(a * b for a, b in zip(one, again, strict=True)) / (math.hypot(*one) * math.hypot(*again))
    assert cosine == pytest.approx(1.0, abs=1e-4)
    assert one != other and len(one) == 128
    assert found.input_tokens > 10
    assert probe_address(embedder).embeddings


def test_a_prompt_beyond_the_context_is_too_long_and_an_unknown_model_is_refused(served):
    long = [{"role": "user", "content": "river house " * 2500}]
    with pytest.raises(TooLong, match="4096"):
        ask(served, lambda chat: chat.complete(Request("tiny", long, {"max_tokens": 4})))
    with pytest.raises(TooLong, match="max_model_len=4096"):
        ask(served, lambda chat: chat.complete(Request("tiny", HELLO, {"max_tokens": 16384})))
    with pytest.raises(Refused):
        ask(served, lambda chat: chat.complete(Request("nobody", HELLO)))
    with pytest.raises(Refused):
        ask(served, lambda chat: chat.complete(Request("tiny", HELLO, {"temperature": -1})))


def test_generate_end_to_end_with_helloBenchs_parameters_on_a_model_that_allows_less(served):
    benchmark = make_benchmark(4)
    benchmark.instructions.filter(external_id="essays-3").update(
        messages=[{"role": "user", "content": "river house " * 2500}]
    )
    out = io.StringIO()
    call_command("generate", "essays", "--model", "tiny", "--base-url", served, "--samples", "2", stdout=out)
    run = GenerationRun.objects.get()
    assert "is finished: 6 of 8 responses, 2 failed" in out.getvalue()
    responses = Response.objects.filter(run=run)
    assert responses.count() == 6
    assert set(responses.values_list("finish_reason", flat=True)) <= {"stop", "length"}
    assert all(response.tokens > 0 and response.input_tokens > 5 for response in responses)
    assert Endpoint.objects.get().capabilities["contexts"] == {"tiny": 4096}
    assert "4096" in run.items.filter(status="failed").first().error


def judge_at(base_url, **fields):
    """A checklist judge at a server of which is known what it can do."""
    endpoint, made = Endpoint.objects.get_or_create(workspace=make_workspace(), name="vllm", base_url=base_url)
    if made:
        probe_endpoint(endpoint)
    model, _ = LanguageModel.objects.get_or_create(workspace=make_workspace(), name="tiny", endpoint=endpoint)
    return create_judge(model=model, **fields)


def finished(run):
    """Work on a run to its end. Words of a random model may run on until the limit; whatever ends is readable."""
    run = work_on(run, options=WorkerOptions())
    assert run.status == "finished", run.message
    assert {item.reason.partition(":")[0] for item in run.items.filter(status="unscored")} <= {"cut_off"}
    assert all(reply.output_tokens > 0 for reply in Reply.objects.filter(item__run=run, error=""))
    return run


def test_a_checklist_judge_scores_every_response_by_the_servers_grammar(served):
    run = plan_run(judge=judge_at(served), study=make_checklist_study())
    start_run(run, clock=timezone.now)
    run = finished(run)
    statuses = list(Assignment.objects.filter(rater=run.judge.rater).values_list("status", flat=True))
    assert len(statuses) == 8 and set(statuses) <= {"submitted", "unscored"}


def test_the_same_rows_without_a_server(vllm_python, tiny_model):
    script = Path(__file__).with_name("in_process_replies.py")
    done = subprocess.run(
        [str(vllm_python), str(script), str(tiny_model)],
        capture_output=True,
        text=True,
        timeout=400,
        env={**os.environ, "PYTHONPATH": str(script.parents[2]), "HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1"},
    )
    line = next((line for line in done.stdout.splitlines() if line.startswith("RESULT ")), "")
    assert line, done.stderr[-3000:]
    came = json.loads(line.removeprefix("RESULT "))
    assert len(came["texts"]) == 6 and len(set(came["texts"])) == 1
    assert all(read > 5 and written == 8 and reason == "length" for read, written, reason in came["tokens"])
    assert obeys(came["structured"])
    assert came["scores"][0] is None and len(came["scores"]) == came["prompt_tokens"]
    assert came["mixed"] == ["Reply", "TooLong"]
    assert came["problems"] == {"unknown parameter": "Refused", "too long": "TooLong"}
