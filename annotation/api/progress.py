"""API endpoint for the progress of a study as its dashboard shows it: by category, by cohort and by rater."""

from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.access import Scope, needs
from annotation.api.studies import study_to_read
from annotation.monitoring.progress import RaterRow, category_rows, cohort_rows, rater_rows, tally_of
from annotation.policies.policies import Policies
from core.messages.rendering import for_reader


class CategoryProgressSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="Empty for tasks without a category.", allow_blank=True)
    is_group = serializers.BooleanField(help_text="Whether it is the sum of the categories that follow it.")
    tasks = serializers.IntegerField()
    seats = serializers.IntegerField(help_text="Ratings needed; 0 if answers were imported and nothing is assigned.")
    taken = serializers.IntegerField()
    people = serializers.IntegerField(help_text="Answers of people.")
    judges = serializers.IntegerField(help_text="Verdicts of judges.")


class CohortProgressSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="Empty for raters without a cohort.", allow_blank=True)
    kind = serializers.CharField(allow_blank=True)
    raters = serializers.IntegerField()
    stopped = serializers.IntegerField()
    answered = serializers.IntegerField()
    skipped = serializers.IntegerField()
    checks = serializers.IntegerField(help_text="Gold items and attention checks that were answered.")
    failed = serializers.IntegerField(help_text="Those of them that were failed.")


class RaterProgressSerializer(serializers.Serializer[RaterRow]):
    id = serializers.CharField(source="public_id")
    name = serializers.CharField(help_text="The pseudonym, or the name of a judge.")
    kind = serializers.CharField()
    cohort = serializers.CharField(allow_blank=True)
    state = serializers.CharField(allow_blank=True)
    provenance = serializers.ListField(child=serializers.CharField())
    answered = serializers.IntegerField()
    skipped = serializers.IntegerField()
    unscored = serializers.IntegerField(help_text="Of a judge: items without a verdict.")
    surplus = serializers.IntegerField(help_text="Answers that came when their task was full or their rater stopped.")
    open = serializers.IntegerField()
    minutes = serializers.FloatField(allow_null=True, help_text="A task takes them so many on average.")
    last = serializers.DateTimeField(allow_null=True, help_text="Time of the latest answer.")
    checks = serializers.IntegerField()
    failed = serializers.IntegerField()
    discredited = serializers.IntegerField(help_text="Verdicts of runs that failed their canary texts.")
    excluded = serializers.IntegerField(help_text="Answers that a lead excluded, which are in no other number.")


class ProgressSerializer(serializers.Serializer[Any]):
    """How far a study is."""

    launching = serializers.IntegerField(help_text="Tasks that a worker is to create for the launch; 0 if none is.")
    launch_refused = serializers.CharField(help_text="Why the last launch was refused, or empty.", allow_blank=True)
    categories = CategoryProgressSerializer(many=True)
    cohorts = CohortProgressSerializer(many=True)
    raters = RaterProgressSerializer(many=True, help_text="Raters and judges.")


@extend_schema(operation_id="study_progress", responses=ProgressSerializer)
@api_view(["GET"])
@needs(Scope.RATINGS)
def progress(request: Request, workspace: str, slug: str) -> Response:
    """Return the progress of a study by category, cohort and rater, as its dashboard shows it."""
    study = study_to_read(request, workspace, slug)
    found = tally_of(study)
    raters = rater_rows(study, found)
    policies = Policies.of(study)
    said = {
        "launching": policies.launching if study.status == study.Status.DRAFT else 0,
        "launch_refused": for_reader(policies.refused) if study.status == study.Status.DRAFT else "",
        "categories": [asdict(row) for row in category_rows(study, found)],
        "cohorts": [asdict(row) for row in cohort_rows(study, raters)],
        "raters": raters,
    }
    return Response(ProgressSerializer(said).data)
