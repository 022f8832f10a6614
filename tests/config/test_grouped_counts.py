"""A count in a cell of a table has its thousands apart: 18,342."""

import re

from django.conf import settings

COUNTS = "answered|answers|cells|judged|judges|runs|skipped|skips|tasks|unscored|agreement.n|pace.n|sides.n"
CELL = re.compile(rf'<td class="num"[^>]*>[^<]*?{{{{ [\w.]*\b(?:{COUNTS})(?P<filter>\|\w+)? }}}}')


def cells():
    """Each count in a cell of a template: the file, the cell, and the filter."""
    for path in sorted((settings.BASE_DIR / "templates").rglob("*.html")):
        for found in CELL.finditer(path.read_text()):
            yield path.name, found.group(0), found["filter"]


def test_counts_in_cells_have_their_thousands_apart():
    found = list(cells())
    assert len(found) > 12
    assert [(name, cell) for name, cell, how in found if how not in ("|grouped", "|length")] == []
