"""Every page of a study marks one tab, and one entry of its second level, and shows both on a phone."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from judging.demonstration.making import PASSWORD, SLUG
from tests.e2e.addresses import addresses_of, client_of, make_every_row, named_routes
from tests.e2e.serial import turn
from tests.e2e.test_tabs_in_view import IN_VIEW

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PER_ROW = """() => [...document.querySelectorAll(".tabs")].map(
    row => row.querySelectorAll("[aria-current]").length)"""


def pages_of_the_study():
    """The addresses of the demonstration's study that show a lead a whole page with tabs."""
    client, found = client_of("lead"), []
    for name, wanted in named_routes():
        if "slug" not in wanted:
            continue
        for address in addresses_of(name, wanted):
            if f"/studies/{SLUG}/" not in address:
                continue
            reply = client.get(address)
            if reply.status_code == 200 and not reply.streaming and b'class="tabs"' in reply.content:
                found.append(address)
    return found


def test_every_page_of_a_study_marks_one_tab_that_a_phone_shows(open_page):
    with turn, ThreadPoolExecutor(1) as thread:
        thread.submit(make_every_row).result()
        addresses = thread.submit(pages_of_the_study).result()
    assert len(addresses) >= 20
    page = open_page()
    page.set_viewport_size({"width": 390, "height": 844})
    page.fill("#id_username", "lead")
    page.fill("#id_password", PASSWORD)
    page.press("#id_password", "Enter")
    page.wait_for_url(lambda url: "sign-in" not in url)
    wrong = {}
    for address in addresses:
        page.goto(address)
        marked = page.evaluate(PER_ROW)
        if any(number != 1 for number in marked) or not 1 <= len(marked) <= 2:
            wrong[address] = marked
        elif not all(seen for seen, _label in page.evaluate(IN_VIEW)):
            wrong[address] = "not in view"
    assert wrong == {}
