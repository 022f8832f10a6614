"""The page that compares a study's judges with its people."""

from typing import Any, cast
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from accounts.models import User
from accounts.permissions import leads_workspace_of, results_page
from annotation.models import Study, are_excluded_shown, excluded_shown
from annotation.studies.access import study_read_by
from annotation.studies.provenance import provenance_of
from calibration.data.verdicts import discredited_judges, judges_by_verdicts, judges_without_verdict
from calibration.reports.cache import is_slow, shown_setting
from calibration.reports.codec import Missing
from calibration.reports.criterion_matches import BY_CRITERION, criterion_settings
from calibration.reports.judges import JUDGES, PairJudgeReport, kind_asked
from calibration.web.agreement.criteria import comparable, criterion_blocks, criterion_method, criterion_opening
from calibration.web.answer_notes import answer_notes, are_excluded_asked
from calibration.web.blocks import ResultPage
from calibration.web.judges.blocks import matches_blocks, matches_opening, reasonable_opening, swap_block
from calibration.web.judges.page import judge_depth_blocks, judges_depth_page
from calibration.web.serving import file_of, ready_report
from core.background import send_after_commit
from judging.comparison.judge_against_people import has_overall, is_known, weighting_for
from judging.web.comparison.blocks import ComparisonPanel, comparison_blocks, comparison_panel
from judging.web.comparison.depth_pages import addressed, depth_settings, judge_links


@require_safe
@results_page
def judges(request: HttpRequest, slug: str) -> HttpResponse:
    """Show every judge of this study's responses beside people; a worker compares the judges of a large study."""
    user = cast(User, request.user)
    study = study_read_by(user, slug)
    with excluded_shown(are_excluded_asked(request, study)):
        return _judges_page(request, user, study)


def _judges_page(request: HttpRequest, user: User, study: Study) -> HttpResponse:
    panels: list[ComparisonPanel] = []
    shown: dict[str, Any] = {}
    if kind_asked(study) != "scores":
        shown, waiting = _blocks(request, study)
    else:
        panels, waiting = _panels(request, study)
        without_panel = {panel.judge.public_id for panel in panels if panel.reason}
        if without_panel and not waiting:
            shown, waiting = _by_criterion(request, study, without_panel)
            panels = [panel for panel in panels if panel.judge.public_id not in shown.get("compared", ())]
        if "file" in request.GET:
            found = [*comparison_blocks(panels), *shown.get("blocks", [])]
            return file_of(ResultPage("", "", found, []), request.GET["file"], study.slug)
    context = {
        **shown,
        "study": study,
        "provenance": provenance_of(study),
        "panels": panels,
        "waiting": waiting,
        "leads": leads_workspace_of(user, study),
        "has_tasks": study.tasks.exists(),
        "discredited": discredited_judges(study),
        "unusable": judges_without_verdict(study),
        "links": addressed(study, judge_links("judging:judges")),
        "query": urlencode(shown_setting()),
        **answer_notes(request, study),
    }
    htmx = getattr(request, "htmx", False)
    return render(request, "judging/judges.html#result" if htmx else "judging/judges.html", context)


def _blocks(request: HttpRequest, study: Study) -> tuple[dict[str, Any], bool]:
    """Return the blocks for pairs and for reviews of verdicts, and whether a worker is computing them."""
    settings = depth_settings(study, {})
    report = ready_report(study, JUDGES, settings, asked_before="waiting" in request.GET)
    if report is None:
        return {}, True
    if isinstance(report, Missing):
        return {}, False
    page = judges_depth_page(study, report)
    shown: dict[str, Any] = {
        "path": reverse("judging:judges_depth", args=[study.slug]),
        "method": page.method[:1],
        "code": page.code,
    }
    if isinstance(report, PairJudgeReport):
        shown["opening"] = matches_opening(report.judges)
        shown["blocks"] = [*matches_blocks(report.judges), swap_block(report.people, report.judges)]
    else:
        shown["opening"] = reasonable_opening(report.reasonable)
        shown["blocks"] = judge_depth_blocks(study, report)
    return shown, False


def _by_criterion(request: HttpRequest, study: Study, judges: set[str]) -> tuple[dict[str, Any], bool]:
    """Return agreement on each criterion for judges with these public ids, and whether a worker is computing it.

    `compared` are the judges that share a criterion of some response with people.
    """
    report = ready_report(study, BY_CRITERION, criterion_settings(), asked_before="waiting" in request.GET)
    if report is None:
        return {}, True
    compared = judges & comparable(report)
    return {
        "compared": compared,
        "path": reverse("judging:judges", args=[study.slug]),
        "opening": criterion_opening(study, report, compared),
        "blocks": criterion_blocks(study, report, compared),
        "method": criterion_method(study),
        "code": ["calibration.statistics.agreement.leave_one_out", "calibration.statistics.judges.comparison"],
    }, False


def _panels(request: HttpRequest, study: Study) -> tuple[list[ComparisonPanel], bool]:
    """Return a panel per judge, and whether a worker is computing more; without overall scores there is nothing to do."""
    weighting, slow = weighting_for(study), is_slow(study) and has_overall(study)
    panels, waiting = [], False
    for judge in (row.judge for row in judges_by_verdicts(study) if row.verdicts):
        if slow and not is_known(study, judge, weighting):
            waiting = True
            continue
        panels.append(comparison_panel(study, judge, weighting))
    if waiting and "waiting" not in request.GET:
        send_after_commit("judging.compare", study.pk, are_excluded_shown())
    return panels, waiting
