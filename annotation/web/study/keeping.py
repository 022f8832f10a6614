"""Buttons of a study's setup: duplicate the study, archive it, and take it back out of the archive."""

from typing import cast

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.models import User
from accounts.permissions import results_page
from annotation.studies.access import study_led_by
from annotation.studies.keeping import archive_study, duplicate_study, restore_study
from annotation.studies.life_cycle import StudyRefused
from annotation.web.study.setup_review import step_url
from annotation.web.study.setup_steps import REVIEW
from core.messages.rendering import for_reader


@results_page
@require_POST
def duplicate(request: HttpRequest, slug: str) -> HttpResponse:
    """Make a draft like this study and open its setup."""
    user = cast(User, request.user)
    study = study_led_by(user, slug)
    try:
        made = duplicate_study(study, by=user)
    except StudyRefused as problem:
        messages.error(request, for_reader(problem))
        return redirect(step_url(study, REVIEW))
    messages.success(request, _("This is the copy. It has no raters and no answers."))
    return redirect("annotation:setup", made)


@results_page
@require_POST
def archive(request: HttpRequest, slug: str) -> HttpResponse:
    """Archive the study, or with do=restore show it in lists again."""
    user = cast(User, request.user)
    study = study_led_by(user, slug)
    if request.POST.get("do") == "restore":
        restore_study(study, by=user)
        messages.success(request, _("The study is in the lists again."))
        return redirect(step_url(study, REVIEW))
    try:
        archive_study(study, by=user)
    except StudyRefused as problem:
        messages.error(request, for_reader(problem))
    else:
        messages.success(request, _("The study is archived. Its results stay readable."))
    return redirect(step_url(study, REVIEW))
