"""What comes next in a study: the rule for every state, the facts it reads, and the same advice on every page."""

import re
from dataclasses import replace

import pytest
from django.urls import reverse

from annotation.assignment.new_slots import make_seats
from annotation.models import Seat, Study
from calibration.fits.store import run_fit
from judging.comparison.next_step import ANSWERS_PER_ITEM, Facts, Step, facts_of, next_step
from judging.models import Judge, JudgeRun
from tests.calibration.answered_studies import answer_study, answered_study
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater, make_user
from tests.markup import markup

DONE = Facts(
    collecting=False, answered=True, enough=True, fitted=True, asked=True, judged=True, compared=True, run="r1"
)


@pytest.mark.parametrize(
    ("facts", "step"),
    [
        (Facts(status="draft"), Step.SET_UP),
        (Facts(status="draft", has_tasks=False, answered=True, enough=True), Step.SET_UP),
        (Facts(status="closed", has_tasks=False, collecting=False), Step.UPLOAD),
        (Facts(), Step.INVITE),
        (Facts(answered=True), Step.INVITE),
        (Facts(status="paused", answered=True), Step.OPEN),
        (Facts(status="closed"), Step.OPEN),
        (Facts(answered=True, enough=True), Step.FIT),
        (Facts(status="paused", answered=True, enough=True), Step.FIT),
        (replace(DONE, fitted=False, judged=False), Step.FIT),
        (replace(DONE, fitted=False, can_be_fitted=False), Step.LEADERBOARD),
        (replace(DONE, asked=False, judged=False, compared=False), Step.ASK),
        (replace(DONE, judged=False, compared=False, running=True), Step.FOLLOW),
        (replace(DONE, judged=False, compared=False), Step.CHECK),
        (replace(DONE, compared=False), Step.COMPARE),
        (DONE, Step.LEADERBOARD),
        (replace(DONE, has_leaderboard=False), Step.EXPORT),
        # Nobody rates a study that holds a benchmark's responses for judges.
        (Facts(collecting=False, can_be_fitted=True), Step.ASK),
        (Facts(collecting=False, asked=True, judged=True), Step.LEADERBOARD),
        # No judge answers the questions about a judge's reasons.
        (replace(DONE, can_be_judged=False, asked=False, judged=False, compared=False), Step.COMPARE),
        (replace(DONE, can_be_judged=False, asked=False, judged=False, has_leaderboard=False), Step.EXPORT),
    ],
)
def test_the_rule(facts, step):
    assert next_step(facts) == step


def make_judge(study):
    rater = make_judge_rater(study.workspace, "length")
    return Judge.objects.create(workspace=study.workspace, rater=rater, method="length", prompt_hash="x")


def step_of(study):
    return next_step(facts_of([study])[study.pk])


@pytest.mark.django_db
def test_a_study_from_its_launch_to_the_leaderboard(client):
    study = make_checklist_study(instructions=12, models=2, items=4, status="draft")
    assert step_of(study) == Step.SET_UP
    make_seats(study)
    Study.objects.filter(pk=study.pk).update(status="open")
    assert step_of(study) == Step.INVITE
    rater = make_rater(study)
    make_answer(study.tasks.first(), rater, {"item0": 0.5, "overall": 5})
    assert step_of(study) == Step.INVITE
    answer_study(study, judge="")
    assert study.tasks.count() * 3 >= ANSWERS_PER_ITEM * 4 and step_of(study) == Step.FIT
    run_fit(study=study, floor=0.5, pool=False, skip_small=False, user=None)
    assert step_of(study) == Step.ASK
    run = JudgeRun.objects.create(judge=make_judge(study), study=study)
    assert step_of(study) == Step.FOLLOW and facts_of([study])[study.pk].run == run.public_id
    JudgeRun.objects.filter(pk=run.pk).update(status="finished")
    assert step_of(study) == Step.CHECK
    for task in study.tasks.all():
        make_answer(task, run.judge.rater, {"item0": 1, "item1": 0.5, "item2": 0.25, "item3": 0, "overall": 6})
    assert step_of(study) == Step.COMPARE
    client.force_login(make_user("lead", study.workspace))
    assert client.get(reverse("judging:judges", args=[study])).status_code == 200
    assert step_of(study) == Step.LEADERBOARD


