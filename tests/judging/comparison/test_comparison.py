"""A judge against people, by hand on a small study, and by command."""

import csv
import io
import json
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from scipy.stats import kendalltau, pearsonr, spearmanr

from annotation.models import Assignment, Study, Task
from judging.comparison.judge_against_people import (
    NothingShared,
    compare,
    judge_in,
    judge_scores,
    judges_in,
    weighting_for,
)
from judging.leaderboards.table import UnknownJudge
from judging.leaderboards.weighting import EQUAL, Weighting
from tests.calibration.result_page_checks import text_of
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater, make_user
from tests.markup import markup

pytestmark = pytest.mark.django_db
EQUALLY = Weighting(EQUAL)
JUDGED = [(1, 1, 0.5), (0, 0.5, 0.25), (0.75, 0.75, 0.75), (0, 0, 0), (0.5, 1, 0), (0.25, 0.25, 1), (1, 1, 1)]
OVERALLS = {"ann": [9, 3, 7, 1, 4, 6, 8, 5], "bob": [7, 3, 8, 0, 5, 4, 10, 5], "cyd": [8, 4, 7, 2, 5, 5, 9, 5]}


def items(values):
    return {f"item{n}": value for n, value in enumerate(values)}


@pytest.fixture
def study():
    """Eight responses; three people rated all, the judge seven of them and failed on the eighth."""
    study = make_checklist_study(instructions=4, models=2)
    tasks = list(study.tasks.order_by("pk"))
    for label, overalls in OVERALLS.items():
        rater = make_rater(study, label=label)
        for task, overall in zip(tasks, overalls, strict=True):
            make_answer(task, rater, {**items([1, 0.5, 0]), "overall": overall})
    judge = make_judge_rater(study.workspace)
    for task, values in zip(tasks, JUDGED, strict=False):
        make_answer(task, judge, items(values))
    Assignment.objects.create(task=tasks[7], rater=judge, status="unscored", reason="prose: x")
    return study


def test_points_and_means_by_hand(study):
    found = compare(study, judge_in(study, "gpt-4o"), EQUALLY)
    assert (found.n, found.unscored, found.people) == (7, 1, 3)
    points = np.array([100 * np.mean(values) for values in JUDGED])
    means = np.array([np.mean([OVERALLS[who][n] for who in OVERALLS]) for n in range(7)])
    assert [point.judge for point in found.points] == pytest.approx(points, abs=1e-4)
    assert [point.people for point in found.points] == pytest.approx(means, abs=1e-4)
    assert {point.raters for point in found.points} == {3}
    for name, function in (("spearman", spearmanr), ("kendall", kendalltau), ("pearson", pearsonr)):
        expected = function(points, means)
        assert getattr(found.correlation, name).value == pytest.approx(expected.statistic)
        assert getattr(found.correlation, name).p is None
    assert found.correlation.spearman.interval_kind == "leave_one_out_range"
    assert found.correlation.clusters == 4


def test_agreement_on_items_by_hand(study):
    # Everybody said 1, .5, 0 of every response. The judge said item0 = 1 on 2 of 7, item1 = .5 on 1, item2 = 0 on 2.
    found = {item.key: item for item in compare(study, judge_in(study, "gpt-4o"), EQUALLY).items}
    assert [found[f"item{n}"].judge.value for n in range(3)] == pytest.approx([2 / 7, 1 / 7, 2 / 7])
    assert {item.people.value for item in found.values()} == {1.0}
    assert {item.n for item in found.values()} == {7}


def test_verdicts_given_in_another_study_count_and_those_given_here_go_first(study):
    judge = make_judge_rater(study.workspace, "elsewhere")
    other = Study.objects.create(workspace=study.workspace, slug="all", kind="checklist", benchmark=study.benchmark)
    tasks = list(study.tasks.order_by("pk"))
    for task in tasks[:4]:
        twin = Task.objects.create(
            study=other, kind="single", key=task.key, response_a=task.response_a, answer_rubric=task.answer_rubric
        )
        make_answer(twin, judge, items([0.25, 0.25, 0.25]))
    make_answer(tasks[0], judge, items([1, 1, 1]))
    assert judge in judges_in(study)
    frame = judge_scores(study, judge)
    assert sorted(set(frame.response.tolist())) == sorted(task.response_a_id for task in tasks[:4])
    assert set(frame.value[frame.response == tasks[0].response_a_id]) == {1.0}
    assert set(frame.value[frame.response != tasks[0].response_a_id]) == {0.25}
    found = compare(study, judge, EQUALLY)
    assert [point.judge for point in found.points] == [100, 25, 25, 25]


def test_a_judge_that_never_varies_has_no_correlation_and_says_why(study):
    judge = make_judge_rater(study.workspace, "flat")
    for task in study.tasks.all():
        make_answer(task, judge, items([0.5, 0.5, 0.5]))
    found = compare(study, judge, EQUALLY)
    assert found.correlation is None
    assert found.correlation_why == "ConstantScores"


