"""A study conducted over the API: disagreements, a lead's own answers, more ratings, notes, skipped tasks, closing."""

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.api.tokens import issue_token
from accounts.models import Event
from annotation.answers.recording import skip
from annotation.assignment.new_slots import make_seats
from annotation.assignment.next_task import next_assignment
from annotation.models import Assignment, Criterion, Flag, Rater, Seat
from annotation.monitoring import stored_progress
from tests.api_calls import of, read, send
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater, make_user, make_workspace
from tests.screen_studies import make_review_study

pytestmark = pytest.mark.django_db
KEYS = ("item0", "item1", "item2")


def values(overall):
    return dict.fromkeys(KEYS, 0.5) | {"overall": overall}


@pytest.fixture
def study():
    """Three tasks: two raters give 0 and 10, then 4 and 6, then 5 and 5."""
    study = make_checklist_study(instructions=3, models=1)
    ann, bob = make_rater(study, label="ann"), make_rater(study, label="bob")
    for task, (first, second) in zip(study.tasks.order_by("pk"), [(0, 10), (4, 6), (5, 5)], strict=True):
        make_answer(task, ann, values(first))
        make_answer(task, bob, values(second))
    return study


@pytest.fixture
def lead(study):
    return make_user("lead", study.workspace, username="lena")


@pytest.fixture
def task(study):
    """The task with the widest spread."""
    return study.tasks.order_by("pk").first()


def test_who_may(client, study, task):
    ann = study.raters.get(label="ann")
    flag = Flag.objects.create(task=task, rater=ann, kind="note", text="Which of the two?")
    changes = [
        ("request_ratings", of(study), "post", {"least": 0}),
        ("adjudication", of(study, task.public_id), "put", {"answers": values(3)}),
        ("release_task", of(study, task.public_id), "post", {}),
        ("set_task_aside", of(study, task.public_id), "post", {}),
        ("settle_flag", of(study, flag.pk), "post", {}),
        ("release_rater", of(study, ann.public_id), "post", {}),
    ]
    reads = [("disagreements", of(study)), ("flags", of(study)), ("skipped_tasks", of(study)), ("closing", of(study))]
    reads += [(name, of(study, task.public_id)) for name in ("task_answers", "adjudication")]
    elsewhere = make_user("owner", make_workspace("elsewhere"), username="else")
    analyst, rater = (make_user(role, study.workspace) for role in ("analyst", "rater"))
    owner = make_user("owner", study.workspace, username="owner")
    events = Event.objects.exclude(verb="token created").count()
    for name, parts, method, sent in changes:
        for user, status in ((elsewhere, 404), (analyst, 403), (rater, 403)):
            assert send(client, user, name, *parts, method=method, sent=sent).status_code == status, (name, user)
        narrow = send(client, owner, name, *parts, method=method, sent=sent, scopes=["read", "ratings", "run"])
        assert narrow.status_code == 403, name
    for name, parts in reads:
        for user, status in ((elsewhere, 404), (analyst, 200), (rater, 403)):
            assert send(client, user, name, *parts, method="get").status_code == status, (name, user)
    assert Event.objects.exclude(verb="token created").count() == events
    assert not Seat.objects.exists() and not Rater.objects.filter(kind="key").exists()
    assert Flag.objects.get().resolved_at is None


class TestDisagreements:
    def test_are_listed_with_the_widest_spread_first(self, client, study, lead, task):
        found = read(client, lead, "disagreements", *of(study))
        assert (found["counting"], found["counted_at"]) == (False, None)
        first, second = found["results"]
        assert first == {
            "task": task.public_id,
            "instruction": "essays-0",
            "category": "essay",
            "spread": 0.5,
            "answers": 2,
            "open_slots": 0,
            "decided": False,
        }
        assert second["spread"] == pytest.approx(0.1)
        assert [
            one["task"] for one in read(client, lead, "disagreements", *of(study), query="?least=20")["results"]
        ] == [task.public_id]
        assert len(read(client, lead, "disagreements", *of(study), query="?most=1")["results"]) == 1
        for query in ("?least=51", "?least=x", "?least=nan", "?most=0", "?most=501"):
            assert send(client, lead, "disagreements", *of(study), method="get", query=query).status_code == 400, query

    def test_of_a_large_study_are_measured_by_a_worker(self, client, study, lead, monkeypatch):
        monkeypatch.setattr(stored_progress, "LARGE", 1)
        assert read(client, lead, "disagreements", *of(study)) == {"results": [], "counted_at": None, "counting": True}
        stored_progress.keep_spreads(study, clock=timezone.now)
        found = read(client, lead, "disagreements", *of(study))
        assert len(found["results"]) == 2 and found["counted_at"] and not found["counting"]


