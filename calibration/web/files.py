"""The figures and tables of the weights page and the agreement page as blocks that can be downloaded as files."""

from collections.abc import Sequence

from django.http import HttpResponse
from django.utils.translation import gettext

from annotation.models import Study
from calibration.web.agreement.page import AgreementPanel
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


def agreement_blocks(panel: AgreementPanel) -> list[Block]:
    """Build "judges", "criteria" and "matrix", as far as the page has them."""
    ends = Column(gettext("From"), 3), Column(gettext("To"), 3)
    judges = Table(
        [Column(gettext("Judge")), Column(gettext("Leave-one-out"), 3), *ends, Column(gettext("Tasks"), 0)],
        [[row["name"], row["loo"], *_ends(row.get("interval")), row["n"]] for row in panel.judge_rows],
    )
    criteria = Table(
        [Column(gettext("Criterion")), Column(gettext("Alpha"), 3), *ends, Column(gettext("Leave-one-out"), 3)],
        [[row["name"], row["alpha"]["value"], *_ends(row["alpha"]), row["loo"]] for row in panel.criterion_rows],
    )
    matrix = Table(
        [
            Column(gettext("Rater")),
            Column(gettext("Rater")),
            Column("Pearson", 3),
            Column("Spearman", 3),
            Column(gettext("Tasks"), 0),
        ],
        matrix_pairs(panel),
    )
    return [
        Block("judges", "", figure=panel.judges_figure, table=judges if judges.rows else None),
        Block("criteria", "", figure=panel.criterion_figure, table=criteria),
        Block("matrix", "", figure=panel.matrix_figure, table=matrix if matrix.rows else None),
    ]


def matrix_pairs(panel: AgreementPanel) -> list[list[object]]:
    """List every pair of raters once: names, Pearson, Spearman, number of tasks."""
    found = panel.report["matrix"]
    if not found:
        return []
    raters = found["raters"]
    return [
        [raters[i], raters[j], found["pearson"][i][j], found["spearman"][i][j], found["n"][i][j]]
        for i in range(len(raters))
        for j in range(i + 1, len(raters))
    ]


def _ends(found: object) -> tuple[object, object]:
    if not isinstance(found, dict) or found.get("kind") in (None, "none"):
        return None, None
    return found["low"], found["high"]
