"""Every page on which something of a study stands, found from the program's own addresses, and what a reader reads there."""

import html
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from django.db.models import Model
from django.test import Client
from django.urls import reverse

from accounts.models import User
from annotation.models import Checklist, Guideline, Rubric, Study
from generation.models import Benchmark, GenerationRun, Instruction, LanguageModel, Response
from judging.models import Alignment, AlignmentVersion, Judge, JudgeRun, PlannedItem, Watch
from tests.e2e.addresses import NOT_PAGES, OF_BENCHMARKS, PART, QUERIES, named_routes
from tests.large.pages import QUERIES as OF_LARGE, routes_of_studies

OF_THE_INSTALLATION = {
    "its accounts and members": {
        "home",
        "accounts:sign_in",
        "accounts:account",
        "accounts:change_password",
        "accounts:tokens",
        "accounts:invitation",
        "accounts:people",
        "accounts:people_of",
        "annotation:erase_own_account",
        "annotation:delete_workspace",
    },
    "its endpoints, what they cost, and who is told": {
        "generation:endpoints",
        "generation:new_endpoint",
        "generation:edit_endpoint",
        "generation:remove_endpoint",
        "generation:error_phrases",
        "generation:spending",
        "generation:webhooks",
        "generation:webhooks_of",
        "generation:webhook",
    },
    "its imports": {
        "annotation:imports",
        "annotation:upload_table",
        "annotation:table",
        "annotation:table_state",
        "annotation:undo_import",
        "annotation:study_imports",
        "judging:upload_benchmark",
        "judging:upload",
        "judging:upload_state",
        "judging:upload_archive",
        "judging:study_archive",
        "judging:study_archive_state",
        "judging:load_library",
        "judging:demonstration",
        "judging:demonstration_state",
    },
    "its code": {"calibration:method"},
    "trials of prompts, which belong to an endpoint that answers": {"judging:trial", "judging:trial_state"},
    "what a person does in it: rating, and joining by its links": {
        "annotation:preview_rate",
        "annotation:rate",
        "annotation:differences",
        "annotation:feedback",
        "annotation:done",
        "annotation:join",
        "annotation:questionnaire",
        "annotation:mail_invitations",
        "annotation:bonus_batch",
    },
}
"""Addresses of which nothing belongs to a study, by whose they are."""


def addresses(study: Study) -> dict[str, str]:
    """The name of every address's route, by address, of all rows that are there."""
    left_out = {name for names in OF_THE_INSTALLATION.values() for name in names}
    no_pages = {name for why, names in NOT_PAGES.items() if why != PART for name in names}
    found = {}
    for name, wanted in named_routes():
        if name in left_out or name in no_pages:
            continue
        for parts in _parts(name, wanted, study):
            for query in {*QUERIES.get(name, ("",)), *OF_LARGE.get(name, ("",))}:
                found[reverse(name, kwargs=parts) + query] = name
    return found


def _parts(name: str, wanted: tuple[str, ...], study: Study) -> Iterator[dict[str, object]]:
    if name in OF_BENCHMARKS:
        yield from ({"slug": one} for one in Benchmark.objects.order_by("pk"))
    elif name in ROWS:
        (part,) = wanted
        yield from ({part: value} for value in ROWS[name]())
    elif name == "judging:verdict":
        items = PlannedItem.objects.order_by("pk").select_related("run")
        yield from ({"public_id": one.run.public_id, "item_id": one.pk} for one in items[:8])
    elif name == "judging:take_look":
        versions = AlignmentVersion.objects.select_related("alignment", "judge__rater")
        yield from ({"public_id": one.alignment.public_id, "judge_id": one.judge.rater.public_id} for one in versions)
    elif name == "judging:probe_judge":
        judges = Judge.objects.filter(language_model__isnull=False).select_related("rater")
        yield from ({"public_id": one.rater.public_id, "study_id": study.public_id} for one in judges)
    elif name in OF_STUDIES:
        (part,) = [one for one in wanted if one != "slug"] or [""]
        yield from ({"slug": study, **({part: value} if part else {})} for value in IN_A_STUDY[part](study))
    else:
        assert not wanted, f"{name} needs {wanted}"
        yield {}


