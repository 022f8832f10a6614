"""What a lead fills in to start a run, or to go on with one."""

from collections.abc import Collection, Sequence
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from accounts.models import Workspace
from annotation.models import Task
from core.web.row_choices import RowsField
from generation.llm.protocol.prices import MOST_COUNTED
from generation.models import LanguageModel
from generation.web.responses.forms import BudgetForm
from judging.comparison.review_studies import REVIEWERS, SAMPLE
from judging.judges.making import create_judge, create_rule_judge, needs_no_model
from judging.methods.combining import How
from judging.methods.registry import METHODS, needs_no_call
from judging.models import Judge
from judging.runs.planning.plan import Asking
from judging.web.judges.method_messages import method_words


class ServedModelField(forms.ModelChoiceField):  # type: ignore[type-arg]
    def label_from_instance(self, obj: Any) -> str:
        return f"{obj.name} · {obj.endpoint}"


class JudgesField(RowsField):
    def label_from_instance(self, obj: Any) -> str:
        return f"{obj.rater.name} · {method_words(obj.method).name}"


class RunForm(BudgetForm):
    """Who judges, what, how often it is asked, and the budget. Several judges make a jury."""

    judges = JudgesField(
        label=_("Judges"),
        help_text=_("Several make a jury, whose verdicts are combined into one."),
        queryset=Judge.objects.none(),
        widget=forms.CheckboxSelectMultiple,
        required=False,
    )
    model = ServedModelField(
        label=_("Model with a shipped prompt"),
        help_text=_("Instead of a judge made before, or beside them."),
        queryset=LanguageModel.objects.none(),
        required=False,
        empty_label=_("None"),
    )
    method = forms.ChoiceField(label=_("How that model judges"), required=False)
    combine = forms.ChoiceField(
        label=_("A jury decides by"),
        choices=[
            (str(How.MEDIAN), _("the median")),
            (str(How.MEAN), _("the mean")),
            (str(How.MAJORITY), _("majority")),
        ],
        required=False,
    )
    both_orders = forms.BooleanField(
        label=_("Show each pair in both orders"),
        help_text=_("Twice the calls; a preference that flips counts as a tie."),
        required=False,
    )
    repeats = forms.IntegerField(
        label=_("Ask everything so many times"), min_value=1, max_value=50, initial=1, required=False
    )
    canaries = forms.BooleanField(
        label=_("Plant texts that deserve nothing"),
        help_text=_("Four of them show whether the judge can be misled; where it is, the run fails and says so."),
        initial=True,
        required=False,
    )
    items = forms.ChoiceField(
        label=_("What is judged"),
        choices=[
            ("all", _("Everything that this judge has not answered")),
            ("rated", _("Only what people have rated")),
        ],
        widget=forms.RadioSelect,
        initial="all",
        required=False,
    )
    limit = forms.IntegerField(
        label=_("At most so many responses"),
        help_text=_("Empty judges all of them."),
        min_value=1,
        max_value=MOST_COUNTED,
        required=False,
    )
    fresh = forms.BooleanField(
        label=_("Ask again what was answered before"),
        help_text=_("Otherwise the same question is answered from the stored reply and costs nothing."),
        required=False,
    )
    field_order = [
        "judges",
        "model",
        "method",
        "combine",
        "both_orders",
        "repeats",
        "items",
        "limit",
        "canaries",
        "fresh",
        "budget_calls",
        "budget_tokens",
        "budget_money",
    ]

    def __init__(
        self,
        *args: Any,
        judges: "QuerySet[Judge]",
        models: "QuerySet[LanguageModel]",
        kinds: Collection[str],
        **kwargs: Any,
    ) -> None:
        """`kinds` are those of the tasks to be judged, which say what methods there are to choose from."""
        super().__init__(*args, **kwargs)
        self.methods = [key for key, needs in METHODS.items() if needs.task_kind in kinds]
        for name, found in (("judges", judges.filter(method__in=self.methods)), ("model", models)):
            field = self.fields[name]
            assert isinstance(field, forms.ModelChoiceField)
            field.queryset = found
        method = self.fields["method"]
        assert isinstance(method, forms.ChoiceField)
        method.choices = [(key, method_words(key).name) for key in self.methods]
        if Task.Kind.PAIR not in kinds:
            del self.fields["both_orders"]

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        rule = bool(given.get("method")) and needs_no_model(given["method"])
        chosen = given.get("judges")
        if not self.errors and not (chosen or given.get("model") or rule):
            self.add_error("judges", _("Choose at least one judge, or a model."))
        many = (len(chosen) if chosen else 0) + bool(given.get("model")) > 1
        methods = [one.method for one in chosen or ()]
        methods += [given["method"]] if rule and given.get("model") else []
        if many and any(map(needs_no_call, methods)):
            self.add_error("judges", _("A rule decides alone: choose it without other judges."))
        return given

    def chosen_judges(self, workspace: Workspace) -> list[Judge]:
        """Those ticked, then the one of the model and the shipped prompt, made where there is none. Writes."""
        given = self.cleaned_data
        found = list(given["judges"])
        method = given.get("method") or (self.methods[0] if self.methods else "")
        if given.get("model"):
            if needs_no_model(method):
                found.append(create_rule_judge(workspace=workspace, method=method))
            else:
                found.append(create_judge(model=given["model"], method=method))
        elif not found:
            found.append(create_rule_judge(workspace=workspace, method=method))
        return list(dict.fromkeys(found))

    def asking(self, judges: Sequence[Judge]) -> Asking:
        given = self.cleaned_data
        return Asking(
            jurors=tuple(judges[1:]),
            both_orders=bool(given.get("both_orders")),
            repeats=given.get("repeats") or 1,
            combine=How(given.get("combine") or How.MEDIAN),
            canaries=bool(given.get("canaries")),
        )

    @property
    def only_rated(self) -> bool:
        return self.cleaned_data.get("items") == "rated"


class ReviewForm(forms.Form):
    """How many of a run's verdicts are reviewed, and by how many people each."""

    sample = forms.IntegerField(label=_("Verdicts to review"), min_value=1, max_value=5_000, initial=SAMPLE)
    reviewers = forms.IntegerField(label=_("Reviewers of each"), min_value=1, max_value=50, initial=REVIEWERS)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", "auto_id": "review_%s", **kwargs})
