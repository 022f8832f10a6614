"""Whatever is wrong with a table is said in one sentence, and the database is as it was before."""

import gzip

import pytest
from django.core.management import CommandError

from annotation.models import Study
from generation.models import Benchmark, Instruction, LanguageModel
from tests.annotation.tables import RATINGS, everything, load, written
from tests.factories import make_rubric, make_workspace

pytestmark = pytest.mark.django_db
HEADER = "item,rater,criterion,value\n"
GOOD = HEADER + "x,p0,a,1\n"
PAIRS = (
    "--study",
    "s",
    "--column",
    "item=item",
    "--column",
    "model_a=one",
    "--column",
    "model_b=two",
    "--column",
    "rater=rater",
    "--column",
    "choice=choice",
)
PAIR_HEADER = "item,one,two,rater,choice\n"


@pytest.fixture
def refused(tmp_path):
    """Loads what must be refused; the message, after the database has been compared."""

    def load_and_compare(kind, content, *arguments, name="r.csv", **options):
        path = written(tmp_path, content, name)
        before = everything()
        with pytest.raises(CommandError) as error:
            load(kind, path, *arguments, **options)
        assert everything() == before
        message = str(error.value)
        assert "\n" not in message
        assert message.endswith(".")
        return message

    return load_and_compare


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "r.csv: the file is empty; check that the file was written or copied completely."),
        (HEADER, "r.csv: the file has no rows below its header; check that the file was written or copied completely."),
        (
            "item,rater,value\nx,p0,1\n",
            "r.csv line 1: there is no column 'criterion'; the columns are item, rater, value.",
        ),
        (
            GOOD + "y,p0,a,7\n",
            "r.csv line 3: '7' is off the scale of a, 1 to 6; correct it, or say --off-scale keep or "
            "--off-scale unscored.",
        ),
        (
            GOOD + "y,p0,a,good\n",
            "r.csv line 3: 'good' is off the scale of a, 1 to 6; correct it, or say --off-scale keep "
            "or --off-scale unscored.",
        ),
        (
            GOOD + "y,p0,a,nan1\n",
            "r.csv line 3: 'nan1' is off the scale of a, 1 to 6; correct it, or say --off-scale keep "
            "or --off-scale unscored.",
        ),
        (
            GOOD + "x,p0,a,1\n",
            "r.csv line 3: p0 has two answers to the same question; remove one of the rows or use --duplicates repeat.",
        ),
        (GOOD.encode() + b"y,p\xe9,a,1\n", "r.csv line 3: byte 4 of the line is not UTF-8; save the file as UTF-8."),
        (GOOD + ",p0,a,1\n", "r.csv line 3: item is empty; every row needs its item."),
        (GOOD + "y,,a,1\n", "r.csv line 3: rater is empty; every row needs its rater."),
        (GOOD + "y,p0,,1\n", "r.csv line 3: criterion is empty; every row needs its criterion."),
        (
            GOOD + "y" * 201 + ",p0,a,1\n",
            "r.csv line 3: the name '" + "y" * 30 + "'... is too long; keep names to 200 characters.",
        ),
        (
            GOOD + "y," + "p" * 201 + ",a,1\n",
            "r.csv line 3: the rater's name is too long; keep names to 200 characters.",
        ),
        (
            GOOD + "y,p0," + "a" * 101 + ",1\n",
            "r.csv line 3: the criterion '" + "a" * 30 + "'... is too long; keep to 100 characters.",
        ),
    ],
)
def test_bad_ratings(refused, content, message):
    assert refused("ratings", content, *RATINGS) == message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            GOOD.replace(",", ";"),
            "r.csv line 1: there is no column 'item'; the columns are separated by ';'; "
            "save the file with commas, or with tabs as .tsv.",
        ),
        (
            GOOD.replace(",", "\t"),
            "r.csv line 1: there is no column 'item'; the columns are separated by a tab; "
            "save the file with commas, or with tabs as .tsv.",
        ),
        (
            "\n\n" + GOOD,
            "r.csv line 1: there is no column 'item'; the line is empty; write the names of the columns in the first line.",
        ),
        (
            GOOD.replace("\n", "\r"),
            "r.csv line 1: its lines end in a single carriage return; save the file with the line ends of Unix or Windows.",
        ),
        (
            GOOD + "x,p1,a," + "1" * 5_000_001 + "\n",
            "r.csv line 3: a value is longer than 5,000,000 characters; "
            "check the quotation marks in and above this line, or remove the column.",
        ),
    ],
)
def test_tables_that_are_parted_otherwise(refused, content, message):
    assert refused("ratings", content, *RATINGS) == message


def test_scales_are_not_for_preferences(refused):
    message = refused("preferences", PAIR_HEADER + "x,m,n,p0,A\n", *PAIRS, "--scale", "*=1:6")
    assert message == "Preferences have neither --scale nor --overall; leave them out."


def test_a_truncated_gzip(refused):
    whole = gzip.compress((HEADER + "".join(f"x{n},p0,a,1\n" for n in range(9000))).encode())
    message = refused("ratings", whole[:-2000], *RATINGS, name="r.csv.gz")
    assert message.startswith("r.csv.gz line ")
    assert message.endswith(": the gzip file ends early; copy or download it again.")


