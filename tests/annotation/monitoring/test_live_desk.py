"""The desk's parts that ask for themselves again, the pages behind them, and the counts kept for a large study."""

import threading
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.models import Event
from annotation.answers.recording import Answer, record_answer, skip
from annotation.assignment.new_slots import make_seats
from annotation.assignment.next_task import next_assignment
from annotation.models import Assignment, CheckOutcome, Cohort, DeskTally, Flag, Seat, Standing, Study
from annotation.monitoring import stored_progress
from annotation.monitoring.progress import category_rows, cohort_rows, rater_rows
from annotation.monitoring.stored_progress import keep_spreads, stored_spreads
from annotation.policies.policies import CONTROL
from annotation.tasks import count_desk
from calibration.reports.raters import RATERS, rater_settings
from calibration.reports.registry import report_of
from calibration.web.desk.behaviour import behaviours
from tests.factories import make_answer, make_checklist_study, make_rater, make_user, make_workspace, remove
from tests.markup import markup

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}
VALUES = {"item0": 1.0, "item1": 0.5, "item2": 0.0, "overall": 6.0}
PARTS = ["live_progress", "live_raters", "live_attention"]


@pytest.fixture
def study():
    """Eight tasks of two seats; ann of the crowd answered three and failed a control, bob of no cohort skipped one."""
    study = make_checklist_study(instructions=4, models=2)
    study.policies = {"overlap": 2}
    study.save()
    make_seats(study)
    crowd = Cohort.objects.create(study=study, name="Prolific", kind="crowd")
    ann = make_rater(study, label="ann", pseudonym="R1", cohort=crowd)
    bob = make_rater(study, label="bob", pseudonym="R2")
    for _number in range(3):
        assignment, _progress = next_assignment(ann, study, clock=timezone.now)
        record_answer(assignment=assignment, answers={k: Answer(v) for k, v in VALUES.items()}, clock=timezone.now)
    assignment, _progress = next_assignment(bob, study, clock=timezone.now)
    skip(assignment=assignment, reason="broken", clock=timezone.now)
    control = study.tasks.exclude(assignments__rater=ann).first()
    Seat.objects.filter(task=control).delete()
    control.gold = {"purpose": CONTROL, "expected": {}}
    control.save()
    checked = make_answer(control, ann, VALUES, status="checked", conditions={"control": True})
    CheckOutcome.objects.create(assignment=checked, purpose=CONTROL, passed=False)
    return study


@pytest.fixture
def as_lead(client, study):
    client.force_login(make_user("lead", study.workspace))
    return client


def to(name, study, *more):
    return reverse(f"annotation:{name}", args=[study, *more])


def rater(study, label):
    return study.raters.get(label=label)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize(
    ("role", "status"), [("lead", 200), ("analyst", 200), ("rater", 403), (None, 403), ("elsewhere", 404)]
)
def test_who_may_see_the_parts(client, study, part, role, status):
    if role == "elsewhere":
        client.force_login(make_user("lead", make_workspace("elsewhere")))
    else:
        client.force_login(make_user(role, study.workspace) if role else make_user())
    for headers in ({}, HTMX):
        assert client.get(to(part, study), headers=headers).status_code == status


@pytest.mark.parametrize("part", PARTS)
def test_a_part_is_no_page_and_asks_again_at_its_own_address(as_lead, study, part):
    Flag.objects.create(task=study.tasks.first(), kind="note", text="Ends early")
    html = markup(as_lead.get(to(part, study), headers=HTMX))
    assert "<html" not in html
    assert f'hx-get="{to(part, study)}' in html and 'hx-trigger="every' in html


def test_cohorts_stand_apart(study):
    rows = {row.name: row for row in cohort_rows(study, rater_rows(study))}
    assert (rows["Prolific"].answered, rows["Prolific"].failed, rows["Prolific"].checks) == (3, 1, 1)
    assert (rows[""].raters, rows[""].skipped, rows[""].answered) == (1, 1, 0)


def test_the_desk_shows_cohorts_checks_and_links_to_raters(as_lead, study):
    html = markup(as_lead.get(to("desk", study)))
    assert "Progress by cohort" in html and "Prolific" in html
    assert "1 / 1" in html
    assert to("rater", study, rater(study, "ann").public_id) in html


