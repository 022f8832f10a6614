"""manage.py judge_runs: the runs listed, one shown, steered and given another budget; and what can be wrong."""

import json

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from generation.llm.scripted import ScriptedChat
from generation.models import Endpoint, LanguageModel
from judging.judges.making import create_judge
from judging.runs.life_cycle import start_run
from judging.runs.worker import work_on
from tests.factories import make_checklist_study, make_workspace, plan_run

pytestmark = pytest.mark.django_db
GOOD = json.dumps({f"item{n}": {"reason": "it is", "score": 0.5} for n in range(3)})


@pytest.fixture
def run():
    """Going on; nothing is answered."""
    study = make_checklist_study(instructions=3, models=2)
    endpoint = Endpoint.objects.create(workspace=study.workspace, name="script", kind="scripted")
    model = LanguageModel.objects.create(workspace=study.workspace, name="scripted", endpoint=endpoint)
    run = plan_run(judge=create_judge(model=model), study=study)
    start_run(run, clock=timezone.now)
    return run


@pytest.fixture
def sent(monkeypatch):
    sent = []
    monkeypatch.setattr("judging.tasks.work.delay", sent.append)
    return sent


def worked(run, reply):
    return work_on(run, chat_for=lambda _model: ScriptedChat(lambda request: reply))


def test_runs_are_listed_and_one_is_shown(run, capsys):
    call_command("judge_runs")
    assert f"{run.public_id}  running    0 of 6  scripted checklist on essays" in capsys.readouterr().out
    call_command("judge_runs", json=True)
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["id"], row["status"], row["done"], row["total"]) == (run.public_id, "running", 0, 6)
    worked(run, "Prose.")
    call_command("judge_runs", run.public_id)
    shown = capsys.readouterr().out
    assert "is finished: 0 of 6 scored, 6 unscored, 0 left; 18 calls" in shown
    assert "  6 unscored: Prose instead of a structured answer.\n" in shown
    call_command("judge_runs", run.public_id, json=True)
    assert json.loads(capsys.readouterr().out)["items"]["unscored"] == 6


def test_a_run_is_paused_resumed_asked_again_and_cancelled(run, sent, capsys, django_capture_on_commit_callbacks):
    def now():
        run.refresh_from_db()
        return run.status

    call_command("judge_runs", run.public_id, pause=True)
    assert "is paused" in capsys.readouterr().out
    assert now() == "paused"
    with django_capture_on_commit_callbacks(execute=True):
        call_command("judge_runs", run.public_id, resume=True, budget_calls=500, budget_money="2.50")
    assert (now(), run.budget_calls, str(run.budget_money), sent) == ("running", 500, "2.500000", [run.pk])
    assert "budget: 500 calls, 2.500000 money" in capsys.readouterr().out
    worked(run, "Prose.")
    assert now() == "finished"
    with django_capture_on_commit_callbacks(execute=True):
        call_command("judge_runs", run.public_id, retry_unscored=True)
    assert (now(), len(sent)) == ("running", 2)
    worked(run, GOOD)
    assert run.items.filter(status="scored").count() == 6
    other = plan_run(judge=run.judge, study=make_checklist_study(slug="others"))
    call_command("judge_runs", other.public_id, cancel=True)
    other.refresh_from_db()
    assert other.status == "cancelled"


def test_what_is_wrong_is_said_in_a_sentence(run):
    worked(run, GOOD)
    make_workspace("other")
    lab = {"workspace": "lab"}
    for asked, options, words in (
        (["none"], lab, "no run 'none' in this workspace"),
        ([run.public_id], {"workspace": "other"}, "no run"),
        ([], {**lab, "pause": True}, "Give the id of a run"),
        ([], {**lab, "budget_calls": 4}, "Give the id of a run"),
        ([run.public_id], {**lab, "pause": True}, "is finished, so it cannot become paused"),
        ([run.public_id], {**lab, "resume": True}, "is finished; plan a new one"),
        ([run.public_id], {**lab, "budget_calls": -4}, "is not a valid limit"),
        ([run.public_id, "--pause", "--cancel"], lab, "not allowed with"),
    ):
        with pytest.raises(CommandError, match=words):
            call_command("judge_runs", *asked, **options)
    run.refresh_from_db()
    assert (run.status, run.budget_calls) == ("finished", None)
