"""One study with a jury, repeats, both orders, planted texts and imported verdicts: every page counts the same."""

import csv
import io
import json
import re
import zipfile

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.models import Assignment, Study, Task
from generation.models import Response
from judging.judges.making import create_judge
from judging.models import JudgeRun
from judging.runs.life_cycle import start_run
from judging.runs.worker import work_on
from tests.factories import make_answer, make_judge_rater, make_rater, make_user, plan_run
from tests.generation.hostile_server import HostileServer, says
from tests.judging.runs.test_methods_run import QUICK, TEXTS, make_pair_study, served, texts_of
from tests.markup import markup

pytestmark = pytest.mark.django_db
PAIRS = 5


def honest(request, n):
    """A's writer wins and planted texts lose; of the last pair there is no usable verdict."""
    ordinary = all(text.startswith(TEXTS) for text in texts_of(request))
    if ordinary and "something about 4" in json.dumps(request):
        return says("I cannot say.")
    first, _second = texts_of(request)
    return says(json.dumps({"better": {"reason": "r", "choice": "A" if first.startswith(TEXTS) else "B"}}))


def judged(judge, study, **asking):
    run = plan_run(judge=judge, study=study, canaries=True, **asking)
    start_run(run, clock=timezone.now)
    run = work_on(run, options=QUICK)
    assert run.status == "finished", run.message
    return run


@pytest.fixture
def study():
    """Five pairs. Verdicts: jury 4, each of its two members 4, both orders 4 by a panel and 4 by its judge, repeats 4 by a
    panel and 4 by its judge, imported 3."""
    study = make_pair_study(("a", "tie", "b"), instructions=PAIRS)
    with HostileServer(honest) as server:
        judges = [
            create_judge(model=served(study, server, name), method="pair_of_three", name=name)
            for name in ("one", "two", "orders", "repeats")
        ]
        judged(judges[0], study, jurors=(judges[1],))
        judged(judges[2], study, both_orders=True)
        judged(judges[3], study, repeats=3)
    imported = make_judge_rater(study.workspace, "imported")
    tasks = list(study.tasks.filter(gold__isnull=True).order_by("pk"))
    for task in tasks[:3]:
        make_answer(task, imported, {"better": 1}, shown_first="a")
    for task in tasks[:2]:
        make_answer(task, make_rater(study), {"better": 1}, shown_first="a")
    return study


EXPECTED = {
    "one + two (median)": 4,
    "one": 4,
    "two": 4,
    "orders": 4,
    "orders, both orders": 4,
    "repeats": 4,
    "repeats, 3 times": 4,
    "imported": 3,
}
ALL = sum(EXPECTED.values())


@pytest.fixture
def see(study, client):
    client.force_login(make_user("lead", study.workspace))

    def get(name, *args, **query):
        found = client.get(reverse(name, args=args), query)
        assert found.status_code == 200, name
        return found

    return get


def plain(response):
    return " ".join(re.sub(r"<[^>]+>", " ", markup(response)).split())


def test_lists_and_dashboard_count_the_same_verdicts(study, see):
    (row,) = see("annotation:studies").context["rows"]
    assert (row.tasks, row.judges, row.people) == (PAIRS, ALL, 2)
    desk = see("annotation:desk", study)
    assert desk.context["total"].judges == ALL and desk.context["total"].tasks == PAIRS
    assert {one.name: one.answered for one in desk.context["judges"]} == EXPECTED
    assert f"{len(EXPECTED)} judges gave {ALL} verdicts." in plain(desk)
    # Each asked judge has no verdict on the last pair; what was not scored of a second order or a repeat is a part of it.
    unscored = {one.name: one.unscored for one in desk.context["judges"]}
    assert unscored == {name: int(name != "imported") for name in EXPECTED}
    listed = {one.rater.name: one.verdicts for one in see("judging:judge_list").context["rows"]}
    assert listed == EXPECTED
    state = see("api:study", study.workspace.slug, study.slug).json()
    assert (state["answers_of_judges"], state["answers_of_people"], state["tasks"]) == (ALL, 2, PAIRS)


def test_a_judges_own_page_counts_its_verdicts_and_the_runs_it_sat_on(study, see):
    runs = {one.rater.name: one.runs for one in see("judging:judge_list").context["rows"]}
    # Members of a jury, and the judge behind a panel, took part in one run each; imported verdicts come from none.
    assert runs == {name: int(name != "imported") for name in EXPECTED}
    for rater in Assignment.objects.of_judges().order_by().values_list("rater__public_id", "rater__label").distinct():
        public, name = rater
        page = see("judging:judge", public)
        assert page.context["verdicts"] == EXPECTED[name], name
        assert len(page.context["runs"]) == runs[name]


