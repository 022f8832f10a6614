"""What a run's manifest says of its data: the same texts give the same hash, and any change another."""

import hashlib

import pytest

from annotation.models import Criterion
from generation.models import Endpoint, LanguageModel, Response
from judging.judges.making import create_judge
from judging.runs.manifest import planned_data_hash
from tests.factories import make_checklist_study, plan_run

pytestmark = pytest.mark.django_db


def make_run():
    study = make_checklist_study(instructions=2, models=2)
    endpoint = Endpoint.objects.create(workspace=study.workspace, name="e", kind="scripted")
    model = LanguageModel.objects.create(workspace=study.workspace, name="judge", endpoint=endpoint)
    return plan_run(judge=create_judge(model=model), study=study)


def test_the_hash_is_of_instruction_model_and_text_in_the_plans_order_and_of_the_questions():
    run = make_run()
    digest = hashlib.sha256()
    for item in run.items.order_by("position"):
        response = item.task.response_a
        for part in (response.instruction.external_id, response.model.name, response.text):
            digest.update(hashlib.sha256(part.encode()).digest())
    for one in sorted(Criterion.objects.all(), key=lambda one: (one.rubric.key, one.key)):
        digest.update(f"{one.rubric.key}\x1f{one.key}\x1f{one.questions}\x1e".encode())
    assert planned_data_hash(run) == digest.hexdigest()


def test_any_change_of_what_is_judged_is_another_hash():
    run = make_run()
    seen = {planned_data_hash(run)}
    Response.objects.filter(pk=run.items.first().task.response_a_id).update(text="another text")
    seen.add(planned_data_hash(run))
    LanguageModel.objects.filter(pk=run.items.first().task.response_a.model_id).update(name="another")
    seen.add(planned_data_hash(run))
    Criterion.objects.filter(pk=Criterion.objects.first().pk).update(questions={"en": "Another question?"})
    seen.add(planned_data_hash(run))
    assert len(seen) == 4


def test_a_plan_of_any_length_takes_the_same_number_of_statements(django_assert_max_num_queries):
    study = make_checklist_study(instructions=30, models=5)
    endpoint = Endpoint.objects.create(workspace=study.workspace, name="e", kind="scripted")
    model = LanguageModel.objects.create(workspace=study.workspace, name="judge", endpoint=endpoint)
    judge = create_judge(model=model)
    with django_assert_max_num_queries(20):
        run = plan_run(judge=judge, study=study)
    assert list(run.items.order_by("pk").values_list("position", flat=True)) == list(range(150))
