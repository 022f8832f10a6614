"""A task that counts in the group of each of its tags, and the weighted overall score."""

import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from judging.leaderboards.filters import Filters
from judging.leaderboards.table import judge_named, leaderboard
from judging.leaderboards.task_groups import UnknownGroup, read_weights, task_groups
from tests.factories import make_user
from tests.generation.importers.wildbench_files import JUDGE, put, score_row, scores_of, task_rows
from tests.judging.loading import loaded_benchmark
from tests.markup import markup

pytestmark = pytest.mark.django_db
# Groups by tag: t1 math, reasoning; t2 coding; t3 creative (two tags), coding; t4 advice, math.
SCORES = {"m": (6, 5, 9, 4), "n": (5, 5, 5, 5)}
EXPECTED = {
    # (mean - 5) x 20 of the tasks of each group.
    "info_seeking": (4 - 5) * 20,
    "math_and_data": ((6 + 4) / 2 - 5) * 20,
    "reasoning_and_planning": (6 - 5) * 20,
    "creative_tasks": (9 - 5) * 20,
    "coding": ((5 + 9) / 2 - 5) * 20,
}
WEIGHTS = {
    "info_seeking": 0.75,
    "math_and_data": 1,
    "reasoning_and_planning": 1.25,
    "creative_tasks": 0.5,
    "coding": 1.25,
}


@pytest.fixture
def benchmark(tmp_path):
    for model, scores in SCORES.items():
        rows = [score_row(f"t{n}", score) for n, score in enumerate(scores, start=1)]
        put(tmp_path, scores_of(model), rows)
    return loaded_benchmark("wildbench", tmp_path, tasks=put(tmp_path, "tasks.json", task_rows()))


def board(benchmark, **filters):
    return leaderboard(benchmark, judge_named(benchmark, JUDGE), "equal", filters=Filters(**filters))


def row_of(board, model="m"):
    return next(row for row in board.models if row.model == model)


def test_a_task_counts_once_in_each_of_its_groups(benchmark):
    plain, groups = board(benchmark), board(benchmark, groups="tags")
    assert row_of(plain).average == 20
    assert {key: cell.score for key, cell in row_of(groups).categories.items()} == pytest.approx(EXPECTED)
    assert {key: cell.n for key, cell in row_of(groups).categories.items()} == {
        "info_seeking": 1,
        "math_and_data": 2,
        "reasoning_and_planning": 1,
        "creative_tasks": 1,
        "coding": 2,
    }


def test_the_overall_score_is_weighted_as_the_authors_weight_it(benchmark):
    # (.75 x -20 + 1 x 0 + 1.25 x 20 + .5 x 80 + 1.25 x 40) / 4.75 = 100/4.75
    assert sum(WEIGHTS[key] * score for key, score in EXPECTED.items()) == 100
    found = board(benchmark, groups="tags")
    assert row_of(found).average == pytest.approx(100 / 4.75)
    even = board(benchmark, groups="tags", group_weights=",".join(f"{key}=1" for key in WEIGHTS))
    assert row_of(even).average == pytest.approx(sum(EXPECTED.values()) / 5)
    # Every group is left only without t2, where coding is 80: 150/4.75.
    ends = found.intervals.averages[found.pks["m"]]
    assert (ends.low, ends.high) == pytest.approx((150 / 4.75, 150 / 4.75))


def test_a_group_that_no_task_has_is_no_column(benchmark):
    benchmark.instructions.update(tags=["Math", "A tag of one's own"])
    found = board(benchmark, groups="tags")
    # Each has its own category beside the tag.
    assert set(found.categories.values()) == set(EXPECTED) - {"reasoning_and_planning"}
    benchmark.instructions.update(category=None)
    assert list(board(benchmark, groups="tags").categories.values()) == ["math_and_data"]
    benchmark.instructions.update(tags=[])
    assert task_groups(benchmark).spread(board(benchmark).observations)[1].size == 0


@pytest.mark.parametrize("written", ["coding", "coding=x", "=1", "coding=0", "coding=-1", "coding=nan", "coding=1e9"])
def test_a_weight_that_is_none_is_refused(written):
    with pytest.raises(UnknownGroup, match="is no weight of a group"):
        read_weights(written)


def test_the_command_and_the_page_show_the_groups(benchmark, client):
    call_command("leaderboard", "wildbench", judge=JUDGE, groups=True, json=True, stdout=(out := io.StringIO()))
    (first, _second) = json.loads(out.getvalue())["models"]
    assert first["average"] == pytest.approx(100 / 4.75)
    with pytest.raises(CommandError, match="Benchmark wildbench has no group cooking; its groups are info_seeking"):
        call_command("leaderboard", "wildbench", judge=JUDGE, group_weight=["cooking=2"])
    client.force_login(make_user("lead", benchmark.workspace))
    address = reverse("judging:leaderboard", args=[benchmark])
    html = markup(client.get(address, {"groups": "tags"}))
    assert (
        'value="info_seeking=0.75,math_and_data=1,reasoning_and_planning=1.25,creative_tasks=0.5,coding=1.25"' in html
    )
    assert "21.1" in html
    # Four responses each, although they fill seven cells.
    assert html.count('<td class="num">4</td>') == 2
    refused = markup(client.get(address, {"groups": "tags", "group_weights": "cooking=2"}))
    assert "The weights of the groups cannot be read." in refused
    assert "has no group cooking" in refused
    assert client.get(reverse("judging:compare_models", args=[benchmark]), {"groups": "tags"}).status_code == 200
