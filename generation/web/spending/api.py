"""What a workspace has spent this month, and the limit that its owner sets, for programs."""

from decimal import Decimal
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.access import Scope, needs
from accounts.api.headers import IF_MATCH, check_unchanged
from accounts.api.lists import asking, checked, workspace_to_read
from accounts.models import Workspace
from accounts.permissions import workspaces_owned_by
from generation.endpoints.pricing import currency_of
from generation.execution.monthly_limit import set_limit, spending_of


class WantedLimitSerializer(serializers.Serializer[Any]):
    limit = serializers.DecimalField(
        max_digits=12,
        decimal_places=6,
        min_value=Decimal(0),
        allow_null=True,
        help_text="The most that all runs together may spend in a calendar month (UTC); null is no limit.",
    )


class SpendingSerializer(WantedLimitSerializer):
    """The spending of a workspace in this calendar month (UTC), in the currency of its endpoints' prices."""

    spent = serializers.DecimalField(max_digits=20, decimal_places=8)
    reserved = serializers.DecimalField(
        max_digits=20, decimal_places=8, allow_null=True, help_text="By runs at work; null without a limit."
    )
    room = serializers.DecimalField(
        max_digits=20, decimal_places=8, allow_null=True, help_text="What is left; null without a limit."
    )
    currency = serializers.CharField(allow_blank=True)


@extend_schema(methods=["GET"], operation_id="spending", responses=SpendingSerializer)
@extend_schema(
    methods=["PUT"],
    operation_id="set_spending_limit",
    parameters=[IF_MATCH],
    request=WantedLimitSerializer,
    responses=SpendingSerializer,
    examples=[OpenApiExample("Limit", {"limit": "200.00"}, request_only=True)],
)
@api_view(["GET", "PUT"])
@needs(Scope.READ, put=Scope.RUN)
def spending(request: Request, workspace: str) -> Response:
    """Return what a workspace has spent this month and its limit, or set the limit, as an owner of it."""
    found = workspace_to_read(request, workspace)
    if request.method != "PUT":
        return Response(_spending(found))
    if not workspaces_owned_by(asking(request)).filter(pk=found.pk).exists():
        raise PermissionDenied(_("Only an owner of the workspace can set its limit."))
    asked = checked(WantedLimitSerializer(data=request.data))
    with transaction.atomic():
        Workspace.objects.select_for_update(no_key=True).get(pk=found.pk)
        check_unchanged(request, _spending(found))
        set_limit(found, asked["limit"], by=asking(request))
    return Response(_spending(found))


def _spending(workspace: Workspace) -> dict[str, Any]:
    month, spent = spending_of(workspace.pk, timezone.now)
    told = {
        "limit": month.money if month else None,
        "spent": spent,
        "reserved": month.reserved if month else None,
        "room": month.room if month else None,
        "currency": currency_of(workspace.pk),
    }
    return dict(SpendingSerializer(told).data)
