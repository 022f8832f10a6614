"""What a result page says of answers that a lead excluded or adjudicated or that were drawn with unequal probability, and
the view of it with the excluded ones."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from annotation.models import Study
from annotation.monitoring.exclusion import excluded_in, routed_in
from annotation.policies.policies import Selection
from calibration.data.scores import decided_studies, decided_tasks
from calibration.reports.cache import EXCLUDED, SHOWN
from generation.models import Benchmark

NOT_KEPT = ("waiting", "file", EXCLUDED)
"""Parts of an address that the other view does not have."""


@dataclass(frozen=True)
class ExcludedNote:
    """The excluded answers of what a page is about, whether it counts them, and the address of the other view.

    `by_source` of them were left out by the data's own authors, the others by a lead.
    """

    answers: int
    raters: int
    shown: bool
    other_view: str
    by_source: int = 0


def are_excluded_asked(request: HttpRequest, study: Study) -> bool:
    """Whether the address asks for the view that counts excluded answers, and there are any."""
    return is_asked(request) and excluded_in(task__study=study).answers > 0


def is_asked(request: HttpRequest) -> bool:
    return request.GET.get(EXCLUDED) == SHOWN


def answer_notes(request: HttpRequest, study: Study) -> dict[str, object]:
    """Return what the template _answer_notes.html shows of a study."""
    return {
        "excluded": _note(request, task__study=study),
        "adjudicated": decided_tasks(study),
        # No query is needed for a study that no draw made.
        "routed": routed_in(task__study=study) if Selection.of(study).drawn else 0,
    }


def benchmark_notes(request: HttpRequest, benchmark: Benchmark) -> dict[str, object]:
    """Return the same of all studies that rate the benchmark's responses."""
    studies = Study.objects.filter(pk__in=decided_studies(None, benchmark), benchmark=benchmark)
    return {
        "excluded": _note(request, task__response_a__instruction__benchmark=benchmark),
        "adjudicated": sum(decided_tasks(study) for study in studies),
        "routed": routed_in(task__response_a__instruction__benchmark=benchmark),
    }


def _note(request: HttpRequest, **where: Any) -> ExcludedNote | None:
    found = excluded_in(**where)
    if not found.answers:
        return None
    query = request.GET.copy()
    for name in NOT_KEPT:
        query.pop(name, None)
    shown = is_asked(request)
    if not shown:
        query[EXCLUDED] = SHOWN
    return ExcludedNote(found.answers, found.raters, shown, f"{request.path}?{query.urlencode()}", found.by_source)
