"""API endpoints for the cohorts of a study and for its raters, whom no name leads to."""

from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Count, Q
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.access import Scope, needs
from accounts.api.headers import IF_MATCH, check_unchanged
from accounts.api.lists import Unusable, asking, checked, paged
from accounts.api.repeated import KEY, once
from annotation.api.studies import study_to_change, study_to_read
from annotation.models import GIVEN, Cohort, Rater, Standing, Study
from annotation.recruitment.cohorts import (
    LONGEST_CODE,
    OUTCOMES,
    change_codes,
    change_platform_workspace,
    make_cohort,
    renew_link,
    revoke_link,
)
from annotation.recruitment.join_limits import JOINS_AN_HOUR, MOST_JOINS_AN_HOUR, change_join_limit
from core.errors import UserError
from core.messages.rendering import for_reader
from generation.api import CURSOR, SIZE


class CohortSerializer(serializers.ModelSerializer[Cohort]):
    id = serializers.IntegerField(source="pk")
    raters = serializers.IntegerField(source="joined", default=0, help_text="Raters who have joined.")
    is_open = serializers.SerializerMethodField(help_text="Whether people can join by its link.")

    class Meta:
        model = Cohort
        fields = ["id", "name", "kind", "expires_at", "revoked_at", "joins_per_hour", "raters", "is_open"]

    def get_is_open(self, cohort: Cohort) -> bool:
        return cohort.revoked_at is None and (cohort.expires_at is None or cohort.expires_at > timezone.now())


class OpenCohortSerializer(CohortSerializer):
    """A cohort for those who lead it: with the link by which people join, and the completion codes."""

    link = serializers.SerializerMethodField(help_text="The entry link; whoever has it can join.")
    codes = serializers.DictField(child=serializers.CharField(), help_text="Completion codes by outcome.")

    prolific_workspace = serializers.CharField(
        source="platform_workspace", help_text="Whose signed links alone are accepted; empty for any link."
    )

    class Meta(CohortSerializer.Meta):
        fields = [*CohortSerializer.Meta.fields, "link", "codes", "prolific_workspace"]

    def get_link(self, cohort: Cohort) -> str:
        path = reverse("annotation:join", args=[cohort.entry_token])
        return str(self.context["request"].build_absolute_uri(path))


class WantedCohortSerializer(serializers.Serializer[Any]):
    """A cohort to be made."""

    name = serializers.CharField(max_length=100)
    kind = serializers.ChoiceField(choices=Cohort.Kind.choices)
    days = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=730, help_text="Days until the link expires."
    )
    joins_per_hour = serializers.IntegerField(
        required=False,
        allow_null=True,
        default=JOINS_AN_HOUR,
        min_value=1,
        max_value=MOST_JOINS_AN_HOUR,
        help_text="Joins an hour from one network address; null for no limit.",
    )
    consent_en = serializers.CharField(required=False, allow_blank=True, max_length=20_000)
    consent_zh = serializers.CharField(required=False, allow_blank=True, max_length=20_000)


class CohortChangesSerializer(serializers.Serializer[Any]):
    """What is to be changed of a cohort."""

    joins_per_hour = serializers.IntegerField(
        required=False,
        allow_null=True,
        min_value=1,
        max_value=MOST_JOINS_AN_HOUR,
        help_text="Joins an hour from one network address; null for no limit. It lets those in who were refused.",
    )
    codes = serializers.DictField(
        child=serializers.CharField(max_length=LONGEST_CODE, allow_blank=True),
        required=False,
        help_text="All completion codes, by outcome: " + ", ".join(OUTCOMES) + ".",
    )
    prolific_workspace = serializers.RegexField(
        r"^[A-Za-z0-9]*$", max_length=64, required=False, allow_blank=True, help_text="Empty to accept any link."
    )

    def validate_codes(self, codes: dict[str, str]) -> dict[str, str]:
        for outcome in codes:
            if outcome not in OUTCOMES:
                raise serializers.ValidationError(
                    _("There is no outcome %(name)s; there are: %(known)s.")
                    % {"name": repr(outcome[:50]), "known": ", ".join(OUTCOMES)}
                )
        return {outcome: code for outcome, code in codes.items() if code}


class DaysSerializer(serializers.Serializer[Any]):
    days = serializers.IntegerField(required=False, allow_null=True, min_value=1, max_value=730)


class RaterSerializer(serializers.ModelSerializer[Rater]):
    id = serializers.CharField(source="public_id")
    cohort = serializers.CharField(source="cohort.name", default=None)
    state = serializers.SerializerMethodField()
    answered = serializers.IntegerField()

    class Meta:
        model = Rater
        fields = ["id", "pseudonym", "kind", "cohort", "state", "answered", "provenance", "created_at"]

    def get_state(self, rater: Rater) -> str:
        standing = getattr(rater, "standing", None)
        return str(standing.state if standing else Standing.State.RATING)


def _cohorts(study: Study) -> Any:
    return study.cohorts.annotate(joined=Count("raters"))