def test_numbers_without_a_scale(refused):
    message = refused("ratings", GOOD, *RATINGS[:-2])
    assert message == (
        "r.csv line 2: a has numbers and no scale; give one with --scale a=1:6, or --scale '*=1:6' for all."
    )


def test_odd_numbers_of_order_and_seconds(refused):
    content = "item,rater,criterion,value,n,t\nx,p0,a,1,1.5,3\n"
    columns = ("--column", "order=n", "--column", "seconds=t")
    assert refused("ratings", content, *RATINGS, *columns) == (
        "r.csv line 2: n is 1.5; give a whole number, or leave it empty."
    )
    assert refused("ratings", content.replace("1.5,3", "1,-3"), *RATINGS, *columns) == (
        "r.csv line 2: t is '-3'; give a number from 0 up, or leave it empty."
    )
    assert refused("ratings", content.replace("1.5,3", f"{2**31},3"), *RATINGS, *columns) == (
        "r.csv line 2: n is 2147483648; give a whole number, or leave it empty."
    )
    assert refused("ratings", content.replace("1.5,3", "1,1e300"), *RATINGS, *columns) == (
        "r.csv line 2: t is '1e300'; give a number from 0 up, or leave it empty."
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--column", "colour=a"),
            "ratings have no column called 'colour'; the names are item, rater, criterion, value, "
            "instruction, model, category, variant, order, seconds, reason.",
        ),
        (("--column", "model"), "--column 'model' is not NAME=COLUMN."),
        (
            ("--column", "model=system"),
            "r.csv line 1: there is no column 'system'; the columns are item, rater, criterion, value.",
        ),
        (
            ("--where", "kind=x"),
            "r.csv line 1: there is no column 'kind'; the columns are item, rater, criterion, value.",
        ),
        (("--where", "item=nothing"), "No row of r.csv matches --where; check its values."),
        (("--scale", "a=6:1"), "'6:1' is not a range; write it as 1:6, or 1:6:1 with its step."),
        (("--scale", "a=0:1e308"), "'0:1e308' is not a range; write it as 1:6, or 1:6:1 with its step."),
        (("--scale", "b=1:6"), "r.csv has no criterion 'b' for --scale; its criteria are a."),
        (("--column", "item=rater"), "--column says twice which column is the item; say it once."),
        (("--map", "1=A"), "--map says what the choices of preferences mean; these are ratings, leave it out."),
        (("--experiment", "e" * 51), "--experiment is too long; keep it to 50 characters."),
        (("--name", "n" * 201), "The study's title is too long; keep it to 200 characters."),
        (("--scale", "a=1"), "'1' is not a scale; write a range as 1:6 or at least two levels as 1,3,5."),
        (("--scale", "1:6"), "--scale '1:6' names no criterion; write KEY=1:6, or *=1:6 for all."),
        (("--judge", "item,rater"), "Only --wide tables have several --judge columns; name one."),
        (
            ("--wide", "rater", "--judge", "item"),
            "The judge column 'item' is not among the columns of --wide; add it there.",
        ),
        (("--create-items",), "--create-items needs --benchmark; without one, items are made anyway."),
        (
            ("--benchmark", "nowhere"),
            "There is no benchmark 'nowhere'; load it first with load_library or load_benchmark, "
            "or leave --benchmark out (there are: none).",
        ),
        (("--study", "my study"), "The study name 'my study' must be letters, digits, - and _, 100 at most."),
        (("--workspace", "moon"), "There is no workspace 'moon'; there are: none."),
    ],
)
def test_options_that_make_no_sense(refused, arguments, message):
    assert refused("ratings", GOOD, *RATINGS, *arguments) == message


def test_a_row_that_names_neither_judge_nor_rater(refused):
    content = "item,judge,criterion,value\nx,,a,1\n"
    assert refused("ratings", content, *RATINGS, "--judge", "judge", drop="rater") == (
        "r.csv line 2: judge is empty; name the judge there, or the rater's column."
    )


def test_columns_that_must_be_named(refused):
    assert refused("ratings", GOOD, *RATINGS, drop="item") == "Say which column is the item with --column item=COLUMN."
    assert (
        refused("ratings", GOOD, *RATINGS, drop="rater") == "Say which column is the rater with --column rater=COLUMN."
    )
    judgements = ("--study", "s", "--column", "item=item", "--column", "value=value")
    assert "the judge with" in refused("judgements", GOOD, *judgements)
    assert "the criterion with" in refused("judgements", GOOD, *judgements, "--judge-name", "gpt")


