"""Studies kept in order over the API: archived, copied, with a guideline, and with raters who are stopped and go on."""

import pytest
from django.urls import reverse

from accounts.api.tokens import issue_token
from accounts.models import ApiToken, Event
from annotation.models import Guideline, Standing, Study
from tests.api_calls import of, send
from tests.factories import make_answer, make_checklist_study, make_rater, make_user, make_workspace

pytestmark = pytest.mark.django_db
VALUES = {"item0": 1.0, "item1": 0.5, "item2": 0.0, "overall": 6}


@pytest.fixture
def study():
    return make_checklist_study(instructions=2, models=1, status="closed")


@pytest.fixture
def lead(study):
    return make_user("lead", study.workspace, username="lena")


@pytest.fixture
def ann(study):
    rater = make_rater(study, label="ann")
    make_answer(study.tasks.first(), rater, VALUES)
    return rater


def test_who_may(client, study, ann):
    calls = [
        ("archive_study", of(study), "post", {}),
        ("restore_study", of(study), "post", {}),
        ("duplicate_study", of(study), "post", {}),
        ("guideline", of(study), "put", {"en": "Read."}),
        ("steer_rater", of(study, ann.public_id, "pause"), "post", {}),
    ]
    elsewhere = make_user("owner", make_workspace("elsewhere"), username="else")
    owner, before = make_user("owner", study.workspace, username="owner"), Study.objects.count()
    people = [(elsewhere, 404), *((make_user(role, study.workspace), 403) for role in ("analyst", "rater"))]
    for name, parts, method, sent in calls:
        for user, status in people:
            assert send(client, user, name, *parts, method=method, sent=sent).status_code == status, (name, status)
        narrow = send(client, owner, name, *parts, method=method, sent=sent, scopes=["read", "ratings", "run"])
        assert narrow.status_code == 403
    assert Study.objects.count() == before and not Guideline.objects.exists() and not Standing.objects.exists()


def test_a_study_is_archived_and_taken_back(client, study, lead):
    for _again in range(2):
        answer = send(client, lead, "archive_study", *of(study))
        assert answer.status_code == 200 and answer.json()["archived_at"]
    assert send(client, lead, "restore_study", *of(study)).json()["archived_at"] is None
    assert Event.objects.filter(verb__in=("archive_study", "restore_study")).count() == 2
    Study.objects.update(status="open")
    refused = send(client, lead, "archive_study", *of(study))
    assert refused.status_code == 400 and "Pause or close it" in refused.json()["detail"]


def test_a_study_is_copied_once_for_a_key(client, study, lead):
    _token, secret = issue_token(user=lead, name="script", scopes=ApiToken.Scope.values)
    headers = {"Authorization": f"Bearer {secret}", "Idempotency-Key": "once"}
    address = reverse("api:duplicate_study", args=of(study))
    answers = [client.post(address, {}, content_type="application/json", headers=headers) for _again in range(2)]
    made = answers[0].json()
    assert [one.status_code for one in answers] == [201, 201] and answers[1].json() == made
    assert made["status"] == "draft" and made["slug"] != study.slug and Study.objects.count() == 2
    copy = Study.objects.get(slug=made["slug"])
    assert copy.benchmark == study.benchmark and not copy.tasks.exists() and not copy.raters.exists()


def test_a_guideline_is_read_and_written_in_versions(client, study, lead):
    first = send(client, lead, "guideline", *of(study), method="get")
    assert first.json() == {"version": 0, "en": "", "zh": ""}
    written = send(
        client,
        lead,
        "guideline",
        *of(study),
        method="put",
        sent={"en": "# Read", "zh": "# 阅读"},
        **{"If-Match": first["ETag"]},
    )
    assert written.json() == {"version": 1, "en": "# Read", "zh": "# 阅读"}
    late = send(client, lead, "guideline", *of(study), method="put", sent={"en": "x"}, **{"If-Match": first["ETag"]})
    assert late.status_code == 412
    assert send(client, lead, "guideline", *of(study), method="put", sent={"en": "Again"}).json()["version"] == 2
    assert send(client, lead, "guideline", *of(study), method="put", sent={"en": "Again"}).json()["version"] == 2
    empty = send(client, lead, "guideline", *of(study), method="put", sent={"en": "  "})
    assert empty.status_code == 400 and "at least one language" in empty.json()["detail"]
    study.refresh_from_db()
    assert study.guideline.texts == {"en": "Again"} and Guideline.objects.count() == 2


def test_a_rater_is_stopped_with_a_message_and_goes_on(client, study, lead, ann):
    parts = of(study, ann.public_id)
    for message in ("Read the guideline again.", "Another text"):
        answer = send(client, lead, "steer_rater", *parts, "pause", sent={"message": message})
        assert answer.json() == {"id": ann.public_id, "state": "paused", "message": "Read the guideline again."}
    for _again in range(2):
        assert send(client, lead, "steer_rater", *parts, "resume").json()["state"] == "rating"
    assert list(Event.objects.filter(object_id=ann.public_id).order_by("pk").values_list("verb", flat=True)) == [
        "pause_rater",
        "resume_rater",
    ]
    assert send(client, lead, "steer_rater", *of(study, "nobody"), "pause").status_code == 404
