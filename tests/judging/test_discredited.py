"""Verdicts of a run that failed its canary texts are kept and marked, and no page ranks, correlates or counts by them."""

import csv
import io
import json
import zipfile

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.models import Assignment
from calibration.data.frames import EVERY_KIND
from calibration.data.scores import score_frame
from calibration.data.verdicts import judges_by_verdicts
from calibration.reports.people.reviewed_verdicts import reasonable_rates, review_state
from calibration.statistics.report_reasons import NeverReviewed
from generation.models import Endpoint
from judging.judges.making import create_judge
from judging.leaderboards.filters import Filters
from judging.leaderboards.model_pairs import compared_item, model_pair
from judging.leaderboards.table import leaderboard
from judging.models import JudgeRun
from judging.runs.life_cycle import retry_unscored, start_run
from judging.runs.worker import work_on
from judging.scores.points import NoVerdicts
from judging.web.runs.run_page import run_panel
from tests.factories import make_answer, make_judge_rater, make_rater, make_user, plan_run
from tests.generation.hostile_server import HostileServer, good_answer, says
from tests.judging.runs.test_methods_run import QUICK, served
from tests.judging.runs.test_runs import make_study
from tests.markup import markup

pytestmark = pytest.mark.django_db
MARK = "failed its canary texts"


def believes(request, n):
    """Nearly full marks for everything but the planted texts, which get them in full."""
    text = request["messages"][1]["content"]
    ordinary = "Some words about it." in text
    return good_answer(request, 0.75 if ordinary else 1)


def misled(asking=None, study=None):
    """A study of 8 responses that people rated, and a run whose judge fell for every planted text."""
    study = study or make_study()
    for place, task in enumerate(study.tasks.order_by("pk")):
        for label in ("ann", "bob"):
            rater = study.raters.filter(label=label).first() or make_rater(study, label=label)
            make_answer(task, rater, {"item0": 0.5, "item1": 0.25, "item2": 1, "overall": place})
    with HostileServer(believes) as server:
        judge = create_judge(model=served(study, server), name="gullible")
        asked = asking(study, server) if asking else {"canaries": True}
        run = plan_run(judge=judge, study=study, **asked)
        start_run(run, clock=timezone.now)
        run = work_on(run, options=QUICK)
    assert run.status == "failed", run.message
    return study, run


def honest(study, n=6):
    """Another judge, with verdicts on the first so many responses."""
    judge = make_judge_rater(study.workspace, "honest")
    for place, task in enumerate(study.tasks.order_by("pk")[:n]):
        make_answer(task, judge, {"item0": 0.25 * (place % 5), "item1": 0.5, "item2": 0.75, "overall": place})
    return judge


def page(client, study, name, *args, **query):
    client.force_login(make_user("lead", study.workspace))
    found = client.get(reverse(name, args=args), query)
    assert found.status_code == 200
    return markup(found)


def test_the_run_says_which_planted_texts_were_believed_and_offers_what_helps(client):
    study, run = misled()
    assert [one["text"] for one in run.believed_canaries] == ["empty", "refusal", "null", "order"]
    panel = run_panel(run, clock=timezone.now)
    assert panel.misled and len(panel.believed) == 4 and panel.verdicts == 8
    shown = page(client, study, "judging:run", run.public_id)
    assert "A refusal to answer: it scored 1.00 where the median of the run is 0.75" in shown
    assert 'value="resume"' not in shown and "New budget" not in shown
    for address in (
        reverse("judging:new_judge") + f"?like={run.judge.rater.public_id}",
        reverse("judging:start_run", args=[study]),
        "discredited=1",
    ):
        assert address in shown
    # What it offers works: the same judge's prompt, to be changed.
    editor = client.get(reverse("judging:new_judge"), {"like": run.judge.rater.public_id})
    assert editor.status_code == 200 and run.judge.prompt.splitlines()[1] in markup(editor)


