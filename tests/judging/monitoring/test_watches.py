"""Watches: frozen tasks, rounds on time, drift flagged and no other, and the pages for those who may see them."""

import json
import re
from datetime import timedelta
from decimal import Decimal

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from accounts.models import Event
from annotation.models import Assignment, Task
from generation.llm.scripted import ScriptedChat
from generation.models import Endpoint, LanguageModel, Response
from judging import tasks
from judging.judges.making import create_judge, create_rule_judge
from judging.leaderboards.table import leaderboard
from judging.methods.combining import How
from judging.models import JudgeRun, PlannedItem, Reply, Watch
from judging.monitoring.monitors import WatchRefused, create_watch, due, set_active, start_due, start_round
from judging.monitoring.readings import look_at, readings
from judging.runs.life_cycle import start_run
from judging.runs.worker import work_on
from tests.factories import make_answer, make_checklist_study, make_rater, make_user, make_workspace, plan_run
from tests.judging.runs.test_methods_run import make_pair_study
from tests.markup import markup

pytestmark = pytest.mark.django_db
DAY = timedelta(hours=24)


@pytest.fixture
def study():
    return make_checklist_study(instructions=12, models=2)


@pytest.fixture
def judge(study):
    return make_judge(study)


def make_judge(study, name="scripted"):
    endpoint, _ = Endpoint.objects.get_or_create(workspace=study.workspace, name="script", kind="scripted")
    model = LanguageModel.objects.create(workspace=study.workspace, name=name, endpoint=endpoint)
    return create_judge(model=model)


def watch_of(study, judge, **fields):
    return create_watch(judge=judge, study=study, every_hours=24, clock=timezone.now, **fields)


def chat_of(score):
    """Answers every item with what `score` gives for the response's name; its calls are counted."""

    def say(request):
        value = score(request.subject["response"])
        return json.dumps({key: {"reason": "scripted", "score": value} for key in request.schema["properties"]})

    return ScriptedChat(say)


def ran(watch, score):
    """A round now, worked through with these scores, and looked at."""
    chat = chat_of(score)
    run = work_on(start_round(watch, clock=timezone.now), chat_for=lambda _model: chat)
    assert run.status == "finished", run.message
    look_at(run)
    return run, len(chat.requests)


def steady(name):
    return [0.25, 0.5, 0.75][sum(map(ord, name)) % 3]


def harsher(name):
    return steady(name) - 0.25


def test_the_tasks_are_frozen_and_every_round_asks_all_of_them_anew(study, judge):
    watch = watch_of(study, judge, size=10)
    assert len(watch.tasks) == 10
    frozen = list(watch.tasks)
    first, calls = ran(watch, steady)
    assert calls == 10
    second, again = ran(watch, steady)
    # Nothing comes from stored replies, though every question was answered word for word before.
    assert again == 10
    assert not Reply.objects.exclude(reused_from=None).exists()
    watch.refresh_from_db()
    assert watch.tasks == frozen
    assert sorted(second.items.values_list("task_id", flat=True)) == frozen
    repeats = (set(first.items.values_list("repeat", flat=True)), set(second.items.values_list("repeat", flat=True)))
    assert repeats == ({1}, {2})


def test_rounds_are_repeats_and_no_results_of_their_own(study, judge):
    run = plan_run(judge=judge, study=study)
    start_run(run, clock=timezone.now)
    work_on(run, chat_for=lambda _model: chat_of(lambda name: 1))
    before = leaderboard(study.benchmark, judge.rater, "equal").as_json()
    watch = watch_of(study, judge)
    ran(watch, steady)
    assert leaderboard(study.benchmark, judge.rater, "equal").as_json() == before


def test_people_come_first_among_the_tasks(study, judge):
    rated = list(study.tasks.order_by("pk")[5:9])
    for task in rated:
        make_answer(task, make_rater(study), {"item0": 1, "item1": 1, "item2": 1})
    assert watch_of(study, judge, size=4).tasks == [task.pk for task in rated]


