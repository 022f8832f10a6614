import numpy as np
import pytest

from annotation.models import Assignment, Criterion, Score
from calibration.data.frames import EVERY_KIND, NothingToRead, data_hash
from calibration.data.labels import checklist_rows
from calibration.data.scores import score_frame
from generation.models import Category, GenerationRun, Instruction, Response
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater, remove

pytestmark = pytest.mark.django_db
VALUES = {"item0": 1.0, "item1": 0.5, "item2": 0.0, "overall": 6}


@pytest.fixture
def study():
    study = make_checklist_study(instructions=3, models=2, items=3)
    ann, bob = make_rater(study, label="ann"), make_rater(study, label="bob")
    for number, task in enumerate(study.tasks.all()):
        make_answer(task, ann, VALUES | {"overall": number})
        if number < 4:
            make_answer(task, bob, VALUES)
    return study


def test_every_current_score_is_an_entry(study):
    frame = score_frame(kinds=EVERY_KIND, study=study)
    assert len(frame) == (6 + 4) * 4
    assert set(frame.rater_names.values()) == {"ann", "bob"}
    assert sorted(set(frame.model_names.values())) == ["model0", "model1"]
    assert frame.keys_of_role("item") == ["item0", "item1", "item2"]
    assert frame.keys_of_role("overall") == ["overall"]


def test_rows_are_complete_answers_mapped_from_the_scales_ends(study):
    (rows,) = checklist_rows(score_frame(kinds=EVERY_KIND, study=study))
    assert rows.key == "essay"
    assert rows.answers.shape == (10, 3)
    assert rows.answers[0].tolist() == [1.0, 0.5, 0.0]
    # ann's six overall scores are 0..5 and bob's four are 6, on a scale that ends at 0 and 10.
    assert sorted(rows.overall.tolist()) == [0, 1, 2, 3, 4, 5, 6, 6, 6, 6]
    assert len(set(rows.instruction)) == 3


def test_a_correction_supersedes_and_the_first_answer_stays(study):
    assignment = Assignment.objects.filter(rater__label="ann").first()
    criterion = Criterion.objects.get(rubric=assignment.task.answer_rubric, key="item0")
    Score.objects.create(assignment=assignment, criterion=criterion, revision=1, value=0.25)
    frame = score_frame(kinds=EVERY_KIND, study=study).of_criterion("item0")
    assert frame.value[frame.assignment == assignment.pk].tolist() == [0.25]
    assert assignment.scores.filter(criterion=criterion).count() == 2


def test_answers_with_an_item_that_does_not_apply_or_is_missing_are_counted_out(study):
    first, second = Assignment.objects.filter(rater__label="bob")[:2]
    criterion = Criterion.objects.get(rubric=first.task.answer_rubric, key="item1")
    Score.objects.create(assignment=first, criterion=criterion, revision=1, not_applicable=True)
    remove(second.scores.filter(criterion=criterion))
    (rows,) = checklist_rows(score_frame(kinds=EVERY_KIND, study=study))
    assert (len(rows.overall), rows.dropped_not_applicable, rows.dropped_incomplete) == (8, 1, 1)
    assert not np.isnan(rows.answers).any()


def test_repeats_surplus_and_open_answers_are_left_out(study):
    rater, task = study.raters.get(label="ann"), study.tasks.first()
    make_answer(task, rater, VALUES, repeat=1)
    make_answer(task, make_rater(study, label="late"), VALUES, status="surplus")
    assert len(score_frame(kinds=EVERY_KIND, study=study)) == 40
    assert len(score_frame(kinds=EVERY_KIND, study=study, repeats=True)) == 44


def test_people_and_judges_are_told_apart(study):
    judge = make_judge_rater(study.workspace)
    tasks = list(study.tasks.all())
    make_answer(tasks[0], judge, VALUES)
    Assignment.objects.create(task=tasks[1], rater=judge, status="unscored", reason="prose")
    assert len(score_frame(kinds=EVERY_KIND, study=study, people=False)) == 4
    assert score_frame(kinds=EVERY_KIND, study=study).is_judge.sum() == 4
    assert len(score_frame(kinds=EVERY_KIND, study=study, judges=False)) == 40


def test_a_benchmarks_experiments_are_read_apart(study):
    benchmark = study.benchmark
    run = GenerationRun.objects.create(benchmark=benchmark, name="long", experiment="length")
    Response.objects.filter(pk=study.tasks.first().response_a_id).update(run=run)
    assert len(score_frame(kinds=EVERY_KIND, benchmark=benchmark)) == 40 - 8
    assert len(score_frame(kinds=EVERY_KIND, benchmark=benchmark, experiment="length")) == 8
    assert len(score_frame(kinds=EVERY_KIND, benchmark=benchmark, experiment=None)) == 40


def test_the_hash_follows_the_data_not_the_rows(study):
    before = data_hash(score_frame(kinds=EVERY_KIND, study=study))
    assignment = Assignment.objects.filter(rater__label="bob").first()
    values = {score.criterion.key: score.value for score in assignment.scores.all()}
    task, rater = assignment.task, assignment.rater
    remove(assignment)
    assert data_hash(score_frame(kinds=EVERY_KIND, study=study)) != before
    make_answer(task, rater, values)
    assert data_hash(score_frame(kinds=EVERY_KIND, study=study)) == before


def test_the_hash_follows_categories_on_which_fits_rest(study):
    before = data_hash(score_frame(kinds=EVERY_KIND, study=study))
    own = Category.objects.get(key="essay")
    other = Category.objects.create(benchmark=study.benchmark, parent=own.parent, key="letter")
    moved = Instruction.objects.filter(pk=study.tasks.first().response_a.instruction_id)
    moved.update(category=other)
    assert data_hash(score_frame(kinds=EVERY_KIND, study=study)) != before
    moved.update(category=own)
    assert data_hash(score_frame(kinds=EVERY_KIND, study=study)) == before


def test_levels_of_one_value_are_labels_of_their_own(study):
    task = study.tasks.first()
    levels = [
        {"key": "a", "value": 1, "label": {}, "description": {}},
        {"key": "tie", "value": 0, "label": {}, "description": {}},
        {"key": "both_bad", "value": 0, "label": {}, "description": {}},
    ]
    criterion = Criterion.objects.create(
        rubric=task.answer_rubric, key="preference", position=9, role="preference", levels=levels
    )
    assignments = list(Assignment.objects.filter(task=task)) + list(
        Assignment.objects.exclude(task=task).order_by("pk")[:1]
    )
    for assignment, level in zip(assignments, levels, strict=True):
        Score.objects.create(assignment=assignment, criterion=criterion, value=level["value"], level=level["key"])
    frame = score_frame(kinds=EVERY_KIND, study=study).of_criterion("preference")
    assert sorted(frame.value.tolist()) == [0, 0, 1]
    assert sorted(frame.label_values.tolist()) == [0, 1, 3]


def test_nothing_to_read_is_said(study):
    with pytest.raises(NothingToRead, match="overall"):
        checklist_rows(score_frame(kinds=EVERY_KIND, study=study, people=False))
