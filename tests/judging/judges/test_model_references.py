"""References that a model wrote in place of people's (HREF, figure 2): what a judge is asked, and what it needs."""

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from annotation.models import Score
from generation.models import Endpoint, Instruction, LanguageModel, Response
from judging.judges.making import JudgeRefused, create_judge, create_rule_judge
from judging.judges.questions import REFERENCE_FROM, Questions
from judging.judges.transports import transport_of
from judging.models import Judge
from judging.published.judges_of_rows import judges_of_rows
from judging.runs.life_cycle import start_run
from judging.runs.worker import work_on
from tests.calibration.pair_studies import pair_study
from tests.factories import plan_run

pytestmark = pytest.mark.django_db


def judged(run):
    start_run(run, clock=timezone.now)
    return work_on(run)


@pytest.fixture
def study():
    """Response A always shares its words with the human reference, B with the writer's."""
    study = pair_study(models=2, instructions=4, raters=1, outcome=lambda i, j: 1)
    writer = LanguageModel.objects.create(workspace=study.workspace, name="writer")
    for task in study.tasks.select_related("response_a__instruction", "response_b"):
        Response.objects.filter(pk=task.response_a_id).update(text="red green blue")
        Response.objects.filter(pk=task.response_b_id).update(text="one two three")
        Instruction.objects.filter(pk=task.response_a.instruction_id).update(reference="red green yellow")
        Response.objects.create(instruction=task.response_a.instruction, model=writer, text="one two four")
    return study


def test_the_reference_is_the_models_and_the_verdict_follows_it(study):
    people = create_rule_judge(workspace=study.workspace, method="rouge_1")
    model = create_rule_judge(workspace=study.workspace, method="rouge_1", reference_from="writer")
    assert str(model.rater) == "rule: rouge 1 with references of writer"
    task = study.tasks.select_related("response_a__instruction", "response_b").first()
    assert Questions.of(people, study).about(task).reference == "red green yellow"
    assert Questions.of(model, study).about(task).reference == "one two four"
    for judge, level in ((people, "a"), (model, "b")):
        run = judged(plan_run(judge=judge, study=study))
        assert run.status == "finished", run.message
        assert set(Score.objects.filter(assignment__rater=judge.rater).values_list("level", flat=True)) == {level}
    assert create_rule_judge(workspace=study.workspace, method="rouge_1", reference_from="writer") == model
    # It is not the paper's method, which reads what people wrote.
    methods = {"Rouge": {"method": "rouge_1", "models": []}}
    assert judges_of_rows(study.workspace_id, [model.rater.name], methods) == {}
    assert judges_of_rows(study.workspace_id, [people.rater.name], methods) == {"Rouge": people.rater.name}


def test_the_name_of_the_model_is_no_parameter_of_a_call(study):
    endpoint = Endpoint.objects.create(workspace=study.workspace, name="script", kind="scripted")
    model = LanguageModel.objects.create(workspace=study.workspace, name="actor", endpoint=endpoint)
    judge = create_judge(model=model, method="pair_of_three_reference", parameters={REFERENCE_FROM: "writer"})
    assert judge.parameters[REFERENCE_FROM] == "writer"
    assert "with references of writer" in str(judge.rater)
    assert REFERENCE_FROM not in transport_of(judge)._parameters


def test_instructions_without_a_response_of_the_model_are_counted_as_lacking_a_reference(study):
    judge = create_rule_judge(workspace=study.workspace, method="rouge_1", reference_from="writer")
    first = Response.objects.filter(model__name="writer").order_by("pk").first()
    Response.objects.filter(pk=first.pk).update(text="")
    run = judged(plan_run(judge=judge, study=study))
    assert Score.objects.filter(assignment__rater=judge.rater).count() == 3
    assert run.items.filter(status="unscored").count() == 1


def test_who_reads_no_reference_or_names_nobody_is_refused(study):
    with pytest.raises(JudgeRefused, match="Method longer reads no reference; leave out --reference-from"):
        create_rule_judge(workspace=study.workspace, method="longer", reference_from="writer")
    with pytest.raises(JudgeRefused, match="There is no response of a model 'nobody'"):
        create_rule_judge(workspace=study.workspace, method="rouge_1", reference_from="nobody")
    assert not Judge.objects.exists()
    with pytest.raises(CommandError, match="reads no reference"):
        call_command("judge", study.slug, method="longer", reference_from="writer")
