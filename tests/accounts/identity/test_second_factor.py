"""A second factor: set up with the password, asked for at every sign-in, limited, and on record."""

from io import StringIO

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.test import Client

from accounts.models import Event, User
from tests.accounts.identity.codes import RIGHT, code_of, set_up_app
from tests.factories import make_user
from tests.markup import markup

SECOND = "/sign-in/second/"


def with_app(**fields):
    user = make_user(username="lena", **fields)
    client = Client()
    client.force_login(user)
    secret, recovery = set_up_app(client)
    cache.clear()  # the code that set it up counts as used
    return user, secret, recovery


def password(client, name="lena", **more):
    return client.post("/sign-in/", {"username": name, "password": RIGHT, **more})


def signed_in(client):
    return client.get("/account/").status_code == 200


def test_a_password_alone_no_longer_opens_the_account_and_a_code_does_once():
    user, secret, recovery = with_app()
    assert len(recovery) == 10
    client, code = Client(), code_of(secret)
    asked = password(client, next="/account/password/")
    assert asked["Location"] == SECOND and not signed_in(client)
    assert client.post(SECOND, {"code": "000000"}).status_code == 200 and not signed_in(client)
    assert client.post(SECOND, {"code": code})["Location"] == "/account/password/"
    assert signed_in(client)
    # The attack: to read the code over the owner's shoulder and use it within its half minute.
    thief = Client()
    password(thief)
    thief.post(SECOND, {"code": code})
    assert not signed_in(thief)
    event = Event.objects.filter(verb="signed in").latest("pk")
    assert (event.actor, event.after) == (user, {"by": ["password", "mfa"], "known_browser": False})


def test_a_recovery_code_works_once():
    _user, _secret, recovery = with_app()
    for expected in (True, False):
        client = Client()
        password(client)
        client.post(SECOND, {"code": recovery[0]})
        assert signed_in(client) is expected


def test_guessing_codes_ends_for_who_knows_the_password_and_not_for_a_known_browser(settings):
    _user, secret, _recovery = with_app()
    known = Client()
    password(known)
    known.post(SECOND, {"code": code_of(secret)})
    known.post("/sign-out/")
    cache.clear()
    settings.SIGN_IN_LIMITS = {**settings.SIGN_IN_LIMITS, "account": 3}
    settings.ACCOUNT_RATE_LIMITS = False  # ours alone must hold
    answers = []
    for number in range(4):
        guesser = Client(REMOTE_ADDR=f"198.51.100.{number}")
        password(guesser)
        answers.append(markup(guesser.post(SECOND, {"code": "000000"})))
    assert ["Too many failed attempts" in answer for answer in answers] == [False, False, False, True]
    guesser.post(SECOND, {"code": code_of(secret)})
    assert not signed_in(guesser)
    password(known)
    known.post(SECOND, {"code": code_of(secret)})
    assert signed_in(known)
    assert Event.objects.filter(verb="second factor failed").count() == 1


def test_the_administration_asks_for_it_too():
    _user, secret, _recovery = with_app(is_staff=True)
    client = Client()
    assert password(client, next="/admin/")["Location"] == SECOND
    assert client.get("/admin/").status_code == 302
    assert client.post(SECOND, {"code": code_of(secret)})["Location"] == "/admin/"
    assert client.get("/admin/").status_code == 200


def test_setting_up_and_removing_ask_for_the_password_with_a_limit_and_are_events(
    client, settings, django_capture_on_commit_callbacks
):
    user = make_user(username="lena")
    client.force_login(user)
    settings.SIGN_IN_LIMITS = {**settings.SIGN_IN_LIMITS, "visitor": 2}
    page = client.get("/account/factors/app/")["Location"]
    for _guess in range(2):
        assert "The password is incorrect" in markup(client.post(page, {"password": "wrong one 12"}))
    assert "Too many failed attempts" in markup(client.post(page, {"password": RIGHT}))
    settings.SIGN_IN_LIMITS = {**settings.SIGN_IN_LIMITS, "visitor": 20}
    with django_capture_on_commit_callbacks(execute=True):
        set_up_app(client)
    client.post("/account/factors/app/remove/")
    verbs = Event.objects.filter(actor=user, verb__startswith="second factor").order_by("pk")
    assert [(event.verb, event.after["kind"]) for event in verbs] == [
        ("second factor added", "totp"),
        ("second factor added", "recovery_codes"),
        ("second factor removed", "totp"),
        ("second factor removed", "recovery_codes"),
    ]


def test_secrets_are_not_stored_in_the_clear():
    from allauth.mfa.models import Authenticator

    _user, secret, recovery = with_app()
    stored = str(list(Authenticator.objects.values_list("data", flat=True)))
    assert secret not in stored and not [code for code in recovery if code in stored]


def test_a_form_whose_session_had_ended_is_offered_after_the_second_factor():
    _user, secret, _recovery = with_app()
    client = Client()
    headers = {"Origin": "http://testserver", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Site": "same-origin"}
    asked = client.post("/account/", {"name": "my script", "note": "x" * 90}, headers=headers)
    packed = asked.context["unsent"].packed
    assert password(client, unsent=packed)["Location"] == SECOND
    offered = client.post(SECOND, {"code": code_of(secret)}, follow=True)
    assert "my script" in markup(offered) and "Send again" in markup(offered)


@pytest.mark.parametrize(
    "address", ["/account/factors/", "/account/factors/keys/", "/account/e-mail/", "/account/identities/"]
)
def test_pages_are_ours_in_both_languages_and_closed_to_strangers(client, address):
    assert client.get(address)["Location"] == f"/sign-in/?next={address}"
    client.force_login(make_user(username="lena"))
    page = client.get(address)
    assert page.status_code == 200 and 'class="page page-narrow' in markup(page)
    assert "<script>" not in markup(page) and "script-src" in page["Content-Security-Policy"]


def test_an_account_that_is_closed_or_of_the_demonstration_is_not_let_in(client, settings):
    from django.core.exceptions import PermissionDenied

    from accounts.identity.adapters import AccountRules

    settings.LOCAL = False
    shown = make_user(username="lead", demonstration=True)
    with pytest.raises(PermissionDenied):
        AccountRules().pre_login(None, User.objects.get(pk=shown.pk))


def test_the_operator_removes_a_lost_second_factor():
    _user, _secret, _recovery = with_app()
    said = StringIO()
    call_command("remove_second_factor", "lena", stdout=said)
    client = Client()
    password(client)
    assert signed_in(client) and "2 removed" in said.getvalue()
    assert Event.objects.filter(verb="second factor removed").latest("pk").after == {"kind": "all", "by": "command"}
    with pytest.raises(CommandError, match="no account 'otto'"):
        call_command("remove_second_factor", "otto")
