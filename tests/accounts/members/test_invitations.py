"""Invitations: one person, one role, some days; accepted by the account's owner, never over their head."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection, connections
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.members.changes import PeopleRefused, change_role, make_accounts, new_password, remove_person
from accounts.members.invitations import InvitationClosed, accept, invite
from accounts.models import Event, Invitation, Membership, User
from tests.factories import make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db
OWN = {"new_password1": "my own words 5", "new_password2": "my own words 5"}


@pytest.fixture
def lab():
    return make_workspace("lab")


@pytest.fixture
def owner(lab):
    return make_user("owner", lab, username="olga")


@pytest.fixture
def lead(lab):
    return make_user("lead", lab, username="lena")


def membership(user, workspace):
    return Membership.objects.get(user=user, workspace=workspace)


def link(workspace, by, role="analyst", days=7, clock=timezone.now):
    _invitation, secret = invite(workspace=workspace, role=role, note="Ana", days=days, by=by, clock=clock)
    return reverse("accounts:invitation", args=[secret])


def members(workspace):
    return dict(workspace.memberships.values_list("user__username", "role"))


def test_a_link_is_made_on_the_page_shown_once_and_kept_as_a_digest(client, lab, lead):
    client.force_login(lead)
    sent = {"do": "invite", "invite-note": "Ana of the second floor", "invite-role": "analyst", "invite-days": "3"}
    html = markup(client.post("/people/lab/", sent))
    (address,) = re.findall(r'value="(http://testserver/invitation/([\w-]{43})/)"', html)
    again = markup(client.get("/people/lab/"))
    assert "Ana of the second floor" in again
    assert address[1] not in again
    assert address[1] not in str(list(Invitation.objects.values())) + str(list(Event.objects.values()))
    invitation = Invitation.objects.get()
    assert timedelta(days=2, hours=23) < invitation.expires_at - timezone.now() <= timedelta(days=3)
    assert client.post("/people/lab/", {**sent, "invite-days": "31"}).status_code == 422


def test_somebody_new_chooses_name_and_password_and_is_signed_in(client, lab, lead):
    address = link(lab, lead)
    assert "Lena" not in members(lab)
    html = markup(client.get(address))
    assert "lena invites you to join with the role Analyst" in html
    page = client.post(address, {"name": "ana", **OWN}, follow=True)
    assert "sign in as ana@lab" in markup(page)
    assert members(lab) == {"lena": "lead", "ana@lab": "analyst"}
    user = User.objects.get(username="ana@lab")
    assert (user.made_in, user.password_given, user.is_staff) == (lab, False, False)
    assert client.get("/studies/").status_code == 200
    assert Client().login(username="ana@lab", password="my own words 5")


def test_who_has_an_account_signs_in_and_accepts_with_it(client, lab, lead):
    user = make_user("lead", make_workspace("other"), username="otto")
    address = link(lab, lead)
    html = markup(client.get(address))
    (sign_in,) = re.findall(r'href="(/sign-in/\?next=/invitation/[^"]+)"', html)
    signed = client.post(
        "/sign-in/", {"username": "otto", "password": "plumb line 12", "next": sign_in.partition("next=")[2]}
    )
    assert signed["Location"] == address
    assert "otto" not in members(lab)
    client.get(address)
    assert "otto" not in members(lab)
    client.post(address)
    assert members(lab) == {"lena": "lead", "otto": "analyst"}
    user.refresh_from_db()
    assert user.check_password("plumb line 12")
    with pytest.raises(PeopleRefused, match="access to more than this workspace"):
        new_password(membership=membership(user, lab), by=lead)


def test_the_workspace_that_made_an_account_loses_its_power_when_the_account_joins_another(lab, lead):
    """The attack: the lead who drew a password keeps it, or renews it, to reach the workspace that invites later."""
    (account,), _known = make_accounts(workspace=lab, names=["ann"], role="rater", by=lead)
    other = make_workspace("other")
    address = link(other, make_user("owner", other), role="lead")
    ann = Client()
    ann.login(username="ann@lab", password=account.password)
    html = markup(ann.get(address))
    assert "Somebody else handed out your password" in html
    assert ann.post(address).status_code == 422
    assert ann.post(address, {"new_password1": "one thing 12", "new_password2": "another 12"}).status_code == 422
    assert "ann@lab" not in members(other)
    assert ann.post(address, OWN)["Location"] == "/"
    assert members(other)["ann@lab"] == "lead"
    assert ann.get("/people/other/").status_code == 200
    assert not Client().login(username="ann@lab", password=account.password)
    user = User.objects.get(username="ann@lab")
    with pytest.raises(PeopleRefused, match="access to more than this workspace"):
        new_password(membership=membership(user, lab), by=lead)


def test_a_link_works_once(client, lab, lead):
    address = link(lab, lead)
    client.post(address, {"name": "ana", **OWN})
    for visitor in (Client(), client):
        page = visitor.post(address, {"name": "bea", **OWN})
        assert (page.status_code, "has already been used" in markup(page)) == (410, True)
    second = make_user(username="second")
    with pytest.raises(InvitationClosed, match="has already been used"):
        accept(invitation=Invitation.objects.get(), user=second, clock=timezone.now)
    assert members(lab) == {"lena": "lead", "ana@lab": "analyst"}
    assert not User.objects.filter(username__startswith="bea").exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time")
def test_of_two_who_accept_at_once_one_comes_in(lab, lead):
    link(lab, lead)
    invitation = Invitation.objects.get()
    users = [make_user() for _one in range(4)]

    def try_to(user):
        try:
            accept(invitation=invitation, user=user, clock=timezone.now)
        except InvitationClosed:
            return False
        finally:
            connections.close_all()
        return True

    with ThreadPoolExecutor(4) as threads:
        assert sorted(threads.map(try_to, users)) == [False, False, False, True]
    assert lab.memberships.count() == 2


def test_a_link_expires_and_is_withdrawn(client, lab, lead):
    old = link(lab, lead, days=1, clock=lambda: timezone.now() - timedelta(days=1, seconds=1))
    page = client.get(old)
    assert (page.status_code, "has expired" in markup(page)) == (410, True)
    address = link(lab, lead)
    client.force_login(lead)
    withdrawal = reverse("accounts:withdraw_invitation", args=["lab", Invitation.objects.first().public_id])
    assert client.get(withdrawal).status_code == 405
    client.post(withdrawal)
    visitor = Client()
    for closed in (old, address):
        assert visitor.post(closed, {"name": "ana", **OWN}).status_code == 410
    assert "has been withdrawn" in markup(visitor.get(address))
    assert members(lab) == {"lena": "lead"}
    assert client.get("/invitation/" + "x" * 43 + "/").status_code == 404


def test_only_who_gives_the_role_withdraws_and_only_in_this_workspace(client, lab, owner, lead):
    link(lab, owner, role="lead")
    invitation = Invitation.objects.get()
    address = reverse("accounts:withdraw_invitation", args=["lab", invitation.public_id])
    for user, status in ((lead, 302), (make_user("analyst", lab), 404)):
        client.force_login(user)
        assert client.post(address).status_code == status
    stranger = make_user("owner", make_workspace("other"))
    client.force_login(stranger)
    assert client.post(address).status_code == 404
    assert client.post(address.replace("/lab/", "/other/")).status_code == 404
    invitation.refresh_from_db()
    assert invitation.withdrawn_at is None


@pytest.mark.parametrize("loses", ["removed", "demoted", "closed"])
def test_who_lost_a_role_does_not_come_back_by_an_own_link(client, lab, owner, loses):
    """The attack: an owner who is about to be removed invites an owner, and accepts it afterwards."""
    former = make_user("owner", lab, username="former")
    address = link(lab, former, role="owner")
    match loses:
        case "removed":
            remove_person(membership=membership(former, lab), by=owner)
        case "demoted":
            change_role(membership=membership(former, lab), role="lead", by=owner)
        case "closed":
            User.objects.filter(pk=former.pk).update(is_active=False)
    page = client.post(address, {"name": "back", **OWN})
    assert (page.status_code, "has been withdrawn" in markup(page)) == (410, True)
    assert "back@lab" not in members(lab)


def test_who_leads_invites_into_roles_below_and_who_reads_into_none(lab, owner, lead):
    for by, role in ((lead, "lead"), (lead, "owner"), (make_user("analyst", lab), "rater"), (make_user(), "rater")):
        with pytest.raises(PeopleRefused, match="cannot give this role"):
            link(lab, by, role=role)
    stranger = make_user("owner", make_workspace("other"))
    with pytest.raises(PeopleRefused, match="cannot give this role"):
        link(lab, stranger, role="rater")
    assert link(lab, owner, role="owner")


def test_a_member_changes_nothing_by_a_link(client, lab, lead):
    rita = make_user("rater", lab, username="rita")
    address = link(lab, lead, role="analyst")
    client.force_login(rita)
    for page in (client.get(address), client.post(address)):
        assert (page.status_code, "already a member of Lab" in markup(page)) == (410, True)
    assert members(lab)["rita"] == "rater"
    assert Invitation.objects.get().accepted_at is None


def test_an_invited_person_finds_no_names_out(client, lab, lead):
    """The attack: try names with one link. Each is accepted, so a link answers once at most, and not about others'."""
    make_user("lead", make_workspace("other"), username="otto")
    make_user(username="ana@lab")
    address = link(lab, lead)
    bad = {"name": "ana", "new_password1": "short", "new_password2": "short"}
    free = {**bad, "name": "qqq"}
    pages = [re.sub(r'value="[^"]*"', "", markup(client.post(address, sent))) for sent in (bad, free)]
    assert pages[0] == pages[1]
    page = client.post(address, {"name": "ana", **OWN}, follow=True)
    assert "sign in as ana2@lab" in markup(page)
    assert Client().post(link(lab, lead), {"name": "otto", **OWN}).status_code == 302


