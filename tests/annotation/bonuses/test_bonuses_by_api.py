"""Bonuses over the API: the cap, the dry run, and lists that are set up; a person sends them on the page."""

import pytest
from django.urls import get_resolver, reverse
from django.utils import timezone

from accounts.api.tokens import issue_token
from accounts.models import ApiToken, Event
from annotation.bonuses.record import allowance_of
from annotation.models import BonusBatch
from tests.factories import make_user, make_workspace

pytestmark = pytest.mark.django_db
GIVEN = {"purpose": "Round 1", "basis": "given", "amounts": [{"rater": "R1", "amount": "1.50"}]}


def send(client, user, name, crowd, *more, method="post", sent=None, scopes=ApiToken.Scope.values, **headers):
    _token, secret = issue_token(user=user, name="script", scopes=scopes)
    content = {} if method == "get" else {"data": sent or {}, "content_type": "application/json"}
    cohort = [] if name.endswith("cap") else [crowd.cohort.pk]
    parts = [crowd.study.workspace.slug, crowd.study.slug, *cohort, *more]
    bearer = {"Authorization": f"Bearer {secret}", **headers}
    return getattr(client, method)(reverse(f"api:{name}", args=parts), **content, headers=bearer)


def set_up(client, crowd, wanted=GIVEN):
    digest = send(client, crowd.lead, "propose_bonuses", crowd, sent=wanted).json()["digest"]
    return send(client, crowd.lead, "bonuses", crowd, sent={**wanted, "digest": digest})


def test_who_may(client, crowd, prolific):
    batch = crowd.prepare("R1,1.50")
    before = len(prolific.requests)
    calls = [
        ("bonus_cap", (), "get", None, "read"),
        ("bonus_cap", (), "put", {"cap": "60.00"}, "run"),
        ("propose_bonuses", (), "post", GIVEN, "run"),
        ("bonuses", (), "get", None, "read"),
        ("bonuses", (), "post", {**GIVEN, "digest": "x"}, "run"),
        ("bonus_list", (batch.public_id,), "get", None, "ratings"),
        ("steer_bonuses", (batch.public_id, "drop"), "post", None, "run"),
    ]
    elsewhere = make_user("owner", make_workspace("elsewhere"), username="else")
    workspace = crowd.study.workspace
    people = [(elsewhere, 404), *((make_user(role, workspace), 403) for role in ("analyst", "rater"))]
    owner = make_user("owner", workspace, username="owner")
    for name, more, method, sent, scope in calls:
        for user, status in people:
            answer = send(client, user, name, crowd, *more, method=method, sent=sent)
            assert answer.status_code == status, (name, status)
        others = [one for one in ApiToken.Scope.values if one != scope]
        narrow = send(client, owner, name, crowd, *more, method=method, sent=sent, scopes=others)
        assert narrow.status_code == 403 and f"lacks the scope {scope}" in narrow.json()["detail"]
    batch.refresh_from_db()
    assert batch.state == "prepared" and allowance_of(crowd.study).lead == 5000
    assert len(prolific.requests) == before


class TestTheCap:
    def test_is_the_leads_within_the_operators(self, client, crowd):
        seen = send(client, crowd.lead, "bonus_cap", crowd, method="get")
        assert seen.json() == {"operator": "100.00", "cap": "50.00", "spent": "0.00", "left": "50.00"}
        sent = {"sent": {"cap": "200.5"}, "If-Match": seen["ETag"]}
        changed = send(client, crowd.lead, "bonus_cap", crowd, method="put", **sent)
        assert changed.json() == {"operator": "100.00", "cap": "200.50", "spent": "0.00", "left": "100.00"}
        assert send(client, crowd.lead, "bonus_cap", crowd, method="put", **sent).status_code == 412
        assert Event.objects.filter(verb="change_bonus_cap").latest("pk").actor == crowd.lead

    @pytest.mark.parametrize("cap", ["-1", "1.234", "much", None, "NaN"])
    def test_that_is_none(self, client, crowd, cap):
        refused = send(client, crowd.lead, "bonus_cap", crowd, method="put", sent={"cap": cap})
        assert refused.status_code == 400 and refused.json()["detail"].startswith("cap: ")
        assert allowance_of(crowd.study).lead == 5000


