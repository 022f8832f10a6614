"""Writer of people's scores as inspect_ai's scorer precomputed_scores reads them (0.3.259 and later). PURE.

The scorer takes one record for each sample, so the value of a criterion is the mean over people's answers; what each rater
gave is in the metadata. A log is of one model: each model has a file of its own, and `id` is the name of the instruction.
"""

from collections.abc import Sequence
from itertools import groupby

from judging.formats.answers import Answered, ExportedAnswer, ExportedTask, Files, WriteOptions, number
from judging.formats.writer import SINGLE, FileNames, Writer, line, without_empty


def write_inspect_scores(answered: Answered, files: Files, options: WriteOptions) -> int:
    written, names = 0, FileNames("jsonl")
    seen: set[tuple[str, str, int]] = set()
    for _response, group in groupby(answered, key=lambda each: each[0].a):
        tasks = list(group)
        task, answers = tasks[0][0], [answer for _task, every in tasks for answer in every]
        epoch = task.a.sample + 1
        while (task.a.model, task.instruction, epoch) in seen:
            epoch += 1
        row = _record(task, answers, epoch)
        if row is not None:
            seen.add((task.a.model, task.instruction, epoch))
            files.write(line(row), names.of(task.a.model or task.study))
            written += 1
    return written


def _record(task: ExportedTask, answers: Sequence[ExportedAnswer], epoch: int) -> dict[str, object] | None:
    """Return the record of a sample, None where no person gave a value. The scorer refuses two of one id and epoch."""
    people = [answer for answer in answers if answer.is_person]
    values: dict[str, list[float]] = {}
    for answer in people:
        for score in answer.scores:
            if score.value is not None:
                values.setdefault(score.criterion, []).append(score.value)
    if not values:
        return None
    means = {criterion: number(sum(found) / len(found)) for criterion, found in values.items()}
    explanation = "\n".join(f"{answer.rater}: {answer.reason}" for answer in people if answer.reason)
    raters = [
        {
            "rater": answer.rater,
            "kind": answer.rater_kind,
            "values": {score.criterion: score.written for score in answer.scores},
        }
        for answer in answers
    ]
    return {
        "id": task.instruction,
        "epoch": epoch,
        "value": next(iter(means.values())) if len(means) == 1 else means,
        **without_empty({"explanation": explanation}),
        "metadata": {
            "study": task.study,
            "model": task.a.model,
            "item": task.a.item,
            "people": len(people),
            "answers": raters,
        },
    }


INSPECT_SCORES = Writer(
    "inspect-scores", "inspect_ai precomputed scores", write_inspect_scores, tasks=SINGLE, several=True
)
