"""A task in which nothing is entered yet is sent in kept pieces, and reads exactly as the whole template would."""

import re

import pytest
from django.template.loader import render_to_string
from django.test import RequestFactory
from django.utils import translation

from annotation.assignment.new_slots import make_seats
from annotation.assignment.next_task import next_assignment
from annotation.assignment.rater_progress import Progress
from annotation.models import Assignment, Guideline, Task
from annotation.policies.hints import CONDITION as HINT
from annotation.web.rating import fresh_tasks, task_page
from annotation.web.rating.forms import AnswerForm
from annotation.web.rating.screens import screen_of
from generation.models import Instruction, Response
from tests.annotation.raters_at_work import TEXT, clock, make_pairs, make_study
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater

pytestmark = pytest.mark.django_db
LONG = "\n\n".join(f"Part {n} of what is asked, <b>not</b> marked up & long." for n in range(60))


def plain(study):
    return study


def with_guideline_quota_and_hints(study):
    study.guideline = Guideline.objects.create(workspace=study.workspace, key="g", texts={"en": "Be fair."})
    study.names = {"en": "Essays & <letters>", "zh-hans": "文章"}
    pay = {"hourly_pay": "12.5", "currency": "EUR"}
    study.policies |= {"quota": 7, "show_hours": True, "plan": pay}
    study.save()
    Instruction.objects.update(hint="Think of **this** first.")
    return study


def with_a_long_instruction_after_a_conversation(study):
    turns = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "First question"},
        {"role": "assistant", "content": "First *reply*"},
        {"role": "user", "content": LONG},
    ]
    Instruction.objects.update(messages=turns)
    return study


def without_texts(study):
    Instruction.objects.update(messages=None)
    Response.objects.update(text=None)
    return study


def with_stars(study):
    study.kind = "stars"
    study.save()
    return study


def of_a_part(study):
    study.tasks.update(part={"number": 2, "start": 10, "end": 120, "kind": "single", "mark": "Week"})
    return study


def of_near_copies(study):
    Response.objects.filter(tasks_as_b__study=study).update(text=TEXT.replace("second", "other"))
    return study


def of_a_review(study):
    judge = make_judge_rater(study.workspace, "judge")
    task = study.tasks.order_by("pk").first()
    verdict = make_answer(task, judge, {"item0": 0.25, "overall": 3.0})
    reviews = make_checklist_study(workspace=study.workspace, instructions=1, models=1, slug="reviews")
    reviews.tasks.all().delete()
    reviews.kind = "review"
    reviews.save()
    Task.objects.create(
        study=reviews,
        kind="review",
        key="v:1",
        response_a=task.response_a,
        answer_rubric=task.answer_rubric,
        reviews=verdict,
    )
    return reviews


SHAPES = [
    (make_study, plain),
    (make_study, with_guideline_quota_and_hints),
    (make_study, with_a_long_instruction_after_a_conversation),
    (make_study, without_texts),
    (make_study, with_stars),
    (make_study, of_a_part),
    (make_study, of_a_review),
    (make_pairs, plain),
    (make_pairs, of_near_copies),
    (make_pairs, with_guideline_quota_and_hints),
]


def fresh(make, change):
    """An open task of the study, as its page reads it."""
    study = change(make(tasks=4, seats=False) if make is make_study else make(tasks=4))
    make_seats(study)
    rater = make_rater(study)
    assignment, _progress = next_assignment(rater, study, clock=clock(), conditions={HINT: True})
    return assignment


def without_token(html):
    return re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "token", html).strip()


def both(assignment, submitted, previous):
    """(in pieces, by the whole template)"""
    request, screen = RequestFactory().get("/"), screen_of(assignment)
    progress = Progress(submitted=submitted, skipped=0, open=1, active_seconds=90.0 * submitted, timed=submitted)
    pieces = task_page.fresh_task(request, assignment, screen, progress=progress, previous=previous)
    form = AnswerForm(screen.criteria, shown=screen.shown)
    context = task_page.screen_context(assignment, screen, form, progress=progress, previous=previous)
    whole = render_to_string("annotation/rate.html#task", context, request)
    return without_token(pieces), without_token(whole)


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize(("make", "change"), SHAPES)
def test_the_pieces_read_as_the_whole_template(make, change, language):
    assignment = fresh(make, change)
    with translation.override(language):
        for submitted, previous in ((0, ""), (1234, "an-earlier-one")):
            pieces, whole = both(assignment, submitted, previous)
            assert pieces == whole
            assert fresh_tasks._MARK not in pieces
    assert assignment.public_id in pieces


def test_tasks_of_one_study_share_what_is_kept():
    study = make_study(tasks=4)
    rater = make_rater(study)
    fresh_tasks._pieces.cache_clear()
    for _ in range(4):
        assignment, _progress = next_assignment(rater, study, clock=clock())
        pieces, whole = both(assignment, 1, "x")
        assert pieces == whole
        Assignment.objects.filter(pk=assignment.pk).update(status="submitted")
    assert fresh_tasks._pieces.cache_info().misses == 1


def test_a_study_renamed_is_shown_by_its_new_name():
    study = make_study(tasks=4)
    rater = make_rater(study)
    assignment, _progress = next_assignment(rater, study, clock=clock())
    both(assignment, 0, "")
    study.names = {"en": "Renamed meanwhile"}
    study.save()
    assignment, _progress = next_assignment(rater, study, clock=clock())
    pieces, whole = both(assignment, 0, "")
    assert "Renamed meanwhile" in pieces
    assert pieces == whole


def test_a_changed_scale_is_shown_at_once():
    study = make_study(tasks=4)
    rater = make_rater(study)
    assignment, _progress = next_assignment(rater, study, clock=clock())
    assert 'value="n/a"' not in both(assignment, 0, "")[0]
    assignment.task.answer_rubric.criteria.filter(key="item0").update(may_not_apply=True)
    pieces, whole = both(assignment, 0, "")
    assert 'value="n/a"' in pieces
    assert pieces == whole
