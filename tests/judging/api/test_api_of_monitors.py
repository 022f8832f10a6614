"""Drift monitors over the API: made, read with their rounds, steered, and given a new baseline."""

import pytest
from django.urls import reverse

from accounts.models import Event
from judging.models import DriftBaseline, JudgeRun, Watch
from tests.factories import make_checklist_study, make_user, make_workspace
from tests.judging.api.conftest import head
from tests.judging.monitoring.test_watches import harsher, make_judge, ran, steady, watch_of
from tests.page_files import check_files

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return make_checklist_study(instructions=12, models=2)


@pytest.fixture
def watch(study):
    return watch_of(study, make_judge(study))


def test_a_monitor_is_made_and_listed(call, study):
    judge = make_judge(study)
    sent = {"study": study.slug, "judge": judge.rater.label, "tasks": 6, "every_hours": 12, "budget_money": "2.5"}
    key = {"Idempotency-Key": "m"}
    made = call("post", "make_monitor", "lab", sent=sent, status=201, **key).json()
    assert call("post", "make_monitor", "lab", sent=sent, status=201, **key).json() == made
    watch = Watch.objects.get()
    assert (made["id"], made["tasks"], made["every_hours"], made["budget_money"]) == (
        watch.public_id,
        6,
        12,
        "2.500000",
    )
    assert (made["active"], made["changed"], made["unfinished"], watch.created_by.username) == (
        True,
        False,
        None,
        "lena",
    )
    assert call("get", "monitors").json()["results"] == [made]
    assert (
        "watched on study essays already" in call("post", "make_monitor", "lab", sent=sent, status=400).json()["detail"]
    )
    assert Watch.objects.count() == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"study": "elsewhere"}, "no study that has tasks is called 'elsewhere'"),
        ({"judge": "nobody"}, "There is no judge 'nobody'"),
        ({"tasks": 1}, "tasks: "),
        ({"every_hours": 0}, "every_hours: "),
        ({"every_hours": 9999}, "every_hours: "),
        ({"budget_money": "-1"}, "budget_money: "),
        ({"seed": -1}, "seed: "),
        ({"study": ""}, "study: "),
    ],
    ids=str,
)
def test_a_monitor_that_cannot_be_is_refused(call, study, change, said):
    sent = {"study": study.slug, "judge": make_judge(study).rater.label, **change}
    assert said in call("post", "make_monitor", "lab", sent=sent, status=400).json()["detail"]
    assert not Watch.objects.exists()


def test_only_who_leads_changes_a_monitor(call, client, lead, study, watch):
    analyst, stranger = make_user("analyst"), make_user("lead", make_workspace("elsewhere"))
    for method, name, parts, sent in (
        ("patch", "monitor", [], {"every_hours": 5}),
        ("post", "steer_monitor", ["pause"], {}),
        ("post", "steer_monitor", ["run"], {}),
        ("post", "set_baseline", [], {"run": "x"}),
    ):
        call(method, name, watch.public_id, *parts, sent=sent, user=analyst, status=403)
        call(method, name, watch.public_id, *parts, sent=sent, user=stranger, status=404)
    call("post", "make_monitor", "lab", user=analyst, status=403)
    call("post", "make_monitor", "lab", user=stranger, status=404)
    assert call("get", "monitors", user=stranger).json()["results"] == []
    for name in ("monitor", "monitored_verdicts"):
        call("get", name, watch.public_id, user=stranger, status=404)
        call("get", name, watch.public_id, user=make_user("rater"), status=403)
    change = head(lead, "read", "change")
    for verb, status in (("pause", 200), ("resume", 403), ("run", 403)):
        path = f"/api/v1/monitors/{watch.public_id}/{verb}/"
        assert client.post(path, {}, "application/json", headers=change).status_code == status
    watch.refresh_from_db()
    assert not watch.active and watch.every_hours != 5 and not JudgeRun.objects.exists()


