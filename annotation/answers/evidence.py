"""Quotations attached to an answer: conversion between the page's form and the stored rows.

On the page a quotation is {"pane": "a" (the first) or "b", "start", "end"}, in shown positions (quoting.py); stored it
is {"response": "a" or "b" (the task's own), "start", "end"}, in code points of the response's text.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from annotation.rules.canonical import letter_of
from annotation.rules.quoting import NotInText
from annotation.texts.rendering import text_map
from core.errors import UserError

MOST_QUOTATIONS = 20
PANES = ("a", "b")
NO_QUOTATION = (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError)
"""Exceptions raised by reading a field that no page of this program sent."""


class UnreadableQuotation(UserError):
    """The quotations that a form sent are not within the texts that were shown."""


@dataclass(frozen=True)
class Quotation:
    """Offsets in code points into the text shown in a pane."""

    pane: str
    start: int
    end: int


@dataclass(frozen=True)
class Quotations:
    """The quotations of one answer, in the order in which the rater picked them; `texts` by pane."""

    pieces: tuple[Quotation, ...]
    texts: tuple[str, ...]

    @classmethod
    def read(cls, written: str, texts: Sequence[str]) -> "Quotations":
        """Read the quotations from a form's field. Raises UnreadableQuotation."""
        if not written.strip():
            return cls((), tuple(texts))
        try:
            pieces = json.loads(written)
            if len(pieces) > MOST_QUOTATIONS:
                limit = {"most": MOST_QUOTATIONS}
                raise UnreadableQuotation(_("An answer can have at most %(most)s quotations.") % limit)
            found = [_located(piece, texts) for piece in pieces]
        except UnreadableQuotation:
            raise
        except (*NO_QUOTATION, NotInText) as problem:
            raise UnreadableQuotation(_("A quotation was not found in the text. Select it again.")) from problem
        return cls(tuple(dict.fromkeys(found)), tuple(texts))

    @classmethod
    def stored(
        cls, rows: Iterable[Mapping[str, Any]], texts: Sequence[str], *, mirrored: bool, begins: int = 0
    ) -> "Quotations":
        """Read a score's quotations; those outside the shown texts are left out. `begins`: start of the shown part."""
        found = []
        for row in rows:
            pane = letter_of(str(row.get("response", "a")), mirrored=mirrored)
            start, end = row["start"] - begins, row["end"] - begins
            if PANES.index(pane) < len(texts) and 0 <= start < end <= len(texts[PANES.index(pane)]):
                found.append(Quotation(pane, start, end))
        return cls(tuple(found), tuple(texts))

    def as_stored(self, *, mirrored: bool, begins: int = 0) -> tuple[dict[str, Any], ...]:
        """Rows for Score.evidence, counted from the beginning of the whole response."""
        return tuple(
            {
                "response": letter_of(piece.pane, mirrored=mirrored),
                "start": piece.start + begins,
                "end": piece.end + begins,
            }
            for piece in self.pieces
        )

    def written(self) -> str:
        """The value of the form's field; '' without quotations."""
        rows = []
        for piece in self.pieces:
            try:
                start, end = text_map(self.texts[PANES.index(piece.pane)]).shown_span(piece.start, piece.end)
            except NotInText:
                continue
            rows.append({"pane": piece.pane, "start": start, "end": end})
        return json.dumps(rows) if rows else ""

    def quoted(self) -> tuple[str, ...]:
        """The quoted words as written in the source."""
        return tuple(self.texts[PANES.index(piece.pane)][piece.start : piece.end] for piece in self.pieces)


def _located(piece: Mapping[str, Any], texts: Sequence[str]) -> Quotation:
    pane, start, end = piece["pane"], piece["start"], piece["end"]
    if not isinstance(start, int) or not isinstance(end, int):
        raise TypeError("positions are whole numbers")
    return Quotation(pane, *text_map(texts[PANES.index(pane)]).source_span(start, end))
