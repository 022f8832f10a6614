"""The figures about raters on a study's dashboard, from the newest stored reports.

A small study's reports are computed at once. A large study's reports are never computed while the dashboard waits: the
figures state their age, and a report that is older than the last answer is recomputed by a worker, once at a time and not
more often than `calibration.report_store.refreshes` allows.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.models import User
from accounts.permissions import leads_workspace_of, results_page
from annotation.counters.counts import counts_of
from annotation.models import Study
from annotation.monitoring.progress import Tally, category_rows, rater_rows, tally_of, totals
from annotation.monitoring.stored_progress import is_large
from annotation.studies.access import study_read_by
from calibration.report_store.questions import are_current, question_of, state_read_once
from calibration.report_store.refreshes import refresh
from calibration.report_store.state import scores_of
from calibration.reports.agreement import AGREEMENT, AgreementReport, agreement_report, agreement_settings
from calibration.reports.cache import SLOW_SCORES, latest_report
from calibration.reports.codec import Missing, read_back
from calibration.reports.freshness import BUILD, Freshness, shown_report, together
from calibration.reports.progress.pace import PACE, PaceReport
from calibration.reports.progress.stopping import (
    STOPPING,
    StoppingReport,
    newest_row,
    newest_stopping,
    states_question,
    stopping_settings,
)
from calibration.reports.raters import RATERS, RatersReport, rater_settings
from calibration.reports.registry import ReportKind, Settings, report_of
from calibration.web.agreement.page import opening as agreement_opening
from calibration.web.answer_notes import answer_notes
from calibration.web.blocks import Block, ResultPage
from calibration.web.desk.behaviour import Named, behaviours, named_raters
from calibration.web.desk.dots import agreement_block, dots_block
from calibration.web.desk.pace import pace_block
from calibration.web.desk.stopping import stopping_block
from calibration.web.messages.intervals import estimate_words
from calibration.web.messages.statistics import by_items
from calibration.web.serving import file_of
from calibration.web.weights.page import earlier_fits, fit_opening

MOST_NAMED = 10


@dataclass(frozen=True)
class Figure:
    """A quantity and its interval in words."""

    name: str
    words: str


@dataclass(frozen=True)
class RatersKnown:
    """The newest stored report on raters, None before the first, when it was computed, and whether answers came since."""

    report: RatersReport | None
    since: datetime | None
    outdated: bool


@dataclass(frozen=True)
class DeskFigures:
    """The figures of the dashboard.

    `named` are raters who need attention, with the reason; `since` is when the figures were computed, None before the
    first time. `weights` is the sentence about the newest fit, '' if there is none.
    """

    figures: list[Figure]
    weights: str
    named: list[Named]
    since: datetime | None
    outdated: bool


SHOWN_REPORTS: tuple[tuple[ReportKind[Any], Settings], ...] = (
    (AGREEMENT, agreement_settings()),
    (RATERS, rater_settings()),
    (PACE, {}),
)


def reports_shown(study: Study) -> tuple[tuple[ReportKind[Any], Settings], ...]:
    """The kinds and settings of the reports that the dashboard shows: that on stopping where the study has a question."""
    return (*SHOWN_REPORTS, (STOPPING, stopping_settings())) if states_question(study) else SHOWN_REPORTS


def shown_reports(study: Study) -> tuple[tuple[str, Settings], ...]:
    """The same with the names of the kinds."""
    return tuple((kind.name, settings) for kind, settings in reports_shown(study))


def refresh_small(study: Study) -> None:
    """Compute the reports that are quick to compute, unless they are there."""
    counts = counts_of(study)
    scores = scores_of(study) if counts is None else counts.scores
    if not scores or is_large(study, counts) or are_current(study, shown_reports(study)):
        return
    if scores <= SLOW_SCORES:
        agreement_report(study)
        report_of(study, PACE, {})
        if states_question(study):
            report_of(study, STOPPING, stopping_settings())
    if scores <= RATERS.slow_from:
        report_of(study, RATERS, rater_settings())


def raters_known(study: Study, tally: Tally) -> RatersKnown:
    """Read the report on raters for the pages that show one of them; it is never computed here."""
    row = latest_report(study, RATERS.name, rater_settings())
    report = read_back(RATERS.shape, row.result) if row is not None else None
    last = _last_answer(tally)
    outdated = last is not None and (row is None or last > row.created_at)
    known = report if isinstance(report, RatersReport) else None
    return RatersKnown(known, row.created_at if row is not None else None, outdated)


@dataclass(frozen=True)
class Stored:
    """The newest stored reports of the dashboard, None where there is none, and when they were computed."""

    agreement: AgreementReport | None
    agreed_at: datetime | None
    raters: RatersKnown
    pace: PaceReport | None
    stopping: StoppingReport | None = None


def stored_of(study: Study, tally: Tally) -> Stored:
    """Read the reports, once for the figures in words and those that are drawn."""
    row = latest_report(study, AGREEMENT.name, agreement_settings())
    agreement = read_back(AGREEMENT.shape, row.result) if row is not None else None
    pace = latest_report(study, PACE.name, {})
    return Stored(
        agreement if isinstance(agreement, AgreementReport) else None,
        row.created_at if row is not None else None,
        raters_known(study, tally),
        read_back(PACE.shape, pace.result) if pace is not None else None,
        newest_stopping(study) if states_question(study) else None,
    )


def desk_figures_of(study: Study, tally: Tally | None = None, stored: Stored | None = None) -> DeskFigures:
    """Read the stored figures, in a few queries of which none reads scores."""
    tally = tally or tally_of(study)
    stored = stored or stored_of(study, tally)
    raters, agreed = stored.raters, stored.agreement
    figures: list[Figure] = []
    if agreed is not None:
        figures.append(Figure(_("Agreement"), agreement_opening(agreed, items=by_items(study))))
    report = raters.report
    if report is not None:
        for part, name in ((report.accuracy, _("Accuracy")), (report.consistency, _("Consistency"))):
            if not isinstance(part, Missing):
                figures.append(Figure(name, estimate_words(part.overall)))
    since = min((at for at in (stored.agreed_at, raters.since) if at is not None), default=None)
    last = _last_answer(tally)
    complete = None not in (stored.agreed_at, raters.since, stored.pace)
    complete = complete and (stored.stopping is not None or not states_question(study))
    outdated = last is not None and (not complete or since is None or last > since)
    fit = next(iter(earlier_fits(study)), None)
    excluded = set(study.exclusions.standing().values_list("rater__public_id", flat=True))
    known = behaviours(report) if report is not None else {}
    named = named_raters(study, known, rater_rows(study, tally), excluded, MOST_NAMED)
    return DeskFigures(figures, fit_opening(fit) if fit else "", named, since, outdated)


def _last_answer(tally: Tally) -> datetime | None:
    """When the study was last answered."""
    return max((row["last"] for row in tally.work.values() if row["last"]), default=None)


def ask_again(study: Study) -> None:
    """Have a worker compute the reports, unless it does or they rest."""
    for kind, settings in shown_reports(study):
        refresh(study, kind, settings, BUILD, kind, settings)


def desk_blocks(study: Study, tally: Tally | None = None, stored: Stored | None = None) -> list[Block]:
    """Draw the dashboard's figures from stored reports; the numbers in all are those that the dashboard counts."""
    tally = tally or tally_of(study)
    stored = stored or stored_of(study, tally)
    blocks: list[Block | None] = []
    if stored.stopping is not None:
        blocks.append(stopping_block(stored.stopping))
    if stored.pace is not None:
        total = totals(category_rows(study, tally))
        blocks.append(pace_block(study, stored.pace, total, timezone.now()))
    if stored.raters.report is not None:
        blocks.append(dots_block(study, stored.raters.report))
    if stored.agreement is not None:
        blocks.append(agreement_block(stored.agreement, items=by_items(study)))
    return [block for block in blocks if block is not None]