def test_a_jury_is_discredited_with_its_members(client):
    def jury(study, server):
        return {"jurors": (create_judge(model=served(study, server, "second")),), "canaries": True}

    study, run = misled(jury)
    raters = {run.judge.rater_id, *run.judge.jurors.values_list("rater", flat=True)}
    given = Assignment.objects.of_judges().verdicts()
    assert set(given.values_list("rater", "discredited")) == {(pk, True) for pk in raters}
    assert given.count() == 3 * 8
    assert not len(score_frame(kinds=EVERY_KIND, study=study, people=False))
    assert len(score_frame(kinds=EVERY_KIND, study=study, people=False, discredited=True)) == 3 * 8 * 3


def test_the_leaderboard_opens_on_another_judge_and_ranks_nothing_by_the_misled_one(client):
    study, run = misled()
    judge = honest(study)
    board = "judging:leaderboard"
    shown = page(client, study, board, study.benchmark)
    options = [line for line in shown.split("<option") if "honest" in line or "gullible" in line]
    assert "honest" in options[0] and "selected" in options[0] and "6 verdicts" in options[0]
    assert MARK in options[1]
    wanted = {"judge": run.judge.rater.public_id, "weights": "equal"}
    refused = page(client, study, board, study.benchmark, **wanted)
    assert "All its 8 verdicts here come from a run that " + MARK in refused
    assert "<table" not in refused
    # Looked at on purpose, they are marked and have no rank.
    looked = page(client, study, board, study.benchmark, **wanted, discredited="1")
    assert "No model is ranked here: 8 verdicts come from a run that " + MARK in looked
    assert 'id="scores"' in looked and " leads" not in looked and "first place" not in looked
    rows = list(
        csv.DictReader(
            io.StringIO(
                client.get(
                    reverse(board, args=[study.benchmark]), {**wanted, "discredited": "1", "file": "scores.csv"}
                ).content.decode("utf-8-sig")
            )
        )
    )
    assert {row["Rank"] for row in rows} == {""} and len(rows) == 2
    with pytest.raises(NoVerdicts, match=MARK):
        leaderboard(study.benchmark, run.judge.rater, "equal")
    assert leaderboard(study.benchmark, judge, "equal").ranked


def test_verdicts_of_another_run_of_the_same_judge_still_count(client):
    study, run = misled()
    other = make_study(slug="others", instructions=2)
    other.benchmark.instructions.update(benchmark=study.benchmark, category=None)
    for task in other.tasks.all():
        make_answer(task, run.judge.rater, {"item0": 0.5, "item1": 0.5, "item2": 0.5})
    board = leaderboard(study.benchmark, run.judge.rater, "equal")
    assert board.discredited == 8 and board.ranked
    assert len(board.observations) == 4
    shown = page(client, study, "judging:leaderboard", study.benchmark, judge=run.judge.rater.public_id)
    assert f"8 verdicts of gullible come from a run that {MARK}" in " ".join(shown.split())


@pytest.mark.parametrize(
    "name", ["judging:judges", "judging:judges_depth", "judging:judges_methods", "calibration:agreement_detail"]
)
def test_pages_on_judges_mark_them_and_count_none(client, name):
    study, _run = misled()
    honest(study)
    shown = " ".join(page(client, study, name, study).split())
    assert "8 verdicts come from a run that failed its canary texts" in shown
    assert shown.count("gullible") == 1  # in that note alone: no row, no figure, no sentence of a best judge
    assert "honest" in shown


def test_a_study_only_the_misled_judge_has_answered_says_so(client):
    study, _run = misled()
    shown = " ".join(page(client, study, "judging:judges", study).split())
    assert "8 verdicts come from a run that failed its canary texts" in shown
    assert "Ask a judge" in shown or "Ask another judge" in shown


def test_lists_mark_the_run_and_the_judge(client):
    study, run = misled()
    for name, args in (
        ("judging:runs", ()),
        ("judging:judge_list", ()),
        ("judging:judge", (run.judge.rater.public_id,)),
        ("annotation:desk", (study,)),
    ):
        assert MARK in page(client, study, name, *args), name


