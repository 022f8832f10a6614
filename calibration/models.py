"""Stored results: fits of checklist weights, which never change, and cached reports."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from accounts.models import User, Workspace
from annotation.models import Study, are_excluded_shown
from core.db.public_ids import new_public_id
from generation.models import Benchmark, Category


class Fit(models.Model):
    """Checklist weights, fitted to a study or published elsewhere. Immutable, except that a name is given once.

    Those of kind "excluded" count excluded answers too; they are for a look at the difference and never used elsewhere.
    """

    class Kind(models.TextChoices):
        FITTED = "fitted", _("Fitted here")
        WITH_EXCLUDED = "excluded", _("Fitted here, with excluded answers")
        PUBLISHED = "published", _("Published elsewhere")

    public_id = models.CharField(max_length=32, unique=True, default=new_public_id, editable=False)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="fits")
    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.FITTED)
    study = models.ForeignKey(Study, models.PROTECT, null=True, blank=True, related_name="fits")
    benchmark = models.ForeignKey(Benchmark, models.PROTECT, null=True, blank=True, related_name="fits")
    published_name = models.SlugField(max_length=100, blank=True)
    source = models.CharField(max_length=300, blank=True)
    settings = models.JSONField(default=dict)
    data_hash = models.CharField(max_length=64, blank=True)
    versions = models.JSONField(default=dict)
    created_by = models.ForeignKey(User, models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "published_name"],
                condition=~Q(published_name=""),
                name="one_fit_per_published_name",
            )
        ]

    def __str__(self) -> str:
        return self.published_name or self.public_id


def fitted_kind() -> Fit.Kind:
    """The kind of a study's own fits that is read and made: of the answers that count, or with the excluded ones."""
    return Fit.Kind.WITH_EXCLUDED if are_excluded_shown() else Fit.Kind.FITTED


class CategoryFit(models.Model):
    """The weights of one category; `diagnostics` is the certificate (see calibration.statistics.weights.fit).

    `rows` are the answers that were fitted, which are as large as the study; what only shows a fit defers them.
    """

    fit = models.ForeignKey(Fit, models.CASCADE, related_name="categories")
    category = models.ForeignKey(Category, models.PROTECT, null=True, blank=True, related_name="category_fits")
    key = models.CharField(max_length=200)
    position = models.PositiveIntegerField(default=0)
    n = models.PositiveIntegerField(default=0)
    r2 = models.FloatField(null=True)
    mse = models.FloatField(null=True)
    diagnostics = models.JSONField(default=dict)
    rows = models.JSONField(null=True, blank=True)

    class Meta:
        ordering = ["fit", "position"]
        constraints = [models.UniqueConstraint(fields=["fit", "key"], name="one_category_fit_per_fit_and_key")]

    def __str__(self) -> str:
        return f"{self.fit}: {self.key}"


class FittedWeight(models.Model):
    """A criterion's weight; the weights of a category sum to 100. `low` and `high` are the ends of its interval."""

    category_fit = models.ForeignKey(CategoryFit, models.CASCADE, related_name="weights")
    criterion_key = models.CharField(max_length=100)
    position = models.PositiveIntegerField()
    weight = models.FloatField()
    raw_weight = models.FloatField(null=True)
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    at_floor = models.BooleanField(default=False)

    class Meta:
        ordering = ["category_fit", "position"]
        constraints = [
            models.UniqueConstraint(
                fields=["category_fit", "position"], name="one_weight_per_category_fit_and_position"
            )
        ]

    def __str__(self) -> str:
        return f"{self.criterion_key}: {self.weight:.2f}"


class Report(models.Model):
    """A computed result, cached by the hash of its data and settings.

    `settings_hash` is over the settings with the state of the study's rows; `asked_hash` leaves the state out, so the
    newest report of one is the latest answer to the same question, however many answers have arrived since. `answers`
    is how many the study had when computing began, and `seconds` what computing took.
    """

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="reports")
    study = models.ForeignKey(Study, models.CASCADE, null=True, blank=True, related_name="reports")
    kind = models.CharField(max_length=50)
    data_hash = models.CharField(max_length=64)
    settings = models.JSONField(default=dict)
    settings_hash = models.CharField(max_length=64)
    result = models.JSONField(default=dict)
    asked_hash = models.CharField(max_length=64, blank=True, db_default="")
    answers = models.PositiveIntegerField(default=0, db_default=0)
    seconds = models.FloatField(default=0.0, db_default=0.0)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at"]
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "kind", "data_hash", "settings_hash"], name="one_report_per_kind_data_and_settings"
            )
        ]
        indexes = [models.Index(fields=["study", "kind", "asked_hash", "-id"], name="report_newest_of_a_question")]

    def __str__(self) -> str:
        return f"{self.kind} {self.data_hash[:8]}"


class ReportRefresh(models.Model):
    """The computing of one report of a study, whatever the state of its rows; at most one at a time is under way.

    It is under way until `leased_until`: queued while `holder` is '', then computed by the worker `holder`, which renews
    the lease. null means that nobody is asked. `seconds` is what computing took the last time, and `failed` whether it
    ended in an error.
    """

    study = models.ForeignKey(Study, models.CASCADE, related_name="report_refreshes")
    kind = models.CharField(max_length=50)
    asked_hash = models.CharField(max_length=64)
    asked_at = models.DateTimeField()
    leased_until = models.DateTimeField(null=True, blank=True)
    holder = models.CharField(max_length=32, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    seconds = models.FloatField(default=0.0)
    failed = models.BooleanField(default=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "kind", "asked_hash"], name="one_refresh_per_question")]

    def __str__(self) -> str:
        return f"{self.kind} of {self.study_id}"
