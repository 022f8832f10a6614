"""What leads and owners decide about a study over the API: exclusions, erasure and deletion, each as its page does it."""

import pytest
from django.urls import reverse
from django.utils import timezone

from accounts.api.tokens import issue_token
from accounts.models import ApiToken, Event
from annotation.models import Assignment, Exclusion, RaterIdentity, Score, Study
from tests.factories import make_answer, make_checklist_study, make_rater, make_user, make_workspace

pytestmark = pytest.mark.django_db
VALUES = {"item0": 1.0, "item1": 0.5, "item2": 0.0, "overall": 6}
REASON = {"reason": "Same value everywhere"}
CHANGES = {
    "exclude_rater": REASON,
    "include_rater": {},
    "erase_person": {"confirm": "erase"},
    "delete_study": {"slug": "checklists"},
}


@pytest.fixture
def study():
    return make_checklist_study(instructions=2, models=1, status="closed")


@pytest.fixture
def ann(study):
    rater = make_rater(study, label="ann")
    for task in study.tasks.order_by("pk"):
        make_answer(task, rater, VALUES, submitted_at=timezone.now())
    return rater


def bearer(user, *scopes, **options):
    _token, secret = issue_token(user=user, name="script", scopes=scopes or ApiToken.Scope.values, **options)
    return {"headers": {"Authorization": f"Bearer {secret}"}}


def address(name, study, rater=None):
    return reverse(f"api:{name}", args=[study.workspace.slug, study.slug, *([rater.public_id] if rater else [])])


def change(client, name, study, rater, user, *scopes, sent=None):
    sent = {**CHANGES[name], **({"slug": study.slug} if name == "delete_study" else {})} if sent is None else sent
    path = address(name, study, None if name == "delete_study" else rater)
    return client.post(path, sent, "application/json", **bearer(user, *scopes))


@pytest.mark.parametrize("name", CHANGES)
def test_who_may_change(client, study, ann, name):
    before = Event.objects.count()
    elsewhere = make_user("owner", make_workspace("elsewhere"), username="else")
    assert change(client, name, study, ann, elsewhere).status_code == 404
    for role in ("analyst", "rater", *(["lead"] if name == "delete_study" else [])):
        assert change(client, name, study, ann, make_user(role, study.workspace, username=role)).status_code == 403
    owner = make_user("owner", study.workspace, username="owner")
    assert change(client, name, study, ann, owner, "read", "ratings", "run").status_code == 403
    events = Event.objects.exclude(verb__startswith="token").count()
    assert events == before
    assert Study.objects.exists() and not Exclusion.objects.exists()
    Exclusion.objects.create(study=study, rater=ann, reason="x") if name == "include_rater" else None
    assert change(client, name, study, ann, owner, "change").status_code in (200, 201)


@pytest.mark.parametrize("name", ["exclusions", "own_data"])
def test_who_may_read(client, study, ann, name):
    path = reverse("api:own_data") if name == "own_data" else address(name, study)
    lead = make_user("lead", study.workspace, username="lead")
    assert client.get(path, **bearer(lead, "read", "change", "run")).status_code == 403
    assert client.get(path, **bearer(lead, "ratings")).status_code == 200
    assert client.get(path, **bearer(make_user("rater", study.workspace, username="r"))).status_code == 403
    if name == "exclusions":
        other = make_user("lead", make_workspace("elsewhere"), username="else")
        assert client.get(path, **bearer(other)).status_code == 404


def test_answers_are_excluded_listed_and_count_again(client, study, ann):
    lead = make_user("lead", study.workspace, username="lead")
    made = change(client, "exclude_rater", study, ann, lead)
    assert made.status_code == 201
    assert {name: made.json()[name] for name in ("rater", "reason", "since", "by", "answers")} == {
        "rater": ann.public_id,
        "reason": REASON["reason"],
        "since": None,
        "by": "lead",
        "answers": 2,
    }
    assert set(Assignment.objects.values_list("status", flat=True)) == {"excluded"}
    event = Event.objects.get(verb="exclude_answers")
    assert (event.actor, event.object_id, event.after["answers"]) == (lead, ann.public_id, 2)
    twice = change(client, "exclude_rater", study, ann, lead)
    assert twice.status_code == 400 and "already excluded" in twice.json()["detail"]
    back = change(client, "include_rater", study, ann, lead)
    assert (back.status_code, back.json()) == (200, {"answers": 2, "without_seat": 0})
    assert Event.objects.get(verb="lift_exclusion").actor == lead
    assert set(Assignment.objects.values_list("status", flat=True)) == {"submitted"}
    assert "not excluded" in change(client, "include_rater", study, ann, lead).json()["detail"]
    (row,) = client.get(address("exclusions", study), **bearer(lead, "ratings")).json()["results"]
    assert (row["id"], row["rater"], row["lifted_by"]) == (made.json()["id"], ann.public_id, "lead")
    assert row["lifted_at"]


