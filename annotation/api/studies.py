"""API endpoints for studies: their state, every answer in them, and what their leads and owners decide about these."""

from typing import Any

from django.db.models import OuterRef, Subquery
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.exceptions import NotFound, PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response as ApiResponse

from accounts.api.access import Scope, needs
from accounts.api.lists import Unusable, asking, checked, paged, workspace_to_change
from accounts.api.repeated import KEY, once
from accounts.permissions import leads_workspace_of
from annotation.models import Assignment, Exclusion, Rater, Score, Study, why_not_counted
from annotation.monitoring.exclusion import LONGEST_REASON, exclude, excluded_in, lift, standing_exclusion
from annotation.monitoring.progress import study_rows
from annotation.policies.policies import ORDERS
from annotation.policies.stopping import STOPPING_QUESTIONS
from annotation.privacy.erasure import erase_rater
from annotation.privacy.own_data import own_data_of
from annotation.recruitment.cohorts import erase_identity
from annotation.studies import deletion, making
from annotation.studies.access import studies_read_by, study_read_by
from annotation.studies.deletion import owns
from annotation.studies.making import PAIRS, SAMPLES, SELF_NAMING, WantedStudy, launch_soon
from core.errors import UserError
from generation.api import CURSOR, SIZE


class StudySerializer(serializers.ModelSerializer[Study]):
    id = serializers.CharField(source="public_id")
    workspace = serializers.SlugRelatedField[Any](slug_field="slug", read_only=True)
    benchmark = serializers.CharField(source="benchmark.slug", default=None)
    archived_at = serializers.DateTimeField(allow_null=True, help_text="Since when lists on pages do not show it.")

    class Meta:
        model = Study
        fields = ["id", "slug", "workspace", "benchmark", "name", "kind", "status", "archived_at", "created_at"]


class StudyStateSerializer(StudySerializer):
    tasks = serializers.IntegerField()
    seats = serializers.IntegerField(help_text="Number of ratings needed: tasks times overlap.")
    taken = serializers.IntegerField()
    answers_of_people = serializers.IntegerField()
    answers_of_judges = serializers.IntegerField()
    answers_excluded = serializers.IntegerField(
        help_text="Answers that a lead excluded. They are in no other number; their scores have status excluded."
    )
    raters_excluded = serializers.IntegerField(help_text="Raters of the excluded answers.")
    provenance = serializers.ListField(
        child=serializers.CharField(), help_text="Contains 'simulated' or 'scripted' if the study has such answers."
    )

    class Meta(StudySerializer.Meta):
        fields = [
            *StudySerializer.Meta.fields,
            "tasks",
            "seats",
            "taken",
            "answers_of_people",
            "answers_of_judges",
            "answers_excluded",
            "raters_excluded",
            "provenance",
        ]


class ScoreSerializer(serializers.ModelSerializer[Score]):
    task = serializers.CharField(source="assignment.task.public_id")
    response_a = serializers.CharField(source="assignment.task.response_a.public_id", default=None)
    response_b = serializers.CharField(source="assignment.task.response_b.public_id", default=None)
    rater = serializers.CharField(source="assignment.rater.public_id")
    rater_kind = serializers.CharField(source="assignment.rater.kind")
    status = serializers.CharField(source="assignment.status")
    not_counted = serializers.SerializerMethodField(
        help_text="Why an answer is not counted: excluded by a lead, or surplus because of closed, paused, failed, "
        "screened_out, or full; otherwise empty."
    )
    repeat = serializers.IntegerField(source="assignment.repeat")
    shown_first = serializers.CharField(source="assignment.shown_first")
    submitted_at = serializers.DateTimeField(source="assignment.submitted_at", allow_null=True)
    discredited = serializers.SerializerMethodField(
        help_text="Whether the judge's run failed its canary texts, so that this verdict is not counted."
    )
    criterion = serializers.CharField(source="criterion.key")
    role = serializers.CharField(source="criterion.role")

    class Meta:
        model = Score
        fields = [
            "task",
            "response_a",
            "response_b",
            "rater",
            "rater_kind",
            "status",
            "not_counted",
            "repeat",
            "shown_first",
            "submitted_at",
            "discredited",
            "criterion",
            "role",
            "revision",
            "value",
            "level",
            "not_applicable",
            "reason",
            "evidence",
        ]

    def get_not_counted(self, score: Score) -> str:
        return why_not_counted(score.assignment.status, score.assignment.reason)

    def get_discredited(self, score: Score) -> bool:
        return bool(score.assignment.discredited)


