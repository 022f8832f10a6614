"""A rater's way through a task in Chromium: by keyboard alone, by touch, without a network, without JavaScript."""

import pytest

from annotation.assignment.new_slots import make_seats
from annotation.models import Assignment, Draft, Guideline
from tests.e2e.rating_pages import (
    begin,
    begin_in,
    chosen,
    fits,
    open_assignment,
    scores_of,
    wait_for_another,
    wait_until_said,
)
from tests.factories import make_checklist_study, make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
LONG = "\n\n".join(f"## Part {n}\n\n" + "A plain sentence about trees in the city. " * 30 for n in range(8))
CHINESE = "\n\n".join(f"## 第{n}节\n\n" + "城市里的树木让街道在夏天变得凉爽。" * 20 for n in range(8))


@pytest.fixture
def study():
    study = make_checklist_study(instructions=2, models=1)
    for task, text in zip(study.tasks.all(), (LONG, CHINESE), strict=True):
        task.response_a.text = text
        task.response_a.save()
    study.tasks.first().answer_rubric.criteria.filter(key="item1").update(may_not_apply=True)
    study.guideline = Guideline.objects.create(
        workspace=study.workspace, key="checklist", texts={"en": "# Be fair", "zh-hans": "# 要公平"}
    )
    study.save()
    make_seats(study)
    make_user("rater", study.workspace, username="rosa")
    return study


@pytest.mark.parametrize("size", ["desktop", "phone"])
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_a_task_is_rated_by_keyboard_alone(open_page, study, size, language):
    page = open_page(size, locale="en-GB")
    begin_in(page, language)
    first = Assignment.objects.get()
    expected = {"en": "Is quality 0 there?", "zh-hans": "是否具备品质0?"}[language]
    assert expected in page.locator("#question-1 legend").text_content()
    assert page.locator("html").get_attribute("lang") == language
    assert fits(page)

    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.wait_for_function("() => document.getElementById('side-text').textContent.length > 2")
    assert {"en": "Be fair", "zh-hans": "要公平"}[language] in page.locator("#side-text").text_content()
    page.keyboard.press("Escape")

    page.keyboard.press("5")
    page.keyboard.press("x")
    page.keyboard.press("1")
    page.keyboard.press("k")
    page.keyboard.press("2")
    page.keyboard.press("1")
    page.keyboard.press("0")
    assert chosen(page) == {"c-item0": "4", "c-item1": "n/a", "c-item2": "1", "c-overall": "10"}
    page.keyboard.press("Control+Enter")
    wait_for_another(page, first)

    first.refresh_from_db()
    assert first.status == "submitted"
    assert scores_of(first) == {"item0": 1.0, "item1": None, "item2": 0.25, "overall": 10.0}
    assert first.scores.get(criterion__key="item1").not_applicable
    assert first.active_seconds is not None
    assert first.conditions["language"] == language
    following = open_assignment()
    assert page.url.endswith(f"/rate/{following.public_id}/")
    assert page.evaluate("Object.keys(localStorage).filter(key => key.includes(':draft:'))") == []

    for key in ("3", "3", "3", "7"):
        page.keyboard.press(key)
    page.keyboard.press("Control+Enter")
    page.wait_for_url(f"**/studies/{study.slug}/done/")
    assert Assignment.objects.filter(status="submitted").count() == 2
    assert fits(page)


def test_what_is_missing_is_shown_without_a_journey_to_the_server(open_page, study):
    page = open_page()
    begin(page)
    posts = []
    page.on("request", lambda request: posts.append(request.url) if request.method == "POST" else None)
    page.keyboard.press("4")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#answers [data-missing]:not([hidden])")
    assert page.locator("#answers [data-missing] span").text_content() == "2, 3, 4"
    assert page.evaluate("document.activeElement.id") == "question-2"
    assert not [url for url in posts if url.endswith(f"{open_assignment().public_id}/")]


