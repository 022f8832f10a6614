"""Crowd platforms over the API: the values to enter, a cohort's study at Prolific, and its submissions."""

import json

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from django.urls import reverse
from django.utils import timezone

from accounts.api.tokens import issue_token
from accounts.models import ApiToken, Event
from annotation.models import ProlificStudy
from annotation.recruitment.cohorts import make_cohort
from tests.annotation.raters_at_work import make_study
from tests.factories import make_user, make_workspace
from tests.fake_prolific import TOKEN, fake_prolific

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
def lead(cohort):
    return make_user("lead", cohort.study.workspace, username="lena")


@pytest.fixture
def attached(cohort, prolific):
    prolific.studies["s1"] = {"id": "s1"}
    return ProlificStudy.objects.create(cohort=cohort, external_id="s1", made_at=timezone.now())


def send(client, user, name, cohort, *more, method="post", sent=None, scopes=ApiToken.Scope.values):
    _token, secret = issue_token(user=user, name="script", scopes=scopes)
    content = {} if method == "get" else {"data": sent or {}, "content_type": "application/json"}
    parts = (cohort.study.workspace.slug, cohort.study.slug, cohort.pk, *more)
    headers = {"Authorization": f"Bearer {secret}"}
    return getattr(client, method)(reverse(f"api:{name}", args=parts), **content, headers=headers)


def test_who_may(client, cohort, attached, prolific):
    waiting = prolific.add("s1", 1, "AWAITING REVIEW")
    calls = [
        ("platform_values", (), "get", None, "change"),
        ("prolific_study", (), "get", None, "read"),
        ("prolific_study", (), "post", {"places": 5}, "change"),
        ("submissions", (), "get", None, "ratings"),
        ("review_submissions", ("approve",), "post", {"submissions": [waiting]}, "run"),
        ("review_submissions", ("reject",), "post", {"submissions": [waiting], "message": LONG}, "change"),
    ]
    workspace = cohort.study.workspace
    elsewhere = make_user("owner", make_workspace("elsewhere"), username="else")
    owner = make_user("owner", workspace, username="owner")
    people = [(elsewhere, 404), *((make_user(role, workspace), 403) for role in ("analyst", "rater"))]
    for name, more, method, sent, scope in calls:
        for user, status in people:
            answer = send(client, user, name, cohort, *more, method=method, sent=sent)
            assert answer.status_code == status, (name, status)
        others = [one for one in ApiToken.Scope.values if one != scope]
        narrow = send(client, owner, name, cohort, *more, method=method, sent=sent, scopes=others)
        assert narrow.status_code == 403 and f"lacks the scope {scope}" in narrow.json()["detail"]
    assert prolific.requests == [] and prolific.submissions[waiting]["status"] == "AWAITING REVIEW"


def test_the_values_to_enter_are_those_of_the_page(client, cohort, lead):
    found = send(client, lead, "platform_values", cohort, method="get").json()
    link = "http://testserver" + reverse("annotation:join", args=[cohort.entry_token])
    prolific = {one["name"]: one["value"] for one in found["prolific"]}
    assert prolific["Study URL"].startswith(link + "?PROLIFIC_PID={{%PROLIFIC_PID%}}&")
    assert cohort.codes["pass"] in prolific.values()
    assert link in [one["value"] for one in found["mturk"]]
    public = make_cohort(cohort.study, "public", "public")
    assert send(client, lead, "platform_values", public, method="get").status_code == 404


