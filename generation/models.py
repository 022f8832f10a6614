"""What is evaluated: benchmarks, their instructions, the models, and what the models answered."""

from datetime import datetime
from decimal import Decimal

from django.db import models
from django.db.models import Q, Sum
from django.utils.translation import gettext_lazy as _

from accounts.models import User, Workspace
from core.db.public_ids import new_public_id
from core.messages.localized import localized
from generation.run_fields import AnyRun, AnyShare

MAIN_EXPERIMENT = "main"


class Benchmark(models.Model):
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="benchmarks")
    slug = models.SlugField(max_length=100)
    names = models.JSONField(default=dict)
    version = models.CharField(max_length=50, blank=True)
    licence = models.CharField(max_length=100, blank=True)
    source = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["slug"]
        constraints = [
            models.UniqueConstraint(fields=["workspace", "slug"], name="one_benchmark_per_workspace_and_slug")
        ]

    def __str__(self) -> str:
        return self.slug

    @property
    def name(self) -> str:
        return localized(self.names) or self.slug


class Import(models.Model):
    """A load of a file or of a published layout: who, when, what, and which rows it created, so that it can be undone.

    `created` holds ids as ranges, {model label: [[first, last], ...]}; `former` what rows that were there had before
    they were completed, [{"model", "ids", "fields"}, ...]. `about` names the study or benchmark, which may be gone.
    """

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="imports")
    command = models.CharField(max_length=50)
    actor = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    made_by = models.CharField(max_length=150, blank=True)
    at = models.DateTimeField(auto_now_add=True)
    file = models.CharField(max_length=300)
    sha256 = models.CharField(max_length=64, blank=True)
    about = models.CharField(max_length=100)
    counts = models.JSONField(default=dict)
    created = models.JSONField(default=dict)
    former = models.JSONField(default=list)
    undone_at = models.DateTimeField(null=True, blank=True)
    undone_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")

    class Meta:
        ordering = ["-at", "-id"]

    def __str__(self) -> str:
        return f"{self.pk}: {self.command} {self.file}"


class Category(models.Model):
    """A kind of instruction; two levels. `aliases` are the keys other layouts use for it."""

    benchmark = models.ForeignKey(Benchmark, models.CASCADE, related_name="categories")
    parent = models.ForeignKey("self", models.CASCADE, null=True, blank=True, related_name="children")
    key = models.CharField(max_length=100)
    names = models.JSONField(default=dict)
    aliases = models.JSONField(default=list, blank=True)
    position = models.PositiveIntegerField(default=0)
    expected_count = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "categories"
        ordering = ["benchmark", "position", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["benchmark", "parent", "key"], condition=Q(parent__isnull=False), name="one_subcategory_per_key"
            ),
            models.UniqueConstraint(
                fields=["benchmark", "key"], condition=Q(parent__isnull=True), name="one_category_per_key"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.parent.key}/{self.key}" if self.parent else self.key

    @property
    def name(self) -> str:
        return localized(self.names) or self.key


class Instruction(models.Model):
    """A prompt; its text may be absent, since ratings without texts are welcome.

    `messages` is a chat: [{"role": "user", "content": ...}, ...]. `parts` are what its last message was put together
    from: {"task": ..., "data": ..., "requirements": [...]}; none where the prompt came finished. `rubric` is the key of
    the benchmark's rubric by which its responses are rated and judged, where the benchmark has several, such as one for
    objective and one for subjective questions; empty where the nearest one is. `asked_by` is the user who asked, by
    whatever id its source uses, and `difficulty` the ratings from 1, very easy, to 5, very hard, that came with it;
    empty and None where the source says nothing.
    """

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    benchmark = models.ForeignKey(Benchmark, models.CASCADE, related_name="instructions")
    external_id = models.CharField(max_length=200)
    category = models.ForeignKey(Category, models.SET_NULL, null=True, blank=True, related_name="instructions")
    messages = models.JSONField(null=True, blank=True)
    parts = models.JSONField(null=True, blank=True)
    reference = models.TextField(blank=True)
    hint = models.TextField(blank=True)
    words_asked = models.PositiveIntegerField(null=True, blank=True)
    language = models.CharField(max_length=10, blank=True)
    tags = models.JSONField(default=list, blank=True)
    rubric = models.CharField(max_length=150, blank=True, default="", db_default="")
    asked_by = models.CharField(max_length=200, blank=True, default="", db_default="")
    difficulty = models.JSONField(null=True, blank=True)

    class Meta:
        ordering = ["benchmark", "external_id"]
        constraints = [
            models.UniqueConstraint(
                fields=["benchmark", "external_id"], name="one_instruction_per_benchmark_and_external_id"
            )
        ]

    def __str__(self) -> str:
        return self.external_id

    @property
    def text(self) -> str:
        """The last user message: what the response answers."""
        users = [m["content"] for m in self.messages or [] if m.get("role") == "user"]
        return users[-1] if users else ""


