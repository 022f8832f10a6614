"""REST API of what a run's page does beside steering it: its name, budget, reviews, checks, files and single verdicts."""

from collections.abc import Callable
from typing import Any, cast

from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.exceptions import NotFound, PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response as ApiResponse

from accounts.api.access import Scope, needs
from accounts.api.lists import Unusable, asking, checked
from accounts.api.repeated import KEY, once
from accounts.permissions import leads_workspace_of
from annotation.api.studies import StudySerializer
from annotation.models import Study
from calibration.reports.codec import stored
from core.errors import UserError
from core.messages.rendering import for_reader
from generation.web.budgets import BudgetSerializer, of_budget, set_budget
from generation.web.run_controls import download
from judging.api.results import CriterionScoreSerializer, RunSerializer, VerdictPages, VerdictSerializer, run_to_read
from judging.comparison.drawn_checks import (
    RATERS,
    SAMPLE as CHECKS,
    agreement_so_far,
    check_studies_of,
    make_check_study,
)
from judging.comparison.review_studies import (
    LARGEST_SAMPLE,
    MOST_PEOPLE,
    REVIEWERS,
    SAMPLE,
    make_review_study,
    review_studies_of,
)
from judging.comparison.run_pairs import MOVED, SHOWN, RunPair, run_pair, runs_beside
from judging.judges.questions import part_of
from judging.models import JudgeRun, PlannedItem
from judging.runs.access import runs_read_by
from judging.runs.labels import LONGEST_LABEL, label_run
from judging.runs.verdict_lists import listed, people_about
from judging.runs.verdict_records import answers_of, verdict_records
from judging.web.runs.files import files_of_run

ITEMS = "items.csv"


class WantedLabelSerializer(serializers.Serializer[Any]):
    label = serializers.CharField(  # type: ignore[assignment]  # the base class has a label of its own
        allow_blank=True, max_length=LONGEST_LABEL, help_text="Empty takes the name away."
    )


class WantedReviewSerializer(serializers.Serializer[Any]):
    """A study in which people review some of the run's verdicts."""

    sample = serializers.IntegerField(min_value=1, max_value=LARGEST_SAMPLE, default=SAMPLE, help_text="Verdicts.")
    reviewers = serializers.IntegerField(min_value=1, max_value=MOST_PEOPLE, default=REVIEWERS, help_text="Of each.")


class WantedChecksSerializer(serializers.Serializer[Any]):
    """A study in which people answer some of the run's instruction checks."""

    sample = serializers.IntegerField(min_value=1, max_value=LARGEST_SAMPLE, default=CHECKS, help_text="Checks.")
    raters = serializers.IntegerField(min_value=1, max_value=MOST_PEOPLE, default=RATERS, help_text="Of each.")


class DrawnChecksSerializer(StudySerializer):
    agreement = serializers.SerializerMethodField(
        help_text="The share of checks on which people and the judge agree, with its interval; null while nobody answered."
    )

    class Meta(StudySerializer.Meta):
        fields = [*StudySerializer.Meta.fields, "agreement"]

    def get_agreement(self, study: Any) -> dict[str, Any] | None:
        found = agreement_so_far(study)
        return None if found is None else cast(dict[str, Any], stored(found))


class PersonsAnswerSerializer(serializers.Serializer[Any]):
    rater = serializers.CharField(help_text="An id as in scores/.")
    answers = CriterionScoreSerializer(many=True)


class WholeVerdictSerializer(VerdictSerializer):
    """A verdict with the texts that it is about, every raw reply, and what people answered to the same task."""

    instruction_text = serializers.CharField()
    text_a = serializers.CharField()
    text_b = serializers.CharField(allow_null=True)
    people = PersonsAnswerSerializer(many=True, help_text="Empty for a canary text.")
    people_mean = serializers.FloatField(allow_null=True, help_text="Of people's answers on the criteria of score.")


class MovedVerdictSerializer(serializers.Serializer[Any]):
    """A response, or pair, with the scores of both runs."""

    first = serializers.IntegerField(help_text="Number of the first run's verdict.")
    second = serializers.IntegerField(help_text="Number of the second run's verdict.")
    instruction = serializers.CharField()
    response_a = serializers.CharField()
    response_b = serializers.CharField(allow_null=True)
    score_of = serializers.CharField(help_text="preference, overall, or item: the mean of the items.")
    before = serializers.FloatField()
    after = serializers.FloatField()
    change = serializers.FloatField()


class MeanChangeSerializer(serializers.Serializer[Any]):
    value = serializers.FloatField()
    low = serializers.FloatField()
    high = serializers.FloatField()
    kind = serializers.CharField(help_text="bootstrap95, or why there is no interval.")
    n = serializers.IntegerField(help_text="Responses.")
    clusters = serializers.IntegerField(help_text="Instructions, which the interval resamples whole.")