def test_by_touch_on_a_phone_the_rail_is_a_sheet(open_page, study):
    page = open_page("phone", has_touch=True)
    begin(page)
    first = Assignment.objects.get()
    assert not page.locator(".rail-foot .submit").is_visible()
    page.locator(".sheet-toggle").tap()
    for number in (1, 2, 3):
        page.locator(f"#question-{number} .level").nth(3).tap()
    page.locator("#question-4 .level").nth(8).tap()
    page.locator(".submit").tap()
    wait_for_another(page, first)
    assert scores_of(first) == {"item0": 0.75, "item1": 0.75, "item2": 0.75, "overall": 8.0}


def test_a_draft_survives_a_reload_and_another_device(open_page, study):
    page = open_page()
    begin(page)
    page.keyboard.press("2")
    page.keyboard.press("3")
    wait_until_said(page, "saved")
    entered = {name: value for name, value in Draft.objects.get().answers.items() if value}
    assert entered == {"c-item0": "1", "c-item1": "2"}
    page.reload()
    assert chosen(page) == {"c-item0": "1", "c-item1": "2"}
    other = open_page()
    begin(other)
    assert chosen(other) == {"c-item0": "1", "c-item1": "2"}


def test_going_back_changes_the_answer_beside_the_first(open_page, study):
    page = open_page()
    begin(page)
    first = Assignment.objects.get()
    for key in ("5", "4", "3", "6"):
        page.keyboard.press(key)
    page.keyboard.press("Control+Enter")
    wait_for_another(page, first)
    page.go_back()
    page.wait_for_function("id => document.getElementById('task').dataset.assignment === id", arg=first.public_id)
    assert chosen(page)["c-item0"] == "4"
    page.keyboard.press("k")
    page.keyboard.press("1")
    page.keyboard.press("Control+Enter")
    wait_for_another(page, first)
    assert list(first.scores.filter(criterion__key="item0").values_list("revision", "value")) == [(0, 1.0), (1, 0.0)]


def test_skipping_by_keyboard(open_page, study):
    page = open_page()
    begin(page)
    first = Assignment.objects.get()
    page.keyboard.press("s")
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    wait_for_another(page, first)
    first.refresh_from_db()
    assert (first.status, first.reason) == ("skipped", "cannot-judge")


def test_reading_keys_scroll_the_text_from_anywhere(open_page, study):
    page = open_page()
    begin(page)
    page.keyboard.press("j")
    page.keyboard.press("Space")
    page.wait_for_function("() => window.scrollY > 300")
    assert chosen(page) == {}


def test_everything_works_without_javascript(open_page, study):
    page = open_page("phone", java_script_enabled=False)
    page.fill("#id_username", "rosa")
    page.fill("#id_password", "plumb line 12")
    page.click("main button.button")
    page.click(".card button")
    first = Assignment.objects.get()
    page.locator("#question-1 .level").nth(0).click()
    page.click(".submit")
    assert page.locator(".item .error").count() == 3
    for number in (2, 3):
        page.locator(f"#question-{number} .level").nth(4).click()
    page.locator("#question-4 .level").nth(5).click()
    page.click(".submit")
    page.wait_for_url(lambda url: first.public_id not in url)
    assert scores_of(first) == {"item0": 0.0, "item1": 1.0, "item2": 1.0, "overall": 5.0}


def test_appearance_is_kept_in_the_browser(open_page, study):
    page = open_page()
    page.click("details.menu summary")
    page.click("button[value=dark]")
    page.click("button[value=sans]")
    page.reload()
    assert page.evaluate("[document.documentElement.dataset.theme, document.documentElement.dataset.face]") == [
        "dark",
        "sans",
    ]
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == "rgb(18, 19, 21)"


def test_the_next_task_is_there_quickly(open_page, study):
    """From the key press to the next task in the page; generous here, since other work shares the machine."""
    page = open_page()
    begin(page)
    for key in ("5", "4", "3", "6"):
        page.keyboard.press(key)
    first = Assignment.objects.get()
    took = page.evaluate(
        """async () => {
            const started = performance.now();
            const swapped = new Promise(done => document.addEventListener("plumbline:task", done, { once: true }));
            document.getElementById("answers").requestSubmit();
            await swapped;
            return performance.now() - started;
        }"""
    )
    assert page.evaluate("document.getElementById('task').dataset.assignment") != first.public_id
    assert took < 1500