def test_an_unchanged_judge_is_not_flagged_and_one_that_changes_is_from_that_round_on(study, judge):
    watch = watch_of(study, judge)
    for _ in range(3):
        ran(watch, steady)
    assert [one.flagged for one in readings(watch).rounds] == [False] * 3
    assert not Event.objects.filter(verb="watch flagged").exists()
    run, _calls = ran(watch, harsher)
    found = readings(watch)
    assert [one.flagged for one in found.rounds] == [False, False, False, True]
    change = found.rounds[-1].changes["score"]
    assert change.value == pytest.approx(-0.25)
    # Every instruction moved alike: 2^(1 - 12) against .05/(2 x 3 x 4).
    assert (change.p, change.alpha) == (2**-11, pytest.approx(0.05 / 24))
    assert found.rounds[-1].alike.value == 0.0
    event = Event.objects.get(verb="watch flagged")
    assert (event.object_id, event.after["run"]) == (watch.public_id, run.public_id)
    assert look_at(run)
    assert Event.objects.filter(verb="watch flagged").count() == 1


def test_agreement_with_people_is_read_too(study, judge):
    people = [make_rater(study) for _ in range(3)]
    for task in study.tasks.select_related("response_a__instruction", "response_a__model"):
        name = f"{task.response_a.instruction.external_id}/{task.response_a.model.name}"
        for person in people:
            make_answer(task, person, dict.fromkeys(("item0", "item1", "item2"), steady(name)))
    watch = watch_of(study, judge)
    ran(watch, steady)
    ran(watch, harsher)
    first, second = readings(watch).rounds
    assert (first.people.value, second.people.value) == (1.0, 0.0)
    assert second.changes["people"].flagged


def test_a_panel_is_watched_by_what_it_comes_to(study):
    judges = [make_judge(study, name) for name in ("one", "two")]
    run = plan_run(judge=judges[0], study=study, jurors=(judges[1],), combine=How.MEAN)
    run.status = "cancelled"
    run.save()
    watch = watch_of(study, run.judge, size=6)
    for value in (0.5, 0.5, 1.0):
        chats = {"one": chat_of(lambda name: 0.5), "two": chat_of(lambda name, value=value: value)}
        done = work_on(start_round(watch, clock=timezone.now), chat_for=lambda model, chats=chats: chats[model.name])
        assert done.status == "finished", done.message
    assert [one.level.value for one in readings(watch).rounds] == [0.5, 0.5, 0.75]
    assert not Assignment.objects.filter(rater=run.judge.rater).exists()


def test_pairs_in_both_orders_are_watched_too():
    study = make_pair_study(instructions=4)
    rule = create_rule_judge(workspace=study.workspace, method="longer")
    panel = plan_run(judge=rule, study=study, both_orders=True).judge
    JudgeRun.objects.update(status="cancelled")
    watch = watch_of(study, panel)
    for _ in range(2):
        run = work_on(start_round(watch, clock=timezone.now))
        assert run.status == "finished", run.message
    found = readings(watch)
    # The longer text is A: the top of a scale from -1 to 1.
    assert [one.level.value for one in found.rounds] == [1.0, 1.0]
    assert not found.flagged
    shown = [list(run.items.order_by("position").values_list("task_id", "shown_first")) for run in watch.rounds.all()]
    assert shown[0] == shown[1]


def test_what_is_due_begins_once_and_the_next_comes_a_pause_later(study, judge):
    watch = watch_of(study, judge)
    now = timezone.now()

    def clock():
        return now

    assert due(lambda: now - DAY) == []
    (found,) = due(lambda: now + DAY)
    stale = Watch.objects.get(pk=watch.pk)
    run = start_due(found, clock=clock)
    assert run is not None
    # Another worker that read the same row is too late.
    assert start_due(stale, clock=clock) is None
    watch.refresh_from_db()
    assert watch.next_at == now + DAY
    with pytest.raises(WatchRefused, match="going on"):
        start_round(watch, clock=clock)
    # Overdue again while the round goes on: nothing begins, and nothing piles up.
    late = now + 3 * DAY
    (found,) = due(lambda: late)
    assert start_due(found, clock=lambda: late) is None
    watch.refresh_from_db()
    assert watch.next_at == late + DAY
    set_active(watch, False, clock=clock)
    assert due(lambda: late + 5 * DAY) == []