@pytest.mark.parametrize(
    "sent",
    [
        {"name": "two words"},
        {"name": "x" * 101},
        {"name": ""},
        {"new_password1": "123", "new_password2": "123"},
        {"new_password2": "other 12345"},
        {"name": "mypassword99", "new_password1": "mypassword99", "new_password2": "mypassword99"},
    ],
)
def test_what_cannot_be_makes_no_account_and_leaves_the_link(client, lab, lead, sent):
    address = link(lab, lead)
    assert client.post(address, {"name": "ana", **OWN, **sent}).status_code == 422
    assert User.objects.count() == 1
    assert client.post(address, {"name": "ana", **OWN}).status_code == 302


def test_accepting_is_a_persons_own_click_from_our_own_page(lab, lead):
    """The attack: a page elsewhere sends the form for somebody who is signed in here."""
    address = link(lab, lead)
    careful = Client(enforce_csrf_checks=True)
    careful.force_login(make_user(username="otto"))
    assert careful.post(address).status_code == 403
    assert "otto" not in members(lab)


def test_everything_about_an_invitation_is_in_the_log(client, lab, lead):
    link(lab, lead)
    client.force_login(lead)
    client.post(reverse("accounts:withdraw_invitation", args=["lab", Invitation.objects.get().public_id]))
    Client().post(link(lab, lead, role="rater"), {"name": "ana", **OWN})
    events = Event.objects.exclude(verb="signed in").order_by("pk")
    assert [event.verb for event in events] == [
        "invitation made",
        "invitation withdrawn",
        "invitation made",
        "invitation accepted",
    ]
    last = events.last()
    assert (last.actor.username, last.after) == ("ana@lab", {"role": "rater", "invited_by": lead.public_id})
