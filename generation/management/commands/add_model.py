"""Add a model and say where it is served: at an address, by vLLM in process, or by a script."""

import json
from argparse import ArgumentParser
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from django.conf import settings
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
        add("name", help="Name of the model in tables.")
        add("--workspace", default="", help="Slug of the workspace, if there are several.")
        add("--base-url", default="", help="Address of its server, such as http://127.0.0.1:8000/v1.")
        add("--key-variable", default="", help="Environment variable that holds the server's key.")
        add("--endpoint", default="", help="Name of an existing endpoint, instead of --base-url.")
        add("--in-process", action="store_true", help="Serve the model by vLLM in the worker's process.")
        add("--script", default="", help="Serve scripted replies from this JSON file.")
        add("--served-name", default="", help="Name of the model at the endpoint; for vLLM, a folder or name.")
        add("--engine", default="", help='Options of vLLM in process as JSON, such as {"max_model_len": 8192}.')
        add(
            "--parameters",
            default="",
            help='Sampling parameters as JSON, such as {"max_completion_tokens": 16384, "temperature": null}.',
        )
        add("--family", default="", help="Model family.")
        add("--context-tokens", type=int, help="Context length in tokens, for every model of the endpoint.")
        add("--concurrent", type=int, help="Maximum number of concurrent calls.")
        add("--requests-per-minute", type=int, help="Maximum calls per minute, over all workers.")
        add("--tokens-per-minute", type=int, help="Maximum tokens per minute, over all workers.")
        add("--timeout", type=int, help="Seconds to wait for a reply.")
        add("--input-price", help="Price per million input tokens.")
        add("--output-price", help="Price per million output tokens.")

    def handle(self, *args: Any, **options: Any) -> None:
        ways = [bool(options[name]) for name in ("base_url", "endpoint", "in_process", "script")]
        if sum(ways) != 1:
            raise CommandError(
                "Give exactly one of --base-url, --endpoint, --in-process and --script to say where the model is served."
            )
        if options["engine"] and not options["in_process"]:
            raise CommandError("--engine needs --in-process.")
        if not options["name"].strip():
            raise CommandError("The name of the model is empty; give the name to show in tables.")
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
            f"Model {model.name} has been {done}. It is served by endpoint {endpoint.name} ({endpoint.get_kind_display()}). "
            f"To test the endpoint, run: {settings.PROGRAM} probe_endpoint '{endpoint.name}'"
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
    """Set the given limits and prices on the endpoint and leave the others unchanged. Raises CommandError."""
    for field, option in LIMITS.items():
        if options[option] is not None:
            if not 1 <= options[option] <= LARGEST_WHOLE:
                raise CommandError(
                    f"--{option.replace('_', '-')} {options[option]} is out of range; give a number of at least 1."
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
        raise CommandError(f"--{name.replace('_', '-')} {given[:30]!r} is not a price; write it like 2.50.")
    return price.quantize(SMALLEST_MONEY)


def _own_parameters(options: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters to store: the whole script, since other machines lack the file, and vLLM's options.

    Raises UserError.
    """
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
        raise CommandError(f"{option} is not valid JSON: {error}.") from error
    if not isinstance(given, dict):
        raise CommandError(f"{option} must be a JSON object: names in quotation marks, each with its value.")
    return given


def _no_number(name: str) -> float:
    """Refuse NaN and Infinity, which Python's reader accepts but JSON does not have."""
    raise ValueError(f"{name} is not a JSON number")