def test_the_sweep_begins_rounds_and_looks_at_what_is_over(study, judge, monkeypatch):
    sent = []
    monkeypatch.setattr("judging.tasks.work.delay", sent.append)
    watch = watch_of(study, judge)
    tasks.sweep()
    run = watch.rounds.get()
    assert run.pk in sent
    work_on(run, chat_for=lambda _model: chat_of(steady))
    run.refresh_from_db()
    assert "watch" not in run.manifest
    tasks.sweep()
    run.refresh_from_db()
    assert run.manifest["watch"]["flagged"] is False
    assert watch.rounds.count() == 1


def test_what_cannot_be_watched_is_said_in_a_sentence(study, judge):
    watch_of(study, judge)
    for fields, words in (({}, "watched on study essays already"), ({"size": 1}, "two tasks")):
        with pytest.raises(WatchRefused, match=words):
            watch_of(study, judge, **fields)
    pairs = make_pair_study()
    with pytest.raises(WatchRefused, match="which judges this: single response"):
        watch_of(pairs, judge)
    with pytest.raises(WatchRefused, match="every 1 to"):
        create_watch(judge=judge, study=study, every_hours=0, clock=timezone.now)
    assert Watch.objects.count() == 1


def addresses(watch):
    return [reverse("judging:watches"), reverse("judging:watch", args=[watch.public_id])]


def test_leads_and_analysts_read_watches_and_only_leads_change_them(client, study, judge, monkeypatch):
    monkeypatch.setattr("judging.tasks.work.delay", lambda pk: None)
    watch = watch_of(study, judge)
    control = reverse("judging:control_watch", args=[watch.public_id])
    new = reverse("judging:new_watch")
    for role in ("owner", "lead", "analyst"):
        client.force_login(make_user(role))
        assert [client.get(address).status_code for address in addresses(watch)] == [200, 200]
        leads = role != "analyst"
        assert client.get(new).status_code == (200 if leads else 403)
        assert client.post(control, {"action": "pause"}).status_code == (302 if leads else 403)
        assert client.post(control, {"action": "resume"}).status_code == (302 if leads else 403)
    for role in ("rater", "reviewer", None):
        client.force_login(make_user(role))
        assert {client.get(address).status_code for address in [*addresses(watch), new]} == {403}
    client.force_login(make_user("lead", make_workspace("elsewhere")))
    assert client.get(addresses(watch)[1]).status_code == 404
    assert client.post(control, {"action": "run"}).status_code == 404
    assert watch.public_id not in markup(client.get(addresses(watch)[0]))
    assert not watch.rounds.exists()


def test_a_lead_makes_a_watch_in_the_browser_and_runs_a_round(client, study, judge, monkeypatch):
    monkeypatch.setattr("judging.tasks.work.delay", lambda pk: None)
    client.force_login(make_user("lead"))
    asked = {"study": study.pk, "judge": judge.pk, "size": 8, "every_hours": 12}
    made = client.post(reverse("judging:new_watch"), asked)
    watch = Watch.objects.get()
    assert made.headers["Location"] == reverse("judging:watch", args=[watch.public_id])
    assert (len(watch.tasks), watch.every_hours) == (8, 12)
    again = client.post(reverse("judging:new_watch"), asked)
    assert again.status_code == 422
    assert "is watched on study" in markup(again)
    control = reverse("judging:control_watch", args=[watch.public_id])
    client.post(control, {"action": "run"})
    assert watch.rounds.count() == 1
    page = markup(client.post(control, {"action": "run"}, follow=True))
    assert "going on" in page
    assert watch.rounds.count() == 1
    assert client.post(control, {"action": "dance"}).status_code == 404


