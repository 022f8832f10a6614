"""Endpoints and models for programs of a workspace's owners and leads, by the forms of the pages."""

from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet
from django.forms import Form, model_to_dict
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiExample, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.access import Scope, needs
from accounts.api.headers import IF_MATCH, check_unchanged
from accounts.api.lists import CURSOR, SIZE, Unusable, asking, checked, paged, workspace_to_change
from accounts.api.repeated import KEY, once
from accounts.models import Workspace
from core.errors import UserError
from core.messages.rendering import for_reader
from generation.endpoints.pricing import price_of
from generation.endpoints.probing import in_words, probe_endpoint
from generation.endpoints.registration import LONGEST_MODEL_NAME, MOST_OFFERED, add_models, models_to_add
from generation.library.removal import StillUsed, remove
from generation.models import Endpoint, LanguageModel
from generation.web.endpoints.forms import EndpointForm, ModelForm
from generation.web.endpoints.pages import TEST_SECONDS, keep, test_of

MONEY: dict[str, Any] = {"max_digits": 12, "decimal_places": 6, "min_value": 0}
WHOLE: dict[str, Any] = {"min_value": 1, "max_value": 2**31 - 1}


class FoundSerializer(serializers.Serializer[Any]):
    """One thing that the endpoint was found to do, or not to do."""

    good = serializers.BooleanField()
    text = serializers.CharField()
    detail = serializers.CharField(help_text="The endpoint's own words.")


class EndpointSerializer(serializers.ModelSerializer[Endpoint]):
    found = serializers.SerializerMethodField(help_text="What its last test found.")

    class Meta:
        model = Endpoint
        fields = [
            "id",
            "name",
            "kind",
            "base_url",
            "key_variable",
            "max_concurrent",
            "requests_per_minute",
            "tokens_per_minute",
            "timeout_seconds",
            "context_tokens",
            "input_price",
            "output_price",
            "probed_at",
            "found",
        ]

    @extend_schema_field(FoundSerializer(many=True))
    def get_found(self, endpoint: Endpoint) -> Any:
        lines = in_words(endpoint.capabilities) if endpoint.probed_at else []
        return FoundSerializer(lines, many=True).data


class EndpointChangesSerializer(serializers.Serializer[Any]):
    """What is to be changed of an endpoint. A key is never sent: `key_variable` names the variable that holds it."""

    name = serializers.CharField(max_length=100, required=False)
    kind = serializers.ChoiceField(choices=Endpoint.Kind.choices, required=False)
    base_url = serializers.CharField(max_length=500, required=False, allow_blank=True)
    key_variable = serializers.CharField(max_length=100, required=False, allow_blank=True)
    max_concurrent = serializers.IntegerField(required=False, **WHOLE)
    requests_per_minute = serializers.IntegerField(required=False, allow_null=True, **WHOLE)
    tokens_per_minute = serializers.IntegerField(required=False, allow_null=True, **WHOLE)
    timeout_seconds = serializers.IntegerField(required=False, **WHOLE)
    context_tokens = serializers.IntegerField(required=False, allow_null=True, **WHOLE)
    input_price = serializers.DecimalField(required=False, **MONEY)
    output_price = serializers.DecimalField(required=False, **MONEY)


class WantedEndpointSerializer(EndpointChangesSerializer):
    """An endpoint to be added; what is left out is as on the page."""

    name = serializers.CharField(max_length=100)


class ServedModelSerializer(serializers.ModelSerializer[LanguageModel]):
    endpoint = serializers.CharField(source="endpoint.name", default=None)
    price_known = serializers.SerializerMethodField(help_text="Whether somebody said what a call costs.")

    class Meta:
        model = LanguageModel
        fields = [
            "id",
            "name",
            "endpoint",
            "served_name",
            "family",
            "billions_of_parameters",
            "parameters",
            "input_price",
            "output_price",
            "currency",
            "priced_on",
            "price_known",
            "fictional",
        ]

    def get_price_known(self, model: LanguageModel) -> bool:
        return price_of(model).known


class ModelChangesSerializer(serializers.Serializer[Any]):
    """What is to be changed of a model."""

    name = serializers.CharField(max_length=200, required=False)
    endpoint = serializers.CharField(
        max_length=100,
        required=False,
        allow_blank=True,
        help_text="Name of an endpoint; empty if its responses are loaded.",
    )
    served_name = serializers.CharField(max_length=200, required=False, allow_blank=True)
    family = serializers.CharField(max_length=100, required=False, allow_blank=True)
    billions_of_parameters = serializers.DecimalField(
        max_digits=8, decimal_places=2, min_value=0, required=False, allow_null=True
    )
    parameters = serializers.DictField(required=False, help_text='Sampling parameters, such as {"top_p": 0.9}.')
    input_price = serializers.DecimalField(required=False, allow_null=True, **MONEY)
    output_price = serializers.DecimalField(required=False, allow_null=True, **MONEY)
    currency = serializers.CharField(max_length=3, required=False, allow_blank=True)
    priced_on = serializers.DateField(required=False, allow_null=True)
    fictional = serializers.BooleanField(required=False)


