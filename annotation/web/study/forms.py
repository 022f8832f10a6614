"""Forms for setting up a study, in the order of the page. Settings on which ratings depend are fixed at launch."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext as _, gettext_lazy

from annotation.models import Guideline, Rubric, Study
from annotation.policies.policies import RATES, SLOWEST_LIMIT, PaceRule, Policies, Selection, choose
from annotation.studies.selection import fitting_rubrics, judges_to_review, offered_tags
from annotation.web.study.form_choices import HINTS, ORDERS, PAIRS, SAMPLES
from annotation.web.study.texts import text_field, texts_of
from core.web.row_choices import RowsField
from generation.models import Category, LanguageModel

Label = str | Promise
PACE = ("words", "told", "paused")
KEPT_AFTER_LAUNCH = {
    "rubric",
    "benchmark",
    "categories",
    "tags",
    "models",
    "instructions",
    "samples",
    "pairs",
    "baselines",
    "pairs_wanted",
    "judges",
    "overlap",
    "order",
    "hints",
    "controls",
}


def _share_field(label: Any, help_text: Any = "") -> forms.FloatField:
    return forms.FloatField(min_value=0, max_value=25, required=False, label=label, help_text=help_text)


@dataclass(frozen=True)
class FormSection:
    """A section of the page: heading, explanation and fields."""

    key: str
    title: str
    about: str
    fields: list[forms.BoundField]


class StudyForm(forms.Form):
    """All settings of a study. `apply` writes them to the study, which the caller saves."""

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

    def __init__(self, study: Study, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("initial", initial_of(study))
        super().__init__(*args, **kwargs)
        self.study = study
        of_benchmark = Category.objects.filter(benchmark=study.benchmark_id).select_related("parent")
        self._offer("categories", of_benchmark.order_by("parent__position", "position", "pk"), _category_name)
        models = LanguageModel.objects.filter(responses__instruction__benchmark=study.benchmark_id).distinct()
        self._offer("models", models, str)
        self._offer("baselines", models, str)
        tags = [(tag, tag) for tag in offered_tags(study)]
        self.fields["tags"].choices = tags  # type: ignore[attr-defined]
        self._offer("rubric", fitting_rubrics(study), lambda rubric: f"{rubric.name} (v{rubric.version})")
        guidelines = Guideline.objects.filter(workspace=study.workspace_id)
        self._offer("guideline", guidelines, str)
        if study.kind == Study.Kind.REVIEW:
            self.fields["judges"].choices = [  # type: ignore[attr-defined]
                (str(one.pk), one.name) for one in judges_to_review(study)
            ]
        for name in (*self._out_of_place(), *(() if tags else ("tags",))):
            del self.fields[name]
        if study.status != Study.Status.DRAFT or Policies.of(study).launching:
            for name in KEPT_AFTER_LAUNCH & set(self.fields):
                self.fields[name].disabled = True

    def _offer(self, name: str, rows: QuerySet[Any], label: Any) -> None:
        self.fields[name].queryset = rows  # type: ignore[attr-defined]
        self.fields[name].label_from_instance = label  # type: ignore[attr-defined]

    def _out_of_place(self) -> Sequence[str]:
        """Names of the fields that a study of this kind does not use."""
        match self.study.kind:
            case Study.Kind.PAIR:
                return ("samples", "judges")
            case Study.Kind.REVIEW:
                return (
                    *("instructions", "samples", "pairs", "baselines", "pairs_wanted"),
                    *("rubric", "controls", "control_percent"),
                )
            case Study.Kind.CHECK:
                return ("pairs", "baselines", "pairs_wanted", "judges", "controls", "control_percent")
            case _:
                return ("pairs", "baselines", "pairs_wanted", "judges")

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if not data.get("name_en") and not data.get("name_zh"):
            self.add_error("name_en", _("Enter a name in at least one language."))
        if data.get("pairs") == "baselines" and not data.get("baselines"):
            self.add_error("baselines", _("Choose at least one model as the baseline."))
        if data.get("pairs") == "even" and not data.get("pairs_wanted"):
            self.add_error("pairs_wanted", _("Enter the number of pairs to sample."))
        of, needed = data.get("qualification_of"), data.get("qualification_pass")
        if of and not needed:
            self.add_error("qualification_pass", _("Enter how many correct answers are needed to pass."))
        elif of and needed and needed > of:
            self.add_error(
                "qualification_pass",
                _("The number of correct answers needed is higher than the number of qualification tasks."),
            )
        if 0 < (data.get("pace_words") or 0) < SLOWEST_LIMIT:
            told = _("Enter 0, or at least %(n)s words per minute: many people read that fast.")
            self.add_error("pace_words", told % {"n": SLOWEST_LIMIT})
        window, failed = data.get("checks_window") or 10, data.get("checks_failed") or 3
        if failed > window:
            self.add_error(
                "checks_failed", _("The number of failed checks is higher than the number of checks considered.")
            )
        return data

    def sections(self) -> Iterator[FormSection]:
        for key, title, about, names in _SECTIONS:
            present = [self[name] for name in names if name in self.fields]
            if present:
                yield FormSection(key, str(title), str(about), present)

    def apply(self) -> None:
        """Write the valid form to the study without saving it."""
        data, study = self.cleaned_data, self.study
        study.names = texts_of(data, "name")
        if "rubric" in data:
            study.rubric = data["rubric"]
        study.guideline = data["guideline"]
        choose(study, **self._policies())

    def _policies(self) -> dict[str, Any]:
        data = self.cleaned_data
        of = data.get("qualification_of")
        policies: dict[str, Any] = {
            "overlap": data["overlap"],
            "quota": data.get("quota"),
            "order": data["order"],
            "hints": data["hints"],
            "answers_per_hour": data.get("answers_per_hour"),
            "last_day": data["last_day"].isoformat() if data.get("last_day") else None,
            "training": True if data.get("training") else None,
            "qualification": {"of": of, "pass": data["qualification_pass"]} if of else None,
            "probe_gap": data.get("probe_gap"),
            "controls": data.get("controls"),
            "checks": {"window": data.get("checks_window") or 10, "failed": data.get("checks_failed") or 3},
            "show_gold": True if data.get("show_gold") else None,
            "show_hours": True if data.get("show_hours") else None,
            "one_key": False if data.get("confirm_answers") else None,
            "adjudicated_labels": True if data.get("adjudicated_labels") else None,
            "reading_pace": {
                name: getattr(PaceRule(), name) if data.get(f"pace_{name}") is None else data[f"pace_{name}"]
                for name in PACE
            },
            "consent": texts_of(data, "consent"),
            "payment": texts_of(data, "payment"),
            "plan": _plan(data),
            "selection": self._selection(),
        }
        for kind in RATES:
            percent = data.get(f"{kind}_percent")
            policies[f"{kind}_rate"] = None if percent is None else round(percent / 100, 6)
        return policies

    def _selection(self) -> dict[str, Any]:
        data = self.cleaned_data
        chosen: dict[str, Any] = {
            name: sorted(one.pk for one in data[name]) for name in ("categories", "models", "baselines") if name in data
        }
        chosen["judges"] = sorted(int(pk) for pk in data.get("judges", ()))
        # Verdicts sampled from a run have no form field; keep them unchanged.
        before = Selection.of(self.study)
        chosen |= {"reviewed": before.reviewed, "verdicts": list(before.verdicts)}
        for name in ("instructions", "samples", "pairs", "pairs_wanted", "tags"):
            chosen[name] = data.get(name)
        return {key: value for key, value in chosen.items() if value}


def _plan(data: dict[str, Any]) -> dict[str, Any]:
    plan = {
        "raters": data.get("raters"),
        "hourly_pay": str(data["hourly_pay"]) if data.get("hourly_pay") is not None else None,
        "currency": data.get("currency") or None,
    }
    return {key: value for key, value in plan.items() if value is not None}


def _category_name(category: Category) -> str:
    return f"{category.parent.name} / {category.name}" if category.parent else category.name


def initial_of(study: Study) -> dict[str, Any]:
    """The study's current settings by form field name."""
    policies, chosen = Policies.of(study), Selection.of(study)
    plain = (
        *("overlap", "order", "hints", "quota", "answers_per_hour"),
        *("training", "controls", "show_gold", "show_hours", "adjudicated_labels"),
    )
    return {
        **{
            f"{stem}_{short}": texts.get(language, "")
            for stem, texts in (("name", study.names), ("consent", policies.consent), ("payment", policies.payment))
            for short, language in (("en", "en"), ("zh", "zh-hans"))
        },
        "categories": chosen.categories,
        "models": chosen.models,
        "tags": chosen.tags,
        "instructions": chosen.instructions or None,
        "samples": chosen.samples,
        "pairs": chosen.pairs,
        "baselines": chosen.baselines,
        "pairs_wanted": chosen.pairs_wanted or None,
        "judges": [str(pk) for pk in chosen.judges],
        "rubric": study.rubric_id,
        "guideline": study.guideline_id,
        **{name: getattr(policies, name) for name in plain},
        "confirm_answers": not policies.one_key,
        "last_day": policies.last_day and policies.last_day.isoformat(),
        "qualification_of": policies.qualification and policies.qualification.of,
        "qualification_pass": policies.qualification and policies.qualification.needed,
        **{f"{kind}_percent": round(100 * float(rate), 4) for kind, rate in policies.check_plan.rates.items()},
        "probe_gap": policies.check_plan.gap,
        "checks_window": policies.pausing.window,
        "checks_failed": policies.pausing.failed,
        **{f"pace_{name}": value for name, value in asdict(policies.reading_pace).items()},
        **asdict(policies.expected),
    }


