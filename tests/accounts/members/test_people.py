"""The people of a workspace: who may add, change and remove whom, on the page and by command."""

import re

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.api.tokens import issue_token
from accounts.members.changes import PeopleRefused, change_role, make_accounts, new_password, remove_person
from accounts.members.invitations import accept, invite
from accounts.models import Event, Membership, User
from tests.factories import make_checklist_study, make_rater, make_user, make_workspace
from tests.markup import markup

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


def make_on_page(client, names, role="rater", slug="lab"):
    sent = {"do": "accounts", "accounts-names": names, "accounts-role": role}
    return client.post(reverse("accounts:people_of", args=[slug]), sent)


def accounts_on(page):
    """(name, password) of each new account that the page shows."""
    rows = r'<th scope="row">(\S+)</th>\s*<td><code>(.+?)</code>'
    return re.findall(rows, markup(page))


def renew(client, user, slug="lab"):
    return client.post(reverse("accounts:change_person", args=[slug, user.public_id, "password"]))


def keeps_the_password(user):
    user.refresh_from_db()
    return user.check_password("plumb line 12")


def test_five_raters_are_made_in_one_go_and_sign_in_with_the_passwords_shown_once(client, lab, lead):
    client.force_login(lead)
    page = make_on_page(client, "ann\nbob\n cai \n\ndan\neva\nann")
    made = dict(accounts_on(page))
    assert list(made) == ["ann@lab", "bob@lab", "cai@lab", "dan@lab", "eva@lab"]
    again = markup(client.get("/people/lab/"))
    assert "eva@lab" in again
    assert not any(password in again for password in made.values())
    client.logout()
    for name, password in made.items():
        assert client.post("/sign-in/", {"username": name, "password": password})["Location"] == "/"
        assert client.get("/").status_code == 200
        client.post("/sign-out/")
    assert {user.made_in for user in User.objects.filter(username__in=made)} == {lab}
    assert set(Membership.objects.filter(user__username__in=made).values_list("role", flat=True)) == {"rater"}


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
    with pytest.raises(PeopleRefused, match="cannot give this role"):
        change_role(membership=membership(rita, lab), role="lead", by=lead)
    for role in ("owner", "lead"):
        with pytest.raises(PeopleRefused, match="cannot give this role"):
            make_accounts(workspace=lab, names=["new"], role=role, by=lead)
    for refused in (new_password, remove_person):
        with pytest.raises(PeopleRefused, match="Only an owner"):
            refused(membership=membership(owner, lab), by=lead)
    assert not User.objects.filter(username__startswith="new").exists()
    client.force_login(lead)
    assert 'value="owner"' not in markup(client.get("/people/lab/"))
    for sent in ({"do": "accounts", "accounts-names": "new"}, {"do": "invite", "invite-note": "n", "invite-days": "7"}):
        prefix = "accounts" if sent["do"] == "accounts" else "invite"
        assert client.post("/people/lab/", {**sent, f"{prefix}-role": "owner"}).status_code == 422
    assert client.post("/people/lab/", {"do": "adopt"}).status_code == 404
    address = reverse("accounts:change_person", args=["lab", lead.public_id, "role"])
    client.post(address, {"role": "owner"})
    assert membership(lead, lab).role == "lead"


def test_a_workspace_keeps_an_owner(lab, owner):
    with pytest.raises(PeopleRefused, match="at least one owner"):
        remove_person(membership=membership(owner, lab), by=owner)
    with pytest.raises(PeopleRefused, match="at least one owner"):
        change_role(membership=membership(owner, lab), role="rater", by=owner)
    second = make_user("owner", lab)
    remove_person(membership=membership(owner, lab), by=second)
    assert not Membership.objects.filter(user=owner).exists()
    assert User.objects.filter(pk=owner.pk).exists()


def test_adding_an_existing_name_gives_nothing_over_its_account(client, lab, owner):
    """The attack: add somebody else's account by its name, renew its password, sign in as its owner."""
    elsewhere = make_workspace("other")
    victim = make_user("lead", elsewhere, username="otto")
    idle = make_user(username="idle")
    client.force_login(owner)
    for user in (victim, idle):
        client.post("/people/lab/", {"username": user.username, "role": "rater"})
        page = make_on_page(client, user.username)
        assert [name for name, _password in accounts_on(page)] == [f"{user.username}@lab"]
        assert renew(client, user).status_code == 404
        assert not Membership.objects.filter(user=user, workspace=lab).exists()
        assert keeps_the_password(user)


