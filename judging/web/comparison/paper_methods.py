"""HREF's printed table of judging methods beside the judges of a study, if the study is of HREF's responses."""

from collections.abc import Mapping

from django.utils.translation import gettext

from annotation.models import Study
from calibration.web.blocks import Block, Column, Table
from calibration.web.failed_judges import marked
from core.messages.localized import localized
from generation.models import Category
from judging.comparison.method_table import MethodTable, Rate
from judging.published.judges_of_rows import PrintedMethod, judges_of_rows
from judging.published.tables import published_tables, table_notes, table_source

TABLE = "table_1"
PEOPLE = "Human"


def printed_methods_block(study: Study, report: MethodTable) -> Block | None:
    """Show the printed rates in percent by category, and ours over everything beside them; None without such a table.

    HREF (arXiv 2412.15524), table 1.
    """
    published = published_tables(study.benchmark.slug) if study.benchmark else None
    if published is None or TABLE not in published or "methods" not in published:
        return None
    table = published[TABLE]
    ours = _ours(study, report, published["methods"])
    names = {row.key: row.name for row in Category.objects.filter(benchmark=study.benchmark)}
    columns = [
        Column(gettext("Name in the paper")),
        Column(gettext("Name here")),
        Column(gettext("Overall (paper)"), 1),
        Column(gettext("Overall (here)"), 1),
        Column(gettext("Tasks (here)"), 0),
        *(Column(names.get(key, key), 1) for key in table["columns"][:-1]),
    ]
    rows = []
    for printed_name, values in table["rows"].items():
        name, rate = ours.get(printed_name, ("", None))
        here = (100 * rate.value, rate.n) if rate else (None, None)
        rows.append([printed_name, name, values[-1], *here, *values[:-1]])
    return Block(
        "printed",
        gettext("Published table of the benchmark"),
        table=marked(Table(columns, rows, caption=localized(table["title"])), [str(row[1]) for row in rows]),
        notes=[
            gettext(
                "The category columns show the published numbers; ours are in the first table. A judge of this "
                "site is shown next to a published row if both the method and the model are the same. The paper's "
                "composites were chosen and reported on the same tasks; here, a composite is reported on tasks "
                "that were not used to choose it."
            ),
            *table_notes(published, TABLE),
            gettext("Source: %(source)s.") % {"source": table_source(published, TABLE)},
        ],
        folded=True,
    )


def _ours(study: Study, report: MethodTable, methods: Mapping[str, PrintedMethod]) -> dict[str, tuple[str, Rate]]:
    """Return our judge's name and its rate over everything for each printed row that has one, and people's."""
    found: dict[str, tuple[str, Rate]] = {}
    if report.people.all:
        found[PEOPLE] = (gettext("People among themselves"), report.people.all)
    rates = {row.judge: row.all for row in report.methods if row.all}
    for printed_name, judge in judges_of_rows(study.workspace_id, list(rates), methods).items():
        found[printed_name] = (judge, rates[judge])
    return found
