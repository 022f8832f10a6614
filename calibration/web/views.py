"""Result pages of a study: its weights, and the agreement of its raters and judges."""

from typing import Any, cast
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.text import slugify
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from accounts.models import Event, User
from accounts.permissions import leads_workspace_of, results_page
from annotation.models import Assignment, Criterion, Rater, Study, counting, excluded_shown
from annotation.monitoring.exclusion import exclusions_changed_since
from annotation.studies.access import study_led_by, study_read_by
from annotation.studies.provenance import provenance_of
from calibration.data.frames import NothingToRead
from calibration.fits.categories import FIT_REFUSED, FitRefused
from calibration.fits.export import fit_to_json
from calibration.fits.store import publish_fit, run_fit
from calibration.models import Fit
from calibration.report_store.refreshes import FITTING, fit_settings, is_under_way, refresh
from calibration.reports.agreement import AGREEMENT, AgreementReport, agreement_settings
from calibration.reports.cache import EXCLUDED, SHOWN, is_slow, shown_setting
from calibration.reports.freshness import shown_report
from calibration.web.agreement.page import opening
from calibration.web.answer_notes import answer_notes, are_excluded_asked
from calibration.web.messages.statistics import by_items, refusal_words, words_of_refusal
from calibration.web.serving import file_of
from calibration.web.weights.page import earlier_fits, fit_opening, fit_page
from core.web.access import visible_or_404

LONGEST_WRITTEN = 1000
"""Most characters of a form field that is turned into a slug; a letter with many combining marks is slow to normalise."""


