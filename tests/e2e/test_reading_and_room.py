"""Reading keys move the text whatever has focus, nothing moves under the pointer, and what belongs together is in view."""

import pytest

from annotation.assignment.new_slots import make_seats
from annotation.models import Criterion, Rubric
from generation.models import Instruction, Response
from tests.e2e.answers import do_by_keyboard, make_study, press
from tests.e2e.rating_pages import (
    begin,
    chosen,
    fits,
    open_assignment,
    settle,
    submit,
    wait_for_another,
    wait_until_held,
    wait_until_said,
)
from tests.factories import make_checklist_study, make_user
from tests.screen_studies import make_stars_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
LONG = "\n\n".join(f"Paragraph {n}. " + "A plain sentence about trees in the city. " * 12 for n in range(30))
TOP = "() => window.scrollY"


def begin_long(open_page, size="desktop", *, source=""):
    study = make_checklist_study(instructions=2, models=1)
    Response.objects.update(text=LONG)
    if source:
        Instruction.objects.update(messages=[{"role": "user", "content": source}])
    make_seats(study)
    make_user("rater", study.workspace, username="rosa")
    page = open_page(size)
    begin(page)
    return page


@pytest.mark.parametrize("key", ["Space", "PageDown", "ArrowDown", "End"])
def test_reading_keys_scroll_at_once_after_a_click_on_a_level(open_page, key):
    page = begin_long(open_page)
    page.locator("#question-1 .level").nth(1).click()
    before = chosen(page)
    page.keyboard.press(key)
    assert page.evaluate(TOP) > 50
    assert chosen(page) == before


def test_reading_keys_scroll_after_a_button_and_after_find(open_page):
    page = begin_long(open_page)
    page.locator("[data-find-open]").click()
    page.keyboard.type("Paragraph 3")
    page.locator("[data-find-close]").click()
    page.evaluate("window.scrollTo({top: 0, behavior: 'instant'})")
    page.keyboard.press("Space")
    assert page.evaluate(TOP) > 300
    page.locator('[data-panel="keys"]').click()
    page.locator("#keys .end button").click()
    before = page.evaluate(TOP)
    page.keyboard.press("PageDown")
    assert page.evaluate(TOP) > before + 300


@pytest.mark.parametrize("kind", ["stars", "check", "review", "pair"])
def test_reading_keys_scroll_after_find_on_every_screen(open_page, kind):
    make_study(kind)
    Response.objects.update(text=LONG)
    page = open_page()
    begin(page)
    before = chosen(page)
    page.keyboard.press("/")
    page.keyboard.type("Paragraph 2.")
    page.wait_for_function("() => document.querySelector('.find [role=status]').textContent.startsWith('1 / ')")
    page.keyboard.press("Escape")
    place = "() => document.querySelector('.is-pair') ? document.getElementById('pane-a').scrollTop : window.scrollY"
    for key in ("Space", "PageDown", "ArrowDown"):
        top = page.evaluate(place)
        page.keyboard.press(key)
        assert page.evaluate(place) > top + 40
    assert chosen(page) == before


def test_a_button_that_the_keyboard_reached_keeps_its_space(open_page):
    page = begin_long(open_page)
    while not page.evaluate("document.activeElement.matches('[data-find-open]')"):
        page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert page.locator(".find").is_visible()
    assert page.evaluate(TOP) < 50


def test_in_a_pair_the_keys_move_the_pane_last_used(open_page):
    make_study("pair")
    page = open_page()
    begin(page)
    page.locator("#pane-b").click(position={"x": 100, "y": 300})
    page.locator(".note-to-lead summary").click()
    page.keyboard.press("PageDown")
    assert page.evaluate("() => document.getElementById('pane-b').scrollTop") > 300
    assert page.evaluate("() => document.getElementById('pane-a').scrollTop") == 0


