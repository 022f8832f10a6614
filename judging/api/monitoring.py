"""REST API of drift monitors: what a judge's rounds say, new monitors, and what their page does with one."""

from decimal import Decimal
from typing import Any, cast

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response as ApiResponse

from accounts.api.access import Scope, needs
from accounts.api.headers import IF_MATCH, check_unchanged
from accounts.api.lists import CURSOR, SIZE, Unusable, asking, checked, paged, workspace_to_change
from accounts.api.repeated import KEY, once
from accounts.models import Workspace
from accounts.permissions import leads_workspace_of
from core.errors import UserError
from core.messages.rendering import for_reader
from generation.llm.protocol.prices import MOST_COUNTED
from judging.api.results import VerdictPages
from judging.models import JudgeRun, Watch
from judging.monitoring.access import judges_to_monitor, monitor_read_by, monitors_read_by, studies_to_monitor
from judging.monitoring.monitors import (
    LARGEST,
    LONGEST_PAUSE,
    USUAL_SIZE,
    ask_now,
    change_terms,
    create_watch,
    set_active,
    set_baseline,
)
from judging.monitoring.moved_verdicts import MovedVerdict, moved_verdicts
from judging.monitoring.readings import Readings, Round, readings, row_of

PAUSE, RESUME, RUN = "pause", "resume", "run"


class TermsSerializer(serializers.Serializer[Any]):
    """The interval between rounds and the most that one may cost; what is left out stays."""

    every_hours = serializers.IntegerField(min_value=1, max_value=LONGEST_PAUSE, required=False)
    budget_money = serializers.DecimalField(
        max_digits=12,
        decimal_places=6,
        min_value=Decimal(0),
        allow_null=True,
        required=False,
        help_text="Of a round, in the currency of the endpoint's prices; null is no limit.",
    )


class WantedMonitorSerializer(TermsSerializer):
    """A monitor to be made. Its tasks are drawn now and never change; the first round is due at once."""

    study = serializers.CharField(max_length=100, help_text="Slug of a study with tasks.")
    judge = serializers.CharField(max_length=150, help_text="Name of a judge with an endpoint, or of a panel.")
    tasks = serializers.IntegerField(
        min_value=2, max_value=LARGEST, default=USUAL_SIZE, help_text="How many; rated ones are preferred."
    )
    every_hours = serializers.IntegerField(min_value=1, max_value=LONGEST_PAUSE, default=24)
    seed = serializers.IntegerField(min_value=0, max_value=MOST_COUNTED, default=0)


class MonitorSerializer(serializers.ModelSerializer[Watch]):
    id = serializers.CharField(source="public_id")
    workspace = serializers.CharField(source="study.workspace.slug")
    study = serializers.CharField(source="study.slug")
    judge = serializers.CharField(source="judge.rater.label")
    judge_id = serializers.CharField(source="judge.rater.public_id")
    tasks = serializers.SerializerMethodField(help_text="How many.")
    changed = serializers.SerializerMethodField(
        help_text="Whether the latest round that was evaluated differs from its baseline."
    )
    unfinished = serializers.SerializerMethodField(help_text="Id of the latest round if it is not finished.")

    class Meta:
        model = Watch
        fields = [
            "id",
            "workspace",
            "study",
            "judge",
            "judge_id",
            "tasks",
            "active",
            "every_hours",
            "next_at",
            "budget_money",
            "created_at",
            "changed",
            "unfinished",
        ]

    def to_representation(self, instance: Watch) -> dict[str, Any]:
        self._row = row_of(instance)
        return super().to_representation(instance)

    def get_tasks(self, monitor: Watch) -> int:
        return len(monitor.tasks)

    def get_changed(self, _monitor: Watch) -> bool:
        return self._row.changed

    def get_unfinished(self, _monitor: Watch) -> str | None:
        return self._row.unfinished.public_id if self._row.unfinished else None


class SignificanceSerializer(serializers.Serializer[Any]):
    """A mean with its 95 % interval over whole instructions."""

    value = serializers.FloatField()
    low = serializers.FloatField()
    high = serializers.FloatField()
    n = serializers.IntegerField()
    clusters = serializers.IntegerField()


class ChangeSerializer(SignificanceSerializer):
    """This round minus what it is compared with; flagged if p is below alpha."""

    p = serializers.FloatField()
    alpha = serializers.FloatField()
    reach = serializers.FloatField(help_text="The distance from 0 at which it counts.")
    flagged = serializers.BooleanField()