def test_what_waits_is_counted(as_lead, study):
    task = study.tasks.first()
    Flag.objects.create(task=task, rater=rater(study, "ann"), kind="note", text="Cut off")
    Flag.objects.create(task=task, rater=rater(study, "bob"), kind="appeal", text="Let me in")
    Standing.objects.create(rater=rater(study, "bob"), state="paused")
    html = markup(as_lead.get(to("live_attention", study), headers=HTMX))
    for words in ("1 appeal", "1 rater stopped", "1 note", "Cut off"):
        assert words in html
    assert "Let me in" not in html


def test_an_empty_list_of_waiting_is_quiet(as_lead, study):
    assert "note-warn" not in markup(as_lead.get(to("live_attention", study), headers=HTMX))


@pytest.mark.parametrize("part", PARTS)
def test_queries_of_the_parts_do_not_grow(as_lead, study, part, django_assert_max_num_queries):
    with django_assert_max_num_queries(20) as first:
        as_lead.get(to(part, study), headers=HTMX)
    for number in range(6):
        more = make_rater(study, label=f"more {number}")
        for task in study.tasks.filter(gold__isnull=True):
            make_answer(task, more, VALUES)
    with django_assert_max_num_queries(len(first) + 1):
        as_lead.get(to(part, study), headers=HTMX)


def test_raters_come_in_pages(as_lead, study, monkeypatch):
    monkeypatch.setattr("annotation.web.monitoring.dashboard.RATERS_A_PAGE", 1)
    first = markup(as_lead.get(to("live_raters", study), headers=HTMX))
    second = markup(as_lead.get(to("live_raters", study) + "?page=2", headers=HTMX))
    assert "R1</a>" in first and "R2</a>" not in first
    assert "R2</a>" in second and "R1</a>" not in second


# Counts of a large study, and its disagreements, which a worker measures
def test_the_desk_shows_an_answer_at_once_however_large_the_study(as_lead, study, monkeypatch):
    monkeypatch.setattr(stored_progress, "LARGE", 0)
    monkeypatch.setattr("annotation.tasks.count_desk.delay", lambda pk: pytest.fail("asked a worker"))
    monkeypatch.setattr("annotation.monitoring.progress.counted_tally", lambda study: pytest.fail("counted every row"))
    seen = []
    for name in ("desk", "live_progress"):
        html = markup(as_lead.get(to(name, study)))
        assert "Counting answers." not in html and "Counted at" not in html
        seen.append(next(row.taken for row in category_rows(study) if row.is_group))
        assert f"given {seen[-1]} of the" in html
        cat = make_rater(study, label=f"cat {name}")
        assignment, _progress = next_assignment(cat, study, clock=timezone.now)
        while assignment.task.gold is not None:
            record_answer(assignment=assignment, answers={k: Answer(v) for k, v in VALUES.items()}, clock=timezone.now)
            assignment, _progress = next_assignment(cat, study, clock=timezone.now)
        record_answer(assignment=assignment, answers={k: Answer(v) for k, v in VALUES.items()}, clock=timezone.now)
    assert seen == [3, 4]
    assert not DeskTally.objects.exists()


def test_a_large_studys_disagreements_are_kept_and_asked_for_again(
    study, monkeypatch, django_capture_on_commit_callbacks
):
    asked, now = [], timezone.now()
    keep_spreads(study, clock=lambda: now)
    first = stored_spreads(study, clock=lambda: now, enqueue=asked.append)
    assert (first.at, first.counting, first.spreads, asked) == (now, False, [], [])
    task = study.tasks.filter(gold__isnull=True, assignments__rater=rater(study, "ann")).first()
    Assignment.objects.filter(task=task, rater=rater(study, "bob")).delete()
    make_answer(task, rater(study, "bob"), VALUES | {"overall": 1.0})
    later = now + timedelta(seconds=20)
    with django_capture_on_commit_callbacks(execute=True):
        for _twice in range(2):
            again = stored_spreads(study, clock=lambda: later, enqueue=asked.append)
    assert asked == [study.pk]
    assert again.spreads == first.spreads
    count_desk(study.pk)
    newest = stored_spreads(study, clock=timezone.now, enqueue=asked.append)
    assert [one[0] for one in newest.spreads] == [task.pk]


def test_nobody_waits_for_a_large_studys_disagreements(study, monkeypatch, django_capture_on_commit_callbacks):
    monkeypatch.setattr(stored_progress, "widest_spreads", lambda *_a, **_k: pytest.fail("measured in the request"))
    asked = []
    with django_capture_on_commit_callbacks(execute=True):
        for _twice in range(2):
            found = stored_spreads(study, clock=timezone.now, enqueue=asked.append)
            assert (found.counting, found.spreads) == (True, [])
    assert asked == [study.pk]