@extend_schema(
    methods=["GET"], operation_id="cohorts", parameters=[SIZE, CURSOR], responses=CohortSerializer(many=True)
)
@extend_schema(
    methods=["POST"],
    operation_id="make_cohort",
    parameters=[KEY],
    request=WantedCohortSerializer,
    responses={201: OpenCohortSerializer},
    examples=[OpenApiExample("Crowd", {"name": "Prolific, May", "kind": "crowd", "days": 14}, request_only=True)],
)
@api_view(["GET", "POST"])
@needs(Scope.READ, post=Scope.CHANGE)
@once
def cohorts(request: Request, workspace: str, slug: str) -> Response:
    """List the cohorts of a study, or make one (for owners and leads), whose answer has its entry link and codes."""
    if request.method != "POST":
        return paged(request, _cohorts(study_to_read(request, workspace, slug)).order_by(), CohortSerializer)
    study = study_to_change(request, workspace, slug)
    asked = checked(WantedCohortSerializer(data=request.data))
    texts = {"en": asked.get("consent_en", ""), "zh-hans": asked.get("consent_zh", "")}
    try:
        with transaction.atomic():
            made = make_cohort(
                study,
                asked["name"].strip(),
                asked["kind"],
                consents={language: text for language, text in texts.items() if text},
                expires_at=_end(asked.get("days")),
                joins_per_hour=asked["joins_per_hour"],
                by=asking(request),
            )
    except IntegrityError as problem:
        raise Unusable(_("The study already has a cohort with this name. Choose another name.")) from problem
    return Response(_opened(made, request), status=201)


@extend_schema(methods=["GET"], operation_id="cohort", responses=OpenCohortSerializer)
@extend_schema(
    methods=["PATCH"],
    operation_id="change_cohort",
    parameters=[IF_MATCH],
    request=CohortChangesSerializer,
    responses=OpenCohortSerializer,
    examples=[OpenApiExample("A class in one room", {"joins_per_hour": 60}, request_only=True)],
)
@api_view(["GET", "PATCH"])
@needs(Scope.CHANGE)
def cohort(request: Request, workspace: str, slug: str, pk: int) -> Response:
    """Return a cohort with its entry link and completion codes, or change those and who may join (for owners and leads)."""
    study = study_to_change(request, workspace, slug)
    if request.method != "PATCH":
        return Response(_opened(cohort_of(study, pk), request))
    asked = checked(CohortChangesSerializer(data=request.data))
    with transaction.atomic():
        locked = Cohort.objects.select_for_update(of=("self",), no_key=True).select_related("study")
        found = locked.get(pk=cohort_of(study, pk).pk)
        check_unchanged(request, _opened(found, request))
        try:
            if "prolific_workspace" in asked:
                change_platform_workspace(found, asked["prolific_workspace"], by=asking(request))
        except UserError as problem:
            raise Unusable(for_reader(problem)) from problem
        if "codes" in asked:
            change_codes(found, asked["codes"], by=asking(request))
        if "joins_per_hour" in asked:
            change_join_limit(found, asked["joins_per_hour"], by=asking(request))
    return Response(_opened(found, request))


@extend_schema(
    operation_id="steer_cohort",
    request=DaysSerializer,
    responses=OpenCohortSerializer,
    parameters=[OpenApiParameter("verb", str, "path", enum=["revoke", "renew"])],
)
@api_view(["POST"])
@needs(Scope.CHANGE)
def steer_cohort(request: Request, workspace: str, slug: str, pk: int, verb: str) -> Response:
    """Revoke the entry link of a cohort, or renew it: the old one stops working. Raters who have joined stay."""
    found = cohort_of(study_to_change(request, workspace, slug), pk)
    if verb == "revoke":
        if found.revoked_at is None:
            revoke_link(found, clock=timezone.now, by=asking(request))
    else:
        asked = checked(DaysSerializer(data=request.data))
        renew_link(found, expires_at=_end(asked.get("days")), by=asking(request))
    return Response(_opened(found, request))


@extend_schema(operation_id="raters", parameters=[SIZE, CURSOR], responses=RaterSerializer(many=True))
@api_view(["GET"])
@needs(Scope.RATINGS)
def raters(request: Request, workspace: str, slug: str) -> Response:
    """List the raters of a study under their pseudonyms, with their state and the number of their answers."""
    study = study_to_read(request, workspace, slug)
    given = Count("assignments", filter=Q(assignments__status__in=GIVEN))
    rows = study.raters.select_related("cohort", "standing").annotate(answered=given).order_by()
    return paged(request, rows, RaterSerializer)


def _opened(cohort: Cohort, request: Request) -> dict[str, Any]:
    found = _cohorts(cohort.study).get(pk=cohort.pk)
    return dict(OpenCohortSerializer(found, context={"request": request}).data)


def _end(days: int | None) -> Any:
    return timezone.now() + timedelta(days=days) if days else None


def cohort_of(study: Study, pk: int | str) -> Cohort:
    found = study.cohorts.filter(pk=int(pk)).first() if int(pk) < 2**63 else None
    if found is None:
        raise NotFound(_("There is no such cohort in this study."))
    return found
