"""Writer of records as Argilla 2 gives them as rows: people's answers as responses, a judge's as suggestions. PURE.

A question of Argilla has one suggestion: of several judges, the one that was asked for is written, else the first one.
"""

from collections.abc import Iterable
from itertools import groupby

from judging.formats.answers import Answered, ExportedAnswer, ExportedTask, Files, WriteOptions
from judging.formats.writer import Writer, line, without_empty

CHOICE, REASON = "preference", "reason"
"""The questions of which response is better, and of why."""


def write_argilla(answered: Answered, files: Files, options: WriteOptions) -> int:
    """Write one line for each response or pair; return how many answers stand in them."""
    written, judge = 0, options.judge
    for _responses, group in groupby(answered, key=lambda each: (each[0].a, each[0].b)):
        tasks = list(group)
        answers = [answer for _task, every in tasks for answer in every]
        people = [answer for answer in answers if answer.is_person and _values(answer)]
        judges = [answer for answer in answers if answer.is_judge and _values(answer)]
        judge = judge or next((answer.rater for answer in judges), "")
        suggested = [answer for answer in judges if answer.rater == judge][:1]
        if people or suggested:
            files.write(line(_fields(tasks[0][0]) | _responded(people) | _suggested(suggested)))
            written += len(people) + len(suggested)
    return written


def _fields(task: ExportedTask) -> dict[str, object]:
    row: dict[str, object] = {"instruction_id": task.instruction, "category": task.category, "prompt": task.prompt}
    if task.b is None:
        row |= {"id": task.a.item, "model": task.a.model, "response": task.a.text}
    else:
        row |= {
            "id": task.key,
            "model_a": task.a.model,
            "response_a": task.a.text,
            "model_b": task.b.model,
            "response_b": task.b.text,
        }
    return without_empty(row)


def _values(answer: ExportedAnswer) -> dict[str, object]:
    """Return what a rater said, by question."""
    if answer.choice:
        return {CHOICE: answer.choice}
    return {score.criterion: score.written for score in answer.scores if score.value is not None}


def _said(answer: ExportedAnswer) -> dict[str, object]:
    """Return the values and, unless a criterion has its name, the reason."""
    return ({REASON: answer.reason} if answer.reason else {}) | _values(answer)


def _responded(people: Iterable[ExportedAnswer]) -> dict[str, object]:
    columns: dict[str, dict[str, list[object]]] = {}
    for answer in people:
        for question, value in _said(answer).items():
            column = columns.setdefault(question, {"values": [], "users": [], "status": []})
            column["values"].append(value)
            column["users"].append(answer.rater)
            column["status"].append("submitted")
    row: dict[str, object] = {}
    for question, column in columns.items():
        name = f"{question}.responses"
        row |= {name: column["values"], f"{name}.users": column["users"], f"{name}.status": column["status"]}
    return row


def _suggested(judges: Iterable[ExportedAnswer]) -> dict[str, object]:
    row: dict[str, object] = {}
    for answer in judges:
        for question, value in _said(answer).items():
            row |= {f"{question}.suggestion": value, f"{question}.suggestion.agent": answer.rater}
    return row


ARGILLA = Writer("argilla", "Argilla", write_argilla, texts=True)
