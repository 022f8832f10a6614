"""Numbers in templates, written as figures and tables write them: {{ row.low|figure:3 }}."""

from typing import Any

from django import template

from calibration.drawing import decimals

register = template.Library()


@register.filter
def figure(value: Any, digits: int = 2) -> str:
    """With so many decimals and a true minus sign; '' for a missing value, of which the page says why."""
    return "" if value is None or value == "" else decimals(float(value), int(digits))
