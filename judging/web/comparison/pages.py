"""The page that compares a study's judges with its people."""

from collections.abc import Sequence
from typing import TypedDict, cast
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from accounts.models import User
from accounts.permissions import leads_workspace_of, results_page
from annotation.models import Rater, Study, are_excluded_shown, excluded_shown
from annotation.studies.access import study_read_by
from annotation.studies.provenance import provenance_of
from calibration.data.verdicts import JudgesVerdicts, failed_among, judges_by_verdicts, judges_without_verdict
from calibration.models import Report
from calibration.report_store.questions import rows_of, state_read_once
from calibration.report_store.refreshes import refresh
from calibration.reports.cache import is_slow, shown_setting
from calibration.reports.codec import Missing, read_back
from calibration.reports.criterion_matches import BY_CRITERION, criterion_settings
from calibration.reports.freshness import Freshness, freshness_of, shown_report, together
from calibration.reports.judges import JUDGES, PairJudgeReport, kind_asked
from calibration.web.agreement.criteria import comparable, criterion_blocks, criterion_method, criterion_opening
from calibration.web.answer_notes import answer_notes, are_excluded_asked
from calibration.web.blocks import Block, ResultPage
from calibration.web.failed_judges import marking
from calibration.web.freshness import not_yet, unchanged
from calibration.web.judges.blocks import matches_blocks, matches_opening, reasonable_opening, swap_block
from calibration.web.judges.page import judge_depth_blocks, judges_depth_page
from calibration.web.serving import file_of, result_of
from generation.endpoints.pricing import currency_of
from judging.comparison.judge_against_people import KIND, JudgeComparison, has_overall, question_about, weighting_for
from judging.leaderboards.weighting import EQUAL, Weighting
from judging.web.comparison.blocks import (
    ComparisonPanel,
    comparison_blocks,
    comparison_panel,
    panel_of,
    panel_without_report,
)
from judging.web.comparison.depth_pages import JUDGES_DEPTH_PAGE, addressed, depth_settings, judge_links
from judging.web.comparison.judge_table import JudgeRow, headings, judge_block, judge_rows, ordered


class _ShownBlocks(TypedDict, total=False):
    """What the page shows beside its table. `compared` are the public ids of the judges with agreement by criterion."""

    compared: set[str]
    path: str
    opening: str
    blocks: list[Block]
    method: Sequence[str]
    code: Sequence[str]


@require_safe
@results_page
def judges(request: HttpRequest, slug: str) -> HttpResponse:
    """Show every judge of this study's responses beside people; a worker compares the judges of a large study."""
    user = cast(User, request.user)
    study = study_read_by(user, slug)
    known = judges_by_verdicts(study)
    with excluded_shown(are_excluded_asked(request, study)), marking(failed_among(known)):
        return _judges_page(request, user, study, known)


def _judges_page(request: HttpRequest, user: User, study: Study, known: Sequence[JudgesVerdicts]) -> HttpResponse:
    failed = failed_among(known)
    panels, shown, freshness = _compared(study, known)
    if (nothing_new := unchanged(request, freshness)) is not None:
        return nothing_new
    order = request.GET.get("order", "")
    ranked = judge_rows(study, panels, [row.judge.pk for row in failed])
    rows = ordered(ranked, order)
    currency = _currency(study, rows)
    if "file" in request.GET and kind_asked(study) == "scores":
        page = _page_of(panels, shown, rows, currency, failed, freshness)
        return not_yet() if page is None else file_of(page, request.GET["file"], study.slug, freshness)
    context = {
        **shown,
        "study": study,
        "provenance": provenance_of(study),
        "panels": panels,
        "rows": rows,
        "first": ranked[0].panel if ranked else None,
        "headings": headings(rows, order),
        "currency": currency,
        "freshness": freshness,
        "leads": leads_workspace_of(user, study),
        "has_tasks": study.tasks.exists,  # asked only by the page of a study without judges
        "discredited": failed,
        "unusable": judges_without_verdict(study, known),
        "links": addressed(study, judge_links("judging:judges")),
        "query": urlencode(shown_setting()),
        **answer_notes(request, study),
    }
    htmx = getattr(request, "htmx", False)
    return render(request, "judging/judges.html#result" if htmx else "judging/judges.html", context)


def judges_page(study: Study) -> tuple[ResultPage | None, Freshness]:
    """Return the figures and tables of the page, and how old they are; None while the first are computed."""
    if kind_asked(study) != "scores":
        return result_of(study, JUDGES_DEPTH_PAGE, {}, excluded=are_excluded_shown())
    known = judges_by_verdicts(study)
    failed = failed_among(known)
    with marking(failed):
        panels, shown, freshness = _compared(study, known)
        rows = judge_rows(study, panels, [row.judge.pk for row in failed])
        return _page_of(panels, shown, rows, _currency(study, rows), failed, freshness), freshness


def _compared(study: Study, known: Sequence[JudgesVerdicts]) -> tuple[list[ComparisonPanel], _ShownBlocks, Freshness]:
    """Return a panel for each judge of scores, what stands in place of panels, and how old both are."""
    if kind_asked(study) != "scores":
        return [], *_blocks(study)
    shown: _ShownBlocks = {}
    panels, freshness = _panels(study, known)
    without_panel = {panel.judge.public_id for panel in panels if panel.reason}
    if without_panel and not freshness.missing:
        shown, others = _by_criterion(study, without_panel)
        freshness = freshness.with_other(others)
        panels = [panel for panel in panels if panel.judge.public_id not in shown.get("compared", set())]
    return panels, shown, freshness


