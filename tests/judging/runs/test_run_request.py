"""The request for a judge run: what it refuses, what it comes to, and what is stored of it with the run."""

import pytest
from django.core.management import CommandError, call_command

from generation.llm.protocol.prices import Ceiling
from generation.models import Endpoint, LanguageModel
from judging.judges.making import create_judge, create_rule_judge
from judging.methods.combining import How
from judging.models import Judge, JudgeRun
from judging.runs.planning.plan import plan_at_once
from judging.runs.planning.request import BadRequest, RunRequest, Target
from tests.factories import make_checklist_study, make_user
from tests.judging.runs.test_methods_run import make_pair_study

pytestmark = pytest.mark.django_db


def judges_of(study, count=1):
    endpoint = Endpoint.objects.create(workspace=study.workspace, name="somewhere", base_url="http://127.0.0.1:9/v1")
    names = [f"judge{number}" for number in range(count)]
    return tuple(
        create_judge(model=LanguageModel.objects.create(workspace=study.workspace, name=name, endpoint=endpoint))
        for name in names
    )


@pytest.mark.parametrize("field", ["limit", "repeats"])
def test_a_number_below_one_is_refused_by_its_name(field):
    study = make_checklist_study(instructions=1)
    with pytest.raises(BadRequest, match=f"^{field} 0 is too small; give at least 1.$"):
        RunRequest(Target(study=study), judges_of(study), **{field: 0})


@pytest.mark.parametrize("field", ["limit", "repeats"])
def test_a_command_that_is_refused_leaves_no_judge_behind(field):
    study = make_checklist_study(instructions=1)
    with pytest.raises(CommandError, match=f"^--{field} 0 is too small; give at least 1.$"):
        call_command("judge", study.slug, model="m", base_url="http://127.0.0.1:9/v1", **{field: 0})
    assert not Judge.objects.exists()
    assert not LanguageModel.objects.filter(name="m").exists()
    assert not JudgeRun.objects.exists()


def test_what_is_stored_of_a_request():
    study = make_checklist_study(instructions=3, models=2)
    judges, lead = judges_of(study, 2), make_user("lead")
    request = RunRequest(
        Target(study=study),
        judges,
        both_orders=True,
        repeats=2,
        combine=How.MEAN,
        limit=4,
        only_rated=False,
        reuse=False,
        seed=5,
        budget=Ceiling(calls=90, tokens=8_000),
        concurrency=3,
        user=lead,
    )
    run = plan_at_once(request)
    assert list(run.manifest["settings"].items()) == [
        ("attempts", 3),
        ("limit", 4),
        ("concurrency", 3),
        ("reuse", False),
        ("only_rated", False),
        ("jurors", [judge.pk for judge in judges]),
        # Only pairs have two orders.
        ("both_orders", False),
        ("repeats", 2),
        ("combine", "mean"),
        ("canaries", False),
        ("probe", True),
    ]
    assert (run.seed, run.budget_calls, run.budget_tokens, run.budget_money) == (5, 90, 8_000, None)
    assert (run.judge, run.study, run.created_by) == (request.leader, study, lead)
    assert run.items.count() == 4 * request.items_per_task == 4 * 2 * 2


def test_a_judge_that_is_asked_once_leads_itself_and_a_pair_in_both_orders_has_a_panel():
    study = make_pair_study()
    judge = create_rule_judge(workspace=study.workspace, method="longer")
    alone = RunRequest(Target(study=study), (judge,))
    assert (alone.leader, alone.orders, alone.settings()["combine"]) == (judge, 1, "")
    both = RunRequest(Target(study=study), (judge,), both_orders=True)
    assert both.leader != judge and list(both.leader.jurors.all()) == [judge]
    assert (both.orders, both.settings()["both_orders"], both.settings()["combine"]) == (2, True, "median")
