"""Writers of single scores, one line for each criterion of an answer: Langfuse, MLflow and OpenTelemetry. PURE."""

import hashlib
from collections.abc import Iterator
from datetime import datetime

from judging.formats.answers import Answered, ExportedAnswer, ExportedScore, ExportedTask, Files, WriteOptions
from judging.formats.writer import SINGLE, Writer, line, without_empty


def _scores(answered: Answered) -> Iterator[tuple[ExportedTask, ExportedAnswer, ExportedScore]]:
    for task, answers in answered:
        for answer in answers:
            for score in answer.scores:
                if score.value is not None:
                    yield task, answer, score


def _metadata(task: ExportedTask, answer: ExportedAnswer) -> dict[str, object]:
    found = {
        "study": task.study,
        "instruction": task.instruction,
        "model": task.a.model,
        "rater": answer.rater,
        "rater_kind": answer.rater_kind,
    }
    return without_empty(found)


def _id(task: ExportedTask, answer: ExportedAnswer, score: ExportedScore) -> str:
    """Return the same id each time, so that sending a score again overwrites it."""
    parts = (task.study, task.key, answer.rater_kind, answer.rater, str(answer.repeat), score.criterion)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def write_langfuse(answered: Answered, files: Files, options: WriteOptions) -> int:
    """Write bodies of POST /api/public/scores; the item's name is the trace's id."""
    written = 0
    for task, answer, score in _scores(answered):
        value = score.written
        row = {
            "id": _id(task, answer, score),
            "traceId": task.a.item,
            "name": score.criterion,
            "value": value,
            "dataType": "CATEGORICAL" if isinstance(value, str) else "NUMERIC",
            **without_empty({"comment": score.reason}),
            "metadata": _metadata(task, answer),
        }
        files.write(line(row))
        written += 1
    return written


def write_mlflow(answered: Answered, files: Files, options: WriteOptions) -> int:
    """Write arguments of mlflow.log_feedback; the item's name is the trace's id, and a source is a person or a judge."""
    written = 0
    for task, answer, score in _scores(answered):
        kind = "LLM_JUDGE" if answer.is_judge else "HUMAN"
        row = {
            "trace_id": task.a.item,
            "name": score.criterion,
            "value": score.written,
            **without_empty({"rationale": score.reason}),
            "source": {"source_type": kind, "source_id": answer.rater},
            "metadata": _metadata(task, answer),
        }
        files.write(line(row))
        written += 1
    return written


def write_opentelemetry(answered: Answered, files: Files, options: WriteOptions) -> int:
    """Write log records gen_ai.evaluation.result as OTLP in JSON Lines; the item's name is the response's id."""
    written = 0
    for task, answer, score in _scores(answered):
        texts = {
            "gen_ai.evaluation.name": score.criterion,
            "gen_ai.evaluation.score.label": score.level if score.labelled else "",
            "gen_ai.evaluation.explanation": score.reason,
            "gen_ai.response.id": task.a.item,
            "gen_ai.response.model": task.a.model,
            "plumbline.rater": answer.rater,
            "plumbline.rater.kind": answer.rater_kind,
            "plumbline.study": task.study,
        }
        attributes: list[dict[str, object]] = [
            {"key": key, "value": {"stringValue": text}} for key, text in texts.items() if text
        ]
        attributes.append({"key": "gen_ai.evaluation.score.value", "value": {"doubleValue": score.value}})
        record = {
            "eventName": "gen_ai.evaluation.result",
            **without_empty({"timeUnixNano": _nanoseconds(answer.submitted_at)}),
            "attributes": attributes,
        }
        scope = {"scope": {"name": "plumbline"}, "logRecords": [record]}
        files.write(line({"resourceLogs": [{"resource": {"attributes": []}, "scopeLogs": [scope]}]}))
        written += 1
    return written


def _nanoseconds(moment: str) -> str:
    return str(int(datetime.fromisoformat(moment).timestamp() * 1_000_000) * 1000) if moment else ""


LANGFUSE = Writer("langfuse", "Langfuse scores", write_langfuse, tasks=SINGLE)
MLFLOW = Writer("mlflow", "MLflow feedback", write_mlflow, tasks=SINGLE)
OPENTELEMETRY = Writer("opentelemetry", "OpenTelemetry evaluation events", write_opentelemetry, tasks=SINGLE)
