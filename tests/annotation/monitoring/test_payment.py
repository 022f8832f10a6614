"""Hours and money owed: what is counted once, who states the pay, and the list to approve or reject."""

import csv
from datetime import UTC, datetime
from decimal import Decimal
from io import StringIO

import pytest
from django.urls import reverse

from accounts.models import Event
from annotation.models import Assignment, CheckOutcome, Cohort, RaterIdentity, TimeCorrection
from annotation.monitoring.checks import fails_checks
from annotation.monitoring.exclusion import exclude
from annotation.monitoring.payment import Decision, payments_of
from annotation.policies.policies import CONTROL, change_policies
from annotation.web.rating.feedback import worked_seconds
from tests.factories import make_answer, make_checklist_study, make_rater, make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db
AT = datetime(2026, 3, 10, 12, 30, tzinfo=UTC)
VALUES = {"item0": 1.0, "item1": 0.5, "item2": 0.0, "overall": 6.0}


@pytest.fixture
def study():
    """ann of Prolific gave four answers of 90 seconds at 12 an hour; bob is a member and gave none."""
    study = make_checklist_study(instructions=4, models=2)
    change_policies(study, plan={"hourly_pay": "12.00", "currency": "GBP"})
    study.refresh_from_db()
    crowd = Cohort.objects.create(study=study, name="Prolific", kind="crowd")
    ann = make_rater(study, label="ann", pseudonym="R1", cohort=crowd)
    RaterIdentity.objects.create(
        rater=ann, cohort=crowd, key="prolific:5f00aa", particulars={"STUDY_ID": "s", "SESSION_ID": "sub77"}
    )
    for task in study.tasks.order_by("pk")[:4]:
        make_answer(task, ann, VALUES, active_seconds=90.0, submitted_at=AT)
    make_rater(study, label="bob", pseudonym="R2")
    return study


@pytest.fixture
def lead(study):
    return make_user("lead", study.workspace)


def payment_of(study, name="R1"):
    return next(row for group in payments_of(study) for row in group.raters if row.rater.name == name)


def test_time_and_money_are_those_of_the_raters_own_page(study):
    ann = study.raters.get(label="ann")
    found = payment_of(study)
    assert (found.answers, found.seconds, found.owed) == (4, 360.0, Decimal("1.20"))
    some = Assignment.objects.filter(rater=ann).first()
    TimeCorrection.objects.create(assignment=some, seconds=200, reason="clock")
    TimeCorrection.objects.create(assignment=some, seconds=270, reason="clock")
    assert payment_of(study).seconds == worked_seconds(ann) == 540.0


def test_an_excluded_answer_is_paid_once_and_shown_apart(study):
    exclude(study, study.raters.get(label="ann"), since=None, reason="a machine", by=None)
    found = payment_of(study)
    assert (found.answers, found.aside) == (4, 4)
    assert (found.owed, found.owed_aside) == (Decimal("1.20"), Decimal("1.20"))
    assert found.decision == Decision.REVIEW
    [crowd] = [group for group in payments_of(study) if group.cohort]
    assert (crowd.answers, crowd.aside, crowd.owed, crowd.hours) == (4, 4, Decimal("1.20"), pytest.approx(0.1))


def test_an_open_or_undone_task_is_no_work(study):
    ann = study.raters.get(label="ann")
    make_answer(study.tasks.order_by("pk").last(), ann, {}, status="open", active_seconds=500.0)
    make_answer(study.tasks.order_by("pk")[5], ann, {}, status="skipped", active_seconds=500.0)
    found = payment_of(study)
    assert (found.answers, found.seconds, found.skipped) == (4, 360.0, 1)


def test_a_cohort_may_state_its_own_pay_per_task(client, study, lead):
    cohort = study.cohorts.get()
    address = reverse("annotation:change_pay", args=[study, cohort.pk])
    client.force_login(lead)
    client.post(address, {"amount": "0.35", "per": "task", "currency": "EUR"})
    found = payment_of(study)
    assert (found.owed, found.pay.by_cohort, found.pay.currency) == (Decimal("1.40"), True, "EUR")
    html = markup(client.get(reverse("annotation:payment", args=[study])))
    assert "EUR 0.35 per task" in html and "stated by the cohort" in html and "EUR 1.40" in html
    client.post(address, {"amount": "-1", "per": "task"})
    assert payment_of(study).owed == Decimal("1.40")
    client.post(address, {"amount": "", "per": "task"})
    assert payment_of(study).pay.by_cohort is False
    assert Event.objects.filter(verb="change_pay").count() == 2