@extend_schema(parameters=[SIZE, CURSOR], responses=StudySerializer(many=True))
@api_view(["GET"])
@needs(Scope.READ)
def studies(request: Request) -> ApiResponse:
    """List the studies of the workspaces whose results you may read."""
    return paged(request, studies_read_by(asking(request)), StudySerializer)


@extend_schema(responses=StudyStateSerializer)
@api_view(["GET"])
@needs(Scope.READ)
def study(request: Request, workspace: str, slug: str) -> ApiResponse:
    """Return one study and its progress, counted from its rows."""
    found = study_to_read(request, workspace, slug)
    (row,), excluded = study_rows([found]), excluded_in(task__study=found)
    said = {
        "tasks": row.tasks,
        "seats": row.seats,
        "taken": row.taken,
        "answers_of_people": row.people,
        "answers_of_judges": row.judges,
        "answers_excluded": excluded.answers,
        "raters_excluded": excluded.raters,
        "provenance": row.provenance,
    }
    return ApiResponse({**StudySerializer(found).data, **said})


@extend_schema(
    parameters=[
        SIZE,
        CURSOR,
        OpenApiParameter("criterion", str, description="Return only answers to the criterion with this key."),
        OpenApiParameter("rater_kind", str, enum=list(Rater.Kind.values)),
        OpenApiParameter("every_revision", bool, description="Include answers that were changed later."),
    ],
    responses=ScoreSerializer(many=True),
)
@api_view(["GET"])
@needs(Scope.RATINGS)
def scores(request: Request, workspace: str, slug: str) -> ApiResponse:
    """Return every answer of a study. Raters have opaque ids; of a changed answer only the last version is returned.

    Pair scores are canonical: positive means that response_a is better, whichever was shown first.
    """
    rows = Score.objects.filter(assignment__task__study=study_to_read(request, workspace, slug)).order_by()
    if criterion := request.query_params.get("criterion"):
        rows = rows.filter(criterion__key=criterion)
    if kind := request.query_params.get("rater_kind"):
        rows = rows.filter(assignment__rater__kind=kind)
    if request.query_params.get("every_revision", "").lower() not in ("1", "true"):
        latest = Score.objects.filter(assignment=OuterRef("assignment"), criterion=OuterRef("criterion"))
        rows = rows.filter(revision=Subquery(latest.order_by("-revision").values("revision")[:1]))
    rows = rows.select_related(
        "criterion", "assignment__rater", "assignment__task__response_a", "assignment__task__response_b"
    ).defer("assignment__task__response_a__text", "assignment__task__response_b__text")
    return paged(request, rows, ScoreSerializer)


