"""Choices between two responses: positive is the task's response A, whatever was named or shown first."""

import pytest

from annotation.models import Assignment, Criterion, Rater, Score, Study, Task
from generation.models import Response
from tests.annotation.tables import everything, load, written

pytestmark = pytest.mark.django_db
PAIRS = ("--study", "s", "--column", "item=item", "--column", "model_a=one", "--column", "model_b=two")
TIDY = (*PAIRS, "--column", "rater=rater", "--column", "choice=choice")
HEADER = "item,one,two,rater,choice\n"


@pytest.fixture
def table(tmp_path):
    return lambda text: written(tmp_path, text)


def test_a_choice_becomes_a_score_for_the_first_response(table):
    path = table(HEADER + "x,m,n,p0,A\nx,m,n,p1,b\nx,m,n,p2,tie\n")
    assert load("preferences", path, *TIDY) == "Study s: 3 created (answers).\n"
    task = Task.objects.get()
    assert (task.kind, task.response_a.model.name, task.response_b.model.name) == ("pair", "m", "n")
    assert dict(Score.objects.values_list("assignment__rater__label", "value")) == {"p0": 1, "p1": -1, "p2": 0}
    assert set(Score.objects.values_list("level", flat=True)) == {"a", "b", "tie"}
    criterion = Criterion.objects.get()
    assert (criterion.key, criterion.role) == ("preference", "preference")
    assert [level["key"] for level in criterion.levels] == ["a", "tie", "b"]
    assert Study.objects.get().kind == "pair"
    assert Response.objects.count() == 2


def test_the_order_in_which_models_are_named_does_not_matter(table):
    path = table("item,one,two,rater,choice,first\nx,m,n,p0,A,A\nx,n,m,p1,A,A\nx,n,m,p2,B,m\n")
    load("preferences", path, *TIDY, "--column", "first=first")
    assert Task.objects.count() == 1
    answers = Assignment.objects.values_list("rater__label", "scores__value", "scores__level", "shown_first")
    # p1 prefers n, which is the task's B and was shown first; p2 prefers m, the task's A, which was shown first.
    assert set(answers) == {("p0", 1, "a", "a"), ("p1", -1, "b", "b"), ("p2", 1, "a", "a")}


def test_labels_of_the_file_and_wide_columns_with_judges(table):
    path = table("item,one,two,ann,bob,gpt\nx,m,n,1,2,0\ny,m,n,1,,\nz,m,n,3,1,oops\n")
    arguments = (
        "preferences",
        path,
        *PAIRS,
        "--wide",
        "ann,bob,gpt",
        "--judge",
        "gpt",
        "--map",
        "1=A",
        "--map",
        "2=B",
        "--map",
        "0=tie",
        "--map",
        "3=both_bad",
        "--off-scale",
        "unscored",
    )
    assert load(*arguments) == "Study s: 6 created, 2 unscored, 1 empty (answers).\n"
    assert dict(Rater.objects.values_list("label", "kind")) == {"ann": "person", "bob": "person", "gpt": "judge"}
    unscored = Assignment.objects.filter(status="unscored").order_by("task__position")
    assert list(unscored.values_list("reason", flat=True)) == ["no usable answer", "'oops' is no choice"]
    both_bad = Score.objects.get(level="both_bad")
    assert both_bad.value == 0
    assert [level["key"] for level in Criterion.objects.get().levels] == ["a", "tie", "b", "both_bad"]
    before = everything()
    assert load(*arguments) == "Study s: 8 already there, 1 empty (answers).\nNothing has changed.\n"
    assert everything() == before


def test_pairs_of_one_instruction_share_their_responses(table):
    path = table("item,one,two,rater,choice,prompt\n1,m,n,p0,A,x\n2,n,o,p0,B,x\n")
    load("preferences", path, *TIDY, "--column", "instruction=prompt")
    assert Task.objects.count() == 2
    assert Response.objects.count() == 3
    assert set(Response.objects.values_list("instruction__external_id", flat=True)) == {"x"}
