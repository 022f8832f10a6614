"""Writer of battles as Chatbot Arena and MT-Bench publish them. PURE."""

from judging.formats.answers import Answered, ExportedResponse, ExportedTask, Files, WriteOptions
from judging.formats.writer import PAIR, Writer, line, without_empty

WINNERS = {"a": "model_a", "b": "model_b", "tie": "tie", "both_bad": "tie (bothbad)"}


def write_arena(answered: Answered, files: Files, options: WriteOptions) -> int:
    written = 0
    for task, answers in answered:
        for answer in answers:
            if task.b is None or answer.choice not in WINNERS:
                continue
            row = {
                "question_id": task.instruction,
                "model_a": task.a.model,
                "model_b": task.b.model,
                "winner": WINNERS[answer.choice],
                "judge": answer.rater,
                "conversation_a": _conversation(task, task.a),
                "conversation_b": _conversation(task, task.b),
                "turn": 1,
            }
            more = {"category": task.category, "reason": answer.reason, "shown_first": answer.shown_first}
            files.write(line({**row, "rater_kind": answer.rater_kind, **without_empty(more)}))
            written += 1
    return written


def _conversation(task: ExportedTask, response: ExportedResponse) -> list[dict[str, str]]:
    """Return what was asked and replied; empty where the study has no text of the response."""
    if response.text is None:
        return []
    return [*(task.turns or [{"role": "user", "content": ""}]), {"role": "assistant", "content": response.text}]


ARENA = Writer("arena", "Arena battles", write_arena, tasks=PAIR, texts=True)
