"""What a run was made of: code, prompt, parameters, data, library versions; and what came of it."""

import hashlib
from typing import Any

from django.db.models import Count

from generation.endpoints import served_name, takes_json_schema
from generation.manifests import code_version, library_versions
from judging.models import Judge, JudgeRun
from judging.settled_runs import jurors_of
from judging.spent import spent_of


def planned_data_hash(run: JudgeRun) -> str:
    """SHA-256 over what is judged, in the plan's order: instruction, model, text, and the rubric's questions."""
    digest = hashlib.sha256()
    rubrics: set[int] = set()
    items = run.items.order_by("position").select_related(
        "task__response_a__instruction", "task__response_a__model", "task__response_b__model"
    )
    for item in items.iterator(2_000):
        for response in filter(None, (item.task.response_a, item.task.response_b)):
            name = item.task.response_a.instruction.external_id
            for part in (name, str(response.model or ""), response.text or ""):
                digest.update(hashlib.sha256(part.encode(errors="surrogatepass")).digest())
        rubrics.add(item.task.answer_rubric_id)
    questions = run.study.tasks.filter(answer_rubric__in=rubrics).values_list(
        "answer_rubric__key", "answer_rubric__criteria__key", "answer_rubric__criteria__questions"
    )
    for rubric, key, texts in sorted({(r, str(k), str(q)) for r, k, q in questions.order_by()}):
        digest.update(f"{rubric}\x1f{key}\x1f{texts}\x1e".encode())
    return digest.hexdigest()


def manifest_at_start(run: JudgeRun) -> dict[str, Any]:
    """What is asked for. Temperature 0 on a batching server need not repeat: this is the asking, not the getting."""
    judge = run.judge
    jurors = jurors_of(run)
    return {
        "asked": {
            "judge": judge.rater.label,
            **_asked_of(jurors[0]),
            "jurors": [_asked_of(juror) for juror in jurors],
            "method": judge.method,
            "prompt_hash": judge.prompt_hash,
            "parameters": judge.parameters,
            "study": run.study.slug,
            "items": run.items.count(),
            "seed": run.seed,
        },
        "data_hash": planned_data_hash(run),
        "code": code_version(),
        "versions": library_versions(),
    }


def _asked_of(judge: Judge) -> dict[str, Any]:
    """Which model is asked where, with which prompt; a plain rule has neither."""
    model = judge.language_model
    endpoint = model.endpoint if model else None
    return {
        "name": judge.rater.label,
        "model": model.name if model else "",
        "served_name": served_name(model) if model else "",
        "endpoint": (endpoint.base_url or endpoint.name) if endpoint else "",
        "structured": bool(endpoint and takes_json_schema(endpoint)),
        "prompt_hash": judge.prompt_hash,
        "parameters": judge.parameters,
    }


def manifest_at_end(run: JudgeRun) -> dict[str, Any]:
    spent = spent_of(run)
    statuses = run.items.order_by().values("status").annotate(n=Count("pk"))
    return {
        "came": {
            "items": {row["status"]: row["n"] for row in statuses},
            "calls": spent.calls,
            "tokens": spent.tokens,
            "money": str(spent.money),
            "code": code_version(),
            "versions": library_versions(),
        }
    }
