"""What an endpoint can do, found out by asking: one schema call, one log-probability call, and an embedding call.

A server that answers 200 and ignores response_format is found out, because the schema asks for one of two made-up
words that the prompt does not mention. What was found is kept in Endpoint.capabilities and told in words.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from http import HTTPStatus
from typing import Any

from asgiref.sync import async_to_sync
from django.utils import timezone
from django.utils.translation import gettext, ngettext

from core.clock import Clock
from core.errors import UserError
from core.messages.message import from_json, to_json
from core.messages.rendering import for_reader
from generation.endpoints.grants import callable_reach, key_of, site_reach
from generation.endpoints.registration import checked_base_url
from generation.llm.chat import OpenAIChat
from generation.llm.errors import (
    ChatError,
    Forbidden,
    HostNotAllowed,
    NoMoney,
    RateLimited,
    TimedOut,
    Unauthorised,
    Unreachable,
)
from generation.llm.forms import RESPONSES
from generation.llm.in_process import installed
from generation.llm.protocol import messages as call_messages
from generation.llm.protocol.allowed_hosts import Reach
from generation.llm.protocol.bodies import ServedModel
from generation.llm.protocol.messages import NOT_INSTALLED
from generation.llm.requests import Request
from generation.models import Endpoint, LanguageModel

PROBE_SECONDS = 60.0
WORDS = ("kestrel", "plover")
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"bird": {"type": "string", "enum": list(WORDS)}},
    "required": ["bird"],
    "additionalProperties": False,
}
QUESTION = ({"role": "user", "content": "How are you today?"},)
ANSWER_TOKENS = 64
NEWER_NAME, THINKING_TOKENS = "max_completion_tokens", 2048
GONE = (Unreachable, HostNotAllowed, TimedOut, Unauthorised, Forbidden, NoMoney, RateLimited)
KEPT = ("script", "uncounted")
USUAL_END = "/v1"


class NoAnswer(UserError):
    """The endpoint could not be asked at all; the sentence says why, in its words. `status` is that of its answer."""

    def __init__(self, words: str, status: int | None = None) -> None:
        super().__init__(words)
        self.status = status


class NoModel(NoAnswer):
    """Nobody said which model to ask."""


@dataclass(frozen=True)
class Found:
    """`json_schema`: response_format json_schema is obeyed, not merely taken. The words are the endpoint's own.

    `contexts` are the tokens of prompt and answer together of each model whose list entry says so; `context_tokens`
    those of the model asked. `responses` are the models that are served in the responses form alone.
    """

    model: str = ""
    models: tuple[str, ...] = ()
    chat: bool = False
    json_schema: bool = False
    json_schema_ignored: bool = False
    json_object_schema: bool = False
    log_probabilities: bool = False
    prompt_log_probabilities: bool = False
    embeddings: bool = False
    embedding_length: int | None = None
    context_tokens: int | None = None
    contexts: dict[str, int] = field(default_factory=dict)
    responses: tuple[str, ...] = ()
    words: dict[str, str] = field(default_factory=dict)


async def probe(chat: OpenAIChat, model: str = "", *, embeddings: bool = True) -> Found:
    """Asks; at most ten calls. Raises NoAnswer where nobody answers, or where no model is named or listed."""
    served, unlisted = await _listed(chat)
    name = model or (served[0].name if served else "")
    if not name:
        said = gettext(
            "The endpoint lists no models, so Plumbline does not know which model to ask. Add a model that "
            "the endpoint serves, and test it again."
        )
        raise NoModel(said) if unlisted is None else NoModel(f"{said} {for_reader(said_of(unlisted))}", unlisted.status)
    contexts = {one.name: one.context_tokens for one in served if one.context_tokens}
    found: dict[str, Any] = {
        "model": name,
        "models": tuple(one.name for one in served),
        "context_tokens": contexts.get(name),
        "contexts": contexts,
    }
    words: dict[str, ChatError] = {}
    await _schema(chat, name, found, words)
    if found.get("chat") and chat.form_of(name) is RESPONSES:
        found["responses"] = (name,)
    elif found.get("chat"):
        await _log_probabilities(chat, name, found, words)
    if embeddings:
        await _embeddings(chat, name, found, words)
    if not found.get("chat") and not found.get("embeddings"):
        if (error := words.get("chat")) is not None:
            raise _no_answer(error)
        raise NoAnswer(gettext("The endpoint answers neither chat requests nor embedding requests."))
    return Found(**found, words={name: said_of(error) for name, error in words.items()})


def _no_answer(error: ChatError) -> NoAnswer:
    return NoAnswer(for_reader(said_of(error)), error.status)


def said_of(error: ChatError) -> str:
    """What an error is told as: words in the form of a model server's error are shown, those of anything else are not."""
    if not error.quotes:
        return str(error)
    if error.status is None:
        return call_messages.NO_MODEL_SERVER()
    if error.status == HTTPStatus.OK:
        return call_messages.NO_MODEL_ANSWER()
    meaning = next((one.phrase for one in HTTPStatus if one == error.status), "?")
    return call_messages.NO_MODEL_ERROR(status=error.status, meaning=meaning)


