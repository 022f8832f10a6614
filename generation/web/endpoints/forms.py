"""What a lead fills in to say where models are served: an endpoint, and a model."""

import json
from typing import Any, ClassVar

from django import forms
from django.conf import settings
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import transaction
from django.db.models import QuerySet
from django.http import QueryDict
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _

from accounts.models import Workspace
from core.errors import UserError
from core.messages.rendering import for_reader
from core.text import storable
from generation.endpoints.grants import ADDRESS_REFUSED, callable_reach, end_grants, why_no_key, why_not_loaded
from generation.endpoints.registration import ServingRefused, checked_base_url, checked_key_variable
from generation.llm.errors import HostNotAllowed
from generation.llm.in_process import checked_engine
from generation.llm.scripted import read_script
from generation.models import Endpoint, LanguageModel

LARGEST_WHOLE = 2**31 - 1  # what every database keeps
LIMITS = ("max_concurrent", "requests_per_minute", "tokens_per_minute", "timeout_seconds", "context_tokens")
PRICES = ("input_price", "output_price")
SENT_BY_US = ("model", "messages", "stream", "stream_options", "response_format", "n")
NEW_TOKENS = ("max_tokens", "max_completion_tokens")
NAME_TAKEN = {NON_FIELD_ERRORS: {"unique_together": _("This name is already taken. Choose another name.")}}

KEY_REFUSED = _(
    "This looks like a key, or it is not the name of a variable that can hold an endpoint's key. "
    "Plumbline never stores keys. Set an environment variable such as OPENAI_API_KEY where the "
    "server and its workers start, and enter its name."
)
PARAMETERS_REFUSED = _("Enter the parameters as a JSON object: names in quotation marks, each with its value.")


class KeyNameForm(forms.ModelForm):  # type: ignore[type-arg]
    """A form with an address and the name of a key's variable, which refuses what the operator does not allow.

    What may be a key is refused and not repeated. The limits are at least 1, the prices at least 0. `dropped_key` is the
    variable that went because the address was changed and nobody named one for the new address, '' for none.
    """

    dropped_key = ""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in LIMITS:
            _keep_between(self.fields[name], 1, LARGEST_WHOLE)
        for name in PRICES:
            _keep_between(self.fields[name], 0, None)

    def clean_key_variable(self) -> str:
        try:
            return checked_key_variable(str(self.cleaned_data["key_variable"]))
        except ServingRefused as error:
            self.data = {**self.data.dict(), "key_variable": ""} if isinstance(self.data, QueryDict) else {}
            raise ValidationError(KEY_REFUSED) from error

    def clean_base_url(self) -> str:
        address = str(self.cleaned_data["base_url"])
        if not address:
            return ""
        try:
            return checked_base_url(address)
        except ServingRefused as error:
            raise ValidationError(for_reader(error)) from error

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        if given.get("kind") in (Endpoint.Kind.IN_PROCESS, Endpoint.Kind.SCRIPTED):
            given.update(base_url="", key_variable="")
        elif "base_url" not in self.errors and not given.get("base_url"):
            self.add_error("base_url", for_reader(ADDRESS_REFUSED))
        elif not {"base_url", "key_variable", "workspace"} & set(self.errors):
            self._drop_key(given)
            self._ask_operator(given)
        return given

    def _drop_key(self, given: dict[str, Any]) -> None:
        """A key belongs to its address: it goes with it unless another is named at the same time."""
        known = self.instance
        moved = bool(known.pk) and known.base_url != given["base_url"]
        if moved and known.key_variable and given["key_variable"] == known.key_variable:
            self.dropped_key = known.key_variable
            given["key_variable"] = ""

    def _ask_operator(self, given: dict[str, Any]) -> None:
        """Whether the settings or a grant allow the address and the key."""
        wanted = Endpoint(
            pk=self.instance.pk,
            workspace=given.get("workspace") or self.instance.workspace,
            base_url=given["base_url"],
            key_variable=given["key_variable"],
        )
        try:
            callable_reach(wanted)
        except HostNotAllowed as error:
            self.add_error("base_url", for_reader(error))
        if refusal := why_no_key(wanted):
            self.add_error("key_variable", for_reader(refusal))

    def save(self, commit: bool = True) -> Any:
        """Ends the grants of an address that is given up; the administration saves the row later by itself."""
        with transaction.atomic():
            made = super().save(commit)
            if made.pk:
                end_grants(made)
        return made