def check_outcomes(study, failed, of):
    ann = study.raters.get(label="ann")
    CheckOutcome.objects.all().delete()
    for place, assignment in enumerate(Assignment.objects.filter(rater=ann)[:of]):
        CheckOutcome.objects.create(assignment=assignment, purpose=CONTROL, passed=place >= failed)


def test_one_failed_check_suggests_nothing(study):
    check_outcomes(study, 1, 1)
    assert payment_of(study).decision == Decision.APPROVE
    check_outcomes(study, 4, 4)
    assert payment_of(study).decision == Decision.APPROVE


def test_many_failed_checks_suggest_a_rejection_with_the_reason(study):
    ann = study.raters.get(label="ann")
    for task in study.tasks.order_by("pk")[4:]:
        make_answer(task, ann, VALUES, active_seconds=90.0, submitted_at=AT)
    check_outcomes(study, 5, 6)
    found = payment_of(study)
    assert (found.decision, found.reason) == (Decision.REJECT, "Failed 5 of 6 checks, more than a careful rater would.")


@pytest.mark.parametrize(
    ("failed", "of", "says"),
    # P(X >= 4 | 5, 0.2) = 5 * 0.2^4 * 0.8 + 0.2^5 = 0.00672; P(X >= 3 | 5, 0.2) = 0.0579; P(X >= 6 | 15, 0.2) = 0.061.
    [(1, 1, False), (4, 4, False), (4, 5, True), (3, 5, False), (6, 15, False), (0, 20, False)],
)
def test_when_failed_checks_say_something(failed, of, says):
    assert fails_checks(failed, of) is says


def test_the_list_of_a_cohort(client, study, lead):
    cohort = study.cohorts.get()
    address = reverse("annotation:approvals", args=[study, cohort.pk])
    client.force_login(lead)
    answer = client.get(address)
    [row] = csv.DictReader(StringIO(answer.content.decode()))
    assert (row["rater"], row["platform"], row["platform_id"], row["submission_id"]) == (
        "R1",
        "prolific",
        "5f00aa",
        "sub77",
    )
    assert (row["submitted"], row["minutes"], row["answers"]) == ("2026-03-10T12:30:00+00:00", "6.0", "4")
    assert (row["suggested_decision"], row["sum"], row["currency"], row["pay_per"]) == (
        "approve",
        "1.20",
        "GBP",
        "hour",
    )
    assert Event.objects.filter(verb="read_identities").count() == 1


@pytest.mark.parametrize(("role", "page", "table"), [("analyst", 200, 404), ("rater", 403, 403), ("lead", 200, 200)])
def test_who_may_read_what(client, study, role, page, table):
    client.force_login(make_user(role, study.workspace))
    cohort = study.cohorts.get()
    assert client.get(reverse("annotation:payment", args=[study])).status_code == page
    assert client.get(reverse("annotation:approvals", args=[study, cohort.pk])).status_code == table
    html = markup(client.get(reverse("annotation:payment", args=[study])))
    assert "5f00aa" not in html
    client.force_login(make_user("lead", make_workspace("elsewhere")))
    assert client.get(reverse("annotation:payment", args=[study])).status_code == 404
    assert client.post(reverse("annotation:change_pay", args=[study, cohort.pk]), {"per": "hour"}).status_code == 404


def test_another_studys_cohort_is_not_found(client, study, lead):
    other = make_checklist_study(slug="other")
    foreign = Cohort.objects.create(study=other, name="Elsewhere", kind="crowd")
    client.force_login(lead)
    assert client.get(reverse("annotation:approvals", args=[study, foreign.pk])).status_code == 404


def test_the_number_of_queries_does_not_grow_with_raters(study, django_assert_max_num_queries):
    for number in range(20):
        make_rater(study, label=f"more {number}", cohort=study.cohorts.get())
    with django_assert_max_num_queries(6):
        payments_of(study)


def test_many_raters_are_turned_over_page_by_page_and_sums_are_those_of_all(client, study, lead, monkeypatch):
    monkeypatch.setattr("annotation.web.monitoring.payment.RATERS_A_PAGE", 1)
    client.force_login(lead)
    address = reverse("annotation:payment", args=[study])
    first, second = (markup(client.get(address + f"?page={n}")) for n in (1, 2))
    assert ">R1</a>" in first and ">R2</a>" not in first
    assert ">R2</a>" in second and ">R1</a>" not in second
    assert "Page 2 of 2" in second and "GBP 1.20" in second
    assert "No one has joined" not in first + second
