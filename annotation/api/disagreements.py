"""API endpoints for tasks on which raters disagree: the queue, all answers to a task, a lead's own, and more ratings."""

from collections.abc import Mapping
from math import isnan
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.access import Scope, needs
from accounts.api.headers import IF_MATCH, check_unchanged
from accounts.api.lists import Unusable, asking, checked
from accounts.api.repeated import KEY, once
from accounts.models import User
from annotation.api.studies import study_to_change, study_to_read
from annotation.api.tasks import task_of
from annotation.models import Assignment, Criterion, Flag, Score, Task, latest_scores
from annotation.monitoring.adjudication import adjudicate, answers_to, own_answer
from annotation.monitoring.flags import all_flags_of
from annotation.monitoring.more_ratings import MOST_MORE, request_more, request_more_above
from annotation.monitoring.stored_progress import disagreement_queue
from annotation.studies.life_cycle import release_task
from annotation.web.rating.forms import DOES_NOT_APPLY, LONGEST_WHY, PREFIX, REASON, AnswerForm
from annotation.web.rating.screens import screen_of
from core.errors import UserError
from core.messages.rendering import for_reader

WIDEST = 50
"""The largest spread of two answers, in percent of the scale."""
MOST_LISTED = 500


class DisagreementSerializer(serializers.Serializer[Any]):
    task = serializers.CharField(source="task.public_id")
    instruction = serializers.CharField(source="task.response_a.instruction.external_id")
    category = serializers.CharField(source="task.response_a.instruction.category.key", default=None)
    spread = serializers.FloatField(
        help_text="Standard deviation of people's scores as a share of the scale: 0 to 0.5."
    )
    answers = serializers.IntegerField()
    open_slots = serializers.IntegerField(source="free", help_text="Ratings that the task still gets.")
    decided = serializers.BooleanField(help_text="Whether a lead has given an answer of their own.")


class DisagreementsSerializer(serializers.Serializer[Any]):
    """The tasks on which raters disagree, the widest spread first."""

    results = DisagreementSerializer(many=True)
    counted_at = serializers.DateTimeField(
        allow_null=True, help_text="When a worker compared the answers of a large study; null: just now."
    )
    counting = serializers.BooleanField(help_text="A worker compares the answers for the first time; ask again.")


class WantedQueueSerializer(serializers.Serializer[Any]):
    least = serializers.FloatField(required=False, default=0.0, min_value=0, max_value=WIDEST)
    most = serializers.IntegerField(required=False, default=50, min_value=1, max_value=MOST_LISTED)

    def validate_least(self, least: float) -> float:
        """Refuse "nan", which is within any bounds."""
        if isnan(least):
            raise serializers.ValidationError(_("Enter a number."))
        return least


class GivenScoreSerializer(serializers.ModelSerializer[Score]):
    criterion = serializers.CharField(source="criterion.key")

    class Meta:
        model = Score
        fields = ["criterion", "revision", "value", "level", "not_applicable", "reason", "evidence"]


class GivenAnswerSerializer(serializers.ModelSerializer[Assignment]):
    """One rater's answer to a task, as it is now."""

    rater = serializers.CharField(source="rater.public_id")
    name = serializers.CharField(source="rater.name", help_text="The pseudonym of a person, the name of a judge.")
    rater_kind = serializers.CharField(source="rater.kind")
    discredited = serializers.SerializerMethodField(help_text="Whether the judge's run failed its canary texts.")
    scores = serializers.SerializerMethodField()

    class Meta:
        model = Assignment
        fields = ["rater", "name", "rater_kind", "status", "submitted_at", "discredited", "scores"]

    def get_discredited(self, assignment: Assignment) -> bool:
        return bool(assignment.discredited)

    @extend_schema_field(GivenScoreSerializer(many=True))
    def get_scores(self, assignment: Assignment) -> Any:
        return GivenScoreSerializer(_in_order(assignment), many=True).data


class NoteSerializer(serializers.ModelSerializer[Flag]):
    """A note or appeal of a rater to the lead."""

    id = serializers.IntegerField(source="pk")
    task = serializers.CharField(source="task.public_id")
    instruction = serializers.CharField(source="task.response_a.instruction.external_id")
    rater = serializers.CharField(source="rater.public_id", default=None)
    name = serializers.CharField(source="rater.name", default=None)

    class Meta:
        model = Flag
        fields = ["id", "kind", "text", "task", "instruction", "rater", "name", "created_at", "resolved_at"]


