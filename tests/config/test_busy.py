"""While the database cannot be used, a page says so and asks to be tried again."""

import logging
from contextlib import closing
from types import SimpleNamespace

import pytest
from django.db import OperationalError, connection, transaction

from accounts.sign_in import session as signed_in
from config import home
from core.web import busy_database as busy
from tests.factories import make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db

BUSY, AWAY = "The database is busy", "The database is not responding"
PART = {"HX-Request": "true", "HX-Current-URL": "http://testserver/"}


@pytest.fixture
def lead(client):
    client.raise_request_exception = False
    client.force_login(make_user("lead", make_workspace()))
    return client


@pytest.fixture
def cut(monkeypatch):
    """The database goes away: nothing that asks for the session or the account gets an answer."""

    def refuses(*arguments, **options):
        raise OperationalError("server closed the connection\nunexpectedly")

    monkeypatch.setattr(signed_in._SESSION, "first", refuses)
    monkeypatch.setattr(busy, "is_away", lambda: True)


@pytest.mark.parametrize(("said", "status"), [("database is locked", 503), ("disk I/O error", 500)])
def test_a_locked_database_is_no_error_of_the_server(lead, monkeypatch, said, status):
    def refuses(*arguments, **options):
        raise OperationalError(said)

    monkeypatch.setattr(home, "render", refuses)
    answer = lead.get("/")
    assert answer.status_code == status
    assert answer.get("Retry-After") == ("30" if status == 503 else None)
    assert (BUSY in markup(answer)) == (status == 503)


@pytest.mark.parametrize(
    ("method", "path"),
    [("get", "/"), ("post", "/library/endpoints/new/"), ("get", "/no-such-page/"), ("get", "/sign-in/")],
)
def test_a_database_that_is_away_is_no_error_of_the_server(lead, cut, method, path):
    """A page about an error needs the session, too, and no view raises what happens there."""
    answer = getattr(lead, method)(path)
    page = markup(answer)
    assert (answer.status_code, answer["Retry-After"]) == (503, "30")
    assert AWAY in page and "数据库没有响应" in page and BUSY not in page


def test_a_program_reads_it_in_json(lead, cut):
    answer = lead.get("/api/v1/studies/")
    assert (answer.status_code, answer["Retry-After"]) == (503, "30")
    assert "is not responding" in answer.json()["detail"]


@pytest.mark.parametrize(("method", "swap"), [("get", "none"), ("post", "innerHTML")])
def test_a_part_of_a_page_gets_a_sentence_and_one_that_is_looked_at_stays(lead, cut, method, swap):
    answer = getattr(lead, method)("/library/endpoints/new/", headers=PART)
    assert (answer.status_code, answer["HX-Retarget"], answer["HX-Reswap"]) == (503, "#messages", swap)
    assert "<html" not in markup(answer)


@pytest.mark.parametrize("path", ["/", "/no-such-page/"])
def test_the_log_has_one_line_for_it(lead, cut, caplog, path):
    with caplog.at_level(logging.WARNING):
        lead.get(path)
    said = [record for record in caplog.records if record.exc_info or "database" in record.getMessage()]
    assert [record.getMessage() for record in said] == [f"No database (server closed the connection): {path}"]
    assert said[0].exc_info is None


@pytest.mark.parametrize(
    ("held", "away"),
    [(None, True), (SimpleNamespace(closed=True), True), (SimpleNamespace(closed=False), False), ("sqlite", False)],
)
def test_away_is_where_no_connection_is_held(monkeypatch, held, away):
    monkeypatch.setattr(busy, "connection", SimpleNamespace(connection=held))
    assert busy.is_away() is away


class FromPostgres(Exception):
    def __init__(self, sqlstate):
        self.sqlstate = sqlstate


@pytest.mark.parametrize(
    ("code", "status"), [(None, 503), ("08006", 503), ("53300", 503), ("57P01", 503), ("57014", 500), ("40P01", 500)]
)
def test_a_cut_is_known_by_its_code_where_a_new_connection_is_there(lead, monkeypatch, code, status):
    def refuses(*arguments, **options):
        raise OperationalError("terminating connection") from FromPostgres(code)

    monkeypatch.setattr(home, "render", refuses)
    assert lead.get("/").status_code == status


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no connection that can be cut")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("by_whom", ["itself", "another"])
def test_a_connection_cut_in_the_middle_of_a_transaction_is_no_error_of_the_server(lead, monkeypatch, by_whom):
    """Django connects again while it leaves the transaction."""

    def is_cut(*arguments, **options):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            (pid,) = cursor.fetchone()
            if by_whom == "another":
                with closing(connection.copy()) as another, another.cursor() as other:
                    other.execute("SELECT pg_terminate_backend(%s)", [pid])
            cursor.execute("SELECT pg_terminate_backend(%s)", [pid])

    monkeypatch.setattr(home, "render", is_cut)
    answer = lead.get("/")
    assert (answer.status_code, answer.get("Retry-After")) == (503, "30")
