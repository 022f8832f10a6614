"""Coloured code on the rating page: it is in colour, is quoted by whole words, and is found across its colours."""

import pytest

from annotation.assignment.new_slots import make_seats
from generation.models import Response
from tests.e2e.answers import press
from tests.e2e.rating_pages import begin, fits, open_assignment, submit, wait_for_another
from tests.factories import make_checklist_study, make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
TEXT = 'Look:\n\n```python\ndef greet(name):\n    return f"Hello {name}"  # says hello\n```\n\nThat is all.'
COLOUR = "selector => getComputedStyle(document.querySelector(`.pane ${selector}`)).color"
SELECT = """([from, start, to, end]) => {
    const text = (name) => document.querySelector(`.pane pre ${name}`).firstChild;
    const range = document.createRange();
    range.setStart(text(from), start);
    range.setEnd(text(to), end);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
}"""


@pytest.fixture
def page(open_page):
    study = make_checklist_study(instructions=2, models=1)
    Response.objects.update(text=TEXT)
    make_seats(study)
    make_user("rater", study.workspace, username="rosa")
    page = open_page()
    begin(page)
    return page


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_parts_of_code_have_colours_of_their_own(page, theme):
    page.emulate_media(color_scheme=theme)
    colours = [page.evaluate(COLOUR, selector) for selector in ("pre code", "pre .k", "pre .f", "pre .s", "pre .c")]
    assert len(set(colours)) == 5
    page.set_viewport_size({"width": 390, "height": 844})
    assert fits(page)


def test_a_quotation_of_code_takes_whole_words_across_colours(page):
    current = open_assignment()
    page.evaluate(SELECT, [".f", 2, ".c", 4])  # from "eet" of "greet" to "sa" of "# says hello"
    page.wait_for_selector("[data-picked]:not([hidden])")
    quoted = 'greet(name): return f"Hello {name}" # says'
    assert page.locator("[data-picked] q").text_content() == quoted
    press(page, "e")
    press(page, "1234")
    submit(page)
    wait_for_another(page, current)
    (piece,) = current.scores.get(criterion__key="item0").evidence
    assert TEXT[piece["start"] : piece["end"]] == 'greet(name):\n    return f"Hello {name}"  # says'


def test_words_are_found_across_colours(page):
    page.keyboard.press("/")
    page.keyboard.type("def greet(name)")
    page.wait_for_function("() => document.querySelector('.find [role=status]').textContent === '1 / 1'")
    assert page.evaluate("() => [...CSS.highlights.get('found')].map(String)") == ["def greet(name)"]
