"""Which clauses of a guideline a reason quotes. PURE."""

import re
from collections.abc import Sequence

LEAST_WORDS = 4.0
"""A quotation shares at least so many words in a row with the clause; a Chinese or Japanese character is half a word."""
_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+")
_CLAUSE = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n+")
_DECORATION = " \t#*->_`0123456789.)("
MOST_CHARACTERS = 20_000
"""Longer reasons and guidelines are read up to here."""


def clauses_of(text: str) -> list[str]:
    """Split a guideline in Markdown into sentences and list items, without those too short to be quoted; each once."""
    parts = (part.lstrip(_DECORATION).rstrip(" \t*_`") for part in _CLAUSE.split(text[:MOST_CHARACTERS]))
    return list(dict.fromkeys(part for part in parts if _runs(part)))


def quoted(reason: str, clauses: Sequence[str]) -> list[int]:
    """Return the places of the clauses with which the reason shares LEAST_WORDS words in a row."""
    said = _runs(reason)
    return [place for place, clause in enumerate(clauses) if said & _runs(clause)] if said else []


def _runs(text: str) -> set[tuple[str, ...]]:
    """Return the shortest runs of words from each word on that are long enough."""
    words = [word.lower() for word in _TOKEN.findall(text[:MOST_CHARACTERS])]
    weights = [0.5 if len(word) == 1 and word >= "\u3040" else 1.0 for word in words]
    found, end, weight = set(), 0, 0.0
    for start in range(len(words)):
        while end < len(words) and weight < LEAST_WORDS:
            weight += weights[end]
            end += 1
        if weight < LEAST_WORDS:
            break
        found.add(tuple(words[start:end]))
        weight -= weights[start]
    return found
