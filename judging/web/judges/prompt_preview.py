"""Show exactly what a judge would be sent about a real task, without sending it."""

import json
from dataclasses import dataclass, field, replace

from core.messages.rendering import for_reader
from judging.judges.judge_calls import shown
from judging.judges.questions import Questions
from judging.judges.transports import ChatTransport
from judging.methods import messages as reply_messages
from judging.methods.parsing import Unscored, Why
from judging.methods.prompts import estimated_tokens
from judging.methods.registry import unanswerable
from judging.methods.scales import WrongScale
from judging.methods.single.checklist import MixedScales
from judging.models import Judge, PlannedItem
from judging.trials.chosen_tasks import about, task_at


@dataclass(frozen=True)
class PromptPreview:
    """The `messages` to send, or `problem`, a sentence on why this task cannot be asked.

    `schema` is the JSON schema sent with them, "" if it is part of the prompt.
    """

    about: str
    number: int = 1
    of: int = 1
    messages: list[dict[str, str]] = field(default_factory=list)
    parameters: dict[str, object] = field(default_factory=dict)
    schema: str = ""
    tokens: int = 0
    problem: str = ""


def prompt_preview(judge: Judge, *, source: str, number: int) -> PromptPreview | None:
    """Return what the judge, stored or not, is sent about answer `number` of the source (from 1, wrapping around).

    None if the source has none. Raises BadTemplate, NoEndpoint.
    """
    chosen = task_at(judge.workspace, judge.method, source, number)
    if chosen is None:
        return None
    task, of = chosen
    found = prompt_of(judge, PlannedItem(pk=0, task=task, shown_first="a"), Questions.of(judge, task.study))
    return replace(found, number=(max(1, number) - 1) % of + 1, of=of)


def prompt_of(judge: Judge, item: PlannedItem, questions: Questions) -> PromptPreview:
    """Return what the judge is sent about the item, by a method with a prompt. Raises NoEndpoint."""
    name = about(item.task)
    try:
        question = shown(item, questions.about(item.task))
        lack = unanswerable(judge.method, question)
        if lack is None and not item.canary and not all(text.strip() for text in question.responses):
            lack = Unscored(Why.NO_TEXT, reply_messages.NO_TEXT())
        transport = ChatTransport(judge)
        begun = lack or transport.begin(item, question)
    except (WrongScale, MixedScales) as error:
        return PromptPreview(name, problem=for_reader(error))
    if isinstance(begun, Unscored):
        return PromptPreview(name, problem=for_reader(begun.detail))
    transport.prepare(begun)
    request = begun.request
    messages = [dict(message) for message in request.messages]
    return PromptPreview(
        about=name,
        messages=messages,
        parameters=dict(request.parameters),
        schema=json.dumps(request.schema, ensure_ascii=False, indent=1) if request.structured else "",
        tokens=sum(estimated_tokens(message["content"]) for message in messages),
    )
