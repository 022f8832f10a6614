"""Every flag on the dashboard leads to what it speaks of, and has the one action that settles it."""

import re

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.assignment.new_slots import make_seats
from annotation.assignment.next_task import next_assignment
from annotation.models import Assignment, BrowserRequest, CheckOutcome, Cohort, Flag, Participant, Seat, Standing
from annotation.policies.policies import CONTROL
from tests.factories import make_answer, make_checklist_study, make_rater, make_user
from tests.markup import markup

pytestmark = pytest.mark.django_db
VALUES = {"item0": 1.0, "item1": 0.5, "item2": 0.0, "overall": 6.0}


@pytest.fixture
def study():
    study = make_checklist_study(instructions=12, models=1)
    study.policies = {"overlap": 2}
    study.save()
    make_seats(study)
    return study


@pytest.fixture
def as_lead(client, study):
    client.force_login(make_user("lead", study.workspace))
    return client


def to(name, study, *more):
    return reverse(f"annotation:{name}", args=[study, *more])


def attention(client, study):
    return markup(client.get(to("live_attention", study)))


def flag_with(html, words):
    """The list item that has these words."""
    [found] = [item for item in re.findall(r"<li class=\"row small\">.*?</li>", str(html)) if words in item]
    return found


def test_a_stopped_rater_is_resumed_on_the_dashboard(as_lead, study):
    rater = make_rater(study, label="bob")
    Standing.objects.create(rater=rater, state="paused", cause="pace")
    flag = flag_with(attention(as_lead, study), "is stopped")
    assert to("rater", study, rater.public_id) in flag and "csrfmiddlewaretoken" in flag
    address = re.search(r'action="([^"]+)"', flag).group(1)
    answer = as_lead.post(address, {"do": "resume", "next": "desk"})
    assert answer.url == to("desk", study) + "#attention"
    assert Standing.objects.get(rater=rater).state == "rating"
    assert "is stopped" not in attention(as_lead, study)


def test_a_stopped_raters_open_task_is_given_to_others_after_a_question(as_lead, study):
    rater = make_rater(study, label="bob")
    assignment, _progress = next_assignment(rater, study, clock=timezone.now)
    Standing.objects.update_or_create(rater=rater, defaults={"state": "paused"})
    flag = flag_with(attention(as_lead, study), "still has 1 task open")
    assert "<form" not in flag
    address = re.search(r'class="button[^"]*" href="([^"]+)"', flag).group(1).replace("&amp;", "&")
    page = markup(as_lead.get(address))
    assert '<details id="release" open>' in page
    assert Seat.objects.get(pk=assignment.seat_id).state == "held"
    answer = as_lead.post(to("take_back", study, rater.public_id), {"next": "desk"})
    assert answer.url == to("desk", study) + "#attention"
    assert Seat.objects.get(pk=assignment.seat_id).state == "free"


def test_a_note_leads_to_its_task_and_rater_and_is_resolved(as_lead, study):
    rater, task = make_rater(study, label="ann"), study.tasks.first()
    flag = Flag.objects.create(task=task, rater=rater, kind="note", text="Ends early")
    shown = flag_with(attention(as_lead, study), "Ends early")
    for address in (to("rater", study, rater.public_id), to("task", study, task.public_id)):
        assert address in shown
    answer = as_lead.post(to("settle_flag", study, flag.pk), {"next": "desk"})
    assert answer.url == to("desk", study) + "#attention"
    assert "Ends early" not in attention(as_lead, study)


def test_an_appeal_leads_to_the_rater_where_it_is_read_and_decided(as_lead, study):
    rater = make_rater(study, label="bob")
    Standing.objects.create(rater=rater, state="paused")
    Flag.objects.create(task=study.tasks.first(), rater=rater, kind="appeal", text="I read every word.")
    flag = flag_with(attention(as_lead, study), "appeals")
    address = to("rater", study, rater.public_id)
    assert f'href="{address}#actions"' in flag
    page = markup(as_lead.get(address))
    assert "I read every word." in page and 'value="resume"' in page


def test_a_task_that_nobody_could_rate_leads_to_its_removal(as_lead, study):
    task = study.tasks.first()
    for _number in range(2):
        Assignment.objects.create(task=task, rater=make_rater(study), status="skipped", reason="broken")
    flag = flag_with(attention(as_lead, study), "2 raters skipped it")
    assert to("task", study, task.public_id) in flag
    assert f'href="{to("attention", study)}#skipped"' in flag


