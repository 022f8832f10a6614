"""Reports of a study in progress: the newest stored one is shown, refreshed once at a time, and old ones are deleted."""

import csv
import io
import json
import re
import threading
from datetime import timedelta

import pytest
from django.db import connection, connections
from django.urls import reverse
from django.utils import timezone

from calibration import tasks
from calibration.models import Report, ReportRefresh
from calibration.report_store import pruning, questions, refreshes
from calibration.report_store.pruning import prune
from calibration.report_store.refreshes import PAUSE, computing, pause_after, refresh
from calibration.reports.agreement import AGREEMENT, agreement_report, agreement_settings
from calibration.reports.judges import JUDGES, judges_settings
from calibration.reports.registry import report_of
from core.models import RequestedTask
from judging.comparison.judge_against_people import KIND
from judging.tasks import compare
from tests.calibration.answered_studies import answered_study
from tests.calibration.result_page_checks import HTMX, signed_in, text_of
from tests.factories import make_answer, make_rater
from tests.markup import markup

pytestmark = pytest.mark.django_db
VALUES = {"item0": 1.0, "item1": 0.5, "item2": 0.0, "item3": 0.25, "overall": 6}
WAITING = re.compile(r"waiting=(\d+)")


@pytest.fixture
def study():
    return answered_study(instructions=6)


@pytest.fixture
def lead(study):
    return signed_in("lead", study.workspace)


@pytest.fixture
def sent(monkeypatch):
    """The reports of large studies that were queued, as the arguments of their task."""
    found = []
    monkeypatch.setitem(AGREEMENT.__dict__, "slow_from", 10)
    monkeypatch.setattr(refreshes, "send_after_commit", lambda task, *given: found.append((task, *given)))
    return found


def address(study):
    return reverse("calibration:agreement", args=[study])


def rate(study, number=1):
    """Somebody new answers so many tasks."""
    rater = make_rater(study)
    for task in study.tasks.order_by("pk")[:number]:
        make_answer(task, rater, VALUES)


def work(sent):
    """A worker takes every message."""
    while sent:
        name, *given = sent.pop(0)
        assert name == "calibration.build_report"
        tasks.build_report(*given)


def rested():
    """The pause after computing is over."""
    ReportRefresh.objects.update(ended_at=timezone.now() - timedelta(hours=1))


def test_a_page_shows_the_latest_report_while_people_rate(study, lead, sent):
    agreement_report(study)
    rate(study, 2)
    page = text_of(markup(lead.get(address(study))))
    assert "2 answers have arrived since." in page and "It is being refreshed; this page updates itself." in page
    assert "Computed at" in page and 'class="answer"' in markup(lead.get(address(study)))
    assert len(sent) == 1


def test_the_page_polls_until_a_newer_report_is_there_though_people_go_on_rating(study, lead, sent):
    """Where a report counted only in the very state of the request, the page waited for ever."""
    first = markup(lead.get(address(study)))
    assert WAITING.findall(first) == ["0"] and 'class="answer"' not in first
    poll = address(study) + "?waiting=0"
    assert lead.get(poll, **HTMX).status_code == 204
    rate(study)  # before the worker begins
    work(sent)
    rate(study)  # and after it has ended
    part = markup(lead.get(poll, **HTMX))
    assert 'class="answer"' in part and "<html" not in part
    assert "1 answer has arrived since." in part
    # It rests now, so the page neither polls on nor has it computed again.
    assert WAITING.findall(part) == [] and sent == []
    rested()
    again = markup(lead.get(address(study)))
    newest = str(Report.objects.get().pk)
    assert WAITING.findall(again) == [newest] and len(sent) == 1
    assert lead.get(f"{address(study)}?waiting={newest}", **HTMX).status_code == 204
    work(sent)
    current = markup(lead.get(f"{address(study)}?waiting={newest}", **HTMX))
    assert "arrived since" not in current and WAITING.findall(current) == []


def test_without_javascript_each_visit_is_a_whole_page(study, lead, sent):
    page = lead.get(address(study) + "?waiting=0")
    assert page.status_code == 200 and "<noscript>" in markup(page) and "<html" in markup(page)
    work(sent)
    assert 'class="answer"' in markup(lead.get(address(study) + "?waiting=nonsense"))


def test_two_pages_that_ask_at_once_queue_once(study, sent):
    clock = timezone.now
    found = [refresh(study, "agreement", {}, "calibration.build_report", clock=clock) for _twice in range(2)]
    assert [one.under_way for one in found] == [True, True] and len(sent) == 1


def test_work_that_no_worker_took_is_queued_again_and_done_once(study, sent):
    settings, now = agreement_settings(), timezone.now()
    given = (study, AGREEMENT.name, settings, "calibration.build_report", AGREEMENT.name, settings)
    for later in (0, 9, 11, 12):
        assert refresh(*given, clock=lambda: now + timedelta(minutes=later)).under_way  # noqa: B023
    assert len(sent) == 2
    rate(study)
    tasks.build_report(*sent[0][1:])
    rate(study)
    tasks.build_report(*sent[1][1:])
    assert Report.objects.count() == 1


