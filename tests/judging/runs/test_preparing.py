"""A large run is prepared by its worker: the plan that it would have at once, whenever the work is stopped and taken up."""

import json
import subprocess
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from annotation.models import Criterion, Study, Task
from generation.execution.leases import LEASE, new_worker_name
from generation.execution.worker import DEFAULT_OPTIONS, WorkerOptions
from generation.llm.scripted import ScriptedChat
from generation.models import Endpoint, LanguageModel, Response
from judging import tasks
from judging.judges.making import create_judge
from judging.methods.combining import How
from judging.models import JudgeRun, PlannedItem, Preparation
from judging.runs.life_cycle import (
    cancel_run,
    finish_if_done,
    nobody_works,
    pause_run,
    somebody_prepares,
    start_run,
    take_preparation,
)
from judging.runs.planning import plan as plans, preparation as preparing
from judging.runs.planning.preparation import NOTHING_LEFT, create_run, prepare
from judging.runs.planning.request import RunRequest, Target
from judging.runs.worker import work_on
from judging.studies.benchmarks import NothingToJudge
from tests.factories import make_answer, make_checklist_study, make_rater, make_user
from tests.generation.hostile_server import HostileServer, good_answer
from tests.judging.runs.test_methods_run import make_pair_study
from tests.markup import markup

pytestmark = pytest.mark.django_db
RESPONSES = 18


@pytest.fixture(autouse=True)
def small_steps(monkeypatch):
    """Eighteen responses are many, and five are done in a step."""
    monkeypatch.setattr(preparing, "AT_ONCE", 5)
    monkeypatch.setattr(preparing, "BATCH", 5)
    monkeypatch.setattr(plans, "BATCH", 5)


@pytest.fixture
def study():
    return make_checklist_study(instructions=6, models=3)


@pytest.fixture
def judge(study):
    return create_judge(model=model_of(study))


@pytest.fixture
def sent(monkeypatch):
    sent = []
    monkeypatch.setattr("judging.tasks.work.delay", sent.append)
    return sent


def model_of(study, name="judge0", **endpoint):
    place = Endpoint.objects.create(
        workspace=study.workspace, name=f"place of {name}", **(endpoint or {"base_url": "http://127.0.0.1:9/v1"})
    )
    return LanguageModel.objects.create(workspace=study.workspace, name=name, endpoint=place)


def whole(study):
    return Target(benchmark=study.benchmark)


def started(judge, target, jurors=(), **wish):
    run = create_run(RunRequest(target, (judge, *jurors), **wish))
    start_run(run, clock=timezone.now)
    return run


def prepared(run, options=DEFAULT_OPTIONS):
    return prepare(run, options=options, clock=timezone.now)


def after(steps, do):
    """A shift in which something happens once, after so many steps."""
    seen = []

    def watch():
        seen.append(None)
        if len(seen) == steps:
            do()

    return WorkerOptions(watch=watch)


def plan_of(run):
    """What is asked, by what it is about, in its order."""
    positions = run.items.order_by("position").values_list("position", flat=True)
    assert list(positions) == list(range(run.items.count()))
    rows = run.items.order_by("position").values_list(
        "task__response_a", "task__response_b", "shown_first", "repeat", "juror", "canary", "status"
    )
    return [(*("planted" if row[5] else pk for pk in row[:2]), *row[2:]) for row in rows]


def is_whole(run):
    """All its items are there, each once, and nothing is left to prepare."""
    assert not Preparation.objects.filter(run=run).exists()
    ordered = Response.objects.order_by("instruction__external_id", "model__name")
    assert [row[0] for row in plan_of(run)] == list(ordered.values_list("pk", flat=True))
    assert run.study.tasks.count() == RESPONSES
    run.refresh_from_db()
    assert run.manifest["asked"]["items"] == RESPONSES
    assert run.manifest["data_hash"]


