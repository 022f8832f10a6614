"""Reader of promptfoo's results: prompts, outputs and the scores of their assertions. PURE.

The whole result is the criterion `score`; each assertion is one too, by its metric or its type. A person's rating in
promptfoo's viewer, an assertion of the type human, is a person's answer; all others are promptfoo's.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from core.tables.bad_rows import BadRow, Place
from core.tables.rows import as_text
from generation.importers.formats import messages
from generation.importers.formats.format import PROPORTION, Format, Record
from generation.importers.formats.source import Source, name_of_text, text_of
from generation.importers.records import InstructionRecord, RatingRecord, ResponseRecord

RESULT = {
    "id", "promptIdx", "testIdx", "testCase", "promptId", "provider", "prompt", "vars", "response", "success", "score",
    "latencyMs", "gradingResult", "namedScores", "failureReason", "cost", "error", "metadata", "tokenUsage", "evalId",
    "description",
}  # fmt: skip
GRADING = {
    "pass", "score", "reason", "componentResults", "namedScores", "tokensUsed", "assertion", "comment", "suggestions",
    "metadata", "namedScoreWeights",
}  # fmt: skip
PROMPTFOO, PERSON = "promptfoo", "promptfoo viewer"


def read_promptfoo(source: Source) -> Iterator[Record]:
    for place, row in source.objects(PROMPTFOO_RESULTS.within):
        try:
            yield from _result(source, place, row)
        except BadRow as problem:
            source.on_bad(problem)


def _result(source: Source, place: Place, row: Mapping[str, Any]) -> list[Record]:
    source.note_unknown(row, RESULT)
    prompt, provider, response = (_object(row.get(name)) for name in ("prompt", "provider", "response"))
    asked = text_of(prompt.get("raw") or (row.get("prompt") if not prompt else ""))
    if not asked:
        raise place.bad(messages.NO_FIELD(field="prompt.raw"), messages.FILL_FIELD())
    model = text_of(provider.get("label") or provider.get("id") or (row.get("provider") if not provider else ""))
    model = model or source.options.model or "model"
    known = isinstance(row.get("testIdx"), int) and isinstance(row.get("promptIdx"), int)
    name = f"test-{row['testIdx']}-prompt-{row['promptIdx']}" if known else name_of_text(asked)
    output = response.get("output")
    latency = row.get("latencyMs")
    seconds = latency / 1000 if isinstance(latency, int | float) and not isinstance(latency, bool) else None
    instruction = InstructionRecord(place, name, asked)
    text = None if output is None else text_of(output)
    records: list[Record] = [
        ResponseRecord(place, instruction, model, text, seconds=seconds if seconds and 0 <= seconds < 1e9 else None)
    ]
    grading = _object(row.get("gradingResult"))
    source.note_unknown(grading, GRADING, "gradingResult.")
    if (score := _score(grading.get("score", row.get("score")))) is not None:
        records.append(_rating(place, name, model, PROMPTFOO, "score", score, grading))
    taken: dict[str, int] = {}
    parts = grading.get("componentResults")
    for part in parts if isinstance(parts, list) else []:
        assertion = _object(_object(part).get("assertion"))
        criterion = as_text(assertion.get("metric") or assertion.get("type") or "assertion")[:90]
        number = taken[criterion] = taken.get(criterion, 0) + 1
        rater = PERSON if assertion.get("type") == "human" else PROMPTFOO
        if isinstance(part, dict) and (score := _score(part.get("score"))) is not None:
            called = criterion if number == 1 else f"{criterion} {number}"
            records.append(_rating(place, name, model, rater, called, score, part))
    return records


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _score(value: object) -> str | None:
    return text_of(value) if isinstance(value, int | float) and value == value else None


def _rating(
    place: Place, item: str, model: str, rater: str, criterion: str, value: str, part: Mapping[str, Any]
) -> RatingRecord:
    reason = text_of(part.get("comment") or part.get("reason"))
    return RatingRecord(place, item, rater, rater == PROMPTFOO, criterion, value, model=model, reason=reason)


PROMPTFOO_RESULTS = Format(
    "promptfoo",
    "promptfoo results",
    read_promptfoo,
    (frozenset({"prompt", "vars", "gradingResult"}), frozenset({"prompt", "provider", "response", "success"})),
    within=("results", "results"),
    scales=PROPORTION,
)
