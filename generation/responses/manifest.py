"""The manifest of a generation run: code, libraries, parameters, data and results."""

import hashlib
import json
from typing import Any

from django.db.models import Avg, Count, F, FloatField, Max, Min, Sum
from django.db.models.functions import Abs, Cast

from generation.endpoints.clients import served_name
from generation.execution.code_version import code_version, library_versions, results_of
from generation.llm.protocol.wrapping import LENGTHS
from generation.models import GenerationRun, Instruction, LanguageModel, Response
from generation.responses.recording import spent_of


def instructions_hash(run: GenerationRun) -> str:
    """Return the SHA-256 of the names and chats of the planned instructions, in their order."""
    digest = hashlib.sha256()
    pks = run.items.order_by().values("instruction")
    chats = Instruction.objects.filter(pk__in=pks).order_by("external_id", "pk")
    for name, messages in chats.values_list("external_id", "messages").iterator(2_000):
        whole = json.dumps([name, messages], ensure_ascii=True, sort_keys=True)
        digest.update(hashlib.sha256(whole.encode()).digest())
    return digest.hexdigest()


def models_of(run: GenerationRun) -> list[LanguageModel]:
    """Return the models that a run asks, by name."""
    pks = run.items.order_by().values("model").distinct()
    found = LanguageModel.objects.filter(pk__in=pks).select_related("endpoint__workspace")
    return list(found.prefetch_related("endpoint__grants").order_by("name"))


def manifest_at_start(run: GenerationRun) -> dict[str, Any]:
    """Return what was requested. A server that batches need not give the same text twice."""
    items = run.items.aggregate(
        items=Count("pk"), instructions=Count("instruction", distinct=True), samples=Max("sample")
    )
    return {
        "asked": {
            "models": [
                {
                    "name": model.name,
                    "served_name": served_name(model),
                    "endpoint": model.endpoint.base_url or model.endpoint.name if model.endpoint else "",
                    "parameters": {key: model.parameters[key] for key in model.parameters if key != "script"},
                }
                for model in models_of(run)
            ],
            "benchmark": run.benchmark.slug,
            "experiment": run.experiment,
            "parameters": run.parameters,
            "items": items["items"],
            "instructions": items["instructions"],
            "samples": 1 + (items["samples"] or 0),
            "seed": run.seed,
        },
        "data_hash": instructions_hash(run),
        "code": code_version(),
        "versions": library_versions(),
    }


def measures_of(run: GenerationRun) -> list[dict[str, Any]]:
    """Return metrics of each model of a run, by name.

    These are the responses, words (mean, minimum, maximum), mean distance from the requested words, finish reasons,
    tokens, money and mean seconds.
    """
    responses = Response.objects.filter(run=run).order_by()
    asked = LENGTHS.get(run.experiment)
    rows = responses.values("model__name").annotate(
        responses=Count("pk"),
        mean_words=Avg("words"),
        least_words=Min("words"),
        most_words=Max("words"),
        tokens_written=Sum("tokens", default=0),
        tokens_read=Sum("input_tokens", default=0),
        money=Sum("cost"),
        mean_seconds=Avg("seconds"),
    )
    reasons: dict[str, dict[str, int]] = {}
    for row in responses.values("model__name", "finish_reason").annotate(n=Count("pk")):
        reasons.setdefault(row["model__name"], {})[row["finish_reason"] or "unknown"] = row["n"]
    wanted = asked if asked is not None else F("instruction__words_asked")
    with_length = responses if asked is not None else responses.filter(instruction__words_asked__isnull=False)
    errors = {
        row["model__name"]: row["error"]
        for row in with_length.exclude(words=None)
        .annotate(away=Abs(Cast(F("words"), FloatField()) - wanted))
        .values("model__name")
        .annotate(error=Avg("away"))
    }
    return [
        {
            **row,
            "money": str(row["money"] or 0),
            "finish_reasons": dict(sorted(reasons[row["model__name"]].items())),
            "length_error": errors.get(row["model__name"]),
        }
        for row in sorted(rows, key=lambda row: row["model__name"])
    ]


def manifest_at_end(run: GenerationRun) -> dict[str, Any]:
    return results_of(run, spent_of(run), models=measures_of(run))
