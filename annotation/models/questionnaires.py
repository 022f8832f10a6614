"""What a study asks its raters about themselves: questionnaires before and after the tasks, and the raters' answers."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from annotation.models.raters import Rater
from annotation.models.studies import Study


class Questionnaire(models.Model):
    """A version of the questions of one moment; triggers refuse changes, and the version with the highest number counts.

    `questions` is what annotation/questionnaires/questions.py writes; a version without questions asks nothing.
    """

    class Moment(models.TextChoices):
        BEFORE = "before", _("Before the first task")
        AFTER = "after", _("After the last task")

    study = models.ForeignKey(Study, models.CASCADE, related_name="questionnaires")
    moment = models.CharField(max_length=6, choices=Moment.choices)
    version = models.PositiveIntegerField()
    questions = models.JSONField(default=list)
    created_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["study", "moment", "version"]
        constraints = [
            models.UniqueConstraint(fields=["study", "moment", "version"], name="one_questionnaire_per_version")
        ]

    def __str__(self) -> str:
        return f"{self.study}: {self.moment} v{self.version}"


class QuestionnaireAnswer(models.Model):
    """What one rater answered at one moment, once; triggers refuse changes.

    `answers` is {question key: option key, list of option keys, number or text} in terms of the questionnaire's version;
    `language` is the one in which its wording was shown.
    """

    questionnaire = models.ForeignKey(Questionnaire, models.CASCADE, related_name="given")
    rater = models.ForeignKey(Rater, models.CASCADE, related_name="questionnaire_answers")
    moment = models.CharField(max_length=6, choices=Questionnaire.Moment.choices)
    answers = models.JSONField(default=dict)
    language = models.CharField(max_length=10)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["rater", "moment"], name="one_questionnaire_answer_per_rater_and_moment")
        ]

    def __str__(self) -> str:
        return f"{self.rater_id}: {self.moment}"
