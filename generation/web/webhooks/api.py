"""The webhooks of a workspace for programs of its owners and leads."""

from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.access import Scope, needs
from accounts.api.lists import CURSOR, SIZE, Unusable, asking, checked, paged, workspace_to_change
from accounts.models import Webhook, WebhookDelivery
from core.errors import UserError
from core.messages.rendering import for_reader
from generation.webhooks.events import EventName
from generation.webhooks.subscriptions import add_webhook, change_webhook, remove_webhook, send_again, send_test

EVENTS = "Any of " + ", ".join(EventName.values) + "."


class WebhookSerializer(serializers.ModelSerializer[Webhook]):
    id = serializers.CharField(source="public_id")
    events = serializers.ListField(child=serializers.CharField())

    class Meta:
        model = Webhook
        fields = ["id", "url", "events", "active", "created_at"]


class NewWebhookSerializer(WebhookSerializer):
    """A webhook that was just added, with its secret, which is not told again."""

    secret = serializers.SerializerMethodField(help_text="With which messages are signed; it cannot be read again.")

    class Meta(WebhookSerializer.Meta):
        fields = [*WebhookSerializer.Meta.fields, "secret"]

    def get_secret(self, _hook: Webhook) -> str:
        return str(self.context["secret"])


class WantedWebhookSerializer(serializers.Serializer[Any]):
    """A webhook to be added."""

    url = serializers.CharField(max_length=500)
    events = serializers.ListField(child=serializers.CharField(max_length=50), max_length=20, help_text=EVENTS)


class WebhookChangesSerializer(serializers.Serializer[Any]):
    """What is to be changed of a webhook."""

    url = serializers.CharField(max_length=500, required=False)
    events = serializers.ListField(
        child=serializers.CharField(max_length=50), max_length=20, required=False, help_text=EVENTS
    )
    active = serializers.BooleanField(required=False)


class DeliverySerializer(serializers.ModelSerializer[WebhookDelivery]):
    """A message; `reply` is what the receiver claims, cut to 500 characters."""

    id = serializers.CharField(source="public_id")
    body = serializers.CharField(help_text="What is sent, as JSON, byte for byte as it is signed.")

    class Meta:
        model = WebhookDelivery
        fields = [
            "id",
            "event_id",
            "event",
            "state",
            "attempts",
            "made_at",
            "next_at",
            "tried_at",
            "http_status",
            "reply",
            "problem",
            "body",
        ]


@extend_schema(
    methods=["GET"], operation_id="webhooks", parameters=[SIZE, CURSOR], responses=WebhookSerializer(many=True)
)
@extend_schema(
    methods=["POST"],
    operation_id="add_webhook",
    request=WantedWebhookSerializer,
    responses={201: NewWebhookSerializer},
    examples=[
        OpenApiExample(
            "Two events",
            {"url": "https://example.org/hooks", "events": ["study.finished", "drift.found"]},
            request_only=True,
        )
    ],
)
@api_view(["GET", "POST"])
@needs(Scope.CHANGE)
def webhooks(request: Request, workspace: str) -> Response:
    """List the webhooks of a workspace, or add one, whose answer alone has its secret (for owners and leads)."""
    led = workspace_to_change(request, workspace)
    if request.method != "POST":
        return paged(request, led.webhooks.order_by(), WebhookSerializer)
    asked = checked(WantedWebhookSerializer(data=request.data))
    try:
        hook, secret = add_webhook(workspace=led, by=asking(request), **asked)
    except UserError as error:
        raise Unusable(for_reader(error)) from error
    return Response(NewWebhookSerializer(hook, context={"secret": secret}).data, status=201)


@extend_schema(methods=["GET"], operation_id="webhook", responses=WebhookSerializer)
@extend_schema(
    methods=["PATCH"], operation_id="change_webhook", request=WebhookChangesSerializer, responses=WebhookSerializer
)
@extend_schema(methods=["DELETE"], operation_id="remove_webhook", responses={204: None})
@api_view(["GET", "PATCH", "DELETE"])
@needs(Scope.CHANGE)
def webhook(request: Request, workspace: str, public_id: str) -> Response:
    """Return a webhook, change what is sent of it, or remove it with its messages (for owners and leads)."""
    hook = _hook_of(request, workspace, public_id)
    if request.method == "DELETE":
        remove_webhook(hook, by=asking(request))
        return Response(status=204)
    if request.method == "PATCH":
        asked = checked(WebhookChangesSerializer(data=request.data))
        try:
            change_webhook(hook, by=asking(request), **asked)
        except UserError as error:
            raise Unusable(for_reader(error)) from error
    return Response(WebhookSerializer(hook).data)


@extend_schema(operation_id="test_webhook", request=None, responses={202: DeliverySerializer})
@api_view(["POST"])
@needs(Scope.CHANGE)
def test_webhook(request: Request, workspace: str, public_id: str) -> Response:
    """Have a message sent that tells of nothing; what came of it is read at its deliveries."""
    hook = _hook_of(request, workspace, public_id)
    try:
        return Response(DeliverySerializer(send_test(hook)).data, status=202)
    except UserError as error:
        raise Unusable(for_reader(error)) from error


@extend_schema(operation_id="deliveries", parameters=[SIZE, CURSOR], responses=DeliverySerializer(many=True))
@api_view(["GET"])
@needs(Scope.CHANGE)
def deliveries(request: Request, workspace: str, public_id: str) -> Response:
    """List the messages of a webhook, with what came of each (for owners and leads)."""
    return paged(request, _hook_of(request, workspace, public_id).deliveries.order_by(), DeliverySerializer)


@extend_schema(operation_id="resend_delivery", request=None, responses={202: DeliverySerializer})
@api_view(["POST"])
@needs(Scope.CHANGE)
def resend_delivery(request: Request, workspace: str, public_id: str, delivery: str) -> Response:
    """Have a message sent again, with the same event id."""
    found = _hook_of(request, workspace, public_id).deliveries.filter(public_id=delivery).first()
    if found is None:
        raise NotFound(_("There is no such message of this webhook."))
    try:
        send_again(found)
    except UserError as error:
        raise Unusable(for_reader(error)) from error
    found.refresh_from_db()
    return Response(DeliverySerializer(found).data, status=202)


def _hook_of(request: Request, workspace: str, public_id: str) -> Webhook:
    """Return the webhook; 404 where there is none, 403 where the asker does not lead the workspace."""
    hook = workspace_to_change(request, workspace).webhooks.filter(public_id=public_id).first()
    if hook is None:
        raise NotFound(_("There is no such webhook in this workspace."))
    return hook