class InstructionText(models.Model):
    """All that an instruction's messages say, in small letters, for looking words up; none where they say nothing."""

    instruction = models.OneToOneField(Instruction, models.CASCADE, primary_key=True, related_name="folded")
    text = models.TextField()

    def __str__(self) -> str:
        return f"{self.instruction_id}"


class Endpoint(models.Model):
    class Kind(models.TextChoices):
        OPENAI = "openai", _("OpenAI-compatible server")
        IN_PROCESS = "in_process", _("vLLM in the worker's own process")
        SCRIPTED = "scripted", _("Scripted replies")

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="endpoints")
    name = models.CharField(max_length=100)
    kind = models.CharField(max_length=20, choices=Kind.choices, default=Kind.OPENAI)
    base_url = models.CharField(max_length=500, blank=True)
    key_variable = models.CharField(
        max_length=100, blank=True, help_text=_("Name of the environment variable that holds the key.")
    )
    max_concurrent = models.PositiveIntegerField(default=8)
    requests_per_minute = models.PositiveIntegerField(null=True, blank=True)
    tokens_per_minute = models.PositiveIntegerField(null=True, blank=True)
    timeout_seconds = models.PositiveIntegerField(default=300)
    input_price = models.DecimalField(
        max_digits=12, decimal_places=6, default=0, help_text=_("Price of a million tokens read.")
    )
    output_price = models.DecimalField(
        max_digits=12, decimal_places=6, default=0, help_text=_("Price of a million tokens written.")
    )
    context_tokens = models.PositiveIntegerField(null=True, blank=True)
    capabilities = models.JSONField(default=dict, blank=True)
    probed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["workspace", "name"], name="one_endpoint_per_workspace_and_name")
        ]

    def __str__(self) -> str:
        return self.name


class EndpointGrant(models.Model):
    """What the operator allowed an endpoint by a command: its address, with the key in `variable` where one is named.

    It holds while the endpoint has this address and this workspace, and nobody has ended it. For vLLM in process it
    allows to load the model of the `served_name`.
    """

    endpoint = models.ForeignKey(Endpoint, models.CASCADE, related_name="grants")
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="endpoint_grants")
    address = models.CharField(max_length=500, blank=True)
    variable = models.CharField(max_length=100, blank=True)
    served_name = models.CharField(max_length=200, blank=True)
    made_by = models.CharField(max_length=150)
    command = models.CharField(max_length=50)
    made_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-made_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["endpoint", "workspace", "address", "variable", "served_name"],
                condition=Q(ended_at=None),
                name="one_open_grant_of_a_kind",
            )
        ]

    def __str__(self) -> str:
        return f"{self.address or self.served_name} {self.variable}".strip()


class SpendingLimit(models.Model):
    """What the runs of a workspace may spend in a calendar month, in the currency of the endpoints' prices."""

    workspace = models.OneToOneField(Workspace, models.CASCADE, related_name="spending_limit")
    money = models.DecimalField(max_digits=12, decimal_places=6)

    def __str__(self) -> str:
        return f"{self.workspace_id}: {self.money}"


class ErrorPhrases(models.Model):
    """The phrases by which texts of a workspace count as errors, where a lead has changed them."""

    workspace = models.OneToOneField(Workspace, models.CASCADE, related_name="error_phrases")
    refusals = models.JSONField(default=list)
    meaningless = models.JSONField(default=list)

    class Meta:
        verbose_name_plural = "error phrases"

    def __str__(self) -> str:
        return f"{self.workspace_id}: {len(self.refusals)}, {len(self.meaningless)}"


