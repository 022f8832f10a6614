"""load_library: the program's own data become rows, once."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Guideline, Rubric
from calibration.fits.published import load_published_weights
from calibration.models import CategoryFit, Fit, FittedWeight
from core.errors import UserError
from generation.models import Benchmark, Category, Instruction
from tests.annotation.tables import everything
from tests.factories import make_workspace

pytestmark = pytest.mark.django_db
FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"


def load(*arguments):
    output = StringIO()
    call_command("load_library", *arguments, stdout=output)
    return output.getvalue()


def test_categories_rubrics_guideline_and_weights():
    load()
    assert set(Benchmark.objects.values_list("slug", flat=True)) == {
        "hellobench",
        "llmeval1",
        "llmeval2",
        "href",
        "wildbench",
        "longgenbench",
    }
    hellobench = Category.objects.filter(benchmark__slug="hellobench")
    assert (hellobench.filter(parent=None).count(), hellobench.exclude(parent=None).count()) == (5, 38)
    assert hellobench.get(key="technology").aliases == ["Tech"]
    rubric = Rubric.objects.get(category__key="travel")
    assert (rubric.key, rubric.version, rubric.criteria.count()) == ("hellobench-travel", 1, 8)
    overall = rubric.criteria.get(role="overall")
    assert (overall.ends, overall.step, len(overall.anchors)) == ((0, 10), 1, 6)
    guideline = Guideline.objects.get()
    assert (guideline.key, set(guideline.texts)) == ("checklist", {"en", "zh-hans"})


def test_the_nearest_rubric_of_an_instruction_is_its_categorys():
    load()
    category = Category.objects.get(key="travel")
    instruction = Instruction.objects.create(benchmark=category.benchmark, external_id="q", category=category)
    assert Rubric.objects.nearest_to(instruction).category == category


def test_the_published_weights_are_those_of_the_table():
    load()
    fit = Fit.objects.get()
    assert (fit.published_name, fit.kind, fit.study) == ("hellobench-table-17", "published", None)
    table = json.loads((FIXTURES / "published" / "hellobench.json").read_text(encoding="utf-8"))["table_17"]
    assert fit.categories.count() == len(table) == 38
    for part in CategoryFit.objects.filter(fit=fit):
        weights = list(part.weights.values_list("weight", flat=True))
        assert sum(weights) == pytest.approx(100)
        assert weights == pytest.approx(table[part.key], abs=0.02)
    first = FittedWeight.objects.get(category_fit__key="travel", position=0)
    assert first.criterion_key == "on_topic"


def test_a_second_load_changes_nothing_and_says_so():
    load()
    before = everything()
    assert "created" not in load()
    assert everything() == before


def test_a_changed_rubric_becomes_the_next_version():
    load()
    rubric = Rubric.objects.get(key="hellobench-travel")
    rubric.criteria.filter(position=0).update(questions={"en": "Something else?"})
    load()
    versions = Rubric.objects.filter(key="hellobench-travel")
    assert list(versions.values_list("version", flat=True)) == [1, 2]
    assert versions[1].criteria.count() == 8


def test_a_workspace_must_be_one_there_is():
    make_workspace("one")
    make_workspace("two")
    with pytest.raises(CommandError, match="Say which workspace"):
        load()
    load("--workspace", "two")
    assert set(Benchmark.objects.values_list("workspace__slug", flat=True)) == {"two"}


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"moon": [1.0]}, "here: benchmark b has no category 'moon'; load its taxonomy."),
        ({"a": [1.0, -1.0]}, "here: the weights of 'a' must be numbers of at least 0; check the file."),
        ({"a": [float("nan")]}, "here: the weights of 'a' must be numbers of at least 0; check the file."),
        ({"a": []}, "here: the weights of 'a' must be numbers of at least 0; check the file."),
        ({"a": [0.0, 0.0]}, "here: the weights of 'a' must be numbers of at least 0; check the file."),
    ],
)
def test_weights_that_make_no_sense(weights, message):
    benchmark = Benchmark.objects.create(workspace=make_workspace(), slug="b")
    Category.objects.create(benchmark=benchmark, key="a", aliases=["A"])
    with pytest.raises(UserError) as refused:
        load_published_weights(benchmark=benchmark, name="n", source="here", weights=weights)
    assert str(refused.value) == message
    assert not Fit.objects.exists()


def test_weights_are_scaled_and_named_by_alias():
    benchmark = Benchmark.objects.create(workspace=make_workspace(), slug="b")
    category = Category.objects.create(benchmark=benchmark, key="a", aliases=["A"])
    fit, made = load_published_weights(benchmark=benchmark, name="n", source="here", weights={"A": [1, 3]})
    assert made
    assert list(fit.categories.get().weights.values_list("criterion_key", "weight")) == [("item0", 25), ("item1", 75)]
    assert fit.categories.get().category == category
    assert load_published_weights(benchmark=benchmark, name="n", source="here", weights={"a": [2, 6]}) == (fit, False)
