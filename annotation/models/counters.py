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


class RaterWork(models.Model):
    """Counts of one rater's assignments in one study, apart from the open ones.

    `given` are those of any other status; `answered`, `unscored` and `discredited` are counted as the dashboard shows
    them: for a judge one for each task, combined verdicts included. `seconds` is the sum of the active time of the `timed`
    ones of those answered. `checks` and `failed` are gold items and attention checks. `last` is the latest time of an
    answer, unless `removed`, which grows with every time that was taken away, says that it must be read from the rows.
    """

    given = models.BigIntegerField(default=0)
    answered = models.BigIntegerField(default=0)
    skipped = models.BigIntegerField(default=0)
    unscored = models.BigIntegerField(default=0)
    surplus = models.BigIntegerField(default=0)
    excluded = models.BigIntegerField(default=0)
    discredited = models.BigIntegerField(default=0)
    timed = models.BigIntegerField(default=0)
    seconds = models.FloatField(default=0.0)
    checks = models.BigIntegerField(default=0)
    failed = models.BigIntegerField(default=0)
    removed = models.BigIntegerField(default=0)
    last = models.DateTimeField(null=True)

    class Meta:
        abstract = True


class InstructionWork(models.Model):
    """Counts of one instruction in one study: tasks (quality checks too), slots, and answers by people and judges.

    They are of instructions and not of categories, so that an instruction which moves to another category needs no recount.
    """

    tasks = models.BigIntegerField(default=0)
    seats = models.BigIntegerField(default=0)
    taken = models.BigIntegerField(default=0)
    people = models.BigIntegerField(default=0)
    judged = models.BigIntegerField(default=0)

    class Meta:
        abstract = True


class RaterCounter(RaterWork):
    """The counts of a rater in a study, to which those of the WorkChange rows are added."""

    study = models.BigIntegerField()
    rater = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "rater"], name="one_counter_per_study_and_rater")]

    def __str__(self) -> str:
        return f"{self.study}/{self.rater}: {self.answered}"


class InstructionCounter(InstructionWork):
    """The counts of an instruction in a study, to which those of the WorkChange rows are added."""

    study = models.BigIntegerField()
    instruction = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "instruction"], name="one_counter_per_study_and_instruction")
        ]

    def __str__(self) -> str:
        return f"{self.study}/{self.instruction}: {self.people}"


class WorkChange(RaterWork, InstructionWork):
    """What one statement changed for a rater, for an instruction, or for both; 0 stands for none.

    On PostgreSQL, where raters who answer at once would wait for each other's counter.
    """

    study = models.BigIntegerField(db_index=True)
    rater = models.BigIntegerField(default=0)
    instruction = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.study}/{self.rater}/{self.instruction}: {self.answered:+d}"
