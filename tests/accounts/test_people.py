"""The people of a workspace: who may add, change and remove whom, on the page and by command."""

import re

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from accounts.models import Event, Membership, User
from accounts.people import PeopleRefused, add_person, change_role, new_password, remove_person
from tests.factories import make_user, make_workspace

pytestmark = pytest.mark.django_db


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


def test_a_person_added_signs_in_with_the_password_shown_once(client, lab, owner):
    client.force_login(owner)
    page = client.post(reverse("accounts:people_of", args=["lab"]), {"username": "anna", "role": "analyst"})
    (password,) = re.findall(r"<p><code>(.+?)</code></p>", page.content.decode())
    assert password not in client.get("/people/lab/").content.decode()
    assert "anna" in client.get("/people/").content.decode()
    client.logout()
    assert client.login(username="anna", password=password)
    assert client.get("/studies/").status_code == 200
    assert client.get("/people/").status_code == 403


def test_only_who_leads_sees_the_page(client, lab, owner):
    for role, status in (("lead", 200), ("analyst", 403), ("reviewer", 403), ("rater", 403)):
        client.force_login(make_user(role, lab))
        assert client.get("/people/").status_code == status
    client.force_login(make_user("owner", make_workspace("other")))
    assert client.get("/people/lab/").status_code == 404
    address = reverse("accounts:change_person", args=["lab", owner.public_id, "remove"])
    assert client.post(address).status_code == 404
    client.logout()
    assert "/sign-in/" in client.get("/people/lab/")["Location"]
    assert Membership.objects.filter(user=owner).exists()


def test_a_lead_gives_roles_below_and_touches_neither_owners_nor_leads(client, lab, owner, lead):
    rita = make_user("rater", lab, username="rita")
    change_role(membership=membership(rita, lab), role="analyst", by=lead)
    assert membership(rita, lab).role == "analyst"
    with pytest.raises(PeopleRefused, match="not yours to give"):
        change_role(membership=membership(rita, lab), role="lead", by=lead)
    with pytest.raises(PeopleRefused, match="not yours to give"):
        add_person(workspace=lab, username="new", role="owner", by=lead)
    for refused in (new_password, remove_person):
        with pytest.raises(PeopleRefused, match="Only an owner"):
            refused(membership=membership(owner, lab), by=lead)
    assert not User.objects.filter(username="new").exists()
    client.force_login(lead)
    assert 'value="owner"' not in client.get("/people/lab/").content.decode()


def test_a_workspace_keeps_an_owner(lab, owner):
    with pytest.raises(PeopleRefused, match="at least one owner"):
        remove_person(membership=membership(owner, lab), by=owner)
    with pytest.raises(PeopleRefused, match="at least one owner"):
        change_role(membership=membership(owner, lab), role="rater", by=owner)
    second = make_user("owner", lab)
    remove_person(membership=membership(owner, lab), by=second)
    assert not Membership.objects.filter(user=owner).exists()
    assert User.objects.filter(pk=owner.pk).exists()


def test_a_password_is_not_renewed_where_the_account_opens_more_than_the_asker_rules(lab, owner):
    both = make_user("analyst", lab, username="both")
    Membership.objects.create(workspace=make_workspace("other"), user=both, role="owner")
    staff = make_user("analyst", lab, username="stan", is_staff=True)
    for user in (both, staff):
        with pytest.raises(PeopleRefused, match="opens more than this workspace"):
            new_password(membership=membership(user, lab), by=owner)
        user.refresh_from_db()
        assert user.check_password("plumb line 12")
    plain = make_user("analyst", lab)
    password = new_password(membership=membership(plain, lab), by=owner)
    plain.refresh_from_db()
    assert plain.check_password(password)


def test_who_has_an_account_keeps_the_password_and_who_is_there_is_said_so(lab, owner):
    known = make_user("lead", make_workspace("other"), username="otto")
    assert add_person(workspace=lab, username="otto", role="analyst", by=owner) == (known, "")
    known.refresh_from_db()
    assert known.check_password("plumb line 12")
    with pytest.raises(PeopleRefused, match="belongs to this workspace already"):
        add_person(workspace=lab, username="otto", role="analyst", by=owner)


@pytest.mark.parametrize("name", ["two words", "semi;colon", "x" * 151])
def test_a_name_that_cannot_be_makes_nothing(client, lab, owner, name):
    client.force_login(owner)
    page = client.post("/people/lab/", {"username": name, "role": "analyst"})
    assert page.status_code == 422
    assert User.objects.count() == 1


def test_everything_is_in_the_log_without_a_password(lab, owner):
    user, password = add_person(workspace=lab, username="anna", role="analyst", by=owner)
    change_role(membership=membership(user, lab), role="reviewer", by=owner)
    again = new_password(membership=membership(user, lab), by=owner)
    remove_person(membership=membership(user, lab), by=owner)
    events = Event.objects.order_by("pk")
    assert [event.verb for event in events] == [
        "person added", "role changed", "password renewed", "person removed",
    ]  # fmt: skip
    assert (events[1].before, events[1].after) == ({"role": "analyst"}, {"role": "reviewer"})
    said = str(list(events.values()))
    assert password not in said and again not in said


def test_the_first_owner_is_made_by_command(client, capsys):
    call_command("add_person", "olga")
    password = capsys.readouterr().out.splitlines()[0].rpartition(" ")[2]
    assert client.login(username="olga", password=password)
    assert client.get("/people/").status_code == 200
    call_command("add_person", "olga", "--new-password")
    assert not client.login(username="olga", password=password)
    with pytest.raises(CommandError, match="belongs to this workspace already"):
        call_command("add_person", "olga")
    with pytest.raises(CommandError, match="Nobody in workspace main is called 'otto'"):
        call_command("add_person", "otto", "--new-password")