def test_where_no_worker_comes_the_web_server_measures_apart_from_the_request(
    study, monkeypatch, django_capture_on_commit_callbacks
):
    now, asked, here = timezone.now(), [], []
    calls = {"enqueue": asked.append, "measure_here": here.append}
    for seconds in (0, 5, 11, 12, 22):
        with django_capture_on_commit_callbacks(execute=True):
            stored_spreads(study, clock=lambda: now + timedelta(seconds=seconds), **calls)  # noqa: B023
    assert (asked, here) == ([study.pk], [study.pk, study.pk])
    keep_spreads(study, clock=lambda: now + timedelta(seconds=23))
    found = stored_spreads(study, clock=lambda: now + timedelta(seconds=24), **calls)
    assert (found.counting, len(here)) == (False, 2)


@pytest.mark.django_db(transaction=True)
def test_a_thread_measures(study, monkeypatch):
    stored_progress._measure_in_thread(study.pk)
    for thread in threading.enumerate():
        if thread.name == f"count-{study.pk}":
            thread.join(20)
    assert DeskTally.objects.get(study=study).counts["spreads"] == []


def test_the_disagreements_of_a_large_study_say_that_they_are_being_measured_and_when_they_were(
    as_lead, study, monkeypatch, django_capture_on_commit_callbacks
):
    monkeypatch.setattr(stored_progress, "LARGE", 1)
    asked = []
    monkeypatch.setattr("annotation.tasks.count_desk.delay", asked.append)
    with django_capture_on_commit_callbacks(execute=True):
        html = markup(as_lead.get(to("disagreements", study)))
    assert asked == [study.pk]
    assert "Counting answers." in html
    count_desk(study.pk)
    html = markup(as_lead.get(to("disagreements", study)))
    assert "Counting answers." not in html
    assert "Counted at" in html


# One rater
def test_a_raters_page(as_lead, study, django_assert_max_num_queries):
    ann = rater(study, "ann")
    with django_assert_max_num_queries(26):
        html = markup(as_lead.get(to("rater", study, ann.public_id)))
    assert "This rater has answered 3 tasks." in html
    assert "1 of 1 checks failed." in html
    assert "check failed" in html


def test_a_raters_page_is_for_those_who_read_results(client, study):
    ann = rater(study, "ann")
    client.force_login(make_user("rater", study.workspace))
    assert client.get(to("rater", study, ann.public_id)).status_code == 403
    client.force_login(make_user("lead", make_workspace("elsewhere")))
    assert client.get(to("rater", study, ann.public_id)).status_code == 404


def test_flat_and_fast_answers_are_seen():
    """Of four answers one says the same to all three items; one took 1 s for 7 words, the others 70 s."""
    study = make_checklist_study(instructions=4, models=1)
    ann = make_rater(study)
    for number, task in enumerate(study.tasks.all()):
        values = dict.fromkeys(VALUES, 0.5) | {"overall": 5} if number == 0 else VALUES
        make_answer(task, ann, values, active_seconds=1.0 if number == 3 else 70.0)
    found = behaviours(report_of(study, RATERS, rater_settings()))[ann.name]
    assert (found.same.flat_tasks, found.same.tasks) == (1, 4)
    assert (found.fast, found.pace.n) == (1, 4)
    assert found.pace.median == pytest.approx(1000)


def test_open_tasks_are_taken_back(as_lead, study):
    bob = rater(study, "bob")
    assignment, _progress = next_assignment(bob, study, clock=timezone.now)
    as_lead.post(to("take_back", study, bob.public_id))
    assert not Seat.objects.filter(holder=bob, state="held").exists()
    assert Assignment.objects.get(pk=assignment.pk).seat is None
    assert Event.objects.filter(verb="release_rater", object_id=study.public_id).exists()


# Notes and self-naming
def test_a_note_is_settled_once(as_lead, study):
    flag = Flag.objects.create(task=study.tasks.first(), kind="note", text="Cut off")
    assert "Cut off" in markup(as_lead.get(to("attention", study)))
    for _twice in range(2):
        as_lead.post(to("settle_flag", study, flag.pk))
    assert "Cut off" not in markup(as_lead.get(to("attention", study)))
    assert "Cut off" in markup(as_lead.get(to("attention", study) + "?settled=1"))
    assert Event.objects.filter(verb="resolve_flag").count() == 1


