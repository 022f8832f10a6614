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

NAMED = {"categories": "key", "models": "name", "baselines": "name", "stop_models": "name"}
"""Settings that the form holds as numbers of rows, with the field by which the API names these."""
VERSIONED = ("rubric", "guideline")
"""Settings that are one row, which the API names by its key and version, such as "essays v2"; a key is its newest."""
JUDGES = "judges"
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
    form = StudyForm(study)
    rows = _rows_of(form)
    values: dict[str, Any] = {}
    for name in sent:
        if name not in form.fields:
            raise Unusable(
                _("There is no setting %(name)s here; there are: %(known)s.")
                % {"name": repr(str(name)[:50]), "known": ", ".join(sorted(form.fields))}
            )
        values[name] = _numbers(name, sent[name], rows[name]) if name in rows else sent[name]
        if form.fields[name].disabled and not _alike(values[name], initial.get(name)):
            raise Unusable(_("%(name)s is fixed since the study was launched.") % {"name": name})
    form = StudyForm(study, _as_sent({**initial, **values}))
    if not form.is_valid():
        name, errors = next(iter(form.errors.items()))
        said = str(errors[0])
        raise Unusable(said if name == "__all__" else f"{name}: {said}")
    form.apply()
    save_study(study, by=asking(request), before=before)


def _alike(one: Any, other: Any) -> bool:
    """Return whether two values of a setting are the same; the order of a list says nothing."""
    if isinstance(one, list) and isinstance(other, list | tuple | None):
        return set(map(str, one)) == set(map(str, other or ()))
    return bool(one == other)


def _as_sent(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values as a browser sends a form: nothing for what is empty."""
    return {name: value for name, value in values.items() if value not in (None, False)}


def _settings(study: Study) -> dict[str, Any]:
    """Return the settings by the names of the form's fields; what is a number of a row there has its name."""
    held, form = initial_of(study), StudyForm(study)
    said = {name: held.get(name) for name in form.fields}
    for name, rows in _rows_of(form).items():
        if name in VERSIONED:
            row = getattr(study, name)
            said[name] = f"{row.key} v{row.version}" if row else None
        else:
            said[name] = [rows[number] for number in held.get(name) or () if number in rows]
    return said


def _rows_of(form: StudyForm) -> dict[str, dict[Any, str]]:
    """Return, for each field that holds numbers of rows, the names of the rows that can be chosen."""
    fields: dict[str, Any] = dict(form.fields)
    found: dict[str, dict[Any, str]] = {}
    for name in NAMED.keys() & fields.keys():
        found[name] = {row.pk: getattr(row, NAMED[name]) for row in fields[name].queryset}
    for name in VERSIONED:
        if name in fields:
            rows = fields[name].queryset.order_by("key", "version")
            found[name] = {row.pk: f"{row.key} v{row.version}" for row in rows}
    if JUDGES in fields:
        found[JUDGES] = dict(fields[JUDGES].choices)
    return found


def _numbers(name: str, sent: Any, rows: Mapping[Any, str]) -> Any:
    """Return the numbers of the rows that were named: a list of them, or one or None. Raises Unusable."""
    numbers = {said: number for number, said in rows.items()}
    if name not in VERSIONED:
        if not isinstance(sent, list):
            raise Unusable(_("%(name)s: Send a list of names.") % {"name": name})
        return [_number(name, one, numbers) for one in sent]
    newest = {said.rpartition(" v")[0]: number for said, number in numbers.items()}  # the last of a key is its newest
    return _number(name, sent, newest | numbers) if sent else None


def _number(name: str, sent: Any, numbers: Mapping[str, Any]) -> Any:
    if not isinstance(sent, str) or sent not in numbers:
        raise Unusable(_("%(name)s: There is no %(sent)s to choose.") % {"name": name, "sent": repr(str(sent)[:50])})
    return numbers[sent]


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
    return Response(StudySerializer(study).data)
