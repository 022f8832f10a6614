"""How long a lead's live desk takes at a quarter of a million answers.

    PLUMBLINE_DATA_DIR=FOLDER python tests/benchmarks/desk.py [--answers 250000]

The desk shows the counts that the database keeps; count_ms is what measuring the disagreements takes, which a worker does.
first_ms is the first visit of all.

Makes, in the database of the environment (its own file on SQLite), a checklist study of so many answers by 400 raters
in three cohorts, five seats a task, seven scores an answer, with controls and their outcomes; then asks for every
part of the desk as a lead, ten times each, and prints one line of JSON: milliseconds, the median and the worst.
"""

import argparse
import json
import os
import statistics
import sys
import time
from datetime import timedelta
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

import django

django.setup()

from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Membership, User, Workspace
from annotation.models import (
    Assignment,
    CheckOutcome,
    Cohort,
    Criterion,
    DeskTally,
    Rater,
    Rubric,
    Score,
    Seat,
    Standing,
    Study,
    Task,
)
from annotation.monitoring.stored_progress import keep_spreads
from generation.models import Benchmark, Category, Instruction, LanguageModel, Response

OVERLAP, RATERS, ITEMS, MODELS, SUBCATEGORIES = 5, 400, 6, 10, 30
LEVELS = [{"key": str(i), "value": i / 4, "label": {"en": str(i)}, "description": {}} for i in range(5)]
SLUG = "desk-benchmark"


