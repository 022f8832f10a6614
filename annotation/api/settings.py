"""API endpoints that change a study: its settings, as the setup page has them, and its state."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.api.access import Scope, needs
from accounts.api.headers import IF_MATCH, check_unchanged
from accounts.api.lists import Unusable, asking
from annotation.api.studies import StudySerializer, study_to_change, study_to_read
from annotation.models import Study
from annotation.policies.policies import Policies
from annotation.studies.life_cycle import save_study, set_status, settings_of
from annotation.studies.making import launch_soon
from annotation.web.study.forms import StudyForm, initial_of
from core.errors import UserError
from core.messages.rendering import for_reader

BY_KEY = ("categories", "models", "baselines", "judges", "rubric", "guideline", "stop_models")
"""Settings that the form holds as keys of rows; they are chosen when a study is made, by name."""
STATES = {"open": Study.Status.OPEN, "pause": Study.Status.PAUSED, "close": Study.Status.CLOSED}
LAUNCH = "launch"


@extend_schema(methods=["GET"], operation_id="study_settings", responses=OpenApiTypes.OBJECT)
@extend_schema(
    methods=["PATCH"],
    operation_id="change_study_settings",
    parameters=[IF_MATCH],
    request=OpenApiTypes.OBJECT,
    responses=OpenApiTypes.OBJECT,
    examples=[OpenApiExample("Overlap", {"overlap": 2, "name_en": "Tea, second round"}, request_only=True)],
)
@api_view(["GET", "PATCH"])
@needs(Scope.READ, patch=Scope.CHANGE)
def study_settings(request: Request, workspace: str, slug: str) -> Response:
    """Return the settings of a study as its setup page has them, or change those that are sent.

    Those on which ratings depend are fixed at launch; the answer is 400 if they are sent with another value.
    """
    if request.method != "PATCH":
        return Response(_settings(study_to_read(request, workspace, slug)))
    found = study_to_change(request, workspace, slug)
    with transaction.atomic():
        study = (
            Study.objects.select_for_update(of=("self",))
            .select_related("benchmark", "rubric", "guideline")
            .get(pk=found.pk)
        )
        check_unchanged(request, _settings(study))
        _change(study, request)
    return Response(_settings(study))


def _change(study: Study, request: Request) -> None:
    sent = request.data
    if not isinstance(sent, Mapping) or not sent:
        raise Unusable(_("Send an object of settings and values."))
    before, initial = settings_of(study), initial_of(study)
    form = StudyForm(study, _as_sent({**initial, **sent}))
    for name in sent:
        if name in BY_KEY or name not in form.fields:
            known = sorted(set(form.fields) - set(BY_KEY))
            raise Unusable(
                _("There is no setting %(name)s here; there are: %(known)s.")
                % {"name": repr(str(name)[:50]), "known": ", ".join(known)}
            )
        if form.fields[name].disabled and sent[name] != initial.get(name):
            raise Unusable(_("%(name)s is fixed since the study was launched.") % {"name": name})
    if not form.is_valid():
        name, errors = next(iter(form.errors.items()))
        said = str(errors[0])
        raise Unusable(said if name == "__all__" else f"{name}: {said}")
    form.apply()
    save_study(study, by=asking(request), before=before)


def _as_sent(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values as a browser sends a form: nothing for what is empty."""
    return {name: value for name, value in values.items() if value not in (None, False)}


def _settings(study: Study) -> dict[str, Any]:
    """Return the settings by the names of the form's fields, without those that are keys of rows."""
    held = initial_of(study)
    return {name: held.get(name) for name in StudyForm(study).fields if name not in BY_KEY}


@extend_schema(
    operation_id="steer_study",
    request=None,
    responses=StudySerializer,
    parameters=[OpenApiParameter("verb", str, "path", enum=[LAUNCH, *STATES])],
)
@api_view(["POST"])
@needs(Scope.CHANGE)
def steer_study(request: Request, workspace: str, slug: str, verb: str) -> Response:
    """Launch a draft, or open, pause or close a launched study; a study that is so already stays so.

    A large study is launched by a worker, and is a draft until then.
    """
    study = study_to_change(request, workspace, slug)
    try:
        if verb == LAUNCH:
            if study.status == Study.Status.DRAFT and not Policies.of(study).launching:
                launch_soon(study, by=asking(request))
        elif study.status != STATES[verb]:
            set_status(study, STATES[verb], by=asking(request))
    except UserError as problem:
        raise Unusable(for_reader(problem)) from problem
    study.refresh_from_db()
    return Response({**StudySerializer(study).data, "status": study.status})
