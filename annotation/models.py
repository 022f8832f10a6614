"""How responses are rated: rubrics and scales, studies, raters, tasks, and the answers of people and judges."""

from collections.abc import Iterable
from typing import Any

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from accounts.models import User, Workspace
from core.db.public_ids import new_public_id
from core.messages.localized import localized
from generation.models import Benchmark, Category, Instruction, Response


class RubricQuerySet(models.QuerySet["Rubric"]):
    def nearest_to(self, instruction: Instruction) -> "Rubric | None":
        """The rubric of the instruction, else of its category, of the category's parent, of the benchmark."""
        category = instruction.category
        candidates = (
            self.filter(workspace=instruction.benchmark.workspace, study=None)
            .filter(
                Q(instruction=instruction)
                | Q(instruction=None, category=category, category__isnull=False)
                | Q(instruction=None, category=category.parent if category else None, category__isnull=False)
                | Q(instruction=None, category=None, benchmark=instruction.benchmark)
            )
            .exclude(criteria__role=Criterion.Role.CHECK)
        )

        def distance(rubric: Rubric) -> tuple[int, int]:
            if rubric.instruction_id:
                return 0, -rubric.version
            if category and rubric.category_id:
                return (1 if rubric.category_id == category.pk else 2), -rubric.version
            return 3, -rubric.version

        return min(candidates, key=distance, default=None)


class Rubric(models.Model):
    """An ordered list of criteria, for a benchmark, a category, one instruction or one study; nearest wins."""

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="rubrics")
    benchmark = models.ForeignKey(Benchmark, models.CASCADE, null=True, blank=True, related_name="rubrics")
    category = models.ForeignKey(Category, models.CASCADE, null=True, blank=True, related_name="rubrics")
    instruction = models.ForeignKey(
        Instruction, models.CASCADE, null=True, blank=True, related_name="rubrics"
    )
    study = models.ForeignKey("Study", models.CASCADE, null=True, blank=True, related_name="own_rubrics")
    key = models.CharField(max_length=150)
    names = models.JSONField(default=dict)
    version = models.PositiveIntegerField(default=1)

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
            models.UniqueConstraint(
                fields=["rubric", "position"], name="one_criterion_per_rubric_and_position"
            ),
            models.CheckConstraint(
                condition=~Q(levels=[])
                | Q(minimum__isnull=False, maximum__isnull=False, minimum__lt=F("maximum")),
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
        """The level that stands for `value`, or None where the scale is a range or has no such level."""
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
    """What raters are told, in Markdown. A changed text is another version; assignments name the one shown."""

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="guidelines")
    key = models.CharField(max_length=100)
    version = models.PositiveIntegerField(default=1)
    texts = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["key", "-version"]
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "key", "version"], name="one_guideline_per_key_and_version"
            )
        ]

    def __str__(self) -> str:
        return f"{self.key} v{self.version}"

    @property
    def text(self) -> str:
        return localized(self.texts)


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

    class Meta:
        verbose_name_plural = "studies"
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(fields=["workspace", "slug"], name="one_study_per_workspace_and_slug")
        ]

    def __str__(self) -> str:
        return self.slug

    @property
    def name(self) -> str:
        return localized(self.names) or self.slug

    @property
    def task_kind(self) -> "Task.Kind":
        """The kind of the tasks that it asks."""
        kinds = {
            Study.Kind.PAIR: Task.Kind.PAIR,
            Study.Kind.REVIEW: Task.Kind.REVIEW,
            Study.Kind.CHECK: Task.Kind.CHECK,
        }
        return kinds.get(Study.Kind(self.kind), Task.Kind.SINGLE)


class Cohort(models.Model):
    """Raters who came in by one door. `joins_per_hour` is how many may join from one network address; null: any."""

    class Kind(models.TextChoices):
        ONSITE = "onsite", _("Onsite")
        CROWD = "crowd", _("Crowd")
        PUBLIC = "public", _("Public")

    study = models.ForeignKey(Study, models.CASCADE, related_name="cohorts")
    name = models.CharField(max_length=100)
    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.ONSITE)
    entry_token = models.CharField(max_length=64, unique=True, default=new_public_id)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    consents = models.JSONField(default=dict, blank=True)
    codes = models.JSONField(default=dict, blank=True)
    platform_workspace = models.CharField(max_length=64, blank=True, default="")
    joins_per_hour = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        ordering = ["study", "name"]
        constraints = [
            models.UniqueConstraint(fields=["study", "name"], name="one_cohort_per_study_and_name")
        ]

    def __str__(self) -> str:
        return f"{self.study}: {self.name}"


