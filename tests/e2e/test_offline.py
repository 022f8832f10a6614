"""Nothing is lost: without a network at every step, in two tabs, going back, late, at the end, and when stopped."""

import pytest
from django.utils import timezone

from annotation.models import Assignment, Draft, Score, Seat
from annotation.qualification import pause
from tests.e2e.rating_pages import (
    begin,
    chosen,
    open_assignment,
    scores_of,
    submit,
    wait_for_another,
    wait_until_held,
    wait_until_said,
)
from tests.e2e.serial import turn
from tests.e2e.test_screens import answers_of, do_by_keyboard, make_study, press
from tests.factories import make_rater

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
KINDS = ["checklist", "stars", "pair", "review"]
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
    page.wait_for_url(f"**/done/{study.slug}/")
    assert answers_of(first) == expected
    assert answers_of(second) == also
    for assignment in (first, second):
        assignment.refresh_from_db()
        assert assignment.status == "submitted"
        assert assignment.shown_at is not None
    assert page.evaluate(f"({WAITING})()") == 0


@pytest.mark.parametrize("kind", KINDS)
def test_the_network_is_cut_at_every_step(open_page, kind):
    """Cut while answering, while submitting, and while the page is left; the answer comes through once."""
    make_study(kind)
    page = open_page()
    begin(page)
    first = open_assignment()
    page.context.set_offline(True)
    expected = do_by_keyboard(page, kind, first)
    wait_until_said(page, "kept")
    submit(page)
    wait_until_said(page, "failed")
    page.context.set_offline(False)
    wait_for_another(page, first)
    assert answers_of(first) == expected
    assert first.scores.count() == len(expected)


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
    wait_until_said(again, "saved")
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


def test_two_tabs_on_one_task_show_the_same_and_answer_once(open_page):
    make_study("checklist")
    page = open_page()
    begin(page)
    first = open_assignment()
    other = page.context.new_page()
    other.goto(page.url)
    page.bring_to_front()
    press(page, "5432")
    other.wait_for_function("() => document.querySelectorAll('#answers input:checked').length === 4")
    assert chosen(other) == chosen(page)
    submit(page)
    wait_for_another(page, first)
    other.wait_for_selector("[data-elsewhere]:not([hidden])")
    other.bring_to_front()
    other.locator("[data-elsewhere] button").click()
    other.wait_for_url(lambda url: first.public_id not in url)
    assert other.evaluate("document.getElementById('task').dataset.assignment") == open_assignment().public_id
    assert first.scores.count() == 4


def test_the_back_button_goes_to_the_answer_before(open_page):
    make_study("pair")
    page = open_page()
    begin(page)
    first = open_assignment()
    press(page, "a")
    wait_until_held(page)
    submit(page)
    wait_for_another(page, first)
    second = open_assignment()
    page.go_back()
    page.wait_for_function(
        "id => document.getElementById('task')?.dataset.assignment === id", arg=first.public_id
    )
    assert chosen(page) == {"c-preference": "a"}
    page.go_forward()
    page.wait_for_function(
        "id => document.getElementById('task')?.dataset.assignment === id", arg=second.public_id
    )
    assert chosen(page) == {}


def test_an_expired_lease_is_said_and_the_late_answer_is_kept(open_page):
    study = make_study("checklist")
    page = open_page()
    begin(page)
    first = open_assignment()
    with turn:
        other = make_rater(study)
    with turn:
        Assignment.objects.filter(pk=first.pk).update(seat=None)
        Seat.objects.filter(task=first.task).update(state="taken", holder=other, leased_until=None)
    page.reload()
    assert page.locator("[data-late]").is_visible()
    press(page, "1234")
    submit(page)
    wait_for_another(page, first)
    first.refresh_from_db()
    assert first.status == "surplus"
    assert scores_of(first)["item0"] == 0.0


def test_a_full_study_says_thanks(open_page):
    study = make_study("stars")
    page = open_page()
    begin(page)
    with turn:
        Seat.objects.filter(holder=None).delete()
    press(page, "11111")
    submit(page)
    page.wait_for_url(f"**/done/{study.slug}/")
    assert page.locator(".answer").is_visible()


def test_a_paused_rater_is_told_and_what_was_open_is_kept(open_page):
    make_study("checklist")
    page = open_page()
    begin(page)
    first = open_assignment()
    press(page, "123")
    wait_until_held(page)
    with turn:
        pause(first.rater, message="Please read the guideline once more.", by=None)
    press(page, "4")
    submit(page)
    page.wait_for_url("**/done/**")
    assert "Please read the guideline once more." in page.content()
    first.refresh_from_db()
    assert first.status == "submitted"
    assert first.submitted_at <= timezone.now()
