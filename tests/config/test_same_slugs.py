"""Two workspaces may have a study or a benchmark of one slug: addresses name the workspace, and old ones lead on."""

import io
import json
import re
import zipfile

import pytest
from django.core.management import CommandError, call_command
from django.urls import get_resolver, reverse

from accounts.api.tokens import issue_token
from accounts.models import Membership, Workspace
from annotation.assignment.new_slots import make_seats
from annotation.models import Assignment, Study
from annotation.recruitment.cohorts import make_cohort
from annotation.studies.life_cycle import create_study
from tests.e2e.addresses import NOT_PAGES
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater, make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db
WORKSPACES = ("older", "newer", "foreign")
OLD = ("/studies/essays/", "/library/benchmarks/essays-benchmark/", "/leaderboards/essays-benchmark/")
OLD_API = (
    "/api/v1/studies/essays/",
    "/api/v1/benchmarks/essays-benchmark/instructions/",
    "/api/v1/leaderboards/essays-benchmark/",
)


@pytest.fixture
def studies():
    """Three of one slug; the n-th has n tasks and is named after its workspace."""
    made = []
    for n, slug in enumerate(WORKSPACES, 1):
        study = make_checklist_study(workspace=make_workspace(slug), instructions=n, models=1)
        study.names = {"en": f"The {slug} essays"}
        study.save()
        make_seats(study)
        answers = {"item0": 1, "item1": 0.5, "item2": n / 4}
        for rater in (make_rater(study, label=f"{slug} rater"), make_judge_rater(study.workspace, f"{slug}-judge")):
            make_answer(study.tasks.first(), rater, answers)
        made.append(study)
    return made


@pytest.fixture
def reader(studies):
    """Analyst of the older study's workspace, lead of the newer one's."""
    user = make_user("analyst", studies[0].workspace)
    Membership.objects.create(workspace=studies[1].workspace, user=user, role="lead")
    return user


def bearer(user):
    return {
        "headers": {"Authorization": f"Bearer {issue_token(user=user, name='script', scopes=['read', 'ratings'])[1]}"}
    }


def moved(place):
    """Where an old address of the API or of a page is found in a workspace."""
    return lambda workspace: re.sub(r"^(/api/v1|)/", rf"\1/w/{workspace}/", place)


def routes_of(kind):
    """Names of the pages of a study, a benchmark or a leaderboard that need only its slug."""
    for app in ("annotation", "calibration", "generation", "judging"):
        for pattern in get_resolver(f"{app}.urls").url_patterns:
            if re.fullmatch(rf"<{kind}:slug>/[a-z/-]*", str(pattern.pattern)):
                yield f"{app}:{pattern.name}"


def test_every_page_is_about_the_study_of_its_address(client, studies):
    older, newer, _foreign = studies
    user = make_user("lead", older.workspace)
    Membership.objects.create(workspace=newer.workspace, user=user, role="lead")
    client.force_login(user)
    of_studies = [*routes_of("study")]
    of_benchmarks = [*routes_of("benchmark"), *routes_of("leaderboard")]
    assert len(of_studies) > 30 and len(of_benchmarks) > 5
    sent = {name for names in NOT_PAGES.values() for name in names}
    pages = 0
    for own, other in ((older, newer), (newer, older)):
        for name in {*of_studies, *of_benchmarks} - sent:
            place = reverse(name, args=[own if name in of_studies else own.benchmark])
            assert place.startswith(f"/w/{own.workspace.slug}/")
            answer = client.get(place)
            page = markup(answer) if "html" in answer["Content-Type"] else ""
            pages += answer.status_code == 200 and bool(page)
            assert answer.status_code in (200, 302, 404), place
            assert f"/w/{other.workspace.slug}/" not in page + answer.get("Location", ""), place
            assert str(other.name) not in page, place
            if answer.status_code == 200 and name in of_studies:
                assert f"/w/{own.workspace.slug}/studies/essays/" in page, place
    assert pages > 50