def test_a_killed_worker_holds_the_report_up_for_no_longer_than_its_lease(study, sent):
    settings, now = agreement_settings(), timezone.now()
    refresh(study, "agreement", settings, "calibration.build_report", clock=lambda: now)
    killed = computing(study, "agreement", settings, clock=lambda: now)
    assert killed.__enter__() is True
    with computing(study, "agreement", settings, clock=lambda: now) as wanted:
        assert not wanted
    soon, later = now + refreshes.AT_WORK / 2, now + 2 * refreshes.AT_WORK
    refresh(study, "agreement", settings, "calibration.build_report", clock=lambda: soon)
    assert len(sent) == 1
    assert refresh(study, "agreement", settings, "calibration.build_report", clock=lambda: later).under_way
    assert len(sent) == 2
    with computing(study, "agreement", settings, clock=lambda: later) as wanted:
        assert wanted
        # The first one was only asleep: it must not end the lease of the other.
        killed.__exit__(None, None, None)
        assert ReportRefresh.objects.get().leased_until is not None
    assert ReportRefresh.objects.get().leased_until is None


def test_a_lease_is_renewed_while_the_worker_computes(study, monkeypatch):
    now, renewed = timezone.now(), []
    monkeypatch.setattr(refreshes, "RENEWED_EVERY", timedelta(milliseconds=1))

    class Rows:
        def filter(self, **_fields):
            return self

        def update(self, **fields):
            renewed.append(fields["leased_until"])
            event.set()

    event, done = threading.Event(), threading.Event()
    thread = threading.Thread(target=refreshes._renew, args=(Rows(), done, lambda: now))
    thread.start()
    assert event.wait(5)
    done.set()
    thread.join()
    assert renewed[0] == now + refreshes.AT_WORK


def test_how_long_a_report_rests_grows_with_its_computing(study, lead, sent):
    assert pause_after(0.1) == refreshes.LEAST_PAUSE and pause_after(60) == timedelta(seconds=60 * PAUSE)
    lead.get(address(study))
    work(sent)
    rate(study)
    ReportRefresh.objects.update(seconds=60.0, ended_at=timezone.now() - timedelta(seconds=590))
    page = text_of(markup(lead.get(address(study))))
    assert sent == [] and "1 answer has arrived since." in page and "refreshed only now and then" in page
    ReportRefresh.objects.update(ended_at=timezone.now() - timedelta(seconds=601))
    lead.get(address(study))
    assert len(sent) == 1


