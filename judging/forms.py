"""What a lead fills in to start a run, or to go on with one."""

from decimal import Decimal
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from generation.models import LanguageModel
from generation.spending import Ceiling


class BudgetForm(forms.Form):
    """The most that a run may spend; empty is no limit."""

    budget_calls = forms.IntegerField(label=_("At most so many calls"), min_value=1, required=False)
    budget_tokens = forms.IntegerField(label=_("At most so many tokens"), min_value=1, required=False)
    budget_money = forms.DecimalField(
        label=_("At most so much money"),
        help_text=_("In the currency of the endpoint's prices."),
        min_value=Decimal("0.000001"),
        max_digits=12,
        decimal_places=6,
        required=False,
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})

    @property
    def ceiling(self) -> Ceiling:
        given = self.cleaned_data
        return Ceiling(given.get("budget_calls"), given.get("budget_tokens"), given.get("budget_money"))


class ServedModelField(forms.ModelChoiceField):  # type: ignore[type-arg]
    def label_from_instance(self, obj: Any) -> str:
        return f"{obj.name} · {obj.endpoint}"


class RunForm(BudgetForm):
    """A model that is served somewhere, how many responses, and the budget."""

    model = ServedModelField(label=_("Model that judges"), queryset=LanguageModel.objects.none())
    limit = forms.IntegerField(
        label=_("At most so many responses"),
        help_text=_("Empty judges all of them."),
        min_value=1,
        required=False,
    )
    field_order = ["model", "limit", "budget_calls", "budget_tokens", "budget_money"]

    def __init__(self, *args: Any, models: "QuerySet[LanguageModel]", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["model"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = models
        field.empty_label = None
