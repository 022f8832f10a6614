"""The size of a study as the database counts it is the size of the list of its tasks."""

import pytest

from annotation.assignment.attention_checks import mark_gold
from annotation.assignment.new_slots import make_seats
from annotation.models import Rubric, Study
from annotation.studies import study_size
from annotation.studies.study_size import size_of
from generation.models import Response
from tests.factories import make_checklist_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    found = make_checklist_study(instructions=4, models=3)
    found.rubric = Rubric.objects.get()
    found.save()
    Response.objects.filter(instruction__benchmark=found.benchmark).update(words=40)
    Response.objects.filter(pk=Response.objects.order_by("pk").first().pk).update(words=None)
    return found


def counted_and_listed(study):
    return study_size._counted(study), study_size._listed(study)


def test_the_database_counts_what_the_list_holds(study):
    counted, listed = counted_and_listed(study)
    assert counted == listed == size_of(study)
    assert counted.tasks == 12 and counted.words_a_task == (11 * 40 + 600) / 12


def test_checks_and_dropped_tasks_are_not_counted(study):
    make_seats(study)
    first, second, *_others = study.tasks.order_by("pk")
    mark_gold(first, {"overall": 5})
    study.policies = {**study.policies, "dropped": [second.key, "r:9999999"]}
    study.save()
    counted, listed = counted_and_listed(study)
    assert counted == listed
    assert counted.tasks == 10


def test_further_samples_of_a_model_are_listed_where_only_the_first_counts(study):
    first = Response.objects.order_by("pk").first()
    Response.objects.create(instruction=first.instruction, model=first.model, text="Again.", words=1, sample=1)
    assert study_size._counted(study) is None
    assert size_of(study).tasks == 12
    study.policies = {**study.policies, "selection": {"samples": "all"}}
    study.save()
    counted, listed = counted_and_listed(study)
    assert counted == listed and counted.tasks == 13


def test_rubrics_chosen_for_each_response_are_listed(study):
    Study.objects.update(rubric=None)
    study.refresh_from_db()
    assert study_size._counted(study) is None and size_of(study).tasks == 12


def test_a_study_without_responses_has_no_tasks(study):
    Response.objects.update(text=None)
    counted, listed = counted_and_listed(study)
    assert counted == listed and counted.tasks == 0
