"""API endpoints for previews: what raters of a study see, screen by screen, and a text in Markdown as pages show it.

Every text is in the language of the request (Accept-Language), as a rater's pages are in theirs. Nothing is stored.
"""

from collections.abc import Sequence
from typing import Any

from django.http import Http404
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.access import Scope, needs
from accounts.api.lists import Unusable, checked, workspace_to_read
from annotation.api.keeping import LONGEST_TEXT
from annotation.api.studies import study_to_read
from annotation.models import Assignment, Questionnaire, Study
from annotation.policies.hints import CONDITION as HINT
from annotation.questionnaires.asking import current
from annotation.questionnaires.questions import NUMBER, SCALE, AskedQuestion, read_answers
from annotation.rules.alignment import word_diff
from annotation.studies.study_size import size_of
from annotation.texts.rendering import RenderedText, render_once, render_text
from annotation.web.questionnaire.shown import ShownQuestion, shown_questions
from annotation.web.rating.forms import SKIP_REASONS, Question
from annotation.web.rating.screens import Pane, Screen, screen_of
from annotation.web.rating.task_page import earlier_turns, form_for
from annotation.web.recruitment.joining import consent_text
from annotation.web.study.previews import preview_assignment
from core.db.stores_nothing import stores_nothing

NUMBER_OF_TASK = OpenApiParameter("number", int, "path", description="Of the task, from 1, in the order of the plan.")
MOMENT = OpenApiParameter("moment", str, "path", enum=Questionnaire.Moment.values)


class RenderedTextSerializer(serializers.Serializer[Any]):
    """A text as pages show it."""

    markdown = serializers.CharField(help_text="As it was written.", trim_whitespace=False)
    html = serializers.CharField(help_text="Sanitized: nothing in it is fetched or run. Formulas are MathML.")
    words = serializers.IntegerField(help_text="A Chinese or Japanese character counts as one.")
    minutes = serializers.FloatField(help_text="Of reading.")
    language = serializers.CharField(help_text="zh-hans or ja where such characters prevail, else empty.")
    notes = serializers.ListField(
        child=serializers.CharField(), help_text="What a reader is told about how it is shown."
    )


class StudyPreviewSerializer(serializers.Serializer[Any]):
    """What a rater of the study reads before the tasks, and which tasks there are."""

    tasks = serializers.IntegerField(help_text="Number of tasks that the study's choices give now.")
    first_of_rubrics = serializers.ListField(
        child=serializers.IntegerField(), help_text="The number of the first task of each rubric."
    )
    without_rubric = serializers.IntegerField(help_text="Responses or pairs that no rubric fits, which are left out.")
    absent = serializers.IntegerField(help_text="Parts to check that are not in their response.")
    consent = RenderedTextSerializer()
    guideline = RenderedTextSerializer(allow_null=True)


class ShownTurnSerializer(serializers.Serializer[Any]):
    role = serializers.CharField()
    text = RenderedTextSerializer()


class ShownSectionSerializer(serializers.Serializer[Any]):
    heading = serializers.CharField()
    level = serializers.IntegerField()
    counterpart = serializers.IntegerField(
        allow_null=True, help_text="The matching section of the other response, from 0, or null."
    )


class ShownResponseSerializer(serializers.Serializer[Any]):
    letter = serializers.CharField(help_text="a or b, in the order shown.")
    name = serializers.CharField()
    text = RenderedTextSerializer()
    sections = ShownSectionSerializer(many=True)


class ShownChoiceSerializer(serializers.Serializer[Any]):
    value = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]  # the base class has a label of its own
    description = serializers.CharField(help_text="What is shown of the choice on focus, or empty.")
    key = serializers.CharField(help_text="The key that chooses it, or empty.")
    stars = serializers.CharField(help_text="The stars drawn beside it, or empty.")


class ShownVerdictSerializer(serializers.Serializer[Any]):
    answer = serializers.CharField()
    reason = serializers.CharField()
    quotations = serializers.ListField(child=serializers.CharField())