class RoundSerializer(serializers.Serializer[Round]):
    """A finished round; a level is null where there are too few answers."""

    number = serializers.IntegerField()
    run = serializers.CharField(source="run.public_id")
    finished_at = serializers.DateTimeField(source="run.finished_at", allow_null=True)
    baseline = serializers.IntegerField(help_text="Number of the round that it is compared with.")
    flagged = serializers.BooleanField()
    silent = serializers.BooleanField(help_text="Whether half of the baseline's tasks or more have no answer.")
    unscored = serializers.IntegerField(help_text="Tasks without a usable answer.")
    score = SignificanceSerializer(source="level", allow_null=True, help_text="The mean score, 0 to 1 of the scale.")
    agreement_with_baseline = SignificanceSerializer(source="alike", allow_null=True)
    agreement_with_people = SignificanceSerializer(source="people", allow_null=True)
    changes = serializers.DictField(child=ChangeSerializer(), help_text="By test: score, people, steadiness.")


class UnfinishedRoundSerializer(serializers.Serializer[JudgeRun]):
    run = serializers.CharField(source="public_id")
    status = serializers.CharField()
    message = serializers.CharField()


class MonitorStateSerializer(MonitorSerializer):
    baseline = serializers.SerializerMethodField(help_text="Number of the round with which the next is compared.")
    rounds = serializers.SerializerMethodField()
    others = serializers.SerializerMethodField(help_text="Rounds that are not finished.")

    class Meta(MonitorSerializer.Meta):
        fields = [*MonitorSerializer.Meta.fields, "baseline", "rounds", "others"]

    def to_representation(self, instance: Watch) -> dict[str, Any]:
        self._read: Readings = readings(instance)
        return super().to_representation(instance)

    def get_baseline(self, _monitor: Watch) -> int:
        return self._read.baseline

    @extend_schema_field(RoundSerializer(many=True))
    def get_rounds(self, _monitor: Watch) -> Any:
        return RoundSerializer(cast(Any, self._read.rounds), many=True).data

    @extend_schema_field(UnfinishedRoundSerializer(many=True))
    def get_others(self, _monitor: Watch) -> Any:
        return UnfinishedRoundSerializer(cast(Any, self._read.others), many=True).data


class MonitoredVerdictSerializer(serializers.Serializer[MovedVerdict]):
    """An answer that differs between two rounds; null where a round has no usable one."""

    task = serializers.CharField(source="task.public_id")
    instruction = serializers.CharField(source="task.response_a.instruction.external_id")
    criterion = serializers.CharField()
    before = serializers.FloatField(allow_null=True)
    after = serializers.FloatField(allow_null=True)
    share = serializers.FloatField(allow_null=True, help_text="After minus before, as a share of the scale.")
    item_before = serializers.IntegerField(
        source="item_before.pk", default=None, help_text="Number of the verdict in the baseline's run."
    )
    item_after = serializers.IntegerField(
        source="item_after.pk", default=None, help_text="Number of the verdict in the round's run."
    )


class WantedBaselineSerializer(serializers.Serializer[Any]):
    run = serializers.CharField(max_length=32, help_text="Id of the latest round, whose check found a change.")


@extend_schema(operation_id="monitors", parameters=[SIZE, CURSOR], responses=MonitorSerializer(many=True))
@api_view(["GET"])
@needs(Scope.READ)
def monitors(request: Request) -> ApiResponse:
    """Return the drift monitors of the workspaces whose results you may read."""
    return paged(request, monitors_read_by(asking(request)).order_by(), MonitorSerializer)


@extend_schema(
    operation_id="make_monitor",
    parameters=[KEY],
    request=WantedMonitorSerializer,
    responses={201: MonitorSerializer},
    examples=[
        OpenApiExample("Daily", {"study": "essays", "judge": "gpt judge", "budget_money": "2.50"}, request_only=True)
    ],
)
@api_view(["POST"])
@needs(Scope.RUN)
@once
def make_monitor(request: Request, workspace: str) -> ApiResponse:
    """Make a drift monitor (for owners and leads); workers start its first round at once, which may cost money."""
    found = workspace_to_change(request, workspace)
    asked = checked(WantedMonitorSerializer(data=request.data))
    own = Workspace.objects.filter(pk=found.pk)
    study = studies_to_monitor(own).filter(slug=asked["study"]).first()
    if study is None:
        raise Unusable(
            _("In this workspace, no study that has tasks is called %(name)s.") % {"name": repr(asked["study"])}
        )
    judge = judges_to_monitor(own).filter(rater__label=asked["judge"]).first()
    if judge is None:
        raise Unusable(
            _("There is no judge %(name)s in this workspace that can be asked.") % {"name": repr(asked["judge"])}
        )
    try:
        made = create_watch(
            judge=judge,
            study=study,
            every_hours=asked["every_hours"],
            size=asked["tasks"],
            seed=asked["seed"],
            budget_money=asked.get("budget_money"),
            clock=timezone.now,
            user=asking(request),
        )
    except UserError as problem:
        raise Unusable(for_reader(problem)) from problem
    return ApiResponse(MonitorSerializer(made).data, status=201)


