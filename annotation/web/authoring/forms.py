"""The forms of a checklist's stages."""

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext as _, gettext_lazy, ngettext

from accounts.models import User, Workspace
from annotation.authoring.drafting import DraftedQuestion
from annotation.authoring.questions import LONGEST_QUESTION, CurrentQuestion, Wanted, wrote
from annotation.authoring.voting import ballot_order
from annotation.models import Checklist, MergedCriterion, ProposedCriterion
from annotation.models.authoring import FEWEST_KEPT, MOST_KEPT, MOST_VOTES
from annotation.web.study.texts import texts_of
from core.web.row_choices import RowsField
from generation.models import Benchmark, Category, LanguageModel
from generation.web.run_controls import BudgetForm

OWN_GROUP = "own"
LONGEST_NAME, LONGEST_EXPLANATION, LONGEST_COMMENT = 100, 500, 1000


def _category_name(category: Any) -> str:
    return f"{category.parent.name} · {category.name}" if category.parent else str(category.name)


def _prose(label: Any, longest: int, *, rows: int = 2, required: bool = True, help_text: Any = "") -> forms.CharField:
    return forms.CharField(
        max_length=longest,
        label=label,
        required=required,
        help_text=help_text,
        widget=forms.Textarea(attrs={"rows": rows}),
    )


def _all_valid(rows: Sequence[forms.Form]) -> bool:
    """Whether all rows are valid; each is checked, so that every one shows its errors."""
    return not [row for row in rows if not row.is_valid()]


