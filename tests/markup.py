"""A page's HTML as tests read it: white space next to tags counts for nothing, in the page and in what is sought."""

import re
from typing import Any

from django.http import HttpResponse


def squeezed(text: str) -> str:
    """Runs of white space are one space; there is none beside a tag, nor before its end."""
    return re.sub(r" ?([<>]) ?", r"\1", re.sub(r"\s+", " ", text))


class Markup(str):
    """Squeezed HTML. What it is asked for is squeezed alike, and its parts are such text again."""

    __slots__ = ()

    def __new__(cls, text: str) -> "Markup":
        return super().__new__(cls, squeezed(text))

    def __contains__(self, sought: object) -> bool:
        return isinstance(sought, str) and str.__contains__(self, squeezed(sought))

    def __getitem__(self, place: Any) -> "Markup":
        return Markup(super().__getitem__(place))

    def count(self, sought: str, *between: Any) -> int:
        return super().count(squeezed(sought), *between)

    def find(self, sought: str, *between: Any) -> int:
        return super().find(squeezed(sought), *between)

    def index(self, sought: str, *between: Any) -> int:
        return super().index(squeezed(sought), *between)

    def startswith(self, sought: Any, *between: Any) -> bool:
        return super().startswith(squeezed(sought), *between)

    def split(self, by: str | None = None, maxsplit: Any = -1) -> list[Any]:
        return [Markup(part) for part in super().split(None if by is None else squeezed(by), maxsplit)]

    def partition(self, by: str) -> tuple[Any, Any, Any]:
        head, sep, tail = super().partition(squeezed(by))
        return Markup(head), Markup(sep), Markup(tail)

    def rpartition(self, by: str) -> tuple[Any, Any, Any]:
        head, sep, tail = super().rpartition(squeezed(by))
        return Markup(head), Markup(sep), Markup(tail)

    def replace(self, old: str, new: str, *times: Any) -> "Markup":
        return Markup(super().replace(squeezed(old), new, *times))


DRAWN = re.compile(r'(name="csrfmiddlewaretoken" value="|nonce=")[^"]*')
"""Random letters, which may spell anything."""


def markup(response: HttpResponse) -> Markup:
    """The HTML of a response, without the letters that are drawn for each."""
    assert response["Content-Type"].startswith("text/html"), response["Content-Type"]
    return Markup(DRAWN.sub(r"\1", response.content.decode()))
