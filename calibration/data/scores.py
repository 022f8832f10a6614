"""Rows to a frame: the only reader of scores for statistics.

They are read column by column and joined in numpy, so that a quarter of a million scores take about a second.
"""

from collections.abc import Collection, Iterable

import numpy as np
from django.db.models import Max, Q, QuerySet

from annotation.models import Assignment, Rater, Score, Study, Task, counting
from annotation.policies.policies import Policies, with_adjudicated_labels
from calibration.data.columns import (
    Criteria,
    categories_of,
    columns_of,
    instructions_of,
    responses_of,
    table_of,
    tasks_of,
    with_one_prompt,
)
from calibration.data.frames import EVERY_KIND, Floats, Ints, ScoreFrame
from generation.models import MAIN_EXPERIMENT, Benchmark, LanguageModel


def score_frame(
    *,
    kinds: Collection[Task.Kind],
    study: Study | None = None,
    benchmark: Benchmark | None = None,
    raters: Iterable[int] | None = None,
    people: bool = True,
    judges: bool = True,
    experiment: str | None = MAIN_EXPERIMENT,
    keep_derived: bool | None = None,
    repeats: bool = False,
    discredited: bool = False,
    decided_in: Collection[int] = (),
    routed: bool = False,
    studies: Collection[int] = (),
) -> ScoreFrame:
    """Read the current scores of tasks of these `kinds`, in a study, in all studies of a benchmark's responses, or in the
    `studies` with these primary keys.

    People's answers to tasks with a known answer (gold, controls, training, qualification) are never read. Without
    `repeats`, only a rater's first answer to a task is: neither probes nor a judge's further rounds. `experiment` keeps
    a benchmark's runs apart (None: all); responses of no run belong to the main one, and answers of a study that is of
    another experiment, such as published answers without noise beside all of them, do not. Verdicts derived from several
    others (a panel's, or both orders') are read when judges are read alone, and left out when judges are compared with
    people, because their parts are already included. Verdicts of runs that failed their canary texts are read only if
    `discredited` ones are requested. Answers to tasks drawn with unequal probability are read only if `routed`, by a reader
    that weights each by 1/probability. Answers by which a lead resolved a disagreement are read of the studies
    `decided_in`. Instructions that word one prompt for several lengths are one instruction, so that statistics draw the
    prompt as a whole.
    """
    keep_derived = not people if keep_derived is None else keep_derived
    who = _who(people, judges, decided_in)
    assignments = _assignments(study, benchmark, raters, who, experiment, keep_derived, repeats, kinds, routed, studies)
    if judges and not discredited:
        assignments = assignments.exclude(discredited=True)
    score_columns = columns_of(
        Score.objects.filter(assignment__in=assignments).order_by(),
        ["assignment_id", "criterion_id", "revision", "value", "not_applicable"],
    )
    owners, criterion_pks, revision, value, not_applicable = score_columns
    keep = _latest(owners.astype(np.int64), criterion_pks.astype(np.int64), revision)
    owner, criterion_pk = owners[keep].astype(np.int64), criterion_pks[keep].astype(np.int64)
    value = value[keep]
    applicable = ~(not_applicable[keep] > 0)
    links = table_of(assignments, ["id", "task_id", "rater_id", "repeat"])
    task = links.of(owner, "task_id")
    rater = links.of(owner, "rater_id")
    asked = tasks_of(study, assignments)
    tasks = table_of(asked, ["id", "response_a_id", "response_b_id"])
    response, response_b = tasks.of(task, "response_a_id"), tasks.of(task, "response_b_id")
    responses = responses_of(asked)
    instruction = responses.of(response, "instruction_id")
    instruction_rows = instructions_of(np.unique(instruction))
    category, parent, category_names = categories_of(instruction_rows.of(instruction, "category_id"))
    prompt, prompt_names = with_one_prompt(instruction, instruction_rows.labels)
    criteria = Criteria(np.unique(criterion_pk))
    variant = _variants(criteria, assignments, owner, criterion_pk)
    rater_rows = {row.pk: row for row in Rater.objects.filter(pk__in=np.unique(rater).tolist())}
    judge_pks = np.array([pk for pk, row in rater_rows.items() if row.kind == Rater.Kind.JUDGE], dtype=np.int64)
    return ScoreFrame(
        assignment=owner,
        task=task,
        response=response,
        response_b=response_b,
        instruction=prompt,
        category=category,
        parent=parent,
        model=responses.of(response, "model_id"),
        model_b=responses.of(response_b, "model_id"),
        rater=rater,
        criterion=criteria.codes(criterion_pk),
        role=criteria.column(criterion_pk, "role").astype(np.int64),
        position=criteria.column(criterion_pk, "position").astype(np.int64),
        value=np.where(applicable, value, 0.0),
        low=criteria.column(criterion_pk, "low"),
        high=criteria.column(criterion_pk, "high"),
        applicable=applicable,
        variant=variant,
        repeat=links.of(owner, "repeat"),
        is_judge=np.isin(rater, judge_pks),
        criterion_keys=criteria.keys,
        model_names=dict(
            LanguageModel.objects.filter(responses__instruction_id__in=_subquery_of(np.unique(instruction)))
            .values_list("pk", "name")
            .distinct()
        ),
        rater_names={pk: row.name for pk, row in rater_rows.items()},
        category_names=category_names,
        instruction_ids=prompt_names,
    )


