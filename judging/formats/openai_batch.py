"""Writer of an OpenAI batch's input: a request for each instruction of a study, in a file for each model. PURE."""

from collections.abc import Iterator

from judging.formats.answers import Answered, ExportedResponse, ExportedTask, Files, WriteOptions
from judging.formats.writer import FileNames, Writer, line


def write_openai_batch(answered: Answered, files: Files, options: WriteOptions) -> int:
    """Write requests of chat completions; instructions without a text and responses without a model have none."""
    seen: set[tuple[str, str]] = set()
    names = FileNames("jsonl")
    for task, _answers in answered:
        for response in _responses(task):
            if not task.messages or not response.model or (task.instruction, response.model) in seen:
                continue
            seen.add((task.instruction, response.model))
            row = {
                "custom_id": task.instruction,
                "method": "POST",
                "url": "/v1/chat/completions",
                "body": {"model": response.model, "messages": task.turns},
            }
            files.write(line(row), names.of(response.model))
    return len(seen)


def _responses(task: ExportedTask) -> Iterator[ExportedResponse]:
    yield task.a
    if task.b is not None:
        yield task.b


OPENAI_BATCH = Writer("openai-batch", "OpenAI batch input", write_openai_batch, several=True, texts=True)
