"""The fields of a study's settings. The form that uses them offers the choices and writes them to the study."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy

from annotation.models import Guideline, Rubric
from annotation.web.study.form_choices import HINTS, ORDERS, PAIRS, SAMPLES, STOPPING
from annotation.web.study.texts import text_field
from core.web.row_choices import RowsField
from generation.models import Category, LanguageModel


def _share_field(label: Any, help_text: Any = "") -> forms.FloatField:
    return forms.FloatField(min_value=0, max_value=25, required=False, label=label, help_text=help_text)


class SettingFields(forms.Form):
    """All settings that a lead can enter."""

    name_en = forms.CharField(max_length=150, required=False, label=gettext_lazy("Name in English"))
    name_zh = forms.CharField(max_length=150, required=False, label=gettext_lazy("Name in Chinese"))
    categories = RowsField(
        Category.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label=gettext_lazy("Categories"),
        help_text=gettext_lazy("Leave all unchecked to include all."),
    )
    tags = forms.MultipleChoiceField(
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label=gettext_lazy("Tags"),
        help_text=gettext_lazy("Instructions with any of these tags are used. Leave all unchecked to include all."),
    )
    models = RowsField(
        LanguageModel.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label=gettext_lazy("Models"),
        help_text=gettext_lazy("Leave all unchecked to include all."),
    )
    instructions = forms.IntegerField(
        min_value=1,
        max_value=1_000_000,
        required=False,
        label=gettext_lazy("Number of instructions"),
        help_text=gettext_lazy("Drawn at random, evenly over the categories. Leave empty for all."),
    )
    samples = forms.ChoiceField(choices=SAMPLES, required=False, label=gettext_lazy("Responses"))
    pairs = forms.ChoiceField(choices=PAIRS, required=False, label=gettext_lazy("Pairs"))
    baselines = RowsField(
        LanguageModel.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label=gettext_lazy("Baselines"),
        help_text=gettext_lazy("Used only for pairs against the chosen baselines."),
    )
    pairs_wanted = forms.IntegerField(
        min_value=1,
        max_value=1_000_000,
        required=False,
        label=gettext_lazy("Number of pairs"),
        help_text=gettext_lazy("Used only for pairs sampled evenly: any two models are compared equally often."),
    )
    judges = forms.MultipleChoiceField(
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label=gettext_lazy("Judges to review"),
        help_text=gettext_lazy("Leave all unchecked to include all."),
    )
    rubric = forms.ModelChoiceField(
        Rubric.objects.none(),
        required=False,
        label=gettext_lazy("Rubric"),
        empty_label=gettext_lazy("Each instruction's own rubric (the most specific one in the library)"),
    )
    overlap = forms.IntegerField(
        min_value=1,
        max_value=1000,
        label=gettext_lazy("Ratings per task"),
        help_text=gettext_lazy(
            "Each rating is given by a different rater. Agreement can be computed only with at least two ratings "
            "per task."
        ),
    )
    quota = forms.IntegerField(
        min_value=1,
        max_value=1_000_000,
        required=False,
        label=gettext_lazy("Maximum tasks per rater"),
        help_text=gettext_lazy("Leave empty for no limit."),
    )
    order = forms.ChoiceField(choices=ORDERS, label=gettext_lazy("Order"))
    stop_question = forms.ChoiceField(
        choices=STOPPING,
        required=False,
        label=gettext_lazy("Question whose answer ends labelling"),
        help_text=gettext_lazy(
            "The dashboard says when it is answered; nothing stops by itself. The question cannot be changed after launch."
        ),
    )
    stop_threshold = forms.FloatField(
        min_value=0.01,
        max_value=0.99,
        required=False,
        label=gettext_lazy("Threshold of agreement"),
        help_text=gettext_lazy("The share of agreeing pairs of raters, from 0.01 to 0.99. Only for agreement."),
    )
    stop_models = RowsField(
        LanguageModel.objects.none(),
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label=gettext_lazy("The two models compared"),
        help_text=gettext_lazy("Only for the question of which of two models is better."),
    )
    stop_error = forms.FloatField(
        min_value=0.1,
        max_value=20,
        required=False,
        label=gettext_lazy("Error allowed (percent)"),
        help_text=gettext_lazy("The probability of ever giving a wrong answer. 5 percent is used if this is empty."),
    )
    hints = forms.ChoiceField(
        choices=HINTS,
        label=gettext_lazy("Hints in the instructions"),
        help_text=gettext_lazy("Use a split as an experiment: every rating records whether its rater saw the hints."),
    )
    answers_per_hour = forms.IntegerField(
        min_value=1,
        max_value=100_000,
        required=False,
        label=gettext_lazy("Maximum ratings per hour"),
        help_text=gettext_lazy("Raters who reach the maximum are asked to come back later. Leave empty for no limit."),
    )
    last_day = forms.DateField(
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}),
        label=gettext_lazy("Last day"),
        help_text=gettext_lazy(
            "No tasks are assigned after this day (UTC). Raters can still finish tasks that they have started."
        ),
    )
    training = forms.BooleanField(
        required=False,
        label=gettext_lazy("Start with practice tasks"),
        help_text=gettext_lazy("Tasks marked as practice come first, with feedback on every answer."),
    )
    qualification_of = forms.IntegerField(
        min_value=1,
        max_value=100,
        required=False,
        label=gettext_lazy("Number of qualification tasks"),
        help_text=gettext_lazy("Leave empty for no qualification."),
    )
    qualification_pass = forms.IntegerField(
        min_value=1, max_value=100, required=False, label=gettext_lazy("Correct answers needed to pass")
    )
    probe_percent = _share_field(
        gettext_lazy("Repeated tasks (percent of tasks)"),
        gettext_lazy("Raters get earlier tasks again without notice, which measures how consistent they are."),
    )
    probe_gap = forms.IntegerField(
        min_value=1, max_value=100_000, required=False, label=gettext_lazy("Minimum number of tasks before a repeat")
    )
    gold_percent = _share_field(gettext_lazy("Gold items (percent of tasks)"))
    control_percent = _share_field(gettext_lazy("Attention checks (percent of tasks)"))
    controls = forms.IntegerField(
        min_value=0,
        max_value=10_000,
        required=False,
        label=gettext_lazy("Number of attention checks to create"),
        help_text=gettext_lazy(
            "Attention checks are created at launch: copies of responses with the end cut off, a paragraph "
            "repeated or sections swapped."
        ),
    )
    checks_failed = forms.IntegerField(
        min_value=1, max_value=100, required=False, label=gettext_lazy("Pause a rater after this many failed checks")
    )
    checks_window = forms.IntegerField(
        min_value=1, max_value=100, required=False, label=gettext_lazy("Number of most recent checks considered")
    )
    show_gold = forms.BooleanField(
        required=False,
        label=gettext_lazy("Show raters their own accuracy on gold items"),
        help_text=gettext_lazy(
            "The figure is updated only after every 50 answers so that it does not reveal individual gold items."
        ),
    )
    adjudicated_labels = forms.BooleanField(
        required=False,
        label=gettext_lazy("The lead's adjudicated answer counts as the task's label"),
        help_text=gettext_lazy(
            "Where a lead has resolved a disagreement, that answer takes the place of the raters' answers in weights, in "
            "corrected leaderboard scores and in the comparison of judges with people. Agreement between raters never "
            "uses it."
        ),
    )
    pace_words = forms.IntegerField(
        min_value=0,
        max_value=100_000,
        required=False,
        label=gettext_lazy("Fastest reading speed (words per minute)"),
        help_text=gettext_lazy(
            "Answers given faster than this count as too fast. Most adults read 175 to 300 words per minute; "
            "no one reads more than 1,000. Enter 0 to never pause raters for speed."
        ),
    )
    pace_told = forms.IntegerField(
        min_value=1,
        max_value=1000,
        required=False,
        label=gettext_lazy("Warn a rater after this many consecutive answers that are too fast"),
    )
    pace_paused = forms.IntegerField(
        min_value=1, max_value=1000, required=False, label=gettext_lazy("Pause the rater after this many more")
    )
    guideline = forms.ModelChoiceField(
        Guideline.objects.none(), required=False, label=gettext_lazy("Guideline"), empty_label=gettext_lazy("None")
    )
    consent_en = text_field(
        gettext_lazy("Consent text in English"),
        gettext_lazy("Shown to anyone who joins by link. You can use Markdown. A cohort can have its own text."),
    )
    consent_zh = text_field(gettext_lazy("Consent text in Chinese"))
    payment_en = text_field(gettext_lazy("Note on payment in English"), rows=2)
    payment_zh = text_field(gettext_lazy("Note on payment in Chinese"), rows=2)
    raters = forms.IntegerField(
        min_value=1,
        max_value=100_000,
        required=False,
        label=gettext_lazy("Expected number of raters"),
        help_text=gettext_lazy("For the plan, and without a quota for the number of tasks in an invitation."),
    )
    hourly_pay = forms.DecimalField(
        min_value=0, max_digits=10, decimal_places=2, required=False, label=gettext_lazy("Hourly pay")
    )
    currency = forms.CharField(max_length=8, required=False, label=gettext_lazy("Currency"))
    show_hours = forms.BooleanField(
        required=False,
        label=gettext_lazy("Show raters their hours and pay"),
        help_text=gettext_lazy("They read the hourly pay before they join, and their hours and pay while they rate."),
    )
    confirm_answers = forms.BooleanField(
        required=False,
        label=gettext_lazy("Raters submit the answer to a single question with a second key"),
        help_text=gettext_lazy("Otherwise it is sent as soon as it is chosen, and can be undone for 5 seconds."),
    )
