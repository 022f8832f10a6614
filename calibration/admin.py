"""Read-only pages for fits and reports in Django's administration."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from calibration.models import CategoryFit, Fit, FittedWeight, Report


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """The administration of rows that are a record: they are shown, but not added, changed or deleted by hand."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class FittedWeightInline(admin.TabularInline):  # type: ignore[type-arg]
    model = FittedWeight
    fields = ("position", "criterion_key", "weight", "raw_weight", "low", "high", "at_floor")
    can_delete = False
    extra = 0

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Fit)
class FitAdmin(ReadOnlyAdmin):
    list_display = ("public_id", "kind", "published_name", "study", "benchmark", "workspace", "created_at")
    list_filter = ("kind", "workspace")
    search_fields = ("public_id", "published_name", "study__slug", "source")
    list_select_related = ("study", "benchmark", "workspace")


@admin.register(CategoryFit)
class CategoryFitAdmin(ReadOnlyAdmin):
    list_display = ("key", "fit", "n", "r2", "mse")
    search_fields = ("key", "fit__public_id", "fit__published_name")
    list_select_related = ("fit",)
    # The fitted rows can be long; the exported file contains them.
    exclude = ("diagnostics", "rows")
    inlines = (FittedWeightInline,)


@admin.register(FittedWeight)
class FittedWeightAdmin(ReadOnlyAdmin):
    list_display = ("category_fit", "position", "criterion_key", "weight", "low", "high", "at_floor")
    search_fields = ("criterion_key", "category_fit__key", "category_fit__fit__public_id")
    list_select_related = ("category_fit__fit",)


@admin.register(Report)
class ReportAdmin(ReadOnlyAdmin):
    """The administration of cached results, which may be deleted: a page that needs one computes it again."""

    list_display = ("kind", "study", "data_hash", "workspace", "created_at")
    list_filter = ("kind", "workspace")
    search_fields = ("study__slug", "data_hash")
    list_select_related = ("study", "workspace")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(super(ReadOnlyAdmin, self).has_delete_permission(request, obj))
