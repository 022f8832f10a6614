"""Texts that a lead writes in several languages: their fields, and the form of a guideline."""

from typing import Any

from django import forms
from django.utils.translation import gettext as _, gettext_lazy


def texts_of(data: dict[str, Any], stem: str) -> dict[str, str]:
    """The texts entered as <stem>_en and <stem>_zh, by language, without empty ones."""
    pairs = (("en", data.get(f"{stem}_en", "")), ("zh-hans", data.get(f"{stem}_zh", "")))
    return {language: text.strip() for language, text in pairs if text and text.strip()}


def text_field(label: Any, help_text: Any = "", rows: int = 4) -> forms.CharField:
    """Return the field of a long text, of at most 20,000 characters."""
    widget = forms.Textarea(attrs={"rows": rows})
    return forms.CharField(max_length=20_000, required=False, widget=widget, label=label, help_text=help_text)


class GuidelineForm(forms.Form):
    """A guideline's text in each language. It is saved as a new version."""

    text_en = text_field(gettext_lazy("English"), rows=18)
    text_zh = text_field(gettext_lazy("Chinese"), rows=18)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if not texts_of(data, "text"):
            self.add_error("text_en", _("Write the guideline in at least one language."))
        return data

    def texts(self) -> dict[str, str]:
        return texts_of(self.cleaned_data, "text")
