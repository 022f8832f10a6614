"""Writers of one criterion's scores by people and by a judge: for CJE and for the alt-test. PURE.

The criterion and the judge are those that were named; else the overall score or the only criterion, and the only judge.
"""

import json
from collections.abc import Sequence
from itertools import groupby

from core.errors import UserError
from core.messages.message import Wording
from judging.formats.answers import Answered, ExportedAnswer, ExportedScore, ExportedTask, Files, WriteOptions, number
from judging.formats.writer import SINGLE, FileNames, Writer, line, without_empty

NAME_CRITERION = Wording("formats.name_criterion", "The format holds one score; name one of the criteria %(known)s.")
NAME_JUDGE = Wording("formats.name_judge", "The format holds one judge's scores; name one of the judges %(known)s.")
NO_SUCH_JUDGE = Wording(
    "formats.no_such_judge", "The study has no scores of the judge %(name)s; its judges are %(known)s."
)
MOST_NAMED = 20


class _Chosen:
    """The criterion and the judge of a file, the same in every row."""

    def __init__(self, options: WriteOptions) -> None:
        self.options = options
        self.criterion = options.criterion
        self.judge = options.judge
        self.judges: dict[str, None] = {}

    def score(self, answer: ExportedAnswer) -> ExportedScore | None:
        """Return the answer's score of the criterion. Raises UserError where none is named and there are several."""
        if not self.options.criterion:
            overall = [score for score in answer.scores if score.overall]
            found = overall or list(answer.scores)
            names = dict.fromkeys(score.criterion for score in found)
            if len(names) > 1 or (names and self.criterion and self.criterion not in names):
                known = dict.fromkeys([*names, *([self.criterion] if self.criterion else [])])
                raise UserError(NAME_CRITERION(known=", ".join(known)))
            self.criterion = next(iter(names), self.criterion)
        return next((one for one in answer.scores if one.criterion == self.criterion and one.value is not None), None)

    def is_judge(self, answer: ExportedAnswer) -> bool:
        """Whether the answer is the judge's. Raises UserError where none is named and there are several."""
        if not answer.is_judge:
            return False
        if len(self.judges) < MOST_NAMED:
            self.judges.setdefault(answer.rater)
        if not self.options.judge and len(self.judges) > 1:
            raise UserError(NAME_JUDGE(known=", ".join(self.judges)))
        return answer.rater == (self.options.judge or next(iter(self.judges)))

    def check(self) -> None:
        """Raise UserError where the named judge gave no score."""
        if self.options.judge and self.options.judge not in self.judges:
            raise UserError(NO_SUCH_JUDGE(name=repr(self.options.judge), known=", ".join(self.judges) or "-"))


def write_cje(answered: Answered, files: Files, options: WriteOptions) -> int:
    """Write a file for each model, CJE's policy, with the judge's scores and the mean of people's as oracle label."""
    chosen, names, written = _Chosen(options), FileNames("jsonl"), 0
    for _response, group in groupby(answered, key=lambda each: each[0].a):
        tasks = list(group)
        task, answers = tasks[0][0], [answer for _task, every in tasks for answer in every]
        people = [score.value for each in answers if each.is_person and (score := chosen.score(each))]
        judged = [score.value for each in answers if chosen.is_judge(each) and (score := chosen.score(each))]
        if not judged:
            continue
        oracle = {"oracle_label": _mean(people)} if people else {}
        row = {
            "prompt_id": task.instruction,
            **without_empty({"prompt": task.prompt, "response": task.a.text}),
            "judge_score": _mean(judged),
            **oracle,
            "draw_idx": task.a.sample,
        }
        files.write(line(row), names.of(f"{task.a.model or task.study}_responses"))
        written += 1
    chosen.check()
    return written


def _mean(values: Sequence[float | None]) -> float | int:
    found = [value for value in values if value is not None]
    return number(sum(found) / len(found))


def write_alt_test(answered: Answered, files: Files, options: WriteOptions) -> int:
    """Write people's labels by rater and item as humans.json and the judge's by item as judge.json."""
    chosen, written = _Chosen(options), 0
    humans: dict[str, dict[str, object]] = {}
    judge: dict[str, object] = {}
    for task, answers in answered:
        for answer in answers:
            by_judge = chosen.is_judge(answer)
            if answer.repeat or not (by_judge or answer.is_person):
                continue
            score = chosen.score(answer)
            if score is None:
                continue
            labels = judge if by_judge else humans.setdefault(answer.rater, {})
            labels[_instance(task)] = score.written
            written += 1
    chosen.check()
    if written:
        files.write(json.dumps(humans, ensure_ascii=False, indent=1), "humans.json")
        files.write(json.dumps(judge, ensure_ascii=False, indent=1), "judge.json")
    return written


def _instance(task: ExportedTask) -> str:
    return f"{task.instruction} | {task.a.model} | {task.a.sample}" if task.a.model else task.a.item


CJE = Writer("cje", "CJE fresh draws", write_cje, tasks=SINGLE, several=True, texts=True)
ALT_TEST = Writer("alt-test", "alt-test", write_alt_test, tasks=SINGLE, ending="zip", several=True)
