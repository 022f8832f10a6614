"""Prompts over the API: what a version of a prompt, a judge, or an item of a run asks, which is what is then sent."""

import json

import pytest
from django.utils import timezone

from generation.llm.scripted import ScriptedChat
from generation.models import Endpoint, Instruction, LanguageModel, Response
from judging.judges.making import create_judge, create_rule_judge, stock_prompt
from judging.methods.prompts import estimated_tokens
from judging.models import Judge, PromptTrial
from judging.runs.life_cycle import start_run
from judging.runs.worker import work_on
from judging.trials.queue import work_on_trial
from tests.factories import make_user, make_workspace, plan_run
from tests.judging.api.conftest import head
from tests.screen_studies import make_pair_study

pytestmark = pytest.mark.django_db
PROMPT = stock_prompt("checklist") + "\nBe strict.\n"
SENT = {"method": "checklist", "model": "scripted", "study": "essays"}


def verdict(_request):
    return json.dumps({f"item{n}": {"reason": f"because {n}", "score": 0.5} for n in range(3)})


class Kept:
    """A script that keeps what it is asked."""

    def __init__(self):
        self.asked = []

    def __call__(self, request):
        self.asked.append(request)
        return verdict(request)

    def chat_for(self, _model):
        return ScriptedChat(self)


def same(shown, request):
    """Whether a preview has the messages and parameters of a request."""
    messages = [dict(message) for message in request.messages]
    schema = request.schema if request.structured else None
    return (shown["messages"], shown["parameters"], shown["schema"]) == (messages, dict(request.parameters), schema)


def test_a_version_of_a_prompt_is_shown_as_a_trial_then_sends_it(call, study, model):
    sent = {**SENT, "prompt": PROMPT, "number": 3, "max_tokens": 500}
    shown = call("post", "preview_prompt", "lab", sent=sent).json()
    assert (shown["number"], shown["of"], shown["problem"]) == (3, 8, "")
    said = "".join(message["content"] for message in shown["messages"])
    assert "Be strict." in said and "Write about topic 1." in said and "model0" not in said
    assert shown["about"] == "essays-1 · model0" and shown["parameters"]["max_tokens"] == 500
    assert shown["tokens"] == sum(estimated_tokens(message["content"]) for message in shown["messages"]) > 0
    assert not PromptTrial.objects.exists() and not Judge.objects.exists()
    call("post", "start_trial", "lab", sent=sent, status=201)
    script = Kept()
    work_on_trial(PromptTrial.objects.get(), chat_for=script.chat_for)
    assert same(shown, script.asked[0])