def test_exports_and_the_api_carry_the_mark(client):
    study, run = misled()
    honest(study)
    client.force_login(make_user("lead", study.workspace))
    answer = client.get(reverse("api:export", args=[study.workspace.slug, study.slug]))
    archive = zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content)))
    rows = list(csv.DictReader(io.StringIO(archive.read("tables/scores.csv").decode())))
    marked = {row["rater"] for row in rows if row["discredited"] == "True"}
    assert marked == {"gullible"}
    plain = [json.loads(line) for line in archive.read("rows/annotation.assignment.jsonl").splitlines()]
    assert sum(bool(row["discredited"]) for row in plain) == 8
    boards = [json.loads(line) for line in archive.read("reports.jsonl").splitlines()]
    judges = {row["result"]["judge"] for row in boards if row["kind"] == "leaderboard"}
    assert run.judge.rater.public_id not in judges and judges
    scores = client.get(
        reverse("api:scores", args=[study.workspace.slug, study.slug]), {"rater_kind": "judge", "size": 500}
    )
    given = scores.json()["results"]
    assert {row["rater"] for row in given if row["discredited"]} == {run.judge.rater.public_id}
    assert client.get(reverse("api:run", args=[run.public_id])).json()["discredited"] is True
    items = client.get(reverse("judging:run_file", args=[run.public_id, "items.csv"])).content.decode()
    assert {row["discredited"] for row in csv.DictReader(io.StringIO(items))} == {"True"}
    refused = client.get(
        reverse("api:board", args=[study.benchmark.workspace.slug, study.benchmark.slug]),
        {"judge": "gullible", "weights": "equal"},
    )
    assert refused.status_code == 400 and MARK in refused.content.decode()


def silent(request, n):
    ordinary = "Some words about it." in request["messages"][1]["content"]
    return good_answer(request) if ordinary else says("I would rather not.")


def judged_by(play, run):
    with HostileServer(play) as server:
        Endpoint.objects.update(base_url=server.base_url)
        start_run(run, clock=timezone.now)
        return work_on(JudgeRun.objects.get(pk=run.pk), options=QUICK)


def test_a_judge_that_judged_no_planted_text_is_marked_until_it_has(client):
    study = make_study()
    with HostileServer(silent) as server:
        judge = create_judge(model=served(study, server), name="silent")
        run = plan_run(judge=judge, study=study, canaries=True)
    run = judged_by(silent, run)
    assert run.believed_canaries == [] and run.discredited
    assert Assignment.objects.filter(discredited=True).count() == 8
    shown = page(client, study, "judging:run", run.public_id)
    assert "gave no usable verdict on any canary text" in shown
    assert 'value="retry"' in shown and 'value="resume"' not in shown
    assert retry_unscored(run, clock=timezone.now) == 4
    run = judged_by(lambda request, n: good_answer(request, 0), run)
    assert run.status == "finished", run.message
    assert run.believed_canaries is None
    assert not Assignment.objects.filter(discredited=True).exists()
    assert [row.verdicts for row in judges_by_verdicts(study)] == [8]


def with_one_unusable():
    """The same run, whose judge gave no usable verdict on the first response either; what stands in its text."""
    study = make_study()
    unlucky = f"It is number {study.tasks.order_by('pk')[0].response_a_id}."

    def mute_once(request, n):
        text = request["messages"][1]["content"]
        return says("I would rather not.") if unlucky in text else believes(request, n)

    with HostileServer(mute_once) as server:
        judge = create_judge(model=served(study, server), name="gullible")
        run = plan_run(judge=judge, study=study, canaries=True)
    run = judged_by(mute_once, run)
    assert run.status == "failed" and Assignment.objects.filter(discredited=True).count() == 8
    assert Assignment.objects.get(status="unscored").discredited
    return study, run, unlucky


def test_a_verdict_of_a_sound_run_takes_over_no_mark_from_a_failed_one():
    """The failed run left one response without a usable verdict; another run of the same judge gives it one."""
    study, run, unlucky = with_one_unusable()
    other = plan_run(judge=run.judge, study=study, canaries=False)
    other = judged_by(believes, other)
    assert other.status == "finished", other.message
    given = Assignment.objects.of_judges().verdicts()
    assert given.count() == 8
    assert given.believed().count() == 1
    assert unlucky in given.believed().get().task.response_a.text


