"""API endpoints for self-revealing responses of a study, and for its history."""

from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.access import Scope, needs
from accounts.api.headers import IF_MATCH, check_unchanged
from accounts.api.lists import Pages, Unusable, asking, checked
from annotation.api.studies import study_to_change, study_to_read
from annotation.masking.scan import findings, undecided
from annotation.models import Study
from annotation.policies.policies import Policies
from annotation.studies.history import event_lines, events_of
from annotation.studies.self_naming import decide_self_naming, drop_found, found_in, scan_or_hand_over
from core.errors import UserError
from core.messages.rendering import for_reader
from generation.api import CURSOR, SIZE

MASK, KEEP, OPEN = "mask", "keep", "undecided"
DECISIONS = [MASK, KEEP, OPEN]


class SelfNamingSerializer(serializers.Serializer[Any]):
    """What becomes of responses that say which model wrote them."""

    decision = serializers.ChoiceField(choices=DECISIONS)
    scanned_at = serializers.CharField(allow_null=True, help_text="When the texts were scanned last.")
    found = serializers.IntegerField(help_text="Tasks that the scan found.")
    undecided = serializers.IntegerField(
        help_text="Tasks about which nothing is decided; a draft opens only without any."
    )


class WantedHandlingSerializer(serializers.Serializer[Any]):
    decision = serializers.ChoiceField(
        choices=DECISIONS, help_text="Mask the words on rating screens, keep the responses as they are, or neither."
    )


class FoundTaskSerializer(serializers.Serializer[Any]):
    task = serializers.CharField(source="task.public_id")
    instruction = serializers.CharField(source="task.response_a.instruction.external_id")
    response = serializers.CharField(source="place.response.public_id", default=None)
    model = serializers.CharField(source="place.response.model.name", default=None)
    words = serializers.CharField(source="place.words", default=None, help_text="Null where the text was mended since.")
    excerpt = serializers.CharField(source="place.excerpt", default=None)
    dropped = serializers.BooleanField(help_text="Whether the task was dropped from the study.")


class ScannedSerializer(serializers.Serializer[Any]):
    scanned = serializers.BooleanField(help_text="False where a worker scans the texts; read again in a minute.")
    found = serializers.IntegerField()


class WantedDropSerializer(serializers.Serializer[Any]):
    """Which of the tasks that were found are dropped: those of `tasks`, or with `all` every one."""

    tasks = serializers.ListField(child=serializers.CharField(), required=False, max_length=10_000)
    all = serializers.BooleanField(required=False, default=False)


class DroppedSerializer(serializers.Serializer[Any]):
    dropped = serializers.IntegerField()
    stay = serializers.IntegerField(help_text="Tasks that a rater was given already; mask their words.")


class SettingChangeSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    before = serializers.CharField()
    after = serializers.CharField()


class EventLineSerializer(serializers.Serializer[Any]):
    """One thing that somebody did in the study."""

    at = serializers.DateTimeField()
    by = serializers.CharField(source="actor", help_text="Empty where the program did it.")
    what = serializers.CharField(help_text="In the language of the request (Accept-Language).")
    about = serializers.CharField(help_text="The cohort or rater that it is about, if any.")
    changes = SettingChangeSerializer(many=True)


@extend_schema(methods=["GET"], operation_id="self_naming", responses=SelfNamingSerializer)
@extend_schema(
    methods=["PUT"],
    operation_id="decide_self_naming",
    parameters=[IF_MATCH],
    request=WantedHandlingSerializer,
    responses=SelfNamingSerializer,
    examples=[OpenApiExample("Mask", {"decision": "mask"}, request_only=True)],
)
@api_view(["GET", "PUT"])
@needs(Scope.READ, put=Scope.CHANGE)
def self_naming(request: Request, workspace: str, slug: str) -> Response:
    """Return what becomes of responses that say which model wrote them, or decide it."""
    if request.method != "PUT":
        return Response(_state(study_to_read(request, workspace, slug)))
    found = study_to_change(request, workspace, slug)
    asked = checked(WantedHandlingSerializer(data=request.data))["decision"]
    with transaction.atomic():
        study = Study.objects.select_for_update(of=("self",)).get(pk=found.pk)
        check_unchanged(request, _state(study))
        decide_self_naming(study, mask=asked == MASK, keep=asked == KEEP, by=asking(request))
    return Response(_state(study))


def _state(study: Study) -> dict[str, Any]:
    policies = Policies.of(study)
    decision = MASK if policies.mask_self_naming else KEEP if policies.keep_self_naming else OPEN
    return {
        "decision": decision,
        "scanned_at": policies.scanned_at,
        "found": findings(study).order_by().values("task").distinct().count(),
        "undecided": undecided(study),
    }


@extend_schema(operation_id="self_naming_tasks", parameters=[SIZE, CURSOR], responses=FoundTaskSerializer(many=True))
@api_view(["GET"])
@needs(Scope.READ)
def self_naming_tasks(request: Request, workspace: str, slug: str) -> Response:
    """List the tasks that the last scan found, with the words that name a model."""
    study, pages = study_to_read(request, workspace, slug), Pages()
    flags = pages.paginate_queryset(findings(study).order_by(), request) or []
    return pages.get_paginated_response(FoundTaskSerializer(found_in(study, flags), many=True).data)


@extend_schema(
    operation_id="scan_self_naming", request=None, responses={200: ScannedSerializer, 202: ScannedSerializer}
)
@api_view(["POST"])
@needs(Scope.CHANGE)
def scan_self_naming(request: Request, workspace: str, slug: str) -> Response:
    """Look through the texts of a study for responses that say which model wrote them; 202 where a worker does."""
    study = study_to_change(request, workspace, slug)
    try:
        done = scan_or_hand_over(study)
    except UserError as problem:
        raise Unusable(for_reader(problem)) from problem
    return Response({"scanned": done, "found": _state(study)["found"]}, status=200 if done else 202)


@extend_schema(
    operation_id="drop_self_naming",
    request=WantedDropSerializer,
    responses=DroppedSerializer,
    examples=[OpenApiExample("All", {"all": True}, request_only=True)],
)
@api_view(["POST"])
@needs(Scope.CHANGE)
def drop_self_naming(request: Request, workspace: str, slug: str) -> Response:
    """Drop tasks that the scan found from the study; those that a rater was given stay."""
    study = study_to_change(request, workspace, slug)
    asked = checked(WantedDropSerializer(data=request.data))
    if asked["all"] == bool(asked.get("tasks")):
        raise Unusable(_("Send either tasks, the ids of those to drop, or all."))
    dropped, stay = drop_found(study, None if asked["all"] else asked["tasks"], by=asking(request))
    return Response({"dropped": dropped, "stay": stay})


@extend_schema(operation_id="history", parameters=[SIZE, CURSOR], responses=EventLineSerializer(many=True))
@api_view(["GET"])
@needs(Scope.RATINGS)
def history(request: Request, workspace: str, slug: str) -> Response:
    """List who did what in a study, the first event first (for owners and leads)."""
    study, pages = study_to_change(request, workspace, slug), Pages()
    events = pages.paginate_queryset(events_of(study).order_by(), request) or []
    return pages.get_paginated_response(EventLineSerializer(event_lines(study, events), many=True).data)
