"""API endpoints for what is paid: the pay that a cohort states, hours and money owed, and the list to approve or reject."""

from typing import Any

from django.db import transaction
from django.utils import timezone
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.access import Scope, needs
from accounts.api.headers import IF_MATCH, check_unchanged
from accounts.api.lists import asking, checked
from annotation.api.participants.cohorts import cohort_of
from annotation.api.studies import study_to_change, study_to_read
from annotation.models import Cohort
from annotation.monitoring.approvals import approval_row
from annotation.monitoring.payment import Decision, change_pay, pay_of, payments_of
from annotation.privacy.reads import note_reading

MONEY: dict[str, Any] = {"max_digits": 20, "decimal_places": 2}
NOT_COUNTED = "The part for answers that are not in results."


class PaySerializer(serializers.Serializer[Any]):
    """What is paid for an hour of work or for a task."""

    amount = serializers.DecimalField(**MONEY, allow_null=True, help_text="Null where nothing is stated.")
    per = serializers.ChoiceField(choices=Cohort.PayPer.choices)
    currency = serializers.CharField()
    by_cohort = serializers.BooleanField(help_text="Whether the cohort states it; if not, the study does.")


class WantedPaySerializer(serializers.Serializer[Any]):
    """What a cohort is paid."""

    amount = serializers.DecimalField(
        max_digits=10, decimal_places=2, min_value=0, allow_null=True, help_text="Null leaves it to the study."
    )
    per = serializers.ChoiceField(choices=Cohort.PayPer.choices, default=Cohort.PayPer.HOUR)
    currency = serializers.CharField(
        max_length=8, default="", allow_blank=True, help_text="Empty for that of the study."
    )


class SentBonusesSerializer(serializers.Serializer[Any]):
    """Bonuses in one currency."""

    currency = serializers.CharField(help_text="Empty where Prolific did not say it.")
    amount = serializers.DecimalField(**MONEY)
    in_doubt = serializers.DecimalField(**MONEY, help_text="Of which nobody knows whether it was sent.")


class RaterPaymentSerializer(serializers.Serializer[Any]):
    """The work and the pay of one rater."""

    rater = serializers.CharField(source="rater.public_id")
    pseudonym = serializers.CharField(source="rater.pseudonym")
    answers = serializers.IntegerField()
    minutes = serializers.FloatField()
    skipped = serializers.IntegerField()
    answers_not_counted = serializers.IntegerField(source="aside", help_text="Answers that are not in results.")
    minutes_not_counted = serializers.FloatField(source="aside_minutes")
    submitted = serializers.DateTimeField(allow_null=True, help_text="The latest answer.")
    checks = serializers.IntegerField(help_text="Quality checks answered.")
    checks_failed = serializers.IntegerField(source="failed")
    owed = serializers.DecimalField(**MONEY, allow_null=True)
    owed_not_counted = serializers.DecimalField(**MONEY, source="owed_aside", allow_null=True, help_text=NOT_COUNTED)
    suggested_decision = serializers.ChoiceField(source="decision", choices=[one.value for one in Decision])
    reason = serializers.CharField()
    state_at_prolific = serializers.CharField(source="platform_state")
    bonuses = SentBonusesSerializer(many=True)


class CohortPaymentSerializer(serializers.Serializer[Any]):
    """The pay of a cohort with its sums; `cohort` is null for raters who belong to none."""

    cohort = serializers.IntegerField(source="cohort.pk", default=None)
    name = serializers.CharField(source="cohort.name", default="")
    pay = PaySerializer()
    answers = serializers.IntegerField()
    hours = serializers.FloatField()
    answers_not_counted = serializers.IntegerField(source="aside")
    hours_not_counted = serializers.FloatField(source="aside_hours")
    owed = serializers.DecimalField(**MONEY, allow_null=True)
    owed_not_counted = serializers.DecimalField(**MONEY, source="owed_aside", allow_null=True, help_text=NOT_COUNTED)
    bonuses = SentBonusesSerializer(many=True)
    raters = RaterPaymentSerializer(many=True)


