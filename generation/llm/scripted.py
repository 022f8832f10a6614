"""A provider whose replies are written down beforehand, for tests and for work without a network.

A script is a mapping (or the name of a JSON file in the operator's folder of scripts that holds one), kept in
LanguageModel.parameters["script"] or in Endpoint.capabilities["script"]:

    {"seed": 7,                       changes everything that is drawn
     "seconds": 0.0,                  how long each reply takes
     "quality": 0.7,                  the centre of drawn scores, 0..1
     "replies": {SUBJECT: TEXT, ...}  replies given word for word
     "answers": {SUBJECT: {FIELD: NUMBER or {"reason": TEXT, "score": NUMBER}, ...}, ...},
     "writes": 120}                   the approximate number of drawn words in a reply to a request without a schema,
                                      in numbered parts if the request gives the first one's heading to go on from

SUBJECT is the request's "response" (a response's external id, or "instruction/model" if it has none of its own). Fields
that `answers` leaves out are drawn from the seed and the subject, within the request's schema, so that the same
question gets the same reply in every run.
"""

import asyncio
import hashlib
import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from core.errors import UserError
from core.messages.message import Wording
from generation.llm.errors import ChatError, Refused
from generation.llm.protocol import messages as call_messages
from generation.llm.protocol.bodies import Vectors
from generation.llm.protocol.wrapping import first_line_of
from generation.llm.requests import PromptScores, Reply, Request

Script = Callable[[Request], "str | Reply | ChatError"]
CHARACTERS_A_TOKEN = 4
VECTOR_LENGTH = 64
OPTIONS = ("seed", "seconds", "quality", "replies", "answers", "writes")
NUMBERED = re.compile(r"(?P<before>\D*)(?P<number>\d{1,9})(?P<after>\D*)")
"""A heading such as "#*# Week 1:"."""
FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
STOCK_TEXT = (
    "the a this that one river house letter question answer morning winter garden window road story voice "
    "hand light paper table city field writes opens follows holds brings leaves turns keeps finds slowly "
    "again often never quietly and but while because under near before after of to in with from"
)
STOCK_REASONS = {
    0: Wording("scripted.stock_reasons_0", "Looked for it and found little or nothing of it."),
    1: Wording("scripted.stock_reasons_1", "Present in parts, with gaps that a reader notices."),
    2: Wording("scripted.stock_reasons_2", "Present nearly throughout; the lapses are small."),
}


