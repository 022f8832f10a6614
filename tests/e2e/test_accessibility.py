"""axe-core finds nothing serious on any page of a rater, light or dark, wide or narrow."""

import os
from pathlib import Path

import pytest
from django.conf import settings

from tests.e2e.answers import KINDS, make_study, press
from tests.e2e.rating_pages import begin, fits, settle

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
AXE = Path(settings.BASE_DIR) / ".cache" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]


@pytest.fixture(scope="module")
def axe():
    if not AXE.exists():
        if os.environ.get("CI") == "true":
            pytest.fail("CI must have axe-core; run tests/e2e/axe/install.sh")
        pytest.skip("axe-core is not here; run tests/e2e/axe/install.sh")
    return AXE.read_text(encoding="utf-8")


def violations(page, axe):
    """What axe finds serious or critical: (rule, selectors)."""
    page.evaluate(axe)
    found = page.evaluate("rules => axe.run(document, {runOnly: {type: 'tag', values: rules}})", RULES)
    return [
        (one["id"], [node["target"] for node in one["nodes"]][:4])
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", ["desktop", "phone"])
@pytest.mark.parametrize("kind", [*KINDS, "check"])
def test_every_screen(open_page, axe, kind, size, theme):
    make_study(kind)
    page = open_page(size, color_scheme=theme, reduced_motion="reduce")
    assert violations(page, axe) == []
    begin(page)
    if size == "phone":
        page.locator(".sheet-toggle").click()
    press(page, "qe12")
    settle(page)
    assert violations(page, axe) == []
    assert fits(page)
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("?")
    assert violations(page, axe) == []
    page.keyboard.press("Escape")
    slug = {"checklist": "essays", "stars": "stars", "pair": "pairs", "review": "reviews", "check": "checks"}[kind]
    page.goto(f"/w/lab/studies/{slug}/done/")
    assert violations(page, axe) == []


def test_targets_are_large_enough_to_touch(open_page):
    """24 by 24 CSS pixels at least, WCAG 2.5.8."""
    make_study("pair")
    page = open_page("phone", has_touch=True, is_mobile=True)
    begin(page)
    page.locator(".sheet-toggle").tap()
    small = page.evaluate(
        """() => [...document.querySelectorAll(".reading button, .rail button, .rail label.level, .reading summary")]
            .filter(one => one.offsetParent).map(one => [one.outerHTML.slice(0, 80), one.getBoundingClientRect()])
            .filter(([, box]) => box.width && (box.width < 24 || box.height < 24)).map(([html]) => html)"""
    )
    assert small == []


def test_what_is_printed_is_dark_on_white_whatever_the_screen_shows(open_page):
    make_study("checklist")
    page = open_page()
    begin(page)
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"
    assert (
        page.evaluate("getComputedStyle(document.querySelector('.instruction')).backgroundColor")
        == "rgb(255, 255, 255)"
    )
    assert page.evaluate("getComputedStyle(document.querySelector('.instruction .prose')).color") == "rgb(0, 0, 0)"
    assert not page.locator("#rail").is_visible()
