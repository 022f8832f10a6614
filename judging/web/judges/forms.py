"""Forms for creating a judge: the method, the model, its parameters, and the prompt."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.utils.translation import gettext, gettext_lazy as _

from accounts.models import Workspace
from generation.models import LanguageModel
from generation.web.endpoints.forms import ParametersField, checked_parameters
from judging.judges.making import needs_no_model
from judging.methods.prompts import BadTemplate, Fault
from judging.methods.registry import PROMPTED
from judging.methods.sample_questions import check_prompt
from judging.web.judges.method_messages import all_methods
from judging.web.runs.forms import ServedModelField

LONGEST_PROMPT = 60_000


def method_choices() -> list[tuple[Any, Any]]:
    """By the kind of task: single responses, pairs, sub-tasks."""
    groups: dict[str, list[tuple[str, Any]]] = {}
    titles = {"single": _("Single responses"), "pair": _("Pairs"), "check": _("Parts of long responses")}
    for one in all_methods():
        groups.setdefault(one.task_kind, []).append((one.key, one.name))
    return [(titles[kind], choices) for kind, choices in groups.items()]


def fault_in_words(error: BadTemplate) -> str:
    """Return a sentence in the reader's language: what is wrong with the prompt and what to do."""
    name = f"${error.name}"
    match error.fault:
        case Fault.DOLLAR:
            return gettext("The prompt contains a single $. Write $$ for a dollar sign.")
        case Fault.UNKNOWN:
            return gettext(
                "The prompt contains the placeholder %(name)s, which this method does not have. Its placeholders "
                "are: %(known)s."
            ) % {"name": name, "known": ", ".join(f"${one}" for one in error.known)}
        case Fault.MISSING:
            return gettext(
                "The prompt lacks the placeholder %(name)s. Add it, because the judge does not see this part otherwise."
            ) % {"name": name}
        case _:
            return gettext("The prompt must start with a line “@@ system” or “@@ user”.")


class MethodForm(forms.Form):
    """The first step: the method."""

    method = forms.ChoiceField(label=_("Method of judging"), choices=method_choices)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})


class JudgeForm(forms.Form):
    """The judge itself. A method without a model has neither model, parameters nor prompt."""

    workspace = forms.ModelChoiceField(label=_("Workspace"), queryset=Workspace.objects.none())
    model = ServedModelField(label=_("Model"), queryset=LanguageModel.objects.none())
    name = forms.CharField(
        label=_("Name"),
        help_text=_("Shown in tables. Leave empty to use the method and the model."),
        max_length=150,
        required=False,
    )
    temperature = forms.FloatField(
        label=_("Temperature"),
        help_text=_("0 selects the most likely answer. Leave empty for models that accept no temperature."),
        min_value=0,
        max_value=2,
        initial=0,
        required=False,
    )
    max_tokens = forms.IntegerField(
        label=_("Maximum new tokens"),
        help_text=_("Leave empty for as many as the method's answer needs."),
        min_value=1,
        max_value=1_000_000,
        required=False,
    )
    others = ParametersField(
        label=_("Other parameters"),
        help_text=_('JSON, such as {"top_p": 0.9}; null omits a default.'),
        required=False,
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"}),
    )
    prompt = forms.CharField(
        label=_("Prompt"),
        max_length=LONGEST_PROMPT,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 24, "spellcheck": "false"}),
    )

    def __init__(
        self,
        *args: Any,
        method: str,
        workspaces: "QuerySet[Workspace]",
        models: "QuerySet[LanguageModel]",
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        self.method = method
        self._offer(workspaces, models)
        if needs_no_model(method):
            for name in ("model", "temperature", "max_tokens", "others"):
                del self.fields[name]
        if method not in PROMPTED:
            del self.fields["prompt"]
            for name in ("temperature", "max_tokens", "others"):
                self.fields.pop(name, None)

    def _offer(self, workspaces: "QuerySet[Workspace]", models: "QuerySet[LanguageModel]") -> None:
        """The workspace is not shown if the model determines it, or if there is only one."""
        place, field = self.fields["workspace"], self.fields["model"]
        assert isinstance(place, forms.ModelChoiceField) and isinstance(field, forms.ModelChoiceField)
        place.queryset, place.empty_label = workspaces, None
        field.queryset, field.empty_label = models, None
        if not needs_no_model(self.method):
            del self.fields["workspace"]
        elif workspaces.count() == 1:
            place.initial, place.disabled, place.widget = workspaces.get(), True, forms.HiddenInput()

    def clean_others(self) -> dict[str, object]:
        return checked_parameters(self.cleaned_data["others"] or {})

    def clean_prompt(self) -> str:
        prompt = str(self.cleaned_data["prompt"]).replace("\r\n", "\n").strip() + "\n"
        try:
            check_prompt(self.method, prompt)
        except BadTemplate as error:
            raise ValidationError(fault_in_words(error)) from error
        return prompt

    @property
    def parameters(self) -> dict[str, object]:
        """Return the parameters of the judge; an empty temperature is left out."""
        given = self.cleaned_data
        found = {"temperature": given.get("temperature"), **(given.get("others") or {})}
        if given.get("max_tokens"):
            found["max_tokens"] = given["max_tokens"]
        return found
