"""The pages of the table of judges: of a study's, with all that was measured of them, and of those of whole workspaces."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_safe

from accounts.models import User
from accounts.permissions import results_page, workspaces_read_by
from annotation.models import Study
from annotation.studies.access import study_read_by
from calibration.figures.spreads import RangeRow, ranges
from calibration.report_store.refreshes import Refresh
from calibration.statistics.judges.estimates import PeopleEstimate
from calibration.statistics.shares import Share
from calibration.web.blocks import Block, Column, ResultPage, Table
from calibration.web.failed_judges import failed_note, failed_words
from calibration.web.messages.people_estimates import people_cells, people_columns, people_span, populations_meaning
from calibration.web.messages.statistics import criterion_words
from calibration.web.serving import PageKind, file_of, serve
from judging.cards.measured import PER
from judging.cards.table import (
    TABLE,
    JudgeTable,
    TableRow,
    WorkspaceTable,
    request_missing,
    table_settings,
    workspace_table,
)
from judging.web.comparison.depth_pages import judge_links
from judging.web.judges.card import drift_names
from judging.web.probes.messages import POINTS, probe_names

DIGITS = 3
SHOWN_IN_FIGURE = 30
Value = Callable[[TableRow], float | str | None]
MEASURED: Mapping[str, Value] = {
    "agreement": lambda row: row.measured.beside.judge.value if row.measured.beside else None,
    "people": lambda row: row.measured.beside.people.value if row.measured.beside else None,
    "apart": lambda row: row.measured.beside.apart.value if row.measured.beside else None,
    "length": lambda row: _size(row.measured.length),
    "position": lambda row: _size(row.measured.position, 0.5),
    "family": lambda row: _size(row.measured.family),
    "offset": lambda row: _size(row.measured.offset),
    "flips": lambda row: row.measured.flips.value if row.measured.flips else None,
    "slope": lambda row: _size(row.measured.slope),
    "calibration": lambda row: _size(row.measured.calibration, 1.0),
}
"""What the rows can be ordered by where all judges were measured on the same tasks; biases by their distance from none."""
ALWAYS: Mapping[str, Value] = {
    "judge": lambda row: row.judge,
    "verdicts": lambda row: row.measured.verdicts,
    "money": lambda row: float(row.measured.money) if row.measured.money else None,
    "seconds": lambda row: row.measured.seconds,
    "drift": lambda row: {"changed": 2.0, "not_shown": 1.0}.get(row.measured.drift),
}
PROBED: Mapping[str, Value] = {
    "probe": lambda row: abs(row.probe.mean) if row.probe else None,
    "again": lambda row: row.again.value if row.again else None,
}
"""What the rows can be ordered by where all probed judges were asked about the same responses."""


def _size(found: PeopleEstimate | Share | None, none: float = 0.0) -> float | None:
    return None if found is None else abs(found.value - none)


def orders_offered(rows: Sequence[TableRow], *, alike: bool) -> dict[str, Value]:
    """Return what these rows can be ordered by: what was measured of different tasks puts no judge before another."""
    if len(rows) < 2:
        return {}
    probed = {(row.probe.study, row.probe.responses) for row in rows if row.probe}
    return {**ALWAYS, **(MEASURED if alike else {}), **(PROBED if len(probed) == 1 else {})}


def ordered(rows: Sequence[TableRow], order: str, offered: Mapping[str, Value]) -> list[TableRow]:
    """Order the rows as asked, those without a value and then judges that failed their canary texts last."""
    key = offered.get(order.removeprefix("-"))
    if key is None:
        return sorted(rows, key=lambda row: row.measured.failed)
    down = order.startswith("-")
    known = [row for row in rows if key(row) is not None and not row.measured.failed]
    rest = sorted((row for row in rows if row not in known), key=lambda row: row.measured.failed)
    return [*sorted(known, key=key, reverse=down), *rest]  # type: ignore[arg-type]


@dataclass(frozen=True)
class _Heads:
    """Gives the first column of each group its order."""

    offered: Mapping[str, Value]
    order: str

    def of(self, name: str, *columns: Column) -> list[Column]:
        if name not in self.offered:
            return list(columns)
        first, second = (name, f"-{name}") if name == "judge" else (f"-{name}", name)
        sort = ""
        if self.order.removeprefix("-") == name:
            sort = "descending" if self.order.startswith("-") else "ascending"
        head = replace(columns[0], order=second if self.order == first else first, sort=sort)
        return [head, *columns[1:]]


def judge_columns(heads: _Heads, currency: str) -> list[Column]:
    """Return the columns of `judge_cells`."""
    cost = gettext("Cost of %(n)s verdicts") % {"n": f"{PER:,}"}
    if currency:
        cost = gettext("Cost of %(n)s verdicts (%(currency)s)") % {"n": f"{PER:,}", "currency": currency}
    people, interval = people_columns, Column.interval
    return [
        *heads.of("judge", Column(gettext("Judge"))),
        *heads.of("verdicts", Column(gettext("Verdicts"), 0)),
        Column(gettext("Criterion"), optional=True),
        *heads.of("agreement", *people(gettext("Agreement with people"), DIGITS)),
        *heads.of("people", *people(gettext("People with each other"), DIGITS)),
        *heads.of("apart", *people(gettext("Judge minus people"), DIGITS)),
        Column(gettext("Tasks"), 0),
        *heads.of("offset", *people(gettext("Scores above people's, share of the scale"), DIGITS)),
        *heads.of("length", *interval(gettext("Length bias rate"), DIGITS)),
        *heads.of("position", *interval(gettext("Points of the side shown first"), DIGITS)),
        *heads.of("family", *people(gettext("Lift of its own family"), DIGITS)),
        *heads.of("flips", *interval(gettext("Flips in the other order"), DIGITS)),
        Column(gettext("Strongest probe"), names=probe_names()),
        *heads.of("probe", *interval(gettext("Its mean change, points of 100"), 1)),
        Column.p(gettext("p of this probe (corrected)")),
        *heads.of("again", *interval(gettext("Changed when asked again (%)"), 1)),
        *heads.of("slope", *people(gettext("Slope minus a person's"), DIGITS)),
        *heads.of("calibration", *interval(gettext("Calibration of graded verdicts"), DIGITS)),
        *heads.of("drift", Column(gettext("Drift"), names=drift_names())),
        *heads.of("money", Column(cost, 4)),
        *heads.of("seconds", Column(gettext("Seconds of %(n)s verdicts") % {"n": f"{PER:,}"}, 0)),
        Column(gettext("Canary texts"), optional=True),
    ]


def judge_cells(row: TableRow) -> list[object]:
    found = row.measured
    beside, probe, again = found.beside, row.probe, row.again
    return [
        row.judge,
        found.verdicts,
        criterion_words(found.criterion) if found.criterion else "",
        *people_cells(beside.judge if beside else None),
        *people_cells(beside.people if beside else None),
        *people_cells(beside.apart if beside else None),
        beside.n if beside else None,
        *people_cells(found.offset),
        *_share_cells(found.length),
        *_share_cells(found.position),
        *people_cells(found.family),
        *_share_cells(found.flips),
        probe.key if probe else "",
        *([POINTS * value for value in (probe.mean, probe.low, probe.high)] if probe else [None] * 3),
        probe.p if probe else None,
        *([100 * value for value in (again.value, again.low, again.high)] if again else [None] * 3),
        *people_cells(found.slope),
        *_share_cells(found.calibration),
        found.drift,
        float(found.money) if found.money else None,
        found.seconds,
        failed_words() if found.failed else "",
    ]


def _share_cells(found: Share | None) -> list[float | None]:
    if found is None:
        return [None] * 3
    return [found.value, None, None] if found.interval_kind == "none" else [found.value, found.low, found.high]


def table_title() -> str:
    return gettext("What was measured of each judge?")


def table_page(_study: Study, report: JudgeTable, order: str = "") -> ResultPage:
    """Return the page of a study's judges."""
    offered = orders_offered(report.rows, alike=report.alike)
    rows = ordered(report.rows, order, offered)
    if not rows:
        return ResultPage(table_title(), gettext("No judge has a verdict on responses of this study."), [], [])
    links = [reverse("judging:judge_card", args=[row.id]) for row in rows]
    columns = judge_columns(_Heads(offered, order), report.currency)
    table = Table(columns, [judge_cells(row) for row in rows], links=links)
    notes = [*_notes(rows), *([] if report.alike or len(rows) < 2 else [_not_alike()])]
    figure = _figure([(row.judge, row) for row in rows])
    block = Block("judges", gettext("Judges of this study"), figure=figure, table=table, notes=notes)
    failed = [row.judge for row in rows if row.measured.failed]
    return ResultPage(table_title(), opening_of(report.rows), [block], _method(), code=_code(), failed=failed)


