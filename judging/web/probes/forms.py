"""The form on which a lead chooses the probes of a judge."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from annotation.models import Study
from generation.web.run_controls import BudgetForm
from judging.methods.prompts import BadTemplate
from judging.methods.sample_questions import check_prompt
from judging.models import Judge
from judging.probes.request import LARGEST, LONGEST_AUTHOR, USUAL_AUTHOR, USUAL_SIZE, Group, ProbeRequest, judges_pairs
from judging.probes.wordings import WORDINGS, other_wordings
from judging.web.judges.forms import LONGEST_PROMPT, fault_in_words
from judging.web.probes.messages import group_names


class ProbeForm(BudgetForm):
    """What is changed, on how many responses, and the budget; the wordings begin as those that the program offers."""

    groups = forms.MultipleChoiceField(label=_("What to change"), widget=forms.CheckboxSelectMultiple)
    size = forms.IntegerField(
        label=_("Responses to probe"),
        help_text=_(
            "Drawn by chance, one of every instruction before a second of any. More of them find smaller effects."
        ),
        min_value=1,
        max_value=LARGEST,
        initial=USUAL_SIZE,
    )
    author = forms.CharField(
        label=_("Author to claim"), max_length=LONGEST_AUTHOR, initial=USUAL_AUTHOR, required=False
    )

    field_order = ["groups", "size", "author"]

    def __init__(self, *args: Any, judge: Judge, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.judge = judge
        offered = other_wordings(judge.prompt)
        kept = [group for group in Group if group != Group.ORDER or judges_pairs(judge)]
        names = group_names()
        choices = self.fields["groups"]
        assert isinstance(choices, forms.MultipleChoiceField)
        choices.choices = [(str(group), names[group]) for group in kept]
        choices.initial = [str(group) for group in kept if group != Group.WORDING or offered]
        for number in range(WORDINGS):
            self.fields[f"wording_{number + 1}"] = forms.CharField(
                label=_("Prompt in other words (%(n)d)") % {"n": number + 1},
                widget=forms.Textarea(attrs={"rows": 6, "class": "prompt-text", "spellcheck": "false"}),
                max_length=LONGEST_PROMPT,
                required=False,
                initial=offered[number] if offered else "",
            )

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        if Group.WORDING in given.get("groups", ()):
            for name in self.wording_names:
                if given.get(name):
                    try:
                        check_prompt(self.judge.method, given[name].replace("\r\n", "\n"))
                    except BadTemplate as error:
                        self.add_error(name, ValidationError(fault_in_words(error)))
        return given

    @property
    def wording_names(self) -> list[str]:
        return [f"wording_{number + 1}" for number in range(WORDINGS)]

    def request(self, study: Study, user: User) -> ProbeRequest:
        """Return the request of the form. Raises ProbesRefused."""
        given = self.cleaned_data
        return ProbeRequest(
            self.judge,
            study,
            groups=[group for group in Group if group in given["groups"]],
            size=given["size"],
            author=given["author"],
            wordings=[given[name] for name in self.wording_names if given.get(name)],
            budget=self.ceiling,
            user=user,
        )