def test_the_page_draws_drift_says_it_and_the_start_page_does_too(client, study, judge):
    watch = watch_of(study, judge)
    client.force_login(make_user("lead"))
    page = reverse("judging:watch", args=[watch.public_id])
    assert "No round has finished yet" in markup(client.get(page))
    for _ in range(3):
        ran(watch, steady)
    html = markup(client.get(page))
    assert "no change found in 3 rounds" in html
    assert "A judge has changed" not in markup(client.get(reverse("home")))
    ran(watch, harsher)
    html = markup(client.get(page))
    assert "has changed since round 4: its mean score fell by 0.250" in html
    assert html.count("<svg") >= 2
    assert not re.search(r"\sstyle=|\son\w+=", html)
    assert "A judge has changed" in markup(client.get(reverse("home")))
    assert "changed" in markup(client.get(reverse("judging:watches")))
    csv = client.get(page, {"file": "scores.csv"}).content.decode("utf-8-sig").splitlines()
    assert len(csv) == 5
    assert csv[4].split(",")[5] == "-0.25"
    assert client.get(page, {"file": "scores.png"}).content.startswith(b"\x89PNG")
    assert client.get(page, {"file": "other.csv"}).status_code == 404


def test_a_changed_judge_is_noticed_wherever_it_is_used_and_no_longer_when_its_watch_is_paused(client, study, judge):
    run = plan_run(judge=judge, study=study)
    start_run(run, clock=timezone.now)
    work_on(run, chat_for=lambda _model: chat_of(steady))
    watch = watch_of(study, judge)
    client.force_login(make_user("analyst"))
    places = [
        reverse("judging:runs"),
        reverse("judging:judge", args=[judge.rater.public_id]),
        reverse("judging:leaderboard", args=[study.benchmark]) + f"?judge={judge.rater.public_id}",
    ]
    address = reverse("judging:watch", args=[watch.public_id])
    for _ in range(3):
        ran(watch, steady)
    # The runs' list names the watch of each round; the others say nothing yet.
    assert markup(client.get(places[0])).count("Round of a drift monitor") == 3
    assert [address in markup(client.get(place)) for place in places] == [True, False, False]
    assert "changed" not in markup(client.get(places[0]))
    ran(watch, harsher)
    pages = [markup(client.get(place)) for place in places]
    assert all(address in page for page in pages)
    assert "A judge has changed" in pages[0]
    assert pages[0].count(">changed<") == 1
    assert "found that its answers have changed" in pages[1]
    assert "may not be comparable" in pages[2]
    set_active(watch, False, clock=timezone.now)
    assert "A judge has changed" not in markup(client.get(places[0]))
    client.force_login(make_user("lead", make_workspace("elsewhere")))
    assert "A judge has changed" not in markup(client.get(places[0]))


def test_a_round_that_failed_is_noticed_and_answers_that_could_not_be_used_are_said(client, study, judge):
    watch = watch_of(study, judge)
    client.force_login(make_user("lead"))
    ran(watch, steady)
    runs, watches = reverse("judging:runs"), reverse("judging:watches")
    assert "did not finish" not in markup(client.get(runs))
    silent = ScriptedChat(lambda request: "I would rather not.")
    done = work_on(start_round(watch, clock=timezone.now), chat_for=lambda _model: silent)
    assert done.status == "finished"
    look_at(done)
    page = markup(client.get(reverse("judging:watch", args=[watch.public_id])))
    # Not "has not changed": nothing is known of the answers any more.
    assert "has changed since round 2: 24 tasks got no usable answer" in page
    assert "24 more tasks than in the baseline round got no usable answer" in page
    assert "A judge has changed" in markup(client.get(runs))
    start_round(watch, clock=timezone.now)
    JudgeRun.objects.filter(watch=watch, status="running").update(status="failed", message="No such model.")
    assert "latest round of a drift monitor did not finish" in markup(client.get(runs)).replace("&#x27;", "'")
    assert "Failed" in markup(client.get(watches))


