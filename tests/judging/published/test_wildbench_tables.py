"""WildBench's tables 2 and 3 and figure 4 from a clone's own files, by hand, and from the figures that are printed."""

import csv
import gzip

import pytest

from judging.published.paper_table import Status
from judging.published.papers.wildbench import TABLES, WildbenchNumbers
from tests.conftest import shared_path
from tests.factories import make_workspace
from tests.generation.importers.wildbench_files import (
    CUT_PAIR,
    GPT4T,
    HAIKU,
    LLAMA,
    pair_row,
    pairs_of,
    put,
    score_row,
    scores_of,
    task_rows,
)
from tests.judging.loading import loaded_benchmark

pytestmark = pytest.mark.django_db
TABLE_2, TABLE_3, FIGURE_4 = TABLES
SONNET = "claude-3-sonnet-20240229"


def by_place(cells):
    return {(cell.row, cell.column): cell for cell in cells}


def pairs(root, model, baseline, *outcomes, **changed):
    """Comparisons from the model's side: 2, 1, 0, -1, -2."""
    winner = {1: model, 0: "tie", -1: baseline}
    rows = [
        pair_row(f"t{n}", winner[(grade > 0) - (grade < 0)], abs(grade), model, baseline, **changed)
        for n, grade in enumerate(outcomes, start=1)
    ]
    put(root, pairs_of(model, baseline), rows)


@pytest.fixture
def clone(tmp_path):
    pairs(tmp_path, SONNET, GPT4T, -2, -2, -1, 0)
    pairs(tmp_path, SONNET, HAIKU, 2, 1, 1, 0)
    pairs(tmp_path, SONNET, LLAMA, 2, 2, 2, 2, texts=("a" * 900, "b" * 100))
    pairs(tmp_path, HAIKU, GPT4T, -2, -1, -1, 0)
    pairs(tmp_path, GPT4T, HAIKU, 2, 2, 2, 1)
    pairs(tmp_path, HAIKU, LLAMA, 1, 1, 1, 1, texts=("a" * 900, "b" * 100))
    put(tmp_path, scores_of(SONNET), [score_row(f"t{n}", score) for n, score in enumerate((6, 7, 8, 9), start=1)])
    return loaded_benchmark("wildbench", tmp_path, tasks=put(tmp_path, "tasks.json", task_rows()))


def test_table_2_by_hand(clone):
    cells = by_place(TABLE_2.compute(clone.workspace))

    def ours(model):
        return [cell.recomputed for (row, column), cell in cells.items() if row == model and column.startswith("WB-")]

    # -1, -1, -.5, 0; +1, +.5, +.5, 0; four times +1. The mean of the scores is 7.5.
    assert ours("Claude 3 Sonnet") == pytest.approx([(-62.5 + 50 + 100) / 3, -62.5, 50, 100, 50])
    # Haiku lost to gpt-4-turbo by -1, -.5, -.5, 0 in its own file; in gpt-4-turbo's file by more. In its mean, itself is 0.
    assert ours("Claude 3 Haiku") == [pytest.approx((-50 + 0 + 50) / 3), -50, None, 50, None]
    # gpt-4-turbo was compared with haiku only.
    assert ours("GPT-4-Turbo-0409") == [None, None, 87.5, None, None]
    sonnet = cells["Claude 3 Sonnet", "WB-Score"]
    assert (sonnet.printed, sonnet.status) == (55.5, Status.DIFFERS)
    assert sonnet.reason == "Only 4 of the paper's 1024 tasks are judged here."
    itself = cells["GPT-4-Turbo-0409", "WB-Reward against GPT-4-Turbo-0409"]
    assert (itself.printed, itself.status, itself.judges) == (0, Status.NOT_COMPUTABLE, ())
    assert "not compared with itself" in itself.reason
    assert (
        len(sonnet.judges) == 1
        and cells["Claude 3 Haiku", "WB-Reward against GPT-4-Turbo-0409"].judges == sonnet.judges
    )
    lacking = cells["Gemma-2B-it", "WB-Reward against Claude 3 Haiku"]
    assert (lacking.status, lacking.judges) == (Status.NOT_COMPUTABLE, ())
    assert "pairwise files" in lacking.reason
    outside = cells["GPT-4o-0513", "Arena Elo (hard, English)"]
    assert (outside.printed, outside.status, outside.digits) == (1293, Status.NOT_COMPUTABLE, 0)
    assert ("GPT-4o-0513", "Arena-Hard") not in cells


