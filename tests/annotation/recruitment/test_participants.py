"""A participant's id is no credential: who may go on as a rater, by what, and what a stranger with the id gets."""

import json
import re
from datetime import timedelta
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Event
from annotation.models import (
    Assignment,
    BrowserRequest,
    Draft,
    Guideline,
    Participant,
    Rater,
    RaterIdentity,
    Score,
    Seat,
    Standing,
)
from annotation.recruitment.cohorts import CrowdId, erase_identity, join, make_cohort
from annotation.recruitment.participants import MOST_REQUESTS, MOST_TRIES, participant_of
from annotation.recruitment.participation import COOKIE
from tests.annotation.raters_at_work import make_study
from tests.factories import make_user
from tests.markup import markup

pytestmark = pytest.mark.django_db
GOOD = {"c-item0": "2", "c-item1": "2", "c-item2": "2", "c-overall": "5", "active": "90", "idle": "30"}
SESSION = "66a1f0c2d3e4b5a697887654"
OTHER_SESSION = "77b2e1d3c4f5a6b798996543"


@pytest.fixture(scope="module")
def private():
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.fixture
def study():
    study = make_study(tasks=6, overlap=3, probe_rate=0, quota=4)
    study.guideline = Guideline.objects.create(workspace=study.workspace, key="fair", texts={"en": "# Be fair"})
    study.save()
    return study


@pytest.fixture
def crowd(study):
    return make_cohort(study, "prolific", "crowd")


@pytest.fixture
def public(study):
    return make_cohort(study, "everybody", "public")


def link(cohort, pid="5f1a", session=SESSION, **further):
    address = reverse("annotation:join", args=[cohort.entry_token])
    if cohort.kind != "crowd":
        return address
    given = {"PROLIFIC_PID": pid, "STUDY_ID": "s1", "SESSION_ID": session, **further}
    return address + "?" + "&".join(f"{name}={value}" for name, value in given.items() if value)


def done(study):
    return reverse("annotation:done", args=[study])


def start(client, study):
    return client.post(reverse("annotation:start", args=[study]))


def go_in(client, address, study):
    """Through consent and guideline as a browser goes, to the first task."""
    client.get(address)
    client.post(address, {"answer": "yes"}, follow=True)
    client.post(address, {"read": "1"}, follow=True)
    response = start(client, study)
    return Assignment.objects.get(public_id=response["Location"].split("/")[-2])


def rate_url(assignment):
    return reverse("annotation:rate", args=[assignment.public_id])


def is_way_back(response):
    return response.status_code == 403 and "open the study again by the link" in text_of(response)


def text_of(response):
    return re.sub(r"\s+", " ", markup(response))


class TestAStrangerWithTheId:
    """Another requester knows the worker's id, and has the study's link; not the submission's id."""

    @pytest.fixture
    def victim(self, client, study, crowd):
        first = go_in(client, link(crowd), study)
        client.post(rate_url(first), GOOD)
        return client

    def everything(self):
        return (
            list(Score.objects.order_by("pk").values_list("pk", "value")),
            list(Assignment.objects.order_by("pk").values_list("pk", "status", "rater")),
            list(Seat.objects.order_by("pk").values_list("pk", "state", "holder")),
            list(Standing.objects.values_list("rater", "state")),
            Rater.objects.count(),
            Draft.objects.count(),
        )

    @pytest.mark.parametrize("session", ["", "x1", OTHER_SESSION])
    def test_sees_changes_and_completes_nothing_takes_no_seat_and_is_told_what_to_do(
        self, victim, study, crowd, session
    ):
        before = self.everything()
        stranger = Client()
        page = stranger.get(link(crowd, session=session))
        html = text_of(page)
        assert page.status_code == 403
        assert "began this study in another browser" in html
        assert "Ask the lead" in html and 'name="code"' in html
        assert not re.search(r"\bR1\b", html)
        assert not any(code in html for code in crowd.codes.values())
        for fields in ({"answer": "yes"}, {"answer": "no"}, {"read": "1"}, {"do": "continue"}, {"do": "anew"}):
            assert stranger.post(link(crowd, session=session), fields).status_code == 403
        assert COOKIE not in stranger.cookies
        for assignment in Assignment.objects.all():
            assert is_way_back(stranger.get(rate_url(assignment)))
            assert is_way_back(stranger.post(rate_url(assignment), GOOD))
        assert is_way_back(start(stranger, study))
        assert is_way_back(stranger.get(done(study)))
        assert self.everything() == before

    def test_the_victim_goes_on_undisturbed(self, victim, study, crowd):
        Client().get(link(crowd, session=OTHER_SESSION))
        assert "first text is ready" in text_of(victim.get(link(crowd)))
        assert "/rate/" in start(victim, study)["Location"]

    def test_a_submission_id_that_several_came_with_is_no_proof(self, victim, study, crowd):
        shared = "the-same-for-everybody"
        go_in(Client(), link(crowd, "aaaa", shared), study)
        assert Client().get(link(crowd, "aaaa", shared)).status_code == 200
        go_in(Client(), link(crowd, "bbbb", shared), study)
        assert Client().get(link(crowd, "aaaa", shared)).status_code == 403

    def test_losing_the_race_for_a_new_id_makes_the_browser_nobodys(self, study, crowd, monkeypatch):
        """Between the look at who is known and the consent, somebody else came in with the id."""
        stranger = Client()
        stranger.get(link(crowd))
        join(crowd, consent="", clock=timezone.now, crowd=CrowdId("prolific", "prolific:5f1a", {}))
        monkeypatch.setattr("annotation.recruitment.other_browsers.participant_of", lambda study, crowd: None)
        stranger.post(link(crowd, session=OTHER_SESSION), {"answer": "yes"})
        assert COOKIE not in stranger.cookies
        assert Rater.objects.count() == 1


