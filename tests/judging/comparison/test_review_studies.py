"""From a run to the reasonable rate: verdicts drawn evenly, reviewed by people who see neither judge nor model."""

import html
import json
import re
from collections import Counter

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone
from hypothesis import given, strategies as st

from annotation.models import Assignment, Rater, Score, Seat, Study
from calibration.reports.people.reviewed_verdicts import reasonable_rates
from calibration.statistics.design.spread_sample import spread_sample
from generation.llm.scripted import ScriptedChat
from generation.models import Endpoint, LanguageModel
from judging.comparison.review_studies import drawn_verdicts, make_review_study
from judging.judges.making import create_judge
from judging.leaderboards.reports import leaderboards_of
from judging.leaderboards.table import leaderboard
from judging.runs.life_cycle import start_run
from judging.runs.worker import work_on
from tests.calibration.result_page_checks import text_of
from tests.factories import make_answer, make_checklist_study, make_rater, make_user, make_workspace, plan_run
from tests.markup import markup

pytestmark = pytest.mark.django_db


def test_a_sample_is_even_where_what_there_is_allows_it():
    # 30 of one model and 6 of another, three levels each: of 12, six of each model, four of each level.
    marked = {n: ("a", n % 3) for n in range(30)} | {30 + n: ("b", n % 3) for n in range(6)}
    found = spread_sample(marked, 12, seed=1)
    assert Counter(marked[key][0] for key in found) == {"a": 6, "b": 6}
    assert Counter(marked[key][1] for key in found) == {0: 4, 1: 4, 2: 4}
    assert found == spread_sample(marked, 12, seed=1)
    assert found != spread_sample(marked, 12, seed=2)


@given(st.dictionaries(st.integers(0, 500), st.tuples(st.sampled_from("abc"), st.integers(0, 2))), st.integers(1, 60))
def test_a_sample_has_the_size_asked_for_and_no_key_twice(marked, wanted):
    found = spread_sample(marked, wanted, seed=7)
    assert len(found) == len(set(found)) == min(wanted, len(marked))
    assert set(found) <= set(marked)


@pytest.fixture
def study():
    study = make_checklist_study(instructions=6, models=2)
    LanguageModel.objects.filter(name="model0").update(name="Zephyrion-70B")
    return study


@pytest.fixture
def model(study):
    endpoint = Endpoint.objects.create(workspace=study.workspace, name="script", kind="scripted")
    return LanguageModel.objects.create(workspace=study.workspace, name="Judgematic", endpoint=endpoint)


def judged(study, model, **asked):
    run = plan_run(judge=create_judge(model=model), study=study, **asked)
    start_run(run, clock=timezone.now)
    good = {f"item{n}": {"reason": f"Reason number {n}.", "score": 0.5} for n in range(3)}
    return work_on(run, chat_for=lambda _model: ScriptedChat(lambda request: json.dumps(good)))


def test_from_a_run_to_the_reasonable_rate(client, study, model):
    run = judged(study, model)
    client.force_login(make_user("lead"))
    answer = client.post(reverse("judging:review_run", args=[run.public_id]), {"sample": 4, "reviewers": 2})
    review = Study.objects.get(kind="review")
    assert answer["Location"] == reverse("annotation:desk", args=[review])
    assert (review.status, review.tasks.count(), Seat.objects.filter(study=review).count()) == ("open", 4, 8)
    models = Counter(review.tasks.values_list("response_a__model__name", flat=True))
    assert set(models.values()) == {2}
    assert review.name in markup(client.get(reverse("judging:run", args=[run.public_id])))

    findings = {"c-item0": "reasonable", "c-item1": "not-reasonable", "r-item1": "No.", "c-item2": "reasonable"}
    for _person in range(2):
        client.force_login(make_user("rater"))
        client.post(reverse("annotation:start", args=[review]))
        for _task in range(4):
            task = Assignment.objects.get(task__study=review, status="open")
            place = reverse("annotation:rate", args=[task.public_id])
            shown = markup(client.get(place))
            assert "Reason number 1." in shown
            assert "Judgematic" not in shown
            assert "Zephyrion" not in shown
            client.post(place, findings)
    answered = Assignment.objects.filter(task__study=review, status="submitted", rater__kind=Rater.Kind.PERSON)
    assert answered.count() == 8
    assert Score.objects.filter(assignment__in=answered).count() == 24
    assert set(answered.values_list("task__reviews__rater", flat=True)) == {run.judge.rater_id}
    for one in (study, review):
        rows = {row.criterion: row for row in reasonable_rates(one, 200, 0)}
        assert rows[""].rate.value == pytest.approx(2 / 3)
        assert rows["item1"].rate.value == 0
        assert (rows[""].verdicts, rows[""].raters) == (4, 2)
    client.force_login(make_user("lead"))
    page = markup(client.get(reverse("judging:judges_depth", args=[review])))
    assert "How many verdicts are reasonable?" in page
    assert "<svg" in page