class ScriptedChat:
    """Answers from a script; raises a ChatError that the script returns."""

    def __init__(self, script: Script, seconds: float = 0.0) -> None:
        self._script = script
        self._seconds = seconds
        self.requests: list[Request] = []

    async def complete(self, request: Request) -> Reply:
        self.requests.append(request)
        await asyncio.sleep(self._seconds)
        reply = self._script(request)
        if isinstance(reply, ChatError):
            raise reply
        if isinstance(reply, Reply):
            return reply
        read = sum(len(message["content"]) for message in request.messages) // CHARACTERS_A_TOKEN
        return Reply(reply, "stop", read, len(reply) // CHARACTERS_A_TOKEN, self._seconds)

    async def embeddings(self, model: str, texts: Sequence[str]) -> Vectors:
        """Return vectors that are closer the more words two texts share."""
        await asyncio.sleep(self._seconds)
        return Vectors(tuple(_word_vector(text) for text in texts), sum(map(len, texts)) // CHARACTERS_A_TOKEN)

    async def prompt_log_probabilities(self, request: Request) -> PromptScores:
        raise Refused(call_messages.NO_SCRIPTED_SCORES())

    async def close(self) -> None:
        return None


def read_script(source: object, folder: Path) -> Mapping[str, Any]:
    """Return the mapping, or the one in the file of `folder` with this name. Raises UserError.

    A lead enters the name, so it may only name a file directly in the folder, and errors reveal nothing of other files.
    """
    if not isinstance(source, str):
        return checked_script(source)
    if not FILE_NAME.fullmatch(source):
        raise UserError(call_messages.SCRIPT_NAME())
    path = folder / source
    if path.resolve() != folder.resolve() / source or not path.is_file():
        raise UserError(call_messages.SCRIPT_ABSENT(script=source))
    try:
        plan = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(call_messages.SCRIPT_NO_JSON(script=source)) from error
    return checked_script(plan)


def script_in(path: Path) -> Mapping[str, Any]:
    """Return the script in any file, for use from a shell. Raises UserError."""
    try:
        plan = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(call_messages.SCRIPT_UNREADABLE(script=path, words=error)) from error
    return checked_script(plan)


def checked_script(source: object) -> Mapping[str, Any]:
    """Return the mapping if it has only the options of a script, with allowed values. Raises UserError."""
    if not isinstance(source, Mapping):
        raise UserError(call_messages.NO_SCRIPT())
    for name in source:
        if name not in OPTIONS:
            raise UserError(call_messages.SCRIPT_OPTION(name=repr(str(name)[:60]), known=", ".join(OPTIONS)))
    _check(source)
    return source


def _check(plan: Mapping[str, Any]) -> None:
    """Raise UserError if an option has a value that is not allowed."""
    for name, least, most in (("seconds", 0, 3600), ("quality", 0, 1), ("writes", 1, 1_000_000)):
        number = plan.get(name, least)
        if type(number) not in (int, float) or not least <= number <= most:
            raise UserError(call_messages.SCRIPT_NUMBER(name=repr(name), least=f"{least:,}", most=f"{most:,}"))
    for name in ("replies", "answers"):
        if not isinstance(plan.get(name, {}), Mapping):
            raise UserError(call_messages.SCRIPT_MAPPING(name=repr(name)))


def script_from(plan: Mapping[str, Any]) -> Script:
    """Build a script that looks replies up and draws what is not written down."""
    replies, answers = plan.get("replies", {}), plan.get("answers", {})

    def say(request: Request) -> str | ChatError:
        subject = request.subject.get("response", "")
        if subject in replies:
            return str(replies[subject])
        if request.schema is None and "writes" in plan:
            sentences = _written(int(plan["writes"]), f"{plan.get('seed', 0)} {request.model} {subject}")
            return _in_parts(first_line_of(request.messages), sentences)
        if request.schema is None:
            return Refused(call_messages.NOT_IN_SCRIPT())
        question = json.dumps([plan.get("seed", 0), request.model, sorted(request.subject.items())])
        draws = random.Random(hashlib.sha256(question.encode()).digest())
        level = min(1.0, max(0.0, draws.gauss(float(plan.get("quality", 0.7)), 0.15)))
        answer = fill(request.schema, answers.get(subject), level, draws)
        return json.dumps(answer, ensure_ascii=False)

    return say


def fill(schema: Mapping[str, Any], given: object, level: float, draws: random.Random) -> object:
    """Return an instance of the schema: given values, and draws around `level` (0..1 of each scale) for the rest."""
    if "properties" in schema:
        fields: Mapping[str, Any] = schema["properties"]
        if isinstance(given, Mapping):
            written: Mapping[str, object] = given
        else:
            written = {name: given for name, field in fields.items() if "enum" in field and given is not None}
        filled = {
            name: fill(field, written.get(name), level, draws)
            for name, field in fields.items()
            if "properties" in field or "enum" in field
        }
        share = _share(filled, fields, level)
        for name in fields:
            if name not in filled:
                filled[name] = written.get(name) or str(STOCK_REASONS[min(2, int(share * 3))]())
        return {name: filled[name] for name in fields}
    if given is not None:
        return given
    options = list(schema["enum"])
    place = round((len(options) - 1) * min(1.0, max(0.0, level + draws.gauss(0, 0.18))))
    return options[place]


def _in_parts(first_line: str, sentences: Sequence[str]) -> str:
    """Return the text that goes on from a part's numbered heading, one sentence a part; without one, all in a piece."""
    heading = NUMBERED.fullmatch(first_line.strip())
    if heading is None:
        return " ".join(sentences)
    later = (f"{heading['before']}{int(heading['number']) + n}{heading['after']}" for n in range(1, len(sentences)))
    rest = [f"{line}\n{sentence}" for line, sentence in zip(later, sentences[1:], strict=True)]
    return "\n\n".join([sentences[0], *rest])


def _written(words: int, seed: str) -> list[str]:
    """Return meaningless sentences of drawn words, `words` in all to within a third."""
    draws = random.Random(hashlib.sha256(seed.encode()).digest())
    stock = STOCK_TEXT.split()
    left = max(1, round(words * draws.uniform(0.67, 1.33)))
    sentences = []
    while left > 0:
        length = min(left, draws.randint(6, 16))
        sentences.append(" ".join(draws.choice(stock) for _ in range(length)).capitalize() + ".")
        left -= length
    return sentences


def _word_vector(text: str) -> tuple[float, ...]:
    """Return the counts of words in 64 hash buckets."""
    counts = [0.0] * VECTOR_LENGTH
    for word in text.lower().split() or [""]:
        counts[hashlib.sha256(word.encode()).digest()[0] % VECTOR_LENGTH] += 1
    return tuple(counts)


def _share(filled: Mapping[str, object], fields: Mapping[str, Any], level: float) -> float:
    """Return the position of the first score on its scale, 0..1."""
    for name, value in filled.items():
        options: list[object] = list(fields[name].get("enum", []))
        if value in options and len(options) > 1:
            return options.index(value) / (len(options) - 1)
    return level