def test_the_rounds_of_a_monitor_are_read(call, watch):
    first, _ = ran(watch, steady)
    state = call("get", "monitor", watch.public_id).json()
    assert (state["baseline"], len(state["rounds"]), state["changed"], state["others"]) == (1, 1, False, [])
    assert call("get", "monitored_verdicts", watch.public_id).json()["results"] == []
    second, _ = ran(watch, harsher)
    state = call("get", "monitor", watch.public_id).json()
    one, two = state["rounds"]
    assert (one["run"], one["flagged"], one["changes"]) == (first.public_id, False, {})
    assert (two["run"], two["flagged"], two["baseline"], two["agreement_with_people"]) == (
        second.public_id,
        True,
        1,
        None,
    )
    score = two["changes"]["score"]
    assert score["flagged"] and score["p"] < score["alpha"] and score["value"] < 0
    assert two["score"]["value"] == pytest.approx(one["score"]["value"] + score["value"])
    assert state["changed"] is True
    moved = call("get", "monitored_verdicts", watch.public_id, sent={"size": 2}).json()
    assert moved["count"] > 2 and len(moved["results"]) == 2 and "page=2" in moved["next"]
    row = moved["results"][0]
    assert row["share"] < 0 and row["after"] < row["before"]
    assert second.items.filter(pk=row["item_after"]).exists() and first.items.filter(pk=row["item_before"]).exists()


def test_the_figures_of_a_monitor_are_files(call, client, lead, watch):
    ran(watch, steady)
    ran(watch, harsher)
    client.force_login(lead)
    address = reverse("api:monitor", args=[watch.public_id])
    assert "scores.svg" in check_files(client, address, reverse("judging:watch", args=[watch.public_id]))


def test_terms_are_changed_as_they_were_read(call, watch):
    read = call("get", "monitor", watch.public_id)
    changed = call("patch", "monitor", watch.public_id, sent={"every_hours": 5}, **{"If-Match": read["ETag"]}).json()
    assert (changed["every_hours"], changed["budget_money"]) == (5, None)
    call("patch", "monitor", watch.public_id, sent={"every_hours": 6}, status=412, **{"If-Match": read["ETag"]})
    call("patch", "monitor", watch.public_id, sent={"budget_money": "1"})
    watch.refresh_from_db()
    assert (watch.every_hours, watch.budget_money) == (5, 1)
    assert call("patch", "monitor", watch.public_id, sent={"budget_money": None}).json()["budget_money"] is None
    for bad in ({"every_hours": 0}, {"every_hours": None}, {"budget_money": "x"}):
        call("patch", "monitor", watch.public_id, sent=bad, status=400)
    assert Event.objects.filter(verb="watch changed").count() == 3


def test_a_monitor_is_paused_resumed_and_asked_now(call, watch):
    assert call("post", "steer_monitor", watch.public_id, "pause").json()["active"] is False
    assert call("post", "steer_monitor", watch.public_id, "pause").json()["active"] is False
    assert call("post", "steer_monitor", watch.public_id, "resume").json()["active"] is True
    told = Event.objects.filter(verb__in=("watch paused", "watch resumed")).order_by("pk")
    assert list(told.values_list("verb", flat=True)) == ["watch paused", "watch resumed"]
    key = {"Idempotency-Key": "now"}
    state = call("post", "steer_monitor", watch.public_id, "run", **key).json()
    assert call("post", "steer_monitor", watch.public_id, "run", **key).json() == state
    run = JudgeRun.objects.get()
    assert state["others"] == [{"run": run.public_id, "status": "running", "message": ""}]
    assert (state["unfinished"], run.created_by.username) == (run.public_id, "lena")
    assert "is going on" in call("post", "steer_monitor", watch.public_id, "run", status=400).json()["detail"]
    assert JudgeRun.objects.count() == 1


def test_the_latest_round_that_changed_becomes_the_baseline(call, watch):
    first, _ = ran(watch, steady)
    assert (
        "found no change"
        in (call("post", "set_baseline", watch.public_id, sent={"run": first.public_id}, status=400).json()["detail"])
    )
    second, _ = ran(watch, harsher)
    call("post", "set_baseline", watch.public_id, sent={"run": first.public_id}, status=400)
    call("post", "set_baseline", watch.public_id, sent={"run": "nothing"}, status=400)
    call("post", "set_baseline", watch.public_id, status=400)
    for _time in range(2):
        state = call("post", "set_baseline", watch.public_id, sent={"run": second.public_id}).json()
        assert (state["baseline"], state["changed"]) == (2, False)
    assert DriftBaseline.objects.get().created_by.username == "lena"