def test_the_stock_prompt_and_a_benchmark_are_taken_and_numbers_begin_again(call, study, model):
    sent = {"method": "checklist", "model": "scripted", "benchmark": study.benchmark.slug, "number": 9}
    shown = call("post", "preview_prompt", "lab", sent=sent).json()
    assert (shown["number"], shown["of"]) == (1, 8) and shown["messages"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"method": "divination"}, "method: "),
        ({"method": "shorter"}, "has no prompt to try"),
        ({"method": "pair_of_three"}, "no answer there"),
        ({"model": "elsewhere"}, "There is no model 'elsewhere'"),
        ({"prompt": "@@ user\n$nonsense"}, "placeholder"),
        ({"prompt": "x" * 1_000_000}, "prompt: "),
        ({"parameters": {"stream": True}}, "others: "),
        ({"number": 0}, "number: "),
        ({"study": "nowhere"}, "There is no study 'nowhere'"),
        ({"benchmark": "essays-benchmark"}, "either study or benchmark"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_prompt_that_cannot_be_is_refused(call, study, model, change, said):
    assert said in call("post", "preview_prompt", "lab", sent={**SENT, **change}, status=400).json()["detail"]


def test_an_answer_that_cannot_be_judged_says_why_and_costs_nothing(call, study, model):
    Response.objects.update(text=" ")
    shown = call("post", "preview_prompt", "lab", sent=SENT).json()
    assert shown["problem"] and (shown["messages"], shown["tokens"], shown["schema"]) == ([], 0, None)
    judge = create_judge(model=model, method="checklist")
    asked = call("get", "judge_prompt", judge.rater.public_id, sent={"study": study.slug}).json()
    assert asked == shown


def test_a_judge_and_a_run_ask_what_their_prompts_say(call, study, model):
    for response in Response.objects.all():
        response.text = f"{response.text} By number {response.pk}."
        response.save()
    judge = create_judge(model=model, method="checklist", prompt=PROMPT)
    run = plan_run(judge=judge, study=study, canaries=False)
    items = list(run.items.order_by("position"))
    shown = {item.pk: call("get", "run_prompt", run.public_id, item.pk).json() for item in items}
    assert len(shown) == 8 and set(shown[items[0].pk]) == {
        "about",
        "messages",
        "parameters",
        "schema",
        "tokens",
        "problem",
    }
    script = Kept()
    start_run(run, clock=timezone.now)
    work_on(run, chat_for=script.chat_for)
    assert len(script.asked) == 8
    for request in script.asked:
        assert sum(same(one, request) for one in shown.values()) == 1
    after = call("get", "run_prompt", run.public_id, items[0].pk).json()
    assert after == shown[items[0].pk]
    place = {"study": study.slug, "number": 2}
    of_judge = call("get", "judge_prompt", judge.rater.public_id, sent=place).json()
    tasks = list(study.tasks.order_by("position", "pk"))
    (item,) = [one for one in items if one.task_id == tasks[1].pk]
    assert (of_judge["number"], of_judge["of"]) == (2, 8)
    assert {name: of_judge[name] for name in shown[item.pk]} == shown[item.pk]


@pytest.fixture
def with_references(model):
    """A study of pairs, and a judge of them whose references a model wrote."""
    pairs = make_pair_study("three")
    writer = LanguageModel.objects.create(workspace=pairs.workspace, name="writer")
    for instruction in Instruction.objects.filter(benchmark=pairs.benchmark):
        Response.objects.create(instruction=instruction, model=writer, text=f"Reference {instruction.external_id}.")
    method = "pair_of_three_reference"
    return pairs, create_judge(model=model, method=method, parameters={"reference_from": "writer"})


def test_references_that_a_model_wrote_are_in_the_prompt_that_is_shown(call, with_references):
    pairs, judge = with_references
    shown = call("get", "judge_prompt", judge.rater.public_id, sent={"study": pairs.slug}).json()
    assert "Reference pairs-0." in str(shown["messages"]) and "reference_from" not in shown["parameters"]


def test_the_page_shows_the_reference_that_is_sent_too(client, lead, model, with_references):
    pairs, judge = with_references
    client.force_login(lead)
    form = {
        "workspace": pairs.workspace_id,
        "model": model.pk,
        "prompt": judge.prompt,
        "others": json.dumps({"reference_from": "writer"}),
        "source": f"study:{pairs.pk}",
        "number": 1,
        "action": "preview",
        "temperature": 0,
    }
    page = client.post("/library/judges/new/?method=pair_of_three_reference", form).content.decode()
    assert "Reference pairs-0." in page


def test_an_item_of_a_panel_is_asked_as_its_juror(call, study, model):
    other = LanguageModel.objects.create(workspace=study.workspace, name="second", endpoint=model.endpoint)
    first, second = create_judge(model=model), create_judge(model=other, prompt=PROMPT)
    run = plan_run(judge=first, jurors=(second,), study=study, combine="mean", canaries=False)
    said = {
        juror: call("get", "run_prompt", run.public_id, run.items.filter(juror=juror).first().pk).json()
        for juror in (0, 1)
    }
    assert "Be strict." in str(said[1]["messages"]) and "Be strict." not in str(said[0]["messages"])


def test_a_judge_without_a_prompt_or_an_endpoint_says_so(call, study, model):
    rule = create_rule_judge(workspace=study.workspace, method="shorter")
    refused = call("get", "judge_prompt", rule.rater.public_id, sent={"study": study.slug}, status=400)
    assert "sends no prompt" in refused.json()["detail"]
    judge = create_judge(model=model)
    LanguageModel.objects.filter(pk=model.pk).update(endpoint=None)
    refused = call("get", "judge_prompt", judge.rater.public_id, sent={"study": study.slug}, status=400)
    assert "scripted" in refused.json()["detail"]
    LanguageModel.objects.filter(pk=model.pk).update(endpoint=Endpoint.objects.get())
    for place, said in (
        ({}, "either study or benchmark"),
        ({"study": "x"}, "no study 'x'"),
        ({"number": "y"}, "number"),
    ):
        refused = call("get", "judge_prompt", judge.rater.public_id, sent=place, status=400)
        assert said in refused.json()["detail"]


def test_only_those_who_may_read_see_prompts(call, client, study, lead, model):
    judge = create_judge(model=model)
    run = plan_run(judge=judge, study=study)
    item = run.items.first().pk
    calls = [
        ("post", "preview_prompt", ["lab"], SENT),
        ("get", "judge_prompt", [judge.rater.public_id], {"study": study.slug}),
        ("get", "run_prompt", [run.public_id, item], {}),
    ]
    analyst, rater = (make_user(role, study.workspace) for role in ("analyst", "rater"))
    stranger = make_user("lead", make_workspace("elsewhere"), username="else")
    for method, name, parts, sent in calls:
        for user, status in ((analyst, 200), (rater, 403), (stranger, 404)):
            call(method, name, *parts, sent=sent, user=user, status=status)
    call("get", "run_prompt", run.public_id, item + 10**6, status=404)
    narrow = head(lead, "ratings", "change", "run")
    path = f"/api/v1/runs/{run.public_id}/verdicts/{item}/prompt/"
    assert client.get(path, headers=narrow).status_code == 403
