"""A lead's whole way without a mouse: a study made, raters invited, launched, watched, judged, and a leaderboard read.

At every press of Tab the focus is to be seen: it has a size, an outline, a place inside the window, nothing above it.
"""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections

from annotation.models import Cohort, Study
from judging.demonstration.making import BENCHMARK, PASSWORD
from judging.models import JudgeRun
from judging.runs.worker import work_on
from tests.e2e.addresses import make_demonstration
from tests.e2e.rating_pages import fits, settle, wait_until
from tests.e2e.serial import turn
from tests.factories import make_answer, make_rater

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
UNSEEN = """() => {
    const one = document.activeElement;
    if (!one || one === document.body) return "";
    const box = one.getBoundingClientRect();
    const style = getComputedStyle(one);
    const name = `${one.tagName} ${one.id || one.name || one.textContent.trim().slice(0, 30)}`;
    if (box.width < 2 || box.height < 2) return `${name} has no size`;
    const [left, right] = [Math.max(0, box.left), Math.min(innerWidth, box.right)];
    const [top, bottom] = [Math.max(0, box.top), Math.min(innerHeight, box.bottom)];
    if (right - left < 2 || bottom - top < 2) return `${name} is outside the window`;
    if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 2) return `${name} has no outline`;
    const above = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
    const own = above && (one.contains(above) || above.contains(one) && !above.matches(".bar, .bar *"));
    return own ? "" : `${name} is under ${above?.outerHTML.slice(0, 60)}`;
}"""


def in_a_thread(work, *args):
    """What has an asynchronous loop of its own: Playwright's has this thread."""

    def alone():
        try:
            return work(*args)
        finally:
            connections.close_all()

    with turn, ThreadPoolExecutor(1) as thread:
        return thread.submit(alone).result()


@pytest.fixture
def page(open_page):
    in_a_thread(make_demonstration)
    page = open_page(reduced_motion="reduce")
    page.keyboard.type("lead")
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_selector("a[href='/studies/']")
    page.set_default_timeout(15_000)
    return page


def reach(page, selector):
    """Tab until the focus is on the element, looking at every stop on the way there."""
    for _ in range(150):
        if page.evaluate("selector => document.activeElement?.matches(selector) ?? false", selector):
            return
        page.keyboard.press("Tab")
        assert page.evaluate(UNSEEN) == ""
    raise AssertionError(f"Tab never reached {selector}")


def press_on(page, selector, key="Enter"):
    reach(page, selector)
    page.keyboard.press(key)


def write(page, selector, text):
    """In place of what stands there."""
    reach(page, selector)
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def choose(page, selector, value, key="ArrowDown"):
    """By arrows, in a menu or among radio buttons."""
    reach(page, selector)
    for _ in range(30):
        if page.evaluate("document.activeElement.checked ?? true") and page.evaluate(
            "value => document.activeElement.value === value", value
        ):
            return
        page.keyboard.press(key)
    raise AssertionError(f"{key} never came to {value}")


def make_the_study(page):
    press_on(page, "a[href='/studies/']")
    page.wait_for_url("**/studies/")
    press_on(page, "a[href='/studies/new/']")
    page.wait_for_url("**/studies/new/")
    write(page, "#id_name_en", "By keyboard")
    choose(page, "input[name=kind]", "checklist")
    benchmark = page.locator("#id_benchmark option", has_text="emonstration").first.get_attribute("value")
    choose(page, "#id_benchmark", benchmark)
    press_on(page, "main form button.button")
    page.wait_for_url("**/studies/by-keyboard/setup/")


def invite(page):
    press_on(page, "a[href$='/by-keyboard/raters/']")
    page.wait_for_url("**/raters/")
    press_on(page, "a[href$='/by-keyboard/cohorts/']")
    page.wait_for_url("**/cohorts/")
    press_on(page, "main details:has(#id_name) > summary")
    write(page, "#id_name", "Open door")
    choose(page, "#id_kind", "public")
    press_on(page, "main details[open] form button.button")
    page.wait_for_selector("input.link")
    assert Cohort.objects.get(study__slug="by-keyboard").kind == "public"
    reach(page, "input.link")


