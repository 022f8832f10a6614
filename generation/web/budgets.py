"""The budget of a run of any kind, for programs: read, and set also while the run is at work."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeVar, cast

from django.db import transaction
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.request import Request

from accounts.api.access import Scope, needs
from accounts.api.headers import IF_MATCH, check_unchanged
from accounts.api.lists import asking, checked
from generation.execution.budget import ceiling_of
from generation.execution.states import raise_budget
from generation.llm.protocol.prices import MOST_COUNTED, Ceiling
from generation.run_fields import AnyRun

View = TypeVar("View", bound=Callable[..., Any])
ALL_THREE = OpenApiExample(
    "All three", {"budget_calls": 1000, "budget_tokens": 2_000_000, "budget_money": "20.00"}, request_only=True
)


class SpendSerializer(serializers.Serializer[Any]):
    """A number of calls, of tokens and of money."""

    calls = serializers.IntegerField()
    tokens = serializers.IntegerField()
    money = serializers.CharField(allow_null=True, help_text="Null where a price is unknown.")


class BudgetSerializer(serializers.Serializer[Any]):
    """The most that a run may spend; null is no limit."""

    budget_calls = serializers.IntegerField(allow_null=True, min_value=1, max_value=MOST_COUNTED)
    budget_tokens = serializers.IntegerField(allow_null=True, min_value=1, max_value=MOST_COUNTED)
    budget_money = serializers.DecimalField(
        allow_null=True,
        max_digits=12,
        decimal_places=6,
        min_value=Decimal("0.000001"),
        help_text="In the currency of the endpoint's prices.",
    )


def of_budget(read: str, write: str) -> Callable[[View], View]:
    """Decorate the address of a run's budget with its methods and scopes; `read` and `write` are their operations."""

    def addressed(view: View) -> View:
        put: dict[str, Any] = {"request": BudgetSerializer, "responses": BudgetSerializer, "examples": [ALL_THREE]}
        made: Any = api_view(["GET", "PUT"])(needs(Scope.READ, put=Scope.RUN)(view))
        made = extend_schema(methods=["PUT"], operation_id=write, parameters=[IF_MATCH], **put)(made)
        return cast(View, extend_schema(methods=["GET"], operation_id=read, responses=BudgetSerializer)(made))

    return addressed


def set_budget(request: Request, found: AnyRun) -> dict[str, Any]:
    """Set the budget that was sent, unless the run has it; return the budget. Raises Unusable, also by If-Match."""
    asked = checked(BudgetSerializer(data=request.data))
    with transaction.atomic():
        run = type(found)._default_manager.select_for_update().get(pk=found.pk)
        check_unchanged(request, BudgetSerializer(run).data)
        wanted = Ceiling(asked["budget_calls"], asked["budget_tokens"], asked["budget_money"])
        if wanted != ceiling_of(run):
            raise_budget(run, wanted, user=asking(request))
    return dict(BudgetSerializer(run).data)
