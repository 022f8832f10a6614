"""API endpoints by which a lead reaches raters: messages to one of them, and answers to those who ask to go on elsewhere."""

from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.access import Scope, needs
from accounts.api.lists import CURSOR, SIZE, Unusable, asking, checked, paged
from accounts.api.repeated import KEY, once
from annotation.api.studies import rater_of, study_to_change
from annotation.assignment.rater_notes import LONGEST_NOTE, write_note
from annotation.models import BrowserRequest, Standing
from annotation.recruitment.participants import requests_waiting, settle

ADMIT, REFUSE = "admit", "refuse"


class WantedNoteSerializer(serializers.Serializer[Any]):
    """A message to one rater."""

    text = serializers.CharField(max_length=LONGEST_NOTE, help_text="Plain text.")


class NoteToRaterSerializer(serializers.ModelSerializer[Standing]):
    """A message that the rater has not confirmed yet."""

    rater = serializers.CharField(source="rater.public_id")
    text = serializers.CharField(source="note")
    at = serializers.DateTimeField(source="noted_at")

    class Meta:
        model = Standing
        fields = ["rater", "text", "at"]


class BrowserRequestSerializer(serializers.ModelSerializer[BrowserRequest]):
    """Somebody who follows an entry link with a rater's id, and cannot prove to be that rater."""

    id = serializers.IntegerField(source="pk")
    rater = serializers.CharField(source="participant.rater.public_id")
    number = serializers.CharField(help_text="Four digits, which the person sees and can tell the lead.")

    class Meta:
        model = BrowserRequest
        fields = ["id", "rater", "number", "state", "at"]


@extend_schema(
    operation_id="message_rater",
    parameters=[KEY],
    request=WantedNoteSerializer,
    responses={201: NoteToRaterSerializer},
    examples=[OpenApiExample("Question", {"text": "Please read the part on tables again."}, request_only=True)],
)
@api_view(["POST"])
@needs(Scope.CHANGE)
@once
def message_rater(request: Request, workspace: str, slug: str, rater: str) -> Response:
    """Write to one rater, whose pages show the text until they confirm it; it replaces one that is not confirmed yet."""
    found = rater_of(study_to_change(request, workspace, slug), rater)
    asked = checked(WantedNoteSerializer(data=request.data))
    write_note(found, asked["text"], by=asking(request), clock=timezone.now)
    written = Standing.objects.select_related("rater").get(rater=found)
    return Response(NoteToRaterSerializer(written).data, status=201)


@extend_schema(
    operation_id="browser_requests", parameters=[SIZE, CURSOR], responses=BrowserRequestSerializer(many=True)
)
@api_view(["GET"])
@needs(Scope.CHANGE)
def browser_requests(request: Request, workspace: str, slug: str) -> Response:
    """List the requests to go on as a rater in another browser that wait for an answer (for owners and leads)."""
    study = study_to_change(request, workspace, slug)
    return paged(request, requests_waiting(study), BrowserRequestSerializer)


@extend_schema(
    operation_id="answer_browser",
    request=None,
    responses=BrowserRequestSerializer,
    parameters=[OpenApiParameter("verb", str, "path", enum=[ADMIT, REFUSE])],
)
@api_view(["POST"])
@needs(Scope.CHANGE)
def answer_browser(request: Request, workspace: str, slug: str, pk: int, verb: str) -> Response:
    """Let a browser go on as the rater, or refuse it; one that was answered so already stays so."""
    study = study_to_change(request, workspace, slug)
    waiting = BrowserRequest.objects.select_related("participant__rater").filter(participant__study=study)
    found = waiting.filter(pk=int(pk)).first()
    if found is None:
        raise NotFound(_("There is no such request in this study."))
    settle(found, admit=verb == ADMIT, by=asking(request))
    found.refresh_from_db(fields=["state"])
    wanted = BrowserRequest.State.ADMITTED if verb == ADMIT else BrowserRequest.State.REFUSED
    if found.state != wanted:
        raise Unusable(_("Request %(number)s has already been answered.") % {"number": found.number}, status=409)
    return Response(BrowserRequestSerializer(found).data)
