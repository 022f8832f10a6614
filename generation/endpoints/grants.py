"""What an endpoint may do: which address it may be called at, with which key, and which model vLLM may load for it.

The settings say it, and so do the grants of commands that the operator runs in a shell. Pages and the API read
grants and end them; only the management commands make them.
"""

from datetime import datetime

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import prefetch_related_objects
from django.utils import timezone

from accounts.models import Event, Workspace
from core.messages.message import Message, Wording
from core.terminal import person_at_terminal
from generation.llm.chat import key_named
from generation.llm.errors import HostNotAllowed, Refused, Unauthorised
from generation.llm.protocol import messages as call_messages
from generation.llm.protocol.allowed_hosts import BadAddress, HostRefused, Origin, Reach, origin_of, rule_for
from generation.llm.protocol.providers import key_rules
from generation.models import Endpoint, EndpointGrant

ADDRESS_REFUSED = Wording(
    "endpoint.address_refused",
    "The address must be like http://127.0.0.1:8000/v1 or https://api.openai.com/v1, with a plain host name or address "
    "and no password, ? or # in it.",
)()


def site_reach() -> Reach:
    """What the settings let every endpoint call."""
    return Reach(settings.MODEL_HOSTS, nearby=settings.ON_LOOPBACK)


def reach_of(endpoint: Endpoint) -> Reach:
    """What the settings and its grants let this endpoint call. Raises Refused where its address is none."""
    reach = site_reach()
    if not any(grant.address == endpoint.base_url for grant in open_grants(endpoint)):
        return reach
    return Reach((*reach.listed, rule_for(_origin(endpoint))), reach.nearby)


def callable_reach(endpoint: Endpoint) -> Reach:
    """The same, checked as far as the address tells without being resolved. Raises Refused, HostNotAllowed."""
    origin, reach = _origin(endpoint), reach_of(endpoint)
    try:
        reach.check(origin)
    except HostRefused as error:
        raise HostNotAllowed(*error.args) from error
    return reach


def key_of(endpoint: Endpoint) -> str:
    """The key that the endpoint is called with, 'none' for none. Raises Unauthorised where it may not be sent there."""
    if refusal := why_no_key(endpoint):
        raise Unauthorised(refusal)
    return key_named(endpoint.key_variable)


def why_no_key(endpoint: Endpoint) -> Message | None:
    """Why the endpoint's key may not be sent to its address, with the entry that allows it; None where it may."""
    variable = endpoint.key_variable
    if not variable:
        return None
    origin = _origin(endpoint)
    slug = endpoint.workspace.slug
    rules = (*settings.MODEL_KEYS, *(key_rules(settings.PROVIDERS) if settings.ON_LOOPBACK else ()))
    if any(rule.allows(variable, origin, slug) for rule in rules):
        return None
    granted = ((grant.address, grant.variable) for grant in open_grants(endpoint))
    if (endpoint.base_url, variable) in granted:
        return None
    entry = f"{variable}@{origin.as_key_entry}/{slug}"
    return call_messages.KEY_NOT_ALLOWED(variable=variable, host=origin.place, entry=entry)


def why_not_loaded(endpoint: Endpoint, served_name: str) -> Message | None:
    """Why vLLM in process may not load this folder or name; None where it may.

    A name may stand for any folder of the worker's machine and for any repository, so somebody with no shell there
    may not choose it.
    """
    if settings.ON_LOOPBACK:
        return None
    if any(grant.served_name == served_name for grant in open_grants(endpoint)):
        return None
    return call_messages.VLLM_NOT_ALLOWED(model=served_name, endpoint=endpoint.name)


def read_grants(endpoint: Endpoint) -> None:
    """Reads what is needed to open the endpoint, for code that opens it inside an event loop and cannot read then."""
    prefetch_related_objects([endpoint], "workspace", "grants")


def open_grants(endpoint: Endpoint) -> list[EndpointGrant]:
    if endpoint.pk is None:
        return []
    return [
        grant
        for grant in endpoint.grants.all()
        if grant.ended_at is None and grant.workspace_id == endpoint.workspace_id
    ]


def allow(endpoint: Endpoint, *, command: str, served_name: str = "") -> None:
    """Keeps that somebody at a shell let the endpoint have its address and key, or load a model. Only for commands."""
    try:
        with transaction.atomic():
            grant, made = EndpointGrant.objects.get_or_create(
                endpoint=endpoint,
                workspace_id=endpoint.workspace_id,
                address=endpoint.base_url,
                variable=endpoint.key_variable,
                served_name=served_name,
                ended_at=None,
                defaults={"made_by": person_at_terminal(), "command": command},
            )
    except IntegrityError:
        return  # another command has just made the same one
    if made:
        _note(grant, "endpoint allowed")


def end_grants(endpoint: Endpoint, *, all_of_them: bool = False, now: datetime | None = None) -> int:
    """Ends the grants that are for another address or workspace than the endpoint's, or every one; how many."""
    found = EndpointGrant.objects.filter(endpoint=endpoint, ended_at=None)
    if not all_of_them:
        found = found.exclude(address=endpoint.base_url, workspace_id=endpoint.workspace_id)
    ended = list(found)
    found.update(ended_at=now or timezone.now())
    for grant in ended:
        _note(grant, "endpoint grant ended")
    return len(ended)


def _note(grant: EndpointGrant, verb: str) -> None:
    about = {"address": grant.address, "variable": grant.variable, "served_name": grant.served_name}
    Event.objects.create(
        workspace=Workspace.objects.get(pk=grant.workspace_id),
        verb=verb,
        object_type="generation.Endpoint",
        object_id=str(grant.endpoint_id),
        after={**about, "made_by": grant.made_by, "command": grant.command},
    )


def _origin(endpoint: Endpoint) -> Origin:
    """Raises Refused."""
    try:
        return origin_of(endpoint.base_url)
    except BadAddress as error:
        raise Refused(call_messages.NO_ADDRESS(endpoint=endpoint.name, address=repr(endpoint.base_url))) from error