def _figure(rows: Sequence[tuple[str, TableRow]]) -> str:
    """Draw, for each judge by its label, its agreement minus that of people on the same tasks; '' where none has any."""
    known = [(name, row.measured.beside.apart) for name, row in rows if row.measured.beside and not row.measured.failed]
    if not known:
        return ""
    title = gettext("Agreement of each judge with people, minus that of people with each other")
    return ranges(
        [RangeRow(name, [people_span(apart)]) for name, apart in known[:SHOWN_IN_FIGURE]],
        title=title,
        x_title=gettext("Judge minus people"),
        series=[title],
        step=0.01,
        rule=0.0,
    )


def opening_of(rows: Sequence[TableRow]) -> str:
    """Count the judges by what is shown of their agreement beside that of people; no judge is put before another."""
    known = [row.measured.beside.apart for row in rows if row.measured.beside]
    # Two raters, one of whom a judge may repeat, show nothing of raters like them.
    above = sum(one.excludes_zero and one.low > 0 and one.population == "such" for one in known)
    below = sum(one.excludes_zero and one.high < 0 for one in known)
    told = [
        ngettext(
            "%(known)d of %(n)d judge can be compared with people",
            "%(known)d of %(n)d judges can be compared with people",
            len(rows),
        )
        % {"known": len(known), "n": len(rows)},
        ngettext(
            "%(n)d is shown to agree with them less than they do with each other",
            "%(n)d are shown to agree with them less than they do with each other",
            below,
        )
        % {"n": below},
        ngettext("%(n)d is shown to agree with them more", "%(n)d are shown to agree with them more", above)
        % {"n": above},
    ]
    return gettext("%(first)s; %(second)s, and %(third)s.") % dict(zip(("first", "second", "third"), told, strict=True))