class ComparedRunsSerializer(serializers.Serializer[Any]):
    """Two runs side by side: what moved between their verdicts, and by how much on average."""

    counts = serializers.DictField(child=serializers.IntegerField(), help_text="Verdicts by what show may be.")
    mean_change = MeanChangeSerializer(
        allow_null=True,
        help_text="Of second minus first; null if nothing is shared or the answers are of several kinds.",
    )
    first_only = serializers.IntegerField()
    second_only = serializers.IntegerField()
    unlike = serializers.IntegerField(help_text="Responses judged by different questions, which are not compared.")
    discredited = serializers.ListField(
        child=serializers.CharField(), help_text="Ids of the runs that failed their canary texts."
    )


@extend_schema(
    operation_id="label_run",
    parameters=[KEY],
    request=WantedLabelSerializer,
    responses=RunSerializer,
    examples=[OpenApiExample("Name", {"label": "after the new prompt"}, request_only=True)],
)
@api_view(["POST"])
@needs(Scope.CHANGE)
@once
def label(request: Request, public_id: str) -> ApiResponse:
    """Give a run a name of your own (for owners and leads), or take it away."""
    found = run_to_change(request, public_id)
    asked = checked(WantedLabelSerializer(data=request.data))
    label_run(found, asked["label"], by=asking(request))
    return ApiResponse(RunSerializer(found).data)


@of_budget("run_budget", "set_run_budget")
def budget(request: Request, public_id: str) -> ApiResponse:
    """Return what a run may spend, or set it (for owners and leads), also while it is running."""
    if request.method != "PUT":
        return ApiResponse(BudgetSerializer(run_to_read(request, public_id)).data)
    return ApiResponse(set_budget(request, run_to_change(request, public_id)))


@extend_schema(methods=["GET"], operation_id="reviews", responses=StudySerializer(many=True))
@extend_schema(
    methods=["POST"],
    operation_id="review_run",
    parameters=[KEY],
    request=WantedReviewSerializer,
    responses={201: StudySerializer},
    examples=[OpenApiExample("Small", {"sample": 50, "reviewers": 2}, request_only=True)],
)
@api_view(["GET", "POST"])
@needs(Scope.READ, post=Scope.CHANGE)
@once
def reviews(request: Request, public_id: str) -> ApiResponse:
    """Return the studies that review a run's verdicts, or make and open one (for owners and leads)."""
    return _studies(
        request, public_id, review_studies_of, make_review_study, wanted=WantedReviewSerializer, said=StudySerializer
    )


@extend_schema(methods=["GET"], operation_id="drawn_checks", responses=DrawnChecksSerializer(many=True))
@extend_schema(
    methods=["POST"],
    operation_id="draw_checks",
    parameters=[KEY],
    request=WantedChecksSerializer,
    responses={201: DrawnChecksSerializer},
    examples=[OpenApiExample("Small", {"sample": 100, "raters": 1}, request_only=True)],
)
@api_view(["GET", "POST"])
@needs(Scope.READ, post=Scope.CHANGE)
@once
def checks(request: Request, public_id: str) -> ApiResponse:
    """Return the studies of a run's instruction checks with people's agreement, or draw one (for owners and leads)."""
    return _studies(
        request,
        public_id,
        check_studies_of,
        make_check_study,
        wanted=WantedChecksSerializer,
        said=DrawnChecksSerializer,
    )


def _studies(
    request: Request,
    public_id: str,
    made_of: Callable[[JudgeRun], QuerySet[Study]],
    make: Callable[..., Study],
    *,
    wanted: type[serializers.Serializer[Any]],
    said: type[StudySerializer],
) -> ApiResponse:
    """Return the studies that were made of a run, or with POST make one of what was sent. Raises Unusable."""
    if request.method != "POST":
        found = made_of(run_to_read(request, public_id)).select_related("workspace", "benchmark")
        return ApiResponse(said(found, many=True).data)
    run = run_to_change(request, public_id)
    asked = checked(wanted(data=request.data))
    try:
        study = make(run, **asked, by=asking(request))
    except UserError as problem:
        raise Unusable(for_reader(problem)) from problem
    return ApiResponse(said(study).data, status=201)


@extend_schema(operation_id="verdict", responses=WholeVerdictSerializer)
@api_view(["GET"])
@needs(Scope.RATINGS)
def verdict(request: Request, public_id: str, item: int) -> ApiResponse:
    """Return one verdict whole: the texts, every score and reason, every raw reply, and people's answers to the task."""
    run = run_to_read(request, public_id)
    texts = ("task__response_a__instruction", "task__response_b")
    found = run.items.select_related(*texts).filter(pk=item).first()
    if found is None:
        raise NotFound(_("This run has no such verdict."))
    (record,) = verdict_records(run, [found.pk], raw=True)
    (row,) = listed(run, [found.pk])
    task = found.task
    people = [] if found.canary else list(people_about(task))
    answers = answers_of(one.pk for one in people)
    return ApiResponse(
        {
            **VerdictSerializer(cast(Any, record)).data,
            "instruction_text": task.response_a.instruction.text or "",
            "text_a": part_of(task.response_a.text or "", task.part),
            "text_b": None if task.response_b is None else part_of(task.response_b.text or "", task.part),
            "people": [
                {
                    "rater": one.rater.public_id,
                    "answers": CriterionScoreSerializer(cast(Any, answers.get(one.pk, [])), many=True).data,
                }
                for one in people
            ],
            "people_mean": row.people,
        }
    )


