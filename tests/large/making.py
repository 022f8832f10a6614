"""A study as large as a test or a benchmark asks for, with something on every page of it; its rows are inserted in bulk.

A checklist study of instructions by ten models, as many ratings a task as asked, raters in three cohorts. Some of them
are paused, one is excluded; there are quality checks, repeated tasks, skips, notes, corrected times, a lead's own
answers, a judge with verdicts and a fit. Every number comes from one seed.
"""

from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from itertools import islice
from random import Random

from django.core.management import call_command
from django.core.management.color import no_style
from django.db import connection
from django.db.models import Max
from django.utils import timezone

from accounts.models import Event, Membership, User, Workspace
from annotation.assignment.rater_status import APPEAL
from annotation.counters.counts import fold
from annotation.models import (
    Assignment,
    CheckOutcome,
    Cohort,
    Criterion,
    Flag,
    Guideline,
    LateChange,
    Rater,
    Rubric,
    Score,
    Seat,
    Standing,
    Study,
    Task,
    TimeCorrection,
)
from annotation.monitoring.adjudication import key_rater
from annotation.monitoring.exclusion import exclude
from annotation.policies.policies import CONTROL, GOLD
from core.db.bulk_insert import Inserting
from core.db.public_ids import new_public_id
from generation.models import Benchmark, Category, Endpoint, Instruction, LanguageModel, Response

SLUG, PASSWORD, JUDGE = "large", "large study lead", "large-judge"
MODELS, GROUPS, SUBCATEGORIES, ITEMS = 10, 5, 30, 2
AT_ONCE = 5000
LEVELS = [
    {"key": str(i), "value": i / 4, "label": {"en": f"level {i}", "zh-hans": f"第{i}级"}, "description": {}}
    for i in range(5)
]
SENTENCE = "The river carries sand and silt past the old harbour while people walk along its banks every morning. "
UNRATED = 20
"""Tasks that every rater who had them skipped."""
CHECKS = 10
"""Attention checks and gold items, of each half as many; every rater was given all of them."""


def make_large_study(
    *, tasks: int, ratings: int = 3, raters: int = 300, judged: int = 500, slug: str = SLUG
) -> tuple[Study, User]:
    """The study and its lead, whose password is PASSWORD. `judged` tasks have a verdict."""
    random = Random(20260713)
    workspace = Workspace.objects.create(slug=slug, name="Large study")
    lead = User.objects.create_user(f"{slug}-lead", password=PASSWORD)
    Membership.objects.create(workspace=workspace, user=lead, role="owner")
    study, rubric = _study(workspace, lead, ratings)
    people = _raters(study, raters)
    _rated(study, rubric, people, tasks - UNRATED, ratings, random)
    _checked(study, rubric, people, random)
    _unrated(study, rubric, people, ratings)
    _told(study, lead, people, random)
    fold()
    analyse()
    exclude(study, people[0], since=None, reason="Answered without reading.", by=lead)
    call_command("fit_weights", study.slug, workspace=workspace.slug, stdout=StringIO())
    if judged:
        _judged(study, judged)
    fold()
    analyse()
    return study, lead


def analyse() -> None:
    """Do what autovacuum does in a running installation."""
    if connection.vendor == "postgresql" and not connection.in_atomic_block:
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")


def _study(workspace: Workspace, lead: User, ratings: int) -> tuple[Study, Rubric]:
    benchmark = Benchmark.objects.create(workspace=workspace, slug=f"{SLUG}-benchmark", names={"en": "Large"})
    groups = [
        Category.objects.create(benchmark=benchmark, key=f"g{i}", names={"en": f"Group {i}"}, position=i)
        for i in range(GROUPS)
    ]
    for i in range(SUBCATEGORIES):
        Category.objects.create(
            benchmark=benchmark, parent=groups[i % GROUPS], key=f"c{i}", names={"en": f"Category {i}"}, position=i
        )
    rubric = Rubric.objects.create(workspace=workspace, benchmark=benchmark, key=SLUG, names={"en": "Checklist"})
    for i in range(ITEMS):
        question = {"en": f"Is quality {i} there?", "zh-hans": f"是否具备品质{i}?"}
        Criterion.objects.create(rubric=rubric, key=f"item{i}", position=i, questions=question, levels=LEVELS)
    Criterion.objects.create(
        rubric=rubric,
        key="overall",
        role="overall",
        position=ITEMS,
        minimum=0,
        maximum=10,
        step=1,
        questions={"en": "How good is it overall?", "zh-hans": "总体如何?"},
    )
    guideline = Guideline.objects.create(workspace=workspace, key=SLUG, texts={"en": "Read every text to its end."})
    study = Study.objects.create(
        workspace=workspace,
        guideline=guideline,
        slug=workspace.slug,
        names={"en": "Large study", "zh-hans": "大型研究"},
        kind="checklist",
        status="open",
        benchmark=benchmark,
        rubric=rubric,
        policies={"overlap": ratings},
        created_by=lead,
    )
    return study, rubric