class TestATask:
    def test_shows_all_answers_and_notes(self, client, study, lead, task):
        make_answer(task, make_judge_rater(study.workspace), values(8), discredited=True)
        Flag.objects.create(task=task, rater=study.raters.get(label="ann"), kind="note", text="Unclear.")
        Flag.objects.create(task=task, kind="self_naming", text="I am Zephyrion.")
        send(client, lead, "adjudication", *of(study, task.public_id), method="put", sent={"answers": values(3)})
        found = read(client, lead, "task_answers", *of(study, task.public_id))
        assert (found["task"], found["held_by"]) == (task.public_id, 0)
        assert [(one["name"], one["rater_kind"], one["discredited"]) for one in found["answers"]] == [
            ("ann", "person", False),
            ("bob", "person", False),
            ("lena", "key", False),
            ("gpt-4o", "judge", True),
        ]
        scores = {one["name"]: {s["criterion"]: s["value"] for s in one["scores"]} for one in found["answers"]}
        assert scores["bob"] == values(10) and scores["lena"] == values(3)
        (note,) = found["notes"]
        assert (note["kind"], note["text"], note["name"]) == ("note", "Unclear.", "ann")
        assert send(client, lead, "task_answers", *of(study, "none"), method="get").status_code == 404

    def test_is_decided_and_decided_again(self, client, study, lead, task):
        parts = of(study, task.public_id)
        first = send(client, lead, "adjudication", *parts, method="get")
        assert first.json() == {"decided": False, "scores": []}
        match = {"If-Match": first["ETag"]}
        sent = {"answers": {**dict.fromkeys(KEYS, "2"), "overall": 8}}
        answer = send(client, lead, "adjudication", *parts, method="put", sent=sent, **match)
        said = answer.json()
        assert said["decided"] and [(one["criterion"], one["value"]) for one in said["scores"]] == [
            ("item0", 0.5),
            ("item1", 0.5),
            ("item2", 0.5),
            ("overall", 8.0),
        ]
        assert read(client, lead, "adjudication", *parts) == said
        assert send(client, lead, "adjudication", *parts, method="put", sent=sent, **match).status_code == 412
        sent = {"answers": values(7)}
        again = [send(client, lead, "adjudication", *parts, method="put", sent=sent).json() for _again in range(2)]
        assert again[0] == again[1] and again[0]["scores"][-1]["revision"] == 1
        assert Event.objects.filter(verb="adjudicate").count() == 2
        assert [one["decided"] for one in read(client, lead, "disagreements", *of(study))["results"]] == [True, False]
        other = make_user("lead", study.workspace, username="otto")
        assert not read(client, other, "adjudication", *parts)["decided"]

    @pytest.mark.parametrize(
        ("sent", "said"),
        [
            ({}, "answers: "),
            ({"answers": []}, "answers: "),
            ({"answers": {"overall": 3}}, "item0: This question is not answered yet."),
            ({"answers": values(11)}, "overall: This value is not on the question's scale."),
            ({"answers": values(True)}, "overall: This value is not on the question's scale."),
            ({"answers": values("x" * 200)}, "overall: This value is not on the question's scale."),
            ({"answers": values(None)}, "overall: This value is not on the question's scale."),
            ({"answers": values(3) | {"style": 1}}, "has no question 'style'; it has: item0, item1, item2, overall."),
            ({"answers": values(3), "reasons": {"style": "Why"}}, "has no question 'style'"),
        ],
    )
    def test_refuses_what_is_no_answer(self, client, study, lead, task, sent, said):
        answer = send(client, lead, "adjudication", *of(study, task.public_id), method="put", sent=sent)
        assert answer.status_code == 400 and said in answer.json()["detail"], answer.json()
        assert not Rater.objects.filter(kind="key").exists()

    def test_takes_a_number_only_where_it_stands_for_one_level(self, client, study, lead, task):
        levels = [{"key": key, "value": value, "label": {}} for key, value in (("good", 1), ("tie", 0), ("bad", 0))]
        Criterion.objects.filter(key="item0").update(levels=levels, may_not_apply=True)
        parts = of(study, task.public_id)
        refused = send(client, lead, "adjudication", *parts, method="put", sent={"answers": values(3) | {"item0": 0}})
        assert refused.status_code == 400 and refused.json()["detail"].startswith("item0: Several levels")
        for value, stored in (("bad", (0.0, "bad", False)), (1, (1.0, "good", False)), (None, (None, "", True))):
            sent = {"answers": values(3) | {"item0": value}}
            answer = send(client, lead, "adjudication", *parts, method="put", sent=sent)
            score = answer.json()["scores"][0]
            assert (score["value"], score["level"], score["not_applicable"]) == stored

    def test_of_a_review_needs_a_reason_against_a_verdict(self, client):
        study = make_review_study()
        lead, task = make_user("lead", study.workspace), study.tasks.first()
        found = {"item0": "reasonable", "item1": "not-reasonable", "item2": 1}
        parts = of(study, task.public_id)
        refused = send(client, lead, "adjudication", *parts, method="put", sent={"answers": found})
        assert refused.status_code == 400 and refused.json()["detail"] == "item1: Explain why in a few words."
        sent = {"answers": found, "reasons": {"item1": "It says no such thing."}}
        scores = send(client, lead, "adjudication", *parts, method="put", sent=sent).json()["scores"]
        assert [(one["level"], one["reason"]) for one in scores] == [
            ("reasonable", ""),
            ("not-reasonable", "It says no such thing."),
            ("reasonable", ""),
        ]


