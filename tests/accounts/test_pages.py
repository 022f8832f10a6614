"""Signing in and out, the language, the start page, errors, and the server's health."""

import pytest
from django.contrib import admin
from django.db import DatabaseError, connection
from django.test import override_settings
from django.urls import reverse

from accounts.models import Event, Membership, User
from annotation.assignment.new_slots import make_seats
from annotation.models import Score
from tests.factories import make_answer, make_checklist_study, make_rater, make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db


def test_signing_in_leads_to_the_page_asked_for(client):
    make_user("lead", username="lena")
    response = client.get(reverse("annotation:studies"))
    assert response["Location"] == "/sign-in/?next=/studies/"
    assert 'name="next" value="/studies/"' in markup(client.get(response["Location"]))
    signed = client.post("/sign-in/", {"username": "lena", "password": "plumb line 12", "next": "/studies/"})
    assert signed["Location"] == "/studies/"


def test_a_wrong_password_is_said_once_and_kept_secret(client):
    make_user(username="lena")
    response = client.post("/sign-in/", {"username": "lena", "password": "wrong one 12"})
    html = markup(response)
    assert response.status_code == 200
    assert "the password is incorrect" in html
    assert "wrong one 12" not in html
    assert 'value="lena"' in html


def test_signing_in_goes_nowhere_else(client):
    make_user(username="lena")
    away = {"username": "lena", "password": "plumb line 12", "next": "https://example.org/"}
    assert client.post("/sign-in/", away)["Location"] == "/"


def test_signing_out(client):
    client.force_login(make_user())
    assert client.get("/sign-out/").status_code == 405
    assert client.post("/sign-out/")["Location"] == "/sign-in/"
    assert client.get("/").status_code == 302


def test_the_language_is_chosen_and_kept(client):
    client.force_login(make_user("lead"))
    assert '<html lang="en">' in markup(client.get("/"))
    response = client.post("/i18n/setlang/", {"language": "zh-hans"}, headers={"Referer": "http://testserver/"})
    assert response["Location"] == "http://testserver/"
    assert '<html lang="zh-hans">' in markup(client.get("/"))


def test_a_raters_start_page(client):
    study = make_checklist_study()
    make_seats(study)
    client.force_login(make_user("rater", study.workspace))
    html = markup(client.get("/"))
    assert "Essays" in html
    assert "Begin" in html
    assert 'href="/studies/"' not in html


def test_an_empty_start_page_says_what_to_do(client):
    client.force_login(make_user("rater"))
    assert "Nothing to rate at the moment" in markup(client.get("/"))
    client.force_login(make_user("lead"))
    assert "No studies yet" in markup(client.get("/"))


def test_studies_without_seats_or_of_others_are_not_offered(client):
    make_checklist_study(slug="imported")
    other = make_checklist_study(slug="other", workspace=make_workspace("elsewhere"))
    make_seats(other)
    client.force_login(make_user("rater"))
    html = markup(client.get("/"))
    assert "Imported" not in html
    assert "Other" not in html


def test_a_leads_start_page_names_what_is_simulated(client, django_assert_max_num_queries):
    for number in range(6):
        study = make_checklist_study(slug=f"study-{number}")
        make_seats(study)
        rater = make_rater(study, provenance="simulated")
        make_answer(study.tasks.first(), rater, {"item0": 1.0, "overall": 5.0})
    client.force_login(make_user("lead"))
    with django_assert_max_num_queries(24):  # as many as for one study
        html = markup(client.get("/"))
    assert html.count("badge-simulated") == 6
    assert "Study-3" in html


def test_errors_have_pages_in_both_languages(client):
    response = client.get("/nowhere/")
    assert response.status_code == 404
    assert "Page not found" in markup(response)
    client.force_login(make_user("rater"))
    denied = client.get(reverse("annotation:studies"))
    assert denied.status_code == 403
    assert "You do not have access to this page" in markup(denied)