class TestOneParticipantOneRater:
    def test_who_declined_is_known_in_a_fresh_browser_and_by_another_cohort(self, client, study, crowd):
        client.get(link(crowd))
        client.post(link(crowd), {"answer": "no"})
        assert not RaterIdentity.objects.exists()
        assert "5f1a" not in str(list(Participant.objects.values()))
        second = make_cohort(study, "second wave", "crowd")
        for address in (link(crowd), link(crowd, session=OTHER_SESSION), link(second)):
            fresh = Client()
            fresh.get(address)
            fresh.post(address, {"answer": "yes"})
            assert Rater.objects.count() == 1
            assert not Assignment.objects.exists()
        assert Standing.objects.get().state == "screened_out"

    def test_the_same_submission_in_a_fresh_browser_reads_the_refusal_again(self, client, study, crowd):
        client.post(link(crowd), {"answer": "no"})
        fresh = Client()
        fresh.post(link(crowd), {"do": "continue"})
        html = text_of(fresh.get(done(study)))
        assert crowd.codes["screened_out"] in html
        assert start(fresh, study)["Location"] == done(study)
        assert not Assignment.objects.exists()

    def test_forgetting_who_somebody_is_makes_no_second_rater(self, client, study, crowd):
        go_in(client, link(crowd), study)
        erase_identity(Rater.objects.get(), by=None)
        assert Client().get(link(crowd, session=OTHER_SESSION)).status_code == 403
        assert "first text is ready" in text_of(client.get(link(crowd)))
        assert Rater.objects.count() == 1

    def test_who_came_in_before_participants_were_kept_is_known(self, study, crowd):
        crowd_id = CrowdId("prolific", "prolific:5f1a", {"SESSION_ID": SESSION})
        rater = join(crowd, consent="", clock=timezone.now, crowd=crowd_id)
        Participant.objects.all().delete()
        assert Client().get(link(crowd, session=OTHER_SESSION)).status_code == 403
        assert "Continue as R1" in text_of(Client().get(link(crowd)))
        assert participant_of(study, crowd_id).rater == rater

    def test_ids_and_secrets_are_kept_as_keyed_hashes_only(self, client, study, crowd):
        go_in(client, link(crowd), study)
        kept = str(list(Participant.objects.values()))
        secret = client.cookies["plumbline-browser"].value.split(":")[0]
        assert SESSION not in kept and "5f1a" not in kept and secret not in kept


