"""Code is coloured in the languages that Pygments reads safely, within bounds, and loses no character by it."""

import re
import time
from html import unescape

import pytest
from django.conf import settings

from annotation.texts import highlighting
from annotation.texts.highlighting import LONGEST_CODE, ColourAllowance, coloured_code, language_named
from annotation.texts.rendering import render_text, text_map

SAMPLES = {
    "python": ('def f(x):\n    return "a<b"  # why\n', {"def": "k", "f": "f", "# why": "c", '"a<b"': "s"}),
    "javascript": ("const a = 12; // why\n", {"const": "k", "12": "n", "// why": "c"}),
    "typescript": ("let a: number = 1;\n", {"let": "k", "number": "t", "1": "n"}),
    "java": ('public int f() { return 1; } // "why"\n', {"public": "k", "int": "t", "f": "f", "1": "n"}),
    "c": ("int f(void) { return 1; } /* why */\n", {"int": "t", "f": "f", "return": "k", "/* why */": "c"}),
    "cpp": ("#include <map>\nclass A { int b; };\n", {"class": "k", "int": "t", "<map>": "s"}),
    "csharp": ("namespace A { class B { } }\n", {"namespace": "k", "class": "k", "B": "f"}),
    "go": ("func f() int { return 1 }\n", {"func": "k", "int": "t", "1": "n"}),
    "rust": ('fn f() -> u8 { "a"; 1 }\n', {"fn": "k", "f": "f", '"a"': "s"}),
    "sql": ("SELECT a FROM b -- why\n", {"SELECT": "k", "FROM": "k", "-- why": "c"}),
    "bash": ('if [ "$a" ]; then echo 1; fi # why\n', {"if": "k", "echo": "t", "# why": "c"}),
    "html": ('<p class="a">b</p><!-- c -->\n', {"p": "k", '"a"': "s", "<!-- c -->": "c"}),
    "css": ("a { color: red; } /* why */\n", {"color": "k", "/* why */": "c"}),
    "json": ('{"a": [1, true, "b"]}\n', {'"a"': "k", "1": "n", "true": "k", '"b"': "s"}),
    "yaml": ("a: 'b' # why\n", {"a": "k", "'b'": "s", "# why": "c"}),
}
SPAN = re.compile(r'<span class="(\w)">([^<]*)</span>')
HOSTILE = (
    *(
        "a ",
        "a\n",
        "a",
        " " * 99 + "a",
        "\n" * 99 + "a",
        "\t \n" * 33 + "a",
        "(",
        "{",
        "[",
        "<",
        "</",
        "/*",
        "//",
        "/* */",
        '"',
        "'",
        "`",
        '"""',
        "\\",
        "\\\n",
    ),
    *(
        "$",
        "${",
        "$(",
        "$((",
        "#",
        "#if 0\n",
        "&",
        "&a",
        "a(",
        "a a(",
        "a a()",
        "a a() ",
        "a:",
        "a: ",
        "- ",
        "-a",
        "0",
        "0_",
    ),
    *(
        "1'",
        "0x",
        "1e",
        "a.a",
        "@a",
        "@a ",
        "::",
        "a::",
        "<a ",
        "<a b=",
        '<a b="',
        "<!--",
        "<?",
        "<script>",
        "<style>",
        "<<a ",
    ),
    *(
        "r#",
        'r"',
        "f'",
        "f'{",
        '$"',
        '@"',
        "{% ",
        "%",
        "/a",
        "/[",
        "=/",
        "a=>",
        "?:",
        "!",
        "!a",
        "*a",
        "|\n",
        "> ",
        "'a",
        "é ",
    ),
    *(
        "class ",
        "int a",
        "case a:",
        "import a",
        "using ",
        "if ",
        "select ",
        "let ",
        "/**",
        'r#"',
        "\x00",
        "\u2028",
        "城 ",
    ),
)


@pytest.mark.parametrize("language", SAMPLES)
def test_each_language_is_coloured_and_keeps_every_character(language):
    code, parts = SAMPLES[language]
    html = coloured_code(code, language, ColourAllowance())
    found = {unescape(text).strip(): name for name, text in SPAN.findall(html)}
    assert parts.items() <= found.items()
    assert unescape(re.sub(r"<[^>]*>", "", html)) == code + "\n"


def test_the_samples_are_of_all_languages():
    assert SAMPLES.keys() == LONGEST_CODE.keys()


@pytest.mark.parametrize(
    ("info", "language"),
    [
        *(("Python", "python"), ("py title='a'", "python"), ("c++", "cpp"), ("C#", "csharp"), ("yml", "yaml")),
        *(("sh", "bash"), ("brainfuck", ""), ("", ""), ("python2x", ""), ("<script>", "")),
    ],
)
def test_a_language_is_that_which_the_block_names(info, language):
    assert language_named(info) == language


