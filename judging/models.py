"""The automated judge: which model with which prompt, its runs, and the replies it gave."""

from datetime import datetime
from decimal import Decimal

from django.db import models
from django.db.models import Sum
from django.utils.translation import gettext_lazy as _

from accounts.models import User, Workspace
from annotation.models import Assignment, Rater, Rubric, Study, Task
from core.db.public_ids import new_public_id
from generation.models import LanguageModel, Response
from generation.run_fields import AnyRun, AnyShare


class Judge(models.Model):
    """A model with a method, a prompt and parameters. Immutable: a changed prompt is another judge.

    Plain rules and methods that ask the responses' own models have no model of their own. A panel combines the
    verdicts of its `jurors`, asked in both orders or several times; what it says is derived from theirs.
    """

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="judges")
    rater = models.OneToOneField(Rater, models.PROTECT, related_name="judge")
    language_model = models.ForeignKey(LanguageModel, models.PROTECT, null=True, blank=True, related_name="judges")
    jurors: "models.ManyToManyField[Judge, Judge]" = models.ManyToManyField(
        "self", symmetrical=False, blank=True, related_name="panels"
    )
    method = models.CharField(max_length=50)
    prompt = models.TextField(blank=True)
    prompt_hash = models.CharField(max_length=64)
    parameters = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["rater__label"]

    def __str__(self) -> str:
        return str(self.rater)


class Watch(models.Model):
    """A frozen set of a study's tasks that a judge answers again and again, to see whether it drifts.

    `tasks` are the pks in order; `every_hours` lies between two rounds, the next of which is due at `next_at`.
    """

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    judge = models.ForeignKey(Judge, models.PROTECT, related_name="watches")
    study = models.ForeignKey(Study, models.PROTECT, related_name="watches")
    tasks = models.JSONField(default=list)
    every_hours = models.PositiveIntegerField(default=24)
    next_at = models.DateTimeField()
    active = models.BooleanField(default=True)
    budget_money = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    created_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "watches"
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(fields=["judge", "study"], name="one_watch_per_judge_and_study"),
            models.CheckConstraint(condition=models.Q(every_hours__gt=0), name="watch_has_a_pause"),
        ]

    def __str__(self) -> str:
        return f"{self.judge} on {self.study}"


class DriftBaseline(models.Model):
    """The decision that later rounds of a monitor are compared with `run`, a finished round of it. Append-only.

    The newest row counts for the rounds after its run; without any row, the first round is the baseline. `flagged` says
    whether the check of that round had found a change.
    """

    watch = models.ForeignKey(Watch, models.CASCADE, related_name="baselines")
    run = models.ForeignKey("JudgeRun", models.CASCADE, related_name="+")
    flagged = models.BooleanField()
    created_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["watch", "run"], name="one_drift_baseline_per_round")]

    def __str__(self) -> str:
        return f"{self.watch_id}: {self.run_id}"


class JudgeRunQuerySet(models.QuerySet["JudgeRun"]):
    def of_responses(self) -> "JudgeRunQuerySet":
        """Runs that judge real responses: neither rounds of a drift monitor nor probes."""
        return self.filter(watch=None, probes__isnull=True)


class JudgeRun(AnyRun):
    """A frozen list of items for a judge to answer, its budget, and what became of it.

    `believed_canaries` are the planted texts that the judge fell for, [{"text", "what"}]; empty where it judged none of
    them, so that nothing shows that it can be believed; null where the run has not failed them. `label` is a lead's own
    name for the run. `probes` is the design of a run of probes, whose verdicts count nowhere else: {"arms", "author",
    "instructions", "responses", "left_out"}; null of every other run.
    """

    judge = models.ForeignKey(Judge, models.PROTECT, related_name="runs")
    study = models.ForeignKey(Study, models.PROTECT, related_name="judge_runs")
    watch = models.ForeignKey(Watch, models.SET_NULL, null=True, blank=True, related_name="rounds")
    believed_canaries = models.JSONField(null=True, blank=True)
    label = models.CharField(max_length=80, blank=True, default="", db_default="")
    probes = models.JSONField(null=True, blank=True)

    objects = JudgeRunQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at"]

    workspace_path = "judge__workspace"

    @property
    def workspace_id(self) -> int:
        return self.judge.workspace_id

    @classmethod
    def spent_since(cls, workspace: int, since: datetime) -> Decimal:
        paid = Reply.objects.filter(item__run__judge__workspace=workspace, created_at__gte=since, reused_from=None)
        return paid.order_by().aggregate(n=Sum("cost"))["n"] or Decimal(0)

    @property
    def discredited(self) -> bool:
        """Whether the run failed its planted texts, so that no verdict of it is ranked."""
        return self.believed_canaries is not None

    @property
    def preparing(self) -> bool:
        """Whether items of its plan are still to be made. Asks the database."""
        return Preparation.objects.filter(run=self.pk).exists()


