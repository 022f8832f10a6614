"""The pages of bonuses: who may open them, the dry run, the second confirmation, and where the bonuses are shown."""

import csv
from io import StringIO

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone

from accounts.models import Event
from annotation.bonuses.sending import confirm
from annotation.models import BonusBatch, BonusPayment
from annotation.privacy.erasure import erase_rater
from annotation.privacy.own_data import data_of
from annotation.tasks import sweep_prolific
from tests.factories import make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db
LIST = {"purpose": "Round 1", "basis": "given", "amounts": "R1,1.50\nR2,2.25\nR9,1"}
PASSWORD = "plumb line 12"


@pytest.fixture
def browser(client, crowd):
    client.force_login(crowd.lead)
    return client


def page(crowd):
    return reverse("annotation:bonuses", args=[crowd.study, crowd.cohort.pk])


def list_page(crowd, batch):
    return reverse("annotation:bonus_batch", args=[crowd.study, crowd.cohort.pk, batch.public_id])


def set_up(browser, crowd, **given):
    shown = browser.post(page(crowd), LIST | given | {"do": "propose"})
    fields = dict(shown.context["again"]) | {"digest": shown.context["proposal"].digest, "do": "prepare"}
    return browser.post(page(crowd), fields)


def test_from_the_dry_run_to_the_second_confirmation(browser, crowd, prolific):
    shown = browser.post(page(crowd), LIST | {"do": "propose"})
    html = markup(shown)
    assert "GBP 3.75" in html and crowd.submissions["R2"] in html and "R9" in html
    assert not BonusBatch.objects.exists()
    answer = set_up(browser, crowd)
    [batch] = BonusBatch.objects.all()
    assert answer["Location"] == list_page(crowd, batch) and prolific.paid == []
    assert "GBP 5.00." in markup(browser.get(list_page(crowd, batch)))
    sent = {"do": "confirm", "total": "3.75", "password": PASSWORD}
    for wrong in ({"password": "guess"}, {"total": "3.74"}, {"total": ""}, {"total": "375"}):
        browser.post(list_page(crowd, batch), sent | wrong)
        assert prolific.paid == []
    for _click in range(3):
        browser.post(list_page(crowd, batch), sent)
    assert len(prolific.paid) == 2
    html = markup(browser.get(list_page(crowd, batch)))
    assert batch.external_id in html and "Your password" not in html


def test_a_list_that_changed_is_shown_again_and_not_set_up(browser, crowd, prolific):
    fields = dict(browser.post(page(crowd), LIST | {"do": "propose"}).context["again"])
    answer = browser.post(page(crowd), fields | {"digest": "0" * 64, "do": "prepare"})
    assert answer.context["proposal"].total == 375 and not prolific.payments


def test_a_file_of_amounts(browser, crowd):
    file = SimpleUploadedFile("b.csv", "\ufeffrater;amount\nR1;1.50\n".encode())
    shown = browser.post(page(crowd), LIST | {"do": "propose", "amounts": "", "file": file})
    assert shown.context["proposal"].total == 150
    set_up(browser, crowd, amounts=shown.context["again"]["amounts"])
    assert BonusBatch.objects.get().total_minor == 150
    for content in (b"\xff\xfe\x00R", b"R1,1\n" * 60_000):
        answer = browser.post(page(crowd), LIST | {"do": "propose", "file": SimpleUploadedFile("b.csv", content)})
        assert answer.status_code == 422 and answer.context["form"].errors["file"]


def test_a_rule_without_its_numbers_is_asked_for_them(browser, crowd):
    answer = browser.post(page(crowd), {"purpose": "x", "basis": "answers", "do": "propose"})
    assert answer.status_code == 422 and {"above", "each"} <= set(answer.context["form"].errors)
    shown = browser.post(page(crowd), {"purpose": "x", "basis": "answers", "above": 3, "each": "0.25", "do": "propose"})
    assert shown.context["proposal"].total == 50


def test_the_cap_is_the_leads_within_the_operators(browser, crowd, settings):
    browser.post(page(crowd), {"do": "cap", "cap": "12.50"})
    assert browser.get(page(crowd)).context["left"].as_tuple().digits == (1, 2, 5, 0)
    assert Event.objects.filter(verb="change_bonus_cap").first().after == {"minor_units": 1250}
    for wrong in ("-1", "1.234", "all"):
        assert browser.post(page(crowd), {"do": "cap", "cap": wrong}).status_code == 422
    settings.BONUS_CAP = 0
    assert "PLUMBLINE_BONUS_CAP" in markup(browser.get(page(crowd)))
    settings.PROLIFIC_TOKEN = ""
    assert "PLUMBLINE_PROLIFIC_TOKEN" in markup(browser.get(page(crowd)))


def test_without_an_operators_cap_a_list_stays_empty(browser, crowd, settings, prolific):
    settings.BONUS_CAP = 0
    set_up_answer = browser.post(page(crowd), LIST | {"do": "propose"})
    assert set_up_answer.context["proposal"].bonuses == ()
    fields = LIST | {"digest": set_up_answer.context["proposal"].digest, "do": "prepare"}
    assert browser.post(page(crowd), fields).status_code == 422
    assert not prolific.payments


