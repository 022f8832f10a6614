"""The results of a study's questionnaires for raters: counts of choices, medians of scales and numbers, and texts."""

from dataclasses import replace
from typing import cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_safe

from accounts.models import User
from accounts.permissions import leads_workspace_of, results_page
from annotation.models import Questionnaire, QuestionnaireAnswer, Study
from annotation.questionnaires.answer_lines import LINE_COLUMNS, QuestionResult, answer_lines, results_of
from annotation.questionnaires.questions import CHOICES, FREE_TEXT
from annotation.studies.access import study_read_by
from annotation.studies.provenance import provenance_of
from calibration.figures.charts import Bar, interval_bars
from calibration.web.blocks import Block, Column, ResultPage, Section, Table
from calibration.web.serving import file_of
from core.messages.localized import localized


@require_safe
@results_page
def questionnaires(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what raters said about themselves and their work, question by question, or serve one of its files (?file=)."""
    user = cast(User, request.user)
    study = study_read_by(user, slug)
    page = page_of(study)
    if "file" in request.GET:
        return file_of(page, request.GET["file"], study.slug)
    context = {
        "study": study,
        "provenance": provenance_of(study),
        "can_lead": leads_workspace_of(user, study),
        "page": page,
        "page_title": gettext("Questionnaire"),
        "query": "",
        "path": request.path,
    }
    return render(request, "calibration/questionnaires.html", context)


def page_of(study: Study) -> ResultPage:
    """The page; empty where nobody has answered yet."""
    raters = QuestionnaireAnswer.objects.filter(questionnaire__study=study).values("rater").distinct().count()
    if not raters:
        return ResultPage(
            title=gettext("Questionnaire"),
            method=[],
            opening=gettext("No rater has answered a questionnaire yet"),
            about=gettext("A study can ask raters questions before their first task and after their last one."),
            blocks=[],
            empty=True,
        )
    told = ngettext("%(n)s rater has answered.", "%(n)s raters have answered.", raters) % {"n": raters}
    names = dict(Questionnaire.Moment.choices)
    sections = {moment: Section(moment, str(name)) for moment, name in names.items()}
    blocks = [_block(number, one, sections[one.moment]) for number, one in enumerate(results_of(study), 1)]
    about = gettext(
        "Every rater who answered is counted, also one whose ratings are excluded. Answers to different wordings of a "
        "question are counted apart."
    )
    if blocks:  # the first question that has a figure stands open
        first = next((place for place, block in enumerate(blocks) if block.figure), 0)
        blocks.insert(0, replace(blocks.pop(first), section=None))
    return ResultPage(
        title=gettext("Questionnaire"), opening=told, about=about, blocks=[*blocks, _all_answers(study)], method=[]
    )


def _block(number: int, result: QuestionResult, section: Section) -> Block:
    title = localized(result.question.texts)
    answer = _answer(result)
    key = f"question-{number}"
    notes = []
    if result.versions != (1,):
        notes.append(
            gettext("Asked in version %(versions)s of the questionnaire.")
            % {"versions": ", ".join(map(str, result.versions))}
        )
    if result.question.kind in FREE_TEXT:
        columns = [Column(gettext("Rater")), Column(gettext("Text"))]
        table = Table(columns, result.texts) if result.texts else None
        return Block(key, title, answer=answer, table=table, notes=notes, section=section)
    if not result.counts:
        columns = [Column(gettext("Answer")), Column(gettext("Value"), 2)]
        rows = [
            (gettext("Median"), result.middle),
            (gettext("Lowest"), result.least),
            (gettext("Highest"), result.most),
        ]
        table = Table(columns, rows) if result.answered else None
        return Block(key, title, answer=answer, table=table, notes=notes, section=section)
    if result.question.kind == CHOICES:
        notes.append(gettext("A rater could choose several options."))
    columns = [Column(gettext("Answer")), Column(gettext("Raters"), 0), Column(gettext("Share"), 2)]
    counted = [(name, n, n / result.answered if result.answered else None) for name, n in result.counts]
    figure = ""
    if result.answered:
        bars = [Bar(name, n / result.answered, note=str(n)) for name, n in result.counts]
        figure = interval_bars(
            bars, title=title, x_title=gettext("Share of the raters who answered (and their number)")
        )
    return Block(key, title, answer=answer, figure=figure, table=Table(columns, counted), notes=notes, section=section)


def _answer(result: QuestionResult) -> str:
    told = gettext("%(answered)s of %(asked)s raters answered.") % {"answered": result.answered, "asked": result.asked}
    if result.middle is None:
        return told
    low, high = localized(result.question.low_label), localized(result.question.high_label)
    median = gettext("The median is %(median)s.") % {"median": f"{result.middle:g}"}
    if low and high:
        ends = gettext("%(low)s means “%(low_label)s”, %(high)s means “%(high_label)s”.") % {
            "low": result.question.low,
            "high": result.question.high,
            "low_label": low,
            "high_label": high,
        }
        return f"{told} {median} {ends}"
    return f"{told} {median}"


def _all_answers(study: Study) -> Block:
    digits = {"version": 0}
    table = Table(
        [Column(name, digits.get(name)) for name in LINE_COLUMNS], [line.cells for line in answer_lines(study)]
    )
    about = gettext("One line for each answer. The file has all of them, texts included, by pseudonym.")
    return Block("answers", gettext("All answers"), answer=about, table=table, folded=True)
