"""A run over the API beside its steering: name, budget, reviews, checks, files, single verdicts, and another run beside."""

import json

import pytest
from django.core.cache import cache
from django.utils import timezone

from accounts.models import Event
from annotation.models import Study
from generation.llm.scripted import ScriptedChat
from judging.judges.making import create_judge
from judging.runs.life_cycle import start_run
from judging.runs.worker import work_on
from tests.factories import make_answer, make_rater, make_user, make_workspace, plan_run
from tests.judging.api.conftest import head

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_kept():
    cache.clear()


def judged(study, model, scores, prompt_end=""):
    """A run in which each instruction gets its score on every item; one without gets prose."""
    judge = create_judge(model=model, parameters={"top_p": 0.5 + 0.1 * len(prompt_end)}, name=f"judge{prompt_end}")
    run = plan_run(judge=judge, study=study)
    start_run(run, clock=timezone.now)

    def said(request):
        score = scores.get(request.subject["instruction"])
        if score is None:
            return "Prose."
        return json.dumps({f"item{n}": {"reason": f"because {n}", "score": score} for n in range(3)})

    return work_on(run, chat_for=lambda _model: ScriptedChat(said))


@pytest.fixture
def run(study, model):
    return judged(study, model, {"essays-1": 0.25, "essays-2": 0.5, "essays-3": 1})


def item_of(run, instruction):
    return run.items.filter(task__response_a__instruction__external_id=instruction).order_by("pk").first()


WRITES = [
    ("post", "label_run", {"label": "x"}),
    ("put", "run_budget", {"budget_calls": 5, "budget_tokens": None, "budget_money": None}),
    ("post", "reviews", {"sample": 2}),
    ("post", "drawn_checks", {"sample": 2}),
]


@pytest.mark.parametrize(("method", "name", "sent"), WRITES, ids=[name for _method, name, _sent in WRITES])
def test_only_who_leads_changes_a_run(call, run, method, name, sent):
    analyst, stranger = make_user("analyst"), make_user("lead", make_workspace("elsewhere"))
    call(method, name, run.public_id, sent=sent, user=analyst, status=403)
    call(method, name, run.public_id, sent=sent, user=stranger, status=404)
    call(method, name, run.public_id, sent=sent, user=make_user("rater"), status=403)
    run.refresh_from_db()
    assert (run.label, run.budget_calls) == ("", None) and Study.objects.count() == 1


READS = [
    ("run_budget", ()),
    ("reviews", ()),
    ("drawn_checks", ()),
    ("compare_runs", ()),
    ("compared_verdicts", ()),
    ("run_file", ("report.json",)),
    ("run_items", ()),
]


@pytest.mark.parametrize(("name", "parts"), READS, ids=[name for name, _parts in READS])
def test_nothing_of_a_run_is_read_elsewhere(call, run, name, parts):
    call("get", name, run.public_id, *parts, user=make_user("lead", make_workspace("elsewhere")), status=404)
    call("get", name, run.public_id, *parts, user=make_user("rater"), status=403)


def test_a_run_is_given_a_name_and_loses_it(call, run):
    assert call("post", "label_run", run.public_id, sent={"label": "  the  new prompt "}).json()["label"] == (
        "the new prompt"
    )
    assert call("get", "run", run.public_id).json()["label"] == "the new prompt"
    assert Event.objects.get(verb="run labelled").after == {"label": "the new prompt"}
    assert call("post", "label_run", run.public_id, sent={"label": ""}).json()["label"] == ""
    refused = call("post", "label_run", run.public_id, sent={"label": "x" * 81}, status=400)
    assert refused.json()["detail"].startswith("label: ")
    call("post", "label_run", run.public_id, status=400)


def test_a_budget_is_read_and_set_only_as_it_was_read(call, client, lead, run):
    read = call("get", "run_budget", run.public_id)
    assert read.json() == {"budget_calls": None, "budget_tokens": None, "budget_money": None}
    sent = {"budget_calls": 7, "budget_tokens": None, "budget_money": "1.5"}
    put = call("put", "run_budget", run.public_id, sent=sent, **{"If-Match": read["ETag"]})
    assert put.json() == {"budget_calls": 7, "budget_tokens": None, "budget_money": "1.500000"}
    call("put", "run_budget", run.public_id, sent=sent, status=412, **{"If-Match": read["ETag"]})
    assert Event.objects.filter(verb__contains="budget changed").count() == 1
    for bad in ({"budget_calls": 0}, {"budget_money": "-1"}, {"budget_money": "0"}, {"budget_tokens": "many"}):
        refused = call("put", "run_budget", run.public_id, sent={**sent, **bad}, status=400)
        assert refused.json()["detail"].startswith(f"{next(iter(bad))}: ")
    call("put", "run_budget", run.public_id, sent={"budget_calls": 3}, status=400)
    run.refresh_from_db()
    assert run.budget_calls == 7
    path = f"/api/v1/runs/{run.public_id}/budget/"
    assert client.put(path, sent, "application/json", headers=head(lead, "read", "change")).status_code == 403


