"""Writer of preference pairs for trainers: a prompt, the response that most people chose, and the other one. PURE.

A pair on which as many people chose one response as the other, or most saw no difference, is left out.
"""

from judging.formats.answers import Answered, Files, WriteOptions, votes
from judging.formats.writer import PAIR, Writer, line, without_empty


def write_preference_pairs(answered: Answered, files: Files, options: WriteOptions) -> int:
    written = 0
    for task, answers in answered:
        counted = votes(answers)
        if task.b is None or task.a.text is None or task.b.text is None:
            continue
        even = counted["tie"] + counted["both_bad"]
        if counted["a"] == counted["b"] or even >= max(counted["a"], counted["b"]):
            continue
        chosen, rejected = (task.a, task.b) if counted["a"] > counted["b"] else (task.b, task.a)
        row = {
            "prompt": task.turns or [{"role": "user", "content": ""}],
            "chosen": [{"role": "assistant", "content": chosen.text}],
            "rejected": [{"role": "assistant", "content": rejected.text}],
            "chosen_model": chosen.model,
            "rejected_model": rejected.model,
            "prompt_id": task.instruction,
            "votes_chosen": max(counted["a"], counted["b"]),
            "votes_rejected": min(counted["a"], counted["b"]),
        }
        files.write(line({**row, **without_empty({"category": task.category})}))
        written += 1
    return written


PREFERENCE_PAIRS = Writer("preference-pairs", "Preference pairs", write_preference_pairs, tasks=PAIR, texts=True)
