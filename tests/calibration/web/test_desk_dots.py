"""Raters on the dashboard: a dot for each that opens the rater, agreement with its ceiling, and who is named."""

import pytest
from django.urls import reverse

from annotation.models import Assignment, CheckOutcome
from annotation.policies.policies import CONTROL
from calibration.reports.agreement import agreement_report
from calibration.reports.raters import RATERS, rater_settings
from calibration.reports.registry import report_of
from calibration.web.dashboard import desk_figures_of
from calibration.web.desk.dots import agreement_block, dots_block
from generation.models import Response
from tests.calibration.answered_studies import answered_study
from tests.factories import make_answer, make_user
from tests.markup import markup

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    study = answered_study(instructions=6, judge="gpt-4o")
    Response.objects.update(words=120)
    Assignment.objects.filter(rater__study=study).update(active_seconds=60.0)
    return study


def test_each_rater_has_a_dot_with_n_that_opens_the_rater(study):
    report = report_of(study, RATERS, rater_settings())
    found = dots_block(study, report)
    rates = {row.rater: row for row in report.accuracy.rates}
    for rater in study.raters.filter(kind="person"):
        assert reverse("annotation:rater", args=[study, rater.public_id]) in found.figure
        assert f"{rater.name} (n {rates[rater.name].n})" in found.figure
    assert [row[0] for row in found.table.rows] == ["rater-0", "rater-1", "rater-2"] or len(found.table.rows) == 3
    assert "gpt-4o" not in found.figure


def test_the_ceiling_is_the_agreement_that_its_page_states(study):
    report = agreement_report(study)
    found = agreement_block(report)
    assert found.table.rows[0][2] == report.loo
    assert "human ceiling" in found.figure
    assert "gpt-4o" in found.figure


def test_the_ceiling_names_for_whom_its_intervals_hold():
    study = answered_study(instructions=24, judge="gpt-4o")
    report = agreement_report(study)
    found = agreement_block(report)
    such, these = report.loo_such, report.loo_interval
    assert (
        f"(95 % interval for raters like these {such.low:.2f} to {such.high:.2f}; for exactly these raters "
        in found.answer
    )
    row = found.table.rows[0]
    assert row[3:7] == [such.low, such.high, these.low, these.high]
    assert [column.label for column in found.table.columns[3:7]] == [
        "Raters like these: low",
        "Raters like these: high",
        "These raters: low",
        "These raters: high",
    ]
    assert {len(row) for row in found.table.rows} == {len(found.table.columns)}


def test_the_ceiling_of_few_instructions_has_a_range_that_is_called_so():
    assert "when one instruction is left out) of the time" in agreement_block(agreement_report(answered_study())).answer


def test_files_have_no_links(client, study):
    client.force_login(make_user("lead", study.workspace))
    address = reverse("calibration:desk_figures", args=[study])
    html = markup(client.get(address))
    rater = study.raters.filter(kind="person").first()
    assert f'href="{reverse("annotation:rater", args=[study, rater.public_id])}"' in html
    svg = client.get(address, {"file": "dots.svg"}).content.decode()
    assert "rater-0" in svg and "href" not in svg
    assert client.get(address, {"file": "ceiling.png"})["Content-Type"] == "image/png"


def test_nobody_is_named_for_one_failed_check_and_flags_are_links(client, study):
    rater = study.raters.filter(kind="person").order_by("pk").first()
    control = study.tasks.first()

    def fail(number):
        for place in range(number):
            extra = make_answer(control, rater, {}, status="checked", repeat=10 + CheckOutcome.objects.count() + place)
            CheckOutcome.objects.create(assignment=extra, purpose=CONTROL, passed=False)
        report_of(study, RATERS, rater_settings())
        return [one for one in desk_figures_of(study).named if "quality checks" in one.why]

    control.gold = {"purpose": CONTROL, "expected": {}}
    control.save()
    assert fail(1) == []
    [named] = fail(7)
    assert named.public_id == rater.public_id
    client.force_login(make_user("lead", study.workspace))
    html = markup(client.get(reverse("calibration:desk_figures", args=[study])))
    page = reverse("annotation:rater", args=[study, rater.public_id])
    assert f'<a href="{page}">{rater.name}</a>: fails 100 % of quality checks' in html
    assert "more than a careful rater would fail" in markup(client.get(page))
