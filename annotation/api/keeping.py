"""API endpoints that keep studies and their raters in order: copies, guidelines, and raters who are stopped and go on."""

from collections.abc import Callable
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.access import Scope, needs
from accounts.api.headers import IF_MATCH, check_unchanged
from accounts.api.lists import Unusable, asking, checked
from accounts.api.repeated import KEY, once
from annotation.api.studies import StudySerializer, rater_of, study_to_change, study_to_read
from annotation.assignment.rater_status import ensure_standing, pause, resume
from annotation.models import Standing, Study
from annotation.studies.guidelines import save_guideline
from annotation.studies.keeping import archive_study, duplicate_study, restore_study
from core.errors import UserError
from core.messages.rendering import for_reader

LONGEST_TEXT = 20_000
LONGEST_MESSAGE = 1000
PAUSE, RESUME = "pause", "resume"


class WantedGuidelineSerializer(serializers.Serializer[Any]):
    """The text of a guideline in Markdown, in at least one language."""

    en = serializers.CharField(required=False, allow_blank=True, max_length=LONGEST_TEXT)
    zh = serializers.CharField(required=False, allow_blank=True, max_length=LONGEST_TEXT)


class GuidelineSerializer(serializers.Serializer[Any]):
    """The guideline that raters of a study read."""

    version = serializers.IntegerField(help_text="Number of the version; 0 where the study has no guideline.")
    en = serializers.CharField(allow_blank=True)
    zh = serializers.CharField(allow_blank=True)


class MessageSerializer(serializers.Serializer[Any]):
    message = serializers.CharField(
        required=False, allow_blank=True, max_length=LONGEST_MESSAGE, help_text="What a paused rater reads."
    )


class RaterStateSerializer(serializers.Serializer[Any]):
    id = serializers.CharField()
    state = serializers.ChoiceField(choices=Standing.State.choices)
    message = serializers.CharField()


@extend_schema(operation_id="archive_study", request=None, responses=StudySerializer)
@api_view(["POST"])
@needs(Scope.CHANGE)
def archive(request: Request, workspace: str, slug: str) -> Response:
    """Archive a study that is not open, so that lists on pages leave it out; its results stay readable."""
    return _kept(request, study_to_change(request, workspace, slug), archive_study)


@extend_schema(operation_id="restore_study", request=None, responses=StudySerializer)
@api_view(["POST"])
@needs(Scope.CHANGE)
def restore(request: Request, workspace: str, slug: str) -> Response:
    """Show an archived study in lists again."""
    return _kept(request, study_to_change(request, workspace, slug), restore_study)


def _kept(request: Request, study: Study, keep: Callable[..., None]) -> Response:
    try:
        keep(study, by=asking(request))
    except UserError as problem:
        raise Unusable(for_reader(problem)) from problem
    return Response(StudySerializer(study).data)


@extend_schema(operation_id="duplicate_study", parameters=[KEY], request=None, responses={201: StudySerializer})
@api_view(["POST"])
@needs(Scope.CHANGE)
@once
def duplicate(request: Request, workspace: str, slug: str) -> Response:
    """Make a draft with the settings, questions, selection and texts of a study, without its raters and answers."""
    study = study_to_change(request, workspace, slug)
    try:
        made = duplicate_study(study, by=asking(request))
    except UserError as problem:
        raise Unusable(for_reader(problem)) from problem
    return Response(StudySerializer(made).data, status=201)


@extend_schema(methods=["GET"], operation_id="guideline", responses=GuidelineSerializer)
@extend_schema(
    methods=["PUT"],
    operation_id="write_guideline",
    parameters=[IF_MATCH],
    request=WantedGuidelineSerializer,
    responses=GuidelineSerializer,
    examples=[OpenApiExample("English", {"en": "# How to rate\n\nRead the whole text first."}, request_only=True)],
)
@api_view(["GET", "PUT"])
@needs(Scope.READ, put=Scope.CHANGE)
def guideline(request: Request, workspace: str, slug: str) -> Response:
    """Return the guideline that raters of a study read, or save another text, which is its next version."""
    if request.method != "PUT":
        return Response(_guideline(study_to_read(request, workspace, slug)))
    found = study_to_change(request, workspace, slug)
    asked = checked(WantedGuidelineSerializer(data=request.data))
    sent = {"en": asked.get("en", ""), "zh-hans": asked.get("zh", "")}
    texts = {language: text.strip() for language, text in sent.items() if text.strip()}
    if not texts:
        raise Unusable(_("Write the guideline in at least one language."))
    with transaction.atomic():
        study = Study.objects.select_for_update(of=("self",)).select_related("guideline").get(pk=found.pk)
        check_unchanged(request, _guideline(study))
        try:
            save_guideline(study, texts, by=asking(request))
        except UserError as problem:
            raise Unusable(for_reader(problem)) from problem
    return Response(_guideline(study))


def _guideline(study: Study) -> dict[str, Any]:
    held = study.guideline
    texts = held.texts if held else {}
    return {"version": held.version if held else 0, "en": texts.get("en", ""), "zh": texts.get("zh-hans", "")}


@extend_schema(
    operation_id="steer_rater",
    request=MessageSerializer,
    responses=RaterStateSerializer,
    parameters=[OpenApiParameter("verb", str, "path", enum=[PAUSE, RESUME])],
    examples=[OpenApiExample("Pause", {"message": "Please read the guideline again."}, request_only=True)],
)
@api_view(["POST"])
@needs(Scope.CHANGE)
def steer_rater(request: Request, workspace: str, slug: str, rater: str, verb: str) -> Response:
    """Pause a rater with a message for them, or let a stopped one go on; one who is so already stays so."""
    found = rater_of(study_to_change(request, workspace, slug), rater)
    asked = checked(MessageSerializer(data=request.data))
    stopped = ensure_standing(found).state in (Standing.State.PAUSED, Standing.State.FAILED)
    if verb == PAUSE and not stopped:
        pause(found, message=asked.get("message", ""), by=asking(request))
    elif verb == RESUME and stopped:
        resume(found, clock=timezone.now, by=asking(request))
    standing = Standing.objects.get(rater=found)
    return Response({"id": found.public_id, "state": standing.state, "message": standing.message})