class WantedStudySerializer(serializers.Serializer[WantedStudy]):
    """The settings of a new study; what is left out is the default of the study form."""

    kind = serializers.ChoiceField(choices=Study.Kind.choices)
    benchmark = serializers.CharField(help_text="Slug of a benchmark of the workspace.")
    name = serializers.CharField(max_length=150, help_text="Name in English; the slug is made from it.")
    name_zh = serializers.CharField(max_length=150, required=False, allow_blank=True)
    rubric = serializers.CharField(required=False, allow_blank=True, help_text="Key; default: each instruction's own.")
    categories = serializers.ListField(child=serializers.CharField(), required=False, help_text="Keys; default: all.")
    tags = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="Only instructions with any of these tags; default: all.",
    )
    models = serializers.ListField(child=serializers.CharField(), required=False, help_text="Names; default: all.")
    instructions = serializers.IntegerField(
        required=False, help_text="Number of instructions to draw, evenly over categories; 0 or none for all."
    )
    seed = serializers.IntegerField(required=False)
    samples = serializers.ChoiceField(choices=SAMPLES, required=False)
    pairs = serializers.ChoiceField(choices=PAIRS, required=False)
    baselines = serializers.ListField(child=serializers.CharField(), required=False, help_text="Names of models.")
    pairs_wanted = serializers.IntegerField(required=False)
    judges = serializers.ListField(child=serializers.CharField(), required=False, help_text="Names, for a review.")
    overlap = serializers.IntegerField(required=False)
    order = serializers.ChoiceField(choices=ORDERS, required=False)
    experiment = serializers.CharField(required=False)
    self_naming = serializers.ChoiceField(
        choices=sorted(filter(None, SELF_NAMING)),
        required=False,
        help_text="What becomes of responses that say which model wrote them.",
    )
    questions_before = serializers.ListField(
        child=serializers.JSONField(),
        required=False,
        help_text='What raters are asked before their first task: {"kind", "text", "required", "options", ...}.',
    )
    questions_after = serializers.ListField(
        child=serializers.JSONField(), required=False, help_text="What raters are asked after their last task."
    )
    stop = serializers.ChoiceField(
        choices=STOPPING_QUESTIONS,
        required=False,
        help_text="The question whose answer says when labelling may stop; it is frozen at launch.",
    )
    stop_threshold = serializers.FloatField(required=False, help_text="The share of agreeing pairs of raters to reach.")
    stop_models = serializers.ListField(
        child=serializers.CharField(),
        required=False,
        help_text="Names of the two models of which the better one is asked.",
    )
    stop_error = serializers.FloatField(required=False, help_text="The probability of ever answering wrongly; 0.05.")
    launch = serializers.BooleanField(required=False, help_text="Create the tasks and slots, and open the study.")

    def wanted(self) -> WantedStudy:
        given: dict[str, Any] = {name: value for name, value in self.validated_data.items() if name != "launch"}
        values: dict[str, Any] = {name: tuple(one) if isinstance(one, list) else one for name, one in given.items()}
        return WantedStudy(**values)


class MadeStudySerializer(StudySerializer):
    planned_tasks = serializers.IntegerField()
    without_rubric = serializers.IntegerField(help_text="Responses, pairs or verdicts that no rubric fits.")

    class Meta(StudySerializer.Meta):
        fields = [*StudySerializer.Meta.fields, "experiment", "seed", "planned_tasks", "without_rubric"]


@extend_schema(
    parameters=[KEY],
    request=WantedStudySerializer,
    responses={201: MadeStudySerializer},
    examples=[
        OpenApiExample(
            "Checklist",
            {"kind": "checklist", "benchmark": "essays", "name": "Tea, first round", "overlap": 2, "launch": True},
            request_only=True,
        )
    ],
)
@api_view(["POST"])
@needs(Scope.CHANGE)
@once
def make_study(request: Request, workspace: str) -> ApiResponse:
    """Make a study of a benchmark's responses, and launch it if asked; 400 with a sentence if it cannot be made."""
    user = asking(request)
    found = workspace_to_change(request, workspace)
    asked = WantedStudySerializer(data=request.data)
    checked(asked)
    try:
        made = making.make_study(workspace=found, wanted=asked.wanted(), by=user)
        if asked.validated_data.get("launch"):
            launch_soon(made.study, by=user)
    except UserError as problem:
        raise Unusable(str(problem)) from problem
    said = {"status": made.study.status, "experiment": made.study.experiment, "seed": made.study.seed}
    counts = {"planned_tasks": made.tasks, "without_rubric": made.without_rubric}
    return ApiResponse({**StudySerializer(made.study).data, **said, **counts}, status=201)


