"""Reader of preference pairs as trainers take them: a prompt, the response chosen and the one rejected. PURE."""

from collections.abc import Iterator, Mapping
from typing import Any

from core.tables.bad_rows import BadRow, Place
from generation.importers.formats.format import Format, Record
from generation.importers.formats.pairs import Described, instruction_named, responses_of
from generation.importers.formats.source import Source, rater_name, required, text_of
from generation.importers.records import PreferenceRecord

PAIR = {
    "prompt",
    "chosen",
    "rejected",
    "chosen_model",
    "rejected_model",
    "prompt_id",
    "rater",
    "rater_kind",
    "category",
    "votes_chosen",
    "votes_rejected",
}


def read_preference_pairs(source: Source) -> Iterator[Record]:
    for place, row in source.objects():
        try:
            source.note_unknown(row, PAIR)
            yield from _pair(source, place, row)
        except BadRow as problem:
            source.on_bad(problem)


def _pair(source: Source, place: Place, row: Mapping[str, Any]) -> list[Record]:
    chosen, rejected = row.get("chosen"), row.get("rejected")
    asked = row.get("prompt")
    if asked is None:
        asked, chosen, rejected = _shared(chosen, rejected)
    prompt = _only(asked)
    item = instruction_named(prompt, row.get("prompt_id"))
    about = Described(
        item,
        category=text_of(row.get("category")),
        prompt=prompt or None,
        model_a=text_of(row.get("chosen_model")) or "chosen",
        response_a=required(place, {"chosen": _only(chosen)}, "chosen"),
        model_b=text_of(row.get("rejected_model")) or "rejected",
        response_b=required(place, {"rejected": _only(rejected)}, "rejected"),
    )
    rater = rater_name(row.get("rater"), "preference")
    stated = row.get("rater_kind")
    answer = PreferenceRecord(
        place,
        item,
        about.model_a,
        about.model_b,
        rater,
        source.is_judge(rater, False, stated),
        "A",
        category=about.category,
        is_key=stated == "key",
    )
    return [*responses_of(place, about), answer]


def _shared(chosen: object, rejected: object) -> tuple[object, object, object]:
    """Return the turns that both conversations begin with, and the rest of each."""
    if not (isinstance(chosen, list) and isinstance(rejected, list)):
        return "", chosen, rejected
    same = 0
    while same < min(len(chosen), len(rejected)) - 1 and chosen[same] == rejected[same]:
        same += 1
    return chosen[:same], chosen[same:], rejected[same:]


def _only(value: object) -> str:
    """Return the text of a conversation of a single message, or all of a longer one."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict) and "content" in value[0]:
        return text_of(value[0]["content"])
    return text_of(value)


PREFERENCE_PAIRS = Format(
    "preference-pairs",
    "Preference pairs",
    read_preference_pairs,
    (frozenset({"prompt", "chosen", "rejected"}), frozenset({"chosen", "rejected"})),
)
