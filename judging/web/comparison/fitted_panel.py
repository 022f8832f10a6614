"""The page on which a lead makes a study's fitted panel a judge."""

from typing import cast

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from accounts.models import User
from accounts.permissions import leads_workspace_of, results_page
from annotation.studies.access import study_read_by
from annotation.studies.provenance import provenance_of
from calibration.reports.freshness import shown_report
from core.errors import UserError
from core.messages.rendering import for_reader
from judging.comparison.fitted_panel import LONGEST_NAME, make_fitted_panel
from judging.comparison.judge_panel import PANEL, JudgePanel, NoPanel
from judging.web.comparison.judge_panel import no_panel_words, opening_of, settings_asked


class PanelForm(forms.Form):
    """The name of the new judge."""

    name = forms.CharField(
        label=_("Name"),
        help_text=_("Leave empty to name it after this study."),
        max_length=LONGEST_NAME,
        required=False,
    )

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **{"label_suffix": "", **kwargs})  # type: ignore[arg-type]


@require_http_methods(["GET", "HEAD", "POST"])
@results_page
def make_panel(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the weights of the study's panel and make it a judge; ?without= leaves a judge out, as on the panel's page."""
    user = cast(User, request.user)
    study = study_read_by(user, slug)
    leads = leads_workspace_of(user, study)
    if request.method == "POST" and not leads:
        raise PermissionDenied
    shown = shown_report(study, PANEL, settings_asked(study, request.GET.dict()), build="judging.build_report")
    report = shown.report
    form = PanelForm(request.POST if request.method == "POST" else None)
    if isinstance(report, JudgePanel) and request.method == "POST" and form.is_valid():
        try:
            made = make_fitted_panel(study, report, name=form.cleaned_data["name"], user=user, clock=timezone.now)
            if made.run is not None:
                return redirect("judging:run", made.run.public_id)
            return redirect("judging:judge", made.judge.rater.public_id)
        except UserError as error:
            form.add_error(None, for_reader(error))
    context = {
        "study": study,
        "provenance": provenance_of(study),
        "form": form,
        "leads": leads,
        "opening": opening_of(report) if isinstance(report, JudgePanel) else "",
        "reason": no_panel_words(report) if isinstance(report, NoPanel) else "",
        "members": zip(report.judges, report.found.members, strict=True) if isinstance(report, JudgePanel) else [],
    }
    return render(request, "judging/make_panel.html", context, status=422 if form.is_bound and form.errors else 200)