def dashboard_page(study: Study) -> tuple[ResultPage | None, Freshness]:
    """Return the figures that the dashboard draws, and how old they are; None while one is computed for the first time.

    What is quick to compute is computed now, the rest by a worker that is asked as the dashboard asks it.
    """
    title = _("Dashboard")
    if not scores_of(study):
        return ResultPage(title, _("Figures appear here once raters have answered."), [], [], empty=True), Freshness()
    freshness = together(_freshness(study, kind, settings) for kind, settings in reports_shown(study))
    if freshness.missing and freshness.under_way:
        return None, freshness
    with state_read_once():
        blocks = desk_blocks(study)
    opening = " ".join(block.answer for block in blocks if block.key in ("stopping", "pace"))
    return ResultPage(title, opening, blocks, []), freshness


def _freshness(study: Study, kind: ReportKind[Any], settings: Settings) -> Freshness:
    """Have a report computed if need be, and say how old what is shown of it is: of when to stop, that of any day."""
    found = shown_report(study, kind, settings).freshness
    if kind is not STOPPING or not found.missing or (row := newest_row(study)) is None:
        return found
    since = question_of(study, kind.name, settings).answers_since(row)
    return replace(found, newest=row.pk, computed_at=row.created_at, answers_since=since, missing=False)


@require_safe
@results_page
@never_cache
def desk_figures(request: HttpRequest, slug: str) -> HttpResponse:
    """Show agreement, accuracy and consistency as last computed, the pace, and the raters who need attention.

    ?file= is a figure or its table as a file.
    """
    study = study_read_by(cast(User, request.user), slug)
    refresh_small(study)
    tally = tally_of(study)
    with state_read_once():
        stored = stored_of(study, tally)
        found = desk_figures_of(study, tally, stored)
        blocks = desk_blocks(study, tally, stored)
    if found.outdated:
        ask_again(study)
    if "file" in request.GET:
        return file_of(ResultPage(study.name, "", blocks, []), request.GET["file"], study.slug)
    context = {
        "study": study,
        "found": found,
        "blocks": blocks,
        "can_lead": leads_workspace_of(cast(User, request.user), study),
        "path": reverse("calibration:desk_figures", args=[study]),
        **answer_notes(request, study),
    }
    return render(request, "calibration/_desk_figures.html", context)