class TaskAnswersSerializer(serializers.Serializer[Any]):
    """All that was said of a task."""

    task = serializers.CharField()
    held_by = serializers.IntegerField(help_text="Raters who have the task open.")
    answers = GivenAnswerSerializer(many=True, help_text="Of people, then of leads (key), then of judges.")
    notes = NoteSerializer(many=True)


class AdjudicationSerializer(serializers.Serializer[Any]):
    """Your own answer to a task, which decides it."""

    decided = serializers.BooleanField()
    scores = GivenScoreSerializer(many=True)


class WantedAdjudicationSerializer(serializers.Serializer[Any]):
    """Answers to all questions of the task."""

    answers = serializers.DictField(
        child=serializers.JSONField(allow_null=True),
        help_text="By criterion: a number on its scale, the key of a level, or null where it does not apply.",
    )
    reasons = serializers.DictField(
        child=serializers.CharField(allow_blank=True, max_length=LONGEST_WHY),
        required=False,
        help_text="In a review, by criterion, why a verdict is reasonable or not.",
    )


class WantedRatingsSerializer(serializers.Serializer[Any]):
    """Of which tasks more ratings are wanted: one of `task` and `least`."""

    more = serializers.IntegerField(required=False, default=1, min_value=1, max_value=MOST_MORE)
    task = serializers.CharField(required=False)
    least = serializers.FloatField(
        required=False,
        min_value=0,
        max_value=WIDEST,
        help_text="All undecided tasks without open slots whose spread is above this percentage of the scale.",
    )


class RequestedSerializer(serializers.Serializer[Any]):
    ratings = serializers.IntegerField(help_text="Number of ratings that were requested.")
    tasks = serializers.IntegerField()


class ReleasedSerializer(serializers.Serializer[Any]):
    released = serializers.IntegerField(help_text="Number of open tasks that were taken back.")


@extend_schema(
    operation_id="disagreements",
    parameters=[
        OpenApiParameter("least", float, description="Only a spread above this percentage of the scale; 0 to 50."),
        OpenApiParameter("most", int, description="The most tasks to list; default 50, at most 500."),
    ],
    responses=DisagreementsSerializer,
)
@api_view(["GET"])
@needs(Scope.RATINGS)
def disagreements(request: Request, workspace: str, slug: str) -> Response:
    """List the tasks on which raters disagree, the widest spread first, as the page Disagreements does."""
    study = study_to_read(request, workspace, slug)
    asked = checked(WantedQueueSerializer(data=request.query_params.dict()))
    found = disagreement_queue(study, least=asked["least"] / 100, most=asked["most"], clock=timezone.now)
    return Response(
        DisagreementsSerializer({"results": found.rows, "counted_at": found.at, "counting": found.counting}).data
    )


@extend_schema(
    operation_id="request_ratings",
    parameters=[KEY],
    request=WantedRatingsSerializer,
    responses={201: RequestedSerializer},
    examples=[OpenApiExample("Wide spreads", {"least": 20, "more": 1}, request_only=True)],
)
@api_view(["POST"])
@needs(Scope.CHANGE)
@once
def request_ratings(request: Request, workspace: str, slug: str) -> Response:
    """Request more ratings of one task, or of every undecided task above a spread; they are assigned next."""
    study = study_to_change(request, workspace, slug)
    asked = checked(WantedRatingsSerializer(data=request.data))
    if ("task" in asked) == ("least" in asked):
        raise Unusable(_("Send either task, for one task, or least, for all tasks above a spread."))
    try:
        if "task" in asked:
            made = request_more(study, [task_of(study, asked["task"])], asked["more"], by=asking(request))
        else:
            made = request_more_above(study, asked["least"] / 100, asked["more"], by=asking(request))
    except UserError as problem:
        raise Unusable(for_reader(problem)) from problem
    return Response(RequestedSerializer(made).data, status=201)


