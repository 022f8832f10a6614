"""Parsing of replies that answer one question. PURE. Nothing in a reply is executed.

As tolerant of form as parsing.py, whose parsers it uses, and as strict about content.
"""

import json
from collections.abc import Mapping, Sequence

from judging.methods import messages as reply_messages
from judging.methods.parsing import (
    DEEPEST,
    LONGEST_REPLY,
    SCORE_NAMES,
    Members,
    Unscored,
    Verdict,
    Why,
    _json_values,
    _loose_values,
    read_answers,
)
from judging.methods.prompts import Item

Said = Mapping[str, object]


def read_one(text: str, item: Item, names: Sequence[str], *, finish_reason: str) -> Said | Unscored:
    """Return the members of the last answer about `item`: {"reason": ..., names[0]: ...}, under the item's key or
    alone.

    The verdict may have any of `names`; names[0] holds it afterwards.
    """
    if finish_reason == "refusal":
        return Unscored(Why.REFUSED, text.strip()[:200] or reply_messages.DECLINED())
    text = text[:LONGEST_REPLY]
    for values in (_json_values(text), _loose_values(text)):
        found = [said for value in values if (said := _said(value, item.key, names)) is not None]
        if found:
            return _with_verdict_first(found[-1], item.key, names)
    unread = read_answers(text, (item,), finish_reason=finish_reason)
    if isinstance(unread, Unscored):
        return unread
    return Unscored(Why.UNREADABLE, reply_messages.NO_ANSWER_TO(item=repr(item.key)))


def _said(value: object, key: str, names: Sequence[str], depth: int = 0) -> Said | Unscored | None:
    if depth > DEEPEST:
        return None
    if isinstance(value, list):
        parts = [said for part in value if (said := _said(part, key, names, depth + 1)) is not None]
        if len(parts) > 1:
            return Unscored(Why.DOUBLED, reply_messages.SO_OFTEN(item=repr(key), n=len(parts)))
        return parts[0] if parts else None
    if not isinstance(value, Mapping):
        return None
    if isinstance(value, Members) and value.doubled in (key, *names):
        return Unscored(Why.DOUBLED, reply_messages.GIVEN_TWICE(item=repr(value.doubled)))
    if key in value:
        answer = value[key]
        if isinstance(answer, Mapping):
            doubled = isinstance(answer, Members) and answer.doubled in names
            return Unscored(Why.DOUBLED, reply_messages.TWO_VERDICTS(item=repr(key))) if doubled else answer
        return {**value, names[0]: answer}
    if any(name in value for name in names):
        return value
    inside = [said for part in value.values() if (said := _said(part, key, names, depth + 1)) is not None]
    return inside[-1] if inside else None


def _with_verdict_first(said: Said | Unscored, key: str, names: Sequence[str]) -> Said | Unscored:
    if isinstance(said, Unscored):
        return said
    name = next((name for name in names if name in said), None)
    if name is None:
        return Unscored(Why.MISSING, reply_messages.LACKS(item=repr(key), what=names[0]))
    return {**said, names[0]: said[name]}


def joined(said: Said, parts: Sequence[tuple[str, str]]) -> str:
    """Join the texts of several members to one reason; `parts` are (member, what to write before it)."""
    found = [(before, str(said.get(name) or "").strip()) for name, before in parts]
    return " ".join(f"{before}{text}" for before, text in found if text)


def on_scale(item: Item, score: object, reason: str) -> Verdict | Unscored:
    """Return the verdict if the score is on the item's scale."""
    return read_answers(json.dumps({item.key: {"reason": reason, SCORE_NAMES[0]: score}}, default=str), (item,))


def one_member(item: Item, texts: Sequence[str], name: str, field: Mapping[str, object]) -> dict[str, object]:
    """Return the JSON schema {item: {texts..., name}}, in which the arguments come before the decision."""
    members: dict[str, object] = {text: {"type": "string"} for text in texts}
    members[name] = dict(field)
    inner = {"type": "object", "properties": members, "required": list(members), "additionalProperties": False}
    return {"type": "object", "properties": {item.key: inner}, "required": [item.key], "additionalProperties": False}


def shape_text(item: Item, texts: Sequence[str], name: str, schema: Mapping[str, object] | None) -> str:
    """Return the form of the answer as a line, with its JSON schema if the endpoint takes none."""
    members = ", ".join(f'{json.dumps(text)}: "..."' for text in texts)
    line = f"{{{json.dumps(item.key)}: {{{members}, {json.dumps(name)}: ...}}}}"
    if schema is None:
        return line
    return f"{line}\nIts JSON schema: " + json.dumps(schema, separators=(",", ":"), ensure_ascii=False)


def ask_again(unscored: Unscored) -> dict[str, str]:
    """Return the message to the model after an unusable reply."""
    return {
        "role": "user",
        "content": f"That answer cannot be used ({unscored.detail}). Answer once more, as one JSON object of the "
        "form described, and write nothing else.",
    }
