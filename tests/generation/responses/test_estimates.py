"""What a generation run would cost before it begins, and the prices of models by which it is said and charged."""

import json
import re
from datetime import date
from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import timezone

from generation.endpoints.pricing import price_of
from generation.llm.scripted import ScriptedChat
from generation.models import Endpoint, GenerationRun, LanguageModel, Response
from generation.responses.estimates import estimate_generation
from generation.responses.plan import GenerationRequest
from judging.judges.making import create_judge
from judging.models import Reply
from judging.runs.life_cycle import start_run
from judging.runs.planning.estimates import estimate_run
from judging.runs.planning.request import RunRequest, Target
from judging.runs.worker import work_on
from tests.factories import make_checklist_study, make_user, plan_run
from tests.markup import markup

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return make_checklist_study(instructions=3, models=1)


@pytest.fixture
def endpoint(study):
    return Endpoint.objects.create(workspace=study.workspace, name="somewhere", base_url="http://127.0.0.1:9/v1")


def model_at(endpoint, name="one", **fields):
    return LanguageModel.objects.create(workspace=endpoint.workspace, name=name, endpoint=endpoint, **fields)


PRICED = {"input_price": Decimal(2), "output_price": Decimal(10), "currency": "EUR", "priced_on": date(2026, 5, 4)}


def test_a_models_own_price_comes_before_its_endpoints_and_an_unknown_one_is_not_zero(endpoint):
    model = model_at(endpoint)
    assert not price_of(model).known
    endpoint.input_price = Decimal(3)
    assert price_of(model).known and price_of(model).prices.read == 3 and price_of(model).currency == ""
    own = model_at(endpoint, "own", **PRICED)
    assert (price_of(own).prices.written, price_of(own).currency) == (10, "EUR")
    free = model_at(endpoint, "free", input_price=0, output_price=0, currency="EUR")
    assert price_of(free).known and price_of(free).prices.read == 0
    assert price_of(LanguageModel(workspace=endpoint.workspace, name="nowhere")).known is False


def test_the_longest_and_the_likely_cost_of_a_generation_run(study, endpoint):
    model = model_at(endpoint, **PRICED)
    request = GenerationRequest(study.benchmark, [model], samples=2, parameters={"max_tokens": 1000})
    found = estimate_generation(request)
    assert (found.instructions, found.most.calls, found.usual) == (3, 6, None)
    written = 6 * 1000
    read = found.most.tokens - written
    assert 0 < read < 600
    assert found.most.money == pytest.approx(Decimal(read * 2 + written * 10) / 1_000_000)
    assert (found.unpriced, found.currency) == ([], "EUR")
    run = GenerationRun.objects.create(benchmark=study.benchmark, name="earlier")
    instruction = study.benchmark.instructions.first()
    Response.objects.create(instruction=instruction, model=model, run=run, text="words", tokens=100)
    usual = estimate_generation(request).usual
    assert usual.tokens == read + 600
    unknown = estimate_generation(GenerationRequest(study.benchmark, [model, model_at(endpoint, "two")]))
    assert unknown.unpriced == ["two"] and unknown.usual is None and unknown.most.calls == 6
    assert GenerationRun.objects.count() == 1


def test_the_page_gives_the_estimate_with_the_price_and_starts_nothing(client, study, endpoint):
    model = model_at(endpoint, **PRICED)
    client.force_login(make_user("lead"))
    address = reverse("generation:start_run", args=[study.benchmark])
    asked = {
        "action": "preview",
        "models": [model.pk],
        "samples": 1,
        "experiment": "main",
        "temperature": 0,
        "max_tokens": 1_000_000,
    }
    page = markup(client.post(address, asked, headers={"HX-Request": "true"}))
    assert "3 calls for 3 instructions." in page and "<html" not in page
    assert ">30.00 EUR" in " ".join(page.split()).replace("> ", ">")
    assert "2 EUR per million input tokens, 10 EUR per million output tokens" in page and "2026-05-04" in page
    LanguageModel.objects.update(input_price=None)
    page = markup(client.post(address, asked))
    assert "Nobody has entered what a call to one costs" in page and "unknown" in page and "30.00" not in page
    page = markup(client.post(address, asked, headers={"Accept-Language": "zh-hans"}))
    assert "根据部分指令估算" in page and not re.search(r"。\s+其中", page)
    assert not GenerationRun.objects.exists()


def test_a_judge_run_is_estimated_and_charged_at_the_models_own_price(client, study, endpoint):
    model = model_at(endpoint, "judge", **PRICED)
    judge = create_judge(model=model)
    found = estimate_run(RunRequest(Target(study=study), (judge,)))
    assert found.priced and found.currency == "EUR" and found.most.money > 0
    client.force_login(make_user("lead"))
    address = reverse("judging:start_run", args=[study])
    page = markup(client.post(address, {"action": "preview", "judges": [judge.pk]}))
    assert "EUR" in page and "price unknown" not in page
    run = plan_run(judge=judge, study=study)
    start_run(run, clock=timezone.now)
    verdict = json.dumps({f"item{n}": {"reason": "so", "score": 1} for n in range(3)})
    work_on(run, chat_for=lambda _model: ScriptedChat(lambda _request: verdict))
    reply = Reply.objects.first()
    owed = Decimal(reply.input_tokens * 2 + reply.output_tokens * 10) / 1_000_000
    assert reply.cost == pytest.approx(owed) and owed > 0
    LanguageModel.objects.filter(pk=model.pk).update(input_price=None)
    page = markup(client.post(address, {"action": "preview", "judges": [create_judge(model=model, name="other").pk]}))
    assert "Nobody has entered what a call to judge costs" in page


def test_a_price_is_whole_and_in_the_workspaces_currency(client, study, endpoint):
    model_at(endpoint, **PRICED)
    client.force_login(make_user("lead"))
    address = reverse("generation:new_model")

    def sent(**fields):
        return client.post(address, {"name": "new", "endpoint": endpoint.pk, "parameters": "{}", **fields})

    assert "Enter both prices, or neither." in markup(sent(input_price="1", currency="EUR"))
    assert "Enter the currency of the prices." in markup(sent(input_price="1", output_price="2"))
    wrong = markup(sent(input_price="1", output_price="2", currency="usd"))
    assert "The other prices of this workspace are in EUR." in wrong
    assert "Enter the three letters of a currency" in markup(sent(input_price="1", output_price="2", currency="€"))
    assert sent(input_price="-1", output_price="2", currency="EUR").status_code == 422
    assert sent(input_price="1", output_price="2", currency="eur").status_code == 302
    made = LanguageModel.objects.get(name="new")
    assert (made.currency, made.priced_on, made.output_price) == ("EUR", timezone.localdate(), 2)
    listed = " ".join(markup(client.get(reverse("generation:models"))).split())
    assert "1 in, 2 out EUR" in listed
