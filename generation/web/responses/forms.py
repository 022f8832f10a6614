"""The form that starts a generation run."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext, gettext_lazy as _

from core.web.row_choices import RowsField
from generation.llm.protocol.prices import MOST_COUNTED
from generation.llm.protocol.wrapping import LENGTHS
from generation.models import MAIN_EXPERIMENT, Category, LanguageModel
from generation.responses.plan import EXPERIMENTS, NEW_TOKENS, Prefill
from generation.web.run_controls import BudgetForm

MOST_TAGS = 20
"""More tags than these are no versions to choose from, and are not offered."""
PREFILLS = [
    (Prefill.CONTINUE.value, _("Have the model continue it")),
    (Prefill.TURN.value, _("Send it as the assistant's turn")),
    (Prefill.OFF.value, _("Leave it off")),
]


def experiment_label(key: str) -> str:
    """What an experiment is called on a page."""
    if key == MAIN_EXPERIMENT:
        return gettext("As stated in each instruction")
    if key not in LENGTHS:
        return key.replace("_", " ")
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
        error_messages={"required": _("Choose at least one model.")},
    )
    samples = forms.IntegerField(label=_("Responses per model and instruction"), min_value=1, max_value=100, initial=1)
    limit = forms.IntegerField(
        label=_("Maximum number of instructions"),
        help_text=_("Leave empty to use all instructions."),
        min_value=1,
        max_value=MOST_COUNTED,
        required=False,
    )
    categories = forms.MultipleChoiceField(
        label=_("Categories to include"),
        help_text=_("If you choose none, all categories are used."),
        widget=forms.CheckboxSelectMultiple,
        required=False,
    )
    tags = forms.MultipleChoiceField(
        label=_("Tags to include"),
        help_text=_("If you choose none, instructions with any tag are used."),
        widget=forms.CheckboxSelectMultiple,
        required=False,
    )
    experiment = forms.ChoiceField(label=_("Requested length"), initial=MAIN_EXPERIMENT)
    temperature = forms.FloatField(label=_("Temperature"), help_text=_("0 decodes greedily."), min_value=0, max_value=2)
    max_tokens = forms.IntegerField(
        label=_("Maximum new tokens"),
        help_text=_("If a model allows fewer tokens, the call requests fewer."),
        min_value=1,
        max_value=1_000_000,
        initial=NEW_TOKENS,
    )
    prefill = forms.TypedChoiceField(
        label=_("First line of the answer"),
        help_text=_("Where an instruction gives it. Servers of vLLM can continue it; some services continue a turn."),
        choices=PREFILLS,
        coerce=Prefill,
        empty_value=Prefill.CONTINUE,
        initial=Prefill.CONTINUE,
        required=False,
    )
    batch = forms.BooleanField(
        label=_("Use the batch API"),
        help_text=_("If the endpoint has a batch API, the run costs less and finishes within a day."),
        required=False,
    )
    field_order = [
        "models",
        "samples",
        "categories",
        "tags",
        "limit",
        "experiment",
        "temperature",
        "max_tokens",
        "prefill",
        "batch",
    ]

    def __init__(
        self,
        *args: Any,
        models: "QuerySet[LanguageModel]",
        categories: "QuerySet[Category]",
        tags: Sequence[str] = (),
        with_prefill: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        if 1 < len(tags) <= MOST_TAGS:
            of_tags = self.fields["tags"]
            assert isinstance(of_tags, forms.MultipleChoiceField)
            of_tags.choices = [(tag, tag) for tag in tags]
        else:
            del self.fields["tags"]
        if not with_prefill:
            del self.fields["prefill"]
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
