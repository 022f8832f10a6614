"""How long each piece of work over a text takes at worst, over families of texts that were written to be slow.

    python tests/benchmarks/hostile_texts.py [--characters 100000] [--path WORD] [--family WORD] [--seconds 5] [--all]

Every path that a page, an API call or a judge's reply can reach runs over every family, a pair's paths also over
shuffled and changed copies. Prints a row for each path: the family in which it is slowest, the milliseconds of processor
time, and how many times that is what str.split takes for an ordinary text of this length, measured in the same run. With
--all every family is printed. A run is stopped after --seconds. The last line is JSON: {"floor_ms", "worst_ms", "path",
"family", "over": how many path and family pairs took more than 300 ms}. Needs no database.
"""

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# Installed packages bring a "tests" of their own, which would come before a folder without __init__.py.
sys.modules["tests"] = own = types.ModuleType("tests")
own.__path__ = [str(ROOT / "tests")]

LIMIT_MS = 300
SEED = 9

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
    words = [
        "the",
        "river",
        "carries",
        "sand",
        "past",
        "an",
        "old",
        "harbour",
        "while",
        "people",
        "walk",
        "along",
        "its",
        "banks",
        "every",
        "morning",
    ]
    parts: list[str] = []
    size = 0
    while size < n:
        sentence = " ".join(drawn.choice(words) for _ in range(80))
        kind = len(parts) % 10
        part = {0: f"## Section {len(parts)}", 4: f"- {sentence[:200]}\n- **{sentence[200:]}**",
                7: f"| a | b |\n|---|---|\n| {sentence[:40]} | {sentence[40:80]} |"}.get(kind, sentence + ".")  # fmt: skip
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


