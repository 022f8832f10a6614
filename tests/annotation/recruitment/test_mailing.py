"""Invitations by e-mail: one link for each person, a row for each message, a rate, a limit, and erasure."""

import re
import smtplib
from datetime import timedelta

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Event
from annotation.models import MailedInvitation, Rater
from annotation.privacy import retention
from annotation.privacy.erasure import erase_rater
from annotation.privacy.own_data import data_of
from annotation.recruitment import mailing
from annotation.recruitment.cohorts import erase_identity, make_cohort
from annotation.recruitment.mailing import addresses_in, send_waiting
from config.identity import Identity
from core.errors import UserError
from tests.annotation.raters_at_work import make_study
from tests.factories import make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def mail_is_set_up(settings):
    assert reverse("home")  # the addresses are those without the optional ways to sign in
    settings.IDENTITY = Identity(mail="smtp://localhost", mail_from="plumbline@example.org")


@pytest.fixture
def cohort():
    return make_cohort(make_study(tasks=6, overlap=3, probe_rate=0), "readers", "public")


@pytest.fixture
def lead(client, cohort):
    client.force_login(make_user("lead", cohort.study.workspace, email="lena@example.org"))
    return client


def page(cohort):
    return reverse("annotation:mail_invitations", args=[cohort.study, cohort.pk])


def add(lead, cohort, text):
    return lead.post(page(cohort), {"do": "invite", "addresses": text})


def at(seconds=0):
    return lambda: timezone.now() + timedelta(seconds=seconds)


def link_in(message):
    return re.search(r"http://testserver(/join/\S+)", message.body)[1]


def test_each_person_gets_one_link_which_admits_one_rater(lead, cohort):
    add(lead, cohort, "Ann <ann@example.org>\nbo@example.org; ANN@example.org")
    assert send_waiting(at()) == 2 and send_waiting(at()) == 0
    assert [message.to for message in mail.outbox] == [["ann@example.org"], ["bo@example.org"]]
    assert mail.outbox[0].reply_to == ["lena@example.org"]
    first, second = map(link_in, mail.outbox)
    assert first != second and cohort.entry_token not in first + second
    ann, stranger = Client(), Client()
    assert ann.post(first, {"answer": "yes"}).status_code == 302
    rater = Rater.objects.get(cohort=cohort)
    assert MailedInvitation.objects.get(address="ann@example.org").rater == rater
    assert ann.get(first).status_code == 200
    assert stranger.get(first).status_code == 410
    assert stranger.post(first, {"answer": "yes"}).status_code == 410
    assert stranger.post(second, {"answer": "yes"}).status_code == 302
    assert Rater.objects.filter(cohort=cohort).count() == 2


def test_a_link_that_is_used_at_this_moment_admits_no_second_rater(lead, cohort, monkeypatch):
    add(lead, cohort, "ann@example.org")
    link = reverse("annotation:join", args=[MailedInvitation.objects.get().token])
    monkeypatch.setattr("annotation.web.recruitment.joining.check_unused", lambda *_given: None)
    Client().post(link, {"answer": "yes"})
    assert Client().post(link, {"answer": "yes"}).status_code == 410
    assert Rater.objects.filter(cohort=cohort).count() == 1


def test_who_was_invited_gets_no_second_message(lead, cohort):
    add(lead, cohort, "ann@example.org")
    told = lead.post(page(cohort), {"do": "invite", "addresses": "Ann@Example.org, bo@example.org"}, follow=True)
    assert "1 address was invited before" in markup(told)
    assert MailedInvitation.objects.count() == 2
    assert [event.after for event in Event.objects.filter(verb="invite_by_mail")] == [{"count": 1}, {"count": 1}]


def test_a_failed_message_says_why_and_is_sent_again_with_the_same_link(lead, cohort, monkeypatch):
    add(lead, cohort, "ann@example.org\nbo@example.org")
    token = MailedInvitation.objects.get(address="ann@example.org").token
    real = mailing.get_connection

    class Refusing:
        def send_messages(self, messages):
            if messages[0].to == ["ann@example.org"]:
                raise smtplib.SMTPRecipientsRefused({"ann@example.org": (550, b"no such user")})
            return real().send_messages(messages)

    monkeypatch.setattr(mailing, "get_connection", lambda **_given: Refusing())
    assert send_waiting(at()) == 1
    failed = MailedInvitation.objects.get(state="failed")
    assert failed.address == "ann@example.org" and "no such user" in failed.reason
    assert "no such user" in markup(lead.get(page(cohort)))
    monkeypatch.setattr(mailing, "get_connection", real)
    assert send_waiting(at()) == 0
    lead.post(page(cohort), {"do": "resend"})
    assert send_waiting(at(120)) == 1
    assert [message.to for message in mail.outbox] == [["bo@example.org"], ["ann@example.org"]]
    assert token in mail.outbox[-1].body


def test_a_message_in_the_hands_of_a_dead_worker_is_not_sent_again_by_itself(lead, cohort, monkeypatch):
    add(lead, cohort, "ann@example.org")

    def dies(*_given):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(mailing, "message_of", dies)
        with pytest.raises(KeyboardInterrupt):
            send_waiting(at())
    assert send_waiting(at(60)) == 0 and MailedInvitation.objects.get().state == "sending"
    assert send_waiting(at(700)) == 0
    assert (
        MailedInvitation.objects.get().state == "failed" and "may have arrived" in MailedInvitation.objects.get().reason
    )
    assert mail.outbox == []


