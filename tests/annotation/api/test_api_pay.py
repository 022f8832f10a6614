"""Pay over the API: what a cohort states, hours and money owed, the list to approve, and the minimum for completion."""

import csv
from datetime import UTC, datetime
from io import StringIO

import pytest
from django.urls import reverse

from accounts.api.tokens import issue_token
from accounts.models import ApiToken, Event
from annotation.models import Cohort, RaterIdentity
from annotation.policies.policies import Policies, change_policies
from tests.factories import make_answer, make_checklist_study, make_rater, make_user, make_workspace

pytestmark = pytest.mark.django_db
AT = datetime(2026, 3, 10, 12, 30, tzinfo=UTC)
VALUES = {"item0": 1.0, "item1": 0.5, "item2": 0.0, "overall": 6.0}


@pytest.fixture
def study():
    """R1 of Prolific gave four answers of 90 seconds at 12 an hour; R2 is a member and gave none."""
    study = make_checklist_study(instructions=4, models=2)
    change_policies(study, plan={"hourly_pay": "12.00", "currency": "GBP"})
    study.refresh_from_db()
    crowd = Cohort.objects.create(study=study, name="Prolific", kind="crowd")
    ann = make_rater(study, label="ann", pseudonym="R1", cohort=crowd)
    particulars = {"STUDY_ID": "s", "SESSION_ID": "sub77"}
    RaterIdentity.objects.create(rater=ann, cohort=crowd, key="prolific:5f00aa", particulars=particulars)
    for task in study.tasks.order_by("pk")[:4]:
        make_answer(task, ann, VALUES, active_seconds=90.0, submitted_at=AT)
    make_rater(study, label="bob", pseudonym="R2")
    return study


@pytest.fixture
def lead(study):
    return make_user("lead", study.workspace, username="lena")


def send(client, user, name, *parts, method="get", sent=None, scopes=ApiToken.Scope.values, **headers):
    _token, secret = issue_token(user=user, name="script", scopes=scopes)
    content = {} if method == "get" else {"data": sent or {}, "content_type": "application/json"}
    bearer = {"Authorization": f"Bearer {secret}", **headers}
    return getattr(client, method)(reverse(f"api:{name}", args=parts), **content, headers=bearer)


def of(study, *more):
    return study.workspace.slug, study.slug, *more


def test_who_may(client, study):
    cohort, analyst = study.cohorts.get().pk, make_user("analyst", study.workspace)
    calls = [
        ("payments", of(study), "get", None, 200),
        ("cohort_pay", of(study, cohort), "get", None, 200),
        ("cohort_pay", of(study, cohort), "put", {"amount": "1.00"}, 403),
        ("approvals", of(study, cohort), "get", None, 403),
        ("minimum", of(study), "get", None, 200),
        ("minimum", of(study), "put", {"answers": 3}, 403),
    ]
    elsewhere = make_user("owner", make_workspace("elsewhere"), username="else")
    rater, owner = make_user("rater", study.workspace), make_user("owner", study.workspace, username="owner")
    for name, parts, method, sent, for_analyst in calls:
        for user, status in ((elsewhere, 404), (rater, 403), (analyst, for_analyst)):
            answer = send(client, user, name, *parts, method=method, sent=sent)
            assert answer.status_code == status, (name, user)
            assert b"5f00aa" not in answer.content
        needed = {"payments": "ratings", "approvals": "ratings"}.get(name, "change" if method == "put" else "read")
        others = [scope for scope in ApiToken.Scope.values if scope != needed]
        assert send(client, owner, name, *parts, method=method, sent=sent, scopes=others).status_code == 403
    assert not Event.objects.filter(verb__in=("change_pay", "change_study", "read_identities")).exists()


def test_hours_and_money_owed_are_those_of_the_page(client, study, lead):
    (crowd, nobodys) = send(client, lead, "payments", *of(study)).json()
    assert (crowd["name"], crowd["owed"], crowd["answers"], crowd["hours"]) == ("Prolific", "1.20", 4, 0.1)
    assert crowd["pay"] == {"amount": "12.00", "per": "hour", "currency": "GBP", "by_cohort": False}
    (row,) = crowd["raters"]
    assert (row["pseudonym"], row["owed"], row["minutes"]) == ("R1", "1.20", 6.0)
    assert (row["suggested_decision"], row["submitted"]) == ("approve", "2026-03-10T12:30:00Z")
    assert (nobodys["cohort"], nobodys["name"], nobodys["owed"]) == (None, "", "0.00")
    assert nobodys["raters"][0]["suggested_decision"] == "nothing to pay"
    assert "ann" not in str(crowd) and "5f00aa" not in str(crowd)


