"""Texts cut to a length or to a line on a page: {{ text|truncatechars:90 }} in every template, without loading it there."""

import re
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


READ_FOR_A_TITLE = 2000
"""Characters of a text that are looked at for a title."""
LINE_MARK = re.compile(
    r"^[ \t]{0,3}(?:`{3,}[^`\n]*$|~{3,}[^\n]*$|[|:=*_ \t-]{3,}$|#{1,6}[ \t]+|>[ \t]?|[-*+][ \t]+)", re.MULTILINE
)
"""What begins or ends code, rules a line or a table, or marks a heading, a quotation or an item of a list."""
LINK = re.compile(r"!?\[([^\[\]\n]{0,300})\]\([^()\s]{0,500}\)")
STRONG = re.compile(r"(\*\*|__|`{1,3})(?=\S)([^*_`\n]{1,300}?)(?<=\S)\1")
EMPHASIS = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*\n]{1,300}?)(?<=[^\s*])\*(?![\w*])")


@register.filter
@stringfilter
def plain_line(value: str) -> str:
    """The beginning of a text in Markdown as one line without its marks: {{ text|plain_line|truncatechars:90 }}."""
    begun = LINE_MARK.sub("", value[:READ_FOR_A_TITLE])
    return " ".join(EMPHASIS.sub(r"\1", STRONG.sub(r"\2", LINK.sub(r"\1", begun))).split())
