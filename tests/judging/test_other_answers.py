"""Reviews of verdicts, instruction checks, gold items, controls and probes change no number but those about themselves."""

import json
import re

import numpy as np
import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.answers.recording import record_answer
from annotation.assignment.attention_checks import make_controls, mark_gold
from annotation.models import Assignment, Criterion, Rubric, Study, Task
from annotation.rubrics.instruction_checks import check_fields
from annotation.studies.life_cycle import make_tasks
from generation.models import Response
from judging.leaderboards.table import leaderboard
from tests.annotation.raters_at_work import TEXT, answers_to
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater
from tests.judging.result_walk import reader_of, rows_of, walk

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
        workspace=study.workspace,
        slug="review",
        kind="review",
        benchmark=study.benchmark,
        status="open",
        policies={"selection": {"reviewed": study.pk}},
    )
    make_tasks(review)
    assert review.tasks.count() == 30
    for number in range(2):
        reviewer = make_rater(review, label=f"reviewer {number}")
        for task in review.tasks.order_by("pk")[: 15 + number]:
            make_answer(task, reviewer, {f"item{n}": 0.0 for n in range(3)})


def add_checks(study):
    """Instruction checks of the same responses under an item's own key, by a person and by a judge of checks."""
    rubric = Rubric.objects.create(workspace=study.workspace, key="checks")
    fields = check_fields("item0", {"en": "Does it say the first thing?"}, 0, None)
    Criterion.objects.create(rubric=rubric, **fields)
    checks = Study.objects.create(
        workspace=study.workspace, slug="checks", kind="check", benchmark=study.benchmark, rubric=rubric, status="open"
    )
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
            study=study,
            kind="single",
            key=f"{purpose}:{task.pk}",
            response_a=task.response_a,
            answer_rubric=task.answer_rubric,
        )
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


OF_CHECKS = r"(2 raters stopped )|(Paused )|(4 / 4|–) (–|\d{4}-\d\d-\d\d)"
SPEAKS_OF_THEM = {
    "annotation:desk": OF_CHECKS,
    "annotation:live_raters": OF_CHECKS,
    "calibration:desk_figures": r"Consistency [\d.]+ \([^)]*\)|Needs attention|person \d: fails \d+ % of quality checks",
    "judging:leaderboards": r"\d+ judges?",
    "calibration:plan_fragment": r"Total hours [\d.]+ The hours include about \d+ repeated tasks? \w+ quality checks?\.",
}
"""Pages that are the same but for what rightly speaks of checks, probes, reviews and the judge of checks."""
OWN_PAGES = ("annotation:known_answers", "judging:export", "calibration:raters", "judging:judges_depth")
"""Pages of which a whole part is about them, or about how many rows a file will have: their reports are compared."""
OWN_PARTS = {"raters": ("consistency", "kappa", "variance", "controls"), "judges in depth": ("reasonable",)}
"""Parts of reports that rest on repeats, on known answers, or on reviews."""


def test_no_number_of_the_study_changes(study):
    client = reader_of(study)
    judges = [study.workspace.raters.get(label="a-judge")]
    assert leaderboard(study.benchmark, judges[0], "equal", beside_people=True).corrected
    walk(study, judges, client=client, figures=False)  # makes the fit and the reports that the next look shows
    before = walk(study, judges, client=client, figures=False)
    for add in (add_review, add_checks, add_known, add_probes):
        add(study)
    after = walk(study, judges, client=client, figures=False)
    assert {status for status, _said in after.values()} == {0, 200}

    places = before.keys() & after.keys() - left_out(study)
    assert before.keys() - after.keys() == {place for place in before if place not in after and "report: " in place}
    changed = {
        place: (said, now)
        for place in places
        for said, now in [[shown(study, place, walked[place][1]) for walked in (before, after)]]
        if said != now
    }
    assert changed == {}
    compared = " ".join(places)
    for kind in ("agreement", "rankings", "raters", "judges in depth", "judging methods", "judge against people"):
        assert f" report: {kind}" in f" {compared}", kind
    for page in ("exported report: leaderboard", "compare/item", "scores.csv", "compare_judge", "depth/?file="):
        assert page in compared, page
    of_raters(study, before, after)
    # What was exported before is exported still, and the answers to known tasks beside it.
    rows, now = (rows_of(found["export: scores.csv"][1]) for found in (before, after))
    assert now[: len(rows)] == rows
    assert {row[10] for row in now[len(rows) :]} == {"checked", "submitted"}
    # What rightly speaks of them does.
    depth = reverse("judging:judges_depth", args=[study])
    assert "Reviewers call 0" in after[depth][1]
    assert "Reviewers call" not in before[depth][1]


def left_out(study):
    """Places that rightly speak of what was added."""
    places = {reverse(name, args=[study]) for name in OWN_PAGES} | {"export", "export: scores.csv"}
    places |= {reverse("annotation:rater", args=[study, one.public_id]) for one in study.raters.all()}
    raters, depth = (reverse(name, args=[study]) for name in ("calibration:raters", "judging:judges_depth"))
    places |= {f"{page}?file=page.json" for page in (raters, depth)}
    suffixes = ("svg", "csv", "json", "tex", "md")
    return places | {f"{raters}?file={name}.{suffix}" for name in ("variance", "designs") for suffix in suffixes}


def of_raters(study, before, after):
    """Of each rater, what they answered and how fast; the rest of their page is of checks and repeats."""
    for rater in study.raters.all():
        place = reverse("annotation:rater", args=[study, rater.public_id])
        for said in ("This rater has answered 21 tasks.", "Ratings 21 Repeated tasks"):
            assert said in before[place][1]
            assert said in after[place][1]
        figures = reverse("calibration:rater_figures", args=[study, rater.public_id])
        assert "Median s per 100 words 66.7 study median: 66.7, answers: 21" in after[figures][1]


def shown(study, place, said):
    """The words of a page, or the result of a report, without the parts that speak of what was added."""
    for name, pattern in SPEAKS_OF_THEM.items():
        if place == reverse(name, args=[] if name == "judging:leaderboards" else [study]):
            said = " ".join(re.sub(pattern, "", said).split())
    for kind, parts in OWN_PARTS.items():
        if f"report: {kind} " in place:
            return {name: value for name, value in json.loads(said).items() if name not in parts}
    return said
