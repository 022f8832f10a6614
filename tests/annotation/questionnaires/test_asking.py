"""A rater meets the questionnaire before the first task and after the last one, never in between, and once."""

import re

import pytest
from django.db import DatabaseError, transaction
from django.test import Client
from django.urls import reverse

from annotation.models import Assignment, Questionnaire, QuestionnaireAnswer, Rater, Study
from annotation.questionnaires.asking import current, due_after, give, save_questions
from annotation.questionnaires.questions import read_questions
from annotation.recruitment.cohorts import make_cohort
from tests.annotation.raters_at_work import make_study, work
from tests.factories import make_rater, make_user

pytestmark = pytest.mark.django_db
BEFORE = [
    {"kind": "choice", "text": "Age group", "options": ["to 30", "over 30"], "required": True},
    {"kind": "text", "text": "Native language"},
]
AFTER = [{"kind": "scale", "text": "Effort", "low": 1, "high": 7, "required": True}]
GOOD = {"c-item0": "2", "c-item1": "2", "c-item2": "2", "c-overall": "5", "active": "90", "idle": "30"}
QUERY = "?PROLIFIC_PID=5f1a&STUDY_ID=s1&SESSION_ID=66a1f0c2d3e4b5a697887654"


def ask(study, moment, questions):
    return save_questions(study, moment, read_questions(questions), by=None)


def version_in(page):
    return re.search(r'name="version" value="(\d+)"', page.content.decode())[1]


@pytest.fixture
def study():
    return make_study(tasks=4, overlap=3, probe_rate=0, quota=2)


@pytest.fixture
def member(study, client):
    user = make_user("rater", study.workspace)
    client.force_login(user)
    return user


def start(client, study):
    return client.post(reverse("annotation:start", args=[study]))


def page_of(study, moment):
    return reverse("annotation:questionnaire", args=[study, moment])


def answer_open(client):
    task = Assignment.objects.get(status="open", shown_at__isnull=False)
    return client.post(reverse("annotation:rate", args=[task.public_id]), GOOD)


def test_before_the_first_task_a_rater_answers_and_goes_on_to_it(client, study, member):
    ask(study, "before", BEFORE)
    assert start(client, study).url == page_of(study, "before")
    assert not Assignment.objects.exists()
    page = client.get(page_of(study, "before"))
    assert "Age group" in page.content.decode()
    version = version_in(page)
    refused = client.post(page_of(study, "before"), {"version": version, "a-native_language": "Irish"})
    assert refused.status_code == 422 and not QuestionnaireAnswer.objects.exists()
    body = refused.content.decode()
    assert body.count("Please answer this question.") == 1 and 'value="Irish"' in body
    sent = {"version": version, "a-age_group": "to_30", "a-native_language": "Irish"}
    done = client.post(page_of(study, "before"), sent)
    task = Assignment.objects.get()
    assert done.url == reverse("annotation:rate", args=[task.public_id])
    given = QuestionnaireAnswer.objects.get()
    assert (given.answers, given.language) == ({"age_group": "to_30", "native_language": "Irish"}, "en")
    assert given.questionnaire.version == 1
    again = client.post(page_of(study, "before"), sent)
    assert again.url == done.url and QuestionnaireAnswer.objects.count() == 1
    assert client.get(page_of(study, "before")).url == reverse("annotation:done", args=[study])


def test_nothing_is_asked_between_two_tasks_and_the_last_one_leads_to_the_questions(client, study, member):
    ask(study, "after", AFTER)
    start(client, study)
    following = answer_open(client)
    assert following.url.startswith("/rate/")
    assert client.get(page_of(study, "after")).url == reverse("annotation:done", args=[study])
    assert answer_open(client).url == page_of(study, "after")
    shown = client.get(reverse("annotation:done", args=[study])).content.decode()
    assert page_of(study, "after") in shown
    version = version_in(client.get(page_of(study, "after")))
    sent = client.post(page_of(study, "after"), {"version": version, "a-effort": "6"})
    assert sent.url == reverse("annotation:done", args=[study])
    assert QuestionnaireAnswer.objects.get().answers == {"effort": 6}
    assert page_of(study, "after") not in client.get(sent.url).content.decode()


def test_a_completion_code_waits_for_required_answers_alone(study):
    cohort = make_cohort(study, "prolific", "crowd")
    ask(study, "before", BEFORE)
    ask(study, "after", AFTER)
    client = Client()
    way_in = reverse("annotation:join", args=[cohort.entry_token]) + QUERY
    client.post(way_in, {"answer": "yes"})
    assert start(client, study).url == page_of(study, "before")
    version = version_in(client.get(page_of(study, "before")))
    client.post(page_of(study, "before"), {"version": version, "a-age_group": "over_30"})
    answer_open(client)
    assert answer_open(client).url == page_of(study, "after")
    done = reverse("annotation:done", args=[study])
    assert cohort.codes["pass"] not in client.get(done).content.decode()
    version = version_in(client.get(page_of(study, "after")))
    client.post(page_of(study, "after"), {"version": version, "a-effort": "1"})
    assert cohort.codes["pass"] in client.get(done).content.decode()


