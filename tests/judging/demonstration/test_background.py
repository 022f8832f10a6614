"""The demonstration asked for in the browser: made once by a worker, marked as simulated, and without accounts."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from annotation.models import Study
from core.models import RequestedTask
from judging.demonstration.background import TASK, make_demonstration, state_of
from judging.demonstration.making import SLUG
from judging.models import JudgeRun
from judging.runs.worker import work_on
from judging.tasks import demonstrate
from tests.factories import make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db
ADDRESS = "/demonstration/lab/"


@pytest.fixture
def owner():
    return make_user("owner", make_workspace(), username="olga")


@pytest.fixture
def browser(owner):
    browser = Client()
    browser.force_login(owner)
    return browser


def test_the_start_page_offers_it_and_a_worker_makes_it_once(browser, owner):
    assert f'href="{ADDRESS}"' in markup(browser.get("/"))
    assert "Make the demonstration study" in markup(browser.get(ADDRESS))
    assert not RequestedTask.objects.exists()
    for _time in range(2):
        assert browser.post(ADDRESS)["Location"] == ADDRESS
    task = RequestedTask.objects.get()
    assert (task.task, task.arguments) == (TASK, [make_workspace().pk, owner.pk])
    waiting = markup(browser.get(ADDRESS))
    assert "Step 1 of 3" in waiting and 'hx-trigger="every 2s"' in waiting
    assert markup(browser.get(ADDRESS + "state/")).lstrip().startswith("<section")
    task.delete()
    demonstrate(*task.arguments)
    study = Study.objects.get()
    judging = markup(browser.get(ADDRESS))
    assert f"the scripted judge has judged 0 of {study.tasks.count()} responses" in judging and "every 2s" in judging
    work_on(JudgeRun.objects.get())
    done = markup(browser.get(ADDRESS))
    assert "The demonstration is complete." in done and "hx-trigger" not in done
    assert reverse("annotation:desk", args=[study]) in done
    demonstrate(*task.arguments)
    browser.post(ADDRESS)
    assert (Study.objects.count(), JudgeRun.objects.count(), RequestedTask.objects.count()) == (1, 1, 0)


def test_it_is_marked_as_simulated_and_adds_no_account(owner):
    """The attack: the accounts of `manage.py demo`, whose password is public, beside real work."""
    make_demonstration(make_workspace(), lead=owner)
    study = Study.objects.get()
    assert set(study.raters.filter(kind="person").values_list("provenance", flat=True)) == {"simulated"}
    assert list(User.objects.all()) == [owner] and study.created_by == owner
    assert study.source.startswith("fixtures/demo; ratings simulated")


def test_what_a_dead_worker_left_is_completed(browser, owner, monkeypatch):
    from judging.demonstration import background

    def dies(**_options):
        raise RuntimeError("killed")

    with monkeypatch.context() as broken:
        broken.setattr(background, "run_fit", dies)
        with pytest.raises(RuntimeError):
            make_demonstration(make_workspace(), lead=owner)
    stopped = markup(browser.get(ADDRESS))
    assert "The work stopped after 1 of 3 steps" in stopped and "Continue" in stopped
    browser.post(ADDRESS)
    assert RequestedTask.objects.filter(task=TASK).exists()
    make_demonstration(make_workspace(), lead=owner)
    state = state_of(make_workspace())
    assert (state.steps_done, state.is_under_way, Study.objects.count()) == (2, True, 1)
    work_on(JudgeRun.objects.get())
    assert state_of(make_workspace()).steps_done == 3


def test_a_study_of_that_name_is_left_alone(browser, owner):
    Study.objects.create(workspace=make_workspace(), slug=SLUG, names={"en": "Ours"}, kind="checklist")
    refused = browser.post(ADDRESS)
    assert refused.status_code == 409 and "Delete that study first" in markup(refused)
    make_demonstration(make_workspace(), lead=owner)
    assert Study.objects.get().tasks.count() == 0 and not RequestedTask.objects.exists()


@pytest.mark.parametrize("role", ["rater", "analyst", "reviewer"])
def test_only_who_leads_the_workspace_may_ask_for_it(role):
    user = make_user(role, make_workspace())
    make_user("lead", make_workspace("other"), username="lena")
    for name, address in ((user, ADDRESS), (User.objects.get(username="lena"), ADDRESS)):
        client = Client()
        client.force_login(name)
        assert client.post(address).status_code in (403, 404)
        assert client.get(address).status_code in (403, 404)
    assert Client().get(ADDRESS)["Location"].startswith("/sign-in/")
    assert not RequestedTask.objects.exists()


def test_a_form_of_another_site_asks_for_nothing(owner):
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(owner)
    assert strict.post(ADDRESS).status_code == 403
    assert not RequestedTask.objects.exists()
