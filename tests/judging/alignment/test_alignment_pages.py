"""The pages and addresses of an alignment: what they show, to whom, and that a look asks first."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.api.tokens import issue_token
from judging.alignment.records import add_version
from judging.models import Alignment, AlignmentLook
from tests.factories import make_user, make_workspace
from tests.judging.alignment.studies import aligned, half, judge_right, nearly_all, other_half, rated_study
from tests.markup import markup
from tests.page_files import check_files

pytestmark = pytest.mark.django_db


def text(page):
    return " ".join(markup(page).split())


@pytest.fixture
def study():
    return rated_study()


@pytest.fixture
def lead(study, client):
    client.force_login(make_user("lead", study.workspace))
    return client


def page_of(found):
    return reverse("judging:alignment", args=[found.public_id])


def look_of(found, version):
    return reverse("judging:take_look", args=[found.public_id, version.judge.rater.public_id])


def test_a_lead_begins_adds_measures_and_reads_the_answer(lead, study):
    baseline = judge_right(study, half, name="baseline")
    version = judge_right(study, nearly_all, name="version")
    begin = reverse("judging:new_alignment", args=[study])
    assert begin in text(lead.get(reverse("judging:judges", args=[study])))
    assert "at least 65 instructions must have been rated by two people" in text(lead.get(begin))
    shares = {"training": "0.3", "validation": "0.3", "test": "0.4", "seed": "2"}
    wrong = lead.post(begin, {"baseline": baseline.pk, **shares, "test": "0.9"})
    assert wrong.status_code == 422 and "three shares that add up to 1" in text(wrong)
    page = lead.post(begin, {"baseline": baseline.pk, **shares}).url
    found = Alignment.objects.get()
    assert (page, found.criterion, found.seed) == (page_of(found), "item0", 2)
    empty = text(lead.get(page))
    assert "There is no version yet that could be compared with the baseline, baseline." in empty
    assert reverse("judging:new_judge", query={"like": baseline.rater.public_id, "alignment": found.public_id}).replace(
        "&", "&amp;"
    ) in markup(lead.get(page))
    assert lead.post(page, {"judge": version.pk}).url == page
    with CaptureQueriesContext(connection) as queries:
        chosen = text(lead.get(page))
    assert len(queries) <= 30
    assert "Whether version agrees more often with people than baseline is not shown yet: it gains most" in chosen
    assert "Measure it on the test part" in chosen and "Looks at the test part" not in chosen
    assert "The prompt is that of the baseline" not in chosen and "Version " in chosen  # the diff of the prompts
    address = look_of(found, found.versions.get())
    asked = text(lead.get(address))
    assert "This is look 1 of this alignment" in asked and "the level 0.025" in asked and "one of 97.5 %" in asked
    assert not AlignmentLook.objects.exists()
    for unconfirmed in ({}, {"look": ""}, {"look": "2"}, {"look": "x"}):
        refused = lead.post(address, unconfirmed)
        assert refused.status_code == 422 and "This would be look 1, tested at the level 0.025" in text(refused)
    assert not AlignmentLook.objects.exists()
    assert lead.post(address, {"look": "1"}).url == page
    told = text(lead.get(page))
    assert "version agrees more often with people than baseline does: by 0." in told
    assert "97.5 % interval of the difference 0." in told and "The interval is for raters like these." in told
    assert "The next look would be number 2, at the level 0.0125." in told and "Open its card" in told
    rows = lead.get(page, {"file": "agreement.csv"}).content.decode("utf-8-sig").splitlines()
    assert [row.split(",")[1] for row in rows[1:]] == [*("training", "validation"), *("training", "validation", "test")]
    (look,) = lead.get(page, {"file": "looks.json"}).json()["rows"]
    assert look[:2] == [1, "version"] and look[8] == "better"
    assert lead.get(page, {"file": "nothing.csv"}).status_code == 404
    assert "was measured on the test part already, by look 1" in text(lead.get(address))


def test_what_is_not_shown_is_said_so_with_its_level(lead, study):
    found, first = aligned(study, other_half)
    lead.post(look_of(found, first), {"look": "1"})
    told = text(lead.get(page_of(found)))
    assert (
        "That version agrees more often with people than baseline is not shown: on the test part the difference is"
        in told
    )
    assert "look 1, tested at the level 0.025" in told and "no difference shown" in told
    second = add_version(found, judge_right(study, lambda number: number % 4 == 0, name="worst"))
    lead.post(look_of(found, second), {"look": "2"})
    assert "98.75 % interval" in text(lead.get(page_of(found)))


def test_others_read_or_see_nothing_and_only_a_lead_changes(client, study):
    found, version = aligned(study)
    client.force_login(make_user("analyst", study.workspace))
    shown = text(client.get(page_of(found)))
    assert "A lead of this workspace takes the next step." in shown and "Another version" not in shown
    assert client.get(look_of(found, version)).status_code == 403
    assert client.post(look_of(found, version), {"look": "1"}).status_code == 403
    assert client.post(page_of(found), {"judge": version.judge.pk}).status_code == 403
    assert client.get(reverse("judging:propose_prompt", args=[found.public_id])).status_code == 403
    assert "A lead of this workspace begins an alignment." in text(
        client.get(reverse("judging:new_alignment", args=[study]))
    )
    assert client.post(reverse("judging:new_alignment", args=[study]), {}).status_code == 403
    client.force_login(make_user("lead", make_workspace("elsewhere")))
    for address in (page_of(found), look_of(found, version), reverse("judging:propose_prompt", args=[found.public_id])):
        assert client.get(address).status_code == 404
    assert client.get(look_of(found, version).replace(version.judge.rater.public_id, "nobody")).status_code == 404
    client.logout()
    assert client.get(page_of(found)).status_code == 302 and not AlignmentLook.objects.exists()


def test_the_api_begins_adds_reads_and_looks(client, study):
    judge_right(study, half, name="baseline")
    judge_right(study, nearly_all, name="version")
    user = make_user("lead", study.workspace)
    _token, secret = issue_token(user=user, name="script", scopes=["read", "change"])
    sent = {"headers": {"Authorization": f"Bearer {secret}"}, "content_type": "application/json"}
    of_study = f"/api/v1/w/lab/studies/{study.slug}/alignments/"
    refused = client.post(f"{of_study}begin/", {"baseline": "nobody"}, **sent)
    assert refused.status_code == 400 and "there are: baseline, version" in refused.json()["detail"]
    begun = client.post(f"{of_study}begin/", {"baseline": "baseline", "seed": 4}, **sent)
    assert begun.status_code == 201 and begun.json()["instructions"] == {"training": 24, "validation": 24, "test": 32}
    path = f"/api/v1/alignments/{begun.json()['id']}/"
    client.force_login(user)
    assert "agreement.tex" in check_files(client, path, reverse("judging:alignment", args=[begun.json()["id"]]))
    assert client.get(of_study, **sent).json()["alignments"][0]["id"] == begun.json()["id"]
    added = client.post(f"{path}versions/", {"judge": "version"}, **sent)
    assert added.status_code == 201 and added.json()["chosen"] == 0 and added.json()["versions"][0]["look"] is None
    for wrong in ({"judge": "version"}, {"judge": "version", "look": 2}, {"judge": "baseline", "look": 1}):
        assert client.post(f"{path}looks/", wrong, **sent).status_code == 400
    assert not AlignmentLook.objects.exists()
    looked = client.post(f"{path}looks/", {"judge": "version", "look": added.json()["next_look"]}, **sent)
    assert looked.status_code == 201 and looked.json()["versions"][0]["look"]["claim"] == "better"
    assert client.get(path, **sent).json() == looked.json()
    reader = make_user("analyst", study.workspace)
    _token, secret = issue_token(user=reader, name="script", scopes=["read", "change"])
    other = {"headers": {"Authorization": f"Bearer {secret}"}, "content_type": "application/json"}
    assert client.get(path, **other).status_code == 200
    assert client.post(f"{path}versions/", {"judge": "version"}, **other).status_code == 403
