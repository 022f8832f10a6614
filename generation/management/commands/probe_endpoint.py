"""Test what an endpoint can do, store the result and print it."""

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.members.workspaces import workspace_for_command
from core.errors import UserError
from generation.endpoints.probing import NoAnswer, NoModel, in_words, probe_endpoint
from generation.endpoints.registration import endpoint_at, endpoint_named
from generation.library.removal import remove
from generation.llm.errors import ChatError
from generation.models import Endpoint


class Command(BaseCommand):
    help = "Test what an endpoint can do: JSON schema, log-probabilities, embeddings, context length."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", nargs="?", help="Name of an existing endpoint.")
        parser.add_argument(
            "--base-url",
            default="",
            help="Address of a server, instead of a name; the endpoint is stored under the host name.",
        )
        parser.add_argument("--key-variable", default="", help="Environment variable that holds the endpoint's key.")
        parser.add_argument("--model", default="", help="Model to ask (default: the first that the endpoint lists).")
        parser.add_argument("--workspace", default="", help="Slug of the workspace, if there are several.")
        parser.add_argument("--json", action="store_true", help="Print the results as JSON.")

    def handle(self, *args: Any, **options: Any) -> None:
        if bool(options["name"]) == bool(options["base_url"]):
            raise CommandError("Give either the name of an endpoint or an address (--base-url).")
        try:
            workspace = workspace_for_command(options["workspace"])
            known = set(Endpoint.objects.filter(workspace=workspace).values_list("pk", flat=True))
            if options["name"]:
                endpoint = endpoint_named(workspace, options["name"])
            else:
                endpoint = endpoint_at(
                    workspace, options["base_url"], options["key_variable"], command="probe_endpoint"
                )
            found = probe_endpoint(endpoint, options["model"])
        except (NoAnswer, ChatError) as error:
            _forget(endpoint, known)
            hint = " You can also name a model with --model." if isinstance(error, NoModel) else ""
            raise CommandError(f"The endpoint cannot be asked: {error}{hint}") from error
        except UserError as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            self.stdout.write(json.dumps(asdict(found)))
            return
        self.stdout.write(f"{endpoint.name} ({endpoint.base_url or endpoint.get_kind_display()}):")
        for line in in_words(asdict(found)):
            self.stdout.write(f"  {'+' if line.good else '-'} {line.text}")
            if line.detail:
                self.stdout.write(f"      {line.detail}")


def _forget(endpoint: Endpoint, known: set[int]) -> None:
    """Delete an endpoint that does not answer, if this command has just created it."""
    if endpoint.pk not in known:
        remove(endpoint)
