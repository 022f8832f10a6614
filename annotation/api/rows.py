"""API endpoints that take rows: one for each kind of table that a lead can upload, loaded by the same loaders at once.

So a program makes instructions with their benchmark, responses, rubrics and checklists, ratings and preferences with
their study, known and correct answers, and lists of raters.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.decorators import api_view, parser_classes
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.access import Scope, needs
from accounts.api.bodies import LINES, LinesBody, RowsBody
from accounts.api.lists import asking, checked, workspace_to_change
from accounts.api.repeated import KEY, once
from annotation.uploads.asked import DUPLICATES, OPTIONS
from annotation.uploads.kinds import KINDS, TableKind
from annotation.uploads.remedies import on_page
from annotation.uploads.sent_rows import CRITERIA, MOST_ROWS, RowsRefused, store_rows
from core.tables.bad_rows import BadRow

FAIL, SKIP = "fail", "skip"
LISTS = ("requirements", "tags", "checklist", "messages")
"""Fields that may hold lists."""
NUMBERS = ("sample", "tokens", "seconds", "words_asked")
ANY_VALUE = ("value", "level_value", "numbers", "asked")
"""Fields that may be numbers or texts."""
EXAMPLES: dict[str, tuple[str, list[dict[str, Any]], dict[str, str]]] = {
    "instructions": (
        "essays",
        [
            {"instruction": "e1", "prompt": "Write a short essay on tea.", "category": "essay", "tags": ["short"]},
            {"instruction": "e2", "prompt": "写一篇关于茶的短文。", "category": "essay", "language": "zh-hans"},
        ],
        {},
    ),
    "responses": (
        "essays",
        [
            {"instruction": "e1", "model": "model-a", "response": "Tea is a drink."},
            {"instruction": "e1", "model": "model-b", "response": "Few drinks are as old as tea.", "tokens": 9},
        ],
        {},
    ),
    "rubrics": (
        "essays",
        [
            {"rubric": "essay", "criterion": "clear", "question": "Is it clear?", "scale": "1:5"},
            {"rubric": "essay", "criterion": "overall", "question": "How good is it?", "role": "overall"},
        ],
        {},
    ),
    "checklists": ("essays", [{"instruction": "e1", "question": "Is it about tea?"}], {"scale": "0:10"}),
    "checks": (
        "essays",
        [{"instruction": "e1", "question": "Does the week name tea?", "numbers": "1-4", "mark": "Week"}],
        {},
    ),
    "ratings": (
        "essay-ratings",
        [
            {"item": "e1-a", "model": "model-a", "rater": "ann", CRITERIA: {"clear": 4, "true": 5}},
            {"item": "e1-a", "model": "model-a", "rater": "bob", CRITERIA: {"clear": 3, "true": 5}},
        ],
        {"scale": "*=1:5"},
    ),
    "preferences": (
        "essay-pairs",
        [{"item": "e1", "model_a": "model-a", "model_b": "model-b", "rater": "ann", "choice": "B"}],
        {},
    ),
    "truth": ("essay-ratings", [{"item": "e1-a", "model": "model-a", "criterion": "clear", "value": 4}], {}),
    "gold": ("tea-study", [{"instruction": "e1", "model": "model-a", "criterion": "clear", "value": "2-3"}], {}),
    "raters": ("tea-study", [{"name": "Ada", "email": "ada@example.org"}], {"cohort": "evening"}),
}
"""An example of each kind: what the rows belong to, the rows, and the options."""


class RowErrorSerializer(serializers.Serializer[Any]):
    row = serializers.IntegerField(help_text="Number of the row, from 1; 0 stands for all rows.")
    reason = serializers.CharField()
    remedy = serializers.CharField()


class StoredRowsSerializer(serializers.Serializer[Any]):
    """What became of the rows."""

    counts = serializers.DictField(
        child=serializers.IntegerField(), help_text="What was created, completed, already there or left out."
    )
    imported = serializers.IntegerField(
        allow_null=True, help_text="The import, by which all of it can be undone; null if nothing changed."
    )
    row_errors = RowErrorSerializer(many=True, help_text="The rows that were not stored.")
    remarks = serializers.ListField(child=serializers.CharField(), help_text="What is odd about the values.")


class RefusedRowsSerializer(serializers.Serializer[Any]):
    """Why nothing was stored."""

    detail = serializers.CharField()
    row_errors = RowErrorSerializer(many=True)


class SentRowsSerializer(serializers.Serializer[Any]):
    """Rows, and what they belong to; each kind says what its rows are."""

    into = serializers.CharField(max_length=100, required=False, allow_blank=True, default="")
    rows = serializers.ListField(child=serializers.JSONField(), allow_empty=False)
    on_error = serializers.ChoiceField(
        choices=[FAIL, SKIP],
        default=FAIL,
        help_text="Whether one bad row makes all fail, so that nothing is stored, or is left out.",
    )
    options = serializers.DictField(
        child=serializers.CharField(allow_blank=True, max_length=1000),
        required=False,
        default=dict,
        help_text=f"Any of {', '.join(OPTIONS)}; duplicates is one of {', '.join(DUPLICATES)}.",
    )

    def validate_rows(self, rows: list[Any]) -> list[Any]:
        """Refuse more rows than one request may have."""
        if len(rows) > MOST_ROWS:
            raise serializers.ValidationError(
                _("One request takes at most %(most)s rows. Send the rows in several requests.") % {"most": MOST_ROWS}
            )
        return rows

    def validate_options(self, options: dict[str, str]) -> dict[str, str]:
        """Refuse options that do not exist."""
        for name in options:
            if name not in OPTIONS:
                raise serializers.ValidationError(
                    _("There is no option %(name)s; use any of %(known)s.")
                    % {"name": repr(name[:50]), "known": ", ".join(OPTIONS)}
                )
        return options


def _row_serializer(kind: TableKind) -> type[serializers.Serializer[Any]]:
    """Return the serializer that describes a row of the kind in the schema."""
    fields: dict[str, Any] = {}
    for one in kind.fields:
        given: dict[str, Any] = {"required": one.name in kind.needed, "help_text": str(one.label)}
        if one.name in NUMBERS:
            fields[one.name] = serializers.FloatField(**given)
        elif one.name in LISTS or one.name in ANY_VALUE:
            fields[one.name] = serializers.JSONField(**given)
        else:
            fields[one.name] = serializers.CharField(**given)
    if kind.key == "ratings":
        answers = serializers.JSONField()
        fields[CRITERIA] = serializers.DictField(
            child=answers, required=False, help_text="Answers by criterion, instead of criterion and value."
        )
    return type(f"{_camel(kind)}RowSerializer", (serializers.Serializer,), fields)


def _sent_serializer(kind: TableKind) -> type[SentRowsSerializer]:
    row = _row_serializer(kind)
    where = "study" if kind.into == "study" else "benchmark"
    fields = {
        "into": serializers.CharField(
            max_length=100, required=kind.key != "rubrics", help_text=f"Slug of the {where} to which the rows belong."
        ),
        "rows": serializers.ListField(child=row(), help_text=f"At most {MOST_ROWS} rows."),
        "__doc__": "Rows, and what they belong to.",
    }
    return type(f"Sent{_camel(kind)}Serializer", (SentRowsSerializer,), fields)


def _camel(kind: TableKind) -> str:
    return kind.key.capitalize()


def _view(kind: TableKind) -> Callable[..., Response]:
    """Return the view that takes rows of the kind."""
    into, rows, options = EXAMPLES[kind.key]
    sent = {"into": into, "rows": rows, **({"options": options} if options else {})}
    described = _sent_serializer(kind)

    @extend_schema(
        operation_id=f"add_{kind.key}",
        summary=f"Add {kind.key}",
        parameters=[KEY],
        request={"application/json": described, LINES: bytes},
        responses={201: StoredRowsSerializer, 400: RefusedRowsSerializer},
        examples=[
            OpenApiExample("Rows", sent, request_only=True, media_type="application/json"),
            OpenApiExample(
                "Stored",
                {"counts": {"created": len(rows)}, "imported": 1, "row_errors": [], "remarks": []},
                response_only=True,
                status_codes=["201"],
            ),
        ],
    )
    @api_view(["POST"])
    @needs(Scope.CHANGE)
    @parser_classes([RowsBody, LinesBody])
    @once
    def add_rows(request: Request, workspace: str) -> Response:
        """Store up to 10,000 rows at once: all or none, or with on_error=skip those that are not bad.

        As JSON Lines, one row a line, with into, on_error and the options in the query of the address.
        """
        found = workspace_to_change(request, workspace)
        asked = checked(SentRowsSerializer(data=_asked(request)))
        try:
            stored = store_rows(
                workspace=found,
                by=asking(request),
                kind=kind.key,
                into=asked["into"],
                rows=asked["rows"],
                options=asked["options"],
                skip=asked["on_error"] == SKIP,
            )
        except RowsRefused as problem:
            said = {"detail": on_page(problem.message), "row_errors": _errors(problem.bad)}
            return Response(said, status=400)
        answer = {"counts": stored.counts, "imported": stored.imported, "row_errors": _errors(stored.bad)}
        return Response({**answer, "remarks": [on_page(remark) for remark in stored.remarks]}, status=201)

    return add_rows


def _asked(request: Request) -> Any:
    """Return what was sent; beside JSON Lines everything but the rows is in the query."""
    sent = request.data
    if (request.content_type or "").partition(";")[0].strip() != LINES or not isinstance(sent, Mapping):
        return sent
    given: dict[str, Any] = request.query_params.dict()
    said = {name: given.pop(name) for name in ("into", "on_error") if name in given}
    return {**said, "rows": sent["rows"], "options": given}


def _errors(bad: Sequence[BadRow]) -> list[dict[str, Any]]:
    return [{"row": one.line, "reason": on_page(one.reason), "remedy": on_page(one.remedy)} for one in bad]


ADDERS = {key: _view(kind) for key, kind in KINDS.items()}
"""The views by the kind of table."""