def test_an_uncertain_list_is_shown_so_and_settled_by_who_looked(browser, crowd, prolific):
    batch = crowd.prepare("R1,1.50")
    prolific.break_at("/pay/", 500, carried_out=False)
    confirm(batch, 150, by=crowd.lead, clock=timezone.now)
    html = markup(browser.get(list_page(crowd, batch)))
    assert "never sent again" in html
    payment = markup(browser.get(reverse("annotation:payment", args=[crowd.study])))
    assert "of which 1.50 uncertain" in payment
    browser.post(list_page(crowd, batch), {"do": "look"})
    assert browser.post(list_page(crowd, batch), {"do": "settle", "found": "unpaid"}).status_code == 422
    browser.post(list_page(crowd, batch), {"do": "settle", "found": "unpaid", "looked": "yes"})
    batch.refresh_from_db()
    assert batch.state == "found_unpaid" and prolific.paid == []


def test_a_lead_may_drop_a_list(browser, crowd, prolific):
    batch = crowd.prepare("R1,1.50")
    browser.post(list_page(crowd, batch), {"do": "drop"})
    browser.post(list_page(crowd, batch), {"do": "confirm", "total": "1.50", "password": PASSWORD})
    batch.refresh_from_db()
    assert batch.state == "dropped" and prolific.paid == []


def test_an_account_without_a_password_has_signed_in_lately(browser, crowd, prolific):
    crowd.lead.set_unusable_password()
    crowd.lead.save()
    browser.force_login(crowd.lead)
    batch = crowd.prepare("R1,1.50")
    type(crowd.lead).objects.filter(pk=crowd.lead.pk).update(last_login=timezone.now() - timezone.timedelta(minutes=11))
    sent = {"do": "confirm", "total": "1.50"}
    assert browser.post(list_page(crowd, batch), sent).status_code == 422 and prolific.paid == []
    type(crowd.lead).objects.filter(pk=crowd.lead.pk).update(last_login=timezone.now())
    browser.post(list_page(crowd, batch), sent)
    assert len(prolific.paid) == 1


@pytest.mark.parametrize("role", ["rater", "analyst", "reviewer"])
def test_only_leads_of_the_study_come_here(client, crowd, prolific, role):
    batch = crowd.prepare("R1,1.50")
    table = reverse("annotation:bonus_payments", args=[crowd.study])
    prolific.requests.clear()
    for user in (make_user(role, crowd.study.workspace), make_user("lead", make_workspace("elsewhere"))):
        client.force_login(user)
        for path in (page(crowd), list_page(crowd, batch), table):
            assert client.get(path).status_code in (403, 404)
        for fields in (LIST | {"do": "propose"}, LIST | {"do": "prepare", "digest": "x"}, {"do": "cap", "cap": "9"}):
            assert client.post(page(crowd), fields).status_code in (403, 404)
        for do in ("confirm", "drop", "look", "settle"):
            fields = {"do": do, "total": "1.50", "password": PASSWORD, "found": "paid", "looked": "yes"}
            assert client.post(list_page(crowd, batch), fields).status_code in (403, 404)
    batch.refresh_from_db()
    assert batch.state == "prepared" and prolific.requests == []


def test_another_lead_sees_the_list_and_cannot_confirm_it(client, crowd, prolific):
    batch = crowd.prepare("R1,1.50")
    client.force_login(make_user("lead", crowd.study.workspace))
    assert not client.get(list_page(crowd, batch)).context["can_confirm"]
    client.post(list_page(crowd, batch), {"do": "confirm", "total": "1.50", "password": PASSWORD})
    assert prolific.paid == []


def test_bonuses_stand_on_the_page_of_pay_in_files_and_in_the_raters_own_data(browser, crowd, prolific):
    confirm(crowd.prepare("R1,1.50"), 150, by=crowd.lead, clock=timezone.now)
    crowd.prepare("R2,1")
    sweep_prolific()
    html = markup(browser.get(reverse("annotation:payment", args=[crowd.study])))
    assert "GBP 1.50" in html and "APPROVED" in html
    listed = browser.get(reverse("annotation:approvals", args=[crowd.study, crowd.cohort.pk])).content.decode()
    rows = {row["rater"]: row for row in csv.DictReader(StringIO(listed))}
    assert (rows["R1"]["bonuses_sent"], rows["R1"]["state_at_prolific"]) == ("1.50", "APPROVED")
    assert rows["R2"]["bonuses_sent"] == "0.00"
    table = browser.get(reverse("annotation:bonus_payments", args=[crowd.study])).content.decode()
    first, second = csv.DictReader(StringIO(table))
    assert (first["rater"], first["amount"], first["currency"], first["state"]) == ("R1", "1.50", "GBP", "sent")
    assert first["payment_id"] in prolific.payments and second["state"] == "prepared"
    [own] = data_of(None, [crowd.raters["R1"]])["studies"]
    assert [(one["amount"], one["for"], one["state"]) for one in own["bonuses"]] == [("1.50", "Round 1", "sent")]
    [other] = data_of(None, [crowd.raters["R2"]])["studies"]
    assert other["bonuses"] == []


def test_erasure_keeps_the_payment_under_the_pseudonym(browser, crowd):
    confirm(crowd.prepare("R1,1.50"), 150, by=crowd.lead, clock=timezone.now)
    erase_rater(crowd.raters["R1"], by=None)
    [kept] = BonusPayment.objects.all()
    assert (kept.minor, kept.rater.name, kept.submission) == (150, "R1", "")
    table = browser.get(reverse("annotation:bonus_payments", args=[crowd.study])).content.decode()
    assert crowd.submissions["R1"] not in table and "p1" not in table
    assert "erased" in markup(browser.get(list_page(crowd, BonusBatch.objects.get())))


def test_a_cohort_without_a_study_at_prolific_has_no_list(browser, crowd):
    crowd.attached.delete()
    assert browser.get(page(crowd)).status_code == 200
    assert browser.post(page(crowd), LIST | {"do": "propose"}).status_code == 404
