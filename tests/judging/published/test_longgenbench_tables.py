"""LongGenBench's table 2 and figure 3 from the authors' counts, and from outputs judged in a workspace."""

import pytest

from annotation.importing.instruction_checks import store_check_sets
from annotation.models import Criterion, Rubric, Study
from annotation.studies.life_cycle import make_tasks
from core.tables.bad_rows import Place, refuse
from generation.importers.longgenbench import Longgenbench
from generation.importers.records import AggregateRecord, CheckSetRecord
from generation.library.aggregates import Aggregate, aggregates_of, store_aggregates
from generation.models import Benchmark, Instruction, LanguageModel, Response
from judging.leaderboards.sections import fulfilled_by_position
from judging.leaderboards.table import leaderboard
from judging.published.paper_table import Status
from judging.published.papers.longgenbench import TABLES
from tests.factories import make_answer, make_judge_rater, make_workspace
from tests.generation.importers.longgenbench_files import DIARY, make_clone
from tests.judging.loading import loaded_benchmark

pytestmark = pytest.mark.django_db
TABLE_2, FIGURE_3, SECTION_3_5 = TABLES


def judged(benchmark, model="Qwen2-7B-Instruct", judge="gpt-4o"):
    """Three of four weeks of the diary; everything that is there is fulfilled but for the third week."""
    writer = LanguageModel.objects.create(workspace=benchmark.workspace, name=model)
    diary = Instruction.objects.get(benchmark=benchmark, external_id="short-000")
    text = "\n".join(f"#*# Week {n}: Nora writes." for n in (1, 2, 3))
    Response.objects.create(instruction=diary, model=writer, text=text, words=900)
    study = Study.objects.create(
        workspace=benchmark.workspace, slug="diaries", kind="check", benchmark=benchmark, status="open"
    )
    make_tasks(study)
    rater = make_judge_rater(benchmark.workspace, judge)
    for task in study.tasks.filter(response_a__model=writer):
        criterion = task.answer_rubric.criteria.get()
        make_answer(task, rater, {criterion.key: float(task.part["number"] != 3)})
    return rater


def cells_of(table, workspace):
    return {(cell.row, cell.column): cell for cell in table.compute(workspace)}


def test_table_2_follows_from_the_authors_counts_but_for_three_misprints(shared_data):
    benchmark = loaded_benchmark("longgenbench", shared_data("longgenbench/sample_repo"))
    cells = cells_of(TABLE_2, benchmark.workspace)
    assert len(cells) == 100
    by_status = {status: [place for place, cell in cells.items() if cell.status == status] for status in Status}
    assert len(by_status[Status.EQUAL]) == 87
    assert by_status[Status.MISPRINT] == [
        ("GPT-4o-mini", "short_average"),
        ("GPT-4o", "short_completion"),
        ("GPT-4o", "short_words"),
    ]
    assert by_status[Status.DIFFERS] == []
    assert {cell.judges for cell in cells.values()} == {()}
    # The closed models have no long version: dashes.
    assert {(row, column.split("_")[0]) for row, column in by_status[Status.NOT_COMPUTABLE]} == {
        ("GPT-4o-mini", "long"),
        ("GPT-4o", "long"),
    }
    assert all((cell.status == Status.EQUAL) == (not cell.reason) for cell in cells.values())


def test_without_data_every_cell_says_what_to_load():
    cells = TABLE_2.compute(make_workspace())
    assert len(cells) == 100
    assert {cell.status for cell in cells} == {Status.NOT_COMPUTABLE}
    assert "Upload the authors' repository" in cells[0].reason


def test_the_correlations_with_ruler_are_printed_and_how_to_get_ones_own_is_said():
    cells = cells_of(SECTION_3_5, make_workspace())
    assert {place: cell.printed for place, cell in cells.items()} == {
        ("RULER, 16K", "Pearson"): 0.51,
        ("RULER, 32K", "Pearson"): 0.66,
    }
    assert {(cell.recomputed, cell.status) for cell in cells.values()} == {(None, Status.NOT_COMPUTABLE)}
    assert "for the tag short" in cells["RULER, 16K", "Pearson"].reason


def test_outputs_judged_here_are_counted_by_hand(tmp_path):
    benchmark = loaded_benchmark("longgenbench", make_clone(tmp_path))
    judged(benchmark)
    cells = cells_of(TABLE_2, benchmark.workspace)
    ours = {name: cells["Qwen2-7B", f"short_{name}"] for name in ("completion", "stic_1", "stic_2", "words", "average")}
    # Weeks 1, 2, 3 of 4 are there: 75 %. Five checks: week 2; weeks 3 and 4; weeks 1 and 3. Week 4 is not there, so
    # four are asked about; weeks 2 and 1 are fulfilled: 2 of 4, 2 of 5. Under 80 % complete, so it has no length.
    assert {name: cell.recomputed for name, cell in ours.items()} == {
        "completion": pytest.approx(75),
        "stic_1": pytest.approx(50),
        "stic_2": pytest.approx(40),
        "words": None,
        "average": pytest.approx(30),
    }
    assert ours["completion"].status == Status.DIFFERS
    assert "1 of 400 outputs" in ours["completion"].reason
    assert "gpt-4o" in ours["completion"].reason
    assert cells["Qwen2-7B", "long_completion"].status == Status.NOT_COMPUTABLE