class EndpointTurn(models.Model):
    """From when on an endpoint may be called next; workers take turns of its limits by moving it on."""

    endpoint = models.OneToOneField(Endpoint, models.CASCADE, related_name="turn")
    opens_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.endpoint_id}: {self.opens_at}"


class EndpointSlots(models.Model):
    """How many calls a worker may have under way at an endpoint, of the number that all of them together may.

    `wanted` is how many it could use. A row that ran out belonged to a worker that died. Where there are fewer slots than
    workers they go round: `since` is when a worker joined the line, and until `turn_until` it keeps what it got.
    """

    endpoint = models.ForeignKey(Endpoint, models.CASCADE, related_name="slots")
    worker = models.CharField(max_length=64)
    wanted = models.PositiveIntegerField()
    held = models.PositiveIntegerField(default=0)
    since = models.DateTimeField()
    turn_until = models.DateTimeField(null=True, blank=True)
    leased_until = models.DateTimeField()

    class Meta:
        verbose_name_plural = "endpoint slots"
        constraints = [models.UniqueConstraint(fields=["endpoint", "worker"], name="one_row_of_slots_per_worker")]

    def __str__(self) -> str:
        return f"{self.endpoint_id}: {self.held} of {self.wanted}"


class LanguageModels(models.QuerySet["LanguageModel"]):
    def answering(self, benchmark: "Benchmark | int | None") -> "LanguageModels":
        """Keep the models with a response to the benchmark, each once, without reading all of its responses."""
        given = Response.objects.filter(model=models.OuterRef("pk"), instruction__benchmark=benchmark)
        return self.filter(models.Exists(given))


class LanguageModel(models.Model):
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="language_models")
    endpoint = models.ForeignKey(Endpoint, models.SET_NULL, null=True, blank=True, related_name="language_models")
    name = models.CharField(max_length=200)
    served_name = models.CharField(
        max_length=200, blank=True, help_text=_("The name the endpoint knows it by, where that differs.")
    )
    family = models.CharField(max_length=100, blank=True)
    billions_of_parameters = models.FloatField(null=True, blank=True)
    parameters = models.JSONField(default=dict, blank=True)
    input_price = models.DecimalField(
        max_digits=12, decimal_places=6, null=True, blank=True, help_text=_("Price of a million tokens read.")
    )
    output_price = models.DecimalField(
        max_digits=12, decimal_places=6, null=True, blank=True, help_text=_("Price of a million tokens written.")
    )
    currency = models.CharField(max_length=3, blank=True, default="", db_default="")
    priced_on = models.DateField(null=True, blank=True)
    fictional = models.BooleanField(default=False)

    objects = LanguageModels.as_manager()

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["workspace", "name"], name="one_model_per_workspace_and_name")]

    def __str__(self) -> str:
        return self.name


class GenerationRun(AnyRun):
    """Responses made or imported together. An experiment (main, length, long context) keeps its runs apart."""

    benchmark = models.ForeignKey(Benchmark, models.CASCADE, related_name="generation_runs")
    name = models.CharField(max_length=100)
    experiment = models.CharField(max_length=50, default=MAIN_EXPERIMENT)
    parameters = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(fields=["benchmark", "name"], name="one_generation_run_per_benchmark_and_name")
        ]

    workspace_path = "benchmark__workspace"

    def __str__(self) -> str:
        return f"{self.benchmark}: {self.name}"

    @property
    def workspace_id(self) -> int:
        return self.benchmark.workspace_id

    @classmethod
    def spent_since(cls, workspace: int, since: datetime) -> Decimal:
        costs = (
            model._default_manager.filter(run__benchmark__workspace=workspace, created_at__gte=since)
            .order_by()
            .aggregate(n=Sum("cost"))["n"]
            for model in (Response, SurplusReply)
        )
        return sum((cost for cost in costs if cost is not None), Decimal(0))


class GenerationShare(AnyShare):
    """What one worker of a generation run may still spend."""

    run = models.ForeignKey(GenerationRun, models.CASCADE, related_name="shares")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "worker"], name="one_generation_share_per_run_and_worker")
        ]


class ResponseQuerySet(models.QuerySet["Response"]):
    def to_read(self) -> "ResponseQuerySet":
        """What the library lists and counts: all but the texts that a judge run plants, canaries and changed copies."""
        return self.exclude(kind__in=[Response.Kind.CANARY, Response.Kind.PROBE])


