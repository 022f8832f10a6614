"""What a lead asks of a list of bonuses, and the cap of the study."""

from decimal import Decimal
from typing import Any

from django import forms
from django.utils.translation import gettext as _, gettext_lazy

from annotation.bonuses.proposals import BonusRequest
from annotation.bonuses.record import Basis
from core.text import storable

LONGEST_TEXT = 200_000
"""Characters of a list of amounts."""


def in_minor_units(amount: Decimal) -> int:
    """Return an amount of major units with at most two decimals in minor units."""
    return int(amount.scaleb(2))


class CapForm(forms.Form):
    """The most that the study may send."""

    cap = forms.DecimalField(
        min_value=Decimal(0), max_digits=11, decimal_places=2, label=gettext_lazy("Cap on bonuses of this study")
    )


class BonusForm(forms.Form):
    """The list: amounts that the lead gives, or a rule with its numbers."""

    purpose = forms.CharField(
        max_length=100,
        label=gettext_lazy("What the bonus is for"),
        help_text=gettext_lazy("Raters find it in their own data. Nobody gets two given amounts for one purpose."),
    )
    basis = forms.ChoiceField(choices=Basis.choices, initial=Basis.GIVEN, label=gettext_lazy("Amounts"))
    amounts = forms.CharField(
        required=False,
        max_length=LONGEST_TEXT,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 6}),
        label=gettext_lazy("Raters and amounts, one per line"),
        help_text=gettext_lazy(
            "For example R1,1.50. Name raters as this study does, or by their participant or submission ID at Prolific."
        ),
    )
    file = forms.FileField(
        required=False,
        label=gettext_lazy("Or a CSV file of them"),
        help_text=gettext_lazy("It may have a heading with “rater” and “amount”."),
        widget=forms.FileInput(attrs={"accept": ".csv,.txt,.tsv"}),
    )
    above = forms.IntegerField(
        required=False, min_value=0, max_value=1_000_000, label=gettext_lazy("Answers without bonus")
    )
    each = forms.DecimalField(
        required=False,
        min_value=Decimal(0),
        max_digits=6,
        decimal_places=2,
        label=gettext_lazy("Bonus for each answer above"),
    )
    fewest = forms.IntegerField(
        required=False, min_value=1, max_value=1_000_000, label=gettext_lazy("Quality checks answered, at least")
    )
    percent = forms.IntegerField(
        required=False, min_value=0, max_value=100, label=gettext_lazy("Percent of them passed, at least")
    )
    amount = forms.DecimalField(
        required=False, min_value=Decimal(0), max_digits=6, decimal_places=2, label=gettext_lazy("Bonus for each rater")
    )
    with_unknown = forms.BooleanField(
        required=False,
        label=gettext_lazy("Include participants for whom Prolific shows bonuses that this record does not know"),
    )

    def clean_purpose(self) -> str:
        return " ".join(str(storable(self.cleaned_data["purpose"])).split())

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        needed = {Basis.ANSWERS: ("above", "each"), Basis.CHECKS: ("fewest", "percent", "amount")}
        for name in needed.get(data.get("basis", ""), ()):
            if data.get(name) is None and name not in self.errors:
                self.add_error(name, _("Enter a number for this rule."))
        if data.get("basis") == Basis.GIVEN and (file := data.get("file")):
            text = self._text_of(file.read(LONGEST_TEXT + 1))
            if text is not None:
                data["amounts"] = text
        return data

    def _text_of(self, content: bytes) -> str | None:
        if len(content) > LONGEST_TEXT:
            self.add_error("file", _("The file is too long. Divide it."))
            return None
        try:
            return str(storable(content.decode("utf-8-sig")))
        except UnicodeDecodeError:
            self.add_error("file", _("The file is not text in UTF-8. Save it as CSV UTF-8 and choose it again."))
            return None

    def asked(self) -> BonusRequest:
        """What the valid form asks for."""
        data = self.cleaned_data
        return BonusRequest(
            basis=data["basis"],
            purpose=data["purpose"],
            text=str(storable(data["amounts"])) if data["basis"] == Basis.GIVEN else "",
            above=data["above"] or 0,
            each_minor=in_minor_units(data["each"] or Decimal(0)),
            fewest=data["fewest"] or 1,
            percent=data["percent"] or 0,
            amount_minor=in_minor_units(data["amount"] or Decimal(0)),
            with_unknown=data["with_unknown"],
        )

    def again(self) -> dict[str, str]:
        """The fields of the same form, for the second page to send again."""
        data = self.cleaned_data
        names = ("purpose", "basis", "amounts", "above", "each", "fewest", "percent", "amount")
        fields = {name: str(data[name]) for name in names if data[name] not in (None, "")}
        return fields | ({"with_unknown": "on"} if data["with_unknown"] else {})
