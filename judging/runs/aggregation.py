"""The judges of a run and, once all answers are in, the panel's verdicts and the check of the canary texts."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from statistics import fmean

from django.db import IntegrityError, transaction
from django.db.models import Q

from annotation.models import Assignment, AssignmentQuerySet, Criterion, Rater, Score, Task
from core.clock import Clock
from core.messages.message import Message, stored, stored_text
from judging.judges.questions import Questions
from judging.methods import messages as reply_messages
from judging.methods.canaries import (
    CanariesUnscored,
    CanaryFailed,
    PairCanary,
    Sung,
    check,
    share,
    sung_pairs,
    sung_singles,
)
from judging.methods.combining import How, Part, Scale, derived
from judging.methods.pairs.base import Side, chosen, level_of
from judging.methods.parsing import Answer, Unscored, Verdict, Why
from judging.models import Judge, JudgeRun, PlannedItem
from judging.runs.recording import LONGEST_REASON

BATCH = 500


def jurors_of(run: JudgeRun) -> list[Judge]:
    """Return the judges that are asked, in the order of the numbers in the run's items."""
    pks = run.manifest.get("settings", {}).get("jurors") or [run.judge_id]
    found = Judge.objects.select_related("rater", "language_model__endpoint").in_bulk(pks)
    return [found[pk] for pk in pks]


def is_panel(run: JudgeRun) -> bool:
    return bool(run.manifest.get("settings", {}).get("combine"))


def derive(run: JudgeRun, *, clock: Clock) -> int:
    """Combine the answers to each task and store them as the panel's verdicts; return how many are new.

    Safe to run twice.
    """
    settings = run.manifest.get("settings", {})
    if not is_panel(run) or run.watch_id is not None:  # the rounds of a drift monitor are no results of their own
        return 0
    how = How(settings["combine"])
    questions = Questions.of(run.judge, run.study)
    preference = questions.needs.role == Criterion.Role.PREFERENCE
    made = 0
    for items in _by_tasks(run):
        outcomes = outcomes_of(items)
        found = []
        for _task_id, group in groupby(items, key=lambda item: item.task_id):
            group_items = list(group)
            scales = [Scale(item, preference) for item in questions.answered(group_items[0].task)]
            found.append((group_items[0].task, derived(parts_of(group_items, outcomes), scales, how)))
        made += _store(run.judge.rater, found, questions, clock)
    return made


def _by_tasks(run: JudgeRun) -> Iterator[list[PlannedItem]]:
    """Yield the run's ordinary items, those of a task together, some hundred tasks at a time."""
    tasks = list(run.items.filter(canary="").order_by("task_id").values_list("task_id", flat=True).distinct())
    for start in range(0, len(tasks), BATCH):
        yield list(
            run.items.filter(canary="", task_id__in=tasks[start : start + BATCH])
            .select_related("task")
            .order_by("task_id", "juror", "repeat")
        )


def parts_of(items: Iterable[PlannedItem], outcomes: Mapping[int, Verdict | Unscored]) -> list[Part]:
    """Return the parts of one task by repeat: the n-th item that a judge was shown in an order is its n-th repeat."""
    times: Counter[tuple[int, Side | None]] = Counter()
    parts = []
    for item in items:
        place = item.juror, _side(item)
        parts.append(Part(item.juror, times[place], place[1], outcomes[item.pk]))
        times[place] += 1
    return parts


def _side(item: PlannedItem) -> Side | None:
    if item.task.response_b_id is None:
        return None
    return "b" if item.shown_first == "b" else "a"


def outcomes_of(items: Sequence[PlannedItem]) -> dict[int, Verdict | Unscored]:
    """Return the stored verdict of each item, or why there is none."""
    answers: dict[int, list[Answer]] = defaultdict(list)
    assignments = [item.assignment_id for item in items if item.status == PlannedItem.Status.SCORED]
    scores = (
        Score.objects.filter(assignment__in=assignments, value__isnull=False)
        .select_related("criterion")
        .order_by("assignment", "criterion__position", "revision")
    )
    for score in scores:
        answers[score.assignment_id].append(answer_of(score))
    found: dict[int, Verdict | Unscored] = {}
    for item in items:
        given = answers.get(item.assignment_id or 0)
        if item.status == PlannedItem.Status.SCORED and given:
            found[item.pk] = Verdict(tuple({answer.key: answer for answer in given}.values()))
        else:
            found[item.pk] = unscored_of(item)
    return found


def answer_of(score: Score) -> Answer:
    assert score.value is not None
    if score.criterion.role == Criterion.Role.PREFERENCE:
        level = score.level or level_of(Answer(score.criterion.key, score.value, ""))
        return chosen(score.criterion.key, level, stored_text(score, "reason"))
    return Answer(score.criterion.key, score.value, stored_text(score, "reason"))


def unscored_of(item: PlannedItem) -> Unscored:
    """Why the item has no verdict, from the reason that is stored with it."""
    reason = stored_text(item, "reason")
    if isinstance(reason, Message) and reason.code == reply_messages.UNSCORED.code and reason.params["why"] in set(Why):
        return Unscored(Why(reason.params["why"]), str(reason.params["detail"]))
    return Unscored(Why.MISSING, reason or reply_messages.NO_VERDICT())