@extend_schema(methods=["GET"], operation_id="monitor", responses=MonitorStateSerializer)
@extend_schema(
    methods=["PATCH"],
    operation_id="change_monitor",
    parameters=[IF_MATCH],
    request=TermsSerializer,
    responses=MonitorStateSerializer,
    examples=[OpenApiExample("Weekly", {"every_hours": 168}, request_only=True)],
)
@api_view(["GET", "PATCH"])
@needs(Scope.READ, patch=Scope.RUN)
def monitor(request: Request, public_id: str) -> ApiResponse:
    """Return a monitor with its rounds and their tests, or change its interval and budget (for owners and leads)."""
    if request.method != "PATCH":
        return ApiResponse(MonitorStateSerializer(_to_read(request, public_id)).data)
    found = _to_change(request, public_id)
    asked = checked(TermsSerializer(data=request.data))
    with transaction.atomic():
        Watch.objects.select_for_update().get(pk=found.pk)
        found.refresh_from_db(fields=["every_hours", "budget_money", "next_at", "active"])
        check_unchanged(request, MonitorStateSerializer(found).data)
        terms = {"every_hours": found.every_hours, "budget_money": found.budget_money, **asked}
        change_terms(found, **terms, clock=timezone.now, user=asking(request))
    return ApiResponse(MonitorStateSerializer(_to_read(request, public_id)).data)


@extend_schema(
    operation_id="steer_monitor",
    parameters=[KEY, OpenApiParameter("verb", str, "path", enum=[PAUSE, RESUME, RUN])],
    request=None,
    responses=MonitorStateSerializer,
)
@api_view(["POST"])
@needs(Scope.CHANGE, resume=Scope.RUN, run=Scope.RUN)
@once
def steer_monitor(request: Request, public_id: str, verb: str) -> ApiResponse:
    """Pause a monitor, resume it, or run a round now; 400 while one is running. Rounds may cost money."""
    found = _to_change(request, public_id)
    try:
        if verb == RUN:
            ask_now(found, clock=timezone.now, user=asking(request))
        else:
            set_active(found, verb == RESUME, clock=timezone.now, user=asking(request))
    except UserError as problem:
        raise Unusable(for_reader(problem)) from problem
    return ApiResponse(MonitorStateSerializer(_to_read(request, public_id)).data)


@extend_schema(
    operation_id="monitored_verdicts",
    parameters=[
        OpenApiParameter("page", int),
        OpenApiParameter("size", int, description="Answers on a page; default 100, at most 500."),
    ],
    responses=MonitoredVerdictSerializer(many=True),
)
@api_view(["GET"])
@needs(Scope.READ)
def moved(request: Request, public_id: str) -> ApiResponse:
    """Return the answers that moved between the latest round that changed and its baseline, the largest first."""
    found = _to_read(request, public_id)
    read = readings(found)
    rows: list[MovedVerdict] = []
    if read.flagged:
        latest = read.flagged[-1]
        rows = moved_verdicts(found, read.numbered(latest.baseline).run, latest.run)
    pages = VerdictPages()
    shown: list[Any] = pages.paginate_queryset(cast(Any, rows), request) or []
    return pages.get_paginated_response(MonitoredVerdictSerializer(cast(Any, shown), many=True).data)


@extend_schema(operation_id="set_baseline", request=WantedBaselineSerializer, responses=MonitorStateSerializer)
@api_view(["POST"])
@needs(Scope.CHANGE)
def new_baseline(request: Request, public_id: str) -> ApiResponse:
    """Compare later rounds with the latest one, whose check found a change (for owners and leads)."""
    found = _to_change(request, public_id)
    asked = checked(WantedBaselineSerializer(data=request.data))
    run = found.rounds.filter(public_id=asked["run"]).first()
    if run is None:
        raise Unusable(_("This drift monitor has no round %(id)s.") % {"id": repr(asked["run"])})
    try:
        set_baseline(found, run, user=asking(request))
    except UserError as problem:
        raise Unusable(for_reader(problem)) from problem
    return ApiResponse(MonitorStateSerializer(found).data)


def _to_read(request: Request, public_id: str) -> Watch:
    return monitor_read_by(asking(request), public_id)


def _to_change(request: Request, public_id: str) -> Watch:
    found = _to_read(request, public_id)
    if not leads_workspace_of(asking(request), found.study):
        raise PermissionDenied(_("Only owners and leads of this workspace can do this."))
    return found
