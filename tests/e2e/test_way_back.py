"""A rater whose cookies are gone in the middle of an answer is led back by their link, and the answer waits for them."""

import pytest
from django.urls import reverse

from annotation.assignment.new_slots import make_seats
from annotation.models import Assignment
from annotation.recruitment.cohorts import make_cohort
from tests.e2e.answers import answers_of, do_by_keyboard
from tests.e2e.rating_pages import submit, wait_for_another, wait_until_said
from tests.factories import make_checklist_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
WAITING = "() => Object.keys(localStorage).filter(key => key.startsWith('plumbline:outbox:')).length"


def test_a_rater_without_cookies_reads_how_to_come_back_and_loses_nothing(open_page):
    study = make_checklist_study(instructions=3, models=1)
    make_seats(study)
    link = reverse("annotation:join", args=[make_cohort(study, "Spring", "public").entry_token])
    page = open_page()
    page.goto(link)
    page.click("button[value=yes]")
    page.click("form[action$='/rate/'] button")
    page.wait_for_url("**/rate/**")
    first = Assignment.objects.get(status="open")
    expected = do_by_keyboard(page, "checklist", first)
    wait_until_said(page, "saved")
    mine = page.context.cookies()
    page.context.clear_cookies()
    with page.expect_navigation():
        submit(page)
    assert "/sign-in/" not in page.url
    assert "are safe" in page.inner_text("main")
    page.wait_for_selector("#kept:not([hidden])")
    assert "1" in page.inner_text("#kept")
    assert page.get_attribute("#ways a", "href") == link
    page.click("#ways a")
    page.wait_for_selector("button[value=yes]")
    # The browser finds its cookies again, as one does that was in a private window.
    page.context.clear_cookies()
    page.context.add_cookies(mine)
    page.goto(f"/w/{study.workspace.slug}/studies/{study.slug}/done/")
    page.click("#kept a")
    wait_for_another(page, first)
    assert page.evaluate(WAITING) == 0
    assert answers_of(first) == expected
    assert first.scores.count() == 4


def test_what_waits_is_kept_from_the_next_person_and_for_the_one_before(open_page):
    """Somebody else joins in the same browser: the answer of the one before is not theirs and is not thrown away."""
    study = make_checklist_study(instructions=3, models=1)
    make_seats(study)
    link = reverse("annotation:join", args=[make_cohort(study, "Spring", "public").entry_token])
    page = open_page()

    def join():
        page.goto(link)
        page.click("button[value=yes]")
        page.click("form[action$='/rate/'] button")
        page.wait_for_url("**/rate/**")

    join()
    first = Assignment.objects.get(status="open")
    do_by_keyboard(page, "checklist", first)
    page.context.clear_cookies()
    with page.expect_navigation():
        submit(page)
    with page.expect_response(lambda reply: first.public_id in reply.url and reply.status == 404):
        join()
    assert page.evaluate(WAITING) == 1
    assert page.is_hidden("#outbox")
    assert not first.scores.exists()
