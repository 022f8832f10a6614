"""The tabs of a study: at most seven, each with the pages inside it as a second level."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from annotation.models import Study

EVERYONE, LEADS, COLLECTED, SINGLE, ASKED = "everyone", "leads", "collected", "single", "asked"
"""Who a page is for, and of which studies it means something: of all, or of those whose ratings are given here, or of
those that rate one response at a time, or of those that ask their raters about themselves."""


@dataclass(frozen=True)
class Page:
    """A page of a study by the name of its address; `covers` names pages that are reached from it alone.

    `needs` says for whom and for which studies it is shown. The page that is open is always shown.
    """

    name: str
    label: str | Promise
    needs: frozenset[str] = frozenset()
    covers: tuple[str, ...] = ()


def _page(name: str, label: str | Promise, *needs: str, covers: Iterable[str] = ()) -> Page:
    return Page(name, label, frozenset(needs), tuple(covers))


GROUPS: tuple[tuple[str | Promise, tuple[Page, ...]], ...] = (
    (_("Overview"), (_page("annotation:desk", _("Overview")),)),
    (
        _("Setup"),
        (
            _page(
                "annotation:setup",
                _("Setup"),
                LEADS,
                covers=(
                    "annotation:preview",
                    "annotation:preview_guideline",
                    "annotation:launching",
                    "annotation:edit_guideline",
                    "annotation:write_rubric",
                    "annotation:write_questionnaire",
                    "annotation:known_answers",
                    "annotation:mark_task",
                    "annotation:delete_study",
                ),
            ),
        ),
    ),
    (
        _("Raters"),
        (
            _page("calibration:raters", _("Raters"), covers=("annotation:rater", "annotation:exclusion")),
            _page("annotation:cohorts", _("Cohorts"), LEADS, COLLECTED),
            _page("calibration:questionnaires", _("Questionnaire"), ASKED),
            _page("annotation:attention", _("Needs attention"), COLLECTED, covers=("annotation:self_naming",)),
        ),
    ),
    (
        _("Results"),
        (
            _page("calibration:agreement", _("Agreement"), covers=("calibration:agreement_detail",)),
            _page("calibration:weights", _("Weights"), SINGLE, covers=("calibration:weights_depth",)),
            _page("calibration:rankings", _("Rankings")),
            _page("annotation:disagreements", _("Disagreements"), covers=("annotation:task",)),
            _page("calibration:planner", _("Planner"), COLLECTED),
        ),
    ),
    (
        _("Judges"),
        (
            _page(
                "judging:judges",
                _("Judges"),
                covers=(
                    *("judging:judge_table", "judging:start_run", "judging:causes"),
                    *("judging:judge_panel", "judging:make_panel", "judging:unrated_models", "judging:routing"),
                    *("judging:new_alignment", "judging:alignment", "judging:propose_prompt", "judging:take_look"),
                ),
            ),
            _page("judging:judges_metrics", _("Against people")),
            _page("judging:judges_methods", _("Methods")),
            _page("judging:judges_depth", _("Bias and value")),
        ),
    ),
    (
        _("Data"),
        (_page("judging:export", _("Answers and archive")), _page("annotation:study_imports", _("Imports"), LEADS)),
    ),
    (_("History"), (_page("annotation:history", _("History"), LEADS),)),
)


@dataclass(frozen=True)
class Tab:
    """A tab: where it leads, and its value of aria-current ('page', 'true', or '' where it is not the current one)."""

    address: str
    label: str | Promise
    current: str


@dataclass(frozen=True)
class Tabs:
    """The tabs of a study and, if the current one holds several pages, its second level under `label`."""

    first: list[Tab]
    second: list[Tab]
    label: str | Promise = ""


def is_collected_here(study: Study) -> bool:
    """Whether the study's ratings are given here: it is a draft, or has assignment slots. At most one query."""
    return study.status == Study.Status.DRAFT or study.seats.exists()


def tabs_of(study: Study, *, leads: bool, opened: str, path: str) -> Tabs:
    """Return the tabs that mean something for this study and this visitor.

    `opened` is the full name of the address that was asked for, `path` its path. A page that no tab names is marked at
    the tab whose address its own begins with.
    """
    has = {LEADS} if leads else set()
    if is_collected_here(study):
        has.add(COLLECTED)
    if study.kind in (Study.Kind.CHECKLIST, Study.Kind.STARS):
        has.add(SINGLE)
    current = _current(study, opened, path)
    first: list[Tab] = []
    second: list[Tab] = []
    label: str | Promise = ""
    for name, pages in GROUPS:
        if current in pages and any(ASKED in page.needs for page in pages) and study.questionnaires.exists():
            has.add(ASKED)
        shown = [page for page in pages if page.needs <= has or page == current]
        if not shown:
            continue
        addresses = [reverse(page.name, args=[study]) for page in shown]
        here = current in shown
        first.append(Tab(addresses[0], name, _mark(here, addresses[0], path)))
        if here and len(shown) > 1:
            label = name
            pairs = zip(shown, addresses, strict=True)
            second = [Tab(address, page.label, _mark(page == current, address, path)) for page, address in pairs]
    return Tabs(first, second, label)


def _mark(is_current: bool, address: str, path: str) -> str:
    if not is_current:
        return ""
    return "page" if address == path else "true"


def _current(study: Study, opened: str, path: str) -> Page:
    pages = [page for _name, pages in GROUPS for page in pages]
    for page in pages:
        if opened == page.name or opened in page.covers:
            return page
    addresses: list[tuple[int, Any]] = []
    for place, page in enumerate(pages):
        address = reverse(page.name, args=[study])
        if path.startswith(address):
            addresses.append((len(address), -place))
    return pages[-max(addresses)[1]] if addresses else pages[0]