def study_to_read(request: Request, workspace: str, slug: str) -> Study:
    """The workspace's study with this slug; 404 with a message if there is none that the client may read."""
    name = f"{workspace}/{slug}"
    return study_read_by(asking(request), name, message=f"There is no study {name!r} in your workspaces.")


class ExclusionSerializer(serializers.ModelSerializer[Exclusion]):
    id = serializers.CharField(source="public_id")
    rater = serializers.CharField(source="rater.public_id")
    by = serializers.CharField(source="by.username", default=None)
    lifted_by = serializers.CharField(source="lifted_by.username", default=None)

    class Meta:
        model = Exclusion
        fields = ["id", "rater", "since", "reason", "at", "by", "lifted_at", "lifted_by"]


class MadeExclusionSerializer(ExclusionSerializer):
    answers = serializers.IntegerField(help_text="Number of the rater's answers that are excluded now.")

    class Meta(ExclusionSerializer.Meta):
        fields = [*ExclusionSerializer.Meta.fields, "answers"]


class WantedExclusionSerializer(serializers.Serializer[Any]):
    """Which answers to exclude, and why."""

    reason = serializers.CharField(max_length=LONGEST_REASON, help_text="It stays in the study's history and export.")
    since = serializers.DateTimeField(
        required=False, allow_null=True, help_text="Exclude answers from this moment on, later ones too; default: all."
    )


class CountedAgainSerializer(serializers.Serializer[Any]):
    answers = serializers.IntegerField(help_text="Number of answers that count again.")
    without_seat = serializers.IntegerField(
        help_text="Answers whose slot another rater has taken since, so that their tasks have more than planned."
    )


class WantedErasureSerializer(serializers.Serializer[Any]):
    confirm = serializers.ChoiceField(choices=["erase"], help_text="An erasure cannot be undone.")
    identity_only = serializers.BooleanField(default=False, help_text="Keep what they wrote; erase who they are.")


class ErasedSerializer(serializers.Serializer[Any]):
    erased = serializers.DictField(child=serializers.IntegerField(), help_text="Number of rows by kind.")


class WantedDeletionSerializer(serializers.Serializer[Any]):
    slug = serializers.CharField(help_text="The study's slug again. A deletion cannot be undone.")


class DeletedSerializer(serializers.Serializer[Any]):
    removed = serializers.DictField(child=serializers.IntegerField(), help_text="Number of rows by kind.")


class DeletionSerializer(serializers.Serializer[Any]):
    removed = serializers.DictField(
        child=serializers.IntegerField(), help_text="Number of rows by kind; none while the study is open."
    )
    stays = serializers.CharField(help_text="Why it cannot be deleted now, or empty.", allow_blank=True)


@extend_schema(parameters=[SIZE, CURSOR], responses=ExclusionSerializer(many=True))
@api_view(["GET"])
@needs(Scope.RATINGS)
def exclusions(request: Request, workspace: str, slug: str) -> ApiResponse:
    """List the study's exclusions of raters' answers, also those that were lifted."""
    rows = study_to_read(request, workspace, slug).exclusions.select_related("rater", "by", "lifted_by").order_by()
    return paged(request, rows, ExclusionSerializer)


@extend_schema(
    parameters=[KEY],
    request=WantedExclusionSerializer,
    responses={201: MadeExclusionSerializer},
    examples=[OpenApiExample("All answers", {"reason": "The same value everywhere"}, request_only=True)],
)
@api_view(["POST"])
@needs(Scope.CHANGE)
@once
def exclude_rater(request: Request, workspace: str, slug: str, rater: str) -> ApiResponse:
    """Exclude a rater's answers from results, all or from a moment on; their slots are filled by others."""
    study = study_to_change(request, workspace, slug)
    found = rater_of(study, rater)
    asked = checked(WantedExclusionSerializer(data=request.data))
    try:
        made = exclude(study, found, since=asked.get("since"), reason=asked["reason"], by=asking(request))
    except UserError as problem:
        raise Unusable(str(problem)) from problem
    answers = found.assignments.filter(status=Assignment.Status.EXCLUDED).count()
    return ApiResponse({**ExclusionSerializer(made).data, "answers": answers}, status=201)


