"""The forms for starting a run and for resuming one."""

from collections.abc import Collection
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from accounts.models import User, Workspace
from annotation.models import Task
from core.web.row_choices import RowsField
from generation.llm.protocol.prices import MOST_COUNTED
from generation.models import LanguageModel
from generation.web.run_controls import BudgetForm
from judging.comparison.drawn_checks import RATERS, SAMPLE as CHECKS
from judging.comparison.review_studies import LARGEST_SAMPLE, MOST_PEOPLE, REVIEWERS, SAMPLE
from judging.judges.making import create_judge, create_rule_judge, needs_no_model
from judging.methods.combining import How
from judging.methods.registry import METHODS, OFFERED, needs_no_call
from judging.models import Judge
from judging.runs.planning.request import RunRequest, Target
from judging.web.judges.method_messages import method_words


class ServedModelField(forms.ModelChoiceField):  # type: ignore[type-arg]
    def label_from_instance(self, obj: Any) -> str:
        return f"{obj.name} · {obj.endpoint}"


class JudgesField(RowsField):
    def label_from_instance(self, obj: Any) -> str:
        return f"{obj.rater.name} · {method_words(obj.method).name}"


class RunForm(BudgetForm):
    """The judges, the responses, how often to ask, and the budget. Several judges form a panel."""

    judges = JudgesField(
        label=_("Judges"),
        help_text=_("If you choose several judges, they form a panel whose verdicts are combined into one."),
        queryset=Judge.objects.none(),
        widget=forms.CheckboxSelectMultiple,
        required=False,
    )
    model = ServedModelField(
        label=_("Model with a default prompt"),
        help_text=_("Instead of an existing judge, or together with existing judges."),
        queryset=LanguageModel.objects.none(),
        required=False,
        empty_label=_("None"),
    )
    method = forms.ChoiceField(label=_("Method for this model"), required=False)
    combine = forms.ChoiceField(
        label=_("Panel verdict"),
        choices=[
            (str(How.MEDIAN), _("the median")),
            (str(How.MEAN), _("the mean")),
            (str(How.MAJORITY), _("majority")),
        ],
        required=False,
    )
    both_orders = forms.BooleanField(
        label=_("Show each pair in both orders"),
        help_text=_("Doubles the number of calls. A preference that flips counts as a tie."),
        required=False,
    )
    repeats = forms.IntegerField(
        label=_("Number of times to ask each question"), min_value=1, max_value=50, initial=1, required=False
    )
    canaries = forms.BooleanField(
        label=_("Add canary texts"),
        help_text=_(
            "Four texts that deserve the lowest score show whether the judge can be misled. If it can, the "
            "run fails with an explanation."
        ),
        initial=True,
        required=False,
    )
    items = forms.ChoiceField(
        label=_("Responses to judge"),
        choices=[
            ("all", _("All responses that this judge has not rated yet")),
            ("rated", _("Only responses that people have rated")),
        ],
        widget=forms.RadioSelect,
        initial="all",
        required=False,
    )
    limit = forms.IntegerField(
        label=_("Maximum number of responses"),
        help_text=_("Leave empty to judge all of them."),
        min_value=1,
        max_value=MOST_COUNTED,
        required=False,
    )
    fresh = forms.BooleanField(
        label=_("Do not use stored replies"),
        help_text=_(
            "Otherwise, a question that was asked before in the same words is answered from the stored reply and costs "
            "nothing. What this judge has already rated is not asked again in either case."
        ),
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
        """`kinds` are those of the tasks to judge, which determine the methods to choose from."""
        super().__init__(*args, **kwargs)
        answering = [key for key, needs in METHODS.items() if needs.task_kind in kinds]
        self.methods = [key for key in answering if key in OFFERED]
        for name, found in (("judges", judges.filter(method__in=answering)), ("model", models)):
            field = self.fields[name]
            assert isinstance(field, forms.ModelChoiceField)
            field.queryset = found
        method = self.fields["method"]
        assert isinstance(method, forms.ChoiceField)
        method.choices = [(key, method_words(key).name) for key in self.methods]
        if Task.Kind.PAIR not in kinds:
            del self.fields["both_orders"]

    def clean(self) -> dict[str, object]:
        given = super().clean() or self.cleaned_data
        rule = bool(given.get("method")) and needs_no_model(given["method"])
        chosen = given.get("judges")
        if not self.errors and not (chosen or given.get("model") or rule):
            self.add_error("judges", _("Choose at least one judge or a model."))
        many = (len(chosen) if chosen else 0) + bool(given.get("model")) > 1
        methods = [judge.method for judge in chosen or ()]
        methods += [given["method"]] if rule and given.get("model") else []
        if many and any(map(needs_no_call, methods)):
            self.add_error("judges", _("A rule cannot be part of a panel. Choose it alone."))
        return given

    def _chosen_judges(self, workspace: Workspace) -> list[Judge]:
        """Return the chosen judges, then the one of the model and the default prompt."""
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

    def request(self, target: Target, user: User) -> RunRequest:
        """Return the request for a run, with its judges created if necessary. Writes."""
        given = self.cleaned_data
        return RunRequest(
            target,
            tuple(self._chosen_judges(target.workspace)),
            both_orders=bool(given.get("both_orders")),
            repeats=given.get("repeats") or 1,
            combine=How(given.get("combine") or How.MEDIAN),
            canaries=bool(given.get("canaries")),
            limit=given["limit"],
            only_rated=self.only_rated,
            reuse=not given["fresh"],
            budget=self.ceiling,
            user=user,
        )

    @property
    def only_rated(self) -> bool:
        return self.cleaned_data.get("items") == "rated"


class ReviewForm(forms.Form):
    """The number of a run's verdicts to review, and of reviewers per verdict."""

    sample = forms.IntegerField(label=_("Verdicts to review"), min_value=1, max_value=LARGEST_SAMPLE, initial=SAMPLE)
    reviewers = forms.IntegerField(
        label=_("Reviewers per verdict"), min_value=1, max_value=MOST_PEOPLE, initial=REVIEWERS
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", "auto_id": "review_%s", **kwargs})


class CheckSampleForm(forms.Form):
    """The number of a run's instruction checks that people answer too, and of people per check."""

    sample = forms.IntegerField(label=_("Checks to draw"), min_value=1, max_value=LARGEST_SAMPLE, initial=CHECKS)
    raters = forms.IntegerField(label=_("Raters per check"), min_value=1, max_value=MOST_PEOPLE, initial=RATERS)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": "", "auto_id": "checks_%s", **kwargs})