def test_a_password_is_renewed_only_where_the_account_was_made_and_belongs_alone(client, lab, owner, lead):
    made, _known = make_accounts(workspace=lab, names=["ann"], role="rater", by=lead)
    ann = User.objects.get(username="ann@lab")
    client.force_login(lead)
    page = renew(client, ann)
    ((name, password),) = accounts_on(page)
    ann.refresh_from_db()
    assert (name, ann.check_password(password), ann.check_password(made[0].password)) == ("ann@lab", True, False)

    came_in = make_user("rater", lab, username="came-in")
    made_elsewhere = make_user("rater", lab, username="away", made_in=make_workspace("other"))
    both = make_user("rater", lab, username="both", made_in=lab)
    Membership.objects.create(workspace=make_workspace("other"), user=both, role="rater")
    staff = make_user("rater", lab, username="stan", is_staff=True, made_in=lab)
    root = make_user("rater", lab, username="root", is_superuser=True, made_in=lab)
    for user in (came_in, made_elsewhere, both, staff, root):
        page = renew(client, user)
        assert page.status_code == 302
        assert "access to more than this workspace" in markup(client.get(page["Location"]))
        assert keeps_the_password(user)
        with pytest.raises(PeopleRefused, match="command add_person"):
            new_password(membership=membership(user, lab), by=owner)
    html = markup(client.get("/people/lab/"))
    assert re.findall(r'aria-label="New password for (\S+)"', html) == ["ann@lab"]


def test_an_owners_password_is_renewed_by_nobody_on_a_page(lab, owner):
    second = make_user("owner", lab, username="second", made_in=lab)
    with pytest.raises(PeopleRefused, match="access to more than this workspace"):
        new_password(membership=membership(second, lab), by=owner)
    assert keeps_the_password(second)
    assert new_password(membership=membership(second, lab), by=None)


@pytest.mark.parametrize("tie", ["rater", "event", "study", "left"])
def test_an_account_that_did_anything_elsewhere_is_never_renewed_again(lab, lead, tie):
    user = make_user("rater", lab, username="ann@lab", made_in=lab)
    assert new_password(membership=membership(user, lab), by=lead)
    elsewhere = make_workspace("other")
    match tie:
        case "rater":
            make_rater(make_checklist_study(workspace=elsewhere), user=user)
        case "event":
            Event.objects.create(workspace=elsewhere, actor=user, verb="made", object_type="study", object_id="1")
        case "study":
            study = make_checklist_study(workspace=elsewhere)
            study.created_by = user
            study.save()
        case "left":
            boss = make_user("owner", elsewhere)
            invitation, _secret = invite(
                workspace=elsewhere, role="rater", note="", days=7, by=boss, clock=timezone.now
            )
            accept(invitation=invitation, user=user, clock=timezone.now)
            remove_person(membership=membership(user, elsewhere), by=boss)
    with pytest.raises(PeopleRefused, match="access to more than this workspace"):
        new_password(membership=membership(user, lab), by=lead)


def test_the_answer_to_a_new_name_is_the_same_whether_the_name_exists(client, lab, lead):
    """Names are tried one after the other: nothing but the name itself and the password differs in what comes back."""
    make_user("lead", make_workspace("other"), username="otto")
    User.objects.create_user("otto@other", password="plumb line 12", made_in=make_workspace("other"))
    client.force_login(lead)

    def answer(name):
        page = make_on_page(client, name)
        ((made, password),) = accounts_on(page)
        added = Membership.objects.get(user__username=made)
        html = re.sub(r'csrfmiddlewaretoken" value="\w+"', "", markup(page))
        for own in (password, added.user.public_id, made.partition("@")[0]):
            html = html.replace(own, "")
        remove_person(membership=added, by=lead)
        return page.status_code, html

    assert answer("otto") == answer("qqqq")


def test_a_name_taken_by_the_operator_gets_a_number_and_one_of_ours_is_left(client, lab, lead):
    theirs = make_user(username="ann@lab")
    client.force_login(lead)
    assert [name for name, _ in accounts_on(make_on_page(client, "ann"))] == ["ann2@lab"]
    assert keeps_the_password(theirs)
    assert [name for name, _ in accounts_on(make_on_page(client, "bob"))] == ["bob@lab"]
    bob = User.objects.get(username="bob@lab")
    before = bob.password
    page = make_on_page(client, "bob\ncai")
    assert [name for name, _ in accounts_on(page)] == ["cai@lab"]
    assert "were not changed: bob@lab." in markup(page)
    bob.refresh_from_db()
    assert bob.password == before


