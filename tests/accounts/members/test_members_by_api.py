"""Members and invitations over the API: the rules of the page, a scope of its own, and links that end with their token."""

from datetime import timedelta

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.api.tokens import issue_token, revoke_all_tokens, revoke_token
from accounts.members.changes import make_accounts
from accounts.members.invitations import invite
from accounts.models import AnsweredRequest, ApiToken, Invitation, Membership, User
from tests.factories import make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db
OTHERS = [scope for scope in ApiToken.Scope.values if scope != "members"]


@pytest.fixture
def lab():
    return make_workspace("lab")


@pytest.fixture
def owner(lab):
    return make_user("owner", lab, username="olga")


@pytest.fixture
def lead(lab):
    return make_user("lead", lab, username="lena")


def send(client, user, name, *parts, method="get", sent=None, scopes=("members",), **headers):
    _token, secret = issue_token(user=user, name="script", scopes=scopes)
    content = {} if method == "get" else {"data": sent or {}, "content_type": "application/json"}
    bearer = {"Authorization": f"Bearer {secret}", **headers}
    return getattr(client, method)(reverse(f"api:{name}", args=("lab", *parts)), **content, headers=bearer)


def role_of(user):
    return Membership.objects.filter(user=user).values_list("role", flat=True).first()


def test_who_may(client, lab, owner, lead):
    invitation, _secret = invite(workspace=lab, role="rater", note="Ana", days=7, by=owner, clock=timezone.now)
    ann = make_user("rater", lab, username="ann")
    calls = [
        ("members", (), "get", None),
        ("members", (), "post", {"names": ["eva"], "role": "rater"}),
        ("member", (ann.public_id,), "get", None),
        ("member", (ann.public_id,), "patch", {"role": "analyst"}),
        ("member", (ann.public_id,), "delete", None),
        ("invitations", (), "get", None),
        ("invitations", (), "post", {"role": "rater", "note": "Eva"}),
        ("withdraw_invitation", (invitation.public_id,), "delete", None),
    ]
    elsewhere = make_user("owner", make_workspace("elsewhere"), username="else")
    people = [(elsewhere, 404), *((make_user(role, lab), 403) for role in ("analyst", "reviewer", "rater"))]
    for name, parts, method, sent in calls:
        for user, status in people:
            answer = send(client, user, name, *parts, method=method, sent=sent)
            assert answer.status_code == status, (name, method, user)
        narrow = send(client, owner, name, *parts, method=method, sent=sent, scopes=OTHERS)
        assert narrow.status_code == 403 and "lacks the scope members" in narrow.json()["detail"]
    assert role_of(ann) == "rater" and not User.objects.filter(username="eva@lab").exists()
    assert Invitation.objects.get().withdrawn_at is None


def test_members_are_listed_with_their_roles(client, lab, owner, lead):
    make_user("owner", make_workspace("elsewhere"), username="else")
    rows = send(client, lead, "members").json()["results"]
    assert [(row["username"], row["role"]) for row in rows] == [("olga", "owner"), ("lena", "lead")]
    assert send(client, lead, "member", owner.public_id).json() == rows[0]
    assert send(client, lead, "member", "nobody").status_code == 404


class TestAccounts:
    def test_are_made_with_passwords_that_no_other_answer_and_no_row_has(self, client, lab, lead):
        sent = {"names": ["ann", " bob ", "ann"], "role": "rater"}
        answer = send(client, lead, "members", method="post", sent=sent, **{"Idempotency-Key": "k"})
        assert answer.status_code == 201 and answer["Cache-Control"] == "no-store"
        made = {one["username"]: one["password"] for one in answer.json()["made"]}
        assert list(made) == ["ann@lab", "bob@lab"] and answer.json()["known"] == []
        for name, password in made.items():
            user = User.objects.get(username=name)
            assert user.check_password(password) and user.password_given and role_of(user) == "rater"
            assert Client().post("/sign-in/", {"username": name, "password": password})["Location"] == "/"
        again = send(client, lead, "members", method="post", sent=sent, **{"Idempotency-Key": "k"})
        assert again.json() == {"made": [], "known": ["ann@lab", "bob@lab"]}
        assert not AnsweredRequest.objects.exists()

    @pytest.mark.parametrize(
        ("sent", "said"),
        [
            ({"names": ["eva"], "role": "owner"}, "role: "),
            ({"names": ["eva"], "role": "lead"}, "role: "),
            ({"names": ["eva"]}, "role: "),
            ({"names": [], "role": "rater"}, "names: "),
            ({"names": ["a b"], "role": "rater"}, "only letters, digits"),
            ({"names": ["e" * 146], "role": "rater"}, "at most"),
            ({"names": [f"n{n}" for n in range(51)], "role": "rater"}, "names: "),
            ([], "Invalid data"),
        ],
    )
    def test_that_cannot_be_made(self, client, lab, owner, sent, said):
        refused = send(client, owner, "members", method="post", sent=sent or "[]")
        assert refused.status_code == 400 and said in refused.json()["detail"]
        assert User.objects.count() == 1