class TestMoreRatings:
    def test_of_one_task_are_requested_once_for_a_key(self, client, study, lead, task):
        _token, secret = issue_token(user=lead, name="script", scopes=["change"])
        headers = {"Authorization": f"Bearer {secret}", "Idempotency-Key": "once"}
        sent, address = {"task": task.public_id, "more": 2}, reverse("api:request_ratings", args=of(study))
        for _again in range(2):
            answer = client.post(address, sent, content_type="application/json", headers=headers)
            assert (answer.status_code, answer.json()) == (201, {"ratings": 2, "tasks": 1})
        assert Seat.objects.filter(task=task, state="free").count() == 2
        assert Event.objects.get(verb="add_overlap").actor == lead

    def test_above_a_spread_leave_out_what_is_decided_or_waits(self, client, study, lead, task):
        assert send(client, lead, "request_ratings", *of(study), sent={"least": 20}).json() == {
            "ratings": 1,
            "tasks": 1,
        }
        assert send(client, lead, "request_ratings", *of(study), sent={"least": 0}).json() == {"ratings": 1, "tasks": 1}
        assert send(client, lead, "request_ratings", *of(study), sent={"least": 0}).json() == {"ratings": 0, "tasks": 0}

    def test_leave_out_what_measures_raters(self, client, study, lead, task):
        task.gold = {"purpose": "gold", "expected": {"overall": 3}}
        task.save()
        answer = send(client, lead, "request_ratings", *of(study), sent={"task": task.public_id})
        assert answer.json() == {"ratings": 0, "tasks": 0}

    @pytest.mark.parametrize(
        ("sent", "status", "said"),
        [
            ({}, 400, "Send either task"),
            ({"task": "x", "least": 1}, 400, "Send either task"),
            ({"task": "x"}, 404, "no such task"),
            ({"least": 51}, 400, "least: "),
            ({"least": 0, "more": 21}, 400, "more: "),
            ({"least": 0, "more": 0}, 400, "more: "),
        ],
    )
    def test_refuse_what_cannot_be_read(self, client, study, lead, sent, status, said):
        answer = send(client, lead, "request_ratings", *of(study), sent=sent)
        assert answer.status_code == status and said in answer.json()["detail"]

    def test_need_a_running_study_here_and_on_the_page(self, client, study, lead):
        study.status = "closed"
        study.save()
        answer = send(client, lead, "request_ratings", *of(study), sent={"least": 0})
        assert answer.status_code == 400 and "only while the study is open or paused" in answer.json()["detail"]
        client.force_login(lead)
        page = client.post(reverse("annotation:more_answers", args=[study]), {"least": "0"}, follow=True)
        assert b"only while the study is open or paused" in page.content and not Seat.objects.exists()


