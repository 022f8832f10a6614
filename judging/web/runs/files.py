"""The results of a run, for its page and as downloads: report, manifest, and every item with its cost."""

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.core.cache import cache
from django.db.models import Count, Max, Q, Sum
from django.http import HttpResponse

from core.clock import Clock
from core.tables.formula_cells import CsvWriter
from generation.library.loading import batches
from generation.web.run_controls import json_response
from judging.models import JudgeRun, PlannedItem, Reply
from judging.runs.life_cycle import progress_of
from judging.runs.verdict_records import RAW_COLUMN, VERDICT_COLUMNS, verdict_cells

SLOWEST_SHOWN = 5
SLOWEST_KEPT_SECONDS = 15
STATUS = PlannedItem.Status
ITEM_COLUMNS = (
    "position",
    "instruction",
    "model_a",
    "model_b",
    "shown_first",
    "juror",
    "repeat",
    "canary",
    "status",
    "reason",
    "replies",
    "input_tokens",
    "output_tokens",
    "seconds",
    "cost",
    "discredited",
    "item_a",
    "item_b",
    *VERDICT_COLUMNS,
)
LINES_AT_ONCE = 500


@dataclass(frozen=True)
class SlowReply:
    """One of the slowest replies."""

    instruction: str
    model: str
    seconds: float
    tokens: int


def slowest_replies(run: JudgeRun) -> list[SlowReply]:
    """Return the slowest replies; of a running run, as of at most 15 seconds ago, because finding them reads every
    reply.
    """
    going = run.status == JudgeRun.Status.RUNNING
    key = f"judge-run-slowest-{run.pk}"
    known = cache.get(key) if going else None
    if known is None:
        known = _slowest(run)
        if going:
            cache.set(key, known, SLOWEST_KEPT_SECONDS)
    return list(known)


def _slowest(run: JudgeRun) -> list[SlowReply]:
    pks = Reply.objects.filter(item__run=run, reused_from=None).order_by("-seconds").values_list("pk", flat=True)
    replies = (
        Reply.objects.filter(pk__in=list(pks[:SLOWEST_SHOWN]))
        .select_related("item__task__response_a__instruction", "item__task__response_a__model")
        .defer("text", "item__task__response_a__text")
        .order_by("-seconds")
    )
    return [
        SlowReply(
            reply.item.task.response_a.instruction.external_id,
            str(reply.item.task.response_a.model or "–"),
            reply.seconds,
            reply.output_tokens,
        )
        for reply in replies
    ]


def run_report(run: JudgeRun, *, clock: Clock) -> dict[str, object]:
    """Return counts that add up: scored, unscored and waiting make the total, as do the models'; canary texts are
    apart.
    """
    progress = progress_of(run, clock=clock)
    planted = run.items.exclude(canary="").order_by().values("canary", "status").annotate(n=Count("pk"))
    believed = run.believed_canaries
    if believed is not None:
        believed = [{"text": canary["text"], "what": canary["what"]} for canary in believed]
    return {
        "run": run.public_id,
        "judge": run.judge.rater.label,
        "method": run.judge.method,
        "study": run.study.slug,
        "status": run.status,
        "message": run.message,
        "discredited": run.discredited,
        "believed_canaries": believed,
        "started_at": run.started_at.isoformat() if run.started_at else None,
        "finished_at": run.finished_at.isoformat() if run.finished_at else None,
        "items": {
            "total": progress.total,
            "scored": progress.scored,
            "unscored": progress.unscored,
            "waiting": progress.waiting,
        },
        "unscored": dict(progress.reasons),
        "models": _by_model(run),
        "planted": [
            {"text": row["canary"], "status": row["status"], "n": row["n"]}
            for row in planted.order_by("canary", "status")
        ],
        "replies": {
            "calls": progress.calls,
            "reused": progress.reused,
            "errors": errors_of(run),
            "seconds_mean": progress.seconds_per_reply,
        },
        "tokens": {"read": progress.input_tokens, "written": progress.output_tokens},
        "money": f"{progress.money:f}",
        "budget": limits_of(run),
    }