class TestAnotherBrowser:
    """A paid participant who changes browser finishes."""

    @pytest.fixture
    def phone(self, client, study, crowd):
        first = go_in(client, link(crowd), study)
        client.post(rate_url(first), GOOD)
        return client

    def finish(self, browser, study):
        while "/rate/" in (address := start(browser, study)["Location"]):
            browser.post(address, GOOD)
        return text_of(browser.get(done(study)))

    def test_by_the_same_submission(self, phone, study, crowd):
        laptop = Client()
        assert "Continue as R1" in text_of(laptop.get(link(crowd)))
        assert COOKIE not in laptop.cookies
        laptop.post(link(crowd), {"do": "continue"})
        assert crowd.codes["pass"] in self.finish(laptop, study)
        assert Rater.objects.count() == 1
        assert Event.objects.get(verb="go_on").after == {"by": "submission", "new_submission": False}

    def test_with_cookies_cleared_on_the_same_device(self, phone, study, crowd):
        phone.cookies.clear()
        phone.post(link(crowd), {"do": "continue"})
        assert crowd.codes["pass"] in self.finish(phone, study)

    def code_of(self, browser, study):
        page = browser.post(reverse("annotation:other_browser", args=[study]))
        return re.search(r'<code class="code">([A-Z0-9]{4}-[A-Z0-9]{4})</code>', markup(page))[1]

    def test_by_the_code_of_the_first_browser_once(self, phone, study, crowd):
        address = link(crowd, session="")
        code = self.code_of(phone, study)
        laptop = Client()
        laptop.get(address)
        assert laptop.post(address, {"do": "code", "code": code.lower()})["Location"] == done(study)
        assert crowd.codes["pass"] in self.finish(laptop, study)
        third = Client()
        html = text_of(third.post(address, {"do": "code", "code": code}))
        assert "There is no valid code" in html
        assert COOKIE not in third.cookies

    def test_a_code_runs_out_and_a_newer_one_replaces_it(self, phone, study, crowd):
        address = link(crowd, session="")
        old = self.code_of(phone, study)
        new = self.code_of(phone, study)
        assert Client().post(address, {"do": "code", "code": old}).status_code == 403
        Participant.objects.update(code_until=timezone.now() - timedelta(seconds=1))
        assert "has expired" in text_of(Client().post(address, {"do": "code", "code": new}))
        assert new.replace("-", "") not in str(list(Participant.objects.values()))

    def test_a_code_cannot_be_guessed_for_long(self, phone, study, crowd):
        address = link(crowd, session="")
        code = self.code_of(phone, study)
        for _ in range(MOST_TRIES):
            assert "This code is incorrect" in text_of(Client().post(address, {"do": "code", "code": "WRONG"}))
        late = Client()
        assert "There is no valid code" in text_of(late.post(address, {"do": "code", "code": code}))
        assert COOKIE not in late.cookies

    def test_a_code_is_one_participants(self, phone, study, crowd):
        code = self.code_of(phone, study)
        go_in(Client(), link(crowd, "bbbb", OTHER_SESSION), study)
        stranger = Client()
        stranger.post(link(crowd, "bbbb", ""), {"do": "code", "code": code})
        assert COOKIE not in stranger.cookies

    def test_a_code_is_shown_by_a_form_only_and_to_participants(self, phone, study, public):
        assert phone.get(reverse("annotation:other_browser", args=[study])).status_code == 405
        other = Client()
        go_in(other, link(public), study)
        assert other.post(reverse("annotation:other_browser", args=[study])).status_code == 404
        checked = Client(enforce_csrf_checks=True)
        checked.cookies = phone.cookies
        assert checked.post(reverse("annotation:other_browser", args=[study])).status_code == 403

    def test_by_the_leads_consent(self, phone, study, crowd):
        address = link(crowd, session="")
        laptop, lead = Client(), Client()
        laptop.get(address)
        laptop.post(address, {"do": "ask"})
        laptop.post(address, {"do": "ask"})
        asked = BrowserRequest.objects.get()
        html = text_of(laptop.get(address))
        assert f"Your request {asked.number} has been sent to the lead." in html
        lead.force_login(make_user("lead", study.workspace, username="lea"))
        page = reverse("annotation:cohorts", args=[study])
        assert f"Request {asked.number}: continue as R1" in text_of(lead.get(page))
        assert "1 request to continue in another browser" in text_of(lead.get(reverse("annotation:desk", args=[study])))
        analyst = Client()
        analyst.force_login(make_user("analyst", study.workspace))
        assert "note note-warn" not in text_of(analyst.get(reverse("annotation:desk", args=[study])))
        answer = reverse("annotation:answer_browser", args=[study, asked.pk])
        lead.post(answer, {"do": "admit"})
        assert Client().get(address).status_code == 403  # this browser alone
        assert "The lead has allowed you to continue in this browser." in text_of(laptop.get(address))
        laptop.post(address, {"do": "continue"})
        assert crowd.codes["pass"] in self.finish(laptop, study)
        event = Event.objects.get(verb="admit_browser")
        assert (event.actor.username, event.after) == ("lea", {"request": asked.number})
        lead.post(answer, {"do": "refuse"})
        assert BrowserRequest.objects.get().state == "admitted"
        assert not Event.objects.filter(verb="refuse_browser").exists()

    def test_the_lead_may_refuse(self, phone, study, crowd):
        address = link(crowd, session="")
        stranger, lead = Client(), Client()
        stranger.get(address)
        stranger.post(address, {"do": "ask"})
        lead.force_login(make_user("lead", study.workspace))
        asked = BrowserRequest.objects.get()
        lead.post(reverse("annotation:answer_browser", args=[study, asked.pk]), {"do": "refuse"})
        html = text_of(stranger.get(address))
        assert "did not agree" in html and "Ask the lead" not in html
        stranger.post(address, {"do": "ask"})
        stranger.post(address, {"do": "continue"})
        assert COOKIE not in stranger.cookies
        assert BrowserRequest.objects.get().state == "refused"

    @pytest.mark.parametrize("role", ["rater", "analyst", None])
    def test_nobody_but_the_lead_agrees(self, phone, study, crowd, role):
        stranger, other = Client(), Client()
        stranger.get(link(crowd, session=""))
        stranger.post(link(crowd, session=""), {"do": "ask"})
        other.force_login(make_user(role, study.workspace) if role else make_user("nobody"))
        asked = BrowserRequest.objects.get()
        address = reverse("annotation:answer_browser", args=[study, asked.pk])
        assert other.post(address, {"do": "admit"}).status_code in (403, 404)
        assert BrowserRequest.objects.get().state == "waiting"

    def test_requests_are_few(self, phone, crowd):
        address = link(crowd, session="")
        for _ in range(MOST_REQUESTS + 2):
            stranger = Client()
            stranger.get(address)
            last = stranger.post(address, {"do": "ask"})
        assert BrowserRequest.objects.count() == MOST_REQUESTS
        assert "Several requests" in text_of(last)

    def test_a_double_click_on_consent_leaves_nobody_outside(self, study, crowd):
        """The second answer reaches the browser, the first one's cookie does not."""
        address = link(crowd, session="")
        browser = Client()
        browser.get(address)
        secret = browser.cookies["plumbline-browser"].value
        browser.post(address, {"answer": "yes"})
        again = Client()
        again.cookies["plumbline-browser"] = secret
        again.post(address, {"answer": "yes"})
        assert "Continue as R1" in text_of(again.get(address))
        assert Rater.objects.count() == 1


