"""What webhooks are told of, by what happens in studies, runs, reports and monitors, and what messages never hold."""

import json
import threading
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from django.db import connections, transaction
from django.utils import timezone

from accounts.models import WebhookDelivery
from annotation.answers.recording import Answer, record_answer
from annotation.assignment import slots
from annotation.assignment.new_slots import make_seats
from annotation.assignment.next_task import next_assignment
from annotation.assignment.rater_progress import NoTaskLeft
from annotation.assignment.rater_status import Cause, pause, resume, stop
from annotation.assignment.slots import announce_if_all_rated
from annotation.models import RaterIdentity, Seat, Study, excluded_shown
from annotation.monitoring.exclusion import exclude
from annotation.policies.policies import change_policies
from annotation.studies.life_cycle import add_overlap, set_status
from calibration.reports.agreement import AGREEMENT, agreement_settings, headline_alpha
from calibration.reports.rankings import RANKINGS, ranking_settings
from calibration.reports.registry import report_of
from generation.execution.states import cancel_run, fail_run
from generation.models import Endpoint, GenerationRun, LanguageModel
from generation.webhooks import events
from generation.webhooks.events import EventName, announce
from generation.webhooks.subscriptions import add_webhook
from judging.judges.making import create_judge
from judging.models import JudgeRun
from judging.monitoring.monitors import create_watch
from judging.runs.life_cycle import JUDGING, start_run
from tests.factories import make_answer, make_checklist_study, make_rater, make_user, plan_run
from tests.judging.monitoring.test_watches import harsher, make_judge, ran, steady
from tests.many_connections import many_connections

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
GOOD = {"item0": Answer(0.0), "item1": Answer(0.75), "item2": Answer(1.0), "overall": Answer(7.0)}


@pytest.fixture
def study():
    study = make_checklist_study(instructions=2, models=2)
    add_webhook(workspace=study.workspace, url="https://example.org/", events=EventName.values)
    return study


def told(event=None):
    rows = WebhookDelivery.objects.order_by("pk")
    return [json.loads(row.body) for row in (rows.filter(event=event) if event else rows)]


def rate_all(study, rater):
    with suppress(NoTaskLeft):
        while True:
            found = next_assignment(rater, study, clock=lambda: NOON)[0]
            record_answer(assignment=found, answers=GOOD, clock=lambda: NOON)


def test_a_closed_study_is_finished_and_a_paused_one_is_not(study):
    lead = make_user("lead", study.workspace)
    set_status(study, Study.Status.PAUSED, by=lead)
    assert told() == []
    set_status(study, Study.Status.CLOSED, by=lead)
    (message,) = told()
    named = {"id": study.public_id, "slug": "essays", "name": "Essays"}
    assert message == {
        "id": message["id"],
        "event": "study.finished",
        "at": message["at"],
        "workspace": "lab",
        "study": named,
        "reason": "closed",
    }
    assert datetime.fromisoformat(message["at"]).tzinfo is not None


def test_a_study_is_finished_with_its_last_slot_and_again_when_more_are_rated(study):
    change_policies(study, overlap=2)
    study.save()
    make_seats(study)
    first, second = make_rater(study), make_rater(study)
    rate_all(study, first)
    assert told() == []
    *others, last = range(study.tasks.count())
    for _task in others:
        given = next_assignment(second, study, clock=lambda: NOON)[0]
        record_answer(assignment=given, answers=GOOD, clock=lambda: NOON)
        assert told() == []
    given = next_assignment(second, study, clock=lambda: NOON)[0]
    record_answer(assignment=given, answers=GOOD, clock=lambda: NOON)
    assert [message["reason"] for message in told("study.finished")] == ["rated"] and last == 3
    record_answer(assignment=given, answers={**GOOD, "item0": Answer(1.0)}, clock=lambda: NOON)
    assert len(told()) == 1, "a revision finishes nothing"
    add_overlap(study, [study.tasks.first()], 1, by=make_user("lead", study.workspace))
    rate_all(study, make_rater(study))
    assert len(told("study.finished")) == 2


