"""A cohort's study at Prolific, against a small server that stands for it."""

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Event
from annotation.models import ProlificStudy, Rater, Seat
from annotation.policies.policies import Policies
from annotation.prolific.client import ProlificError, study_at_prolific, submissions_of
from annotation.prolific.studies import review, sweep
from annotation.recruitment.cohorts import crowd_id, make_cohort
from annotation.recruitment.expected import part_of_one
from annotation.tasks import sweep_prolific
from tests.annotation.raters_at_work import make_study
from tests.factories import make_user, make_workspace
from tests.fake_prolific import TOKEN, fake_prolific
from tests.markup import markup

pytestmark = pytest.mark.django_db
LONG = "You skipped every text of the study after the first one, although the invitation asked for at least one rating each."


@pytest.fixture
def prolific(settings):
    with fake_prolific() as fake:
        settings.PROLIFIC_API, settings.PROLIFIC_TOKEN = fake.address, TOKEN
        yield fake


@pytest.fixture
def cohort():
    plan = {"hourly_pay": "12.00", "currency": "GBP"}
    return make_cohort(make_study(tasks=6, overlap=3, probe_rate=0, quota=2, plan=plan), "panel", "crowd")


@pytest.fixture
def lead(client, cohort):
    client.force_login(make_user("lead", cohort.study.workspace))
    return client


@pytest.fixture
def attached(cohort, prolific):
    prolific.studies["s1"] = {"id": "s1"}
    return ProlificStudy.objects.create(cohort=cohort, external_id="s1", made_at=timezone.now())


def page(cohort):
    return reverse("annotation:prolific_study", args=[cohort.study, cohort.pk])


def entry(cohort):
    return "http://testserver" + reverse("annotation:join", args=[cohort.entry_token])


def said(answer):
    return markup(answer)


def test_a_draft_has_the_values_of_the_study_and_is_made_once(lead, cohort, prolific):
    lead.post(page(cohort), {"do": "draft", "places": "20"})
    (draft,) = prolific.studies.values()
    part = part_of_one(cohort.study)
    assert draft["reward"] == part.pay_minor and isinstance(draft["reward"], int)
    assert (draft["estimated_completion_time"], draft["total_available_places"]) == (part.minutes, 20)
    assert draft["external_study_url"].startswith(entry(cohort) + "?PROLIFIC_PID={{%PROLIFIC_PID%}}&")
    assert [code["code"] for code in draft["completion_codes"]] == list(cohort.codes.values())
    assert ProlificStudy.objects.get().external_id == "study1"
    lead.post(page(cohort), {"do": "draft", "places": "20"})
    assert len(prolific.studies) == 1
    assert Event.objects.get(verb="draft_prolific_study").after == {"study": "study1"}


def test_a_study_without_pay_or_with_a_senseless_number_becomes_no_draft(lead, cohort, prolific):
    for places in ("0", "-1", "", "100000"):
        assert "Enter the number" in said(lead.post(page(cohort), {"do": "draft", "places": places}, follow=True))
    cohort.study.policies = {"quota": 2}
    cohort.study.save()
    assert Policies.of(cohort.study).expected.hourly_pay is None
    assert "hourly pay" in said(lead.post(page(cohort), {"do": "draft", "places": "5"}, follow=True))
    assert prolific.requests == []


def test_only_a_study_that_leads_to_this_cohort_is_attached(lead, cohort, prolific):
    other = make_cohort(cohort.study, "other", "crowd")
    prolific.studies["s1"] = {"id": "s1", "external_study_url": entry(other) + "?PROLIFIC_PID=x"}
    prolific.studies["s2"] = {"id": "s2", "external_study_url": entry(cohort) + "?PROLIFIC_PID={{%PROLIFIC_PID%}}"}
    refused = lead.post(page(cohort), {"do": "attach", "study_id": "s1"}, follow=True)
    assert "does not lead to the entry link" in said(refused)
    lead.post(page(cohort), {"do": "attach", "study_id": "../users/me"})
    assert not ProlificStudy.objects.exists()
    assert all(path == "/api/v1/studies/s1/" for _method, path, _body in prolific.requests)
    lead.post(page(cohort), {"do": "attach", "study_id": "s2"})
    assert ProlificStudy.objects.get().external_id == "s2"


def at_work(cohort, submission, participant):
    """A participant who joined for this submission and holds a slot."""
    browser = Client()
    link = f"{entry(cohort)}?PROLIFIC_PID={participant}&STUDY_ID=s1&SESSION_ID={submission}"
    browser.post(link, {"answer": "yes"})
    assert browser.post(reverse("annotation:start", args=[cohort.study])).status_code == 302
    return Rater.objects.get(identity__key=crowd_id({"PROLIFIC_PID": participant}).key)


def test_slots_of_returned_and_timed_out_submissions_are_freed_and_no_others(cohort, prolific, attached):
    states = ("RETURNED", "TIMED-OUT", "ACTIVE", "AWAITING REVIEW")
    raters = {
        status: at_work(cohort, prolific.add("s1", number, status, f"p{number}"), f"p{number}")
        for number, status in enumerate(states)
    }
    held = Seat.objects.filter(study=cohort.study, state="held")
    assert held.count() == 4
    sweep_prolific()
    assert set(held.values_list("holder", flat=True)) == {raters["ACTIVE"].pk, raters["AWAITING REVIEW"].pk}
    assert held.count() == 2
    assert sweep(timezone.now) == 0


