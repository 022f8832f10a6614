"""How long a rater still has to work: by their own pace, by the texts before that, and what it comes to in money."""

from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import translation

from annotation.assignment.rater_progress import Progress, progress_of
from annotation.assignment.time_left import (
    hours_words,
    money,
    own_pace,
    place_words,
    reading_seconds,
    rounded_minutes,
    seconds_a_task,
    time_left,
    words_a_task,
)
from annotation.models import Assignment
from annotation.recruitment.cohorts import make_cohort
from generation.models import Instruction, Response
from tests.annotation.raters_at_work import make_pairs, make_study
from tests.factories import make_rater, make_user
from tests.markup import markup

GOOD = {"c-item0": "2", "c-item1": "2", "c-item2": "2", "c-overall": "5", "active": "30", "idle": "0"}
PAID = {"hourly_pay": "12", "currency": "EUR"}


def progress(submitted, seconds=0.0, timed=0):
    return Progress(submitted=submitted, skipped=0, open=1, active_seconds=seconds, timed=timed)


def test_a_pace_needs_three_answers_whose_time_was_measured():
    assert own_pace(progress(9, 120.0, 2)) is None
    assert own_pace(progress(9, 120.0, 3)) == 40.0


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (1, "about 1 minute left"),
        (61, "about 2 minutes left"),
        (600, "about 10 minutes left"),
        (601, "about 15 minutes left"),
        (1500, "about 25 minutes left"),
        (5400, "about 90 minutes left"),
        (5401, "about 2 hours left"),
        (7300, "about 2.5 hours left"),
    ],
)
def test_the_time_left_is_rounded_up_to_what_a_person_would_say(seconds, said):
    with translation.override("en"):
        assert time_left(seconds) == said


def test_the_place_of_a_rater():
    with translation.override("en"):
        assert place_words(progress(17), 40, 65.0) == "17 of 40, about 25 minutes left"
        assert place_words(progress(40), 40, 65.0) == "40 of 40"
        assert place_words(progress(41), 40, 65.0) == "41 of 40"
        assert place_words(progress(17), 40, 0.0) == "17 of 40"
        assert place_words(progress(17), None, 65.0) == "17 answered"


def test_money_is_rounded_to_the_cent_half_up():
    assert money(Decimal("16.005"), "EUR") == "EUR 16.01"
    assert money(Decimal(3), "") == "3.00"


@pytest.mark.django_db
def test_before_there_is_a_pace_the_texts_are_read_slowly():
    """175 words a minute and 8 seconds for each of the four questions of the checklist."""
    study = make_study(tasks=2)
    Response.objects.update(words=350)
    Instruction.objects.update(messages=[{"role": "user", "content": "Write " * 175}])
    assert words_a_task(study) == 350.0
    assert seconds_a_task(study) == reading_seconds(525, 4) == 180.0 + 32.0
    Response.objects.update(words=None)
    assert words_a_task(study) == 300.0


@pytest.mark.django_db
def test_both_responses_of_a_pair_are_read():
    study = make_pairs(tasks=2)
    Response.objects.update(words=100)
    assert words_a_task(study) == 200.0


@pytest.mark.django_db
def test_hours_and_pay_only_where_the_study_shows_them():
    study = make_study(tasks=1, plan=PAID)
    with translation.override("en"):
        assert hours_words(study, 4800) == ""
        study.policies["show_hours"] = True
        assert hours_words(study, 4800) == "1 h 20 min of work, EUR 16.00"
        study.policies.pop("plan")
        assert hours_words(study, 4859) == "1 h 20 min of work"


@pytest.mark.django_db
def test_the_page_of_a_task_says_where_its_rater_is(client):
    study = make_study(tasks=5, quota=5, show_hours=True, plan=PAID, probe_rate=0, reading_pace={"words": 0})
    rater = make_rater(study, make_user("rater", study.workspace))
    client.force_login(rater.user)
    page = client.post(reverse("annotation:start", args=[study]), follow=True)
    assert "0 of 5, about " in markup(page)
    for number in range(1, 5):
        current = Assignment.objects.get(rater=rater, status="open")
        address = reverse("annotation:rate", args=[current.public_id])
        Assignment.objects.filter(pk=current.pk).update(shown_at="2020-01-01T00:00:00Z")
        page = client.post(address, GOOD | {"active": "90"}, follow=True)
        assert f"{number} of 5" in markup(page)
    html = markup(page)
    assert "4 of 5, about 2 minutes left" in html
    assert "0 h 06 min of work, EUR 1.20" in html
    assert progress_of(rater).timed == 4


@pytest.mark.django_db
def test_an_invitation_says_how_many_how_long_and_what_is_paid(client):
    study = make_study(tasks=4, overlap=3, quota=3, plan=PAID)
    Response.objects.update(words=875)
    Instruction.objects.update(messages=[])
    cohort = make_cohort(study, "everybody", "public")
    address = reverse("annotation:join", args=[cohort.entry_token])
    html = markup(client.get(address))
    assert "You are invited to rate 3 texts." in html
    assert "This takes about 20 minutes." in html  # 3 times 300 + 32 seconds
    assert "EUR" not in html
    study.policies["show_hours"] = True
    study.save()
    assert "The pay is EUR 12.00 per hour, which is about EUR 3.32 for all of them." in markup(client.get(address))
    study.policies = {"plan": PAID | {"raters": 5}}
    study.save()
    assert "You are invited to rate about 3 texts." in markup(client.get(address))


def test_minutes_are_rounded_up():
    assert [rounded_minutes(seconds) for seconds in (0, 60, 599, 661)] == [1, 1, 10, 15]
