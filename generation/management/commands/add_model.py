"""Name a model and where it is served: a server's address, vLLM in this program's own process, or a script."""

import json
from argparse import ArgumentParser
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from accounts.members.workspaces import workspace_for_command
from accounts.models import Workspace
from core.errors import UserError
from generation.endpoints.clients import served_name
from generation.endpoints.grants import allow
from generation.endpoints.registration import endpoint_at, endpoint_named, free_name
from generation.llm.scripted import script_in
from generation.models import Endpoint, LanguageModel
from generation.web.endpoints.forms import checked_parameters

COMMAND = "add_model"
MOST_MONEY = Decimal(999_999)
SMALLEST_MONEY = Decimal("0.000001")
LARGEST_WHOLE = 2**31 - 1  # what every database keeps
LONGEST = {"name": 200, "served_name": 200, "base_url": 500, "family": 100}
LIMITS = {
    "context_tokens": "context_tokens",
    "max_concurrent": "concurrent",
    "requests_per_minute": "requests_per_minute",
    "tokens_per_minute": "tokens_per_minute",
    "timeout_seconds": "timeout",
}
KIND_NAMES = {Endpoint.Kind.IN_PROCESS: "vllm in process", Endpoint.Kind.SCRIPTED: "scripted"}


class Command(BaseCommand):
    help = "Add a model with its endpoint, or change where a model is served."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add("name", help="What the model is called in tables.")
        add("--workspace", default="", help="Slug of the workspace, where there are several.")
        add("--base-url", default="", help="Address of its server, such as http://127.0.0.1:8000/v1.")
        add("--key-variable", default="", help="Environment variable that holds the server's key.")
        add("--endpoint", default="", help="Or the name of an endpoint there is.")
        add("--in-process", action="store_true", help="Or vLLM in the worker's own process.")
        add("--script", default="", help="Or replies written down in this JSON file.")
        add("--served-name", default="", help="The endpoint's own name for it; for vLLM a folder or name.")
        add("--engine", default="", help='Options of vLLM in process as JSON, such as {"max_model_len": 8192}.')
        add(
            "--parameters",
            default="",
            help='Its own sampling parameters as JSON, such as {"max_completion_tokens": 16384, "temperature": null}.',
        )
        add("--family", default="", help="Which family of models it belongs to.")
        add("--context-tokens", type=int, help="Tokens of prompt and answer together, of every model there.")
        add("--concurrent", type=int, help="Calls at once.")
        add("--requests-per-minute", type=int, help="Calls a minute, of all workers together.")
        add("--tokens-per-minute", type=int, help="Tokens a minute, of all workers together.")
        add("--timeout", type=int, help="Seconds to wait for a reply.")
        add("--input-price", help="Price of a million tokens read.")
        add("--output-price", help="Price of a million tokens written.")

    def handle(self, *args: Any, **options: Any) -> None:
        ways = [bool(options[name]) for name in ("base_url", "endpoint", "in_process", "script")]
        if sum(ways) != 1:
            raise CommandError("Say where it is served by one of --base-url, --endpoint, --in-process, --script.")
        if options["engine"] and not options["in_process"]:
            raise CommandError("--engine goes with --in-process.")
        if not options["name"].strip():
            raise CommandError("The model's name is empty; give the one it is to have in tables.")
        for name, most in LONGEST.items():
            if len(options[name]) > most:
                raise CommandError(f"The {name.replace('_', ' ')} is too long; keep it to {most} characters.")
        try:
            with transaction.atomic():
                workspace = workspace_for_command(options["workspace"])
                endpoint = _endpoint(workspace, options)
                _set_limits(endpoint, options)
                model, made = LanguageModel.objects.get_or_create(
                    workspace=workspace, name=options["name"], defaults={"endpoint": endpoint}
                )
                model.endpoint = endpoint
                model.served_name = options["served_name"] or model.served_name
                model.family = options["family"] or model.family
                model.parameters = checked_parameters({**model.parameters, **_own_parameters(options)})
                model.save()
                if endpoint.kind == Endpoint.Kind.IN_PROCESS:
                    allow(endpoint, command=COMMAND, served_name=served_name(model))
        except UserError as error:
            raise CommandError(str(error)) from error
        except ValidationError as error:
            raise CommandError(f"--parameters: {error.messages[0]}") from error
        done = "added" if made else "changed"
        self.stdout.write(
            f"Model {model.name} is {done}, served by endpoint {endpoint.name} ({endpoint.get_kind_display()}). "
            f"What it can do: manage.py probe_endpoint '{endpoint.name}'"
        )


def _endpoint(workspace: Workspace, options: dict[str, Any]) -> Endpoint:
    """Raises ServingRefused."""
    if options["base_url"]:
        return endpoint_at(workspace, options["base_url"], options["key_variable"], command=COMMAND)
    if options["endpoint"]:
        return endpoint_named(workspace, options["endpoint"])
    kind = Endpoint.Kind.IN_PROCESS if options["in_process"] else Endpoint.Kind.SCRIPTED
    known = Endpoint.objects.filter(workspace=workspace, kind=kind).order_by("pk").first()
    return known or Endpoint.objects.create(workspace=workspace, name=free_name(workspace, KIND_NAMES[kind]), kind=kind)


def _set_limits(endpoint: Endpoint, options: dict[str, Any]) -> None:
    """What was given, on the endpoint; the rest stays."""
    for field, option in LIMITS.items():
        if options[option] is not None:
            if not 1 <= options[option] <= LARGEST_WHOLE:
                raise CommandError(
                    f"--{option.replace('_', '-')} {options[option]} makes no sense; give a number from 1 up."
                )
            setattr(endpoint, field, options[option])
    for name in ("input_price", "output_price"):
        if options[name] is not None:
            setattr(endpoint, name, _price(name, options[name]))
    endpoint.save()


def _price(name: str, given: str) -> Decimal:
    try:
        price = Decimal(given)
    except InvalidOperation:
        price = Decimal("NaN")
    if not price.is_finite() or not 0 <= price <= MOST_MONEY:
        raise CommandError(f"--{name.replace('_', '-')} {given[:30]!r} is no price; write it like 2.50.")
    return price.quantize(SMALLEST_MONEY)


def _own_parameters(options: dict[str, Any]) -> dict[str, Any]:
    """The script itself, so that workers elsewhere need no file; vLLM's options. Raises BadScript."""
    found: dict[str, Any] = {}
    if options["script"]:
        found["script"] = dict(script_in(Path(options["script"])))
    if options["parameters"]:
        found.update(_json_object("--parameters", options["parameters"]))
    if options["engine"]:
        found["engine"] = _json_object("--engine", options["engine"])
    return found


def _json_object(option: str, text: str) -> dict[str, Any]:
    try:
        given = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise CommandError(f"{option} is no JSON: {error}.") from error
    if not isinstance(given, dict):
        raise CommandError(f"{option} is a JSON object: names in quotes, each with its value.")
    return given


def _no_number(name: str) -> float:
    """JSON knows neither NaN nor Infinity, whatever Python's reader takes."""
    raise ValueError(f"{name} is no number")
