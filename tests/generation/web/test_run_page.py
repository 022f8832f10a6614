"""The page of a generation run that goes on: its budget changed, its figures moved and its forms left alone."""

from types import SimpleNamespace

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.models import Event
from generation.llm.protocol.messages import FAULT
from generation.llm.protocol.prices import Ceiling
from generation.models import Endpoint, LanguageModel, Response
from generation.responses.runs import progress_of
from generation.responses.worker import work_on
from tests.factories import make_user, make_workspace
from tests.generation.hostile_server import HostileServer, streams
from tests.generation.responses.test_sampling import good, make_benchmark, make_model, make_run
from tests.markup import markup

pytestmark = pytest.mark.django_db


@pytest.fixture
def run():
    """Two of four responses are written, at 0.05 each; one failed."""
    workspace = make_workspace()
    endpoint = Endpoint.objects.create(workspace=workspace, name="script", kind="scripted")
    model = LanguageModel.objects.create(workspace=workspace, name="pen", endpoint=endpoint)
    run = make_run(make_benchmark(4), model, budget=Ceiling(calls=5))
    first, second, third, _last = run.items.order_by("position")
    for item in (first, second):
        item.response = Response.objects.create(
            run=run, instruction=item.instruction, model=model, text="A river.", words=2, cost="0.05"
        )
        item.status = "done"
        item.save()
    third.status, third.error = "failed", "no room"
    third.save()
    return run


def page_of(run):
    return reverse("generation:run", args=[run.public_id])


def control(run):
    return reverse("generation:control_run", args=[run.public_id])


BUDGET = {"action": "budget", "budget_calls": "50", "budget_tokens": "", "budget_money": "1.5"}


def test_a_lead_changes_the_budget_while_the_run_goes_on(client, run):
    client.force_login(make_user("lead"))
    assert 'value="budget"' in markup(client.get(page_of(run)))
    client.post(control(run), BUDGET)
    run.refresh_from_db()
    assert (run.status, run.budget_calls, str(run.budget_money)) == ("running", 50, "1.500000")
    client.post(control(run), BUDGET)
    assert Event.objects.filter(verb="generation run budget changed", object_id=run.public_id).count() == 1
    page = markup(client.post(control(run), {"action": "budget", "budget_calls": "0"}, follow=True))
    assert "Enter a number greater than zero" in page
    run.refresh_from_db()
    assert run.budget_calls == 50
    client.post(control(run), {"action": "budget"})
    run.refresh_from_db()
    assert (run.budget_calls, run.budget_money) == (None, None)


@pytest.mark.parametrize(
    ("role", "where", "status"), [("analyst", "lab", 403), ("rater", "lab", 403), ("lead", "elsewhere", 404)]
)
def test_nobody_else_changes_it(client, run, role, where, status):
    client.force_login(make_user(role, make_workspace(where)))
    assert client.post(control(run), BUDGET).status_code == status
    run.refresh_from_db()
    assert run.budget_calls == 5
    if role == "analyst":
        assert 'value="budget"' not in markup(client.get(page_of(run)))


def test_a_stranger_is_asked_to_sign_in(client, run):
    assert client.post(control(run), BUDGET).status_code == 302
    run.refresh_from_db()
    assert run.budget_calls == 5


def test_money_spent_and_expected_stand_there(client, run):
    client.force_login(make_user("analyst"))
    page = markup(client.get(page_of(run)))
    # 0.10 for three of four settled: 0.1333 for all.
    assert "Projected cost" in page
    assert "<dt>Cost</dt><dd>0.1000</dd>" in page and "<dd>0.1333</dd>" in page
    assert 'max="4" value="3"' in page and "75 %" in page


def test_a_part_of_the_page_brings_figures_and_only_a_changed_state_brings_forms(client, run):
    client.force_login(make_user("lead"))
    whole = markup(client.get(page_of(run)))
    seen = whole.partition("?seen=")[2].partition('"')[0]
    part = markup(client.get(page_of(run), {"seen": seen}, headers={"HX-Request": "true"}))
    assert "<html" not in part
    assert 'id="run-progress"' in part and 'id="run-figures" hx-swap-oob="true"' in part
    assert "budget_calls" not in part
    type(run).objects.filter(pk=run.pk).update(status="paused")
    part = markup(client.get(page_of(run), {"seen": seen}, headers={"HX-Request": "true"}))
    assert 'id="run-controls" hx-swap-oob="true"' in part and 'value="resume"' in part


def test_responses_without_a_word_and_tokens_that_nobody_counted_are_said(client):
    def play(request, n):
        return streams("" if "topic 0" in str(request) else "A river ran.", read=0, written=0)

    client.force_login(make_user("lead"))
    with HostileServer(play) as server:
        run = work_on(make_run(make_benchmark(3), make_model(server)))
    assert run.status == "finished"
    progress = progress_of(run, clock=timezone.now)
    assert (progress.done, progress.empty) == (3, 1)
    page = markup(client.get(reverse("generation:run", args=[run.public_id])))
    assert "1 response is empty" in page
    assert "local does not report token counts" in page
    # Another run at the same endpoint, whose tokens were counted, does not say so.
    type(run).objects.update(estimated=False)
    page = markup(client.get(reverse("generation:run", args=[run.public_id])))
    assert "does not report token counts" not in page


def test_a_failure_of_the_program_itself_is_not_laid_at_the_endpoints_door(client, run):
    client.force_login(make_user("lead"))
    message = str(FAULT(kind="KeyError", words="'choices'"))
    type(run).objects.filter(pk=run.pk).update(status="failed", message=message)
    page = markup(client.get(page_of(run)))
    assert "; the run was stopped by an error." in page and "Plumbline itself failed" in page
    assert "endpoint stopped" not in page and "The endpoint&#x27;s words:" not in page


def test_a_run_that_takes_long_to_count_is_counted_less_often(client, monkeypatch):
    client.force_login(make_user("lead"))
    with HostileServer(good) as server:
        run = make_run(make_benchmark(3), make_model(server))
    place = reverse("generation:run", args=[run.public_id])
    for counted_in, pause in ((0.05, 2), (1.5, 30)):
        moments = iter((10.0, 10.0 + counted_in))
        clock = SimpleNamespace(monotonic=lambda moments=moments: next(moments))
        monkeypatch.setattr("generation.responses.runs.time", clock)
        assert f'hx-trigger="every {pause}s"' in markup(client.get(place))
