"""The real tables load with the right counts, twice."""

import csv
import gzip
from collections import Counter
from io import StringIO

import pytest
from django.core.management import call_command

from annotation.models import Assignment, Criterion, Rater, Score, Study, Task
from generation.models import Instruction, LanguageModel, Response
from tests.annotation.tables import load
from tests.conftest import shared_path

pytestmark = pytest.mark.django_db
RECIPES = (
    "--study",
    "recipes",
    "--column",
    "item=item_id",
    "--column",
    "rater=annotator",
    "--column",
    "criterion=criterion",
    "--column",
    "value=score",
    "--column",
    "model=system",
    "--column",
    "order=order",
    "--column",
    "seconds=time_s",
    "--scale",
    "*=1:6",
    "--overall",
    "overall",
)
HANNA = (
    "--study",
    "hanna",
    "--column",
    "item=item_id",
    "--column",
    "criterion=criterion",
    "--column",
    "value=score",
    "--column",
    "model=system",
    "--scale",
    "*=1:5",
)


def test_recipes():
    path = shared_path("recipes.csv.gz")
    assert load("ratings", path, *RECIPES) == (
        "Study recipes: 6,336 created (answers).\nColumns that were not read: list, filler.\n"
    )
    assert (Response.objects.count(), Assignment.objects.count(), Rater.objects.count()) == (52, 1056, 88)
    assert Assignment.objects.filter(order__isnull=True).count() == 0
    assert Assignment.objects.filter(active_seconds__gt=0).exists()
    assert Criterion.objects.get(role="overall").key == "overall"
    assert Criterion.objects.filter(role="item").count() == 5
    assert "6,336 already there" in load("ratings", path, *RECIPES)


def test_recipes_without_the_fillers():
    load("ratings", shared_path("recipes.csv.gz"), *RECIPES, "--where", "filler=0")
    assert (Response.objects.count(), Assignment.objects.count()) == (50, 880)


def test_pandalm():
    path = shared_path("pandalm_wide.csv")
    arguments = (
        "--study",
        "pandalm",
        "--column",
        "item=item_id",
        "--column",
        "model_a=model1",
        "--column",
        "model_b=model2",
        "--wide",
        "annotator1,annotator2,annotator3,judge_gpt35,judge_pandalm7b",
        "--judge-prefix",
        "judge_",
        "--map",
        "1=A",
        "--map",
        "2=B",
        "--map",
        "0=tie",
    )
    assert load("preferences", path, *arguments) == "Study pandalm: 4,970 created, 25 unscored (answers).\n"
    assert (Task.objects.count(), Study.objects.get().kind) == (999, "pair")
    assert dict(Rater.objects.values_list("label", "kind")) == {
        "annotator1": "person",
        "annotator2": "person",
        "annotator3": "person",
        "gpt35": "judge",
        "pandalm7b": "judge",
    }
    assert Assignment.objects.filter(status="unscored", rater__label="gpt35").count() == 25
    with path.open(encoding="utf-8", newline="") as file:
        expected = Counter(row["annotator1"] for row in csv.DictReader(file))
    scores = Counter(Score.objects.filter(assignment__rater__label="annotator1").values_list("value", flat=True))
    assert scores == {1: expected["1"], -1: expected["2"], 0: expected["0"]}
    assert "Nothing has changed." in load("preferences", path, *arguments)


def test_hanna_people_and_judges_share_their_stories():
    load(
        "ratings",
        shared_path("hanna_human.csv.gz"),
        *HANNA,
        "--column",
        "rater=annotator_slot",
        "--slots",
        "--overall",
        "Engagement",
    )
    assert (Response.objects.count(), Assignment.objects.count(), Score.objects.count()) == (1056, 3168, 19008)
    assert set(Rater.objects.values_list("kind", flat=True)) == {"slot"}
    judges = (*HANNA, "--judge", "judge", "--column", "variant=prompt", "--off-scale", "unscored")
    output = load("ratings", shared_path("hanna_judges.csv.gz"), *judges, "--where", "judge=Beluga-13B")
    # 25,344 = 1,056 stories x 4 prompts x 6 criteria; the data hold 173 values under 1 for this judge.
    assert output == "Study hanna: 25,171 created, 173 unscored (answers).\n"
    assert Response.objects.count() == 1056
    assert Rater.objects.filter(kind="judge").count() == 4
    assert Rater.objects.filter(label="Beluga-13B (prompt 1)").exists()


def test_dices():
    crowd = (
        "--study",
        "dices",
        "--column",
        "item=item_id",
        "--column",
        "rater=annotator_pos",
        "--column",
        "value=label",
        "--slots",
    )
    assert load("ratings", shared_path("dices350_crowd.csv.gz"), *crowd) == "Study dices: 43,050 created (answers).\n"
    assert (Instruction.objects.count(), Rater.objects.count()) == (350, 123)
    criterion = Criterion.objects.get()
    assert {level["key"] for level in criterion.levels} == {"No", "Yes", "Unsure"}
    with gzip.open(shared_path("dices350_crowd.csv.gz"), "rt", encoding="utf-8") as file:
        expected = Counter(row["label"] for row in csv.DictReader(file))
    assert Counter(Score.objects.values_list("level", flat=True)) == expected


def test_hellobench_judgements():
    call_command("load_library", stdout=StringIO())
    arguments = (
        "--study",
        "hellobench-12",
        "--benchmark",
        "hellobench",
        "--create-items",
        "--judge-name",
        "gpt-4o",
        "--column",
        "item=id",
        "--column",
        "model=model",
        "--column",
        "category=subcategory",
        "--column",
        "item_index=item_index",
        "--column",
        "value=score",
    )
    path = shared_path("hellobench/judgements.csv.gz")
    assert load("judgements", path, *arguments) == (
        "Study hellobench-12: 46,321 created (answers).\nColumns that were not read: category.\n"
    )
    assert (Assignment.objects.count(), LanguageModel.objects.count()) == (7683, 12)
    assert not Assignment.objects.exclude(status="submitted").exists()
    assert not Instruction.objects.filter(category__parent=None).exists()
    assert set(Response.objects.values_list("run__experiment", flat=True)) == {"main"}
    with gzip.open(path, "rt", encoding="utf-8") as file:
        expected = {
            (row["model"], row["id"], int(row["item_index"])): float(row["score"]) for row in csv.DictReader(file)
        }
    stored = Score.objects.values_list(
        "assignment__task__response_a__model__name",
        "assignment__task__response_a__instruction__external_id",
        "criterion__position",
        "value",
    )
    assert {(model, item, position): value for model, item, position, value in stored.iterator()} == expected
    assert "Nothing has changed." in load("judgements", path, *arguments)
