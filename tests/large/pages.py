"""Every page on which a lead can look at a large study, read from the program's own addresses, and what one costs."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from accounts.models import User
from annotation.models import Rater, Study
from core.web.addresses import InWorkspace
from judging.models import Judge, JudgeRun
from tests.e2e.addresses import NOT_OURS, NOT_PAGES, PART

BESIDE = (
    "home",
    "annotation:studies",
    "annotation:imports",
    "judging:runs",
    "judging:run",
    "judging:verdicts",
    "judging:verdict",
    "judging:judge_list",
    "judging:judge",
)
"""Pages that show the study and do not have it in their address."""
QUERIES = {
    "annotation:desk": ("", "?page=2"),
    "annotation:live_raters": ("?page=2",),
    "annotation:attention": ("", "?page=2", "?settled=1"),
    "annotation:disagreements": ("", "?least=20"),
    "annotation:known_answers": ("", "?page=2", "?page=9999", "?q=i77", "?q=model 3"),
    "annotation:history": ("", "?page=2", "?page=9999"),
    "annotation:studies": ("", "?archived=1"),
    "annotation:setup": ("", "?step=questions", "?step=checks", "?step=texts", "?step=review"),
    "calibration:agreement": ("", "?excluded=shown"),
    "calibration:raters": ("", "?excluded=shown"),
    "calibration:rankings": ("", "?excluded=shown"),
    "judging:verdicts": ("", "?show=unusable", "?show=lowest", "?show=farthest", "?show=canaries", "?page=2"),
}
"""Pagers, filters and other views of an address."""


@dataclass(frozen=True)
class Visit:
    """A page as it came: milliseconds until its last byte, and how many statements it sent to the database."""

    name: str
    address: str
    status: int
    ms: float
    queries: int
    bytes: int


def routes_of_studies(patterns: Any = None, namespace: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """The full name of every address that has a study in it, and the converters of its parts."""
    for one in get_resolver().url_patterns if patterns is None else patterns:
        if isinstance(one, URLResolver):
            if one.namespace not in NOT_OURS:
                yield from routes_of_studies(one.url_patterns, f"{one.namespace}:" if one.namespace else namespace)
        elif isinstance(one, URLPattern) and one.name:
            parts = dict(one.pattern.converters)
            if any(isinstance(part, InWorkspace) and part.place == "studies" for part in parts.values()):
                yield namespace + one.name, parts


def pages_of(study: Study) -> list[tuple[str, str]]:
    """(name, address) of every page and part of a page, once; what takes a form or serves a file is no page."""
    no_pages = {name for why, names in NOT_PAGES.items() if why != PART for name in names}
    found: dict[tuple[str, str], None] = {}
    values = _values(study)
    named = dict(routes_of_studies())
    for name, parts in [*named.items(), *((name, None) for name in BESIDE)]:
        if name in no_pages:
            continue
        wanted = parts if parts is not None else _parts_of(name)
        for query in QUERIES.get(name, ("",)):
            for address in _addresses(name, wanted, values):
                found[name, address + query] = None
    return list(found)


def _parts_of(name: str) -> tuple[str, ...]:
    return {
        "judging:verdict": ("public_id", "item_id"),
        "judging:run": ("public_id",),
        "judging:verdicts": ("public_id",),
        "judging:judge": ("public_id",),
    }.get(name, ())


def _addresses(name: str, parts: Any, values: dict[str, Callable[[str], list[object]]]) -> Iterator[str]:
    """One address, or one for each rater or task that is looked at."""
    chosen: list[dict[str, object]] = [{}]
    for part in parts:
        chosen = [one | {part: value} for one in chosen for value in values[part](name)]
    for kwargs in chosen:
        yield reverse(name, kwargs=kwargs)


def _values(study: Study) -> dict[str, Callable[[str], list[object]]]:
    """What stands in the addresses: several raters (usual, stopped, excluded) and tasks (rated, skipped, a check)."""
    people = list(Rater.objects.filter(study=study, kind="person").order_by("label"))
    tasks = [
        study.tasks.filter(gold__isnull=True).order_by("pk").first(),
        study.tasks.filter(gold__isnull=True).order_by("pk").last(),
        study.tasks.filter(gold__isnull=False).first(),
    ]
    run, judge = JudgeRun.objects.filter(study=study).first(), Judge.objects.filter(workspace=study.workspace).first()

    def public(name: str) -> list[object]:
        if name == "judging:judge":
            return [judge.rater.public_id] if judge else []
        return [run.public_id] if run else []

    def cohorts(name: str) -> list[object]:
        kind = {"annotation:mail_invitations": "public"}.get(name, "crowd")
        return [study.cohorts.get(kind=kind).pk]

    return {
        "slug": lambda name: [study],
        "rater_id": lambda name: [people[place].public_id for place in (5, 1, 0, 6)],
        "task_id": lambda name: [task.public_id for task in tasks if task is not None],
        "cohort_id": cohorts,
        "moment": lambda name: ["before"],
        "public_id": public,
        "item_id": lambda name: (
            [item.pk for item in (run.items.filter(status="scored").first(),) if item] if run else []
        ),
    }


def visit(client: Client, name: str, address: str) -> Visit:
    """Ask for the page, and count what it asks of the database."""
    asked = 0

    def count(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        nonlocal asked
        asked += 1
        return execute(sql, params, many, context)

    headers = {"HX-Request": "true"} if name in NOT_PAGES[PART] else {}
    with connection.execute_wrapper(count):
        began = time.perf_counter()
        response = client.get(address, headers=headers, SERVER_NAME="localhost")
        content = b"".join(response.streaming_content) if response.streaming else response.content
        ms = 1000 * (time.perf_counter() - began)
    return Visit(name, address, response.status_code, ms, asked, len(content))


def visits(study: Study, lead: User, *, seen: Callable[[Visit], None] = lambda one: None) -> list[Visit]:
    """The second view of every page that the lead is shown. Pages that lead elsewhere, such as a draft's, are left out.

    Raises AssertionError where a page fails.
    """
    client = Client()
    client.force_login(lead)
    found, failing = [], []
    for name, address in pages_of(study):
        first = visit(client, name, address)
        seen(first)
        if first.status == 200:
            found.append(visit(client, name, address))
        elif first.status not in NOT_SHOWN.get(name, ()):
            failing.append(f"{name} {address} answers {first.status}")
    assert not failing, failing
    return found


NOT_SHOWN: dict[str, tuple[int, ...]] = {
    "annotation:questionnaire": (302,),
    "annotation:preview_questionnaire": (302,),
    "annotation:bonus_batch": (404,),
}
"""What a lead is not shown of a study that is open, and the status with which its address says so."""