def test_figure_3_has_ours_and_says_that_nothing_was_printed(tmp_path):
    benchmark = loaded_benchmark("longgenbench", make_clone(tmp_path))
    judge = judged(benchmark)
    cells = cells_of(FIGURE_3, benchmark.workspace)
    # Of four parts, week 1 is in the first tenth, 2 in the third, 3 in the sixth and 4 in the eighth: week 1 and week 2
    # are fulfilled, both checks of week 3 are not, and week 4 is not there.
    values = [cells["Qwen2-7B", f"short_{place}/10"].recomputed for place in range(1, 11)]
    rests_on = {(cell.recomputed is None, cell.judges) for cell in cells.values()}
    assert rests_on == {(True, ()), (False, (judge.name,))}
    assert values == [100.0, None, 100.0, None, None, 0.0, None, 0.0, None, None]
    assert {cell.status for cell in cells.values()} == {Status.NOT_COMPUTABLE}
    assert {cell.printed for cell in cells.values()} == {None}
    board = leaderboard(benchmark, judge, "equal")
    assert fulfilled_by_position(board.outputs) == {0: 100.0, 2: 100.0, 5: 0.0, 7: 0.0}


def test_counts_loaded_twice_are_there_once_and_a_changed_one_is_replaced(tmp_path):
    benchmark = loaded_benchmark("longgenbench", make_clone(tmp_path))
    record = AggregateRecord(Place("static.csv", 2), "Tiny-1B", "short", 40, 30, 12, 82.5, 811.5)
    assert str(store_aggregates(benchmark, [record])) == "1 already there"
    changed = AggregateRecord(Place("static.csv", 2), "Tiny-1B", "short", 40, 30, 13, 82.5, 811.5)
    assert str(store_aggregates(benchmark, [changed])) == "1 completed"
    assert aggregates_of(benchmark) == [
        Aggregate("Huge_16K", "short", 40, 40, 20, 100.0, None),
        Aggregate("Tiny-1B", "short", 40, 30, 13, 82.5, 811.5),
    ]


def test_checks_are_stored_once_for_each_instruction(tmp_path):
    benchmark = loaded_benchmark("longgenbench", make_clone(tmp_path))
    rubric = Rubric.objects.get(instruction__external_id="short-000")
    stored = list(rubric.criteria.values_list("questions__en", "subtasks"))
    assert [where["numbers"] for _question, where in stored] == [[2], [3, 4], [1, 3]]
    assert DIARY["checks_once"]["2"] in stored[0][0]
    again = [
        record
        for part in Longgenbench(tmp_path).parts()
        if part.name.endswith("short.json (checks)")
        for record in part.records(refuse)
    ]
    assert str(store_check_sets(benchmark, again)) == "2 already there"
    assert Criterion.objects.filter(role="check").count() == 3 + 2 + 3
    problems = []
    other = [CheckSetRecord(Place("x.json", 7), "short-999", again[0].checks)]
    assert store_check_sets(benchmark, other, problems.append).skipped == 1
    assert "x.json line 7: benchmark longgenbench has no instruction 'short-999'" in str(problems[0])


def test_shares_of_the_authors_counts_by_hand():
    benchmark = Benchmark.objects.create(workspace=make_workspace(), slug="longgenbench")
    place = Place("static.csv", 2)
    store_aggregates(
        benchmark,
        [
            AggregateRecord(place, "film-7b", "short", 40, 30, 12, 82.5, 811.5),
            AggregateRecord(place, "FILM-7B", "long", 40, 0, 0, 10.0, None),
        ],
    )
    cells = cells_of(TABLE_2, benchmark.workspace)
    # 12 of 30 present, 12 of 40 asked, and 82.5 percent times 12/40.
    found = [
        cells["FILM-7B", f"short_{name}"].recomputed for name in ("completion", "stic_1", "stic_2", "words", "average")
    ]
    assert found == pytest.approx([82.5, 40, 30, 811.5, 24.75])
    assert "not from outputs" in cells["FILM-7B", "short_stic_1"].reason
    # Nothing is present: no share of what is present, and no length.
    assert cells["FILM-7B", "long_stic_1"].status == cells["FILM-7B", "long_words"].status == Status.NOT_COMPUTABLE
    assert cells["FILM-7B", "long_average"].recomputed == 0