def test_a_report_that_cannot_be_computed_says_so_and_does_not_poll(study, lead, sent, monkeypatch):
    lead.get(address(study))
    with monkeypatch.context() as broken:
        broken.setitem(AGREEMENT.__dict__, "compute", lambda study, settings: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            work(sent)
    page = markup(lead.get(address(study) + "?waiting=0", **HTMX))
    assert "The last attempt to compute it failed" in page and WAITING.findall(page) == []


def test_what_is_asked_while_the_broker_is_away_is_kept_until_it_can_be_sent(study, monkeypatch):
    monkeypatch.setattr("core.background.send", lambda *_given, **_key: False)
    assert refresh(study, "agreement", {}, "calibration.build_report", "agreement", {}).under_way
    kept = RequestedTask.objects.get()
    assert (kept.task, kept.arguments) == ("calibration.build_report", [study.pk, "agreement", {}])


def test_a_report_of_another_shape_or_other_settings_is_never_shown(study, lead, sent, monkeypatch):
    agreement_report(study, "item1")
    with monkeypatch.context() as before:
        before.setattr(questions, "SHAPE", questions.SHAPE - 1)
        agreement_report(study)
    assert Report.objects.count() == 2
    page = markup(lead.get(address(study)))
    assert 'class="answer"' not in page and WAITING.findall(page) == ["0"]


def test_the_files_say_when_they_were_computed(study, lead, sent):
    assert lead.get(address(study) + "?file=page.json").status_code == 202
    work(sent)
    row = Report.objects.get()
    rate(study, 3)
    whole = lead.get(address(study) + "?file=page.json")
    values = json.loads(whole.content)
    assert (values["computed_at"], values["answers_since"]) == (row.created_at.isoformat(), 3)
    names = set(re.findall(r"file=([a-z0-9-]+\.(?:csv|tex|svg|json))", markup(lead.get(address(study)))))
    assert {name.rpartition(".")[2] for name in names} == {"csv", "tex", "svg", "json"}
    for name in names:
        response = lead.get(f"{address(study)}?file={name}")
        assert response["X-Plumbline-Computed-At"] == row.created_at.isoformat()
        assert response["X-Plumbline-Answers-Since"] == "3"
        if name.endswith("csv"):
            assert list(csv.reader(io.StringIO(response.content.decode("utf-8-sig"))))


def test_a_small_study_is_computed_within_the_request(study, lead):
    agreement_report(study)
    rate(study)
    page = markup(lead.get(address(study)))
    assert "arrived since" not in page and WAITING.findall(page) == [] and not ReportRefresh.objects.exists()


def test_the_page_of_judges_shows_the_latest_comparison(lead, sent, monkeypatch):
    study = answered_study(instructions=6, judge="gpt-4o", slug="judged")
    client = signed_in("lead", study.workspace)
    monkeypatch.setattr("judging.web.comparison.pages.is_slow", lambda study: True)
    page = reverse("judging:judges", args=[study])
    assert WAITING.findall(markup(client.get(page))) == ["0"]
    assert sent.pop(0) == ("judging.compare", study.pk, False) and sent == []
    compare(study.pk)
    rate(study)
    shown = text_of(markup(client.get(f"{page}?waiting=0", **HTMX)))
    assert "gpt-4o" in shown and "1 answer has arrived since." in shown and "refreshed only now and then" in shown
    assert Report.objects.filter(kind=KIND).count() == 1 and sent == []


def test_verdicts_that_judges_give_elsewhere_make_it_older_and_not_another_report(study):
    """The settings of this report hold the state of what judges answered beside the study."""
    report_of(study, JUDGES, judges_settings(study))
    newer = {**judges_settings(study), "beside": {"n": 9, "last": 9, "discredited": 0}}
    assert questions.asked_hash_of(study, newer) == Report.objects.get().asked_hash


# --- deletion of old reports ----------------------------------------------------------------------------------


def stored(study, number, asked="a", kind="agreement", shape=questions.SHAPE):
    Report.objects.bulk_create(
        Report(
            workspace=study.workspace,
            study=study,
            kind=kind,
            data_hash=f"{asked}{place}",
            settings={"shape": shape},
            settings_hash=f"{asked}{place}",
            asked_hash=asked,
        )
        for place in range(number)
    )


def test_a_table_that_grew_is_bounded_and_keeps_the_newest(study, monkeypatch):
    monkeypatch.setattr(pruning, "BATCH", 7)
    stored(study, 40)
    stored(study, 2, "b")
    stored(study, 5, "c", kind="raters")
    newest = set(Report.objects.filter(asked_hash="a").order_by("-pk").values_list("pk", flat=True)[:3])
    other = answered_study(instructions=1, slug="other", workspace=study.workspace)
    stored(other, 4, "d")
    assert prune() == 37 + 2 + 1
    assert set(Report.objects.filter(asked_hash="a").values_list("pk", flat=True)) == newest
    assert Report.objects.filter(asked_hash="b").count() == 2 and Report.objects.filter(study=other).count() == 3
    assert prune() == 0


def test_settings_that_addresses_make_up_and_reports_of_old_versions_do_not_fill_it(study, monkeypatch):
    monkeypatch.setattr(pruning, "KEPT_OF_A_KIND", 10)
    for number in range(15):
        stored(study, 1, f"criterion {number}")
    stored(study, 2, "", kind="before")
    stored(study, 2, "old", kind="old", shape=questions.SHAPE - 1)
    assert prune() == 5 + 2 + 2
    assert {row.asked_hash for row in Report.objects.all()} == {f"criterion {number}" for number in range(5, 15)}


def test_the_sweep_deletes_in_turns(study, monkeypatch):
    monkeypatch.setattr(pruning, "BATCH", 2)
    monkeypatch.setattr(pruning, "MOST_BATCHES", 3)
    stored(study, 12)
    tasks.sweep()
    assert Report.objects.count() == 6
    tasks.sweep()
    assert Report.objects.count() == 3


def test_what_nobody_has_asked_for_in_a_week_is_forgotten(study):
    with computing(study, "agreement", {}) as wanted:
        assert wanted
    prune()
    assert ReportRefresh.objects.count() == 1
    prune(clock=lambda: timezone.now() + timedelta(days=8))
    assert not ReportRefresh.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_of_many_web_processes_that_ask_at_once_one_queues(monkeypatch):
    if connection.vendor != "postgresql":
        pytest.skip("the database in memory of SQLite has one connection")
    study, sent = answered_study(instructions=1), []
    monkeypatch.setattr(refreshes, "send_after_commit", lambda *given: sent.append(given))
    barrier = threading.Barrier(8)

    def ask():
        try:
            barrier.wait()
            refresh(study, "agreement", {}, "calibration.build_report")
        finally:
            connections.close_all()

    for _first_and_after_the_lease in range(2):
        threads = [threading.Thread(target=ask) for _one in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(sent) == 1
        sent.clear()
        ReportRefresh.objects.update(leased_until=timezone.now() - timedelta(seconds=1))


def test_the_api_lists_the_newest_report_though_answers_have_arrived_since(study, lead):
    agreement_report(study)
    rate(study)
    agreement_report(study)
    rate(study, 2)
    rows = lead.get(f"/api/v1/w/{study.workspace.slug}/studies/{study.slug}/reports/").json()
    assert [(row["kind"], row["answers_since"]) for row in rows] == [("agreement", 2)]
    assert rows[0]["computed_at"]