def test_a_request_of_another_browser_is_decided_where_the_warning_stands(as_lead, study):
    rater = make_rater(study, label="bob", cohort=Cohort.objects.create(study=study, name="Crowd", kind="crowd"))
    participant = Participant.objects.create(study=study, rater=rater, mark="m")
    BrowserRequest.objects.create(participant=participant, browser="b", number="1234", at=timezone.now())
    flag = flag_with(attention(as_lead, study), "another browser (request 1234)")
    assert f'href="{to("cohorts", study)}#browsers"' in flag and "<form" not in flag


def test_who_only_reads_results_has_no_actions(client, study):
    client.force_login(make_user("analyst", study.workspace))
    Standing.objects.create(rater=make_rater(study, label="bob"), state="paused")
    Flag.objects.create(task=study.tasks.first(), kind="note", text="Ends early")
    html = attention(client, study)
    assert "Ends early" in html and "is stopped" in html
    assert "<form" not in html and 'class="button' not in html


def test_an_action_needs_the_form_of_the_page(study):
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(make_user("lead", study.workspace))
    rater = make_rater(study, label="bob")
    Standing.objects.create(rater=rater, state="paused")
    address, sent = to("change_rater", study, rater.public_id), {"do": "resume", "next": "desk"}
    assert strict.post(address, sent).status_code == 403
    page = strict.get(to("live_attention", study)).content.decode()
    token = re.search(r"csrfmiddlewaretoken\W+value=\W*(\w+)", page).group(1)
    assert strict.post(address, {**sent, "csrfmiddlewaretoken": token}).status_code == 302
    assert Standing.objects.get(rater=rater).state == "rating"


@pytest.mark.parametrize("next_", ["https://elsewhere.example/", "//elsewhere.example", "rater"])
def test_an_action_leads_nowhere_else(as_lead, study, next_):
    rater = make_rater(study, label="bob")
    Standing.objects.create(rater=rater, state="paused")
    answer = as_lead.post(to("change_rater", study, rater.public_id), {"do": "resume", "next": next_})
    assert answer.url == to("cohorts", study)


def figures(client, study):
    return markup(client.get(reverse("calibration:desk_figures", args=[study])))


def test_who_fails_checks_is_excluded_and_then_named_no_more(as_lead, study):
    rater = make_rater(study, label="ann")
    for task in study.tasks.all():
        make_answer(task, rater, VALUES)
    control = study.tasks.first()
    control.gold = {"purpose": CONTROL, "expected": {}}
    control.save()
    for place in range(6):
        given = make_answer(control, rater, {}, status="checked", repeat=10 + place)
        CheckOutcome.objects.create(assignment=given, purpose=CONTROL, passed=False)
    html = figures(as_lead, study)
    assert f'<a href="{to("rater", study, rater.public_id)}">ann</a>: fails 100 % of quality checks' in html
    address = to("exclusion", study, rater.public_id)
    assert f'href="{address}"' in html
    as_lead.post(address, {"reason": "Did not read."})
    assert "fails 100" not in figures(as_lead, study)


def test_who_does_not_read_is_paused_and_who_answers_alike_is_written_to(as_lead, study):
    quick, flat = make_rater(study, label="quick"), make_rater(study, label="flat")
    others = [make_rater(study, label=f"other {number}") for number in range(3)]
    for place, task in enumerate(study.tasks.all()):
        for rater in others:
            make_answer(task, rater, VALUES | {"overall": float(place % 9)}, active_seconds=60.0)
        make_answer(task, quick, VALUES | {"overall": float(place % 9)}, active_seconds=2.0)
        same = dict.fromkeys(VALUES, 0.5) | {"overall": 5.0}
        make_answer(task, flat, same, active_seconds=60.0)
    html = figures(as_lead, study)
    pause = f"{to('rater', study, quick.public_id)}?do=pause&amp;next=desk#actions"
    write = f"{to('rater', study, flat.public_id)}?do=message&amp;next=desk#actions"
    assert f'href="{pause}"' in html and f'href="{write}"' in html
    page = markup(as_lead.get(pause.replace("&amp;", "&")))
    assert "<details open>" in page and 'name="next" value="desk"' in page
    answer = as_lead.post(to("change_rater", study, quick.public_id), {"do": "pause", "next": "desk"})
    assert answer.url == to("desk", study) + "#attention"
    html = figures(as_lead, study)
    assert pause not in html and "Paused" in html
