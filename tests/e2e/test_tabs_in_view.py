"""The tab of the page that is open is marked and in view, on a wide window and on a phone, in both languages."""

import pytest
from django.urls import reverse

from annotation.assignment.new_slots import make_seats
from tests.calibration.answered_studies import answered_study
from tests.e2e.looked_over import speak
from tests.e2e.serial import turn
from tests.factories import make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PASSWORD = "plumb line 12"
IN_VIEW = """() => [...document.querySelectorAll(".tabs")].map((row) => {
  const tab = row.querySelector("[aria-current]"), [a, b] = [row.getBoundingClientRect(), tab.getBoundingClientRect()];
  return [b.left >= a.left - 1 && b.right <= a.right + 1 && b.right <= innerWidth, tab.textContent.trim()];
})"""
PAGES = {
    "annotation:history": ["History"],
    "calibration:planner": ["Results", "Planner"],
    "judging:judges_depth": ["Judges", "Bias and value"],
    "annotation:attention": ["Raters", "Needs attention"],
}


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_current_tab_is_in_view(open_page, width, language):
    with turn:
        study = answered_study(instructions=2)
        make_seats(study)
        lead = make_user("lead", study.workspace, username="lena")
        lead.set_password(PASSWORD)
        lead.save()
    page = open_page()
    page.set_viewport_size({"width": width, "height": 844})
    page.fill("#id_username", "lena")
    page.fill("#id_password", PASSWORD)
    page.press("#id_password", "Enter")
    page.wait_for_url(lambda url: "sign-in" not in url)
    speak(page, language)
    for name, labels in PAGES.items():
        page.goto(reverse(name, args=[study]))
        found = page.evaluate(IN_VIEW)
        assert all(seen for seen, _label in found), (name, found)
        if language == "en":
            assert [label for _seen, label in found] == labels
        assert page.evaluate("document.documentElement.scrollWidth") <= width


CUT = """() => [...document.querySelectorAll(".tabs")].map((row) => row.scrollWidth - row.clientWidth)"""
NARROW = ("annotation:upload_table", "judging:upload_benchmark", "judging:upload_archive", "generation:new_endpoint")


@pytest.mark.parametrize("width", [1440, 1000])
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_a_wide_window_cuts_no_tab_of_a_narrow_page(open_page, width, language):
    with turn:
        study = answered_study(instructions=2)
        lead = make_user("lead", study.workspace, username="lena")
        lead.set_password(PASSWORD)
        lead.save()
    page = open_page()
    page.set_viewport_size({"width": width, "height": 900})
    page.fill("#id_username", "lena")
    page.fill("#id_password", PASSWORD)
    page.press("#id_password", "Enter")
    page.wait_for_url(lambda url: "sign-in" not in url)
    speak(page, language)
    for name in NARROW:
        page.goto(reverse(name))
        assert page.evaluate(CUT) == [0], name
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