class TestANewSubmission:
    """The same participant takes part again: the same rater, earlier answers unseen."""

    @pytest.fixture
    def earlier(self, client, study, crowd):
        first = go_in(client, link(crowd), study)
        client.post(rate_url(first), GOOD)
        Assignment.objects.filter(pk=first.pk).update(submitted_at=timezone.now() - timedelta(minutes=5))
        Participant.objects.update(began_at=timezone.now() - timedelta(minutes=10))
        return first

    def test_goes_on_as_the_same_rater_without_the_earlier_answers(self, client, earlier, study, crowd):
        assert rate_url(earlier) in markup(client.get(done(study)))
        address = link(crowd, session=OTHER_SESSION)
        assert "You have begun a new submission" in text_of(client.get(address))
        assert client.get(rate_url(earlier)).status_code == 200  # looking changes nothing
        client.post(address, {"do": "continue"})
        assert Rater.objects.count() == 1
        assert rate_url(earlier) not in markup(client.get(done(study)))
        scores = Score.objects.count()
        assert client.get(rate_url(earlier)).status_code == 404
        assert client.post(rate_url(earlier), GOOD | {"c-overall": "9"}).status_code == 404
        assert Score.objects.count() == scores
        own_time = reverse("annotation:correct_time", args=[earlier.public_id])
        assert client.post(own_time, {"minutes": "7", "reason": "slow"}).status_code == 404
        fresh = Assignment.objects.get(public_id=start(client, study)["Location"].split("/")[-2])
        assert fresh.rater == earlier.rater
        assert rate_url(earlier) not in markup(client.get(rate_url(fresh)))
        assert RaterIdentity.objects.get().particulars["SESSION_ID"] == OTHER_SESSION

    def test_is_paid_for_its_own_answers_only(self, client, earlier, study, crowd):
        """Four answers are asked for; a second submission cannot pass on the first one's."""
        address = link(crowd, session=OTHER_SESSION)
        while "/rate/" in (task := start(client, study)["Location"]):
            client.post(task, GOOD)
        Assignment.objects.update(submitted_at=timezone.now() - timedelta(minutes=5))
        assert crowd.codes["pass"] in text_of(client.get(done(study)))
        client.post(address, {"do": "continue"})
        html = text_of(client.get(done(study)))
        assert crowd.codes["pass"] not in html
        assert crowd.codes["quota_full"] in html

    def test_passes_with_the_answers_that_the_quota_leaves_it(self, client, earlier, study, crowd):
        """One of a quota of three was answered in the first submission: two more are a whole part."""
        study.policies["quota"] = 3
        study.save()
        client.post(link(crowd, session=OTHER_SESSION), {"do": "continue"})
        task = start(client, study)["Location"]
        client.post(task, GOOD)
        assert crowd.codes["pass"] not in text_of(client.get(done(study)))
        client.post(start(client, study)["Location"], GOOD)
        assert start(client, study)["Location"] == done(study)
        assert Score.objects.values("assignment").distinct().count() == 3
        assert crowd.codes["pass"] in text_of(client.get(done(study)))

    def test_by_another_cohort_ends_with_that_cohorts_code(self, client, study, crowd):
        second = make_cohort(study, "second wave", "crowd")
        go_in(client, link(crowd), study)
        client.post(link(second, session=OTHER_SESSION), {"do": "continue"})
        while "/rate/" in (task := start(client, study)["Location"]):
            client.post(task, GOOD)
        html = text_of(client.get(done(study)))
        assert second.codes["pass"] in html and crowd.codes["pass"] not in html
        assert Rater.objects.count() == 1

    def test_of_a_strangers_making_needs_proof(self, earlier, study, crowd):
        stranger = Client()
        stranger.post(link(crowd, session=OTHER_SESSION), {"do": "continue"})
        assert COOKIE not in stranger.cookies
        assert Participant.objects.get().began_at < timezone.now() - timedelta(minutes=9)


