"""What raters wrote in own words in questionnaires, and its removal, which leaves their choices and numbers."""

from django.db.models import QuerySet

from annotation.models import QuestionnaireAnswer
from annotation.questionnaires.asking import questions_of
from annotation.questionnaires.questions import without_texts


def erase_questionnaire_texts(given: QuerySet[QuestionnaireAnswer]) -> int:
    """Empty the texts of these answers and return how many lost one. Inside `removing`."""
    emptied = 0
    for one in given.select_related("questionnaire"):
        if holds_text(one):
            kept = without_texts(questions_of(one.questionnaire), one.answers)
            QuestionnaireAnswer.objects.filter(pk=one.pk).update(answers=kept)
            emptied += 1
    return emptied


def holds_text(one: QuestionnaireAnswer) -> bool:
    """Whether a text of the rater's own is among the answers."""
    return bool(without_texts(questions_of(one.questionnaire), one.answers) != one.answers)