class TestTheStudy:
    def test_is_drafted_once(self, client, cohort, lead, prolific):
        assert send(client, lead, "prolific_study", cohort, method="get").status_code == 404
        made = send(client, lead, "prolific_study", cohort, sent={"places": 20})
        assert made.status_code == 201 and made.json()["id"] == "study1"
        (draft,) = prolific.studies.values()
        link = "http://testserver" + reverse("annotation:join", args=[cohort.entry_token])
        assert draft["total_available_places"] == 20 and draft["external_study_url"].startswith(link + "?")
        assert send(client, lead, "prolific_study", cohort, method="get").json() == made.json()
        again = send(client, lead, "prolific_study", cohort, sent={"places": 20})
        assert again.status_code == 400 and "already" in again.json()["detail"] and len(prolific.studies) == 1
        assert Event.objects.get(verb="draft_prolific_study").actor == lead

    def test_is_attached_where_it_leads_to_the_cohort(self, client, cohort, lead, prolific):
        link = "http://testserver" + reverse("annotation:join", args=[cohort.entry_token])
        prolific.studies["s1"] = {"id": "s1", "external_study_url": "http://testserver/join/other/?x=1"}
        prolific.studies["s2"] = {"id": "s2", "external_study_url": link + "?PROLIFIC_PID=x"}
        refused = send(client, lead, "prolific_study", cohort, sent={"study_id": "s1"})
        assert refused.status_code == 400 and "does not lead" in refused.json()["detail"]
        assert send(client, lead, "prolific_study", cohort, sent={"study_id": "s2"}).json()["id"] == "s2"

    @pytest.mark.parametrize(
        ("sent", "said"),
        [
            ({}, "Send either"),
            ({"places": 5, "study_id": "s1"}, "Send either"),
            ({"places": 0}, "places: "),
            ({"places": 10_001}, "places: "),
            ({"study_id": "../s1"}, "only letters and digits"),
            ({"study_id": "s9"}, "Prolific"),
        ],
    )
    def test_that_is_none(self, client, cohort, lead, prolific, sent, said):
        refused = send(client, lead, "prolific_study", cohort, sent=sent)
        assert refused.status_code == 400 and said in refused.json()["detail"]
        assert not ProlificStudy.objects.exists()


class TestSubmissions:
    def test_are_listed_approved_and_rejected_once(self, client, cohort, lead, attached, prolific):
        first, second, third = (prolific.add("s1", number, "AWAITING REVIEW") for number in (1, 2, 3))
        rows = send(client, lead, "submissions", cohort, method="get").json()
        assert rows[0] == {"id": first, "participant": "p1", "status": "AWAITING REVIEW", "code": "DONE"}
        assert Event.objects.filter(verb="read_identities", actor=lead).count() == 1
        chosen = {"submissions": [first, "of another study"]}
        approved = send(client, lead, "review_submissions", cohort, "approve", sent=chosen)
        assert approved.json() == {"done": 1, "gone": 1, "refused": []}
        assert send(client, lead, "review_submissions", cohort, "approve", sent=chosen).json()["done"] == 0
        wanted = {"submissions": [second], "category": "LOW_EFFORT", "message": LONG}
        assert send(client, lead, "review_submissions", cohort, "reject", sent=wanted).json()["done"] == 1
        states = {one: prolific.submissions[one]["status"] for one in (first, second, third)}
        assert list(states.values()) == ["APPROVED", "REJECTED", "AWAITING REVIEW"]

    @pytest.mark.parametrize(
        ("sent", "said"),
        [
            ({"submissions": []}, "submissions: "),
            ({}, "submissions: "),
            ({"submissions": ["x"], "category": "RUDE", "message": LONG}, "category: "),
            ({"submissions": ["x"], "message": LONG}, "Choose a reason"),
            ({"submissions": ["x"], "category": "LOW_EFFORT", "message": "Too short."}, "at least 100"),
            ({"submissions": ["x"], "category": "LOW_EFFORT", "message": "x" * 2001}, "message: "),
        ],
    )
    def test_are_not_rejected_without_a_reason(self, client, cohort, lead, attached, prolific, sent, said):
        refused = send(client, lead, "review_submissions", cohort, "reject", sent=sent)
        assert refused.status_code == 400 and said in refused.json()["detail"]

    def test_of_a_server_that_fails_are_an_error_in_a_sentence(self, client, cohort, lead, attached, prolific):
        prolific.failing = 500
        refused = send(client, lead, "submissions", cohort, method="get")
        assert refused.status_code == 400 and "Prolific" in refused.json()["detail"]
        other = make_cohort(cohort.study, "other", "crowd")
        assert send(client, lead, "submissions", other, method="get").status_code == 404


