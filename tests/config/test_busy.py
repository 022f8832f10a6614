"""While another program writes, a page that must write says so and asks to be tried again."""

import pytest
from django.db import OperationalError

from config import home
from tests.factories import make_user, make_workspace

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("said", "status"), [("database is locked", 503), ("disk I/O error", 500)])
def test_a_locked_database_is_no_error_of_the_server(client, monkeypatch, said, status):
    def refuses(*arguments, **options):
        raise OperationalError(said)

    monkeypatch.setattr(home, "render", refuses)
    client.raise_request_exception = False
    client.force_login(make_user("lead", make_workspace()))
    answer = client.get("/")
    assert answer.status_code == status
    assert answer.get("Retry-After") == ("30" if status == 503 else None)
    assert ("The database is busy" in answer.content.decode()) == (status == 503)
