"""Reader of Argilla's records as rows: label, rating and text questions with their responses and suggestions. PURE.

Submitted responses are people's answers and suggestions a judge's. Drafts and discarded responses are empty answers.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from core.tables.bad_rows import BadRow, Place
from generation.importers.formats import messages
from generation.importers.formats.format import Format, Record
from generation.importers.formats.pairs import Described, described, responses_of
from generation.importers.formats.source import Source, rater_name, text_of
from generation.importers.records import RatingRecord

KEEPING = {"id", "_server_id", "status", "inserted_at", "updated_at", "external_id"}
RESPONSES, SUGGESTION, OLD_SUGGESTION = ".responses", ".suggestion", "-suggestion"
SUBMITTED = (None, "submitted")


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
            RESPONSES, f"{RESPONSES}.users", f"{RESPONSES}.status", SUGGESTION, f"{SUGGESTION}.agent",
            f"{SUGGESTION}.score",
        )
    }  # fmt: skip
    source.note_unknown(row, KEEPING | source.used | of_questions)
    records: list[Record] = list(responses_of(place, about))
    for name in asked:
        records += _responses(source, place, row, about, name)
    for name in suggested:
        value = row.get(f"{name}{SUGGESTION}")
        if value is not None and (text := _value(source, place, name, value)) is not None:
            judge = rater_name(row.get(f"{name}{SUGGESTION}.agent"), "suggestion")
            records.append(_rating(place, about, judge, name, text, is_judge=True))
            if row.get(f"{name}{SUGGESTION}.score") is not None:
                source.note(f"{name}{SUGGESTION}.score")
    return records


def _responses(
    source: Source, place: Place, row: Mapping[str, Any], about: Described, name: str
) -> Iterator[RatingRecord]:
    values, users, states = (row.get(f"{name}{RESPONSES}{ending}") or [] for ending in ("", ".users", ".status"))
    if not isinstance(values, list) or not isinstance(users, list) or (users and len(users) != len(values)):
        found = len(users) if isinstance(users, list) else 1
        given = len(values) if isinstance(values, list) else 1
        raise place.bad(messages.OTHER_LENGTHS(question=name, values=given, users=found), messages.WHOLE_EXPORT())
    for at, value in enumerate(values):
        rater = rater_name(users[at] if users else None, "annotator")
        state = states[at] if isinstance(states, list) and at < len(states) else None
        text = _value(source, place, name, value) if state in SUBMITTED and value is not None else ""
        if text is not None:
            yield _rating(place, about, rater, name if text else "", text, is_judge=source.is_judge(rater, False))


def _rating(place: Place, about: Described, rater: str, question: str, text: str, *, is_judge: bool) -> RatingRecord:
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
