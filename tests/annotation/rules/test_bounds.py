"""Whatever a text is, showing it takes bounded work, and the reader is told where it is shown in part or plainly."""

import csv
import json
import random
from collections import Counter
from html.parser import HTMLParser

import numpy as np
import pytest

from annotation.answers.evidence import Quotations, UnreadableQuotation
from annotation.rules import alignment, subtasks
from annotation.rules.alignment import TooDifferent, align_sections, is_near_duplicate, word_diff
from annotation.rules.degrading import Damage, degrade
from annotation.rules.quoting import UNKNOWN, TextMap, _filled, _words_of
from annotation.rules.subtasks import UnreadableNumbers, read_numbers, subtasks_in
from annotation.texts import rendering
from annotation.texts.rendering import MOST_HEADINGS, RenderingWork, _rendered
from annotation.web.rating.screens import panes_of
from tests.hostile_families import FAMILIES, prose

SIZE = 100_000
HOSTILE = (
    "headings",
    "empty headings",
    "open image",
    "images in images",
    "nested square",
    "square table",
    "rules",
    "references used",
    "big formulas",
    "lone CR",
    "emphasis mixed",
    "noise",
)


def hostile(family, size=SIZE):
    return FAMILIES[family](random.Random(family), size)


@pytest.mark.parametrize("family", HOSTILE)
def test_rendering_counts_its_work_and_stops(family, monkeypatch):
    """Every step is taken from one account, so no text takes more of them than the account holds."""
    taken = []
    take = RenderingWork.take
    monkeypatch.setattr(RenderingWork, "take", lambda self, steps: (taken.append(steps), take(self, steps))[1])
    found = _rendered(hostile(family))
    assert sum(taken[:-1]) <= rendering.MOST_STEPS
    assert found.plain or found.as_latex or found.unlisted


def test_a_text_with_too_many_marks_is_shown_as_it_was_written_and_says_so():
    text = "![ <b>\n" * 14_000
    found = _rendered(text)
    assert found.plain and not found.outline
    assert "It is shown as it was written" in found.notes[0]
    shown = "".join(found.blocks)
    assert shown.count("![ &lt;b&gt;") == 14_000
    assert _rendered(text) == found
    for block, start in zip(found.blocks, found.starts, strict=True):
        assert block.startswith(f'<p class="as-written">{text[start : start + 3]}')


def test_a_quotation_of_a_plainly_shown_text_lies_where_it_was_selected():
    text = "![ word\n" * 14_000 + "the end"
    found = _rendered(text)
    places = TextMap(text, found.blocks, found.starts)
    start, end = places.source_span(len(places) - 6, len(places))
    assert text[start:end] == "the end"


def test_formulas_beyond_the_bound_stay_latex_and_are_counted():
    text = "$\\frac{a}{b}$ and " * 3_000
    found = _rendered(text)
    shown = "".join(found.blocks)
    assert not found.plain
    assert 0 < found.as_latex == shown.count('<code class="tex">') < 3_000
    assert f"{found.as_latex} are shown as LaTeX" in found.notes[0]


def test_an_outline_lists_a_bounded_number_of_headings():
    found = _rendered("# A\n\n" * 1_000)
    assert (len(found.outline), found.unlisted) == (MOST_HEADINGS, 1_000 - MOST_HEADINGS)


@pytest.mark.parametrize("text", ["# Heading\n" * 5_000, "Heading\n===\n" * 4_000, "[ " * 20_000, "**a** " * 5_000])
def test_headings_and_marks_that_take_longest_cost_most(text):
    """Each of these fitted while every mark cost one step."""
    found = _rendered(text)
    assert found.plain and "too many Markdown marks" in found.notes[0]


def test_braces_of_a_formula_are_counted(monkeypatch):
    taken = []
    take = RenderingWork.take
    monkeypatch.setattr(RenderingWork, "take", lambda self, steps: (taken.append(steps), take(self, steps))[1])
    assert _rendered("${{{{a}}}}$").as_latex == 0
    assert len("{{{{a}}}}") + rendering.COST_OF_FORMULA + 4 * rendering.COST_OF_BRACE in taken


class Words(HTMLParser):
    """The words of a block as the library for HTML finds them."""

    def __init__(self, block):
        super().__init__(convert_charrefs=True)
        self.found, self.formula, self.code = [], None, None
        self.feed(block)
        self.close()

    def handle_starttag(self, tag, attrs):
        if tag == "math":
            self.formula = []
        if tag == "pre":
            self.found.append(("", "code"))
            self.code = []

    def handle_endtag(self, tag):
        if tag == "pre":
            self.found.extend((word, "text") for word in "".join(self.code).split())
            self.code = None
        if tag == "a":
            self.found.append(("", "link"))
        if tag == "math":
            self.found.append(("".join(self.formula), "math"))
            self.formula = None

    def handle_data(self, data):
        if self.code is not None:
            self.code.append(data)
        elif self.formula is None:
            self.found.extend((word, "text") for word in data.split())
        else:
            self.formula.extend(data.split())