def _notes(rows: Sequence[TableRow]) -> list[str]:
    notes = [
        gettext(
            "Length bias rate: preferring the longer minus preferring the shorter, 0 is none. Points of the side shown "
            "first: 0.5 is none. Their intervals are about this judge, with the instructions drawn again. Calibration: how "
            "much people's share changes when a verdict changes by 1, for exactly these raters; people's own verdicts fall "
            "short of 1 as well, so that this alone does not say that the judge exaggerates."
        ),
        *populations_meaning([row.measured.beside.judge for row in rows if row.measured.beside]),
    ]
    if any(row.probe for row in rows):
        notes.append(
            gettext(
                "The strongest probe is the one with the largest mean change in the judge's newest run of probes, in "
                "whichever study that was. Its p is corrected for all probes of the judge; its interval is not, so "
                "judge by the p whether it moves the judge."
            )
        )
    notes += [failed_note(row.judge) for row in rows if row.measured.failed]
    if any(row.measured.being_computed for row in rows):
        notes.append(gettext("Some of these values are being computed; open this page again in a moment."))
    return notes


def _not_alike() -> str:
    return gettext(
        "The judges were not compared with people on the same tasks, so that they cannot be ordered by agreement or bias."
    )


def _method() -> list[str]:
    return [
        gettext(
            "Every value is that of the page on which it is explained: agreement and people with each other are "
            "leave-one-out agreement on the tasks that the judge and two people did, biases and calibration are those of "
            "“Bias, graded verdicts, reviewers' findings, and the value of judges”. A press on a judge opens its card."
        )
    ]


def _code() -> list[str]:
    return ["calibration.statistics.judges.agreement", "calibration.statistics.judges.probes"]


JUDGE_TABLE_PAGE: PageKind[JudgeTable] = PageKind(
    report=TABLE,
    settings=lambda study, query: table_settings(study),
    page=table_page,
    title=table_title,
    build="judging.build_report",
    links=lambda: judge_links("judging:judge_table"),
)