class Rater(models.Model):
    """Whoever answers: a person (in one study), a judge (in every study), a position in a data set, or a key.

    `label` is what the data set or the lead calls it; `pseudonym` is what pages show.
    """

    class Kind(models.TextChoices):
        PERSON = "person", _("Person")
        JUDGE = "judge", _("Judge")
        SLOT = "slot", _("Position in a data set")
        KEY = "key", _("Key")

    class Provenance(models.TextChoices):
        REAL = "", _("Real")
        SIMULATED = "simulated", _("Simulated")
        SCRIPTED = "scripted", _("Scripted")

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="raters")
    study = models.ForeignKey(Study, models.CASCADE, null=True, blank=True, related_name="raters")
    cohort = models.ForeignKey(Cohort, models.SET_NULL, null=True, blank=True, related_name="raters")
    user = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="raters")
    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.PERSON)
    label = models.CharField(max_length=200)
    pseudonym = models.CharField(max_length=200, blank=True)
    provenance = models.CharField(max_length=10, choices=Provenance.choices, blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["label"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "kind", "label"],
                condition=Q(study__isnull=False),
                name="one_rater_per_study_kind_and_label",
            ),
            models.UniqueConstraint(
                fields=["workspace", "kind", "label"],
                condition=Q(study__isnull=True),
                name="one_judge_per_workspace_and_label",
            ),
            models.UniqueConstraint(
                fields=["study", "user"],
                condition=Q(study__isnull=False, user__isnull=False),
                name="one_rater_per_study_and_user",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        return self.pseudonym or self.label


class Task(models.Model):
    """What is rated: one response, a pair, a part of a response, or the verdict of an assignment.

    `key` says what the task is about, so that a repeated import finds it: "r:<response>", "p:<a>:<b>", ...
    `part` is {"number", "start", "end", "kind", "mark"} of a sub-task inside a long response; offsets in code points.
    `gold` marks a task that measures raters and has no seats: {"purpose": "gold", "control", "training" or
    "qualification", "expected": {criterion key: value or [low, high]}, "why": {language: text}}.
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
    reviews = models.ForeignKey(
        "Assignment", models.CASCADE, null=True, blank=True, related_name="review_tasks"
    )
    answer_rubric = models.ForeignKey(Rubric, models.PROTECT, related_name="answered_in")
    guide_rubric = models.ForeignKey(Rubric, models.PROTECT, null=True, blank=True, related_name="guides")
    gold = models.JSONField(null=True, blank=True)
    position = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["study", "position", "id"]
        constraints = [
            models.UniqueConstraint(fields=["study", "key"], name="one_task_per_study_and_key"),
            models.CheckConstraint(
                condition=~Q(kind="pair") | Q(response_b__isnull=False), name="a_pair_has_two_responses"
            ),
        ]
        indexes = [
            models.Index(
                fields=["study", "position"], condition=Q(gold__isnull=False), name="task_that_checks_raters"
            )
        ]

    def __str__(self) -> str:
        return self.key


class Seat(models.Model):
    """One place in a task's overlap; claiming a seat is what hands a task to a rater.

    `draw_key` is drawn at random when the seat is made: seats are handed out in its order.
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
                fields=["task", "holder"],
                condition=Q(holder__isnull=False),
                name="one_seat_per_task_and_holder",
            ),
            models.CheckConstraint(
                condition=Q(state="free", leased_until__isnull=True)
                | Q(state="held", leased_until__isnull=False)
                | Q(state="taken", leased_until__isnull=True),
                name="only_a_held_seat_has_a_lease",
            ),
        ]
        indexes = [
            models.Index(
                fields=["study", "draw_key"], condition=Q(state="free"), name="seat_free_in_draw_order"
            ),
            models.Index(
                fields=["study", "leased_until"], condition=Q(state="held"), name="seat_held_by_lease"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.task_id}/{self.place}"


class AssignmentQuerySet(models.QuerySet["Assignment"]):
    def open_for(self, rater: Rater) -> "AssignmentQuerySet":
        return self.filter(rater=rater, status=Assignment.Status.OPEN).order_by("pk")

    def answered(self) -> "AssignmentQuerySet":
        """Answers that count: submitted by a person or given by a judge, not probes or surplus."""
        return self.filter(status=Assignment.Status.SUBMITTED, repeat=0)

    def verdicts(self) -> "AssignmentQuerySet":
        """What judges said: one a judge and a task, a panel's combined verdict among them.

        Repeats and second orders are parts of a verdict, rounds of a watch and answers to planted texts are none.
        """
        given = (Assignment.Status.SUBMITTED, Assignment.Status.DERIVED)
        return self.of_judges().filter(status__in=given, repeat=0, task__gold__isnull=True)

    def without_verdict(self) -> "AssignmentQuerySet":
        """Tasks that a judge was asked about and gave no usable verdict on, one a judge and a task."""
        return self.of_judges().filter(status=Assignment.Status.UNSCORED, repeat=0, task__gold__isnull=True)

    def believed(self) -> "AssignmentQuerySet":
        """Without verdicts of runs that failed their planted texts, which are shown and marked but count nowhere."""
        return self.exclude(discredited=True)

    def of_people(self) -> "AssignmentQuerySet":
        return self.filter(rater__kind__in=[Rater.Kind.PERSON, Rater.Kind.SLOT])

    def of_judges(self) -> "AssignmentQuerySet":
        return self.filter(rater__kind=Rater.Kind.JUDGE)


class Assignment(models.Model):
    """One rater's answer to one task, or its attempt at one. `repeat` counts times the same task came again.

    An answer to a task with `gold` ends as "checked": it measures the rater and counts nowhere else. `order` is
    the position in the rater's sequence, from 1. `queue_place` is 1 or 2: a person has one task open and
    one held ready at most, and no two open ones of a rater have the same; null where the seat went to others.
    `reason` says why a task was skipped, or why a surplus answer does not count ("closed", or the state in which its
    rater was stopped); '' where others had taken every seat.
    A verdict is `discredited` while its judge's run has failed its planted texts: it is shown and marked, and
    counts nowhere.
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
                fields=["rater", "queue_place"],
                condition=Q(status="open"),
                name="one_open_task_and_one_held_a_rater",
            ),
        ]
        indexes = [
            models.Index(
                fields=["rater", "status", "repeat", "active_seconds", "submitted_at"],
                name="assignment_work_of_rater",
            ),
            models.Index(fields=["task"], condition=Q(status="skipped"), name="assignment_skipped"),
        ]

    def __str__(self) -> str:
        return self.public_id


class Score(models.Model):
    """One criterion of one answer. Append-only: the highest revision counts, a trigger refuses changes.

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
    evidence = models.JSONField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["assignment", "criterion", "revision"]
        constraints = [
            models.UniqueConstraint(
                fields=["assignment", "criterion", "revision"],
                name="one_score_per_assignment_criterion_and_revision",
            ),
            models.CheckConstraint(
                condition=Q(value__isnull=False, not_applicable=False)
                | Q(value__isnull=True, not_applicable=True),
                name="score_has_a_value_or_does_not_apply",
            ),
        ]
        indexes = [
            models.Index(
                fields=["assignment", "criterion"], condition=Q(revision__gt=0), name="score_changed_later"
            )
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
    """What a rater has entered but not submitted. `repeat` is the assignment's: a task that comes again is empty.

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
            models.UniqueConstraint(
                fields=["task", "rater", "repeat"], name="one_draft_per_task_rater_and_repeat"
            )
        ]

    def __str__(self) -> str:
        return f"{self.task_id} by {self.rater_id}"


class DeskTally(models.Model):
    """A large study's counts as its desk shows them (desk_tallies.py): made from the rows, at any time again."""

    study = models.OneToOneField(Study, models.CASCADE, related_name="desk_tally")
    counts = models.JSONField(default=dict)
    counted_at = models.DateTimeField()
    asked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "desk tallies"

    def __str__(self) -> str:
        return f"{self.study_id} {self.counted_at}"


class Flag(models.Model):
    """Something a rater or a scan found wrong with a task, for the lead to look at."""

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


class RaterIdentity(models.Model):
    """Who a rater is outside this program. Apart from every answer, for leads only; erased by deleting the row.

    `key` recognises a crowd worker who returns ("prolific:<id>", "mturk:<id>"); `particulars` are the other
    parameters of the entry link.
    """

    rater = models.OneToOneField(Rater, models.CASCADE, related_name="identity")
    cohort = models.ForeignKey(Cohort, models.CASCADE, null=True, blank=True, related_name="identities")
    key = models.CharField(max_length=200, blank=True)
    name = models.CharField(max_length=100, blank=True)
    particulars = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "rater identities"
        constraints = [
            models.UniqueConstraint(
                fields=["cohort", "key"], condition=~Q(key=""), name="one_identity_per_cohort_and_key"
            )
        ]

    def __str__(self) -> str:
        return f"identity of {self.rater_id}"


class Participant(models.Model):
    """A crowd worker's place in a study: one participant, one rater, whoever asks for the second.

    `mark` is a keyed hash of the platform's participant id, `submission` one of the platform's submission id, `browser`
    one of the secret kept by the browser that began. `cohort` is the door of the submission under way; answers given
    before it began are not shown in it.
    """

    study = models.ForeignKey(Study, models.CASCADE, related_name="participants")
    rater = models.OneToOneField(Rater, models.CASCADE, related_name="participant")
    cohort = models.ForeignKey(Cohort, models.SET_NULL, null=True, blank=True, related_name="participants")
    mark = models.CharField(max_length=64)
    submission = models.CharField(max_length=64, blank=True, db_index=True)
    browser = models.CharField(max_length=64, blank=True)
    began_at = models.DateTimeField(null=True, blank=True)
    code = models.CharField(max_length=64, blank=True)
    code_until = models.DateTimeField(null=True, blank=True)
    code_tries = models.PositiveSmallIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "mark"], name="one_participant_per_study_and_mark")
        ]

    def __str__(self) -> str:
        return f"participant {self.rater_id}"


