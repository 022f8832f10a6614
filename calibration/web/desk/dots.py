"""Figures about raters on the dashboard: a dot for each (speed against agreement), and agreement with the human ceiling.

Both come from stored reports, whose numbers the pages of raters and agreement show.
"""

from collections import Counter

from django.urls import reverse
from django.utils.translation import gettext, ngettext

from annotation.models import Rater, Study
from calibration.figures.charts import Bar, Point, interval_bars, scatter
from calibration.figures.drawing import number
from calibration.reports.agreement import AgreementReport, JudgeAgreement
from calibration.reports.codec import Missing
from calibration.reports.raters import RatersReport
from calibration.web.agreement.page import is_ordered
from calibration.web.blocks import Block, Column, Table, cells_of, interval_cells
from calibration.web.raters.page import kind_name

FEWEST = 5
"""Answers below which a rater has no dot."""
MOST_BARS = 12


def rater_pages(study: Study) -> dict[str, str]:
    """Public ids by the name that reports use; names that several raters have are left out. One query."""
    found = Rater.objects.filter(study=study, kind=Rater.Kind.PERSON).only("public_id", "pseudonym", "label")
    raters = [(one.name, one.public_id) for one in found]
    often = Counter(name for name, _public_id in raters)
    return {name: public_id for name, public_id in raters if often[name] == 1}


def dots_block(study: Study, report: RatersReport) -> Block | None:
    """Draw each rater's speed against agreement with the others; None where either is unknown."""
    if isinstance(report.accuracy, Missing) or isinstance(report.habits.pace, Missing):
        return None
    pages = rater_pages(study)
    paces = {row.rater: row for row in report.habits.pace.raters if row.n >= FEWEST}
    rows = [row for row in report.accuracy.rates if row.rater in paces and row.rater in pages]
    if len(rows) < 2:
        return None
    links = [reverse("annotation:rater", args=[study, pages[row.rater]]) for row in rows]
    speed = gettext("Median s per 100 words")
    agreement = gettext("Share of answers within one sigma")
    figure = scatter(
        [
            Point(paces[row.rater].median, row.value, f"{row.rater} (n {row.n})", kind_name(row.kind), link)
            for row, link in zip(rows, links, strict=True)
        ],
        title=gettext("Raters: speed and agreement"),
        x_title=speed,
        y_title=agreement,
    )
    table = Table(
        [
            Column(gettext("Rater")),
            Column(gettext("Median s per 100 words"), 1),
            Column(gettext("Answers"), 0),
            *Column.interval(gettext("Agreement"), 3),
            Column(gettext("Scores"), 0),
        ],
        [
            [row.rater, paces[row.rater].median, paces[row.rater].n, *interval_cells(row.value, row), row.n]
            for row in rows
        ],
        links=links,
    )
    caption = gettext(
        "Each mark is a rater and opens the rater's page; n is the number of scores. A mark that stands apart is a reason "
        "to look, not a finding: the table has the interval of each."
    )
    return Block(
        "dots", gettext("Raters: speed and agreement"), figure=figure, caption=caption, table=table, folded=True
    )


def agreement_block(report: AgreementReport) -> Block:
    """Draw how far people agree with one another, which is the ceiling for judges, and each judge beside them.

    The headline of the page on agreement stands above on the dashboard and is not repeated.
    """
    people = gettext("Raters with one another")
    ends = report.loo_interval
    judges = [(name, row) for name, row in report.judges.items() if isinstance(row, JudgeAgreement)]
    shown = sorted(judges, key=lambda judge: -judge[1].loo)[:MOST_BARS]
    rows = [(people, report.n_tasks, *cells_of(report.loo, ends.low or 0.0, ends.high or 0.0, ends.kind))]
    for name, row in shown:
        rows.append((name, row.n, *interval_cells(row.loo, row.beside.judge)))
    title = gettext("Agreement so far and the human ceiling")
    figure = interval_bars(
        [Bar(name, value, low, high, note=f"n {n}") for name, n, value, low, high in rows],
        title=title,
        x_title=gettext("Agreement with most other raters"),
        rule=report.loo,
        rule_label=gettext("human ceiling"),
    )
    table = Table(
        [Column(gettext("Who")), Column(gettext("Tasks"), 0), *Column.interval(gettext("Agreement"), 3)],
        [list(row) for row in rows],
    )
    shares = ngettext(
        "Raters give the same label %(rate)s of the time on %(n)s task. A judge cannot be expected to agree with them "
        "more often than they do.",
        "Raters give the same label %(rate)s of the time on %(n)s tasks. A judge cannot be expected to agree with them "
        "more often than they do.",
        report.n_tasks,
    ) % {"rate": number(report.loo), "n": number(report.n_tasks, 1)}
    if is_ordered(report):
        many = gettext("On a scale with many values, labels are seldom equal even where raters agree closely.")
        shares = f"{shares} {many}"
    return Block("ceiling", title, answer=shares, figure=figure, table=table, folded=True)
