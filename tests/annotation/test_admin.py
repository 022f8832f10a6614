"""The annotation tables in the administration: every one readable, records fixed, who raters are apart from answers."""

import pytest
from django.contrib import admin
from django.urls import reverse

from accounts.models import Event
from annotation.assignment.rater_status import pause
from annotation.models import Assignment, CheckOutcome, Rater, RaterIdentity, Standing, TimeCorrection
from annotation.monitoring.stored_progress import keep_spreads
from annotation.recruitment.cohorts import CrowdId, join, make_cohort
from annotation.recruitment.join_limits import note_join
from tests.annotation.raters_at_work import clock, make_study, work
from tests.factories import make_user
from tests.markup import markup

pytestmark = pytest.mark.django_db
FIXED = ["rateridentity", "standing", "checkoutcome", "timecorrection", "doorknock", "desktally", "score", "assignment"]


@pytest.fixture
def rater():
    study = make_study(tasks=4, overlap=2)
    cohort = make_cohort(study, "prolific", "crowd")
    rater = join(cohort, consent="yes", clock=clock(), crowd=CrowdId("prolific", "prolific:5f1a", {"STUDY_ID": "s1"}))
    work(rater, study, most=2)
    assignment = Assignment.objects.filter(status="submitted").first()
    CheckOutcome.objects.create(assignment=assignment, purpose="gold", passed=True)
    TimeCorrection.objects.create(assignment=assignment, seconds=60, reason="Slow")
    note_join(cohort, "192.0.2.1", clock=clock())
    keep_spreads(study, clock=clock())
    return rater


@pytest.fixture
def boss(client):
    client.force_login(make_user(username="boss", is_staff=True, is_superuser=True))
    return client


def models():
    return [model for model in admin.site._registry if model._meta.app_label == "annotation"]


def test_every_table_has_its_pages(boss, rater):
    named = {model._meta.model_name for model in models()}
    assert set(FIXED) <= named
    for model in models():
        listed = reverse(f"admin:annotation_{model._meta.model_name}_changelist")
        assert boss.get(listed).status_code == 200
        row = model.objects.first()
        if row is not None:
            page = reverse(f"admin:annotation_{model._meta.model_name}_change", args=[row.pk])
            assert boss.get(page).status_code == 200


@pytest.mark.parametrize("name", FIXED)
def test_records_are_neither_made_nor_changed(boss, rater, name):
    model = next(one for one in models() if one._meta.model_name == name)
    row = model.objects.first()
    assert boss.get(reverse(f"admin:annotation_{name}_add")).status_code == 403
    assert boss.post(reverse(f"admin:annotation_{name}_change", args=[row.pk]), {}).status_code == 403
    gone = boss.post(reverse(f"admin:annotation_{name}_delete", args=[row.pk]), {"post": "yes"})
    assert gone.status_code == (302 if name == "rateridentity" else 403)


def test_who_a_rater_is_stands_on_no_page_of_answers(boss, rater):
    for model in models():
        if model is RaterIdentity:
            continue
        pages = [reverse(f"admin:annotation_{model._meta.model_name}_changelist")]
        pages += [
            reverse(f"admin:annotation_{model._meta.model_name}_change", args=[row.pk])
            for row in model.objects.all()[:3]
        ]
        assert not any("5f1a" in markup(boss.get(page)) for page in pages), model
    page = reverse("admin:annotation_rateridentity_change", args=[RaterIdentity.objects.get().pk])
    assert "5f1a" in markup(boss.get(page))


def test_deleting_an_identity_forgets_the_person_and_enters_the_log(boss, rater):
    page = reverse("admin:annotation_rateridentity_delete", args=[RaterIdentity.objects.get().pk])
    boss.post(page, {"post": "yes"})
    assert not RaterIdentity.objects.exists()
    assert Rater.objects.filter(pk=rater.pk).exists()
    assert Assignment.objects.filter(rater=rater, status="submitted").count() == 2
    assert Event.objects.get(verb="erase_identity").actor.username == "boss"


def test_a_standing_is_shown_with_its_cause(boss, rater):
    pause(rater, message="Call me.", by=None)
    page = reverse("admin:annotation_standing_change", args=[Standing.objects.get(rater=rater).pk])
    assert "Call me." in markup(boss.get(page))