def test_a_new_password_ends_sessions_and_tokens(client, lab, lead):
    user = make_user("analyst", lab, username="ana@lab", made_in=lab)
    _token, secret = issue_token(user=user, name="script")
    client.force_login(user)
    assert client.get("/studies/").status_code == 200
    bearer = {"Authorization": f"Bearer {secret}"}
    program = Client()
    assert program.get("/api/v1/studies/", headers=bearer).status_code == 200
    new_password(membership=membership(user, lab), by=lead)
    assert client.get("/studies/").status_code == 302
    assert program.get("/api/v1/studies/", headers=bearer).status_code == 401


def test_who_is_removed_sees_nothing_more_by_session_or_token(client, lab, owner):
    lab_study = make_checklist_study(workspace=lab)
    user = make_user("lead", lab, username="lea")
    _token, secret = issue_token(user=user, name="script", scopes=["read", "change", "run"])
    bearer = {"Authorization": f"Bearer {secret}"}
    client.force_login(user)
    assert lab_study.slug in markup(client.get("/studies/"))
    remove_person(membership=membership(user, lab), by=owner)
    assert client.get("/studies/").status_code == 403
    assert client.get("/people/lab/").status_code == 404
    program = Client()
    assert program.get("/api/v1/studies/", headers=bearer).status_code == 401
    # A later role does not bring the token back.
    Membership.objects.create(workspace=lab, user=user, role="analyst")
    assert program.get("/api/v1/studies/", headers=bearer).status_code == 401


def test_a_handed_out_password_is_changed_before_its_account_leads(client, lab, owner, lead):
    """The attack: a lead makes an account, has an owner promote it, and signs in as it by the password they drew."""
    (account,), _known = make_accounts(workspace=lab, names=["ann"], role="rater", by=lead)
    ann = User.objects.get(username="ann@lab")
    for role in ("owner", "lead"):
        with pytest.raises(PeopleRefused, match="handed out"):
            change_role(membership=membership(ann, lab), role=role, by=owner)
    change_role(membership=membership(ann, lab), role="analyst", by=owner)
    _token, secret = issue_token(user=ann, name="kept by whoever knew the password")
    client.login(username="ann@lab", password=account.password)
    assert "Somebody else handed out your password" in markup(client.get("/account/"))
    own = {"old_password": account.password, "new_password1": "my own words 5", "new_password2": "my own words 5"}
    assert client.post("/account/password/", own).status_code == 302
    assert "Somebody else handed out your password" not in markup(client.get("/account/"))
    assert Client().get("/api/v1/studies/", headers={"Authorization": f"Bearer {secret}"}).status_code == 401
    change_role(membership=membership(ann, lab), role="lead", by=owner)
    assert client.get("/people/lab/").status_code == 200


def test_owners_and_leads_are_not_made_with_a_handed_out_password(lab, owner):
    for role in ("owner", "lead"):
        with pytest.raises(PeopleRefused, match="choose their own password"):
            make_accounts(workspace=lab, names=["new"], role=role, by=owner)
    assert User.objects.count() == 1


def test_a_hundred_names_at_once_are_refused_whole(lab, lead):
    with pytest.raises(PeopleRefused, match="at most 50"):
        make_accounts(workspace=lab, names=[f"n{n}" for n in range(51)], role="rater", by=lead)
    assert User.objects.count() == 1


@pytest.mark.parametrize("name", ["two words", "semi;colon", "x" * 151, "x" * 144])
def test_a_name_that_cannot_be_makes_nothing(client, lab, owner, name):
    """The last would fit before @lab, but with no room for the number that tells it from a name that is taken."""
    client.force_login(owner)
    page = make_on_page(client, f"fine\n{name}")
    assert page.status_code == 422
    assert User.objects.count() == 1


def test_everything_is_in_the_log_without_a_password(lab, owner):
    (account,), _known = make_accounts(workspace=lab, names=["anna"], role="analyst", by=owner)
    user, password = User.objects.get(username="anna@lab"), account.password
    change_role(membership=membership(user, lab), role="reviewer", by=owner)
    again = new_password(membership=membership(user, lab), by=owner)
    remove_person(membership=membership(user, lab), by=owner)
    events = Event.objects.order_by("pk")
    assert [event.verb for event in events] == ["person added", "role changed", "password renewed", "person removed"]
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
    with pytest.raises(CommandError, match="already a member of this workspace"):
        call_command("add_person", "olga", "--workspace", "main")
    known = make_user("lead", make_workspace("other"), username="otto")
    call_command("add_person", "otto", "--workspace", "main", "--role", "analyst")
    assert "had an account and now belongs to main too" in capsys.readouterr().out
    assert keeps_the_password(known)
    with pytest.raises(CommandError, match="There is no member of workspace main named 'nina'"):
        call_command("add_person", "nina", "--new-password", "--workspace", "main")