class Preparation(models.Model):
    """What is left to do before a large run can ask anything; gone once all its items are there.

    `tasks` are the pks of those it asks about, in order: decided once, where a benchmark's responses up to
    `newest_response` must become tasks first as soon as they have. `done` of `total` steps, each of which makes a
    response a task or lays out a task's items; the last of them are the tasks. The lease says which worker does it.
    """

    run = models.OneToOneField(JudgeRun, models.CASCADE, related_name="preparation")
    newest_response = models.BigIntegerField(null=True, blank=True)
    tasks = models.JSONField(null=True, blank=True)
    total = models.PositiveIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)
    leased_until = models.DateTimeField(null=True, blank=True)
    leased_by = models.CharField(max_length=64, blank=True)

    def __str__(self) -> str:
        return f"{self.run_id}: {self.done} of {self.total}"

    @property
    def percent(self) -> int:
        return 100 * self.done // self.total if self.total else 100


class PlannedItem(models.Model):
    """One question to the judge: a task, in one order, once. The lease says which worker has it.

    `juror` is the place in the run's list of judges. `repeat` is that of the answer: both orders of a pair are two
    repeats. `canary` names a planted text, whose answer only shows whether the judge can be believed. Replies
    before number `attempts_before` were given up and count no more than their cost.
    """

    class Status(models.TextChoices):
        WAITING = "waiting", _("Waiting")
        SCORED = "scored", _("Scored")
        UNSCORED = "unscored", _("Unscored")

    run = models.ForeignKey(JudgeRun, models.CASCADE, related_name="items")
    task = models.ForeignKey(Task, models.PROTECT, related_name="planned_items")
    shown_first = models.CharField(max_length=1, choices=Assignment.Side.choices, default=Assignment.Side.A)
    repeat = models.PositiveIntegerField(default=0)
    juror = models.PositiveIntegerField(default=0)
    position = models.PositiveIntegerField(default=0)
    canary = models.CharField(max_length=20, blank=True, default="")
    attempts_before = models.PositiveIntegerField(default=0)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.WAITING)
    reason = models.CharField(max_length=300, blank=True)
    reason_json = models.JSONField(null=True, blank=True, editable=False)
    leased_until = models.DateTimeField(null=True, blank=True)
    leased_by = models.CharField(max_length=64, blank=True)
    assignment = models.ForeignKey(Assignment, models.SET_NULL, null=True, blank=True, related_name="planned_items")

    class Meta:
        ordering = ["run", "position"]
        constraints = [
            models.UniqueConstraint(
                fields=["run", "task", "shown_first", "repeat", "juror"], name="one_planned_item_per_question"
            )
        ]
        indexes = [models.Index(fields=["run", "status", "leased_until"], name="planned_item_outstanding")]

    def __str__(self) -> str:
        return f"{self.run_id}/{self.position}"


class BudgetShare(AnyShare):
    """What one worker of a run may still spend."""

    run = models.ForeignKey(JudgeRun, models.CASCADE, related_name="shares")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "worker"], name="one_budget_share_per_run_and_worker")]


