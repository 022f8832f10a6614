"""No page of a study asks the database thirty questions or more when it is seen again, however large the study is."""

import pytest

from tests.large.making import make_large_study
from tests.large.pages import visits

MOST = 29


@pytest.mark.django_db(transaction=True)
def test_every_page_of_a_lead_makes_fewer_than_thirty_queries(settings):
    settings.CELERY_TASK_ALWAYS_EAGER = True
    study, lead = make_large_study(tasks=300, raters=30, judged=40)
    found = visits(study, lead)
    assert len({one.name for one in found}) > 50
    assert {one.address: one.queries for one in found if one.queries > MOST} == {}
