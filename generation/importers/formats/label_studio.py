"""Reader of Label Studio's JSON export: choices, ratings, numbers, pairwise choices and texts of tasks. PURE.

Annotations are people's answers, predictions are judges'. An annotation that was cancelled is an empty answer, and one
marked as ground truth is the correct answer.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from core.tables.bad_rows import BadRow, Place
from core.tables.rows import as_text
from generation.importers.formats import messages
from generation.importers.formats.format import Format, Record
from generation.importers.formats.pairs import Described, described, responses_of
from generation.importers.formats.source import Source, rater_name, required, seconds_of, text_of
from generation.importers.records import PreferenceRecord, RatingRecord

TASK = {"id", "data", "annotations", "predictions", "completions"}
KEEPING = {
    "file_upload", "drafts", "created_at", "updated_at", "inner_id", "total_annotations", "cancelled_annotations",
    "total_predictions", "comment_count", "unresolved_comment_count", "last_comment_updated_at", "project",
    "updated_by", "comment_authors", "is_labeled", "overlap", "avg_lead_time", "draft_exists", "allow_skip",
}  # fmt: skip
"""Label Studio's own bookkeeping of a task, which says nothing of its answers."""
ANNOTATION = {
    "id", "completed_by", "result", "was_cancelled", "ground_truth", "lead_time", "created_at", "updated_at", "rater",
    "rater_kind", "draft_created_at", "prediction", "result_count", "unique_id", "import_id", "last_action", "task",
    "project", "updated_by", "parent_prediction", "parent_annotation", "last_created_by", "bulk_created",
}  # fmt: skip
PREDICTION = {
    "id", "model_version", "result", "created_ago", "created_at", "updated_at", "task", "project", "mislabeling",
    "cluster", "neighbors", "rater_kind", "model", "model_run",
}  # fmt: skip
SIDES = {"left": "A", "right": "B"}


def read_label_studio(source: Source) -> Iterator[Record]:
    for place, task in source.objects():
        try:
            yield from _task(source, place, task)
        except BadRow as problem:
            source.on_bad(problem)


def _task(source: Source, place: Place, task: Mapping[str, Any]) -> list[Record]:
    data = task.get("data")
    if not isinstance(data, dict):
        raise place.bad(messages.NO_FIELD(field="data"), messages.WHOLE_EXPORT())
    if "completions" in task and "annotations" not in task:
        raise place.bad(
            messages.NOT_THIS_VERSION(version="Label Studio 0.8"), messages.EXPORT_AGAIN(version="Label Studio 1")
        )
    source.note_unknown(task, TASK | KEEPING)
    about = described(source, data, required(place, task, "id").strip())
    source.note_unknown(data, source.used, "data.")
    records: list[Record] = list(responses_of(place, about))
    for annotation in _objects(task.get("annotations")):
        source.note_unknown(annotation, ANNOTATION, "annotations.")
        stated = annotation.get("rater_kind")
        rater = rater_name(annotation.get("rater") or annotation.get("completed_by"), "annotator")
        truth = annotation.get("ground_truth") is True or stated == "key"
        is_judge = not truth and source.is_judge(rater, False, stated)
        records += _answers(source, place, annotation, about, rater, is_judge=is_judge, truth=truth)
    for prediction in _objects(task.get("predictions")):
        source.note_unknown(prediction, PREDICTION, "predictions.")
        judge = rater_name(prediction.get("model_version"), "prediction")
        records += _answers(source, place, prediction, about, judge, is_judge=True, truth=False)
    return records


def _objects(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _answers(
    source: Source,
    place: Place,
    answer: Mapping[str, Any],
    about: Described,
    rater: str,
    *,
    is_judge: bool,
    truth: bool,
) -> list[Record]:
    results = _objects(answer.get("result"))
    seconds = seconds_of(answer.get("lead_time"))
    reason = "\n".join(text for result in results for text in _texts(result)).strip()
    if answer.get("was_cancelled") is True:
        results = [{"type": "cancelled", "value": {}}]
    records: list[Record] = []
    for result in results:
        kind, value = result.get("type"), result.get("value")
        question = "" if kind == "cancelled" else as_text(result.get("from_name")) or as_text(kind)
        if kind == "textarea":
            continue
        if kind == "pairwise" and isinstance(value, dict):
            selected = text_of(value.get("selected") or value.get("selection"))
            if selected not in (*SIDES, ""):
                raise place.bad(
                    messages.FIELD_IS(field="selected", value=repr(selected[:30])),
                    messages.WRITE_AS(what="left, right"),
                )
            records.append(
                PreferenceRecord(
                    place,
                    about.item,
                    about.model_a,
                    about.model_b,
                    rater,
                    is_judge,
                    SIDES.get(selected, "tie"),
                    instruction=about.instruction,
                    category=about.category,
                    shown_first="a",
                    seconds=seconds,
                    reason=reason,
                    is_key=truth,
                )
            )
            continue
        text = "" if kind == "cancelled" else _value(source, place, question, kind, value)
        if text is not None:
            records.append(
                RatingRecord(
                    place,
                    about.item,
                    rater,
                    is_judge,
                    question,
                    text,
                    instruction=about.instruction,
                    model=about.model,
                    category=about.category,
                    seconds=seconds,
                    reason=reason,
                    is_key=truth,
                )
            )
    return records


def _texts(result: Mapping[str, Any]) -> list[str]:
    value = result.get("value")
    if result.get("type") != "textarea" or not isinstance(value, dict):
        return []
    texts = value.get("text")
    return [as_text(text) for text in texts] if isinstance(texts, list) else [as_text(texts)]


def _value(source: Source, place: Place, question: str, kind: object, value: object) -> str | None:
    """Return the answer as text, None for a kind of answer that has no scale. Raises BadRow for several choices."""
    if not isinstance(value, dict) or kind not in ("choices", "rating", "number", "taxonomy"):
        source.note(f"result.type={as_text(kind)}")
        return None
    found = value.get(kind)
    if not isinstance(found, list):
        return text_of(found)
    if len(found) > 1:
        raise place.bad(
            messages.SEVERAL_CHOICES(question=question, n=len(found)), messages.LEAVE_QUESTION(question=question)
        )
    one = found[0] if found else ""
    return " > ".join(map(as_text, one)) if isinstance(one, list) else text_of(one)


LABEL_STUDIO = Format(
    "label-studio",
    "Label Studio",
    read_label_studio,
    (frozenset({"data", "annotations"}), frozenset({"data", "predictions"}), frozenset({"data", "completions"})),
)
