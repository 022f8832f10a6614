"""API endpoints for bonuses: the cap, the dry run of a list, lists that are set up at Prolific, and what became of them.

A list is sent by the lead who set it up, on its page, which asks for the total and the password; no token sends money.
"""

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.access import Scope, needs
from accounts.api.headers import IF_MATCH, check_unchanged
from accounts.api.lists import CURSOR, SIZE, Pages, Unusable, asking, checked
from annotation.api.participants.pay import MONEY
from annotation.api.participants.platforms import attached_of, crowd_cohort
from annotation.api.studies import study_to_change
from annotation.bonuses.amounts import MOST_LINES, major
from annotation.bonuses.proposals import BonusRequest, Proposal, propose
from annotation.bonuses.record import Basis, State, allowance_of, change_cap, reason_words
from annotation.bonuses.sending import ListChanged, drop, look, mark_abandoned, prepare
from annotation.models import BonusBatch, Study
from annotation.monitoring.payment import CENT
from annotation.privacy.reads import note_reading
from annotation.web.bonuses.forms import BonusForm, in_minor_units
from core.errors import UserError
from core.messages.rendering import for_reader

DROP, LOOK = "drop", "look"


class CapSerializer(serializers.Serializer[Any]):
    """The caps on the bonuses of a study, in units of its currency."""

    operator = serializers.DecimalField(**MONEY, help_text="The most that the operator of the server allows.")
    cap = serializers.DecimalField(
        **MONEY, allow_null=True, help_text="The lead's; null, until it is set, for nothing."
    )
    spent = serializers.DecimalField(**MONEY, help_text="What was sent or may have been.")
    left = serializers.DecimalField(**MONEY)


class WantedCapSerializer(serializers.Serializer[Any]):
    cap = serializers.DecimalField(max_digits=11, decimal_places=2, min_value=0)


class GivenAmountSerializer(serializers.Serializer[Any]):
    rater = serializers.RegexField(
        r"^[^\x00-\x1f]+$",
        max_length=100,
        help_text="The pseudonym in this study, or the ID of the participant or submission at Prolific.",
    )
    amount = serializers.DecimalField(max_digits=9, decimal_places=2, min_value=0)


class WantedBonusesSerializer(serializers.Serializer[Any]):
    """A list of bonuses: amounts that are given, or a rule with its numbers."""

    purpose = serializers.CharField(
        max_length=100, help_text="What the bonus is for; nobody gets two given amounts for one purpose."
    )
    basis = serializers.ChoiceField(choices=Basis.choices)
    amounts = GivenAmountSerializer(many=True, required=False, help_text="For `given`.")
    above = serializers.IntegerField(
        required=False, min_value=0, max_value=10**6, help_text="Answers without bonus, for `answers`."
    )
    each = serializers.DecimalField(
        max_digits=6, decimal_places=2, min_value=0, required=False, help_text="For each answer above these."
    )
    fewest = serializers.IntegerField(
        required=False, min_value=1, max_value=10**6, help_text="Quality checks answered, at least, for `checks`."
    )
    percent = serializers.IntegerField(
        required=False, min_value=0, max_value=100, help_text="Percent of them passed, at least."
    )
    amount = serializers.DecimalField(
        max_digits=6, decimal_places=2, min_value=0, required=False, help_text="For each such rater."
    )
    with_unknown = serializers.BooleanField(
        default=False, help_text="With those for whom Prolific shows bonuses that this record does not know."
    )

    def validate_amounts(self, amounts: list[Any]) -> list[Any]:
        if len(amounts) > MOST_LINES:
            raise serializers.ValidationError(_("A list can have at most %(n)s lines. Divide it.") % {"n": MOST_LINES})
        return amounts


class PreparedBonusesSerializer(WantedBonusesSerializer):
    """The same list, with the digest of its dry run."""

    digest = serializers.CharField(max_length=64)


class ProposedBonusSerializer(serializers.Serializer[Any]):
    rater = serializers.CharField()
    pseudonym = serializers.CharField()
    submission = serializers.CharField()
    amount = serializers.DecimalField(**MONEY)
    reason = serializers.CharField()


class LeftOutSerializer(serializers.Serializer[Any]):
    who = serializers.CharField()
    amount = serializers.DecimalField(**MONEY, allow_null=True)
    why = serializers.CharField()


class BonusProposalSerializer(serializers.Serializer[Any]):
    """A dry run: who would get how much and why, and who would not. Nothing is stored."""

    digest = serializers.CharField(help_text="To be sent with the list when it is set up.")
    currency = serializers.CharField(help_text="Empty where Prolific did not say it.")
    total = serializers.DecimalField(**MONEY)
    bonuses = ProposedBonusSerializer(many=True)
    left_out = LeftOutSerializer(many=True)


