"""All four screens in Chromium, by keyboard alone and by touch on a phone, in both languages."""

import pytest

from annotation.assignment.new_slots import make_seats
from annotation.models import Assignment
from tests.e2e.answers import KINDS, answers_of, do_by_keyboard, make_study, pair_answer, press
from tests.e2e.rating_pages import (
    begin,
    begin_in,
    begin_in_by_touch,
    chosen,
    fits,
    open_assignment,
    submit,
    wait_for_another,
    wait_until_held,
    wait_until_said,
)
from tests.factories import make_user
from tests.screen_studies import make_pair_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_screen_by_keyboard_alone_on_a_narrow_one(open_page, kind, language):
    study = make_study(kind)
    page = open_page("phone", locale="en-GB")
    begin_in(page, language)
    assert page.locator("html").get_attribute("lang") == language
    assert page.locator("#task").get_attribute("data-kind") == kind
    assert fits(page)
    for _task in range(2):
        current = open_assignment()
        expected = do_by_keyboard(page, kind, current)
        submit(page)
        if _task == 0:
            wait_for_another(page, current)
        else:
            page.wait_for_url(f"**/studies/{study.slug}/done/")
        assert answers_of(current) == expected
        current.refresh_from_db()
        assert current.status == "submitted"
        assert current.shown_at <= current.submitted_at


def test_on_a_phone_one_response_is_shown_at_a_time_and_the_sheet_goes_down_for_the_next_text(open_page):
    make_study("pair")
    page = open_page("phone", has_touch=True, is_mobile=True)
    begin_in_by_touch(page, "en")
    current = open_assignment()
    assert page.locator("#pane-a").is_visible()
    assert not page.locator("#pane-b").is_visible()
    page.locator('[data-show-pane="b"]').tap()
    assert page.locator("#pane-b").is_visible()
    assert not page.locator("#pane-a").is_visible()
    page.locator(".sheet-toggle").tap()
    page.locator("#answers .level").first.tap()
    page.locator(".submit").tap()
    wait_for_another(page, current)
    assert answers_of(current) == pair_answer(current, "a")
    assert not page.locator(".rail-foot .submit").is_visible()


@pytest.mark.parametrize("kind", KINDS)
def test_the_next_task_is_held_and_its_time_starts_when_it_is_shown(open_page, kind):
    make_study(kind)
    page = open_page()
    begin(page)
    current = open_assignment()
    do_by_keyboard(page, kind, current)
    wait_until_held(page)
    held = Assignment.objects.get(status="open", shown_at=None)
    assert held.seat.state == "held"
    posts = []
    page.on("request", lambda request: posts.append(request.url) if request.method == "POST" else None)
    submit(page)
    wait_for_another(page, current)
    assert page.url.endswith(f"/rate/{held.public_id}/")
    held.refresh_from_db()
    assert held.shown_at is not None
    assert posts[0].endswith(f"/rate/{current.public_id}/")


@pytest.mark.parametrize("pane", ["a", "b"])
def test_a_selection_becomes_the_evidence_of_the_next_answer(open_page, pane):
    """After an emoji, which JavaScript counts as two, in one response, and in Chinese in the other."""
    make_study("pair")
    page = open_page()
    begin(page)
    current = open_assignment()
    quoted = page.evaluate(
        """pane => {
            const node = document.querySelector(`#pane-${pane} .block p`).firstChild;
            const range = document.createRange();
            range.setStart(node, 36);
            range.setEnd(node, 83);
            getSelection().removeAllRanges();
            getSelection().addRange(range);
            return range.toString();
        }""",
        pane,
    )
    assert "🌳" in quoted or "树木" in quoted
    page.wait_for_selector("[data-picked]:not([hidden])")
    page.keyboard.press("t")
    chip = page.locator(".chips [data-look]").first
    assert chip.text_content() == quoted.strip()
    submit(page)
    wait_for_another(page, current)
    score = current.scores.get()
    piece = score.evidence[0]
    response = {"a": current.task.response_a, "b": current.task.response_b}[piece["response"]]
    assert response.text[piece["start"] : piece["end"]] == quoted.strip()
    shown = "ab" if current.shown_first == "a" else "ba"
    assert piece["response"] == shown["ab".index(pane)]
    page.keyboard.press("z")
    page.wait_for_function("id => document.getElementById('task')?.dataset.assignment === id", arg=current.public_id)
    assert page.locator(".chips [data-look]").text_content() == quoted.strip()
    page.locator(".chips [data-remove]").click()
    submit(page)
    page.wait_for_function("id => document.getElementById('task')?.dataset.assignment !== id", arg=current.public_id)
    assert current.scores.get(revision=1).evidence is None


