"""A panel's derived verdicts are read like any judge's: on leaderboards, beside people, in rankings of pairs."""

import pytest
from django.utils import timezone

from annotation.models import Rater
from calibration.data.verdicts import judges_verdicts
from calibration.reports.judges import JUDGES, judges_settings
from calibration.reports.rankings import RANKINGS, judges_here, ranking_settings
from calibration.reports.registry import report_of
from judging.comparison.judge_against_people import compare
from judging.judges.making import create_judge
from judging.leaderboards.table import judges_of, leaderboard
from judging.leaderboards.weighting import EQUAL, Weighting
from judging.methods.combining import How
from judging.runs.life_cycle import start_run
from judging.runs.worker import work_on
from tests.factories import make_answer, make_checklist_study, make_rater, plan_run
from tests.generation.hostile_server import HostileServer, good_answer
from tests.judging.runs.test_methods_run import QUICK, always_first, make_pair_study, prefers_length, served

pytestmark = pytest.mark.django_db


def worked(run):
    start_run(run, clock=timezone.now)
    run = work_on(run, options=QUICK)
    assert run.status == "finished", run.message
    return run


@pytest.fixture
def jury():
    """Two judges, one always .5, the other always 1; their mean is the jury's verdict of 8 responses."""
    study = make_checklist_study(instructions=4, models=2)
    servers = [HostileServer(lambda r, n, x=x: good_answer(r, x)) for x in (0.5, 1)]
    for server in servers:
        server.__enter__()
    try:
        judges = [
            create_judge(model=served(study, server, f"m{n}"), method="checklist") for n, server in enumerate(servers)
        ]
        run = worked(plan_run(judge=judges[0], study=study, jurors=tuple(judges[1:]), combine=How.MEAN))
    finally:
        for server in servers:
            server.__exit__()
    return study, judges, run.judge.rater


def test_a_jury_stands_on_the_leaderboard_beside_its_jurors(jury):
    study, judges, panel = jury
    assert panel in judges_of(study.benchmark)
    averages = {}
    for rater in (judges[0].rater, judges[1].rater, panel):
        board = leaderboard(study.benchmark, rater, "equal")
        averages[rater.pk] = {one.model: (one.average, one.categories["writing"].n) for one in board.models}
    # 50 points are -100, 100 points 100, and the mean of the two, 75 points, is 0; four responses of each model.
    assert averages[judges[0].rater_id] == {"model0": (-100.0, 4), "model1": (-100.0, 4)}
    assert averages[judges[1].rater_id] == {"model0": (100.0, 4), "model1": (100.0, 4)}
    assert averages[panel.pk] == {"model0": (0.0, 4), "model1": (0.0, 4)}


def test_a_jury_is_held_against_people_like_a_judge(jury):
    study, _judges, panel = jury
    for person in (make_rater(study), make_rater(study)):
        for number, task in enumerate(study.tasks.order_by("pk")):
            make_answer(task, person, {"item0": 0.75, "item1": 0.5, "item2": 0.75, "overall": number})
    found = compare(study, panel, Weighting(EQUAL))
    assert found.n == 8
    assert {point.judge for point in found.points} == {75.0}
    assert [item.judge.value for item in found.items] == [1.0, 0.0, 1.0]
    report = report_of(study, JUDGES, judges_settings(study))
    assert panel.name in {row.judge for row in report.judges}


def test_a_pair_judged_in_both_orders_is_ranked_by_what_both_come_to():
    study = make_pair_study(instructions=6)
    person = make_rater(study)
    for task in study.tasks.all():
        make_answer(task, person, {"better": 1.0})
    with HostileServer(prefers_length) as server:
        steady = create_judge(model=served(study, server), method="pair_of_four")
        run = worked(plan_run(judge=steady, study=study, both_orders=True))
    with HostileServer(always_first) as server:
        flips = create_judge(model=served(study, server, "flips"), method="pair_of_four")
        other = worked(plan_run(judge=flips, study=study, both_orders=True))
    verdicts = judges_verdicts(study, "better")
    said = {
        rater: set(verdicts.value[verdicts.judge == rater].tolist())
        for rater in (run.judge.rater_id, other.judge.rater_id)
    }
    assert said == {run.judge.rater_id: {1.0}, other.judge.rater_id: {0.0}}
    assert run.judge.rater.public_id in [public for public, _, _ in judges_here(study)]
    for panel, points in ((run.judge.rater, [6.0, 0.0]), (other.judge.rater, [3.0, 3.0])):
        report = report_of(study, RANKINGS, ranking_settings(by=panel.public_id))
        assert sorted(report.parts.points.total.tolist(), reverse=True) == points
    in_depth = report_of(study, JUDGES, judges_settings(study))
    assert run.judge.rater.name in {row.judge for row in in_depth.judges}
    assert Rater.objects.filter(kind="judge").count() == 4
