"""Two judge runs side by side, item by item, with what moved."""

from collections.abc import Sequence
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
from annotation.models import Rater
from calibration.figures.drawing import shortest
from calibration.statistics.resampling import MIN_CLUSTERS
from judging.comparison.run_lists import prompt_versions
from judging.comparison.run_pairs import (
    ALL,
    HIGHER,
    LOWER,
    MOVED,
    PREFERENCE,
    SHOWN,
    TURNED,
    Moved,
    RunPair,
    run_pair,
    runs_beside,
)
from judging.models import JudgeRun, PlannedItem
from judging.runs.access import SHOWN_WITH_A_RUN, run_read_by, runs_read_by
from judging.runs.verdict_lists import MeanScore
from judging.web.runs.verdicts import score_in_words

ON_A_PAGE = 50
OFFERED = 100


@dataclass(frozen=True)
class ChangeRow:
    """A line of the list, in the reader's language."""

    first: PlannedItem
    second: PlannedItem
    before: str
    after: str
    change: str


@require_safe
@results_page
def compare_runs(request: HttpRequest, public_id: str) -> HttpResponse:
    """?with= names the other run, ?show= the filter; without another run, those that can be compared are offered."""
    user = cast(User, request.user)
    first = run_read_by(user, public_id)
    offered = list(runs_beside(first, runs_read_by(user)).select_related(*SHOWN_WITH_A_RUN)[:OFFERED])
    wanted = request.GET.get("with", "")
    second = _other(user, first, wanted) if wanted else None
    context: dict[str, object] = {
        "run": first,
        "second": second,
        "choices": [(one.public_id, name) for one, name in zip(offered, run_names(offered), strict=True)],
        "names": run_names([first, second]) if second else run_names([first]),
        "discredited": [one for one in (first, second) if one is not None and one.discredited],
        "provenance": _provenance([first, second]),
    }
    if second is not None:
        found = run_pair(first, second)
        shown = request.GET.get("show", MOVED)
        shown = shown if shown in SHOWN else MOVED
        page = Paginator(found.shown(shown), ON_A_PAGE).get_page(request.GET.get("page"))
        counts = found.counts()
        pairs = any(row.role == PREFERENCE for row in found.rows)
        context |= {
            "found": found,
            "page": page,
            "rows": _rows(list(page.object_list)),
            "filters": [(one, words, counts[one]) for one, words in _filters() if one != TURNED or pairs],
            "shown": shown,
            "opening": _opening(found),
            "left_out": _left_out(found),
            "query": urlencode({"with": second.public_id}),
        }
    return render(request, "judging/compare_runs.html", context)


def run_names(runs: Sequence[JudgeRun | None]) -> list[str]:
    """Return a name for each run that tells it apart: judge, prompt version, study, time and label."""
    known = [run for run in runs if run is not None]
    versions = prompt_versions(run.judge for run in known)
    names = []
    for run in known:
        parts = [run.judge.rater.name]
        if (version := versions.get(run.judge_id)) is not None:
            parts.append(gettext("prompt %(number)d (%(hash)s)") % {"number": version.number, "hash": version.hash})
        parts += [run.study.name, f"{run.created_at:%Y-%m-%d %H:%M}"]
        names.append(" · ".join([*parts, run.label] if run.label else parts))
    return names


def _other(user: User, first: JudgeRun, public_id: str) -> JudgeRun:
    found = runs_beside(first, runs_read_by(user)).filter(public_id=public_id).select_related(*SHOWN_WITH_A_RUN).first()
    if found is None:
        raise Http404(gettext("There is no such run over the same study or benchmark."))
    return found


def _rows(moved: list[Moved]) -> list[ChangeRow]:
    pks = [pk for row in moved for pk in (row.first, row.second)]
    items = (
        PlannedItem.objects.select_related(
            "task__response_a__instruction", "task__response_a__model", "task__response_b__model"
        )
        .defer("task__response_a__text", "task__response_b__text")
        .in_bulk(pks)
    )
    return [
        ChangeRow(
            items[row.first],
            items[row.second],
            score_in_words(MeanScore(row.role, row.before)),
            score_in_words(MeanScore(row.role, row.after)),
            shortest(round(row.change, 2), signed=True),
        )
        for row in moved
        if row.first in items and row.second in items
    ]


def _filters() -> list[tuple[str, str]]:
    names = {
        MOVED: gettext("Moved most first"),
        HIGHER: gettext("Second higher"),
        LOWER: gettext("Second lower"),
        TURNED: gettext("Preference turned"),
        ALL: gettext("All, in the order of the first run"),
    }
    return [(one, names[one]) for one in SHOWN]


def _opening(found: RunPair) -> str:
    """Say the mean change with its interval; without an interval, say only what these verdicts show."""
    if not found.rows:
        return gettext("These two runs have no usable verdicts on the same responses.")
    counts = found.counts()
    moved = ngettext(
        "%(moved)s of %(n)s verdict moved: %(higher)s higher in the second run, %(lower)s lower.",
        "%(moved)s of %(n)s verdicts moved: %(higher)s higher in the second run, %(lower)s lower.",
        len(found.rows),
    ) % {
        "moved": f"{counts[MOVED]:,}",
        "n": f"{len(found.rows):,}",
        "higher": f"{counts[HIGHER]:,}",
        "lower": f"{counts[LOWER]:,}",
    }
    mean = found.mean
    if mean is None:
        return moved
    value = {"change": shortest(round(mean.value, 3), signed=True)}
    if mean.kind != "bootstrap95":
        told = gettext(
            "Their mean change is %(change)s. With fewer than %(least)d instructions no interval is stated, so this says "
            "nothing about other responses."
        )
        return f"{moved} {told % {**value, 'least': MIN_CLUSTERS}}"
    value |= {"low": shortest(round(mean.low, 3), signed=True), "high": shortest(round(mean.high, 3), signed=True)}
    if mean.low <= 0 <= mean.high:
        told = gettext(
            "Their mean change is %(change)s (95 %% interval %(low)s to %(high)s), which shows no difference in level."
        )
    else:
        told = gettext("Their mean change is %(change)s (95 %% interval %(low)s to %(high)s).")
    return f"{moved} {told % value}"


def _left_out(found: RunPair) -> list[str]:
    told = []
    if found.first_only:
        told.append(
            ngettext(
                "%(n)s response has a usable verdict only in the first run.",
                "%(n)s responses have a usable verdict only in the first run.",
                found.first_only,
            )
            % {"n": f"{found.first_only:,}"}
        )
    if found.second_only:
        told.append(
            ngettext(
                "%(n)s response has a usable verdict only in the second run.",
                "%(n)s responses have a usable verdict only in the second run.",
                found.second_only,
            )
            % {"n": f"{found.second_only:,}"}
        )
    if found.unlike:
        told.append(
            ngettext(
                "%(n)s response was judged by different questions and is not compared.",
                "%(n)s responses were judged by different questions and are not compared.",
                found.unlike,
            )
            % {"n": f"{found.unlike:,}"}
        )
    return told


def _provenance(runs: "list[JudgeRun | None]") -> list[str]:
    scripted = any(run is not None and run.judge.rater.provenance == Rater.Provenance.SCRIPTED for run in runs)
    return [Rater.Provenance.SCRIPTED] if scripted else []