class ShownCriterionSerializer(serializers.Serializer[Any]):
    """A question as the screen shows it."""

    number = serializers.IntegerField()
    key = serializers.CharField()
    text = serializers.CharField()
    role = serializers.CharField()
    shape = serializers.ChoiceField(
        choices=["levels", "steps", "number"], help_text="Levels or numbers as buttons, or a field for a number."
    )
    choices = ShownChoiceSerializer(many=True)
    minimum = serializers.FloatField()
    maximum = serializers.FloatField()
    may_not_apply = serializers.BooleanField()
    verdict = ShownVerdictSerializer(allow_null=True, help_text="The judge's answer that is reviewed, or null.")


class SkipReasonSerializer(serializers.Serializer[Any]):
    value = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]  # likewise


class RatingScreenSerializer(serializers.Serializer[Any]):
    """A task as a rater of the study sees it; it names no model."""

    number = serializers.IntegerField()
    tasks = serializers.IntegerField(help_text="Number of tasks that the study's choices give now.")
    task = serializers.CharField(allow_null=True, help_text="Id of the task, null before the launch.")
    study = serializers.CharField(help_text="Name of the study, which stands above the task.")
    layout = serializers.ChoiceField(choices=["single", "pair"])
    headed = serializers.CharField(help_text="A heading such as Review, or empty.")
    part = serializers.CharField(help_text="The part of a longer response that is shown alone, or empty.")
    earlier = ShownTurnSerializer(many=True, help_text="The turns of the conversation before the instruction.")
    instruction = RenderedTextSerializer()
    hint = RenderedTextSerializer(
        allow_null=True, help_text="Where the study shows hints, if only to half of the raters."
    )
    responses = ShownResponseSerializer(many=True, help_text="In the order shown; of a pair, it turns with every task.")
    near_duplicates = serializers.BooleanField(help_text="Whether the screen offers the differences.")
    questions = ShownCriterionSerializer(many=True)
    one_key = serializers.BooleanField(help_text="Whether the answer is sent when it is chosen.")
    skip_reasons = SkipReasonSerializer(many=True)


class ShownChangeSerializer(serializers.Serializer[Any]):
    kind = serializers.ChoiceField(choices=["same", "only_a", "only_b"])
    text = serializers.CharField(trim_whitespace=False)
    coarse = serializers.BooleanField(help_text="Whether a passage differs in too many words to be compared by words.")


class DifferencesSerializer(serializers.Serializer[Any]):
    """Two nearly identical responses as runs of text; leaving out one kind gives the text of the other."""

    changes = ShownChangeSerializer(many=True)


class ShownAnswerSerializer(serializers.Serializer[Any]):
    value = serializers.CharField()
    text = serializers.CharField()


class AskedOfRaterSerializer(serializers.Serializer[Any]):
    """A question of a questionnaire as raters see it."""

    key = serializers.CharField()
    kind = serializers.CharField()
    text = serializers.CharField()
    required = serializers.BooleanField()  # type: ignore[assignment]  # likewise
    options = ShownAnswerSerializer(many=True, help_text="Of a choice, or the points of a scale.")
    low_label = serializers.CharField(help_text="At the low end of a scale, or empty.")
    high_label = serializers.CharField()
    minimum = serializers.FloatField(allow_null=True)
    maximum = serializers.FloatField(allow_null=True)
    longest = serializers.IntegerField(allow_null=True, help_text="Characters of an answer in words.")


class QuestionnairePreviewSerializer(serializers.Serializer[Any]):
    moment = serializers.ChoiceField(choices=Questionnaire.Moment.choices)
    questions = AskedOfRaterSerializer(many=True)


class TriedAnswersSerializer(serializers.Serializer[Any]):
    answers = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField(allow_blank=True), max_length=100),
        help_text="By key of the question what a rater would enter or choose, as texts; several for `choices`.",
    )


class TriedQuestionnaireSerializer(serializers.Serializer[Any]):
    accepted = serializers.BooleanField()
    problems = serializers.DictField(
        child=serializers.CharField(), help_text="By key of the question why its answer would not be taken."
    )


