"""Judges, runs and replies in the Django admin: records to read, not to edit."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from judging.models import Judge, JudgeRun, PlannedItem, Reply


class RecordAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Rows that a run writes: shown, but never added, changed or deleted by hand."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Judge)
class JudgeAdmin(RecordAdmin):
    list_display = ("rater", "language_model", "method", "prompt_hash", "workspace", "created_at")
    list_filter = ("method", "workspace")
    list_select_related = ("rater", "language_model", "workspace")
    search_fields = ("rater__label", "language_model__name")


@admin.register(JudgeRun)
class JudgeRunAdmin(RecordAdmin):
    list_display = ("public_id", "judge", "study", "status", "created_by", "created_at", "finished_at")
    list_filter = ("status",)
    list_select_related = ("judge__rater", "study", "created_by")
    search_fields = ("public_id", "judge__rater__label", "study__slug")


@admin.register(PlannedItem)
class PlannedItemAdmin(RecordAdmin):
    list_display = ("run", "position", "task", "repeat", "status", "reason", "leased_until")
    list_filter = ("status",)
    list_select_related = ("run", "task")
    search_fields = ("run__public_id", "task__key")
    show_full_result_count = False


@admin.register(Reply)
class ReplyAdmin(RecordAdmin):
    list_display = (
        "item",
        "attempt",
        "finish_reason",
        "input_tokens",
        "output_tokens",
        "cost",
        "seconds",
        "created_at",
    )
    list_select_related = ("item",)
    search_fields = ("request_hash", "item__run__public_id")
    show_full_result_count = False
