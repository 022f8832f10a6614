"""The five steps of a study's setup: which settings each shows, and what every folded setting does now, in one line."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from django import forms
from django.utils import formats
from django.utils.functional import Promise
from django.utils.translation import gettext as _, gettext_lazy, ngettext

from annotation.assignment.attention_checks import check_tasks
from annotation.models import Study
from annotation.policies.policies import CONTROL, GOLD, PROBE, Policies, Selection
from annotation.web.study.form_choices import STOPPING

Label = str | Promise
RATED, QUESTIONS, CHECKS, TEXTS, REVIEW = "rated", "questions", "checks", "texts", "review"
LANGUAGES = ("en", "zh-hans")
SUFFIXES = {"en": "_en", "zh-hans": "_zh"}


@dataclass(frozen=True)
class Fold:
    """A folded setting of a step: its name, the fields, and a function that says what it does now."""

    key: str
    title: Label
    fields: tuple[str, ...]
    effect: Callable[[Study], str]


@dataclass(frozen=True)
class Step:
    """A step of the setup: the everyday fields are open, the others folded."""

    key: str
    title: Label
    about: Label
    fields: tuple[str, ...] = ()
    folds: tuple[Fold, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all fields of the step."""
        return (*self.fields, *(name for fold in self.folds for name in fold.fields))


@dataclass(frozen=True)
class OpenFold:
    """A fold as the page shows it; `open` if a field in it was refused."""

    key: str
    title: str
    effect: str
    fields: list[forms.BoundField]
    open: bool


def languages_of(study: Study) -> set[str]:
    """The languages in which the study has a text of its own: name, consent, payment, guideline or questions."""
    policies = Policies.of(study)
    texts = [study.names, policies.consent, policies.payment]
    if study.guideline is not None:
        texts.append(study.guideline.texts)
    if study.rubric is not None and study.rubric.study_id == study.pk:
        texts.extend(criterion.questions for criterion in study.rubric.criteria.all())
    return {language for one in texts for language, text in one.items() if text and language in LANGUAGES} or {"en"}


def second_suffixes(study: Study) -> tuple[str, ...]:
    """The endings of the names of fields in languages that the study does not use."""
    used = languages_of(study)
    return tuple(SUFFIXES[language] for language in LANGUAGES if language not in used)


def shown_fields(form: forms.Form, step: Step, study: Study) -> list[forms.BoundField]:
    """The step's open fields, without those in a language that the study does not use."""
    unused = second_suffixes(study)
    return [form[name] for name in step.fields if name in form.fields and not name.endswith(unused)]


def folds_of(form: forms.Form, step: Step, study: Study) -> Iterator[OpenFold]:
    """The step's folded settings that a study of this kind has, then the texts in another language."""
    for fold in step.folds:
        present = [form[name] for name in fold.fields if name in form.fields]
        if present:
            yield OpenFold(fold.key, str(fold.title), fold.effect(study), present, any(one.errors for one in present))
    unused = second_suffixes(study)
    others = [form[name] for name in step.fields if unused and name in form.fields and name.endswith(unused)]
    if others:
        told = _("The study has texts in one language only.")
        yield OpenFold("language", _("Second language"), told, others, any(one.errors for one in others))


def _number(value: float) -> str:
    return formats.number_format(value, decimal_pos=None if value % 1 else 0, use_l10n=True, force_grouping=True)


def _share(study: Study, kind: str) -> float:
    return round(100 * float(Policies.of(study).check_plan.rates[kind]), 4)


def _chosen(count: int, all_of_them: str, some: str) -> str:
    return some % {"n": _number(count)} if count else all_of_them


def _categories(study: Study) -> str:
    n = len(Selection.of(study).categories)
    return _chosen(
        n, _("All categories are rated."), ngettext("%(n)s category is rated.", "%(n)s categories are rated.", n)
    )


def _tags(study: Study) -> str:
    tags = Selection.of(study).tags
    return (
        _("Only instructions with these tags are used: %(tags)s.") % {"tags": ", ".join(tags)}
        if tags
        else _("Instructions are used whatever their tags.")
    )