class Reply(models.Model):
    """What came back for one attempt, kept whole. `request_hash` covers model, messages, parameters, repeat.

    `calls` were made for it: one, but for methods that ask the writers' own models.
    """

    item = models.ForeignKey(PlannedItem, models.CASCADE, related_name="replies")
    attempt = models.PositiveIntegerField(default=0)
    request_hash = models.CharField(max_length=64)
    text = models.TextField(blank=True)
    finish_reason = models.CharField(max_length=30, blank=True)
    error = models.TextField(blank=True)
    error_json = models.JSONField(null=True, blank=True, editable=False)
    reused_from = models.ForeignKey("self", models.SET_NULL, null=True, blank=True, related_name="reuses")
    input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    calls = models.PositiveSmallIntegerField(default=1)
    cost = models.DecimalField(max_digits=14, decimal_places=8, default=0)
    seconds = models.FloatField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "replies"
        ordering = ["item", "attempt"]
        constraints = [models.UniqueConstraint(fields=["item", "attempt"], name="one_reply_per_item_and_attempt")]
        indexes = [models.Index(fields=["request_hash"], name="reply_by_request")]

    def __str__(self) -> str:
        return f"{self.item_id}#{self.attempt}"


class Alignment(models.Model):
    """Versions of a judge compared with a `baseline` by people's answers to one criterion of a study, on three parts.

    `parts` has the primary keys of the instructions of each part, {"training", "validation", "test"}: split once, by `seed`
    and the `shares` in that order, and never changed.
    """

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    study = models.ForeignKey(Study, models.PROTECT, related_name="alignments")
    baseline = models.ForeignKey(Judge, models.PROTECT, related_name="alignments")
    criterion = models.CharField(max_length=100)
    seed = models.PositiveBigIntegerField(default=0)
    shares = models.JSONField()
    parts = models.JSONField()
    created_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"{self.baseline} on {self.study}"

    @property
    def workspace_id(self) -> int:
        return self.study.workspace_id


class AlignmentVersion(models.Model):
    """A judge that is measured beside the baseline; `draft` is the reply of the model that proposed its prompt."""

    class Proposer(models.TextChoices):
        LEAD = "lead", _("Lead")
        MODEL = "model", _("Model")

    alignment = models.ForeignKey(Alignment, models.CASCADE, related_name="versions")
    judge = models.ForeignKey(Judge, models.PROTECT, related_name="+")
    proposed_by = models.CharField(max_length=10, choices=Proposer.choices, default=Proposer.LEAD)
    draft = models.ForeignKey(Response, models.SET_NULL, null=True, blank=True, related_name="+")
    added_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["alignment", "judge"], name="one_version_per_alignment_and_judge")
        ]

    def __str__(self) -> str:
        return f"{self.alignment_id}: {self.judge}"


class AlignmentLook(models.Model):
    """One version measured once on the test part, at the `level` of look `number`, from 1 up. Append-only.

    `figures` is a BesideBaseline of calibration/statistics/judges/agreement.py, whose gain has an interval of 1 - level.
    """

    class Claim(models.TextChoices):
        BETTER = "better", _("Better")
        WORSE = "worse", _("Worse")
        NOT_SHOWN = "not_shown", _("Not shown")

    alignment = models.ForeignKey(Alignment, models.CASCADE, related_name="looks")
    version = models.OneToOneField(AlignmentVersion, models.CASCADE, related_name="look")
    number = models.PositiveIntegerField()
    level = models.FloatField()
    claim = models.CharField(max_length=10, choices=Claim.choices)
    figures = models.JSONField()
    taken_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["number"]
        constraints = [
            models.UniqueConstraint(fields=["alignment", "number"], name="one_look_per_alignment_and_number")
        ]

    def __str__(self) -> str:
        return f"{self.alignment_id}: look {self.number}"


class RoutedDraw(models.Model):
    """Instructions drawn by chance for people to rate, more often where a judge is less sure. Frozen before the draw.

    `about` is the study whose responses `judges` (primary keys of raters) scored; `language_models` are the primary keys of
    the models compared. `frame` has one entry per instruction of the pool, [{"instruction", "stratum", "spread",
    "probability", "drawn", "responses": {model: [primary keys]}, "judge": {model: score}}], by primary keys. `drawn`
    follows from `seed`; what `spread` and strata are is named by `spread_kind` and `strata`. A unit counts once each of its
    responses has `overlap` ratings in `rated_in`, the draw's own study, which is empty until its tasks are made.
    """

    class SpreadKind(models.TextChoices):
        PANEL = "panel", _("Several judges")
        REPEATS = "repeats", _("Repeats of one judge")
        SOFT = "soft", _("Soft verdicts of one judge")
        NONE = "none", _("No spread: a uniform draw")

    class Strata(models.TextChoices):
        SPREAD = "spread", _("Fifths of the spread")
        CATEGORY = "category", _("Categories")

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    about = models.ForeignKey(Study, models.PROTECT, related_name="routed_draws")
    rated_in = models.OneToOneField(Study, models.SET_NULL, null=True, blank=True, related_name="routed_draw")
    judges = models.JSONField()
    language_models = models.JSONField()
    spread_kind = models.CharField(max_length=10, choices=SpreadKind.choices)
    strata = models.CharField(max_length=10, choices=Strata.choices)
    budget = models.FloatField()
    overlap = models.PositiveIntegerField()
    seed = models.PositiveBigIntegerField()
    frame = models.JSONField()
    created_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            # Draws with one seed would rest on the same random numbers, and are combined as if they did not.
            models.UniqueConstraint(fields=["about", "seed"], name="one_routed_draw_per_study_and_seed")
        ]

    def __str__(self) -> str:
        return f"{self.about}: {self.public_id}"

    @property
    def workspace_id(self) -> int:
        return self.about.workspace_id


