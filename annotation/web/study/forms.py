"""The form of a study's settings, whole or one step of it. Settings on which ratings depend are fixed at launch."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotation.models import Guideline, Study
from annotation.policies.policies import RATES, SLOWEST_LIMIT, PaceRule, Policies, Selection, choose
from annotation.policies.stopping import AGREEMENT, BETTER, USUAL_ERROR, StoppingRule
from annotation.studies.selection import fitting_rubrics, judges_to_review, offered_tags
from annotation.web.study.setup_fields import SettingFields
from annotation.web.study.setup_steps import Step
from annotation.web.study.texts import texts_of
from generation.models import Category, LanguageModel

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
    "stop_question",
    "stop_threshold",
    "stop_models",
    "stop_error",
}


class StudyForm(SettingFields):
    """The settings of a study, or of one step of its setup. `apply` writes them to the study, which the caller saves."""

    def __init__(self, study: Study, *args: Any, step: Step | None = None, **kwargs: Any) -> None:
        """Without a step, the form has the settings of all steps."""
        kwargs.setdefault("initial", initial_of(study))
        super().__init__(*args, **kwargs)
        self.study = study
        of_benchmark = Category.objects.filter(benchmark=study.benchmark_id).select_related("parent")
        self._offer("categories", of_benchmark.order_by("parent__position", "position", "pk"), _category_name)
        models = LanguageModel.objects.answering(study.benchmark_id)
        self._offer("models", models, str)
        self._offer("baselines", models, str)
        self._offer("stop_models", models, str)
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
        for name in [name for name in self.fields if step is not None and name not in step.names]:
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
        if "name_en" in self.fields and not data.get("name_en") and not data.get("name_zh"):
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
        self._check_stopping(data)
        window, failed = data.get("checks_window") or 10, data.get("checks_failed") or 3
        if failed > window:
            self.add_error(
                "checks_failed", _("The number of failed checks is higher than the number of checks considered.")
            )
        return data

    def _check_stopping(self, data: dict[str, Any]) -> None:
        if (
            data.get("stop_question") == AGREEMENT
            and not data.get("stop_threshold")
            and "stop_threshold" not in self.errors
        ):
            self.add_error("stop_threshold", _("Enter the share of agreeing pairs of raters to reach."))
        if data.get("stop_question") == BETTER and len(data.get("stop_models") or ()) != 2:
            self.add_error("stop_models", _("Choose exactly two models."))

    def apply(self) -> None:
        """Write the valid form to the study without saving it."""
        data, study = self.cleaned_data, self.study
        if "name_en" in data:
            study.names = texts_of(data, "name")
        if "rubric" in data:
            study.rubric = data["rubric"]
        if "guideline" in data:
            study.guideline = data["guideline"]
        choose(study, **self._policies())

    def _policies(self) -> dict[str, Any]:
        """The policies to which the form has the fields."""
        data = self.cleaned_data
        policies: dict[str, Any] = {name: read(data) for name, (field, read) in _POLICIES.items() if field in data}
        for kind in RATES:
            if f"{kind}_percent" in data:
                percent = data[f"{kind}_percent"]
                policies[f"{kind}_rate"] = None if percent is None else round(percent / 100, 6)
        if any(name in data for name in SELECTED):
            policies["selection"] = self._selection()
        return policies

    def _selection(self) -> dict[str, Any]:
        """The choices of the form; those without a field, which are what was sampled from a run or drawn, stay."""
        data, before = self.cleaned_data, Selection.of(self.study)
        chosen: dict[str, Any] = {
            "reviewed": before.reviewed,
            "verdicts": list(before.verdicts),
            "drawn": {str(pk): chance for pk, chance in before.drawn.items()},
        }
        for name in SELECTED & set(data):
            match name:
                case "categories" | "models" | "baselines":
                    chosen[name] = sorted(one.pk for one in data[name])
                case "judges":
                    chosen[name] = sorted(int(pk) for pk in data[name])
                case _:
                    chosen[name] = data[name]
        return {key: value for key, value in chosen.items() if value}


SELECTED = {
    *("categories", "models", "baselines", "judges"),
    *("instructions", "samples", "pairs", "pairs_wanted", "tags"),
}
_POLICIES: dict[str, tuple[str, Callable[[dict[str, Any]], Any]]] = {
    **{
        name: (name, lambda data, name=name: data[name])  # type: ignore[misc]
        for name in ("overlap", "quota", "order", "hints", "answers_per_hour", "probe_gap", "controls")
    },
    **{
        name: (name, lambda data, name=name: True if data[name] else None)  # type: ignore[misc]
        for name in ("training", "show_gold", "show_hours", "adjudicated_labels")
    },
    "last_day": ("last_day", lambda data: data["last_day"].isoformat() if data["last_day"] else None),
    "qualification": (
        "qualification_of",
        lambda data: (
            {"of": data["qualification_of"], "pass": data["qualification_pass"]} if data["qualification_of"] else None
        ),
    ),
    "checks": (
        "checks_failed",
        lambda data: {"window": data.get("checks_window") or 10, "failed": data.get("checks_failed") or 3},
    ),
    "one_key": ("confirm_answers", lambda data: False if data["confirm_answers"] else None),
    "reading_pace": (
        "pace_words",
        lambda data: {
            name: getattr(PaceRule(), name) if data.get(f"pace_{name}") is None else data[f"pace_{name}"]
            for name in PACE
        },
    ),
    "consent": ("consent_en", lambda data: texts_of(data, "consent")),
    "payment": ("payment_en", lambda data: texts_of(data, "payment")),
    "plan": ("raters", lambda data: _plan(data)),
    "stopping": ("stop_question", lambda data: _stopping(data)),
}
"""For each policy the field without which a form does not set it, and how the form's data become its value."""


def _stopping(data: dict[str, Any]) -> dict[str, Any] | None:
    if not data["stop_question"]:
        return None
    rule = StoppingRule(
        data["stop_question"],
        error=round(data["stop_error"] / 100, 6) if data.get("stop_error") else USUAL_ERROR,
        threshold=data.get("stop_threshold") or 0.0,
        models=tuple(sorted(model.pk for model in data.get("stop_models") or ())),
    )
    return rule.stored()


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
        **({} if policies.stopping is None else _stated(policies.stopping)),
    }


def _stated(rule: StoppingRule) -> dict[str, Any]:
    return {
        "stop_question": rule.question,
        "stop_threshold": rule.threshold or None,
        "stop_models": rule.models,
        "stop_error": round(100 * rule.error, 4),
    }
