"""Build prompts: a task sentence, its data, numbered requirements, and a length to keep to. PURE."""

import re
from collections.abc import Mapping, Sequence

from core.errors import UserError
from generation.llm.protocol.messages import NO_PLACE_FOR_LENGTH, NO_TASK_SENTENCE

LENGTHS = {"length-2k": 2_000, "length-4k": 4_000, "length-8k": 8_000, "length-16k": 16_000}
"""The length-constrained experiments and the words that each requests, as in HelloBench (arXiv 2409.16191, 5.3)."""

HEADINGS = {"en": ("Material", "Requirements"), "zh-hans": ("材料", "要求")}
LENGTH_SENTENCES = {
    "en": "Length: write no fewer than {words:,} words. A shorter answer does not fulfil the task; "
    "do not stop early, do not summarise what is left, and do not ask whether to go on.",
    "zh-hans": "篇幅：正文不少于{words}字。篇幅不足即视为未完成；请勿中途停笔，勿以概述代替正文，也不要询问是否继续。",
}


CHINESE_SHARE = 0.2
_HAN = re.compile(r"[\u4e00-\u9fff]")
_KANA = re.compile(r"[\u3040-\u30ff]")


class NothingToWrap(UserError):
    """There is no task sentence, or the chat has no message of its user."""


def wrap(task: str, data: str = "", requirements: Sequence[str] = (), *, language: str = "") -> str:
    """Return one prompt of the task sentence, its data and numbered requirements, each if given.

    The requirements come after the data, so that a long text does not bury them. Without `language`, the language of
    the task is used. Raises NothingToWrap.
    """
    if not task.strip():
        raise NothingToWrap(NO_TASK_SENTENCE())
    material, demands = HEADINGS[_known(language, task)]
    parts = [task.strip()]
    if data.strip():
        parts.append(f"{material}:\n\n{data.strip()}")
    numbered = [f"{number}. {text.strip()}" for number, text in enumerate(filter(str.strip, requirements), 1)]
    if numbered:
        parts.append("\n".join([f"{demands}:", *numbered]))
    return "\n\n".join(parts)


def with_length(messages: Sequence[Mapping[str, str]], words: int, *, language: str = "") -> list[dict[str, str]]:
    """Return the chat with a length request at the end of its last user message. Raises NothingToWrap."""
    places = [place for place, message in enumerate(messages) if message.get("role") == "user"]
    if not places:
        raise NothingToWrap(NO_PLACE_FOR_LENGTH())
    wrapped = [dict(message) for message in messages]
    last = wrapped[places[-1]]
    sentence = LENGTH_SENTENCES[_known(language, last["content"])].format(words=words)
    last["content"] = f"{last['content'].rstrip()}\n\n{sentence}"
    return wrapped


def words_asked(experiment: str, of_instruction: int | None) -> int | None:
    """Return the number of words that a response of this experiment should have; None if none is requested."""
    return LENGTHS.get(experiment, of_instruction)


def chat_of(
    messages: Sequence[Mapping[str, str]], experiment: str, *, language: str = "", of_instruction: int | None = None
) -> list[dict[str, str]]:
    """Return the messages to send for an instruction: its chat history, with a length in experiments about length.

    An instruction that itself requests these words, `of_instruction`, is sent as it is.
    """
    if experiment in LENGTHS and of_instruction != LENGTHS[experiment]:
        return with_length(messages, LENGTHS[experiment], language=language)
    return [dict(message) for message in messages]


def is_chinese(text: str) -> bool:
    """Return whether at least a fifth of the text is Chinese characters and none are Japanese kana."""
    seen = "".join(text.split())
    return bool(seen) and not _KANA.search(seen) and len(_HAN.findall(seen)) >= CHINESE_SHARE * len(seen)


def _known(language: str, text: str) -> str:
    """Return the language of the added text: the given one, else the language of the text."""
    chinese = language.lower().startswith("zh") if language else is_chinese(text)
    return "zh-hans" if chinese else "en"


def first_line_of(messages: Sequence[Mapping[str, str]]) -> str:
    """Return the beginning of the answer that a chat gives the model as its last message; '' if it gives none."""
    last = messages[-1] if messages else {}
    return last.get("content", "") if last.get("role") == "assistant" else ""


def with_first_line(first_line: str, text: str) -> str:
    """Return the answer with the line that it was given to go on from, unless it says that line itself.

    White space is ignored in the comparison, and so are the marks before the line, such as #*#.
    """
    if not first_line.strip() or _plain(text[: 4 * len(first_line) + 200]).startswith(_plain(first_line)):
        return text
    joint = "" if text[:1].isspace() or first_line[-1:].isspace() else "\n"
    return f"{first_line}{joint}{text}"


def _plain(text: str) -> str:
    return "".join(text.split()).lstrip("#*_>-")