_SECTIONS: list[tuple[str, Label, Label, tuple[str, ...]]] = [
    ("name", gettext_lazy("Name"), "", ("name_en", "name_zh")),
    (
        "tasks",
        gettext_lazy("What is rated"),
        gettext_lazy("Tasks are created from these choices at launch."),
        (
            *("rubric", "categories", "tags", "models", "instructions", "samples"),
            *("pairs", "baselines", "pairs_wanted", "judges"),
        ),
    ),
    (
        "handout",
        gettext_lazy("Task assignment"),
        "",
        ("overlap", "quota", "order", "hints", "answers_per_hour", "last_day", "confirm_answers"),
    ),
    (
        "quality",
        gettext_lazy("Quality checks"),
        gettext_lazy(
            "Quality checks are mixed with the other tasks and look like them. They are left out of all "
            "results about the responses."
        ),
        (
            "training",
            "qualification_of",
            "qualification_pass",
            "probe_percent",
            "probe_gap",
            "gold_percent",
            "control_percent",
            "controls",
            "checks_failed",
            "checks_window",
            "show_gold",
            "adjudicated_labels",
            "pace_words",
            "pace_told",
            "pace_paused",
        ),
    ),
    (
        "texts",
        gettext_lazy("Texts for raters"),
        "",
        ("guideline", "consent_en", "consent_zh", "payment_en", "payment_zh"),
    ),
    (
        "plan",
        gettext_lazy("Plan"),
        gettext_lazy("These fields affect the plan beside this form and what raters read about time and pay."),
        ("raters", "hourly_pay", "currency", "show_hours"),
    ),
]
