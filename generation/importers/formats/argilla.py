"""Reader of Argilla's records as rows: label, rating and text questions with their responses and suggestions. PURE.

Submitted responses are people's answers and suggestions a judge's. Drafts and discarded responses are empty answers. What
is said to a question `reason` beside others is the reason of the rater's other answers, and in a record of two responses
the question `preference` chooses between them.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from core.tables.bad_rows import BadRow, Place
from generation.importers.formats import messages
from generation.importers.formats.format import Format, Record
from generation.importers.formats.pairs import Described, described, responses_of
from generation.importers.formats.source import Source, rater_name, text_of
from generation.importers.records import PreferenceRecord, RatingRecord

KEEPING = {"id", "_server_id", "status", "inserted_at", "updated_at", "external_id"}
RESPONSES, SUGGESTION, OLD_SUGGESTION = ".responses", ".suggestion", "-suggestion"
SUBMITTED = (None, "submitted")
CHOICE, REASON = "preference", "reason"
"""The question of which response of a pair is better, and the one of why; any other question is a criterion."""
CHOICES = {
    "a": "A",
    "b": "B",
    "tie": "tie",
    "both_bad": "both_bad",
    "response_a": "A",
    "response_b": "B",
    "response_1": "A",
    "response_2": "B",
}


def read_argilla(source: Source) -> Iterator[Record]:
    for place, row in source.objects():
        try:
            yield from _record(source, place, row)
        except BadRow as problem:
            source.on_bad(problem)


def _record(source: Source, place: Place, row: Mapping[str, Any]) -> list[Record]:
    if any(key.endswith(OLD_SUGGESTION) for key in row):
        raise place.bad(messages.NOT_THIS_VERSION(version="Argilla 1"), messages.EXPORT_AGAIN(version="Argilla 2"))
    asked = dict.fromkeys(key.partition(RESPONSES)[0] for key in row if RESPONSES in key)
    suggested = dict.fromkeys(key.partition(SUGGESTION)[0] for key in row if SUGGESTION in key)
    questions = [name for name in (*asked, *suggested) if name]
    about = described(source, row, text_of(row.get("id")).strip() or f"record-{place.line}")
    of_questions = {
        f"{name}{ending}"
        for name in questions
        for ending in (
            RESPONSES,
            f"{RESPONSES}.users",
            f"{RESPONSES}.status",
            SUGGESTION,
            f"{SUGGESTION}.agent",
            f"{SUGGESTION}.score",
        )
    }
    source.note_unknown(row, KEEPING | source.used | of_questions)
    records: list[Record] = list(responses_of(place, about))
    reasons = _reasons(place, row) if len({*questions} - {REASON}) else {}
    unused = set(reasons)
    for name in asked:
        if name == REASON and reasons:
            continue
        for rater, text in _responses(source, place, row, name):
            judge = source.is_judge(rater, False)
            reason = reasons.get(rater, "") if text else ""
            unused -= {rater} if text else set()
            records.append(_answer(place, about, rater, name if text else "", text, is_judge=judge, reason=reason))
    if unused:  # of raters who gave no other answer to this record
        source.note(f"{REASON}{RESPONSES}")
    for name in suggested:
        if name == REASON and len(suggested) > 1:
            continue
        value = row.get(f"{name}{SUGGESTION}")
        given = None if value is None else _value(source, place, name, value)
        if given is not None:
            agent = rater_name(row.get(f"{name}{SUGGESTION}.agent"), "suggestion")
            reason = text_of(row.get(f"{REASON}{SUGGESTION}")) if name != REASON else ""
            records.append(_answer(place, about, agent, name, given, is_judge=True, reason=reason))
            if row.get(f"{name}{SUGGESTION}.score") is not None:
                source.note(f"{name}{SUGGESTION}.score")
    return records


def _columns(place: Place, row: Mapping[str, Any], name: str) -> Iterator[tuple[object, str, object]]:
    """Yield the value, the rater and the status of each response to a question. Raises BadRow."""
    values, users, states = (row.get(f"{name}{RESPONSES}{ending}") or [] for ending in ("", ".users", ".status"))
    if not isinstance(values, list) or not isinstance(users, list) or (users and len(users) != len(values)):
        found = len(users) if isinstance(users, list) else 1
        given = len(values) if isinstance(values, list) else 1
        raise place.bad(messages.OTHER_LENGTHS(question=name, values=given, users=found), messages.WHOLE_EXPORT())
    for at, value in enumerate(values):
        rater = rater_name(users[at] if users else None, "annotator")
        yield value, rater, states[at] if isinstance(states, list) and at < len(states) else None


def _responses(source: Source, place: Place, row: Mapping[str, Any], name: str) -> Iterator[tuple[str, str]]:
    """Yield each rater of a question with the answer, which is empty for a draft or a discarded response."""
    for value, rater, state in _columns(place, row, name):
        text = _value(source, place, name, value) if state in SUBMITTED and value is not None else ""
        if text is not None:
            yield rater, text


def _reasons(place: Place, row: Mapping[str, Any]) -> dict[str, str]:
    """Return what raters wrote to the question of reasons, where there are others that it can give reasons for."""
    return {
        rater: text_of(value)
        for value, rater, state in _columns(place, row, REASON)
        if state in SUBMITTED and isinstance(value, str)
    }


def _answer(
    place: Place, about: Described, rater: str, question: str, text: str, *, is_judge: bool, reason: str
) -> RatingRecord | PreferenceRecord:
    """Return the choice between the two responses of a pair, else the value of a criterion."""
    choice = CHOICES.get(text.casefold()) if about.model_a and question == CHOICE else None
    if choice is not None:
        return PreferenceRecord(
            place,
            about.item,
            about.model_a,
            about.model_b,
            rater,
            is_judge,
            choice,
            instruction=about.instruction,
            category=about.category,
            reason=reason,
        )
    return RatingRecord(
        place,
        about.item,
        rater,
        is_judge,
        question,
        text,
        instruction=about.instruction,
        model=about.model,
        category=about.category,
        reason=reason,
    )


def _value(source: Source, place: Place, name: str, value: object) -> str | None:
    """Return an answer as text; None for spans and rankings, which have no scale. Raises BadRow for several labels."""
    if isinstance(value, list):
        if any(isinstance(part, list | dict) for part in value):
            source.note(name)
            return None
        if len(value) > 1:
            raise place.bad(
                messages.SEVERAL_CHOICES(question=name, n=len(value)), messages.LEAVE_QUESTION(question=name)
            )
        value = value[0] if value else ""
    return text_of(value)


ARGILLA = Format(
    "argilla", "Argilla", read_argilla, endings=(RESPONSES, SUGGESTION, OLD_SUGGESTION), lacking="*.responses"
)
