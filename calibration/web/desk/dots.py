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
from calibration.web.blocks import Block, Column, Table, interval_cells
from calibration.web.messages.intervals import ends_words
from calibration.web.messages.people_estimates import people_cells, people_columns
from calibration.web.messages.populations import both_words, widest
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


def agreement_block(report: AgreementReport, *, items: bool = False) -> Block:
    """Draw how far people agree with one another, which is the ceiling for judges, and each judge beside them.

    The headline of the page on agreement stands above on the dashboard and is not repeated. `items`: the clusters are items.
    """
    people, such = gettext("Raters with one another"), report.loo_such
    wide = None if such.low is None or such.high is None else (such.low, such.high)
    judges = [(name, row) for name, row in report.judges.items() if isinstance(row, JudgeAgreement)]
    shown = sorted(judges, key=lambda judge: -judge[1].loo)[:MOST_BARS]
    bars = [Bar(people, report.loo, *widest(report.loo_interval, such), note=f"n {report.n_tasks}")]
    rows: list[list[object]] = [[people, report.n_tasks, report.loo, *_people_ends(report)]]
    for name, row in shown:
        bars.append(Bar(name, *interval_cells(row.loo, row.beside.judge), note=f"n {row.n}"))
        rows.append([name, row.n, *people_cells(row.beside.judge)])
    title = gettext("Agreement so far and the human ceiling")
    figure = interval_bars(
        bars,
        title=title,
        x_title=gettext("Agreement with most other raters"),
        rule=report.loo,
        rule_label=gettext("human ceiling"),
    )
    table = Table([Column(gettext("Who")), Column(gettext("Tasks"), 0), *people_columns(gettext("Agreement"), 3)], rows)
    near = report.loo_interval
    rate = ends_words(report.loo, near.low or 0.0, near.high or 0.0, near.kind, items=items)
    if near.kind not in ("none", "leave_one_out_range"):
        rate = both_words(report.loo, wide, (near.low or 0.0, near.high or 0.0))
    shares = ngettext(
        "Raters give the same label %(rate)s of the time on %(n)s task. A judge cannot be expected to agree with them "
        "more often than they do.",
        "Raters give the same label %(rate)s of the time on %(n)s tasks. A judge cannot be expected to agree with them "
        "more often than they do.",
        report.n_tasks,
    ) % {"rate": rate, "n": number(report.n_tasks, 1)}
    if is_ordered(report):
        many = gettext("On a scale with many values, labels are seldom equal even where raters agree closely.")
        shares = f"{shares} {many}"
    return Block("ceiling", title, answer=shares, figure=figure, table=table, folded=True)


def _people_ends(report: AgreementReport) -> list[float | None]:
    """The cells of people_columns after the value, for the agreement of people with one another."""
    near, such = report.loo_interval, report.loo_such
    ends = None if near.kind == "none" else near.low, None if near.kind == "none" else near.high
    if near.kind == "leave_one_out_range":
        return [None, None, None, None, *ends]
    return [such.low, such.high, *ends, None, None]
