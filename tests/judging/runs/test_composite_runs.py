"""Runs of the composite: chosen by one study's people, deciding another study or its own."""

import pytest
from django.utils import timezone

from annotation.models import Rater, Score
from generation.models import Response
from judging.judges.making import JudgeRefused, create_rule_judge
from judging.models import Judge
from judging.runs.life_cycle import start_run
from judging.runs.planning.requirements import MethodLacks
from judging.runs.runs_without_calls import verdicts_of
from judging.runs.worker import work_on
from tests.calibration.pair_studies import pair_study
from tests.factories import make_answer, make_judge_rater, plan_run

pytestmark = pytest.mark.django_db


def judged(run):
    start_run(run, clock=timezone.now)
    return work_on(run)


def levels_of(study, name):
    found = Score.objects.filter(assignment__task__study=study, assignment__rater__label=name)
    return dict(found.values_list("assignment__task", "level"))


@pytest.fixture
def studies():
    """People of the first study prefer A, always the longer text; nobody rated the second, where B is the longer one."""
    first = pair_study(models=2, instructions=8, raters=2, outcome=lambda i, j: 1)
    second = pair_study(models=2, instructions=4, raters=0, slug="others")
    for study, long, short in ((first, "response_a", "response_b"), (second, "response_b", "response_a")):
        for side, text in ((long, "many words that go on"), (short, "few")):
            Response.objects.filter(pk__in=study.tasks.values(side)).update(text=text)
        for rule in ("longer", "shorter"):
            judged(plan_run(judge=create_rule_judge(workspace=study.workspace, method=rule), study=study))
    return first, second


def test_a_composite_is_chosen_in_one_study_and_decides_another(studies):
    first, second = studies
    with pytest.raises(MethodLacks):
        plan_run(judge=create_rule_judge(workspace=second.workspace, method="composite"), study=second)
    judge = create_rule_judge(workspace=second.workspace, method="composite", chosen_in=first.slug)
    run = judged(plan_run(judge=judge, study=second))
    assert run.status == "finished", run.message
    assert str(judge.rater) == f"rule: composite chosen in {first.slug}"
    found = levels_of(second, str(judge.rater))
    assert set(found.values()) == {"b"}
    assert found == levels_of(second, "rule: longer")


def test_a_composite_never_chooses_a_composite_and_says_what_it_is(studies):
    """The other one goes before the rules by name, and agrees with people as well as the best."""
    first, _second = studies
    other = make_judge_rater(first.workspace, "composite of others")
    for task in first.tasks.all():
        make_answer(task, other, {"preference": 1})
    assert {
        name for one in verdicts_of(first, besides=make_judge_rater(first.workspace, "x")).values() for name in one
    } == {"rule: longer", "rule: shorter"}
    judge = create_rule_judge(workspace=first.workspace, method="composite", name="best")
    assert str(judge.rater) == "best (composite)"
    assert create_rule_judge(workspace=first.workspace, method="composite", name="best") == judge
    judged(plan_run(judge=judge, study=first))
    assert levels_of(first, "best (composite)") == levels_of(first, "rule: longer")
    assert len(levels_of(first, "best (composite)")) == 8


def test_what_cannot_be_chosen_is_refused(studies):
    first, second = studies
    with pytest.raises(JudgeRefused, match="There is no study 'nowhere'"):
        create_rule_judge(workspace=second.workspace, method="composite", chosen_in="nowhere")
    with pytest.raises(JudgeRefused, match="Method longer chooses among no judges; leave out --chosen-in"):
        create_rule_judge(workspace=second.workspace, method="longer", chosen_in=first.slug)
    assert not Judge.objects.filter(method="composite").exists()


@pytest.mark.parametrize(("prefers", "scripted"), [(1, True), (-1, False)])
def test_a_composite_is_scripted_where_it_takes_verdicts_of_a_scripted_judge(studies, prefers, scripted):
    """People prefer A, so that only a judge that does so is taken; it goes before the rules by name."""
    first, second = studies
    actor = make_judge_rater(first.workspace, "actor")
    Rater.objects.filter(pk=actor.pk).update(provenance=Rater.Provenance.SCRIPTED)
    for task in [*first.tasks.all(), *second.tasks.all()]:
        make_answer(task, actor, {"preference": prefers})
    judge = create_rule_judge(workspace=second.workspace, method="composite", chosen_in=first.slug)
    judged(plan_run(judge=judge, study=second))
    assert (Rater.objects.get(pk=judge.rater_id).provenance == Rater.Provenance.SCRIPTED) == scripted