class BonusListSerializer(serializers.ModelSerializer[BonusBatch]):
    """A list of bonuses and what became of it."""

    id = serializers.CharField(source="public_id")
    study_at_prolific = serializers.CharField(source="external_study")
    total = serializers.SerializerMethodField()
    charged = serializers.SerializerMethodField(
        help_text="What Prolific takes with its fees; null where it said nothing."
    )
    made_by = serializers.CharField(source="made_by.username", default=None)
    confirmed_by = serializers.CharField(source="confirmed_by.username", default=None)
    page = serializers.SerializerMethodField(help_text="Where the lead who set it up confirms it.")

    class Meta:
        model = BonusBatch
        fields = [
            *("id", "basis", "purpose", "study_at_prolific", "currency", "total", "charged", "state", "problem"),
            *("made_at", "made_by", "confirmed_at", "confirmed_by", "page"),
        ]

    def get_total(self, batch: BonusBatch) -> str:
        return str(major(batch.total_minor))

    def get_charged(self, batch: BonusBatch) -> str | None:
        return str(batch.charged.scaleb(-2).quantize(CENT)) if batch.charged is not None else None

    def get_page(self, batch: BonusBatch) -> str:
        parts = [batch.study, batch.cohort_id, batch.public_id]
        return str(self.context["request"].build_absolute_uri(reverse("annotation:bonus_batch", args=parts)))


class WholeBonusListSerializer(BonusListSerializer):
    """A list with its bonuses."""

    bonuses = serializers.SerializerMethodField()

    class Meta(BonusListSerializer.Meta):
        fields = [*BonusListSerializer.Meta.fields, "bonuses"]

    @extend_schema_field(ProposedBonusSerializer(many=True))
    def get_bonuses(self, batch: BonusBatch) -> list[dict[str, Any]]:
        rows = batch.payments.select_related("rater").order_by("pk")
        return [_bonus(one) for one in rows]


@extend_schema(methods=["GET"], operation_id="bonus_cap", responses=CapSerializer)
@extend_schema(
    methods=["PUT"],
    operation_id="change_bonus_cap",
    parameters=[IF_MATCH],
    request=WantedCapSerializer,
    responses=CapSerializer,
    examples=[OpenApiExample("Fifty", {"cap": "50.00"}, request_only=True)],
)
@api_view(["GET", "PUT"])
@needs(Scope.READ, put=Scope.RUN)
def bonus_cap(request: Request, workspace: str, slug: str) -> Response:
    """Return the most that a study may send as bonuses, or set it (for owners and leads).

    The operator's cap stands above it.
    """
    study = study_to_change(request, workspace, slug)
    if request.method == "PUT":
        with transaction.atomic():
            Study.objects.select_for_update(of=("self",), no_key=True).get(pk=study.pk)
            check_unchanged(request, _cap(study))
            minor = in_minor_units(checked(WantedCapSerializer(data=request.data))["cap"])
            change_cap(study, minor, by=asking(request), clock=timezone.now)
    return Response(_cap(study))


@extend_schema(operation_id="propose_bonuses", request=WantedBonusesSerializer, responses=BonusProposalSerializer)
@api_view(["POST"])
@needs(Scope.RUN)
def propose_bonuses(request: Request, workspace: str, slug: str, pk: int) -> Response:
    """Return who would get how much and why, as things stand at Prolific; nothing is stored or paid.

    For owners and leads. The answer has ids of submissions, and each reading is logged.
    """
    attached = attached_of(crowd_cohort(study_to_change(request, workspace, slug), pk))
    asked = _asked(checked(WantedBonusesSerializer(data=request.data)))
    try:
        proposal = propose(attached, asked)
    except UserError as problem:
        raise Unusable(for_reader(problem)) from problem
    note_reading(attached.cohort.study, asking(request), clock=timezone.now)
    return Response(_proposal(proposal))


@extend_schema(
    methods=["GET"], operation_id="bonus_lists", parameters=[SIZE, CURSOR], responses=BonusListSerializer(many=True)
)
@extend_schema(
    methods=["POST"],
    operation_id="prepare_bonuses",
    request=PreparedBonusesSerializer,
    responses={201: BonusListSerializer},
    examples=[
        OpenApiExample(
            "Given",
            {
                "purpose": "Round 1",
                "basis": "given",
                "amounts": [{"rater": "R1", "amount": "1.50"}],
                "digest": "that of the dry run",
            },
            request_only=True,
        )
    ],
)
@api_view(["GET", "POST"])
@needs(Scope.READ, post=Scope.RUN)
def bonuses(request: Request, workspace: str, slug: str, pk: int) -> Response:
    """List the bonus lists of a cohort, or set one up at Prolific, which pays nothing (for owners and leads).

    It is sent when the owner of the token confirms it, within an hour, on the page that the answer names.
    """
    cohort = crowd_cohort(study_to_change(request, workspace, slug), pk)
    context = {"request": request}
    if request.method != "POST":
        rows = _lists(cohort.bonus_batches).order_by()
        pages = Pages()
        found: list[Any] | None = pages.paginate_queryset(rows, request)
        return pages.get_paginated_response(BonusListSerializer(found, many=True, context=context).data)
    attached, asked = attached_of(cohort), checked(PreparedBonusesSerializer(data=request.data))
    try:
        batch = prepare(attached, _asked(asked), asked["digest"], by=asking(request), clock=timezone.now)
    except ListChanged as changed:
        raise Unusable(for_reader(changed), status=409) from changed
    except UserError as problem:
        raise Unusable(for_reader(problem)) from problem
    return Response(BonusListSerializer(batch, context=context).data, status=201)