def test_a_long_source_stands_beside_the_response_and_each_scrolls_alone(open_page):
    page = begin_long(open_page, source=LONG)
    page.set_viewport_size({"width": 1280, "height": 800})
    source, response = (page.locator(one).bounding_box() for one in (".instruction", "#pane-a"))
    assert source["x"] + source["width"] <= response["x"]
    assert abs(source["y"] - response["y"]) < 40
    assert min(source["width"], response["width"]) > 380
    assert page.evaluate("() => document.scrollingElement.scrollHeight <= innerHeight + 1")
    assert fits(page)
    page.locator("#pane-a").hover(position={"x": 100, "y": 200})
    page.keyboard.press("PageDown")
    tops = "() => [...document.querySelectorAll('.instruction, #pane-a')].map(one => one.scrollTop > 300)"
    assert page.evaluate(tops) == [False, True]
    page.locator(".instruction .prose p").nth(1).hover()
    page.keyboard.press("Space")
    assert page.evaluate(tops) == [True, True]
    page.set_viewport_size({"width": 1100, "height": 800})
    source, response = (page.locator(one).bounding_box() for one in (".instruction", "#pane-a"))
    assert source["y"] + source["height"] <= response["y"] + 1


def test_no_question_moves_when_something_is_said(open_page):
    page = begin_long(open_page)
    place = "() => [...document.querySelectorAll('.item')].map(one => Math.round(one.getBoundingClientRect().top))"
    text = "() => Math.round(document.getElementById('title-a').getBoundingClientRect().top)"
    before = page.evaluate(place), page.evaluate(text)
    press(page, "q")
    page.wait_for_selector("[data-picked]:not([hidden])")
    page.evaluate("window.scrollTo({top: 0, behavior: 'instant'})")
    assert (page.evaluate(place), page.evaluate(text)) == before
    page.locator("[data-drop]").click()
    submit(page)
    page.wait_for_selector("[data-missing]:not([hidden])")
    assert (page.evaluate(place), page.evaluate(text)) == before
    for said in ("failed", "away", "trouble", "saved"):
        page.evaluate(
            "said => { const one = document.querySelector('.saved'); one.textContent = one.dataset[said]; }", said
        )
        assert page.evaluate(place) == before[0]
    page.evaluate("() => { const one = document.getElementById('outbox'); one.textContent = 'x'; one.hidden = false; }")
    page.keyboard.press("/")
    assert (page.evaluate(place), page.evaluate(text)) == before


SHIFTS = """
    window.shifts = [];
    const named = (node) => {
        const one = node?.nodeType === Node.TEXT_NODE ? node.parentElement : node;
        return one ? `${one.closest("#rail") ? "#rail " : ""}${one.tagName}.${one.className}` : "";
    };
    const told = ({ node, previousRect, currentRect }) =>
        `${named(node)} ${Math.round(previousRect.y)} to ${Math.round(currentRect.y)}`;
    const isStatus = (node) => (node.closest ? node : node.parentElement).closest("[role=status], .find");
    const counts = ({ node }) => node?.isConnected && !isStatus(node);
    const note = ({ sources }) => shifts.push(...sources.filter(counts).map(told));
    new PerformanceObserver((list) => list.getEntries().forEach(note)).observe({ type: "layout-shift", buffered: true });
"""
ARRIVING = ("DIV.tools", "SPAN.", "#rail SPAN.", "#rail I.", "#rail P.meaning-here", "#rail DETAILS.menu")
"""What takes its room as it arrives: rows of buttons at the edges of the page, and the parts of a line or a button."""


@pytest.mark.parametrize("size", ["desktop", "phone"])
@pytest.mark.parametrize("kind", ["pair", "check", "stars", "checklist", "review"])
def test_the_browser_measures_no_shift_of_layout_from_task_to_task(open_page, kind, size):
    """Over loading, answering, drafts, quotations, Find, a missing answer, and the next task; on a phone, of the text.

    The words of a status and the box of Find may change in their own place, the buttons of a phone's two panes along their
    row, and the reason of a verdict found wrong opens below it.
    """
    make_study(kind, tasks=3, one_key=True)
    page = open_page(size)
    page.add_init_script(SHIFTS)
    begin(page)
    first = open_assignment()
    moved = []

    def look(after):
        settle(page)
        for part in page.evaluate("() => shifts.splice(0)"):
            if after == "load" and part.startswith(ARRIVING):
                continue
            along_its_row = part.split()[-3] == part.split()[-1]
            if size == "desktop" or not (part.startswith("#rail") or along_its_row):
                moved.append(f"{after}: {part}")

    look("load")
    press(page, "q")
    page.wait_for_selector("[data-picked]:not([hidden])")
    look("quote")
    page.locator("[data-drop]").click()
    press(page, ["/"])
    page.keyboard.type("tree")
    look("find")
    press(page, ["Escape", "Enter"])
    page.wait_for_selector("[data-missing]:not([hidden])")
    look("missing")
    if size == "phone":
        page.locator(".sheet-toggle").click()
    if kind in ("pair", "check"):
        wait_until_held(page)
        press(page, "a" if kind == "pair" else "y")
    else:
        do_by_keyboard(page, kind, first)
        wait_until_said(page, "saved")
        if kind == "review":
            settle(page)
            page.evaluate("() => shifts.splice(0)")
        look("answered and saved")
        submit(page)
    wait_for_another(page, first)
    look("next")
    assert not moved, "\n".join(moved)