WITH_RUN = OpenApiParameter(
    "with_run", str, required=True, description="Id of the second run, over the same responses."
)


@extend_schema(operation_id="compare_runs", parameters=[WITH_RUN], responses=ComparedRunsSerializer)
@api_view(["GET"])
@needs(Scope.READ)
def compare(request: Request, public_id: str) -> ApiResponse:
    """Return how the verdicts of two runs over one study or benchmark differ; `compare/verdicts/` has them one by one."""
    first = run_to_read(request, public_id)
    second = _second(request, first)
    found = run_pair(first, second)
    return ApiResponse({**_sums(found), "discredited": [one.public_id for one in (first, second) if one.discredited]})


@extend_schema(
    operation_id="compared_verdicts",
    parameters=[
        WITH_RUN,
        OpenApiParameter("show", str, enum=SHOWN, description="Which verdicts; default: moved, the largest first."),
        OpenApiParameter("page", int),
        OpenApiParameter("size", int, description="Verdicts on a page; default 100, at most 500."),
    ],
    responses=MovedVerdictSerializer(many=True),
)
@api_view(["GET"])
@needs(Scope.READ)
def compared_verdicts(request: Request, public_id: str) -> ApiResponse:
    """Return the verdicts of two runs over one study or benchmark beside each other."""
    first = run_to_read(request, public_id)
    second, shown = _second(request, first), request.query_params.get("show", MOVED)
    if shown not in SHOWN:
        raise Unusable(_("%(field)s must be one of: %(known)s.") % {"field": "show", "known": ", ".join(SHOWN)})
    pages = VerdictPages()
    rows: list[Any] = pages.paginate_queryset(cast(Any, run_pair(first, second).shown(shown)), request) or []
    return pages.get_paginated_response(_moved(rows))


def _second(request: Request, first: JudgeRun) -> JudgeRun:
    """Return the run that with_run names. Raises Unusable unless it can be compared with the first."""
    wanted = request.query_params.get("with_run", "")
    if not wanted:
        raise Unusable(_("Say with with_run which other run."))
    second = runs_beside(first, runs_read_by(asking(request))).filter(public_id=wanted).first()
    if second is None:
        raise Unusable(_("There is no such run over the same study or benchmark."))
    return second


def _sums(found: RunPair) -> dict[str, Any]:
    return {
        "counts": found.counts(),
        "mean_change": None if found.mean is None else found.mean._asdict(),
        "first_only": found.first_only,
        "second_only": found.second_only,
        "unlike": found.unlike,
    }


def _moved(rows: list[Any]) -> list[dict[str, Any]]:
    related = ("task__response_a__instruction", "task__response_b")
    items = PlannedItem.objects.select_related(*related).defer("task__response_a__text", "task__response_b__text")
    known = items.in_bulk([row.first for row in rows])
    return [
        {
            "first": row.first,
            "second": row.second,
            "instruction": known[row.first].task.response_a.instruction.external_id,
            "response_a": known[row.first].task.response_a.public_id,
            "response_b": other.public_id if (other := known[row.first].task.response_b) is not None else None,
            "score_of": row.role,
            "before": row.before,
            "after": row.after,
            "change": row.change,
        }
        for row in rows
        if row.first in known
    ]


@extend_schema(
    operation_id="run_file",
    parameters=[OpenApiParameter("name", str, "path", enum=["manifest.json", "report.json"])],
    responses=OpenApiTypes.OBJECT,
)
@api_view(["GET"])
@needs(Scope.READ)
def run_file(request: Request, public_id: str, name: str) -> HttpResponse:
    """Return a file of a run: its manifest with its prompts, or its counts, which add up."""
    found = run_to_read(request, public_id)
    files = files_of_run(found, raw=False, clock=timezone.now)
    return download(found, name, {one: make for one, make in files.items() if one != ITEMS})


@extend_schema(
    operation_id="run_items",
    parameters=[OpenApiParameter("raw", bool, description="1 adds the last raw reply of each item.")],
    responses={(200, "text/csv"): OpenApiTypes.BINARY},
)
@api_view(["GET"])
@needs(Scope.READ)
def run_items(request: Request, public_id: str) -> HttpResponse:
    """Return every item of a run with its verdict, tokens and cost, as a table (CSV)."""
    found = run_to_read(request, public_id)
    raw = request.query_params.get("raw") in ("1", "true")
    return download(found, ITEMS, files_of_run(found, raw=raw, clock=timezone.now))


def run_to_change(request: Request, public_id: str) -> JudgeRun:
    """Return the run, for an owner or lead of its workspace; 404 where it cannot be read, 403 where it cannot be changed."""
    found = run_to_read(request, public_id)
    if not leads_workspace_of(asking(request), found.study):
        raise PermissionDenied(_("Only owners and leads of this workspace can do this."))
    return found
