"""Whoever asks by keyboard what a run costs keeps their place: the button that was pressed stays in focus."""

import re

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from generation.models import Endpoint, LanguageModel
from tests.calibration.answered_studies import answered_study
from tests.e2e.serial import turn
from tests.factories import make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PASSWORD = "plumb line 12"


def test_the_estimate_leaves_the_focus_on_its_button(open_page):
    with turn:
        study = answered_study(instructions=2)
        endpoint = Endpoint.objects.create(
            workspace=study.workspace, name="somewhere", base_url="http://127.0.0.1:9/v1"
        )
        LanguageModel.objects.create(workspace=study.workspace, name="one", endpoint=endpoint)
        lead = make_user("lead", study.workspace, username="lena")
        lead.set_password(PASSWORD)
        lead.save()
    page = open_page()
    page.fill("#id_username", "lena")
    page.fill("#id_password", PASSWORD)
    page.press("#id_password", "Enter")
    page.wait_for_url(lambda url: "sign-in" not in url)
    for name, row in (("judging:start_run", study), ("generation:start_run", study.benchmark)):
        page.goto(reverse(name, args=[row]))
        page.focus("[value=preview]")
        page.keyboard.press("Enter")
        expect(page.locator("#estimate")).to_contain_text(re.compile(r"\S"))
        page.wait_for_timeout(200)
        assert page.evaluate("document.activeElement.value") == "preview", name