def test_while_somebody_still_holds_the_last_slot_nothing_is_finished(study):
    make_seats(study)
    kept = Seat.objects.order_by("draw_key", "pk").values_list("pk", flat=True)[:2]
    Seat.objects.filter(study=study).exclude(pk__in=list(kept)).delete()
    held = [next_assignment(make_rater(study), study, clock=lambda: NOON)[0] for _ in range(2)]
    assert not Seat.objects.filter(state="free").exists()
    record_answer(assignment=held[0], answers=GOOD, clock=lambda: NOON)
    assert told() == []
    record_answer(assignment=held[1], answers=GOOD, clock=lambda: NOON)
    assert len(told("study.finished")) == 1
    with transaction.atomic():
        announce_if_all_rated(study, took_slot=False, clock=lambda: NOON)
    assert len(told()) == 1, "an answer that took no slot, such as to a check, finishes nothing"


@pytest.mark.django_db(transaction=True)
def test_of_two_last_answers_at_once_exactly_one_finishes_the_study(study, tmp_path, monkeypatch):
    monkeypatch.setattr(events, "send_after_commit", lambda *_args, **_options: None)
    make_seats(study)
    kept = Seat.objects.order_by("draw_key", "pk").values_list("pk", flat=True)[:2]
    Seat.objects.filter(study=study).exclude(pk__in=list(kept)).delete()
    held = [next_assignment(make_rater(study), study, clock=lambda: NOON)[0] for _ in range(2)]
    both, found = threading.Barrier(2), []

    def listening(*asked):
        """Both have taken their slots and neither is committed, where the database lets two write at once."""
        with suppress(threading.BrokenBarrierError):
            both.wait(2)
        return events.listening(*asked)

    monkeypatch.setattr(slots, "listening", listening)

    def answer(assignment):
        try:
            record_answer(assignment=assignment, answers=GOOD, clock=lambda: NOON)
            found.append(WebhookDelivery.objects.filter(event="study.finished").count())
        finally:
            connections.close_all()

    with many_connections(tmp_path):
        threads = [threading.Thread(target=answer, args=(one,)) for one in held]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert len(found) == 2 and max(found) == 1


def test_an_answer_that_is_rolled_back_tells_nothing(study):
    make_seats(study)
    Seat.objects.filter(study=study).exclude(pk=Seat.objects.order_by("draw_key").first().pk).delete()
    given = next_assignment(make_rater(study), study, clock=lambda: NOON)[0]
    with transaction.atomic():
        record_answer(assignment=given, answers=GOOD, clock=lambda: NOON)
        assert len(told("study.finished")) == 1
        transaction.set_rollback(True)
    assert told() == []


def test_a_rater_is_paused_once_by_checks_pace_or_lead_and_only_the_pseudonym_is_told(study):
    rater = make_rater(study, label="Anna Adams", pseudonym="R07")
    RaterIdentity.objects.create(rater=rater, name="Anna Adams", key="prolific:5f3c")
    stop(rater, Cause.CHECKS)
    pause(rater, message="You answered carelessly, Anna.", by=None)
    resume(rater, clock=timezone.now, by=None)
    pause(rater, message="You answered carelessly, Anna.", by=None)
    resume(rater, clock=timezone.now, by=None)
    stop(rater, Cause.PACE)
    assert [message["cause"] for message in told("rater.paused")] == ["checks", "lead", "pace"]
    assert told()[0]["rater"] == {"id": rater.public_id, "pseudonym": "R07"}
    assert not any(word in str(told()) for word in ("Anna", "carelessly", "5f3c"))