def test_a_paragraph_is_quoted_by_key(open_page):
    make_study("checklist")
    page = open_page()
    begin(page)
    current = open_assignment()
    press(page, "qq")
    page.wait_for_selector("[data-picked]:not([hidden])")
    press(page, "e")
    assert page.locator("#question-1 .chips [data-look]").text_content() == "Some words about it."
    press(page, "1234")
    submit(page)
    wait_for_another(page, current)
    assert current.scores.get(criterion__key="item0").evidence == [{"response": "a", "start": 11, "end": 31}]


def test_undo_goes_back_to_the_answer_before_and_supersedes_it(open_page):
    make_study("stars")
    page = open_page()
    begin(page)
    current = open_assignment()
    press(page, "11111")
    submit(page)
    wait_for_another(page, current)
    following = open_assignment()
    page.keyboard.press("z")
    page.wait_for_function("id => document.getElementById('task')?.dataset.assignment === id", arg=current.public_id)
    assert set(chosen(page).values()) == {"1"}
    press(page, "kkkkkk3")
    submit(page)
    page.wait_for_function("id => document.getElementById('task')?.dataset.assignment === id", arg=following.public_id)
    revisions = current.scores.filter(criterion__key="accuracy").values_list("revision", "value")
    assert list(revisions) == [(0, 1.0), (1, 3.0)]


def test_keys_are_rebound_in_this_browser_and_silent_while_composing(open_page):
    make_study("checklist")
    page = open_page()
    begin(page)
    page.keyboard.press("?")
    page.locator('#keys [data-action="yes"]').click()
    page.keyboard.press("n")
    assert page.locator("#keys [role=status]").is_visible(), "a key with another use is not taken"
    page.locator('#keys [data-action="yes"]').click()
    page.keyboard.press("w")
    assert page.locator('#keys [data-action="yes"]').text_content() == "w"
    page.keyboard.press("Escape")
    page.keyboard.press("y")
    assert chosen(page) == {}
    page.evaluate(
        """document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "w", isComposing: true, bubbles: true}))"""
    )
    assert chosen(page) == {}
    page.keyboard.press("w")
    assert chosen(page) == {"c-item0": "4"}
    wait_until_said(page, "saved")
    page.reload()
    page.keyboard.press("w")
    assert chosen(page) == {"c-item0": "4", "c-item1": "4"}


@pytest.mark.parametrize("size", ["desktop", "phone"])
def test_sections_of_both_responses_move_together(open_page, size):
    make_study("pair")
    page = open_page(size)
    begin(page)
    assert page.locator("#pane-a .sections a").count() == 4
    press(page, "]]")
    top = "pane => document.querySelector(`#pane-${pane} .prose`).getBoundingClientRect().top"
    page.wait_for_function(f"() => ({top})('a') < -200")
    if size == "desktop":
        page.locator("#pane-a summary").click()
        page.locator('#pane-a [data-section="3"]').click()
        page.wait_for_function(f"() => ({top})('b') < -500 && ({top})('a') < -500")
    page.keyboard.press("o")
    assert page.evaluate("document.getElementById('task').dataset.pane") == "b"


def test_reading_keys_scroll_the_response_in_hand(open_page):
    make_study("pair")
    page = open_page()
    begin(page)
    press(page, "j")
    page.keyboard.press("Space")
    page.wait_for_function("() => document.getElementById('pane-a').scrollTop > 300")
    press(page, "oj")
    page.keyboard.press("Space")
    page.wait_for_function("() => document.getElementById('pane-b').scrollTop > 300")


