"""Small builders of rows for tests; each makes what it is not given."""

import itertools
from typing import Any

from accounts.models import Membership, User, Workspace
from annotation.models import Assignment, Criterion, Rater, Rubric, Score, Study, Task
from core.db.append_only import removing
from generation.models import Benchmark, Category, Instruction, LanguageModel, Response
from judging.models import Judge, JudgeRun
from judging.runs.planning.plan import plan_at_once
from judging.runs.planning.request import RunRequest, Target

_numbers = itertools.count(1)
FULFILMENT = [
    {"key": str(i), "value": i / 4, "label": {"en": f"level {i}", "zh-hans": f"第{i}级"}, "description": {}}
    for i in range(5)
]


def make_workspace(slug: str = "lab") -> Workspace:
    return Workspace.objects.get_or_create(slug=slug, defaults={"name": slug.title()})[0]


def make_user(role: str | None = None, workspace: Workspace | None = None, **fields: Any) -> User:
    """A user; with a role, a member of the workspace. The password is 'plumb line 12'."""
    username = fields.pop("username", f"user{next(_numbers)}")
    user = User.objects.create_user(username, password="plumb line 12", **fields)
    if role:
        Membership.objects.create(workspace=workspace or make_workspace(), user=user, role=role)
    return user


def make_rubric(workspace: Workspace, items: int = 3, **fields: Any) -> Rubric:
    """A checklist rubric with `items` five-level items item0.. and an overall 0..10 at the end."""
    rubric = Rubric.objects.create(workspace=workspace, key=fields.pop("key", f"rubric{next(_numbers)}"), **fields)
    for position in range(items):
        Criterion.objects.create(
            rubric=rubric,
            key=f"item{position}",
            position=position,
            questions={"en": f"Is quality {position} there?", "zh-hans": f"是否具备品质{position}?"},
            levels=FULFILMENT,
        )
    Criterion.objects.create(
        rubric=rubric,
        key="overall",
        position=items,
        role="overall",
        minimum=0,
        maximum=10,
        step=1,
        questions={"en": "How good is it overall?", "zh-hans": "总体如何?"},
    )
    return rubric


def make_checklist_study(
    *,
    instructions: int = 4,
    models: int = 2,
    items: int = 3,
    slug: str = "essays",
    status: str = "open",
    workspace: Workspace | None = None,
) -> Study:
    """A study whose tasks are instructions x models short responses, in one category with a parent."""
    workspace = workspace or make_workspace()
    benchmark = Benchmark.objects.create(workspace=workspace, slug=f"{slug}-benchmark", names={"en": slug})
    parent = Category.objects.create(benchmark=benchmark, key="writing", names={"en": "Writing"})
    category = Category.objects.create(benchmark=benchmark, parent=parent, key="essay", names={"en": "Essay"})
    rubric = make_rubric(workspace, items, benchmark=benchmark, category=category)
    study = Study.objects.create(
        workspace=workspace, slug=slug, names={"en": slug.title()}, kind="checklist", benchmark=benchmark, status=status
    )
    people = [LanguageModel.objects.get_or_create(workspace=workspace, name=f"model{m}")[0] for m in range(models)]
    for number in range(instructions):
        instruction = Instruction.objects.create(
            benchmark=benchmark,
            external_id=f"{slug}-{number}",
            category=category,
            messages=[{"role": "user", "content": f"Write about topic {number}."}],
        )
        for model in people:
            response = Response.objects.create(
                instruction=instruction, model=model, text=f"# Topic {number}\n\nSome words about it.", words=7
            )
            Task.objects.create(
                study=study, kind="single", key=f"r:{response.pk}", response_a=response, answer_rubric=rubric
            )
    return study


def make_rater(study: Study, user: User | None = None, **fields: Any) -> Rater:
    label = fields.pop("label", f"rater{next(_numbers)}")
    return Rater.objects.create(workspace=study.workspace, study=study, user=user, label=label, **fields)


def make_judge_rater(workspace: Workspace, label: str = "gpt-4o") -> Rater:
    return Rater.objects.create(workspace=workspace, kind="judge", label=label)


def make_answer(task: Task, rater: Rater, values: dict[str, float], **fields: Any) -> Assignment:
    """A submitted assignment with one score for each criterion key."""
    assignment = Assignment.objects.create(task=task, rater=rater, status=fields.pop("status", "submitted"), **fields)
    criteria = {criterion.key: criterion for criterion in task.answer_rubric.criteria.all()}
    Score.objects.bulk_create(
        Score(assignment=assignment, criterion=criteria[key], value=value) for key, value in values.items()
    )
    return assignment


def plan_run(*, judge: Judge, study: Study, jurors: tuple[Judge, ...] = (), **asked: Any) -> JudgeRun:
    """A run over the study's tasks with all its items, not yet started; `asked` as in RunRequest."""
    return plan_at_once(RunRequest(Target(study=study), (judge, *jurors), **asked))


def remove(rows: Any) -> None:
    """Delete rows or a row with all answers and replies below, which nothing but the door of the record allows."""
    with removing(None):
        rows.delete()
