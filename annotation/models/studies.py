"""Studies, their tasks, and the stored counts of large studies."""

from django.db import models
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext_lazy as _

from accounts.models import User, Workspace
from annotation.models.rubrics import Criterion, Guideline, Rubric
from core.db.public_ids import new_public_id
from core.messages.localized import localized
from generation.models import Benchmark, Response


class Study(models.Model):
    """Tasks rated together under one set of policies.

    `policies` holds what a lead chose: overlap, quota, order, probe_rate, hints, pass marks, time limits.
    """

    class Kind(models.TextChoices):
        CHECKLIST = "checklist", _("Checklist")
        STARS = "stars", _("Stars")
        PAIR = "pair", _("Pairs")
        REVIEW = "review", _("Review of a judge's reasons")
        CHECK = "check", _("Instruction checks")

    class Status(models.TextChoices):
        DRAFT = "draft", _("Draft")
        OPEN = "open", _("Open")
        PAUSED = "paused", _("Paused")
        CLOSED = "closed", _("Closed")

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="studies")
    slug = models.SlugField(max_length=100)
    names = models.JSONField(default=dict)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.DRAFT)
    benchmark = models.ForeignKey(Benchmark, models.PROTECT, null=True, blank=True, related_name="studies")
    experiment = models.CharField(max_length=50, blank=True)
    rubric = models.ForeignKey(Rubric, models.PROTECT, null=True, blank=True, related_name="studies")
    guideline = models.ForeignKey(Guideline, models.PROTECT, null=True, blank=True, related_name="studies")
    policies = models.JSONField(default=dict, blank=True)
    seed = models.BigIntegerField(default=0)
    created_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    source = models.CharField(max_length=300, blank=True)
    archived_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        verbose_name_plural = "studies"
        ordering = ["-created_at"]
        constraints = [models.UniqueConstraint(fields=["workspace", "slug"], name="one_study_per_workspace_and_slug")]

    def __str__(self) -> str:
        return self.slug

    @property
    def name(self) -> str:
        return localized(self.names) or self.slug

    @property
    def task_kind(self) -> "Task.Kind":
        """The kind of the study's tasks."""
        kinds = {
            Study.Kind.PAIR: Task.Kind.PAIR,
            Study.Kind.REVIEW: Task.Kind.REVIEW,
            Study.Kind.CHECK: Task.Kind.CHECK,
        }
        return kinds.get(Study.Kind(self.kind), Task.Kind.SINGLE)

    def asked_criteria(self, *, checks: bool = True) -> QuerySet[Criterion]:
        """The criteria that its tasks ask for; without `checks`, those of ordinary tasks alone.

        An index finds the first task of each rubric: a list of the rubrics of all tasks would read every task.
        """
        tasks = Task.objects.filter(study=self, answer_rubric=OuterRef("rubric"))
        return Criterion.objects.filter(Exists(tasks if checks else tasks.filter(gold__isnull=True)))


class Task(models.Model):
    """A unit to rate: one response, a pair, a part of a response, or the verdict of an assignment.

    `key` identifies the task's content, so that a repeated import finds it: "r:<response>", "p:<a>:<b>", ...
    `part` is {"number", "start", "end", "kind", "mark"} of a sub-task inside a long response; offsets in code points.
    `gold` marks a quality check, which has no slots: {"purpose": "gold", "control", "training" or
    "qualification", "expected": {criterion key: value or [low, high]}, "why": {language: text}}.
    `drawing_probability` (0, 1] is that of a draw with unequal probability; null of every other task. An unweighted mean of
    such answers would be biased, so `counting` leaves them out of every statistic but the draw's own estimate.
    """

    class Kind(models.TextChoices):
        SINGLE = "single", _("Single response")
        PAIR = "pair", _("Pair")
        REVIEW = "review", _("Review")
        CHECK = "check", _("Check")

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    study = models.ForeignKey(Study, models.CASCADE, related_name="tasks")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    key = models.CharField(max_length=250)
    response_a = models.ForeignKey(Response, models.CASCADE, related_name="tasks_as_a")
    response_b = models.ForeignKey(Response, models.CASCADE, null=True, blank=True, related_name="tasks_as_b")
    part = models.JSONField(null=True, blank=True)
    reviews = models.ForeignKey("Assignment", models.CASCADE, null=True, blank=True, related_name="review_tasks")
    answer_rubric = models.ForeignKey(Rubric, models.PROTECT, related_name="answered_in")
    guide_rubric = models.ForeignKey(Rubric, models.PROTECT, null=True, blank=True, related_name="guides")
    gold = models.JSONField(null=True, blank=True)
    position = models.PositiveIntegerField(default=0)
    drawing_probability = models.FloatField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ["study", "position", "id"]
        constraints = [
            models.UniqueConstraint(fields=["study", "key"], name="one_task_per_study_and_key"),
            models.CheckConstraint(
                condition=~Q(kind="pair") | Q(response_b__isnull=False), name="a_pair_has_two_responses"
            ),
        ]
        indexes = [
            models.Index(fields=["study", "position"], condition=Q(gold__isnull=False), name="task_that_checks_raters"),
            models.Index(fields=["study", "answer_rubric"], name="task_of_a_rubric"),
        ]

    def __str__(self) -> str:
        return self.key


class StoppingQuestion(models.Model):
    """The question that was stated before launch, with the order in which instructions count; written once, at launch.

    `question`, `threshold` and `error` are as in annotation/policies/stopping.py; `models_compared` the primary keys of the
    models, `criteria` the keys of the criteria read. `instructions` holds them in the order drawn at random, each as
    [primary key, its tasks]; of each task the first `overlap` answers count.
    """

    study = models.OneToOneField(Study, models.CASCADE, related_name="stopping")
    question = models.CharField(max_length=20)
    threshold = models.FloatField(default=0.0)
    error = models.FloatField()
    models_compared = models.JSONField(default=list)
    criteria = models.JSONField(default=list)
    instructions = models.JSONField(default=list)
    overlap = models.PositiveIntegerField()
    frozen_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.study_id}: {self.question}"


class DeskTally(models.Model):
    """The stored disagreements of a large study, {"spreads", "changes"}. They can be measured again at any time.

    annotation/monitoring/stored_progress.py measures them.
    """

    study = models.OneToOneField(Study, models.CASCADE, related_name="desk_tally")
    counts = models.JSONField(default=dict)
    counted_at = models.DateTimeField()
    asked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "desk tallies"

    def __str__(self) -> str:
        return f"{self.study_id} {self.counted_at}"
