"""The folds of a result page: an anchor opens the one it leads into, printing opens all, and without script they work."""

import pytest
from django.urls import reverse

from calibration.fits.store import run_fit
from tests.calibration.answered_studies import answered_study
from tests.e2e.looked_over import speak
from tests.e2e.serial import turn
from tests.factories import make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PASSWORD = "plumb line 12"
HEIGHT = "document.querySelector('.page').scrollHeight"


def signed_in(page):
    with turn:
        study = answered_study()
        run_fit(study=study, floor=0.5, pool=False, skip_small=False, user=None)
        lead = make_user("lead", study.workspace, username="lena")
        lead.set_password(PASSWORD)
        lead.save()
    page.fill("#id_username", "lena")
    page.fill("#id_password", PASSWORD)
    page.press("#id_password", "Enter")
    page.wait_for_url(lambda url: "sign-in" not in url)
    return reverse("calibration:weights", args=[study])


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_anchors_and_printing_open_folds(open_page, language):
    page = open_page()
    speak(page, language)
    address = signed_in(page)
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 844})
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(HEIGHT) < (1800 if width == 1280 else 2600)
        table = page.locator("#rivals-1 table")
        assert not table.is_visible()
        page.click(".contents a[href='#rivals-1']")
        table.wait_for(state="visible")
        page.locator("#rivals-1").locator("xpath=..").locator("> summary").click()
        table.wait_for(state="hidden")
        page.click(".contents a[href='#rivals-1']")  # the same anchor again, at which no hash changes
        table.wait_for(state="visible")
    page.goto(address)
    closed = "document.querySelectorAll('.fold:not([open])').length"
    assert page.evaluate(closed) >= 4
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.evaluate(closed) == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate(closed) >= 4


def test_without_script_a_fold_opens_and_is_printed(open_page):
    page = open_page(java_script_enabled=False)
    address = signed_in(page)
    page.goto(address)
    table = page.locator("#rivals-1 table")
    assert not table.is_visible()
    page.locator("#rivals-1").locator("xpath=..").locator("> summary").click()
    assert table.is_visible()
    page.goto(address)
    page.emulate_media(media="print")
    assert page.locator("#unseen-1 table").is_visible()
