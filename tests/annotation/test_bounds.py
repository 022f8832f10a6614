"""Whatever a text is, showing it takes bounded work, and the reader is told where it is shown in part or plainly."""

import csv
import json
import random

import pytest

from annotation.answers.evidence import Quotations, UnreadableQuotation
from annotation.rules import alignment, subtasks
from annotation.rules.alignment import TooDifferent, align_sections, is_near_duplicate, word_diff
from annotation.rules.degrading import Damage, degrade
from annotation.rules.quoting import TextMap
from annotation.rules.subtasks import UnreadableNumbers, read_numbers, subtasks_in
from annotation.texts import rendering
from annotation.texts.rendering import MOST_HEADINGS, Work, _rendered
from annotation.web.rating.screens import panes_of
from tests.hostile_families import FAMILIES, prose

SIZE = 100_000
HOSTILE = ("headings", "empty headings", "open image", "images in images", "nested square", "square table", "rules",
           "references used", "big formulas", "lone CR", "emphasis mixed", "noise")  # fmt: skip


def hostile(family, size=SIZE):
    return FAMILIES[family](random.Random(family), size)


@pytest.mark.parametrize("family", HOSTILE)
def test_rendering_counts_its_work_and_stops(family, monkeypatch):
    """Every step is taken from one account, so no text takes more of them than the account holds."""
    taken = []
    take = Work.take
    monkeypatch.setattr(Work, "take", lambda self, steps: (taken.append(steps), take(self, steps))[1])
    found = _rendered(hostile(family))
    assert sum(taken[:-1]) <= rendering.MOST_STEPS
    assert found.plain or found.as_latex or found.unlisted


def test_a_text_with_too_many_marks_is_shown_as_it_was_written_and_says_so():
    text = "![ <b>\n" * 14_000
    found = _rendered(text)
    assert found.plain and not found.outline
    assert "it is shown as it was written" in found.notes[0]
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
    assert f"{found.as_latex} stand as LaTeX" in found.notes[0]


def test_an_outline_lists_a_bounded_number_of_headings():
    found = _rendered("# A\n\n" * 1_000)
    assert (len(found.outline), found.unlisted) == (MOST_HEADINGS, 1_000 - MOST_HEADINGS)


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


@pytest.mark.parametrize("text", [prose(random.Random(1), 65_000), "- five words in this item\n" * 1_990,
                                  "|one|two|three|four|\n|-|-|-|-|\n" + "| a b | c d | e f | g h |\n" * 900])  # fmt: skip
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
        subtasks, "_line_start", lambda text, start, end, run: (spans.append((start, end)), before(text, start, end, run))[1]
    )  # fmt: skip
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
