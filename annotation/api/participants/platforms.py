"""API endpoints for cohorts of a crowd platform: what is entered there, their studies and submissions at Prolific."""

from typing import Any

from django.db import transaction
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
from accounts.api.lists import Unusable, asking, checked
from annotation.api.participants.cohorts import cohort_of
from annotation.api.studies import study_to_change, study_to_read
from annotation.models import Cohort, ProlificStudy, Study
from annotation.policies.policies import HIGHEST_MINIMUM, Policies
from annotation.privacy.reads import note_reading
from annotation.prolific.client import MOST_SUBMISSIONS, ProlificError, submissions_of
from annotation.prolific.studies import CATEGORIES, MOST_PLACES, attach, draft_for, review
from annotation.recruitment.minimum import as_stated, change_minimum, stated_in
from annotation.recruitment.platform_values import mturk_values, prolific_values

APPROVE, REJECT = "approve", "reject"
LONGEST_MESSAGE = 2000


class MinimumSerializer(serializers.Serializer[Any]):
    """What a complete participation needs; null for no such minimum."""

    answers = serializers.IntegerField(min_value=1, max_value=HIGHEST_MINIMUM["answers"], allow_null=True, default=None)
    checks = serializers.IntegerField(
        min_value=1,
        max_value=HIGHEST_MINIMUM["checks"],
        allow_null=True,
        default=None,
        help_text="Percent of the texts with a known answer that got it.",
    )
    minutes = serializers.IntegerField(min_value=1, max_value=HIGHEST_MINIMUM["minutes"], allow_null=True, default=None)


class ValueSerializer(serializers.Serializer[Any]):
    """One value to enter at a platform."""

    name = serializers.CharField()
    value = serializers.CharField()
    help = serializers.CharField()


class PlatformValuesSerializer(serializers.Serializer[Any]):
    """What is entered at each platform, in the order of its form."""

    prolific = ValueSerializer(many=True)
    mturk = ValueSerializer(many=True)


class ProlificStudySerializer(serializers.ModelSerializer[ProlificStudy]):
    """The study at Prolific to which a cohort belongs."""

    id = serializers.CharField(source="external_id", help_text="Its ID at Prolific.")
    problem = serializers.CharField(help_text="Why it could not be read last.")

    class Meta:
        model = ProlificStudy
        fields = ["id", "made_at", "looked_at", "problem"]


class WantedProlificStudySerializer(serializers.Serializer[Any]):
    """A draft for so many participants, or a study that is there already."""

    places = serializers.IntegerField(min_value=1, max_value=MOST_PLACES, required=False)
    study_id = serializers.CharField(max_length=64, required=False)


class SubmissionSerializer(serializers.Serializer[Any]):
    """A submission, as Prolific says it at this moment."""

    id = serializers.CharField()
    participant = serializers.CharField()
    status = serializers.CharField()
    code = serializers.CharField(help_text="The completion code that was entered.")


class WantedApprovalSerializer(serializers.Serializer[Any]):
    """The submissions to be reviewed; a rejection needs a category and a message of at least 100 characters."""

    submissions = serializers.ListField(
        child=serializers.CharField(max_length=64), allow_empty=False, max_length=MOST_SUBMISSIONS
    )
    category = serializers.ChoiceField(choices=CATEGORIES, required=False)
    message = serializers.CharField(
        max_length=LONGEST_MESSAGE, default="", allow_blank=True, help_text="Prolific shows it to the participant."
    )


class ReviewedSerializer(serializers.Serializer[Any]):
    done = serializers.IntegerField()
    gone = serializers.IntegerField(help_text="Those that do not await review, or are not of this study.")
    refused = serializers.ListField(child=serializers.CharField(), help_text="What Prolific refused, and why.")


@extend_schema(methods=["GET"], operation_id="minimum", responses=MinimumSerializer)
@extend_schema(
    methods=["PUT"],
    operation_id="change_minimum",
    parameters=[IF_MATCH],
    request=MinimumSerializer,
    responses=MinimumSerializer,
    examples=[OpenApiExample("Answers and checks", {"answers": 20, "checks": 60}, request_only=True)],
)
@api_view(["GET", "PUT"])
@needs(Scope.READ, put=Scope.CHANGE)
def minimum(request: Request, workspace: str, slug: str) -> Response:
    """Return the minimum for a complete participation, or set it (for owners and leads); what is left out is none."""
    if request.method != "PUT":
        return Response(_minimum(study_to_read(request, workspace, slug)))
    found = study_to_change(request, workspace, slug)
    with transaction.atomic():
        study = Study.objects.select_for_update(of=("self",)).get(pk=found.pk)
        check_unchanged(request, _minimum(study))
        change_minimum(study, stated_in(checked(MinimumSerializer(data=request.data))), by=asking(request))
    return Response(_minimum(study_to_read(request, workspace, slug)))


