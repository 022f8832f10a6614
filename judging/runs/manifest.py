"""The manifest of a run: code, prompt, parameters, data, library versions and results."""

import hashlib

from annotation.models import Criterion
from generation.endpoints.clients import served_name, takes_json_schema
from generation.execution.code_version import code_version, library_versions, results_of
from judging.models import Judge, JudgeRun
from judging.runs.aggregation import jurors_of
from judging.runs.recording import spent_of


def planned_data_hash(run: JudgeRun) -> str:
    """SHA-256 over what is judged, in the plan's order: instruction, model, text, and the rubric's questions."""
    digest = hashlib.sha256()
    rubrics: set[int] = set()
    sides = ("task__response_a", "task__response_b")
    rows = run.items.order_by("position").values_list(
        "task__answer_rubric_id",
        "task__response_a__instruction__external_id",
        *(f"{side}{part}" for side in sides for part in ("_id", "__model__name", "__text")),
    )
    for rubric_id, name, *both in rows.iterator(500):
        for pk, model, text in (both[:3], both[3:]):
            if pk is not None:
                for part in (name, model or "", text or ""):
                    digest.update(hashlib.sha256(part.encode(errors="surrogatepass")).digest())
        rubrics.add(rubric_id)
    questions = Criterion.objects.filter(rubric__in=rubrics).values_list("rubric__key", "key", "questions")
    for rubric, key, texts in sorted({(r, k, str(q)) for r, k, q in questions.order_by()}):
        digest.update(f"{rubric}\x1f{key}\x1f{texts}\x1e".encode())
    return digest.hexdigest()


def manifest_at_start(run: JudgeRun) -> dict[str, object]:
    """The requested parameters. Even temperature 0 need not give the same reply twice on a batching server."""
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


def _asked_of(judge: Judge) -> dict[str, object]:
    """The model, endpoint and prompt of each judge; a plain rule has neither model nor prompt."""
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


def manifest_at_end(run: JudgeRun) -> dict[str, object]:
    return results_of(run, spent_of(run))
