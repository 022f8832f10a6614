"""What the administration accepts in the library's columns of JSON, so that no page meets what it cannot read."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from generation.importers.instructions import PARTS, ROLES


class NamesForm(forms.ModelForm):  # type: ignore[type-arg]
    """A row with its name in every language, and perhaps with other names that files use."""

    def clean_names(self) -> dict[str, str]:
        names = self.cleaned_data["names"] or {}
        if not isinstance(names, dict) or not all(isinstance(text, str) for text in names.values()):
            raise ValidationError(_('Enter the names as a JSON object, such as {"en": "Essays", "zh-hans": "短文"}.'))
        return names

    def clean_aliases(self) -> list[str]:
        return words_in(self.cleaned_data["aliases"])


class InstructionForm(forms.ModelForm):  # type: ignore[type-arg]
    """A chat, the parts that it was put together from, and tags."""

    def clean_messages(self) -> list[dict[str, str]] | None:
        chat = self.cleaned_data["messages"]
        if chat is None:
            return None
        if not isinstance(chat, list) or not all(_is_message(one) for one in chat):
            raise ValidationError(
                _('Enter the messages as a JSON list, such as [{"role": "user", "content": "Write a story."}].')
            )
        return chat

    def clean_parts(self) -> dict[str, Any] | None:
        parts = self.cleaned_data["parts"]
        if parts is None:
            return None
        kinds = dict(zip(PARTS, (str, str, list), strict=True))
        if not isinstance(parts, dict) or not all(isinstance(parts.get(name), kind) for name, kind in kinds.items()):
            raise ValidationError(
                _('Enter the parts as a JSON object, such as {"task": "...", "data": "...", "requirements": ["..."]}.')
            )
        return parts

    def clean_tags(self) -> list[str]:
        return words_in(self.cleaned_data["tags"])


def _is_message(one: object) -> bool:
    return isinstance(one, dict) and one.get("role") in ROLES and isinstance(one.get("content"), str)


def words_in(given: object) -> list[str]:
    """A list of texts. Raises ValidationError."""
    if not given:
        return []
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        raise ValidationError(_('Enter a JSON list of texts, such as ["one", "two"].'))
    return given
