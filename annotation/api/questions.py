"""API endpoints for what a study asks: its own rubric while it is a draft, and its questionnaires with their answers."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models import Count
from django.http import QueryDict
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.access import Scope, needs
from accounts.api.headers import IF_MATCH, check_unchanged
from accounts.api.lists import Unusable, asking, checked, first_problem, paged
from annotation.api.studies import study_to_change, study_to_read
from annotation.models import Criterion, Questionnaire, QuestionnaireAnswer, Study
from annotation.policies.policies import Policies
from annotation.questionnaires.asking import save_questions
from annotation.questionnaires.questions import read_questions
from annotation.rubrics.offered_scales import OFFERS, offer_of
from annotation.rubrics.question_table import KEY as QUESTION_KEY, MOST_LEVELS
from annotation.rules.subtasks import write_numbers
from annotation.web.rubric.forms import AS_IT_IS, MOST_QUESTIONS, OWN, OWN_OVERALL, RubricForm
from annotation.web.rubric.pages import save_rubric
from core.errors import UserError
from core.messages.localized import localized
from core.messages.rendering import for_reader
from generation.api import CURSOR, SIZE

SCALES = sorted({name for offers in OFFERS.values() for name, _title, _role in offers}) + [AS_IT_IS, OWN, OWN_OVERALL]
MOMENT = OpenApiParameter("moment", str, "path", enum=Questionnaire.Moment.values)


class LevelSerializer(serializers.Serializer[Any]):
    value = serializers.FloatField(help_text="From -1,000,000 to 1,000,000.")
    name = serializers.CharField(
        help_text="Up to 50 characters, in the language of the request (Accept-Language); the other one stays as it is."
    )
    meaning = serializers.CharField(required=False, allow_blank=True, help_text="Up to 500 characters, likewise.")


class AskedCriterionSerializer(serializers.Serializer[Any]):
    """A question of the rubric. `key` of a question that is there keeps it the same question, with its other texts."""

    key = serializers.RegexField(
        f"^{QUESTION_KEY.pattern}$", required=False, max_length=60, help_text="Default: made from the text."
    )
    en = serializers.CharField(required=False, allow_blank=True, max_length=500)
    zh = serializers.CharField(required=False, allow_blank=True, max_length=500)
    scale = serializers.ChoiceField(
        choices=SCALES,
        required=False,
        help_text="One that studies of this kind offer; `as-it-is` for the scale that the question has; `own` or "
        "`own-overall` for `levels` of its own.",
    )
    levels = LevelSerializer(many=True, required=False, help_text="They count with `own`, which is then the default.")
    may_not_apply = serializers.BooleanField(required=False, default=False)
    numbers = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=2000,
        help_text="Of an instruction check: the parts to check, such as 19, 23-25 or 13-52/5.",
    )


class WantedQuestionsSerializer(serializers.Serializer[Any]):
    questions = AskedCriterionSerializer(  # type: ignore[call-arg]
        many=True, allow_empty=False, max_length=MOST_QUESTIONS
    )
    mark = serializers.CharField(
        required=False, allow_blank=True, max_length=40, help_text="Of instruction checks: what a part is called."
    )
    asked = serializers.IntegerField(
        required=False, allow_null=True, min_value=1, max_value=100_000, help_text="Number of parts requested."
    )


class HeldCriterionSerializer(serializers.Serializer[Any]):
    key = serializers.CharField()
    en = serializers.CharField()
    zh = serializers.CharField()
    role = serializers.CharField()
    scale = serializers.CharField(help_text="The name of an offered scale, or `as-it-is` for another one.")
    levels = LevelSerializer(many=True)
    minimum = serializers.FloatField(allow_null=True)
    maximum = serializers.FloatField(allow_null=True)
    step = serializers.FloatField(allow_null=True)
    may_not_apply = serializers.BooleanField()
    numbers = serializers.CharField()


class StudyRubricSerializer(serializers.Serializer[Any]):
    """The questions of a study."""

    rubric = serializers.CharField(allow_null=True, help_text="Key; null where each instruction's own rubric is used.")
    version = serializers.IntegerField(allow_null=True)
    own = serializers.BooleanField(help_text="Whether it was written for this study.")
    fixed = serializers.BooleanField(help_text="Whether the study is launched, so that the questions cannot change.")
    questions = HeldCriterionSerializer(many=True)
    mark = serializers.CharField()
    asked = serializers.IntegerField(allow_null=True)


class VersionSerializer(serializers.Serializer[Any]):
    version = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    answers = serializers.IntegerField(help_text="Number of raters who answered this version.")


class QuestionnaireSerializer(serializers.Serializer[Any]):
    """What raters are asked about themselves before their first task, or after their last one."""

    moment = serializers.ChoiceField(choices=Questionnaire.Moment.choices)
    version = serializers.IntegerField(help_text="0 where nothing was ever asked.")
    questions = serializers.ListField(child=serializers.JSONField())
    versions = VersionSerializer(many=True)


class WantedQuestionnaireSerializer(serializers.Serializer[Any]):
    questions = serializers.ListField(
        child=serializers.JSONField(),
        help_text='{"kind", "text" or "texts", "required", "options", "low", "high", "minimum", "maximum", ...} each; '
        "none asks nothing any more.",
    )


class GivenAnswersSerializer(serializers.ModelSerializer[QuestionnaireAnswer]):
    """What one rater answered, by the keys of the questions of that version."""

    rater = serializers.CharField(source="rater.public_id")
    name = serializers.CharField(source="rater.name")
    cohort = serializers.CharField(source="rater.cohort.name", default=None)
    version = serializers.IntegerField(source="questionnaire.version")
    answered_at = serializers.DateTimeField(source="created_at")

    class Meta:
        model = QuestionnaireAnswer
        fields = ["rater", "name", "cohort", "moment", "version", "language", "answers", "answered_at"]


@extend_schema(methods=["GET"], operation_id="study_rubric", responses=StudyRubricSerializer)
@extend_schema(
    methods=["PUT"],
    operation_id="write_study_rubric",
    parameters=[IF_MATCH],
    request=WantedQuestionsSerializer,
    responses=StudyRubricSerializer,
    examples=[
        OpenApiExample(
            "Checklist",
            {
                "questions": [
                    {"key": "facts", "en": "Are the facts right?", "scale": "yes_no"},
                    {"en": "How good is it overall?", "scale": "overall10"},
                ]
            },
            request_only=True,
        )
    ],
)
@api_view(["GET", "PUT"])
@needs(Scope.READ, put=Scope.CHANGE)
def study_rubric(request: Request, workspace: str, slug: str) -> Response:
    """Return the questions of a study, or write those of a draft: changed ones are its next version of its own rubric."""
    if request.method != "PUT":
        return Response(_rubric(study_to_read(request, workspace, slug)))
    found = study_to_change(request, workspace, slug)
    asked = checked(WantedQuestionsSerializer(data=request.data))
    with transaction.atomic():
        study = Study.objects.select_for_update(of=("self",)).select_related("rubric", "benchmark").get(pk=found.pk)
        check_unchanged(request, _rubric(study))
        _write(study, asked, request)
    return Response(_rubric(study))


def _write(study: Study, asked: Mapping[str, Any], request: Request) -> None:
    """Save the questions as the page on which they are written does, by its form. Raises Unusable."""
    if study.kind == Study.Kind.REVIEW:
        raise Unusable(_("A review study uses the judge's questions and has no rubric of its own."))
    if _fixed(study):
        raise Unusable(_("The questions are fixed since the study was launched."))
    keys = [one["key"] for one in asked["questions"] if one.get("key")]
    for number, one in enumerate(asked["questions"], 1):
        if not (one.get("en", "").strip() or one.get("zh", "").strip()):
            raise Unusable(_("Question %(n)s has no text; send en, zh or both.") % {"n": number})
        if one.get("key") and keys.count(one["key"]) > 1:
            raise Unusable(_("The key %(key)s is there twice.") % {"key": one["key"]})
    form = RubricForm(study, _as_sent(study, asked))
    if not form.is_valid():
        raise Unusable(_first_problem(form))
    try:
        save_rubric(study, form.criteria_fields(), by=asking(request))
    except UserError as problem:
        raise Unusable(for_reader(problem)) from problem


def _as_sent(study: Study, asked: Mapping[str, Any]) -> QueryDict:
    """Return the questions as the page sends its form."""
    known = set(study.rubric.criteria.values_list("key", flat=True)) if study.rubric else set()
    sent = QueryDict(mutable=True)
    sent["rows"] = str(len(asked["questions"]))
    sent["mark"], sent["asked"] = asked.get("mark", ""), str(asked.get("asked") or "")
    for number, one in enumerate(asked["questions"]):
        key, levels = one.get("key", ""), one.get("levels", [])
        scale = one.get("scale") or (OWN if levels else OFFERS[Study.Kind(study.kind)][0][0])
        own = levels if scale in (OWN, OWN_OVERALL) else []
        if len(own) > MOST_LEVELS:
            raise Unusable(_("Question %(n)s has more than %(most)s levels.") % {"n": number + 1, "most": MOST_LEVELS})
        fields = {
            "origin" if key in known else "wanted_key": key,
            "question_en": one.get("en", ""),
            "question_zh": one.get("zh", ""),
            "scale": scale,
            "numbers": one.get("numbers", ""),
            **({"may_not_apply": "on"} if one["may_not_apply"] else {}),
        }
        for place, level in enumerate(own):
            fields |= {f"level{place}_{name}": str(value) for name, value in level.items()}
        for name, value in fields.items():
            sent[f"q{number}-{name}"] = value
    return sent


def _first_problem(form: RubricForm) -> str:
    """Return the first problem of the form with the number of its question."""
    for number, row in enumerate(form.rows, 1):
        if row.errors:
            said = first_problem(dict(row.errors.items()))
            return _("Question %(n)s: %(problem)s") % {"n": number, "problem": said}
    return form.problem or first_problem(dict(form.parts.errors.items()) if form.parts else [])


def _fixed(study: Study) -> bool:
    return study.status != Study.Status.DRAFT or bool(Policies.of(study).launching)


def _rubric(study: Study) -> dict[str, Any]:
    rubric = study.rubric
    criteria = list(rubric.criteria.order_by("position")) if rubric else []
    parts = next((one.subtasks for one in criteria if one.subtasks), None) or {}
    said = {
        "rubric": rubric.key if rubric else None,
        "version": rubric.version if rubric else None,
        "own": bool(rubric and rubric.study_id == study.pk),
        "fixed": _fixed(study),
        "questions": [_question(study, one) for one in criteria],
        "mark": parts.get("mark", ""),
        "asked": parts.get("asked"),
    }
    return dict(StudyRubricSerializer(said).data)


def _question(study: Study, criterion: Criterion) -> dict[str, Any]:
    return {
        "key": criterion.key,
        "en": criterion.questions.get("en", ""),
        "zh": criterion.questions.get("zh-hans", ""),
        "role": criterion.role,
        "scale": offer_of(study.kind, criterion) or AS_IT_IS if study.kind in OFFERS else AS_IT_IS,
        "levels": [
            {
                "value": level["value"],
                "name": localized(level.get("label") or {}) or str(level["key"]),
                "meaning": localized(level.get("description") or {}),
            }
            for level in criterion.levels
        ],
        "minimum": criterion.minimum,
        "maximum": criterion.maximum,
        "step": criterion.step,
        "may_not_apply": criterion.may_not_apply,
        "numbers": write_numbers((criterion.subtasks or {}).get("numbers", ())),
    }


@extend_schema(
    methods=["GET"],
    operation_id="questionnaire",
    parameters=[
        MOMENT,
        OpenApiParameter("version", int, description="An earlier version; default: the one that counts."),
    ],
    responses=QuestionnaireSerializer,
)
@extend_schema(
    methods=["PUT"],
    operation_id="write_questionnaire",
    parameters=[MOMENT, IF_MATCH],
    request=WantedQuestionnaireSerializer,
    responses=QuestionnaireSerializer,
    examples=[
        OpenApiExample(
            "Experience",
            {"questions": [{"kind": "choice", "text": "How often do you write?", "options": ["Daily", "Rarely"]}]},
            request_only=True,
        )
    ],
)
@api_view(["GET", "PUT"])
@needs(Scope.READ, put=Scope.CHANGE)
def questionnaire(request: Request, workspace: str, slug: str, moment: str) -> Response:
    """Return a questionnaire of a study, or write its next version, which later raters answer."""
    if request.method != "PUT":
        study = study_to_read(request, workspace, slug)
        return Response(_questionnaire(study, moment, request.query_params.get("version")))
    found = study_to_change(request, workspace, slug)
    asked = checked(WantedQuestionnaireSerializer(data=request.data))
    with transaction.atomic():
        study = Study.objects.select_for_update(of=("self",)).get(pk=found.pk)
        check_unchanged(request, _questionnaire(study, moment))
        try:
            save_questions(study, moment, read_questions(asked["questions"]), by=asking(request))
        except UserError as problem:
            raise Unusable(for_reader(problem)) from problem
    return Response(_questionnaire(study, moment))


def _questionnaire(study: Study, moment: str, wanted: str | None = None) -> dict[str, Any]:
    """Return the version that counts, or the wanted one. Raises NotFound."""
    if moment not in Questionnaire.Moment.values:
        raise NotFound(_("A study has a questionnaire before and one after; there is no other."))
    held = study.questionnaires.filter(moment=moment).annotate(answers=Count("given")).order_by("version")
    versions = list(held)
    shown = versions[-1] if versions else None
    if wanted is not None:
        shown = next((one for one in versions if str(one.version) == wanted), None)
        if shown is None:
            raise NotFound(_("This questionnaire has no such version."))
    said = {
        "moment": moment,
        "version": shown.version if shown else 0,
        "questions": shown.questions if shown else [],
        "versions": versions,
    }
    return dict(QuestionnaireSerializer(said).data)


@extend_schema(
    operation_id="questionnaire_answers",
    parameters=[SIZE, CURSOR, OpenApiParameter("moment", str, enum=Questionnaire.Moment.values)],
    responses=GivenAnswersSerializer(many=True),
)
@api_view(["GET"])
@needs(Scope.RATINGS)
def questionnaire_answers(request: Request, workspace: str, slug: str) -> Response:
    """List what raters answered in the questionnaires of a study, under their pseudonyms."""
    rows = QuestionnaireAnswer.objects.filter(questionnaire__study=study_to_read(request, workspace, slug))
    if moment := request.query_params.get("moment"):
        rows = rows.filter(moment=moment)
    return paged(request, rows.select_related("questionnaire", "rater__cohort").order_by(), GivenAnswersSerializer)