class WantedTextSerializer(serializers.Serializer[Any]):
    text = serializers.CharField(max_length=LONGEST_TEXT, allow_blank=True, trim_whitespace=False)


@extend_schema(operation_id="study_preview", responses=StudyPreviewSerializer)
@api_view(["GET"])
@needs(Scope.READ)
def study_preview(request: Request, workspace: str, slug: str) -> Response:
    """Return what a rater of a study reads before the first task, and how many tasks its choices give now."""
    study = study_to_read(request, workspace, slug)
    size, consent = size_of(study), consent_text(study)
    return Response(
        {
            "tasks": size.tasks,
            "first_of_rubrics": list(size.first_of_rubrics),
            "without_rubric": size.without_rubric,
            "absent": size.absent,
            "consent": _rendered(consent),
            "guideline": _rendered(study.guideline.text) if study.guideline else None,
        }
    )


@extend_schema(operation_id="rating_screen", parameters=[NUMBER_OF_TASK], responses=RatingScreenSerializer)
@api_view(["GET"])
@needs(Scope.READ)
@stores_nothing
def rating_screen(request: Request, workspace: str, slug: str, number: int) -> Response:
    """Return a task of a study, or of its plan before the launch, as a rater would see it."""
    study = study_to_read(request, workspace, slug)
    assignment, count = _assignment(study, number)
    screen, task = screen_of(assignment), assignment.task
    instruction = task.response_a.instruction
    hint = instruction.hint if assignment.conditions.get(HINT) else ""
    return Response(
        {
            "number": number,
            "tasks": count,
            "task": task.public_id if task.pk else None,
            "study": study.name,
            "layout": screen.layout,
            "headed": screen.headed,
            "part": screen.part,
            "earlier": [{"role": role, "text": _rendered(text)} for role, text in earlier_turns(instruction)],
            "instruction": _rendered(instruction.text),
            "hint": _rendered(hint) if hint else None,
            "responses": _responses(screen),
            "near_duplicates": screen.near_duplicates,
            "questions": [_question(question) for question in form_for(screen).questions()],
            "one_key": screen.one_key,
            "skip_reasons": [{"value": value, "label": str(label)} for value, label in SKIP_REASONS],
        }
    )


@extend_schema(operation_id="shown_differences", parameters=[NUMBER_OF_TASK], responses=DifferencesSerializer)
@api_view(["GET"])
@needs(Scope.READ)
@stores_nothing
def differences(request: Request, workspace: str, slug: str, number: int) -> Response:
    """Return where the two responses of a task differ, as a rater can have it shown; 400 unless they are nearly the same."""
    screen = screen_of(_assignment(study_to_read(request, workspace, slug), number)[0])
    if len(screen.shown.texts) != 2:
        raise Unusable(_("This task shows one response, so there is nothing to compare it with."))
    if not screen.near_duplicates:
        raise Unusable(_("The responses of this task differ too much for their differences to be shown."))
    return Response({"changes": [change._asdict() for change in word_diff(*screen.shown.texts)]})


@extend_schema(operation_id="questionnaire_preview", parameters=[MOMENT], responses=QuestionnairePreviewSerializer)
@api_view(["GET"])
@needs(Scope.READ)
def questionnaire_preview(request: Request, workspace: str, slug: str, moment: str) -> Response:
    """Return what raters are asked about themselves at a moment, as they see it."""
    shown = shown_questions(_questions(study_to_read(request, workspace, slug), moment))
    return Response({"moment": moment, "questions": [_of_questionnaire(question) for question in shown]})


@extend_schema(
    operation_id="try_questionnaire",
    parameters=[MOMENT],
    request=TriedAnswersSerializer,
    responses=TriedQuestionnaireSerializer,
    examples=[
        OpenApiExample(
            "A number and a choice", {"answers": {"age": ["34"], "first_language": ["zh"]}}, request_only=True
        )
    ],
)
@api_view(["POST"])
@needs(Scope.READ)
def try_questionnaire(request: Request, workspace: str, slug: str, moment: str) -> Response:
    """Check answers to a questionnaire as a rater's would be; nothing is stored."""
    questions = _questions(study_to_read(request, workspace, slug), moment)
    given = checked(TriedAnswersSerializer(data=request.data))["answers"]
    _read, problems = read_answers(questions, given)
    if unknown := sorted(set(given) - {question.key for question in questions}):
        raise Unusable(_("There is no question %(key)s.") % {"key": repr(unknown[0])})
    return Response({"accepted": not problems, "problems": problems})