def _raters(study: Study, number: int) -> list[Rater]:
    cohorts = [
        Cohort.objects.create(
            study=study, name=kind.title(), kind=kind, pay="12.00", pay_per="hour", pay_currency="EUR"
        )
        for kind in ("onsite", "crowd", "public")
    ]
    people = Rater.objects.bulk_create(
        Rater(
            workspace=study.workspace,
            study=study,
            label=f"person {i:04d}",
            pseudonym=f"R{i:04d}",
            cohort=cohorts[i % 3],
        )
        for i in range(number)
    )
    stopped = {1: Standing.State.PAUSED, 2: Standing.State.PAUSED, 3: Standing.State.FAILED}
    Standing.objects.bulk_create(
        Standing(rater=rater, state=stopped.get(place, Standing.State.RATING)) for place, rater in enumerate(people)
    )
    return people


def _responses(study: Study, number: int) -> Iterator[Response]:
    """Responses to instructions in all subcategories, each instruction answered by every model."""
    assert study.benchmark is not None
    models = [
        LanguageModel.objects.get_or_create(workspace=study.workspace, name=f"model {i}")[0] for i in range(MODELS)
    ]
    leaves = list(Category.objects.filter(benchmark=study.benchmark, parent__isnull=False).order_by("position"))
    before = study.benchmark.instructions.count()
    instructions = Instruction.objects.bulk_create(
        (
            Instruction(
                benchmark=study.benchmark,
                external_id=f"i{before + i}",
                category=leaves[i % len(leaves)],
                messages=[{"role": "user", "content": f"Write about topic {before + i}."}],
            )
            for i in range(-(-number // MODELS))
        ),
        batch_size=1000,
    )
    for place in range(number):
        text = f"# Topic {place}\n\n{SENTENCE * (3 + place % 9)}"
        yield Response(
            instruction=instructions[place // MODELS],
            model=models[place % MODELS],
            text=text,
            words=18 * (3 + place % 9) + 2,
        )


def _tasks(study: Study, rubric: Rubric, number: int) -> Iterator[list[Task]]:
    """The study's tasks, AT_ONCE at a time."""
    assert study.benchmark is not None
    waiting = _responses(study, number)
    while some := list(islice(waiting, AT_ONCE)):
        responses = Response.objects.bulk_create(some, batch_size=1000)
        yield Task.objects.bulk_create(
            [
                Task(study=study, kind="single", key=f"r:{one.pk}", response_a=one, answer_rubric=rubric)
                for one in responses
            ],
            batch_size=1000,
        )


def _next_pk(model: type[Seat | Assignment]) -> int:
    return (model.objects.aggregate(n=Max("pk"))["n"] or 0) + 1


def _rated(study: Study, rubric: Rubric, people: list[Rater], number: int, ratings: int, random: Random) -> None:
    """Every seat is taken, and every answer is there; one task in a hundred came back to its first rater."""
    criteria = list(rubric.criteria.order_by("position"))
    seats = Inserting(Seat, "id", "task", "holder", "place", "draw_key")
    answers = Inserting(
        Assignment,
        "id",
        "public_id",
        "task",
        "rater",
        "seat",
        "repeat",
        "order",
        "shown_at",
        "submitted_at",
        "active_seconds",
    )
    scores = Inserting(Score, "assignment", "criterion", "value", "level")
    pk, now, of_rater = max(_next_pk(Seat), _next_pk(Assignment)), timezone.now(), dict.fromkeys(range(len(people)), 0)
    severity = [random.uniform(-0.1, 0.1) for _rater in people]
    for tasks in _tasks(study, rubric, number):
        seat_rows, answer_rows, score_rows = [], [], []
        for task in tasks:
            quality, chosen = random.random(), random.sample(range(len(people)), ratings)
            again = [chosen[0]] if random.random() < 0.01 else []
            for place, who in enumerate(chosen + again):
                of_rater[who] += 1
                if place < ratings:
                    seat_rows.append((pk, task.pk, people[who].pk, place, random.getrandbits(62)))
                seconds = random.uniform(20, 240)
                at = now - timedelta(seconds=random.randrange(10**6))
                answer_rows.append(
                    (
                        *(pk, new_public_id(), task.pk, people[who].pk, pk if place < ratings else None),
                        *(int(place >= ratings), of_rater[who], at - timedelta(seconds=seconds), at, seconds),
                    )
                )
                for criterion in criteria:
                    share = min(1.0, max(0.0, random.gauss(quality + severity[who], 0.2)))
                    if criterion.role == Criterion.Role.ITEM:
                        score_rows.append((pk, criterion.pk, round(4 * share) / 4, str(round(4 * share))))
                    else:
                        score_rows.append((pk, criterion.pk, float(round(10 * share)), ""))
                pk += 1
        seats.insert(seat_rows, study=study.pk, state="taken")
        answers.insert(
            answer_rows,
            status="submitted",
            reason="",
            shown_first="",
            conditions={"language": "en"},
            idle_seconds=5.0,
            created_at=now,
        )
        scores.insert(score_rows, revision=0, not_applicable=False, reason="", created_at=now)
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), [Seat, Assignment]):
            cursor.execute(statement)


def _checked(study: Study, rubric: Rubric, people: list[Rater], random: Random) -> None:
    """Quality checks, of which a careful rater fails one in ten and the fifth rater half."""
    now = timezone.now()
    first = list(study.tasks.order_by("pk")[:CHECKS])
    checks = [
        Task.objects.create(
            study=study,
            kind="single",
            key=f"check:{place}",
            response_a=task.response_a,
            answer_rubric=rubric,
            gold={"purpose": CONTROL if place % 2 else GOLD, "expected": {}},
        )
        for place, task in enumerate(first)
    ]
    made = Assignment.objects.bulk_create(
        [
            Assignment(task=task, rater=rater, status="checked", submitted_at=now, conditions={"control": True})
            for task in checks
            for rater in people
        ],
        batch_size=1000,
    )
    careless = people[4].pk
    CheckOutcome.objects.bulk_create(
        [
            CheckOutcome(
                assignment=one,
                purpose=one.task.gold["purpose"] if one.task.gold else GOLD,
                passed=random.random() > (0.7 if one.rater_id == careless else 0.1),
            )
            for one in made
        ],
        batch_size=1000,
    )


def _unrated(study: Study, rubric: Rubric, people: list[Rater], ratings: int) -> None:
    """Tasks with free seats that as many raters have skipped."""
    for tasks in _tasks(study, rubric, UNRATED):
        Seat.objects.bulk_create(
            Seat(study=study, task=task, place=place, draw_key=task.pk * 100 + place)
            for task in tasks
            for place in range(ratings)
        )
        Assignment.objects.bulk_create(
            Assignment(task=task, rater=rater, status="skipped", reason="broken")
            for task in tasks
            for rater in people[5 : 5 + ratings]
        )


def _told(study: Study, lead: User, people: list[Rater], random: Random) -> None:
    """Raters' notes, an appeal, late changes, corrected times, a lead's own answers, and a history."""
    answers = list(Assignment.objects.filter(rater=people[6], status="submitted").order_by("pk")[:60])
    Flag.objects.bulk_create(
        Flag(task_id=one.task_id, rater=people[6], kind=APPEAL if place == 0 else "note", text=f"Note {place}: odd.")
        for place, one in enumerate(answers)
    )
    LateChange.objects.bulk_create(LateChange(assignment=one, cause="closed", answers={}) for one in answers[:5])
    TimeCorrection.objects.bulk_create(
        TimeCorrection(assignment=one, seconds=random.uniform(20, 60), reason="A pause.") for one in answers
    )
    key = key_rater(study, lead)
    Assignment.objects.bulk_create(
        Assignment(task_id=one.task_id, rater=key, status="submitted") for one in answers[:9]
    )
    Event.objects.bulk_create(
        (
            Event(
                workspace=study.workspace,
                actor=lead,
                verb=("message_rater", "pause_rater", "resume_rater")[number % 3],
                object_type="rater",
                object_id=people[number % len(people)].public_id,
                after={"message": f"Message {number}"},
            )
            for number in range(1000)
        ),
        batch_size=500,
    )


def _judged(study: Study, number: int) -> None:
    """A scripted judge asked about so many of the tasks, by the command that a lead's button stands for."""
    endpoint = Endpoint.objects.create(workspace=study.workspace, name="scripted", kind=Endpoint.Kind.SCRIPTED)
    LanguageModel.objects.create(
        workspace=study.workspace,
        name=JUDGE,
        endpoint=endpoint,
        fictional=True,
        parameters={"script": {"seed": 3, "quality": 0.6}},
    )
    call_command(
        "judge", study.slug, model=JUDGE, name=JUDGE, limit=number, workspace=study.workspace.slug, stdout=StringIO()
    )
