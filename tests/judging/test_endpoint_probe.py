"""The probe of a large judge run: a wrong key, model or context costs a few calls, not thousands."""

import io

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from generation.llm.protocol.prices import Ceiling
from judging.judges.making import create_judge
from judging.models import JudgeRun, Reply
from judging.runs import endpoint_probe
from judging.runs.life_cycle import raise_budget, start_run
from judging.runs.worker import work_on
from tests.factories import make_checklist_study, plan_run
from tests.generation.hostile_server import HostileServer, fails, good_answer
from tests.judging.runs.test_methods_run import QUICK, served

pytestmark = pytest.mark.django_db
N = 24
NO_KEY = fails(401, "Incorrect API key provided", "invalid_api_key")
FULL = fails(
    400, "This model's maximum context length is 64 tokens, however you requested 900.", "context_length_exceeded"
)


@pytest.fixture(autouse=True)
def twenty(monkeypatch):
    """Runs of 20 questions are large here."""
    monkeypatch.setattr(endpoint_probe, "PROBED_FROM", 20)


def planned(server, n=N, **asked):
    study = make_checklist_study(instructions=n, models=1)
    return plan_run(judge=create_judge(model=served(study, server)), study=study, **asked)


def worked(run):
    start_run(run, clock=timezone.now)
    return work_on(run, options=QUICK)


def first_then(first, n, then=good_answer):
    """Answer the first `n` requests in one way and all others in another."""

    def play(request, number):
        act = first if number < n else then
        return act(request) if callable(act) else act

    return play


def test_a_good_endpoint_is_asked_each_question_once():
    with HostileServer(lambda request, _n: good_answer(request)) as server:
        run = worked(planned(server))
        assert run.status == "finished" and len(server.requests) == N
    assert run.manifest["probe"]["questions"] == endpoint_probe.QUESTIONS
    assert Reply.objects.filter(item__run=run).count() == N


def test_a_wrong_key_costs_the_probe_alone_and_the_run_can_be_resumed():
    with HostileServer(first_then(NO_KEY, endpoint_probe.QUESTIONS)) as server:
        run = worked(planned(server))
        assert run.status == "failed" and "Incorrect API key" in run.message
        assert 1 <= len(server.requests) <= endpoint_probe.QUESTIONS and "probe" not in run.manifest
        # The next requests are answered, as if the key had been set right.
        while len(server.requests) < endpoint_probe.QUESTIONS:
            run = worked(run)
        run = worked(run)
        assert run.status == "finished" and run.items.filter(status="scored").count() == N


def test_a_context_without_room_for_any_question_stops_the_run_in_a_sentence():
    with HostileServer(lambda _request, _n: FULL) as server:
        run = worked(planned(server))
        assert run.status == "failed" and "None of the first 3 questions fits into the context" in run.message
        assert len(server.requests) <= 2 * endpoint_probe.QUESTIONS
    # They are asked again once it has room.
    assert run.items.filter(status="waiting").count() == N
    with HostileServer(lambda request, _n: good_answer(request)) as server:
        run.judge.language_model.endpoint.base_url = server.base_url
        run.judge.language_model.endpoint.save(update_fields=["base_url"])
        assert worked(run).status == "finished"


def test_one_question_that_is_too_long_stops_nothing():
    with HostileServer(first_then(FULL, 1)) as server:
        run = worked(planned(server))
    assert run.status == "finished"


def test_a_question_refused_for_its_content_stops_nothing():
    refused = fails(400, "The prompt was filtered", "content_filter")
    with HostileServer(first_then(refused, 1)) as server:
        run = worked(planned(server))
    assert run.status == "finished"


def test_the_probe_is_paid_from_the_budget():
    with HostileServer(lambda request, _n: good_answer(request)) as server:
        run = worked(planned(server, budget=Ceiling(calls=2)))
        assert run.status == "paused" and len(server.requests) == 2
        raise_budget(run, Ceiling(calls=N))
        run = worked(run)
        assert run.status == "finished" and len(server.requests) == N


@pytest.mark.parametrize(("n", "probe"), [(19, True), (N, False)])
def test_a_short_run_or_one_that_wants_none_is_not_probed(n, probe):
    with HostileServer(lambda request, _n: good_answer(request)) as server:
        run = worked(planned(server, n=n, probe=probe))
    assert run.status == "finished" and "probe" not in run.manifest


def test_every_judge_of_a_panel_is_probed():
    study = make_checklist_study(instructions=N, models=1)
    with HostileServer(lambda request, _n: good_answer(request)) as good, HostileServer(lambda *_: NO_KEY) as bad:
        judges = [create_judge(model=served(study, server, name)) for server, name in ((good, "m"), (bad, "n"))]
        run = worked(plan_run(judge=judges[0], study=study, jurors=(judges[1],)))
        assert run.status == "failed" and "Incorrect API key" in run.message
        assert len(good.requests) <= endpoint_probe.QUESTIONS and len(bad.requests) <= endpoint_probe.QUESTIONS


def test_the_command_probes_unless_told_not_to():
    study = make_checklist_study(instructions=N, models=1)
    with HostileServer(lambda *_: NO_KEY) as server:
        served(study, server)
        with pytest.raises(CommandError, match="Incorrect API key"):
            call_command("judge", study.slug, "--model", "m", "--no-canaries", stdout=io.StringIO())
        with pytest.raises(CommandError, match="Incorrect API key"):
            call_command("judge", study.slug, "--model", "m", "--no-canaries", "--no-probe", stdout=io.StringIO())
    settings = [run.manifest["settings"]["probe"] for run in JudgeRun.objects.order_by("pk")]
    assert settings == [True, False]