def test_a_participant_who_came_again_keeps_the_slot_of_the_new_submission(cohort, prolific, attached):
    old, new = prolific.add("s1", 1, "RETURNED", "p1"), prolific.add("s1", 2, "ACTIVE", "p1")
    rater = at_work(cohort, new, "p1")
    assert old != new and sweep(timezone.now) == 0
    assert Seat.objects.filter(holder=rater, state="held").exists()


def test_submissions_beyond_the_first_page_are_read(prolific, attached):
    for number in range(250):
        prolific.add("s1", number, "ACTIVE")
    prolific.add("s2", 999, "ACTIVE")
    assert len(submissions_of("s1")) == 250


def test_approving_asks_first_and_does_it_once(lead, cohort, prolific, attached):
    first, second = prolific.add("s1", 1, "AWAITING REVIEW"), prolific.add("s1", 2, "AWAITING REVIEW")
    active, foreign = prolific.add("s1", 3, "ACTIVE"), prolific.add("s2", 4, "AWAITING REVIEW")
    asked = lead.post(page(cohort), {"do": "ask", "action": "approve", "chosen": [first, active, foreign]})
    assert "Approve and pay" in said(asked) and first in said(asked)
    assert second not in said(asked) and active not in said(asked) and foreign not in said(asked)
    assert not [path for method, path, _body in prolific.requests if method == "POST"]
    sent = {"do": "confirm", "action": "approve", "chosen": [first, active, foreign]}
    for _again in range(2):
        lead.post(page(cohort), sent)
    posted = [path for method, path, _body in prolific.requests if method == "POST"]
    assert posted == [f"/api/v1/submissions/{first}/transition/"]
    assert {one: row["status"] for one, row in prolific.submissions.items()} == {
        first: "APPROVED",
        second: "AWAITING REVIEW",
        active: "ACTIVE",
        foreign: "AWAITING REVIEW",
    }


def test_a_rejection_needs_a_reason_and_a_message(lead, cohort, prolific, attached):
    waiting = prolific.add("s1", 1, "AWAITING REVIEW")
    sent = {"do": "confirm", "action": "reject", "chosen": [waiting]}
    for reason in ({"message": "no", "category": "OTHER"}, {"message": LONG, "category": "BORING"}):
        assert "Choose a reason" in said(lead.post(page(cohort), sent | reason, follow=True))
    assert prolific.submissions[waiting]["status"] == "AWAITING REVIEW"
    lead.post(page(cohort), sent | {"message": LONG, "category": "LOW_EFFORT"})
    assert prolific.submissions[waiting]["status"] == "REJECTED"
    assert prolific.requests[-1][2] == {"action": "REJECT", "rejection_category": "LOW_EFFORT", "message": LONG}


def test_a_refusal_is_told_and_the_rest_is_done(lead, cohort, prolific, attached, monkeypatch):
    first, second = prolific.add("s1", 1, "AWAITING REVIEW"), prolific.add("s1", 2, "AWAITING REVIEW")
    respond = prolific.respond
    monkeypatch.setattr(
        prolific, "respond", lambda method, path, *rest: (403, {}) if first in path else respond(method, path, *rest)
    )
    result = review(attached, {first, second}, "approve", by=make_user("lead", cohort.study.workspace))
    assert (result.done, len(result.refused)) == (1, 1) and "403" in result.refused[0]


@pytest.mark.parametrize(
    "answer", [b"[]", b"no json", b'{"results": 3}', b'{"results": [3]}', b'{"results": [{"id": "../x"}]}']
)
def test_a_senseless_answer_is_an_error_in_words(prolific, attached, answer):
    prolific.answer_with = answer
    with pytest.raises(ProlificError):
        submissions_of("s1")


def test_faults_are_told_without_the_token_and_a_redirect_is_not_followed(lead, cohort, prolific, attached, settings):
    for status in (302, 401, 500):
        prolific.failing = status
        with pytest.raises(ProlificError, match=str(status)) as problem:
            study_at_prolific("s1")
        assert TOKEN not in str(problem.value)
    assert not [path for _method, path, _body in prolific.requests if "elsewhere" in path]
    assert sweep(timezone.now) == 0
    assert "500" in ProlificStudy.objects.get().problem
    assert "HTTP status 500" in said(lead.get(page(cohort)))
    settings.PROLIFIC_API = "http://127.0.0.1:9"
    assert "does not answer" in said(lead.get(page(cohort)))


def test_without_a_token_nothing_is_asked(lead, cohort, prolific, attached, settings):
    settings.PROLIFIC_TOKEN = ""
    assert "PLUMBLINE_PROLIFIC_TOKEN" in said(lead.get(page(cohort)))
    assert sweep(timezone.now) == 0
    lead.post(page(cohort), {"do": "confirm", "action": "approve", "chosen": ["x"]})
    assert prolific.requests == []


def test_only_leads_of_the_study_come_here(client, cohort, prolific, attached):
    public = make_cohort(cohort.study, "all", "public")
    waiting = prolific.add("s1", 1, "AWAITING REVIEW")
    for user in (make_user("rater", cohort.study.workspace), make_user("lead", make_workspace("x"))):
        client.force_login(user)
        assert client.get(page(cohort)).status_code in (403, 404)
        sent = client.post(page(cohort), {"do": "confirm", "action": "approve", "chosen": [waiting]})
        assert sent.status_code in (403, 404)
    assert prolific.requests == []
    client.force_login(make_user("lead", cohort.study.workspace))
    assert client.get(page(cohort)).status_code == 200
    assert client.get(page(public)).status_code == 404