@pytest.mark.parametrize("kind", ["pair", "check", "stars", "checklist", "review"])
def test_neither_text_nor_choices_move_while_a_page_arrives_in_pieces(open_page, proxy, kind):
    make_study(kind, tasks=3)
    page = open_page()
    page.add_init_script(SHIFTS)
    page.goto(f"{proxy.url}/sign-in/")
    proxy.piece = 200
    begin(page)
    settle(page)
    moved = [part for part in page.evaluate("() => shifts") if not part.startswith(ARRIVING)]
    assert not moved, "\n".join(moved)


def test_after_looking_back_one_key_returns_and_no_draft_is_announced(open_page):
    make_study("checklist", tasks=3)
    page = open_page()
    begin(page)
    first = open_assignment()
    do_by_keyboard(page, "checklist", first)
    wait_until_said(page, "saved")
    submit(page)
    wait_for_another(page, first)
    second = open_assignment()
    for key in ("c", "Enter"):
        press(page, "z")
        page.wait_for_url(f"**/rate/{first.public_id}/")
        assert page.locator(".saved").inner_text() == ""
        press(page, [key])
        page.wait_for_function("id => document.getElementById('task')?.dataset.assignment === id", arg=second.public_id)
    assert first.scores.count() == 4


def test_five_criteria_of_stars_are_in_view(open_page):
    study = make_stars_study(instructions=1, models=1)
    levels = [
        {"key": str(n), "value": n, "label": {"en": name}}
        for n, name in enumerate(("Poor", "Weak", "Fair", "Good", "Great"), 1)
    ]
    rubric = Rubric.objects.create(workspace=study.workspace, key="five", names={"en": "Five"})
    for position, name in enumerate(("accuracy", "informativeness", "fluency", "logicality", "harmlessness")):
        asked = {"en": f"How would you rate the {name} of this response as a whole?"}
        Criterion.objects.create(rubric=rubric, key=name, position=position, questions=asked, levels=levels)
    study.tasks.update(answer_rubric=rubric)
    make_seats(study)
    make_user("rater", study.workspace, username="rosa")
    page = open_page()
    begin(page)
    for number in range(1, 6):
        tops = [one.bounding_box()["y"] for one in page.locator(f"#question-{number} .level").all()]
        assert len(tops) == 5
        assert max(tops) - min(tops) < 1, "they stand in a row"
    last = page.locator("#question-5 .level").last.bounding_box()
    assert last["y"] + last["height"] <= page.locator(".meaning-here").bounding_box()["y"]


def test_a_reason_is_asked_where_it_is_needed_so_two_verdicts_are_in_view(open_page):
    make_study("review")
    page = open_page()
    begin(page)
    assert page.locator(".why:visible").count() == 0
    second = page.locator("#question-2").bounding_box()
    assert second["y"] + second["height"] <= page.locator(".meaning-here").bounding_box()["y"]
    press(page, "n")
    page.wait_for_function("() => document.activeElement.matches('#question-1 .why textarea')")
    page.keyboard.insert_text("It does not.")
    press(page, ["Escape", "y"])
    assert page.locator(".why:visible").count() == 1, "what is written stays"


SELECT = """([pane, from, to]) => {
    const node = document.querySelector(`#pane-${pane} .block p`).firstChild;
    const range = document.createRange();
    range.setStart(node, from);
    range.setEnd(node, to);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
}"""


def test_a_quotation_takes_whole_words_and_chinese_by_the_character(open_page):
    make_study("pair")
    page = open_page()
    begin(page)
    turned = open_assignment().shown_first == "b"
    left, right = "ba" if turned else "ab"
    page.evaluate(SELECT, [left, 6, 12])  # "ft tex" of "The left text speaks"
    page.wait_for_function("() => document.querySelector('[data-picked] q').textContent === 'left text'")
    page.evaluate(SELECT, [right, 1, 4])
    page.wait_for_function("() => document.querySelector('[data-picked] q').textContent === '边的文'")
