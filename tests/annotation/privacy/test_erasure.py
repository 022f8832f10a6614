"""A person takes their data away and is erased; afterwards nothing names them, and their answers are still there."""

import io
import json
import zipfile
from io import StringIO

import pytest
from django.apps import apps
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from accounts.api.tokens import issue_token
from accounts.models import Event, Membership, User
from annotation.assignment.rater_notes import write_note
from annotation.models import Assignment, Draft, Flag, LateChange, Participant, Rater, Score, TimeCorrection
from annotation.monitoring.adjudication import key_rater
from annotation.privacy.erasure import erase_account, erase_rater
from annotation.recruitment.cohorts import CrowdId, join, make_cohort
from annotation.studies.life_cycle import log_event
from annotation.web.recruitment.cohorts import people_of
from calibration.models import Report
from core.errors import UserError
from judging.archive.export import export_study
from tests.annotation.raters_at_work import clock, make_study, work
from tests.factories import make_rater, make_user, make_workspace

pytestmark = pytest.mark.django_db

NAMES = ("rosalind", "rosa@example.org", "5f1ab7c9d2", "sess-77aa", "said the physicist")
TEXT = "said the physicist"


@pytest.fixture
def study():
    return make_study(tasks=3, overlap=2, probe_rate=0)


@pytest.fixture
def owner(study):
    return make_user("owner", study.workspace)


def fill(rater, study):
    """Every kind of text that a rater can write, and what a lead writes to them."""
    work(rater, study, 1)
    write_note(rater, f"{TEXT} And thank you, Rosalind.", by=None, clock=clock())
    answer = Assignment.objects.filter(rater=rater, status="submitted").first()
    score = answer.scores.first()
    Score.objects.create(
        assignment=answer, criterion=score.criterion, revision=7, value=score.value, reason=TEXT, evidence=[]
    )
    given = {score.criterion.key: {"value": 1, "level": "", "not_applicable": False, "reason": TEXT, "evidence": None}}
    LateChange.objects.create(assignment=answer, cause="closed", answers=given)
    TimeCorrection.objects.create(assignment=answer, seconds=5, reason=TEXT)
    Draft.objects.create(task=study.tasks.last(), rater=rater, answers={"overall": {"reason": TEXT}})
    Flag.objects.create(task=answer.task, rater=rater, kind="note", text=TEXT)
    log_event(study, None, "resolve_flag", about=answer.task, after={"note": TEXT})
    skipped = study.tasks.exclude(assignments__rater=rater).first()
    Assignment.objects.create(task=skipped, rater=rater, status="skipped", reason=TEXT)
    return answer


@pytest.fixture
def rosa(study, owner):
    """Somebody with an account of every kind of row that may name them."""
    user = make_user(
        "rater", study.workspace, username="rosalind", email="rosa@example.org", first_name="Rosalind", last_name="F"
    )
    rater = join(make_cohort(study, "here", "onsite"), consent="yes", clock=clock(), user=user)
    fill(rater, study)
    issue_token(user=user, name="rosalind's script")
    about = ContentType.objects.get_for_model(User)
    LogEntry.objects.create(
        user=owner, content_type=about, object_id=str(user.pk), object_repr="rosalind", action_flag=CHANGE
    )
    Event.objects.create(actor=user, verb="person added", object_type="accounts.User", object_id=user.public_id)
    return user


@pytest.fixture
def worker(study):
    cohort = make_cohort(study, "crowd", "crowd")
    crowd = CrowdId("prolific", "prolific:5f1ab7c9d2", {"SESSION_ID": "sess-77aa"})
    rater = join(cohort, consent="yes", clock=clock(), crowd=crowd)
    fill(rater, study)
    return rater


def naming():
    """The columns of all tables in which one of the names stands."""
    found = set()
    for model in apps.get_models():
        for row in model._base_manager.values():
            found |= {f"{model._meta.label}.{k}" for k, v in row.items() if any(n in str(v).lower() for n in NAMES)}
    return found