class TestASharedBrowser:
    """Onsite raters share one computer."""

    def test_a_public_link_asks_who_it_is(self, client, study, public):
        mine = go_in(client, link(public), study)
        html = text_of(client.get(link(public)))
        assert "Continue as R1" in html and "Begin as somebody else" in html
        assert client.post(link(public), {"do": "continue"})["Location"] == done(study)
        assert client.get(rate_url(mine)).status_code == 200

    def test_beginning_anew_ends_the_others_session(self, client, study, public):
        mine = go_in(client, link(public), study)
        client.post(link(public), {"do": "anew"})
        assert is_way_back(client.get(rate_url(mine)))
        assert "I agree and take part" in text_of(client.get(link(public)))
        other = go_in(client, link(public), study)
        assert other.rater != mine.rater
        assert client.get(rate_url(mine)).status_code == 404
        assert client.post(rate_url(mine), GOOD).status_code == 404
        assert Rater.objects.count() == 2

    def test_another_participants_link_asks_and_goes_on_as_either(self, client, study, crowd):
        mine = go_in(client, link(crowd), study)
        theirs = link(crowd, "bbbb", OTHER_SESSION)
        for fields in (None, {"answer": "yes"}, {"answer": "no"}):
            page = client.post(theirs, fields) if fields else client.get(theirs)
            assert "Continue as R1" in text_of(page)
        assert Rater.objects.count() == 1
        client.post(theirs, {"do": "anew"})
        other = go_in(client, theirs, study)
        assert other.rater.pseudonym == "R2"
        assert client.get(rate_url(mine)).status_code == 404
        page = client.get(link(crowd, session=""))
        assert page.status_code == 403  # the first one's id alone does not open their part here any more

    def test_the_steps_of_the_way_in_do_not_ask(self, client, study, public):
        client.get(link(public))
        client.post(link(public), {"answer": "yes"})
        assert "Be fair" in text_of(client.get(link(public)))
        client.post(link(public), {"read": "1"})
        assert "The first text is ready." in text_of(client.get(link(public)))
        assert "Continue as R1" in text_of(client.get(link(public)))

    def test_an_account_that_is_still_signed_in_is_asked_too(self, client, study):
        onsite = make_cohort(study, "here", "onsite")
        client.force_login(make_user("rater", study.workspace, username="rosa"))
        page = text_of(client.get(link(onsite)))
        assert "You are signed in as rosa." in page
        mine = go_in(client, link(onsite), study)
        page = text_of(client.get(link(onsite)))
        assert "The account rosa is signed in." in page and "Begin as somebody else" in page
        response = client.post(link(onsite), {"do": "anew"})
        assert response["Location"].startswith("/sign-in/?next=/join/")
        assert client.get(rate_url(mine))["Location"].startswith("/sign-in/")

    def test_forms_need_a_token(self, client, study, public):
        go_in(client, link(public), study)
        checked = Client(enforce_csrf_checks=True)
        checked.cookies = client.cookies
        assert checked.post(link(public), {"do": "anew"}).status_code == 403


