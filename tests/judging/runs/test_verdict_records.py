"""The verdicts of a run for programs: an address of the API with the page's filters, and the columns of items.csv."""

import csv
import io
import json

import pytest
from django.core.cache import cache
from django.urls import reverse
from django.utils import timezone

from generation.llm.scripted import ScriptedChat
from generation.models import Endpoint, LanguageModel
from judging.judges.making import create_judge
from judging.runs.life_cycle import start_run
from judging.runs.worker import work_on
from judging.web.runs.files import ITEM_COLUMNS
from tests.factories import make_checklist_study, make_user, make_workspace, plan_run

pytestmark = pytest.mark.django_db
PROSE = "Prose, not JSON."
SCORES = {"essays-1": 0.25, "essays-2": 0.5, "essays-3": 1}


@pytest.fixture(autouse=True)
def _nothing_kept():
    cache.clear()


@pytest.fixture
def run():
    """Instructions 0 to 3: prose, and items of 0.25, 0.5 and 1."""
    study = make_checklist_study(instructions=4, models=1)
    endpoint = Endpoint.objects.create(workspace=study.workspace, name="script", kind="scripted")
    model = LanguageModel.objects.create(workspace=study.workspace, name="scripted", endpoint=endpoint)
    run = plan_run(judge=create_judge(model=model), study=study)
    start_run(run, clock=timezone.now)

    def said(request):
        score = SCORES.get(request.subject["instruction"])
        if score is None:
            return PROSE
        return json.dumps({f"item{n}": {"reason": f"=because {n}", "score": score} for n in range(3)})

    return work_on(run, chat_for=lambda _model: ScriptedChat(said))


@pytest.fixture
def ask(client, run):
    client.force_login(make_user("analyst"))

    def get(status=200, **query):
        answer = client.get(f"/api/v1/runs/{run.public_id}/verdicts/", query)
        assert answer.status_code == status, answer.content
        return answer.json()

    return get


def test_the_api_gives_scores_reasons_and_raw_replies_with_the_pages_filters(ask, run):
    every = ask()
    assert (every["count"], every["next"]) == (4, None)
    by_name = {row["instruction"]: row for row in every["results"]}
    best = by_name["essays-3"]
    assert (best["score"], best["score_of"], best["status"]) == (1.0, "item", "scored")
    assert best["answers"][0] == {"criterion": "item0", "score": 1.0, "reason": "=because 0"}
    assert best["replies"] is None and best["attempts"] == 1
    assert best["model_a"] == "model0" and best["response_b"] is None
    lost = by_name["essays-0"]
    assert (lost["score"], lost["answers"], lost["status"]) == (None, [], "unscored")
    assert lost["attempts"] == 3
    assert [row["score"] for row in ask(show="lowest")["results"]] == [0.25, 0.5, 1.0]
    assert [row["instruction"] for row in ask(show="unusable")["results"]] == ["essays-0"]
    assert ask(show="farthest")["results"] == [] == ask(show="canaries")["results"]
    (found,) = ask(q="-2", raw="1")["results"]
    assert json.loads(found["replies"][0]["text"])["item1"]["score"] == 0.5
    assert [one["text"] for one in ask(show="unusable", raw="1")["results"][0]["replies"]] == [PROSE] * 3


def test_the_api_pages_the_verdicts_in_the_order_of_the_filter(ask):
    first = ask(show="lowest", size=2)
    assert [row["score"] for row in first["results"]] == [0.25, 0.5]
    assert "page=2" in first["next"] and "show=lowest" in first["next"]
    assert [row["score"] for row in ask(show="lowest", size=2, page=2)["results"]] == [1.0]
    ask(404, page=9)
    assert "show must be one of" in ask(400, show="best")["detail"]


def test_strangers_get_no_verdicts(client, run):
    client.force_login(make_user("lead", make_workspace("elsewhere")))
    assert client.get(f"/api/v1/runs/{run.public_id}/verdicts/").status_code == 404


def test_the_file_of_items_ends_with_score_reasons_and_on_request_the_reply(client, run):
    client.force_login(make_user("analyst"))
    address = reverse("judging:run_file", args=[run.public_id, "items.csv"])
    rows = list(csv.reader(io.StringIO(client.get(address).content.decode())))
    assert tuple(rows[0]) == ITEM_COLUMNS
    assert rows[0][-6:] == ["item_a", "item_b", "score", "score_of", "scores", "reasons"]
    assert {len(row) for row in rows} == {len(ITEM_COLUMNS)}
    found = {row["instruction"]: row for row in csv.DictReader(io.StringIO(client.get(address).content.decode()))}
    assert found["essays-1"]["score"] == "0.25" and found["essays-1"]["score_of"] == "item"
    assert json.loads(found["essays-1"]["reasons"]) == {f"item{n}": f"=because {n}" for n in range(3)}
    assert json.loads(found["essays-2"]["scores"]) == dict.fromkeys(("item0", "item1", "item2"), 0.5)
    assert [found["essays-0"][name] for name in ("score", "score_of", "scores", "reasons")] == [""] * 4
    raw = list(csv.DictReader(io.StringIO(client.get(address, {"raw": "1"}).content.decode())))
    assert {row["instruction"]: row["reply"] for row in raw}["essays-0"] == PROSE
    assert list(raw[0]) == [*ITEM_COLUMNS, "reply"]
