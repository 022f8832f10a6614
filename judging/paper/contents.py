"""The result pages of a study that a paper is made of, in the order of its sections."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext

from annotation.models import Study
from calibration.data.verdicts import failed_among, judges_by_verdicts
from calibration.models import Fit
from calibration.reports.judges import kind_asked
from calibration.reports.registry import report_of
from calibration.web.agreement.detail import DETAIL_PAGE
from calibration.web.agreement.page import AGREEMENT_PAGE
from calibration.web.blocks import ResultPage
from calibration.web.failed_judges import marking
from calibration.web.rankings.page import RANKINGS_PAGE
from calibration.web.raters.page import RATERS_PAGE
from calibration.web.serving import PageKind
from calibration.web.weights.detail import DEPTH_PAGE
from calibration.web.weights.page import fit_page
from judging.web.comparison.depth_pages import AGAINST_PEOPLE_PAGE, CAUSES_PAGE, JUDGES_DEPTH_PAGE, METHODS_PAGE
from judging.web.comparison.pages import judges_result_page

PEOPLE: tuple[tuple[str, PageKind[Any]], ...] = (
    ("agreement", AGREEMENT_PAGE),
    ("agreement-detail", DETAIL_PAGE),
    ("raters", RATERS_PAGE),
    ("rankings", RANKINGS_PAGE),
)
JUDGES: tuple[tuple[str, PageKind[Any]], ...] = (
    ("judges-depth", JUDGES_DEPTH_PAGE),
    ("judges-metrics", AGAINST_PEOPLE_PAGE),
    ("judges-methods", METHODS_PAGE),
    ("causes", CAUSES_PAGE),
)


@dataclass(frozen=True)
class Chapter:
    """A section of the paper: the key that names its files, its title, and the page that it repeats."""

    key: str
    title: str
    page: ResultPage


def chapters(study: Study) -> Iterator[Chapter]:
    """Yield the sections, each computed when it is asked for. Pages without a result are left out."""
    for key, kind in PEOPLE:
        yield from _chapter(study, key, kind)
    fit = Fit.objects.filter(study=study, kind=Fit.Kind.FITTED).order_by("-created_at", "-pk").first()
    if fit is not None and fit.categories.exists():
        page = fit_page(fit)
        yield Chapter("weights", page.title, page)
        yield from _chapter(study, "weights-detail", DEPTH_PAGE)
    known = judges_by_verdicts(study)
    if not known:
        return
    with marking(failed_among(known)):
        if kind_asked(study) == "scores":
            yield Chapter("judges", gettext("Judges"), judges_result_page(study, known))
        for key, kind in JUDGES:
            yield from _chapter(study, key, kind)


def _chapter(study: Study, key: str, kind: PageKind[Any]) -> Iterator[Chapter]:
    report = report_of(study, kind.report, kind.settings(study, {}))
    page = kind.page(study, report)
    if any(block.table or block.figure for block in page.blocks):
        yield Chapter(key, kind.title(), page)