class TestSignedLinks:
    """Prolific's secured links: a token signed with its key names the participant, the submission and the workspace."""

    HOST = "testserver"

    @pytest.fixture
    def signed(self, study, private, settings, tmp_path):
        key = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(private.public_key()))
        file = tmp_path / "prolific.json"
        file.write_text(json.dumps({"keys": [key | {"kid": "key-1", "alg": "RS256", "use": "sig"}]}))
        settings.PROLIFIC_KEYS = str(file)
        cohort = make_cohort(study, "signed", "crowd")
        cohort.platform_workspace = "w0rkspace"
        cohort.save()
        return cohort

    def token(self, private, *, pid="5f1a", session=SESSION, kid="key-1", algorithm="RS256", **changed):
        now = timezone.now()
        claims = {
            "iss": "https://www.prolific.com",
            "aud": self.HOST,
            "sub": session,
            "iat": now,
            "exp": now + timedelta(minutes=5),
            "prolific": {"PROLIFIC_PID": pid, "STUDY_ID": "s1", "SESSION_ID": session, "workspace_id": "w0rkspace"},
        }
        return jwt.encode(claims | changed, private, algorithm=algorithm, headers={"kid": kid})

    def test_whom_the_signature_names_comes_in_and_goes_on_anywhere(self, client, study, signed, private):
        go_in(client, link(signed, prolific_token=self.token(private)), study)
        address = link(signed, session=OTHER_SESSION, prolific_token=self.token(private, session=OTHER_SESSION))
        laptop = Client()
        assert "Continue as R1" in text_of(laptop.get(address))
        laptop.post(address, {"do": "continue"})
        assert "/rate/" in start(laptop, study)["Location"]
        assert Rater.objects.count() == 1
        assert Event.objects.get(verb="go_on").after == {"by": "signature", "new_submission": True}

    def test_the_address_of_the_link_may_be_the_audience(self, client, study, signed, private):
        here = f"https://{self.HOST}{reverse('annotation:join', args=[signed.entry_token])}"
        token = self.token(private, aud=here + "?PROLIFIC_PID=5f1a")
        assert client.get(link(signed, prolific_token=token)).status_code == 200

    def test_without_a_signature_nobody_comes_in(self, client, study, signed):
        for fields in (None, {"answer": "yes"}, {"answer": "no"}):
            page = client.post(link(signed), fields) if fields else client.get(link(signed))
            assert page.status_code == 403
            assert "This study accepts only links signed by Prolific." in text_of(page)
            assert "contact the study&#x27;s lead there" in text_of(page)
        assert not Rater.objects.exists()

    @pytest.mark.parametrize(
        "changed",
        [
            {"pid": "another"},
            {"session": OTHER_SESSION},
            {"kid": "key-2"},
            {"iss": "https://www.example.org"},
            {"aud": "elsewhere.example.org"},
            {"aud": "https://testserver/join/another/"},
            {"exp": timezone.now() - timedelta(hours=1)},
            {"prolific": {"PROLIFIC_PID": "5f1a", "SESSION_ID": SESSION, "STUDY_ID": "s1"}},
            {"prolific": {"PROLIFIC_PID": "5f1a", "SESSION_ID": SESSION, "STUDY_ID": "s1", "workspace_id": "attacker"}},
            {"prolific": "5f1a"},
        ],
        ids=lambda changed: next(iter(changed)),
    )
    def test_a_token_of_something_else_is_none(self, client, signed, private, changed):
        token = self.token(private, **changed)
        assert client.get(link(signed, prolific_token=token)).status_code == 403

    def test_a_token_of_another_key_or_none_is_none(self, client, signed, private):
        forger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        tokens = [
            self.token(forger),
            self.token("x" * 40, algorithm="HS256"),
            self.token(None, algorithm="none"),
            "a.b.c",
            "x" * 9000,
        ]
        for token in tokens:
            assert client.get(link(signed, prolific_token=token)).status_code == 403

    @pytest.mark.parametrize("content", ["", "{}", '{"keys": 3}', "[]", '{"keys": []}', "x" * 200_000])
    def test_a_broken_file_of_keys_lets_nobody_in(self, client, signed, private, settings, content):
        Path(settings.PROLIFIC_KEYS).write_text(content, encoding="utf-8")
        assert client.get(link(signed, prolific_token=self.token(private))).status_code == 403

    def test_new_keys_are_read_without_a_restart(self, client, signed, private, settings):
        newer = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        address = link(signed, prolific_token=self.token(newer, kid="key-2"))
        assert client.get(address).status_code == 403
        file = Path(settings.PROLIFIC_KEYS)
        keys = json.loads(file.read_text(encoding="utf-8"))["keys"]
        keys.append(json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(newer.public_key())) | {"kid": "key-2"})
        file.write_text(json.dumps({"keys": keys}), encoding="utf-8")
        assert client.get(address).status_code == 200

    def test_the_lead_asks_for_signatures_once_the_operator_has_the_keys(self, study, crowd, signed, settings):
        lead = Client()
        lead.force_login(make_user("lead", study.workspace))
        change = reverse("annotation:change_cohort", args=[study, crowd.pk])
        file, settings.PROLIFIC_KEYS = settings.PROLIFIC_KEYS, ""
        page = lead.post(change, {"do": "signed", "workspace": "w0rkspace"}, follow=True)
        assert "PLUMBLINE_PROLIFIC_KEYS" in text_of(page)
        settings.PROLIFIC_KEYS = file
        assert "letters and digits" in text_of(
            lead.post(change, {"do": "signed", "workspace": "no spaces"}, follow=True)
        )
        lead.post(change, {"do": "signed", "workspace": "w0rkspace"})
        crowd.refresh_from_db()
        assert crowd.platform_workspace == "w0rkspace"
        lead.post(change, {"do": "signed", "workspace": ""})
        event = Event.objects.filter(verb="change_platform_workspace").latest("pk")
        assert (event.before, event.after) == ({"prolific_workspace": "w0rkspace"}, {"prolific_workspace": ""})