def wordings(drawn: random.Random, n: int) -> str:
    """The program's own stored sentences, cut up and mixed: what is read back from stored text meets them everywhere."""
    import generation.failure_words  # noqa: F401
    from accounts.sentences import HOLE, Wording

    pieces = [piece for msgid in Wording.known for piece in HOLE.split(msgid) if piece and len(piece) > 1]
    return "".join(drawn.choice(pieces) for _ in range(n // 8))[:n]


FAMILIES: dict[str, Family] = {
    "prose": prose,
    "headings": numbered("# Heading %\n"),
    "empty headings": repeated("#\n"),
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
    "square table": lambda drawn, n: (
        "|a" * (k := n // 1000) + "|\n" + "|-" * k + "|\n" + "|\n" * ((n - 4 * k) // 2)
    ),
    "table bars": repeated("|"),
    "code fences": repeated("```\n"),
    "open fence": lambda drawn, n: "```a\n" + "x\n" * (n // 2),
    "fence with braces": repeated("```json\n{\n"),
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


Single = Callable[[str], object]
Pair = Callable[[str, str], object]


def single_paths() -> dict[str, Single]:
    """The work over one text, by what a reader would call it."""
    from annotation import degrading, rendering, subtasks
    from annotation.quoting import TextMap
    from annotation.self_naming import find_self_naming
    from generation import allowance, chat, overlap, probing, refusals, serving, textmetrics, wrapping
    from generation.interchange.hellobench import read_evaluation
    from generation.interchange.instructions import requirements_in
    from judging import prompts
    from judging.prompts import Item, Level

    levels = tuple(Level(value, str(value)) for value in (-1, 0, 1))
    items = (Item("clear", "Is it clear?", levels), Item("right", "Is it right?", levels))

    def quotations(text: str) -> object:
        rendered = rendering._rendered(text)
        yield_time()
        return TextMap(text, rendered.blocks, rendered.starts)

    def template(text: str) -> object:
        return prompts.render(text, {"response": "x"}, ())

    return {
        "Markdown rendering": lambda text: rendering._rendered(text),
        "places of quotations": quotations,
        "panes of a response": lambda text: panes((text,)),
        "self-naming": lambda text: find_self_naming(text, ("meta-llama/Zephyr-7B", "Zephyr")),
        "sub-tasks (Week)": lambda text: subtasks.subtasks_in(text, "Week"),
        "sub-tasks (周)": lambda text: subtasks.subtasks_in(text, "周"),
        "numbers of sub-tasks": lambda text: subtasks.read_numbers(text),
        "control: cut": lambda text: degrading.degrade(text, degrading.Damage.CUT, random.Random(1)),
        "control: doubled": lambda text: degrading.degrade(text, degrading.Damage.DOUBLED, random.Random(1)),
        "control: swapped": lambda text: degrading.degrade(text, degrading.Damage.SWAPPED, random.Random(1)),
        "words counted": textmetrics.word_count,
        "repetition": textmetrics.repetition_4,
        "repeated sentence": textmetrics.most_repeated_sentence,
        "refusal": refusals.opens_with_refusal,
        "language": lambda text: (rendering.language_of(text), wrapping.is_chinese(text)),
        "METEOR with itself": lambda text: overlap.meteor(text, text),
        "checklist reply": lambda text: read_reply(text, items),
        "reply of one answer": lambda text: read_one_reply(text, items[0]),
        "stored HelloBench verdict": read_evaluation,
        "stored sentence": lambda text: for_reader(text),
        "a judge's prompt": template,
        "hash and tokens of a prompt": lambda text: (
            prompts.prompt_hash(text.encode(errors="replace").decode()), prompts.estimated_tokens(text),
            prompts.marker("A", text),
        ),
        "words of a server": lambda text: (allowance.told_by(text), chat.said_plainly("<" + text)),
        "a probe's reply": probing.obeys,
        "a key's name": serving.looks_like_a_key,
        "a table's requirements": requirements_in,
        "a table's JSON line": lambda text: table_rows(text, ".jsonl"),
        "a table's CSV": lambda text: table_rows(text, ".csv"),
        "a form's JSON": form_json,
        "a form's quotations": quoted_form,
        "an excerpt on a page": excerpt,
    }  # fmt: skip


def pair_paths() -> dict[str, Pair]:
    """The work over two texts."""
    from annotation import alignment, rendering
    from generation import overlap
    from judging.line_diff import line_diff
    from judging.methods.overlap import rouge_1

    def sections(text: str, other: str) -> object:
        outlines = [[heading.text for heading in rendering._rendered(one).outline] for one in (text, other)]
        yield_time()
        return alignment.align_sections(*outlines)

    return {
        "panes of a pair": lambda text, other: panes((text, other)),
        "sections aligned": sections,
        "near copies": alignment.is_near_duplicate,
        "word differences": alignment.word_diff,
        "word differences shown": differences,
        "line differences": line_diff,
        "BLEU": lambda text, other: overlap.bleu([text], [[other]]),
        "ROUGE-L": lambda text, other: overlap.rouge_l(text, other),
        "ROUGE-1": rouge_1,
        "METEOR": overlap.meteor,
    }


def panes(texts: tuple[str, ...]) -> object:
    """The HTML of a rating page's responses, which is what a rater waits for."""
    from types import SimpleNamespace

    from django.template.loader import render_to_string

    from annotation.screens import panes_of

    screen = SimpleNamespace(layout="pair" if len(texts) == 2 else "single", part="")
    return [
        render_to_string("annotation/_pane.html", {"pane": pane, "screen": screen, "paragraph": 0})
        for pane in panes_of(texts)
    ]


def differences(text: str, other: str) -> object:
    from django.template.loader import render_to_string

    from annotation.alignment import word_diff

    return render_to_string("annotation/differences.html#text", {"changes": word_diff(text, other)})


def read_reply(text: str, items: object) -> object:
    from judging.parsing import read_answers

    return read_answers(text, items)  # type: ignore[arg-type]


def read_one_reply(text: str, item: object) -> object:
    from judging.methods.replies import read_one

    return read_one(text, item, ("score", "value"), finish_reason="stop")  # type: ignore[arg-type]


def for_reader(text: str) -> object:
    from accounts.reader_language import for_reader

    return for_reader(text)


def table_rows(text: str, ending: str) -> object:
    from generation.interchange.records import BadRow
    from generation.interchange.table import read_rows

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table{ending}"
        start = "a,b\n" if ending == ".csv" else ""
        path.write_text(start + text, encoding="utf-8", errors="replace", newline="")
        yield_time()
        try:
            return list(read_rows(path, (), lambda problem: None))
        except BadRow as problem:
            return problem


def form_json(text: str) -> object:
    from django import forms

    from generation.serving_forms import ParametersField

    try:
        return ParametersField().clean(text)
    except forms.ValidationError as error:
        return error


def quoted_form(text: str) -> object:
    from annotation.evidence import Quotations, UnreadableQuotation

    try:
        return Quotations.read(text, ("a text", "another"))
    except UnreadableQuotation as error:
        return error


def excerpt(text: str) -> object:
    from django.template import Context, Template

    shown = Template("{{ text|truncatechars:90 }}{{ text|linebreaksbr|slice:':9' }}")
    return shown.render(Context({"text": text}))


class TooLong(Exception):
    """A run was stopped after its seconds."""


begun = 0.0


def yield_time() -> None:
    """Leaves out of the time what a path had to do first and another path measures."""
    global begun
    begun = time.process_time()


@contextmanager
def stopped_after(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TooLong

    signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def milliseconds(work: Callable[[], object], seconds: float) -> tuple[float, str]:
    """Processor time, and the name of an error that was not foreseen."""
    forget()
    error = ""
    yield_time()
    try:
        with stopped_after(seconds):
            work()
    except TooLong:
        pass
    except Exception as raised:
        error = "" if isinstance(raised, EXPECTED) else type(raised).__name__
    return 1000 * (time.process_time() - begun), error


def forget() -> None:
    """What was kept of earlier texts is dropped, so that each run does the work."""
    from annotation import rendering

    rendering.render_text.cache_clear()
    rendering.text_map.cache_clear()


EXPECTED: tuple[type[Exception], ...] = ()


def measured(arguments: argparse.Namespace) -> Iterator[tuple[str, str, float, str]]:
    """(path, family, milliseconds, error) of every run."""
    texts = {name: make(random.Random(f"{SEED} {name}"), arguments.characters)
             for name, make in FAMILIES.items() if arguments.family in name}  # fmt: skip
    for path, work in single_paths().items():
        if arguments.path in path:
            milliseconds(lambda: work("Whatever is loaded on first use is loaded now."), 60)
            for family, text in texts.items():
                yield path, family, *milliseconds(lambda: work(text), arguments.seconds)
    for path, compare in pair_paths().items():
        if arguments.path in path:
            milliseconds(lambda: compare("Loaded now.", "Loaded then."), 60)
            for family, text in texts.items():
                found = [
                    milliseconds(lambda: compare(text, other), arguments.seconds)
                    for other in copies(text, random.Random(SEED))
                ]
                yield path, family, *max(found)


def floor(characters: int) -> float:
    """Milliseconds of str.split over an ordinary text, the shortest of many."""
    text = prose(random.Random(SEED), characters)
    times = []
    for _ in range(50):
        start = time.process_time()
        text.split()
        times.append(1000 * (time.process_time() - start))
    return min(times)


def show(rows: Iterator[tuple[str, str, float, str]], floor_ms: float, every: bool) -> dict[str, object]:
    """Prints the table; what the last line says."""
    print(f"floor: str.split of an ordinary text {floor_ms:.2f} ms")
    worst: tuple[float, str, str] = (0.0, "", "")
    over = 0
    for path, group in groupby(rows, key=lambda row: row[0]):
        found = sorted(group, key=lambda row: (bool(row[3]), row[2]), reverse=True)
        for _path, family, ms, error in found:
            over += ms > LIMIT_MS or bool(error)
            if every or error or ms > LIMIT_MS or (family, ms) == found[0][1:3]:
                print(f"{path:28} {family:30} {ms:9.1f} ms {ms / floor_ms:8.0f} x {error}", flush=True)
        worst = max(worst, *((ms, path, family) for _path, family, ms, _error in found))
    return {"floor_ms": round(floor_ms, 2), "worst_ms": round(worst[0], 1), "path": worst[1], "family": worst[2],
            "over": over}  # fmt: skip


def main() -> None:
    global EXPECTED
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--characters", type=int, default=100_000)
    parser.add_argument("--path", default="", help="only paths with this word in their name")
    parser.add_argument("--family", default="", help="only families with this word in their name")
    parser.add_argument("--seconds", type=float, default=5.0, help="a run is stopped after so many")
    parser.add_argument("--all", action="store_true", help="print every family, not only the slowest")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PLUMBLINE_DATA_DIR"] = folder
        import django

        django.setup()
        from annotation.degrading import TooShort
        from annotation.subtasks import UnreadableNumbers
        from generation.textmetrics import NoWords
        from judging.prompts import BadTemplate

        EXPECTED = (TooShort, UnreadableNumbers, NoWords, BadTemplate)
        print(json.dumps(show(measured(arguments), floor(arguments.characters), arguments.all)))


if __name__ == "__main__":
    main()
