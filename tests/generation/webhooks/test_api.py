"""Webhooks by the API and the command: what each does, who may, and that no secret leaves after the first answer."""

import re
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction

from accounts.api.tokens import issue_token
from accounts.models import ApiToken, Membership, Webhook
from generation.webhooks.events import EventName, announce
from generation.webhooks.subscriptions import add_webhook
from tests.factories import make_user, make_workspace

pytestmark = pytest.mark.django_db
WANTED = {"url": "https://example.org/hooks", "events": ["drift.found", "study.finished"]}


def bearer(user):
    _token, secret = issue_token(user=user, name="script", scopes=ApiToken.Scope.values)
    return {"headers": {"Authorization": f"Bearer {secret}"}}


@pytest.fixture
def lead():
    return make_user("lead", make_workspace("lab"))


def asked(client, user, method, path, body=None):
    send = getattr(client, method)
    address = f"/api/v1/w/lab/webhooks/{path}"
    return send(address, **bearer(user)) if body is None else send(address, body, "application/json", **bearer(user))


def test_a_program_adds_reads_changes_tries_and_removes_a_webhook(client, lead):
    made = asked(client, lead, "post", "", WANTED)
    assert made.status_code == 201
    hook = made.json()
    secret = hook.pop("secret")
    assert re.fullmatch(r"whsec_[\w-]{43}", secret)
    assert (hook["url"], hook["events"], hook["active"]) == (
        "https://example.org/hooks",
        ["study.finished", "drift.found"],
        True,
    )
    one = f"{hook['id']}/"
    changed = asked(client, lead, "patch", one, {"active": False, "events": ["run.finished"]})
    assert changed.json() == {**hook, "active": False, "events": ["run.finished"]}
    assert asked(client, lead, "post", f"{one}test/").status_code == 400
    asked(client, lead, "patch", one, {"active": True})
    sent = asked(client, lead, "post", f"{one}test/")
    assert sent.status_code == 202 and sent.json()["event"] == "test"
    with transaction.atomic():
        announce(lead.memberships.get().workspace_id, EventName.RUN_FINISHED, {})
    (first, second) = asked(client, lead, "get", f"{one}deliveries/").json()["results"]
    assert [first["event"], second["event"]] == ["test", "run.finished"]
    Webhook.objects.get().deliveries.update(state="failed", attempts=8)
    again = asked(client, lead, "post", f"{one}deliveries/{second['id']}/resend/").json()
    assert (again["state"], again["attempts"], again["event_id"]) == ("waiting", 0, second["event_id"])
    said = [asked(client, lead, "get", path) for path in ("", one, f"{one}deliveries/")]
    stored = Webhook.objects.get().secret
    for answer in [*said, changed, sent]:
        assert secret not in answer.content.decode() and stored not in answer.content.decode()
    assert asked(client, lead, "delete", one).status_code == 204
    assert asked(client, lead, "get", one).status_code == 404 and not Webhook.objects.exists()


def test_a_repeated_request_keeps_no_secret(client, lead):
    head = bearer(lead)
    head["headers"]["Idempotency-Key"] = "once"
    for _ in range(2):
        assert client.post("/api/v1/w/lab/webhooks/", WANTED, "application/json", **head).status_code == 201
    from accounts.models import AnsweredRequest

    assert not AnsweredRequest.objects.exists()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({**WANTED, "url": "ftp://example.org"}, "The address must be like"),
        ({**WANTED, "url": "http://169.254.169.254/"}, "may not be called"),
        ({**WANTED, "events": ["all"]}, "There is no event 'all'"),
        ({**WANTED, "events": []}, "at least one event"),
        ({**WANTED, "events": "drift.found"}, "events"),
        ({"url": "https://example.org"}, "events"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(client, lead, body, said):
    refused = asked(client, lead, "post", "", body)
    assert refused.status_code == 400 and said in refused.json()["detail"]
    assert not Webhook.objects.exists()


def test_only_owners_and_leads_of_the_workspace_see_or_touch_them(client, lead):
    hook, _secret = add_webhook(workspace=make_workspace("lab"), url="https://example.org/", events=["drift.found"])
    stranger = make_user("owner", make_workspace("other"))
    analyst = make_user("analyst", make_workspace("lab"))
    paths = ("", f"{hook.public_id}/", f"{hook.public_id}/deliveries/")
    for path in paths:
        assert asked(client, stranger, "get", path).status_code == 404
        assert asked(client, analyst, "get", path).status_code == 403
        assert asked(client, lead, "get", path).status_code == 200
    for user, status in ((stranger, 404), (analyst, 403)):
        assert asked(client, user, "post", "", WANTED).status_code == status
        assert asked(client, user, "delete", f"{hook.public_id}/").status_code == status
        assert asked(client, user, "post", f"{hook.public_id}/test/").status_code == status
    # A lead of two workspaces does not reach a webhook of the one by the address of the other.
    Membership.objects.create(user=stranger, workspace=make_workspace("lab"), role="lead")
    address = f"/api/v1/w/other/webhooks/{hook.public_id}/"
    assert client.get(address, **bearer(stranger)).status_code == 404
    assert Webhook.objects.count() == 1 and not hook.deliveries.exists()


def run(*words):
    said = StringIO()
    call_command("webhooks", *words, stdout=said)
    return said.getvalue()


def test_the_command_does_the_same_and_says_a_secret_once(lead):
    added = run("add", "https://example.org/hooks", "--events", "drift.found")
    hook = Webhook.objects.get()
    secret = re.search(r"whsec_[\w-]{43}", added)[0]
    assert hook.public_id in added
    assert run() == run("list") == f"{hook.public_id}  on   https://example.org/hooks  drift.found\n"
    run("change", hook.public_id, "--off", "--events", "run.finished", "rater.paused")
    hook.refresh_from_db()
    assert (hook.active, hook.events) == (False, ["rater.paused", "run.finished"])
    with pytest.raises(CommandError, match="switched off"):
        run("test", hook.public_id)
    run("change", hook.public_id, "--on", "--url", "https://example.org/other")
    run("test", hook.public_id)
    delivery = hook.deliveries.get()
    hook.deliveries.update(state="failed", attempts=8, http_status=500)
    listed = run("deliveries", hook.public_id)
    assert delivery.public_id in listed and "failed  attempts 8  status 500" in listed
    run("resend", delivery.public_id)
    delivery.refresh_from_db()
    assert delivery.state == "waiting"
    assert secret not in run() + run("deliveries", hook.public_id)
    for words in (("test", "none"), ("resend", "none"), ("add", "x"), ("add", "https://a.org", "--events", "all")):
        with pytest.raises(CommandError):
            run(*words)
    run("remove", hook.public_id)
    assert not Webhook.objects.exists()
