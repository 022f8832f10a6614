"""The contents of a generation run's page, in the reader's language."""

from dataclasses import dataclass
from typing import Any

from django.utils.translation import ngettext

from core.clock import Clock
from generation.endpoints.clients import uncounted_of
from generation.execution.messages import calls_in_words, rate_since, state_in_words, time_left
from generation.models import Endpoint, GenerationRun, Response
from generation.responses.batch import in_batches
from generation.responses.manifest import measures_of, models_of
from generation.responses.runs import SLOWEST_SHOWN, Progress, nobody_works, progress_of


@dataclass(frozen=True)
class GenerationPanel:
    """`live`: the page reloads, also while a paused run's last replies arrive. `rows`: one per model.

    `stalled`: no worker works on a running run. `offers` changes when the lead's options change. `uncounted`: the
    endpoints that do not count tokens. `broken_off`: a sentence on texts that did not reach their end. `calls`: a
    sentence on calls that wait for a rate limit, or for which a stop waits.
    """

    progress: Progress
    opening: str
    live: bool
    stalled: bool
    batched: bool
    offers: str
    per_minute: float | None
    left: str
    calls: str
    rows: list[dict[str, Any]]
    slowest: list[Response]
    uncounted: str
    broken_off: str


def generation_panel(run: GenerationRun, *, clock: Clock) -> GenerationPanel:
    progress = progress_of(run, clock=clock)
    per_minute = rate_since(run.started_at, progress.last_response_at, progress.done)
    running = run.status == GenerationRun.Status.RUNNING
    batched = in_batches(run)
    return GenerationPanel(
        progress=progress,
        opening=_opening(run, progress),
        live=running or (progress.busy > 0 and not batched),
        stalled=running and not batched and progress.waiting > 0 and nobody_works(run, clock=clock),
        batched=batched,
        offers=f"{run.status}-{int(progress.failed > 0)}",
        per_minute=per_minute,
        calls="" if batched else calls_in_words(run.status, progress.calls_now, clock=clock),
        left=time_left(progress.waiting, per_minute) if running else "",
        rows=_rows(run, progress),
        slowest=_slowest(run),
        uncounted=uncounted_of(models_of(run)) if run.estimated else "",
        broken_off=broken_off_in_words(progress.broken_off),
    )


def broken_off_in_words(texts: int) -> str:
    """Return what became of texts that broke off; '' if none did."""
    if not texts:
        return ""
    return ngettext(
        "%(n)s response was interrupted and discarded. Its tokens are estimated and count toward the "
        "budget, because endpoints charge for them.",
        "%(n)s responses were interrupted and discarded. Their tokens are estimated and count toward the "
        "budget, because endpoints charge for them.",
        texts,
    ) % {"n": f"{texts:,}"}


def scripted_models(run: GenerationRun) -> bool:
    """Whether a script wrote some of the run's texts."""
    return run.items.filter(model__endpoint__kind=Endpoint.Kind.SCRIPTED).exists()


def _rows(run: GenerationRun, progress: Progress) -> list[dict[str, Any]]:
    """Return the progress of each model with the metrics of its texts so far."""
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
    """Return the opening sentence: the progress and the state of the run."""
    sentence = ngettext(
        "%(done)s of %(total)s response has been written",
        "%(done)s of %(total)s responses have been written",
        progress.total,
    ) % {"done": f"{progress.done:,}", "total": f"{progress.total:,}"}
    if progress.failed:
        sentence += ngettext(", %(n)s failed", ", %(n)s failed", progress.failed) % {"n": f"{progress.failed:,}"}
    return sentence + state_in_words(run.status)