KINDS = {
    "plainly": {},
    "a part": {"limit": 7},
    "planted texts": {"canaries": True},
    "several times": {"repeats": 3},
    "what people rated": {"only_rated": True},
    "a seed": {"seed": 7, "canaries": True},
}


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("jury", [1, 2])
@pytest.mark.parametrize("own", [False, True])
def test_the_plan_is_what_it_would_have_been_at_once(study, judge, monkeypatch, kind, jury, own):
    for task in study.tasks.all()[2:9]:
        make_answer(task, make_rater(study), {"item0": 1, "item1": 1, "item2": 1, "overall": 9})
    jurors = tuple(create_judge(model=model_of(study, f"judge{n}")) for n in range(1, jury))
    wish = {"jurors": jurors, "combine": How.MEAN, **KINDS[kind]}
    target = whole(study) if own else Target(study=study)
    with monkeypatch.context() as patched:
        patched.setattr(preparing, "AT_ONCE", 10_000)
        at_once = started(judge, target, **wish)
    assert not at_once.preparing
    expected = plan_of(at_once)
    made_of = JudgeRun.objects.get(pk=at_once.pk).manifest
    at_once.delete()
    if own:
        Study.objects.exclude(pk=study.pk).delete()
    run = started(judge, target, **wish)
    assert run.preparing
    assert prepared(run)
    assert plan_of(run) == expected
    assert JudgeRun.objects.get(pk=run.pk).manifest == made_of


@pytest.mark.parametrize("both_orders", [False, True])
def test_of_pairs_also_where_it_is_taken_up_in_between(monkeypatch, both_orders):
    study = make_pair_study(instructions=9)
    judge = create_judge(model=model_of(study), method="pair_of_four")
    wish = {"both_orders": both_orders, "repeats": 2, "canaries": True, "seed": 3}
    target = Target(study=study)
    with monkeypatch.context() as patched:
        patched.setattr(preparing, "AT_ONCE", 10_000)
        at_once = create_run(RunRequest(target, (judge,), **wish))
    expected = plan_of(at_once)
    assert {row[2] for row in expected} == {"a", "b"}
    at_once.delete()
    run = started(judge, target, **wish)
    for _ in range(3):
        assert not prepared(run, WorkerOptions(interrupted=lambda: True))
    assert 0 < run.items.filter(canary="").count() < len(expected) - 8
    assert prepared(run)
    assert plan_of(run) == expected


def test_in_the_browser_it_starts_with_nothing_made_and_shows_its_steps(
    client, study, judge, sent, django_capture_on_commit_callbacks
):
    client.force_login(make_user("lead"))
    place = reverse("judging:judge_benchmark", args=[study.benchmark])
    with django_capture_on_commit_callbacks(execute=True):
        answer = client.post(place, {"judges": [judge.pk], "action": "start"})
    run = JudgeRun.objects.get()
    assert answer["Location"] == reverse("judging:run", args=[run.public_id])
    assert sent == [run.pk]
    assert (run.status, run.items.count(), run.study.tasks.count()) == ("running", 0, 0)
    page = markup(client.get(answer["Location"]))
    assert "Preparing: 0 of 36 steps; the run is in progress." in page
    assert 'value="pause"' in page
    assert "responses judged" not in page
    assert "hx-get" in page
    prepared(run, after(5, lambda: pause_run(run, clock=timezone.now)))
    page = markup(client.get(answer["Location"]))
    assert "Preparing: 23 of 36 steps; the run is paused." in page
    assert "63 %" in page
    with django_capture_on_commit_callbacks(execute=True):
        client.post(reverse("judging:control_run", args=[run.public_id]), {"action": "resume"})
    good = json.dumps({f"item{n}": {"reason": "it is", "score": 0.5} for n in range(3)})
    assert work_on(run, chat_for=lambda _model: ScriptedChat(lambda request: good)).status == "finished"
    assert {row[-1] for row in plan_of(run)} == {"scored"}
    page = markup(client.get(answer["Location"]))
    assert "18 of 18 responses judged" in page
    assert "Preparing" not in page


