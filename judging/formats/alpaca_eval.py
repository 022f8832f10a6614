"""Writer of alpaca_eval's annotations; `preference` is 1 for output_1, 2 for output_2 and 1.5 for a tie. PURE."""

from judging.formats.answers import Answered, Files, WriteOptions
from judging.formats.writer import PAIR, JsonArray, Writer, without_empty

PREFERENCES = {"a": 1, "b": 2, "tie": 1.5, "both_bad": 1.5}


def write_alpaca_annotations(answered: Answered, files: Files, options: WriteOptions) -> int:
    array = JsonArray(files)
    for task, answers in answered:
        for answer in answers:
            if task.b is None or answer.choice not in PREFERENCES:
                continue
            array.add(
                {
                    "instruction": task.prompt,
                    "output_1": task.a.text or "",
                    "generator_1": task.a.model,
                    "output_2": task.b.text or "",
                    "generator_2": task.b.model,
                    "dataset": task.category or task.study,
                    "annotator": answer.rater,
                    "preference": PREFERENCES[answer.choice],
                    "instruction_id": task.instruction,
                    "rater_kind": answer.rater_kind,
                    **without_empty({"time_per_example": answer.seconds, "reason": answer.reason}),
                }
            )
    return array.end()


ALPACA_EVAL = Writer(
    "alpaca-eval", "alpaca_eval annotations", write_alpaca_annotations, tasks=PAIR, ending="json", texts=True
)