def _assignments(
    study: Study | None,
    benchmark: Benchmark | None,
    raters: Iterable[int] | None,
    who: Q,
    experiment: str | None,
    keep_derived: bool,
    repeats: bool,
    kinds: Collection[Task.Kind],
    routed: bool,
    studies: Collection[int],
) -> QuerySet[Assignment]:
    counted = counting(routed=routed)
    if keep_derived:
        counted |= Q(status=Assignment.Status.DERIVED)
    found = Assignment.objects.filter(counted).order_by()
    if set(kinds) != set(EVERY_KIND):
        found = found.filter(task__kind__in=[str(kind) for kind in kinds])
    if not repeats:
        found = found.filter(repeat=0)
    if study is not None:
        found = found.filter(task__study=study)
    elif benchmark is not None:
        found = found.filter(task__response_a__instruction__benchmark=benchmark)
        if experiment == MAIN_EXPERIMENT:
            found = found.exclude(task__response_a__run__in=benchmark.generation_runs.exclude(experiment=experiment))
            found = found.filter(task__study__experiment__in=["", experiment])
        elif experiment is not None:
            found = found.filter(task__response_a__run__experiment=experiment)
    elif studies:
        found = found.filter(task__study__in=list(studies))
    else:
        raise ValueError("a frame is of a study, of several studies, or of a benchmark")
    if raters is not None:
        found = found.filter(rater__in=list(raters))
    return found.filter(who)


def _who(people: bool, judges: bool, decided_in: Collection[int]) -> Q:
    who = Q(rater__kind=Rater.Kind.JUDGE) if judges else Q(pk__in=[])
    if people:
        who |= Q(rater__kind__in=[Rater.Kind.PERSON, Rater.Kind.SLOT], task__gold__isnull=True)
    if decided_in:
        who |= Q(rater__kind=Rater.Kind.KEY, rater__study__in=decided_in, task__gold__isnull=True)
    return who


def label_frame(
    *,
    kinds: Collection[Task.Kind],
    study: Study | None = None,
    benchmark: Benchmark | None = None,
    experiment: str | None = MAIN_EXPERIMENT,
    people: ScoreFrame | None = None,
) -> ScoreFrame:
    """Read people's scores as the labels of their tasks, for what is compared with them or fitted to them.

    In a study whose lead chose so ("adjudicated_labels"), a task on which a lead has resolved a disagreement has the
    lead's answer in place of the raters', the latest one if several leads answered. Agreement between raters reads
    `score_frame`. `people` are the same scores without such answers, where the caller has read them.
    """
    decided = decided_studies(study, benchmark)
    if people is not None and not decided:
        return people
    frame = score_frame(
        kinds=kinds, study=study, benchmark=benchmark, judges=False, experiment=experiment, decided_in=decided
    )
    if not decided or not len(frame):
        return frame
    keys = Rater.objects.filter(kind=Rater.Kind.KEY, study__in=decided).values_list("pk", flat=True)
    by_lead = np.isin(frame.rater, list(keys))
    answers = np.unique(frame.assignment[by_lead]).tolist()
    newest = Score.objects.filter(assignment__in=answers).order_by().values_list("assignment", "assignment__task")
    latest = {task: pk for pk, task, _last in sorted(newest.annotate(Max("pk")), key=lambda row: row[2])}
    settled = np.isin(frame.task, list(latest))
    return frame.select((by_lead & np.isin(frame.assignment, list(latest.values()))) | ~settled)


def decided_studies(study: Study | None, benchmark: Benchmark | None = None) -> list[int]:
    """The studies, of this one or of those that rate the benchmark's responses, whose adjudicated answers are labels."""
    if study is not None:
        return [study.pk] * Policies.of(study).adjudicated_labels
    return with_adjudicated_labels(benchmark.workspace_id) if benchmark is not None else []


def decided_tasks(study: Study) -> int:
    """How many tasks have a lead's answer as their label."""
    own = Assignment.objects.filter(
        rater__kind=Rater.Kind.KEY, rater__study__in=decided_studies(study), status=Assignment.Status.SUBMITTED
    )
    return own.filter(task__gold__isnull=True).values("task").distinct().count()


def _latest(owner: Ints, criterion: Ints, revision: Floats) -> Ints:
    """Places of the highest revision of each (assignment, criterion), in order of assignment and criterion."""
    order = np.lexsort([revision, criterion, owner])
    last = np.ones(len(order), dtype=bool)
    if len(order):
        ahead, behind = order[1:], order[:-1]
        last[:-1] = (owner[ahead] != owner[behind]) | (criterion[ahead] != criterion[behind])
    return order[last].astype(np.int64)


def _variants(criteria: Criteria, assignments: QuerySet[Assignment], owner: Ints, criterion_pk: Ints) -> Ints:
    """Which of the levels that share a value was chosen; read only for scales that have such levels."""
    found = np.zeros(len(owner), dtype=np.int64)
    for criterion in criteria.rows:
        seen: dict[float, int] = {}
        for level in criterion.levels:
            number = seen.get(float(level["value"]), 0)
            seen[float(level["value"])] = number + 1
            if number:
                chosen = Score.objects.filter(assignment__in=assignments, criterion=criterion, level=level["key"])
                pks = np.fromiter(chosen.values_list("assignment_id", flat=True), dtype=np.int64)
                found[(criterion_pk == criterion.pk) & np.isin(owner, pks)] = number
    return found


def _subquery_of(pks: Ints) -> list[int]:
    return [int(pk) for pk in pks]


def named_raters(raters: Ints) -> Ints | None:
    """Codes from 0 up of the persons behind these pks (n,), None where some of them are positions, not persons."""
    known, codes = np.unique(raters, return_inverse=True)
    if Rater.objects.filter(pk__in=known.tolist(), kind=Rater.Kind.SLOT).exists():
        return None
    return codes.reshape(-1).astype(np.int64)