@pytest.fixture
def running():
    """A study of four tasks of two slots; ann has one open."""
    study = make_checklist_study(instructions=4, models=1)
    study.policies = {"overlap": 2}
    study.save()
    make_seats(study)
    next_assignment(make_rater(study, label="ann"), study, clock=timezone.now)
    return study


class TestOpenTasks:
    def test_of_a_rater_are_taken_back(self, client, running):
        lead, ann = make_user("lead", running.workspace), running.raters.get(label="ann")
        task = Assignment.objects.get(rater=ann, status="open", queue_place=1).task
        held = Seat.objects.filter(holder=ann, state="held").count()
        assert read(client, lead, "task_answers", *of(running, task.public_id))["held_by"] == 1
        for number in (1, 0):
            answer = send(client, lead, "release_task", *of(running, task.public_id))
            assert answer.json() == {"released": number}
        for number in (held - 1, 0):
            answer = send(client, lead, "release_rater", *of(running, ann.public_id))
            assert answer.json() == {"released": number}
        assert not Seat.objects.exclude(state="free").exists()
        assert send(client, lead, "release_rater", *of(running, "nobody")).status_code == 404
        assert send(client, lead, "release_task", *of(running, "none")).status_code == 404

    def test_are_what_closing_would_leave(self, client, running):
        lead = make_user("lead", running.workspace)
        opened = Assignment.objects.filter(status="open").count()
        assert read(client, lead, "closing", *of(running)) == {
            "status": "open",
            "needed": 8,
            "missing": 8,
            "tasks": 4,
            "opened": opened,
            "raters": 1,
            "links": 0,
        }


def test_a_task_that_everybody_skipped_is_taken_out(client):
    study = make_checklist_study(instructions=1, models=1)
    make_seats(study)
    lead, task = make_user("lead", study.workspace), study.tasks.get()
    assignment, _why = next_assignment(make_rater(study), study, clock=timezone.now)
    assert read(client, lead, "skipped_tasks", *of(study)) == {"results": []}
    skip(assignment=assignment, reason="broken", clock=timezone.now)
    (found,) = read(client, lead, "skipped_tasks", *of(study))["results"]
    assert found == {"task": task.public_id, "instruction": "essays-0", "skips": 1, "reasons": {"broken": 1}}
    for number in (1, 0):
        assert send(client, lead, "set_task_aside", *of(study, task.public_id)).json() == {"removed": number}
    assert read(client, lead, "skipped_tasks", *of(study)) == {"results": []}
    assert send(client, lead, "set_task_aside", *of(study, "none")).status_code == 404


def test_notes_are_listed_and_settled(client, study, lead, task):
    ann = study.raters.get(label="ann")
    note = Flag.objects.create(task=task, rater=ann, kind="note", text="Which of the two?")
    scanned = Flag.objects.create(task=task, kind="self_naming", text="I am Zephyrion.")
    (found,) = read(client, lead, "flags", *of(study))["results"]
    assert (
        found.items()
        >= {
            "id": note.pk,
            "kind": "note",
            "text": "Which of the two?",
            "task": task.public_id,
            "instruction": "essays-0",
            "rater": ann.public_id,
            "name": "ann",
            "resolved_at": None,
        }.items()
    )
    settled = [send(client, lead, "settle_flag", *of(study, note.pk)).json() for _again in range(2)]
    assert settled[0] == settled[1] and settled[0]["resolved_at"]
    assert read(client, lead, "flags", *of(study))["results"] == []
    assert read(client, lead, "flags", *of(study), query="?settled=1")["results"] == settled[:1]
    assert Event.objects.filter(verb="resolve_flag").count() == 1
    elsewhere = make_checklist_study(slug="other", instructions=1, models=1, workspace=study.workspace)
    for parts in (of(study, scanned.pk), of(elsewhere, note.pk), of(study, 2**63)):
        assert send(client, lead, "settle_flag", *parts).status_code == 404
