"""manage.py judge: a study or a benchmark, new or resumed, here or in the background; and what can be wrong."""

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Assignment, Study
from generation.models import Endpoint, LanguageModel, Response
from judging.models import Judge, JudgeRun, PlannedItem
from tests.factories import make_checklist_study, make_judge_rater, make_workspace
from tests.generation.hostile_server import HostileServer, fails, good_answer

pytestmark = pytest.mark.django_db


@pytest.fixture
def server():
    with HostileServer(lambda request, n: good_answer(request)) as server:
        yield server


def test_a_study_is_judged_at_an_address(server, capsys):
    study = make_checklist_study(models=1)
    call_command("judge", study.slug, model="m1", base_url=server.base_url, no_canaries=True, concurrency=2)
    shown = capsys.readouterr().out
    assert "is finished: 4 of 4 scored, 0 unscored, 0 left; 4 calls" in shown
    assert "has not been tested" in shown and "probe_endpoint '" in shown
    assert Endpoint.objects.get().base_url == server.base_url
    assert Judge.objects.get().rater.label == "m1 checklist"
    assert Assignment.objects.filter(task__study=study, status="submitted").count() == 4


def test_a_benchmark_is_judged_in_a_study_of_its_own(server):
    study = make_checklist_study()
    human = list(study.tasks.values_list("response_a", flat=True))
    Response.objects.filter(pk=human[0]).update(kind="reference")
    Response.objects.filter(pk=human[1]).update(text=None)
    call_command("judge", study.benchmark.slug, model="m1", base_url=server.base_url, no_canaries=True)
    own = Study.objects.get(slug="essays-benchmark-judged")
    assert own.tasks.count() == 6
    assert Assignment.objects.filter(task__study=own, status="submitted").count() == 6
    assert not Assignment.objects.filter(task__study=study).exists()
    with pytest.raises(CommandError, match="every task"):
        call_command("judge", study.benchmark.slug, model="m1")


def test_texts_that_deserve_nothing_are_planted_unless_told_otherwise(server, capsys):
    study = make_checklist_study(models=1)
    call_command("judge", study.slug, model="m1", base_url=server.base_url)
    assert "is finished: 4 of 4 scored" in capsys.readouterr().out
    planted = PlannedItem.objects.exclude(canary="")
    assert sorted(planted.values_list("canary", flat=True)) == ["empty", "null", "order", "refusal"]
    assert set(planted.values_list("assignment__status", flat=True)) == {"checked"}
    assert Assignment.objects.filter(status="submitted").count() == 4


def test_the_options_of_the_other_methods_are_refused_where_they_mean_nothing(server):
    study = make_checklist_study(models=1)
    with pytest.raises(CommandError, match="method longer uses no model; leave out --jury"):
        call_command("judge", study.slug, method="longer", jury="m1,m2")
    with pytest.raises(CommandError, match="--both-orders needs pairs"):
        call_command("judge", study.slug, model="m1", base_url=server.base_url, both_orders=True)
    with pytest.raises(CommandError, match="twice"):
        call_command("judge", study.slug, model="m1", base_url=server.base_url, jury="m1")
    with pytest.raises(CommandError, match="no tasks of kind pair"):
        call_command("judge", study.slug, method="longer")
    with pytest.raises(CommandError, match="--retry-unscored needs"):
        call_command("judge", study.slug, model="m1", base_url=server.base_url, retry_unscored=True)


def test_a_jury_by_command_has_a_verdict_of_its_own(server, capsys):
    study = make_checklist_study(models=1)
    call_command("judge", study.slug, model="m1", base_url=server.base_url, jury="m2,m3", combine="mean")
    shown = capsys.readouterr().out
    assert "m1 checklist + m2 checklist + m3 checklist (mean)" in shown
    assert Assignment.objects.filter(status="derived").count() == 4


def test_a_budget_pauses_and_resume_goes_on(server, capsys):
    study = make_checklist_study(models=1)
    call_command("judge", study.slug, model="m1", base_url=server.base_url, no_canaries=True, budget_calls=2)
    run = JudgeRun.objects.get()
    assert run.status == "paused"
    assert f"--resume {run.public_id}" in capsys.readouterr().out
    assert len(server.requests) == 2
    call_command("judge", resume=run.public_id, budget_calls=4)
    run.refresh_from_db()
    assert run.status == "finished"
    assert len(server.requests) == 4


