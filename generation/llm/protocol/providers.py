"""What is known of hosted providers: addresses, names of keys, and for models a price, a form and a retirement date. PURE.

The file of the program is fixtures/providers/providers.json; an operator may add a file of the same shape (operations.md).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from core.errors import UserError
from generation.llm.protocol.allowed_hosts import OWN_VARIABLES, BadAddress, KeyRule, Origin, origin_of
from generation.llm.protocol.prices import Prices

FORMS = ("chat", "responses")
LARGEST_FILE = 5_000_000
"""Bytes of a file of providers."""
HIGHEST_PRICE = Decimal(100_000)
"""Of a million tokens; the database keeps six digits before the point."""


@dataclass(frozen=True)
class ListedModel:
    """A model in a provider's price list, as of `as_of` in `currency`; `retired` is the day on which it ends."""

    name: str
    prices: Prices | None
    currency: str
    as_of: date
    form: str = "chat"
    retired: date | None = None


@dataclass(frozen=True)
class Provider:
    """A hosted provider. `addresses` are those of endpoints, the usual one first, and `keys` names of variables."""

    name: str
    title: str
    addresses: tuple[str, ...]
    keys: tuple[str, ...]
    models: Mapping[str, ListedModel] = field(default_factory=dict)

    @property
    def origins(self) -> frozenset[Origin]:
        return frozenset(origin_of(address) for address in self.addresses)


def read_providers(*paths: Path) -> tuple[Provider, ...]:
    """Read the files; a later one adds providers, and replaces what it says of known ones. Raises UserError."""
    known: dict[str, Provider] = {}
    for path in paths:
        for provider in _in_file(path):
            old = known.get(provider.name)
            models = {**old.models, **provider.models} if old else provider.models
            known[provider.name] = replace(provider, models=models)
    return tuple(known.values())


def key_rules(providers: Sequence[Provider]) -> tuple[KeyRule, ...]:
    """Return the keys that a single user's machine may send without a setting: each only to its provider."""
    return tuple(
        KeyRule(key, origin)
        for provider in providers
        for key in provider.keys
        for origin in sorted(provider.origins, key=str)
    )


def provider_at(base_url: str, providers: Sequence[Provider]) -> Provider | None:
    """Return the provider that answers at an endpoint's address, None for any other server."""
    try:
        origin = origin_of(base_url)
    except BadAddress:
        return None
    return next((provider for provider in providers if origin in provider.origins), None)


def _in_file(path: Path) -> list[Provider]:
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise UserError(f"{path} is larger than {LARGEST_FILE // 1_000_000} MB; give a file of providers.")
        whole = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror}); give an existing file.") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not JSON ({error}); correct it there.") from error
    place = str(path)
    whole = _object(whole, place)
    currency = _text(whole.get("currency"), f"{place}: currency")
    if len(currency) != 3 or not currency.isupper():
        raise UserError(f"{place}: the currency {currency!r} is not three capital letters, such as USD.")
    as_of = _day(whole.get("as_of"), f"{place}: as_of")
    listed = whole.get("providers")
    if not isinstance(listed, list):
        raise UserError(f"{place}: providers must be a list of objects.")
    return [_provider(row, f"{place}: provider {n}", currency, as_of) for n, row in enumerate(listed, 1)]


def _provider(row: object, place: str, currency: str, as_of: date) -> Provider:
    row = _object(row, place)
    name = _text(row.get("name"), f"{place}: name")
    place = f"{place} ({name})"
    addresses, keys = (_texts(row.get(field_), f"{place}: {field_}") for field_ in ("addresses", "keys"))
    for address in addresses:
        try:
            origin = origin_of(address)
        except BadAddress as error:
            raise UserError(f"{place}: {address!r} is not an address such as https://api.example.com/v1.") from error
        if origin.scheme != "https":
            raise UserError(f"{place}: {address!r} does not begin with https://, so a key could be read on the way.")
    for key in keys:
        if key.upper().startswith(OWN_VARIABLES):
            raise UserError(f"{place}: {key} belongs to Plumbline itself and is sent to no provider.")
    models = _object(row.get("models", {}), f"{place}: models")
    listed = {
        str(model): _model(str(model), said, f"{place}: {model}", currency, as_of) for model, said in models.items()
    }
    return Provider(name, _text(row.get("title", name), f"{place}: title"), addresses, keys, listed)


def _model(name: str, row: object, place: str, currency: str, as_of: date) -> ListedModel:
    row = _object(row, place)
    form = row.get("form", "chat")
    if form not in FORMS:
        raise UserError(f"{place}: the form {form!r} is neither chat nor responses.")
    prices = None
    if "read" in row or "written" in row:
        prices = Prices(*(_price(row.get(half), f"{place}: {half}") for half in ("read", "written")))
    retired = _day(row["retired"], f"{place}: retired") if row.get("retired") else None
    return ListedModel(name, prices, currency, as_of, str(form), retired)


def _price(value: object, place: str) -> Decimal:
    try:
        price = Decimal(value if isinstance(value, str | int) and not isinstance(value, bool) else "none")
    except InvalidOperation as error:
        raise UserError(f'{place}: give the price of a million tokens in quotation marks, such as "2.5".') from error
    if not (price.is_finite() and 0 <= price <= HIGHEST_PRICE):
        raise UserError(f"{place}: {price} is not a price from 0 to {HIGHEST_PRICE} for a million tokens.")
    return price


def _day(value: object, place: str) -> date:
    try:
        return date.fromisoformat(_text(value, place))
    except ValueError as error:
        raise UserError(f"{place}: {value!r} is not a day such as 2026-11-28.") from error


def _object(value: object, place: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise UserError(f"{place} must be a JSON object.")
    return value


def _text(value: object, place: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise UserError(f"{place} must be a text.")
    return value.strip()


def _texts(value: object, place: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise UserError(f"{place} must be a list of texts.")
    return tuple(_text(one, place) for one in value)