class NewChecklistForm(forms.Form):
    """What a checklist is for, and the rules of its vote."""

    workspace = forms.ModelChoiceField(Workspace.objects.none(), empty_label=None, label=gettext_lazy("Workspace"))
    name_en = forms.CharField(max_length=150, required=False, label=gettext_lazy("Name in English"))
    name_zh = forms.CharField(max_length=150, required=False, label=gettext_lazy("Name in Chinese"))
    benchmark = forms.ModelChoiceField(
        Benchmark.objects.none(),
        required=False,
        label=gettext_lazy("Benchmark"),
        empty_label=gettext_lazy("None: for any study of the workspace"),
    )
    categories = RowsField(
        Category.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label=gettext_lazy("Categories"),
        help_text=gettext_lazy("Leave all unchecked for one rubric for the whole benchmark."),
    )
    keeps = forms.IntegerField(
        min_value=FEWEST_KEPT,
        max_value=MOST_KEPT,
        initial=MOST_KEPT,
        label=gettext_lazy("Criteria that stay after the vote"),
        help_text=gettext_lazy("From four to six."),
    )
    votes_each = forms.IntegerField(
        min_value=1, max_value=MOST_VOTES, initial=6, label=gettext_lazy("Votes for each person")
    )
    scale = forms.ChoiceField(choices=Checklist.Scale.choices, label=gettext_lazy("Scale of the questions"))
    overall = forms.BooleanField(
        required=False,
        initial=True,
        label=gettext_lazy("Also ask for an overall score from 0 to 10"),
        help_text=gettext_lazy("Weights of the questions can be fitted only with an overall score."),
    )

    def __init__(self, workspaces: QuerySet[Workspace], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["workspace"].queryset = workspaces  # type: ignore[attr-defined]
        if len(workspaces) == 1:
            self.fields["workspace"].widget = forms.HiddenInput()
            self.initial["workspace"] = workspaces[0].pk
        benchmarks = Benchmark.objects.filter(workspace__in=workspaces).order_by("slug")
        self.fields["benchmark"].queryset = benchmarks  # type: ignore[attr-defined]
        self.fields["benchmark"].label_from_instance = lambda one: one.name  # type: ignore[attr-defined]
        chosen = str(self["benchmark"].value() or "")
        offered = Category.objects.none()
        if chosen.isdecimal() and chosen.isascii() and len(chosen) < 18:
            offered = Category.objects.filter(benchmark=int(chosen), benchmark__in=benchmarks).select_related("parent")
        if offered.exists():
            ordered = offered.order_by("parent__position", "position", "pk")
            self.fields["categories"].queryset = ordered  # type: ignore[attr-defined]
            self.fields["categories"].label_from_instance = _category_name  # type: ignore[attr-defined]
        else:
            del self.fields["categories"]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if not data.get("name_en") and not data.get("name_zh"):
            self.add_error("name_en", _("Enter a name in at least one language."))
        benchmark, workspace = data.get("benchmark"), data.get("workspace")
        if benchmark and workspace and benchmark.workspace_id != workspace.pk:
            self.add_error(
                "benchmark", _("This benchmark belongs to another workspace. Choose one from this workspace.")
            )
        return data

    def names(self) -> dict[str, str]:
        return texts_of(self.cleaned_data, "name")


class ProposalForm(forms.Form):
    name = forms.CharField(
        max_length=LONGEST_NAME,
        label=gettext_lazy("Criterion"),
        help_text=gettext_lazy("A word or two, such as “Depth”."),
    )
    explanation = _prose(
        gettext_lazy("What it means"),
        LONGEST_EXPLANATION,
        help_text=gettext_lazy("Say in one or two sentences what a good response does."),
    )


class MergeForm:
    """A wording for every group of proposals, and a group for every proposal."""

    def __init__(
        self, groups: Sequence[MergedCriterion], proposals: Sequence[ProposedCriterion], data: Any = None
    ) -> None:
        choices = [(str(group.pk), f"{n}. {group.name}") for n, group in enumerate(groups, 1)]
        self.groups: list[tuple[MergedCriterion, _Wording, list[_Place]]] = []
        for group in groups:
            wording = _Wording(
                data, prefix=f"g{group.pk}", initial={"name": group.name, "explanation": group.explanation}
            )
            members = [
                _Place(data, prefix=f"p{one.pk}", initial={"group": str(group.pk)}, proposal=one, choices=choices)
                for one in proposals
                if one.merged_id == group.pk
            ]
            self.groups.append((group, wording, members))

    def is_valid(self) -> bool:
        rows = [row for _group, wording, members in self.groups for row in (wording, *members)]
        return _all_valid(rows)

    def wordings(self) -> dict[int, tuple[str, str]]:
        return {
            group.pk: (wording.cleaned_data["name"], wording.cleaned_data["explanation"])
            for group, wording, _members in self.groups
        }

    def places(self) -> dict[int, int | None]:
        rows = [row for _group, _wording, members in self.groups for row in members]
        chosen = {row.proposal.pk: row.cleaned_data["group"] for row in rows}
        return {key: None if group == OWN_GROUP else int(group) for key, group in chosen.items()}


class _Wording(forms.Form):
    name = forms.CharField(max_length=LONGEST_NAME, label=gettext_lazy("Criterion"))
    explanation = _prose(gettext_lazy("What it means"), LONGEST_EXPLANATION)


class _Place(forms.Form):
    group = forms.ChoiceField(label=gettext_lazy("Belongs to"))

    def __init__(self, *args: Any, proposal: ProposedCriterion, choices: list[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.proposal = proposal
        self.fields["group"].choices = [*choices, (OWN_GROUP, _("A criterion of its own"))]  # type: ignore[attr-defined]


class VoteForm(forms.Form):
    """The criteria in an order of each voter's own, so that the first ones have no advantage."""

    choices = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple,
        label=gettext_lazy("Your votes"),
        error_messages={"required": gettext_lazy("Choose at least one criterion.")},
    )

    def __init__(self, checklist: Checklist, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.most = checklist.votes_each
        criteria = ballot_order(checklist, user)
        field = self.fields["choices"]
        assert isinstance(field, forms.MultipleChoiceField)
        field.choices = [(str(one.pk), f"{one.name}: {one.explanation}") for one in criteria]

    def clean_choices(self) -> list[int]:
        chosen = [int(one) for one in self.cleaned_data["choices"]]
        if len(chosen) > self.most:
            raise forms.ValidationError(
                ngettext(
                    "You have %(most)s vote. Choose fewer criteria.",
                    "You have %(most)s votes. Choose fewer criteria.",
                    self.most,
                )
                % {"most": self.most}
            )
        return chosen


class ChoiceForm(forms.Form):
    """Which of the criteria that tie for the last places stay, and why; without a tie there is nothing to fill in."""

    chosen = forms.MultipleChoiceField(
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label=gettext_lazy("Criteria to keep of those with the same number of votes"),
    )
    reason = _prose(gettext_lazy("Reason"), LONGEST_COMMENT)

    def __init__(self, tied: Sequence[MergedCriterion], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["chosen"]
        assert isinstance(field, forms.MultipleChoiceField)
        field.choices = [(str(one.pk), one.name) for one in tied]
        if not tied:
            del self.fields["chosen"], self.fields["reason"]

    def clean_chosen(self) -> list[int]:
        return [int(one) for one in self.cleaned_data["chosen"]]


class _QuestionTexts(forms.Form):
    question_en = _prose(gettext_lazy("Question in English"), LONGEST_QUESTION, rows=4, required=False)
    question_zh = _prose(gettext_lazy("Question in Chinese"), LONGEST_QUESTION, rows=4, required=False)


class QuestionsForm:
    """A question for every kept criterion: the stored one, or else a model's draft."""

    def __init__(
        self, current: Sequence[CurrentQuestion], drafts: Mapping[int, DraftedQuestion], data: Any = None
    ) -> None:
        self.rows: list[tuple[CurrentQuestion, _QuestionTexts, DraftedQuestion | None]] = []
        for one in current:
            draft = drafts.get(one.criterion.pk)
            texts = one.question.texts if one.question else draft.texts if draft else {}
            initial = {"question_en": texts.get("en", ""), "question_zh": texts.get("zh-hans", "")}
            form = _QuestionTexts(data, prefix=f"c{one.criterion.pk}", initial=initial)
            self.rows.append((one, form, draft))

    def is_valid(self) -> bool:
        return _all_valid([form for _one, form, _draft in self.rows])

    def wanted(self) -> dict[int, Wanted]:
        found: dict[int, Wanted] = {}
        for one, form, draft in self.rows:
            texts = texts_of(form.cleaned_data, "question")
            began = draft if one.question is None or one.question.model else None
            found[one.criterion.pk] = Wanted(
                texts, began.model if began else "", began is not None and texts == began.texts
            )
        return found


class DraftingForm(BudgetForm):
    """The model that drafts the questions, within a budget."""

    model = forms.ModelChoiceField(LanguageModel.objects.none(), label=gettext_lazy("Model"), empty_label=None)
    field_order = ["model", "budget_calls", "budget_tokens", "budget_money"]

    def __init__(self, models: QuerySet[LanguageModel], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["model"].queryset = models  # type: ignore[attr-defined]


class _Decision(forms.Form):
    SOUND, CHANGE = "sound", "change"

    decision = forms.ChoiceField(
        required=False,
        choices=[(SOUND, gettext_lazy("Sound")), (CHANGE, gettext_lazy("Needs a change"))],
        widget=forms.RadioSelect,
        label=gettext_lazy("Your decision"),
    )
    comment = _prose(
        gettext_lazy("Comment"),
        LONGEST_COMMENT,
        required=False,
        help_text=gettext_lazy("If the question needs a change, say which."),
    )

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if data.get("decision") == self.CHANGE and not data.get("comment"):
            self.add_error("comment", _("Say what should change."))
        return data


class ReviewForm:
    """A decision on every question that is not the reviewer's own; those that are left open are not sent."""

    def __init__(self, current: Sequence[CurrentQuestion], user: User, data: Any = None) -> None:
        self.rows: list[tuple[CurrentQuestion, _Decision | None]] = []
        for one in current:
            if one.question is None or wrote(one.question, user):
                self.rows.append((one, None))
                continue
            own = next((review for review in one.reviews if review.by_id == user.pk), None)
            initial = {
                "decision": "" if own is None else _Decision.SOUND if own.sound else _Decision.CHANGE,
                "comment": own.comment if own else "",
            }
            self.rows.append((one, _Decision(data, prefix=f"q{one.question.pk}", initial=initial)))

    def is_valid(self) -> bool:
        return _all_valid([form for _one, form in self.rows if form is not None])

    def decisions(self) -> dict[int, tuple[bool, str]]:
        """The changed decisions by question."""
        return {
            one.question.pk: (form.cleaned_data["decision"] == _Decision.SOUND, form.cleaned_data["comment"])
            for one, form in self.rows
            if form is not None and one.question is not None and form.cleaned_data["decision"] and form.has_changed()
        }

    @property
    def asks(self) -> bool:
        return any(form is not None for _one, form in self.rows)