def test_a_new_answer_makes_a_new_comparison(study):
    judge = judge_in(study, "gpt-4o")
    before = compare(study, judge, EQUALLY)
    assert compare(study, judge, EQUALLY) == before
    make_answer(study.tasks.order_by("pk")[0], make_rater(study, label="dan"), {**items([1, 1, 1]), "overall": 0})
    after = compare(study, judge, EQUALLY)
    assert after.points[0].raters == 4
    assert after.points[0].people == pytest.approx(24 / 4)


def test_nothing_in_common_and_no_such_judge_are_named(study):
    other = make_checklist_study(slug="other")
    judge = make_judge_rater(study.workspace, "only-there")
    make_answer(other.tasks.first(), judge, items([1, 1, 1]))
    assert judges_in(other) == [judge]
    with pytest.raises(NothingShared):
        judge_scores(study, judge)
    with pytest.raises(UnknownJudge, match="gpt-4o"):
        judge_in(study, "only-there")


def test_the_command_prints_tables_or_json(study, capsys):
    call_command("compare_judge", study.slug, judge="gpt-4o", json=True)
    printed = json.loads(capsys.readouterr().out)
    assert printed["study"] == study.slug
    assert printed["n"] == 7
    call_command("compare_judge", study.slug, judge="gpt-4o")
    shown = capsys.readouterr().out
    assert "Spearman" in shown
    assert "0.286" in shown
    with pytest.raises(CommandError, match="gpt-4o"):
        call_command("compare_judge", study.slug, judge="nobody")


def test_without_a_fit_the_weights_are_equal(study):
    assert weighting_for(study).name == EQUAL


RATED = [
    [9, 8, 9, 8, 9],
    [8, 9, 8, 9, 9],
    [9, 9, 8, 9, 8],
    [7, 6, 9, 8, 3],
    [3, 8, 9, 6, 7],
    [6, 3, 7, 9, 8],
    [2, 7, 4, 1, 9],
    [9, 1, 4, 7, 2],
    [1, 2, 9, 4, 7],
    [8, 6, 7, 7, 6],
    [6, 7, 8, 6, 7],
    [7, 6, 6, 8, 7],
]
"""Four means, each of three responses: which of three equal ones is larger is decided by rounding alone."""


def ranked_by_definition(x, y):
    """Spearman's rho and Kendall's tau-b of fractions by their definitions, with ties decided exactly."""
    places = range(len(x))
    ranks = [
        [Fraction(sum(b < a for b in values)) + Fraction(sum(b == a for b in values) + 1, 2) for a in values]
        for values in (x, y)
    ]
    off = [[rank - sum(own, Fraction(0)) / len(own) for rank in own] for own in ranks]
    crossed = sum(a * b for a, b in zip(*off, strict=True))
    rho = float(crossed) / sqrt(sum(a * a for a in off[0]) * sum(b * b for b in off[1]))
    pairs = [(i, j) for i in places for j in places if i < j]
    net = sum(((x[i] > x[j]) - (x[i] < x[j])) * ((y[i] > y[j]) - (y[i] < y[j])) for i, j in pairs)
    return rho, net / sqrt(sum(x[i] != x[j] for i, j in pairs) * sum(y[i] != y[j] for i, j in pairs))


def test_equal_means_of_people_are_tied_and_the_page_equals_its_own_file(client):
    study = make_checklist_study(instructions=6, models=2)
    judge = make_judge_rater(study.workspace)
    people = [make_rater(study, label=f"person {n}") for n in range(5)]
    answers = [[0.25 * (n % 5), 0.25 * (n % 3), 0.5 * (n % 2)] for n in (9, 1, 4, 7, 3, 8, 2, 5, 6, 9, 1, 4)]
    for task, overalls, values in zip(study.tasks.order_by("pk"), RATED, answers, strict=True):
        for person, overall in zip(people, overalls, strict=True):
            make_answer(task, person, {**items([1, 0.5, 0]), "overall": overall})
        make_answer(task, judge, items(values))
    # The sums as floats: 12 responses with four means come to more than four numbers.
    shares = [sum(score / 10 for score in overalls) for overalls in RATED]
    assert len(set(shares)) > 4
    rho, tau = ranked_by_definition(
        [sum(map(Fraction, values), Fraction(0)) for values in answers],
        [sum(map(Fraction, overalls), Fraction(0)) for overalls in RATED],
    )
    found = compare(study, judge, EQUALLY)
    assert found.correlation.spearman.value == pytest.approx(rho, abs=1e-10)
    assert found.correlation.kendall.value == pytest.approx(tau, abs=1e-10)

    client.force_login(make_user("lead"))
    address = reverse("judging:judges", args=[study])
    file = client.get(f"{address}?file=points-1.csv").content.decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(file)))
    x, y = ([float(row[name]) for row in rows] for name in ("Judge's points", "People's mean"))
    assert len(set(y)) == 4
    page = text_of(markup(client.get(address)))
    for function, key, name in (
        (spearmanr, "spearman", "Spearman's ρ"),
        (kendalltau, "kendall", "Kendall's τ-b"),
        (pearsonr, "pearson", "Pearson's r"),
    ):
        recomputed = float(function(x, y).statistic)
        assert recomputed == pytest.approx(getattr(found.correlation, key).value, abs=1e-10)
        assert f"{name} {recomputed:.3f}" in page
