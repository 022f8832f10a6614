"""The pages of webhooks: what they show, what they do, and who sees nothing."""

import re

import pytest

from accounts.models import Membership, Webhook
from core.messages.message import stored
from generation.webhooks.sending import NOT_TAKEN
from generation.webhooks.subscriptions import add_webhook, send_test
from tests.factories import make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db
FIELDS = {"url": "https://example.org/hooks", "events": ["study.finished", "drift.found"]}


@pytest.fixture
def lab():
    return make_workspace("lab")


@pytest.fixture
def lead(client, lab):
    user = make_user("lead", lab)
    client.force_login(user)
    return user


@pytest.fixture
def hook(lab):
    return add_webhook(workspace=lab, url="https://example.org/hooks", events=["drift.found"])[0]


def test_a_lead_adds_a_webhook_and_sees_its_secret_once(client, lead):
    assert 'href="/webhooks/"' in markup(client.get("/"))
    made = client.post("/webhooks/lab/", FIELDS)
    assert made.status_code == 200 and "no-store" in made["Cache-Control"]
    secret = re.search(r"whsec_[\w-]{43}", markup(made))[0]
    hook = Webhook.objects.get()
    assert (hook.events, hook.created_by) == (["study.finished", "drift.found"], lead)
    for address in ("/webhooks/", "/webhooks/lab/", f"/webhooks/lab/{hook.public_id}/"):
        shown = markup(client.get(address))
        assert "https://example.org/hooks" in shown
        assert secret not in shown and hook.secret not in shown


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"url": "http://169.254.169.254/"}, "may not be called"),
        ({"url": "https://a.org/?token=1"}, "The address must be like"),
        ({"events": []}, "This field is required"),
        ({"events": ["all"]}, "Select a valid choice"),
    ],
)
def test_what_cannot_be_is_said_beside_its_field_and_nothing_is_stored(client, lead, change, said):
    refused = client.post("/webhooks/lab/", FIELDS | change)
    assert refused.status_code == 422 and said in markup(refused)
    assert not Webhook.objects.exists()


def test_the_log_shows_what_a_receiver_claimed_escaped_and_sends_again(client, lead, hook):
    delivery = send_test(hook)
    shown = markup(client.get(f"/webhooks/lab/{hook.public_id}/"))
    assert "Waiting" in shown and "next attempt" not in shown
    problem = stored("problem", NOT_TAKEN(status=500))
    hook.deliveries.update(state="failed", attempts=8, http_status=500, reply="<script>x</script>", **problem)
    page = client.get(f"/webhooks/lab/{hook.public_id}/").content.decode()
    assert "&lt;script&gt;x&lt;/script&gt;" in page and "<script>x" not in page
    assert "answered with status 500" in page
    client.cookies["django_language"] = "zh-hans"
    assert "answered with status" not in client.get(f"/webhooks/lab/{hook.public_id}/").content.decode()
    answer = client.post(f"/webhooks/lab/{hook.public_id}/resend/{delivery.public_id}/")
    assert answer.status_code == 302
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts) == ("waiting", 0)
    assert client.post(f"/webhooks/lab/{hook.public_id}/resend/none/").status_code == 404


def test_a_lead_changes_tries_and_removes_it(client, lead, hook):
    address = f"/webhooks/lab/{hook.public_id}/"
    client.post(f"{address}test/")
    assert hook.deliveries.get().event == "test"
    assert client.post(address, {**FIELDS, "url": "https://example.org/b"}).status_code == 302
    hook.refresh_from_db()
    assert (hook.url, hook.active) == ("https://example.org/b", False)
    assert client.post(f"{address}test/").status_code == 302 and hook.deliveries.count() == 1
    assert "switched off" in markup(client.get(address))
    assert client.post(address, {**FIELDS, "url": "x", "active": "on"}).status_code == 422
    assert client.post(f"{address}remove/").status_code == 302
    assert not Webhook.objects.exists()


def test_leads_of_other_workspaces_analysts_raters_and_visitors_see_nothing(client, hook):
    lab, other = hook.workspace, make_workspace("other")
    delivery = send_test(hook)
    pages = ["/webhooks/lab/", f"/webhooks/lab/{hook.public_id}/", f"/webhooks/other/{hook.public_id}/"]
    acts = [f"/webhooks/lab/{hook.public_id}/{act}/" for act in ("test", "remove", f"resend/{delivery.public_id}")]
    theirs = make_user("owner", other)
    for user in (theirs, make_user("analyst", lab), make_user("rater", lab), None):
        client.logout()
        if user is not None:
            client.force_login(user)
        for page in pages:
            answer = client.get(page)
            assert answer.status_code in (302, 403, 404), page
            assert "example.org" not in answer.content.decode()
        assert all(client.post(act).status_code in (302, 403, 404) for act in acts)
        assert client.post(pages[0], FIELDS).status_code in (302, 403, 404)
    assert Webhook.objects.count() == 1 and hook.deliveries.count() == 1
    # Where somebody leads both, each address shows the webhooks of its own workspace.
    Membership.objects.create(user=theirs, workspace=lab, role="lead")
    client.force_login(theirs)
    assert [client.get(page).status_code for page in pages] == [200, 200, 404]
    assert "example.org/hooks</a>" not in markup(client.get("/webhooks/other/"))