def _page_of(
    panels: Sequence[ComparisonPanel],
    shown: _ShownBlocks,
    rows: Sequence[JudgeRow],
    currency: str,
    failed: Sequence[JudgesVerdicts],
    freshness: Freshness,
) -> ResultPage | None:
    """Return what the page's files show; None while nothing has been computed yet."""
    found = [*comparison_blocks(panels), *shown.get("blocks", [])]
    if panels:
        found.append(judge_block(rows, currency))
    if not found and freshness.missing:
        return None
    opening = rows[0].panel.opening if rows else shown.get("opening", "")
    return ResultPage(gettext("Judges"), opening, found, [], failed=[row.judge.name for row in failed])


def _currency(study: Study, rows: Sequence[JudgeRow]) -> str:
    """Return the currency of the judges' prices, '' where none has a price."""
    return currency_of(study.workspace_id) if any(row.price is not None for row in rows) else ""


def judges_result_page(study: Study, known: Sequence[JudgesVerdicts]) -> ResultPage:
    """Return the table of the study's judges, and each one's points beside people's scores, all computed now."""
    failed = {row.judge.pk for row in failed_among(known)}
    panels = [comparison_panel(study, row.judge, weighting_for(study)) for row in known if row.verdicts]
    rows = judge_rows(study, panels, failed)
    figures = [
        Block(f"points-{place}", row.panel.judge.name, row.panel.opening, row.panel.figure, row.panel.caption)
        for place, row in enumerate(rows, start=1)
        if row.panel.figure
    ]
    opening = rows[0].panel.opening if rows else ""
    table = [judge_block(rows, currency_of(study.workspace_id))] if rows else []
    return ResultPage(gettext("Judges"), opening, [*table, *figures], [])


def _blocks(study: Study) -> tuple[_ShownBlocks, Freshness]:
    """Return the blocks for pairs and for reviews of verdicts, and how old they are."""
    found = shown_report(study, JUDGES, depth_settings(study, {}))
    report = found.report
    if report is None or isinstance(report, Missing):
        return {}, found.freshness
    page = judges_depth_page(study, report)
    shown: _ShownBlocks = {
        "path": reverse("judging:judges_depth", args=[study]),
        "method": page.method[:1],
        "code": page.code,
    }
    if isinstance(report, PairJudgeReport):
        shown["opening"] = matches_opening(report.judges)
        shown["blocks"] = [*matches_blocks(report.judges), swap_block(report.people, report.judges)]
    else:
        shown["opening"] = reasonable_opening(report.reasonable)
        shown["blocks"] = judge_depth_blocks(study, report)
    return shown, found.freshness


def _by_criterion(study: Study, judges: set[str]) -> tuple[_ShownBlocks, Freshness]:
    """Return agreement on each criterion for judges with these public ids, and how old it is.

    `compared` are the judges that share a criterion of some response with people.
    """
    found = shown_report(study, BY_CRITERION, criterion_settings())
    if found.report is None:
        return {}, found.freshness
    compared = judges & comparable(found.report)
    return {
        "compared": compared,
        "path": reverse("judging:judges", args=[study]),
        "opening": criterion_opening(study, found.report, compared),
        "blocks": criterion_blocks(study, found.report, compared),
        "method": criterion_method(study),
        "code": ["calibration.statistics.agreement.leave_one_out", "calibration.statistics.judges.comparison"],
    }, found.freshness


def _panels(study: Study, known: Sequence[JudgesVerdicts]) -> tuple[list[ComparisonPanel], Freshness]:
    """Return a panel per judge, and how old they are; without overall scores there is nothing to do."""
    weighting = weighting_for(study)
    judges = [row.judge for row in known if row.verdicts]
    with state_read_once():
        slow = is_slow(study) and has_overall(study)
        stored = _stored(study, judges, weighting) if slow else {}
    if not slow:
        return [comparison_panel(study, judge, weighting) for judge in judges], Freshness()
    freshness = together(parts for _weights, _row, parts in stored.values())
    if not freshness.current:
        freshness = freshness.of_refresh(refresh(study, KIND, {}, "judging.compare", are_excluded_shown()))
    # After the comparison, a judge without a report has nothing in common with people.
    compared = not freshness.under_way and not freshness.failed
    panels = []
    for judge, (weights, row, _parts) in stored.items():
        if row is not None:
            panels.append(panel_of(study, judge, weights, read_back(JudgeComparison, row.result)))
        elif compared:
            panels.append(panel_without_report(judge))
    if compared:
        freshness = together(parts for _weights, row, parts in stored.values() if row is not None)
    return panels, freshness


def _stored(
    study: Study, judges: Sequence[Rater], weighting: Weighting
) -> dict[Rater, tuple[Weighting, Report | None, Freshness]]:
    """Return the newest stored comparison of each judge, the weights it was made with, and how old it is.

    It has equal weights where the study's weights do not cover every category.
    """
    found: dict[Rater, tuple[Weighting, Report | None, Freshness]] = {}
    for weights in (weighting, Weighting(EQUAL)):
        left = [judge for judge in judges if judge not in found]
        questions = [question_about(study, judge, weights) for judge in left]
        for judge, question, row in zip(left, questions, rows_of(questions), strict=True):
            if row is not None:
                current = row.settings_hash == question.settings_hash
                since = 0 if current else question.answers_since(row)
                found[judge] = weights, row, freshness_of(row, current=current, answers_since=since)
    missing = weighting, None, freshness_of(None, current=False)
    return {judge: found.get(judge, missing) for judge in judges}