def test_unknown_items_of_a_named_benchmark(refused):
    workspace = make_workspace()
    benchmark = Benchmark.objects.create(workspace=workspace, slug="bench")
    Instruction.objects.create(benchmark=benchmark, external_id="q1")
    LanguageModel.objects.create(workspace=workspace, name="m1")
    content = "item,model,rater,criterion,value\nq9,m1,p0,a,1\n"
    named = (*RATINGS, "--benchmark", "bench", "--column", "model=model")
    assert refused("ratings", content, *named) == (
        "r.csv line 2: no instruction 'q9' in benchmark bench; load its instructions and responses first."
    )
    assert refused("ratings", content.replace("q9", "q1"), *named) == (
        "r.csv line 2: no response of 'm1' to 'q1' in benchmark bench; load its instructions and responses first."
    )
    assert refused("ratings", content, *RATINGS, "--benchmark", "bench") == (
        "r.csv line 2: no response 'q9' in benchmark bench; load its instructions and responses first."
    )
    make_rubric(workspace, 2, benchmark=benchmark, key="checklist")
    create = (*named, "--create-items")
    assert refused("ratings", content, *create) == (
        "r.csv line 2: rubric checklist has no criterion 'a'; its criteria are item0, item1, overall."
    )
    sized = content.replace("criterion", "kind").replace(",a,", ",moon,")
    assert refused("ratings", sized, *create, "--column", "category=kind", drop="criterion") == (
        "r.csv line 2: benchmark bench has no category 'moon'; name one of its categories, or leave the column out."
    )
    judged = content.replace("criterion", "item_index").replace(",a,", ",2,")
    assert refused(
        "judgements",
        judged,
        *create,
        "--judge-name",
        "gpt",
        "--column",
        "item_index=item_index",
        drop=("rater", "criterion"),
    ) == ("r.csv line 2: rubric checklist has no item 2; its 2 items count from 0.")


def test_a_study_that_says_otherwise(refused, tmp_path):
    load("ratings", written(tmp_path, GOOD, "first.csv"), *RATINGS)
    assert refused("ratings", GOOD.replace(",1", ",2"), *RATINGS) == (
        "r.csv line 2: p0 has already answered 1 here; load it into a study of its own."
    )
    assert refused("ratings", GOOD.replace(",1", ",9"), *RATINGS, "--off-scale", "unscored") == (
        "r.csv line 2: p0 has already answered 1 here; load it into a study of its own."
    )
    assert refused("ratings", GOOD, *RATINGS[:-2], "--scale", "a=1:7") == (
        "r.csv line 2: a has the scale 1 to 6 in this study; give that scale or none."
    )
    assert refused("preferences", PAIR_HEADER + "x,m,n,p0,A\n", *PAIRS) == (
        "Study 's' is of kind stars, these are pair; name another."
    )
    Benchmark.objects.create(workspace=Study.objects.get().workspace, slug="bench")
    assert refused("ratings", GOOD, *RATINGS, "--benchmark", "bench") == (
        "Study 's' belongs to benchmark s; name that one."
    )
    assert refused("ratings", GOOD, *RATINGS, "--study", "bench") == (
        "There is a benchmark 'bench' already; say --benchmark bench if these are its items, or give the study "
        "another name."
    )


def test_skipping_every_row_is_no_load(refused):
    message = refused("ratings", HEADER + "x,p0,a,9\n", *RATINGS, "--on-error", "skip")
    assert message.startswith("No row can be loaded. The first problem: r.csv line 2: '9' is off the scale of a")


@pytest.mark.parametrize(
    ("row", "arguments", "message"),
    [
        ("x,m,m,p0,A", (), "r.csv line 2: both sides are 'm'; a pair needs two different models."),
        (
            "x,m,n,p0,1",
            (),
            "r.csv line 2: the choice '1' is none of A, B, tie, both_bad; say what it means with --map 1=A, "
            "or say --off-scale unscored.",
        ),
        ("x,m,n,p0,1", ("--map", "1=left"), "--map 1=left: 'left' is none of A, B, tie, both_bad."),
        ("x,m,,p0,A", (), "r.csv line 2: two is empty; every row needs its model_b."),
        (
            "x,m,n,p0,A\ny,n,m,p0,A\nx,n,m,p0,B",
            (),
            "r.csv line 4: p0 has two answers to the same question; remove one of the rows or use --duplicates repeat.",
        ),
        ("x,m,n,p0,A", ("--column", "first=rater"), "r.csv line 2: rater is 'p0'; say A or B, or the model's name."),
    ],
)
def test_bad_preferences(refused, row, arguments, message):
    assert refused("preferences", PAIR_HEADER + row + "\n", *PAIRS, *arguments) == message


def test_a_table_of_empty_values_is_refused(refused):
    said = refused("ratings", HEADER + "x,p0,a,\ny,p0,a,\n", *RATINGS)
    assert said == "No row of r.csv has a value; check which column holds it."


def test_an_overall_criterion_that_is_not_in_the_table_is_refused(refused):
    said = refused("ratings", GOOD, *RATINGS, "--overall", "overal")
    assert said == "r.csv has no criterion 'overal' to be the overall score; its criteria are a."


def test_an_item_does_not_become_the_overall_score_later(refused, tmp_path):
    load("ratings", written(tmp_path, GOOD), *RATINGS)
    said = refused("ratings", GOOD, *RATINGS, "--overall", "a")
    assert said == "a is an item in this study, not its overall score; load the table into a new study."
