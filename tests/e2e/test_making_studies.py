"""A lead makes a study of each kind from nothing, invites by a public link, and watches the first answer come in."""

import pytest

from annotation.models import Assignment, Score, Study
from generation.models import Response
from tests.e2e.rating_pages import fits, submit
from tests.factories import make_checklist_study, make_judge_rater, make_user
from tests.screen_studies import make_review_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
DIARY = "\n\n".join(f"#*# Week {n}:\n\nIt rains on week {n}." for n in range(1, 6))
QUESTIONS = {
    "checklist": {"q0-question_en": "Is it clear?", "q1-question_en": "How good is it overall?"},
    "stars": {"q0-question_en": "Is it true?", "q1-question_en": "Is it lively?"},
    "pair": {"q0-question_en": "Which would you rather give?"},
    "check": {"mark": "Week", "asked": "6", "q0-question_en": "Does it rain?", "q0-numbers": "2-6/2"},
    "review": {},
}
SCALES = {
    "checklist": {"q1-scale": "overall10"},
    "stars": {"q0-scale": "stars5"},
    "pair": {"q0-scale": "four"},
    "check": {},
}
# Two instructions by two models: four responses, two pairs, weeks 2 and 4 of each response (6 is not there).
TASKS = {"checklist": 4, "stars": 4, "pair": 2, "check": 8, "review": 2}


def something_to_rate(kind):
    if kind == "review":
        study = make_review_study(judge=None)
        make_judge_rater(study.workspace, "another")
        Study.objects.filter(pk=study.pk).delete()
        return study.workspace
    study = make_checklist_study(instructions=2, models=2, slug="source")
    Response.objects.update(text=DIARY, words=30)
    return study.workspace


def sign_in(page, name):
    page.fill("#id_username", name)
    page.fill("#id_password", "plumb line 12")
    page.keyboard.press("Enter")
    page.wait_for_selector("a[href='/studies/']")


def write_questions(page, base, kind):
    page.goto(f"{base}questions/")
    for name, text in QUESTIONS[kind].items():
        page.fill(f"[name='{name}']", text)
    for name, value in SCALES[kind].items():
        page.select_option(f"[name='{name}']", value)
    page.get_by_role("button", name="Save questions", exact=True).click()
    page.wait_for_selector("text=The questions have been saved.")
    assert fits(page)


@pytest.mark.parametrize("kind", QUESTIONS)
def test_from_nothing_to_the_first_answer(open_page, kind):
    workspace = something_to_rate(kind)
    make_user("lead", workspace, username="lena")
    lead = open_page()
    sign_in(lead, "lena")
    lead.set_default_timeout(15_000)
    lead.goto("/studies/new/")
    lead.fill("#id_name_en", "Made here")
    lead.check(f"input[name=kind][value={kind}]")
    lead.locator("main form button.button").click()
    lead.wait_for_url("**/studies/made-here/setup/")
    base = lead.url.removesuffix("setup/")
    if kind != "review":
        write_questions(lead, base, kind)
    lead.goto(f"{base}guideline/edit/")
    lead.fill("[name=text_en]", "Read *all* of it.")
    lead.locator("main form button.button").first.click()
    lead.wait_for_selector("text=Saved as made-here v1.")
    lead.goto(f"{base}setup/?step=checks")
    lead.fill("#id_overlap", "2")
    lead.locator("#fold-hints > summary").click()
    lead.select_option("#id_hints", "split")
    lead.locator("button[value=next]").click()
    lead.wait_for_url("**/setup/?step=texts")
    assert fits(lead)
    lead.fill("#id_consent_en", "I take part of my own will.")
    # What stands in the form is kept, then previewed: the rating page itself, and its guideline.
    lead.locator("button[value=preview]").click()
    lead.wait_for_url("**/preview/")
    lead.locator(".first-tasks a").first.click()
    lead.wait_for_selector("#answers .item")
    lead.locator("[data-guideline]").click()
    lead.wait_for_selector("#side-text em")
    lead.goto(f"{base}setup/?step=checks")
    assert lead.locator("#id_hints").input_value() == "split"
    lead.locator("a[href='?step=review']").first.click()
    lead.wait_for_selector(".plan-figures dd")
    assert lead.locator(".plan-figures dd").first.text_content() == str(TASKS[kind])
    assert lead.locator(".plan-figures dd").nth(1).text_content() == str(2 * TASKS[kind])
    assert fits(lead)
    lead.locator("button[value=launch]").click()
    lead.wait_for_url("**/studies/made-here/")
    study = Study.objects.get(slug="made-here")
    assert (study.status, study.seats.count()) == ("open", 2 * TASKS[kind])
    lead.goto(f"{base}cohorts/")
    lead.locator("main details:has(#id_name) > summary").click()
    lead.fill("#id_name", "Open door")
    lead.select_option("#id_kind", "public")
    lead.locator("main details[open] form button.button").click()
    door = lead.locator("input.link").get_attribute("value")

    visitor = open_page("phone")
    visitor.goto(door)
    assert "of my own will" in visitor.locator("main").text_content()
    visitor.locator("button[value=yes]").click()
    visitor.locator("button[name=read]").click()
    visitor.locator("form[action$='/rate/'] button").click()
    visitor.wait_for_selector("#task")
    assert fits(visitor)
    visitor.locator(".sheet-toggle").click()
    first = Assignment.objects.get(rater__cohort__name="Open door", status="open", shown_at__isnull=False)
    items = visitor.locator("#answers .item").all()
    for item in items:
        item.locator(".level").first.click()
    if len(items) > 1:
        submit(visitor)
    visitor.wait_for_function("id => document.getElementById('task')?.dataset.assignment !== id", arg=first.public_id)
    assert Score.objects.filter(assignment=first).exists()
    lead.goto(base)
    assert f"1 of the {2 * TASKS[kind]} ratings needed" in lead.locator(".answer").first.text_content()
