"""Show exactly what a judge would be sent about a real task, without sending it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from accounts.models import Workspace
from core.messages.rendering import for_reader
from generation.models import LanguageModel
from judging.judges.judge_calls import shown
from judging.judges.questions import Questions
from judging.judges.transports import ChatTransport
from judging.methods.parsing import Unscored
from judging.methods.prompts import estimated_tokens
from judging.methods.registry import unanswerable
from judging.methods.scales import WrongScale
from judging.methods.single.checklist import MixedScales
from judging.models import PlannedItem
from judging.trials.chosen_tasks import about, task_at
from judging.trials.records import draft_judge


@dataclass(frozen=True)
class PromptPreview:
    """The `messages` to send, or `problem`, a sentence on why this task cannot be asked.

    `schema` is the JSON schema sent with them, "" if it is part of the prompt.
    """

    about: str
    number: int
    of: int
    messages: list[dict[str, str]]
    parameters: dict[str, object]
    schema: str
    tokens: int
    problem: str = ""


def prompt_preview(
    *,
    workspace: Workspace,
    method: str,
    model: LanguageModel,
    prompt: str,
    parameters: Mapping[str, object],
    source: str,
    number: int,
) -> PromptPreview | None:
    """Return task `number` of the source (from 1, wrapping around); None if it has none. Raises BadTemplate."""
    chosen = task_at(workspace, method, source, number)
    if chosen is None:
        return None
    task, of = chosen
    number, name = (max(1, number) - 1) % of + 1, about(task)
    judge = draft_judge(model, method, prompt, parameters)
    item = PlannedItem(pk=0, task=task, shown_first="a")
    try:
        question = shown(item, Questions(method, task.study).about(task))
        lack = unanswerable(method, question)
        transport = ChatTransport(judge)
        begun = lack or transport.begin(item, question)
    except (WrongScale, MixedScales) as error:
        return PromptPreview(name, number, of, [], {}, "", 0, for_reader(error))
    if isinstance(begun, Unscored):
        return PromptPreview(name, number, of, [], {}, "", 0, for_reader(begun.detail))
    transport.prepare(begun)
    request = begun.request
    messages = [dict(message) for message in request.messages]
    return PromptPreview(
        about=name,
        number=number,
        of=of,
        messages=messages,
        parameters=dict(request.parameters),
        schema=json.dumps(request.schema, ensure_ascii=False, indent=1) if request.structured else "",
        tokens=sum(estimated_tokens(message["content"]) for message in messages),
    )