@require_safe
@results_page
def judge_table(request: HttpRequest, slug: str) -> HttpResponse:
    """Show all that was measured of a study's judges, a row for each, in the order asked for (?order=)."""
    study = study_read_by(cast(User, request.user), slug)
    return serve(
        request, study, replace(JUDGE_TABLE_PAGE, page=partial(table_page, order=request.GET.get("order", "")))
    )


def workspace_page(found: WorkspaceTable, missing: Refresh, order: str = "") -> ResultPage:
    """Return the page of all judges; costs are in the currency of each judge's workspace.

    `missing` says whether the tables of studies that have none are being computed.
    """
    rows = [row for row, _table in found.rows]
    tables = {row.id: table for row, table in found.rows}
    offered = orders_offered(rows, alike=False)
    offered.pop("probe", None)
    offered.pop("again", None)
    shown = ordered(rows, order, offered)
    currencies = {table.table.currency for _row, table in found.rows}
    heads = _Heads(offered, order)
    columns = judge_columns(heads, currencies.pop() if len(currencies) == 1 else "")
    columns[1:1] = [Column(gettext("Study"))]
    columns += [Column(gettext("Currency"), optional=True), Column(gettext("Computed at"))]
    several = bool(currencies)
    lines: list[list[object]] = []
    for row in shown:
        table, cells = tables[row.id], judge_cells(row)
        currency = table.table.currency if several and row.measured.money else ""
        computed = date_format(table.computed_at, "Y-m-d H:i")
        lines.append([cells[0], table.study.name, *cells[1:], currency, computed])
    links = [reverse("judging:judge_card", args=[row.id]) for row in shown]
    notes = [] if not rows else [*_notes(rows), _where_shown()]
    block = Block(
        "judges",
        gettext("Judges"),
        figure=_figure([(f"{row.judge} · {tables[row.id].study.name}", row) for row in shown]),
        table=Table(columns, lines, links=links) if lines else None,
        notes=notes,
        reason="" if lines else gettext("No table of a study's judges has been computed yet."),
    )
    return ResultPage(
        table_title(),
        opening_of(rows) if rows else gettext("Nothing has been measured of a judge yet."),
        [block, *_not_computed(found.without, missing)],
        _method(),
        code=_code(),
    )


def _not_computed(studies: Sequence[Study], missing: Refresh) -> list[Block]:
    """Return the block that names the studies whose judges are missing, and says whether they are being computed."""
    if not studies:
        return []
    table = Table(
        [Column(gettext("Study"))],
        [[study.name] for study in studies],
        links=[reverse("judging:judge_table", args=[study]) for study in studies],
    )
    if missing.under_way:
        title = gettext("Studies whose table is being computed")
        note = gettext("Their judges stand above as soon as they are measured.")
    else:
        title = gettext("Studies whose table could not be computed")
        note = gettext("Open a study's table to have it computed; its judges then stand here too.")
    return [Block("missing", title, table=table, notes=[note])]


def _where_shown() -> str:
    return gettext(
        "Each judge stands here as it was measured in the study in which most tasks say how far it agrees with people, "
        "when that study's own table was last computed; judges of different studies cannot be ordered by agreement or bias."
    )


@require_safe
@results_page
def all_judges_table(request: HttpRequest) -> HttpResponse:
    """Show all judges of the workspaces whose results the reader may see, as far as their studies' tables are stored."""
    found = workspace_table(workspaces_read_by(cast(User, request.user)))
    missing = request_missing(found)
    left = len(found.without) if missing.under_way else 0
    if request.htmx and request.GET.get("waiting", "") == f"{left}":  # type: ignore[attr-defined]
        return HttpResponse(status=204)  # a page that asks again shows what there is
    page = workspace_page(found, missing, order=request.GET.get("order", ""))
    if "file" in request.GET:
        return file_of(page, request.GET["file"], "judges")
    query = request.GET.copy()
    query.pop("waiting", None)
    context = {"page": page, "path": request.path, "query": query.urlencode(), "left": left}
    return render(request, "judging/all_judges.html", context)
