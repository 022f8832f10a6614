"""What a model's tokens cost: its own price where one is stored, else that of its endpoint; or that nobody said."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from generation.llm.protocol.prices import Prices
from generation.models import Endpoint, LanguageModel


@dataclass(frozen=True)
class ModelPrice:
    """The price of a million tokens read and written, in `currency` ('' where nobody said which), as of `since`.

    `known` is False where neither the model nor its endpoint has a price; a price of 0 that was entered for the model, and
    that of scripted replies, is known.
    """

    model: LanguageModel
    prices: Prices
    known: bool
    currency: str
    since: date | None


def price_of(model: LanguageModel) -> ModelPrice:
    """Return the model's price. A model has its own only where both halves of it are given."""
    endpoint = model.endpoint
    if model.input_price is not None and model.output_price is not None:
        prices = Prices(Decimal(model.input_price), Decimal(model.output_price))
        return ModelPrice(model, prices, True, model.currency, model.priced_on)
    if endpoint is None:
        return ModelPrice(model, Prices(), False, "", None)
    prices = Prices(Decimal(endpoint.input_price), Decimal(endpoint.output_price))
    free = endpoint.kind == Endpoint.Kind.SCRIPTED
    return ModelPrice(model, prices, free or prices != Prices(), "", None)


def prices_of(model: LanguageModel) -> Prices:
    """Return what calls to the model are charged at, 0 where nobody said what they cost."""
    return price_of(model).prices


def currency_of(workspace_id: int) -> str:
    """Return the currency of the workspace's prices, '' where no model names one; all models of a workspace share it."""
    named = LanguageModel.objects.filter(workspace=workspace_id).exclude(currency="").order_by("pk")
    return named.values_list("currency", flat=True).first() or ""


def names_without_price(prices: Iterable[ModelPrice]) -> list[str]:
    """Return the names of the models whose price nobody said, sorted."""
    return sorted({price.model.name for price in prices if not price.known})