def limits_of(run: JudgeRun) -> dict[str, int | str | None]:
    """Return the run's limits; None is no limit."""
    money = f"{run.budget_money:f}" if run.budget_money is not None else None
    return {"calls": run.budget_calls, "tokens": run.budget_tokens, "money": money}


def errors_of(run: JudgeRun) -> dict[str, int]:
    """Return the errors of the run's replies with their numbers, most frequent first."""
    errors = Reply.objects.filter(item__run=run).exclude(error="").order_by().values("error").annotate(n=Count("pk"))
    return {row["error"]: row["n"] for row in errors.order_by("-n", "error")}


def _by_model(run: JudgeRun) -> list[dict[str, object]]:
    """Count by the model that wrote response A, so that a pair counts once."""
    rows = (
        run.items.filter(canary="")
        .order_by()
        .values("task__response_a__model__name")
        .annotate(
            total=Count("pk"),
            scored=Count("pk", filter=Q(status=STATUS.SCORED)),
            unscored=Count("pk", filter=Q(status=STATUS.UNSCORED)),
        )
    )
    return sorted(
        (
            {
                "model": row["task__response_a__model__name"] or "",
                **{name: row[name] for name in ("total", "scored", "unscored")},
            }
            for row in rows
        ),
        key=lambda row: str(row["model"]),
    )


def files_of_run(run: JudgeRun, *, raw: bool, clock: Clock) -> dict[str, Callable[[], HttpResponse]]:
    """Return what makes each file of the run, by its name; `raw` adds the raw replies to items.csv."""
    return {
        "manifest.json": lambda: json_response(manifest_file(run)),
        "report.json": lambda: json_response(run_report(run, clock=clock)),
        "items.csv": lambda: HttpResponse("".join(items_csv(run, raw=raw)), content_type="text/csv; charset=utf-8"),
    }


def manifest_file(run: JudgeRun) -> dict[str, object]:
    """Return the manifest with the run's identity, and each judge's prompt by its hash."""
    prompts = {one.prompt_hash: one.prompt for one in [run.judge, *run.judge.jurors.all()] if one.prompt}
    return {"run": run.public_id, "status": run.status, **run.manifest, "prompts": prompts}


def items_csv(run: JudgeRun, *, raw: bool = False) -> Iterator[str]:
    """Yield a line per item in the plan's order, after the names of the columns; `raw` adds the last reply in full."""
    yield _line([*ITEM_COLUMNS, RAW_COLUMN] if raw else ITEM_COLUMNS)
    doubted = run.discredited
    rows = (
        run.items.order_by("position", "pk")
        .annotate(
            n=Count("replies"),
            read=Sum("replies__input_tokens", default=0),
            written=Sum("replies__output_tokens", default=0),
            took=Max("replies__seconds"),
            cost=Sum("replies__cost", default=0),
        )
        .values_list(
            "pk",
            "assignment_id",
            "status",
            "position",
            "task__response_a__instruction__external_id",
            "task__response_a__model__name",
            "task__response_b__model__name",
            "shown_first",
            "juror",
            "repeat",
            "canary",
            "status",
            "reason",
            "n",
            "read",
            "written",
            "took",
            "cost",
            "task__response_a__external_id",
            "task__response_b__external_id",
        )
    )
    for some in batches(rows.iterator(5_000), LINES_AT_ONCE):
        cells = verdict_cells([(pk, assignment, status) for pk, assignment, status, *_rest in some], raw=raw)
        for (_pk, _assignment, _status, *row, item_a, item_b), added in zip(some, cells, strict=True):
            yield _line([*row, doubted, item_a, item_b, *added])


def _line(values: Any) -> str:
    out = io.StringIO()
    CsvWriter(out).writerow(values)
    return out.getvalue()