def launch(page):
    press_on(page, "a[href$='/by-keyboard/setup/']")
    page.wait_for_url("**/setup/")
    press_on(page, "a[href='?step=checks']")
    page.wait_for_selector("#id_overlap")
    write(page, "#id_overlap", "2")
    press_on(page, "button[value=next]")
    page.wait_for_url("**/setup/?step=texts")
    press_on(page, ".setup-steps a[href='?step=review']")
    page.wait_for_selector(".plan-figures dd")
    press_on(page, "button[value=launch]")
    page.wait_for_url("**/studies/by-keyboard/")
    assert Study.objects.get(slug="by-keyboard").status == "open"


def watch_the_desk(page):
    """An answer comes in while the lead's focus is on a rater: the table is fetched anew, and the focus stays there."""
    study = Study.objects.get(slug="by-keyboard")
    with turn:
        rater = make_rater(study, label="rosa")
        tasks = list(study.tasks.order_by("pk")[:2])
        answers = {criterion.key: criterion.ends[1] for criterion in tasks[0].answer_rubric.criteria.all()}
        make_answer(tasks[0], rater, answers)
    page.reload()
    settle(page)
    link = f"#raters a[href$='/{rater.public_id}/']"
    reach(page, link)
    with turn:
        answers = {criterion.key: criterion.ends[1] for criterion in tasks[1].answer_rubric.criteria.all()}
        make_answer(tasks[1], rater, answers)
    page.evaluate("document.querySelector('#raters').dataset.old = 1")
    page.evaluate("htmx.trigger('#raters', 'every')")
    page.wait_for_function("() => !document.querySelector('#raters').dataset.old", timeout=30_000)
    settle(page)
    assert page.evaluate("selector => document.activeElement.matches(selector)", link)
    assert page.evaluate(UNSEEN) == ""


def ask_the_judge(page):
    """The run's page is fetched anew every two seconds while the focus waits on its button, and an opened fold stays."""
    press_on(page, "a[href$='/by-keyboard/judge/']")
    page.wait_for_url("**/judge/")
    press_on(page, "input[name=judges]", "Space")
    press_on(page, "button[value=start]")
    page.wait_for_url("**/runs/*/")
    run = JudgeRun.objects.get(study__slug="by-keyboard")
    press_on(page, "#run-controls details summary")
    reach(page, "#run-controls button[value=budget]")
    with page.expect_response(lambda reply: "seen=" in reply.url):
        pass
    settle(page)
    assert page.evaluate("document.activeElement.value") == "budget"
    assert page.evaluate(UNSEEN) == ""
    in_a_thread(work_on, run)
    wait_until(page, lambda: JudgeRun.objects.get(pk=run.pk).status == "finished")
    page.wait_for_function("() => !document.querySelector('#run-progress').hasAttribute('hx-get')")


def open_the_leaderboard(page):
    press_on(page, ".bar a[href='/leaderboards/']")
    page.wait_for_url("**/leaderboards/")
    press_on(page, f"main a[href$='/leaderboards/{BENCHMARK}/']")
    page.wait_for_url(f"**/leaderboards/{BENCHMARK}/")
    choose(page, "#weights", "equal")
    page.wait_for_url("**weights=equal**")
    settle(page)
    assert page.evaluate("document.activeElement.id") == "weights"
    assert page.locator("#board table.data").first.is_visible()
    for _ in range(40):
        page.keyboard.press("Tab")
        assert page.evaluate(UNSEEN) == ""


def test_a_lead_needs_no_mouse(page):
    for part in (make_the_study, invite, launch, watch_the_desk, ask_the_judge, open_the_leaderboard):
        part(page)
        assert fits(page)
        page.evaluate("document.activeElement.blur()")
