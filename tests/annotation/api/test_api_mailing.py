"""People invited one by one over the API: by e-mail, from an uploaded list, once more, and erased."""

import re

import pytest
from django.core import mail
from django.urls import reverse
from django.utils import timezone

from accounts.api.tokens import issue_token
from accounts.models import ApiToken, Event
from annotation.models import MailedInvitation
from annotation.recruitment.cohorts import make_cohort
from annotation.recruitment.mailing import send_waiting
from config.identity import Identity
from tests.factories import make_checklist_study, make_user, make_workspace

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def mail_is_set_up(settings):
    assert reverse("home")  # the addresses are those without the optional ways to sign in
    settings.IDENTITY = Identity(mail="smtp://localhost", mail_from="plumbline@example.org")


@pytest.fixture
def cohort():
    return make_cohort(make_checklist_study(instructions=1, models=1), "readers", "public")


@pytest.fixture
def lead(cohort):
    return make_user("lead", cohort.study.workspace, username="lena")


def send(
    client, user, name, cohort, *more, method="post", sent=None, scopes=ApiToken.Scope.values, query="", **headers
):
    _token, secret = issue_token(user=user, name="script", scopes=scopes)
    content = {} if method == "get" else {"data": sent or {}, "content_type": "application/json"}
    parts = (cohort.study.workspace.slug, cohort.study.slug, cohort.pk, *more)
    bearer = {"Authorization": f"Bearer {secret}", **headers}
    return getattr(client, method)(reverse(f"api:{name}", args=parts) + query, **content, headers=bearer)


def listed(cohort, address="", name="", state="held", **fields):
    fields |= {"address": address, "name": name, "state": state, "made_at": timezone.now()}
    return MailedInvitation.objects.create(cohort=cohort, **fields)


def test_who_may(client, cohort):
    one = listed(cohort, "ann@example.org")
    calls = [
        ("invited_people", (), "get", None),
        ("invited_people", (), "post", {"emails": ["bo@example.org"]}),
        ("send_to_listed", (), "post", {"people": 1}),
        ("resend_failed", (), "post", None),
        ("erase_invited_person", (one.pk,), "delete", None),
    ]
    workspace = cohort.study.workspace
    elsewhere = make_user("owner", make_workspace("elsewhere"), username="else")
    owner = make_user("owner", workspace, username="owner")
    people = [(elsewhere, 404), *((make_user(role, workspace), 403) for role in ("analyst", "rater"))]
    others = [scope for scope in ApiToken.Scope.values if scope != "change"]
    for name, more, method, sent in calls:
        for user, status in people:
            answer = send(client, user, name, cohort, *more, method=method, sent=sent)
            assert answer.status_code == status and b"ann@" not in answer.content, (name, status)
        assert send(client, owner, name, cohort, *more, method=method, sent=sent, scopes=others).status_code == 403
    assert MailedInvitation.objects.get().state == "held" and not mail.outbox


def test_people_are_invited_by_e_mail_and_listed_with_their_links(client, cohort, lead):
    sent = {"emails": ["Ann <ann@example.org>", "bo@example.org", "ANN@example.org"]}
    keyed = {"Idempotency-Key": "k", "Accept-Language": "zh-hans"}
    answer = send(client, lead, "invited_people", cohort, sent=sent, **keyed)
    assert answer.status_code == 201 and answer.json() == {"invited": 2, "known": 0}
    assert send(client, lead, "invited_people", cohort, sent=sent).json() == {"invited": 0, "known": 2}
    assert send_waiting(timezone.now) == 2
    assert "邀请" in mail.outbox[0].subject
    rows = send(client, lead, "invited_people", cohort, method="get").json()["results"]
    assert [(row["email"], row["state"], row["joined_at"]) for row in rows] == [
        ("ann@example.org", "sent", None),
        ("bo@example.org", "sent", None),
    ]
    assert re.search(r"http://testserver/join/\S+", mail.outbox[0].body)[0] == rows[0]["link"]
    assert client.post(rows[0]["link"], {"answer": "yes"}).status_code == 302
    (first, second) = send(client, lead, "invited_people", cohort, method="get").json()["results"]
    assert first["joined_at"] and not second["joined_at"]
    assert Event.objects.filter(verb="read_identities", actor=lead).count() == 1


def test_the_people_of_a_list_get_a_message_when_they_are_as_many_as_was_said(client, cohort, lead):
    listed(cohort, "ann@example.org", "Ann")
    listed(cohort, "", "Bo")
    rows = send(client, lead, "invited_people", cohort, method="get", query="?state=held").json()["results"]
    assert [row["name"] for row in rows] == ["Ann", "Bo"]
    for sent, said in (({"people": 2}, "list has changed"), ({}, "people: "), ({"people": -1}, "people: ")):
        refused = send(client, lead, "send_to_listed", cohort, sent=sent)
        assert refused.status_code == 400 and said in refused.json()["detail"]
    assert send(client, lead, "send_to_listed", cohort, sent={"people": 1}).json() == {"sent": 1}
    assert send_waiting(timezone.now) == 1 and mail.outbox[0].to == ["ann@example.org"]


def test_what_failed_is_sent_again_and_what_is_erased_is_not(client, cohort, lead):
    ann = listed(cohort, "ann@example.org", state="failed", reason="refused")
    bo = listed(cohort, "bo@example.org", state="failed", origin="http://testserver", language="en")
    (row, _other) = send(client, lead, "invited_people", cohort, method="get", query="?state=failed").json()["results"]
    assert row["reason"] == "refused"
    assert send(client, lead, "erase_invited_person", cohort, ann.pk, method="delete").status_code == 204
    assert send(client, lead, "erase_invited_person", cohort, ann.pk, method="delete").status_code == 404
    assert send(client, lead, "resend_failed", cohort).json() == {"sent": 1}
    assert send(client, lead, "resend_failed", cohort).json() == {"sent": 0}
    assert send_waiting(timezone.now) == 1 and mail.outbox[0].to == [bo.address]


@pytest.mark.parametrize(
    ("emails", "said"),
    [
        ([], "emails: "),
        (None, "emails: "),
        (["nobody"], "“nobody” is not an e-mail address."),
        ([f"a{n}@example.org" for n in range(501)], "emails: "),
        ([f"a{n}@example.org" for n in range(3)], "no more than 2 people"),
    ],
)
def test_who_cannot_be_invited(client, cohort, lead, settings, emails, said):
    settings.MAILS_A_DAY = 2
    refused = send(client, lead, "invited_people", cohort, sent={"emails": emails})
    assert refused.status_code == 400 and said in refused.json()["detail"]
    assert not MailedInvitation.objects.exists()


def test_where_nobody_can_be_invited(client, cohort, lead, settings):
    settings.IDENTITY = Identity()
    refused = send(client, lead, "invited_people", cohort, sent={"emails": ["ann@example.org"]})
    assert refused.status_code == 400 and "cannot be invited by e-mail" in refused.json()["detail"]
    crowd = make_cohort(cohort.study, "crowd", "crowd")
    assert send(client, lead, "invited_people", crowd, method="get").status_code == 404
    assert send(client, lead, "invited_people", cohort, method="get", query="?state=gone").status_code == 400
