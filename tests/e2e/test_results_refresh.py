"""The result page of a study in progress shows a newer report by itself, as soon as one is stored."""

import re

import pytest
from django.urls import reverse

from calibration import tasks
from calibration.report_store import refreshes
from calibration.reports.agreement import AGREEMENT, agreement_report
from tests.calibration.answered_studies import answered_study
from tests.e2e.rating_pages import wait_until
from tests.e2e.serial import turn
from tests.factories import make_answer, make_rater, make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
VALUES = {"item0": 1.0, "item1": 0.5, "item2": 0.0, "item3": 0.25, "overall": 6}
PASSWORD = "plumb line 12"


def test_a_newer_report_takes_the_place_of_the_one_on_the_page(open_page, monkeypatch):
    asked = []
    monkeypatch.setitem(AGREEMENT.__dict__, "slow_from", 10)
    monkeypatch.setattr(refreshes, "send_after_commit", lambda _task, *given: asked.append(given))
    with turn:
        study = answered_study(instructions=4)
        agreement_report(study)
        rater = make_rater(study)
        for task in study.tasks.order_by("pk")[:2]:
            make_answer(task, rater, VALUES)
        lead = make_user("lead", study.workspace, username="lena")
        lead.set_password(PASSWORD)
        lead.save()
    page = open_page()
    page.fill("#id_username", "lena")
    page.fill("#id_password", PASSWORD)
    page.press("#id_password", "Enter")
    page.wait_for_url(lambda url: "sign-in" not in url)
    polls = []
    page.on("response", lambda reply: "waiting=" in reply.url and polls.append(reply.status))
    page.goto(reverse("calibration:agreement", args=[study]))
    result = page.locator("#result")
    assert "2 answers have arrived since." in result.inner_text()
    assert "this page updates itself" in result.inner_text()
    page.evaluate("window.opened = true")
    before, address = result.element_handle(), page.url
    wait_until(page, lambda: polls, seconds=60)
    # Nothing newer is there, so nothing of the page is replaced.
    assert polls[0] == 204 and before.evaluate("one => one.isConnected")
    with turn:
        (given,) = asked
        tasks.build_report(*given)
    page.wait_for_function("() => !document.querySelector('#result [hx-trigger]')")
    assert polls[-1] == 200 and not before.evaluate("one => one.isConnected")
    assert page.evaluate("window.opened") and page.url == address
    shown = page.locator("#result")
    assert shown.count() == 1 and shown.locator(".answer").count() == 1
    assert not re.search("arrived since|updates itself", shown.inner_text())
