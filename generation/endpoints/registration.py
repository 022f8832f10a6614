"""Where a model is served: named endpoints, addresses, and the name of the variable that holds a key."""

import re
from collections.abc import Collection, Iterable
from urllib.parse import urlsplit

from django.db import IntegrityError, transaction

from accounts.models import Event, User, Workspace
from core.errors import UserError
from core.messages.message import Wording
from core.text import storable
from generation.endpoints.clients import listed_model
from generation.endpoints.grants import ADDRESS_REFUSED, allow
from generation.endpoints.pricing import currency_of
from generation.llm.protocol.allowed_hosts import OWN_VARIABLES, BadAddress, origin_of
from generation.models import Endpoint, LanguageModel

KEY_BEGINNINGS = ("sk-", "sk_", "hf_", "gsk_", "xai-", "aiza", "ghp_", "pk-", "key-", "bearer ", "eyj", "nvapi-", "r8_")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
LONGEST_VARIABLE = 60
LONGEST_NAME = 100
LONGEST_MODEL_NAME = 200
MOST_OFFERED = 50
LONGEST_ADDRESS = 500
TRIES = 5
"""At making an endpoint that another command is making."""


LOOKS_LIKE_KEY = Wording(
    "endpoint.looks_like_key",
    "This looks like a key, not like the name of an environment variable; keys are never stored here: "
    "set a variable such as OPENAI_API_KEY where the server and its workers start, and give its name.",
)
PROGRAMS_VARIABLE = Wording(
    "endpoint.programs_variable",
    "The variable %(variable)s belongs to this program and is never sent anywhere; put the key into another variable.",
)
ADDRESS_TOO_LONG = Wording("endpoint.address_too_long", "The address is too long; keep it to %(most)s characters.")


class ServingRefused(UserError):
    """The model cannot be reached as asked; the sentence says what to change."""


def checked_key_variable(name: str) -> str:
    """The name of an environment variable, or ''. Raises ServingRefused, never repeating what might be a key."""
    name = name.strip()
    if not name:
        return ""
    if looks_like_a_key(name) or not VARIABLE.match(name):
        raise ServingRefused(LOOKS_LIKE_KEY())
    if name.upper().startswith(OWN_VARIABLES):
        raise ServingRefused(PROGRAMS_VARIABLE(variable=name))
    return name


def models_to_add(endpoint: Endpoint) -> list[str]:
    """Return names that the endpoint's last test listed and the workspace has no model for, at most MOST_OFFERED.

    What a server lists is a claim: names that could not be stored as they were are left out.
    """
    if endpoint.kind != Endpoint.Kind.OPENAI:
        return []
    listed = [one for one in endpoint.capabilities.get("models", []) if isinstance(one, str)]
    known: set[str] = set()
    for name, served in LanguageModel.objects.filter(workspace=endpoint.workspace_id).values_list(
        "name", "served_name"
    ):
        known |= {name, served}
    fit = (one for one in dict.fromkeys(listed) if one and one not in known and one == _kept(one))
    return [one for one in fit if len(one) <= LONGEST_MODEL_NAME][:MOST_OFFERED]


def _kept(name: str) -> str:
    return storable(name).replace("\ufffd", "").strip()


def add_models(endpoint: Endpoint, names: Collection[str], user: User) -> list[LanguageModel]:
    """Create those of the models that the endpoint's test found and nobody has added yet, with an event each.

    A model in its provider's price list gets that price with its day, unless the workspace counts in another currency.
    """
    with transaction.atomic():
        Workspace.objects.select_for_update(no_key=True).get(pk=endpoint.workspace_id)
        made, currency = [], currency_of(endpoint.workspace_id)
        for name in (name for name in models_to_add(endpoint) if name in names):
            model = LanguageModel(workspace=endpoint.workspace, name=name, endpoint=endpoint)
            listed = listed_model(model)
            if listed is not None and listed.prices is not None and currency in ("", listed.currency):
                model.input_price, model.output_price = listed.prices.read, listed.prices.written
                model.currency, model.priced_on = listed.currency, listed.as_of
            model.save()
            Event.objects.create(
                workspace_id=endpoint.workspace_id,
                actor=user,
                verb="model saved",
                object_type="generation.LanguageModel",
                object_id=str(model.pk),
                after={"name": name, "found at": endpoint.name},
            )
            made.append(model)
    return made


