"""A count before a noun has a singular: "1 rater has", never "1 raters have".

Every text of a template and of the program is looked at, so that a new one without its singular is found here.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

NOUNS = (
    "accounts|answers|appeals|assignments|ballots|calls|categories|characters|checks|clusters|comparisons|criteria|days|"
    "endpoints|findings|files|hours|instructions|items|judges|labels|levels|minutes|mappings|models|notes|pairs|passages|"
    "people|phrases|places|points|questions|quotations|raters|ratings|replies|requests|responses|rows|runs|scores|"
    "seconds|slots|steps|studies|tasks|texts|times|tokens|verdicts|votes|words"
)
COUNT = r"(?:%\((?P<old>\w+)\)[sd]|\{\{ (?P<new>[\w.]+)(?:\|\w+)? \}\})"
COUNTED = re.compile(rf"(?P<before>(?:\w+ ){{0,2}}){COUNT} (?:(?!of |and |or |to )[\w-]+ ){{0,2}}?(?:{NOUNS})\b")
LIMIT = re.compile(
    r"\b(of|of the|than|most|least|under|first|last|latest|about|About|After|after|every|in|In|within|with|another)"
    r"( \w+)? $|\b(of|of the|than) $"
)
"""Words before a number that is a limit or a share ("at most 20 words", "3 of 8 tasks")."""
TRANSLATED = {"gettext", "gettext_lazy", "gettext_noop", "_", "marked"}
OWN_TEXT = ("core", "accounts", "generation", "annotation", "calibration", "judging", "config")
BLOCK = re.compile(r"{%\s*blocktranslate\b([^%]*)%}(.*?){%\s*endblocktranslate\s*%}", re.DOTALL)
KNOWN = Path(__file__).with_name("counts_without_singular.txt")
"""Texts without a singular that were there before this check, one a line: mostly limits, or numbers that are never 1."""


def in_templates() -> Iterator[tuple[str, str]]:
    """Each text without a count of the templates, and the file it stands in."""
    for path in sorted((settings.BASE_DIR / "templates").rglob("*.html")):
        for head, body in BLOCK.findall(path.read_text()):
            if not re.search(r"\bcount\b", head):
                yield path.name, " ".join(body.split())


def in_the_program() -> Iterator[tuple[str, str]]:
    """Each text without a count of the program, and the file it stands in."""
    for app in OWN_TEXT:
        for path in sorted((settings.BASE_DIR / app).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if not isinstance(node, ast.Call) or not node.args:
                    continue
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                place = 1 if name == "Wording" else 0
                if (name in TRANSLATED or place) and len(node.args) > place:
                    text = node.args[place]
                    if isinstance(text, ast.Constant) and isinstance(text.value, str):
                        yield path.name, text.value


def without_singular(text: str) -> list[str]:
    """The counts of a text that read wrong with 1."""
    return [found.group(0) for found in COUNTED.finditer(text) if not LIMIT.search(found["before"])]


def test_the_check_itself():
    assert without_singular("%(n)d raters have rated") and without_singular("so {{ n }} more responses are shown")
    assert without_singular("%(tasks)s tasks · %(people)s ratings by people")
    for right in ("at most %(n)s words", "%(n)s of %(all)s tasks", "%(judge)s says", "more than %(n)d ratings"):
        assert not without_singular(right), right


def test_every_count_in_a_sentence_has_a_singular():
    found = {text for _file, text in [*in_templates(), *in_the_program()] if without_singular(text)}
    known = set(KNOWN.read_text().splitlines())
    assert sorted(found - known) == [], "give each a singular, with ngettext, blocktranslate count or counted()"
    assert sorted(known - found) == [], "these are gone; take them out of the list"
