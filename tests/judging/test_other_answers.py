"""Reviews of verdicts, instruction checks, gold items, controls and probes change no number but those about themselves."""

import numpy as np
import pytest
from django.utils import timezone

from annotation.check_rubrics import check_fields
from annotation.controls import make_controls, mark_gold
from annotation.models import Assignment, Criterion, Rubric, Study, Task
from annotation.recording import record_answer
from annotation.studies import make_tasks
from generation.models import Response
from judging.leaderboards import leaderboard
from tests.annotation.raters_at_work import TEXT, answers_to
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater
from tests.judging.result_walk import reader_of, walk

pytestmark = pytest.mark.django_db


def answer(task, rater, share, repeat=0):
    """As a rater's own page records it."""
    assignment = Assignment.objects.create(task=task, rater=rater, repeat=repeat)
    record_answer(assignment=assignment, answers=answers_to(assignment, share), clock=timezone.now)
    return assignment


@pytest.fixture
def study():
    """Three models on ten instructions: the judge has answered all, two people the first seven."""
    study = make_checklist_study(instructions=10, models=3, items=3)
    Response.objects.filter(instruction__benchmark=study.benchmark).update(text=TEXT, words=60)
    judge = make_judge_rater(study.workspace, "a-judge")
    people = [make_rater(study, label=f"person {n}") for n in range(2)]
    rng = np.random.default_rng(7)
    for place, task in enumerate(study.tasks.order_by("pk")):
        make_answer(task, judge, {f"item{n}": float(rng.integers(1, 5)) / 4 for n in range(3)})
        for person in people if place < 21 else []:
            values = {f"item{n}": float(rng.integers(0, 5)) / 4 for n in range(3)}
            make_answer(task, person, {**values, "overall": float(rng.integers(0, 11))}, active_seconds=40.0)
    return study


def add_review(study):
    """Reviewers find the judge's verdicts unreasonable, under the criteria of the responses."""
    review = Study.objects.create(
        workspace=study.workspace, slug="review", kind="review", benchmark=study.benchmark, status="open",
        policies={"selection": {"reviewed": study.pk}},
    )  # fmt: skip
    make_tasks(review)
    assert review.tasks.count() == 30
    for number in range(2):
        reviewer = make_rater(review, label=f"reviewer {number}")
        for task in review.tasks.order_by("pk")[: 15 + number]:
            answer(task, reviewer, 0.0)


def add_checks(study):
    """Instruction checks of the same responses under an item's own key, by a person and by a judge of checks."""
    rubric = Rubric.objects.create(workspace=study.workspace, key="checks")
    fields = check_fields("item0", {"en": "Does it say the first thing?"}, 0, None)
    Criterion.objects.create(rubric=rubric, **fields)
    checks = Study.objects.create(
        workspace=study.workspace, slug="checks", kind="check", benchmark=study.benchmark, rubric=rubric, status="open",
    )  # fmt: skip
    make_tasks(checks)
    assert checks.tasks.count() == 30
    raters = [make_rater(checks, label="checker"), make_judge_rater(study.workspace, "checking judge")]
    for task in checks.tasks.select_related("answer_rubric"):
        for rater in raters:
            make_answer(task, rater, {"item0": 1.0})


def add_known(study):
    """Gold, training and qualification items and degraded controls, answered by everybody."""
    people = list(study.raters.order_by("pk"))
    some = study.tasks.order_by("pk")[:3]
    for purpose, task in zip(("gold", "training", "qualification"), some, strict=True):
        known = Task.objects.create(
            study=study, kind="single", key=f"{purpose}:{task.pk}", response_a=task.response_a,
            answer_rubric=task.answer_rubric,
        )  # fmt: skip
        mark_gold(known, {"item0": 1.0}, purpose=purpose)
        for person in people:
            answer(known, person, 0.0)
    controls = make_controls(study, 3)
    assert len(controls) == 3
    for control in controls:
        for person in people:
            answer(control, person, 1.0)


def add_probes(study):
    """Earlier tasks come back, and are answered otherwise."""
    for person in study.raters.all():
        for task in study.tasks.filter(gold__isnull=True).order_by("pk")[:4]:
            answer(task, person, 1.0, repeat=1)


ADDED = {"a review": add_review, "checks": add_checks, "known answers": add_known, "probes": add_probes}


def test_no_number_of_the_study_changes(study):
    client = reader_of(study)
    judges = [study.workspace.raters.get(label="a-judge")]
    assert leaderboard(study.benchmark, judges[0], "equal", beside_people=True).corrected
    walk(study, judges, client=client)  # makes the fit and the reports that the next look shows
    before = walk(study, judges, client=client)
    for what in ADDED:
        ADDED[what](study)
    show(what, before, walk(study, judges, client=client))
    assert 0


def show(what, before, after):
    import os

    out = open(f"/tmp/numbers_diff_{what.replace(' ', '_')}.txt", "w")
    for place in before:
        if before[place] != after.get(place):
            a, b = before[place][1], (after.get(place) or (0, ""))[1]
            n = len(os.path.commonprefix([a, b]))
            print("DIFF", what, place, before[place][0], (after.get(place) or (None,))[0], file=out)
            print(
                "    ",
                a[max(0, n - 80) : n + 120].replace(chr(10), " "),
                "\n  =>",
                b[max(0, n - 80) : n + 200].replace(chr(10), " "),
                file=out,
            )
    for place in after:
        if place not in before:
            print("NEW", what, place, file=out)
    out.close()
