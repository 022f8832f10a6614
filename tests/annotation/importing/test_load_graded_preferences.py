"""Choices that say how much better: by a label, by a column, and as a reward on the leaderboard."""

import pytest
from django.core.management import CommandError

from annotation.importing.preferences import PreferenceLoader
from annotation.importing.study import Destination
from annotation.models import Assignment, Criterion, Score
from annotation.rubrics.scales import Rules
from calibration.data.frames import ABOUT_RESPONSES
from calibration.data.scores import score_frame
from core.tables.bad_rows import BadRow, Place, refuse
from generation.importers.records import PreferenceRecord
from generation.models import Benchmark
from judging.leaderboards.filters import Filters
from judging.leaderboards.observations import metrics_in
from judging.leaderboards.table import judge_named, leaderboard
from tests.annotation.tables import everything, load, written
from tests.factories import make_workspace

pytestmark = pytest.mark.django_db
PAIRS = ("--study", "s", "--column", "item=item", "--column", "model_a=one", "--column", "model_b=two")
JUDGED = (*PAIRS, "--judge-name", "g", "--column", "choice=choice")
HEADER = "item,one,two,choice\n"


def mapped(*labels):
    return [word for label in labels for word in ("--map", label)]


def scores():
    return list(Score.objects.order_by("assignment__task__position").values_list("value", "level"))


def test_a_label_can_mean_a_choice_with_a_strength(tmp_path):
    path = written(tmp_path, HEADER + "u,m,n,A++\nv,m,n,A+\nw,m,n,B+\nx,m,n,B++\n")
    options = [*JUDGED, *mapped("A++=A:2", "A+=A:1", "B+=B:1", "B++=B:2")]
    assert load("preferences", path, *options) == "Study s: 4 created (answers).\n"
    assert scores() == [(2, "a_much"), (1, "a"), (-1, "b"), (-2, "b_much")]
    assert [level["key"] for level in Criterion.objects.get().levels] == ["a_much", "a", "tie", "b", "b_much"]
    before = everything()
    assert "4 already there" in load("preferences", path, *options)
    assert everything() == before


def test_a_column_can_hold_the_strength_and_both_may_be_bad(tmp_path):
    text = "item,one,two,choice,how\nu,m,n,A,2\nv,n,m,A,2\nw,m,n,tie,0\nx,m,n,B,1\ny,m,n,bad,\n"
    load("preferences", written(tmp_path, text), *JUDGED, "--column", "strength=how", *mapped("bad=both_bad"))
    assert scores() == [(2, "a_much"), (2, "a_much"), (0, "tie"), (-1, "b"), (0, "both_bad")]
    assert [level["key"] for level in Criterion.objects.get().levels] == [
        "a_much",
        "a",
        "tie",
        "b",
        "b_much",
        "both_bad",
    ]


def test_the_strength_turns_with_the_sides_of_a_known_pair(tmp_path):
    load("preferences", written(tmp_path, HEADER + "u,m,n,A\n"), *JUDGED)
    text = "item,one,two,choice,how\nu,n,m,A,2\n"
    load(
        "preferences",
        written(tmp_path, text),
        *PAIRS,
        "--judge-name",
        "h",
        "--column",
        "choice=choice",
        "--column",
        "strength=how",
    )
    # The study had the three levels; its first answer keeps its value among the five.
    assert scores() == [(1, "a"), (-2, "b_much")]


def test_another_strength_is_refused_or_unscored(tmp_path):
    path = written(tmp_path, "item,one,two,choice,how\nu,m,n,A,3\n")
    with pytest.raises(CommandError, match=r"line 2: the strength 3 is neither 1 \(slightly\) nor 2 \(much\)"):
        load("preferences", path, *JUDGED, "--column", "strength=how")
    load("preferences", path, *JUDGED, "--column", "strength=how", "--off-scale", "unscored")
    assert Assignment.objects.get().reason == "3 is no strength"
    with pytest.raises(CommandError, match=r"'A:3' is none of A, B, tie, both_bad, A:1, A:2, B:1, B:2"):
        load("preferences", path, *JUDGED, *mapped("A=A:3"))


def test_nought_and_one_can_say_what_was_shown_first(tmp_path):
    path = written(tmp_path, "item,one,two,choice,turned\nu,m,n,A,0\nv,m,n,A,1\n")
    options = (*JUDGED, "--column", "first=turned")
    with pytest.raises(CommandError, match=r"turned is '0'; say A or B, .* --map-first 0=A"):
        load("preferences", path, *options)
    load("preferences", path, *options, "--map-first", "0=A", "--map-first", "1=B")
    shown = Assignment.objects.order_by("task__position").values_list("shown_first", flat=True)
    assert list(shown) == ["a", "b"]
    with pytest.raises(CommandError, match="--map-first 0=C: say A or B"):
        load("preferences", path, *options, "--map-first", "0=C")


def test_graded_preferences_are_rewards(tmp_path):
    # m is much better (+1), slightly worse (-.5), even (0), and as the second named slightly better (+.5): 1 of 4.
    path = written(tmp_path, HEADER + "u,m,n,A++\nv,m,n,B+\nw,n,m,A=B\nx,n,m,B+\n")
    load("preferences", path, *JUDGED, *mapped("A++=A:2", "A=B=tie", "B+=B:1"))
    benchmark = Benchmark.objects.get()
    board = leaderboard(benchmark, judge_named(benchmark, "g"), "equal")
    assert board.metric.name == "reward"
    assert {row.model: row.average for row in board.models} == {"m": 25, "n": -25}


def record(item, choice, **changed):
    return PreferenceRecord(Place("f", 1), item, "m", "n", "g", True, choice, **changed)


@pytest.fixture
def loader():
    study, items = Destination(study="s", kind="pair").open(make_workspace())
    return PreferenceLoader(study, items, Rules(), both_bad=False)


def test_an_answer_that_is_left_out_is_kept_as_excluded(loader):
    records = [
        record("u", "A", strength=2, left_out="the response is empty"),
        record("v", "B", strength=1, reason="why"),
    ]
    counts = loader.load(records, refuse)
    assert str(counts) == "1 created, 1 left out of results"
    rows = Assignment.objects.order_by("task__position").values_list(
        "status", "reason", "scores__value", "scores__reason"
    )
    assert list(rows) == [("excluded", "the response is empty", 2, ""), ("submitted", "", -1, "why")]
    board = leaderboard(Benchmark.objects.get(), judge_named(Benchmark.objects.get(), "g"), "equal")
    assert {row.model: row.average for row in board.models} == {"m": -50, "n": 50}
    shown = Filters(excluded="shown")
    board = leaderboard(Benchmark.objects.get(), judge_named(Benchmark.objects.get(), "g"), "equal", filters=shown)
    assert {row.model: row.average for row in board.models} == {"m": 25, "n": -25}
    assert str(PreferenceLoader(loader.study, loader.items, Rules(), both_bad=False).load(records, refuse)) == (
        "2 already there"
    )


def test_a_bad_strength_in_a_record_is_refused(loader):
    with pytest.raises(BadRow, match="neither 1"):
        loader.load([record("u", "A", strength=5)], refuse)
    loader.load([record("u", "tie", strength=5)], refuse)
    frame = score_frame(kinds=ABOUT_RESPONSES, study=loader.study)
    assert [metric.name for metric in metrics_in(frame)] == ["reward", "wins"]
