"""Texts that live in data, kept in every language of the interface: {"en": ..., "zh-hans": ...}."""

from collections.abc import Mapping

from django.utils.translation import get_language


def localized(texts: Mapping[str, str], language: str | None = None) -> str:
    """The text in `language` (the active one unless given), else English, else whichever there is, else ''."""
    wanted = language or get_language() or "en"
    for key in (wanted, wanted.split("-")[0], "en"):
        if texts.get(key):
            return texts[key]
    return next((text for text in texts.values() if text), "")