class TestADryRun:
    def test_says_who_gets_how_much_and_why(self, client, crowd, prolific):
        wanted = {**GIVEN, "amounts": [*GIVEN["amounts"], {"rater": "no; body", "amount": 1}]}
        found = send(client, crowd.lead, "propose_bonuses", crowd, sent=wanted).json()
        (row,) = found["bonuses"]
        assert (row["rater"], row["pseudonym"]) == (crowd.raters["R1"].public_id, "R1")
        assert (row["submission"], row["amount"]) == (crowd.submissions["R1"], "1.50")
        assert (found["total"], found["currency"]) == ("1.50", "GBP")
        assert [(one["who"], one["amount"]) for one in found["left_out"]] == [("line 2: no; body", "1.00")]
        assert not BonusBatch.objects.exists() and prolific.payments == {}
        assert Event.objects.filter(verb="read_identities", actor=crowd.lead).count() == 1

    def test_goes_by_a_rule(self, client, crowd):
        wanted = {"purpose": "More", "basis": "answers", "above": 2, "each": "0.25"}
        found = send(client, crowd.lead, "propose_bonuses", crowd, sent=wanted).json()
        assert [(one["pseudonym"], one["amount"]) for one in found["bonuses"]] == [("R1", "0.50"), ("R2", "0.50")]
        assert found["bonuses"][0]["reason"] == "4 counted answers, 0.25 for each above 2."

    @pytest.mark.parametrize(
        ("changed", "said"),
        [
            ({"purpose": ""}, "purpose: "),
            ({"basis": "luck"}, "basis: "),
            ({"basis": "answers"}, "above: Enter a number"),
            ({"basis": "checks", "fewest": 5, "percent": 80}, "amount: Enter a number"),
            ({"amounts": []}, "at least one rater"),
            ({"amounts": [{"rater": "R1", "amount": "-1"}]}, "amounts: "),
            ({"amounts": [{"rater": "R1\n", "amount": "x"}]}, "amounts: "),
            ({"amounts": [{"rater": "R1\tR2", "amount": "1"}]}, "amounts: "),
            ({"amounts": [{"rater": f"R{n}", "amount": "1"} for n in range(2001)]}, "at most"),
        ],
    )
    def test_of_no_list_is_refused(self, client, crowd, changed, said):
        refused = send(client, crowd.lead, "propose_bonuses", crowd, sent={**GIVEN, **changed})
        assert refused.status_code == 400 and said in refused.json()["detail"]


class TestAList:
    def test_is_set_up_by_a_program_and_sent_by_its_lead(self, client, crowd, prolific):
        made = set_up(client, crowd)
        assert made.status_code == 201
        row = made.json()
        assert (row["state"], row["total"], row["charged"], row["made_by"]) == (
            "prepared",
            "1.50",
            "2.00",
            crowd.lead.username,
        )
        (listed,) = send(client, crowd.lead, "bonuses", crowd, method="get").json()["results"]
        assert listed == row and prolific.paid == []
        whole = send(client, crowd.lead, "bonus_list", crowd, row["id"], method="get").json()
        assert {name: whole[name] for name in row} == row and whole["bonuses"][0]["pseudonym"] == "R1"
        client.force_login(crowd.lead)
        client.post(row["page"], {"do": "confirm", "total": "1.50", "password": "plumb line 12"})
        assert prolific.paid == [(crowd.submissions["R1"], 150)]
        (sent,) = send(client, crowd.lead, "bonuses", crowd, method="get").json()["results"]
        assert (sent["state"], sent["confirmed_by"]) == ("sent", crowd.lead.username)
        late = send(client, crowd.lead, "steer_bonuses", crowd, row["id"], "drop")
        assert late.status_code == 409 and "cannot be dropped" in late.json()["detail"]

    def test_is_sent_by_no_address_of_the_api(self):
        """The attack: with a stolen token of every scope, to send money."""
        names = {one.name for one in get_resolver("config.api_urls").url_patterns if "bonus" in str(one.pattern)}
        assert names == {"bonus_cap", "propose_bonuses", "bonuses", "bonus_list", "steer_bonuses"}
        verbs = [
            str(one.pattern) for one in get_resolver("config.api_urls").url_patterns if one.name == "steer_bonuses"
        ]
        assert verbs[0].endswith("(?P<verb>drop|look)/$")

    def test_that_has_changed_is_not_set_up(self, client, crowd, prolific):
        refused = send(client, crowd.lead, "bonuses", crowd, sent={**GIVEN, "digest": "of another"})
        assert refused.status_code == 409 and "has changed" in refused.json()["detail"]
        refused = send(client, crowd.lead, "bonuses", crowd, sent=GIVEN)
        assert refused.status_code == 400 and refused.json()["detail"].startswith("digest: ")
        assert not BonusBatch.objects.exists() and prolific.payments == {}

    def test_is_dropped(self, client, crowd):
        row = set_up(client, crowd).json()
        for _again in range(2):
            answer = send(client, crowd.lead, "steer_bonuses", crowd, row["id"], "drop")
            assert answer.status_code == 200 and answer.json()["state"] == "dropped"
        assert send(client, crowd.lead, "steer_bonuses", crowd, "none", "drop").status_code == 404
        assert send(client, crowd.lead, "bonus_list", crowd, "none", method="get").status_code == 404

    def test_that_is_uncertain_is_looked_up_at_prolific(self, client, crowd, prolific):
        row = set_up(client, crowd).json()
        BonusBatch.objects.update(state="uncertain", confirmed_at=timezone.now())
        answer = send(client, crowd.lead, "steer_bonuses", crowd, row["id"], "look").json()
        assert answer["state"] == "uncertain" and "0 of 1" in answer["problem"]
        prolific.paid.append((crowd.submissions["R1"], 150))
        assert send(client, crowd.lead, "steer_bonuses", crowd, row["id"], "look").json()["state"] == "sent"

    def test_of_a_cohort_without_a_study_at_prolific_is_none(self, client, crowd):
        crowd.attached.delete()
        assert send(client, crowd.lead, "propose_bonuses", crowd, sent=GIVEN).status_code == 404
        assert send(client, crowd.lead, "bonuses", crowd, sent={**GIVEN, "digest": "x"}).status_code == 404
