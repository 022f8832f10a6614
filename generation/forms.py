"""What a lead fills in: an endpoint, a model, a generation run, and its budget."""

from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import QueryDict
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.models import Workspace
from accounts.row_choices import RowsField
from generation.models import MAIN_EXPERIMENT, Category, Endpoint, LanguageModel
from generation.sampling import EXPERIMENTS, NEW_TOKENS
from generation.serving import ServingRefused, checked_base_url, checked_key_variable
from generation.spending import MOST_COUNTED, Ceiling
from generation.wrapping import LENGTHS

KEY_REFUSED = _(
    "This looks like a key, or is no name of a variable of an endpoint's. Keys are never stored here: set a variable "
    "such as OPENAI_API_KEY where the server and its workers start, and give its name."
)
ADDRESS_REFUSED = _(
    "The address must be like http://127.0.0.1:8000/v1 or https://api.openai.com/v1, with no password in it."
)


class KeyNameForm(forms.ModelForm):  # type: ignore[type-arg]
    """A form with the name of a key's variable, which refuses what may be a key and does not repeat it."""

    def clean_key_variable(self) -> str:
        try:
            return checked_key_variable(str(self.cleaned_data["key_variable"]))
        except ServingRefused as error:
            self.data = {**self.data.dict(), "key_variable": ""} if isinstance(self.data, QueryDict) else {}
            raise ValidationError(KEY_REFUSED) from error


class EndpointForm(KeyNameForm):
    """An address, the name of its key's variable, limits and prices."""

    class Meta:
        model = Endpoint
        fields = [
            "workspace",
            "name",
            "kind",
            "base_url",
            "key_variable",
            "max_concurrent",
            "requests_per_minute",
            "tokens_per_minute",
            "timeout_seconds",
            "context_tokens",
            "input_price",
            "output_price",
        ]
        labels = {
            "workspace": _("Workspace"),
            "name": _("Name"),
            "kind": _("Kind"),
            "base_url": _("Address"),
            "key_variable": _("Variable that holds the key"),
            "max_concurrent": _("Calls at once"),
            "requests_per_minute": _("Calls a minute"),
            "tokens_per_minute": _("Tokens a minute"),
            "timeout_seconds": _("Seconds to wait for a reply"),
            "context_tokens": _("Tokens of prompt and answer together"),
            "input_price": _("Price of a million tokens read"),
            "output_price": _("Price of a million tokens written"),
        }
        help_texts = {
            "base_url": _(
                "Such as http://127.0.0.1:8000/v1; empty for vLLM in process and for scripted replies."
            ),
            "key_variable": _(
                "The name of an environment variable, such as OPENAI_API_KEY; never the key itself."
            ),
            "requests_per_minute": _("Empty is no limit."),
            "tokens_per_minute": _("Empty is no limit."),
            "context_tokens": _("Empty: what the test finds."),
            "input_price": "",
            "output_price": "",
        }

    def __init__(self, *args: Any, workspaces: "QuerySet[Workspace]", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _offer(self, workspaces)

    def clean_base_url(self) -> str:
        address = str(self.cleaned_data["base_url"])
        if not address:
            return ""
        try:
            return checked_base_url(address)
        except ServingRefused as error:
            raise ValidationError(ADDRESS_REFUSED) from error

    def clean_max_concurrent(self) -> int:
        given = int(self.cleaned_data["max_concurrent"])
        if given < 1:
            raise ValidationError(_("At least one call must be allowed."))
        return given

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        if (
            given.get("kind") == Endpoint.Kind.OPENAI
            and not given.get("base_url")
            and "base_url" not in self.errors
        ):
            self.add_error("base_url", ADDRESS_REFUSED)
        return given


class ModelForm(forms.ModelForm):  # type: ignore[type-arg]
    """A model: its name in tables, what its endpoint calls it, its own parameters."""

    class Meta:
        model = LanguageModel
        fields = [
            "workspace",
            "name",
            "endpoint",
            "served_name",
            "family",
            "billions_of_parameters",
            "parameters",
            "fictional",
        ]
        labels = {
            "workspace": _("Workspace"),
            "name": _("Name"),
            "endpoint": _("Endpoint"),
            "served_name": _("Name at the endpoint"),
            "family": _("Family"),
            "billions_of_parameters": _("Billions of parameters"),
            "parameters": _("Its own sampling parameters"),
            "fictional": _("A model that does not exist, for a demonstration"),
        }
        help_texts = {
            "endpoint": _("Empty for a model whose responses are only imported."),
            "served_name": _("Where it differs; for vLLM in process the folder or name that vLLM loads."),
            "parameters": _(
                'As JSON, such as {"max_tokens": 4096, "top_p": 0.9}; null leaves a default out.'
            ),
        }

    def __init__(self, *args: Any, workspaces: "QuerySet[Workspace]", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        _offer(self, workspaces)
        field = self.fields["endpoint"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = Endpoint.objects.filter(workspace__in=workspaces)
        self.fields["parameters"].widget.attrs.update({"rows": 3, "spellcheck": "false"})

    def clean_parameters(self) -> dict[str, Any]:
        given = self.cleaned_data["parameters"] or {}
        if not isinstance(given, dict):
            raise ValidationError(_("Parameters are a JSON object: names in quotes, each with its value."))
        return given

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        endpoint, workspace = given.get("endpoint"), given.get("workspace")
        if endpoint and workspace and endpoint.workspace_id != workspace.pk:
            self.add_error("endpoint", _("The endpoint belongs to another workspace."))
        return given


def _offer(form: "forms.ModelForm[Any]", workspaces: "QuerySet[Workspace]") -> None:
    """The workspaces to choose from; no choice is shown where there is one, and none once the row exists."""
    field = form.fields["workspace"]
    assert isinstance(field, forms.ModelChoiceField)
    field.queryset = workspaces
    field.empty_label = None
    if form.instance.pk:
        field.disabled = True
        field.widget = forms.HiddenInput()
    elif workspaces.count() == 1:
        field.initial = workspaces.get()
        field.disabled = True
        field.widget = forms.HiddenInput()


class BudgetForm(forms.Form):
    """The most that a run may spend; empty is no limit."""

    budget_calls = forms.IntegerField(
        label=_("At most so many calls"), min_value=1, max_value=MOST_COUNTED, required=False
    )
    budget_tokens = forms.IntegerField(
        label=_("At most so many tokens"), min_value=1, max_value=MOST_COUNTED, required=False
    )
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
        label=_("Models"), queryset=LanguageModel.objects.none(), widget=forms.CheckboxSelectMultiple
    )
    samples = forms.IntegerField(
        label=_("Responses of each model to each instruction"), min_value=1, max_value=100, initial=1
    )
    limit = forms.IntegerField(
        label=_("At most so many instructions"),
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
    field_order = [
        "models",
        "samples",
        "categories",
        "limit",
        "experiment",
        "temperature",
        "max_tokens",
        "batch",
    ]

    def __init__(
        self,
        *args: Any,
        models: "QuerySet[LanguageModel]",
        categories: "QuerySet[Category]",
        **kwargs: Any,
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
