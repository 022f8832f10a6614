"""From a stored model to something that can be asked: which provider, with which key, limits and prices."""

from collections.abc import Callable, Iterable
from typing import Any

from django.conf import settings
from django.db import transaction

from core.errors import UserError
from generation.endpoints.grants import callable_reach, key_of, open_grants, why_not_loaded
from generation.llm.chat import OpenAIChat
from generation.llm.errors import Refused
from generation.llm.forms import CHAT, RESPONSES, Form
from generation.llm.in_process import InProcessChat, checked_engine
from generation.llm.protocol.call_limits import Pace
from generation.llm.protocol.messages import NO_ENDPOINT
from generation.llm.protocol.providers import ListedModel, provider_at
from generation.llm.requests import Chat
from generation.llm.scripted import ScriptedChat, read_script, script_from
from generation.models import Endpoint, EndpointGrant, LanguageModel
from generation.run_fields import AnyRun

TERMS = (
    "base_url",
    "key_variable",
    "max_concurrent",
    "requests_per_minute",
    "tokens_per_minute",
    "timeout_seconds",
    "input_price",
    "output_price",
)
"""What a worker reads of an endpoint once and goes by until it is told that they were changed."""


class NoEndpoint(UserError):
    """The model is known by name only: nothing says where it is served."""


def endpoint_of(model: LanguageModel) -> Endpoint:
    if model.endpoint is None:
        raise NoEndpoint(NO_ENDPOINT(model=model.name))
    return model.endpoint


def open_chat(model: LanguageModel) -> Chat:
    """Call it inside the event loop that will use it, after read_grants.

    Raises Unauthorised, HostNotAllowed, Refused, NoEndpoint.
    """
    endpoint = endpoint_of(model)
    if endpoint.kind == Endpoint.Kind.SCRIPTED:
        source = model.parameters.get("script", endpoint.capabilities.get("script", {}))
        try:
            plan = read_script(source, settings.SCRIPT_DIR)
        except UserError as error:
            raise Refused(*error.args) from error
        return ScriptedChat(script_from(plan), float(plan.get("seconds", 0)))
    if endpoint.kind == Endpoint.Kind.IN_PROCESS:
        if refusal := why_not_loaded(endpoint, served_name(model)):
            raise Refused(refusal)
        return InProcessChat(served_name(model), checked_engine(model.parameters.get("engine", {})))
    return OpenAIChat(
        base_url=endpoint.base_url,
        key=key_of(endpoint),
        timeout_seconds=endpoint.timeout_seconds,
        connections=max(100, 2 * endpoint.max_concurrent),
        reach=callable_reach(endpoint),
        responses=[served_name(model)] if form_of(model) is RESPONSES else [],
    )


def form_of(model: LanguageModel) -> Form:
    """Return the form in which the model takes requests, as its endpoint's test found or its provider's list says."""
    endpoint, name = endpoint_of(model), served_name(model)
    listed = listed_model(model)
    if name in endpoint.capabilities.get("responses", ()) or (listed is not None and listed.form == "responses"):
        return RESPONSES
    return CHAT


def listed_model(model: LanguageModel) -> ListedModel | None:
    """Return what the price list of the model's provider says of it, None if it has no such provider or is not listed."""
    if model.endpoint is None or model.endpoint.kind != Endpoint.Kind.OPENAI:
        return None
    provider = provider_at(model.endpoint.base_url, settings.PROVIDERS)
    return None if provider is None else provider.models.get(served_name(model).removeprefix("models/"))


def served_name(model: LanguageModel) -> str:
    return model.served_name or model.name


def sampling_parameters(model: LanguageModel) -> dict[str, object]:
    """The model's own parameters, without what is meant for this side."""
    return {key: value for key, value in model.parameters.items() if key not in ("script", "engine")}


def context_of(model: LanguageModel, endpoint: Endpoint) -> int | None:
    """Tokens that this model's prompt and answer may have together, as far as anybody said; None where nobody did.

    An endpoint may serve models of different lengths: what the server said counts for the model that it said it of.
    """
    engine: Any = model.parameters.get("engine") or {}
    told = endpoint.capabilities.get("contexts", {}).get(served_name(model))
    known = [one for one in (endpoint.context_tokens, told, engine.get("max_model_len")) if isinstance(one, int)]
    return min(known, default=None)


def remember_context(model: LanguageModel, endpoint: Endpoint, tokens: int) -> None:
    """Keeps what the server said of this model's context when it refused a longer request."""
    if endpoint.capabilities.get("contexts", {}).get(served_name(model)) != tokens:
        _remember(endpoint, lambda known: {"contexts": {**known.get("contexts", {}), served_name(model): tokens}})


def remember_uncounted(endpoint: Endpoint, run: AnyRun) -> None:
    """Keeps that the server did not say how many tokens it read and wrote, so that those of the run are estimated."""
    if not run.estimated:
        run.estimated = True
        type(run)._default_manager.filter(pk=run.pk).update(estimated=True)
    if not endpoint.capabilities.get("uncounted"):
        _remember(endpoint, lambda _known: {"uncounted": True})


def uncounted_of(models: Iterable[LanguageModel]) -> str:
    """Names of those of the models' endpoints, '' for none, that do not say how many tokens they read and wrote."""
    served = {model.endpoint for model in models if model.endpoint is not None}
    return ", ".join(sorted(one.name for one in served if one.capabilities.get("uncounted")))


def _remember(endpoint: Endpoint, learned: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    with transaction.atomic():
        stored = Endpoint.objects.select_for_update(no_key=True).only("capabilities").get(pk=endpoint.pk)
        endpoint.capabilities = {**stored.capabilities, **learned(stored.capabilities)}
        Endpoint.objects.filter(pk=endpoint.pk).update(capabilities=endpoint.capabilities)


def terms_stand(endpoint: Endpoint) -> bool:
    """Whether it is still served, limited, priced and allowed as when it was read."""
    found = Endpoint.objects.filter(pk=endpoint.pk, **{name: getattr(endpoint, name) for name in TERMS})
    if grants := open_grants(endpoint):
        ended = EndpointGrant.objects.filter(pk__in=[grant.pk for grant in grants]).exclude(ended_at=None)
        found = found.exclude(pk__in=ended.values("endpoint"))
    return found.exists()


def pace_of(endpoint: Endpoint) -> Pace:
    return Pace(endpoint.requests_per_minute, endpoint.tokens_per_minute)


def takes_json_schema(endpoint: Endpoint) -> bool:
    """Whether the endpoint was found to obey response_format json_schema; unknown is no."""
    return bool(endpoint.capabilities.get("json_schema", False))