@pytest.mark.django_db
def test_ratings_that_are_all_in_are_enough_and_a_discredited_verdict_is_none():
    study = answered_study(instructions=1)
    make_seats(study)
    assert step_of(study) == Step.INVITE
    Seat.objects.filter(study=study).update(state="taken")
    assert step_of(study) == Step.FIT
    judge = make_judge_rater(study.workspace)
    run_fit(study=study, floor=0.5, pool=False, skip_small=False, user=None)
    values = {"item0": 1, "item1": 0.5, "item2": 0.25, "item3": 0, "overall": 6}
    given = make_answer(study.tasks.first(), judge, values, discredited=True)
    assert step_of(study) == Step.ASK
    type(given).objects.filter(pk=given.pk).update(discredited=False)
    assert step_of(study) == Step.COMPARE


@pytest.mark.django_db
def test_pages_agree_on_the_next_step_and_only_a_lead_gets_a_button_that_changes(client):
    study = answered_study()
    button = re.compile(r'<div class="row next-step".*?</div>', re.DOTALL)

    def advice(address):
        return [
            re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", found)
            for found in button.findall(markup(client.get(address)))
        ]

    names = ["annotation:desk", "calibration:agreement", "calibration:weights", "calibration:raters"]
    pages = ["/", *(reverse(name, args=[study]) for name in [*names, "calibration:rankings", "judging:judges"])]
    client.force_login(make_user("lead", study.workspace))
    shown = {page: advice(page) for page in pages}
    assert len(shown["/"]) == 1 and all(found == shown["/"] for found in shown.values())
    assert "#fit-heading" in shown["/"][0] and "Fit the weights" in shown["/"][0]
    client.force_login(make_user("analyst", study.workspace))
    (found,) = advice(pages[1])
    assert "A lead of this workspace takes the next step." in found and "<a " not in found


@pytest.mark.django_db
def test_no_result_page_is_without_a_next_step(client):
    study = answered_study(instructions=3)
    make_seats(study)
    client.force_login(make_user("lead", study.workspace))
    for name in ("calibration:planner", "annotation:disagreements", "judging:export"):
        page = markup(client.get(reverse(name, args=[study])))
        assert page.count('class="row next-step"') == 1 and "Invite raters" in page, name
    board = reverse("judging:leaderboard", args=[study.benchmark])
    assert "Invite raters" in markup(client.get(board))


@pytest.mark.django_db
def test_after_the_leaderboard_come_the_answers_of_a_study_that_the_visitor_may_read(client):
    study = answered_study(instructions=12, models=2)
    run_fit(study=study, floor=0.5, pool=False, skip_small=False, user=None)
    judge = make_judge_rater(study.workspace)
    for task in study.tasks.all():
        make_answer(task, judge, {"item0": 1, "item1": 0.5, "item2": 0.25, "item3": 0, "overall": 6})
    client.force_login(make_user("lead", study.workspace))
    board = reverse("judging:leaderboard", args=[study.benchmark])
    assert "Compare the judge with people" in markup(client.get(board))
    client.get(reverse("judging:judges", args=[study]))
    assert step_of(study) == Step.LEADERBOARD
    page, export = markup(client.get(board)), reverse("judging:export", args=[study])
    assert "Download the answers" in page and f'href="{export}"' in page
    assert 'class="row next-step"' in markup(client.get(reverse("calibration:agreement", args=[study])))
    Study.objects.filter(pk=study.pk).update(archived_at="2026-01-01T00:00Z")
    assert "next-step" not in markup(client.get(board))