class WantedModelSerializer(ModelChangesSerializer):
    """A model to be added."""

    name = serializers.CharField(max_length=200)


@extend_schema(
    methods=["GET"], operation_id="endpoints", parameters=[SIZE, CURSOR], responses=EndpointSerializer(many=True)
)
@extend_schema(
    methods=["POST"],
    operation_id="add_endpoint",
    parameters=[KEY],
    request=WantedEndpointSerializer,
    responses={201: EndpointSerializer},
    examples=[
        OpenApiExample("vLLM", {"name": "gpu box", "base_url": "https://vllm.example.org/v1"}, request_only=True)
    ],
)
@api_view(["GET", "POST"])
@needs(Scope.CHANGE)
@once
def endpoints(request: Request, workspace: str) -> Response:
    """List the endpoints of a workspace, or add one (for owners and leads)."""
    led = workspace_to_change(request, workspace)
    if request.method != "POST":
        return paged(request, led.endpoints.order_by(), EndpointSerializer)
    asked = checked(WantedEndpointSerializer(data=request.data))
    plain = model_to_dict(Endpoint(workspace=led), EndpointForm.Meta.fields)
    made = _kept(request, EndpointForm(_as_sent({**plain, **asked}), workspaces=_alone(led)), "endpoint")
    return Response(EndpointSerializer(made).data, status=201)


@extend_schema(methods=["GET"], operation_id="endpoint", responses=EndpointSerializer)
@extend_schema(
    methods=["PATCH"],
    operation_id="change_endpoint",
    parameters=[IF_MATCH],
    request=EndpointChangesSerializer,
    responses=EndpointSerializer,
)
@extend_schema(methods=["DELETE"], operation_id="remove_endpoint", parameters=[IF_MATCH], responses={204: None})
@api_view(["GET", "PATCH", "DELETE"])
@needs(Scope.CHANGE)
def endpoint(request: Request, workspace: str, pk: int) -> Response:
    """Return an endpoint, change what is sent of it, or remove it where it serves no model (for owners and leads)."""
    led = workspace_to_change(request, workspace)
    found = _endpoint_of(led, pk)
    if request.method == "GET":
        return Response(EndpointSerializer(found).data)
    check_unchanged(request, EndpointSerializer(found).data)
    if request.method == "DELETE":
        return _removed(request, found)
    asked = checked(EndpointChangesSerializer(data=request.data))
    plain = model_to_dict(found, EndpointForm.Meta.fields)
    form = EndpointForm(_as_sent({**plain, **asked}), instance=found, workspaces=_alone(led))
    return Response(EndpointSerializer(_kept(request, form, "endpoint")).data)


@extend_schema(operation_id="test_endpoint", request=None, responses=EndpointSerializer)
@api_view(["POST"])
@needs(Scope.RUN)
def test_endpoint(request: Request, workspace: str, pk: int) -> Response:
    """Find out what an endpoint can do by up to ten short calls, which may cost money (for owners and leads)."""
    found = _endpoint_of(workspace_to_change(request, workspace), pk)
    with test_of(found) as wait:
        if wait:
            raise Unusable(wait)
        try:
            probe_endpoint(found, seconds=TEST_SECONDS)
        except UserError as error:
            raise Unusable(for_reader(error)) from error
    return Response(EndpointSerializer(found).data)


class FoundModelsSerializer(serializers.Serializer[Any]):
    names = serializers.ListField(child=serializers.CharField())


class WantedFoundModelsSerializer(serializers.Serializer[Any]):
    names = serializers.ListField(
        child=serializers.CharField(max_length=LONGEST_MODEL_NAME),
        min_length=1,
        max_length=MOST_OFFERED,
        help_text="Of those that GET on this address returns.",
    )