def test_a_refused_key_ends_the_command_with_the_endpoints_words():
    study = make_checklist_study(models=1)
    with (
        HostileServer(lambda request, n: fails(401, "this key is revoked")) as server,
        pytest.raises(CommandError, match="this key is revoked"),
    ):
        call_command("judge", study.slug, model="m1", base_url=server.base_url, no_canaries=True)
    assert JudgeRun.objects.get().status == "failed"


def test_limit_name_and_a_second_judge(server):
    study = make_checklist_study(models=1)
    call_command("judge", study.slug, model="m1", base_url=server.base_url, no_canaries=True, limit=1, name="strict")
    assert PlannedItem.objects.count() == 1
    call_command("judge", study.slug, model="m1", name="strict", no_canaries=True)
    assert Judge.objects.count() == 1
    assert PlannedItem.objects.count() == 4
    make_judge_rater(study.workspace, "gpt-4o")
    with pytest.raises(CommandError, match="belongs to another judge"):
        call_command("judge", study.slug, model="m1", name="gpt-4o")


def test_background_leaves_the_work_to_a_worker(monkeypatch, django_capture_on_commit_callbacks, capsys):
    sent = []
    monkeypatch.setattr("judging.tasks.work.delay", sent.append)
    study = make_checklist_study(models=1)
    with django_capture_on_commit_callbacks(execute=True):
        call_command("judge", study.slug, model="m1", base_url="http://127.0.0.1:9/v1", background=True)
    run = JudgeRun.objects.get()
    assert (sent, run.status) == ([run.pk], "running")
    assert "A worker will work on run" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("target", "options", "words"),
    [
        ("nowhere", {"model": "m", "base_url": "http://x/v1"}, "there are: essays, essays-benchmark"),
        ("essays", {}, r"a model \(--model\)"),
        (None, {"model": "m"}, "Give a study or a benchmark"),
        ("essays", {"model": "m"}, "--base-url or --endpoint"),
        ("essays", {"model": "m", "endpoint": "none"}, "no endpoint 'none'"),
        ("essays", {"model": "m", "base_url": "ftp://x"}, "The address must be like http://"),
        ("essays", {"model": "m", "base_url": "http://user:pw@x/v1"}, "and no password"),
        ("essays", {"model": "m", "base_url": "http://x/v1", "budget_money": "much"}, "write it like 2.50"),
        (
            "essays",
            {"model": "m", "base_url": "http://x/v1", "budget_calls": -1},
            "is not a valid limit; give a number from 0",
        ),
        ("essays", {"model": "m", "base_url": "http://x/v1", "budget_tokens": 10**30}, "is not a valid limit"),
        (
            "essays",
            {"model": "m", "base_url": "http://x/v1", "budget_money": "nan"},
            "nan is not a valid limit|NaN is not a valid limit",
        ),
        ("essays", {"model": "m", "base_url": "http://x/v1", "budget_money": "1e30"}, "is not a valid limit"),
        ("essays", {"model": "m", "base_url": "http://x/v1", "seed": 10**30}, "--seed 1.* is too large"),
        ("essays", {"model": "m", "base_url": "http://x/v1", "concurrency": 0}, "--concurrency 0 is too small"),
        ("essays", {"model": "m" * 201, "base_url": "http://x/v1"}, "--model is too long"),
        ("essays", {"model": "m", "base_url": "http://x/" + "v" * 490}, "--base-url is too long"),
        ("essays", {"model": "m", "base_url": "http://x/v1", "name": "n" * 201}, "--name is too long"),
        ("essays", {"model": "m", "base_url": "http://x/v1", "limit": 0}, "at least 1"),
        (None, {"resume": "xyz"}, "no run 'xyz'"),
        ("essays", {"model": "m", "workspace": "moon"}, "no workspace 'moon'"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence_and_nothing_is_planned(target, options, words):
    make_checklist_study()
    with pytest.raises(CommandError, match=words):
        call_command("judge", *([target] if target else []), **options)
    assert not JudgeRun.objects.exists()
    assert not Endpoint.objects.filter(base_url__contains="/v").exists()


def test_a_model_of_another_workspace_is_another_model(server):
    LanguageModel.objects.create(workspace=make_workspace("other"), name="m1")
    study = make_checklist_study(models=1)
    call_command("judge", study.slug, model="m1", base_url=server.base_url, no_canaries=True, workspace="lab")
    assert Judge.objects.get().language_model.workspace.slug == "lab"
