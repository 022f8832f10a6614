"""The pace on the dashboard: what it counts, when it expects the end, and its files."""

from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse

from annotation.assignment.new_slots import make_seats
from annotation.models import Assignment, Seat, Study
from annotation.monitoring.exclusion import exclude
from annotation.monitoring.pace import ratings_by_hour
from annotation.monitoring.progress import category_rows, totals
from calibration.reports.progress.pace import DAY, HOUR, PaceReport, recent_periods
from calibration.statistics.errors import NoStatistic
from calibration.web.desk.pace import pace_block
from tests.factories import make_answer, make_checklist_study, make_rater, make_user
from tests.markup import markup

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 3, 10, 12, 30, tzinfo=UTC)
VALUES = {"item0": 1.0, "item1": 0.5, "item2": 0.0, "overall": 6.0}


@pytest.fixture
def study():
    """24 tasks of one slot; ann answered 12, three on each of four days."""
    study = make_checklist_study(instructions=12, models=2)
    study.policies = {"overlap": 1}
    study.save()
    make_seats(study)
    ann = make_rater(study, label="ann")
    for place, task in enumerate(study.tasks.order_by("pk")[:12]):
        seat = task.seats.get()
        Seat.objects.filter(pk=seat.pk).update(state="taken", holder=ann)
        at = NOW - timedelta(days=4 - place // 3) + timedelta(minutes=place)
        make_answer(task, ann, VALUES, seat=seat, submitted_at=at)
    return study


def block_of(study, now=NOW):
    hours = ratings_by_hour(study)
    report = PaceReport(study.slug, [hour.isoformat() for hour, _n in hours], [n for _hour, n in hours])
    return pace_block(study, report, totals(category_rows(study)), now)


def test_it_counts_what_the_dashboard_counts(study):
    assert sum(n for _hour, n in ratings_by_hour(study)) == totals(category_rows(study)).taken == 12
    bob = make_rater(study, label="bob")
    task = study.tasks.order_by("pk").last()
    make_answer(task, bob, VALUES, status="surplus", submitted_at=NOW)
    make_answer(task, make_rater(study, label="cat"), VALUES, status="excluded", submitted_at=NOW)
    assert sum(n for _hour, n in ratings_by_hour(study)) == totals(category_rows(study)).taken == 12


def test_excluded_answers_leave_the_pace_and_the_progress_together(study):
    exclude(study, study.raters.get(), since=None, reason="a machine", by=None)
    assert ratings_by_hour(study) == []
    assert totals(category_rows(study)).taken == 0
    assert block_of(study) is None


def test_an_even_pace_names_the_day_and_says_that_it_is_an_estimate(study):
    found = block_of(study)
    assert "12 ratings are still needed." in found.answer
    assert "Raters gave 3.0 ratings a day in the last 4 days." in found.answer
    assert "The last rating is expected about 2026-03-14 (UTC)." in found.answer
    assert "This is an estimate" in found.answer
    assert [row[1:] for row in found.table.rows] == [[3, 12], [3, 9], [3, 6], [3, 3]]
    assert "24 ratings needed" in found.figure


def test_no_end_where_nothing_supports_one(study):
    Study.objects.filter(pk=study.pk).update(status="paused")
    study.refresh_from_db()
    assert "The study is not open" in block_of(study).answer
    study.status = "open"
    later = block_of(study, NOW + timedelta(days=30)).answer
    assert "that needs at least 3 hours since the first one, and at least 10 ratings within the last 7 days" in later
    Seat.objects.filter(study=study).exclude(state="taken").delete()
    assert block_of(study).answer == "All the ratings needed have been given."


def test_periods_are_hours_first_and_days_later():
    begun = NOW.replace(minute=0)
    young = recent_periods([(begun, 5), (begun + HOUR, 7)], begun + timedelta(hours=4, minutes=59))
    assert (young.counts, young.period) == ([5, 7, 0, 0], HOUR)
    old = recent_periods([(begun, 5), (begun + 9 * DAY, 7)], begun + 10 * DAY)
    assert (old.counts, old.period) == ([0, 0, 0, 0, 0, 0, 7], DAY)
    with pytest.raises(NoStatistic):
        recent_periods([(begun, 50)], begun + timedelta(hours=2))


def test_the_dashboard_shows_it_with_its_files(client, study):
    client.force_login(make_user("lead", study.workspace))
    address = reverse("calibration:desk_figures", args=[study])
    html = markup(client.get(address))
    assert f'{address}?file=pace.svg"' in html
    svg = client.get(address, {"file": "pace.svg"})
    assert svg["Content-Type"] == "image/svg+xml"
    assert b"24 ratings needed" in svg.content
    table = client.get(address, {"file": "pace.csv"}).content.decode().splitlines()
    assert len(table) == 1 + 4
    assert client.get(address, {"file": "nothing.svg"}).status_code == 404
    client.force_login(make_user("rater", study.workspace))
    assert client.get(address, {"file": "pace.svg"}).status_code == 403
    assert Assignment.objects.filter(task__study=study).count() == 12