def test_no_more_are_sent_in_a_minute_than_the_rate_allows(lead, cohort, settings):
    settings.MAILS_A_MINUTE = 2
    add(lead, cohort, "\n".join(f"p{place}@example.org" for place in range(5)))
    assert [send_waiting(at(seconds)) for seconds in (0, 30, 61, 100, 125)] == [2, 0, 2, 0, 1]


def test_no_more_are_stored_in_a_day_than_the_limit_allows(lead, cohort, settings):
    settings.MAILS_A_DAY = 3
    add(lead, cohort, "a@example.org, b@example.org")
    refused = add(lead, cohort, "c@example.org, d@example.org")
    assert refused.status_code == 422 and "no more than 1 people" in markup(refused)
    assert "c@example.org" in markup(refused)
    assert MailedInvitation.objects.count() == 2
    MailedInvitation.objects.update(made_at=timezone.now() - timedelta(days=2))
    add(lead, cohort, "c@example.org, d@example.org")
    assert MailedInvitation.objects.count() == 4


@pytest.mark.parametrize(
    "text", ["ann", "ann@", "a@example.org\nann@x", " ", "a@example.org\nBcc: x", "a b@example.org"]
)
def test_what_is_no_address_is_refused(text):
    with pytest.raises(UserError, match="e-mail address"):
        addresses_in(text)


def test_a_subject_is_one_line(lead, cohort):
    cohort.study.names = {"en": "Essays\nBcc: all@example.org"}
    cohort.study.save()
    add(lead, cohort, "ann@example.org")
    assert send_waiting(at()) == 1
    assert mail.outbox[0].subject == "Invitation to rate: Essays Bcc: all@example.org"
    assert mail.outbox[0].recipients() == ["ann@example.org"]


def test_nothing_is_sent_for_a_link_that_was_revoked(lead, cohort):
    add(lead, cohort, "ann@example.org")
    lead.post(reverse("annotation:change_cohort", args=[cohort.study, cohort.pk]), {"do": "revoke"})
    assert send_waiting(at()) == 0
    assert MailedInvitation.objects.get().reason == "The cohort's link is closed."
    link = reverse("annotation:join", args=[MailedInvitation.objects.get().token])
    assert Client().get(link).status_code == 410


def test_without_mail_the_page_says_what_the_operator_must_set(lead, cohort, settings):
    settings.IDENTITY = Identity()
    shown = markup(lead.get(page(cohort)))
    assert "PLUMBLINE_EMAIL_URL" in shown and "<textarea" not in shown
    assert add(lead, cohort, "ann@example.org").status_code == 422
    assert not MailedInvitation.objects.exists()


def joined_by_mail(lead, cohort):
    add(lead, cohort, "ann@example.org\nbo@example.org")
    invitation = MailedInvitation.objects.get(address="ann@example.org")
    Client().post(reverse("annotation:join", args=[invitation.token]), {"answer": "yes"})
    return Rater.objects.get(cohort=cohort)


def test_an_address_is_in_ones_own_data_and_goes_with_ones_erasure(lead, cohort):
    rater = joined_by_mail(lead, cohort)
    assert data_of(None, [rater])["studies"][0]["invited_by_mail"]["address"] == "ann@example.org"
    assert erase_rater(rater, by=None)["mail_addresses"] == 1
    assert list(MailedInvitation.objects.values_list("address", flat=True)) == ["", "bo@example.org"]
    assert "ann@example.org" not in markup(lead.get(page(cohort)))


def test_erasing_the_identity_erases_the_address(lead, cohort):
    rater = joined_by_mail(lead, cohort)
    assert erase_identity(rater, by=None)
    assert MailedInvitation.objects.get(rater=rater).address == ""


def test_a_lead_erases_an_address_whose_message_is_then_not_sent(lead, cohort):
    add(lead, cohort, "ann@example.org\nbo@example.org")
    row = MailedInvitation.objects.get(address="ann@example.org")
    assert lead.post(page(cohort), {"do": "erase", "row": row.pk}).status_code == 302
    assert lead.post(page(cohort), {"do": "erase", "row": row.pk}).status_code == 404
    assert send_waiting(at()) == 1
    assert mail.outbox[0].to == ["bo@example.org"]


def test_addresses_go_after_the_days_that_the_operator_sets(lead, cohort, settings):
    joined_by_mail(lead, cohort)
    settings.RETAIN_DAYS = {"texts": 0, "participants": 40, "sign_ins": 0, "drafts": 0}
    retention.retain(at(39 * 86400))
    assert not MailedInvitation.objects.filter(address="").exists()
    retention.retain(at(41 * 86400))
    assert not MailedInvitation.objects.exclude(address="").exists()


def test_only_leads_of_the_study_invite(client, cohort):
    crowd = make_cohort(cohort.study, "crowd", "crowd")
    for user, status in (
        (make_user("rater", cohort.study.workspace), 404),
        (make_user("lead", make_workspace("x")), 404),
    ):
        client.force_login(user)
        assert client.get(page(cohort)).status_code in (403, status)
        assert add(client, cohort, "ann@example.org").status_code in (403, status)
    client.force_login(make_user("lead", cohort.study.workspace))
    assert client.get(page(crowd)).status_code == 404
    assert client.get(page(cohort)).status_code == 200
    assert not MailedInvitation.objects.exists()
