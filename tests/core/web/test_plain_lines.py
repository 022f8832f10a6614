"""The beginning of a text as one line, without the marks of Markdown."""

import time

import pytest
from django.conf import settings
from django.template import Context, Template

from core.templatetags.cutting import plain_line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("# Topic 0\n\nSome **strong** words", "Topic 0 Some strong words"),
        ("- one\n- *two*\n> three", "one two three"),
        ("See [the page](https://example.org/a) and `code`", "See the page and code"),
        ("2 * 3 * 4 and a_b_c and x*y*z", "2 * 3 * 4 and a_b_c and x*y*z"),
        ("**未完成", "**未完成"),
        ("Explain:\n```python\nx = 1\n```\nand ~~~ this", "Explain: x = 1 and ~~~ this"),
        ("Title\n=====\n\na\n\n---\n\n| b |\n|:--|\n", "Title a | b |"),
        ("写一篇**故事**：`标题`", "写一篇故事：标题"),
        ("", ""),
    ],
)
def test_marks_go_and_what_is_no_mark_stays(text, line):
    assert plain_line(text) == line


def test_no_template_shows_the_beginning_of_an_instruction_with_its_marks():
    templates = (settings.BASE_DIR / "templates").rglob("*.html")
    raw = [path.name for path in templates if "instruction.text|truncatechars" in path.read_text(encoding="utf-8")]
    assert raw == []


def test_it_stays_escaped_and_is_quick_for_hostile_texts():
    shown = Template("{{ text|plain_line }}").render(Context({"text": "# <b>*a*</b>"}))
    assert shown == "&lt;b&gt;a&lt;/b&gt;"
    begun = time.perf_counter()
    for text in (
        "*" * 100_000,
        "[" * 100_000,
        "**a" * 40_000,
        "`" * 100_000,
        "[a](" * 30_000,
        " " * 100_000,
        "*a " * 30_000,
        "- " * 50_000 + "x",
        "|:-" * 30_000 + "x",
        "~~~\n" * 20_000,
    ):
        plain_line(text)
    assert time.perf_counter() - begun < 2
