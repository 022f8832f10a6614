"""Each instruction's own checks come from a table, and a study of checks asks them part by part."""

import csv

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Criterion, Rubric, Study
from annotation.studies.selection import planned_tasks
from generation.models import Instruction, Response
from tests.factories import make_checklist_study

pytestmark = pytest.mark.django_db
DIARY = "\n".join(f"#*# Week {n}: It rains." for n in range(1, 53))


@pytest.fixture
def benchmark():
    benchmark = make_checklist_study(instructions=2, models=1, slug="diary").benchmark
    Response.objects.update(text=DIARY)
    return benchmark


def table(tmp_path, *rows, header="instruction,question,question_zh,numbers,mark,kind,asked"):
    file = tmp_path / "checks.csv"
    file.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return file


def test_checks_are_loaded_once_and_asked_of_their_parts(benchmark, tmp_path, capsys):
    file = table(
        tmp_path,
        'diary-0,Does she move?,她搬家了吗？,"19, 25",Week,,52',
        "diary-0,Does she run?,,13-52/13,Week,,52",
        "diary-1,Is it a diary?,,,,,",
    )
    call_command("load_checks", benchmark.slug, file)
    call_command("load_checks", benchmark.slug, file)
    assert Rubric.objects.filter(benchmark=benchmark, instruction__isnull=False).count() == 2
    first = Rubric.objects.get(instruction__external_id="diary-0")
    assert [one.subtasks["kind"] for one in first.criteria.all()] == ["single", "periodic"]
    study = Study.objects.create(workspace=benchmark.workspace, slug="checks", kind="check", benchmark=benchmark)
    planned = planned_tasks(study)
    assert [one.part and one.part["number"] for one in planned.tasks] == [19, 25, 13, 26, 39, 52, None]
    assert planned.absent == 0
    # The checklist of the category is still the instruction's rubric for everything else.
    assert Rubric.objects.nearest_to(Instruction.objects.get(external_id="diary-0")).instruction is None


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("diary-9,Does she run?,,3,Week,,", "no instruction 'diary-9'"),
        ("diary-0,,,3,Week,,", "the question is empty"),
        ("diary-0,Does she run?,,third,Week,,", "third is not a part number"),
        ("diary-0,Does she run?,,3,,,", "the parts have no name"),
        ("diary-0,Does she run?,,3,Week,often,", "'often' is not a kind"),
        ("diary-0,Does she run?,,3,Week,,many", "'many' is not a number"),
    ],
)
def test_a_row_that_cannot_be_taken_is_named_and_nothing_kept(benchmark, tmp_path, row, said):
    file = table(tmp_path, "diary-1,Does she run?,,3,Week,,", row)
    with pytest.raises(CommandError, match=r"checks\.csv line 3") as refused:
        call_command("load_checks", benchmark.slug, file)
    assert said in str(refused.value)
    assert not Criterion.objects.filter(role="check").exists()


def test_an_unknown_benchmark_is_named(benchmark, tmp_path):
    with pytest.raises(CommandError, match="no benchmark 'nothing'"):
        call_command("load_checks", "nothing", table(tmp_path))


def test_the_published_numbers_make_checks(benchmark, tmp_path, shared_data):
    rows = []
    with shared_data("longgenbench/items.csv").open(encoding="utf-8") as file:
        for place, item in enumerate(csv.DictReader(file)):
            if place == 2:
                break
            for column in ("once_ids", "range_ids", "periodic_ids"):
                rows.append(f"diary-{place},Is {column} there?,,{item[column]},{item['type']},,{item['number']}")
    call_command("load_checks", benchmark.slug, table(tmp_path, *rows))
    kinds = (
        Criterion.objects.filter(role="check").order_by("rubric", "position").values_list("subtasks__kind", flat=True)
    )
    assert list(kinds) == ["single", "range", "periodic"] * 2