def test_the_length_margin_turns_slight_wins_of_longer_responses_into_ties(clone):
    ours = WildbenchNumbers(clone.workspace)
    column = "reward_llama_2_70b"
    # 800 characters more: four slight wins are ties at K = 500 and stay wins at K = 800; much better is never a tie.
    assert [ours.rewards(margin)[column].value["Claude 3 Haiku"] for margin in (None, 800, 500)] == [50, 50, 0]
    assert ours.rewards(500)[column].value["Claude 3 Sonnet"] == 100


def test_comparisons_of_cut_responses_count_in_the_table_and_not_elsewhere(tmp_path):
    rows = [pair_row("t1", SONNET, 2, SONNET, HAIKU), pair_row("t2", HAIKU, 2, SONNET, HAIKU, CUT_PAIR)]
    put(tmp_path, pairs_of(SONNET, HAIKU), rows)
    workspace = loaded_benchmark("wildbench", tmp_path).workspace
    cells = by_place(TABLE_2.compute(workspace))
    assert cells["Claude 3 Sonnet", "WB-Reward against Claude 3 Haiku"].recomputed == 0


def test_table_3_follows_from_table_2_as_printed_where_nothing_is_loaded():
    cells = TABLE_3.compute(make_workspace())
    places = by_place(cells)
    equal = [cell for cell in cells if cell.status == Status.EQUAL]
    # Elo with itself, three outside scores and WB-Score, four each; the mix four, the three baselines three each.
    assert (len(cells), len(equal)) == (49, 33)
    assert {cell.status for cell in cells} == {Status.EQUAL, Status.NOT_COMPUTABLE}
    assert places["WB-Score (table 2 as printed)", "Kendall, all"].recomputed == pytest.approx(0.846, abs=5e-4)
    lacking = {cell.row for cell in cells if cell.status == Status.NOT_COMPUTABLE}
    assert lacking == {
        "Average length",
        "WB-Reward, mean of three, K = 500",
        "WB-Reward against GPT-4-Turbo-0409, K = 500",
        "WB-Reward against Claude 3 Haiku, K = 500",
        "WB-Reward against Llama-2-70B-chat, K = 500",
    }


def test_figure_4_has_our_numbers_and_no_printed_ones(clone):
    cells = by_place(FIGURE_4.compute(clone.workspace))
    assert len(cells) == 30
    assert {cell.status for cell in cells.values()} == {Status.NOT_COMPUTABLE}
    assert all(cell.recomputed is None for cell in cells.values())


def test_figure_4_counts_a_task_in_each_of_its_groups(tmp_path):
    rows = [score_row(f"t{n}", score) for n, score in enumerate((6, 5, 9, 4), start=1)]
    put(tmp_path, scores_of("claude-3-opus-20240229"), rows)
    workspace = loaded_benchmark("wildbench", tmp_path, tasks=put(tmp_path, "tasks.json", task_rows())).workspace
    cells = by_place(FIGURE_4.compute(workspace))
    # t2 and t3 are coding: ((5 + 9)/2 - 5) x 20.
    assert cells["Claude 3 Opus", "Coding"].recomputed == 40
    assert cells["Claude 3 Opus", "Creative tasks"].recomputed == 80
    assert "nothing to compare" in cells["Claude 3 Opus", "Coding"].reason


def test_the_scores_of_two_models_are_equal(tmp_path):
    rows = {}
    with gzip.open(shared_path("wildbench/score.csv.gz"), "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            rows.setdefault(row["model"], []).append(score_row(row["session_id"], row["score"].removesuffix(".0"), "x"))
    for model, own in rows.items():
        put(tmp_path, scores_of(model), own)
    cells = TABLE_2.compute(loaded_benchmark("wildbench", tmp_path).workspace)
    equal = {(cell.row, cell.column): cell.recomputed for cell in cells if cell.status == Status.EQUAL}
    assert equal == {
        ("Gemma-2B-it", "WB-Score"): pytest.approx(6.2109375),
        ("GPT-3.5-turbo-0125", "WB-Score"): pytest.approx(42.109375),
    }
