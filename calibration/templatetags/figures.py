"""Numbers in templates, written as figures and tables write them: {{ row.low|figure:3 }}."""

from decimal import Decimal
from typing import Any

from django import template

from calibration.figures.drawing import decimals, ends_apart

register = template.Library()
SMALLEST_AMOUNT = Decimal("0.0001")


@register.filter
def figure(value: Any, digits: int = 2) -> str:
    """With so many decimals and a true minus sign; '' for a missing value, of which the page says why."""
    return "" if value is None or value == "" else decimals(float(value), int(digits))


@register.simple_tag
def ends(low: Any, high: Any, digits: int = 2) -> tuple[str, str] | None:
    """The ends of an interval as text, with more decimals where they would look the same; None where they are the same."""
    missing = {None, ""}
    return None if low in missing or high in missing else ends_apart(float(low), float(high), 10.0 ** -int(digits))


@register.filter
def grouped(value: Any) -> str:
    """A number, rounded to a whole one, with its thousands apart: 18,342; '' for a missing one."""
    return "" if value is None or value == "" else f"{round(Decimal(str(value))):,}".replace("-", "−")


@register.filter
def money(value: Any) -> str:
    """An amount to the hundredth, under 1 to the ten-thousandth, none where it is whole; '' for a missing one."""
    if value is None or value == "":
        return ""
    amount = Decimal(str(value))
    if 0 < abs(amount) < SMALLEST_AMOUNT:
        return f"< {SMALLEST_AMOUNT}"
    if amount == amount.to_integral_value():
        return f"{amount:,.0f}"
    return f"{amount:,.2f}" if abs(amount) >= 1 else f"{amount:.4f}"
