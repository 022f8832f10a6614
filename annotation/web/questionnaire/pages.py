"""The pages on which a lead writes a study's questionnaire and looks at it as a rater does."""

import tempfile
from pathlib import Path
from typing import Any, cast

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts.models import User
from accounts.permissions import results_page, workspaces_led_by
from annotation.models import Questionnaire, Study
from annotation.questionnaires.asking import current, save_questions
from annotation.questionnaires.presets import PRESETS, preset
from annotation.questionnaires.question_file import LARGEST_FILE, questions_of_file
from annotation.questionnaires.questions import MOST_QUESTIONS, AskedQuestion, read_answers
from annotation.studies.access import study_led_by
from annotation.studies.provenance import provenance_of
from annotation.web.questionnaire.forms import MORE_ROWS, QuestionnaireForm, row_of
from annotation.web.questionnaire.shown import given_in, shown_questions
from annotation.web.rubric import editing
from annotation.web.study.setup_steps import second_suffixes
from core.errors import UserError
from core.web.uploaded_files import takes_files


def _leads(request: HttpRequest) -> bool:
    return isinstance(request.user, User) and workspaces_led_by(request.user).exists()


def _study(request: HttpRequest, slug: str, moment: str) -> Study:
    study = study_led_by(cast(User, request.user), slug)
    if moment not in Questionnaire.Moment.values:
        raise Http404
    return study


def _questions(study: Study, moment: str) -> tuple[AskedQuestion, ...]:
    asked = current(study, moment)
    return asked.questions if asked else ()


@takes_files(_leads)
@results_page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def write_questionnaire(request: HttpRequest, slug: str, moment: str) -> HttpResponse:
    """Edit the questions of a moment. What is changed is saved as a new version, which later raters answer."""
    study = _study(request, slug, moment)
    stored, hidden = _questions(study, moment), second_suffixes(study)
    data = request.POST if request.method == "POST" else None
    form = QuestionnaireForm(stored, data, hidden=hidden)
    status, moved_to, told = 200, "", ""
    if data is not None:
        do, _sep, place = data.get("do", "").partition("-")
        edited, moved_to, told = _edited(request, do, place)
        if edited is not None:
            form = QuestionnaireForm(stored, edited, hidden=hidden)
        elif do == "more":
            form = QuestionnaireForm(stored, data, hidden=hidden, rows=len(form.rows) + MORE_ROWS)
        elif form.is_valid():
            save_questions(study, moment, form.questions, by=cast(User, request.user))
            if do == "preview" and form.questions:
                return redirect("annotation:preview_questionnaire", study, moment)
            messages.success(request, _("The questions have been saved."))
            return redirect("annotation:write_questionnaire", study, moment)
        else:
            status = 422
    context: dict[str, Any] = {
        "study": study,
        "can_lead": True,
        "provenance": provenance_of(study),
        "moment": moment,
        "moments": Questionnaire.Moment.choices,
        "form": form,
        "most": MOST_QUESTIONS,
        "presets": [(name, title) for name, (title, _of) in PRESETS.items()],
        "moved_to": moved_to,
        "told": told,
        "asks_now": status == 422,
        "given": sum(one.given.count() for one in study.questionnaires.filter(moment=moment)),
    }
    return render(request, "annotation/write_questionnaire.html", context, status=status)


def _edited(request: HttpRequest, do: str, place: str) -> tuple[QueryDict | None, str, str]:
    """What a button makes of the rows that were sent, without saving: the rows or None, the button to keep, a message."""
    row = int(place) if place.isdecimal() and place.isascii() and len(place) < 4 else -1
    match do:
        case "up" | "down":
            by = -1 if do == "up" else 1
            return editing.moved(request.POST, row, by), f"{do}-{row + by}", ""
        case "drop":
            return editing.without(request.POST, row), "", ""
        case "preset":
            return _added(request.POST, preset(request.POST.get("preset", ""))), "", ""
        case "import":
            try:
                found = _of_file(request)
            except UserError as problem:
                return request.POST.copy(), "", str(problem)
            return _added(request.POST, found), "", ""
    return None, "", ""


def _of_file(request: HttpRequest) -> tuple[AskedQuestion, ...]:
    """The questions of the file that was sent. Raises UserError."""
    sent = request.FILES.get("table")
    if sent is None or (sent.size or 0) > LARGEST_FILE:
        raise UserError(_("Choose a table of at most 1 MB."))
    suffix = "".join(Path(sent.name or "").suffixes[-1:]).lower()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"questions{suffix if suffix.isascii() and 1 < len(suffix) < 9 else '.csv'}"
        path.write_bytes(sent.read(LARGEST_FILE))
        return questions_of_file(path)


def _added(data: QueryDict, questions: tuple[AskedQuestion, ...]) -> QueryDict:
    """The written rows, then those of the questions, whose keys are free again where a row has them already."""
    form = QuestionnaireForm((), data)
    kept = data
    for number in reversed(range(len(form.rows))):
        if not form.rows[number].written:
            kept = editing.without(kept, number)
    rows = int(str(kept.get("rows", "0")) or 0) if form.rows else 0
    taken = {str(row["origin"].value() or "") for row in form.rows}
    sent = kept.copy()
    for number, one in enumerate(questions, rows):
        fields = row_of(one)
        if one.key in taken:
            fields["origin"] = ""
        for name, value in fields.items():
            sent[f"q{number}-{name}"] = value
    sent["rows"] = str(min(rows + len(questions), MOST_QUESTIONS))
    return sent


@results_page
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def preview_questionnaire(request: HttpRequest, slug: str, moment: str) -> HttpResponse:
    """Show the questions as a rater sees them, and check answers as for a rater. Nothing is stored."""
    study = _study(request, slug, moment)
    questions = _questions(study, moment)
    if not questions:
        messages.info(request, _("There are no questions yet."))
        return redirect("annotation:write_questionnaire", study, moment)
    given = given_in(request.POST) if request.method == "POST" else None
    problems = read_answers(questions, given)[1] if given is not None else {}
    context = {
        "study": study,
        "preview": True,
        "moment": moment,
        "version": 0,
        "questions": shown_questions(questions, given, problems),
        "problems": problems,
        "accepted": given is not None and not problems,
        "holds": True,
    }
    return render(request, "annotation/questionnaire.html", context, status=422 if problems else 200)