def test_a_fault_has_a_page_that_needs_nothing(client, monkeypatch):
    client.raise_request_exception = False

    def broken(*args, **kwargs):
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr("config.home.participations", broken)
    client.force_login(make_user())
    response = client.get("/")
    assert response.status_code == 500
    assert "Something went wrong on our side" in markup(response)
    assert "broken on purpose" not in markup(response)


def test_health(client):
    response = client.get("/health/")
    assert (response.status_code, response.json()) == (200, {"status": "ok", "database": "ok"})


def test_health_without_a_database(client, monkeypatch):
    def unreachable(*args, **kwargs):
        raise DatabaseError("gone")

    monkeypatch.setattr(connection, "cursor", unreachable)
    response = client.get("/health/")
    assert (response.status_code, response.json()["status"]) == (503, "failing")


@pytest.fixture
def admin_client(client):
    client.force_login(User.objects.create_superuser("root", password="plumb line 12"))
    return client


ADMIN_PAGES = [
    f"{app}_{model}"
    for app, names in {
        "accounts": "user workspace membership event",
        "annotation": "rubric criterion guideline study cohort rater task seat assignment score draft flag",
    }.items()
    for model in names.split()
]


@pytest.mark.parametrize("name", ADMIN_PAGES)
def test_admin_lists_everything(admin_client, name):
    study = make_checklist_study()
    make_seats(study)
    make_answer(study.tasks.first(), make_rater(study), {"item0": 1.0, "overall": 5.0})
    Event.objects.create(verb="opened", object_type="study", object_id="essays")
    assert admin_client.get(reverse(f"admin:{name}_changelist")).status_code == 200


def test_every_registered_list_opens_empty(admin_client):
    for model in admin.site._registry:
        page = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        assert admin_client.get(page).status_code == 200, page


def test_admin_shows_scores_and_never_changes_them(admin_client):
    study = make_checklist_study()
    assignment = make_answer(study.tasks.first(), make_rater(study), {"item0": 1.0, "overall": 5.0})
    score = Score.objects.first()
    page = reverse("admin:annotation_score_change", args=[score.pk])
    assert admin_client.get(page).status_code == 200
    assert admin_client.post(page, {"value": "0"}).status_code == 403
    assert admin_client.get(reverse("admin:annotation_score_add")).status_code == 403
    assert admin_client.post(reverse("admin:annotation_score_delete", args=[score.pk])).status_code == 403
    assert "item0" in markup(admin_client.get(reverse("admin:annotation_assignment_change", args=[assignment.pk])))


def test_admin_makes_seats(admin_client):
    study = make_checklist_study()
    action = {"action": "add_seats", "_selected_action": [study.pk]}
    admin_client.post(reverse("admin:annotation_study_changelist"), action)
    assert study.seats.count() == 8


def test_admin_makes_users_and_their_roles(admin_client):
    new = {"username": "nina", "password1": "plumb line 12", "password2": "plumb line 12", "usable_password": "true"}
    new |= {"memberships-TOTAL_FORMS": 0, "memberships-INITIAL_FORMS": 0}
    admin_client.post(reverse("admin:accounts_user_add"), new)
    user = User.objects.get(username="nina")
    assert user.check_password("plumb line 12")
    assert admin_client.get(reverse("admin:accounts_user_change", args=[user.pk])).status_code == 200
    assert not Membership.objects.exists()


def test_the_log_is_not_written_by_hand(admin_client):
    event = Event.objects.create(verb="opened", object_type="study", object_id="essays")
    assert admin_client.get(reverse("admin:accounts_event_add")).status_code == 403
    assert admin_client.post(reverse("admin:accounts_event_delete", args=[event.pk])).status_code == 403
    with pytest.raises(DatabaseError, match="append-only"):
        Event.objects.update(verb="closed")


@override_settings(LANGUAGE_CODE="zh-hans")
def test_a_first_visit_gets_the_language_of_the_browser(client):
    make_user()
    html = markup(client.get("/sign-in/", headers={"Accept-Language": "zh-CN,zh;q=0.9"}))
    assert '<html lang="zh-hans">' in html
