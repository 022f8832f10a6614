"""axe-core finds nothing serious on any step by which a rater comes in, wide or narrow, light or dark, in both languages."""

import pytest
from django.urls import reverse

from annotation.cohorts import make_cohort
from annotation.controls import mark_gold
from annotation.handout import make_seats
from annotation.models import Assignment, Guideline
from tests.e2e.answers import press
from tests.e2e.looked_over import SHAPES, speak, wrong_here
from tests.e2e.rating_pages import SIZES
from tests.e2e.serial import turn
from tests.e2e.test_accessibility import axe
from tests.factories import make_checklist_study

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
    page.wait_for_url("**/done/**")
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
