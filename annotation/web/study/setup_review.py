"""The last step of a study's setup: what is missing before it can be launched, and what may be worth a look."""

from dataclasses import dataclass

from django.urls import reverse
from django.utils.translation import gettext as _, ngettext

from annotation.assignment.attention_checks import check_tasks
from annotation.masking.scan import is_decided, undecided
from annotation.models import Study
from annotation.policies.policies import BadPolicy, Policies, Selection
from annotation.policies.quality_checks import QUALIFICATION, TRAINING
from annotation.studies.selection import PlannedTasks, candidates, chosen_responses, judges_to_review, planned_tasks
from annotation.web.study.setup_steps import BY_KEY, CHECKS, QUESTIONS, RATED, TEXTS
from core.db.stores_nothing import stores_nothing
from core.messages.rendering import for_reader


@dataclass(frozen=True)
class Remark:
    """A sentence about the study, and the page on which it can be changed with the words of its link."""

    text: str
    url: str
    link: str


@dataclass(frozen=True)
class Review:
    """What the last step shows. A study with anything `missing` cannot be launched; `worth_a_look` keeps nobody from it.

    `masks` says whether the page offers to mask the words by which responses say which model wrote them.
    """

    missing: list[Remark]
    worth_a_look: list[Remark]
    masks: bool


@stores_nothing
def review_of(study: Study) -> Review:
    """Review a draft as it is saved now."""
    planned = planned_tasks(study)
    return Review(list(_missing(study, planned)), list(_worth_a_look(study, planned)), not is_decided(study))


def step_url(study: Study, key: str) -> str:
    return f"{reverse('annotation:setup', args=[study])}?step={key}"


def _at(study: Study, key: str, text: str) -> Remark:
    return Remark(text, step_url(study, key), str(BY_KEY[key].title))


def _missing(study: Study, planned: PlannedTasks) -> list[Remark]:
    found: list[Remark] = []
    if not planned.tasks:
        found.append(_why_no_tasks(study, planned))
    policies = Policies.of(study)
    try:
        policies.checked()
    except BadPolicy as problem:
        found.append(_at(study, CHECKS, for_reader(problem)))
    known = reverse("annotation:known_answers", args=[study])
    if policies.training and not check_tasks(study, TRAINING).exists():
        told = _("The study starts with practice tasks, but no task is marked as practice.")
        found.append(Remark(told, known, _("Known answers")))
    if policies.qualification and not check_tasks(study, QUALIFICATION).exists():
        told = _("The study has a qualification, but no task is marked for it.")
        found.append(Remark(told, known, _("Known answers")))
    return found


def _why_no_tasks(study: Study, planned: PlannedTasks) -> Remark:
    if study.kind == Study.Kind.REVIEW:
        if judges_to_review(study).exists():
            return _at(study, RATED, _("None of the chosen responses has a verdict of the chosen judges."))
        return _at(study, RATED, _("No judge has given a verdict on this benchmark yet."))
    if planned.without_rubric:
        return _at(study, QUESTIONS, _("No rubric fits the chosen texts. Choose one, or write questions."))
    if study.benchmark is None:
        return _at(study, RATED, _("The study has no benchmark, so there is nothing to rate."))
    if not chosen_responses(study).exists():
        here = Selection.of(study)
        if here.categories or here.models or here.tags:
            return _at(study, RATED, _("No response matches the choices. Choose more categories, tags or models."))
        told = _("The benchmark %(benchmark)s has no responses with a text yet.") % {"benchmark": study.benchmark.name}
        return Remark(told, reverse("annotation:imports"), _("Upload responses"))
    if study.kind == Study.Kind.PAIR and candidates(study):
        return _at(study, RATED, _("No instruction has two responses to compare. Choose more models or other pairs."))
    return _at(study, RATED, _("The choices do not give any tasks."))


def _worth_a_look(study: Study, planned: PlannedTasks) -> list[Remark]:
    found: list[Remark] = []
    policies = Policies.of(study)
    if planned.tasks and planned.without_rubric:
        told = ngettext(
            "%(n)s response or pair has no rubric of this kind and is left out.",
            "%(n)s responses or pairs have no rubric of this kind and are left out.",
            planned.without_rubric,
        )
        found.append(_at(study, QUESTIONS, told % {"n": planned.without_rubric}))
    if policies.overlap == 1:
        found.append(_at(study, CHECKS, _("Agreement cannot be measured with one rating per task.")))
    if waiting := undecided(study):
        told = ngettext(
            "In %(n)s task a response says which model wrote it.",
            "In %(n)s tasks a response says which model wrote it.",
            waiting,
        )
        review = reverse("annotation:self_naming", args=[study])
        found.append(Remark(told % {"n": waiting}, review, _("Review these responses")))
    if study.guideline is None:
        found.append(_at(study, TEXTS, _("Raters get no guideline.")))
    if not policies.consent:
        found.append(_at(study, TEXTS, _("People who join by a link read a general consent text.")))
    return found