def test_a_small_run_has_its_items_when_it_is_started(client, study, judge, sent, monkeypatch):
    monkeypatch.setattr(preparing, "AT_ONCE", 36)
    client.force_login(make_user("lead"))
    client.post(reverse("judging:judge_benchmark", args=[study.benchmark]), {"judges": [judge.pk]})
    run = JudgeRun.objects.get()
    assert not run.preparing
    assert run.items.count() == 18
    assert run.manifest["data_hash"]
    # One item more would be too many: a planted text for each of one judge's four.
    monkeypatch.setattr(preparing, "AT_ONCE", 17)
    run.delete()
    client.post(reverse("judging:judge_benchmark", args=[study.benchmark]), {"judges": [judge.pk]})
    assert JudgeRun.objects.get().preparing


@pytest.mark.parametrize("steps", range(1, 9))
def test_stopped_after_any_step_it_goes_on_where_it_was(study, judge, steps):
    run = started(judge, whole(study))
    pressed = []
    shift = after(steps, lambda: pressed.append(None))
    stops = WorkerOptions(watch=shift.watch, interrupted=lambda: bool(pressed))
    assert work_on(run, options=stops).status == "paused"
    left = Preparation.objects.get(run=run)
    expected = min(5 * steps, 18) + min(5 * max(0, steps - 4), 18)
    assert left.done == run.study.tasks.count() + run.items.count() == expected
    assert (left.leased_by, left.leased_until) == ("", None)
    start_run(run, clock=timezone.now)
    assert prepared(run)
    is_whole(run)


@pytest.mark.parametrize("fails_at", range(1, 10))
def test_a_fault_anywhere_leaves_no_half_step(study, judge, monkeypatch, fails_at):
    """Raised between what a step stores: as a process that is killed there, but that its lease is given back."""
    run = started(judge, whole(study))
    calls = []
    for where, name in ((preparing, "make_tasks"), (plans, "_store"), (preparing, "manifest_at_start")):
        real = getattr(where, name)

        def counted(*arguments, real=real):
            found = real(*arguments)
            calls.append(None)
            if len(calls) == fails_at:
                raise RuntimeError("gone")
            return found

        monkeypatch.setattr(where, name, counted)
    with pytest.raises(RuntimeError):
        prepared(run)
    left = Preparation.objects.get(run=run)
    stored = run.study.tasks.count() + run.items.count()
    assert left.done == stored == (0, 5, 10, 15, 18, 23, 28, 33, 36)[fails_at - 1]
    assert prepared(run)
    is_whole(run)


def test_a_run_that_is_cancelled_meanwhile_gets_nothing_more(study, judge):
    run = started(judge, whole(study))
    assert not prepared(run, after(6, lambda: cancel_run(run, clock=timezone.now)))
    assert (run.items.count(), run.study.tasks.count()) == (10, 18)
    assert work_on(run).status == "cancelled"
    assert run.items.count() == 10
    other = started(create_judge(model=model_of(study, "other")), whole(study))
    assert Preparation.objects.get(run=other).tasks is not None
    assert prepared(other)
    is_whole(other)


def test_two_runs_of_one_benchmark_at_once_share_its_tasks(study, judge):
    other = create_judge(model=model_of(study, "other"))
    first, second = started(judge, whole(study)), started(other, whole(study))
    done = []
    assert prepared(first, after(2, lambda: done.append(prepared(second))))
    assert done == [True]
    is_whole(first)
    is_whole(second)
    assert first.study == second.study
    assert Task.objects.filter(study=first.study).count() == RESPONSES


def test_another_worker_leaves_it_to_the_one_that_prepares(study, judge):
    run = started(judge, whole(study))
    done = []
    assert prepared(run, after(3, lambda: done.append((prepared(run), nobody(run)))))
    assert done == [(False, False)]
    is_whole(run)