def in_the_export(study):
    file = io.BytesIO()
    export_study(study, file)
    with zipfile.ZipFile(file) as archive:
        text = b"".join(archive.read(name) for name in archive.namelist()).decode("utf-8", "replace").lower()
    return [name for name in NAMES if name in text]


def answers():
    return sorted(Score.objects.values_list("assignment__rater_id", "criterion_id", "revision", "value"))


def test_nothing_names_an_erased_account_and_every_answer_stays(study, owner, rosa):
    Report.objects.create(
        workspace=study.workspace,
        study=study,
        kind="raters",
        data_hash="0",
        settings_hash="0",
        result={"who": "rosalind"},
    )
    Rater.objects.filter(user=rosa).update(label="rosalind", pseudonym="")
    key_rater(study, rosa)
    assert len(naming()) >= 12
    before = answers()
    erase_account(rosa, by=owner)
    assert naming() == set()
    assert in_the_export(study) == []
    assert answers() == before
    assert not User.objects.filter(pk=rosa.pk).exists()
    event = Event.objects.get(verb="erase_account")
    assert event.actor == owner
    assert event.after["reasons"] == 1
    assert event.after["accounts.ApiToken"] == 1


def test_nothing_names_an_erased_participant_who_is_still_no_second_rater(study, worker):
    assert "annotation.RaterIdentity.key" in naming()
    mark = Participant.objects.get().mark
    before = answers()
    erase_rater(worker, by=None)
    assert naming() == set()
    assert in_the_export(study) == []
    assert answers() == before
    kept = Participant.objects.get()
    assert (kept.mark, kept.submission, kept.browser) == (mark, "", "")
    link = reverse("annotation:join", args=[worker.cohort.entry_token])
    back = Client().get(f"{link}?PROLIFIC_PID=5f1ab7c9d2&STUDY_ID=s&SESSION_ID=sess-77aa")
    assert back.status_code == 403
    assert Rater.objects.filter(study=study, kind="person").count() == 1


def test_ones_own_data_is_whole_and_tells_no_check(study, rosa, client):
    answer = Assignment.objects.filter(rater__user=rosa, status="submitted").first()
    Assignment.objects.filter(pk=answer.pk).update(status="checked")
    client.force_login(rosa)
    response = client.get(reverse("annotation:account_data"))
    assert "attachment" in response["Content-Disposition"]
    data = json.loads(response.content)
    assert data["account"]["email"] == "rosa@example.org"
    assert data["account"]["tokens"][0]["name"] == "rosalind's script"
    [part] = data["studies"]
    assert part["identity"]["name"] == "Rosalind F"
    assert part["standing"]["note"].endswith("thank you, Rosalind.")
    assert part["notes"][0]["text"] == part["drafts"][0]["answers"]["overall"]["reason"] == TEXT
    [given] = [one for one in part["answers"] if one["id"] == answer.public_id]
    assert given["status"] == "submitted"
    assert any(score["reason"] == TEXT for score in given["scores"])
    assert given["late_changes"] and given["time_corrections"]
    assert len(given["scores"]) == answer.scores.count()
    assert {one["reason"] for one in part["answers"] if one["status"] == "skipped"} == {TEXT}
    assert Event.objects.get(verb="export_own_data").actor == rosa
    assert b"model0" not in response.content


def test_a_person_erases_their_account_with_their_password_alone(rosa, client):
    client.force_login(rosa)
    address = reverse("annotation:erase_own_account")
    assert client.get(address).status_code == 200
    assert client.post(address, {"password": "wrong"}).status_code == 422
    assert client.post(address).status_code == 422
    assert User.objects.filter(pk=rosa.pk).exists()
    assert client.post(address, {"password": "plumb line 12"}).status_code == 200
    assert naming() == set()
    assert client.get(reverse("annotation:account_data")).status_code == 302