class BrowserRequest(models.Model):
    """Another browser asks the lead to go on as a rater; `browser` is a keyed hash of the secret that it keeps."""

    class State(models.TextChoices):
        WAITING = "waiting", _("Waiting")
        ADMITTED = "admitted", _("Admitted")
        REFUSED = "refused", _("Refused")

    participant = models.ForeignKey(Participant, models.CASCADE, related_name="requests")
    browser = models.CharField(max_length=64)
    number = models.CharField(max_length=8)
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["participant", "browser"], name="one_request_per_participant_and_browser"
            )
        ]

    def __str__(self) -> str:
        return f"{self.number}: {self.state}"


class Standing(models.Model):
    """How far a rater has come at the door, and whether they may go on rating.

    `stops_at`: the rater's last task before a pause that failed checks have decided, so that nobody can tell which task
    decided it. `fast_in_a_row` counts the latest answers that came sooner than their texts can be read.
    """

    class State(models.TextChoices):
        JOINING = "joining", _("Joining")
        RATING = "rating", _("Rating")
        PAUSED = "paused", _("Paused")
        FAILED = "failed", _("Not qualified")
        SCREENED_OUT = "screened_out", _("Screened out")

    rater = models.OneToOneField(Rater, models.CASCADE, related_name="standing")
    state = models.CharField(max_length=12, choices=State.choices, default=State.JOINING)
    consented_at = models.DateTimeField(null=True, blank=True)
    consent_hash = models.CharField(max_length=64, blank=True)
    guideline_read_at = models.DateTimeField(null=True, blank=True)
    trained_at = models.DateTimeField(null=True, blank=True)
    qualified_at = models.DateTimeField(null=True, blank=True)
    cause = models.CharField(max_length=20, blank=True)
    message = models.TextField(blank=True)
    checks_after = models.PositiveBigIntegerField(default=0)
    stops_at = models.PositiveIntegerField(null=True, blank=True)
    fast_in_a_row = models.PositiveIntegerField(default=0)
    told_fast_at = models.DateTimeField(null=True, blank=True)
    changed_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"{self.rater_id}: {self.state}"


