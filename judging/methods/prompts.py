"""Prompts: chat messages from a template's text and a question. PURE.

A template is plain text with $placeholders (string.Template). Lines "@@ system" and "@@ user" begin a message. Nothing
in it can run, because leads may edit it. It is identified by the hash of its text.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache
from string import Template

from core.errors import UserError

MESSAGE_LINE = re.compile(r"^@@ (system|user)\s*$", re.MULTILINE)


class Fault(StrEnum):
    DOLLAR = "dollar"
    UNKNOWN = "unknown"
    MISSING = "missing"
    BEGINNING = "beginning"


class BadTemplate(UserError):
    """The template names an unknown placeholder, lacks a required one, or has no message.

    `name` is that placeholder's; `known` and `needed` are those of the method.
    """

    def __init__(
        self, sentence: str, fault: Fault, name: str = "", known: Sequence[str] = (), needed: Sequence[str] = ()
    ) -> None:
        super().__init__(sentence)
        self.fault, self.name = fault, name
        self.known, self.needed = tuple(known), tuple(needed)


@dataclass(frozen=True)
class Level:
    value: float
    label: str
    description: str = ""


@dataclass(frozen=True)
class Item:
    """One question to answer: its name in the reply, its text, and the admissible scores, ascending."""

    key: str
    question: str
    levels: tuple[Level, ...]

    @cached_property
    def values(self) -> tuple[float, ...]:
        return tuple(level.value for level in self.levels)


@dataclass(frozen=True)
class Question:
    """All that a judge is asked about a task. `conversation` is (role, text) pairs, oldest first."""

    conversation: tuple[tuple[str, str], ...]
    responses: tuple[str, ...]
    items: tuple[Item, ...]


def prompt_hash(template: str) -> str:
    """Return the SHA-256 of the text with uniform line ends."""
    return hashlib.sha256(template.replace("\r\n", "\n").strip().encode()).hexdigest()


def marker(name: str, text: str) -> str:
    """Return a line that `text` does not contain. It depends on the text alone, so that equal questions stay equal.

    The author of the text cannot know the line beforehand, because inserting it changes it.
    """
    salt = 0
    while True:
        digest = hashlib.sha256(f"{salt}\n{text}".encode(errors="surrogatepass")).hexdigest()
        line = f"=== {name} {digest[:16]} ==="
        if line not in text:
            return line
        salt += 1


def transcript(conversation: Sequence[tuple[str, str]]) -> str:
    """Return the conversation as text; a single user message comes without a name."""
    if len(conversation) == 1 and conversation[0][0] == "user":
        return conversation[0][1]
    return "\n\n".join(f"[{role}]\n{text}" for role, text in conversation)


def number_text(value: float) -> str:
    return f"{value:g}"


def render(template: str, fields: Mapping[str, str], needed: Sequence[str]) -> list[dict[str, str]]:
    """Fill `fields` into the template's messages. Raises BadTemplate."""
    # Split before filling in: a text that holds such a line starts no message.
    return [
        {"role": role, "content": piece.substitute(fields).strip()}
        for role, piece in _pieces(template, tuple(fields), tuple(needed))
    ]


@lru_cache(maxsize=64)
def _pieces(template: str, known: tuple[str, ...], needed: tuple[str, ...]) -> tuple[tuple[str, Template], ...]:
    """Return the messages of a template by role. Raises BadTemplate."""
    parsed = Template(template)
    if not parsed.is_valid():
        raise BadTemplate("The prompt contains a single $. Write $$ for a dollar sign.", Fault.DOLLAR)
    names = set(parsed.get_identifiers())
    if unknown := sorted(names - set(known)):
        sentence = (
            f"The prompt contains the unknown placeholder ${unknown[0]}; the placeholders are: {', '.join(known)}."
        )
        raise BadTemplate(sentence, Fault.UNKNOWN, unknown[0], known, needed)
    if missing := [name for name in needed if name not in names]:
        sentence = f"The prompt lacks the placeholder ${missing[0]}; the judge does not see this part otherwise."
        raise BadTemplate(sentence, Fault.MISSING, missing[0], known, needed)
    pieces = MESSAGE_LINE.split(template)
    if len(pieces) < 3 or pieces[0].strip():
        raise BadTemplate("The prompt must start with a line '@@ system' or '@@ user'.", Fault.BEGINNING)
    return tuple((role, Template(text)) for role, text in zip(pieces[1::2], pieces[2::2], strict=True))


def request_hash(
    *, model: str, messages: Sequence[Mapping[str, str]], parameters: Mapping[str, object], repeat: int
) -> str:
    """Return the SHA-256 of what determines a reply: the same question to the same model has the same hash."""
    canonical = json.dumps(
        [model, [[m["role"], m["content"]] for m in messages], dict(parameters), repeat],
        sort_keys=True,
        ensure_ascii=False,
    )
    return hashlib.sha256(canonical.encode(errors="surrogatepass")).hexdigest()


def estimated_tokens(text: str) -> int:
    """Estimate from above without a tokenizer: three ASCII characters per token, 1.5 tokens per other character."""
    ascii_characters = len(text.encode("ascii", errors="ignore"))
    return ascii_characters // 3 + (len(text) - ascii_characters) * 3 // 2 + 1


def least_tokens(text: str) -> int:
    """Estimate from below: eight ASCII characters per token, two others. A text over the context by this is too long."""
    ascii_characters = len(text.encode("ascii", errors="ignore"))
    return ascii_characters // 8 + (len(text) - ascii_characters) // 2