class Response(models.Model):
    class Kind(models.TextChoices):
        RESPONSE = "response", _("Response")
        REFERENCE = "reference", _("Human reference")
        CONTROL = "control", _("Degraded control")
        CANARY = "canary", _("Canary")
        PROBE = "probe", _("Changed copy for a probe")

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    instruction = models.ForeignKey(Instruction, models.CASCADE, related_name="responses")
    model = models.ForeignKey(LanguageModel, models.CASCADE, null=True, blank=True, related_name="responses")
    sample = models.PositiveIntegerField(default=0)
    run = models.ForeignKey(GenerationRun, models.CASCADE, null=True, blank=True, related_name="responses")
    external_id = models.CharField(max_length=200, blank=True)
    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.RESPONSE)
    derived_from = models.ForeignKey("self", models.CASCADE, null=True, blank=True, related_name="derived")
    text = models.TextField(null=True, blank=True)  # noqa: DJ001 - null says the text was never given
    words = models.PositiveIntegerField(null=True, blank=True)
    tokens = models.PositiveIntegerField(null=True, blank=True)
    input_tokens = models.PositiveIntegerField(null=True, blank=True)
    finish_reason = models.CharField(max_length=30, blank=True)
    seconds = models.FloatField(null=True, blank=True)
    cost = models.DecimalField(max_digits=12, decimal_places=6, null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ResponseQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["instruction", "model", "sample", "run"],
                condition=Q(model__isnull=False, run__isnull=False),
                name="one_response_per_instruction_model_sample_run",
            ),
            models.UniqueConstraint(
                fields=["instruction", "model", "sample"],
                condition=Q(model__isnull=False, run__isnull=True, kind="response"),
                name="one_response_per_instruction_model_sample",
            ),
            models.UniqueConstraint(
                fields=["instruction", "external_id"],
                condition=Q(model__isnull=True),
                name="one_response_without_model_per_external_id",
            ),
        ]
        indexes = [models.Index(fields=["run", "model"], name="response_by_run_and_model")]

    def __str__(self) -> str:
        return self.external_id or self.public_id


class GenerationItem(models.Model):
    """One planned response of a run; the lease says which worker has it."""

    class Status(models.TextChoices):
        WAITING = "waiting", _("Waiting")
        DONE = "done", _("Done")
        FAILED = "failed", _("Failed")

    run = models.ForeignKey(GenerationRun, models.CASCADE, related_name="items")
    instruction = models.ForeignKey(Instruction, models.CASCADE, related_name="+")
    model = models.ForeignKey(LanguageModel, models.CASCADE, related_name="+")
    sample = models.PositiveIntegerField(default=0)
    position = models.PositiveIntegerField(default=0)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.WAITING)
    attempts = models.PositiveIntegerField(default=0)
    leased_until = models.DateTimeField(null=True, blank=True)
    leased_by = models.CharField(max_length=64, blank=True)
    error = models.TextField(blank=True)
    error_json = models.JSONField(null=True, blank=True, editable=False)
    response = models.OneToOneField(Response, models.SET_NULL, null=True, blank=True, related_name="generation_item")

    class Meta:
        ordering = ["run", "position"]
        constraints = [
            models.UniqueConstraint(
                fields=["run", "instruction", "model", "sample"], name="one_item_per_run_instruction_model_sample"
            )
        ]
        indexes = [models.Index(fields=["run", "status", "leased_until"], name="generation_item_outstanding")]

    def __str__(self) -> str:
        return f"{self.run_id}/{self.position}"


class SurplusReply(models.Model):
    """What was paid for and is not read: a reply to an item that had its response already, such as from a worker whose
    lease ran out, or what came of a text before its stream broke off."""

    run = models.ForeignKey(GenerationRun, models.CASCADE, related_name="surplus_replies")
    item = models.ForeignKey(GenerationItem, models.CASCADE, related_name="surplus_replies")
    text = models.TextField(blank=True)
    finish_reason = models.CharField(max_length=30, blank=True)
    input_tokens = models.PositiveIntegerField(default=0)
    tokens = models.PositiveIntegerField(default=0)
    seconds = models.FloatField(null=True, blank=True)
    cost = models.DecimalField(max_digits=12, decimal_places=6, default=0)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "surplus replies"

    def __str__(self) -> str:
        return f"{self.item_id}"
