"""Self-revealing responses over the API: scanned, listed, masked, kept, dropped; and the history of a study."""

import pytest

from accounts.models import Event
from annotation.assignment.new_slots import make_seats
from annotation.masking.scan import scan_study
from annotation.models import Assignment, Flag, Study, Task
from annotation.studies import self_naming
from core.models import RequestedTask
from generation.models import Response
from tests.api_calls import of, read, send
from tests.factories import make_checklist_study, make_rater, make_user, make_workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    """Three tasks with slots, of which the first has a response that names its model."""
    study = make_checklist_study(instructions=3, models=1)
    first = study.tasks.order_by("pk")[0].response_a
    first.text = "Of course. I am Claude, and here are **some words** about it."
    first.save()
    make_seats(study)
    return study


@pytest.fixture
def lead(study):
    return make_user("lead", study.workspace, username="lena")


def test_who_may(client, study, lead):
    scan_study(study)
    elsewhere = make_user("owner", make_workspace("elsewhere"), username="else")
    analyst, rater = (make_user(role, study.workspace) for role in ("analyst", "rater"))
    calls = [
        ("self_naming", "put", {"decision": "mask"}),
        ("scan_self_naming", "post", {}),
        ("drop_self_naming", "post", {"all": True}),
    ]
    for name, method, sent in calls:
        for user, status in ((elsewhere, 404), (analyst, 403), (rater, 403)):
            assert send(client, user, name, *of(study), method=method, sent=sent).status_code == status, (name, user)
        narrow = send(client, lead, name, *of(study), method=method, sent=sent, scopes=["read", "ratings", "run"])
        assert narrow.status_code == 403
    for name, reading in (("self_naming", 200), ("self_naming_tasks", 200), ("history", 403)):
        for user, status in ((elsewhere, 404), (analyst, reading), (rater, 403)):
            assert send(client, user, name, *of(study), method="get").status_code == status, (name, user)
    narrow = send(client, lead, "history", *of(study), method="get", scopes=["read", "change"])
    assert narrow.status_code == 403
    assert not Event.objects.filter(object_type__in=("study", "task")).exists() and study.tasks.count() == 3


def test_responses_are_scanned_and_listed(client, study, lead):
    assert read(client, lead, "self_naming", *of(study)) == {
        "decision": "undecided",
        "scanned_at": None,
        "found": 0,
        "undecided": 0,
    }
    for _again in range(2):
        answer = send(client, lead, "scan_self_naming", *of(study))
        assert answer.status_code == 200 and answer.json() == {"scanned": True, "found": 1}
    said = read(client, lead, "self_naming", *of(study))
    assert said["scanned_at"] and said["undecided"] == 1
    (found,) = read(client, lead, "self_naming_tasks", *of(study))["results"]
    task = study.tasks.order_by("pk").first()
    assert found == {
        "task": task.public_id,
        "instruction": "essays-0",
        "response": task.response_a.public_id,
        "model": "model0",
        "words": "Claude",
        "excerpt": "Of course. I am Claude, and here are **some words** about it.",
        "dropped": False,
    }
    Response.objects.filter(pk=task.response_a_id).update(text="It was mended.")
    (mended,) = read(client, lead, "self_naming_tasks", *of(study))["results"]
    assert mended["words"] is None and mended["response"] is None


def test_a_draft_is_scanned_and_its_tasks_are_drawn(client, study, lead):
    study.tasks.all().delete()
    Study.objects.update(status="draft")
    assert send(client, lead, "scan_self_naming", *of(study)).json() == {"scanned": True, "found": 1}
    dropped = send(client, lead, "drop_self_naming", *of(study), sent={"all": True})
    assert dropped.json() == {"dropped": 1, "stay": 0} and Task.objects.count() == 2


def test_a_large_study_is_scanned_by_a_worker(client, study, lead, monkeypatch, django_capture_on_commit_callbacks):
    monkeypatch.setattr(self_naming, "MOST_TASKS_HERE", 1)
    with django_capture_on_commit_callbacks(execute=True):
        answer = send(client, lead, "scan_self_naming", *of(study))
    assert answer.status_code == 202 and answer.json() == {"scanned": False, "found": 0}
    assert RequestedTask.objects.get(task="annotation.scan_self_naming").arguments == [study.pk]
    assert not Flag.objects.exists()


def test_words_are_masked_kept_or_left_open(client, study, lead):
    scan_study(study)
    first = send(client, lead, "self_naming", *of(study), method="get")

    def decide(decision, **headers):
        return send(client, lead, "self_naming", *of(study), method="put", sent={"decision": decision}, **headers)

    masked = decide("mask", **{"If-Match": first["ETag"]}).json()
    assert (masked["decision"], masked["undecided"]) == ("mask", 0)
    assert decide("keep", **{"If-Match": first["ETag"]}).status_code == 412
    assert decide("keep").json()["decision"] == "keep"
    assert decide("undecided").json() == first.json()
    assert decide("undecided").json() == first.json()
    assert Event.objects.filter(verb="mask_response", actor=lead).count() == 3
    refused = decide("burn")
    assert refused.status_code == 400 and refused.json()["detail"].startswith("decision: ")


def test_tasks_are_dropped_that_nobody_was_given(client, study, lead):
    Response.objects.update(text="I am Claude, and glad of it.")
    scan_study(study)
    first, second, third = study.tasks.order_by("pk")
    Assignment.objects.create(task=first, rater=make_rater(study))
    some = send(client, lead, "drop_self_naming", *of(study), sent={"tasks": [second.public_id, "none"]})
    assert some.json() == {"dropped": 1, "stay": 0}
    everything = send(client, lead, "drop_self_naming", *of(study), sent={"all": True})
    assert everything.json()["stay"] == 1
    listed = read(client, lead, "self_naming_tasks", *of(study))["results"]
    assert {one["task"]: one["dropped"] for one in listed} == {
        first.public_id: False,
        second.public_id: True,
        third.public_id: True,
    }
    for sent in ({}, {"tasks": []}, {"tasks": [first.public_id], "all": True}, {"all": "x"}, {"tasks": 3}):
        assert send(client, lead, "drop_self_naming", *of(study), sent=sent).status_code == 400, sent


def test_the_history_says_who_did_what(client, study, lead):
    rater = make_rater(study, label="ann")
    send(client, lead, "steer_rater", *of(study, rater.public_id, "pause"), sent={"message": "Wait."})
    send(client, lead, "steer_study", *of(study, "close"))
    found = read(client, lead, "history", *of(study))["results"]
    assert [(one["by"], one["what"], one["about"]) for one in found] == [
        ("lena", "paused a rater", "ann"),
        ("lena", "closed the study", ""),
    ]
    assert found[1]["changes"] == [{"name": "status", "before": "open", "after": "closed"}]
    page = read(client, lead, "history", *of(study), query="?size=1")
    assert page["results"] == found[:1] and page["next"]
