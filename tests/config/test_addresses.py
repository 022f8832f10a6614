"""An address with a NUL character is an address that nothing has, on every database."""

import pytest
from django.http import Http404, HttpResponse
from django.test import RequestFactory

from core.web.nul_characters import NoNulMiddleware
from tests.factories import make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("address", ["/runs/%00/", "/studies/a%00b/", "/leaderboards/%00/", "/api/v1/studies/%00/"])
def test_a_nul_character_is_not_found(client, address):
    client.force_login(make_user("lead", make_workspace()))
    answer = client.get(address)
    assert answer.status_code == 404


def test_the_page_that_says_so_is_our_own(client):
    client.force_login(make_user("lead", make_workspace()))
    assert "Page not found" in markup(client.get("/studies/%00/"))


def test_nothing_is_looked_up_for_it():
    """SQLite would look and find nothing; PostgreSQL would fail."""
    middleware = NoNulMiddleware(lambda request: HttpResponse())
    with pytest.raises(Http404):
        middleware.process_view(RequestFactory().get("/runs/%00/"))
    assert middleware.process_view(RequestFactory().get("/runs/a/?q=%00")) is None


@pytest.mark.parametrize(
    ("query", "read"), [("q=a%00b", "ab"), ("q=%00", ""), ("q=%2500", "%00"), ("q=a%0%000b", "ab")]
)
def test_a_page_reads_what_it_was_asked_without_them(query, read):
    seen = []
    request = RequestFactory().get(f"/runs/?{query}")
    NoNulMiddleware(lambda request: seen.append(request.GET["q"]) or HttpResponse())(request)
    assert seen == [read]
