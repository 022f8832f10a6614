"""Nothing is lost: answers given without a network, kept past a closed browser, sent by themselves, counted once."""

import pytest

from annotation.models import Assignment, Draft, Score
from tests.e2e.answers import KINDS, answers_of, do_by_keyboard, make_study, press
from tests.e2e.rating_pages import (
    begin,
    chosen,
    open_assignment,
    submit,
    wait_for_another,
    wait_until,
    wait_until_held,
    wait_until_said,
)

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
WAITING = "() => Object.keys(localStorage).filter(key => key.startsWith('plumbline:outbox:')).length"


def wait_until_stored(page):
    page.wait_for_function(f"() => ({WAITING})() === 0")


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_given_without_a_network_is_sent_when_it_returns(open_page, kind):
    """With the next task held, the rater goes on at once; both answers arrive."""
    study = make_study(kind)
    page = open_page()
    begin(page)
    first = open_assignment()
    expected = do_by_keyboard(page, kind, first)
    wait_until_held(page)
    page.context.set_offline(True)
    submit(page)
    wait_for_another(page, first)
    page.wait_for_selector("#outbox:not([hidden])")
    assert not Score.objects.filter(assignment__task__study=study).exists()
    second = Assignment.objects.get(status="open", shown_at=None)
    also = do_by_keyboard(page, kind, second)
    submit(page)
    wait_until_said(page, "failed")
    page.context.set_offline(False)
    page.wait_for_url(f"**/studies/{study.slug}/done/")
    assert answers_of(first) == expected
    assert answers_of(second) == also
    for assignment in (first, second):
        assignment.refresh_from_db()
        assert assignment.status == "submitted"
        assert assignment.shown_at is not None
    assert page.evaluate(f"({WAITING})()") == 0


def test_going_back_without_a_network_leaves_the_page_as_it_is(open_page):
    make_study("stars")
    page = open_page()
    begin(page)
    first = open_assignment()
    do_by_keyboard(page, "stars", first)
    submit(page)
    wait_for_another(page, first)
    second = Assignment.objects.get(status="open")
    page.context.set_offline(True)
    do_by_keyboard(page, "stars", second)
    entered = chosen(page)
    press(page, "z")
    wait_until_said(page, "kept")
    assert second.public_id in page.url
    assert chosen(page) == entered != {}
    page.context.set_offline(False)
    press(page, "z")
    page.wait_for_url(f"**/rate/{first.public_id}/")


def test_what_is_entered_offline_is_there_after_the_browser_was_closed(open_page):
    make_study("pair")
    page = open_page()
    begin(page)
    first = open_assignment()
    page.context.set_offline(True)
    press(page, "b")
    page.close()
    page.context.set_offline(False)
    again = page.context.new_page()
    again.goto(f"/rate/{first.public_id}/")
    assert chosen(again) == {"c-preference": "b"}
    wait_until(again, Draft.objects.filter(task=first.task).exists)
    assert Draft.objects.get(task=first.task).answers["c-preference"] == "b"


def test_an_answer_submitted_offline_is_sent_after_the_browser_was_closed(open_page):
    make_study("checklist")
    page = open_page()
    begin(page)
    first = open_assignment()
    page.context.set_offline(True)
    expected = do_by_keyboard(page, "checklist", first)
    submit(page)
    wait_until_said(page, "failed")
    page.close()
    page.context.set_offline(False)
    again = page.context.new_page()
    again.goto(f"/rate/{first.public_id}/")
    wait_for_another(again, first)
    assert answers_of(first) == expected


def test_a_submit_whose_reply_is_lost_counts_once(open_page):
    make_study("checklist")
    page = open_page()
    begin(page)
    first = open_assignment()
    lost = []

    def lose(route):
        if route.request.method == "POST" and not lost:
            lost.append(route.fetch())
            route.abort()
        else:
            route.continue_()

    page.route(f"**/rate/{first.public_id}/", lose)
    expected = do_by_keyboard(page, "checklist", first)
    submit(page)
    page.wait_for_function(f"() => ({WAITING})() === 1")
    assert lost
    page.evaluate("window.dispatchEvent(new Event('online'))")
    wait_for_another(page, first)
    wait_until_stored(page)
    assert answers_of(first) == expected
    assert first.scores.count() == 4


def test_an_answer_does_not_wait_for_a_next_task_that_never_comes(open_page):
    """The request that holds the next task ready stands still; the answer goes out all the same."""
    make_study("checklist")
    page = open_page()
    begin(page)
    first = open_assignment()
    stalled = []
    page.route("**/hold/", lambda route: stalled.append(route))
    expected = do_by_keyboard(page, "checklist", first)
    wait_until(page, lambda: stalled)
    submit(page)
    wait_for_another(page, first)
    assert answers_of(first) == expected