async def _listed(chat: OpenAIChat) -> tuple[Sequence[ServedModel], ChatError | None]:
    """The models listed, or none and why; many servers keep no list."""
    try:
        return await chat.models(), None
    except GONE as error:
        raise _no_answer(error) from error
    except ChatError as error:
        return (), error


async def _schema(chat: OpenAIChat, name: str, found: dict[str, Any], words: dict[str, ChatError]) -> None:
    parameters = {"max_tokens": ANSWER_TOKENS}
    asked = Request(name, QUESTION, parameters, schema=SCHEMA, structured=True)
    text = await _answer(chat, asked, "json_schema", words)
    thinks = text == "" or (text is None and NEWER_NAME in said_of(words["json_schema"]))
    if thinks:
        # Models that think before they answer know the limit by this name, and thinking counts against it.
        parameters = {NEWER_NAME: THINKING_TOKENS}
        words.pop("json_schema", None)
        asked = Request(name, QUESTION, parameters, schema=SCHEMA, structured=True)
        text = await _answer(chat, asked, "json_schema", words)
    if text is not None:
        found["chat"] = True
        found["json_schema"] = obeys(text)
        found["json_schema_ignored"] = not obeys(text)
        if obeys(text):
            return
    # llama.cpp's server takes the schema in another place.
    other = {**parameters, "response_format": {"type": "json_object", "schema": SCHEMA}}
    text = await _answer(chat, Request(name, QUESTION, other), "json_object", words)
    if text is not None:
        found["chat"] = True
        found["json_object_schema"] = obeys(text)
        return
    if not found.get("chat"):
        text = await _answer(chat, Request(name, QUESTION, parameters), "chat", words)
        found["chat"] = text is not None


async def _log_probabilities(chat: OpenAIChat, name: str, found: dict[str, Any], words: dict[str, ChatError]) -> None:
    asked = Request(name, QUESTION, {"max_tokens": 1, "temperature": 0.0})
    try:
        scores = await chat.prompt_log_probabilities(asked)
        entries = scores.log_probabilities
        found["prompt_log_probabilities"] = isinstance(entries, list) and len(entries) > 1
    except GONE as error:
        raise _no_answer(error) from error
    except ChatError as error:
        words["prompt_log_probabilities"] = error
    found["log_probabilities"] = await chat.gives_log_probabilities(asked)


async def _embeddings(chat: OpenAIChat, name: str, found: dict[str, Any], words: dict[str, ChatError]) -> None:
    try:
        vectors = (await chat.embeddings(name, [WORDS[0]])).vectors
        found["embeddings"], found["embedding_length"] = True, len(vectors[0])
    except ChatError as error:
        words["embeddings"] = error


async def _answer(chat: OpenAIChat, asked: Request, what: str, words: dict[str, ChatError]) -> str | None:
    """The text of the answer; None where the request is not taken, with the endpoint's words kept."""
    try:
        return (await chat.complete(asked)).text
    except GONE as error:
        raise _no_answer(error) from error
    except ChatError as error:
        words[what] = error
        return None


def obeys(text: str) -> bool:
    """Whether the text is an instance of the probe's schema, and nothing beside it."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and list(value) == ["bird"] and value["bird"] in WORDS


def probe_address(
    base_url: str, key: str = "none", model: str = "", *, reach: Reach | None = None, seconds: float = PROBE_SECONDS
) -> Found:
    """`seconds` is the wait for each answer, three times that for all. `reach` is what the settings say unless given.

    Raises NoAnswer, HostNotAllowed, ServingRefused for an address that is none.
    """
    reach = site_reach() if reach is None else reach

    async def ask() -> Found:
        chat = OpenAIChat(base_url=checked_base_url(base_url), key=key, timeout_seconds=seconds, reach=reach)
        try:
            async with asyncio.timeout(3 * seconds):
                return await probe(chat, model)
        except NoAnswer as error:
            if error.status != HTTPStatus.NOT_FOUND or USUAL_END in base_url:
                raise
            said = gettext("Most servers have an address that ends in %(end)s.")
            raise type(error)(f"{str(error).rstrip('.')}. {said % {'end': USUAL_END}}", error.status) from error
        except TimeoutError as error:
            said = gettext("The endpoint did not answer within %(n)s seconds.") % {"n": f"{3 * seconds:.0f}"}
            raise NoAnswer(said) from error
        finally:
            await chat.close()

    return async_to_sync(ask)()


def probe_endpoint(
    endpoint: Endpoint, model: str = "", *, clock: Clock = timezone.now, seconds: float = PROBE_SECONDS
) -> Found:
    """Probes a stored endpoint with one of its models, and stores what was found.

    Raises as probe_address, and Unauthorised where its key is missing or may not be sent there.

    A scripted endpoint obeys every schema; one in process needs vLLM installed.
    """
    if endpoint.kind == Endpoint.Kind.OPENAI:
        asked = model or _a_model_of(endpoint)
        reach = callable_reach(endpoint)
        found = probe_address(endpoint.base_url, key_of(endpoint), asked, reach=reach, seconds=seconds)
    elif endpoint.kind == Endpoint.Kind.SCRIPTED:
        found = Found(chat=True, json_schema=True, embeddings=True)
    elif installed():
        found = Found(chat=True, json_schema=True, prompt_log_probabilities=True)
    else:
        raise NoAnswer(for_reader(NOT_INSTALLED()))
    kept = {name: endpoint.capabilities[name] for name in KEPT if name in endpoint.capabilities}
    endpoint.capabilities = {
        **kept,
        **asdict(found),
        "words_json": {name: to_json(said) for name, said in found.words.items()},
    }
    endpoint.probed_at = clock()
    endpoint.save(update_fields=["capabilities", "probed_at"])
    return found


def _a_model_of(endpoint: Endpoint) -> str:
    model = LanguageModel.objects.filter(endpoint=endpoint).order_by("name").first()
    return (model.served_name or model.name) if model else ""


@dataclass(frozen=True)
class Line:
    """One thing an endpoint can (`good`) or cannot do, in the reader's language; `detail` holds its own words."""

    good: bool
    text: str
    detail: str = ""


