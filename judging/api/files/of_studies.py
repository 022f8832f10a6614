"""Files of the pages of a study."""

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from accounts.api.access import Scope
from accounts.api.lists import Unusable
from annotation.api.studies import study_to_read
from calibration.api import fit_to_read
from calibration.models import Fit
from calibration.web.raters.questionnaires import page_of as questionnaires_page
from calibration.web.weights.page import fit_page
from core.errors import UserError
from core.messages.rendering import for_reader
from judging.api.comparisons import CARRIED, carried
from judging.api.files.page_files import PageFiles, addresses, files_of_page
from judging.api.result_pages import ASKED, PAGES, PLANNED, page_made, planned
from judging.comparison.routing.estimates import routing_of
from judging.web.comparison.routing_blocks import routing_page
from judging.web.comparison.unrated_models import page_of as unrated_models_page

STUDY = "w/<str:workspace>/studies/<str:slug>/"


def _results(request: Request, workspace: str, slug: str, page: str) -> PageFiles | None:
    study = study_to_read(request, workspace, slug)
    found, freshness = page_made(request, study, page)
    return None if found is None else files_of_page(found, study.slug, freshness)


def _plan(request: Request, workspace: str, slug: str) -> PageFiles:
    study = study_to_read(request, workspace, slug)
    _given, page = planned(request, study)
    return files_of_page(page, study.slug)


def _routing(request: Request, workspace: str, slug: str) -> PageFiles:
    study = study_to_read(request, workspace, slug)
    try:
        return files_of_page(routing_page(routing_of(study)), f"{study.slug}-routing")
    except UserError as problem:
        raise Unusable(for_reader(problem)) from problem


def _transport(request: Request, workspace: str, slug: str) -> PageFiles:
    study = study_to_read(request, workspace, slug)
    return files_of_page(unrated_models_page(carried(request, study)), f"{study.slug}-unrated-models")


def _questionnaires(request: Request, workspace: str, slug: str) -> PageFiles:
    study = study_to_read(request, workspace, slug)
    return files_of_page(questionnaires_page(study), study.slug)


def _fit(request: Request, public_id: str) -> PageFiles:
    found = fit_to_read(request, public_id)
    if found.kind == Fit.Kind.PUBLISHED or found.study is None:
        raise Unusable(_("These weights were published elsewhere and have no page."))
    return files_of_page(fit_page(found), found.study.slug)


OF_STUDIES = [
    *addresses(
        f"{STUDY}results/<str:page>/",
        "result_page",
        "of a result page of a study",
        _results,
        parameters=[OpenApiParameter("page", str, "path", enum=PAGES), *ASKED],
        waits=True,
    ),
    *addresses(f"{STUDY}plan/", "plan", "of the plan of a study", _plan, parameters=PLANNED),
    *addresses(f"{STUDY}routing/", "routing", "of the draws where a judge is unsure", _routing),
    *addresses(f"{STUDY}transport/", "transport", "of models that nobody rated", _transport, parameters=CARRIED),
    *addresses(
        f"{STUDY}questionnaire-answers/",
        "questionnaire",
        "of raters' answers to the questionnaires of a study",
        _questionnaires,
        scope=Scope.RATINGS,
    ),
    *addresses("fits/<str:public_id>/", "fit", "of fitted weights", _fit),
]
