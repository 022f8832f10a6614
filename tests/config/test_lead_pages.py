"""No page of a study asks the database more the larger the study is; `make bench NAME=lead_pages` measures its time.

The pages are read from the program's own addresses, so that none is forgotten.
"""

import pytest
from celery import current_app

from tests.large.making import make_large_study
from tests.large.pages import NOT_SHOWN, pages_of, routes_of_studies, visits

pytestmark = pytest.mark.django_db(transaction=True)
MOST_QUERIES = 30
SMALL, LARGE = 200, 2000


@pytest.fixture
def at_once():
    """What a page asks a worker for is done before the page goes on."""
    before = current_app.conf.task_always_eager
    current_app.conf.task_always_eager = True
    yield
    current_app.conf.task_always_eager = before


def queries_of(tasks, slug):
    """The number of queries of every page's second view, by the address without the study's own names."""
    study, lead = make_large_study(tasks=tasks, raters=60, judged=20, slug=slug)
    found: dict[str, list[int]] = {}
    for one in visits(study, lead):
        found.setdefault(f"{one.name} {one.address.partition('?')[2]}", []).append(one.queries)
    return found


def test_queries_do_not_grow_with_the_study_and_stay_few(at_once):
    small, large = queries_of(SMALL, "small"), queries_of(LARGE, "large")
    assert small.keys() == large.keys()
    grown = {name: (small[name], large[name]) for name in small if max(large[name]) > max(small[name]) + 1}
    assert grown == {}
    assert {name: max(asked) for name, asked in large.items() if max(asked) > MOST_QUERIES} == {}


def test_every_address_of_a_study_is_looked_at_or_is_no_page(at_once):
    """A page that a new address shows is measured without anybody adding it here."""
    study, _lead = make_large_study(tasks=60, raters=10, judged=0, slug="few")
    seen = {name for name, _address in pages_of(study)}
    assert {"annotation:desk", "annotation:history", "calibration:agreement", "judging:export", "home"} <= seen
    assert set(NOT_SHOWN) <= {name for name, _parts in routes_of_studies()}
