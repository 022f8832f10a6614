"""The list of judge runs: what tells runs of one judge apart, cost, unusable verdicts, stored agreement, search."""

import json
from decimal import Decimal

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from accounts.models import Event
from generation.llm.scripted import ScriptedChat
from generation.models import Endpoint, LanguageModel
from judging.comparison.judge_against_people import stored_comparison, weighting_for
from judging.judges.making import create_judge, stock_prompt
from judging.models import JudgeRun, PlannedItem, Reply
from judging.runs.life_cycle import start_run
from judging.runs.worker import work_on
from tests.factories import make_answer, make_checklist_study, make_rater, make_user, make_workspace, plan_run
from tests.markup import markup

pytestmark = pytest.mark.django_db
LIST = reverse("judging:runs")


@pytest.fixture(autouse=True)
def _nothing_kept():
    cache.clear()


@pytest.fixture
def study():
    return make_checklist_study(instructions=4, models=2)


@pytest.fixture
def model(study):
    endpoint = Endpoint.objects.create(workspace=study.workspace, name="far", base_url="http://127.0.0.1:9/v1")
    return LanguageModel.objects.create(workspace=study.workspace, name="asked", endpoint=endpoint)


def finished(judge, study):
    """A run whose answers about the first instruction are prose, and whose other scores follow the instruction."""
    run = plan_run(judge=judge, study=study)
    start_run(run, clock=timezone.now)

    def said(request):
        number = int(request.subject["instruction"][-1])
        if not number:
            return "Prose."
        levels = [0, 0.25, 0.5, 0.75]
        return json.dumps({f"item{n}": {"reason": "so", "score": levels[number]} for n in range(3)})

    return work_on(run, chat_for=lambda _model: ScriptedChat(said))


def texts(page):
    return " ".join(markup(page).split())


def test_runs_are_told_apart_and_searched(client, study, model):
    first = create_judge(model=model)
    second = create_judge(model=model, prompt=stock_prompt("checklist") + "\nBe strict.")
    runs = [plan_run(judge=judge, study=study) for judge in (first, second)]
    client.force_login(make_user("lead"))
    page = texts(client.get(LIST))
    assert f"prompt 1 of 2 ({first.prompt_hash[:8]})" in page and f"prompt 2 of 2 ({second.prompt_hash[:8]})" in page
    label = reverse("judging:label_run", args=[runs[1].public_id])
    assert client.get(label).status_code == 405
    assert client.post(label, {"label": "  strict \n pilot "}).status_code == 302
    assert JudgeRun.objects.get(pk=runs[1].pk).label == "strict pilot"
    assert Event.objects.get(verb="run labelled").after == {"label": "strict pilot"}
    assert "strict pilot" in texts(client.get(LIST)) and "strict pilot" in texts(
        client.get(reverse("judging:run", args=[runs[1].public_id]))
    )
    for words, found in (
        ("PILOT", [runs[1]]),
        (study.slug, runs[::-1]),
        ("nobody", []),
        (runs[0].public_id, [runs[0]]),
    ):
        assert [run.pk for run in client.get(LIST, {"q": words}).context["runs"]] == [run.pk for run in found], words
    assert "No run matches this search." in texts(client.get(LIST, {"q": "nobody"}))
    client.force_login(make_user("analyst"))
    assert client.post(label, {"label": "mine"}).status_code == 403
    client.force_login(make_user("lead", make_workspace("elsewhere")))
    assert client.post(label, {"label": "mine"}).status_code == 404


def test_cost_and_unusable_verdicts_are_listed_and_an_unknown_price_is_no_zero(client, study, model):
    run = finished(create_judge(model=model), study)
    client.force_login(make_user("analyst"))
    (row,) = client.get(LIST).context["rows"]
    assert (row.cost, row.unusable) == (None, 2)
    assert f'href="{reverse("judging:verdicts", args=[run.public_id])}?show=unusable"' in texts(client.get(LIST))
    LanguageModel.objects.update(input_price=0, output_price=0, currency="USD")
    assert client.get(LIST).context["rows"][0].cost == 0
    LanguageModel.objects.update(input_price=Decimal(100), output_price=Decimal(100))
    model.refresh_from_db()
    paid = finished(create_judge(model=model, prompt=stock_prompt("checklist") + "\nMore."), study)
    spent = sum(Reply.objects.filter(item__run=paid).values_list("cost", flat=True))
    row = next(row for row in client.get(LIST).context["rows"] if row.run.pk == paid.pk)
    assert row.cost == pytest.approx(spent) and spent > 0 and row.currency == "USD"


def test_agreement_is_the_stored_reports_and_nothing_is_computed(client, study, model):
    judge = create_judge(model=model)
    finished(judge, study)
    rater = make_rater(study)
    for task in study.tasks.select_related("response_a__instruction"):
        make_answer(task, rater, {"overall": 2 * int(task.response_a.instruction.external_id[-1]), "item0": 1})
    client.force_login(make_user("analyst"))
    assert client.get(LIST).context["rows"][0].agreement is None
    report = stored_comparison(study, judge.rater, weighting_for(study))
    found = client.get(LIST).context["rows"][0].agreement
    assert found.rho == report["correlation"]["spearman"]["value"] == pytest.approx(1)
    JudgeRun.objects.update(believed_canaries=[])
    assert client.get(LIST).context["rows"][0].agreement is None


def test_a_long_list_takes_few_queries(client, study, model):
    judge = create_judge(model=model)
    for _ in range(3):
        plan_run(judge=judge, study=study)
    client.force_login(make_user("lead"))
    with CaptureQueriesContext(connection) as few:
        client.get(LIST)
    JudgeRun.objects.bulk_create([JudgeRun(judge=judge, study=study, status="finished") for _ in range(60)])
    task = study.tasks.first()
    more = JudgeRun.objects.filter(status="finished")
    PlannedItem.objects.bulk_create([PlannedItem(run=run, task=task) for run in more])
    cache.clear()
    with CaptureQueriesContext(connection) as many:
        page = client.get(LIST)
    assert len(page.context["rows"]) == 50 and 'rel="next"' in markup(page)
    assert len(many) <= len(few) + 2 <= 32
