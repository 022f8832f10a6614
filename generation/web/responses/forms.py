"""The form that starts a generation run."""

from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext, gettext_lazy as _

from core.web.row_choices import RowsField
from generation.llm.protocol.prices import MOST_COUNTED
from generation.llm.protocol.wrapping import LENGTHS
from generation.models import MAIN_EXPERIMENT, Category, LanguageModel
from generation.responses.plan import EXPERIMENTS, NEW_TOKENS
from generation.web.run_controls import BudgetForm


def experiment_label(key: str) -> str:
    """What an experiment is called on a page."""
    if key == MAIN_EXPERIMENT:
        return gettext("As the instructions stand")
    return gettext("At least %(words)s words") % {"words": f"{LENGTHS[key]:,}"}


class ServedModels(RowsField):
    def label_from_instance(self, obj: Any) -> str:
        return f"{obj.name} · {obj.endpoint}"


class GenerationForm(BudgetForm):
    """Which models write, how often, for which length, with which parameters, within which budget."""

    models = ServedModels(
        label=_("Models"),
        queryset=LanguageModel.objects.none(),
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": _("Tick at least one model.")},
    )
    samples = forms.IntegerField(
        label=_("Responses of each model to each instruction"), min_value=1, max_value=100, initial=1
    )
    limit = forms.IntegerField(
        label=_("Maximum number of instructions"),
        help_text=_("Empty takes all."),
        min_value=1,
        max_value=MOST_COUNTED,
        required=False,
    )
    categories = forms.MultipleChoiceField(
        label=_("Only these categories"),
        help_text=_("None ticked takes all."),
        widget=forms.CheckboxSelectMultiple,
        required=False,
    )
    experiment = forms.ChoiceField(label=_("Length asked for"), initial=MAIN_EXPERIMENT)
    temperature = forms.FloatField(label=_("Temperature"), min_value=0, max_value=2)
    max_tokens = forms.IntegerField(
        label=_("Most new tokens"),
        help_text=_("Less where a model allows less."),
        min_value=1,
        max_value=1_000_000,
        initial=NEW_TOKENS,
    )
    batch = forms.BooleanField(
        label=_("Through the batch API"),
        help_text=_("Cheaper where the endpoint has one, and done within a day."),
        required=False,
    )
    field_order = ["models", "samples", "categories", "limit", "experiment", "temperature", "max_tokens", "batch"]

    def __init__(
        self, *args: Any, models: "QuerySet[LanguageModel]", categories: "QuerySet[Category]", **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        choices, experiment = self.fields["models"], self.fields["experiment"]
        offered = [(one.key, one.name) for one in categories]
        if len(offered) > 1:
            kinds = self.fields["categories"]
            assert isinstance(kinds, forms.MultipleChoiceField)
            kinds.choices = offered
        else:
            del self.fields["categories"]
        assert isinstance(choices, forms.ModelMultipleChoiceField)
        assert isinstance(experiment, forms.ChoiceField)
        choices.queryset = models
        experiment.choices = [(key, experiment_label(key)) for key in EXPERIMENTS]