def _models(study: Study) -> str:
    n = len(Selection.of(study).models)
    return _chosen(
        n, _("The responses of all models are rated."), ngettext("%(n)s model is rated.", "%(n)s models are rated.", n)
    )


def _samples(study: Study) -> str:
    if Selection.of(study).samples == "all":
        return _("All responses of a model to an instruction are rated.")
    return _("The first response of a model to an instruction is rated.")


def _stopping(study: Study) -> str:
    rule = Policies.of(study).stopping
    if rule is None:
        return _("No question is stated, so the dashboard does not say when labelling may stop.")
    asked = str(dict(STOPPING)[rule.question])
    return _("%(question)s A wrong answer is given in at most %(error)s percent of studies.") % {
        "question": asked,
        "error": _number(round(100 * rule.error, 2)),
    }


def _order(study: Study) -> str:
    if Policies.of(study).stopping is not None:
        return _(
            "Instructions are rated one after another, in an order drawn at random, as the question of stopping needs."
        )
    return {
        "spread": _("Every task is rated once before any task is rated a second time."),
        "finish": _("All ratings of a task are collected close together."),
    }.get(Policies.of(study).order, _("Tasks are assigned at random."))


def _hints(study: Study) -> str:
    return {
        "shown": _("All raters see the hints in the instructions."),
        "split": _("Half of the raters, chosen at random, see the hints in the instructions."),
    }.get(Policies.of(study).hints, _("No rater sees the hints in the instructions."))


def _limits(study: Study) -> str:
    policies = Policies.of(study)
    if policies.answers_per_hour and policies.last_day:
        told = _("A rater gives at most %(n)s ratings per hour, and no task is assigned after %(day)s.")
    elif policies.answers_per_hour:
        told = _("A rater gives at most %(n)s ratings per hour.")
    elif policies.last_day:
        told = _("No task is assigned after %(day)s.")
    else:
        return _("There is neither a limit per hour nor a last day.")
    day = formats.date_format(policies.last_day) if policies.last_day else ""
    return told % {"n": _number(policies.answers_per_hour or 0), "day": day}


def _keys(study: Study) -> str:
    if Policies.of(study).one_key:
        return _("The answer to a single question is sent when it is chosen, and can be undone for 5 seconds.")
    return _("The answer to a single question is submitted with a second key.")


def _qualification(study: Study) -> str:
    rule = Policies.of(study).qualification
    if rule is None:
        return _("Nobody has to qualify.")
    told = _("A rater must answer %(needed)s of %(of)s qualification tasks correctly before rating.")
    return told % {"needed": rule.needed, "of": rule.of}


def _repeats(study: Study) -> str:
    share = _share(study, PROBE)
    if not share:
        return _("No task is repeated.")
    told = _("%(share)s percent of a rater's tasks come back after at least %(gap)s others.")
    return told % {"share": _number(share), "gap": _number(Policies.of(study).check_plan.gap)}


def _gold(study: Study) -> str:
    share, marked = _share(study, GOLD), check_tasks(study, GOLD).count()
    if not marked or not share:
        return (
            _("There are no gold items among a rater's tasks.")
            if not share
            else _("No gold items are marked yet; once they are, %(share)s percent of a rater's tasks are gold items.")
            % {"share": _number(share)}
        )
    told = ngettext(
        "%(share)s percent of a rater's tasks are gold items; %(n)s is marked.",
        "%(share)s percent of a rater's tasks are gold items; %(n)s are marked.",
        marked,
    )
    return told % {"share": _number(share), "n": _number(marked)}


def _controls(study: Study) -> str:
    share, wanted = _share(study, CONTROL), Policies.of(study).controls or 0
    if not wanted or not share:
        return _("No attention checks are created.")
    told = ngettext(
        "%(n)s attention check is created at launch; %(share)s percent of a rater's tasks are attention checks.",
        "%(n)s attention checks are created at launch; %(share)s percent of a rater's tasks are attention checks.",
        wanted,
    )
    return told % {"share": _number(share), "n": _number(wanted)}


