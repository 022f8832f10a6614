"""Runs that make no calls: plain rules, and the choice among stored verdicts."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from statistics import fmean

from django.db import transaction
from django.db.models import QuerySet

from annotation.models import Assignment, Criterion, Rater, Score, Study, Task
from core.clock import Clock
from generation.execution.leases import lease_items, new_worker_name, release
from generation.execution.states import fail_run, pause_run
from generation.execution.worker import WorkerOptions
from judging.judges.judge_calls import canonical, shown
from judging.judges.making import CHOSEN_IN
from judging.judges.questions import Questions
from judging.methods import messages as reply_messages, weighted as weighted_panels
from judging.methods.pairs import composite, heuristics
from judging.methods.pairs.composite import Agreement
from judging.methods.parsing import Unscored, Verdict
from judging.methods.registry import unanswerable
from judging.models import Judge, JudgeRun, PlannedItem
from judging.runs.aggregation import answer_of, jurors_of
from judging.runs.fitted_panels import FittedPanel
from judging.runs.recording import Ledger

BATCH = 500
EVERYTHING = "all"
Verdicts = Mapping[int, Mapping[str, Verdict]]


def settle_inline(run: JudgeRun, options: WorkerOptions, clock: Clock) -> None:
    """Decide every waiting item of the run, some hundred in a transaction."""
    worker = new_worker_name()
    questions = Questions.of(run.judge, run.study)
    judge = jurors_of(run)[0]
    ledger = Ledger(judge.rater, questions, clock, derived=judge.method in weighted_panels.FITTED)
    try:
        decide = _decider(run, questions)
    except composite.TooFewTasks as error:
        fail_run(run, str(error), clock=clock)
        return
    while pks := lease_items(run, worker, BATCH, clock):
        options.watch()
        if options.interrupted():
            release(run, worker, pks)
            pause_run(run, reply_messages.INTERRUPTED_DECIDING(), clock=clock)
            return
        items = list(
            PlannedItem.objects.filter(pk__in=pks).select_related(
                "task__response_a__instruction__category", "task__response_b"
            )
        )
        with transaction.atomic():
            questions.learn(item.task for item in items)
            done = ledger.answered_already(items)
            for item in items:
                if item.pk not in done:
                    ledger.close(item, decide(item))
            ledger.write()


def _decider(run: JudgeRun, questions: Questions) -> Callable[[PlannedItem], Verdict | Unscored]:
    """Return the function that decides an item. Raises TooFewTasks."""
    method = run.judge.method
    if method in weighted_panels.FITTED:
        panel = FittedPanel.of(run)
        return lambda item: panel.verdict_on(item, questions)
    if method == composite.KEY:
        verdicts = verdicts_of(run.study, besides=run.judge.rater)
        choices = choices_for(run.judge, run.study, seed=run.seed)
        _say_if_scripted(run.judge, {*choices.rated.values(), *choices.others.values()})
        return lambda item: composite.verdict_of(
            choices, str(item.task_id), category_of(item.task), dict(verdicts.get(item.task_id, {}))
        )

    def decide(item: PlannedItem) -> Verdict | Unscored:
        question = shown(item, questions.about(item.task))
        lack = unanswerable(method, question)
        if lack is not None:
            return lack
        return canonical(item, heuristics.decide(heuristics.Rule(method), question, seed=run.seed))

    return decide


def _say_if_scripted(judge: Judge, chosen: Collection[str]) -> None:
    """Let the composite be known as scripted where it takes verdicts of a scripted judge, as its figures rest on them."""
    judges = Rater.objects.filter(workspace=judge.workspace_id, kind=Rater.Kind.JUDGE, label__in=chosen)
    if judges.filter(provenance=Rater.Provenance.SCRIPTED).exists():
        Rater.objects.filter(pk=judge.rater_id).update(provenance=Rater.Provenance.SCRIPTED)


def choices_for(judge: Judge, study: Study, *, seed: int) -> composite.Choices:
    """Return which judge decides each task of a composite: by this study's people, or by those of the study it names.

    Raises TooFewTasks.
    """
    chosen_in = judge.parameters.get(CHOSEN_IN)
    rated = Study.objects.get(workspace=judge.workspace_id, slug=chosen_in) if chosen_in else study
    return composite.choices_from(agreements_of(rated, verdicts_of(rated, besides=judge.rater)), seed=seed)


def category_of(task: Task) -> str:
    category = task.response_a.instruction.category
    return category.key if category else EVERYTHING


def verdicts_of(study: Study, *, besides: Rater) -> Verdicts:
    """Return the stored preferences of the study's judges by task and judge's name, without `besides` and composites."""
    scores = (
        _preferences(study)
        .filter(
            assignment__rater__kind=Rater.Kind.JUDGE,
            assignment__status__in=[Assignment.Status.SUBMITTED, Assignment.Status.DERIVED],
        )
        .exclude(assignment__rater=besides)
        .exclude(assignment__rater__in=Judge.objects.filter(method=composite.KEY).values("rater"))
        .exclude(assignment__discredited=True)
    )
    found: dict[int, dict[str, Verdict]] = defaultdict(dict)
    for score in scores:
        if composite.says_composite(score.assignment.rater.label):
            continue
        found[score.assignment.task_id][score.assignment.rater.label] = Verdict((answer_of(score),))
    return found


def agreements_of(study: Study, verdicts: Verdicts) -> list[Agreement]:
    """Return, for each judge and each task that people answered, the share of people who agree with the judge."""
    people: dict[int, list[int]] = defaultdict(list)
    tasks: dict[int, Task] = {}
    answered = _preferences(study).filter(
        assignment__rater__kind__in=[Rater.Kind.PERSON, Rater.Kind.SLOT], assignment__status=Assignment.Status.SUBMITTED
    )
    for score in answered:
        people[score.assignment.task_id].append(_sign(score.value))
        tasks[score.assignment.task_id] = score.assignment.task
    methods = sorted({name for given in verdicts.values() for name in given})
    found = []
    for pk, sides in people.items():
        for method in methods:
            verdict = verdicts.get(pk, {}).get(method)
            value = None
            if verdict is not None:
                value = fmean(side == _sign(verdict.answers[0].value) for side in sides)
            task = tasks[pk]
            found.append(Agreement(str(pk), str(task.response_a.instruction_id), category_of(task), method, value))
    return found


def _preferences(study: Study) -> QuerySet[Score]:
    return (
        Score.objects.filter(
            assignment__task__study=study,
            assignment__task__gold__isnull=True,
            assignment__repeat=0,
            criterion__role=Criterion.Role.PREFERENCE,
            value__isnull=False,
        )
        .select_related("criterion", "assignment__rater", "assignment__task__response_a__instruction__category")
        .order_by("assignment", "revision")
    )


def _sign(value: float | None) -> int:
    assert value is not None
    return (value > 0) - (value < 0)
