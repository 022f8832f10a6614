"""The figures about raters on a study's dashboard, from the newest stored reports.

A small study's reports are computed at once. A large study's reports are never computed while the dashboard waits: the
figures state their age, and a report that is older than the last answer is recomputed by a worker, once at a time and not
more often than `calibration.report_store.refreshes` allows.
"""

from dataclasses import dataclass
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
from annotation.models import Study
from annotation.monitoring.checks import fails_checks
from annotation.monitoring.progress import category_rows, tally_of, totals
from annotation.monitoring.stored_progress import is_large
from annotation.studies.access import study_read_by
from calibration.report_store.refreshes import refresh
from calibration.report_store.state import scores_of
from calibration.reports.agreement import AGREEMENT, AgreementReport, agreement_report, agreement_settings
from calibration.reports.cache import SLOW_SCORES, latest_report
from calibration.reports.codec import Missing, read_back
from calibration.reports.progress.pace import PACE
from calibration.reports.rater_behaviour import Habits
from calibration.reports.raters import RATERS, RatersReport, rater_settings
from calibration.reports.registry import ReportKind, Settings, report_of
from calibration.web.agreement.page import opening as agreement_opening
from calibration.web.answer_notes import answer_notes
from calibration.web.blocks import Block, ResultPage
from calibration.web.desk.dots import agreement_block, dots_block, rater_pages
from calibration.web.desk.pace import pace_block
from calibration.web.freshness import BUILD
from calibration.web.messages.intervals import estimate_words
from calibration.web.messages.statistics import by_items
from calibration.web.serving import file_of
from calibration.web.weights.page import earlier_fits, fit_opening

MOST_NAMED = 5
FLAT_FROM, FIRST_SIDE_P, FAST_FROM, FEWEST_NAMED = 0.5, 0.01, 0.2, 10
"""Thresholds for naming a rater: the same answer to every item in half of the tasks, a preferred side with p < 0.01, or a
fifth of at least 10 tasks done too fast; for failed quality checks see annotation/monitoring/checks.py."""


@dataclass(frozen=True)
class Figure:
    """A quantity and its interval in words."""

    name: str
    words: str


@dataclass(frozen=True)
class Named:
    """A rater who needs attention, with the reason; `public_id` is '' where several raters have this name."""

    rater: str
    why: str
    public_id: str


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


def refresh_small(study: Study) -> None:
    """Compute the reports that are quick to compute."""
    scores = scores_of(study)
    if is_large(study) or not scores:
        return
    if scores <= SLOW_SCORES:
        agreement_report(study)
        report_of(study, PACE, {})
    if scores <= RATERS.slow_from:
        report_of(study, RATERS, rater_settings())


def desk_figures_of(study: Study) -> DeskFigures:
    """Read the stored figures, in a few queries of which none reads scores."""
    agreement = latest_report(study, AGREEMENT.name, agreement_settings())
    raters = latest_report(study, RATERS.name, rater_settings())
    figures: list[Figure] = []
    agreed = read_back(AGREEMENT.shape, agreement.result) if agreement is not None else None
    if isinstance(agreed, AgreementReport):
        figures.append(Figure(_("Agreement"), agreement_opening(agreed, items=by_items(study))))
    report = read_back(RATERS.shape, raters.result) if raters is not None else None
    if isinstance(report, RatersReport):
        for part, name in ((report.accuracy, _("Accuracy")), (report.consistency, _("Consistency"))):
            if not isinstance(part, Missing):
                figures.append(Figure(name, estimate_words(part.overall)))
    stored = [one.created_at for one in (agreement, raters) if one is not None]
    since = min(stored) if stored else None
    last = _last_answer(study)
    complete = None not in (agreement, raters, latest_report(study, PACE.name, {}))
    outdated = last is not None and (not complete or since is None or last > since)
    fit = next(iter(earlier_fits(study)), None)
    pages = rater_pages(study) if isinstance(report, RatersReport) else {}
    named = [
        Named(rater, why, pages.get(rater, ""))
        for rater, why in (_named(report.habits) if isinstance(report, RatersReport) else [])
    ]
    return DeskFigures(figures, fit_opening(fit) if fit else "", named, since, outdated)


def _last_answer(study: Study) -> datetime | None:
    """When the study was last answered."""
    times = [row["last"] for row in tally_of(study).work.values() if row["last"]]
    return max(times, default=None)


def _named(habits: Habits) -> list[tuple[str, str]]:
    """List the raters whose behaviour needs a lead's attention, with the reason."""
    rows: list[tuple[str, str]] = []
    if not isinstance(habits.same_answers, Missing):
        for answers in habits.same_answers.raters:
            if answers.tasks >= FEWEST_NAMED and answers.flat_tasks >= FLAT_FROM * answers.tasks:
                share = {"n": answers.flat_tasks, "m": answers.tasks}
                words = _("gives every item the same answer in %(n)d of %(m)d tasks") % share
                rows.append((answers.rater, words))
    if not isinstance(habits.sides, Missing):
        for sides in habits.sides.raters:
            if sides.n >= FEWEST_NAMED and sides.p < FIRST_SIDE_P:
                percent = {"share": round(100 * sides.value)}
                rows.append((sides.rater, _("prefers the side shown first in %(share)d %% of pairs") % percent))
    if not isinstance(habits.pace, Missing):
        for pace in habits.pace.raters:
            if pace.n >= FEWEST_NAMED and pace.fast >= FAST_FROM:
                words = _("completes %(share)d %% of tasks in less than a quarter of the usual time")
                rows.append((pace.rater, words % {"share": round(100 * pace.fast)}))
    if not isinstance(habits.controls, Missing):
        for checks in habits.controls.raters:
            if fails_checks(checks.hits, checks.n):
                percent = {"share": round(100 * checks.value)}
                rows.append((checks.rater, _("fails %(share)d %% of quality checks") % percent))
    return rows[: MOST_NAMED * 2]


def ask_again(study: Study) -> None:
    """Have a worker compute the reports, unless it does or they rest."""
    for kind, settings in ((AGREEMENT.name, agreement_settings()), (RATERS.name, rater_settings()), (PACE.name, {})):
        refresh(study, kind, settings, BUILD, kind, settings)


def desk_blocks(study: Study) -> list[Block]:
    """Draw the dashboard's figures from stored reports; the numbers in all are those that the dashboard counts."""
    blocks: list[Block | None] = []
    pace = latest_report(study, PACE.name, {})
    if pace is not None:
        total = totals(category_rows(study, tally_of(study)))
        blocks.append(pace_block(study, read_back(PACE.shape, pace.result), total, timezone.now()))
    raters = _stored(study, RATERS, rater_settings())
    if isinstance(raters, RatersReport):
        blocks.append(dots_block(study, raters))
    agreement = _stored(study, AGREEMENT, agreement_settings())
    if isinstance(agreement, AgreementReport):
        blocks.append(agreement_block(agreement, items=by_items(study)))
    return [block for block in blocks if block is not None]


def _stored(study: Study, kind: ReportKind[Any], settings: Settings) -> Any:
    row = latest_report(study, kind.name, settings)
    return None if row is None else read_back(kind.shape, row.result)


@require_safe
@results_page
@never_cache
def desk_figures(request: HttpRequest, slug: str) -> HttpResponse:
    """Show agreement, accuracy and consistency as last computed, the pace, and the raters who need attention.

    ?file= is a figure or its table as a file.
    """
    study = study_read_by(cast(User, request.user), slug)
    refresh_small(study)
    found = desk_figures_of(study)
    if found.outdated:
        ask_again(study)
    blocks = desk_blocks(study)
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