def untested(models: Iterable[LanguageModel]) -> list[Endpoint]:
    """Servers of these models of which nobody has found out yet what they can do, by name."""
    served = {model.endpoint for model in models if model.endpoint is not None}
    unknown = (one for one in served if one.kind == Endpoint.Kind.OPENAI and one.probed_at is None)
    return sorted(unknown, key=lambda one: one.name)


def looks_like_a_key(text: str) -> bool:
    """Begins as keys do, is very long, or is one long run of mixed letters and digits."""
    lower = text.lower()
    if lower.startswith(KEY_BEGINNINGS) or len(text) > LONGEST_VARIABLE:
        return True
    runs = re.findall(r"[A-Za-z0-9]{20,}", text)
    return any(re.search(r"\d", run) and re.search(r"[a-z]", run) for run in runs)


def checked_base_url(base_url: str) -> str:
    """An http:// or https:// address in which every library reads the same host. Raises ServingRefused."""
    base_url = base_url.strip()
    try:
        origin_of(base_url)
    except BadAddress as error:
        raise ServingRefused(ADDRESS_REFUSED) from error
    if len(base_url) > LONGEST_ADDRESS:
        raise ServingRefused(ADDRESS_TOO_LONG(most=LONGEST_ADDRESS))
    return base_url


def endpoint_at(workspace: Workspace, base_url: str, key_variable: str = "", *, command: str) -> Endpoint:
    """The endpoint with this address and key variable, made where there is none, and allowed both.

    Only for what somebody runs in a shell. Raises ServingRefused.
    """
    base_url, key_variable = checked_base_url(base_url), checked_key_variable(key_variable)
    endpoint = _found_or_made(workspace, base_url, key_variable)
    allow(endpoint, command=command)
    return endpoint


def _found_or_made(workspace: Workspace, base_url: str, key_variable: str) -> Endpoint:
    """One, however many commands begin at once: the name is chosen before the look-up, so that what another command
    makes after the look-up takes that name, and creating a second one fails."""
    for left in reversed(range(TRIES)):
        name = free_name(workspace, urlsplit(base_url).netloc)
        endpoint = Endpoint.objects.filter(workspace=workspace, base_url=base_url, key_variable=key_variable).first()
        if endpoint is not None:
            return endpoint
        try:
            with transaction.atomic():
                return Endpoint.objects.create(
                    workspace=workspace, name=name, base_url=base_url, key_variable=key_variable
                )
        except IntegrityError:
            if not left:
                raise
    raise AssertionError("the last try returns or raises")


def free_name(workspace: Workspace, wanted: str) -> str:
    """The name wanted for a new endpoint, cut to what is kept, with a number where another has it."""
    taken = set(Endpoint.objects.filter(workspace=workspace).values_list("name", flat=True))
    wanted = wanted[: LONGEST_NAME - len(" 9999")]
    return next(name for name in (wanted, *(f"{wanted} {n}" for n in range(2, 10_000))) if name not in taken)


def endpoint_named(workspace: Workspace, name: str) -> Endpoint:
    """Raises ServingRefused with the names there are."""
    endpoint = Endpoint.objects.filter(workspace=workspace, name=name).first()
    if endpoint is None:
        known = ", ".join(Endpoint.objects.filter(workspace=workspace).values_list("name", flat=True))
        raise ServingRefused(f"There is no endpoint {name!r}; there are: {known or 'none'}.")
    return endpoint


def served_model(
    *,
    workspace: Workspace,
    name: str,
    command: str,
    endpoint_name: str = "",
    base_url: str = "",
    key_variable: str = "",
) -> LanguageModel:
    """The model of this name, served where the options say, or where it was before. Raises ServingRefused."""
    model = LanguageModel.objects.filter(workspace=workspace, name=name).select_related("endpoint").first()
    if base_url:
        endpoint: Endpoint | None = endpoint_at(workspace, base_url, key_variable, command=command)
    elif endpoint_name:
        endpoint = endpoint_named(workspace, endpoint_name)
    else:
        endpoint = model.endpoint if model else None
    if endpoint is None:
        raise ServingRefused(f"It is not known where model {name!r} is served; give --base-url or --endpoint.")
    if model is None:
        model, _made = LanguageModel.objects.get_or_create(
            workspace=workspace, name=name, defaults={"endpoint": endpoint}
        )
    if model.endpoint_id != endpoint.pk:
        model.endpoint = endpoint
        model.save(update_fields=["endpoint"])
    return model