def test_the_api_tells_of_the_study_of_its_address(client, studies, reader):
    head = bearer(reader)
    for n, study in enumerate(studies[:2], 1):
        own = {"workspace": study.workspace.slug, "slug": "essays"}
        of_benchmark = own | {"slug": "essays-benchmark"}
        state = client.get(reverse("api:study", kwargs=own), **head).json()
        assert (state["workspace"], state["tasks"]) == (own["workspace"], n)
        scores = client.get(reverse("api:scores", kwargs=own), **head).json()["results"]
        assert {row["task"] for row in scores} == {study.tasks.first().public_id}
        export = client.get(reverse("api:export", kwargs=own), **head).getvalue()
        manifest = json.loads(zipfile.ZipFile(io.BytesIO(export)).read("manifest.json"))
        assert manifest["workspace"] == own["workspace"]
        instructions = client.get(reverse("api:instructions", kwargs=of_benchmark), **head).json()["results"]
        assert len(instructions) == n
        board = client.get(reverse("api:board", kwargs=of_benchmark), {"judge": f"{own['workspace']}-judge"}, **head)
        assert board.status_code == 200
        others = client.get(reverse("api:board", kwargs=of_benchmark), {"judge": "foreign-judge"}, **head)
        assert others.status_code == 400
    for name in ("study", "scores", "reports", "export"):
        assert client.get(reverse(f"api:{name}", args=["foreign", "essays"]), **head).status_code == 404


def test_leading_one_study_changes_nothing_of_the_other(client, studies, reader):
    client.force_login(reader)
    older, newer, foreign = studies
    assert client.post(reverse("calibration:fit_now", args=[older])).status_code == 404
    assert client.get(reverse("judging:start_run", args=[older])).status_code == 403
    assert client.get(reverse("annotation:setup", args=[older])).status_code == 404
    assert client.post(reverse("annotation:change_status", args=[newer]), {"status": "paused"}).status_code == 302
    assert [Study.objects.get(pk=one.pk).status for one in studies] == ["open", "paused", "open"]
    for name in (*routes_of("study"), *routes_of("benchmark"), *routes_of("leaderboard")):
        row = foreign if name in {*routes_of("study")} else foreign.benchmark
        for ask in (client.get, client.post):
            assert ask(reverse(name, args=[row])).status_code in (404, 405), name


@pytest.mark.parametrize("place", [*OLD, *OLD_API])
def test_an_old_address_leads_to_the_only_row_that_the_reader_sees(client, studies, place):
    lead = make_user("lead", studies[1].workspace)
    client.force_login(lead)
    asked = place + "?judge=newer-judge&q=a%20b"
    answer = client.get(asked)
    assert answer.status_code == 302
    assert answer["Location"] == moved(asked)("newer")
    assert client.get(answer["Location"]).status_code == 200
    client.force_login(make_user("lead", make_workspace("elsewhere"), username="nobody"))
    assert client.get(place).status_code == 404
    client.logout()
    assert client.get(place).status_code == (401 if place in OLD_API else 302)
    client.force_login(make_user("rater", studies[1].workspace, username="rita"))
    assert client.get(place).status_code == 403


@pytest.mark.parametrize("place", OLD)
def test_an_old_address_asks_which_where_the_reader_sees_two(client, studies, reader, place):
    client.force_login(reader)
    answer = client.get(place + "?a=1&b=2")
    assert answer.status_code == 300
    page = markup(answer)
    for slug in WORKSPACES[:2]:
        assert f'href="{moved(place)(slug)}?a=1&amp;b=2"' in page
    assert "foreign" not in page.lower()


@pytest.mark.parametrize("place", OLD_API)
def test_an_old_address_of_the_api_lists_what_the_token_can_see(client, studies, reader, place):
    answer = client.get(place + "?size=2", **bearer(reader))
    assert answer.status_code == 409
    told = answer.json()
    assert [one["workspace"] for one in told["candidates"]] == ["newer", "older"]
    assert told["candidates"][0]["address"] == f"http://testserver{moved(place)('newer')}?size=2"
    assert "foreign" not in answer.content.decode()


def test_an_old_form_is_sent_on_with_what_it_holds(client, studies):
    client.force_login(make_user("lead", studies[1].workspace))
    answer = client.post("/studies/essays/status/?from=desk", {"status": "paused"}, follow=True)
    assert answer.redirect_chain[0] == ("/w/newer/studies/essays/status/?from=desk", 307)
    assert [Study.objects.get(pk=one.pk).status for one in studies] == ["open", "paused", "open"]


def test_an_old_form_is_stored_nowhere_where_it_has_to_ask(client, studies, reader):
    client.force_login(reader)
    answer = client.post("/studies/essays/status/", {"status": "paused"})
    assert answer.status_code == 300
    page = markup(answer)
    assert "Nothing that you sent was stored." in page
    assert 'href="/w/newer/studies/essays/"' in page
    assert not Study.objects.exclude(status="open").exists()


