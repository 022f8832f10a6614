"""The page on which a rater answers a study's questionnaire, before the first task or after the last one."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import get_language, gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.assignment.next_task import has_more
from annotation.models import Questionnaire, Rater, Study
from annotation.policies.policies import Policies
from annotation.questionnaires.asking import BEFORE, Asked, due_after, due_before, give, given_answers
from annotation.questionnaires.questions import read_answers
from annotation.recruitment.participation import rater_known, rater_page, study_to_rate
from annotation.web.questionnaire.shown import given_in, shown_questions
from annotation.web.rating.answering import begin_work


@rater_page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def questionnaire(request: HttpRequest, slug: str, moment: str) -> HttpResponse:
    """Show the questions of a moment and store their answers; who is not to answer them now goes on at once."""
    if moment not in Questionnaire.Moment.values:
        raise Http404
    study = study_to_rate(request, slug)
    rater = rater_known(request, study)
    asked = _due(rater, study, moment) if rater is not None else None
    if rater is None or asked is None:
        if rater is not None and moment == BEFORE and request.method == "POST":  # sent twice
            return begin_work(request, study, rater)
        return redirect("annotation:done", study)
    if request.method != "POST":
        return _page(request, study, rater, asked)
    given = given_in(request.POST)
    answers, problems = read_answers(asked.questions, given)
    is_current = request.POST.get("version") == str(asked.questionnaire.version)
    if problems or not is_current:
        return _page(request, study, rater, asked, given=given, problems=problems, changed=not is_current)
    give(asked.questionnaire, rater, answers, language=get_language() or "en")
    messages.success(request, _("Thank you. Your answers have been saved."))
    return begin_work(request, study, rater) if moment == BEFORE else redirect("annotation:done", study)


def _due(rater: Rater, study: Study, moment: str) -> Asked | None:
    if moment == BEFORE:
        return due_before(rater, study) if study.status == Study.Status.OPEN else None
    if has_more(study, rater, clock=timezone.now):
        return None
    return due_after(rater, study, quota=Policies.of(study).quota, given=given_answers(rater))


def _page(
    request: HttpRequest,
    study: Study,
    rater: Rater,
    asked: Asked,
    *,
    given: dict[str, list[str]] | None = None,
    problems: dict[str, str] | None = None,
    changed: bool = False,
) -> HttpResponse:
    context = {
        "study": study,
        "rater": rater,
        "moment": asked.questionnaire.moment,
        "version": asked.questionnaire.version,
        "questions": shown_questions(asked.questions, given, problems),
        "any_required": any(question.required for question in asked.questions),
        "problems": problems,
        "changed": changed,
        "holds": asked.holds or asked.questionnaire.moment == BEFORE,
        "sent": given is not None,
    }
    return render(request, "annotation/questionnaire.html", context, status=200 if given is None else 422)