@extend_schema(operation_id="bonus_list", responses=WholeBonusListSerializer)
@api_view(["GET"])
@needs(Scope.RATINGS)
def bonus_list(request: Request, workspace: str, slug: str, pk: int, public_id: str) -> Response:
    """Return a list with its bonuses (for owners and leads). It has ids of submissions, and each reading is logged."""
    batch = _list_of(request, workspace, slug, pk, public_id)
    mark_abandoned(batch, timezone.now)
    note_reading(batch.study, asking(request), clock=timezone.now)
    return Response(WholeBonusListSerializer(batch, context={"request": request}).data)


@extend_schema(
    operation_id="steer_bonuses",
    request=None,
    responses=BonusListSerializer,
    parameters=[OpenApiParameter("verb", str, "path", enum=[DROP, LOOK])],
)
@api_view(["POST"])
@needs(Scope.RUN)
def steer_bonuses(request: Request, workspace: str, slug: str, pk: int, public_id: str, verb: str) -> Response:
    """Drop a list that waits for its confirmation, or ask Prolific what became of an uncertain one.

    For owners and leads.
    """
    batch = _list_of(request, workspace, slug, pk, public_id)
    if verb == DROP:
        drop(batch, by=asking(request), clock=timezone.now)
        batch.refresh_from_db()
        if batch.state != State.DROPPED:
            raise Unusable(
                _("This list cannot be dropped. Its state: %(state)s.") % {"state": batch.get_state_display()},
                status=409,
            )
    else:
        mark_abandoned(batch, timezone.now)
        try:
            look(batch, timezone.now, by=asking(request))
        except UserError as problem:
            raise Unusable(for_reader(problem)) from problem
        batch.refresh_from_db()
    return Response(BonusListSerializer(batch, context={"request": request}).data)


def _cap(study: Study) -> dict[str, Any]:
    allowance = allowance_of(study)
    lead = major(allowance.lead) if allowance.lead is not None else None
    held = {"operator": major(allowance.operator), "cap": lead, "spent": major(allowance.spent)}
    return dict(CapSerializer({**held, "left": major(allowance.left)}).data)


def _asked(sent: Mapping[str, Any]) -> BonusRequest:
    """Return what the form of the page would ask for. Raises Unusable."""
    # Quoted, because a name may have what separates cells.
    names = [one["rater"].replace('"', '""') for one in sent.get("amounts", ())]
    lines = [f'"{name}"\t{one["amount"]}' for name, one in zip(names, sent.get("amounts", ()), strict=True)]
    form = BonusForm(
        {**{name: value for name, value in sent.items() if value is not False}, "amounts": "\n".join(lines)}
    )
    if not form.is_valid():
        name, errors = next(iter(form.errors.items()))
        raise Unusable(f"{name}: {errors[0]}")
    return form.asked()


def _proposal(proposal: Proposal) -> dict[str, Any]:
    left_out = [
        {"who": one.who, "amount": major(one.minor) if one.minor is not None else None, "why": one.why}
        for one in proposal.left_out
    ]
    said = {"digest": proposal.digest, "currency": proposal.currency, "total": major(proposal.total)}
    found = {**said, "bonuses": [_bonus(one) for one in proposal.bonuses], "left_out": left_out}
    return dict(BonusProposalSerializer(found).data)


def _bonus(one: Any) -> dict[str, Any]:
    """A bonus, proposed or stored."""
    held = {"rater": one.rater.public_id, "pseudonym": one.rater.name, "submission": one.submission}
    return dict(ProposedBonusSerializer({**held, "amount": major(one.minor), "reason": reason_words(one.reason)}).data)


def _lists(rows: Any) -> Any:
    return rows.select_related("study__workspace", "made_by", "confirmed_by")


def _list_of(request: Request, workspace: str, slug: str, pk: int, public_id: str) -> BonusBatch:
    cohort = crowd_cohort(study_to_change(request, workspace, slug), pk)
    found: BonusBatch | None = _lists(cohort.bonus_batches).filter(public_id=public_id).first()
    if found is None:
        raise NotFound(_("This cohort has no such list of bonuses."))
    return found