def test_an_account_without_a_password_needs_a_fresh_session(rosa, client):
    rosa.set_unusable_password()
    rosa.save()
    client.force_login(rosa)
    User.objects.filter(pk=rosa.pk).update(last_login=clock()())
    assert client.post(reverse("annotation:erase_own_account")).status_code == 422
    client.force_login(rosa)
    assert client.post(reverse("annotation:erase_own_account")).status_code == 200


def test_the_only_owner_of_a_workspace_is_not_erased(owner, client):
    with pytest.raises(UserError, match="only owner of lab"):
        erase_account(owner, by=None)
    client.force_login(owner)
    answer = client.post(reverse("annotation:erase_own_account"), {"password": "plumb line 12"})
    assert answer.status_code == 409
    Membership.objects.create(workspace=make_workspace(), user=make_user(), role="owner")
    erase_account(owner, by=None)


def test_who_came_by_a_link_takes_and_erases_their_own_and_nobody_elses(study, client):
    make_rater(study, label="another")
    cohort = make_cohort(study, "open", "public")
    link = reverse("annotation:join", args=[cohort.entry_token])
    client.get(link)
    client.post(link, {"answer": "yes"}, follow=True)
    rater = Rater.objects.get(cohort=cohort)
    fill(rater, study)
    data, erase = (reverse(f"annotation:{name}", args=[study]) for name in ("rater_data", "erase_own"))
    for address in (data, erase):
        assert Client().get(address).status_code == 403
    assert TEXT in client.get(data).content.decode()
    assert client.get(erase).status_code == 200
    assert client.post(erase).status_code == 422
    assert Client().post(erase, {"confirm": "erase"}).status_code == 403
    assert "annotation.Flag.text" in naming()
    assert client.post(erase, {"confirm": "erase"}).status_code == 200
    assert naming() == set()
    assert client.get(data).status_code in (403, 404)


def test_a_lead_erases_a_rater_and_reading_identities_is_on_record(study, owner, worker, client):
    client.force_login(owner)
    cohorts = reverse("annotation:cohorts", args=[study])
    assert "5f1ab7c9d2" in client.get(cohorts).content.decode()
    client.get(cohorts)
    assert Event.objects.get(verb="read_identities").actor == owner
    assert people_of(study)[0][0].known_as
    stand = reverse("annotation:change_rater", args=[study, worker.public_id])
    stranger = Client()
    stranger.force_login(make_user("analyst", study.workspace))
    assert stranger.post(stand, {"do": "erase_all"}).status_code == 404
    assert naming()
    client.post(stand, {"do": "erase_all"})
    assert naming() == set()
    client.get(reverse("judging:export_file", args=[study]))
    assert Event.objects.get(verb="export_study").actor == owner


def test_the_operators_command_says_first_what_would_go(study, owner, rosa, worker):
    out = StringIO()
    call_command("erase_person", "rosalind", stdout=out)
    assert "1 memberships" in out.getvalue()
    assert User.objects.filter(username="rosalind").exists()
    call_command("erase_person", "rosalind", "--yes", stdout=out)
    call_command("erase_person", worker.public_id, "--rater", "--yes", stdout=out)
    assert naming() == set()
    with pytest.raises(CommandError, match="no account"):
        call_command("erase_person", "rosalind", "--yes")


def test_the_administration_erases_whom_it_deletes(study, owner, rosa, client):
    client.force_login(make_user(is_staff=True, is_superuser=True))
    client.post(reverse("admin:accounts_user_delete", args=[rosa.pk]), {"post": "yes"})
    assert not User.objects.filter(username="rosalind").exists()
    assert naming() == set()
    kept = client.post(reverse("admin:accounts_user_delete", args=[owner.pk]), {"post": "yes"})
    assert kept.status_code == 200
    assert User.objects.filter(pk=owner.pk).exists()
