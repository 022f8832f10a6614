"""The verdicts of a judge run: the list with its filters, and one verdict in full."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_safe

from accounts.models import User
from accounts.permissions import results_page
from annotation.models import Assignment, Rater, Score, Task, latest_scores
from annotation.studies.provenance import provenance_of
from annotation.texts.rendering import RenderedText, render_text
from calibration.figures.drawing import shortest
from core.messages.message import stored_text
from core.messages.rendering import for_reader
from generation.models import Response
from generation.web.library.pages import asked_for
from judging.judges.questions import part_of
from judging.models import Judge, JudgeRun, PlannedItem
from judging.runs.access import run_read_by
from judging.runs.aggregation import jurors_of, unscored_of
from judging.runs.life_cycle import REASON_TEXTS
from judging.runs.verdict_lists import (
    ALL,
    CANARIES,
    FARTHEST,
    FILTERS,
    LONGEST_RANKED,
    LOWEST,
    UNUSABLE,
    ListedItem,
    MeanScore,
    VerdictList,
    counts_of,
    listed,
    people_about,
    verdict_list,
)
from judging.web.runs.run_page import canary_in_words

ON_A_PAGE = 50


@dataclass(frozen=True)
class VerdictRow:
    """One line of the list, in the reader's language."""

    listed: ListedItem
    score: str
    people: str
    distance: str
    canary: str
    why: str
    judge: str


@dataclass(frozen=True)
class GivenScore:
    """An answer to one criterion; `reason` in the reader's language."""

    question: str
    score: str
    reason: str


@dataclass(frozen=True)
class PersonAnswer:
    """A person's answer to the task, under the pseudonym."""

    name: str
    answers: list[GivenScore]


@dataclass(frozen=True)
class ShownResponse:
    name: str
    response: Response
    text: RenderedText | None


@require_safe
@results_page
def verdicts(request: HttpRequest, public_id: str) -> HttpResponse:
    """Every item of a run, 50 on a page; ?show= chooses the filter and ?q= a part of the instruction's id."""
    run = run_read_by(cast(User, request.user), public_id)
    found = _asked_list(request, run)
    counts = counts_of(run)
    page = Paginator(range(len(found)), ON_A_PAGE).get_page(request.GET.get("page"))
    jurors = jurors_of(run)
    pks = found.pks(page.start_index() - 1, page.end_index()) if page.paginator.count else []
    context = {
        "run": run,
        "found": found,
        "page": page,
        "rows": [_row(one, jurors) for one in listed(run, pks)],
        "counts": _counts_in_words(counts),
        "planted": _planted_in_words(counts["planted"]),
        "filters": [(name, words) for name, words in _filter_names() if name != CANARIES or counts["planted"]],
        "paired": run.study.task_kind == Task.Kind.PAIR,
        "several": len(jurors) > 1,
        "with_people": found.shown != CANARIES,
        "longest": LONGEST_RANKED if found.ranked is not None else 0,
        "query": _query(found),
        "provenance": _provenance(run),
    }
    return render(request, "judging/verdicts.html", context)


