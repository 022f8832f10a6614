"""Allow an endpoint its address, its key or its models in process, or end that; only the operator can."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from accounts.members.workspaces import workspace_for_command
from core.errors import UserError
from generation.endpoints.clients import served_name
from generation.endpoints.grants import allow, end_grants, open_grants
from generation.endpoints.registration import checked_base_url, checked_key_variable, endpoint_named
from generation.models import Endpoint, LanguageModel

COMMAND = "allow_endpoint"


class Command(BaseCommand):
    help = "Allow an endpoint to be called at its address and with its key, whatever the settings say; or end this."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add("name", nargs="?", help="Name of the endpoint; without a name, all grants are listed.")
        add("--key-variable", help="Environment variable whose key the endpoint may use from now on.")
        add("--end", action="store_true", help="End the endpoint's grants and remove its key variable.")
        add("--workspace", default="", help="Slug of the workspace, if there are several.")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["end"] and options["key_variable"] is not None:
            raise CommandError("--end removes the key variable; leave out --key-variable.")
        try:
            workspace = workspace_for_command(options["workspace"])
            if not options["name"]:
                if options["end"] or options["key_variable"] is not None:
                    raise CommandError("Give the name of the endpoint.")
                self._list(Endpoint.objects.filter(workspace=workspace))
                return
            with transaction.atomic():
                endpoint = endpoint_named(workspace, options["name"])
                said = _ended(endpoint) if options["end"] else _allowed(endpoint, options["key_variable"])
        except UserError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(said)

    def _list(self, endpoints: Any) -> None:
        for endpoint in endpoints.prefetch_related("grants"):
            for grant in open_grants(endpoint):
                self.stdout.write(
                    f"{endpoint.name}: {grant} (by {grant.made_by} with {grant.command}, {grant.made_at:%Y-%m-%d %H:%M} UTC)"
                )


def _allowed(endpoint: Endpoint, key_variable: str | None) -> str:
    """Raises ServingRefused, CommandError."""
    if endpoint.kind == Endpoint.Kind.SCRIPTED:
        raise CommandError("A scripted endpoint makes no calls, so there is nothing to allow.")
    if endpoint.kind == Endpoint.Kind.IN_PROCESS:
        names = sorted({served_name(model) for model in LanguageModel.objects.filter(endpoint=endpoint)})
        for name in names:
            allow(endpoint, command=COMMAND, served_name=name)
        return f"For endpoint {endpoint.name}, vLLM may load: {', '.join(names) or 'nothing, because it has no model yet'}."
    checked_base_url(endpoint.base_url)
    if key_variable is not None:
        endpoint.key_variable = checked_key_variable(key_variable)
        endpoint.save(update_fields=["key_variable"])
    allow(endpoint, command=COMMAND)
    key = f" with the key in {endpoint.key_variable}" if endpoint.key_variable else " without a key"
    return f"Endpoint {endpoint.name} may be called at {endpoint.base_url}{key}, until its address is changed."


def _ended(endpoint: Endpoint) -> str:
    count = end_grants(endpoint, all_of_them=True)
    if count and endpoint.key_variable:
        endpoint.key_variable = ""
        endpoint.save(update_fields=["key_variable"])
    return f"Grants ended for endpoint {endpoint.name}: {count}. What the settings allow is unchanged."
