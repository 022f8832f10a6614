"""What is counted before a run is begun is what a run then plans, for every kind of run, and counting writes nothing."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import Criterion, Rubric, Study, Task
from annotation.rubrics.instruction_checks import check_fields
from generation.models import Benchmark, Endpoint, GenerationRun, Instruction, LanguageModel, Response
from judging.judges.making import create_judge, create_rule_judge
from judging.methods.combining import How
from judging.models import Judge
from judging.runs.planning.estimates import estimate_run
from judging.runs.planning.preview import prospect
from judging.runs.planning.request import RunRequest, Target
from judging.studies.benchmarks import NothingToJudge
from tests.factories import make_answer, make_checklist_study, make_rater, make_rubric, plan_run
from tests.judging.runs.test_methods_run import make_pair_study

pytestmark = pytest.mark.django_db
WRITES = ("INSERT", "UPDATE", "DELETE")


def models_of(study, count=2):
    endpoint = Endpoint.objects.create(workspace=study.workspace, name="somewhere", base_url="http://127.0.0.1:9/v1")
    return [
        LanguageModel.objects.create(workspace=study.workspace, name=f"judge{n}", endpoint=endpoint)
        for n in range(count)
    ]


def counted(judges, target, **asked):
    """What is estimated; nothing is written meanwhile."""
    request = RunRequest(target, tuple(judges), **asked)
    assert request.leader
    with CaptureQueriesContext(connection) as queries:
        found = estimate_run(request)
    assert not [one["sql"] for one in queries if one["sql"].lstrip().upper().startswith(WRITES)]
    return found


def is_what_is_planned(judges, target, **asked):
    found = counted(judges, target, **asked)
    run = plan_run(judge=judges[0], study=target.to_judge(), jurors=tuple(judges[1:]), **asked)
    assert found.tasks == run.items.filter(canary="").values("task").distinct().count()
    assert found.canaries == run.items.exclude(canary="").count()
    assert found.most.calls == run.items.count()
    return run


KINDS = {
    "plainly": {},
    "a part": {"limit": 4},
    "more than there is": {"limit": 400},
    "planted texts": {"canaries": True},
    "several times": {"repeats": 3},
    "a part, several times, with planted texts": {"limit": 5, "repeats": 2, "canaries": True},
    "orders of what is no pair": {"both_orders": True},
    "what people rated": {"only_rated": True},
}


@pytest.mark.parametrize("jury", [1, 2])
@pytest.mark.parametrize("kind", list(KINDS))
def test_of_a_study(kind, jury):
    study = make_checklist_study(instructions=4, models=3)
    for task in study.tasks.all()[2:5]:
        make_answer(task, make_rater(study), {"item0": 1, "item1": 1, "item2": 1, "overall": 9})
    judges = [create_judge(model=model) for model in models_of(study, jury)]
    is_what_is_planned(judges, Target(study=study), **KINDS[kind])


@pytest.mark.parametrize("kind", ["plainly", "a part", "planted texts", "several times"])
@pytest.mark.parametrize("method", ["pair_of_four", "pair_of_three"])
@pytest.mark.parametrize("both_orders", [False, True])
def test_of_pairs(kind, method, both_orders):
    study = make_pair_study(("a", "tie", "b") if method == "pair_of_three" else ("b", "tie", "both_bad", "a"))
    judges = [create_judge(model=model, method=method) for model in models_of(study)]
    how = KINDS[kind] | {"both_orders": both_orders, "combine": How.MAJORITY}
    is_what_is_planned(judges[:1], Target(study=study), **how)
    is_what_is_planned(judges, Target(study=study), **how)


def test_of_checks_in_parts_of_long_texts():
    study = make_checklist_study(instructions=2, models=2)
    rubric = Rubric.objects.create(workspace=study.workspace, key="checks")
    Criterion.objects.create(rubric=rubric, **check_fields("c", {"en": "Is there a dog?"}, 0, None))
    for number, task in enumerate(list(study.tasks.all())):
        Task.objects.create(
            study=study,
            kind="check",
            key=f"c:{number}",
            response_a=task.response_a,
            answer_rubric=rubric,
            part={"number": number, "start": 0, "end": 5},
        )
    judges = [create_judge(model=model, method="instruction_check") for model in models_of(study, 1)]
    is_what_is_planned(judges, Target(study=study), canaries=True, repeats=2)


def test_rules_make_no_call_about_the_tasks_they_decide():
    study = make_pair_study()
    rule = create_rule_judge(workspace=study.workspace, method="longer")
    found = counted([rule], Target(study=study), limit=3)
    assert (found.tasks, found.most.calls) == (3, 0)


@pytest.mark.parametrize("kind", list(KINDS))
def test_of_a_benchmark_that_no_judge_has_seen(kind):
    """None of its tasks is there yet, and counting makes neither them nor their study. People rated in another one."""
    study = make_checklist_study(instructions=4, models=3)
    for task in study.tasks.all()[2:5]:
        make_answer(task, make_rater(study), {"item0": 1, "item1": 1, "item2": 1, "overall": 9})
    target = Target(benchmark=study.benchmark)
    judges = [create_judge(model=model) for model in models_of(study)]
    counted(judges, target)
    assert Study.objects.count() == 1
    run = is_what_is_planned(judges, target, **KINDS[kind])
    if kind == "what people rated":
        rated = study.tasks.all()[2:5].values_list("response_a", flat=True)
        assert set(run.items.values_list("task__response_a", flat=True)) == set(rated)


def test_of_a_benchmark_judged_in_part_to_which_responses_came():
    """Old tasks that are answered, old ones that are not, new responses, and some that nothing can be asked about."""
    study = make_checklist_study(instructions=3, models=2)
    benchmark, workspace = study.benchmark, study.workspace
    target = Target(benchmark=benchmark)
    judges = [create_judge(model=model) for model in models_of(study)]
    is_what_is_planned(judges, target)
    own = target.stored
    panel = Judge.objects.get(jurors=judges[1])
    make_answer(own.tasks.first(), judges[0].rater, {"item0": 1, "item1": 1, "item2": 1})
    make_answer(own.tasks.last(), panel.rater, {"item0": 1, "item1": 1, "item2": 1}, status="derived")
    writer = LanguageModel.objects.create(workspace=workspace, name="another")
    first, second, third = Instruction.objects.filter(benchmark=benchmark).order_by("pk")
    Response.objects.create(instruction=first, model=writer, text="New.")
    Response.objects.create(instruction=second, model=writer, text=None)
    Response.objects.create(instruction=third, model=writer, text="A copy.", kind="reference")
    bare = Instruction.objects.create(benchmark=benchmark, external_id="bare", messages=[])
    Response.objects.create(instruction=bare, model=writer, text="Nothing says how to rate this.")
    lone = Instruction.objects.create(
        benchmark=benchmark, external_id="lone", messages=[{"role": "user", "content": "Write."}]
    )
    make_rubric(workspace, 2, benchmark=benchmark, instruction=lone)
    Response.objects.create(instruction=lone, model=writer, text="It has a rubric of its own.")
    longer = GenerationRun.objects.create(benchmark=benchmark, experiment="length-2k")
    Response.objects.create(instruction=first, model=writer, run=longer, text="Of another experiment.")
    # 6 old ones less the one that the judge itself answered, and 2 new ones.
    alone = counted(judges[:1], target)
    assert alone.tasks == 5 + 2
    is_what_is_planned(judges[:1], target)
    is_what_is_planned(judges, target)
    is_what_is_planned(judges, target, limit=6)
    other = Target(benchmark=benchmark, experiment="length-2k")
    assert counted(judges, other).tasks == 1
    is_what_is_planned(judges, other)


def test_the_questions_drawn_are_spread_over_the_plan_as_it_is_ordered():
    study = make_checklist_study(instructions=30, models=4)
    judge = create_judge(model=models_of(study, 1)[0])
    fresh = Target(benchmark=study.benchmark)
    for target in (Target(study=study), fresh):
        found = prospect(RunRequest(target, (judge,), limit=100))
        run = plan_run(judge=judge, study=target.to_judge(), limit=100)
        order = list(run.items.order_by("position").values_list("task__response_a", flat=True))
        assert [task.response_a_id for task in found.drawn] == order[::4][:24]


def test_a_benchmark_without_rubrics_or_texts_is_refused_as_planning_refuses_it():
    study = make_checklist_study(instructions=2, models=1)
    judge = create_judge(model=models_of(study, 1)[0])
    empty = Benchmark.objects.create(workspace=study.workspace, slug="empty")
    for target in (Target(benchmark=empty), Target(benchmark=study.benchmark)):
        Rubric.objects.filter(benchmark=study.benchmark, study=None).update(category=None, benchmark=None)
        for refused in (lambda target=target: prospect(RunRequest(target, (judge,))), target.to_judge):
            with pytest.raises(NothingToJudge, match="no response with both a text and a rubric"):
                refused()
