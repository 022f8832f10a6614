"""The editor of questions in the browser: a copy of the library, order by keyboard without a script, own levels, a table."""

import re

import pytest

from annotation.models import Study
from annotation.studies.life_cycle import create_study
from tests.e2e.rating_pages import fits
from tests.factories import make_checklist_study, make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
TABLE = b"key,question,levels\nkind,Is it kind?,0=Rude|1=Kind: Nobody is hurt\nbad,Bad?,only one\n"


def test_questions_are_copied_moved_and_read_from_a_table(open_page):
    source = make_checklist_study(instructions=2, models=1, slug="source")
    lead = make_user("lead", source.workspace, username="lena")
    create_study(
        workspace=source.workspace, names={"en": "Draft"}, kind="checklist", benchmark=source.benchmark, by=lead
    )
    from playwright.sync_api import expect

    page = open_page()
    page.set_default_timeout(15_000)
    page.fill("#id_username", "lena")
    page.fill("#id_password", "plumb line 12")
    page.keyboard.press("Enter")
    page.wait_for_selector("a[href='/studies/']")
    page.goto("/studies/draft/setup/?step=questions")
    page.locator("a[href$='/questions/']").click()
    page.locator("#copy-rubric > summary").click()
    page.locator("button[value=copy]").click()
    expect(page.locator("[name=q0-question_en]")).to_have_value(re.compile("^Is quality 0"))
    page.locator("button[value=down-0]").focus()
    page.keyboard.press("Enter")
    expect(page.locator("[name=q1-question_en]")).to_have_value(re.compile("^Is quality 0"))
    assert page.evaluate("document.activeElement.value") == "down-1", "the focus follows the question"
    page.locator("#import-questions > summary").click()
    page.set_input_files("#id_table", {"name": "questions.csv", "mimeType": "text/csv", "buffer": TABLE})
    page.locator("button[value=import]").click()
    page.wait_for_selector("text=Line 3:")
    assert fits(page)
    page.locator("button[value=preview]").click()
    page.wait_for_url("**/rate/preview-1-*/")
    questions = page.locator("#answers").text_content()
    assert "Is it kind?" in questions
    own = Study.objects.get(slug="draft").rubric
    assert [one.key for one in own.criteria.all()][:2] == ["item1", "item0"]
    assert own.criteria.get(key="kind").levels[1]["description"] == {"en": "Nobody is hurt"}
