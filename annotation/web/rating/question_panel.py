"""The questions beside the text, as HTML: made once for the same questions with the same answers."""

from functools import lru_cache

from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

from annotation.web.rating.forms import AnswerForm, Criteria, Question, Shown

MOST_KEPT = 256


def render_questions(questions: tuple[Question, ...], *, starred: bool) -> SafeString:
    """Every question with what is entered, in the active language; most tasks of a study share the blank ones."""
    return _render(questions, starred, get_language() or "")


def render_blank(criteria: Criteria, shown: Shown) -> SafeString:
    """Every question with nothing entered."""
    if shown.reviewed:
        return render_questions(tuple(AnswerForm(criteria, shown=shown).questions()), starred=shown.starred)
    return _render_blank(criteria, shown.paired, shown.starred, get_language() or "")


@lru_cache(maxsize=MOST_KEPT)
def _render_blank(criteria: Criteria, paired: bool, starred: bool, _language: str) -> SafeString:
    shown = Shown(paired=paired, starred=starred)
    return render_questions(tuple(AnswerForm(criteria, shown=shown).questions()), starred=starred)


@lru_cache(maxsize=MOST_KEPT)
def _render(questions: tuple[Question, ...], starred: bool, _language: str) -> SafeString:
    shown = {"shown": {"starred": starred}}
    parts = (
        render_to_string("annotation/_question.html", {"question": question, "screen": shown}) for question in questions
    )
    return mark_safe("".join(parts))  # nosec B703 # rendered by templates