def make_study(answers: int) -> Study:
    """The study, in batches; every random number from one seed."""
    random = Random(7)
    tasks_wanted = answers // OVERLAP
    workspace, _ = Workspace.objects.get_or_create(slug=SLUG, defaults={"name": "Desk benchmark"})
    lead = User.objects.create_user("desk-lead", password="desk benchmark lead")
    Membership.objects.create(workspace=workspace, user=lead, role="lead")
    benchmark = Benchmark.objects.create(workspace=workspace, slug=SLUG, names={"en": "Desk benchmark"})
    groups = [Category.objects.create(benchmark=benchmark, key=f"g{i}", names={"en": f"Group {i}"}) for i in range(5)]
    leaves = [
        Category.objects.create(benchmark=benchmark, parent=groups[i % 5], key=f"c{i}", names={"en": f"Category {i}"})
        for i in range(SUBCATEGORIES)
    ]
    rubric = Rubric.objects.create(workspace=workspace, key=SLUG)
    criteria = [
        Criterion.objects.create(rubric=rubric, key=f"item{i}", position=i, levels=LEVELS) for i in range(ITEMS)
    ]
    criteria.append(
        Criterion.objects.create(
            rubric=rubric, key="overall", role="overall", position=ITEMS, minimum=0, maximum=10, step=1
        )
    )
    study = Study.objects.create(
        workspace=workspace,
        slug=SLUG,
        names={"en": "Desk benchmark"},
        kind="checklist",
        status="open",
        benchmark=benchmark,
        policies={"overlap": OVERLAP},
    )
    cohorts = [Cohort.objects.create(study=study, name=name, kind=name) for name in ("onsite", "crowd", "public")]
    raters = Rater.objects.bulk_create(
        Rater(workspace=workspace, study=study, label=f"R{i}", pseudonym=f"R{i}", cohort=cohorts[i % 3])
        for i in range(RATERS)
    )
    Standing.objects.bulk_create(Standing(rater=rater, state="rating") for rater in raters)
    models = LanguageModel.objects.bulk_create(
        LanguageModel(workspace=workspace, name=f"model {i}") for i in range(MODELS)
    )
    instructions = Instruction.objects.bulk_create(
        (
            Instruction(
                benchmark=benchmark,
                external_id=f"i{i}",
                category=leaves[i % SUBCATEGORIES],
                messages=[{"role": "user", "content": f"Question {i}?"}],
            )
            for i in range(-(-tasks_wanted // MODELS))
        ),
        batch_size=1000,
    )
    now = timezone.now()
    done = 0
    for start in range(0, tasks_wanted, 5000):
        some = [
            Response(
                instruction=instructions[number // MODELS], model=models[number % MODELS], text="Short.", words=600
            )
            for number in range(start, min(start + 5000, tasks_wanted))
        ]
        responses = Response.objects.bulk_create(some, batch_size=1000)
        tasks = Task.objects.bulk_create(
            [
                Task(study=study, kind="single", key=f"r:{one.pk}", response_a=one, answer_rubric=rubric)
                for one in responses
            ],
            batch_size=1000,
        )
        chosen = [random.sample(raters, OVERLAP) for _task in tasks]
        seats = Seat.objects.bulk_create(
            [
                Seat(study=study, task=task, place=place, draw_key=random.getrandbits(62), state="taken", holder=rater)
                for task, own in zip(tasks, chosen, strict=True)
                for place, rater in enumerate(own)
            ],
            batch_size=1000,
        )
        assignments = Assignment.objects.bulk_create(
            [
                Assignment(
                    task_id=seat.task_id,
                    rater_id=seat.holder_id,
                    seat=seat,
                    status="submitted",
                    order=1,
                    submitted_at=now - timedelta(seconds=random.randrange(10**6)),
                    active_seconds=random.uniform(20, 600),
                    idle_seconds=5.0,
                    conditions={"language": "en"},
                )
                for seat in seats
            ],
            batch_size=1000,
        )
        Score.objects.bulk_create(
            [
                Score(
                    assignment=one,
                    criterion=criterion,
                    value=random.randint(0, 4) / 4 if criterion.role == "item" else random.randint(0, 10),
                )
                for one in assignments
                for criterion in criteria
            ],
            batch_size=5000,
        )
        done += len(assignments)
        print(f"{done} answers", file=sys.stderr)
    controls = [
        Task.objects.create(
            study=study,
            kind="single",
            key=f"control:{i}",
            response_a=tasks[i].response_a,
            answer_rubric=rubric,
            gold={"purpose": "control", "expected": {}},
        )
        for i in range(20)
    ]
    checked = Assignment.objects.bulk_create(
        [
            Assignment(task=task, rater=rater, status="checked", submitted_at=now, conditions={"control": True})
            for task in controls
            for rater in raters
        ],
        batch_size=1000,
    )
    CheckOutcome.objects.bulk_create(
        [CheckOutcome(assignment=one, purpose="control", passed=random.random() < 0.9) for one in checked],
        batch_size=1000,
    )
    return study


def measure(addresses: dict[str, str], times: int) -> dict[str, dict[str, float]]:
    client = Client()
    client.force_login(User.objects.get(username="desk-lead"))
    found = {}
    for name, address in addresses.items():
        spent = []
        for _time in range(times):
            start = time.perf_counter()
            response = client.get(address, headers={"HX-Request": "true"}, SERVER_NAME="localhost")
            spent.append(1000 * (time.perf_counter() - start))
            assert response.status_code == 200, (name, response.status_code)
        found[name] = {"median_ms": round(statistics.median(spent), 1), "worst_ms": round(max(spent), 1)}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=int, default=250_000)
    parser.add_argument("--times", type=int, default=10)
    arguments = parser.parse_args()
    call_command("migrate", verbosity=0)
    if not Study.objects.filter(slug=SLUG).exists():
        make_study(arguments.answers)
    names = ("desk", "live_progress", "live_raters", "live_attention", "disagreements")
    study = Study.objects.get(slug=SLUG)
    DeskTally.objects.all().delete()
    client = Client()
    client.force_login(User.objects.get(username="desk-lead"))
    client.get(reverse("annotation:new_study"), SERVER_NAME="localhost")  # loads the program
    start = time.perf_counter()
    client.get(reverse("annotation:desk", args=[f"{SLUG}/{SLUG}"]), SERVER_NAME="localhost")
    first = 1000 * (time.perf_counter() - start)
    start = time.perf_counter()
    keep_spreads(study, clock=timezone.now)
    count = 1000 * (time.perf_counter() - start)
    addresses = {name: reverse(f"annotation:{name}", args=[f"{SLUG}/{SLUG}"]) for name in names}
    answers = Assignment.objects.filter(task__study__slug=SLUG, status="submitted").count()
    addresses["desk_figures"] = reverse("calibration:desk_figures", args=[f"{SLUG}/{SLUG}"])
    found = {"answers": answers, "first_ms": round(first), "count_ms": round(count)}
    print(json.dumps(found | {"parts": measure(addresses, arguments.times)}))


if __name__ == "__main__":
    main()