def test_a_cohort_states_its_own_pay(client, study, lead):
    parts = of(study, study.cohorts.get().pk)
    seen = send(client, lead, "cohort_pay", *parts)
    sent = {"amount": "0.35", "per": "task", "currency": "EUR"}
    changed = send(client, lead, "cohort_pay", *parts, method="put", sent=sent, **{"If-Match": seen["ETag"]})
    assert changed.json() == {**sent, "by_cohort": True} == send(client, lead, "cohort_pay", *parts).json()
    late = send(client, lead, "cohort_pay", *parts, method="put", sent=sent, **{"If-Match": seen["ETag"]})
    assert late.status_code == 412
    assert send(client, lead, "payments", *of(study)).json()[0]["owed"] == "1.40"
    again = send(client, lead, "cohort_pay", *parts, method="put", sent={"amount": None})
    assert again.json() == seen.json() and Event.objects.filter(verb="change_pay", actor=lead).count() == 2


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"amount": "-1"}, "amount: "),
        ({"amount": "1.234"}, "amount: "),
        ({"amount": "NaN"}, "amount: "),
        ({"amount": "123456789.00"}, "amount: "),
        ({}, "amount: "),
        ({"amount": "1", "per": "day"}, "per: "),
        ({"amount": "1", "currency": "pounds sterling"}, "currency: "),
    ],
)
def test_what_is_no_pay_is_refused(client, study, lead, sent, said):
    refused = send(client, lead, "cohort_pay", *of(study, study.cohorts.get().pk), method="put", sent=sent)
    assert refused.status_code == 400 and refused.json()["detail"].startswith(said)
    assert study.cohorts.get().pay is None


def test_the_list_to_approve_is_that_of_the_file(client, study, lead):
    cohort = study.cohorts.get()
    (row,) = send(client, lead, "approvals", *of(study, cohort.pk)).json()
    assert Event.objects.filter(verb="read_identities", actor=lead).count() == 1
    client.force_login(lead)
    file = client.get(reverse("annotation:approvals", args=[study, cohort.pk])).content.decode()
    (line,) = csv.DictReader(StringIO(file))
    assert {name: "" if value is None else str(value) for name, value in row.items()} == line
    assert (row["platform_id"], row["submission_id"], row["sum"]) == ("5f00aa", "sub77", "1.20")
    assert send(client, lead, "approvals", *of(study, cohort.pk + 1)).status_code == 404


def test_the_minimum_for_completion_is_set_whole(client, study, lead):
    none = {"answers": None, "checks": None, "minutes": None}
    seen = send(client, lead, "minimum", *of(study))
    assert seen.json() == none
    sent = {"answers": 3, "checks": 60}
    changed = send(client, lead, "minimum", *of(study), method="put", sent=sent, **{"If-Match": seen["ETag"]})
    assert changed.json() == {**none, **sent}
    study.refresh_from_db()
    assert Policies.of(study).minimum.answers == 3
    late = send(client, lead, "minimum", *of(study), method="put", sent=sent, **{"If-Match": seen["ETag"]})
    assert late.status_code == 412
    for wrong in ({"answers": 0}, {"checks": 101}, {"minutes": 10_001}, {"answers": "many"}):
        refused = send(client, lead, "minimum", *of(study), method="put", sent=wrong)
        assert refused.status_code == 400 and refused.json()["detail"].startswith(next(iter(wrong)))
    assert send(client, lead, "minimum", *of(study), method="put", sent={"minutes": 5}).json() == {**none, "minutes": 5}
    assert Event.objects.filter(verb="change_study", actor=lead).count() == 2


def test_the_number_of_queries_does_not_grow_with_raters(client, study, lead, django_assert_max_num_queries):
    crowd = study.cohorts.get()
    for number in range(3, 20):
        rater = make_rater(study, label=f"r{number}", pseudonym=f"R{number}", cohort=crowd)
        make_answer(study.tasks.first(), rater, VALUES, active_seconds=90.0, submitted_at=AT)
    client.force_login(lead)
    for name, parts in (("payments", of(study)), ("approvals", of(study, crowd.pk))):
        client.get(reverse(f"api:{name}", args=parts))
        with django_assert_max_num_queries(16):
            assert "R19" in str(client.get(reverse(f"api:{name}", args=parts)).json())