def _minimum(study: Study) -> dict[str, int | None]:
    stated = as_stated(Policies.of(study).minimum)
    return {name: stated.get(name) for name in HIGHEST_MINIMUM}


@extend_schema(operation_id="platform_values", responses=PlatformValuesSerializer)
@api_view(["GET"])
@needs(Scope.CHANGE)
def platform_values(request: Request, workspace: str, slug: str, pk: int) -> Response:
    """Return what a lead enters at Prolific or MTurk for a crowd cohort: the link, the codes, the time and the pay."""
    cohort = crowd_cohort(study_to_change(request, workspace, slug), pk)
    address = _entry(request, cohort)
    values = {
        "prolific": prolific_values(cohort.study, cohort, address),
        "mturk": mturk_values(cohort.study, cohort, address),
    }
    return Response(PlatformValuesSerializer(values).data)


@extend_schema(methods=["GET"], operation_id="prolific_study", responses=ProlificStudySerializer)
@extend_schema(
    methods=["POST"],
    operation_id="take_up_prolific_study",
    request=WantedProlificStudySerializer,
    responses={201: ProlificStudySerializer},
    examples=[OpenApiExample("Draft", {"places": 50}, request_only=True)],
)
@api_view(["GET", "POST"])
@needs(Scope.READ, post=Scope.CHANGE)
def prolific_study(request: Request, workspace: str, slug: str, pk: int) -> Response:
    """Return the cohort's study at Prolific, draft one for `places` participants, or attach that of `study_id`.

    For owners and leads. A cohort has at most one. A draft is published at Prolific, by a person.
    """
    cohort = crowd_cohort(study_to_change(request, workspace, slug), pk)
    if request.method != "POST":
        return Response(ProlificStudySerializer(attached_of(cohort)).data)
    asked = checked(WantedProlificStudySerializer(data=request.data))
    if len(asked) != 1:
        raise Unusable(_("Send either places, for a draft, or study_id, for a study that is at Prolific already."))
    given: dict[str, Any] = {"address": _entry(request, cohort), "by": asking(request), "clock": timezone.now}
    try:
        made = (
            draft_for(cohort, places=asked["places"], **given)
            if "places" in asked
            else attach(cohort, asked["study_id"], **given)
        )
    except ProlificError as problem:
        raise Unusable(str(problem)) from problem
    return Response(ProlificStudySerializer(made).data, status=201)


@extend_schema(operation_id="submissions", responses=SubmissionSerializer(many=True))
@api_view(["GET"])
@needs(Scope.RATINGS)
def submissions(request: Request, workspace: str, slug: str, pk: int) -> Response:
    """Return the submissions of the cohort's study, which Prolific is asked for (for owners and leads).

    They have the ids of participants, and each reading is logged.
    """
    cohort = crowd_cohort(study_to_change(request, workspace, slug), pk)
    try:
        found = submissions_of(attached_of(cohort).external_id)
    except ProlificError as problem:
        raise Unusable(str(problem)) from problem
    if found:
        note_reading(cohort.study, asking(request), clock=timezone.now)
    return Response(SubmissionSerializer(found, many=True).data)


@extend_schema(
    operation_id="review_submissions",
    request=WantedApprovalSerializer,
    responses=ReviewedSerializer,
    parameters=[OpenApiParameter("verb", str, "path", enum=[APPROVE, REJECT])],
    examples=[OpenApiExample("Two", {"submissions": ["66a1f0c2d3e4b5a6", "77b2e1d3c4f5a6b7"]}, request_only=True)],
)
@api_view(["POST"])
@needs(Scope.CHANGE, approve=Scope.RUN)
def review_submissions(request: Request, workspace: str, slug: str, pk: int, verb: str) -> Response:
    """Approve submissions, which pays them, or reject them (for owners and leads).

    Only those that still await review are; so the same request again does nothing.
    """
    cohort = crowd_cohort(study_to_change(request, workspace, slug), pk)
    asked = checked(WantedApprovalSerializer(data=request.data))
    try:
        result = review(
            attached_of(cohort),
            set(asked["submissions"]),
            verb,
            by=asking(request),
            category=asked.get("category", ""),
            message=asked["message"],
        )
    except ProlificError as problem:
        raise Unusable(str(problem)) from problem
    return Response(ReviewedSerializer(result).data)


def crowd_cohort(study: Study, pk: int) -> Cohort:
    """Return the crowd cohort of the study; 404 where it has none of this number."""
    cohort = cohort_of(study, pk)
    if cohort.kind != Cohort.Kind.CROWD:
        raise NotFound(_("This cohort does not come from a crowd platform."))
    return cohort


def attached_of(cohort: Cohort) -> ProlificStudy:
    found = ProlificStudy.objects.select_related("cohort__study").filter(cohort=cohort).first()
    if found is None:
        raise NotFound(_("This cohort has no study at Prolific yet."))
    return found


def _entry(request: Request, cohort: Cohort) -> str:
    return str(request.build_absolute_uri(reverse("annotation:join", args=[cohort.entry_token])))