@pytest.mark.parametrize("rest", ["nowhere/", "cohorts/x/", "../../../sign-out/", "w/newer/studies/essays/"])
def test_an_old_address_that_never_was_is_not_found(client, studies, reader, rest):
    client.force_login(make_user("lead", studies[1].workspace, username="lea"))
    assert client.get(f"/studies/essays/{rest}").status_code == 404
    assert client.get(f"/api/v1/studies/essays/{rest}").status_code == 404


def test_what_an_old_address_holds_stays_quoted(client, studies):
    client.force_login(make_user("lead", studies[1].workspace))
    answer = client.get("/studies/essays/tasks/a%3Fb%23c/")
    assert answer["Location"] == "/w/newer/studies/essays/tasks/a%3Fb%23c/"


def test_a_raters_old_addresses_lead_to_their_study(client, studies):
    rater = make_user("rater", studies[1].workspace)
    client.force_login(rater)
    assert client.get("/done/essays/")["Location"] == "/w/newer/studies/essays/done/"
    assert client.get("/studies/essays/guideline/")["Location"] == "/w/newer/studies/essays/guideline/"
    started = client.post("/studies/essays/rate/", follow=True)
    assert started.redirect_chain[0] == ("/w/newer/studies/essays/rate/", 307)
    task = Assignment.objects.get(rater__user=rater)
    assert task.task.study == studies[1]
    assert "/w/newer/studies/essays/done/" in markup(client.get(reverse("annotation:rate", args=[task.public_id])))
    assert client.get("/w/older/studies/essays/done/").status_code == 404
    Membership.objects.create(workspace=studies[0].workspace, user=rater, role="rater")
    asked = client.post("/done/essays/appeal/")
    assert asked.status_code == 300 and 'href="/w/older/studies/essays/done/"' in markup(asked)
    client.force_login(make_user("rater", make_workspace("elsewhere"), username="ruth"))
    for place in ("/done/essays/", "/studies/essays/rate/", "/studies/essays/guideline/"):
        assert client.get(place).status_code == 404
    client.logout()
    assert client.get("/done/essays/").status_code == 403  # how to come back


def test_responses_are_narrowed_to_one_of_two_benchmarks(client, studies, reader):
    client.force_login(reader)
    place = reverse("generation:responses")
    for asked, expected in (("older/essays-benchmark", 1), ("newer/essays-benchmark", 2), ("essays-benchmark", 3)):
        assert client.get(place, {"benchmark": asked}).context["page"].paginator.count == expected
    assert client.get(place, {"benchmark": "foreign/essays-benchmark"}).context["page"].paginator.count == 0


def test_another_workspaces_study_does_not_change_a_new_ones_slug(studies, reader):
    fourth = make_workspace("fourth")
    made = [
        create_study(workspace=fourth, names={"en": "Essays"}, kind="checklist", benchmark=None, by=reader).slug
        for _time in range(2)
    ]
    assert made == ["essays", "essays-2"]


def test_a_command_asks_for_the_workspace(studies, tmp_path):
    with pytest.raises(CommandError, match="Say which workspace with --workspace: foreign, newer, older"):
        call_command("export", "essays", "--to", str(tmp_path / "e.zip"))


def test_a_workspace_keeps_its_slug_and_takes_no_word_of_other_addresses(client, studies):
    client.force_login(make_user(is_staff=True, is_superuser=True))
    empty = {"memberships-TOTAL_FORMS": 0, "memberships-INITIAL_FORMS": 0}
    refused = client.post(reverse("admin:accounts_workspace_add"), {"slug": "library", "name": "L"} | empty)
    assert "is a part of other addresses" in markup(refused)
    own = studies[0].workspace
    change = reverse("admin:accounts_workspace_change", args=[own.pk])
    assert client.post(change, {"slug": "renamed", "name": "Renamed"} | empty).status_code == 302
    own.refresh_from_db()
    assert (own.slug, own.name) == ("older", "Renamed")
    assert not Workspace.objects.filter(slug="library").exists()


def test_a_rater_without_an_account_keeps_link_and_old_addresses(client, studies):
    """The browser joined one of the studies; its old bookmarks lead there and not to the others of the slug."""
    door = make_cohort(studies[1], "Spring", "public")
    entry = f"/join/{door.entry_token}/"
    client.post(entry, {"answer": "yes"})
    assert "/w/newer/studies/essays/rate/" in markup(client.get(entry))
    assert client.get("/done/essays/?lang=en")["Location"] == "/w/newer/studies/essays/done/?lang=en"
    assert client.post("/studies/essays/rate/", follow=True).status_code == 200
    assert Assignment.objects.get(rater__cohort=door).task.study == studies[1]
    assert client.get("/studies/essays/")["Location"].startswith("/sign-in/")