def key_dropped(variable: str) -> str:
    """What is said where `dropped_key` is not empty."""
    return gettext(
        "You changed the address, so the key in %(variable)s is no longer sent. To send the key to the "
        "new address, enter the variable again."
    ) % {"variable": variable}


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
            "max_concurrent": _("Concurrent calls"),
            "requests_per_minute": _("Calls per minute"),
            "tokens_per_minute": _("Tokens per minute"),
            "timeout_seconds": _("Timeout (seconds)"),
            "context_tokens": _("Context length (tokens)"),
            "input_price": _("Price per million input tokens"),
            "output_price": _("Price per million output tokens"),
        }
        error_messages = NAME_TAKEN
        help_texts = {
            "base_url": _(
                "For example, http://127.0.0.1:8000/v1. Leave empty for vLLM in process and for scripted replies."
            ),
            "key_variable": _(
                "Enter the name of an environment variable, such as OPENAI_API_KEY, and never the key itself."
            ),
            "requests_per_minute": _("Leave empty for no limit."),
            "tokens_per_minute": _("Leave empty for no limit."),
            "context_tokens": _("Leave empty to use what the server reports for each model."),
            "input_price": "",
            "output_price": "",
        }

    def __init__(self, *args: Any, workspaces: "QuerySet[Workspace]", **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        _offer(self, workspaces)


class ParametersField(forms.JSONField):
    """What is nested too deeply to be read is no JSON; what no page can show again is shown as it was written."""

    def to_python(self, value: Any) -> Any:
        try:
            return super().to_python(value)
        except ValidationError:
            raise
        except (RecursionError, ValueError) as error:  # too many levels, or a number of too many digits
            raise ValidationError(self.error_messages["invalid"], code="invalid") from error

    def bound_data(self, data: Any, initial: Any) -> Any:
        try:
            found = super().bound_data(data, initial)
            json.dumps(found, ensure_ascii=False).encode()
        except (RecursionError, ValueError):
            return forms.fields.InvalidJSONInput(data)
        return found


def checked_parameters(given: object) -> dict[str, Any]:
    """A model's own parameters, without what would fail when it is asked. Raises ValidationError."""
    if not isinstance(given, dict):
        raise ValidationError(PARAMETERS_REFUSED)
    try:
        plain = json.dumps(given, allow_nan=False)
    except ValueError as error:
        raise ValidationError(_("Servers do not accept NaN or Infinity. Enter other numbers.")) from error
    except RecursionError as error:
        raise ValidationError(PARAMETERS_REFUSED) from error
    if "\\u0000" in plain or storable(plain_text := json.dumps(given, ensure_ascii=False)) != plain_text:
        raise ValidationError(_("A text contains a character that databases cannot store. Remove it."))
    for name in (name for name in SENT_BY_US if name in given):
        raise ValidationError(_("Plumbline sets %(name)s itself. Remove it."), params={"name": name})
    for name in (name for name in NEW_TOKENS if given.get(name) is not None):
        if type(given[name]) is not int or given[name] < 1:
            raise ValidationError(
                _("%(name)s must be a whole number of at least 1, without quotation marks."), params={"name": name}
            )
    if not isinstance(given.get("engine", {}), dict) or not isinstance(given.get("script", {}), dict | str):
        raise ValidationError(
            _(
                "The value of engine must be a JSON object. The value of script must be a JSON object or the "
                "name of a file."
            )
        )
    try:
        checked_engine(given.get("engine", {}))
        read_script(given.get("script", {}), settings.SCRIPT_DIR)
    except UserError as error:
        raise ValidationError(for_reader(error)) from error
    return given


class ParametersForm(forms.ModelForm):  # type: ignore[type-arg]
    """A form with a model's own parameters and price, which refuses what would fail when it is asked."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["parameters"].error_messages["invalid"] = PARAMETERS_REFUSED
        for name in PRICES:
            _keep_between(self.fields[name], 0, None)

    def clean_parameters(self) -> dict[str, Any]:
        return checked_parameters(self.cleaned_data["parameters"] or {})

    def clean_currency(self) -> str:
        currency = str(self.cleaned_data["currency"]).upper()
        if currency and not (len(currency) == 3 and currency.isascii() and currency.isalpha()):
            raise ValidationError(_("Enter the three letters of a currency, such as USD."))
        return currency

    def _check_price(self, given: dict[str, Any]) -> None:
        """Both halves of a price are given with one currency for the workspace, or neither is."""
        prices = [given.get(name) for name in PRICES]
        if prices == [None, None]:
            given.update(currency="", priced_on=None)
            return
        for name, price in zip(PRICES, prices, strict=True):
            if price is None and name not in self.errors:
                self.add_error(name, _("Enter both prices, or neither."))
        if not given.get("currency") and "currency" not in self.errors:
            self.add_error("currency", _("Enter the currency of the prices."))
        given["priced_on"] = given.get("priced_on") or timezone.localdate()
        others = LanguageModel.objects.filter(workspace=given.get("workspace") or self.instance.workspace_id)
        others = others.exclude(pk=self.instance.pk)
        used = others.exclude(currency="").values_list("currency", flat=True).first()
        if used and given.get("currency") and given["currency"] != used:
            self.add_error(
                "currency",
                _("The other prices of this workspace are in %(currency)s. Convert the price to %(currency)s.")
                % {"currency": used},
            )

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        self._check_price(given)
        endpoint = given.get("endpoint")
        if endpoint is not None and endpoint.kind == Endpoint.Kind.IN_PROCESS:
            name = given.get("served_name") or given.get("name") or ""
            if refusal := why_not_loaded(endpoint, name):
                self.add_error("served_name", for_reader(refusal))
        return given


class ModelForm(ParametersForm):
    """A model: its name in tables, what its endpoint calls it, its own parameters."""

    class Meta:
        model = LanguageModel
        field_classes: ClassVar = {"parameters": ParametersField}
        fields = [
            "workspace",
            "name",
            "endpoint",
            "served_name",
            "family",
            "billions_of_parameters",
            "parameters",
            "input_price",
            "output_price",
            "currency",
            "priced_on",
            "fictional",
        ]
        widgets: ClassVar = {"priced_on": forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")}
        labels = {
            "workspace": _("Workspace"),
            "name": _("Name"),
            "endpoint": _("Endpoint"),
            "served_name": _("Name at the endpoint"),
            "family": _("Family"),
            "billions_of_parameters": _("Parameters (billions)"),
            "parameters": _("Sampling parameters"),
            "input_price": _("Price per million input tokens"),
            "output_price": _("Price per million output tokens"),
            "currency": _("Currency"),
            "priced_on": _("Price as of"),
            "fictional": _("Fictional model for a demonstration"),
        }
        error_messages = NAME_TAKEN
        help_texts = {
            "endpoint": _("Choose “None” if the model's responses are only imported."),
            "served_name": _(
                "Enter a name if the endpoint uses a different one. For vLLM in process, enter the folder or the "
                "name that vLLM loads."
            ),
            "parameters": _(
                'Enter JSON, such as {"max_tokens": 4096, "top_p": 0.9}. The value null removes a default. For '
                'vLLM in process, you can add {"engine": {"max_model_len": 8192}}; for scripted replies, '
                '{"script": {"writes": 120}}.'
            ),
            "input_price": _("Leave empty to use the price of the endpoint. Enter 0 only if calls cost nothing."),
            "output_price": "",
            "currency": _(
                "Three letters, such as USD. All models of a workspace use one currency, because budgets add up their "
                "costs."
            ),
            "priced_on": _("If you leave this empty, today is entered."),
        }

    def __init__(self, *args: Any, workspaces: "QuerySet[Workspace]", **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        _offer(self, workspaces)
        field = self.fields["endpoint"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = Endpoint.objects.filter(workspace__in=workspaces)
        field.empty_label = str(_("None"))
        self.fields["parameters"].widget.attrs.update({"rows": 3, "spellcheck": "false"})
        _keep_between(self.fields["billions_of_parameters"], 0, None)

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


def _keep_between(field: forms.Field, least: int, most: int | None) -> None:
    field.validators.append(MinValueValidator(least))
    field.widget.attrs["min"] = least
    if most is not None:
        field.validators.append(MaxValueValidator(most))
