"""What a lead fills in to make a judge: the method, the model, its parameters, and the prompt."""

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
    """By what they judge: single responses, pairs, sub-tasks."""
    groups: dict[str, list[tuple[str, Any]]] = {}
    titles = {"single": _("Single responses"), "pair": _("Pairs"), "check": _("Parts of long responses")}
    for one in all_methods():
        groups.setdefault(one.task_kind, []).append((one.key, one.name))
    return [(titles[kind], choices) for kind, choices in groups.items()]


def fault_in_words(error: BadTemplate) -> str:
    """One sentence in the reader's language: what is wrong with the prompt and what to do."""
    name = f"${error.name}"
    match error.fault:
        case Fault.DOLLAR:
            return gettext("The prompt has a lone $; write $$ for a dollar sign.")
        case Fault.UNKNOWN:
            return gettext("The prompt names %(name)s, which this method does not know; it knows %(known)s.") % {
                "name": name,
                "known": ", ".join(f"${one}" for one in error.known),
            }
        case Fault.MISSING:
            return gettext("The prompt lacks %(name)s, without which the judge does not see it; put it in.") % {
                "name": name
            }
        case _:
            return gettext("The prompt must begin with a line “@@ system” or “@@ user”.")


class MethodForm(forms.Form):
    """The first step: how the judge answers."""

    method = forms.ChoiceField(label=_("How it judges"), choices=method_choices)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})


class JudgeForm(forms.Form):
    """The judge itself. A method that asks no model has neither model, parameters nor prompt."""

    workspace = forms.ModelChoiceField(label=_("Workspace"), queryset=Workspace.objects.none())
    model = ServedModelField(label=_("Model"), queryset=LanguageModel.objects.none())
    name = forms.CharField(
        label=_("Name"),
        help_text=_("What tables call it; empty makes one of the model and the method."),
        max_length=150,
        required=False,
    )
    temperature = forms.FloatField(
        label=_("Temperature"),
        help_text=_("0 asks for the likeliest answer; empty leaves it out for models that take none."),
        min_value=0,
        max_value=2,
        initial=0,
        required=False,
    )
    max_tokens = forms.IntegerField(
        label=_("Most new tokens"),
        help_text=_("Empty: as many as the method's answer needs."),
        min_value=1,
        max_value=1_000_000,
        required=False,
    )
    others = ParametersField(
        label=_("Other parameters"),
        help_text=_('As JSON, such as {"top_p": 0.9}; null leaves a default out.'),
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
        """No choice of workspace is shown where a model already says it, or where there is one only."""
        place, field = self.fields["workspace"], self.fields["model"]
        assert isinstance(place, forms.ModelChoiceField) and isinstance(field, forms.ModelChoiceField)
        place.queryset, place.empty_label = workspaces, None
        field.queryset, field.empty_label = models, None
        if not needs_no_model(self.method):
            del self.fields["workspace"]
        elif workspaces.count() == 1:
            place.initial, place.disabled, place.widget = workspaces.get(), True, forms.HiddenInput()

    def clean_others(self) -> dict[str, Any]:
        return checked_parameters(self.cleaned_data["others"] or {})

    def clean_prompt(self) -> str:
        prompt = str(self.cleaned_data["prompt"]).replace("\r\n", "\n").strip() + "\n"
        try:
            check_prompt(self.method, prompt)
        except BadTemplate as error:
            raise ValidationError(fault_in_words(error)) from error
        return prompt

    @property
    def parameters(self) -> dict[str, Any]:
        """As the judge is made with: an empty temperature is left out."""
        given = self.cleaned_data
        found = {"temperature": given.get("temperature"), **(given.get("others") or {})}
        if given.get("max_tokens"):
            found["max_tokens"] = given["max_tokens"]
        return found
