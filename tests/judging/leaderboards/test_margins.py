"""Rewards over the length margin: equal to the boards at each margin, and shown with a slider."""

import pytest
from django.urls import reverse

from annotation.models import Assignment
from judging.leaderboards.filters import Filters
from judging.leaderboards.margins import MARGINS, rewards_by_margin
from judging.leaderboards.table import judge_named, leaderboard
from tests.factories import make_user
from tests.generation.importers.wildbench_files import GPT4T, HAIKU, JUDGE, pair_row, pairs_of, put
from tests.judging.loading import loaded_benchmark
from tests.markup import markup

pytestmark = pytest.mark.django_db


@pytest.fixture
def benchmark(tmp_path):
    def pairs(model, baseline, *rows):
        found = [
            pair_row(
                f"t{n}", {1: model, 0: "tie", -1: baseline}[side], extent, model, baseline, ("a" * own, "b" * other)
            )
            for n, (side, extent, own, other) in enumerate(rows, start=1)
        ]
        put(tmp_path, pairs_of(model, baseline), found)

    pairs("m", HAIKU, (1, 1, 700, 100), (1, 2, 700, 100), (-1, 1, 100, 1300), (1, 1, 100, 700))
    pairs("n", HAIKU, (0, 0, 10, 100), (-1, 1, 90, 100), (1, 1, 1400, 1300), (1, 1, 10, 700))
    pairs("m", GPT4T, (-1, 2, 700, 3900), (-1, 1, 700, 3900))
    return loaded_benchmark("wildbench", tmp_path)


def board(benchmark, **filters):
    return leaderboard(benchmark, judge_named(benchmark, JUDGE), "equal", filters=Filters(**filters))


@pytest.mark.parametrize("against", [(), (HAIKU,), (HAIKU, GPT4T)])
def test_each_margin_gives_what_its_own_board_does(benchmark, against):
    rewards = rewards_by_margin(board(benchmark, against=against))
    for place, margin in enumerate(MARGINS):
        own = {row.model: row.average for row in board(benchmark, against=against, margin=margin).models}
        assert {name: values[place] for name, values in rewards.items()} == pytest.approx(own, nan_ok=True)


def test_by_hand(benchmark):
    rewards = rewards_by_margin(board(benchmark, against=(HAIKU,)), (None, 1200, 600, 599, 50, 0))
    # m: +.5 (600 longer), +1, -.5 (haiku 1200 longer), +.5 (shorter). Under 1200 the loss is a tie, under 600 the win.
    assert rewards["m"] == (37.5, 37.5, 50, 37.5, 37.5, 37.5)
    # n: 0, -.5 (haiku 10 longer), +.5 (100 longer), +.5 (shorter). Under 100 the win is a tie, under 10 the loss.
    assert rewards["n"] == (12.5, 12.5, 12.5, 12.5, 0, 12.5)


def test_the_page_has_a_slider_whose_right_end_is_no_margin(benchmark, client):
    client.force_login(make_user("lead", benchmark.workspace))
    address = reverse("judging:leaderboard", args=[benchmark])
    html = markup(client.get(address))
    assert 'type="range"' in html
    assert '<output for="margin">∞</output>' in html
    assert "Reward by length margin" in html
    chosen = client.get(address, {"margin": "700", "margin_off": "3001"})
    assert chosen.context["asked"].margin == 700
    assert '<output for="margin">700</output>' in markup(chosen)
    assert client.get(address, {"margin": "3001", "margin_off": "3001"}).context["asked"].margin is None
    assert client.get(address, {"margin": "4000"}).context["choices"].margin_off == 4001
    text = client.get(address, {"file": "margins.csv", "margin": "700"}).content.decode()
    assert "K = 700" in text.splitlines()[0]
    assert "Reward by length margin" not in markup(client.get(address, {"measure": "wins"}))
    Assignment.objects.update(status="unscored", reason="prose")
    assert client.get(address).status_code == 200
