"""Answers of raters: scores, drafts, late changes, outcomes of checks, and corrected times."""

from collections.abc import Iterable

from django.db import models
from django.db.models import Q

from annotation.models.assignments import Assignment
from annotation.models.raters import Rater
from annotation.models.rubrics import Criterion
from annotation.models.studies import Task


class Score(models.Model):
    """The score of one criterion in one answer. Append-only: the highest revision counts, and a trigger blocks changes.

    `value` is on the criterion's own scale; a pair's score is positive where the task's response A is better,
    whatever was shown first. `evidence` is [{"response": "a"|"b", "start", "end"}, ...] in code points.
    """

    assignment = models.ForeignKey(Assignment, models.CASCADE, related_name="scores")
    criterion = models.ForeignKey(Criterion, models.PROTECT, related_name="scores")
    revision = models.PositiveIntegerField(default=0)
    value = models.FloatField(null=True)
    level = models.CharField(max_length=50, blank=True)
    not_applicable = models.BooleanField(default=False)
    reason = models.TextField(blank=True)
    reason_json = models.JSONField(null=True, blank=True, editable=False)
    evidence = models.JSONField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["assignment", "criterion", "revision"]
        constraints = [
            models.UniqueConstraint(
                fields=["assignment", "criterion", "revision"], name="one_score_per_assignment_criterion_and_revision"
            ),
            models.CheckConstraint(
                condition=Q(value__isnull=False, not_applicable=False) | Q(value__isnull=True, not_applicable=True),
                name="score_has_a_value_or_does_not_apply",
            ),
        ]
        indexes = [
            models.Index(fields=["assignment", "criterion"], condition=Q(revision__gt=0), name="score_changed_later")
        ]

    def __str__(self) -> str:
        return f"{self.criterion_id}={'n/a' if self.not_applicable else self.value}"


class LateChange(models.Model):
    """A change to an answer that came too late to count: its rater was stopped, or the study closed. Append-only.

    `cause` is the rater's state (see Standing) or "closed". `answers` holds what was sent, by criterion key: {"value",
    "level", "not_applicable", "reason", "evidence"}. No statistic reads these rows; an export has them.
    """

    assignment = models.ForeignKey(Assignment, models.CASCADE, related_name="late_changes")
    cause = models.CharField(max_length=20)
    answers = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["assignment", "pk"]

    def __str__(self) -> str:
        return f"{self.assignment_id}: {self.cause}"


class Draft(models.Model):
    """Entries of a rater that are not submitted yet. `repeat` is the assignment's, so a repeated task starts empty.

    `paragraph` is how far the rater has read in the first response shown, `paragraph_b` in the second, from 0.
    """

    task = models.ForeignKey(Task, models.CASCADE, related_name="drafts")
    rater = models.ForeignKey(Rater, models.CASCADE, related_name="drafts")
    repeat = models.PositiveIntegerField(default=0)
    answers = models.JSONField(default=dict)
    paragraph = models.PositiveIntegerField(default=0)
    paragraph_b = models.PositiveIntegerField(default=0)
    serial = models.PositiveBigIntegerField(default=0)
    saved_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["task", "rater", "repeat"], name="one_draft_per_task_rater_and_repeat")
        ]

    def __str__(self) -> str:
        return f"{self.task_id} by {self.rater_id}"


class CheckOutcome(models.Model):
    """Whether an answer to a gold item, attention check, practice task or qualification task passed."""

    assignment = models.OneToOneField(Assignment, models.CASCADE, related_name="check_outcome")
    purpose = models.CharField(max_length=15)
    passed = models.BooleanField()
    missed = models.JSONField(default=list, blank=True)
    at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"{self.assignment_id}: {'passed' if self.passed else 'missed'}"


class TimeCorrection(models.Model):
    """A rater's correction of the measured time of a task. Append-only; the latest counts.

    `seconds` is at most the time from assignment to answer; `claimed` is the reported time if it was longer.
    """

    assignment = models.ForeignKey(Assignment, models.CASCADE, related_name="time_corrections")
    seconds = models.FloatField()
    claimed = models.FloatField(null=True, blank=True)
    reason = models.CharField(max_length=300)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["assignment", "pk"]

    def __str__(self) -> str:
        return f"{self.assignment_id}: {self.seconds} s"


def latest_scores(scores: Iterable[Score]) -> dict[int, Score]:
    """The highest revision of each criterion among one assignment's scores, by criterion id."""
    latest: dict[int, Score] = {}
    for score in scores:
        known = latest.get(score.criterion_id)
        if known is None or score.revision > known.revision:
            latest[score.criterion_id] = score
    return latest
