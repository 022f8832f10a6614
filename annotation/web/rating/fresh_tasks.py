"""The rating page of a task in which nothing is entered yet, put together from parts that many tasks share.

What surrounds the texts and the questions is the same for all tasks of a study but for a few values. It is rendered
once, with marks in their places, and kept; a task then costs the filling in of its own.
"""

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

from django.template.loader import render_to_string
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

from annotation.texts.rendering import RenderedText
from annotation.web.rating.forms import SkipForm

TEMPLATE = "annotation/rate.html#task"
MOST_KEPT = 256
LONG_INSTRUCTION = 200
"""Words from which on an instruction offers a way past itself."""
_MARK = f"mark{secrets.token_hex(8)}"
_MARKED = re.compile(_MARK + r"-(\w+)-")


@dataclass(frozen=True)
class Frame:
    """All that the page shows beside what is filled in; two tasks with the same share what is rendered.

    `texts` are the instruction, its earlier turns and the hint, each without its own words: see `framed`.
    """

    study: tuple[str, str, str, int | None]
    layout: str
    panes: tuple[tuple[str, str], ...]
    near_duplicates: bool
    headed: str
    questions: int
    quota: Any
    has_previous: bool
    instruction: RenderedText
    instruction_name: str
    earlier: tuple[tuple[str, RenderedText], ...]
    hint: RenderedText | None


def _mark(name: str) -> SafeString:
    return mark_safe(f"{_MARK}-{name}-")


def framed(text: RenderedText, name: str) -> RenderedText:
    """The text with a mark for its blocks, and of its length only what the page shows of it."""
    blocks = (_mark(name),) if text.blocks else ()
    words = LONG_INSTRUCTION + 1 if text.words > LONG_INSTRUCTION else 0
    return replace(text, blocks=blocks, starts=(), outline=(), words=words, minutes=0.0)


@lru_cache(maxsize=MOST_KEPT)
def _pieces(frame: Frame, _language: str) -> tuple[str, ...]:
    """The page in pieces: every second one is the name of what belongs there."""
    name, slug, kind, guideline = frame.study
    panes = [SimpleNamespace(letter=letter, name=called) for letter, called in frame.panes]
    instruction = SimpleNamespace(external_id=frame.instruction_name)
    context = {
        "assignment": SimpleNamespace(
            public_id=_mark("assignment"), task=SimpleNamespace(response_a=SimpleNamespace(instruction=instruction))
        ),
        "study": SimpleNamespace(name=name, slug=slug, kind=kind, guideline_id=guideline),
        "screen": SimpleNamespace(
            layout=frame.layout, panes=panes, near_duplicates=frame.near_duplicates, headed=frame.headed
        ),
        "questions": range(frame.questions),
        "quota": frame.quota,
        "previous": _mark("previous") if frame.has_previous else "",
        "instruction": frame.instruction,
        "earlier": frame.earlier,
        "hint": frame.hint,
        "skip_form": SkipForm(),
    } | {mark: _mark(mark) for mark in ("submitted", "panes", "rail", "csrf_token")}
    return tuple(_MARKED.split(render_to_string(TEMPLATE, context)))


def render_fresh(frame: Frame, values: Mapping[str, str]) -> SafeString:
    """The page of a task with its own values, by the names of their marks, in the active language."""
    pieces = _pieces(frame, get_language() or "")
    own = {name: conditional_escape(value) for name, value in values.items()}
    return mark_safe("".join(own[piece] if place % 2 else piece for place, piece in enumerate(pieces)))