def test_a_run_is_told_of_when_it_ends_however_it_ends(study):
    endpoint = Endpoint.objects.create(workspace=study.workspace, name="script", kind="scripted")
    model = LanguageModel.objects.create(workspace=study.workspace, name="scripted", endpoint=endpoint)
    run = plan_run(judge=create_judge(model=model), study=study)
    start_run(run, clock=timezone.now)
    fail_run(run, "The endpoint said: text of a response", clock=timezone.now)
    start_run(run, clock=timezone.now)
    run.items.update(status="unscored")
    assert JUDGING.finish_if_done(JudgeRun.objects.get(pk=run.pk), clock=timezone.now)
    assert not JUDGING.finish_if_done(JudgeRun.objects.get(pk=run.pk), clock=timezone.now)
    generated = GenerationRun.objects.create(benchmark=study.benchmark, status="running")
    cancel_run(generated, clock=timezone.now)
    cancel_run(generated, clock=timezone.now)
    about = {"id": run.public_id, "kind": "judging"}
    assert [message["run"] for message in told()] == [
        {**about, "status": "failed"},
        {**about, "status": "finished"},
        {"id": generated.public_id, "kind": "generation", "status": "cancelled"},
    ]
    assert "text of a response" not in str(told())


def answered(study, raters):
    for number, rater in enumerate(raters):
        for place, task in enumerate(study.tasks.order_by("pk")):
            overall = (3 * place + (number > 1) * place * place) % 11
            make_answer(task, rater, {"item0": 0.5, "item1": 0.5, "item2": 0.5, "overall": overall})


def test_a_report_is_told_of_only_when_its_main_number_changes(study):
    answered(study, [make_rater(study), make_rater(study)])
    first = report_of(study, AGREEMENT, agreement_settings())
    report_of(study, RANKINGS, ranking_settings())
    assert told() == [], "the first report changes nothing"
    answered(study, [make_rater(study)])
    report_of(study, AGREEMENT, agreement_settings())
    assert told() == [], "the third rater agrees with the others, as before"
    odd = make_rater(study)
    other = make_rater(study, label="odd")
    for place, task in enumerate(study.tasks.order_by("pk")):
        for rater in (odd, other):
            make_answer(task, rater, {"item0": 0.5, "item1": 0.5, "item2": 0.5, "overall": (7 * place + 5) % 11})
    report_of(study, AGREEMENT, agreement_settings("item0"))
    with excluded_shown():
        report_of(study, AGREEMENT, agreement_settings())
    assert told() == [], "neither a chosen criterion nor the view with excluded answers counts"
    now = report_of(study, AGREEMENT, agreement_settings())
    report_of(study, AGREEMENT, agreement_settings())
    (message,) = told("report.changed")
    assert message["report"] == "agreement" and message["study"]["slug"] == "essays"
    assert message["before"] == round(headline_alpha(first).value, 2) == 1.0
    assert message["after"] == round(headline_alpha(now).value, 2) < 1
    report_of(study, RANKINGS, ranking_settings())
    assert [message["report"] for message in told("report.changed")] == ["agreement", "rankings"]
    for rater in (odd, other):
        exclude(study, rater, since=None, reason="odd", by=make_user("lead", study.workspace))
    report_of(study, AGREEMENT, agreement_settings())
    back = told("report.changed")[-1]
    assert (back["before"], back["after"]) == (message["after"], 1.0), "an exclusion changes it too"


def test_drift_is_told_of_once_with_the_monitor_and_its_round():
    study = make_checklist_study(instructions=12, models=2)
    add_webhook(workspace=study.workspace, url="https://example.org/", events=["drift.found"])
    watch = create_watch(judge=make_judge(study), study=study, every_hours=24, clock=timezone.now)
    ran(watch, steady)
    ran(watch, steady)
    assert told() == []
    run, _calls = ran(watch, harsher)
    (message,) = told()
    assert message["monitor"] == {"id": watch.public_id} and message["run"] == {"id": run.public_id}
    assert (message["event"], message["round"], message["study"]["id"]) == ("drift.found", 3, study.public_id)


def test_a_message_is_small_however_long_the_names_are_and_needs_a_transaction(study):
    study.names = {"zh-hans": "名" * 100_000, "en": ""}
    study.save()
    set_status(study, Study.Status.CLOSED, by=make_user("lead", study.workspace))
    assert told()[0]["study"]["name"] == "名" * 200
    assert len(WebhookDelivery.objects.get().body.encode()) < 8192


@pytest.mark.django_db(transaction=True)
def test_nothing_is_told_outside_of_a_transaction(study):
    with pytest.raises(AssertionError, match="transaction"):
        announce(study.workspace_id, EventName.RUN_FINISHED, {})