OF_STUDIES = dict(routes_of_studies())
IN_A_STUDY: dict[str, Callable[[Study], Iterable[object]]] = {
    "": lambda _study: [""],
    "rater_id": lambda study: study.raters.order_by("pk").values_list("public_id", flat=True),
    "cohort_id": lambda study: study.cohorts.order_by("pk").values_list("pk", flat=True),
    "moment": lambda _study: ("before", "after"),
    "task_id": lambda study: _some_tasks(study),
}
ROWS: dict[str, Callable[[], Iterable[object]]] = {
    "generation:instruction": lambda: _names(Instruction, 6),
    "library:drafted_checklist": lambda: _names(Instruction, 3),
    "generation:response": lambda: _names(Response, 6),
    "generation:edit_model": lambda: LanguageModel.objects.values_list("pk", flat=True),
    "generation:remove_model": lambda: LanguageModel.objects.values_list("pk", flat=True),
    "generation:run": lambda: _names(GenerationRun),
    "library:rubric": lambda: Rubric.objects.values_list("pk", flat=True),
    "library:guideline": lambda: Guideline.objects.values_list("pk", flat=True),
    "library:checklist": lambda: _names(Checklist),
    "judging:judge": lambda: Judge.objects.values_list("rater__public_id", flat=True),
    "judging:judge_card": lambda: Judge.objects.values_list("rater__public_id", flat=True),
    "judging:alignment": lambda: _names(Alignment),
    "judging:watch": lambda: _names(Watch),
    "judging:propose_prompt": lambda: _names(Alignment),
    **dict.fromkeys(
        (
            "judging:run",
            "judging:draw_anchors",
            "judging:bridge_runs",
            "judging:compare_runs",
            "judging:run_probes",
            "judging:verdicts",
        ),
        lambda: _names(JudgeRun),
    ),
}
"""What stands in the address where it is no study, no benchmark and more than one thing."""


def _names(model: type[Model], most: int | None = None) -> Iterable[object]:
    return list(model._default_manager.order_by("pk").values_list("public_id", flat=True)[:most])


def _some_tasks(study: Study) -> list[object]:
    """Of each kind of task the first ones: decided by a lead, with a note, excluded, skipped, checks, judged."""
    tasks = study.tasks.order_by("pk")
    several = [
        *tasks[:2],
        *tasks.filter(assignments__rater__kind="key").distinct()[:3],
        *tasks.filter(flags__isnull=False).distinct()[:2],
        *tasks.filter(assignments__status="skipped").distinct()[:2],
        *tasks.filter(gold__isnull=False)[:2],
    ]
    return list(dict.fromkeys(one.public_id for one in several))


ORDERED = (b"being computed", b"in the background")
"""What a page says that has ordered its figures, which are there when it is asked for again."""


@dataclass(frozen=True)
class Page:
    """What a page's reader is shown."""

    route: str
    status: int
    text: str


def pages(study: Study, reader: User, found: dict[str, str] | None = None) -> dict[str, Page]:
    """Every page of the study, or those that were found before, by address, as this reader sees it."""
    browser = Client()
    browser.force_login(reader)
    shown = {}
    for address, route in (found or addresses(study)).items():
        headers = {"HX-Request": "true"} if route in NOT_PAGES[PART] else {}
        answer = browser.get(address, headers=headers)
        if any(words in answer.content for words in ORDERED):
            answer = browser.get(address, headers=headers)
        shown[address] = Page(route, answer.status_code, text_of(answer.content.decode()))
    return shown


def text_of(page: str) -> str:
    """The words between the tags, with what fields hold."""
    page = re.sub(r"(?s)<(script|style|head)\b.*?</\1>", " ", page)
    page = re.sub(r'(?s)<input(?=[^>]*type="(?:text|number)")[^>]*?value="([^"]*)"[^>]*>', r" \1 ", page)
    return " ".join(html.unescape(re.sub(r"(?s)<[^>]+>", " ", page)).split())
