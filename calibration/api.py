"""The REST API of results: fits of weights, and the reports that pages show."""

from typing import Any

from django.db.models import Q, QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response as ApiResponse

from accounts.api.access import Scope, needs
from accounts.api.lists import asking, paged
from accounts.permissions import workspaces_read_by
from annotation.api.studies import study_to_read
from calibration.data.verdicts import failed_judges
from calibration.fits.export import fit_to_json
from calibration.models import Fit
from calibration.reports.cache import latest_reports
from core.web.access import visible_or_404
from generation.api import CURSOR, SIZE


class FitSerializer(serializers.ModelSerializer[Fit]):
    id = serializers.CharField(source="public_id")
    workspace = serializers.SlugRelatedField[Any](slug_field="slug", read_only=True)
    study = serializers.CharField(source="study.slug", default=None)
    benchmark = serializers.CharField(source="benchmark.slug", default=None)

    class Meta:
        model = Fit
        fields = [
            "id",
            "kind",
            "published_name",
            "source",
            "workspace",
            "study",
            "benchmark",
            "settings",
            "data_hash",
            "versions",
            "created_at",
        ]


class ReportSerializer(serializers.Serializer[object]):
    kind = serializers.CharField()
    settings = serializers.JSONField(help_text="The settings that the report was computed with.")
    data_hash = serializers.CharField(help_text="The hash of the rows that it was computed from.")
    computed_at = serializers.DateTimeField(help_text="When it was computed.")
    answers_since = serializers.IntegerField(help_text="How many answers the study has received since.")
    failed_judges = serializers.ListField(
        child=serializers.CharField(),
        help_text="Judges of which a run failed its canary texts; no number counts the verdicts of that run.",
    )
    result = serializers.JSONField()


@extend_schema(parameters=[SIZE, CURSOR], responses=FitSerializer(many=True))
@api_view(["GET"])
@needs(Scope.READ)
def fits(request: Request) -> ApiResponse:
    """List fitted and published weights of the workspaces whose results you may read."""
    return paged(request, _readable(request).select_related("workspace", "study", "benchmark"), FitSerializer)


@extend_schema(responses=OpenApiTypes.OBJECT)
@api_view(["GET"])
@needs(Scope.READ)
def fit(request: Request, public_id: str) -> ApiResponse:
    """Show one fit: its weights by category, with their certificate if they were fitted here."""
    found = visible_or_404(
        _readable(request).filter(Q(public_id=public_id) | Q(published_name=public_id)),
        message=f"There is no fit {public_id!r} in your workspaces.",
    )
    if found.kind == Fit.Kind.PUBLISHED:
        return ApiResponse({**FitSerializer(found).data, "categories": _published(found)})
    return ApiResponse(fit_to_json(found, rows=False))


@extend_schema(responses=ReportSerializer(many=True))
@api_view(["GET"])
@needs(Scope.READ)
def reports(request: Request, workspace: str, slug: str) -> ApiResponse:
    """List the newest stored report of each kind and settings of a study, as its pages show them while people rate."""
    study = study_to_read(request, workspace, slug)
    failed = [row.judge.name for row in failed_judges(study)]
    found = [
        {
            "kind": row.kind,
            "settings": row.settings,
            "data_hash": row.data_hash,
            "computed_at": row.created_at,
            "answers_since": since,
            "failed_judges": failed,
            "result": row.result,
        }
        for row, since in latest_reports(study)
    ]
    return ApiResponse(ReportSerializer(found, many=True).data)


def _published(found: Fit) -> list[dict[str, Any]]:
    """Return the categories of published weights, which have only items and weights."""
    said: list[dict[str, Any]] = []
    for category in found.categories.prefetch_related("weights").order_by("position"):
        weights = sorted(category.weights.all(), key=lambda weight: weight.position)
        items = [weight.criterion_key for weight in weights]
        said.append({"category": category.key, "items": items, "weights": [weight.weight for weight in weights]})
    return said


def _readable(request: Request) -> QuerySet[Fit]:
    return Fit.objects.filter(workspace__in=workspaces_read_by(asking(request)))