def _pausing(study: Study) -> str:
    policies = Policies.of(study)
    told = (
        _("A rater who fails %(failed)s of the latest %(window)s checks is paused, and raters see their accuracy.")
        if policies.show_gold
        else _("A rater who fails %(failed)s of the latest %(window)s checks is paused.")
    )
    return told % {"failed": policies.pausing.failed, "window": policies.pausing.window}


def _pace(study: Study) -> str:
    rule = Policies.of(study).reading_pace
    if not rule.words:
        return _("Nobody is warned or paused for speed.")
    told = _(
        "After %(told)s answers in a row faster than %(words)s words per minute a rater is warned, and after %(paused)s "
        "more paused."
    )
    return told % {"words": _number(rule.words), "told": rule.told, "paused": rule.paused}


def _labels(study: Study) -> str:
    if Policies.of(study).adjudicated_labels:
        return _("The lead's answer counts as the label where a disagreement was resolved.")
    return _("The raters' answers count as they are; the lead's answer stands beside them.")


def _hours(study: Study) -> str:
    if Policies.of(study).show_hours:
        return _("Raters see their hours and pay.")
    return _("Raters do not see their hours and pay.")


STEPS = (
    Step(
        RATED,
        gettext_lazy("What is rated"),
        gettext_lazy("Tasks are created from these choices at launch. Without a choice, everything is rated."),
        ("name_en", "name_zh", "instructions", "pairs", "baselines", "pairs_wanted", "judges"),
        (
            Fold("categories", gettext_lazy("Categories"), ("categories",), _categories),
            Fold("tags", gettext_lazy("Tags"), ("tags",), _tags),
            Fold("models", gettext_lazy("Models"), ("models",), _models),
            Fold("samples", gettext_lazy("Several responses"), ("samples",), _samples),
        ),
    ),
    Step(
        QUESTIONS,
        gettext_lazy("Questions"),
        gettext_lazy("Raters answer the questions of a rubric about every text."),
        ("rubric",),
    ),
    Step(
        CHECKS,
        gettext_lazy("Raters and checks"),
        gettext_lazy(
            "Quality checks are mixed with the other tasks and look like them. They are left out of all "
            "results about the responses."
        ),
        ("overlap", "raters", "quota", "hourly_pay", "currency", "training"),
        (
            Fold(
                "qualification",
                gettext_lazy("Qualification"),
                ("qualification_of", "qualification_pass"),
                _qualification,
            ),
            Fold("repeats", gettext_lazy("Repeated tasks"), ("probe_percent", "probe_gap"), _repeats),
            Fold("gold", gettext_lazy("Gold items"), ("gold_percent",), _gold),
            Fold("controls", gettext_lazy("Attention checks"), ("control_percent", "controls"), _controls),
            Fold("pausing", gettext_lazy("Failed checks"), ("checks_failed", "checks_window", "show_gold"), _pausing),
            Fold("pace", gettext_lazy("Reading speed"), ("pace_words", "pace_told", "pace_paused"), _pace),
            Fold("order", gettext_lazy("Order of tasks"), ("order",), _order),
            Fold(
                "stopping",
                gettext_lazy("When to stop"),
                ("stop_question", "stop_threshold", "stop_models", "stop_error"),
                _stopping,
            ),
            Fold("hints", gettext_lazy("Hints"), ("hints",), _hints),
            Fold("limits", gettext_lazy("Limits of time"), ("answers_per_hour", "last_day"), _limits),
            Fold("keys", gettext_lazy("Submitting"), ("confirm_answers",), _keys),
            Fold("labels", gettext_lazy("Adjudicated answers"), ("adjudicated_labels",), _labels),
        ),
    ),
    Step(
        TEXTS,
        gettext_lazy("Texts for raters"),
        gettext_lazy("A study can do without these texts. Raters read the guideline before their first task."),
        ("guideline", "consent_en", "consent_zh", "payment_en", "payment_zh"),
        (Fold("hours", gettext_lazy("Hours and pay"), ("show_hours",), _hours),),
    ),
    Step(REVIEW, gettext_lazy("Review and launch"), ""),
)
BY_KEY = {step.key: step for step in STEPS}
