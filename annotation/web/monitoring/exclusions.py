"""The page on which a lead excludes a rater's answers from results, sees first what that touches, and lifts it again."""

from datetime import UTC, datetime
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from accounts.models import User
from accounts.permissions import results_page
from annotation.models import Exclusion, Rater, Study
from annotation.monitoring.exclusion import LONGEST_REASON, exclude, lift, preview_exclusion, standing_exclusion
from annotation.studies.access import study_led_by
from annotation.studies.provenance import provenance_of
from core.errors import UserError
from core.messages.rendering import for_reader
from core.text import storable


class ExclusionForm(forms.Form):
    """From when on, and why."""

    since = forms.DateTimeField(
        required=False,
        label=gettext_lazy("From this date and time on (UTC)"),
        help_text=gettext_lazy("Leave it empty to exclude all answers of this rater."),
        widget=forms.DateTimeInput(attrs={"type": "datetime-local", "step": "1"}, format="%Y-%m-%dT%H:%M:%S"),
    )
    reason = forms.CharField(
        max_length=LONGEST_REASON,
        label=gettext_lazy("Reason"),
        help_text=gettext_lazy("It stays in the study's history and in its export; do not name the person in it."),
        widget=forms.Textarea(attrs={"rows": 3}),
    )

    def clean_since(self) -> datetime | None:
        since = self.cleaned_data["since"]
        return since.astimezone(UTC) if since else None


@results_page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def exclusion_page(request: HttpRequest, slug: str, rater_id: str) -> HttpResponse:
    """Show what excluding would touch (?since=, or all), and exclude on POST."""
    user = cast(User, request.user)
    study, rater = _study_and_rater(user, slug, rater_id)
    if request.method == "POST":
        form = ExclusionForm(request.POST)
        if form.is_valid():
            try:
                exclusion = exclude(study, rater, by=user, **form.cleaned_data)
            except UserError as refused:
                form.add_error(None, for_reader(refused))
            else:
                _tell_excluded(request, exclusion)
                return redirect("annotation:rater", study, rater.public_id)
    else:
        form = ExclusionForm(initial=request.GET.dict())
    return render(
        request, "annotation/exclusion.html", _context(study, rater, form), status=422 if form.errors else 200
    )


@results_page
@require_POST
def lift_exclusion(request: HttpRequest, slug: str, rater_id: str) -> HttpResponse:
    """Let the rater's answers count again."""
    user = cast(User, request.user)
    study, rater = _study_and_rater(user, slug, rater_id)
    exclusion = get_object_or_404(
        Exclusion.objects.select_related("rater"), rater=rater, public_id=storable(request.POST.get("exclusion", ""))
    )
    try:
        back = lift(exclusion, by=user)
    except UserError as refused:
        messages.info(request, for_reader(refused))
        return redirect("annotation:rater", study, rater.public_id)
    told = ngettext("%(n)s answer counts again.", "%(n)s answers count again.", back.answers) % {"n": back.answers}
    if back.unseated:
        told += " " + ngettext(
            "On %(n)s task another rater has taken the slot since, so it now has more ratings than planned.",
            "On %(n)s tasks other raters have taken the slot since, so they now have more ratings than planned.",
            back.unseated,
        ) % {"n": back.unseated}
    messages.success(request, told)
    return redirect("annotation:rater", study, rater.public_id)


def _study_and_rater(user: User, slug: str, rater_id: str) -> tuple[Study, Rater]:
    study = study_led_by(user, slug)
    raters = Rater.objects.filter(study=study, kind=Rater.Kind.PERSON).select_related("cohort", "standing")
    return study, get_object_or_404(raters, public_id=rater_id)


def _context(study: Study, rater: Rater, form: ExclusionForm) -> dict[str, Any]:
    bound = form.data if form.is_bound else form.initial
    try:
        since = form.fields["since"].clean(bound.get("since") or None)
    except forms.ValidationError:
        since = None
    return {
        "study": study,
        "provenance": provenance_of(study),
        "rater": rater,
        "form": form,
        "since": since,
        "touched": preview_exclusion(rater, since),
        "standing": standing_exclusion(rater),
        "earlier": rater.exclusions.exclude(lifted_at=None).select_related("by", "lifted_by").order_by("-pk"),
        "now": timezone.now(),
    }


def _tell_excluded(request: HttpRequest, exclusion: Exclusion) -> None:
    answers = exclusion.rater.assignments.filter(status="excluded").count()
    told = ngettext(
        "%(n)s answer is excluded from results. Its assignment slot is free for other raters.",
        "%(n)s answers are excluded from results. Their assignment slots are free for other raters.",
        answers,
    )
    messages.success(request, told % {"n": answers})
