"""Writer of tasks as Label Studio imports them: people's answers as annotations, judges' as predictions. PURE.

Annotations have no completed_by, because Label Studio refuses people whom it does not know; the pseudonym is in `rater`.
"""

from judging.formats.answers import Answered, ExportedAnswer, ExportedTask, Files, WriteOptions
from judging.formats.writer import JsonArray, Writer, without_empty

SIDES = {"a": "left", "b": "right"}
STARS = 10
"""The highest whole number that is written as a rating; others are numbers."""


def write_label_studio(answered: Answered, files: Files, options: WriteOptions) -> int:
    array, written = JsonArray(files), 0
    for task, answers in answered:
        annotations = [_annotation(task, number, one) for number, one in enumerate(answers) if not one.is_judge]
        predictions = [
            {"model_version": one.rater, "rater_kind": one.rater_kind, "result": _result(one)}
            for one in answers
            if one.is_judge
        ]
        written += len(annotations) + len(predictions)
        array.add({"id": task.number, "data": _data(task), "annotations": annotations, "predictions": predictions})
    array.end()
    return written


def _data(task: ExportedTask) -> dict[str, object]:
    row: dict[str, object] = {"instruction_id": task.instruction, "category": task.category, "prompt": task.prompt}
    if task.b is None:
        row |= {"item": task.a.item, "model": task.a.model, "response": task.a.text}
    else:
        row |= {
            "item": task.key,
            "model_a": task.a.model,
            "response_a": task.a.text,
            "model_b": task.b.model,
            "response_b": task.b.text,
        }
    return without_empty(row)


def _annotation(task: ExportedTask, number: int, answer: ExportedAnswer) -> dict[str, object]:
    return without_empty(
        {
            "id": task.number * 1000 + number,
            "rater": answer.rater,
            "rater_kind": answer.rater_kind,
            "result": _result(answer),
            "lead_time": answer.seconds,
            "created_at": answer.submitted_at,
        }
    ) | {"was_cancelled": False, "ground_truth": answer.rater_kind == "key"}


def _result(answer: ExportedAnswer) -> list[dict[str, object]]:
    if answer.choice:
        selected: dict[str, object] = {"selected": SIDES[answer.choice]} if answer.choice in SIDES else {}
        results = [_one("preference", "pairwise", selected)]
    else:
        results = []
        for score in answer.scores:
            value = score.written
            if isinstance(value, str):
                results.append(_one(score.criterion, "choices", {"choices": [value]}))
            elif isinstance(value, int) and 0 < value <= STARS:
                results.append(_one(score.criterion, "rating", {"rating": value}))
            elif value is not None:
                results.append(_one(score.criterion, "number", {"number": value}))
    if answer.reason:
        results.append(_one("reason", "textarea", {"text": [answer.reason]}))
    return results


def _one(question: str, kind: str, value: dict[str, object]) -> dict[str, object]:
    return {"id": question[:10], "from_name": question, "to_name": "response", "type": kind, "value": value}


LABEL_STUDIO = Writer("label-studio", "Label Studio", write_label_studio, ending="json", texts=True)
