"""Kept reports: found again while nothing has changed, made anew when an answer or a category has."""

import pytest

from calibration.models import Report
from calibration.reports.agreement import agreement_report, known_agreement_report
from calibration.reports.cache import current_reports
from calibration.reports.rankings import RANKINGS, ranking_settings
from calibration.reports.registry import known, report_of
from generation.models import Category, Instruction
from tests.calibration.answered_studies import answered_study
from tests.factories import make_checklist_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return answered_study(instructions=6)


def tasks_by_category(study):
    return {row.category: row.n_tasks for row in agreement_report(study).by_category}


def test_an_instruction_moved_to_another_category_is_counted_there(study):
    assert tasks_by_category(study) == {}  # all are in one category
    parent = Category.objects.get(key="writing")
    letter = Category.objects.create(benchmark=study.benchmark, parent=parent, key="letter")
    Instruction.objects.filter(external_id="essays-0").update(category=letter)
    assert known_agreement_report(study) is None
    assert tasks_by_category(study) == {"essay": 10, "letter": 2}
    Instruction.objects.filter(external_id="essays-1").update(category=None)
    assert tasks_by_category(study) == {"essay": 8, "letter": 2, "all": 2}


@pytest.mark.parametrize("change", [{"key": "prose"}, {"names": {"en": "Prose"}}], ids=["another key", "another name"])
@pytest.mark.parametrize("which", ["essay", "writing"], ids=["own category", "the one above it"])
def test_a_renamed_category_makes_its_reports_anew(study, which, change):
    agreement_report(study)
    report_of(study, RANKINGS, ranking_settings())
    before = Category.objects.filter(key=which).values().get()
    Category.objects.filter(pk=before["id"]).update(**change)
    assert known_agreement_report(study) is None
    assert known(study, RANKINGS, ranking_settings()) is None
    assert current_reports(study) == []
    agreement_report(study)
    assert Report.objects.filter(kind="agreement").count() == 2
    Category.objects.filter(pk=before["id"]).update(**{name: before[name] for name in change})
    assert len(current_reports(study)) == 2


def test_what_the_study_does_not_rest_on_leaves_its_reports(study):
    agreement_report(study)
    Category.objects.create(benchmark=study.benchmark, key="poem")
    Instruction.objects.create(benchmark=study.benchmark, external_id="not asked")
    make_checklist_study(slug="another", workspace=study.workspace)
    Category.objects.filter(benchmark__slug="another-benchmark").update(key="changed")
    assert known_agreement_report(study) is not None
    assert len(current_reports(study)) == 1


def test_looking_for_a_kept_report_costs_a_few_queries(study, django_assert_max_num_queries):
    agreement_report(study)
    with django_assert_max_num_queries(8):
        assert known_agreement_report(study) is not None
