"""The forms of an alignment: its beginning, another version, and the model that is asked for a prompt."""

from collections.abc import Iterable, Sequence
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from calibration.statistics.judges.alignment import SMALLEST_SHARE, USUAL_SHARES
from generation.llm.protocol.prices import MOST_COUNTED
from generation.models import LanguageModel
from judging.models import Judge
from judging.web.runs.forms import ServedModelField


class JudgeField(forms.ModelChoiceField):  # type: ignore[type-arg]
    def label_from_instance(self, obj: Any) -> str:
        return str(obj.rater.name)


class AlignmentForm(forms.Form):
    """Which judge is the baseline, on which criterion, and how instructions are split."""

    baseline = JudgeField(label=_("Baseline judge"), queryset=Judge.objects.none(), empty_label=None)
    criterion = forms.ChoiceField(label=_("Criterion"), required=False)
    training = forms.FloatField(label=_("Share for training"), initial=USUAL_SHARES[0])
    validation = forms.FloatField(label=_("Share for validation"), initial=USUAL_SHARES[1])
    test = forms.FloatField(label=_("Share for test"), initial=USUAL_SHARES[2])
    seed = forms.IntegerField(
        label=_("Seed"),
        help_text=_("The same seed splits the same instructions in the same way."),
        min_value=0,
        max_value=MOST_COUNTED,
        initial=0,
    )

    def __init__(self, *args: Any, judges: "QuerySet[Judge]", criteria: Iterable[str], **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        baseline, criterion = self.fields["baseline"], self.fields["criterion"]
        assert isinstance(baseline, forms.ModelChoiceField) and isinstance(criterion, forms.ChoiceField)
        baseline.queryset = judges
        criterion.choices = [("", _("the first that the judge answers")), *((key, key) for key in criteria)]
        for name in ("training", "validation", "test"):
            share = self.fields[name]
            share.widget.attrs |= {"min": SMALLEST_SHARE, "max": 1, "step": "any"}

    @property
    def shares(self) -> Sequence[float]:
        return [self.cleaned_data[name] for name in ("training", "validation", "test")]


class VersionForm(forms.Form):
    judge = JudgeField(label=_("Judge"), queryset=Judge.objects.none(), empty_label=None)

    def __init__(self, *args: Any, judges: "QuerySet[Judge]", **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        field = self.fields["judge"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = judges


class ProposalForm(forms.Form):
    judge = JudgeField(label=_("Prompt to rewrite"), queryset=Judge.objects.none(), empty_label=None)
    model = ServedModelField(label=_("Model to ask"), queryset=LanguageModel.objects.none(), empty_label=None)

    def __init__(self, *args: Any, judges: "QuerySet[Judge]", models: "QuerySet[LanguageModel]", **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})
        judge, model = self.fields["judge"], self.fields["model"]
        assert isinstance(judge, forms.ModelChoiceField) and isinstance(model, forms.ModelChoiceField)
        judge.queryset, model.queryset = judges, models