@extend_schema(methods=["GET"], operation_id="found_models", responses=FoundModelsSerializer)
@extend_schema(
    methods=["POST"],
    operation_id="add_found_models",
    parameters=[KEY],
    request=WantedFoundModelsSerializer,
    responses={201: ServedModelSerializer(many=True)},
    examples=[OpenApiExample("One", {"names": ["qwen2.5-7b"]}, request_only=True)],
)
@api_view(["GET", "POST"])
@needs(Scope.CHANGE)
@once
def found_models(request: Request, workspace: str, pk: int) -> Response:
    """Return the models that an endpoint's last test listed and nobody has added, or add some (for owners and leads)."""
    found = _endpoint_of(workspace_to_change(request, workspace), pk)
    if request.method != "POST":
        return Response({"names": models_to_add(found)})
    names = checked(WantedFoundModelsSerializer(data=request.data))["names"]
    if unknown := set(names) - set(models_to_add(found)):
        told = _("The endpoint's last test listed no model %(name)s that is not there yet.")
        raise Unusable(told % {"name": repr(min(unknown)[:50])})
    made = add_models(found, names, asking(request))
    return Response(ServedModelSerializer(made, many=True).data, status=201)


@extend_schema(
    operation_id="add_model",
    parameters=[KEY],
    request=WantedModelSerializer,
    responses={201: ServedModelSerializer},
    examples=[OpenApiExample("Served", {"name": "qwen2.5-7b", "endpoint": "gpu box"}, request_only=True)],
)
@api_view(["POST"])
@needs(Scope.CHANGE)
@once
def add_model(request: Request, workspace: str) -> Response:
    """Add a model to a workspace (for owners and leads)."""
    led = workspace_to_change(request, workspace)
    asked = checked(WantedModelSerializer(data=request.data))
    plain = model_to_dict(LanguageModel(workspace=led), ModelForm.Meta.fields)
    form = ModelForm(_as_sent({**plain, **_with_endpoint(led, asked)}), workspaces=_alone(led))
    return Response(ServedModelSerializer(_kept(request, form, "model")).data, status=201)


@extend_schema(methods=["GET"], operation_id="model", responses=ServedModelSerializer)
@extend_schema(
    methods=["PATCH"],
    operation_id="change_model",
    parameters=[IF_MATCH],
    request=ModelChangesSerializer,
    responses=ServedModelSerializer,
)
@extend_schema(methods=["DELETE"], operation_id="remove_model", parameters=[IF_MATCH], responses={204: None})
@api_view(["GET", "PATCH", "DELETE"])
@needs(Scope.CHANGE)
def model(request: Request, workspace: str, pk: int) -> Response:
    """Return a model, change what is sent of it, or remove it where nothing depends on it (for owners and leads)."""
    led = workspace_to_change(request, workspace)
    found = led.language_models.filter(pk=pk).select_related("endpoint").first()
    if found is None:
        raise NotFound(_("There is no such model in this workspace."))
    if request.method == "GET":
        return Response(ServedModelSerializer(found).data)
    check_unchanged(request, ServedModelSerializer(found).data)
    if request.method == "DELETE":
        return _removed(request, found)
    asked = checked(ModelChangesSerializer(data=request.data))
    plain = model_to_dict(found, ModelForm.Meta.fields)
    form = ModelForm(_as_sent({**plain, **_with_endpoint(led, asked)}), instance=found, workspaces=_alone(led))
    return Response(ServedModelSerializer(_kept(request, form, "model")).data)


def _alone(workspace: Workspace) -> QuerySet[Workspace]:
    return Workspace.objects.filter(pk=workspace.pk)


def _endpoint_of(workspace: Workspace, pk: int) -> Endpoint:
    found = workspace.endpoints.filter(pk=pk).first()
    if found is None:
        raise NotFound(_("There is no such endpoint in this workspace."))
    return found


def _with_endpoint(workspace: Workspace, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was sent with the key of the endpoint that it names. Raises Unusable."""
    name = asked.get("endpoint")
    if not name:
        return dict(asked)
    found = workspace.endpoints.filter(name=name).first()
    if found is None:
        known = ", ".join(workspace.endpoints.order_by("name").values_list("name", flat=True)[:20])
        told = _("There is no endpoint %(name)s in this workspace; there are: %(known)s.")
        raise Unusable(told % {"name": repr(name[:50]), "known": known or "–"})
    return {**asked, "endpoint": found.pk}


def _as_sent(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values as a browser sends a form: nothing for what is empty. A 0 is not empty."""
    return {name: value for name, value in values.items() if value is not False and value not in (None, "")}


def _kept(request: Request, form: Any, what: str) -> Any:
    if not form.is_valid():
        raise _refused(form)
    return keep(asking(request), form, what)


def _refused(form: Form) -> Unusable:
    name, errors = next(iter(form.errors.items()))
    said = str(errors[0])
    return Unusable(said if name == "__all__" else f"{name}: {said}")


def _removed(request: Request, row: Endpoint | LanguageModel) -> Response:
    try:
        remove(row, user=asking(request))
    except StillUsed as error:
        raise Unusable(str(error)) from error
    return Response(status=204)