@require_safe
@results_page
def weights(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the newest fit, or the one named by ?fit=; while a fit is being computed, the page reloads itself."""
    study = study_read_by(cast(User, request.user), slug)
    with excluded_shown(are_excluded_asked(request, study)):
        return _weights_page(request, study)


def _weights_page(request: HttpRequest, study: Study) -> HttpResponse:
    fits = earlier_fits(study)
    asked = request.GET.get("fit", "")
    fit = next((one for one in fits if one.public_id == asked), None) if asked else (fits[0] if fits else None)
    if asked and fit is None:
        raise Http404(gettext("This study has no such fit."))
    waiting_since = request.GET.get("after")
    waiting = waiting_since is not None and waiting_since == (fits[0].public_id if fits else "")
    waiting = waiting and is_under_way(study, FITTING)
    refusal = _refusal(study, fits)
    page = fit_page(fit) if fit else None
    if page and "file" in request.GET:
        return file_of(page, request.GET["file"], study.slug)
    context = {
        **_shared(request, study),
        "fit": fit,
        "fits": fits,
        "query": urlencode(({"fit": asked} if asked else {}) | shown_setting()),
        "outdated": fit is not None and exclusions_changed_since(study, fit.created_at),
        **answer_notes(request, study),
        "page": page,
        "path": request.path,
        "waiting": waiting and not refusal,
        "after": waiting_since or "",
        "refusal": refusal,
        "can_be_fitted": _can_be_fitted(study),
        "has_answers": Assignment.objects.filter(counting(), task__study=study)
        .exclude(rater__kind__in=(Rater.Kind.JUDGE, Rater.Kind.KEY))
        .exists(),
    }
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "calibration/weights.html#result", context)
    return render(request, "calibration/weights.html", context)


def _can_be_fitted(study: Study) -> bool:
    """Whether the study collects checklist items and an overall score; true as long as it has no tasks."""
    roles = set(study.asked_criteria().order_by().values_list("role", flat=True).distinct())
    return not roles or {Criterion.Role.ITEM, Criterion.Role.OVERALL} <= roles


@require_POST
@results_page
def fit_now(request: HttpRequest, slug: str) -> HttpResponse:
    """Fit the answers collected so far: at once if that is quick, otherwise in the background."""
    study = study_led_by(cast(User, request.user), slug)
    pool, skip_small = "pool" in request.POST, "skip_small" in request.POST
    shown = request.POST.get(EXCLUDED) == SHOWN and study.exclusions.standing().exists()
    try:
        floor = float(request.POST.get("floor", "0.5"))
    except ValueError:
        floor = -1.0
    if not 0 <= floor <= 10:
        messages.error(request, gettext("The floor must be a number from 0 to 10."))
        return redirect("calibration:weights", slug)
    assert isinstance(request.user, User)
    try:
        newest = next(iter(earlier_fits(study)), None)
        made = begin_fit(study, floor=floor, pool=pool, skip_small=skip_small, shown=shown, user=request.user)
    except (FitRefused, NothingToRead) as error:
        messages.error(request, refusal_words(error))
    else:
        if made is None:
            return _to_weights(slug, shown, after=newest.public_id if newest else "")
    return _to_weights(slug, shown)


def begin_fit(study: Study, *, floor: float, pool: bool, skip_small: bool, shown: bool, user: User) -> Fit | None:
    """Fit the answers collected so far and return the fit, or None where that is slow and a worker was asked.

    Raises FitRefused and NothingToRead.
    """
    with excluded_shown(shown):
        if is_slow(study):
            asked = fit_settings(floor, pool, skip_small)
            refresh(study, FITTING, asked, "calibration.fit_study", *asked.values(), user.pk, shown, rests=False)
            return None
        return run_fit(study=study, floor=floor, pool=pool, skip_small=skip_small, user=user)


def _to_weights(slug: str, shown: bool, **query: str) -> HttpResponse:
    response = redirect("calibration:weights", slug)
    query |= {EXCLUDED: SHOWN} if shown else {}
    if query:
        response["Location"] += f"?{urlencode(query)}"
    return response


@require_POST
@results_page
def publish(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """Give a fit the name by which leaderboards and judges refer to it."""
    study = study_led_by(cast(User, request.user), slug)
    fit = _fit_of(study, public_id)
    name = slugify(request.POST.get("name", "")[:LONGEST_WRITTEN])
    if not name:
        messages.error(request, gettext("Enter a name of letters and digits for the weights."))
    else:
        assert isinstance(request.user, User)
        try:
            publish_fit(fit=fit, name=name, user=request.user)
            messages.success(request, gettext("The weights are published as %(name)s.") % {"name": name})
        except FitRefused as error:
            messages.error(request, refusal_words(error))
    response = redirect("calibration:weights", slug)
    response["Location"] += f"?fit={fit.public_id}#fits-heading"  # the fold in which the name stands opens
    return response


@require_safe
@results_page
def download_fit(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """Download the fit with its rows; fit_weights --from repeats it from this file alone."""
    study = study_read_by(cast(User, request.user), slug)
    fit = _fit_of(study, public_id)
    response = JsonResponse(fit_to_json(fit), json_dumps_params={"ensure_ascii": False})
    response["Content-Disposition"] = f'attachment; filename="weights-{study.slug}-{fit.public_id}.json"'
    return response


@require_safe
@results_page
def summary(request: HttpRequest, slug: str) -> HttpResponse:
    """Show two lines on the study dashboard: how far raters agree, and whether the newest weights hold up."""
    study = study_read_by(cast(User, request.user), slug)
    report = shown_report(study, AGREEMENT, agreement_settings()).report
    fit = next(iter(earlier_fits(study)), None)
    context = {
        "study": study,
        "agreement": opening(report, items=by_items(study)) if isinstance(report, AgreementReport) else "",
        "weights": fit_opening(fit) if fit else "",
        "fit": fit,
    }
    return render(request, "calibration/_summary.html", context)


def _fit_of(study: Study, public_id: str) -> Fit:
    found = study.fits.filter(public_id=public_id).exclude(kind=Fit.Kind.PUBLISHED)
    return visible_or_404(found, message=gettext("This study has no such fit."))


def _shared(request: HttpRequest, study: Study) -> dict[str, object]:
    return {
        "study": study,
        "provenance": provenance_of(study),
        "leads": leads_workspace_of(cast(User, request.user), study),
    }


def _refusal(study: Study, fits: Any) -> str:
    """Why the last background fit was refused, unless a later fit succeeded."""
    event = Event.objects.filter(
        workspace=study.workspace, verb=FIT_REFUSED, object_type="study", object_id=study.public_id
    ).first()
    if event is None or (fits and fits[0].created_at > event.at):
        return ""
    return words_of_refusal(event.after or {})
