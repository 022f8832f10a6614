"""The form for a new study."""

from typing import Any

from django import forms
from django.db.models import Count, Q, QuerySet
from django.utils.translation import get_language, gettext as _, gettext_lazy, ngettext

from accounts.models import Workspace
from annotation.models import Study
from annotation.web.study.texts import texts_of
from generation.models import Benchmark, Response

KINDS = Study.Kind.choices
_COUNTED = Q(instructions__responses__text__isnull=False, instructions__responses__kind=Response.Kind.RESPONSE)
"""Responses of models with a text; degraded copies are none."""


class NewStudyForm(forms.Form):
    """Name, type and benchmark of a new study; everything else is chosen in its setup.

    The page asks for the name in the language of its reader; a name in the other language is taken as well.
    """

    workspace = forms.ModelChoiceField(Workspace.objects.none(), empty_label=None, label=gettext_lazy("Workspace"))
    name_en = forms.CharField(max_length=150, required=False, label=gettext_lazy("Name in English"))
    name_zh = forms.CharField(max_length=150, required=False, label=gettext_lazy("Name in Chinese"))
    kind = forms.ChoiceField(choices=KINDS, widget=forms.RadioSelect, label=gettext_lazy("Type of study"))
    benchmark = forms.ModelChoiceField(Benchmark.objects.none(), label=gettext_lazy("What is rated"))

    def __init__(self, workspaces: QuerySet[Workspace], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["workspace"].queryset = workspaces  # type: ignore[attr-defined]
        benchmarks = Benchmark.objects.filter(workspace__in=workspaces).annotate(
            responses=Count("instructions__responses", filter=_COUNTED)
        )
        self.fields["benchmark"].queryset = benchmarks.order_by("-responses", "slug")  # type: ignore[attr-defined]
        self.fields["benchmark"].label_from_instance = _benchmark_name  # type: ignore[attr-defined]
        if len(benchmarks) == 1:
            self.initial["benchmark"] = benchmarks[0].pk
        if len(workspaces) == 1:
            self.fields["workspace"].widget = forms.HiddenInput()
            self.initial["workspace"] = workspaces[0].pk

    def shown(self) -> list[forms.BoundField]:
        """The fields that the page asks for."""
        other = "name_en" if get_language() == "zh-hans" else "name_zh"
        return [field for field in self if field.name != other or field.errors]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if not data.get("name_en") and not data.get("name_zh"):
            own = "name_zh" if get_language() == "zh-hans" else "name_en"
            self.add_error(own, _("Enter a name in at least one language."))
        benchmark, workspace = data.get("benchmark"), data.get("workspace")
        if benchmark and workspace and benchmark.workspace_id != workspace.pk:
            self.add_error(
                "benchmark", _("This benchmark belongs to another workspace. Choose one from this workspace.")
            )
        return data

    def names(self) -> dict[str, str]:
        return texts_of(self.cleaned_data, "name")


def _benchmark_name(benchmark: Any) -> str:
    counted = ngettext("%(n)s response", "%(n)s responses", benchmark.responses) % {"n": benchmark.responses}
    return f"{benchmark.name} ({counted})"