PARTS = [
    "a",
    "b c",
    "*",
    "**",
    "_",
    "`",
    "$x^2$",
    "$$y<1$$",
    "$",
    '[l](http://a "t>i\'")',
    "[",
    "](",
    "<",
    "&amp;",
    "&",
    "&#65;",
    ">",
    "\n",
    "\n\n",
    "# ",
    "- ",
    "|a|b|\n|-|-|\n|c|d|\n",
    "\\(",
    "\\)",
    "城",
    "'",
    '"',
    "![i](u)",
    '<http://x?a=1&b="2">',
    "```x\n",
    "```py\n",
    "~~",
    "🙂",
    "&lt",
]


def test_words_of_a_block_are_those_the_library_for_html_finds():
    drawn = random.Random(3)
    texts = ["".join(drawn.choices(PARTS, k=drawn.randrange(1, 40))) for _ in range(400)]
    texts += [hostile(family, 400) for family in FAMILIES]
    for text in texts:
        for block in _rendered(text).blocks:
            assert list(_words_of(block)) == Words(block).found


def test_places_are_filled_as_one_after_the_other():
    drawn = random.Random(4)
    for _ in range(500):
        length = drawn.randrange(1, 30)
        starts = [drawn.randrange(length) for _ in range(drawn.randrange(12))]
        places = [None if drawn.random() < 0.3 else (at, min(length, at + drawn.choice((1, 1, 4)))) for at in starts]
        firsts, lasts, known = [], [], 0
        for place in places:
            known = max(known, place[0]) if place else known
            firsts.append(known)
            known = max(known, place[1]) if place and place[1] - place[0] == 1 else known
        following = length
        for place, first in zip(reversed(places), reversed(firsts), strict=True):
            lasts.insert(0, max(place[1] if place else following, min(first + 1, length)))
            following = place[0] if place else following
        lasts = [max(lasts[: at + 1]) for at in range(len(lasts))]
        found = _filled(*([place[end] if place else UNKNOWN for place in places] for end in (0, 1)), length)
        assert found == (firsts, lasts)