def test_a_task_that_everybody_skipped_is_listed(as_lead, study):
    task = study.tasks.filter(assignments=None).first()
    for _number in range(2):
        Assignment.objects.create(task=task, rater=make_rater(study), status="skipped", reason="broken")
    html = markup(as_lead.get(to("attention", study)))
    assert "Skipped by every rater" in html and to("set_aside", study, task.public_id) in html


def test_models_that_name_themselves_are_masked_or_dropped(as_lead, study):
    task = study.tasks.filter(assignments=None).first()
    task.response_a.text = "As Claude, I am glad to help."
    task.response_a.save()
    as_lead.post(to("change_self_naming", study), {"do": "scan"})
    html = markup(as_lead.get(to("self_naming", study)))
    assert "<mark>Claude</mark>" in html
    as_lead.post(to("change_self_naming", study), {"do": "mask"})
    assert Study.objects.get(pk=study.pk).policies["mask_self_naming"] is True
    as_lead.post(to("change_self_naming", study), {"do": "unmask"})
    assert "mask_self_naming" not in Study.objects.get(pk=study.pk).policies
    as_lead.post(to("change_self_naming", study), {"do": "drop", "task": task.public_id})
    assert not Seat.objects.filter(task=task).exists()
    assert ">removed<" in markup(as_lead.get(to("self_naming", study)))
    assert Event.objects.filter(verb="drop_task", object_id=task.public_id).count() == 1


def test_a_task_somebody_has_is_not_dropped(as_lead, study):
    task = study.tasks.filter(assignments__status="submitted").first()
    task.response_a.text = "As Claude, I am glad to help."
    task.response_a.save()
    before = Seat.objects.filter(task=task).count()
    as_lead.post(to("change_self_naming", study), {"do": "scan"})
    as_lead.post(to("change_self_naming", study), {"do": "drop", "task": task.public_id})
    assert Seat.objects.filter(task=task).count() == before


@pytest.mark.parametrize("action", ["settle", "mask", "take_back"])
def test_an_analyst_reads_and_does_not_act(client, study, action):
    client.force_login(make_user("analyst", study.workspace))
    flag = Flag.objects.create(task=study.tasks.first(), kind="note", text="Cut off")
    sent = {
        "settle": lambda: client.post(to("settle_flag", study, flag.pk)),
        "mask": lambda: client.post(to("change_self_naming", study), {"do": "mask"}),
        "take_back": lambda: client.post(to("take_back", study, rater(study, "ann").public_id)),
    }
    assert sent[action]().status_code == 404
    assert client.get(to("attention", study)).status_code == 200


# Figures from calibration
def test_figures_of_a_small_study_are_there_at_once(as_lead, study):
    cat = make_rater(study, label="cat")
    for task in study.tasks.filter(gold__isnull=True):
        make_answer(task, cat, VALUES)
    html = markup(as_lead.get(reverse("calibration:desk_figures", args=[study]), headers=HTMX))
    assert "<html" not in html
    assert "Agreement" in html and "As of" in html


def test_figures_of_a_large_study_come_from_a_worker(as_lead, study, monkeypatch, django_capture_on_commit_callbacks):
    sent = []
    monkeypatch.setattr("calibration.tasks.build_report.delay", lambda *given: sent.append(given))
    monkeypatch.setattr("calibration.web.dashboard.refresh_small", lambda study: None)
    address = reverse("calibration:desk_figures", args=[study])
    with django_capture_on_commit_callbacks(execute=True):
        html = markup(as_lead.get(address, headers=HTMX))
        as_lead.get(address, headers=HTMX)
    assert "The figures are being computed" in html
    assert len(sent) == 3


def test_a_large_study_without_new_answers_is_not_measured_again(study, django_capture_on_commit_callbacks):
    asked, now = [], timezone.now()
    keep_spreads(study, clock=lambda: now)

    def seen_after(seconds):
        with django_capture_on_commit_callbacks(execute=True):
            stored_spreads(study, clock=lambda: now + timedelta(seconds=seconds), enqueue=asked.append)

    seen_after(20)
    assert asked == []
    remove(Assignment.objects.filter(task__study=study, status="submitted").first().scores.all())
    seen_after(25)
    assert asked == [study.pk]
