"""Families of texts that were written to be slow to read, each at any length and the same each time it is drawn."""

import random
import re
from collections.abc import Callable, Iterator

Family = Callable[[random.Random, int], str]


def repeated(unit: str, after: str = "") -> Family:
    """The unit over and over, then what closes it, if anything."""
    return lambda drawn, n: (unit * (n // len(unit) + 1))[: n - len(after)] + after


def nested(opening: str, closing: str) -> Family:
    """Half of the text opens, half of it closes."""

    def text(drawn: random.Random, n: int) -> str:
        depth = n // (len(opening) + len(closing))
        return opening * depth + closing * depth

    return text


def numbered(unit: str) -> Family:
    """The unit with a number that grows, so that no two are equal."""

    def text(drawn: random.Random, n: int) -> str:
        parts, size, number = [], 0, 0
        while size < n:
            number += 1
            parts.append(unit.replace("%", str(number)))
            size += len(parts[-1])
        return "".join(parts)[:n]

    return text


def prose(drawn: random.Random, n: int) -> str:
    """Ordinary Markdown: headings, paragraphs, lists and a table."""
    words = ["river", "sand", "old", "harbour", "while", "people", "walk", "along", "its", "banks", "every", "morning"]
    parts: list[str] = []
    size = 0
    while size < n:
        sentence = " ".join(drawn.choice(words) for _ in range(80))
        kind = len(parts) % 10
        part = {
            0: f"## Section {len(parts)}",
            4: f"- {sentence[:200]}\n- **{sentence[200:]}**",
            7: f"| a | b |\n|---|---|\n| {sentence[:40]} | {sentence[40:80]} |",
        }.get(kind, sentence + ".")
        parts.append(part)
        size += len(part) + 2
    return "\n\n".join(parts)[:n]


def shuffled_words(alphabet: int, per_line: int) -> Family:
    """Lines of few different words: what two such texts share says nothing of where."""

    def text(drawn: random.Random, n: int) -> str:
        words = [f"w{drawn.randrange(alphabet)}" for _ in range(n // 3)]
        lines = [" ".join(words[at : at + per_line]) for at in range(0, len(words), per_line)]
        return "\n".join(lines)[:n]

    return text


def long_headings(drawn: random.Random, n: int) -> str:
    """A hundred and twenty headings, as long as the text lets them be, alike but not equal."""
    size = n // 120
    return "\n\n".join("# " + "".join(drawn.choice("ab ") for _ in range(size - 4)) for _ in range(120))


def code_of(language: str, unit: str) -> Family:
    """Blocks of code in one language, long and short ones."""

    def text(drawn: random.Random, n: int) -> str:
        sizes = [8_000, 3_000, *[1_000] * 6, *[80] * (n // 100)]
        return "".join(f"```{language}\n{(unit * size)[:size]}\n```\n\n" for size in sizes)[:n]

    return text


def wordings(drawn: random.Random, n: int) -> str:
    """The program's own sentences, cut up and mixed."""
    from core.messages.message import Wording
    from generation.llm.protocol import messages as call_messages  # noqa: F401
    from judging.methods import messages as reply_messages  # noqa: F401

    texts = [re.split(r"%\(\w+\)s", wording.msgid) for wording in Wording.known.values()]
    pieces = [piece for text in texts for piece in text if len(piece) > 1]
    return "".join(drawn.choice(pieces) for _ in range(n // 8))[:n]


FAMILIES: dict[str, Family] = {
    "prose": prose,
    "headings": numbered("# Heading %\n"),
    "empty headings": repeated("#\n"),
    "headings apart": numbered("# Heading %\n\n"),
    "long headings": long_headings,
    "setext headings": numbered("Heading %\n===\n"),
    "shuffled near-copies": shuffled_words(40, 50),
    "two words": shuffled_words(2, 1000),
    "short lines": shuffled_words(30, 1),
    "one giant word": repeated("a"),
    "one giant line": repeated("some words and more. "),
    "giant number": repeated("1"),
    "space": repeated(" "),
    "tabs and line ends": repeated("\t \n"),
    "blank lines": repeated("\n"),
    "CRLF": repeated("a line\r\n"),
    "lone CR": repeated("a\r"),
    "nested square": nested("[", "]"),
    "nested round": nested("(", ")"),
    "nested braces": nested("{", "}"),
    "open square": repeated("["),
    "open braces": repeated("{"),
    "open image": repeated("!["),
    "open link": repeated("[a]("),
    "open link in pointed": repeated("[a](<b"),
    "links": repeated("[a](b) "),
    "links with open brackets": repeated("[a](<(>) "),
    "links in links": nested("[a](", ")"),
    "images": repeated("![a](b)"),
    "images in images": nested("![", "](x)"),
    "images with titles": repeated('![a](b "c'),
    "link titles": repeated("[a](b 'c"),
    "reference links": repeated("[a][b]"),
    "reference definitions": numbered("[%]: /x\n"),
    "reference titles": numbered("[%]: /x 'y\n"),
    "references used": lambda drawn, n: "[a]: /" + "x" * (n // 100) + "\n\n" + "[a] " * (n // 5),
    "backticks": lambda drawn, n: "".join("a" + "`" * k for k in range(1, int((2 * n) ** 0.5)))[:n],
    "one backtick": repeated("`a "),
    "emphasis": repeated("*a "),
    "closing emphasis": repeated("a* "),
    "emphasis run": repeated("*"),
    "emphasis mixed": repeated("*_a"),
    "emphasis nested": nested("*a ", " a*"),
    "emphasis of three": repeated("a**b*c**"),
    "underscores": repeated("_a __b "),
    "strikethrough": repeated("~~a"),
    "strikethrough nested": nested("~~a ", " a~~"),
    "quotes": repeated(">"),
    "quotes spaced": repeated("> "),
    "quote lines": repeated("> a\n"),
    "quotes deep": lambda drawn, n: "\n".join(">" * k + " a" for k in range(int((2 * n) ** 0.5)))[:n],
    "lists deep": lambda drawn, n: "\n".join("  " * k + "- a" for k in range(int(n**0.5))),
    "list marks": repeated("- "),
    "list lines": repeated("- a\n"),
    "loose list": repeated("- a\n\n"),
    "numbered list": numbered("%. a\n"),
    "table": lambda drawn, n: "|a|b|\n|-|-|\n" + "|c|d|\n" * (n // 6),
    "wide table": lambda drawn, n: "|" * (n // 5) + "\n" + "|-" * (n // 5) + "|\n" + "|\n" * (n // 5),
    "square table": lambda drawn, n: "|a" * (k := n // 1000) + "|\n" + "|-" * k + "|\n" + "|\n" * ((n - 4 * k) // 2),
    "table bars": repeated("|"),
    "code fences": repeated("```\n"),
    "open fence": lambda drawn, n: "```a\n" + "x\n" * (n // 2),
    "fence with braces": repeated("```json\n{\n"),
    "code of words in Java": code_of("java", "a "),
    "code of lines in C#": code_of("csharp", "a\n"),
    "code of calls in C": code_of("c", "a a()"),
    "code of quotation marks in Python": code_of("python", "f'{"),
    "code of tags in HTML": code_of("html", "<a b="),
    "code of numbers in JSON": code_of("json", "1,"),
    "indented code": repeated("    a\n"),
    "rules": repeated("---\n"),
    "HTML": repeated("<a>"),
    "open HTML": repeated("<"),
    "HTML comments": repeated("<!-- "),
    "HTML scripts": repeated("<script "),
    "HTML declarations": repeated("<!A "),
    "HTML data": repeated("<![CDATA["),
    "HTML instructions": repeated("<?"),
    "HTML attributes": repeated('<a b="'),
    "HTML blocks": repeated("<div>\n"),
    "addresses": repeated("<http://a"),
    "mail addresses": repeated("<a@b.c"),
    "entities": repeated("&amp;"),
    "open entities": repeated("&"),
    "numeric entities": repeated("&#x1F600;"),
    "long entity": lambda drawn, n: "&" + "a" * n + ";",
    "backslashes": repeated("\\"),
    "escapes": repeated("\\*"),
    "hard breaks": repeated("a\\\n"),
    "formulas": repeated("$a$ "),
    "big formulas": repeated(r"$\frac{a}{b}^{c}_{d}$ "),
    "deep formulas": lambda drawn, n: ("$" + "{" * 900 + "a" + "}" * 900 + "$ ") * (n // 1810),
    "deep fractions": lambda drawn, n: ("$" + r"\frac{" * 160 + "a" + "}{b}" * 160 + "$ ") * (n // 1620),
    "deep roots": lambda drawn, n: ("$" + r"\sqrt{" * 250 + "a" + "}" * 250 + "$ ") * (n // 1760),
    "powers": lambda drawn, n: ("$" + "a^" * 900 + "b$ ") * (n // 1804),
    "left and right": lambda drawn, n: ("$" + r"\left(" * 150 + "a" + r"\right)" * 150 + "$ ") * (n // 2000),
    "matrices": repeated(r"$$\begin{matrix}a&b\\c&d\end{matrix}$$ "),
    "open matrix": repeated(r"$\begin{matrix} a & b$ "),
    "open dollars": repeated("$a "),
    "open dollar": repeated("$"),
    "two dollars": repeated("$$a "),
    "dollar blocks": repeated("$$\na\n"),
    "dollar blocks closed": repeated("$$\na\n$$\n"),
    "open bracket math": repeated("\\(a "),
    "open display math": repeated("\\[a "),
    "bracket math": repeated("\\(a\\) "),
    "CJK": repeated("城市很热。"),
    "CJK without marks": repeated("城"),
    "kana": repeated("これはペンです。"),
    "combining": lambda drawn, n: "a" + "\u0301\u0323" * (n // 2),
    "emoji": repeated("👩\u200d👩\u200d👧\u200d👦"),
    "NUL": repeated("a\x00"),
    "right to left": repeated("\u202eאבג "),
    "quotation marks": repeated("\"'"),
    "apostrophes": repeated("a'b’"),
    "apostrophes spaced": repeated("' \t"),
    "dots": repeated("."),
    "spaced dots": repeated(". "),
    "dots and letters": repeated("a."),
    "exclamations": repeated("!?"),
    "dashes": repeated("--"),
    "hyphens": repeated("a-"),
    "commas": repeated(","),
    "closing marks": repeated("a.)"),
    "sentences closed": repeated(") "),
    "numerals": repeated("1.1.1 "),
    "roman numerals": repeated("i. v. x. "),
    "I am": repeated("I am "),
    "as an": repeated("as  "),
    "I am GPT": repeated("I am GPT-4. "),
    "made by": repeated("made by  "),
    "GPT dots": lambda drawn, n: "I am GPT-4" + "." * n,
    "I without an end": lambda drawn, n: "I " + "made\t" * (n // 5),
    "weeks": numbered("Week %: a\n"),
    "weeks of long numbers": repeated("Week " + "1" * 5000 + "\n"),
    "week spaces": repeated("Week   "),
    "week marks": repeated("#*_> \n"),
    "finished": repeated("***\n"),
    "stars and ends": repeated("*** finished\n"),
    "JSON objects": repeated('{"a": 1} '),
    "JSON nested": nested('{"a":', "}"),
    "JSON open": repeated('{"a":'),
    "JSON lists": repeated("[1,"),
    "JSON strings": repeated('{"'),
    "JSON answers": repeated('{"clear": 1, "right": 0.25} '),
    "JSON broken at the end": lambda drawn, n: ('{"a": "' + "b" * 90 + '", x} ') * (n // 100),
    "JSON with a long start": lambda drawn, n: "{" * 1900 + '{"a": [' + "1," * (n // 2) + "x",
    "JSON lists broken": lambda drawn, n: "[" * 1900 + "1," * (n // 2) + "x",
    "JSON numbers": lambda drawn, n: '{"clear": ' + "9" * n + ', "right": 1}',
    "Python literals": lambda drawn, n: "{'a': [" + "1," * (n // 2 - 10) + "],}",
    "Python sums": lambda drawn, n: "[" + "1+" * (n // 2 - 10) + "1]",
    "Python minuses": lambda drawn, n: "[" + "-" * (n - 10) + "1]",
    "trailing commas": lambda drawn, n: "{" + ", " * (n // 2) + "}",
    "comma and space": lambda drawn, n: "{," + " " * n + "x}",
    "commas and spaces": lambda drawn, n: "{" + ("," + " " * 300) * (n // 301) + "}",
    "fence and line ends": lambda drawn, n: "```" + "\n" * n + "{",
    "marks in a fence": lambda drawn, n: "```\na" + "\u0301\u0323" * 12_000 + "\n```\n" + "{}" * ((n - 24_020) // 2),
    "run of y": repeated("y"),
    "verdicts": repeated("[[A]] "),
    "stored sentences": wordings,
    "stored verdicts in verdicts": lambda drawn, n: (
        "The same in both orders. [A first] " * (k := n // 50) + "x" + " [B first] y" * k
    ),
    "averages": lambda drawn, n: "The mean of " + "1, " * (n // 3) + "1. x",
    "prompt lines": repeated("@@ user\n"),
    "prompt spaces": lambda drawn, n: ("@@ user" + " " * 500 + "x\n") * (n // 509),
    "prompt dollars": repeated("$a$$"),
    "context words": repeated("prompt input context length "),
    "noise": lambda drawn, n: "".join(drawn.choice("[]()!*_`~#>|$\\<&'\"{}:,.-\n ab1") for _ in range(n)),
}


def copies(text: str, drawn: random.Random) -> Iterator[str]:
    """What stands in the other pane: the text, its lines or words in another order, and every tenth word changed."""
    yield text
    lines, words = text.splitlines(keepends=True), text.split(" ")
    drawn.shuffle(lines)
    yield "".join(lines)
    yield " ".join("x" if place % 10 == 3 else word for place, word in enumerate(words))
    drawn.shuffle(words)
    yield " ".join(words)
