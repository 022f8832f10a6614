"""The page of a workspace's phrases by which texts count as errors; a lead changes them or restores the usual ones."""

from typing import cast

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext, gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts.models import User
from accounts.permissions import results_page, workspaces_led_by, workspaces_read_by
from core.errors import UserError
from core.messages.rendering import for_reader
from core.web.access import visible_or_404
from generation.library.error_phrases import (
    LONGEST,
    MOST_PHRASES,
    has_own_phrases,
    phrases_in,
    restore_phrases,
    rules_of,
    set_phrases,
)
from generation.text_metrics.error_modes import RULES, ErrorRules

ROOM = (LONGEST + 2) * MOST_PHRASES
"""Characters that a list can have; more are refused unread."""


class PhrasesForm(forms.Form):
    """Both lists, one phrase a line."""

    refusals = forms.CharField(
        label=_("Openings of a refusal"),
        help_text=_("One a line. A response that begins with one counts as a refusal."),
        widget=forms.Textarea(attrs={"rows": 16}),
        max_length=ROOM,
        required=False,
    )
    meaningless = forms.CharField(
        label=_("Meaningless phrases"),
        help_text=_("One a line. A response that has one anywhere counts as meaningless."),
        widget=forms.Textarea(attrs={"rows": 6}),
        max_length=ROOM,
        required=False,
    )

    def clean_refusals(self) -> tuple[str, ...]:
        return _phrases(self.cleaned_data["refusals"], opening=True)

    def clean_meaningless(self) -> tuple[str, ...]:
        return _phrases(self.cleaned_data["meaningless"], opening=False)


def _phrases(text: str, *, opening: bool) -> tuple[str, ...]:
    try:
        return phrases_in(text, opening=opening)
    except UserError as error:
        raise ValidationError(for_reader(error)) from error


def _written(rules: ErrorRules) -> dict[str, str]:
    return {"refusals": "\n".join(rules.refusals), "meaningless": "\n".join(rules.meaningless)}


@results_page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def error_phrases(request: HttpRequest, slug: str) -> HttpResponse:
    """Whoever reads the workspace's results sees the lists; a lead posts new ones, or action=restore."""
    user = cast(User, request.user)
    workspace = visible_or_404(
        workspaces_read_by(user).filter(slug=slug), message=gettext("There is no such workspace.")
    )
    leads = workspaces_led_by(user).filter(pk=workspace.pk).exists()
    if request.method == "POST" and not leads:
        raise PermissionDenied
    problem = ""
    try:
        rules = rules_of(workspace)
    except UserError as error:
        rules, problem = RULES, for_reader(error)
    form = PhrasesForm(initial=_written(rules))
    if request.method == "POST" and not problem:
        if request.POST.get("action") == "restore":
            restore_phrases(workspace, by=user)
            messages.success(request, gettext("The usual phrases hold again."))
            return redirect("generation:error_phrases", workspace.slug)
        form = PhrasesForm(request.POST)
        if form.is_valid():
            if set_phrases(workspace, **form.cleaned_data, by=user):
                messages.success(request, gettext("The phrases have been saved."))
            return redirect("generation:error_phrases", workspace.slug)
    context = {
        "workspace": workspace,
        "leads": leads,
        "form": form,
        "rules": rules,
        "own": has_own_phrases(workspace),
        "problem": problem,
        "most": MOST_PHRASES,
        "longest": LONGEST,
    }
    return render(request, "generation/error_phrases.html", context, status=422 if form.errors else 200)
