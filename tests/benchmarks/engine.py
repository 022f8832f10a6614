"""How fast a judge's run goes, beside a bare loop that keeps nothing; and how long 100,000 items take to plan.

    python tests/benchmarks/engine.py [--vllm-url http://127.0.0.1:8000/v1 --vllm-model tiny] [--replies 3000]

A model with random weights fills its answers with white space and endless reasons. Start its server with
--structured-outputs-config '{"backend": "xgrammar", "disable_any_whitespace": true}'; both loops ask it to end strings
soon.

All against the same local server, which answers after 20 ms. The bare loop is AsyncOpenAI behind a semaphore in one
process, its replies thrown away; the loop on the same client is AsyncOpenAI with its aiohttp transport, as we call by
aiohttp too. Ours stores and commits every reply, verdict and score in a database of its own (DATABASE_URL where set,
else a new SQLite file). The loops take turns at going first, and each ratio is the median of the rounds' ratios;
processor time a reply is printed too, for machines that have other work. Ends with one line of JSON:

    ratio_16, ratio_128                          throughput of ours over the bare loop's at 16 and at 128 calls at once
    ratio_same_client_16, ratio_same_client_128  over the loop's on the same client
    ratio_16_two_workers, ratio_128_two_workers  of two workers together over the bare loop's
    scale_two_workers                            of two workers of 16 calls over one, where a reply takes 400 ms and the
                                                 endpoint takes 32 calls at once
    ratio_vllm                                   as ratio_16, with a vLLM server where one is given
    factor_over_serial                           our throughput over a loop that sends one call at a time
    plan_s, resume_s, peak_mb                    seconds to plan 100,000 items and to resume such a run, and the memory
                                                 of a process that does nothing else
    page_ms, live_part_ms                        milliseconds of that run's page half-way, and of the part that is live
"""

import argparse
import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import types
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

FOLDER = tempfile.TemporaryDirectory(prefix="plumbline-engine-")
PARENT = "BENCHMARK_OF"
"""Set where this process is a part of the benchmark and uses the data of the one that started it."""
if PARENT not in os.environ:
    os.environ["PLUMBLINE_DATA_DIR"] = os.environ[PARENT] = FOLDER.name
ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))
# Installed packages bring a "tests" of their own, which would come before a folder without __init__.py.
sys.modules["tests"] = own = types.ModuleType("tests")
own.__path__ = [str(ROOT / "tests")]
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
os.environ.setdefault("PLUMBLINE_BIND", "127.0.0.1")

import django

django.setup()

import aiohttp
import httpx2
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from openai import AsyncOpenAI, DefaultAioHttpClient

from accounts.models import Membership, User, Workspace
from annotation.models import Assignment, Criterion, Rubric, Study, Task
from generation.execution.worker import WorkerOptions
from generation.llm.requests import body_of
from generation.models import Benchmark, Category, Endpoint, Instruction, LanguageModel, Response
from judging.judges.making import create_judge
from judging.models import JudgeRun, Reply
from judging.runs.life_cycle import start_run
from judging.runs.queue import JudgeQueue
from judging.runs.worker import work_on
from tests.factories import plan_run, remove

ITEMS, MODELS = 5, 10
LEVELS = [{"key": str(i), "value": i / 4, "label": {"en": f"level {i}"}, "description": {}} for i in range(5)]
WORDS = "The river bends twice before the mill, and each time the path leaves it for a field. " * 12

VERDICT = json.dumps({f"item{n}": {"reason": f"Seen where item {n} asks for it.", "score": 1} for n in range(ITEMS)})


