"""axe-core finds nothing serious on any step by which a rater comes in, wide or narrow, light or dark, in both languages."""

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.assignment.attention_checks import mark_gold
from annotation.assignment.new_slots import make_seats
from annotation.models import Assignment, BrowserRequest, Guideline, Rater
from annotation.recruitment.cohorts import make_cohort
from tests.e2e.answers import press
from tests.e2e.looked_over import SHAPES, speak, wrong_here
from tests.e2e.rating_pages import SIZES
from tests.e2e.serial import turn
from tests.e2e.test_accessibility import axe
from tests.e2e.test_making_studies import sign_in
from tests.factories import make_checklist_study, make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
__all__ = ["axe"]


@pytest.mark.parametrize("language", SHAPES)
def test_every_step_of_the_way_in(open_page, axe, language):
    """Invitation, consent, guideline, practice with its feedback, qualification, the end, and a closed door."""
    study = make_checklist_study(slug="practice", instructions=4, models=1)
    study.policies = {"training": True, "qualification": {"of": 1, "pass": 1}, "quota": 4}
    study.guideline = Guideline.objects.create(
        workspace=study.workspace, key="practice", texts={"en": "Read *all* of it."}
    )
    study.save()
    first, second, *_others = study.tasks.order_by("pk")
    mark_gold(first, {"overall": [4, 6]}, purpose="training", why={"en": "It is *middling*."})
    mark_gold(second, {"overall": 5}, purpose="qualification")
    make_seats(study)
    door = make_cohort(study, "Spring", "public")
    page = open_page(reduced_motion="reduce")
    speak(page, language)
    wrong = {}

    def look(step):
        wrong[step] = list(wrong_here(page, axe, SHAPES[language]))
        assert page.locator("html").get_attribute("lang") == language

    def rate(step):
        page.wait_for_selector("#task")
        look(step)
        page.set_viewport_size(SIZES["desktop"])
        press(page, "1119")
        page.keyboard.press("Control+Enter")

    page.goto(reverse("annotation:join", args=[door.entry_token]))
    look("consent")
    page.click("button[value=yes]")
    page.wait_for_selector("button[name=read]")
    look("guideline")
    page.click("button[name=read]")
    page.wait_for_selector("form[action$='/rate/']")
    look("begin")
    page.click("form[action$='/rate/'] button")
    rate("practice")
    page.wait_for_url("**/feedback/")
    look("feedback")
    page.click("form[action$='/rate/'] button")
    rate("qualification")
    page.wait_for_url("**/done/")
    look("not qualified")
    assert Assignment.objects.filter(status="checked").count() == 2
    other = open_page()
    speak(other, language)
    with turn:
        type(door).objects.update(revoked_at="2026-01-01T00:00Z")
    other.goto(reverse("annotation:join", args=[door.entry_token]))
    page = other
    look("closed")
    assert {step: found for step, found in wrong.items() if found} == {}


@pytest.mark.parametrize("language", SHAPES)
def test_every_page_about_other_browsers(open_page, axe, language):
    """Who is it; another browser: by code, by the lead, refused; the code itself; a new submission; too little done."""
    study = make_checklist_study(slug="shared", instructions=2, models=1)
    study.policies = {"quota": 2, "minimum": {"answers": 2, "checks": 70, "minutes": 3}}
    study.save()
    make_seats(study)
    door = make_cohort(study, "Prolific", "crowd")
    wrong = {}

    def visit(page, session, pid="5f1a"):
        query = f"?PROLIFIC_PID={pid}&SESSION_ID={session}"
        page.goto(reverse("annotation:join", args=[door.entry_token]) + query)

    def look(page, step):
        wrong[step] = list(wrong_here(page, axe, SHAPES[language]))
        assert page.locator("html").get_attribute("lang") == language

    def another():
        page = open_page(reduced_motion="reduce")
        speak(page, language)
        return page

    first, second = another(), another()
    visit(first, "66a1f0c2d3e4b5a697887654")
    look(first, "consent with a minimum")
    first.click("button[value=yes]")
    first.wait_for_selector("form[action$='/rate/']")
    visit(first, "99a1f0c2d3e4b5a697887654", pid="another")
    look(first, "who is it")
    visit(second, "")
    look(second, "proof")
    second.fill("input[name=code]", "WRONG")
    second.click("button[value=code]")
    second.wait_for_selector("[role=alert]")
    look(second, "wrong code")
    second.click("button[value=ask]")
    second.wait_for_selector("[role=status]")
    look(second, "waiting for the lead")
    lead = another()
    with turn:
        make_user("lead", study.workspace, username="lea")
    lead.goto("/sign-in/")
    sign_in(lead, "lea")
    lead.goto(reverse("annotation:cohorts", args=[study]))
    for summary in lead.locator("main details > summary").all():
        summary.click()
    look(lead, "the lead's page")
    with turn:
        BrowserRequest.objects.update(state="refused")
    visit(second, "")
    look(second, "refused")
    with turn:
        BrowserRequest.objects.update(state="admitted")
    visit(second, "")
    look(second, "agreed")
    second.click("button[value=continue]")
    second.wait_for_selector("form[action$='/rate/']")
    first.goto(reverse("annotation:done", args=[study]))
    first.click("form[action$='/other-browser/'] button")
    first.wait_for_selector("code.code")
    look(first, "the code")
    visit(first, "77b2e1d3c4f5a6b798996543")
    look(first, "a new submission")
    with turn:
        rater = Rater.objects.get()
        for task in study.tasks.all():
            assignment = Assignment.objects.create(task=task, rater=rater, status="skipped")
            Assignment.objects.filter(pk=assignment.pk).update(submitted_at=timezone.now())
    first.goto(reverse("annotation:done", args=[study]))
    look(first, "too little")
    assert {step: found for step, found in wrong.items() if found} == {}