def test_answers_are_excluded_from_a_moment_on(client, study, ann):
    lead = make_user("lead", study.workspace)
    first, last = Assignment.objects.order_by("pk")
    Assignment.objects.filter(pk=first.pk).update(submitted_at="2026-01-01T00:00:00Z")
    made = change(client, "exclude_rater", study, ann, lead, sent=REASON | {"since": "2026-02-01T00:00:00+02:00"})
    assert (made.json()["answers"], made.json()["since"]) == (1, "2026-01-31T22:00:00Z")
    last.refresh_from_db()
    assert last.status == "excluded"


@pytest.mark.parametrize(
    "sent",
    [{}, {"reason": ""}, {"reason": "x" * 1001}, REASON | {"since": "soon"}, REASON | {"since": "2999-01-01T00:00Z"}],
)
def test_what_cannot_be_excluded_is_said(client, study, ann, sent):
    refused = change(client, "exclude_rater", study, ann, make_user("lead", study.workspace), sent=sent)
    assert refused.status_code == 400 and refused.json()["detail"]
    assert not Exclusion.objects.exists()


@pytest.mark.parametrize("name", ["exclude_rater", "include_rater", "erase_person"])
def test_a_rater_of_another_study_is_not_found(client, study, name):
    stranger = make_rater(make_checklist_study(slug="other", workspace=study.workspace))
    lead = make_user("lead", study.workspace)
    assert change(client, name, study, stranger, lead).status_code == 404


def test_a_person_is_erased_and_their_ratings_stay(client, study, ann):
    RaterIdentity.objects.create(rater=ann, key="ann@example.org", name="Ann")
    lead = make_user("lead", study.workspace)
    assert change(client, "erase_person", study, ann, lead, sent={}).status_code == 400
    assert RaterIdentity.objects.exists()
    done = change(client, "erase_person", study, ann, lead)
    assert (done.status_code, done.json()["erased"]["identities"]) == (200, 1)
    assert not RaterIdentity.objects.exists() and Score.objects.count() == 8
    event = Event.objects.get(verb="erase_person")
    assert (event.actor, event.object_id, event.after) == (lead, ann.public_id, done.json()["erased"])


def test_an_identity_alone_is_erased(client, study, ann):
    RaterIdentity.objects.create(rater=ann, key="ann@example.org", name="Ann")
    lead = make_user("lead", study.workspace)
    sent = {"confirm": "erase", "identity_only": True}
    assert change(client, "erase_person", study, ann, lead, sent=sent).json() == {"erased": {"identities": 1}}
    assert change(client, "erase_person", study, ann, lead, sent=sent).json() == {"erased": {"identities": 0}}
    assert not Event.objects.filter(verb="erase_person").exists() and Score.objects.count() == 8


def test_a_study_is_deleted_by_an_owner_who_repeats_its_slug(client, study, ann):
    owner = make_user("owner", study.workspace)
    for sent in ({}, {"slug": "another"}):
        refused = change(client, "delete_study", study, ann, owner, sent=sent)
        assert refused.status_code == 400 and refused.json()["detail"].startswith("slug: ")
    Study.objects.update(status="open")
    refused = change(client, "delete_study", study, ann, owner)
    assert refused.status_code == 400 and "open" in refused.json()["detail"]
    Study.objects.update(status="closed")
    done = change(client, "delete_study", study, ann, owner)
    assert (done.status_code, done.json()["removed"]["annotation.Score"]) == (200, 8)
    assert not Study.objects.exists()
    event = Event.objects.get(verb="delete_study")
    assert (event.actor, event.after) == (owner, done.json()["removed"])
    assert change(client, "delete_study", study, ann, owner).status_code == 404


def said(data):
    """What was answered, task by task."""
    given = [answer["scores"] for study in data["studies"] for answer in study["answers"]]
    return [[(score["criterion"], score["value"]) for score in scores] for scores in given]


def test_ones_own_data_is_that_of_the_page_and_an_event(client, study):
    lead = make_user("lead", study.workspace, username="lead")
    make_answer(study.tasks.first(), make_rater(study, lead), VALUES)
    client.force_login(lead)
    page = client.get(reverse("annotation:account_data")).json()
    client.logout()
    found = client.get(reverse("api:own_data"), **bearer(lead)).json()
    assert said(found) == said(page) == [[("item0", 1.0), ("item1", 0.5), ("item2", 0.0), ("overall", 6.0)]]
    assert found["account"]["username"] == "lead"
    assert Event.objects.filter(verb="export_own_data", actor=lead, object_id=lead.public_id).count() == 2
    limited = client.get(reverse("api:own_data"), **bearer(lead, workspace=study.workspace))
    assert limited.status_code == 404