@extend_schema(operation_id="task_answers", responses=TaskAnswersSerializer)
@api_view(["GET"])
@needs(Scope.RATINGS)
def task_answers(request: Request, workspace: str, slug: str, task: str) -> Response:
    """Return all current answers to a task with their reasons, and the notes of its raters."""
    study = study_to_read(request, workspace, slug)
    found = task_of(study, task)
    said = {
        "task": found.public_id,
        "held_by": found.seats.filter(state="held").count(),
        "answers": answers_to(found),
        "notes": all_flags_of(study).filter(task=found).order_by("pk"),
    }
    return Response(TaskAnswersSerializer(said).data)


@extend_schema(methods=["GET"], operation_id="adjudication", responses=AdjudicationSerializer)
@extend_schema(
    methods=["PUT"],
    operation_id="adjudicate",
    parameters=[IF_MATCH],
    request=WantedAdjudicationSerializer,
    responses=AdjudicationSerializer,
    examples=[OpenApiExample("Stars", {"answers": {"overall": 4, "facts": "yes"}}, request_only=True)],
)
@api_view(["GET", "PUT"])
@needs(Scope.RATINGS, put=Scope.CHANGE)
def adjudication(request: Request, workspace: str, slug: str, task: str) -> Response:
    """Return your own answer to a task, or give it: it decides the task and is left out of all results."""
    by = asking(request)
    if request.method == "GET":
        return Response(_own(task_of(study_to_read(request, workspace, slug), task), by))
    study = study_to_change(request, workspace, slug)
    asked = checked(WantedAdjudicationSerializer(data=request.data))
    with transaction.atomic():
        found = task_of(study, task)
        list(Task.objects.select_for_update().filter(pk=found.pk))
        check_unchanged(request, _own(found, by))
        _adjudicate(found, asked, by)
    return Response(_own(found, by))


def _adjudicate(task: Task, asked: Mapping[str, Any], by: User) -> None:
    """Store the answers as the page of the task does, by the form that it shows. Raises Unusable."""
    screen = screen_of(Assignment(task=task, shown_first=Assignment.Side.A))
    known = {criterion.key: criterion for criterion in screen.criteria}
    for key in (*asked["answers"], *asked.get("reasons", {})):
        if key not in known:
            raise Unusable(
                _("The rubric of this task has no question %(key)s; it has: %(known)s.")
                % {"key": repr(str(key)[:50]), "known": ", ".join(known)}
            )
    sent = {PREFIX + key: _entered(known[key], value) for key, value in asked["answers"].items()}
    sent |= {REASON + key: text for key, text in asked.get("reasons", {}).items()}
    form = AnswerForm(screen.criteria, sent, shown=screen.shown)
    if not form.is_valid():
        name, errors = next(iter(form.errors.items()))
        raise Unusable(f"{name.removeprefix(PREFIX).removeprefix(REASON)}: {errors[0]}")
    try:
        adjudicate(task, form.answers(), criteria=screen.criteria, by=by, clock=timezone.now)
    except UserError as refusal:
        raise Unusable(for_reader(refusal)) from refusal


def _entered(criterion: Criterion, value: Any) -> str:
    """Return the answer in the words of the form. Raises Unusable where a number stands for several levels."""
    if value is None:
        return DOES_NOT_APPLY
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)[:50]
    levels = [str(level["key"]) for level in criterion.levels if float(level["value"]) == value]
    if len(levels) > 1:
        raise Unusable(
            _("%(key)s: Several levels have this value. Send the key of one: %(levels)s.")
            % {"key": criterion.key, "levels": ", ".join(levels)}
        )
    return levels[0] if levels else f"{value:.12g}"


def _own(task: Task, by: User) -> dict[str, Any]:
    own = own_answer(task, by)
    said = {"decided": own is not None, "scores": _in_order(own) if own else []}
    return dict(AdjudicationSerializer(said).data)


def _in_order(assignment: Assignment) -> list[Score]:
    """Return the newest score of each criterion, in the order of the rubric."""
    scores = latest_scores(assignment.scores.all()).values()
    return sorted(scores, key=lambda score: (score.criterion.position, score.criterion.pk))


@extend_schema(operation_id="release_task", request=None, responses=ReleasedSerializer)
@api_view(["POST"])
@needs(Scope.CHANGE)
def release(request: Request, workspace: str, slug: str, task: str) -> Response:
    """Take a task back from raters who have it open, so that others get it."""
    found = task_of(study_to_change(request, workspace, slug), task)
    return Response({"released": release_task(found, by=asking(request))})