@extend_schema(
    operation_id="render_markdown",
    request=WantedTextSerializer,
    responses=RenderedTextSerializer,
    examples=[OpenApiExample("A formula", {"text": "The **area** is $\\pi r^2$."}, request_only=True)],
)
@api_view(["POST"])
@needs(Scope.READ)
def render_markdown(request: Request, workspace: str) -> Response:
    """Return a text in Markdown as pages would show it, such as a guideline before it is saved."""
    workspace_to_read(request, workspace)
    text = checked(WantedTextSerializer(data=request.data))["text"]
    return Response(_said(render_once(text), text))


def _assignment(study: Study, number: int) -> tuple[Assignment, int]:
    """Return the unsaved assignment of task `number`, and how many there are.

    Raises NotFound for another number, and Unusable (409) where the study's choices give no task.
    """
    side = Assignment.Side.A if number % 2 else Assignment.Side.B
    try:
        assignment, count = preview_assignment(study, max(0, number - 1), side)
    except Http404 as none:
        raise Unusable(str(none), status=409) from none
    if not 1 <= number <= count:
        raise NotFound(_("There is no task of this number; the last one is %(n)s.") % {"n": count})
    return assignment, count


def _rendered(text: str) -> dict[str, Any]:
    return _said(render_text(text), text)


def _said(text: RenderedText, source: str) -> dict[str, Any]:
    """Return the fields of RenderedTextSerializer."""
    return {
        "markdown": source,
        "html": "".join(text.blocks),
        "words": text.words,
        "minutes": text.minutes,
        "language": text.language,
        "notes": list(text.notes),
    }


def _responses(screen: Screen) -> list[dict[str, Any]]:
    return [_pane(pane, source) for pane, source in zip(screen.panes, screen.shown.texts, strict=True)]


def _pane(pane: Pane, source: str) -> dict[str, Any]:
    sections: Sequence[dict[str, Any]] = [
        {"heading": one.heading.text, "level": one.heading.level, "counterpart": one.counterpart}
        for one in pane.sections
    ]
    return {"letter": pane.letter, "name": pane.name, "text": _said(pane.text, source), "sections": sections}


def _question(question: Question) -> dict[str, Any]:
    names = ("number", "key", "text", "role", "shape", "minimum", "maximum", "may_not_apply")
    verdict = question.verdict
    return {
        **{name: getattr(question, name) for name in names},
        "choices": [
            {
                "value": choice.value,
                "label": choice.label,
                "description": choice.description,
                "key": choice.key_shown,
                "stars": choice.stars + choice.empty,
            }
            for choice in question.choices
        ],
        "verdict": verdict
        and {"answer": verdict.answer, "reason": verdict.reason, "quotations": list(verdict.quotations)},
    }


def _questions(study: Study, moment: str) -> Sequence[AskedQuestion]:
    """What is asked at the moment. Raises NotFound where there is no such moment."""
    if moment not in Questionnaire.Moment.values:
        raise NotFound(
            _("There is no such moment; there are: %(known)s.") % {"known": ", ".join(Questionnaire.Moment.values)}
        )
    asked = current(study, moment)
    return asked.questions if asked else ()


def _of_questionnaire(shown: ShownQuestion) -> dict[str, Any]:
    question = shown.question
    low, high = shown.ends if question.kind == SCALE else ("", "")
    return {
        "key": question.key,
        "kind": question.kind,
        "text": shown.text,
        "required": question.required,
        "options": [{"value": option.value, "text": option.text} for option in shown.options],
        "low_label": low,
        "high_label": high,
        "minimum": question.minimum if question.kind == NUMBER else None,
        "maximum": question.maximum if question.kind == NUMBER else None,
        "longest": shown.longest or None,
    }