class TestMTurk:
    def test_a_preview_takes_nothing_though_it_names_the_worker(self, client, study):
        cohort = make_cohort(study, "mturk", "crowd")
        address = reverse("annotation:join", args=[cohort.entry_token])
        address += "?workerId=A1&hitId=C3&assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE"
        assert "This is a preview." in text_of(client.get(address))
        assert client.post(address, {"answer": "yes"}).status_code == 400
        assert not Rater.objects.exists() and not Seat.objects.filter(state="held").exists()

    def test_the_assignment_is_the_submission(self, client, study):
        cohort = make_cohort(study, "mturk", "crowd")
        address = reverse("annotation:join", args=[cohort.entry_token]) + "?workerId=A1&hitId=C3&assignmentId="
        mine = "3" + "A" * 29
        go_in(client, address + mine, study)
        assert Client().get(address + mine).status_code == 200
        assert Client().get(address + "3" + "B" * 29).status_code == 403
        assert Client().get(address + "B2").status_code == 403


def test_a_revoked_link_answers_nobody(client, study, crowd):
    go_in(client, link(crowd), study)
    crowd.revoked_at = timezone.now()
    crowd.save()
    for browser in (client, Client()):
        for fields in (None, {"answer": "yes"}, {"do": "continue"}, {"do": "ask"}, {"do": "code", "code": "x"}):
            response = browser.post(link(crowd), fields) if fields else browser.get(link(crowd))
            assert response.status_code == 410
    assert client.get(done(study)).status_code == 200
    assert not BrowserRequest.objects.exists()
