"""The REST API of results: fits of weights, and the reports that pages show."""

from typing import Any

from django.db.models import Q, QuerySet
from django.utils.translation import gettext
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response as ApiResponse

from accounts.api.access import Scope, needs
from accounts.api.lists import Unusable, asking, checked, paged
from accounts.api.repeated import KEY, once
from accounts.permissions import leads_workspace_of, workspaces_read_by
from annotation.api.studies import study_to_change, study_to_read
from calibration.data.frames import NothingToRead
from calibration.data.verdicts import failed_judges
from calibration.fits.categories import FitRefused
from calibration.fits.export import fit_to_json
from calibration.fits.store import publish_fit
from calibration.models import Fit, ReportRefresh
from calibration.report_store.refreshes import FITTING
from calibration.reports.cache import SHOWN, latest_reports
from calibration.web.messages.statistics import refusal_words
from calibration.web.views import begin_fit
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


@extend_schema(
    parameters=[OpenApiParameter("rows", str, enum=["1"], description="Add the rows from which it was computed.")],
    responses=OpenApiTypes.OBJECT,
)
@api_view(["GET"])
@needs(Scope.READ)
def fit(request: Request, public_id: str) -> ApiResponse:
    """Show one fit: its weights by category, with their certificate if they were fitted here."""
    found = fit_to_read(request, public_id)
    if found.kind == Fit.Kind.PUBLISHED:
        return ApiResponse({**FitSerializer(found).data, "categories": _published(found)})
    return ApiResponse(fit_to_json(found, rows=request.query_params.get("rows") == "1"))


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


class WantedFitSerializer(serializers.Serializer[Any]):
    """How weights are fitted; what is left out is as on the page."""

    floor = serializers.FloatField(default=0.5, min_value=0, max_value=10, help_text="The least weight of an item.")
    pool = serializers.BooleanField(default=False, help_text="Whether categories of a family share their weights.")
    skip_small = serializers.BooleanField(
        default=False, help_text="Whether categories with fewer answers than items are left out."
    )
    excluded = serializers.ChoiceField(
        choices=[SHOWN], required=False, help_text="Fit the answers that a lead excluded too."
    )


class WantedNameSerializer(serializers.Serializer[Any]):
    name = serializers.RegexField(r"^[-A-Za-z0-9_]{1,100}$", help_text="By which leaderboards refer to the weights.")


class AskedFitSerializer(serializers.Serializer[Any]):
    """A fit that a worker computes."""

    job = serializers.CharField(help_text="The job, by which its progress is asked for.")


@extend_schema(
    operation_id="make_fit",
    parameters=[KEY],
    request=WantedFitSerializer,
    responses={201: FitSerializer, 202: AskedFitSerializer},
    examples=[OpenApiExample("Small categories left out", {"floor": 0.5, "skip_small": True}, request_only=True)],
)
@api_view(["POST"])
@needs(Scope.CHANGE)
@once
def make_fit(request: Request, workspace: str, slug: str) -> ApiResponse:
    """Fit weights to the answers of a study: at once, or by a worker where that takes longer (202, with a job)."""
    study = study_to_change(request, workspace, slug)
    asked = checked(WantedFitSerializer(data=request.data))
    try:
        shown = bool(asked.pop("excluded", "")) and study.exclusions.standing().exists()
        made = begin_fit(study, **asked, shown=shown, user=asking(request))
    except (FitRefused, NothingToRead) as problem:
        raise Unusable(refusal_words(problem)) from problem
    if made is None:
        row = ReportRefresh.objects.filter(study=study, kind=FITTING).latest("asked_at")
        return ApiResponse({"job": f"fit-{row.pk}"}, status=202)
    return ApiResponse(FitSerializer(made).data, status=201)


@extend_schema(
    operation_id="publish_fit",
    request=WantedNameSerializer,
    responses=FitSerializer,
    examples=[OpenApiExample("A name", {"name": "tea-2026"}, request_only=True)],
)
@api_view(["POST"])
@needs(Scope.CHANGE)
def publish(request: Request, public_id: str) -> ApiResponse:
    """Give a fit the name by which leaderboards and judges refer to it, once and for good."""
    found = visible_or_404(
        _readable(request).filter(public_id=public_id), message=gettext("There is no such fit in your workspaces.")
    )
    if not leads_workspace_of(asking(request), found):
        raise PermissionDenied(gettext("Only owners and leads of this workspace can do this."))
    name = checked(WantedNameSerializer(data=request.data))["name"]
    if found.kind == Fit.Kind.PUBLISHED:
        raise Unusable(gettext("These weights were published elsewhere and keep their name."))
    if found.published_name == name:
        return ApiResponse(FitSerializer(found).data)
    try:
        made = publish_fit(fit=found, name=name, user=asking(request))
    except FitRefused as problem:
        raise Unusable(refusal_words(problem)) from problem
    return ApiResponse(FitSerializer(made).data)


def fit_to_read(request: Request, public_id: str) -> Fit:
    """Return the weights of this id or name, for somebody who may read them; else 404."""
    return visible_or_404(
        _readable(request).filter(Q(public_id=public_id) | Q(published_name=public_id)),
        message=f"There is no fit {public_id!r} in your workspaces.",
    )


def _published(found: Fit) -> list[dict[str, object]]:
    """Return the categories of published weights, which have only items and weights."""
    said: list[dict[str, object]] = []
    for category in found.categories.prefetch_related("weights").order_by("position"):
        weights = sorted(category.weights.all(), key=lambda weight: weight.position)
        items = [weight.criterion_key for weight in weights]
        said.append({"category": category.key, "items": items, "weights": [weight.weight for weight in weights]})
    return said


def _readable(request: Request) -> QuerySet[Fit]:
    return Fit.objects.filter(workspace__in=workspaces_read_by(asking(request)))