class TestRoles:
    def test_are_changed_and_taken_by_those_who_may_give_them(self, client, lab, owner, lead):
        ann = make_user("rater", lab, username="ann")
        seen = send(client, lead, "member", ann.public_id)
        changed = send(client, lead, "member", ann.public_id, method="patch", sent={"role": "analyst"})
        assert changed.status_code == 200 and changed.json() == {**seen.json(), "role": "analyst"}
        for method in ("patch", "delete"):
            late = send(
                client,
                lead,
                "member",
                ann.public_id,
                method=method,
                sent={"role": "rater"},
                **{"If-Match": seen["ETag"]},
            )
            assert late.status_code == 412 and role_of(ann) == "analyst"
        assert send(client, owner, "member", ann.public_id, method="patch", sent={"role": "owner"}).status_code == 200
        assert send(client, owner, "member", ann.public_id, method="delete").status_code == 204
        assert role_of(ann) is None and User.objects.filter(pk=ann.pk).exists()
        assert send(client, owner, "member", ann.public_id, method="delete").status_code == 404

    def test_above_ones_own_are_given_to_nobody(self, client, lab, owner, lead):
        ann = make_user("rater", lab, username="ann")
        for user, role in ((ann, "owner"), (ann, "lead"), (lead, "owner"), (owner, "rater")):
            refused = send(client, lead, "member", user.public_id, method="patch", sent={"role": role})
            assert refused.status_code == 400 and "owner" in refused.json()["detail"]
        assert send(client, lead, "member", owner.public_id, method="delete").status_code == 400
        for sent in ({"role": "king"}, {}):
            assert send(client, owner, "member", ann.public_id, method="patch", sent=sent).status_code == 400
        assert [role_of(user) for user in (owner, lead, ann)] == ["owner", "lead", "rater"]

    def test_of_the_last_owner_and_of_who_has_a_handed_out_password_stay(self, client, lab, owner):
        make_accounts(workspace=lab, names=["eva"], role="rater", by=owner)
        eva = User.objects.get(username="eva@lab")
        refused = send(client, owner, "member", eva.public_id, method="patch", sent={"role": "owner"})
        assert refused.status_code == 400 and "handed out" in refused.json()["detail"]
        for method in ("patch", "delete"):
            refused = send(client, owner, "member", owner.public_id, method=method, sent={"role": "lead"})
            assert refused.status_code == 400 and "at least one owner" in refused.json()["detail"]
        assert (role_of(owner), role_of(eva)) == ("owner", "rater")


