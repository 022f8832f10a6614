"""manage.py generate: what it says, refuses, resumes and leaves to a worker."""

import io

import pytest
from django.core.management import CommandError, call_command

from generation.models import Endpoint, GenerationRun, Instruction, LanguageModel, Response
from generation.tasks import work
from tests.generation.hostile_server import HostileServer, fails, says_or_streams
from tests.generation.responses.test_sampling import TEXT, make_benchmark, make_model

pytestmark = pytest.mark.django_db


def good(request, n):
    return says_or_streams(request, TEXT, read=50, written=10)


def generate(*words, **options):
    out = io.StringIO()
    call_command("generate", *words, stdout=out, **options)
    return out.getvalue()


def test_a_model_at_an_address_generates_everything_and_says_so():
    make_benchmark(3)
    with HostileServer(good) as server:
        said = generate("essays", "--model", "tiny", "--base-url", server.base_url, "--samples", "2")
    run = GenerationRun.objects.get()
    assert f"Run {run.public_id} (main 1) is finished: 6 of 6 responses, 0 failed, 0 left; 6 calls" in said
    assert Response.objects.filter(run=run).count() == 6
    assert Endpoint.objects.get().base_url == server.base_url


def test_several_models_a_limit_and_a_length():
    make_benchmark(3)
    with HostileServer(good) as server:
        where = ("--base-url", server.base_url)
        generate("essays", "--model", "a", "--model", "b", *where, "--limit", "2", "--experiment", "length-4k")
    assert {(r.model.name, r.instruction.external_id) for r in Response.objects.all()} == {
        (model, f"essays-{n}") for model in "ab" for n in range(2)
    }
    assert all("4,000 words" in request["messages"][-1]["content"] for request in server.requests)


def test_a_budget_pauses_and_resume_goes_on_with_a_larger_one():
    make_benchmark(4)
    with HostileServer(good) as server:
        said = generate("essays", "--model", "m", "--base-url", server.base_url, "--budget-calls", "3")
        run = GenerationRun.objects.get()
        assert run.status == "paused" and f"generate --resume {run.public_id}" in said
        said = generate("--resume", run.public_id, "--budget-calls", "9")
        assert "is finished: 4 of 4" in said
    assert len(server.requests) == 4


def test_failed_ones_are_tried_again_on_demand():
    make_benchmark(2)
    broken = [True]

    def play(request, n):
        if "topic 1" in request["messages"][0]["content"] and broken[0]:
            return fails(400, "maximum context length is 8 tokens and your prompt contains 9 input tokens")
        return good(request, n)

    with HostileServer(play) as server:
        said = generate("essays", "--model", "m", "--base-url", server.base_url)
        run = GenerationRun.objects.get()
        assert "1 failed" in said and "--retry-failed" in said
        broken[0] = False
        assert "is finished: 2 of 2" in generate("--resume", run.public_id, "--retry-failed")


def test_the_background_worker_does_the_same(django_capture_on_commit_callbacks):
    make_benchmark(2)
    with HostileServer(good) as server:
        said = generate("essays", "--model", "m", "--base-url", server.base_url, "--background")
        assert "A worker will work on run" in said
        run = GenerationRun.objects.get()
        assert Response.objects.count() == 0
        work(run.pk)
        work(run.pk)
    run.refresh_from_db()
    assert (run.status, Response.objects.count(), len(server.requests)) == ("finished", 2, 2)


def test_a_scripted_model_needs_no_network():
    benchmark = make_benchmark(2)
    endpoint = Endpoint.objects.create(
        workspace=benchmark.workspace, name="script", kind="scripted", capabilities={"script": {"writes": 50}}
    )
    LanguageModel.objects.create(workspace=benchmark.workspace, name="pen", endpoint=endpoint)
    assert "is finished: 2 of 2" in generate("essays", "--model", "pen")
    texts = set(Response.objects.values_list("text", flat=True))
    assert len(texts) == 2 and all(len(text.split()) > 20 for text in texts)


def test_the_endpoints_refusal_is_the_commands_error():
    make_benchmark(2)
    with (
        HostileServer(lambda request, n: fails(403, "not for you")) as server,
        pytest.raises(CommandError, match="not for you"),
    ):
        generate("essays", "--model", "m", "--base-url", server.base_url)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["nowhere", "--model", "m"], "There is no benchmark 'nowhere'; there are: essays"),
        (["essays"], "Give a benchmark and a model"),
        (["essays", "--model", "m"], "It is not known where model 'm' is served"),
        (["essays", "--model", "m", "--endpoint", "x"], "There is no endpoint 'x'"),
        (["essays", "--model", "m", "--base-url", "ftp://x"], "The address must be like http://"),
        (["essays", "--model", "m", "--base-url", "http://u:secretword@x/v1"], "and no password"),
        (["essays", "--model", "m", "--base-url", "http://x/v1", "--samples", "0"], "--samples 0"),
        (["essays", "--model", "m", "--base-url", "http://x/v1", "--samples", "9" * 9], "too large"),
        (["essays", "--model", "m", "--base-url", "http://x/v1", "--limit", "9" * 30], "too large"),
        (["essays", "--model", "m", "--base-url", "http://x/v1", "--max-tokens", "9" * 30], "too large"),
        (["essays", "--model", "m", "--base-url", "http://x/v1", "--temperature", "nan"], "out of range"),
        (["essays", "--model", "m", "--base-url", "http://x/v1", "--temperature", "-1"], "out of range"),
        (["essays", "--model", "m", "--base-url", "http://x/v1", "--budget-money", "lots"], "is not an amount"),
        (["essays", "--model", "m", "--base-url", "http://x/v1", "--budget-money", "NaN"], "is not a valid limit"),
        (["essays", "--model", "m" * 201, "--base-url", "http://x/v1"], "--model is too long"),
        (["essays", "--model", "m", "--base-url", "http://x/v1", "--name", "n" * 101], "--name is too long"),
        (["essays", "--model", "m", "--base-url", "http://x/v1", "--seed", str(10**30)], "--seed"),
        (["essays", "--model", "m", "--base-url", "http://x/v1", "--category", "poem"], "no instruction in poem"),
        (["--resume", "zzz"], "There is no run 'zzz'"),
    ],
)
def test_mistakes_are_told_in_one_sentence(words, why):
    make_benchmark(1)
    with pytest.raises(CommandError, match=why) as caught:
        generate(*words)
    assert "secretword" not in str(caught.value)
    assert GenerationRun.objects.count() == 0


def test_a_key_in_place_of_a_name_is_refused_and_not_repeated():
    make_benchmark(1)
    key = "sk-proj-abcdefABCDEF0123456789abcdef"
    with pytest.raises(CommandError, match="looks like a key") as caught:
        generate("essays", "--model", "m", "--base-url", "http://x/v1", "--key-variable", key)
    assert key not in str(caught.value)
    with pytest.raises(CommandError, match="belongs to this program"):
        generate("essays", "--model", "m", "--base-url", "http://x/v1", "--key-variable", "PLUMBLINE_SECRET_KEY")


def test_a_cancelled_run_is_not_resumed():
    with HostileServer(good) as server:
        make_model(server)
    run = GenerationRun.objects.create(benchmark=make_benchmark(1), name="x", status="cancelled")
    with pytest.raises(CommandError, match="is cancelled; plan a new one"):
        generate("--resume", run.public_id)
    assert Instruction.objects.count() == 1
