"""What a model wrote becomes safe, readable HTML."""

import time

import pytest

from annotation.texts.rendering import language_of, render_text
from generation.text_metrics.counts import word_count


def html_of(text):
    return "".join(render_text(text).blocks)


def test_markdown_with_tables_and_code():
    html = html_of("# Title\n\nSome *words*.\n\n| a | b |\n|--:|:-:|\n| 1 | 2 |\n\n```python\nx < 1\n```\n")
    assert "<h3>Title</h3>" in html
    assert "<em>words</em>" in html
    assert '<td class="to-right">1</td>' in html
    assert '<td class="to-center">2</td>' in html
    assert 'x &lt; <span class="n">1' in html
    assert "style=" not in html


@pytest.mark.parametrize("formula", [r"$a^2 + b^2$", r"\(a^2 + b^2\)", r"$$\frac{1}{2}$$", "\\[\n\\sum_{i=1}^n i\n\\]"])
def test_latex_becomes_mathml(formula):
    html = html_of(f"Before {formula} after.")
    assert "<math" in html
    assert "$" not in html
    assert "after." in html


def test_prices_are_not_formulas():
    assert "<math" not in html_of("It costs $5 today and $10 tomorrow.")


@pytest.mark.parametrize("formula", [r"\frac{1", "{" * 1900, "x" * 5000, r"\begin{matrix} a & b"])
def test_a_broken_formula_stays_readable(formula):
    assert html_of(f"Before\n\n$${formula}$$\n\nafter").endswith("<p>after</p>\n")


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "![x](javascript:alert(1))",
        "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
        r"$\href{javascript:alert(1)}{x}$",
        r"$\text{<img src=x onerror=alert(1)>}$",
        r"$\style{background:url(https://example.org)}{x}$",
        "`<svg onload=alert(1)>`",
        "<p style='position:fixed'>x</p>",
    ],
)
def test_hostile_text_is_harmless(hostile):
    html = html_of(hostile).lower()
    for tag in ("<script", "<img", "<svg", "<style", "<iframe"):
        assert tag not in html
    assert 'href="javascript' not in html
    assert 'href="data' not in html
    for attribute in (' style="', ' onerror="', ' onload="'):
        assert attribute not in html


def test_remote_images_are_withheld_and_said_so():
    html = html_of("![A cat](https://example.org/cat.png)")
    assert "example.org" not in html
    assert '<span class="image-withheld">A cat</span>' in html


def test_long_text_comes_in_blocks_with_every_word():
    text = "\n\n".join(f"## Part {n}\n\n" + "word " * 300 for n in range(33))
    rendered = render_text(text)
    assert 30 <= len(rendered.blocks) <= 70
    assert "".join(rendered.blocks).count("word") == 9900
    assert rendered.words == word_count(text) == 9900 + 4 * 33, "a mark of a heading counts, as for a stored response"
    assert 44 < rendered.minutes < 47
    assert [heading.text for heading in rendered.outline][:2] == ["Part 0", "Part 1"]
    assert f"Part {5}</h4>" in rendered.blocks[rendered.outline[5].block]


def test_ten_thousand_words_are_quick():
    text = "\n\n".join("A sentence with *ten* words in it, not more. " * 10 for _ in range(100))
    started = time.perf_counter()
    render_text(text + " ")
    assert time.perf_counter() - started < 1.0


def test_unclosed_brackets_do_not_take_forever():
    started = time.perf_counter()
    render_text("\\(a " * 20_000)
    assert time.perf_counter() - started < 5.0


def test_chinese_is_counted_by_character_and_named():
    rendered = render_text("这篇文章讨论城市绿化。It has two English sentences, no more.")
    assert rendered.words == 10 + 7 + 2, "words, and two marks"
    assert render_text("这篇文章讨论城市绿化的好处。").language == "zh-hans"
    assert language_of("An English text about 绿化.") == ""
    assert language_of("これは日本語の文章です。") == "ja"


def test_empty_text_has_no_blocks():
    assert render_text("").blocks == ()
    assert render_text("").words == 0
