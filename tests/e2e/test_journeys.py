"""One rater's whole way on every screen, by keyboard alone and by touch, in both languages, past all that can go wrong.

The network cut at every step, a second tab, the back button, a lease that ran out, being paused and let in again,
and the end of the study; nothing is lost, nothing is stored twice.
"""

import pytest
from django.utils import timezone

from annotation.assignment.rater_status import pause, resume
from annotation.models import Assignment, Seat
from tests.e2e.answers import (
    KINDS,
    STEPS,
    answers_of,
    make_study,
    press,
    raise_sheet,
    stored_of,
    take_by_keyboard,
    take_by_touch,
)
from tests.e2e.rating_pages import (
    begin_in,
    begin_in_by_touch,
    chosen,
    fits,
    open_assignment,
    overlapping,
    tab_to,
    wait_for_another,
    wait_until_said,
)
from tests.e2e.serial import turn
from tests.factories import make_rater

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PAUSED = "Please read the guideline once more."


class Keyboard:
    size, options = "desktop", {}
    begin_in = staticmethod(begin_in)
    take = staticmethod(take_by_keyboard)

    @staticmethod
    def submit(page):
        press(page, ["Control+Enter"])

    @staticmethod
    def activate(page, selector):
        page.evaluate("document.activeElement?.blur()")
        tab_to(page, selector)
        page.keyboard.press("Enter")

    @staticmethod
    def write(page, selector, text):
        tab_to(page, selector)
        page.keyboard.insert_text(text)


class Touch:
    size, options = "phone", {"has_touch": True, "is_mobile": True}
    begin_in = staticmethod(begin_in_by_touch)
    take = staticmethod(take_by_touch)

    @staticmethod
    def submit(page):
        raise_sheet(page)
        page.locator(".submit").tap()

    @staticmethod
    def activate(page, selector):
        page.locator(selector).first.tap()

    @staticmethod
    def write(page, selector, text):
        page.locator(selector).tap()
        page.locator(selector).fill(text)


def wait_for_task(page, assignment):
    page.wait_for_function("id => document.getElementById('task')?.dataset.assignment === id", arg=assignment.public_id)


def answer(page, way, kind):
    for step in STEPS[kind]:
        way.take(page, step)


def is_stored(assignment, kind, status="submitted"):
    """Every answer once, as it was given."""
    assignment.refresh_from_db()
    expected = stored_of(kind, assignment)
    assert assignment.status == status
    assert answers_of(assignment) == expected
    assert assignment.scores.count() == len(expected)
    if kind == "review":
        assert assignment.scores.get(criterion__key="item1").reason == STEPS[kind][1].why


def cut_at_every_step(page, way, kind):
    """Without a network at each answer the browser keeps it; at the submit, too, and sends it by itself."""
    assignment = open_assignment()
    given = set()
    for step in STEPS[kind]:
        page.context.set_offline(True)
        way.take(page, step)
        before = chosen(page)
        given.add(step.question)
        assert len(before) == len(given)
        page.context.set_offline(False)
        page.reload()
        assert chosen(page) == before
    page.context.set_offline(True)
    way.submit(page)
    wait_until_said(page, "failed")
    assert not assignment.scores.exists()
    page.context.set_offline(False)
    wait_for_another(page, assignment)
    is_stored(assignment, kind)


def answer_in_one_of_two_tabs(page, way, kind):
    assignment = open_assignment()
    other = page.context.new_page()
    other.goto(page.url)
    page.bring_to_front()
    answer(page, way, kind)
    given = chosen(page)
    other.wait_for_function("n => document.querySelectorAll('#answers input:checked').length === n", arg=len(given))
    assert chosen(other) == given
    way.submit(page)
    wait_for_another(page, assignment)
    other.bring_to_front()
    other.wait_for_selector("[data-elsewhere]:not([hidden])", state="attached")
    way.activate(other, "[data-elsewhere] button")
    wait_for_task(other, open_assignment())
    other.close()
    page.bring_to_front()
    is_stored(assignment, kind)


def go_back_and_forth(page, way, kind):
    assignment = open_assignment()
    answer(page, way, kind)
    given = chosen(page)
    way.submit(page)
    wait_for_another(page, assignment)
    following = open_assignment()
    assert overlapping(page, ".rail-foot > *, .skip > summary") == []
    page.go_back()
    wait_for_task(page, assignment)
    assert chosen(page) == given
    page.go_forward()
    wait_for_task(page, following)
    assert chosen(page) == {}
    is_stored(assignment, kind)


def come_late(page, way, kind):
    """Somebody else got the task after the lease; it is said, and the answer is kept as work beyond the overlap."""
    assignment = open_assignment()
    with turn:
        Assignment.objects.filter(pk=assignment.pk).update(seat=None)
        holder = make_rater(assignment.task.study)
        Seat.objects.filter(task=assignment.task).update(state="taken", holder=holder, leased_until=None)
    page.reload()
    assert page.locator("[data-late]").is_visible()
    answer(page, way, kind)
    way.submit(page)
    wait_for_another(page, assignment)
    is_stored(assignment, kind, status="surplus")


def be_paused_and_let_in_again(page, way, kind):
    """What was open when the lead paused the rater is kept and does not count; an appeal, and the rater goes on."""
    assignment = open_assignment()
    way.take(page, STEPS[kind][0])
    with turn:
        pause(assignment.rater, message=PAUSED, by=None)
    for step in STEPS[kind][1:]:
        way.take(page, step)
    way.submit(page)
    page.wait_for_url("**/done/")
    assert page.get_by_text(PAUSED).is_visible()
    assert not page.locator("form[action$='/rate/']").count()
    assert fits(page)
    is_stored(assignment, kind, status="surplus")
    way.write(page, "#appeal", "我已经重读了指南。")
    way.activate(page, "form[action$='/appeal/'] button")
    page.wait_for_selector("form[action$='/appeal/']", state="detached")
    with turn:
        resume(assignment.rater, clock=timezone.now, by=None)
    page.reload()
    way.activate(page, "form[action$='/rate/'] button")
    page.wait_for_url("**/rate/**")
    wait_for_task(page, open_assignment())


def come_to_the_end(page, way, kind):
    """The last answer of a study whose other places are taken; thanks, and no dead end."""
    assignment = open_assignment()
    with turn:
        Seat.objects.filter(holder=None).delete()
    answer(page, way, kind)
    way.submit(page)
    page.wait_for_url(f"**/studies/{assignment.task.study.slug}/done/")
    assert page.locator(".answer").is_visible()
    assert not page.locator("form[action$='/rate/']").count()
    assert fits(page)
    is_stored(assignment, kind)


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("way", [Keyboard, Touch])
@pytest.mark.parametrize("kind", KINDS)
def test_the_whole_way(open_page, kind, way, language):
    make_study(kind, tasks=8)
    page = open_page(way.size, locale="en-GB", **way.options)
    way.begin_in(page, language)
    for part in (
        cut_at_every_step,
        answer_in_one_of_two_tabs,
        go_back_and_forth,
        come_late,
        be_paused_and_let_in_again,
        come_to_the_end,
    ):
        assert page.locator("html").get_attribute("lang") == language
        assert page.locator("#task").get_attribute("data-kind") == kind
        assert fits(page)
        part(page, way, kind)
    assert page.evaluate("Object.keys(localStorage).filter(key => /:(draft|outbox):/.test(key))") == []