@extend_schema(request=None, responses=CountedAgainSerializer)
@api_view(["POST"])
@needs(Scope.CHANGE)
def include_rater(request: Request, workspace: str, slug: str, rater: str) -> ApiResponse:
    """Lift the exclusion of a rater's answers, so that they count again; 400 if they are not excluded."""
    standing = standing_exclusion(rater_of(study_to_change(request, workspace, slug), rater))
    if standing is None:
        raise Unusable("This rater's answers are not excluded.")
    try:
        back = lift(standing, by=asking(request))
    except UserError as problem:
        raise Unusable(str(problem)) from problem
    return ApiResponse({"answers": back.answers, "without_seat": back.unseated})


@extend_schema(request=WantedErasureSerializer, responses=ErasedSerializer)
@api_view(["POST"])
@needs(Scope.CHANGE)
def erase_person(request: Request, workspace: str, slug: str, rater: str) -> ApiResponse:
    """Erase all personal data of a rater: identity, account link and what they wrote, or with identity_only the first two.

    Their ratings are kept.
    """
    found = rater_of(study_to_change(request, workspace, slug), rater)
    if checked(WantedErasureSerializer(data=request.data))["identity_only"]:
        return ApiResponse({"erased": {"identities": int(erase_identity(found, by=asking(request)))}})
    return ApiResponse({"erased": erase_rater(found, by=asking(request))})


@extend_schema(methods=["GET"], operation_id="what_deletion_removes", responses=DeletionSerializer)
@extend_schema(
    methods=["POST"], operation_id="delete_study", request=WantedDeletionSerializer, responses=DeletedSerializer
)
@api_view(["GET", "POST"])
@needs(Scope.CHANGE)
def delete_study(request: Request, workspace: str, slug: str) -> ApiResponse:
    """Delete a study with everything in it, as an owner of its workspace; 400 while it is open or in use.

    GET says what that would remove, and what stands against it.
    """
    study = study_to_read(request, workspace, slug)
    if not owns(asking(request), study.workspace_id):
        raise PermissionDenied("Only an owner of this workspace can delete a study.")
    if request.method != "POST":
        if stays := deletion.why_not_now(study):
            return ApiResponse({"removed": {}, "stays": stays})
        removal = deletion.what_goes(study)
        return ApiResponse({"removed": removal.counts(), "stays": deletion.why_it_stays(study, removal)})
    if checked(WantedDeletionSerializer(data=request.data))["slug"] != study.slug:
        raise Unusable(f"slug: This is not the study's slug; it is {study.slug!r}.")
    try:
        return ApiResponse({"removed": deletion.delete(study, by=asking(request))})
    except UserError as problem:
        raise Unusable(str(problem)) from problem


@extend_schema(responses=OpenApiTypes.OBJECT)
@api_view(["GET"])
@needs(Scope.RATINGS)
def own_data(request: Request) -> ApiResponse:
    """Return everything that your account holds about you: the account, its tokens and events, and your own answers."""
    user = asking(request)
    if user.limited_to is not None:
        raise NotFound("Your own data is of all workspaces; use a token that is not limited to one.")
    return ApiResponse(own_data_of(user))


def study_to_change(request: Request, workspace: str, slug: str) -> Study:
    """The study, for an owner or lead of its workspace; 404 where it cannot be read, 403 where it cannot be changed."""
    study = study_to_read(request, workspace, slug)
    if not leads_workspace_of(asking(request), study):
        raise PermissionDenied("Only owners and leads of this workspace can do this.")
    return study


def rater_of(study: Study, rater: str) -> Rater:
    found = Rater.objects.filter(study=study, kind=Rater.Kind.PERSON, public_id=rater).first()
    if found is None:
        raise NotFound(f"There is no rater {rater!r} in this study.")
    return found