class TestACohortItself:
    def test_is_changed_in_what_is_sent(self, client, cohort, lead):
        seen = send(client, lead, "cohort", cohort, method="get").json()
        changed = send(client, lead, "cohort", cohort, method="patch", sent={"joins_per_hour": None})
        assert changed.json() == {**seen, "joins_per_hour": None}
        codes = {"pass": " DONE1 ", "fail": "", "screened_out": "OUT1"}
        changed = send(client, lead, "cohort", cohort, method="patch", sent={"codes": codes})
        assert changed.json()["codes"] == {"pass": "DONE1", "screened_out": "OUT1"}
        cohort.refresh_from_db()
        assert cohort.joins_per_hour is None and cohort.entry_token in seen["link"]
        verbs = Event.objects.filter(object_type="cohort", actor=lead).order_by("pk").values_list("verb", flat=True)
        assert list(verbs) == ["change_join_limit", "change_codes"]

    def test_accepts_signed_links_alone_where_they_can_be_verified(self, client, cohort, lead, settings, tmp_path):
        sent = {"prolific_workspace": "w0rkspace", "joins_per_hour": 7}
        refused = send(client, lead, "cohort", cohort, method="patch", sent=sent)
        assert refused.status_code == 400 and "PLUMBLINE_PROLIFIC_KEYS" in refused.json()["detail"]
        cohort.refresh_from_db()
        assert cohort.platform_workspace == "" and cohort.joins_per_hour != 7
        public = rsa.generate_private_key(public_exponent=65537, key_size=2048).public_key()
        key = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(public)) | {"kid": "key-1", "alg": "RS256", "use": "sig"}
        (tmp_path / "keys.json").write_text(json.dumps({"keys": [key]}))
        settings.PROLIFIC_KEYS = str(tmp_path / "keys.json")
        changed = send(client, lead, "cohort", cohort, method="patch", sent=sent)
        assert changed.json()["prolific_workspace"] == "w0rkspace"
        settings.PROLIFIC_KEYS = ""
        back = send(client, lead, "cohort", cohort, method="patch", sent={"prolific_workspace": ""})
        assert back.json()["prolific_workspace"] == "" and back.json()["joins_per_hour"] == 7

    @pytest.mark.parametrize(
        ("sent", "said"),
        [
            ({"joins_per_hour": 0}, "joins_per_hour: "),
            ({"codes": {"won": "A"}}, "There is no outcome 'won'"),
            ({"codes": {"pass": "A" * 41}}, "codes: "),
            ({"codes": ["A"]}, "codes: "),
            ({"prolific_workspace": "no spaces"}, "prolific_workspace: "),
        ],
    )
    def test_is_not_changed_to_what_is_none(self, client, cohort, lead, sent, said):
        before = dict(cohort.codes)
        refused = send(client, lead, "cohort", cohort, method="patch", sent=sent)
        assert refused.status_code == 400 and said in refused.json()["detail"]
        cohort.refresh_from_db()
        assert cohort.codes == before and cohort.platform_workspace == ""

    def test_is_changed_by_leads_in_the_state_that_they_read(self, client, cohort, lead):
        elsewhere = make_user("owner", make_workspace("elsewhere"), username="else")
        analyst, sent = make_user("analyst", cohort.study.workspace), {"joins_per_hour": 7}
        assert send(client, elsewhere, "cohort", cohort, method="patch", sent=sent).status_code == 404
        assert send(client, analyst, "cohort", cohort, method="patch", sent=sent).status_code == 403
        others = [one for one in ApiToken.Scope.values if one != "change"]
        assert send(client, lead, "cohort", cohort, method="patch", sent=sent, scopes=others).status_code == 403
        client.force_login(lead)
        address = reverse("api:cohort", args=[cohort.study.workspace.slug, cohort.study.slug, cohort.pk])
        etag = client.get(address)["ETag"]
        for status in (200, 412):
            answer = client.patch(address, sent, "application/json", headers={"If-Match": etag})
            assert answer.status_code == status
