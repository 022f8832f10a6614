"""Raters reached over the API: a message to one of them, and answers to those who ask to go on in another browser."""

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.api.tokens import issue_token
from accounts.models import ApiToken, Event
from annotation.assignment.rater_notes import confirm_note, note_for
from annotation.models import BrowserRequest, Cohort, Participant, Standing
from tests.factories import make_checklist_study, make_rater, make_user, make_workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return make_checklist_study(instructions=1, models=1)


@pytest.fixture
def lead(study):
    return make_user("lead", study.workspace, username="lena")


@pytest.fixture
def ann(study):
    return make_rater(study, label="ann", cohort=Cohort.objects.create(study=study, name="Crowd", kind="crowd"))


@pytest.fixture
def asked(study, ann):
    participant = Participant.objects.create(study=study, rater=ann, mark="m")
    return BrowserRequest.objects.create(participant=participant, browser="b", number="1234", at=timezone.now())


def send(client, user, name, *parts, method="post", sent=None, scopes=ApiToken.Scope.values, **headers):
    _token, secret = issue_token(user=user, name="script", scopes=scopes)
    content = {} if method == "get" else {"data": sent or {}, "content_type": "application/json"}
    bearer = {"Authorization": f"Bearer {secret}", **headers}
    return getattr(client, method)(reverse(f"api:{name}", args=parts), **content, headers=bearer)


def of(study, *more):
    return study.workspace.slug, study.slug, *more


def test_who_may(client, study, ann, asked):
    calls = [
        ("message_rater", of(study, ann.public_id), "post", {"text": "Read."}),
        ("browser_requests", of(study), "get", None),
        ("answer_browser", of(study, asked.pk, "admit"), "post", None),
    ]
    elsewhere = make_user("owner", make_workspace("elsewhere"), username="else")
    owner = make_user("owner", study.workspace, username="owner")
    people = [(elsewhere, 404), *((make_user(role, study.workspace), 403) for role in ("analyst", "rater"))]
    others = [scope for scope in ApiToken.Scope.values if scope != "change"]
    for name, parts, method, sent in calls:
        for user, status in people:
            assert send(client, user, name, *parts, method=method, sent=sent).status_code == status, (name, status)
        assert send(client, owner, name, *parts, method=method, sent=sent, scopes=others).status_code == 403
    asked.refresh_from_db()
    assert asked.state == "waiting" and not Standing.objects.exists()


class TestAMessage:
    def test_stands_until_the_rater_confirms_it(self, client, study, lead, ann):
        for text in ("Read the guideline.", " Now rate. "):
            answer = send(client, lead, "message_rater", *of(study, ann.public_id), sent={"text": text})
            assert answer.status_code == 201 and answer.json()["text"] == text.strip()
        text, at = note_for(ann)
        assert (text, answer.json()["rater"]) == ("Now rate.", ann.public_id)
        assert confirm_note(ann, shown=at) and Standing.objects.get().note == ""
        told = Event.objects.filter(verb="message_rater", actor=lead).order_by("pk")
        assert [event.after["message"] for event in told] == ["Read the guideline.", "Now rate."]

    def test_is_written_once_for_a_key(self, client, study, lead, ann):
        _token, secret = issue_token(user=lead, name="script", scopes=["change"])
        headers = {"Authorization": f"Bearer {secret}", "Idempotency-Key": "once"}
        address = reverse("api:message_rater", args=of(study, ann.public_id))
        for _again in range(2):
            answer = client.post(address, {"text": "Read."}, "application/json", headers=headers)
            assert answer.status_code == 201
            confirm_note(ann, shown=Standing.objects.get().noted_at.isoformat())
        assert Standing.objects.get().note == "" and Event.objects.filter(verb="message_rater").count() == 1

    @pytest.mark.parametrize("text", ["", "  ", "x" * 1001, None])
    def test_of_no_words_or_too_many_is_refused(self, client, study, lead, ann, text):
        refused = send(client, lead, "message_rater", *of(study, ann.public_id), sent={"text": text})
        assert refused.status_code == 400 and refused.json()["detail"].startswith("text: ")
        assert not Standing.objects.exists()

    def test_to_nobody_of_the_study_is_not_found(self, client, study, lead):
        judge = make_rater(study, label="judge", kind="judge")
        for rater in ("nobody", judge.public_id):
            refused = send(client, lead, "message_rater", *of(study, rater), sent={"text": "Read."})
            assert refused.status_code == 404


class TestAnotherBrowser:
    @pytest.mark.parametrize(
        ("verb", "other", "state"), [("admit", "refuse", "admitted"), ("refuse", "admit", "refused")]
    )
    def test_is_answered_once(self, client, study, lead, ann, asked, verb, other, state):
        (listed,) = send(client, lead, "browser_requests", *of(study), method="get").json()["results"]
        assert (listed["id"], listed["rater"], listed["number"]) == (asked.pk, ann.public_id, "1234")
        for _again in range(2):
            answer = send(client, lead, "answer_browser", *of(study, asked.pk, verb))
            assert answer.status_code == 200 and answer.json() == {**listed, "state": state}
        late = send(client, lead, "answer_browser", *of(study, asked.pk, other))
        assert late.status_code == 409 and "1234 has already been answered" in late.json()["detail"]
        assert Event.objects.filter(verb=f"{verb}_browser", actor=lead).count() == 1
        assert send(client, lead, "browser_requests", *of(study), method="get").json()["results"] == []

    def test_of_another_study_is_not_found(self, client, study, lead, asked):
        other = make_checklist_study(instructions=1, models=1, workspace=study.workspace, slug="other")
        assert send(client, lead, "answer_browser", *of(other, asked.pk, "admit")).status_code == 404
        assert send(client, lead, "browser_requests", *of(other), method="get").json()["results"] == []
        asked.refresh_from_db()
        assert asked.state == "waiting"
