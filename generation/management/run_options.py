"""Checks of a run command's options: budgets, names and numbers that every database can store."""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from django.core.management.base import CommandError

from generation.llm.protocol.prices import MOST_COUNTED, Ceiling

MOST_MONEY = 999_999
MOST_HEAT = 2
MOST = {"samples": 10_000, "limit": 10**9, "max_tokens": 10_000_000, "concurrency": 10_000}
LONGEST = {"model": 200, "name": 200, "base_url": 490, "experiment": 50}


def budget_of(options: Mapping[str, Any]) -> Ceiling:
    """Return the budget given by --budget-calls, --budget-tokens and --budget-money. Raises CommandError."""
    money = options["budget_money"]
    try:
        amount = Decimal(money) if money is not None else None
    except InvalidOperation as error:
        raise CommandError(f"--budget-money {money!r} is not an amount; write it like 2.50.") from error
    for name, value, most in (
        ("calls", options["budget_calls"], MOST_COUNTED),
        ("tokens", options["budget_tokens"], MOST_COUNTED),
        ("money", amount, MOST_MONEY),
    ):
        if value is not None and not (Decimal(value).is_finite() and 0 <= value <= most):
            raise CommandError(f"--budget-{name} {value} is not a valid limit; give a number from 0 to {most:,}.")
    return Ceiling(options["budget_calls"], options["budget_tokens"], amount)


def check_run_options(options: Mapping[str, Any], **longest: int) -> None:
    """Raise CommandError if a name is too long or a number is out of range."""
    for name, most in {**LONGEST, **longest}.items():
        given = options.get(name) or ""
        for text in [given] if isinstance(given, str) else given:
            if len(text) > most:
                raise CommandError(f"--{name.replace('_', '-')} is too long; keep it to {most} characters.")
    for name in ("samples", "limit", "max_tokens", "concurrency"):
        given = options.get(name)
        if given is not None and given > MOST[name]:
            raise CommandError(f"--{name.replace('_', '-')} {given} is too large; give at most {MOST[name]:,}.")
    temperature = options.get("temperature")
    if temperature is not None and not 0 <= temperature <= MOST_HEAT:
        raise CommandError(f"--temperature {temperature} is out of range; give a number from 0 to {MOST_HEAT}.")
    if abs(options["seed"]) > MOST_COUNTED:
        raise CommandError(f"--seed {options['seed']} is too large; give at most {MOST_COUNTED:,}.")
    if options["concurrency"] is not None and options["concurrency"] < 1:
        raise CommandError(f"--concurrency {options['concurrency']} is too small; give at least 1.")