def dead_worker():
    ended = subprocess.Popen(["true"])
    ended.wait()
    place, _mine, draw = new_worker_name().split(":")
    return f"{place}:{ended.pid}:{draw}"


def nobody(run):
    return nobody_works(run, clock=lambda: timezone.now() + timedelta(seconds=30))


def test_a_worker_that_was_given_up_stores_nothing_more(study, judge):
    """Its lease ran out, as on a machine that slept, and another one did it all meanwhile."""
    run = started(judge, whole(study))
    done = []

    def another():
        Preparation.objects.filter(run=run).update(leased_until=timezone.now() - LEASE)
        done.append(prepared(run))

    assert not prepared(run, after(6, another))
    assert done == [True]
    is_whole(run)


def test_a_worker_that_takes_over_as_the_other_ends_finds_the_run_whole(study, judge, monkeypatch):
    run = started(judge, whole(study))

    def taken(run, worker, clock):
        monkeypatch.setattr(preparing, "take_preparation", take_preparation)
        return prepared(run)

    monkeypatch.setattr(preparing, "take_preparation", taken)
    assert prepared(run)
    is_whole(run)


def test_a_worker_whose_place_was_taken_leaves_the_rest_to_the_other(study, judge):
    run = started(judge, whole(study))

    def taken():
        Preparation.objects.filter(run=run).update(leased_until=timezone.now() - LEASE)
        assert take_preparation(run, "elsewhere:1:other", timezone.now)

    assert not prepared(run, after(6, taken))
    left = Preparation.objects.get(run=run)
    assert (left.leased_by, left.done, run.items.count()) == ("elsewhere:1:other", 28, 10)


def test_the_sweep_sends_a_run_that_nobody_prepares_and_no_other(study, judge, sent):
    run = started(judge, whole(study))
    tasks.sweep()
    assert sent == [run.pk]
    assert not finish_if_done(run, clock=timezone.now)
    assert nobody(run)
    prepared(run, after(6, lambda: tasks.sweep()))
    assert sent == [run.pk]
    JudgeRun.objects.filter(pk=run.pk).update(status="cancelled")
    tasks.sweep()
    assert sent == [run.pk]


def test_what_a_killed_worker_of_this_machine_held_is_free_at_once(study, judge, sent):
    run = started(judge, whole(study))
    assert not prepared(run, WorkerOptions(interrupted=lambda: True))
    Preparation.objects.filter(run=run).update(
        leased_by=dead_worker(), leased_until=timezone.now() + timedelta(seconds=60)
    )
    assert not somebody_prepares(run, timezone.now)
    tasks.sweep()
    assert sent == [run.pk]
    assert prepared(run)
    is_whole(run)


def test_one_that_another_machine_holds_is_not_taken(study, judge):
    run = started(judge, whole(study))
    elsewhere = "elsewhere:" + new_worker_name().partition(":")[2]
    Preparation.objects.filter(run=run).update(leased_by=elsewhere, leased_until=timezone.now() + timedelta(seconds=60))
    assert not prepared(run)
    assert run.study.tasks.count() == 0
    assert Preparation.objects.get(run=run).leased_by == elsewhere


def test_what_comes_after_the_start_is_not_in_the_plan(study, judge):
    run = started(judge, whole(study))
    old = Response.objects.count()
    writer = LanguageModel.objects.create(workspace=study.workspace, name="a new writer")
    for task in study.tasks.all()[:6:3]:
        Response.objects.create(instruction=task.response_a.instruction, model=writer, text="New.")
    assert prepared(run)
    assert run.items.count() == run.study.tasks.count() == old