def test_words_are_found_across_both_responses(open_page):
    make_study("pair")
    page = open_page()
    begin(page)
    page.keyboard.press("/")
    page.keyboard.type("树木")
    page.wait_for_function("() => document.querySelector('.find [role=status]').textContent === '1 / 160'")
    page.keyboard.press("Enter")
    assert page.locator(".find [role=status]").text_content() == "2 / 160"
    page.keyboard.press("Shift+Enter")
    assert page.locator(".find [role=status]").text_content() == "1 / 160"
    page.keyboard.type("🌳")
    page.wait_for_function("() => !document.querySelector('.find [role=status]').textContent.includes('/')")
    page.keyboard.press("Escape")
    assert not page.locator(".find").is_visible()
    assert chosen(page) == {}


def test_the_same_task_resumes_on_another_device_at_the_same_paragraph(open_page):
    make_study("pair")
    page = open_page()
    begin(page)
    assignment = open_assignment()
    for pane, number in (("a", 5), ("b", 3)):
        page.evaluate(
            """([pane, number]) => document.querySelectorAll(`#pane-${pane} .block > *`)[number]
                .scrollIntoView({block: "start", behavior: "instant"})""",
            [pane, number],
        )
    from annotation.models import Draft

    with page.expect_response(lambda reply: reply.url.endswith("/draft/")):
        pass
    kept = Draft.objects.get(task=assignment.task)
    assert (kept.paragraph, kept.paragraph_b) == (5, 3)
    other = open_page()
    begin(other)
    tops = other.evaluate(
        """() => [["a", 5], ["b", 3]].map(([pane, number]) =>
            document.querySelectorAll(`#pane-${pane} .block > *`)[number].getBoundingClientRect().top
            - document.getElementById(`pane-${pane}`).getBoundingClientRect().top)"""
    )
    assert all(0 <= top < 130 for top in tops), tops


def test_right_to_left_text_stands_right_to_left(open_page):
    texts = ("النص الأول عن الأشجار في المدينة.", "Plain English first.\n\nثم نص عربي هنا.")
    study = make_pair_study("three", texts=texts)
    make_seats(study)
    make_user("rater", study.workspace, username="rosa")
    page = open_page()
    begin(page)
    pane = "a" if open_assignment().shown_first == "a" else "b"
    direction = "pane => getComputedStyle(document.querySelector(`#pane-${pane} .prose`)).direction"
    assert page.evaluate(direction, pane) == "rtl"
    assert page.evaluate(direction, "b" if pane == "a" else "a") == "ltr"


def test_wide_or_narrow_a_text_stands_in_the_middle_and_no_cell_breaks_letter_by_letter(open_page):
    columns = range(1, 11)
    rows = "\n".join(
        "| 城市" + str(n) + " | " + " | ".join(f"{n * c * 17.25:.2f}" for c in columns) + " |" for n in (1, 2)
    )
    table = "| 城市 | " + " | ".join(f"第{c}列" for c in columns) + " |\n|" + "---|" * 11 + "\n" + rows
    study = make_pair_study("four", texts=(f"{'行道树能为路面降温。' * 60}\n\n{table}", "Trees cool the street. " * 90))
    make_seats(study)
    make_user("rater", study.workspace, username="rosa")
    page = open_page()
    begin(page)
    measure = """() => [...document.querySelectorAll(".pane")].filter(one => one.offsetParent).map(pane => {
        const [outer, inner] = [pane, pane.querySelector(".prose")].map(one => one.getBoundingClientRect());
        return [inner.left - outer.left, outer.right - inner.right, inner.width / 16];
    })"""
    lines = """() => [...document.querySelectorAll(".pane td:first-child")].filter(one => one.offsetParent).map(cell => {
        const style = getComputedStyle(cell);
        return (cell.clientHeight - parseFloat(style.paddingTop) * 2) / parseFloat(style.lineHeight);
    })"""
    for width in (2560, 1440, 390):
        page.set_viewport_size({"width": width, "height": 900})
        if width == 390 and not page.locator(".pane td").first.is_visible():
            page.locator('[data-show-pane="b"]').click()
        assert fits(page)
        for left, right, ems in page.evaluate(measure):
            assert abs(left - right) < 24
            assert ems < 48
        found = page.evaluate(lines)
        assert len(found) == 2
        assert max(found) < 1.2
