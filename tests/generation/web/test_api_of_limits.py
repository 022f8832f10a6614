"""Limits of spending and phrases of errors over the API."""

from decimal import Decimal

import pytest

from accounts.api.tokens import issue_token
from accounts.models import ApiToken, Event, Membership
from generation.execution.monthly_limit import limit_of
from generation.library.error_phrases import LONGEST, MOST_PHRASES, has_own_phrases, rules_of
from generation.models import SpendingLimit
from generation.text_metrics.error_modes import RULES
from tests.factories import make_user, make_workspace

pytestmark = pytest.mark.django_db
SPENDING, PHRASES = "/api/v1/w/lab/spending/", "/api/v1/w/lab/error-phrases/"


@pytest.fixture
def workspace(settings, tmp_path):
    settings.DATA_DIR = tmp_path
    return make_workspace()


@pytest.fixture
def ask(client):
    def asked(method, path, user, sent=None, status=200, scopes=ApiToken.Scope.values, **headers):
        _token, secret = issue_token(user=user, name="s", scopes=scopes)
        more = {} if sent is None else {"data": sent, "content_type": "application/json"}
        headers["Authorization"] = f"Bearer {secret}"
        answer = getattr(client, method)(path, headers=headers, **more)
        assert answer.status_code == status, answer.content
        return answer

    return asked


class TestSpending:
    def test_an_owner_sets_the_limit_as_it_was_read_and_takes_it_away(self, ask, workspace):
        owner = make_user("owner", workspace)
        read = ask("get", SPENDING, owner)
        assert read.json() == {"limit": None, "spent": "0.00000000", "reserved": None, "room": None, "currency": ""}
        put = ask("put", SPENDING, owner, {"limit": "12.5"}, **{"If-Match": read["ETag"]}).json()
        assert (put["limit"], put["room"], put["reserved"]) == ("12.500000", "12.50000000", "0.00000000")
        assert ask("get", SPENDING, owner).json() == put
        ask("put", SPENDING, owner, {"limit": "99"}, 412, **{"If-Match": read["ETag"]})
        assert (limit_of(workspace.pk), Event.objects.get(verb="spending limit changed").actor) == (
            Decimal("12.5"),
            owner,
        )
        assert ask("put", SPENDING, owner, {"limit": None}).json()["limit"] is None
        assert not SpendingLimit.objects.exists()

    @pytest.mark.parametrize("sent", [{}, {"limit": "-1"}, {"limit": "much"}, {"limit": "1e40"}], ids=str)
    def test_what_is_no_limit_is_refused(self, ask, workspace, sent):
        refused = ask("put", SPENDING, make_user("owner", workspace), sent, 400)
        assert refused.json()["detail"].startswith("limit: ") and not SpendingLimit.objects.exists()

    def test_only_an_owner_sets_it_and_who_reads_results_reads_it(self, ask, workspace):
        for role in ("lead", "analyst"):
            member = make_user(role, workspace)
            assert ask("get", SPENDING, member).json()["limit"] is None
            ask("put", SPENDING, member, {"limit": "99"}, 403)
        ask("get", SPENDING, make_user("rater", workspace), status=403)
        for method in ("get", "put"):
            sent = {"limit": "99"} if method == "put" else None
            ask(method, SPENDING, make_user("owner", make_workspace("elsewhere")), sent, 404)
        owner = make_user("owner", workspace)
        ask("put", SPENDING, owner, {"limit": "99"}, 403, scopes=["read", "change", "ratings"])
        assert not SpendingLimit.objects.exists()

    def test_a_token_for_one_workspace_sets_no_limit_of_another(self, client, workspace):
        owner = make_user("owner", workspace)
        other = make_workspace("other")
        Membership.objects.create(user=owner, workspace=other, role="owner")
        _token, secret = issue_token(user=owner, name="s", scopes=ApiToken.Scope.values, workspace=other)
        head = {"Authorization": f"Bearer {secret}"}
        assert client.put(SPENDING, {"limit": "1"}, "application/json", headers=head).status_code == 404
        path = SPENDING.replace("lab", "other")
        assert client.put(path, {"limit": "1"}, "application/json", headers=head).status_code == 200


class TestPhrases:
    def test_a_lead_writes_them_as_they_were_read_and_restores_the_usual_ones(self, ask, workspace):
        lead = make_user("lead", workspace)
        read = ask("get", PHRASES, lead)
        assert read.json()["own"] is False and read.json()["refusals"] == list(RULES.refusals)
        sent = {"refusals": ["“The FERRY", "the ferry"], "meaningless": ["GULLS (A+)+$", "x.y"]}
        put = ask("put", PHRASES, lead, sent, **{"If-Match": read["ETag"]}).json()
        assert put == {"refusals": ["the ferry"], "meaningless": ["gulls (a+)+$", "x.y"], "own": True}
        assert ask("get", PHRASES, lead).json() == put and rules_of(workspace).refusals == ("the ferry",)
        for method, again in (("put", sent), ("delete", None)):
            ask(method, PHRASES, lead, again, 412, **{"If-Match": read["ETag"]})
        ask("delete", PHRASES, lead, status=204)
        ask("delete", PHRASES, lead, status=204)
        assert ask("get", PHRASES, lead).json() == read.json() and not has_own_phrases(workspace)
        logged = Event.objects.filter(verb__startswith="error phrases").order_by("pk").values_list("verb", flat=True)
        assert list(logged) == ["error phrases changed", "error phrases restored"]

    @pytest.mark.parametrize(
        ("sent", "said"),
        [
            ({"refusals": []}, "meaningless: "),
            ({"refusals": ["a"], "meaningless": []}, "refusals: Line 1 is too short"),
            ({"refusals": ["fine", "two\nlines"], "meaningless": []}, "refusals: a phrase is one line"),
            ({"refusals": [], "meaningless": ["x" * (LONGEST + 1)]}, "meaningless: "),
            ({"refusals": [], "meaningless": [f"phrase {n}" for n in range(MOST_PHRASES + 1)]}, "meaningless: "),
            ({"refusals": [], "meaningless": ["a\u200bb"]}, "meaningless: Line 1"),
            ({"refusals": "one", "meaningless": []}, "refusals: "),
        ],
        ids=["missing", "short", "two lines", "long", "many", "unreadable", "no list"],
    )
    def test_what_cannot_be_matched_is_refused(self, ask, workspace, sent, said):
        refused = ask("put", PHRASES, make_user("lead", workspace), sent, 400)
        assert said in refused.json()["detail"] and not has_own_phrases(workspace)

    def test_only_who_leads_writes_them(self, ask, workspace):
        sent = {"refusals": ["the ferry"], "meaningless": []}
        analyst, stranger = make_user("analyst", workspace), make_user("lead", make_workspace("elsewhere"))
        ask("get", PHRASES, analyst)
        for user, status in ((analyst, 403), (stranger, 404), (make_user("rater", workspace), 403)):
            ask("put", PHRASES, user, sent, status)
            ask("delete", PHRASES, user, status=status)
        ask("get", PHRASES, stranger, status=404)
        ask("put", PHRASES, make_user("lead", workspace), sent, 403, scopes=["read", "run"])
        assert not has_own_phrases(workspace)
