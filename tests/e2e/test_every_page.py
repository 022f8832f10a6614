"""axe-core finds nothing serious on any page that anybody may open, wide or narrow, light or dark, in both languages.

The pages are found from the addresses, so that a new page is looked at without being named here; an address that is
no page is listed in addresses.py with its reason. No page is wider than its window, and each has one main heading.
"""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.test import RequestFactory
from django.views.defaults import server_error

from judging.demonstration.making import PASSWORD
from tests.e2e.addresses import (
    AWAY,
    FILE,
    NOT_PAGES,
    PART,
    PEOPLE,
    SAME,
    SENT,
    VISITOR,
    addresses_of,
    client_of,
    make_every_row,
    named_routes,
)
from tests.e2e.looked_over import SHAPES, speak, wrong_here
from tests.e2e.rating_pages import SIZES, fits
from tests.e2e.serial import turn
from tests.e2e.test_accessibility import axe, violations

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
__all__ = ["axe"]


def what_is_it(reply):
    """Why a reply is not a page of its own; '' for a page."""
    html = reply.get("Content-Type", "").startswith("text/html") and not reply.streaming
    if reply.status_code == 405:
        return SENT
    if 300 <= reply.status_code < 400:
        return AWAY
    if reply.status_code in (200, 503) and not html:  # without a worker, /health/ready/ answers 503
        return FILE
    if reply.status_code == 200:
        return "" if b"<html" in reply.content else PART
    return f"status {reply.status_code}"


def pages_for(username):
    """The addresses that are whole pages for somebody, each with what it shows; and what every other route is."""
    client = client_of(username)
    pages, others = {}, {}
    for name, wanted in named_routes():
        for address in addresses_of(name, wanted):
            reply = client.get(address)
            other = what_is_it(reply)
            if other:
                others[name] = other
                continue
            content = reply.content.partition(b"<main")[2]
            pages[address] = name, re.sub(rb'name="csrfmiddlewaretoken" value="[^"]+"', b"", content)
    return pages, others


@pytest.fixture
def every_row():
    """In a thread of its own: the judge's calls have a loop, and Playwright's has this one."""
    with turn, ThreadPoolExecutor(1) as thread:
        thread.submit(make_every_row).result()


def sign_in_as(page, username):
    page.fill("#id_username", username)
    page.fill("#id_password", PASSWORD)
    page.press("#id_password", "Enter")
    page.wait_for_url(lambda url: "sign-in" not in url)


def wrong_on(page, address, axe, shapes):
    page.set_viewport_size(SIZES[shapes[0][0]])
    page.emulate_media(color_scheme=shapes[0][1])
    page.goto(address)
    yield from wrong_here(page, axe, shapes)


def weight_of(page, address):
    """Bytes of styles and scripts that a page loads, before compression."""
    page.goto(address)
    return page.evaluate(
        """() => performance.getEntriesByType("resource")
            .filter(one => ["link", "script"].includes(one.initiatorType) && /[.](css|js)$/.test(new URL(one.name).pathname))
            .reduce((sum, one) => sum + one.decodedBodySize, 0)"""
    )


def test_every_page_of_a_lead_an_analyst_a_rater_and_a_visitor(open_page, axe, every_row):
    wrong, seen, looked_at, others = {}, {}, set(), {}
    for who in PEOPLE:
        with turn:
            pages, other = pages_for(who)
        page = open_page(reduced_motion="reduce")
        if who != VISITOR:
            sign_in_as(page, who)
        new = [address for address, (_name, content) in pages.items() if seen.get(address) != content]
        looked_at |= {name for name, _content in pages.values()}
        # Whoever is asked later is led to the sign-in page at most.
        others = {name: why for name, why in other.items() if not why.startswith("status")} | others
        for language, shapes in SHAPES.items():
            speak(page, language)
            # An analyst's pages are the lead's without the buttons.
            for address in [*new, "/nowhere/"] if who != "ana" else new:
                found = list(wrong_on(page, address, axe, shapes if who != "ana" else shapes[:1]))
                assert page.locator("html").get_attribute("lang") == language
                if found:
                    wrong[who, language, address] = found
        seen |= {address: content for address, (_name, content) in pages.items()}
        if who == "rater":
            weights = {address: weight_of(page, address) for address in new}
            assert {address: weight for address, weight in weights.items() if weight >= 100_000} == {}
    assert wrong == {}
    listed = {name: why for why, names in NOT_PAGES.items() for name in names}
    assert {name for name, _wanted in named_routes()} - looked_at == listed.keys()
    assert {name: others.get(name) for name, why in listed.items() if why != SAME} == {
        name: why for name, why in listed.items() if why != SAME
    }


def test_the_page_of_our_own_failures(open_page, axe):
    """Served as it is stored, since it is made without a word from the program."""
    page = open_page("phone", color_scheme="dark")
    made = server_error(RequestFactory().get("/broken/")).content.decode()
    page.route("**/broken/", lambda route: route.fulfill(status=500, body=made))
    page.goto("/broken/")
    assert violations(page, axe) == []
    assert fits(page)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 19, 21)"