def say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def make_study(slug: str, tasks: int) -> Study:
    """So many single responses, ten models a piece, all different."""
    workspace, _ = Workspace.objects.get_or_create(slug="engine", defaults={"name": "Engine"})
    benchmark = Benchmark.objects.create(workspace=workspace, slug=slug, names={"en": slug})
    category = Category.objects.create(benchmark=benchmark, key="essay", names={"en": "Essay"})
    rubric = Rubric.objects.create(workspace=workspace, key=slug, benchmark=benchmark, category=category)
    Criterion.objects.bulk_create(
        Criterion(rubric=rubric, key=f"item{n}", position=n, questions={"en": f"Is quality {n} there?"}, levels=LEVELS)
        for n in range(ITEMS)
    )
    study = Study.objects.create(
        workspace=workspace, slug=slug, names={"en": slug}, kind="checklist", benchmark=benchmark, status="closed"
    )
    models = [LanguageModel.objects.get_or_create(workspace=workspace, name=f"writer {n}")[0] for n in range(MODELS)]
    instructions = Instruction.objects.bulk_create(
        [
            Instruction(
                benchmark=benchmark,
                external_id=f"i{n}",
                category=category,
                messages=[{"role": "user", "content": f"Write about walk number {n}."}],
            )
            for n in range(-(-tasks // MODELS))
        ],
        batch_size=1_000,
    )
    responses = Response.objects.bulk_create(
        (
            Response(instruction=instruction, model=model, text=f"{WORDS} {slug} {instruction.pk} {model.pk}")
            for instruction in instructions
            for model in models
        ),
        batch_size=1_000,
    )
    Task.objects.bulk_create(
        (
            Task(study=study, kind="single", key=f"r:{r.pk}", response_a=r, answer_rubric=rubric)
            for r in responses[:tasks]
        ),
        batch_size=1_000,
    )
    return study


def judge_at(
    base_url: str, model: str, name: str, structured: bool = False, max_concurrent: int = 128
) -> LanguageModel:
    workspace = Workspace.objects.get(slug="engine")
    endpoint, _ = Endpoint.objects.get_or_create(
        workspace=workspace,
        name=name,
        defaults={"base_url": base_url, "capabilities": {"json_schema": structured}, "max_concurrent": max_concurrent},
    )
    return LanguageModel.objects.get_or_create(
        workspace=workspace, name=name, defaults={"endpoint": endpoint, "served_name": model}
    )[0]


def brief(base_url: str, model: str) -> dict[str, object]:
    """Sampling parameters with which a random model's strings come to an end soon."""
    root = base_url.removesuffix("/v1")
    told = httpx2.post(f"{root}/tokenize", json={"model": model, "prompt": '"', "add_special_tokens": False})
    return {"temperature": 1.0, "logit_bias": {str(told.json()["tokens"][0]): 6}}


def messages_of(study: Study, model: LanguageModel) -> list[dict[str, object]]:
    """The bodies that a run over the study sends, for the bare loops to send the same."""
    clear(study)
    run = plan_run(judge=create_judge(model=model), study=study)
    start_run(run, clock=timezone.now)
    queue = JudgeQueue(run, "bench", timezone.now)
    asked, _more = queue.next_calls(run.items.count())
    bodies = [body_of(one.request) for one in asked]
    remove(JudgeRun.objects.filter(pk=run.pk))
    return bodies


def fresh_run(study: Study, model: LanguageModel) -> JudgeRun:
    """A started run over all of the study, of which nothing is answered."""
    clear(study)
    run = plan_run(judge=create_judge(model=model), study=study, reuse=False)
    start_run(run, clock=timezone.now)
    return run


def clear(study: Study) -> None:
    remove(JudgeRun.objects.filter(study=study))
    remove(Assignment.objects.filter(task__study=study))


def ours(study: Study, model: LanguageModel, at_once: int) -> float:
    """Replies a second, stored and committed."""
    run = fresh_run(study, model)
    begun = time.perf_counter()
    run = work_on(run, options=WorkerOptions(concurrency=at_once, seconds=float("inf")))
    return stored_of(run) / (time.perf_counter() - begun)


def stored_of(run: JudgeRun) -> int:
    run.refresh_from_db()
    assert run.status == "finished", run.message
    stored = Reply.objects.filter(item__run=run, error="").count()
    assert stored == run.items.count()
    return stored


def part(*arguments: object) -> "subprocess.Popen[str]":
    """This script again as a process of its own, on the same data."""
    command = [sys.executable, __file__, *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def several(study: Study, model: LanguageModel, at_once: int, workers: int) -> float:
    """Replies a second of so many worker processes at one run, each with its share of the calls."""
    run = fresh_run(study, model)
    parts = [part("--work", run.pk, "--at-once", at_once // workers) for _ in range(workers)]
    for worker in parts:
        assert worker.stdout is not None and worker.stdout.readline() == "ready\n"
    begun = time.perf_counter()
    for worker in parts:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    for worker in parts:
        assert worker.stdout is not None and worker.stdout.readline() == "done\n"
    seconds = time.perf_counter() - begun
    for worker in parts:
        worker.communicate()
    assert not any(worker.returncode for worker in parts)
    return stored_of(run) / seconds


def work_when_told(pk: int, at_once: int) -> None:
    run = JudgeRun.objects.get(pk=pk)
    print("ready", flush=True)
    sys.stdin.readline()
    work_on(run, options=WorkerOptions(concurrency=at_once, seconds=float("inf"), wait=True))
    print("done", flush=True)


async def _loop(bodies: list[dict[str, object]], at_once: int, send: Callable[..., Awaitable[object]]) -> float:
    slots = asyncio.Semaphore(at_once)

    async def one(body: dict[str, object]) -> None:
        async with slots:
            await send(body)

    begun = time.perf_counter()
    await asyncio.gather(*(one(body) for body in bodies))
    return len(bodies) / (time.perf_counter() - begun)


def bare(base_url: str, bodies: list[dict[str, object]], at_once: int) -> float:
    """AsyncOpenAI behind a semaphore, as its documentation shows it."""

    async def run() -> float:
        async with AsyncOpenAI(base_url=base_url, api_key="none") as client:
            return await _loop(bodies, at_once, lambda body: client.chat.completions.create(**body))

    return asyncio.run(run())


def bare_same_client(base_url: str, bodies: list[dict[str, object]], at_once: int) -> float:
    """The same over the library's aiohttp transport."""

    async def run() -> float:
        limits = httpx2.Limits(max_connections=at_once, max_keepalive_connections=at_once)
        http = DefaultAioHttpClient(limits=limits)
        async with AsyncOpenAI(base_url=base_url, api_key="none", http_client=http) as client:
            return await _loop(bodies, at_once, lambda body: client.chat.completions.create(**body))

    return asyncio.run(run())


def bare_http(base_url: str, bodies: list[dict[str, object]], at_once: int) -> float:
    """The HTTP library alone, the replies' JSON read."""

    async def run() -> float:
        limits = httpx2.Limits(max_connections=at_once, max_keepalive_connections=at_once)
        async with httpx2.AsyncClient(limits=limits, timeout=60) as client:

            async def send(body: dict[str, object]) -> object:
                return (await client.post(f"{base_url}/chat/completions", json=body)).json()

            return await _loop(bodies, at_once, send)

    return asyncio.run(run())


def bare_aiohttp(base_url: str, bodies: list[dict[str, object]], at_once: int) -> float:
    """The lightest transport there is, the replies' JSON read."""

    async def run() -> float:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=at_once)) as session:

            async def send(body: dict[str, object]) -> object:
                async with session.post(f"{base_url}/chat/completions", json=body) as reply:
                    return await reply.json()

            return await _loop(bodies, at_once, send)

    return asyncio.run(run())


@dataclass(frozen=True)
class Ratios:
    """Medians over the rounds: ours over the bare loop, ours over the loop on the same client, and our throughput."""

    bare: float
    same_client: float
    speed: float


def ratio(study: Study, model: LanguageModel, base_url: str, at_once: int, rounds: int) -> Ratios:
    bodies = messages_of(study, model)
    measures: dict[str, Callable[[], float]] = {
        "ours": lambda: ours(study, model, at_once),
        "bare AsyncOpenAI": lambda: bare(base_url, bodies, at_once),
        "on aiohttp": lambda: bare_same_client(base_url, bodies, at_once),
    }
    results: dict[str, list[float]] = {name: [] for name in measures}
    for turn in range(rounds):
        words = []
        for name in sorted(measures, reverse=bool(turn % 2)):
            used = time.process_time()
            results[name].append(measures[name]())
            milliseconds = 1_000 * (time.process_time() - used) / len(bodies)
            words.append(f"{name} {results[name][-1]:.0f} a second ({milliseconds:.2f} ms of processor time)")
        say(f"{at_once} at once, planning included in ours: {', '.join(words)}")
    other, aio = bare_http(base_url, bodies, at_once), bare_aiohttp(base_url, bodies, at_once)
    speed = statistics.median(results["ours"])
    say(f"{at_once} at once, printed only: bare httpx2 {other:.0f} a second, bare aiohttp {aio:.0f}")
    return Ratios(over(results, "bare AsyncOpenAI"), over(results, "on aiohttp"), speed)


def over(results: dict[str, list[float]], name: str) -> float:
    return statistics.median(mine / other for mine, other in zip(results["ours"], results[name], strict=True))


def scale(study: Study, rounds: int) -> float:
    """Median throughput of two workers over one, 16 calls each, at an endpoint that is slow and takes 32 at once."""
    with stub_server(seconds=0.4) as base_url:
        model = judge_at(base_url, "stub", "slow stub", max_concurrent=32)
        speeds: dict[int, list[float]] = {1: [], 2: []}
        for turn in range(rounds):
            for workers in (2, 1) if turn % 2 else (1, 2):
                speeds[workers].append(several(study, model, 16 * workers, workers))
            say(f"replies of 400 ms: one worker {speeds[1][-1]:.1f} a second, two {speeds[2][-1]:.1f}")
    return statistics.median(two / one for one, two in zip(speeds[1], speeds[2], strict=True))


def plan_and_resume(slug: str) -> dict[str, float]:
    """Seconds to plan a study's items, and from a resume to the first question of a run half done; memory in MB."""
    study, model = Study.objects.get(slug=slug), LanguageModel.objects.get(name="stub")
    judge = create_judge(model=model)
    begun = time.perf_counter()
    run = plan_run(judge=judge, study=study)
    planned = time.perf_counter() - begun
    start_run(run, clock=timezone.now)
    run.items.filter(position__lt=run.items.count() // 2).update(status="scored")
    JudgeRun.objects.filter(pk=run.pk).update(status="paused")
    run.refresh_from_db()
    begun = time.perf_counter()
    start_run(run, clock=timezone.now)
    queue = JudgeQueue(JudgeRun.objects.get(pk=run.pk), "bench", timezone.now)
    asked, _more = queue.next_calls(16)
    assert len(asked) == 16
    resumed = time.perf_counter() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"plan_s": planned, "resume_s": resumed, "peak_mb": peak}


def progress_page(slug: str) -> dict[str, float]:
    """Milliseconds of a half-done run's page with a stored reply for each item done, and of the part that is live."""
    run = JudgeRun.objects.get(study__slug=slug)
    done = run.items.filter(status="scored").values_list("pk", flat=True)
    Reply.objects.bulk_create(
        (Reply(item_id=pk, request_hash="h", text=VERDICT, input_tokens=400, output_tokens=120) for pk in done),
        batch_size=2_000,
    )
    lead = User.objects.create_user("lead")
    Membership.objects.create(workspace=run.judge.workspace, user=lead, role="lead")
    client = Client(SERVER_NAME="localhost")
    client.force_login(lead)
    address = reverse("judging:run", args=[run.public_id])
    found = {}
    for name, headers in (("page_ms", {}), ("live_part_ms", {"HX-Request": "true"})):
        times = []
        for _ in range(7):
            begun = time.perf_counter()
            assert client.get(address, headers=headers).status_code == 200
            times.append(1_000 * (time.perf_counter() - begun))
        found[name] = statistics.median(times)
        say(f"{name}: {', '.join(f'{one:.0f}' for one in times)}")
    return found


def planning(tasks: int) -> dict[str, float]:
    """Planning alone in a process: the study is made in another, so that its memory is not counted."""
    assert part("--make", tasks).wait() == 0
    found: dict[str, float] = {}
    for option in ("--plan", "--page"):
        told, _errors = part(option, "large").communicate()
        found |= json.loads(told)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replies", type=int, default=3_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--slow-replies", type=int, default=3_000)
    parser.add_argument("--slow-rounds", type=int, default=1)
    parser.add_argument("--planned", type=int, default=100_000, help="0 leaves the figures of planning out")
    parser.add_argument("--vllm-url", default="")
    parser.add_argument("--vllm-model", default="tiny")
    inner = parser.add_argument_group("parts of the benchmark that run in processes of their own")
    inner.add_argument("--work", type=int)
    inner.add_argument("--at-once", type=int)
    inner.add_argument("--make", type=int)
    inner.add_argument("--plan")
    inner.add_argument("--page")
    arguments = parser.parse_args()
    if arguments.work:
        work_when_told(arguments.work, arguments.at_once)
    elif arguments.make:
        make_study("large", arguments.make)
    elif arguments.plan:
        print(json.dumps(plan_and_resume(arguments.plan)))
    elif arguments.page:
        print(json.dumps(progress_page(arguments.page)))
    else:
        whole(arguments)


def whole(arguments: argparse.Namespace) -> None:
    call_command("migrate", verbosity=0)
    with stub_server() as base_url:
        results = measure(arguments, base_url)
    print(json.dumps(results))


@contextmanager
def stub_server(seconds: float = 0.02) -> Iterator[str]:
    """The address of a server of its own process that answers after so long."""
    script = str(Path(__file__).with_name("stub_server.py"))
    command = [sys.executable, script, "--items", str(ITEMS), "--seconds", str(seconds)]
    stub = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert stub.stdout is not None
        yield f"http://127.0.0.1:{stub.stdout.readline().strip()}/v1"
    finally:
        stub.terminate()


def measure(arguments: argparse.Namespace, base_url: str) -> dict[str, float | None]:
    study = make_study("replies", arguments.replies)
    model = judge_at(base_url, "stub", "stub")
    results: dict[str, float | None] = {}
    fastest = 0.0
    for at_once in (16, 128):
        ratios = ratio(study, model, base_url, at_once, arguments.rounds)
        results[f"ratio_{at_once}"], results[f"ratio_same_client_{at_once}"] = ratios.bare, ratios.same_client
        fastest = max(fastest, ratios.speed)
    for at_once in (16, 128):
        alone, two = bare(base_url, messages_of(study, model), at_once), several(study, model, at_once, 2)
        say(f"{at_once} at once in two workers: ours {two:.0f} a second, bare {alone:.0f}")
        results[f"ratio_{at_once}_two_workers"] = two / alone
    results["scale_two_workers"] = scale(make_study("slow", arguments.slow_replies), arguments.slow_rounds)
    results["ratio_vllm"] = None
    if arguments.vllm_url:
        small = make_study("vllm", min(64, arguments.replies))
        served = judge_at(arguments.vllm_url, arguments.vllm_model, "vllm", structured=True)
        served.parameters = brief(arguments.vllm_url, arguments.vllm_model)
        served.save(update_fields=["parameters"])
        results["ratio_vllm"] = ratio(small, served, arguments.vllm_url, 16, arguments.rounds).bare
    else:
        say("No vLLM server was given (--vllm-url), so ratio_vllm is null.")
    serial = bare(base_url, messages_of(study, model)[:200], 1)
    results["factor_over_serial"] = fastest / serial
    say(f"one at a time: {serial:.0f} a second")
    if arguments.planned:
        results |= planning(arguments.planned)
    return {name: None if value is None else round(value, 3) for name, value in results.items()}


if __name__ == "__main__":
    main()