def test_a_few_answers_that_could_not_be_used_are_no_change(study, judge):
    watch = watch_of(study, judge)
    ran(watch, steady)
    asked = sorted({f"{one.instruction.external_id}/{one.model}" for one in Response.objects.all()})

    def say(request):
        if request.subject["response"] in asked[:11]:
            return "I would rather not."
        score = steady(request.subject["response"])
        return json.dumps({key: {"reason": "scripted", "score": score} for key in request.schema["properties"]})

    done = work_on(start_round(watch, clock=timezone.now), chat_for=lambda _model: ScriptedChat(say))
    assert readings(watch).rounds[1].unscored == 11
    assert not look_at(done)


def test_a_lead_changes_how_often_rounds_come_and_what_they_may_cost(client, study, judge):
    watch = watch_of(study, judge)
    Watch.objects.update(next_at=timezone.now() + timedelta(hours=20))
    lead, place = make_user("lead"), reverse("judging:control_watch", args=[watch.public_id])
    client.force_login(make_user("analyst"))
    assert client.post(place, {"action": "change", "every_hours": "2"}).status_code == 403
    client.force_login(lead)
    client.post(place, {"action": "change", "every_hours": "2", "budget_money": "1.5"})
    watch.refresh_from_db()
    assert (watch.every_hours, watch.budget_money) == (2, Decimal("1.5"))
    # A shorter pause begins now; a longer one leaves the next round where it was.
    assert watch.next_at <= timezone.now() + timedelta(hours=2)
    soon = watch.next_at
    client.post(place, {"action": "change", "every_hours": "48", "budget_money": ""})
    watch.refresh_from_db()
    assert (watch.every_hours, watch.budget_money, watch.next_at) == (48, None, soon)
    page = client.post(place, {"action": "change", "every_hours": "0", "budget_money": "x"}, follow=True)
    assert "Hours between rounds: Ensure this value is greater than or equal to 1." in markup(page)
    watch.refresh_from_db()
    assert watch.every_hours == 48
    assert Event.objects.filter(verb="watch changed").count() == 2


def test_by_command_watches_are_made_worked_and_listed(study, judge, capsys):
    call_command("watch", new="essays", judge=judge.rater.label, every=6, tasks=5, budget_money="2.50")
    watch = Watch.objects.get()
    assert str(watch.budget_money) == "2.500000"
    assert f"Drift monitor {watch.public_id}: 5 tasks of essays, every 6 hours" in capsys.readouterr().out
    call_command("watch")
    assert "unchanged" in capsys.readouterr().out
    assert watch.rounds.get().status == "finished"
    call_command("watch")
    assert "No drift monitor is due." in capsys.readouterr().out
    call_command("watch", now=watch.public_id)
    call_command("watch", pause=watch.public_id)
    capsys.readouterr()
    call_command("watch", list=True, json=True)
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["rounds"], row["active"], row["flagged"]) == (2, False, [])
    with pytest.raises(CommandError, match="no judge 'nobody'"):
        call_command("watch", new="essays", judge="nobody")
    with pytest.raises(CommandError, match="no study 'nothing'; there are: essays"):
        call_command("watch", new="nothing", judge=judge.rater.label)
    for wrong, words in (
        ({"every": 0}, "every 1 to"),
        ({"every": 10**9}, "every 1 to"),
        ({"tasks": -3}, "two tasks"),
        ({"budget_money": "much"}, "write it like 2.50"),
        ({"budget_money": "-1"}, "is not a valid limit"),
    ):
        with pytest.raises(CommandError, match=words):
            call_command("watch", new="essays", judge=judge.rater.label, **wrong)
    with pytest.raises(CommandError, match="not allowed with"):
        call_command("watch", "--pause", watch.public_id, "--list")
    with pytest.raises(CommandError, match="--list"):
        call_command("watch", now="nothing")
    assert PlannedItem.objects.count() == 10
    assert Task.objects.filter(pk__in=watch.tasks).count() == 5
