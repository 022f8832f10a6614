"""An owner deletes a study or a workspace whole, after typing its slug; an event with counts outlives it."""

from io import StringIO

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.urls import reverse

from accounts.models import Event, User, Workspace
from annotation.models import Assignment, Rater, Score, Study, Task
from annotation.studies.deletion import delete
from calibration.models import Fit, Report
from core.errors import UserError
from generation.models import Endpoint, EndpointGrant, Import, Response
from judging.models import Judge, JudgeRun, PlannedItem, Reply, Watch
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater, make_user, make_workspace

pytestmark = pytest.mark.django_db


def filled(slug, workspace=None):
    """A closed study with an answer, a verdict, a reply, a watch, a fit and a report."""
    study = make_checklist_study(slug=slug, instructions=2, models=1, status="closed", workspace=workspace)
    workspace = study.workspace
    make_answer(study.tasks.first(), make_rater(study), {"item0": 1, "overall": 5})
    judge = Judge.objects.create(
        workspace=workspace, rater=make_judge_rater(workspace, f"judge of {slug}"), method="stars", prompt_hash="0"
    )
    verdict = make_answer(study.tasks.first(), judge.rater, {"overall": 7})
    run = JudgeRun.objects.create(judge=judge, study=study, status="finished")
    item = PlannedItem.objects.create(run=run, task=study.tasks.first(), assignment=verdict)
    Reply.objects.create(item=item, request_hash="0")
    Watch.objects.create(judge=judge, study=study, next_at=study.created_at)
    Fit.objects.create(workspace=workspace, study=study)
    Report.objects.create(workspace=workspace, study=study, kind="raters", data_hash=slug, settings_hash="0")
    Event.objects.create(workspace=workspace, verb="opened", object_type="study", object_id=study.public_id)
    Import.objects.create(workspace=workspace, command="load_table", file="r.csv", about=slug)
    endpoint = Endpoint.objects.create(workspace=workspace, name=slug)
    EndpointGrant.objects.create(endpoint=endpoint, workspace=workspace, made_by="me", command="allow_endpoint")
    return study


@pytest.fixture
def study():
    return filled("tea")


@pytest.fixture
def owner(study, client):
    user = make_user("owner", study.workspace)
    client.force_login(user)
    return user


def test_a_study_goes_with_every_answer_and_another_stays_whole(study, owner):
    other = filled("milk")
    counts = delete(study, by=owner)
    assert counts["annotation.Score"] == 3
    assert counts["judging.Reply"] == 1
    assert Study.objects.get() == other
    assert (Score.objects.count(), Reply.objects.count(), Fit.objects.count(), Watch.objects.count()) == (3, 1, 1, 1)
    assert Response.objects.count() == 4
    assert Rater.objects.filter(kind="judge").count() == 2
    event = Event.objects.get(verb="delete_study")
    assert (event.actor, event.workspace, event.before, event.after) == (
        owner,
        study.workspace,
        {"slug": "tea"},
        counts,
    )


def test_a_workspace_goes_whole_and_its_events_outlive_it(study, owner):
    elsewhere = filled("milk", make_workspace("elsewhere"))
    workspace = study.workspace
    counts = delete(workspace, by=owner)
    assert counts["annotation.Study"] == 1
    assert Workspace.objects.get() == elsewhere.workspace
    for model in apps.get_models():
        if any(field.name == "workspace" for field in model._meta.fields) and model is not Event:
            assert not model.objects.filter(workspace_id=workspace.pk).exists()
    assert Score.objects.count() == 3
    assert User.objects.filter(pk=owner.pk).exists()
    kept = Event.objects.get(verb="delete_workspace")
    assert (kept.workspace, kept.object_id, kept.after) == (None, "lab", counts)
    assert Event.objects.filter(verb="opened", workspace=None).count() == 1


def test_what_others_use_stays(study, owner):
    other = make_checklist_study(slug="review", instructions=1, models=1)
    Task.objects.filter(study=other).update(reviews=Assignment.objects.filter(task__study=study).first())
    with pytest.raises(UserError, match="review"):
        delete(study, by=owner)
    assert Score.objects.count() == 3


@pytest.mark.parametrize("state", ["open", "running"])
def test_work_in_progress_is_ended_first(study, owner, state):
    if state == "open":
        Study.objects.update(status="open")
    else:
        JudgeRun.objects.update(status="running")
    with pytest.raises(UserError, match="first"):
        delete(Study.objects.get(), by=owner)
    assert Study.objects.exists()
    if state == "running":
        with pytest.raises(UserError, match="Runs are in progress"):
            delete(Workspace.objects.get(), by=owner)


@pytest.mark.parametrize("name", ["delete_study", "delete_workspace"])
def test_only_an_owner_who_types_the_slug_deletes(study, owner, client, name):
    slug = "tea" if name == "delete_study" else "lab"
    address = reverse(f"annotation:{name}", args=[study if name == "delete_study" else slug])
    for role in ("lead", "analyst", "rater"):
        client.force_login(make_user(role, study.workspace))
        assert client.get(address).status_code in (403, 404)
        assert client.post(address, {"slug": slug}).status_code in (403, 404)
    client.force_login(make_user("owner", make_workspace("elsewhere")))
    assert client.post(address, {"slug": slug}).status_code == 404
    client.logout()
    assert client.post(address, {"slug": slug}).status_code == 302
    assert Study.objects.exists()
    client.force_login(owner)
    page = client.get(address).content.decode()
    assert "3 scores" in page
    assert client.post(address, {"slug": "other"}).status_code == 422
    assert Study.objects.exists()
    assert client.post(address, {"slug": slug}).status_code == 302
    assert not Study.objects.exists()


def test_an_open_study_leads_to_the_page_that_closes_it(study, owner, client):
    client.force_login(owner)
    address, close = (reverse(f"annotation:{name}", args=[study]) for name in ("delete_study", "close_study"))
    assert close not in client.get(address).content.decode()
    Study.objects.update(status="open")
    page = client.get(address).content.decode()
    assert "Pause or close it first." in page
    assert f'href="{close}"' in page


def test_the_links_to_delete_are_an_owners(study, owner, client):
    history, members = reverse("annotation:history", args=[study]), reverse("accounts:people_of", args=["lab"])
    assert "/delete/" in client.get(history).content.decode()
    assert "/delete/" in client.get(members).content.decode()
    client.force_login(make_user("lead", study.workspace))
    assert "/delete/" not in client.get(history).content.decode()
    assert "/delete/" not in client.get(members).content.decode()


def test_a_superuser_is_made_by_the_command_alone(client):
    out = StringIO()
    call_command("make_superuser", "root", stdout=out)
    root = User.objects.get(username="root")
    assert root.is_superuser and root.is_staff
    assert "signs in with the password" in out.getvalue()
    event = Event.objects.get(verb="superuser made")
    assert event.after["superuser"] and event.after["made_by"]
    client.force_login(root)
    user = make_user()
    page = client.get(reverse("admin:accounts_user_change", args=[user.pk])).content.decode()
    assert 'name="is_superuser"' not in page
    assert 'name="is_staff"' not in page
    call_command("make_superuser", "root", "--end", stdout=out)
    root.refresh_from_db()
    assert not (root.is_superuser or root.is_staff)
    with pytest.raises(CommandError, match="no account"):
        call_command("make_superuser", "nobody", "--end")