def _store(rater: Rater, found: Sequence[tuple[Task, Verdict | Unscored]], questions: Questions, clock: Clock) -> int:
    """Store derived assignments with their scores for tasks that have none yet; return their number."""
    known = set(
        Assignment.objects.filter(rater=rater, repeat=0, task__in=[task.pk for task, _said in found])
        .exclude(status=Assignment.Status.UNSCORED)
        .values_list("task_id", flat=True)
    )
    fresh = [(task, outcome) for task, outcome in found if task.pk not in known]
    now = clock()
    questions.learn(task for task, _said in fresh)
    try:
        with transaction.atomic():
            Assignment.objects.filter(
                rater=rater, repeat=0, status=Assignment.Status.UNSCORED, task__in=[task.pk for task, _said in fresh]
            ).delete()
            assignments = Assignment.objects.bulk_create(
                Assignment(
                    task=task,
                    rater=rater,
                    status=Assignment.Status.DERIVED if isinstance(outcome, Verdict) else Assignment.Status.UNSCORED,
                    submitted_at=now,
                    **stored("reason", "" if isinstance(outcome, Verdict) else outcome.reason, LONGEST_REASON),
                )
                for task, outcome in fresh
            )
            Score.objects.bulk_create(
                score
                for assignment, (task, outcome) in zip(assignments, fresh, strict=True)
                if isinstance(outcome, Verdict)
                for score in _scores(assignment, questions, task, outcome)
            )
    except IntegrityError:
        return 0
    return len(fresh)


def _scores(assignment: Assignment, questions: Questions, task: Task, outcome: Verdict) -> Iterator[Score]:
    criteria = {criterion.key: criterion for criterion in questions.rubric(task.answer_rubric_id).criteria.all()}
    for answer in outcome.answers:
        criterion = criteria[answer.key]
        level = criterion.level_of(answer.value)
        yield Score(
            assignment=assignment,
            criterion=criterion,
            value=answer.value,
            level=getattr(answer, "level", "") or (str(level["key"]) if level else ""),
            **stored("reason", answer.reason),
        )


def check_canaries(run: JudgeRun) -> None:
    """Raise CanaryFailed if a judge of the run believed a canary text, CanariesUnscored if it judged none."""
    planted = list(run.items.exclude(canary="").select_related("task").order_by("juror", "position"))
    if not planted:
        return
    questions = Questions.of(run.judge, run.study)
    outcomes = outcomes_of(planted)
    sung: list[Sung] = []
    for juror, group in groupby(planted, key=lambda item: item.juror):
        items = list(group)
        if questions.needs.task_kind == Task.Kind.PAIR:
            sung += sung_pairs(_pairs(items, outcomes))
        else:
            values = {item.canary: _share(outcomes[item.pk], questions, item.task) for item in items}
            sung += sung_singles(values, ordinary_shares(run, juror))
    check(sung)


def discredit(run: JudgeRun, error: CanaryFailed | CanariesUnscored) -> None:
    """Mark the run and every verdict that rests on it, including a panel's: they are shown and count nowhere."""
    fell = error.sung if isinstance(error, CanaryFailed) else ()
    with transaction.atomic():
        run.believed_canaries = [{"text": canary.key, **stored("what", canary.what)} for canary in fell]
        run.save(update_fields=["believed_canaries"])
        verdicts_of_run(run).update(discredited=True)


def rehabilitate(run: JudgeRun) -> None:
    """Remove the marks once the judge, asked again, has recognised the canary texts."""
    if run.believed_canaries is None:
        return
    with transaction.atomic():
        run.believed_canaries = None
        run.save(update_fields=["believed_canaries"])
        elsewhere = PlannedItem.objects.filter(run__believed_canaries__isnull=False).values("assignment")
        verdicts_of_run(run).exclude(pk__in=elsewhere.filter(assignment__isnull=False)).update(discredited=None)


def verdicts_of_run(run: JudgeRun) -> AssignmentQuerySet:
    """Return the assignments of the run's ordinary items: its judges' answers and, for a panel, the combined verdicts."""
    items = run.items.filter(canary="")
    found = Q(pk__in=items.filter(assignment__isnull=False).values("assignment"))
    if is_panel(run):
        found |= Q(rater=run.judge.rater_id, repeat=0, task__in=items.values("task"))
    return Assignment.objects.filter(found)


def _share(outcome: Verdict | Unscored, questions: Questions, task: Task) -> float | Unscored:
    return outcome if isinstance(outcome, Unscored) else share(outcome, questions.answered(task))


def _pairs(items: Iterable[PlannedItem], outcomes: Mapping[int, Verdict | Unscored]) -> list[PairCanary]:
    """Return the canaries with both orders; the canary text is side B of its task."""
    by_key: dict[str, dict[str, Verdict | Unscored]] = defaultdict(dict)
    for item in items:
        by_key[item.canary][item.shown_first] = outcomes[item.pk]
    lost = Unscored(Why.MISSING, reply_messages.NOT_ASKED())
    return [PairCanary(key, "b", orders.get("a", lost), orders.get("b", lost)) for key, orders in by_key.items()]


def ordinary_shares(run: JudgeRun, juror: int) -> list[float]:
    """Return, for each ordinary verdict of a judge, the mean of its scores as shares of their scales."""
    rows = Score.objects.filter(
        assignment__planned_items__run=run,
        assignment__planned_items__juror=juror,
        assignment__planned_items__canary="",
        value__isnull=False,
    ).values_list("assignment_id", "criterion_id", "value")
    wanted = set(rows.order_by().values_list("criterion_id", flat=True).distinct())
    ends = {criterion.pk: criterion.ends for criterion in Criterion.objects.filter(pk__in=wanted)}
    shares: dict[int, list[float]] = defaultdict(list)
    for assignment, criterion, value in rows.iterator(5_000):
        low, high = ends[criterion]
        assert value is not None
        shares[assignment].append((value - low) / (high - low))
    return [fmean(values) for values in shares.values()]
