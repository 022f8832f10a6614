"""Tests of endpoints take turns: an endpoint that hangs must not hold the threads that raters need."""

import threading

import pytest
from django.urls import reverse

from generation.endpoints.probing import NoAnswer
from generation.models import Endpoint
from generation.web.endpoints import pages as endpoint_pages
from tests.factories import make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db


@pytest.fixture
def endpoints():
    workspace = make_workspace()
    return [Endpoint.objects.create(workspace=workspace, name=f"e{n}", base_url="http://x/v1") for n in range(3)]


@pytest.fixture
def lead(client, endpoints):
    client.force_login(make_user("lead", endpoints[0].workspace))
    return client


@pytest.fixture
def asked(monkeypatch):
    """The endpoints that were asked; each refuses."""
    found = []

    def refuses(endpoint, **options):
        found.append(endpoint.name)
        raise NoAnswer("nobody is there")

    monkeypatch.setattr(endpoint_pages, "probe_endpoint", refuses)
    return found


def press(lead, endpoint, *, htmx=True):
    headers = {"HX-Request": "true"} if htmx else {}
    url = reverse("generation:test_endpoint", args=[endpoint.pk])
    return markup(lead.post(url, headers=headers, follow=not htmx))


@pytest.mark.parametrize("htmx", [True, False])
def test_a_second_click_does_not_ask_again(lead, endpoints, asked, htmx):
    with endpoint_pages.test_of(endpoints[0]):
        page = press(lead, endpoints[0], htmx=htmx)
        assert "This endpoint is already being tested" in page and "The test failed" not in page and not asked
        assert "nobody is there" in press(lead, endpoints[1], htmx=htmx)
    assert "nobody is there" in press(lead, endpoints[0], htmx=htmx)
    assert asked == ["e1", "e0"]


@pytest.mark.parametrize("htmx", [True, False])
def test_two_at_once_and_no_third(lead, endpoints, asked, htmx):
    with endpoint_pages.test_of(endpoints[0]), endpoint_pages.test_of(endpoints[1]):
        assert "2 other endpoints are being tested" in press(lead, endpoints[2], htmx=htmx)
    assert not asked
    assert "nobody is there" in press(lead, endpoints[2], htmx=htmx)


def test_a_fault_ends_its_turn(lead, endpoints, monkeypatch, asked):
    def falls_over(endpoint, **options):
        raise KeyError("x")

    lead.raise_request_exception = False
    with monkeypatch.context() as broken:
        broken.setattr(endpoint_pages, "probe_endpoint", falls_over)
        press(lead, endpoints[0])
    assert "nobody is there" in press(lead, endpoints[0])


def test_of_nine_clicks_at_once_one_asks(endpoints):
    """Threads that arrive together."""
    begun, leave = threading.Barrier(9), threading.Event()
    told = []

    def click():
        begun.wait(10)
        with endpoint_pages.test_of(endpoints[0]) as wait:
            told.append(wait)
            if not wait:
                leave.wait(10)

    clicks = [threading.Thread(target=click) for _ in range(9)]
    for one in clicks:
        one.start()
    while len(told) < 9 and any(one.is_alive() for one in clicks):
        leave.wait(0.01)
    leave.set()
    for one in clicks:
        one.join(10)
    assert sorted(map(bool, told)) == [False, *[True] * 8]


def test_the_button_rests_while_its_test_runs(lead, endpoints):
    page = markup(lead.get(reverse("generation:endpoints")))
    assert page.count('hx-disabled-elt="find button"') == len(endpoints)