def in_words(capabilities: Mapping[str, Any]) -> list[Line]:
    """What was found, a sentence each."""
    can: Callable[[str], bool] = lambda name: bool(capabilities.get(name))  # noqa: E731 - reads as a word
    coded = capabilities.get("words_json", {})
    words = {
        name: for_reader(from_json(coded.get(name)) or said) for name, said in capabilities.get("words", {}).items()
    }
    lines = []
    if can("models"):
        count = len(capabilities["models"])
        said = ngettext("It serves %(n)d model: %(names)s.", "It serves %(n)d models: %(names)s.", count)
        names = ", ".join(capabilities["models"][:8]) + (" …" if count > 8 else "")
        lines.append(Line(True, said % {"n": count, "names": names}))
    if can("chat"):
        lines.append(Line(True, gettext("It answers chat requests.")))
        if can("responses"):
            said = gettext(
                "It answers requests for %(names)s only by the Responses API, which Plumbline therefore uses."
            )
            lines.append(Line(True, said % {"names": ", ".join(capabilities["responses"])}))
    else:
        lines.append(
            Line(False, gettext("It does not answer chat requests."), words.get("chat", words.get("json_schema", "")))
        )
    if can("json_schema"):
        lines.append(Line(True, gettext("It enforces a JSON schema.")))
    elif can("json_object_schema"):
        text = gettext("It enforces a JSON schema only in llama.cpp's format, so judges put the schema in the prompt.")
        lines.append(Line(False, text, words.get("json_schema", "")))
    elif can("json_schema_ignored"):
        text = gettext("It accepts a JSON schema but ignores it, so judges put the schema in the prompt.")
        lines.append(Line(False, text))
    elif can("chat"):
        text = gettext("It rejects a JSON schema, so judges put the schema in the prompt.")
        lines.append(Line(False, text, words.get("json_schema", "")))
    lines.append(_log_probability_line(can, words))
    if can("embeddings"):
        length = capabilities.get("embedding_length")
        said = gettext("It returns embeddings with %(n)s dimensions.") % {"n": length}
        lines.append(Line(True, said if length else gettext("It returns embeddings.")))
    else:
        text = gettext("It returns no embeddings; the embedding method needs another endpoint.")
        lines.append(Line(False, text, words.get("embeddings", "")))
    if capabilities.get("uncounted"):
        said = gettext("It does not report token counts, so Plumbline estimates tokens and costs.")
        lines.append(Line(False, said))
    lengths = sorted(set(capabilities.get("contexts", {}).values()))
    if len(lengths) > 1:
        said = gettext("The context length is %(least)s to %(most)s tokens, depending on the model.")
        lines.append(Line(True, said % {"least": lengths[0], "most": lengths[-1]}))
    elif can("context_tokens"):
        said = gettext("The context length is %(n)s tokens.")
        lines.append(Line(True, said % {"n": capabilities["context_tokens"]}))
    return lines


def _log_probability_line(can: Callable[[str], bool], words: Mapping[str, str]) -> Line:
    if can("prompt_log_probabilities"):
        return Line(True, gettext("It returns log-probabilities of the prompt, which the perplexity method needs."))
    detail = words.get("prompt_log_probabilities", "")
    if can("log_probabilities"):
        text = gettext(
            "It returns log-probabilities of its answer but not of the prompt, so the perplexity method cannot be used."
        )
        return Line(False, text, detail)
    return Line(False, gettext("It returns no log-probabilities, so the perplexity method cannot be used."), detail)
