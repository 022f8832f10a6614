"""Counts of each study that triggers of the database keep (annotation/counters/)."""

from django.db import models


class Counts(models.Model):
    """`study` is the pk of a study, 0 for what belongs to none: there `changes` counts changes of categories.

    `answers` and `scores` are how many there are. `changes`, `judged` and `tasks` only grow: with every change of the
    study's answers, of its judges' answers and of its tasks.
    """

    changes = models.BigIntegerField(default=0)
    answers = models.BigIntegerField(default=0)
    scores = models.BigIntegerField(default=0)
    judged = models.BigIntegerField(default=0)
    tasks = models.BigIntegerField(default=0)

    class Meta:
        abstract = True


class StudyCounter(Counts):
    """The counts of a study, to which those of its StudyChange rows are added."""

    study = models.BigIntegerField(primary_key=True)

    def __str__(self) -> str:
        return f"{self.study}: {self.answers}"


class StudyChange(Counts):
    """What one statement changed. On PostgreSQL, where raters who answer at once would wait for each other's counter."""

    study = models.BigIntegerField(db_index=True)

    def __str__(self) -> str:
        return f"{self.study}: {self.answers:+d}"
