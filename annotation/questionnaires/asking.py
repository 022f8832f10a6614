"""When a rater is asked a study's questionnaires, and the storing of versions and answers.

A rater is asked before their first task, and after their last one; never in between, and each only once. Whoever began
before there was a questionnaire is not asked the first, and finishes without the second if they like.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from accounts.models import Event, User
from annotation.assignment.leases import GIVEN
from annotation.assignment.rater_status import is_stopped
from annotation.models import Assignment, Questionnaire, QuestionnaireAnswer, Rater, Study
from annotation.questionnaires.questions import AskedQuestion, read_questions

BEFORE, AFTER = Questionnaire.Moment.BEFORE, Questionnaire.Moment.AFTER


@dataclass(frozen=True)
class Asked:
    """A questionnaire that a rater is to answer now; `first` says when such questions were first asked.

    `holds` says whether the end of the work waits for the answers.
    """

    questionnaire: Questionnaire
    questions: tuple[AskedQuestion, ...]
    first: datetime
    holds: bool = False


def questions_of(questionnaire: Questionnaire) -> tuple[AskedQuestion, ...]:
    return read_questions(questionnaire.questions)


def current(study: Study, moment: str) -> Asked | None:
    """The version that counts now, if it asks anything; one query."""
    versions = list(study.questionnaires.filter(moment=moment).order_by("version"))
    if not versions or not versions[-1].questions:
        return None
    since = versions[-1].created_at
    for version in reversed(versions):
        if not version.questions:
            break
        since = version.created_at
    return Asked(versions[-1], questions_of(versions[-1]), since)


def due_before(rater: Rater, study: Study) -> Asked | None:
    """The questions that the rater answers before their first task; one query where the study asks none."""
    asked = current(study, BEFORE)
    if asked is None or is_stopped(rater) or has_answered(rater, BEFORE):
        return None
    return None if Assignment.objects.filter(rater=rater).exists() else asked


def due_after(rater: Rater, study: Study, *, quota: int | None, given: int) -> Asked | None:
    """The questions for a rater who has no more tasks and gave `given` answers; one query where the study asks none.

    A pause of the study is no end of the work unless the rater reached the quota. A closed study asks nobody.
    """
    reached = quota is not None and given >= quota
    if not given or not (study.status == Study.Status.OPEN or (study.status == Study.Status.PAUSED and reached)):
        return None
    asked = current(study, AFTER)
    if asked is None or is_stopped(rater) or has_answered(rater, AFTER):
        return None
    began = Assignment.objects.filter(rater=rater).order_by("pk").values_list("created_at", flat=True).first()
    required = any(question.required for question in asked.questions)
    holds = required and began is not None and began >= asked.first
    return Asked(asked.questionnaire, asked.questions, asked.first, holds)


def given_answers(rater: Rater) -> int:
    """How many tasks the rater has answered."""
    return Assignment.objects.filter(GIVEN, rater=rater).count()


def has_answered(rater: Rater, moment: str) -> bool:
    return QuestionnaireAnswer.objects.filter(rater=rater, moment=moment).exists()


def give(questionnaire: Questionnaire, rater: Rater, answers: Mapping[str, Any], *, language: str) -> bool:
    """Store a rater's answers; False if they have answered at this moment already, and nothing is changed."""
    try:
        with transaction.atomic():
            QuestionnaireAnswer.objects.create(
                questionnaire=questionnaire,
                rater=rater,
                moment=questionnaire.moment,
                answers=dict(answers),
                language=language,
            )
    except IntegrityError:
        if not has_answered(rater, questionnaire.moment):
            raise
        return False
    return True


def save_questions(
    study: Study, moment: str, questions: Sequence[AskedQuestion], *, by: User | None
) -> Questionnaire | None:
    """Save the questions of a moment as a new version if they changed; None where there is nothing to ask at all."""
    wanted = [question.as_json() for question in questions]
    with transaction.atomic():
        Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        latest = study.questionnaires.filter(moment=moment).order_by("version").last()
        if (latest.questions if latest else []) == wanted:
            return latest
        made = Questionnaire.objects.create(
            study=study, moment=moment, version=latest.version + 1 if latest else 1, questions=wanted, created_by=by
        )
        Event.objects.create(
            workspace_id=study.workspace_id,
            actor=by,
            verb="change_questionnaire",
            object_type="study",
            object_id=study.public_id,
            before={moment: [one["key"] for one in latest.questions]} if latest else None,
            after={moment: [one["key"] for one in wanted], "version": made.version},
        )
    return made


def copy_questionnaires(study: Study, made: Study, *, by: User | None) -> None:
    """Give a study the current questionnaires of another, as its first versions."""
    for moment in Questionnaire.Moment.values:
        found = current(study, moment)
        if found is not None:
            save_questions(made, moment, found.questions, by=by)