def test_the_plan_is_decided_once(study, judge):
    """What is answered or loaded later changes nothing of it, nor what another run was quicker to ask."""
    run = started(judge, whole(study), limit=12)
    assert not prepared(run, after(5, lambda: pause_run(run, clock=timezone.now)))
    decided = Preparation.objects.get(run=run).tasks
    assert len(decided) == 12
    assert 0 < run.items.count() < 12
    for task in Task.objects.filter(pk__in=[decided[0], decided[-1]]):
        make_answer(task, judge.rater, {"item0": 1, "item1": 1, "item2": 1})
    start_run(run, clock=timezone.now)
    assert prepared(run)
    assert list(run.items.order_by("position").values_list("task", flat=True)) == decided


def test_a_studys_plan_is_decided_at_its_start_and_its_lost_tasks_are_left_out(study, judge):
    run = started(judge, Target(study=study))
    decided = Preparation.objects.get(run=run).tasks
    study.tasks.filter(pk__in=decided[3:5]).delete()
    Task.objects.create(
        study=study,
        kind="single",
        key="new",
        response_a=Response.objects.first(),
        answer_rubric=Task.objects.first().answer_rubric,
    )
    assert prepared(run)
    assert list(run.items.order_by("position").values_list("task", flat=True)) == decided[:3] + decided[5:]


def test_where_nothing_is_left_to_ask_the_run_waits_and_says_so(study, judge, sent):
    run = started(judge, whole(study))
    texts = {response.pk: response.text for response in Response.objects.all()}
    Response.objects.update(text=None)
    assert work_on(run).status == "paused"
    run.refresh_from_db()
    assert run.message == NOTHING_LEFT()
    assert not run.items.exists()
    for pk, text in texts.items():
        Response.objects.filter(pk=pk).update(text=text)
    start_run(run, clock=timezone.now)
    assert prepared(run)
    is_whole(run)


def test_what_cannot_be_judged_is_refused_before_anything_is_made(client, study, judge, sent):
    client.force_login(make_user("lead"))
    place = reverse("judging:judge_benchmark", args=[study.benchmark])
    refused = client.post(place, {"judges": [judge.pk], "items": "rated"})
    assert "People have not rated anything here yet" in markup(refused)
    criterion = Criterion.objects.get(key="item0", rubric__study=None)
    criterion.levels = criterion.levels[:3]
    criterion.save()
    assert "different scales" in markup(client.post(place, {"judges": [judge.pk]}))
    with pytest.raises(NothingToJudge, match="no tasks of kind pair"):
        create_run(RunRequest(whole(study), (create_judge(model=model_of(study, "p"), method="pair_of_four"),)))
    assert Study.objects.count() == 1
    assert not JudgeRun.objects.exists()
    assert not PlannedItem.objects.exists()


def test_by_command_here_and_left_to_a_worker(study, sent, capsys, django_capture_on_commit_callbacks):
    with HostileServer(lambda request, n: good_answer(request)) as server:
        asked = {"model": "m1", "base_url": server.base_url, "no_canaries": True}
        call_command("judge", study.benchmark.slug, **asked)
        assert "is finished: 18 of 18 scored" in capsys.readouterr().out
        is_whole(JudgeRun.objects.get())
        with django_capture_on_commit_callbacks(execute=True):
            call_command("judge", study.slug, background=True, **asked | {"model": "m2"})
        run = JudgeRun.objects.latest("pk")
        assert sent == [run.pk]
        assert f"Run {run.public_id}: the run is large, so the worker prepares it first." in capsys.readouterr().out
        call_command("judge_runs", run.public_id)
        assert "preparing: 0 of 18 steps" in capsys.readouterr().out
        tasks.work(run.pk)
        run.refresh_from_db()
        assert (run.status, run.items.filter(status="scored").count()) == ("finished", 18)
        bare = make_checklist_study(slug="bare").benchmark
        with pytest.raises(CommandError, match="People have not rated anything in benchmark bare-benchmark yet"):
            call_command("judge", bare.slug, only_rated=True, **asked)
