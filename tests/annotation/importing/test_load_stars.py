"""A benchmark with a rubric for each kind of question: which of them a rating is by is seen from its criterion."""

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Assignment, Rubric, Score
from generation.models import Benchmark
from tests.annotation.tables import everything, load, written
from tests.factories import make_rubric, make_workspace

pytestmark = pytest.mark.django_db
STARS = (
    "--study",
    "stars",
    "--benchmark",
    "llmeval2",
    "--create-items",
    "--column",
    "item=question",
    "--column",
    "model=model",
    "--column",
    "category=subject",
    "--column",
    "criterion=criterion",
    "--wide",
    "people,gpt",
    "--judge",
    "gpt",
)
SCALES = ("--scale", "Correctness=1,3", "--scale", "Accuracy=1,3,5", "--scale", "*=1:3")
TABLE = """subject,question,model,criterion,people,gpt
Law,law_1,m1,Correctness,3,1
Law,law_1,m1,Explanation Correctness,1,2
Law,law_2,m1,Accuracy,5,3
Law,law_2,m1,fluency,2,3
Law,law_2,m1,INFORMATIVENESS,1,1
Law,law_2,m1,logicality,3,2
"""


@pytest.fixture
def library():
    call_command("load_library")


@pytest.mark.parametrize("scales", [(), SCALES])
def test_stars_are_loaded_beside_the_librarys_two_rubrics(library, tmp_path, scales):
    path = written(tmp_path, TABLE)
    rubrics = Rubric.objects.count()
    assert load("ratings", path, *STARS, *scales) == "Study stars: 12 created (answers).\n"
    assert Rubric.objects.count() == rubrics
    given = Assignment.objects.filter(rater__kind="person")
    assert set(given.values_list("task__response_a__external_id", "task__answer_rubric__key")) == {
        ("law_1", "llmeval2-objective"),
        ("law_2", "llmeval2-subjective"),
    }
    scores = Score.objects.filter(assignment__in=given)
    assert dict(scores.values_list("criterion__key", "value")) == {
        "correctness": 3,
        "explanation_correctness": 1,
        "accuracy": 5,
        "fluency": 2,
        "informativeness": 1,
        "logicality": 3,
    }
    assert set(scores.values_list("assignment__task__response_a__instruction__category__key", flat=True)) == {"law"}
    before = everything()
    assert "12 already there" in load("ratings", path, *STARS, *scales)
    assert everything() == before


def refusal(tmp_path, table, *more):
    with pytest.raises(CommandError) as refused:
        load("ratings", written(tmp_path, table), *STARS, *more)
    return str(refused.value)


def test_a_criterion_of_neither_rubric_is_refused_with_those_of_both(library, tmp_path):
    said = refusal(tmp_path, TABLE.replace("fluency", "flow"))
    assert said == (
        "r.csv line 5: no rubric for this item has a criterion 'flow'; there are correctness, explanation_correctness of "
        "rubric llmeval2-objective; accuracy, fluency, informativeness, logicality of rubric llmeval2-subjective."
    )


def test_a_value_off_the_rubrics_scale_is_refused_and_a_scale_of_nothing_too(library, tmp_path):
    assert "'2' is off the scale of correctness, 1, 3" in refusal(
        tmp_path, TABLE.replace("Correctness,3,1", "Correctness,2,1")
    )
    assert "no criterion 'Flow' for --scale" in refusal(tmp_path, TABLE, "--scale", "Flow=1:3")


def test_the_newest_version_of_each_rubric_counts(tmp_path):
    workspace = make_workspace()
    benchmark = Benchmark.objects.create(workspace=workspace, slug="llmeval2")
    for version in (1, 2):
        make_rubric(workspace, 1, benchmark=benchmark, key="closed", version=version)
    make_rubric(workspace, 1, benchmark=benchmark, key="open", version=3)
    Rubric.objects.get(key="closed", version=2).criteria.filter(role="item").update(key="right")
    table = "question,model,criterion,people,gpt\nq1,m1,right,1,0\nq2,m1,item0,0,1\n"
    load("ratings", written(tmp_path, table), *STARS, drop="category")
    assert set(Assignment.objects.values_list("task__response_a__external_id", "task__answer_rubric__key")) == {
        ("q1", "closed"),
        ("q2", "open"),
    }
