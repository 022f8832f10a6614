"""The API endpoint that sends all scores of a study at once, as JSON Lines or Parquet."""

from django.http import StreamingHttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request

from accounts.api.access import Scope, needs
from accounts.api.lists import Unusable, asking
from annotation.answers.all_scores import FORMS, WantedScores, score_rows
from annotation.api.studies import study_to_read
from annotation.models import Rater
from annotation.privacy.reads import note_reading

TRUE = ("1", "true")


@extend_schema(
    operation_id="all_scores",
    parameters=[
        OpenApiParameter("as", str, enum=list(FORMS), description="The form; default: jsonl."),
        OpenApiParameter("criterion", str, description="Return only answers to the criterion with this key."),
        OpenApiParameter("rater_kind", str, enum=list(Rater.Kind.values)),
        OpenApiParameter("every_revision", bool, description="Include answers that were changed later."),
    ],
    responses={(200, media): OpenApiTypes.BINARY for media, _write in FORMS.values()},
)
@api_view(["GET"])
@needs(Scope.RATINGS)
def all_scores(request: Request, workspace: str, slug: str) -> StreamingHttpResponse:
    """Return every answer of a study in one stream, with the columns of its scores.

    An answer that breaks off is not complete: read it again.
    """
    study = study_to_read(request, workspace, slug)
    asked = request.query_params
    form, kind = asked.get("as", "jsonl"), asked.get("rater_kind", "")
    if form not in FORMS:
        raise Unusable(_("as must be one of: %(known)s.") % {"known": ", ".join(FORMS)})
    if kind and kind not in Rater.Kind.values:
        raise Unusable(_("rater_kind must be one of: %(known)s.") % {"known": ", ".join(Rater.Kind.values)})
    wanted = WantedScores(asked.get("criterion", ""), kind, asked.get("every_revision", "").lower() in TRUE)
    media, write = FORMS[form]
    note_reading(study, asking(request), clock=timezone.now, verb="export_answers")
    answer = StreamingHttpResponse(write(score_rows(study, wanted)), content_type=media)
    answer["Content-Disposition"] = f'attachment; filename="{study.slug}-scores.{form}"'
    answer["Cache-Control"] = "private, no-store"
    return answer