def real_texts(shared_data):
    csv.field_size_limit(10**9)
    folder = shared_data("hellobench")
    for path in sorted(folder.rglob("*_results.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            text = json.loads(line).get("response") or ""
            if len(text.split()) > 1_000:
                yield text


def test_long_texts_that_models_wrote_are_rendered_whole(shared_data):
    texts = sorted(set(real_texts(shared_data)), key=len)[-40:]
    assert len(texts[-1].split()) > 5_000
    for text in texts:
        found = _rendered(text)
        assert (found.plain, found.as_latex, found.unlisted) == (False, 0, 0)


def test_long_near_copies_of_what_models_wrote_are_compared_word_by_word(shared_data):
    text = max((text for text in real_texts(shared_data) if len(text.split()) < 8_000), key=len)
    words = text.split(" ")
    other = " ".join("changed" if place % 50 == 7 else word for place, word in enumerate(words))
    assert is_near_duplicate(text, other)
    changes = word_diff(text, other)
    assert not any(change.coarse for change in changes)


@pytest.mark.parametrize(
    "text",
    [
        prose(random.Random(1), 65_000),
        "- five words in this item\n" * 1_990,
        "|one|two|three|four|\n|-|-|-|-|\n" + "| a b | c d | e f | g h |\n" * 900,
    ],
)
def test_ten_thousand_words_of_ordinary_markdown_are_rendered(text):
    assert len(text.split()) >= 8_000
    assert not _rendered(text).plain


def test_headings_that_cannot_be_matched_are_said_not_to_be(monkeypatch):
    text = hostile("long headings")
    outline = [heading.text for heading in _rendered(text).outline]
    with pytest.raises(TooDifferent):
        align_sections(outline, [heading[::-1] for heading in outline])
    turned = "\n\n".join("# " + line[2:][::-1] for line in text.split("\n\n"))
    assert [pane.aligned for pane in panes_of((text, turned))] == [False, False]
    assert [pane.aligned for pane in panes_of(("# Costs\n\na", "# Cost\n\nb"))] == [True, True]


def test_comparisons_are_counted_before_they_are_made(monkeypatch):
    taken = []
    take = alignment.Work.take
    monkeypatch.setattr(alignment.Work, "take", lambda self, n: (take(self, n), taken.append(n))[0])
    drawn = random.Random(1)
    lines = [f"w{drawn.randrange(400)} " for _ in range(30_000)]
    shuffled = list(lines)
    drawn.shuffle(shuffled)
    changes = word_diff("".join(lines), "".join(shuffled))
    assert sum(taken) <= alignment.MOST_COMPARED
    assert any(change.coarse for change in changes)
    assert "".join(change.text for change in changes if change.kind != "only_b") == "".join(lines)
    assert "".join(change.text for change in changes if change.kind != "only_a") == "".join(shuffled)


def test_runs_that_each_text_holds_once_are_found_as_by_counting():
    drawn = random.Random(5)
    for _ in range(500):
        a, b = ([str(drawn.randrange(drawn.choice((1, 3, 20)))) for _ in range(drawn.randrange(60))] for _ in "ab")
        runs_a, runs_b = (
            [tuple(one[at : at + alignment.ANCHOR]) for at in range(len(one) - alignment.ANCHOR + 1)] for one in (a, b)
        )
        times_a, times_b = Counter(runs_a), Counter(runs_b)
        expected = [(at, runs_b.index(run)) for at, run in enumerate(runs_a) if times_a[run] == times_b[run] == 1]
        found = [places.tolist() for places in alignment._single_runs(a, b)]
        assert list(zip(*found, strict=True)) == expected


def test_runs_are_found_where_their_numbers_would_grow_too_large(monkeypatch):
    drawn = random.Random(6)
    a, b = ([str(drawn.randrange(9)) for _ in range(90)] for _ in "ab")
    found = np.stack(alignment._single_runs(a, b))
    monkeypatch.setattr(alignment, "LARGEST", 10_000)
    assert np.array_equal(alignment._single_runs(a, b), found)


def test_lines_beyond_the_bound_are_not_held_against_each_other_one_by_one(monkeypatch):
    lines = ["# a b c d e\n"] * 40
    other = ["# a x c d e f\n"] * 40
    monkeypatch.setattr(alignment, "MOST_COMPARED", 1_000)
    by_line = word_diff("".join(lines), "".join(other))
    assert sum(change.kind == "same" for change in by_line) > 2
    assert any(change.coarse for change in by_line)
    monkeypatch.setattr(alignment, "MOST_LINES", 39)
    whole = word_diff("".join(lines), "".join(other))
    assert [(change.kind, change.coarse) for change in whole] == [
        ("same", False),
        ("only_a", True),
        ("only_b", True),
        ("same", False),
    ]
    assert "".join(change.text for change in whole if change.kind != "only_a") == "".join(other)


def test_a_row_of_digits_is_no_number_of_a_part():
    assert list(subtasks_in("Week 1\na\nWeek " + "1" * 5_000 + "\nb\nWeek 2\nc", "Week")) == [1, 2]
    with pytest.raises(UnreadableNumbers):
        read_numbers("1" * 5_000)


def test_a_list_of_numbers_names_a_bounded_number():
    with pytest.raises(UnreadableNumbers):
        read_numbers(", ".join(f"1-{last}" for last in range(4_000, 4_030)))


@pytest.mark.parametrize("family", ["blank lines", "week marks", "rules", "finished"])
def test_runs_of_marks_are_read_once(family, monkeypatch):
    """Looking back from each name, no character is looked at twice: the spans that are read do not overlap."""
    spans = []
    before = subtasks._line_start
    monkeypatch.setattr(
        subtasks,
        "_line_start",
        lambda text, start, end, run: (spans.append((start, end)), before(text, start, end, run))[1],
    )
    text = hostile(family)[:50_000] + "\nWeek 1\n" + hostile(family)[:50_000] + "\nWeek 2\nb"
    assert list(subtasks_in(text, "Week")) == [1, 2]
    assert sum(end - start for start, end in spans) <= 2 * len(text)


def test_a_quotation_nested_a_thousand_levels_is_refused_in_a_sentence():
    for written in ("[" * 100_000, '{"a":' * 50_000, "[" + "1" * 5_000 + "]"):
        with pytest.raises(UnreadableQuotation):
            Quotations.read(written, ("a text",))


def test_a_text_of_thousands_of_sections_is_damaged_without_listing_its_pairs():
    text = "".join(f"# Heading {number}\n\n" for number in range(7_000))
    assert degrade(text, Damage.SWAPPED, random.Random(1)) != text
