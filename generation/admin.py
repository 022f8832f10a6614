"""The generation tables in the administration. Long texts are shown, not loaded into lists."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from generation.library.search import note_texts
from generation.models import (
    Benchmark,
    Category,
    Endpoint,
    EndpointGrant,
    EndpointSlots,
    EndpointTurn,
    ErrorPhrases,
    GenerationItem,
    GenerationRun,
    GenerationShare,
    Import,
    Instruction,
    InstructionText,
    LanguageModel,
    Response,
    SpendingLimit,
    SurplusReply,
)
from generation.web.endpoints.forms import KeyNameForm, ParametersForm, key_dropped
from generation.web.library.admin_forms import InstructionForm, NamesForm


class CategoryInline(admin.TabularInline):  # type: ignore[type-arg]
    model = Category
    form = NamesForm
    extra = 0
    show_change_link = True
    fields = ["parent", "key", "names", "aliases", "position", "expected_count"]
    raw_id_fields = ["parent"]


@admin.register(Benchmark)
class BenchmarkAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    form = NamesForm
    list_display = ["slug", "name", "version", "licence", "instruction_count", "workspace"]
    list_filter = ["workspace"]
    list_select_related = ["workspace"]
    search_fields = ["slug", "names"]
    inlines = [CategoryInline]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Benchmark]:
        found: QuerySet[Benchmark] = super().get_queryset(request).annotate(instruction_count=Count("instructions"))
        return found

    @admin.display(description=_("Instructions"), ordering="instruction_count")
    def instruction_count(self, benchmark: Any) -> int:
        return int(benchmark.instruction_count)


@admin.register(Category)
class CategoryAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    form = NamesForm
    list_display = ["__str__", "name", "benchmark", "position", "expected_count"]
    list_filter = ["benchmark"]
    list_select_related = ["benchmark", "parent"]
    search_fields = ["key", "names", "aliases"]
    raw_id_fields = ["benchmark", "parent"]


@admin.register(Instruction)
class InstructionAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    form = InstructionForm
    list_display = ["external_id", "benchmark", "category", "words_asked", "language"]
    list_filter = ["benchmark", "language"]
    list_select_related = ["benchmark", "category__parent"]
    search_fields = ["external_id", "public_id"]
    raw_id_fields = ["benchmark", "category"]
    readonly_fields = ["public_id"]

    def save_model(self, request: HttpRequest, obj: Instruction, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        note_texts([obj])


@admin.register(InstructionText)
class InstructionTextAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Made from the instruction's messages whenever they are stored."""

    list_display = ["instruction"]
    list_select_related = ["instruction"]
    search_fields = ["text"]
    readonly_fields = ["instruction", "text"]
    show_full_result_count = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[InstructionText]:
        return super().get_queryset(request).defer("instruction__messages", "instruction__reference")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False


@admin.register(Endpoint)
class EndpointAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """A key is never stored: only the name of the environment variable that holds it."""

    list_display = ["name", "kind", "base_url", "key_variable", "max_concurrent", "probed_at", "workspace"]
    list_filter = ["workspace", "kind"]
    list_select_related = ["workspace"]
    search_fields = ["name", "base_url"]
    readonly_fields = ["capabilities", "probed_at"]
    form = KeyNameForm

    def save_model(self, request: HttpRequest, obj: Endpoint, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if form.dropped_key:
            messages.warning(request, key_dropped(form.dropped_key))


@admin.register(EndpointGrant)
class EndpointGrantAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Made and ended by the operator's commands; here they are only read."""

    list_display = ["endpoint", "address", "variable", "served_name", "made_by", "command", "made_at", "ended_at"]
    list_filter = ["workspace"]
    list_select_related = ["endpoint"]
    search_fields = ["address", "variable", "served_name"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


@admin.register(ErrorPhrases, Import, SpendingLimit)
class ShownAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Imports are undone, and limits and phrases set, on pages that enter it in the log; here they are only read."""

    list_display = ["__str__", "workspace"]
    list_select_related = ["workspace"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


@admin.register(EndpointSlots)
class EndpointSlotsAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ["endpoint", "worker", "wanted", "held", "leased_until"]
    list_select_related = ["endpoint"]


@admin.register(EndpointTurn)
class EndpointTurnAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ["endpoint", "opens_at"]
    list_select_related = ["endpoint"]


@admin.register(LanguageModel)
class LanguageModelAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    form = ParametersForm
    list_display = ["name", "family", "billions_of_parameters", "endpoint", "fictional", "workspace"]
    list_filter = ["workspace", "family", "fictional"]
    list_select_related = ["workspace", "endpoint"]
    search_fields = ["name", "served_name", "family"]


@admin.register(GenerationRun)
class GenerationRunAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ["name", "benchmark", "experiment", "status", "created_at", "finished_at"]
    list_filter = ["status", "experiment", "benchmark"]
    list_select_related = ["benchmark"]
    search_fields = ["name", "public_id"]
    raw_id_fields = ["benchmark"]
    readonly_fields = ["public_id", "manifest", "started_at", "finished_at"]
    date_hierarchy = "created_at"


@admin.register(Response)
class ResponseAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """What a model wrote is read here; it is never rewritten, since answers refer to it."""

    list_display = ["external_id", "instruction", "model", "sample", "run", "kind", "words", "finish_reason"]
    list_filter = ["kind", "run", "finish_reason"]
    list_select_related = ["instruction", "model", "run__benchmark"]
    search_fields = ["external_id", "public_id", "instruction__external_id"]
    raw_id_fields = ["instruction", "model", "run", "derived_from"]
    readonly_fields = ["public_id", "text", "words", "tokens", "seconds", "cost", "created_at"]
    show_full_result_count = False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Response]:
        found = super().get_queryset(request)
        reading_one = request.resolver_match is not None and "object_id" in request.resolver_match.kwargs
        return found if reading_one else found.defer("text", "instruction__messages", "instruction__reference")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False


@admin.register(GenerationItem)
class GenerationItemAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ["run", "position", "instruction", "model", "sample", "status", "attempts", "leased_until"]
    list_filter = ["status", "run"]
    list_select_related = ["run__benchmark", "instruction", "model"]
    search_fields = ["instruction__external_id", "error"]
    raw_id_fields = ["run", "instruction", "model", "response"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False


@admin.register(GenerationShare)
class GenerationShareAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ["run", "worker", "calls", "tokens", "money", "leased_until"]
    list_select_related = ["run__benchmark"]
    search_fields = ["worker", "run__public_id"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False


@admin.register(SurplusReply)
class SurplusReplyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ["item", "run", "input_tokens", "tokens", "cost", "created_at"]
    list_filter = ["run"]
    list_select_related = ["item", "run__benchmark"]
    readonly_fields = [
        "run",
        "item",
        "text",
        "finish_reason",
        "input_tokens",
        "tokens",
        "seconds",
        "cost",
        "created_at",
    ]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False
