"""The verdicts of a panel with fitted weights, from the stored verdicts of its members; and how it stands in a judge.

Its `parameters` are {"members": [public ids of raters], "folds": [[weights] by fold], "weights": the mean of these,
"fitted_in": the study's slug}; every list of weights sums to 1.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import QuerySet

from annotation.models import Assignment, Rater, Score, Task
from generation.library.prompts import prompt_name, prompts_of
from generation.models import Instruction
from judging.judges.questions import Questions
from judging.methods.combining import Scale
from judging.methods.parsing import Answer, Unscored, Verdict
from judging.methods.registry import METHODS
from judging.methods.weighted import fold_of, weighted
from judging.models import Judge, JudgeRun, PlannedItem
from judging.runs.aggregation import answer_of

MEMBERS, FOLDS_WEIGHTS, WEIGHTS, FITTED_IN = "members", "folds", "weights", "fitted_in"
Asked = tuple[int, int, int]
"""A response, the second one of a pair or 0, and the rubric."""


@dataclass(frozen=True)
class FittedPanel:
    """A panel's members by name, its weights by fold, and the members' `verdicts` by what was asked and by name.

    `folds` are those of the instructions, by pk.
    """

    weights: list[Mapping[str, float]]
    folds: Mapping[int, int]
    verdicts: Mapping[Asked, Mapping[str, Verdict]]
    preference: bool

    @classmethod
    def of(cls, run: JudgeRun) -> "FittedPanel":
        """Read what its members said of the tasks of a run, in whichever study that was."""
        judge = run.judge
        raters = {row.public_id: row for row in Rater.objects.filter(public_id__in=judge.parameters[MEMBERS])}
        names = [raters[one].name if one in raters else one for one in judge.parameters[MEMBERS]]
        tasks = Task.objects.filter(planned_items__run=run)
        return cls(
            weights=[dict(zip(names, weights, strict=True)) for weights in judge.parameters[FOLDS_WEIGHTS]],
            folds=_folds(tasks),
            verdicts=_verdicts(judge, run, [row.pk for row in raters.values()]),
            preference=METHODS[judge.method].role == "preference",
        )

    def verdict_on(self, item: PlannedItem, questions: Questions) -> Verdict | Unscored:
        task = item.task
        said = self.verdicts.get((task.response_a_id, task.response_b_id or 0, task.answer_rubric_id), {})
        scales = [Scale(one, self.preference) for one in questions.answered(task)]
        return weighted(said, self.weights[self.folds[task.response_a.instruction_id]], scales)


def folds_of(instructions: Mapping[int, str]) -> dict[int, int]:
    """Return the fold of each instruction, given by pk with its name; wordings of one prompt are in one fold."""
    prompts = prompts_of(instructions)
    return {pk: fold_of(prompt_name(name) if pk in prompts else name) for pk, name in instructions.items()}


def _folds(tasks: QuerySet[Task]) -> dict[int, int]:
    rows = Instruction.objects.filter(pk__in=tasks.order_by().values("response_a__instruction"))
    return folds_of(dict(rows.values_list("pk", "external_id")))


def _verdicts(judge: Judge, run: JudgeRun, raters: list[int]) -> dict[Asked, dict[str, Verdict]]:
    """Return the members' usable verdicts on the run's tasks; one given in the run's own study goes first."""
    spec = METHODS[judge.method]
    asked = Task.objects.filter(planned_items__run=run)
    scores = (
        Score.objects.filter(
            assignment__rater__in=raters,
            assignment__repeat=0,
            assignment__status__in=[Assignment.Status.SUBMITTED, Assignment.Status.DERIVED],
            assignment__task__kind=spec.task_kind,
            assignment__task__gold__isnull=True,
            assignment__task__part__isnull=True,
            assignment__task__response_a__in=asked.values("response_a"),
            assignment__task__study__workspace=judge.workspace_id,
            value__isnull=False,
        )
        .exclude(assignment__discredited=True)
        .select_related("criterion", "assignment__rater", "assignment__task")
        .order_by("assignment", "criterion__position", "revision")
    )
    answers: dict[tuple[Asked, str, bool], dict[str, Answer]] = defaultdict(dict)
    for score in scores.iterator(5_000):
        task = score.assignment.task
        place = (task.response_a_id, task.response_b_id or 0, task.answer_rubric_id)
        own = task.study_id == run.study_id
        answers[place, score.assignment.rater.name, own][score.criterion.key] = answer_of(score)
    found: dict[Asked, dict[str, Verdict]] = defaultdict(dict)
    for (place, name, _own), given in sorted(answers.items(), key=lambda row: row[0][2]):
        found[place][name] = Verdict(tuple(given.values()))
    return found