def test_a_jurys_own_verdicts_are_reviewed(study, model, capsys):
    run = judged(study, model, repeats=2)
    drawn = Assignment.objects.filter(pk__in=drawn_verdicts(run, 200, seed=0))
    assert drawn.count() == 12
    assert set(drawn.values_list("rater", "status")) == {(run.judge.rater_id, "derived")}
    call_command("review", run.public_id, sample=5, reviewers=3, seed=4)
    assert "5 verdicts" in capsys.readouterr().out
    review = Study.objects.get(kind="review")
    assert (review.status, review.tasks.count(), Seat.objects.filter(study=review).count()) == ("open", 5, 15)
    assert set(review.tasks.values_list("reviews__rater", flat=True)) == {run.judge.rater_id}


def test_a_run_without_verdicts_has_nothing_to_review(client, study, model):
    run = plan_run(judge=create_judge(model=model), study=study)
    with pytest.raises(CommandError, match="no verdicts yet"):
        call_command("review", run.public_id)
    with pytest.raises(CommandError, match="There is no run"):
        call_command("review", "nowhere")
    with pytest.raises(CommandError, match="give at least 1"):
        call_command("review", run.public_id, sample=0)
    client.force_login(make_user("lead"))
    page = client.post(reverse("judging:review_run", args=[run.public_id]), {"sample": 4, "reviewers": 3}, follow=True)
    assert "This run has no verdicts yet" in markup(page)
    page = client.post(reverse("judging:review_run", args=[run.public_id]), {"sample": 0}, follow=True)
    assert "at least 1 each" in markup(page)
    assert not Study.objects.filter(kind="review").exists()


def test_nobody_else_opens_a_review(client, study, model):
    run = judged(study, model)
    for user, status in ((make_user("analyst"), 403), (make_user("lead", make_workspace("elsewhere")), 404)):
        client.force_login(user)
        place = reverse("judging:review_run", args=[run.public_id])
        assert client.post(place, {"sample": 4, "reviewers": 3}).status_code == status
    assert not Study.objects.filter(kind="review").exists()


def test_what_reviewers_say_of_a_verdict_is_no_score_of_the_response(client, study, model):
    run = judged(study, model)
    person = make_rater(study, label="person")
    for task in study.tasks.all():
        make_answer(task, person, {"item0": 1, "item1": 1, "item2": 1, "overall": 8})
    board = leaderboard(study.benchmark, run.judge.rater, "equal", beside_people=True)
    assert set(board.people.top.tolist()) == {100.0}
    review = make_review_study(run, sample=12, reviewers=1, by=None)
    reviewer = make_rater(review, label="reviewer")
    for task in review.tasks.all():
        make_answer(task, reviewer, {"item0": 0, "item1": 0, "item2": 0})
    after = leaderboard(study.benchmark, run.judge.rater, "equal", beside_people=True)
    assert after.people.top.tolist() == board.people.top.tolist()
    assert after.corrected == board.corrected

    client.force_login(make_user("lead"))
    address = reverse("judging:compare_models", args=[study.benchmark])
    page = markup(client.get(address, {"judge": run.judge.rater.public_id, "weights": "equal"}))
    link = html.unescape(re.search(r'href="([^"]*/compare/item/[^"]*)"', page)[1])
    item = text_of(markup(client.get(link)))
    assert "1 person: 1.00" in item
    assert "2 people" not in item
    # The weights of the questions are those of the checklist, not looked for in the review's.
    assert "Weight" in item

    # Nobody is ranked by how reasonable a judge was about them, and no export holds it as people's scores.
    rankings = markup(client.get(reverse("calibration:rankings", args=[review])))
    assert "This study reviews a judge's verdicts" in text_of(rankings)
    for _settings, _data_hash, board in leaderboards_of(review):
        assert board.corrected == {}