@require_safe
@results_page
def verdict(request: HttpRequest, public_id: str, item_id: int) -> HttpResponse:
    """One item of a run: what was asked, every criterion's score and reason, and every raw reply."""
    run = run_read_by(cast(User, request.user), public_id)
    texts = ("task__response_a__instruction", "task__response_a__model", "task__response_b__model", "assignment")
    item = run.items.select_related(*texts).filter(pk=item_id).first()
    if item is None:
        raise Http404(gettext("This run has no such verdict."))
    found = _asked_list(request, run)
    place = found.place_of(item)
    if place is None:
        found = verdict_list(run, CANARIES if item.canary else ALL)
        place = cast(int, found.place_of(item))
    around = found.pks(max(place - 1, 0), place + 2)
    at = around.index(item.pk)
    (row,) = listed(run, [item.pk])
    task = item.task
    instruction = task.response_a.instruction.text
    context = {
        "run": run,
        "item": item,
        "row": _row(row, jurors_of(run)),
        "instruction": render_text(instruction) if instruction else None,
        "responses": _responses(task),
        "answers": _answers_of(item.assignment) if item.status == PlannedItem.Status.SCORED else [],
        "replies": item.replies.select_related("reused_from__item__run").order_by("attempt"),
        "people": [] if item.canary else _people(task),
        "paired": task.response_b_id is not None,
        "place": place + 1,
        "of": len(found),
        "before": around[at - 1] if at else None,
        "after": around[at + 1] if at + 1 < len(around) else None,
        "query": _query(found),
        "back": _query(found, page=place // ON_A_PAGE + 1),
        "provenance": _provenance(run),
    }
    return render(request, "judging/verdict.html", context)


def _asked_list(request: HttpRequest, run: JudgeRun) -> VerdictList:
    return verdict_list(run, request.GET.get("show", ALL), asked_for(request, "q"))


def _query(found: VerdictList, page: int = 0) -> str:
    """Return the filter as the query of an address."""
    asked = {"show": found.shown if found.shown != ALL else "", "q": found.instruction, "page": page or ""}
    return urlencode({name: value for name, value in asked.items() if value})


def _filter_names() -> list[tuple[str, str]]:
    names = {
        ALL: gettext("All"),
        UNUSABLE: gettext("Unusable"),
        LOWEST: gettext("Lowest first"),
        FARTHEST: gettext("Farthest from people first"),
        CANARIES: gettext("Canary texts"),
    }
    return [(name, names[name]) for name in FILTERS]


def _counts_in_words(counts: dict[str, int]) -> str:
    shown = {name: f"{n:,}" for name, n in counts.items()}
    if counts["waiting"]:
        sentence = ngettext(
            "%(scored)s of %(total)s question has a verdict; unusable: %(unscored)s; waiting: %(waiting)s.",
            "%(scored)s of %(total)s questions have a verdict; unusable: %(unscored)s; waiting: %(waiting)s.",
            counts["total"],
        )
    else:
        sentence = ngettext(
            "%(scored)s of %(total)s question has a verdict; unusable: %(unscored)s.",
            "%(scored)s of %(total)s questions have a verdict; unusable: %(unscored)s.",
            counts["total"],
        )
    return sentence % shown


def _planted_in_words(planted: int) -> str:
    if not planted:
        return ""
    return ngettext(
        "%(n)s question about a canary text is listed apart.",
        "%(n)s questions about canary texts are listed apart.",
        planted,
    ) % {"n": f"{planted:,}"}


def _row(one: ListedItem, jurors: list[Judge]) -> VerdictRow:
    item = one.item
    why = ""
    if item.status == PlannedItem.Status.UNSCORED:
        unscored = unscored_of(item)
        detail = for_reader(unscored.detail)
        why = gettext(REASON_TEXTS.get(unscored.why, unscored.why)) + (f": {detail}" if detail else "")
    role = one.score.role if one.score else ""
    return VerdictRow(
        one,
        score_in_words(one.score),
        "" if one.people is None else score_in_words(MeanScore(role, one.people)),
        "" if one.distance is None else shortest(round(one.distance, 2), signed=True),
        canary_in_words(item.canary) if item.canary else "",
        why,
        jurors[item.juror].rater.name if item.juror < len(jurors) else "",
    )


def score_in_words(score: MeanScore | None) -> str:
    """Return a score as a figure, a preference as the side that is better."""
    if score is None:
        return "–"
    if score.role != "preference":
        return shortest(round(score.value, 2))
    side = {
        1: gettext("A is better (%(value)s)"),
        0: gettext("Neither is better (%(value)s)"),
        -1: gettext("B is better (%(value)s)"),
    }[(score.value > 0) - (score.value < 0)]
    return side % {"value": shortest(round(score.value, 2), signed=True)}


def _answers_of(assignment: Assignment | None) -> list[GivenScore]:
    if assignment is None:
        return []
    return _answers(assignment.scores.select_related("criterion").order_by("criterion__position", "revision"))


def _answers(scores: Iterable[Score]) -> list[GivenScore]:
    shown = []
    for score in latest_scores(scores).values():
        role = "preference" if score.criterion.role == "preference" else "item"
        said = gettext("does not apply") if score.value is None else score_in_words(MeanScore(role, score.value))
        shown.append(GivenScore(score.criterion.question, said, for_reader(stored_text(score, "reason"))))
    return shown


def _people(task: Task) -> list[PersonAnswer]:
    """Return what people answered to the task and what counts, by pseudonym."""
    return [
        PersonAnswer(
            one.rater.name, _answers(sorted(one.scores.all(), key=lambda s: (s.criterion.position, s.revision)))
        )
        for one in people_about(task)
    ]


def _responses(task: Task) -> list[ShownResponse]:
    sides = [("A", task.response_a)] + ([("B", task.response_b)] if task.response_b is not None else [])
    shown = []
    for side, response in sides:
        model = response.model.name if response.model else response.get_kind_display()
        name = gettext("Response %(side)s: %(model)s") % {"side": side, "model": model} if len(sides) > 1 else model
        text = part_of(response.text, task.part) if response.text else ""
        shown.append(ShownResponse(name, response, render_text(text) if text else None))
    return shown


def _provenance(run: JudgeRun) -> list[str]:
    """Return what the reader is told about the run's judge, and about the people beside it."""
    of_people = {kind for kind in provenance_of(run.study) if kind == Rater.Provenance.SIMULATED}
    own = run.judge.rater.provenance
    return sorted(of_people | ({own} if own == Rater.Provenance.SCRIPTED else set()))