def test_code_of_no_or_another_language_is_shown_as_it_was():
    shown = "".join(render_text("```\nx = 1\n```\n\n```brainfuck\n+-<\n```\n\n    x = 1\n").blocks)
    assert "<span" not in shown
    assert "x = 1" in shown
    assert '<code class="language-brainfuck">+-&lt;' in shown


def test_what_the_code_holds_stays_text():
    code = '</code></pre><script>alert("1")</script><span class="k" style="x">\n'
    for language in LONGEST_CODE:
        shown = "".join(render_text(f"```{language}\n{code}```\n").blocks)
        assert "<script" not in shown
        assert "style=" not in re.sub(r">[^<]*<", "><", shown)
        assert unescape(re.sub(r"<[^>]*>", "", shown)).strip() == code.strip()


def test_code_with_a_gap_of_white_space_is_shown_without_colours():
    assert coloured_code("x = 1\n" + "\n" * 98 + "y = 2\n", "python", ColourAllowance()) is not None
    assert coloured_code("x = 1\n" + "\n" * 99 + "y = 2\n", "python", ColourAllowance()) is None


@pytest.mark.parametrize("language", LONGEST_CODE)
def test_longer_code_is_shown_without_colours(language):
    longest = LONGEST_CODE[language]
    assert coloured_code("1 " * (longest // 2), language, ColourAllowance()) is not None
    assert coloured_code("1 " * (longest // 2) + "1", language, ColourAllowance()) is None


def test_a_text_has_one_allowance_for_all_its_code():
    block = "```python\n" + "x = 1\n" * 600 + "```\n\n"  # 3,600 characters: a fifth of it
    shown = "".join(render_text(block * 6).blocks)
    assert shown.count("<pre>") == 6
    assert [("<span" in piece) for piece in shown.split("<pre>")[1:]] == [True] * 4 + [False] * 2


def test_coloured_parts_are_counted(monkeypatch):
    monkeypatch.setattr(highlighting, "MOST_SPANS", 3)
    allowance = ColourAllowance()
    assert coloured_code("1\nx\n2\n", "python", allowance) is not None
    assert coloured_code("1\nx\n2\n", "python", allowance) is None
    assert coloured_code("1\n", "python", allowance) is not None


def test_a_lexer_that_fails_leaves_the_code_without_colours(monkeypatch):
    class Fails:
        def get_tokens_unprocessed(self, code):
            yield 0, highlighting.Keyword, code[:1]
            raise IndexError

    class Loses:
        def get_tokens_unprocessed(self, code):
            yield 0, highlighting.Keyword, code[:1]

    for lexer in (Fails(), Loses()):
        monkeypatch.setattr(highlighting, "_lexer", lambda language, lexer=lexer: lexer)
        assert coloured_code("x = 1\n", "python", ColourAllowance()) is None


@pytest.mark.parametrize("language", LONGEST_CODE)
def test_hostile_code_takes_bounded_time(language):
    """Each of these over the longest block, in processor time; far less where a lexer is as it was measured."""
    longest = LONGEST_CODE[language]
    coloured_code("a\n", language, ColourAllowance())  # the lexer is loaded
    slow = []
    for unit in HOSTILE:
        code = (unit * (longest // len(unit) + 1))[:longest]
        if (took := processor_time(code, language)) > 1.0 and (again := processor_time(code, language)) > 1.0:
            slow.append((unit, took, again))
    assert slow == []


def processor_time(code, language):
    """Seconds that colouring takes; on a busy machine another process may slow a processor down for a while."""
    started = time.process_time()
    coloured_code(code, language, ColourAllowance())
    return time.process_time() - started


def test_a_quotation_across_colours_is_where_it_stands_in_the_code():
    text = "Look on:\n\n```python\non = 1  # on\nfor on in (1, 2):\n    print(on)\n```\n```yaml\nya: m\n```\n\nAnd on."
    shown = "".join("".join(unescape(re.sub(r"<[^>]*>", "", block)) for block in render_text(text).blocks).split())
    places = text_map(text)
    assert len(places) == len(shown)
    for words in ("on = 1  # on", "for on in", "(1, 2):\n    print(on)", "ya: m", "And on."):
        start = text.index(words)
        first, last = places.shown_span(start, start + len(words))
        assert shown[first:last] == "".join(words.split())
        assert places.source_span(first, last) == (start, start + len(words))


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [0, 1])
def test_colours_of_code_can_be_read_light_and_dark(theme):
    """4.5 to 1 at least, WCAG 1.4.3; the page's own tokens are read from the stylesheet."""
    css = (settings.BASE_DIR / "static" / "plumbline.css").read_text(encoding="utf-8")
    tokens = dict(re.findall(r"(--[\w-]+): (light-dark\(#\w{6}, #\w{6}\))", css))
    used = dict(re.findall(r"\.prose pre \.(\w) \{ color: var\((--[\w-]+)\)", css))
    assert used.keys() == set("kscnft")

    def colour(token):
        return re.findall(r"#\w{6}", tokens[token])[theme]

    for name, token in used.items():
        assert contrast(colour(token), colour("--sunken")) >= 4.5, name
