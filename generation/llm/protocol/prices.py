"""The prices of calls and the budget of a run. PURE."""

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True)
class Spend:
    """A number of calls, of tokens read and written, and money in the currency of the endpoint's prices."""

    calls: int = 0
    tokens: int = 0
    money: Decimal = Decimal(0)

    def __add__(self, other: "Spend") -> "Spend":
        return Spend(self.calls + other.calls, self.tokens + other.tokens, self.money + other.money)

    def __sub__(self, other: "Spend") -> "Spend":
        return Spend(self.calls - other.calls, self.tokens - other.tokens, self.money - other.money)

    def __mul__(self, times: int) -> "Spend":
        return Spend(self.calls * times, self.tokens * times, self.money * times)

    def as_json(self, *, priced: bool = True) -> dict[str, object]:
        """Return it as the API gives it; money as text, null where a price is unknown."""
        return {"calls": self.calls, "tokens": self.tokens, "money": f"{self.money:f}" if priced else None}

    def beyond(self, other: "Spend") -> "Spend":
        """Return the part that the other does not cover, at least 0."""
        return (self - other).at_least(NOTHING)

    def at_least(self, other: "Spend") -> "Spend":
        """Return the greater of both for calls, tokens and money."""
        return Spend(max(self.calls, other.calls), max(self.tokens, other.tokens), max(self.money, other.money))


NOTHING = Spend()
MILLIONTH = Decimal("0.000001")
"""The smallest amount of money that is stored."""
MOST_COUNTED = 10**15  # calls or tokens; every database keeps such a number exactly


@dataclass(frozen=True)
class Ceiling:
    """The most that may be spent; None means no limit."""

    calls: int | None = None
    tokens: int | None = None
    money: Decimal | None = None

    def crossed_by(self, spend: Spend) -> str:
        """Return the limit that the spending would cross: 'calls', 'tokens', 'money', or '' for none."""
        if self.calls is not None and spend.calls > self.calls:
            return "calls"
        if self.tokens is not None and spend.tokens > self.tokens:
            return "tokens"
        if self.money is not None and spend.money > self.money:
            return "money"
        return ""

    @property
    def limited(self) -> bool:
        return (self.calls, self.tokens, self.money) != (None, None, None)

    def room_for(self, wanted: Spend, *, besides: Spend) -> Spend:
        """Return the part of `wanted` that may be spent in addition to what is spent or reserved already."""
        calls, tokens, money = wanted.calls, wanted.tokens, wanted.money
        if self.calls is not None:
            calls = max(0, min(calls, self.calls - besides.calls))
        if self.tokens is not None:
            tokens = max(0, min(tokens, self.tokens - besides.tokens))
        if self.money is not None:
            money = max(Decimal(0), min(money, self.money - besides.money))
        return Spend(calls, tokens, money)

    def limiting(self, spend: Spend) -> "Ceiling":
        """Return the spending as a ceiling, with limits only where this ceiling has them."""
        return Ceiling(
            None if self.calls is None else spend.calls,
            None if self.tokens is None else spend.tokens,
            None if self.money is None else spend.money,
        )

    def lower_than(self, other: "Ceiling") -> bool:
        """Return whether any limit is lower than the other's, or the other has none."""
        return _below(self.calls, other.calls) or _below(self.tokens, other.tokens) or _below(self.money, other.money)


UNLIMITED = Ceiling()
NOTHING_MORE = Ceiling(calls=0)
"""The ceiling of an engine that may send no further call."""


def _below(one: int | Decimal | None, other: int | Decimal | None) -> bool:
    return one is not None and (other is None or one < other)


@dataclass(frozen=True)
class Prices:
    """Prices of a million tokens read and of a million tokens written."""

    read: Decimal = Decimal(0)
    written: Decimal = Decimal(0)

    def cost(self, tokens_read: int, tokens_written: int) -> Decimal:
        return (self.read * tokens_read + self.written * tokens_written) / Decimal(1_000_000)


class Budget:
    """A ceiling, the spending so far, and the reservations of calls in flight."""

    def __init__(self, ceiling: Ceiling, spent: Spend = NOTHING) -> None:
        self.ceiling = ceiling
        self.spent = spent
        self.reserved = Spend()
        self.held = 0

    def reserve(self, spend: Spend) -> bool:
        """Reserve the spending if the ceiling has room for it; return whether it had."""
        if self.ceiling.crossed_by(self.spent + self.reserved + spend):
            return False
        self.reserved += spend
        self.held += 1
        return True

    def settle(self, reserved: Spend, spent: Spend) -> None:
        """Replace a call's reservation by its cost."""
        self.reserved -= reserved
        self.held -= 1
        self.spent += spent
