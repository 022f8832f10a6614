"""The pages of judges in depth and of judges by category, and the links between all pages that compare judges."""

from collections.abc import Mapping, Sequence

from django.urls import reverse
from django.utils.translation import gettext

from annotation.models import Study
from calibration.reports.judges import JUDGES, judges_beside, judges_settings
from calibration.reports.registry import Settings
from calibration.web.judges.page import judges_depth_page, judges_depth_title
from calibration.web.serving import PageKind
from judging.comparison.causes import CAUSES_REPORT, causes_settings
from judging.comparison.judge_panel import PANEL
from judging.comparison.method_table import METHODS, method_settings
from judging.comparison.methods_against_people import AGAINST_PEOPLE, methods_settings
from judging.judges.families import judge_families
from judging.web.comparison.against_people import against_people_page, against_people_title
from judging.web.comparison.causes import causes_page, causes_title
from judging.web.comparison.judge_panel import judge_panel_page, panel_title, settings_asked
from judging.web.comparison.method_table import methods_page, methods_title


def judge_links(without: str) -> list[tuple[str, str]]:
    """Return the pages on a study's judges except the named one, as (name of the address, label)."""
    pages = [
        ("judging:judges", gettext("Judges' points and people's scores")),
        ("judging:judge_table", gettext("All that was measured of each judge")),
        ("judging:judges_metrics", gettext("Text metrics and judges against people")),
        ("judging:judges_methods", gettext("Judges by category, and the best of each combined")),
        ("judging:judges_depth", gettext("Bias, graded verdicts, reviewers' findings, and the value of judges")),
        ("judging:causes", gettext("Why a judge and people differ")),
        ("judging:judge_panel", gettext("Several judges together")),
        ("judging:unrated_models", gettext("Models that nobody rated")),
        ("judging:routing", gettext("Ratings where a judge is unsure")),
        ("judging:new_alignment", gettext("Versions of a judge on held-out ratings")),
        ("calibration:agreement_detail", gettext("Can a judge replace people?")),
    ]
    return [(name, label) for name, label in pages if name != without]


def addressed(study: Study, links: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return links as (address, label)."""
    return [(reverse(name, args=[study]), label) for name, label in links]


def depth_settings(study: Study, query: Mapping[str, str]) -> Settings:
    beside = judges_beside(study)
    families = judge_families(study, beside)
    return judges_settings(study, query.get("one", ""), query.get("other", ""), families, beside)


JUDGES_DEPTH_PAGE = PageKind(
    report=JUDGES,
    settings=depth_settings,
    page=judges_depth_page,
    title=judges_depth_title,
    links=lambda: judge_links("judging:judges_depth"),
    about_judges=True,
)
METHODS_PAGE = PageKind(
    report=METHODS,
    settings=lambda study, query: method_settings(query.get("criterion", ""), query.get("against", "")),
    page=methods_page,
    title=methods_title,
    build="judging.build_report",
    links=lambda: judge_links("judging:judges_methods"),
    about_judges=True,
)
AGAINST_PEOPLE_PAGE = PageKind(
    report=AGAINST_PEOPLE,
    settings=lambda study, query: methods_settings(study),
    page=against_people_page,
    title=against_people_title,
    build="judging.build_report",
    links=lambda: judge_links("judging:judges_metrics"),
    about_judges=True,
)
CAUSES_PAGE = PageKind(
    report=CAUSES_REPORT,
    settings=lambda study, query: causes_settings(query.get("judge", "")),
    page=causes_page,
    title=causes_title,
    build="judging.build_report",
    links=lambda: judge_links("judging:causes"),
    about_judges=True,
)
PANEL_PAGE = PageKind(
    report=PANEL,
    settings=settings_asked,
    page=judge_panel_page,
    title=panel_title,
    build="judging.build_report",
    links=lambda: judge_links("judging:judge_panel"),
    about_judges=True,
)