def test_a_judge_that_is_misled_here_is_still_listed_by_its_good_verdicts_elsewhere():
    study, run = misled()
    judge = run.judge.rater
    other = judged_again(study, judge)
    (row,) = judges_by_verdicts(study)
    assert (row.judge, row.verdicts, row.discredited) == (judge, 4, 8)
    (row,) = judges_by_verdicts(other)
    assert (row.judge, row.verdicts, row.discredited) == (judge, 4, 4)


def test_a_filter_that_leaves_nothing_is_not_explained_by_the_failed_run(client):
    study, run = misled()
    other = make_study(slug="others", instructions=2)
    other.benchmark.instructions.update(benchmark=study.benchmark, category=None)
    for task in other.tasks.all():
        make_answer(task, run.judge.rater, {"item0": 0.5, "item1": 0.5, "item2": 0.5})
    for wanted in ({"language": "fr"}, {"experiment": "another"}):
        shown = page(
            client,
            study,
            "judging:leaderboard",
            study.benchmark,
            judge=run.judge.rater.public_id,
            weights="equal",
            **wanted,
        )
        assert "This judge has no usable verdicts for this selection." in shown
        assert "All its" not in shown and "Its " not in shown


def judged_again(study, judge):
    """The same judge's other verdicts on the first four responses, in a study that is made later."""
    other = make_study(slug="others", instructions=2)
    for task, mine in zip(other.tasks.order_by("pk"), study.tasks.order_by("pk"), strict=False):
        task.response_a = mine.response_a
        task.save()
        make_answer(task, judge, {"item0": 0.25, "item1": 0.25, "item2": 0.25})
    return other


def test_two_models_are_not_compared_by_discredited_verdicts(client):
    study, run = misled()
    wanted = {"judge": run.judge.rater.public_id, "weights": "equal", "discredited": "1"}
    shown = page(client, study, "judging:compare_models", study.benchmark, **wanted)
    assert "Nothing to compare" in shown and "All its 8 verdicts here come from a run that " + MARK in shown
    assert "discredited=1" not in shown


def test_the_verdicts_beside_a_comparison_are_those_that_it_rests_on():
    study, run = misled()
    judged_again(study, run.judge.rater)
    board = leaderboard(study.benchmark, run.judge.rater, "equal")
    pair = model_pair(board, *(one.model for one in board.models))
    assert len(pair.rows) == 2
    for row in pair.rows:
        # 25 of 100 points, on the scale of the board: (25 - 75) x 4.
        assert (row.first, row.second) == (-200, -200)
        item = compared_item(pair, row)
        assert {said.score for side in item.sides for said in side.verdicts} == {"0.25"}


def test_unusable_verdicts_of_a_failed_run_are_counted_only_where_it_is_looked_at():
    study, run, _unlucky = with_one_unusable()
    judged_again(study, run.judge.rater)
    judge = run.judge.rater
    assert leaderboard(study.benchmark, judge, "equal").unusable == 0
    assert leaderboard(study.benchmark, judge, "equal", filters=Filters(discredited=True)).unusable == 1


def test_what_people_found_of_discredited_verdicts_is_in_no_reasonable_rate():
    study = make_study()
    judge = make_judge_rater(study.workspace, "doubtful")
    review = make_study(slug="reviews")
    reviewer = make_rater(review)
    for place, (task, mine) in enumerate(zip(review.tasks.order_by("pk"), study.tasks.order_by("pk"), strict=True)):
        verdict = make_answer(mine, judge, {"item0": 0.5})
        task.response_a, task.kind, task.reviews = mine.response_a, "review", verdict
        task.save()
        make_answer(task, reviewer, {"item0": place % 2})
    state = review_state(study)
    assert reasonable_rates(study, 100, 0)[0].rate.value == 0.5
    for task in review.tasks.order_by("pk")[:6:2]:
        Assignment.objects.filter(pk=task.reviews_id).update(discredited=True)
    total = reasonable_rates(study, 100, 0)[0]
    assert (total.verdicts, total.rate.value) == (5, 0.8)
    assert review_state(study) != state  # so that no report computed before is shown
    Assignment.objects.filter(rater=judge).update(discredited=True)
    with pytest.raises(NeverReviewed):
        reasonable_rates(study, 100, 0)