class ApprovalSerializer(serializers.Serializer[Any]):
    """A row of the list to approve or reject, with the ids by which the platform knows the rater."""

    rater = serializers.CharField()
    platform = serializers.CharField()
    platform_id = serializers.CharField()
    submission_id = serializers.CharField()
    submitted = serializers.CharField(help_text="UTC; empty where there is no answer.")
    answers = serializers.IntegerField()
    minutes = serializers.FloatField()
    answers_not_counted = serializers.IntegerField()
    minutes_not_counted = serializers.FloatField()
    checks_passed = serializers.IntegerField()
    checks_failed = serializers.IntegerField()
    suggested_decision = serializers.CharField()
    reason = serializers.CharField()
    pay = serializers.DecimalField(**MONEY, allow_null=True)
    pay_per = serializers.CharField()
    currency = serializers.CharField()
    sum = serializers.DecimalField(**MONEY, allow_null=True)
    sum_not_counted = serializers.DecimalField(**MONEY, allow_null=True)
    state_at_prolific = serializers.CharField()
    bonuses_sent = serializers.DecimalField(**MONEY)
    bonuses_uncertain = serializers.DecimalField(**MONEY)


@extend_schema(operation_id="payments", responses=CohortPaymentSerializer(many=True))
@api_view(["GET"])
@needs(Scope.RATINGS)
def payments(request: Request, workspace: str, slug: str) -> Response:
    """Return hours and money owed, for each cohort and each of its raters under their pseudonyms."""
    study = study_to_read(request, workspace, slug)
    found = [one for one in payments_of(study) if one.raters or one.cohort is not None]
    return Response(CohortPaymentSerializer(found, many=True).data)


@extend_schema(methods=["GET"], operation_id="cohort_pay", responses=PaySerializer)
@extend_schema(
    methods=["PUT"],
    operation_id="change_pay",
    parameters=[IF_MATCH],
    request=WantedPaySerializer,
    responses=PaySerializer,
    examples=[OpenApiExample("By the hour", {"amount": "12.50", "per": "hour", "currency": "GBP"}, request_only=True)],
)
@api_view(["GET", "PUT"])
@needs(Scope.READ, put=Scope.CHANGE)
def cohort_pay(request: Request, workspace: str, slug: str, pk: int) -> Response:
    """Return what the raters of a cohort are paid, or state it (for owners and leads); it pays nothing."""
    if request.method != "PUT":
        study = study_to_read(request, workspace, slug)
        return Response(PaySerializer(pay_of(study, cohort_of(study, pk))).data)
    study = study_to_change(request, workspace, slug)
    with transaction.atomic():
        locked = Cohort.objects.select_for_update(of=("self",), no_key=True).select_related("study")
        cohort = locked.get(pk=cohort_of(study, pk).pk)
        check_unchanged(request, PaySerializer(pay_of(study, cohort)).data)
        asked = checked(WantedPaySerializer(data=request.data))
        change_pay(cohort, amount=asked["amount"], per=asked["per"], currency=asked["currency"], by=asking(request))
    return Response(PaySerializer(pay_of(study, cohort)).data)


@extend_schema(operation_id="approvals", responses=ApprovalSerializer(many=True))
@api_view(["GET"])
@needs(Scope.RATINGS)
def approvals(request: Request, workspace: str, slug: str, pk: int) -> Response:
    """Return a cohort's list to approve or reject, a row for each rater (for owners and leads).

    It has the ids by which the platform knows people, and each reading is logged.
    """
    study = study_to_change(request, workspace, slug)
    cohort = cohort_of(study, pk)
    note_reading(study, asking(request), clock=timezone.now)
    [found] = payments_of(study, cohort)
    return Response(ApprovalSerializer([approval_row(one) for one in found.raters], many=True).data)
