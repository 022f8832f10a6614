"""A fault of the program itself fails the run that met it, and is seen; a database that is away only delays it."""

from decimal import Decimal

import pytest
from django.db import OperationalError
from django.utils import timezone

from generation.execution.engine import Retry
from generation.execution.worker import WorkerOptions
from generation.llm.protocol.prices import Ceiling, Spend
from generation.llm.scripted import ScriptedChat
from generation.models import Endpoint, GenerationRun, Response
from generation.responses.recording import spent_of
from generation.responses.runs import progress_of, start_run
from generation.responses.worker import work_on
from generation.tasks import sweep
from judging.judges.making import create_judge
from judging.models import Reply
from judging.runs.life_cycle import start_run as start_judging
from judging.runs.worker import work_on as judge_on
from tests.factories import make_checklist_study, plan_run
from tests.generation.hostile_server import HostileServer, fails, says, streams
from tests.generation.responses.test_sampling import make_benchmark, make_model, make_run

pytestmark = pytest.mark.django_db


class Broken:
    """A chat with a fault of its own, which is no error of the endpoint."""

    def __init__(self, fault):
        self.fault = fault

    async def complete(self, request):
        raise self.fault

    async def close(self):
        pass


@pytest.fixture
def run():
    class Nowhere:
        base_url = "http://127.0.0.1:9/v1"

    return make_run(make_benchmark(3), make_model(Nowhere, "m"))


def test_a_fault_fails_the_run_with_what_to_do_and_is_raised(run):
    with pytest.raises(KeyError):
        work_on(run, chat_for=lambda model: Broken(KeyError("choices")))
    run.refresh_from_db()
    assert run.status == GenerationRun.Status.FAILED
    assert run.message.startswith("Plumbline itself failed (KeyError: 'choices'). The worker's log")
    assert progress_of(run, clock=timezone.now).busy == 0
    # Put right, it goes on.
    start_run(run, clock=timezone.now)
    done = work_on(run, chat_for=lambda model: ScriptedChat(lambda request: "A text."))
    assert (done.status, done.message) == ("finished", "")


def test_a_database_that_is_away_leaves_the_run_to_go_on_by_itself(run):
    with pytest.raises(OperationalError):
        work_on(run, chat_for=lambda model: Broken(OperationalError("the server closed the connection")))
    run.refresh_from_db()
    assert (run.status, run.message) == (GenerationRun.Status.RUNNING, "")


def test_the_sweep_goes_on_after_a_run_that_cannot_be_finished(run, monkeypatch, caplog):
    other = make_run(run.benchmark, run.items.first().model)
    sent = []

    def finish(_kind, one, *, clock):
        if one == run:
            raise ArithmeticError("a report that cannot be made")
        return False

    monkeypatch.setattr("generation.execution.states.RunKind.finish_if_done", finish)
    monkeypatch.setattr("generation.tasks.work.delay", sent.append)
    sweep()
    assert sent == [other.pk]
    assert f"GenerationRun {run} is left for the next sweep" in caplog.text


def uncounted(request, n):
    """A server that does not say how many tokens it read and wrote."""
    return streams("A river ran.", read=0, written=0)


def test_what_an_endpoint_does_not_count_is_estimated_and_bound_by_the_budget():
    with HostileServer(uncounted) as server:
        model = make_model(server, max_concurrent=1, input_price=1000, output_price=2000)
        run = make_run(make_benchmark(9), model, parameters={"max_tokens": 40}, budget=Ceiling(money=Decimal("0.4")))
        run = work_on(run)
    spent = spent_of(run)
    # "Write about topic 0.": 14 tokens read, 4 + 8 written, so 0.014 + 0.024; the most it can cost is 0.014 + 0.08.
    assert spent == Spend(9, 9 * 26, Decimal("0.342"))
    assert run.status == "finished"
    model.endpoint.refresh_from_db()
    assert model.endpoint.capabilities["uncounted"] is True
    with HostileServer(uncounted) as server:
        Endpoint.objects.update(base_url=server.base_url)
        run = make_run(
            run.benchmark, model, parameters={"max_tokens": 40}, samples=2, budget=Ceiling(money=Decimal("0.2"))
        )
        run = work_on(run)
    # Three cost 0.114, a fourth might make it 0.208.
    assert (run.status, spent_of(run).calls) == ("paused", 3)


@pytest.mark.parametrize("kind", ["generation", "judging"])
def test_what_no_database_keeps_in_a_reply_or_a_refusal_is_replaced(kind):
    """Half of a pair of surrogates and a NUL, in the text, the finish reason, and the words of an error."""
    odd = "\ud800 and \0"

    def play(request, n):
        if n == 0:
            return fails(500, f"broken {odd}")
        return says(f"A river {odd}.", finish_reason=f"stop {odd}")

    with HostileServer(play) as server:
        model = make_model(server, max_concurrent=1)
        if kind == "generation":
            run = work_on(
                make_run(make_benchmark(2), model), options=WorkerOptions(retry=Retry(tries=2, first_wait=0.01))
            )
            assert run.status == "finished", run.message
            assert {one.text for one in Response.objects.all()} == {"A river \ufffd and \ufffd."}
            assert {one.finish_reason for one in Response.objects.all()} == {"stop \ufffd and \ufffd"}
        else:
            study = make_checklist_study(instructions=1)
            run = plan_run(judge=create_judge(model=model), study=study)
            start_judging(run, clock=timezone.now)
            run = judge_on(run, options=WorkerOptions(retry=Retry(tries=2, first_wait=0.01)))
            assert run.status == "finished", run.message
            assert Reply.objects.filter(error="500: broken \ufffd and \ufffd").count() == 1
            assert {one.text for one in Reply.objects.filter(error="")} == {"A river \ufffd and \ufffd."}


@pytest.mark.parametrize("kind", ["generation", "judging"])
def test_a_refusal_in_words_that_no_database_keeps_stops_the_run(kind):
    with HostileServer(lambda request, n: fails(401, "who are you \ud800\0")) as server:
        model = make_model(server)
        if kind == "generation":
            run = work_on(make_run(make_benchmark(2), model))
        else:
            run = plan_run(judge=create_judge(model=model), study=make_checklist_study(instructions=1))
            start_judging(run, clock=timezone.now)
            run = judge_on(run)
    assert (run.status, run.message) == ("failed", "401: who are you \ufffd\ufffd")