def test_a_runs_page_and_the_list_of_runs_leave_planted_texts_out(study, see):
    questions = {"one + two (median)": 2, "orders, both orders": 2, "repeats, 3 times": 3}
    listed = {run.judge.rater.name: (run.done, run.total) for run in see("judging:runs").context["runs"]}
    assert listed == {name: (PAIRS * times, PAIRS * times) for name, times in questions.items()}
    for run in JudgeRun.objects.select_related("judge__rater"):
        name = run.judge.rater.name
        panel = see("judging:run", run.public_id).context["panel"]
        assert panel.verdicts == EXPECTED[name]
        assert (panel.progress.total, panel.progress.settled) == listed[name]
        assert panel.progress.unscored == questions[name]
        report = json.loads(see("judging:run_file", run.public_id, "report.json").content)
        assert report["items"]["total"] == listed[name][1]
        state = see("api:run", run.public_id).json()["progress"]
        assert (state["total"], state["scored"], state["unscored"]) == (
            panel.progress.total,
            panel.progress.scored,
            panel.progress.unscored,
        )


def test_leaderboard_and_judge_pages_count_the_same_and_list_most_first(study, see):
    choices = see("judging:leaderboard", study.benchmark).context["judge_choices"]
    assert {judge.name: int(words.split()[0]) for judge, words in choices} == EXPECTED
    assert [judge.name for judge, _words in choices][-1] == "imported"
    for judge, _words in choices:
        board = see("judging:leaderboard", study.benchmark, judge=judge.public_id).context["board"]
        assert len(board.observations) == 2 * EXPECTED[judge.name]
        assert board.unusable == int(judge.name != "imported")
    (benchmark,) = see("judging:leaderboards").context["benchmarks"]
    assert benchmark.judges == len(EXPECTED)
    against = plain(see("judging:judges_depth", study))
    assert "There are no answers yet that can be used here" not in against


def test_canaries_are_no_responses_anywhere(study, see):
    assert Response.objects.filter(kind="canary").count() > 0
    written = 2 * PAIRS
    assert see("generation:library").context["responses"] == written
    assert see("generation:responses").context["page"].paginator.count == written
    assert (
        see("api:responses", study.workspace.slug, study.benchmark.slug, size=500).json()["results"].__len__()
        == written
    )
    page = see("generation:benchmark", study.benchmark).context["page"]
    assert [one.response_count for one in page.object_list] == [2] * PAIRS
    for one in page.object_list:
        assert see("generation:instruction", one.public_id).context["page"].paginator.count == 2
    models = see("generation:models").context["page"].object_list
    assert sum(one.response_count for one in models) == written


def test_an_export_holds_as_many_verdicts(study, client):
    client.force_login(make_user("lead", study.workspace))
    answer = client.get(reverse("api:export", args=[study.workspace.slug, study.slug]))
    archive = zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content)))
    rows = csv.DictReader(io.StringIO(archive.read("tables/scores.csv").decode()))
    given = {
        (row["rater"], row["task"])
        for row in rows
        if row["rater_kind"] == "judge" and row["repeat"] == "0" and row["status"] in ("submitted", "derived")
    }
    assert {name: sum(rater == name for rater, _task in given) for name in EXPECTED} == EXPECTED


def test_a_cancelled_run_with_one_verdict_does_not_come_first(study, see):
    early = make_judge_rater(study.workspace, "aaa cancelled")
    idle = make_judge_rater(study.workspace, "aab never answered")
    elsewhere = Study.objects.create(
        workspace=study.workspace, slug="elsewhere", kind="pair", benchmark=study.benchmark, status="open"
    )
    first = study.tasks.filter(gold__isnull=True).order_by("pk").first()
    other = Task.objects.create(
        study=elsewhere,
        kind="pair",
        key="x",
        response_a=first.response_a,
        response_b=first.response_b,
        answer_rubric=first.answer_rubric,
    )
    make_answer(first, early, {"better": 1}, shown_first="a")
    make_answer(other, idle, {"better": 1}, shown_first="a")
    for name in ("judging:judges", "judging:judges_depth"):
        shown = plain(see(name, study))
        assert "There are no answers yet that can be used here" not in shown and "aab never answered" not in shown
    names = [judge.name for judge, _words in see("judging:leaderboard", study.benchmark).context["judge_choices"]]
    assert names[0] != "aaa cancelled" and names[-2:] == ["aaa cancelled", "aab never answered"]