def test_optional_questions_keep_no_code_back(study):
    cohort = make_cohort(study, "prolific", "crowd")
    ask(study, "after", [{**AFTER[0], "required": False}])
    client = Client()
    client.post(reverse("annotation:join", args=[cohort.entry_token]) + QUERY, {"answer": "yes"})
    start(client, study)
    answer_open(client)
    answer_open(client)
    shown = client.get(reverse("annotation:done", args=[study])).content.decode()
    assert cohort.codes["pass"] in shown and page_of(study, "after") in shown


def test_who_began_before_there_were_questions_is_not_held_up(client, study, member):
    start(client, study)
    ask(study, "before", BEFORE)
    ask(study, "after", AFTER)
    assert start(client, study).url.startswith("/rate/")
    answer_open(client)
    answer_open(client)
    rater = Rater.objects.get(user=member)
    due = due_after(rater, study, quota=2, given=2)
    assert due is not None and not due.holds
    assert "Finish without answering" in client.get(page_of(study, "after")).content.decode()


def test_questions_that_changed_meanwhile_are_shown_again_with_what_was_entered(client, study, member):
    ask(study, "before", BEFORE)
    start(client, study)
    old = version_in(client.get(page_of(study, "before")))
    ask(study, "before", [*BEFORE, {"kind": "number", "text": "Years of practice"}])
    again = client.post(page_of(study, "before"), {"version": old, "a-age_group": "to_30"})
    assert again.status_code == 422 and not QuestionnaireAnswer.objects.exists()
    body = again.content.decode()
    assert "Years of practice" in body and re.search(r'value="to_30"\s+checked', body)
    client.post(page_of(study, "before"), {"version": version_in(again), "a-age_group": "to_30"})
    assert QuestionnaireAnswer.objects.get().questionnaire.version == 2


def test_versions_and_answers_cannot_be_changed_or_removed(study):
    asked = ask(study, "before", BEFORE)
    rater = make_rater(study)
    assert give(asked, rater, {"age_group": "to_30"}, language="en")
    assert not give(asked, rater, {"age_group": "over_30"}, language="en")
    assert QuestionnaireAnswer.objects.get().answers == {"age_group": "to_30"}
    for change in (
        lambda: Questionnaire.objects.update(questions=[]),
        lambda: QuestionnaireAnswer.objects.update(answers={}),
        lambda: QuestionnaireAnswer.objects.all().delete(),
        lambda: Questionnaire.objects.all()._raw_delete("default"),
    ):
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            change()


def test_a_version_is_made_only_by_a_change_and_an_empty_one_asks_nothing(study):
    assert ask(study, "before", []) is None
    assert ask(study, "before", BEFORE).version == 1
    assert ask(study, "before", BEFORE).version == 1
    assert ask(study, "before", []).version == 2
    assert current(study, "before") is None
    assert ask(study, "before", BEFORE).version == 3


def test_a_closed_study_and_a_stopped_rater_are_asked_nothing(study):
    ask(study, "after", AFTER)
    rater = make_rater(study)
    work(rater, study, most=2)
    assert due_after(rater, study, quota=2, given=2).holds
    study.status = Study.Status.PAUSED
    assert due_after(rater, study, quota=2, given=2) and not due_after(rater, study, quota=3, given=2)
    study.status = Study.Status.CLOSED
    assert due_after(rater, study, quota=2, given=2) is None
    study.status = Study.Status.OPEN
    assert due_after(rater, study, quota=2, given=0) is None


def test_a_stranger_finds_no_questionnaire(client, study):
    ask(study, "before", BEFORE)
    assert client.get(page_of(study, "before")).status_code == 403
    client.force_login(make_user())
    assert client.get(page_of(study, "before")).status_code == 404
    assert client.post(page_of(study, "before"), {"a-age_group": "to_30"}).status_code == 404
    assert not QuestionnaireAnswer.objects.exists()


def test_hostile_wording_is_text(client, study, member):
    evil = "<script>alert(1)</script>"
    options = [f"{evil} one", "\"'><img src=x onerror=alert(2)>"]
    ask(study, "before", [{"kind": "choice", "text": evil, "options": options}, {"kind": "text", "text": "{{ 7*7 }}"}])
    start(client, study)
    body = client.get(page_of(study, "before")).content.decode()
    assert "<script>alert" not in body and "<img src=x" not in body
    assert "&lt;script&gt;alert(1)" in body and "{{ 7*7 }}" in body
