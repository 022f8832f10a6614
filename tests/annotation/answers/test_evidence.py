"""Quotations: positions on the page and offsets in the source, for Markdown, emoji, Chinese and formulas."""

import html
import json
import re

import pytest
from hypothesis import given, strategies as st

from annotation.answers.evidence import Quotations, UnreadableQuotation
from annotation.rules.quoting import NotInText
from annotation.texts.rendering import render_text, text_map

TEXT = (
    "# Trees 🌳 in **cities**\n\nA *cool* street has [shade](https://example.org/a_(b)?x=shade) and 👩‍👩‍👧 people.\n\n"
    "- first `code()` item\n- second item\n\n城市里的**树木**让街道凉爽。\n\nThe area is $a^2+b^2$ here.\n\n"
    "| left | right |\n|---|---|\n| 1 & 2 | *3* |\n"
)


def shown(text):
    """The page's text without white space, as a browser would read it out of the blocks."""
    plain = "".join(html.unescape(re.sub("<[^>]*>", "", block)) for block in render_text(text).blocks)
    return "".join(plain.split())


def span(text, words):
    """The shown positions of words."""
    start = shown(text).index("".join(words.split()))
    return start, start + len("".join(words.split()))


def quote(text, words):
    start, end = text_map(text).source_span(*span(text, words))
    return text[start:end]


@pytest.mark.parametrize(
    ("words", "source"),
    [
        ("Trees 🌳 in", "Trees 🌳 in"),
        ("🌳", "🌳"),
        ("in cities", "in **cities"),
        ("cool street", "cool* street"),
        ("shade and", "shade](https://example.org/a_(b)?x=shade) and"),
        ("and 👩‍👩‍👧 people.", "and 👩‍👩‍👧 people."),
        ("code() item", "code()` item"),
        ("里的树木让", "里的**树木**让"),
        ("here.", "here."),
        ("1 & 2", "1 & 2"),
        ("3", "3"),
    ],
)
def test_what_is_selected_is_found_in_the_source(words, source):
    assert quote(TEXT, words) == source


def test_a_sign_of_a_formula_stands_for_the_whole_formula():
    start = shown(TEXT).index("Theareais") + len("Theareais")
    first, last = text_map(TEXT).source_span(start, start + 1)
    assert TEXT[first:last] == "$a^2+b^2$"


def test_every_shown_sign_is_mapped():
    assert len(text_map(TEXT)) == len(shown(TEXT))


def test_escapes_and_entities_stay_near():
    text = "Five \\* six &amp; seven, then *eight* of nine."
    assert quote(text, "seven, then") == "seven, then"
    assert quote(text, "eight of nine.") == "eight* of nine."


@given(st.lists(st.text(alphabet="abcé树🌳", min_size=1, max_size=6), min_size=1, max_size=30), st.data())
def test_plain_text_is_quoted_exactly_and_back(words, data):
    text = " ".join(words)
    total = len("".join(words))
    start = data.draw(st.integers(0, total - 1))
    end = data.draw(st.integers(start + 1, total))
    mapping = text_map(text)
    first, last = mapping.source_span(start, end)
    assert "".join(text[first:last].split()) == "".join(words)[start:end]
    assert mapping.shown_span(first, last) == (start, end)


def test_there_and_back_for_every_pair_of_positions_in_marked_text():
    mapping = text_map(TEXT)
    for start in range(0, len(mapping), 3):
        for end in range(start + 1, len(mapping) + 1, 7):
            first, last = mapping.source_span(start, end)
            assert 0 <= first < last <= len(TEXT)
            back = mapping.shown_span(first, last)
            assert back[0] <= start
            assert end <= back[1]


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (3, 3), (5, 2), (0, 10_000)])
def test_positions_outside_are_refused(start, end):
    with pytest.raises(NotInText):
        text_map(TEXT).source_span(start, end)


def written(*pieces):
    return json.dumps([{"pane": pane, "start": start, "end": end} for pane, start, end in pieces])


def test_a_pair_shown_the_other_way_round_is_stored_by_its_own_letters():
    texts = ("The first pane.", "The *second* pane.")
    read = Quotations.read(written(("a", 3, 8), ("b", *span(texts[1], "second"))), texts)
    assert read.quoted() == ("first", "second")
    assert read.as_stored(mirrored=False) == (
        {"response": "a", "start": 4, "end": 9},
        {"response": "b", "start": 5, "end": 11},
    )
    stored = read.as_stored(mirrored=True)
    assert [piece["response"] for piece in stored] == ["b", "a"]
    assert Quotations.stored(stored, texts, mirrored=True) == read
    assert json.loads(Quotations.stored(stored, texts, mirrored=True).written()) == json.loads(
        written(("a", 3, 8), ("b", *span(texts[1], "second")))
    )


@pytest.mark.parametrize(
    "bad",
    [
        "no json",
        "7",
        "[7]",
        "{}x",
        '[{"pane": "c", "start": 0, "end": 1}]',
        '[{"pane": "b", "start": 0, "end": 1}]',
        '[{"pane": "a", "start": 0, "end": 999}]',
        '[{"pane": "a", "start": "0", "end": 1}]',
        '[{"start": 0}]',
        written(*[("a", n, n + 1) for n in range(21)]),
    ],
)
def test_what_lies_in_no_text_is_refused(bad):
    with pytest.raises(UnreadableQuotation):
        Quotations.read(bad, ("one text of more than twenty signs",))


def test_nothing_is_nothing():
    assert Quotations.read("", ("text",)).as_stored(mirrored=False) == ()
    assert Quotations.stored([], ("text",), mirrored=False).written() == ""


def test_a_stored_quotation_of_a_text_that_is_gone_is_left_out():
    assert Quotations.stored([{"response": "a", "start": 0, "end": 4}], ("",), mirrored=False).pieces == ()
