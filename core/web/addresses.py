"""Addresses inside a workspace, /w/<workspace>/studies/<slug>/: a slug is unique only in its workspace.

A row's full slug is "workspace/slug": what a view receives from such an address.
"""

from typing import Any, Protocol, TypeVar

from django.db.models import Model, QuerySet
from django.urls import register_converter

SLUG = "[-a-zA-Z0-9_]+"
Row = TypeVar("Row", bound=Model)


class OfWorkspace(Protocol):
    """A row with a slug of its own, and a workspace."""

    workspace: Any
    slug: Any


def full_slug(row: OfWorkspace) -> str:
    return f"{row.workspace.slug}/{row.slug}"


def of_full_slug(rows: QuerySet[Row], name: str) -> QuerySet[Row]:
    """Return the rows (at most one) of this full slug."""
    workspace, _, slug = name.partition("/")
    return rows.filter(workspace__slug=workspace, slug=slug)


class InWorkspace:
    """Converter of the part of an address that names a row: from a row or its full slug, to its full slug."""

    place = ""
    """What stands between the two slugs."""

    def to_python(self, value: str) -> str:
        parts = value.split("/")
        return f"{parts[1]}/{parts[-1]}"

    def to_url(self, value: OfWorkspace | str) -> str:
        workspace, slug = (value if isinstance(value, str) else full_slug(value)).split("/")
        return f"w/{workspace}/{self.place}/{slug}"


def _register(name: str, at: str) -> None:
    regex = f"w/{SLUG}/{at}/{SLUG}"
    register_converter(type(f"{name.title()}Path", (InWorkspace,), {"place": at, "regex": regex}), name)


# Every module of addresses imports views that look rows up by full slug, so these are known before they are used.
_register("study", "studies")
_register("benchmark", "library/benchmarks")
_register("leaderboard", "leaderboards")
