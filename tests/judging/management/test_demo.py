"""The demo command: for a database of its own, in local mode, without power over the server."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Membership, User, Workspace
from annotation.models import Assignment, Rubric, Study
from annotation.recruitment.cohorts import join, make_cohort
from generation.models import Benchmark, Endpoint, Instruction, LanguageModel
from judging.demonstration.making import PASSWORD, SLUG
from judging.management.commands import demo
from tests.factories import make_user, make_workspace

pytestmark = pytest.mark.django_db


def run():
    said = StringIO()
    call_command("demo", "--no-serve", stdout=said)
    return " ".join(said.getvalue().split())


@pytest.fixture
def quick(monkeypatch):
    """The study with its people and texts; what is computed of it afterwards has tests of its own."""
    for step in ("publish_weights", "_judge_once"):
        monkeypatch.setattr(demo, step, lambda *_parts: None)
    real = call_command
    left_out = ("report_agreement", "fit_weights", "leaderboard", "compare_judge")
    monkeypatch.setattr(demo, "call_command", lambda name, *a, **o: name in left_out or real(name, *a, **o))


def everything():
    """How much of each kind there is, and who may what."""
    accounts = list(User.objects.order_by("pk").values_list("username", "password", "is_superuser", "is_staff"))
    counts = [model.objects.count() for model in (Workspace, Membership, Study, Rubric, Instruction, Assignment)]
    return accounts, counts


def signs_in(username):
    return Client().post("/sign-in/", {"username": username, "password": PASSWORD}).status_code == 302


def test_it_is_built_twice_makes_no_superuser_and_its_logins_work(client):
    """The whole of it, as `make demo` runs it."""
    said = run()
    first = everything()
    assert f"Sign in as lead or as rater, password {PASSWORD}." in said
    assert signs_in("lead") and signs_in("rater")
    assert "5. Rank the models" in said
    for user in User.objects.all():
        assert (user.is_superuser, user.is_staff, user.demonstration) == (False, False, True)
    again = run()
    assert "already exists" in again
    assert f"Sign in as lead or as rater, password {PASSWORD}." in again
    assert everything() == first
    client.login(username="lead", password=PASSWORD)
    assert client.get("/admin/").status_code == 302
    assert client.get("/people/").status_code == 200


def test_production_is_refused_before_anything_is_done(settings, quick):
    settings.LOCAL = False
    with pytest.raises(CommandError, match=r"not allowed in production mode.*PLUMBLINE_MODE=local"):
        run()
    assert everything() == ([], [0] * 6)


def test_after_trying_it_out_it_is_served_again(quick):
    run()
    client = Client()
    client.login(username="rater", password=PASSWORD)
    client.post(reverse("annotation:start", args=[Study.objects.get(slug=SLUG)]))
    assert Assignment.objects.filter(rater__user__username="rater").exists()
    assert "already exists" in run()


def test_a_changed_password_is_neither_printed_nor_undone(quick):
    run()
    lead = User.objects.get(username="lead")
    lead.set_password("my own words 5")
    lead.save()
    said = run()
    assert f"Sign in as rater, password {PASSWORD}." in said
    assert "The password of lead has been changed" in said
    lead.refresh_from_db()
    assert lead.check_password("my own words 5")


def real_account():
    make_user("owner", Workspace.objects.first() or make_workspace("main"), username="olga")


def a_lead_of_that_name():
    """The attack in passing: a person called lead became the owner of a workspace with a known password elsewhere."""
    make_user("analyst", username="lead")


def another_workspace():
    make_workspace("main")
    make_workspace("lab")


def another_study():
    workspace = Workspace.objects.first() or make_workspace("main")
    Study.objects.create(workspace=workspace, slug="pilot", names={"en": "Pilot"}, kind="checklist")


def a_study_of_that_name():
    Study.objects.create(workspace=make_workspace("main"), slug=SLUG, names={"en": "Ours"}, kind="checklist")


def own_texts():
    workspace = Workspace.objects.first() or make_workspace("main")
    benchmark = Benchmark.objects.get_or_create(workspace=workspace, slug="hellobench")[0]
    Instruction.objects.create(benchmark=benchmark, external_id="chat_001", messages=[])


def own_benchmark():
    Benchmark.objects.create(workspace=Workspace.objects.first() or make_workspace("main"), slug="essays")


def own_rubric():
    Rubric.objects.create(workspace=Workspace.objects.first() or make_workspace("main"), key="ours")


def own_model():
    LanguageModel.objects.create(workspace=Workspace.objects.first() or make_workspace("main"), name="our-7b")


def own_server():
    workspace = Workspace.objects.first() or make_workspace("main")
    Endpoint.objects.create(workspace=workspace, name="lab", base_url="http://10.0.0.5:8000/v1")


NOT_OURS = {
    "accounts: olga": real_account,
    "accounts: lead": a_lead_of_that_name,
    "workspaces: lab": another_workspace,
    "studies: pilot": another_study,
    "studies: demo": a_study_of_that_name,
    "instructions: chat_001": own_texts,
    "benchmarks: essays": own_benchmark,
    "rubrics: ours": own_rubric,
    "models: our-7b": own_model,
    "model servers: lab": own_server,
}


@pytest.mark.parametrize("named", NOT_OURS)
def test_a_database_with_other_work_is_left_as_it_was(quick, named):
    """The attack, or the operator's mistake: the known password becomes an owner's beside real work."""
    NOT_OURS[named]()
    before = everything()
    with pytest.raises(CommandError, match=f"holds more than a demonstration .*{named}.*PLUMBLINE_DATA_DIR"):
        run()
    assert everything() == before


@pytest.mark.parametrize("named", sorted(NOT_OURS.keys() - {"accounts: lead", "workspaces: lab", "studies: demo"}))
def test_a_demonstration_into_which_work_was_put_is_left_too(quick, named):
    run()
    NOT_OURS[named]()
    before = everything()
    with pytest.raises(CommandError, match=f"holds more than a demonstration .*{named}"):
        run()
    assert everything() == before


def test_a_rater_who_came_by_a_link_is_real_work(quick):
    run()
    study = Study.objects.get(slug=SLUG)
    join(make_cohort(study, "Spring", "public"), consent="Be kind.", clock=timezone.now, nickname="Nia")
    with pytest.raises(CommandError, match="cohorts: Spring; raters: R"):
        run()


def test_the_database_is_asked_before_its_tables_are_brought_up_to_date(monkeypatch):
    real_account()
    monkeypatch.setattr(demo, "call_command", lambda *parts, **options: pytest.fail(f"ran {parts}"))
    with pytest.raises(CommandError, match="accounts: olga"):
        run()
