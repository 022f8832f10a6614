"""The figures and tables of the weights page and the agreement page as blocks that can be downloaded as files."""

from collections.abc import Sequence

from django.http import HttpResponse
from django.utils.translation import gettext

from annotation.models import Study
from calibration.web.blocks import Block, Column, ResultPage, Table
from calibration.web.pages import file_of
from calibration.web.weights.page import FitPage


def panel_file(blocks: Sequence[Block], name: str, study: Study) -> HttpResponse:
    """Serve '<block>.svg', '.png' or '.csv' of these blocks; 404 if there is none."""
    return file_of(ResultPage("", "", blocks, []), name, study.slug)


def weights_blocks(page: FitPage) -> list[Block]:
    """Build "overview" and "weights-1", "weights-2", ... in the order of the page's categories."""
    overview = Table(
        [
            Column(gettext("Category")),
            Column("n", 0),
            Column(gettext("Instructions"), 0),
            Column("R²", 2),
            Column(gettext("R², held out"), 2),
            Column(gettext("Equal weights, held out"), 2),
            Column(gettext("At the floor"), 0),
        ],
        [
            [
                one.name,
                one.n,
                one.certificate.clusters["instruction"],
                one.fit.r2,
                one.by_instruction and one.by_instruction.r2,
                one.by_instruction and one.by_instruction.equal_r2,
                one.floored,
            ]
            for one in page.panels
        ],
    )
    columns = [
        Column(gettext("Item")),
        Column(gettext("Weight"), 2),
        Column(gettext("From"), 2),
        Column(gettext("To"), 2),
        Column(gettext("Published"), 2),
    ]
    own = [
        Block(
            f"weights-{place}",
            one.name,
            figure=one.figure,
            table=Table(columns, [[row.label, row.weight, row.low, row.high, row.published] for row in one.rows]),
        )
        for place, one in enumerate(page.panels, start=1)
    ]
    return [Block("overview", gettext("Categories"), figure=page.overview, table=overview), *own]