class PromptTrial(AnyRun):
    """A version of a prompt, asked about one or a few real answers before any judge is made of it.

    It is worked off like a run, within its budget and the workspace's limit for a month, but it has no judge and no
    assignments: nothing of it is a rating. `source` and `number` say which answers were chosen in the editor. Trials
    that are older than KEPT in judging/trials/records.py are deleted.
    """

    language_model = models.ForeignKey(LanguageModel, models.CASCADE, related_name="prompt_trials")
    method = models.CharField(max_length=50)
    prompt = models.TextField()
    prompt_hash = models.CharField(max_length=64)
    parameters = models.JSONField(default=dict)
    source = models.CharField(max_length=60)
    number = models.PositiveIntegerField(default=1)

    class Meta:
        verbose_name = _("prompt trial")
        ordering = ["-created_at"]

    workspace_path = "language_model__workspace"

    @property
    def workspace_id(self) -> int:
        return self.language_model.workspace_id

    @classmethod
    def spent_since(cls, workspace: int, since: datetime) -> Decimal:
        paid = TrialItem.objects.filter(run__language_model__workspace=workspace, run__created_at__gte=since)
        return paid.order_by().aggregate(n=Sum("cost"))["n"] or Decimal(0)


class TrialItem(models.Model):
    """One answer that a trial asks about, and what came back: the `text` of the last reply, whole, and all it cost.

    `answers` are [{"key", "question", "value", "reason"}] of a verdict. The task is empty where a response of a benchmark
    was asked about directly, and whatever was removed since is empty.
    """

    class Status(models.TextChoices):
        WAITING = "waiting", _("Waiting")
        SCORED = "scored", _("Scored")
        UNSCORED = "unscored", _("Unscored")

    run = models.ForeignKey(PromptTrial, models.CASCADE, related_name="items")
    position = models.PositiveIntegerField(default=0)
    about = models.CharField(max_length=300)
    task = models.ForeignKey(Task, models.SET_NULL, null=True, blank=True, related_name="+")
    response = models.ForeignKey(Response, models.SET_NULL, null=True, blank=True, related_name="+")
    rubric = models.ForeignKey(Rubric, models.SET_NULL, null=True, blank=True, related_name="+")
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.WAITING)
    reason = models.CharField(max_length=300, blank=True)
    reason_json = models.JSONField(null=True, blank=True, editable=False)
    answers = models.JSONField(default=list)
    request_hash = models.CharField(max_length=64, blank=True)
    text = models.TextField(blank=True)
    finish_reason = models.CharField(max_length=30, blank=True)
    input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    calls = models.PositiveSmallIntegerField(default=0)
    cost = models.DecimalField(max_digits=14, decimal_places=8, default=0)
    seconds = models.FloatField(default=0)
    leased_until = models.DateTimeField(null=True, blank=True)
    leased_by = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ["run", "position"]
        constraints = [models.UniqueConstraint(fields=["run", "position"], name="one_trial_item_per_position")]

    def __str__(self) -> str:
        return f"{self.run_id}/{self.position}"


class TrialShare(AnyShare):
    """What the worker of a trial may still spend."""

    run = models.ForeignKey(PromptTrial, models.CASCADE, related_name="shares")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "worker"], name="one_budget_share_per_trial_and_worker")]
