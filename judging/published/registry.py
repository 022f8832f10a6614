"""Every table of a paper that can be computed again here, by benchmark: what the command and its page list."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType

from core.errors import UserError
from core.messages.message import Wording
from judging.published.paper_table import PaperTable

PAPERS = (
    "judging.published.papers.hellobench",
    "judging.published.papers.llmeval",
    "judging.published.papers.href",
    "judging.published.papers.wildbench",
    "judging.published.papers.longgenbench",
)
"""Modules with `TABLES`, imported when first asked for. A name without a module has no table yet."""

NO_TABLES = Wording("no_paper_tables", "No paper's tables are known for %(benchmark)s; they are known for: %(known)s.")
NO_TABLE = Wording("no_paper_table", "The paper of %(benchmark)s has no table %(number)s here; it has: %(known)s.")


class UnknownPaperTable(UserError):
    """No such benchmark or table; the sentence lists those that there are."""


@cache
def paper_tables() -> Mapping[str, tuple[PaperTable, ...]]:
    """Return the tables of each benchmark, by the benchmark's slug, in the papers' order."""
    found: dict[str, list[PaperTable]] = {}
    for name in PAPERS:
        if find_spec(name) is not None:
            for table in import_module(name).TABLES:
                found.setdefault(table.benchmark, []).append(table)
    return MappingProxyType({benchmark: tuple(tables) for benchmark, tables in found.items()})


def tables_of(benchmark: str) -> tuple[PaperTable, ...]:
    """Return the tables of a benchmark's paper. Raises UnknownPaperTable."""
    known = paper_tables()
    if benchmark not in known:
        raise UnknownPaperTable(NO_TABLES(benchmark=benchmark, known=", ".join(known) or "–"))
    return known[benchmark]


def table_numbered(benchmark: str, number: str) -> PaperTable:
    """Return the table of this number, however it is written: "3", "table 3", "figure-3". Raises UnknownPaperTable."""
    tables = tables_of(benchmark)
    for table in tables:
        if table_key(table.number) == table_key(number):
            return table
    raise UnknownPaperTable(NO_TABLE(benchmark=benchmark, number=number, known=_numbers(tables)))


def table_key(number: str) -> str:
    """Return a table's number as it stands in addresses: "3", "figure-3", "section-4.3"."""
    plain = re.sub(r"[\s_-]+", "-", number.casefold().strip())
    plain = re.sub(r"^fig(ure)?\.?-?(?=\d)", "figure-", plain)
    return re.sub(r"^tab(le)?\.?-?(?=\w)", "", plain)


def _numbers(tables: Sequence[PaperTable]) -> str:
    return ", ".join(table.number for table in tables)