class CheckOutcome(models.Model):
    """Whether an answer to a gold item, control, training or qualification item was as expected."""

    assignment = models.OneToOneField(Assignment, models.CASCADE, related_name="check_outcome")
    purpose = models.CharField(max_length=15)
    passed = models.BooleanField()
    missed = models.JSONField(default=list, blank=True)
    at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"{self.assignment_id}: {'passed' if self.passed else 'missed'}"


class TimeCorrection(models.Model):
    """A rater's own word on how long a task took, beside the measured time. Append-only; the latest counts.

    `seconds` is at most the time between hand-out and answer; `claimed` is what the rater said where that was more.
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


class DoorKnock(models.Model):
    """An attempt to join by a cohort's link; `visitor` is a keyed hash of the address and the day."""

    cohort = models.ForeignKey(Cohort, models.CASCADE, related_name="knocks")
    visitor = models.CharField(max_length=64)
    at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["cohort", "visitor", "at"], name="knock_by_cohort_and_visitor")]

    def __str__(self) -> str:
        return f"{self.cohort_id} {self.at}"


class RefusedAddress(models.Model):
    """A network address from which more people wanted to join by a door within an hour than it allows.

    It is kept for two days, so that the lead sees whom the limit keeps out.
    """

    cohort = models.ForeignKey(Cohort, models.CASCADE, related_name="refused_addresses")
    address = models.CharField(max_length=50)
    refused = models.PositiveIntegerField(default=0)
    last_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "refused addresses"
        ordering = ["-last_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["cohort", "address"], name="one_row_per_cohort_and_refused_address"
            )
        ]

    def __str__(self) -> str:
        return f"{self.cohort_id} {self.address}: {self.refused}"


def latest_scores(scores: Iterable[Score]) -> dict[int, Score]:
    """Of one assignment's scores, the highest revision of each criterion, by criterion id."""
    latest: dict[int, Score] = {}
    for score in scores:
        known = latest.get(score.criterion_id)
        if known is None or score.revision > known.revision:
            latest[score.criterion_id] = score
    return latest
