"""The responses of a rating page as HTML, with how far the rater has read."""

from functools import lru_cache

from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

from annotation.models import Draft
from annotation.web.rating.screens import Screen, panes_of

MOST_KEPT = 64


def render_panes(screen: Screen, draft: Draft | None = None) -> SafeString:
    """The panes in the order shown, in the active language."""
    places = (draft.paragraph, draft.paragraph_b) if draft is not None else (0, 0)
    return _render(screen.shown.texts, screen.layout, screen.part, places, get_language() or "")


@lru_cache(maxsize=MOST_KEPT)
def _render(texts: tuple[str, ...], layout: str, part: str, places: tuple[int, int], _language: str) -> SafeString:
    shown = {"layout": layout, "part": part}
    parts = (
        render_to_string("annotation/_pane.html", {"pane": pane, "screen": shown, "paragraph": place})
        for pane, place in zip(panes_of(texts), places, strict=False)
    )
    return mark_safe("".join(parts))  # nosec B703 # rendered by templates
