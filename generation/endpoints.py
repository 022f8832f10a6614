"""From a stored model to something that can be asked: which provider, with which key, limits and prices."""

from django.conf import settings

from generation.chat import Chat, OpenAIChat, Refused, key_named
from generation.engine import Pace
from generation.in_process import InProcessChat
from generation.models import Endpoint, LanguageModel
from generation.scripted import BadScript, ScriptedChat, read_script, script_from
from generation.spending import Prices


class NoEndpoint(LookupError):
    """The model is known by name only: nothing says where it is served."""


def endpoint_of(model: LanguageModel) -> Endpoint:
    if model.endpoint is None:
        raise NoEndpoint(f"Model {model.name} has no endpoint; name one with --endpoint or --base-url.")
    return model.endpoint


def open_chat(model: LanguageModel) -> Chat:
    """Call it inside the event loop that will use it. Raises Unauthorised, Refused, NoEndpoint."""
    endpoint = endpoint_of(model)
    if endpoint.kind == Endpoint.Kind.SCRIPTED:
        source = model.parameters.get("script", endpoint.capabilities.get("script", {}))
        try:
            plan = read_script(source, settings.BASE_DIR)
        except BadScript as error:
            raise Refused(str(error)) from error
        return ScriptedChat(script_from(plan), float(plan.get("seconds", 0)))
    if endpoint.kind == Endpoint.Kind.IN_PROCESS:
        return InProcessChat(served_name(model), model.parameters.get("engine", {}))
    if not endpoint.base_url.startswith(("http://", "https://")):
        raise Refused(f"Endpoint {endpoint.name}: {endpoint.base_url!r} is no http:// or https:// address.")
    return OpenAIChat(
        base_url=endpoint.base_url,
        key=key_named(endpoint.key_variable),
        timeout_seconds=endpoint.timeout_seconds,
        connections=max(100, 2 * endpoint.max_concurrent),
    )


def served_name(model: LanguageModel) -> str:
    return model.served_name or model.name


def sampling_parameters(model: LanguageModel) -> dict[str, object]:
    """The model's own parameters, without what is meant for this side."""
    return {key: value for key, value in model.parameters.items() if key not in ("script", "engine")}


def prices_of(endpoint: Endpoint) -> Prices:
    return Prices(endpoint.input_price, endpoint.output_price)


def pace_of(endpoint: Endpoint) -> Pace:
    return Pace(endpoint.requests_per_minute, endpoint.tokens_per_minute)


def takes_json_schema(endpoint: Endpoint) -> bool:
    """Whether the endpoint was found to obey response_format json_schema; unknown is no."""
    return bool(endpoint.capabilities.get("json_schema", False))
