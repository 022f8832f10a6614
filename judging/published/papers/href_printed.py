"""What HREF's paper printed (arXiv 2412.15524), as fixtures/published/href.json holds it."""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, TypedDict, cast

from judging.published.judges_of_rows import PrintedMethod
from judging.published.tables import published_tables

SLUG = "href"


class Printed(TypedDict):
    """A printed table: its rows by their names, one value for each column."""

    title: Mapping[str, str]
    instructions: int
    digits: int
    columns: Sequence[str]
    rows: Mapping[str, Sequence[float]]


class PrintedRates(Printed):
    """A printed table of expected win rates, with the rank of each row."""

    ranks: Mapping[str, int]


class PrintedTemplates(TypedDict):
    """The printed table of prompt templates: agreement and correlation by template, None for a dash."""

    title: Mapping[str, str]
    digits: int
    rows: Mapping[str, tuple[float, float | None]]


class PrintedCorrelations(TypedDict):
    """The two correlations of section 4.3."""

    title: Mapping[str, str]
    digits: int
    spearman: float
    pearson: float


class HrefPaper(TypedDict):
    """What the comparison reads of fixtures/published/href.json; `composites` names the members of each by their rows."""

    table_1: Printed
    table_3: PrintedRates
    table_5: PrintedRates
    table_6: PrintedRates
    table_8: PrintedTemplates
    table_9: Printed
    section_4_3: PrintedCorrelations
    baseline: str
    methods: Mapping[str, PrintedMethod]
    composites: Mapping[str, Sequence[str]]
    model_folders: Mapping[str, str]


RatesTable: TypeAlias = Literal["table_3", "table_5", "table_6"]


def printed_href() -> HrefPaper:
    """Return what the project carries of the paper."""
    published = published_tables(SLUG)
    assert published is not None
    return cast(HrefPaper, published)
