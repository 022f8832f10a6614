"""The rules of a curation as a form, and what its reasons are called on the page."""

import re
from typing import Any

from django import forms
from django.utils.translation import gettext, gettext_lazy as _

from core.errors import UserError
from core.messages.rendering import for_reader
from core.tables.bad_rows import Place
from generation.curation.curating import DEFAULT_TAG, checked_tag
from generation.curation.rules.filters import CurationRules, Reason
from generation.importers.instructions import LONGEST_KEY, language_code

USUAL = CurationRules()
LONGEST_LIST = 500
LEVELS = [
    (0, _("Keep all")),
    (2, _("Very easy")),
    (3, _("Easy or very easy")),
    (4, _("Medium or easier")),
    (5, _("Hard or easier")),
]
REASONS = {
    Reason.PERSON: _("Dropped by a person"),
    Reason.TEXT: _("No text"),
    Reason.LANGUAGE: _("Other language"),
    Reason.SHORT: _("Too short"),
    Reason.LONG: _("Too long"),
    Reason.TURNS: _("Too many turns"),
    Reason.TAG: _("Unwanted tag"),
    Reason.USER: _("Earlier conversation of the same user"),
    Reason.EASY: _("Easy"),
    Reason.DUPLICATE: _("Near-duplicate"),
}


class CurationForm(forms.Form):
    """What passes; the values of a page without any are those of WildBench where it has one."""

    shortest = forms.IntegerField(
        label=_("Minimum words"), help_text=_("Of all that the user says."), min_value=0, max_value=1_000_000
    )
    longest = forms.IntegerField(
        label=_("Maximum words"), help_text=_("0 means no limit."), min_value=0, max_value=10_000_000
    )
    most_turns = forms.IntegerField(
        label=_("Maximum messages of the user"), help_text=_("0 means no limit."), min_value=0, max_value=10_000
    )
    languages = forms.CharField(
        label=_("Languages"),
        help_text=_("Codes such as en, with commas between. Empty means all."),
        max_length=LONGEST_LIST,
        required=False,
    )
    without_tags = forms.CharField(
        label=_("Tags to leave out"), help_text=_("With commas between."), max_length=LONGEST_LIST, required=False
    )
    last_of_user = forms.BooleanField(label=_("Keep only the last conversation of each user"), required=False)
    difficulty = forms.TypedChoiceField(label=_("Leave out what all ratings call"), choices=LEVELS, coerce=int)
    similarity = forms.FloatField(
        label=_("Near-duplicates from a similarity of"),
        help_text=_("The share of common word sequences, from 0 to 1. The earlier instruction stays. 0 keeps all."),
        min_value=0,
        max_value=1,
        widget=forms.NumberInput(attrs={"step": "0.01"}),
    )
    tag = forms.CharField(label=_("Tag of the instructions that stay"), max_length=LONGEST_KEY)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})

    def clean_languages(self) -> tuple[str, ...]:
        try:
            return tuple(language_code(Place("", 0), one) for one in _listed(self.cleaned_data["languages"]))
        except UserError as error:
            raise forms.ValidationError(gettext("Enter codes such as en or zh-hans.")) from error

    def clean_without_tags(self) -> tuple[str, ...]:
        return _listed(self.cleaned_data["without_tags"])

    def clean_tag(self) -> str:
        try:
            return checked_tag(self.cleaned_data["tag"])
        except UserError as error:
            raise forms.ValidationError(for_reader(error)) from error

    @property
    def rules(self) -> CurationRules:
        """The rules of a valid form."""
        return CurationRules(**{name: value for name, value in self.cleaned_data.items() if name != "tag"})


def usual_values() -> dict[str, Any]:
    """The values of the form when the page is opened, as they stand in an address."""
    values = {name: getattr(USUAL, name) for name in CurationForm.base_fields if name != "tag"}
    return {**values, "languages": "", "without_tags": "", "last_of_user": "on", "tag": DEFAULT_TAG}


def _listed(text: str) -> tuple[str, ...]:
    return tuple(word for part in re.split("[,，;；]", text) if (word := part.strip()))
