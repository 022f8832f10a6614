"""Texts cut to a length on a page: {{ text|truncatechars:90 }} in every template, without loading it there."""

from typing import Any

from django import template
from django.template import defaultfilters
from django.template.defaultfilters import stringfilter

register = template.Library()

READ_FOR_A_CHARACTER = 10
"""Characters that are looked at for one that is shown: Django puts all marks of the whole text in order before it cuts."""


@register.filter(is_safe=True)
@stringfilter
def truncatechars(value: str, arg: Any) -> str:
    """Django's own filter, for which only the beginning of a long text is read."""
    try:
        most = READ_FOR_A_CHARACTER * max(0, int(arg))
    except ValueError:
        return value
    return str(defaultfilters.truncatechars(value if len(value) <= most else value[:most], arg))
