"""A new installation opens on the page that makes the first owner, who is then offered how to begin."""

import pytest

from accounts.models import Membership
from tests.e2e.looked_over import SHAPES, speak, wrong_here
from tests.e2e.serial import turn
from tests.e2e.test_accessibility import axe

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
__all__ = ["axe"]


@pytest.mark.parametrize("language", SHAPES)
def test_from_an_empty_database_to_the_choice_of_how_to_begin(open_page, axe, language):
    page = open_page(founded=False, reduced_motion="reduce")
    assert page.url.endswith("/begin/")
    speak(page, language)
    wrong = {"begin": list(wrong_here(page, axe, SHAPES[language]))}
    page.fill("#id_name", "olga")
    page.fill("#id_new_password1", "my own words 5")
    page.fill("#id_new_password2", "my own words 5")
    page.click("main form button")
    page.wait_for_selector("a[href='/demonstration/main/']")
    wrong["home"] = list(wrong_here(page, axe, SHAPES[language]))
    with turn:
        assert list(Membership.objects.values_list("user__username", "role")) == [("olga", "owner")]
    page.click("a[href='/imports/table/']")
    page.wait_for_selector("input[type=file]")
    page.set_input_files(
        "input[type=file]", {"name": "a.csv", "mimeType": "text/csv", "buffer": b"id,prompt\na,Tell.\n"}
    )
    page.click("main form button.button")
    page.wait_for_selector("#kind")
    wrong["table"] = list(wrong_here(page, axe, SHAPES[language]))
    assert page.locator("html").get_attribute("lang") == language
    assert wrong == {"begin": [], "home": [], "table": []}
