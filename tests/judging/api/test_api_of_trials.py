"""Trials of prompts over the API: priced, begun at an agreed price, read beside people's scores, and stopped."""

import json

import pytest

from generation.execution.monthly_limit import set_limit
from generation.llm.scripted import ScriptedChat
from generation.models import Endpoint, LanguageModel
from judging.judges.making import stock_prompt
from judging.models import Judge, PromptTrial
from judging.trials.queue import work_on_trial
from tests.factories import make_answer, make_rater, make_user, make_workspace
from tests.judging.api.conftest import head

pytestmark = pytest.mark.django_db
SENT = {"method": "checklist", "model": "tried-model", "study": "essays"}
PROMPT = stock_prompt("checklist") + "\nBe strict.\n"


@pytest.fixture
def model(study):
    endpoint = Endpoint.objects.create(
        workspace=study.workspace, name="priced", base_url="http://127.0.0.1:9/v1", input_price=1, output_price=2
    )
    return LanguageModel.objects.create(workspace=study.workspace, name="tried-model", endpoint=endpoint)


@pytest.fixture
def trial(call, model):
    call("post", "start_trial", "lab", sent={**SENT, "prompt": PROMPT}, status=201)
    return PromptTrial.objects.get()


def verdict(_request):
    return json.dumps({f"item{n}": {"reason": f"because {n}", "score": 0.5} for n in range(3)})


def test_a_trial_is_priced_and_nothing_is_stored(call, model):
    price = call("post", "start_trial", "lab", sent={**SENT, "answers": 5, "price_only": True}).json()
    assert (price["answers"], price["most"]["calls"], price["likely"], price["problems"]) == (5, 5, None, [])
    assert float(price["most"]["money"]) > 0 and price["unpriced"] == []
    assert not PromptTrial.objects.exists()


def test_a_trial_is_begun_once_and_read_beside_people(call, study, model):
    key = {"Idempotency-Key": "t"}
    sent = {**SENT, "prompt": PROMPT, "number": 2, "max_tokens": 500}
    made = call("post", "start_trial", "lab", sent=sent, status=201, **key).json()
    assert call("post", "start_trial", "lab", sent=sent, status=201, **key).json() == made
    trial = PromptTrial.objects.get()
    assert (made["id"], made["status"], made["answers"], made["settled"]) == (trial.public_id, "running", 1, 0)
    assert (trial.prompt, trial.number, trial.parameters["max_tokens"]) == (PROMPT, 2, 500)
    assert trial.created_by.username == "lena"
    item = trial.items.get()
    make_answer(item.task, make_rater(study), {f"item{n}": 0.25 for n in range(3)})
    work_on_trial(trial, chat_for=lambda _model: ScriptedChat(verdict))
    state = call("get", "trial", trial.public_id).json()
    assert (state["status"], state["settled"], state["unusable"]) == ("finished", 1, 0)
    (answer,) = call("get", "tried_answers", trial.public_id).json()
    assert (answer["task"], answer["status"], answer["distance"]) == (item.task.public_id, "scored", 0.25)
    assert "because 0" in answer["reply"] and answer["reason"] == ""
    first = answer["criteria"][0]
    assert (first["score"], first["people"], first["raters"], first["difference"]) == (0.5, 0.25, 1, 0.25)
    assert first["reason"] == "because 0" and not Judge.objects.exists()


def test_an_unusable_answer_says_why(call, trial):
    work_on_trial(trial, chat_for=lambda _model: ScriptedChat(lambda _request: "Prose."))
    (answer,) = call("get", "tried_answers", trial.public_id).json()
    assert (answer["status"], answer["reply"], answer["distance"]) == ("unscored", "Prose.", None)
    assert answer["reason"] and call("get", "trial", trial.public_id).json()["unusable"] == 1


def test_answers_of_a_benchmark_are_tried(call, study, model):
    sent = {"method": "checklist", "model": "tried-model", "benchmark": study.benchmark.slug, "answers": 5}
    assert call("post", "start_trial", "lab", sent=sent, status=201).json()["answers"] == 5
    assert PromptTrial.objects.get().source == f"benchmark:{study.benchmark_id}"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"method": "divination"}, "method: "),
        ({"method": "shorter"}, "has no prompt to try"),
        ({"model": "elsewhere"}, "There is no model 'elsewhere'"),
        ({"prompt": "@@ user\n$nonsense"}, "placeholder"),
        ({"parameters": {"stream": True}}, "others: "),
        ({"answers": 3}, "answers: "),
        ({"number": 0}, "number: "),
        ({"study": "nowhere"}, "There is no study 'nowhere'"),
        ({"benchmark": "essays-benchmark"}, "either study or benchmark"),
        ({"study": ""}, "study: "),
        ({"agreed_money": "0.000001"}, "more than agreed_money"),
        ({"agreed_money": "-1"}, "agreed_money: "),
    ],
    ids=str,
)
def test_a_trial_that_cannot_be_is_refused(call, model, change, said):
    refused = call("post", "start_trial", "lab", sent={**SENT, **change}, status=400)
    assert said in refused.json()["detail"] and not PromptTrial.objects.exists()


def test_a_pair_method_has_nothing_to_ask_about(call, study, model):
    sent = {**SENT, "method": "pair_of_three"}
    assert "no answer there" in call("post", "start_trial", "lab", sent=sent, status=400).json()["detail"]
    sent = {"method": "pair_of_three", "model": "tried-model", "benchmark": study.benchmark.slug}
    assert "are single" in call("post", "start_trial", "lab", sent=sent, status=400).json()["detail"]


def test_the_limit_of_the_month_holds(call, study, model):
    set_limit(study.workspace, 0, by=None)
    refused = call("post", "start_trial", "lab", sent=SENT, status=400)
    assert "limit for this month" in refused.json()["detail"] and not PromptTrial.objects.exists()


def test_a_trial_is_stopped_and_stays_so(call, trial):
    for _time in range(2):
        assert call("post", "stop_trial", trial.public_id).json()["status"] == "cancelled"


def test_who_may_do_what(call, client, lead, trial):
    analyst, stranger, rater = make_user("analyst"), make_user("lead", make_workspace("elsewhere")), make_user("rater")
    call("post", "start_trial", "lab", sent=SENT, user=analyst, status=403)
    call("post", "start_trial", "lab", sent=SENT, user=stranger, status=404)
    call("post", "stop_trial", trial.public_id, user=analyst, status=403)
    call("post", "stop_trial", trial.public_id, user=stranger, status=404)
    for name in ("trial", "tried_answers"):
        call("get", name, trial.public_id, user=analyst)
        call("get", name, trial.public_id, user=stranger, status=404)
        call("get", name, trial.public_id, user=rater, status=403)
    read = head(lead, "read", "change")
    assert client.get(f"/api/v1/trials/{trial.public_id}/answers/", headers=read).status_code == 403
    assert client.post("/api/v1/w/lab/trials/", SENT, "application/json", headers=read).status_code == 403
    trial.refresh_from_db()
    assert trial.status == "running"
