"""Colours for code: which parts of a fenced block are keywords, strings, comments, numbers, functions or types.

Pygments reads the code with the lexer of the language that the block names; a language is never guessed. On code written
to be slow, the time of a lexer grows with the square of its length and differs between lexers, so each language has a
longest block of its own, and a text has an allowance. What is beyond them is shown without colours.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import Any
from xml.sax.saxutils import escape  # nosec B406 # parses nothing

from pygments.lexer import Lexer
from pygments.lexers import find_lexer_class_by_name
from pygments.token import Comment, Keyword, Name, Number, Operator, String, _TokenType

LONGEST_CODE = {
    **dict.fromkeys(("python", "java", "csharp", "rust", "sql", "bash", "html", "json"), 8_000),
    **dict.fromkeys(("javascript", "go", "css", "yaml"), 6_000),
    **dict.fromkeys(("typescript", "c", "cpp"), 4_000),
}
"""Characters of the longest block that is coloured, by language: at most 0.25 s over a sweep of repeated marks and words."""
MOST_CODE = 40_000
"""Characters of a text that are coloured at most, however short its blocks are."""
MOST_SPANS = 5_000
"""Coloured parts of a text."""
MOST_WORDS = 6

_OTHER_NAMES = {
    **{
        "py": "python",
        "python3": "python",
        "py3": "python",
        "js": "javascript",
        "mjs": "javascript",
        "node": "javascript",
    },
    **{"jsx": "javascript", "ts": "typescript", "tsx": "typescript", "h": "c", "c++": "cpp", "cc": "cpp", "cxx": "cpp"},
    **{"hpp": "cpp", "c#": "csharp", "cs": "csharp", "golang": "go", "rs": "rust", "sh": "bash", "shell": "bash"},
    **{"zsh": "bash", "htm": "html", "yml": "yaml", "mysql": "sql", "postgresql": "sql", "sqlite": "sql"},
}
_GAP = re.compile(r"\s{100}")
"""White space at which no lexer is tried: most of them are slowest on it."""
_LANGUAGE = re.compile(r"[A-Za-z][\w+#]*")
_CLASSES: dict[_TokenType, str] = {
    Comment: "c",
    Comment.Preproc: "k",
    Comment.PreprocFile: "s",
    Keyword: "k",
    Keyword.Type: "t",
    Operator.Word: "k",
    String: "s",
    Number: "n",
    Name.Function: "f",
    Name.Class: "f",
    Name.Decorator: "f",
    Name.Tag: "k",
    Name.Attribute: "t",
    Name.Builtin: "t",
    Name.Exception: "t",
}


class ColourAllowance:
    """What one text may still spend: 1 is a block of the longest length, half as long costs a quarter."""

    def __init__(self) -> None:
        self.share = 1.0
        self.spans = MOST_SPANS

    def take(self, characters: int, longest: int) -> bool:
        """Take the share of a block, if that much is left."""
        share = max((characters / longest) ** 2, characters / MOST_CODE)
        if share > self.share:
            return False
        self.share -= share
        return True


def language_named(info: str) -> str:
    """Return the language that the first line of a block names; '' if it names none that is coloured."""
    found = _LANGUAGE.match(info.strip())
    named = found[0].lower() if found else ""
    language = _OTHER_NAMES.get(named, named)
    return language if language in LONGEST_CODE else ""


def coloured_code(code: str, info: str, allowance: ColourAllowance) -> str | None:
    """Return the code as HTML with a class for each coloured part; None if it is to be shown without colours."""
    language = language_named(info)
    if not language or _GAP.search(code) or not allowance.take(len(code), LONGEST_CODE[language]):
        return None
    try:
        parts = list(_parts(code, _lexer(language).get_tokens_unprocessed(code)))
    except Exception:  # a lexer can raise any exception on text from a model
        return None
    spans = sum(1 for name, _text in parts if name)
    if spans > allowance.spans or "".join(text for _name, text in parts) != code:
        return None
    allowance.spans -= spans
    shown = (f'<span class="{name}">{escape(text)}</span>' if name else escape(text) for name, text in parts)
    return f'<pre><code class="language-{language}">{"".join(shown)}</code></pre>\n'


@cache
def _lexer(language: str) -> Lexer:
    lexer = find_lexer_class_by_name(language)
    return _with_few_words_before_a_name(lexer)() if language in ("java", "csharp") else lexer()


def _with_few_words_before_a_name(lexer: Any) -> Any:
    """Return a lexer that looks for the name of a method behind at most MOST_WORDS words, such as public static int.

    Pygments looks behind any number of them, from every line or word anew: 8,000 characters can take 5 seconds.
    """

    def bounded(part: Any) -> Any:
        if isinstance(part, dict):
            return {state: bounded(rules) for state, rules in part.items()}
        if isinstance(part, list):
            return [bounded(rule) for rule in part]
        if type(part) is tuple and isinstance(part[0], str):
            return (part[0].replace(r"\s+)+?)", rf"\s+){{1,{MOST_WORDS}}}?)"), *part[1:])
        return part

    return type(lexer)(lexer.__name__, (lexer,), {"tokens": bounded(lexer.tokens)})


@lru_cache(maxsize=512)
def _class_of(kind: _TokenType) -> str:
    """Return the class of a kind of token: its own or that of the nearest kind above it; '' for no colour."""
    while kind is not None:
        if kind in _CLASSES:
            return _CLASSES[kind]
        kind = kind.parent
    return ""


def _parts(code: str, tokens: Iterable[tuple[int, _TokenType, str]]) -> Iterator[tuple[str, str]]:
    """Yield (class, text) with neighbours of one class joined; white space takes the class before it."""
    name, begins, at = "", 0, 0
    for _index, kind, text in tokens:
        following = _class_of(kind)
        if following != name and not text.isspace():
            if at > begins:
                yield name, code[begins:at]
            name, begins = following, at
        at += len(text)
    if at > begins:
        yield name, code[begins:at]
