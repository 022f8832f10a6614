"""load_table: other file formats, a column per criterion, correct answers, and what a load leaves out and names."""

import json

import pytest
from django.core.management import CommandError
from openpyxl import Workbook

from annotation.models import Criterion, Rater, Score, Study
from annotation.policies.policies import Policies
from generation.models import Instruction, Response
from tests.annotation.tables import RATINGS, everything, load, written

pytestmark = pytest.mark.django_db
PER_CRITERION = ("--study", "s", "--column", "item=item", "--column", "rater=rater", "--scale", "*=1:6")
LABELS = ("--study", "s", "--column", "item=item", "--column", "rater=rater", "--column", "value=safe")
TRUTH = ("--study", "s", "--column", "item=item", "--truth", "right")
PAIRS = ("--study", "p", *["--column", "item=item", "--column", "model_a=one", "--column", "model_b=two"])


@pytest.fixture
def table(tmp_path):
    return lambda text, name="r.csv": written(tmp_path, text, name)


def scores():
    rows = Score.objects.order_by("pk").values_list(
        "assignment__task__response_a__external_id", "assignment__rater__label", "criterion__key", "value"
    )
    return list(rows)


def test_a_row_per_annotation_has_a_column_per_criterion(table):
    path = table("item,rater,clear,full,note\nx,ann,3,4,good\nx,bob,2,,\n")
    output = load("ratings", path, *PER_CRITERION, "--criteria", "clear,complete=full", "--overall", "complete")
    assert output == "Study s: 3 created, 1 empty (answers).\nColumns that were not read: note.\n"
    assert scores() == [("x", "ann", "clear", 3), ("x", "ann", "complete", 4), ("x", "bob", "clear", 2)]
    assert Criterion.objects.get(key="complete").role == "overall"
    assert Rater.objects.count() == 2


def test_a_judges_verdict_has_a_column_per_criterion_too(table):
    path = table("item,clear,full\nx,3,4\n")
    options = ("--study", "s", "--column", "item=item", "--judge-name", "j", "--scale", "*=1:6")
    load("judgements", path, *options, "--criteria", "clear,full")
    assert scores() == [("x", "j", "clear", 3), ("x", "j", "full", 4)]


@pytest.mark.parametrize("name", ["r.json", "r.xlsx"])
def test_arrays_and_workbooks_load_like_other_tables(table, tmp_path, name):
    rows = [["x", "ann", 3], ["y", "bob", 4]]
    if name == "r.json":
        path = table(json.dumps([dict(zip(("item", "rater", "clear"), row, strict=True)) for row in rows]), name)
    else:
        book = Workbook()
        for row in [["item", "rater", "clear"], *rows]:
            book.active.append(row)
        book.save(path := tmp_path / name)
    assert load("ratings", path, *PER_CRITERION, "--criteria", "clear") == "Study s: 2 created (answers).\n"
    assert scores() == [("x", "ann", "clear", 3), ("y", "bob", "clear", 4)]


def test_a_second_answer_is_dropped_and_counted_where_that_is_asked(table):
    path = table("item,rater,criterion,value\nx,p0,a,1\nx,p0,a,2\nx,p1,a,3\n")
    assert load("ratings", path, *RATINGS, "--duplicates", "drop") == "Study s: 2 created, 1 dropped (answers).\n"
    assert scores() == [("x", "p0", "a", 1), ("x", "p1", "a", 3)]
    assert "2 already there, 1 dropped" in load("ratings", path, *RATINGS, "--duplicates", "drop")


def test_a_criterion_is_left_out_and_counted(table):
    path = table("item,rater,criterion,value\nx,p0,a,1\nx,p0,filler,99\n")
    output = load("ratings", path, *RATINGS, "--exclude", "filler")
    assert output == "Study s: 1 created, 1 excluded (answers).\n"
    assert scores() == [("x", "p0", "a", 1)]


def test_columns_that_were_not_read_are_in_the_json_too(table):
    path = table("item,rater,criterion,value,when,where\nx,p0,a,1,now,here\n")
    assert json.loads(load("ratings", path, *RATINGS, "--json"))["unread_columns"] == ["when", "where"]


def test_one_value_in_a_list_is_that_value_and_several_are_refused(table):
    row = {"item": ["x"], "rater": "p0", "criterion": "a", "value": [3]}
    load("ratings", table(json.dumps([row]), "r.json"), *RATINGS)
    assert scores() == [("x", "p0", "a", 3)]
    path = table(json.dumps([{**row, "item": ["y", "z"]}]), "two.json")
    with pytest.raises(
        CommandError, match=r"two\.json line 1: element 1: item holds a list of 2 where one value belongs"
    ):
        load("ratings", path, *RATINGS)


@pytest.fixture
def rated(table):
    load("ratings", table("item,rater,safe\nx,ann,yes\nx,bob,no\ny,ann,no\ny,bob,no\n"), *LABELS)
    return Study.objects.get(slug="s")


