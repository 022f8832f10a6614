"""What the page of a generation run shows, in the reader's language."""

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext, ngettext

from generation.batch import in_batches
from generation.leases import Clock
from generation.manifests import measures_of
from generation.models import Endpoint, GenerationRun, Response
from generation.runs import SLOWEST_SHOWN, Progress, nobody_works, progress_of

WHOLE_HOUR = 3600


@dataclass(frozen=True)
class GenerationPanel:
    """`live`: the page asks again. `stalled`: nobody works on it though it runs. `rows`: a model each."""

    progress: Progress
    opening: str
    live: bool
    stalled: bool
    batched: bool
    per_minute: float | None
    left: str
    rows: list[dict[str, Any]]
    slowest: list[Response]


def generation_panel(run: GenerationRun, *, clock: Clock) -> GenerationPanel:
    progress = progress_of(run, clock=clock)
    per_minute = _per_minute(run, progress)
    running = run.status == GenerationRun.Status.RUNNING
    batched = in_batches(run)
    return GenerationPanel(
        progress=progress,
        opening=_opening(run, progress),
        live=running,
        stalled=running and not batched and progress.waiting > 0 and nobody_works(run, clock=clock),
        batched=batched,
        per_minute=per_minute,
        left=_time_left(progress, per_minute) if running else "",
        rows=_rows(run, progress),
        slowest=_slowest(run),
    )


def scripted_models(run: GenerationRun) -> bool:
    """Whether a script wrote some of the run's texts."""
    return run.items.filter(model__endpoint__kind=Endpoint.Kind.SCRIPTED).exists()


def _rows(run: GenerationRun, progress: Progress) -> list[dict[str, Any]]:
    """How far each model is, beside what can be measured of its texts so far."""
    measures = {row["model__name"]: row for row in measures_of(run)}
    rows = []
    for model in progress.models:
        measured = measures.get(model.name, {})
        cut_off = measured.get("finish_reasons", {}).get("length", 0)
        rows.append({"model": model, "measures": measured, "cut_off": cut_off})
    return rows


def _slowest(run: GenerationRun) -> list[Response]:
    found = Response.objects.filter(run=run, seconds__isnull=False).select_related("instruction", "model")
    return list(found.defer("text").order_by("-seconds")[:SLOWEST_SHOWN])


def _opening(run: GenerationRun, progress: Progress) -> str:
    """The answer in one sentence: how far it is, and what state it is in."""
    said = ngettext(
        "%(done)d of %(total)d response is written",
        "%(done)d of %(total)d responses are written",
        progress.total,
    ) % {"done": progress.done, "total": progress.total}
    if progress.failed:
        said += ngettext(", %(n)d failed", ", %(n)d failed", progress.failed) % {"n": progress.failed}
    endings = {
        GenerationRun.Status.PLANNED: gettext("; the run has not begun."),
        GenerationRun.Status.RUNNING: gettext("; the run goes on."),
        GenerationRun.Status.PAUSED: gettext("; the run is paused."),
        GenerationRun.Status.FINISHED: gettext("; the run is finished."),
        GenerationRun.Status.FAILED: gettext("; the endpoint stopped the run."),
        GenerationRun.Status.CANCELLED: gettext("; the run was cancelled."),
        GenerationRun.Status.IMPORTED: gettext("; the responses were imported."),
    }
    return said + endings[GenerationRun.Status(run.status)]


def _per_minute(run: GenerationRun, progress: Progress) -> float | None:
    """Responses a minute since the run was started; None before there are enough to say."""
    if run.started_at is None or progress.last_response_at is None or progress.done < 2:
        return None
    seconds = (progress.last_response_at - run.started_at).total_seconds()
    return 60 * progress.done / seconds if seconds > 0 else None


def _time_left(progress: Progress, per_minute: float | None) -> str:
    if not per_minute or not progress.waiting:
        return ""
    seconds = 60 * progress.waiting / per_minute
    if seconds >= WHOLE_HOUR:
        return gettext("about %(hours).1f hours left") % {"hours": seconds / WHOLE_HOUR}
    minutes = max(1, round(seconds / 60))
    return ngettext("about %(n)d minute left", "about %(n)d minutes left", minutes) % {"n": minutes}
