"""Reset of a password and invitations by e-mail."""

import re

from django.core import mail
from django.test import Client
from django.urls import reverse

from accounts.api.tokens import issue_token
from accounts.models import ApiToken, Event, Invitation
from tests.accounts.identity.codes import RIGHT, confirm
from tests.factories import make_user, make_workspace
from tests.markup import markup

NEW = "another long one 7"


def sent():
    from accounts.identity.adapters import AccountRules

    if AccountRules.last_mail is not None:
        AccountRules.last_mail.result(20)
    return mail.outbox


def link_in(message):
    return re.search(r"https?://testserver(/\S+)", message.body)[1]


def verify(client, address):
    confirm(client, "/account/factors/app/")
    client.post("/account/e-mail/", {"email": address, "action_add": "1"})
    link = link_in(sent()[-1])
    assert address in markup(client.get(link))
    return client.post(link)


def test_a_verified_address_resets_the_password_once_and_ends_what_the_old_one_opened(client):
    user = make_user("lead", username="lena")
    client.force_login(user)
    verify(client, "lena@example.org")
    issue_token(user=user, name="script")
    stranger = Client()
    stranger.post("/password/", {"email": "lena@example.org"})
    message = sent()[-1]
    assert (message.to, message.from_email) == (["lena@example.org"], "plumbline@example.org")
    assert "lena" in message.body
    form = stranger.get(link_in(message))["Location"]
    assert stranger.post(form, {"password1": NEW, "password2": NEW})["Location"] == "/password/done/"
    user.refresh_from_db()
    assert user.check_password(NEW) and client.get("/account/").status_code == 302
    assert not ApiToken.objects.filter(revoked_at=None).exists()
    assert Event.objects.get(verb="password changed").after == {"how": "e-mail"}
    assert "expired or was used" in markup(Client().get(link_in(message), follow=True))


def test_an_address_that_its_owner_did_not_verify_gets_nothing_and_the_answer_is_the_same(client):
    """The attack: to have an administrator, or oneself, write one's own address into somebody else's account."""
    make_user(username="lena", email="mallory@example.org")
    answers = [client.post("/password/", {"email": email}) for email in ("mallory@example.org", "nobody@example.org")]
    assert {(answer.status_code, answer["Location"]) for answer in answers} == {(302, "/password/sent/")}
    assert sent() == []


def test_nobody_is_flooded_with_mail(client, settings):
    settings.SIGN_IN_LIMITS = {**settings.SIGN_IN_LIMITS, "visitor": 3}
    settings.ACCOUNT_RATE_LIMITS = False  # ours alone must hold
    user = make_user(username="lena")
    owner = Client()
    owner.force_login(user)
    verify(owner, "lena@example.org")
    mail.outbox.clear()
    for number in range(6):
        last = Client(REMOTE_ADDR=f"198.51.100.{number}").post("/password/", {"email": "lena@example.org"})
    assert "Too many failed attempts" in markup(last)
    sent()
    assert len(mail.outbox) <= 3


def test_a_reset_does_not_pass_the_second_factor(client):
    from tests.accounts.identity.codes import set_up_app

    user = make_user(username="lena")
    client.force_login(user)
    verify(client, "lena@example.org")
    set_up_app(client)
    stranger = Client()
    stranger.post("/password/", {"email": "lena@example.org"})
    form = stranger.get(link_in(sent()[-1]))["Location"]
    stranger.post(form, {"password1": NEW, "password2": NEW})
    assert stranger.get("/account/").status_code == 302
    assert stranger.post("/sign-in/", {"username": "lena", "password": NEW})["Location"] == "/sign-in/second/"


def test_an_invitation_is_sent_and_the_link_is_not_shown(client):
    lab = make_workspace("lab")
    client.force_login(make_user("lead", lab))
    form = {"do": "invite", "invite-note": "Ann", "invite-role": "rater", "invite-days": "7"}
    page = client.post(reverse("accounts:people_of", args=["lab"]), {**form, "invite-email": "ann@example.org"})
    (message,) = mail.outbox
    assert message.to == ["ann@example.org"] and "Lab" in message.subject
    assert link_in(message) not in markup(page) and "has been sent to ann@example.org" in markup(page)
    accept = {"name": "ann", "new_password1": RIGHT, "new_password2": RIGHT}
    assert Client().post(link_in(message), accept).status_code == 302
    assert Invitation.objects.get().accepted_by.username == "ann@lab"


def test_a_mail_server_that_fails_leaves_the_lead_the_link(client, settings):
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 9
    client.force_login(make_user("lead", make_workspace("lab")))
    form = {"do": "invite", "invite-note": "Ann", "invite-role": "rater", "invite-days": "7"}
    page = markup(client.post(reverse("accounts:people_of", args=["lab"]), {**form, "invite-email": "ann@example.org"}))
    assert "could not be sent" in page and "http://testserver/invitation/" in page
