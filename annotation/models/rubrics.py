"""Rubrics, their criteria with scales, and guidelines."""

from typing import Any

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from accounts.models import Workspace
from core.messages.localized import localized
from generation.models import Benchmark, Category, Instruction


class RubricQuerySet(models.QuerySet["Rubric"]):
    def nearest_to(self, instruction: Instruction) -> "Rubric | None":
        """The most specific rubric: of the instruction, the one it names, of its category, the parent, the benchmark."""
        category, benchmark = instruction.category, instruction.benchmark
        named = {instruction.rubric, f"{benchmark.slug}-{instruction.rubric}"} if instruction.rubric else set()
        candidates = (
            self.filter(workspace=instruction.benchmark.workspace, study=None)
            .filter(
                Q(instruction=instruction)
                | Q(instruction=None, category=category, category__isnull=False)
                | Q(instruction=None, category=category.parent if category else None, category__isnull=False)
                | Q(instruction=None, category=None, benchmark=instruction.benchmark)
                | Q(instruction=None, benchmark=instruction.benchmark, key__in=named)
            )
            .exclude(criteria__role=Criterion.Role.CHECK)
        )

        def distance(rubric: Rubric) -> tuple[float, int]:
            if rubric.instruction_id:
                return 0, -rubric.version
            if rubric.key in named:
                return 0.5, -rubric.version
            if category and rubric.category_id:
                return (1 if rubric.category_id == category.pk else 2), -rubric.version
            return 3, -rubric.version

        return min(candidates, key=distance, default=None)


class Rubric(models.Model):
    """An ordered list of criteria, for a benchmark, a category, one instruction or one study; nearest wins.

    `authored` says from which checklist of the workspace the rubric came: {"checklist": public id, "name", "proposals",
    "merged", "ballots", "votes_each", "votes": {criterion key: votes}, "reason" of a choice among ties}; null where it
    came otherwise.
    """

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="rubrics")
    benchmark = models.ForeignKey(Benchmark, models.CASCADE, null=True, blank=True, related_name="rubrics")
    category = models.ForeignKey(Category, models.CASCADE, null=True, blank=True, related_name="rubrics")
    instruction = models.ForeignKey(Instruction, models.CASCADE, null=True, blank=True, related_name="rubrics")
    study = models.ForeignKey("Study", models.CASCADE, null=True, blank=True, related_name="own_rubrics")
    key = models.CharField(max_length=150)
    names = models.JSONField(default=dict)
    version = models.PositiveIntegerField(default=1)
    authored = models.JSONField(null=True, blank=True, editable=False)

    objects = RubricQuerySet.as_manager()

    class Meta:
        ordering = ["key", "version"]
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "key", "version"], name="one_rubric_per_workspace_key_and_version"
            )
        ]

    def __str__(self) -> str:
        return f"{self.key} v{self.version}"

    @property
    def name(self) -> str:
        return localized(self.names) or self.key


class Criterion(models.Model):
    """One question with its scale.

    The scale is `levels` ([{"key", "value", "label": {language: text}, "description": {language: text}}, ...])
    or, where that list is empty, the range `minimum` to `maximum` in steps of `step` (any number where null),
    whose `anchors` ([{"from", "to", "description": {language: text}}, ...]) say what its parts mean.
    `position` is the benchmark's own checklist index, on which published weights rely. `subtasks` says in which
    sub-tasks of a long response a check is made: {"mark": "Week", "numbers": [19], "kind": "single", "range" or
    "periodic", "asked": 52, the sub-tasks that the instruction asks for}; null where the whole text is checked.
    """

    class Role(models.TextChoices):
        ITEM = "item", _("Item")
        OVERALL = "overall", _("Overall")
        PREFERENCE = "preference", _("Preference")
        CHECK = "check", _("Check")

    rubric = models.ForeignKey(Rubric, models.CASCADE, related_name="criteria")
    key = models.CharField(max_length=100)
    questions = models.JSONField(default=dict)
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.ITEM)
    position = models.PositiveIntegerField()
    levels = models.JSONField(default=list, blank=True)
    minimum = models.FloatField(null=True, blank=True)
    maximum = models.FloatField(null=True, blank=True)
    step = models.FloatField(null=True, blank=True)
    anchors = models.JSONField(default=list, blank=True)
    may_not_apply = models.BooleanField(default=False)
    subtasks = models.JSONField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "criteria"
        ordering = ["rubric", "position"]
        constraints = [
            models.UniqueConstraint(fields=["rubric", "key"], name="one_criterion_per_rubric_and_key"),
            models.UniqueConstraint(fields=["rubric", "position"], name="one_criterion_per_rubric_and_position"),
            models.CheckConstraint(
                condition=~Q(levels=[]) | Q(minimum__isnull=False, maximum__isnull=False, minimum__lt=F("maximum")),
                name="criterion_has_levels_or_a_range",
            ),
        ]

    def __str__(self) -> str:
        return self.key

    @property
    def question(self) -> str:
        return localized(self.questions) or self.key

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest value of the scale."""
        if self.levels:
            values = [float(level["value"]) for level in self.levels]
            return min(values), max(values)
        assert self.minimum is not None and self.maximum is not None
        return self.minimum, self.maximum

    def level_of(self, value: float) -> dict[str, Any] | None:
        """The level with `value`, or None if the scale is a range or has no such level."""
        return next((level for level in self.levels if abs(float(level["value"]) - value) < 1e-9), None)

    def admits(self, value: float) -> bool:
        """Whether `value` is on the scale."""
        if self.levels:
            return self.level_of(value) is not None
        low, high = self.ends
        if not low <= value <= high:
            return False
        return self.step is None or abs((value - low) / self.step - round((value - low) / self.step)) < 1e-6


class Guideline(models.Model):
    """Instructions for raters in Markdown. A changed text is a new version; assignments record the version shown."""

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="guidelines")
    key = models.CharField(max_length=100)
    version = models.PositiveIntegerField(default=1)
    texts = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["key", "-version"]
        constraints = [
            models.UniqueConstraint(fields=["workspace", "key", "version"], name="one_guideline_per_key_and_version")
        ]

    def __str__(self) -> str:
        return f"{self.key} v{self.version}"

    @property
    def text(self) -> str:
        return localized(self.texts)
