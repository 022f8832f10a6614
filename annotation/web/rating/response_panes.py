"""The responses of a rating page as HTML, with how far the rater has read."""

from functools import lru_cache

from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

from annotation.models import Draft
from annotation.web.rating.screens import Screen, panes_of

MOST_KEPT = 64
LONG_INSTRUCTION = 200
"""Words above which an instruction stands beside the response where there is room; elsewhere a link skips it."""


def render_panes(screen: Screen, draft: Draft | None = None, *, instruction_words: int = 0) -> SafeString:
    """The panes in the order shown, in the active language.

    The response to a long instruction stands beside it and scrolls by itself, so the keyboard must reach it.
    """
    places = (draft.paragraph, draft.paragraph_b) if draft is not None else (0, 0)
    scrolls = screen.layout == "pair" or instruction_words > LONG_INSTRUCTION
    return _render(screen.shown.texts, screen.layout, screen.part, places, scrolls, get_language() or "")


@lru_cache(maxsize=MOST_KEPT)
def _render(
    texts: tuple[str, ...], layout: str, part: str, places: tuple[int, int], scrolls: bool, _language: str
) -> SafeString:
    shown = {"layout": layout, "part": part, "scrolls": scrolls}
    parts = (
        render_to_string("annotation/_pane.html", {"pane": pane, "screen": shown, "paragraph": place})
        for pane, place in zip(panes_of(texts), places, strict=False)
    )
    return mark_safe("".join(parts))  # nosec B703 # rendered by templates
