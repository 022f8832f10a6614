"""Changes of a response's text that must not matter: content-free sentences, another format, a claimed author. PURE.

Every change is deterministic, needs no model, and keeps each claim of the text word for word.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import cycle

from annotation.rules.degrading import paragraphs
from generation.text_metrics.counts import word_count

SHORTEST = 40
"""A text of fewer words is not padded, because one sentence would be more than the wanted share."""
FENCES = ("```", "~~~")
HEADING = re.compile(r"^#{1,6}[ \t]+(?P<text>.*?)[ \t]*#*$")
ITEM = re.compile(r"^[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+(?P<text>.*)$")
BOLD = re.compile(r"(\*\*|__)(?=\S)(?P<text>.+?)(?<=\S)\1", re.DOTALL)
SENTENCE = re.compile(r"(?<=[.!?])[ \t\n]+|(?<=[。！？])(?=.)")
UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
TABLE = re.compile(r"^[ \t]*\|", re.MULTILINE)
PADDING = (
    "This is worth keeping in mind.",
    "There is more than one way of putting it.",
    "All of this belongs together in one way or another.",
    "It is what it is.",
    "As one can see, one thing follows another.",
    "That is the point at which we now find ourselves.",
    "The foregoing may be read as it stands.",
    "With this said, it seems fitting to go on.",
    "There is, after all, something to be said here.",
    "So much for this part of the whole.",
    "It goes without saying that this is so.",
    "In a manner of speaking, this is how it is.",
)
PADDING_UNSPACED = (
    "以上内容可供参考。",
    "说法当然不止一种。",
    "这些内容彼此相关。",
    "事情大致就是这样。",
    "由此可以看出，一切自有其道理。",
    "说到这里，我们可以继续往下看。",
    "前面所说的，照字面理解即可。",
    "总的来说，情况就是如此。",
    "这一部分就先说到这里。",
    "不言而喻，这一点是清楚的。",
)


class NotChangeable(Exception):
    """The change would leave the text as it is, or cannot be made without changing what the text says."""


def padded(text: str, share: float) -> str:
    """Return the text with content-free sentences of about `share` of its words after its paragraphs of prose.

    Raises NotChangeable for a text of fewer than SHORTEST words.
    """
    words = word_count(text)
    if words < SHORTEST:
        raise NotChangeable("The text is too short to be padded.")
    wanted, parts = share * words, paragraphs(text)
    places = [place for place, part in enumerate(parts) if _is_prose(part)] or [len(parts) - 1]
    added: dict[int, list[str]] = {place: [] for place in places}
    sentences = cycle(PADDING_UNSPACED if _is_unspaced(text) else PADDING)
    written, turn = 0, cycle(places)
    while True:
        sentence = next(sentences)
        length = word_count(sentence)
        if written and written + length / 2 > wanted:
            break
        added[next(turn)].append(sentence)
        written += length
    gap = "" if _is_unspaced(text) else " "
    for place, extra in added.items():
        if extra:
            parts[place] = parts[place] + (gap if _is_prose(parts[place]) else "\n\n") + gap.join(extra)
    return "\n\n".join(parts)


def as_prose(text: str) -> str:
    """Return the text without headings, list marks and bold print; raises NotChangeable where it has none of them."""
    parts = []
    for part in _plain_parts(text):
        if part.startswith(FENCES):
            parts.append(part)
            continue
        gap = "" if _is_unspaced(part) else " "
        sentences = [_sentence(line) for line in part.splitlines() if line.strip()]
        parts.append(BOLD.sub(r"\g<text>", gap.join(sentences)))
    return _changed(text, "\n\n".join(parts))


def as_bullets(text: str) -> str:
    """Return the text with every sentence of its prose as an item of a list; raises NotChangeable without prose."""
    parts = []
    for part in _plain_parts(text):
        if _is_prose(part):
            part = "\n".join(f"- {' '.join(sentence.split())}" for sentence in _sentences(part))
        parts.append(part)
    return _changed(text, "\n\n".join(parts))


def with_headings(text: str) -> str:
    """Return the text with a heading without content over each paragraph; raises NotChangeable where it has headings."""
    parts = _plain_parts(text)
    if any(HEADING.match(line) for part in parts if not part.startswith(FENCES) for line in part.splitlines()):
        raise NotChangeable("The text has headings already.")
    part_name, only = ("第 {} 部分", "回答") if _is_unspaced(text) else ("Part {}", "Answer")
    if len(parts) == 1:
        return f"## {only}\n\n{parts[0]}"
    return "\n\n".join(f"## {part_name.format(n)}\n\n{part}" for n, part in enumerate(parts, 1))


def in_bold(text: str) -> str:
    """Return the text with the first sentence of each paragraph of prose in bold; raises NotChangeable where it has bold
    print already, or no prose.
    """
    if BOLD.search(text):
        raise NotChangeable("The text has bold print already.")
    parts = []
    for part in _plain_parts(text):
        if _is_prose(part):
            first = _sentences(part)[0]
            part = f"**{first}**{part[len(first) :]}"
        parts.append(part)
    return _changed(text, "\n\n".join(parts))


def by_author(text: str, author: str) -> str:
    """Return the text under a line that claims who wrote it."""
    line = f"作者：{author}" if _is_unspaced(text) else f"Written by {author}."
    return f"{line}\n\n{text}"


FORMATS: Mapping[str, Callable[[str], str]] = {
    "prose": as_prose,
    "bullets": as_bullets,
    "headings": with_headings,
    "bold": in_bold,
}


def _changed(before: str, after: str) -> str:
    if before.split() == after.split():
        raise NotChangeable("The text already has this format.")
    return after


def _plain_parts(text: str) -> list[str]:
    """Return the paragraphs; raises NotChangeable for an empty text, and for one with a table, whose lines must stay."""
    if TABLE.search(text):
        raise NotChangeable("The text has a table, which has no other format that says the same.")
    parts = [part.strip("\n") for part in paragraphs(text)]
    if not parts:
        raise NotChangeable("The text is empty.")
    return parts


def _is_prose(part: str) -> bool:
    """Whether a paragraph is plain prose: neither code nor heading nor list."""
    lines = part.splitlines()
    if any(line.lstrip().startswith(FENCES) for line in lines) or part.startswith(("    ", "\t")):
        return False
    return not any(HEADING.match(line) or ITEM.match(line) or line.lstrip().startswith(("|", ">")) for line in lines)


def _sentence(line: str) -> str:
    """Return a line of a list, heading or prose as the sentence, or part of one, that it is."""
    marked = HEADING.match(line) or ITEM.match(line)
    if marked is None:
        return line.strip()
    words = BOLD.sub(r"\g<text>", marked["text"]).strip()
    if not words or words[-1] in ".!?:;,。！？：；，":
        return words
    ends = "。" if _is_unspaced(words) else "."
    return words + ((":" if ends == "." else "：") if HEADING.match(line) else ends)


def _sentences(part: str) -> Sequence[str]:
    return [sentence for sentence in SENTENCE.split(part.strip()) if sentence.strip()]


def _is_unspaced(text: str) -> bool:
    """Whether most of the text is in a script without spaces between words."""
    letters = sum(letter.isalpha() for letter in text)
    return 2 * len(UNSPACED.findall(text)) > letters
