"""Messages of the program in the reader's language: {{ run|stored_text:"message" }} of a row, {{ error|for_reader }}.

{{ opening|closed_up }} and {% closed_up %}...{% end_closed_up %} leave no blank between Chinese sentences of the program.
"""

import re

from django import template
from django.template.base import NodeList, Parser, Token
from django.template.context import Context
from django.utils.safestring import SafeString, mark_safe

from core.messages.rendering import for_reader, stored_for_reader

register = template.Library()
register.filter("for_reader", for_reader)
register.filter("stored_text", stored_for_reader)

_BLANK = re.compile(r"(?<=[。！？；])\s+(?=[^\s<])")


@register.filter(is_safe=True)
def closed_up(text: object) -> str:
    """The sentences without the blanks after full-width stops, which stand only where sentences were put together."""
    return "" if text is None else _BLANK.sub("", str(text))


class ClosedUp(template.Node):
    """A part of a page whose sentences come from several tags."""

    def __init__(self, nodelist: NodeList) -> None:
        self.nodelist = nodelist

    def render(self, context: Context) -> SafeString:
        return mark_safe(_BLANK.sub("", self.nodelist.render(context)))  # nosec B308, B703: it was escaped when rendered


@register.tag("closed_up")
def closed_up_block(parser: Parser, token: Token) -> ClosedUp:
    nodelist = parser.parse(("end_closed_up",))
    parser.delete_first_token()
    return ClosedUp(nodelist)