def test_unusable_verdicts_are_asked_again(call, run):
    assert (run.status, run.items.filter(status="unscored").count()) == ("finished", 2)
    state = call("post", "steer_run", run.public_id, "retry").json()
    assert (state["status"], state["progress"]["unscored"], state["progress"]["waiting"]) == ("running", 0, 2)
    call("post", "steer_run", run.public_id, "cancel")
    assert "cancelled" in call("post", "steer_run", run.public_id, "retry", status=400).json()["detail"]


def test_a_review_is_made_once_and_listed(call, run):
    assert call("get", "reviews", run.public_id).json() == []
    sent, key = {"sample": 4, "reviewers": 2}, {"Idempotency-Key": "one"}
    made = call("post", "reviews", run.public_id, sent=sent, status=201, **key).json()
    assert call("post", "reviews", run.public_id, sent=sent, status=201, **key).json() == made
    review = Study.objects.get(kind="review")
    assert (made["slug"], made["status"], review.tasks.count()) == (review.slug, "open", 4)
    assert call("get", "reviews", run.public_id).json() == [made]
    for bad in ({"sample": 0}, {"reviewers": 51}, {"sample": 5001}):
        call("post", "reviews", run.public_id, sent=bad, status=400)


def test_a_run_without_verdicts_has_nothing_to_review(call, study, model):
    run = plan_run(judge=create_judge(model=model), study=study)
    refused = call("post", "reviews", run.public_id, sent={"sample": 4}, status=400)
    assert "no verdicts yet" in refused.json()["detail"] and not Study.objects.filter(kind="review").exists()


def test_checks_are_drawn_only_of_a_study_of_checks(call, run):
    assert call("get", "drawn_checks", run.public_id).json() == []
    assert "no instruction checks" in call("post", "drawn_checks", run.public_id, status=400).json()["detail"]
    call("post", "drawn_checks", run.public_id, sent={"raters": 0}, status=400)


def test_one_verdict_has_texts_replies_and_peoples_answers(call, client, lead, study, run):
    item = item_of(run, "essays-3")
    rater = make_rater(study, pseudonym="Heron")
    make_answer(item.task, rater, {"item0": 0, "item1": 0.25, "item2": 0.5})
    found = call("get", "verdict", run.public_id, item.pk).json()
    assert (found["item"], found["score"], found["people_mean"]) == (item.pk, 1.0, 0.25)
    assert found["instruction_text"] == "Write about topic 3." and found["text_a"].startswith("# Topic 3")
    assert found["text_b"] is None and "because 0" in found["replies"][0]["text"]
    assert found["people"] == [
        {
            "rater": rater.public_id,
            "answers": [
                {"criterion": f"item{n}", "score": score, "reason": ""} for n, score in enumerate((0.0, 0.25, 0.5))
            ],
        }
    ]
    unusable = call("get", "verdict", run.public_id, item_of(run, "essays-0").pk).json()
    assert (unusable["status"], unusable["answers"], unusable["people"]) == ("unscored", [], [])
    call("get", "verdict", run.public_id, 10**9, status=404)
    path = f"/api/v1/runs/{run.public_id}/verdicts/{item.pk}/"
    assert client.get(path, headers=head(lead, "read")).status_code == 403
    call("get", "verdict", run.public_id, item.pk, user=make_user("lead", make_workspace("elsewhere")), status=404)


def test_two_runs_stand_side_by_side(call, study, model, run):
    other = judged(study, model, {"essays-1": 0.5, "essays-2": 0.5, "essays-3": 0.75}, "2")
    asked = {"with_run": other.public_id}
    found = call("get", "compare_runs", run.public_id, sent=asked).json()
    assert found["counts"] == {"moved": 4, "higher": 2, "lower": 2, "turned": 0, "all": 6}
    assert (found["mean_change"]["value"], found["mean_change"]["n"], found["discredited"]) == (0, 6, [])
    moved = call("get", "compared_verdicts", run.public_id, sent=asked).json()
    assert (moved["count"], len(moved["results"]), moved["next"]) == (4, 4, None)
    assert (moved["results"][0]["score_of"], abs(moved["results"][0]["change"])) == ("item", 0.25)
    lower = call("get", "compared_verdicts", run.public_id, sent={**asked, "show": "lower", "size": 1}).json()
    assert (lower["count"], lower["results"][0]["instruction"], lower["results"][0]["after"]) == (2, "essays-3", 0.75)
    assert "page=2" in lower["next"]
    for bad in ({}, {"with_run": "nothing"}, {"with_run": run.public_id}):
        call("get", "compare_runs", run.public_id, sent=bad, status=400)
        call("get", "compared_verdicts", run.public_id, sent=bad, status=400)
    call("get", "compared_verdicts", run.public_id, sent={**asked, "show": "best"}, status=400)


def test_the_files_of_a_run_are_read(call, run):
    report = call("get", "run_file", run.public_id, "report.json").json()
    assert report["items"] == {"total": 8, "scored": 6, "unscored": 2, "waiting": 0}
    assert call("get", "run_file", run.public_id, "manifest.json").json()["run"] == run.public_id
    rows = call("get", "run_items", run.public_id).content.decode().splitlines()
    raw = call("get", "run_items", run.public_id, sent={"raw": "1"}).content.decode()
    assert len(rows) == 9 and rows[0].startswith("position,") and raw.splitlines()[0] == rows[0] + ",reply"
    for name in ("secrets.txt", "items.csv"):
        call("get", "run_file", run.public_id, name, status=404)
