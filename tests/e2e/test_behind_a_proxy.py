"""A proxy that is restarted, overloaded or stuck: every answer waits in the browser and is stored once."""

import pytest
from playwright.sync_api import Error

from annotation.models import Assignment, Score
from tests.e2e.answers import answers_of, do_by_keyboard, make_study
from tests.e2e.rating_pages import begin, open_assignment, submit, wait_for_another, wait_until, wait_until_said

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
WAITING = "() => Object.keys(localStorage).filter(key => key.startsWith('plumbline:outbox:')).length"


@pytest.fixture
def page(open_page, proxy):
    page = open_page()
    page.clock.install()
    page.goto(f"{proxy.url}/sign-in/")
    return page


PLANNED = """told => {
    const line = document.querySelector("#outbox:has(button)")?.textContent;
    if (!line || line === told) return null;
    const [hour, minute, second] = line.match(/\\d+:\\d+:\\d+/)[0].split(":").map(Number);
    const now = new Date();
    const wait = (hour - now.getHours()) * 3_600 + (minute - now.getMinutes()) * 60 + second - now.getSeconds();
    return [line, (wait + 86_400) % 43_200];
}"""
"""What the page says anew of its next attempt, and in how many seconds that is, by a clock of 12 hours or of 24."""


def outbox(page):
    """How many answers wait; -1 while the page changes."""
    try:
        return page.evaluate(WAITING)
    except Error:
        return -1


def retry(page, until):
    """Let the browser's clock run until its next attempt, and the one after, and so on."""
    for _ in range(40):
        if until():
            return
        page.clock.fast_forward(5_000)
        page.wait_for_timeout(50)
    raise AssertionError("it never came to be so")


def stored_once(assignment, expected):
    assignment.refresh_from_db()
    assert answers_of(assignment) == expected
    assert assignment.status == "submitted"
    assert Score.objects.filter(assignment=assignment).count() == len(expected)


@pytest.mark.parametrize("fail", [502, 503, 504, "hang", "lose", "down"])
def test_an_answer_that_no_server_takes_is_kept_and_sent_once(page, proxy, fail):
    make_study("checklist")
    begin(page)
    first = open_assignment()
    expected = do_by_keyboard(page, "checklist", first)
    if fail == "down":
        proxy.kill()
    else:
        proxy.fail = fail
    submit(page)
    if fail == "hang":
        wait_until(page, lambda: proxy.refused)
        page.clock.fast_forward(31_000)
    page.wait_for_function(f"() => ({WAITING})() === 1")
    page.wait_for_selector("#outbox:not([hidden]) button")
    assert "Next attempt at" in page.inner_text("#outbox")
    proxy.fail = None
    if fail == "down":
        proxy.start()
    retry(page, lambda: outbox(page) == 0)
    wait_for_another(page, first)
    stored_once(first, expected)


def test_attempts_become_rarer_and_keep_to_what_the_server_asks_for(page, proxy):
    make_study("checklist")
    begin(page)
    first = open_assignment()
    expected = do_by_keyboard(page, "checklist", first)
    wait_until_said(page, "saved")
    proxy.fail, proxy.headers = 503, {"Retry-After": "300"}
    submit(page)
    told, waits = "", []
    for number in range(1, 7):
        told, wait = page.wait_for_function(PLANNED, arg=told).json_value()
        assert len(proxy.refused) == number
        waits.append(wait)
        proxy.headers = {}
        page.clock.fast_forward(1_000 * (wait + 2))
        wait_until(page, lambda number=number: len(proxy.refused) > number)
    assert waits[0] >= 295
    assert waits[1] < waits[-1] <= 120
    proxy.fail = None
    page.click("#outbox button")
    wait_for_another(page, first)
    stored_once(first, expected)


def test_a_proxy_restarted_between_answers_loses_none_and_doubles_none(page, proxy):
    study = make_study("checklist", tasks=6)
    begin(page)
    expected = {}
    for number, fail in enumerate([502, None, "lose", 504, None, 503]):
        page.wait_for_selector("#answers")
        current = Assignment.objects.get(public_id=page.evaluate("document.getElementById('task').dataset.assignment"))
        expected[current] = do_by_keyboard(page, "checklist", current)
        wait_until_said(page, "saved")
        proxy.fail = fail
        submit(page)
        if fail is not None:
            page.wait_for_function(f"() => ({WAITING})() > 0")
            proxy.kill()
            proxy.fail = None
            proxy.start()
            retry(page, lambda: outbox(page) == 0)
        if number < 5:
            wait_for_another(page, current)
    page.wait_for_url(f"**/studies/{study.slug}/done/")
    assert len(expected) == 6
    for assignment, answer in expected.items():
        stored_once(assignment, answer)
