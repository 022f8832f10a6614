"""A list is read on a phone without scrolling it sideways: each cell says what it is, and it stays a table."""

import pytest

from generation.models import Benchmark
from tests.e2e.looked_over import speak
from tests.e2e.rating_pages import fits
from tests.factories import make_user, make_workspace

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_list_says_what_each_cell_is(open_page):
    workspace = make_workspace()
    lead = make_user("lead", workspace)
    lead.set_password("plumb line 12")
    lead.save()
    Benchmark.objects.create(
        workspace=workspace,
        slug="essays",
        names={"en": "Essays"},
        licence="CC BY 4.0",
        source="A long source that would leave a column of a narrow table no more than a word's width a line",
    )
    page = open_page("phone")
    page.fill("#id_username", lead.username)
    page.fill("#id_password", "plumb line 12")
    page.press("#id_password", "Enter")
    page.wait_for_url(lambda url: "sign-in" not in url)
    speak(page, "zh-hans")
    page.goto("/library/")
    assert fits(page)
    assert page.evaluate(
        "(() => { const one = document.querySelector('.scroll-x'); return one.scrollWidth <= one.clientWidth; })()"
    )
    row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="Essays"))
    cell = row.get_by_role("cell", name="CC BY 4.0")
    assert cell.evaluate("one => getComputedStyle(one, '::before').content") == '"许可证"'
    assert row.locator("td[data-none]").count() == 1
    assert not row.locator("td[data-none]").is_visible()
    name = row.get_by_role("rowheader").bounding_box()
    assert name["width"] > 300 and cell.bounding_box()["y"] >= name["y"] + name["height"] - 1