class TestInvitations:
    SENT = {"role": "analyst", "note": "Ana", "days": 3}

    def made(self, client, user, sent=SENT, **options):
        """The token, the invitation, and the address of its link."""
        token, secret = issue_token(user=user, name="script", scopes=["members"], **options)
        head = {"Authorization": f"Bearer {secret}"}
        answer = client.post(reverse("api:invitations", args=["lab"]), sent, "application/json", headers=head)
        assert answer.status_code == 201 and answer["Cache-Control"] == "no-store", answer.content
        return token, Invitation.objects.get(), answer.json()

    def test_have_a_link_in_one_answer_alone(self, client, lab, lead):
        _token, invitation, said = self.made(client, lead)
        client.force_login(lead)
        assert f"{invitation.public_id}/withdraw/" in markup(client.get("/people/lab/"))
        assert (said["role"], said["note"], said["made_by"], said["sent"]) == ("analyst", "Ana", "lena", False)
        assert abs(invitation.expires_at - timezone.now() - timedelta(days=3)) < timedelta(minutes=1)
        (listed,) = send(client, lead, "invitations").json()["results"]
        assert listed == {name: value for name, value in said.items() if name not in ("link", "sent")}
        secret = said["link"].rpartition("/invitation/")[2]
        assert secret and secret not in str(list(Invitation.objects.values()))
        guest = make_user(username="gus")
        client.force_login(guest)
        assert client.post(said["link"], {"do": "accept"}).status_code == 302
        assert role_of(guest) == "analyst"
        assert send(client, lead, "invitations").json()["results"] == []
        gone = send(client, lead, "withdraw_invitation", invitation.public_id, method="delete")
        assert gone.status_code == 404 and role_of(guest) == "analyst"

    def test_are_withdrawn(self, client, lab, lead):
        _token, invitation, said = self.made(client, lead)
        parts = ("withdraw_invitation", invitation.public_id)
        assert send(client, lead, *parts, method="delete").status_code == 204
        assert send(client, lead, *parts, method="delete").status_code == 404
        assert "has been withdrawn" in markup(client.get(said["link"]))

    @pytest.mark.parametrize("every", [True, False])
    def test_end_with_the_token_that_made_them(self, client, lab, owner, every):
        """The attack: with a stolen token, to invite oneself as an owner, and to accept after the token was revoked."""
        token, _invitation, said = self.made(client, owner, {**self.SENT, "role": "owner"})
        if every:
            revoke_all_tokens(owner, clock=timezone.now)
        else:
            revoke_token(token=token, clock=timezone.now)
        thief = make_user(username="thief")
        client.force_login(thief)
        assert "has been withdrawn" in markup(client.get(said["link"]))
        client.post(said["link"], {"do": "accept"})
        assert role_of(thief) is None
        assert send(client, owner, "invitations").json()["results"] == []
        client.force_login(owner)
        assert "withdraw/" not in markup(client.get("/people/lab/"))

    def test_last_no_longer_than_the_token(self, client, lab, lead):
        token, invitation, _said = self.made(client, lead, {**self.SENT, "days": 30}, days=1)
        assert invitation.expires_at == token.expires_at < timezone.now() + timedelta(days=2)

    def test_of_a_browser_do_not_depend_on_a_token(self, client, lab, lead):
        client.force_login(lead)
        address = reverse("api:invitations", args=["lab"])
        assert client.post(address, self.SENT, "application/json").status_code == 201
        issue_token(user=lead, name="other")
        revoke_all_tokens(lead, clock=timezone.now)
        assert len(client.get(address).json()["results"]) == 1

    def test_give_no_role_above_ones_own(self, client, lab, owner, lead):
        for role in ("owner", "lead"):
            refused = send(client, lead, "invitations", method="post", sent={**self.SENT, "role": role})
            assert refused.status_code == 400 and "Ask an owner" in refused.json()["detail"]
        invitation, _secret = invite(workspace=lab, role="lead", note="Ana", days=7, by=owner, clock=timezone.now)
        refused = send(client, lead, "withdraw_invitation", invitation.public_id, method="delete")
        assert refused.status_code == 400 and Invitation.objects.get().withdrawn_at is None

    @pytest.mark.parametrize(
        ("changed", "said"),
        [
            ({"days": 31}, "days: "),
            ({"days": 0}, "days: "),
            ({"note": ""}, "note: "),
            ({"note": "n" * 101}, "note: "),
            ({"role": "king"}, "role: "),
            ({"email": "no address"}, "email: "),
            ({"email": "ana@example.org"}, "sends no e-mail"),
        ],
    )
    def test_that_cannot_be_made(self, client, lab, owner, changed, said):
        refused = send(client, owner, "invitations", method="post", sent={**self.SENT, **changed})
        assert refused.status_code == 400 and said in refused.json()["detail"]
        assert not Invitation.objects.exists()

    def test_are_sent_by_e_mail_where_there_is_a_server(self, client, lab, owner, settings):
        settings.IDENTITY = type("Identity", (), {"mail": True})()
        _token, _invitation, said = self.made(client, owner, {**self.SENT, "email": "ana@example.org"})
        assert said["sent"] is True and said["link"] == ""
        (message,) = mail.outbox
        assert message.to == ["ana@example.org"] and "/invitation/" in message.body