def test_correct_answers_are_stored_as_a_key_and_become_the_labels(table, rated):
    path = table("item,right\nx,yes\ny,no\n", "t.csv")
    output = load("ratings", path, *TRUTH)
    assert output.startswith("Study s: 2 created (answers).\n")
    assert "/studies/s/raters/" in output
    key = Rater.objects.get(kind="key")
    assert key.label == "correct answers"
    assert [row[:1] + row[2:] for row in scores() if row[1] == key.label] == [("x", "safe", 0), ("y", "safe", 1)]
    assert Policies.of(Study.objects.get(slug="s")).adjudicated_labels
    before = everything()
    assert "2 already there" in load("ratings", path, *TRUTH)
    assert everything() == before


def test_correct_answers_may_stand_beside_every_rating(table, rated):
    path = table("item,rater,safe,right\nx,ann,yes,yes\nx,bob,no,yes\ny,ann,no,no\n", "t.csv")
    output = load("ratings", path, *TRUTH)
    assert output.startswith(
        "Study s: 2 created, 1 already there (answers).\nColumns that were not read: rater, safe.\n"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "item,right\nx,yes\nx,no\n",
            "t.csv line 3: an earlier row gives another correct answer to the same question;",
        ),
        ("item,right\nz,yes\n", "t.csv line 2: no response 'z' in benchmark s;"),
        ("item,right\nx,perhaps\n", "t.csv line 2: 'perhaps' is off the scale of safe, yes, no;"),
    ],
)
def test_correct_answers_that_fit_nothing_are_refused(table, rated, content, message):
    before = everything()
    with pytest.raises(CommandError) as refused:
        load("ratings", table(content, "t.csv"), *TRUTH)
    assert str(refused.value).startswith(message)
    assert everything() == before


def test_correct_answers_without_a_study_are_refused(table):
    with pytest.raises(CommandError, match="There is no study 's' yet; load its ratings before"):
        load("ratings", table("item,right\nx,yes\n"), *TRUTH)
    assert not Instruction.objects.exists()


def test_correct_choices_of_pairs_follow_the_sides_of_the_task(table):
    load(
        "preferences",
        table("item,one,two,who,pick\nx,m,n,ann,A\n"),
        *PAIRS,
        "--column",
        "rater=who",
        "--column",
        "choice=pick",
    )
    load("preferences", table("item,one,two,right\nx,n,m,A\n", "t.csv"), *PAIRS, "--truth", "right")
    assert [row[1:] for row in scores()] == [("ann", "preference", 1), ("correct answers", "preference", -1)]


def test_a_correct_answer_to_an_item_of_two_models_needs_the_model(table):
    rows = "item,model,rater,criterion,value,right\nx,m,p0,a,1,2\nx,n,p0,a,2,2\n"
    load("ratings", table(rows), *RATINGS, "--column", "model=model")
    with pytest.raises(
        CommandError, match=r"line 2: benchmark s has several responses to 'x'; name the model of each row"
    ):
        load("ratings", table(rows), *TRUTH, "--column", "criterion=criterion")
    with pytest.raises(CommandError, match=r"no response 'y' in benchmark s; load its instructions"):
        load("ratings", table("item,criterion,right\ny,a,2\n", "u.csv"), *TRUTH, "--column", "criterion=criterion")
    load("ratings", table(rows), *TRUTH, "--column", "criterion=criterion", "--column", "model=model")
    assert [row[1:] for row in scores()][-2:] == [("correct answers", "a", 2), ("correct answers", "a", 2)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((*PER_CRITERION, "--criteria", "a,a"), "is not a list of different columns"),
        ((*PER_CRITERION, "--criteria", "a", "--column", "value=b"), "leave out --column value"),
        ((*PER_CRITERION, "--criteria", "a", "--wide", "b,c"), "--wide has several raters in a row"),
        ((*TRUTH, "--column", "rater=rater"), "--truth loads correct answers alone"),
        ((*TRUTH, "--scale", "*=1:6"), "Correct answers use the study's scales"),
        ((*RATINGS, "--exclude", "q"), "no criterion 'q' for --exclude; its criteria are a"),
    ],
)
def test_options_that_contradict_each_other_are_named(table, options, message):
    path = table("item,rater,criterion,value,right\nx,p0,a,1,2\n")
    with pytest.raises(CommandError, match=message):
        load("ratings", path, *options)
    assert not Response.objects.exists()


def test_a_scale_that_is_wider_than_the_values_is_remarked(table):
    rows = "".join(f"x{n},p0,a,{1 + n % 5}\n" for n in range(30))
    wide = load("ratings", table("item,rater,criterion,value\n" + rows), *RATINGS[:-1], "a=0:10")
    assert wide == (
        "Study s: 30 created (answers).\nThe scale of a is 0 to 10, but its values are 1 to 5; if the scale is narrower, "
        "load the table again with --scale.\n"
    )
    again = load("ratings", table("item,rater,criterion,value\n" + rows), "--study", "t", *RATINGS[2:-1], "a=1:5")
    assert again == "Study t: 30 created (answers).\n"
