"""Assignment slots, assignments, and flags on tasks."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotation.models.exclusions import counting
from annotation.models.raters import Rater
from annotation.models.studies import Study, Task
from core.db.public_ids import new_public_id


class Seat(models.Model):
    """An assignment slot: one rating of a task's overlap. Claiming it assigns the task to a rater.

    `draw_key` is drawn at random when the slot is created; slots are assigned in its order.
    """

    class State(models.TextChoices):
        FREE = "free", _("Free")
        HELD = "held", _("Held")
        TAKEN = "taken", _("Taken")

    study = models.ForeignKey(Study, models.CASCADE, related_name="seats")
    task = models.ForeignKey(Task, models.CASCADE, related_name="seats")
    place = models.PositiveSmallIntegerField()
    draw_key = models.BigIntegerField()
    state = models.CharField(max_length=5, choices=State.choices, default=State.FREE)
    holder = models.ForeignKey(Rater, models.SET_NULL, null=True, blank=True, related_name="seats")
    leased_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["task", "place"], name="one_seat_per_task_and_place"),
            models.UniqueConstraint(
                fields=["task", "holder"], condition=Q(holder__isnull=False), name="one_seat_per_task_and_holder"
            ),
            models.CheckConstraint(
                condition=Q(state="free", leased_until__isnull=True)
                | Q(state="held", leased_until__isnull=False)
                | Q(state="taken", leased_until__isnull=True),
                name="only_a_held_seat_has_a_lease",
            ),
        ]
        indexes = [
            models.Index(fields=["study", "draw_key"], condition=Q(state="free"), name="seat_free_in_draw_order"),
            models.Index(fields=["study", "leased_until"], condition=Q(state="held"), name="seat_held_by_lease"),
        ]

    def __str__(self) -> str:
        return f"{self.task_id}/{self.place}"


class AssignmentQuerySet(models.QuerySet["Assignment"]):
    def open_for(self, rater: Rater) -> "AssignmentQuerySet":
        return self.filter(rater=rater, status=Assignment.Status.OPEN).order_by("pk")

    def answered(self) -> "AssignmentQuerySet":
        """Answers that count: submitted by a person or given by a judge, without repeats, surplus and excluded ones."""
        return self.filter(counting(), repeat=0)

    def verdicts(self) -> "AssignmentQuerySet":
        """Judges' verdicts, one per judge and task, including a panel's combined verdict.

        Repeats and second orders are parts of a verdict. Drift-monitor rounds and answers to canary texts are excluded.
        """
        given = (Assignment.Status.SUBMITTED, Assignment.Status.DERIVED)
        return self.of_judges().filter(status__in=given, repeat=0, task__gold__isnull=True)

    def without_verdict(self) -> "AssignmentQuerySet":
        """Assignments without a usable verdict, one per judge and task."""
        return self.of_judges().filter(status=Assignment.Status.UNSCORED, repeat=0, task__gold__isnull=True)

    def believed(self) -> "AssignmentQuerySet":
        """Exclude verdicts of runs that failed their canary texts, which are shown and marked but never counted."""
        return self.exclude(discredited=True)

    def of_people(self) -> "AssignmentQuerySet":
        return self.filter(rater__kind__in=[Rater.Kind.PERSON, Rater.Kind.SLOT])

    def of_judges(self) -> "AssignmentQuerySet":
        return self.filter(rater__kind=Rater.Kind.JUDGE)


class Assignment(models.Model):
    """One rater's answer to one task, or its attempt at one. `repeat` counts how often the same task has come again.

    An answer to a task with `gold` ends as "checked": it checks the rater and is not counted elsewhere. `order` is
    the position in the rater's sequence, from 1. `queue_place` is 1 or 2: a person has one task open and
    one held ready at most, and no two open ones of a rater have the same; null where the seat went to others.
    An answer is "excluded" while a lead's Exclusion covers it; before, and once it is lifted, it is "submitted", or
    "checked" where the task has `gold`. `queue_place` then says that it had a seat, which others may have taken since.
    `reason` says why a task was skipped, or why a surplus answer does not count ("closed", or the state in which its
    rater was stopped); '' where others had taken every seat.
    A verdict is `discredited` while its judge's run has failed its canary texts: it is shown and marked, but not
    counted.
    """

    class Status(models.TextChoices):
        OPEN = "open", _("Open")
        SUBMITTED = "submitted", _("Submitted")
        SKIPPED = "skipped", _("Skipped")
        SURPLUS = "surplus", _("Surplus")
        ABSENT = "absent", _("Absent")
        UNSCORED = "unscored", _("Unscored")
        DERIVED = "derived", _("Derived")
        CHECKED = "checked", _("Checked")
        EXCLUDED = "excluded", _("Excluded")

    class Side(models.TextChoices):
        A = "a", "A"
        B = "b", "B"

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    task = models.ForeignKey(Task, models.CASCADE, related_name="assignments")
    rater = models.ForeignKey(Rater, models.CASCADE, related_name="assignments")
    repeat = models.PositiveIntegerField(default=0)
    seat = models.OneToOneField(Seat, models.SET_NULL, null=True, blank=True, related_name="assignment")
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.OPEN)
    reason = models.CharField(max_length=300, blank=True)
    reason_json = models.JSONField(null=True, blank=True, editable=False)
    shown_first = models.CharField(max_length=1, choices=Side.choices, blank=True)
    order = models.PositiveIntegerField(null=True, blank=True)
    queue_place = models.PositiveSmallIntegerField(null=True, blank=True)
    conditions = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    shown_at = models.DateTimeField(null=True, blank=True)
    submitted_at = models.DateTimeField(null=True, blank=True)
    active_seconds = models.FloatField(null=True, blank=True)
    idle_seconds = models.FloatField(null=True, blank=True)
    discredited = models.BooleanField(null=True, blank=True)

    objects = AssignmentQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["task", "rater", "repeat"], name="one_assignment_per_task_rater_and_repeat"
            ),
            models.UniqueConstraint(
                fields=["rater", "queue_place"], condition=Q(status="open"), name="one_open_task_and_one_held_a_rater"
            ),
        ]
        indexes = [
            models.Index(
                fields=["rater", "status", "repeat", "active_seconds", "submitted_at"], name="assignment_work_of_rater"
            ),
            models.Index(fields=["task"], condition=Q(status="skipped"), name="assignment_skipped"),
            models.Index(fields=["task"], condition=Q(status="excluded"), name="assignment_excluded"),
        ]

    def __str__(self) -> str:
        return self.public_id


GIVEN = (Assignment.Status.SUBMITTED, Assignment.Status.SURPLUS, Assignment.Status.CHECKED, Assignment.Status.EXCLUDED)
"""Answers that a rater gave: their own pages, their hours and their payment are the same whether or not they count."""


def why_not_counted(status: str, reason: str) -> str:
    """Why an answer does not count: "excluded" by a lead, or what made it surplus ("full", "closed", ...); '' if it does."""
    if status == Assignment.Status.EXCLUDED:
        return "excluded"
    return (reason or "full") if status == Assignment.Status.SURPLUS else ""


class Flag(models.Model):
    """A problem with a task that a rater or a scan reported to the lead."""

    task = models.ForeignKey(Task, models.CASCADE, related_name="flags")
    rater = models.ForeignKey(Rater, models.SET_NULL, null=True, blank=True, related_name="flags")
    kind = models.CharField(max_length=50)
    text = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    resolved_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.kind}: {self.task_id}"
