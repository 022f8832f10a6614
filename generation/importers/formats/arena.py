"""Reader of battles as Chatbot Arena and MT-Bench publish them: two conversations and their winner. PURE.

What the user says first is the instruction. The response of a conversation of one turn is its reply; of several turns, the
rest of the conversation after the instruction.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from core.tables.bad_rows import BadRow, Place
from generation.importers.formats import messages
from generation.importers.formats.format import Format, Record
from generation.importers.formats.pairs import Described, instruction_named, responses_of
from generation.importers.formats.source import Source, rater_name, required, text_of
from generation.importers.records import PreferenceRecord

BATTLE = {
    "question_id", "id", "model_a", "model_b", "winner", "judge", "judge_hash", "conversation_a", "conversation_b",
    "turn", "anony", "language", "tstamp", "timestamp", "rater_kind", "category", "instruction_id", "reason",
    "shown_first",
}  # fmt: skip
WINNERS = {
    "model_a": "A",
    "model_b": "B",
    "tie": "tie",
    "both_bad": "both_bad",
    "tie (bothbad)": "both_bad",
    "bothbad": "both_bad",
}


def read_arena(source: Source) -> Iterator[Record]:
    for place, row in source.objects():
        try:
            source.note_unknown(row, BATTLE)
            yield from _battle(source, place, row)
        except BadRow as problem:
            source.on_bad(problem)


def _battle(source: Source, place: Place, row: Mapping[str, Any]) -> list[Record]:
    winner = text_of(row.get("winner"))
    if winner and winner not in WINNERS:
        raise place.bad(
            messages.FIELD_IS(field="winner", value=repr(winner[:30])),
            messages.WRITE_AS(what="model_a, model_b, tie, tie (bothbad)"),
        )
    prompt, response_a = _turns(place, row.get("conversation_a"), "conversation_a")
    response_b = _turns(place, row.get("conversation_b"), "conversation_b")[1]
    named = row.get("question_id", row.get("id"))
    item = instruction_named(prompt or "", named) if prompt or named is not None else ""
    if not item:
        raise place.bad(messages.NO_FIELD(field="question_id"), messages.FILL_FIELD())
    about = Described(
        item,
        text_of(row.get("instruction_id")),
        text_of(row.get("category")),
        prompt,
        model_a=required(place, row, "model_a").strip(),
        response_a=response_a,
        model_b=required(place, row, "model_b").strip(),
        response_b=response_b,
    )
    if about.model_a == about.model_b:
        raise place.bad(messages.NO_MODELS(model=repr(about.model_a)), messages.NAME_BOTH())
    rater = rater_name(row.get("judge") or row.get("judge_hash"), "arena")
    stated = row.get("rater_kind")
    shown = text_of(row.get("shown_first"))
    answer = PreferenceRecord(
        place,
        about.item,
        about.model_a,
        about.model_b,
        rater,
        source.is_judge(rater, False, stated),
        WINNERS.get(winner, ""),
        instruction=about.instruction,
        category=about.category,
        shown_first=shown if shown in ("a", "b") else "",
        reason=text_of(row.get("reason")),
        is_key=stated == "key",
    )
    return [*responses_of(place, about), answer]


def _turns(place: Place, value: object, name: str) -> tuple[str | None, str | None]:
    """Return what was asked and what was replied; nothing where there is no conversation. Raises BadRow."""
    if value in (None, "", []):
        return None, None
    turns = [turn for turn in value if isinstance(turn, dict)] if isinstance(value, list) else []
    said = [(text_of(turn.get("role")), text_of(turn.get("content"))) for turn in turns]
    asked = next((at for at, (role, _content) in enumerate(said) if role == "user"), None)
    replied = [] if asked is None else said[asked + 1 :]
    if asked is None or not any(role == "assistant" for role, _content in replied):
        raise place.bad(messages.NO_REPLY(name=name), messages.WHOLE_CONVERSATION())
    prompt = "\n\n".join(content for _role, content in said[: asked + 1])
    if len(replied) == 1:
        return prompt, replied[0][1]
    return prompt, "\n\n".join(f"{role}: {content}" for role, content in replied)


ARENA = Format(
    "arena",
    "Arena battles",
    read_arena,
    (frozenset({"model_a", "model_b", "winner"}),),
    fits=lambda row: any(name in row for name in ("conversation_a", "question_id")),
    lacking="conversation_a",
)
