"""Closing asks first and says what it means; a message is shown until its rater confirms it."""

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Event
from annotation.assignment.new_slots import make_seats
from annotation.assignment.next_task import next_assignment
from annotation.models import Standing
from tests.factories import make_checklist_study, make_rater, make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    """Eight tasks of two slots; ann, who has an account, has one open."""
    study = make_checklist_study(instructions=4, models=2)
    study.policies = {"overlap": 2}
    study.save()
    make_seats(study)
    ann = make_rater(study, make_user("rater", study.workspace), label="ann")
    next_assignment(ann, study, clock=timezone.now)
    return study


@pytest.fixture
def as_lead(study):
    client = Client()
    client.force_login(make_user("lead", study.workspace))
    return client


def as_rater(study):
    client = Client()
    client.force_login(study.raters.get(label="ann").user)
    return client


def close_of(study):
    return reverse("annotation:close_study", args=[study])


def test_closing_says_what_it_means(as_lead, study):
    assert close_of(study) in markup(as_lead.get(reverse("annotation:desk", args=[study])))
    html = markup(as_lead.get(close_of(study)))
    assert "16 of the 16 ratings needed are still missing." in html
    assert "8 tasks will have fewer ratings than planned." in html
    assert "1 task is open with a rater (1)." in html
    assert "You can take this back" in html
    study.refresh_from_db()
    assert study.status == "open"


def test_it_closes_only_once_confirmed(as_lead, study):
    assert as_lead.post(close_of(study)).status_code == 422
    study.refresh_from_db()
    assert study.status == "open"
    as_lead.post(close_of(study), {"confirmed": "yes"})
    study.refresh_from_db()
    assert study.status == "closed"
    assert Event.objects.filter(verb="closed_study").count() == 1
    assert as_lead.get(close_of(study)).status_code == 302


@pytest.mark.parametrize(("role", "status"), [("analyst", 404), ("rater", 403)])
def test_only_leads_close_and_write(client, study, role, status):
    client.force_login(make_user(role, study.workspace))
    rater = study.raters.get(label="ann")
    assert client.get(close_of(study)).status_code == status
    assert client.post(close_of(study), {"confirmed": "yes"}).status_code == status
    write = reverse("annotation:message_rater", args=[study, rater.public_id])
    assert client.post(write, {"text": "hello"}).status_code == status
    client.force_login(make_user("lead", make_workspace("elsewhere")))
    assert client.get(close_of(study)).status_code == 404


def test_a_message_is_shown_until_it_is_confirmed(as_lead, study):
    ann = study.raters.get(label="ann")
    write = reverse("annotation:message_rater", args=[study, ann.public_id])
    as_lead.post(write, {"text": "  "})
    assert not Standing.objects.filter(rater=ann).exists()
    as_lead.post(write, {"text": "Please read <b>to the end</b>"})
    assert Standing.objects.get(rater=ann).state == "rating"
    client, task = as_rater(study), ann.assignments.get()
    done, rate = reverse("annotation:done", args=[study]), reverse("annotation:rate", args=[task.public_id])
    words = "Please read &lt;b&gt;to the end&lt;/b&gt;"
    for page in (done, rate):
        assert words in markup(client.get(page))
    assert words in markup(client.get(rate, headers={"HX-Request": "true"}))
    confirm = reverse("annotation:confirm_message", args=[study])
    client.post(confirm, {"at": "2020-01-01T00:00:00+00:00"})
    assert words in markup(client.get(done))
    at = Standing.objects.get(rater=ann).noted_at.isoformat()
    answer = client.post(confirm, {"at": at, "assignment": task.public_id})
    assert answer["Location"] == rate
    assert words not in markup(client.get(done)) and words not in markup(client.get(rate))
    assert [one.verb for one in Event.objects.filter(object_id=ann.public_id).order_by("pk")] == [
        "message_rater",
        "confirm_message",
    ]


def test_nobody_else_sees_or_confirms_the_message(as_lead, study):
    ann = study.raters.get(label="ann")
    as_lead.post(reverse("annotation:message_rater", args=[study, ann.public_id]), {"text": "Only for ann"})
    bob = make_user("rater", study.workspace)
    make_rater(study, bob, label="bob")
    client = Client()
    client.force_login(bob)
    done = reverse("annotation:done", args=[study])
    assert "Only for ann" not in markup(client.get(done))
    at = Standing.objects.get(rater=ann).noted_at.isoformat()
    client.post(reverse("annotation:confirm_message", args=[study]), {"at": at})
    assert "Only for ann" in markup(as_rater(study).get(done))
