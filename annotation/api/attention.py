"""API endpoints for what needs a lead's attention: notes of raters, tasks that nobody could rate, and closing a study."""

from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.access import Scope, needs
from accounts.api.lists import asking, paged
from annotation.api.disagreements import NoteSerializer, ReleasedSerializer
from annotation.api.studies import rater_of, study_to_change, study_to_read
from annotation.api.tasks import task_of
from annotation.models import Flag
from annotation.monitoring import flags as notes
from annotation.monitoring.closing import closing_of
from annotation.monitoring.skipped_tasks import SkippedTask, set_aside, skipped_by_all
from annotation.studies.life_cycle import release_rater
from generation.api import CURSOR, SIZE


class SkippedTaskSerializer(serializers.Serializer[SkippedTask]):
    task = serializers.CharField(source="task.public_id")
    instruction = serializers.CharField(source="task.response_a.instruction.external_id")
    skips = serializers.IntegerField()
    reasons = serializers.SerializerMethodField(help_text="Number of skips by reason.")

    def get_reasons(self, skipped: SkippedTask) -> dict[str, int]:
        return dict(skipped.reasons)


class SkippedTasksSerializer(serializers.Serializer[Any]):
    results = SkippedTaskSerializer(many=True)


class SetAsideSerializer(serializers.Serializer[Any]):
    removed = serializers.IntegerField(help_text="Number of free slots that were removed.")


class ClosingSerializer(serializers.Serializer[Any]):
    """What closing the study would leave unfinished."""

    status = serializers.CharField()
    needed = serializers.IntegerField(help_text="Number of ratings needed: tasks times overlap.")
    missing = serializers.IntegerField(help_text="Ratings that are not given yet.")
    tasks = serializers.IntegerField(help_text="Tasks whose ratings are missing.")
    opened = serializers.IntegerField(help_text="Tasks that raters have open; their answers will not count.")
    raters = serializers.IntegerField(help_text="Raters who have tasks open.")
    links = serializers.IntegerField(help_text="Entry links by which people can join until then.")


@extend_schema(
    operation_id="flags",
    parameters=[
        SIZE,
        CURSOR,
        OpenApiParameter("settled", str, enum=["1"], description="Return those that are settled instead."),
    ],
    responses=NoteSerializer(many=True),
)
@api_view(["GET"])
@needs(Scope.RATINGS)
def flags(request: Request, workspace: str, slug: str) -> Response:
    """List the notes and appeals of raters that wait for a lead, or with `settled=1` those that are settled."""
    study = study_to_read(request, workspace, slug)
    rows = notes.flags_of(study, settled=request.query_params.get("settled") == "1")
    return paged(request, rows.order_by(), NoteSerializer)


@extend_schema(operation_id="settle_flag", request=None, responses=NoteSerializer)
@api_view(["POST"])
@needs(Scope.CHANGE)
def settle_flag(request: Request, workspace: str, slug: str, pk: int) -> Response:
    """Mark a note or an appeal as resolved; one that is so already stays so."""
    study = study_to_change(request, workspace, slug)
    found = notes.all_flags_of(study).filter(pk=pk).first() if pk < 2**63 else None
    if found is None:
        raise NotFound(_("There is no such note in this study."))
    notes.settle_flag(found, clock=timezone.now, by=asking(request))
    return Response(NoteSerializer(Flag.objects.get(pk=found.pk)).data)


@extend_schema(operation_id="skipped_tasks", responses=SkippedTasksSerializer)
@api_view(["GET"])
@needs(Scope.RATINGS)
def skipped_tasks(request: Request, workspace: str, slug: str) -> Response:
    """List the tasks that every rater who was given them skipped, most skipped first."""
    study = study_to_read(request, workspace, slug)
    return Response(SkippedTasksSerializer({"results": skipped_by_all(study)}).data)


@extend_schema(operation_id="set_task_aside", request=None, responses=SetAsideSerializer)
@api_view(["POST"])
@needs(Scope.CHANGE)
def set_task_aside(request: Request, workspace: str, slug: str, task: str) -> Response:
    """Take a task that nobody could rate out of the study: its free slots are removed, its skips are kept."""
    found = task_of(study_to_change(request, workspace, slug), task)
    return Response({"removed": set_aside(found, by=asking(request))})


@extend_schema(operation_id="release_rater", request=None, responses=ReleasedSerializer)
@api_view(["POST"])
@needs(Scope.CHANGE)
def release_open_tasks(request: Request, workspace: str, slug: str, rater: str) -> Response:
    """Take back all tasks that a rater has open, so that others get them."""
    study = study_to_change(request, workspace, slug)
    return Response({"released": release_rater(study, rater_of(study, rater).pk, by=asking(request))})


@extend_schema(operation_id="closing", responses=ClosingSerializer)
@api_view(["GET"])
@needs(Scope.READ)
def closing(request: Request, workspace: str, slug: str) -> Response:
    """Return what closing the study would leave unfinished, as the page says before it asks."""
    study = study_to_read(request, workspace, slug)
    return Response({"status": study.status, **vars(closing_of(study))})
