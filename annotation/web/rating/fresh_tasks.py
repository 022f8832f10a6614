"""The rating page of a task without entries, composed of parts that many tasks share.

Apart from a few values, everything around the texts and questions is the same for all tasks of a study. It is rendered
once with marks in place of the values and then cached; a task only fills in its own values.
"""

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import SimpleNamespace

from django.template.loader import render_to_string
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

from annotation.texts.rendering import RenderedText
from annotation.web.rating.forms import SkipForm
from annotation.web.rating.response_panes import LONG_INSTRUCTION

TEMPLATE = "annotation/rate.html#task"
MOST_KEPT = 256
_MARK = f"mark{secrets.token_hex(8)}"
_MARKED = re.compile(_MARK + r"-(\w+)-")


@dataclass(frozen=True)
class Frame:
    """Everything on the page except what is filled in; two tasks with equal frames share the rendered page.

    `texts` are the instruction, its earlier turns and the hint, without their words; see `framed`.
    """

    study: tuple[str, str, str, str, int | None]
    layout: str
    panes: tuple[tuple[str, str], ...]
    near_duplicates: bool
    headed: str
    single: bool
    one_key: bool
    questions: int
    has_previous: bool
    instruction: RenderedText
    instruction_name: str
    earlier: tuple[tuple[str, RenderedText], ...]
    hint: RenderedText | None


def _mark(name: str) -> SafeString:
    return mark_safe(f"{_MARK}-{name}-")  # nosec B703 # names of our own


def framed(text: RenderedText, name: str) -> RenderedText:
    """Return the text with a mark in place of its blocks; of its length, only whether it is long remains."""
    blocks = (_mark(name),) if text.blocks else ()
    words = LONG_INSTRUCTION + 1 if text.words > LONG_INSTRUCTION else 0
    return replace(text, blocks=blocks, starts=(), outline=(), words=words, minutes=0.0)


@lru_cache(maxsize=MOST_KEPT)
def _pieces(frame: Frame, _language: str) -> tuple[str, ...]:
    """Return the page in pieces; every second piece is the name of the value that belongs there."""
    name, workspace, slug, kind, guideline = frame.study
    panes = [SimpleNamespace(letter=letter, name=called) for letter, called in frame.panes]
    instruction = SimpleNamespace(external_id=frame.instruction_name)
    context = {
        "assignment": SimpleNamespace(
            public_id=_mark("assignment"), task=SimpleNamespace(response_a=SimpleNamespace(instruction=instruction))
        ),
        "study": SimpleNamespace(
            name=name, workspace=SimpleNamespace(slug=workspace), slug=slug, kind=kind, guideline_id=guideline
        ),
        "screen": SimpleNamespace(
            layout=frame.layout,
            panes=panes,
            near_duplicates=frame.near_duplicates,
            headed=frame.headed,
            single=frame.single,
            one_key=frame.one_key,
        ),
        "questions": range(frame.questions),
        "previous": _mark("previous") if frame.has_previous else "",
        "instruction": frame.instruction,
        "earlier": frame.earlier,
        "hint": frame.hint,
        "skip_form": SkipForm(),
    } | {mark: _mark(mark) for mark in ("place", "hours", "panes", "rail", "csrf_token")}
    return tuple(_MARKED.split(render_to_string(TEMPLATE, context)))


def render_fresh(frame: Frame, values: Mapping[str, str]) -> SafeString:
    """Return the page of a task in the active language, with its values given by the names of their marks."""
    pieces = _pieces(frame, get_language() or "")
    own = {name: conditional_escape(value) for name, value in values.items()}
    page = "".join(own[piece] if place % 2 else piece for place, piece in enumerate(pieces))
    return mark_safe(page)  # nosec B703 # pieces of our template, and escaped values
