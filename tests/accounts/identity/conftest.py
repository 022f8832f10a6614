from dataclasses import replace

import pytest
from django.core.cache import cache

from tests.identity_on import EVERYTHING, turned_on


@pytest.fixture(scope="module")
def identity_on(django_db_setup, django_db_blocker, tmp_path_factory):
    with django_db_blocker.unblock(), turned_on(replace(EVERYTHING, required=False), tmp_path_factory.getbasetemp()):
        yield


@pytest.fixture(autouse=True)
def _on(identity_on, db):
    cache.clear()
