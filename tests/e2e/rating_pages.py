"""What somebody does on a rating page, for scenarios in a real browser."""

import time

from playwright.sync_api import expect

from annotation.models import Assignment

SIZES = {"desktop": {"width": 1440, "height": 900}, "phone": {"width": 390, "height": 844}}


def painted(page):
    """Until the page has been drawn: a key that is pressed before may be dropped."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def sign_in(page):
    expect(page.locator("#id_username")).to_be_focused()
    painted(page)
    page.keyboard.type("rosa")
    page.keyboard.press("Tab")
    page.keyboard.type("plumb line 12")
    page.keyboard.press("Enter")
    page.wait_for_selector(".card button")


def tab_to(page, selector):
    """Presses Tab until the focus is on the element, as somebody without a mouse does."""
    for _ in range(60):
        if page.evaluate("selector => document.activeElement?.matches(selector) ?? false", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab never reached {selector}")


def begin(page):
    sign_in(page)
    tab_to(page, ".card button")
    page.keyboard.press("Enter")
    page.wait_for_url("**/rate/**")
    painted(page)


def chosen(page):
    return page.evaluate(
        "Object.fromEntries([...document.querySelectorAll('#answers input:checked')].map(i => [i.name, i.value]))"
    )


def scores_of(assignment):
    return dict(assignment.scores.values_list("criterion__key", "value"))


def wait_until_said(page, what):
    """Until the rail says that the draft is saved, restored, or that sending failed."""
    page.wait_for_function(
        "what => { const line = document.querySelector('.saved'); return line.textContent === line.dataset[what]; }",
        arg=what,
    )


def wait_until(page, holds, seconds=30):
    """Until something is so outside the page, in the database."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it never came to be so"
        page.wait_for_timeout(50)


def fits(page):
    """Whether nothing makes the page wider than the window."""
    return page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def begin_in(page, language):
    """Signs in and begins, after choosing the language, by keyboard alone."""
    if language == "zh-hans":
        page.evaluate("document.activeElement.blur()")
        tab_to(page, "button[name=language]")
        with page.expect_navigation(wait_until="networkidle"):
            page.keyboard.press("Enter")
        page.wait_for_selector("html[lang=zh-hans]")
        page.evaluate("document.activeElement.blur()")
        tab_to(page, "#id_username")
    begin(page)


def begin_in_by_touch(page, language):
    """The same by touch."""
    if language == "zh-hans":
        with page.expect_navigation(wait_until="load"):
            page.locator("button[name=language]").tap()
        page.wait_for_selector("html[lang=zh-hans]")
    for field, text in (("#id_username", "rosa"), ("#id_password", "plumb line 12")):
        page.locator(field).tap()
        page.keyboard.type(text)
    page.locator("main button.button").tap()
    page.locator(".card button").tap()
    page.wait_for_url("**/rate/**")
    painted(page)


def open_assignment():
    """The task on the screen: open and shown, unlike the one that is held for later."""
    return Assignment.objects.filter(status="open", shown_at__isnull=False).latest("shown_at")


def wait_for_another(page, assignment):
    """Until the page shows another task than this."""
    page.wait_for_function("id => document.getElementById('task').dataset.assignment !== id", arg=assignment.public_id)


def wait_until_held(page):
    """Until the page has the next task ready."""
    page.wait_for_function("() => document.getElementById('task').dataset.held")


def submit(page):
    page.keyboard.press("Control+Enter")


def overlapping(page, selector):
    """The words of visible elements of a kind of which one stands upon another."""
    return page.evaluate(
        """selector => {
            const all = [...document.querySelectorAll(selector)].filter(one => one.offsetParent);
            const box = one => one.getBoundingClientRect();
            const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
            return all.filter(one => all.some(other => other !== one && meet(box(one), box(other))))
                .map(one => one.textContent.trim());
        }""",
        selector,
    )


def settle(page):
    """Until what a page fetches by itself has come, and a change of its size has been seen."""
    page.wait_for_function("() => document.readyState === 'complete' && !document.querySelector('.htmx-request')")
    painted(page)
