"""A form whose page is older than the present sign-in is offered again with what was typed, and to nobody else."""

import html
import re

import pytest
from django.test import Client
from django.urls import reverse

from core.web.unsent_forms import UnsentForm
from tests.factories import make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db

OWN = {"Origin": "http://testserver", "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "navigate"}
PROMPT = '\n@@ user\n<script>alert("a")</script> 评分\n'
TYPED = {"name": 'a "b" <i>', "prompt": PROMPT, "levels": ["1", "2"]}
ADDRESS = "/library/judges/new/?method=checklist"


@pytest.fixture
def browser():
    make_user("lead", make_workspace(), username="lena")
    return Client(enforce_csrf_checks=True)


def sign_in(browser, answer, **more):
    """The form for signing in on a page, sent as a browser would."""
    sent = {**fields_of(answer), "username": "lena", "password": "plumb line 12", **more}
    return browser.post("/sign-in/", sent, headers=OWN)


def fields_of(answer):
    """What the page's own form would send: the browser drops a line break right after <textarea>."""
    form = re.search(r"<main.*?(<form.*?</form>)", answer.content.decode(), re.DOTALL)
    assert form, markup(answer)
    inputs = re.findall(r'<input\s+type="(?:hidden|text)"[^>]*\sname="([^"]*)"[^>]*\svalue="([^"]*)"', form[1])
    token = re.findall(r'name="(csrfmiddlewaretoken)" value="([^"]*)"', form[1])
    areas = re.findall(r'<textarea[^>]*\sname="([^"]*)"[^>]*>\n(.*?)</textarea>', form[1], re.DOTALL)
    sent = {}
    for name, value in (*inputs, *token, *areas):
        sent.setdefault(name, []).append(html.unescape(value))
    return {name: values if len(values) > 1 else values[0] for name, values in sent.items()}


def signed_in(browser):
    answer = sign_in(browser, browser.get("/sign-in/"))
    assert answer.status_code == 302
    return browser


def test_what_was_typed_is_offered_again_and_goes_where_it_went(browser):
    signed_in(browser)
    answer = browser.post(ADDRESS, {**TYPED, "csrfmiddlewaretoken": "x" * 64}, headers=OWN)
    page = markup(answer)
    assert answer.status_code == 403 and "<nav" in page and answer["Cache-Control"] == "no-store"
    assert "<script>alert" not in page and "lena" in page
    assert f'action="{ADDRESS}"' in page
    again = fields_of(answer)
    assert {name: again[name] for name in TYPED} == TYPED
    assert again["csrfmiddlewaretoken"] != "x" * 64
    sent = browser.post(ADDRESS, again, headers=OWN)
    assert sent.status_code == 422  # the view reads it: there is no such model
    assert "onload" not in page and "submit()" not in page


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "null"},
        {"Origin": "https://evil.example"},
        {"Origin": "http://testserver.evil.example"},
        {"Referer": "https://evil.example/http://testserver/"},
        {"Referer": "http://[testserver/"},
        {**OWN, "Sec-Fetch-Site": "cross-site"},
    ],
)
def test_a_form_of_another_site_is_offered_to_nobody(browser, headers):
    answer = signed_in(browser).post(ADDRESS, TYPED, headers=headers)
    page = markup(answer)
    assert answer.status_code == 403 and "<nav" in page
    assert "did not confirm that the form came from a page of this site" in page
    assert "alert(" not in page and "Send again" not in page


def test_a_page_that_only_names_the_page_before_it_is_our_own(browser):
    headers = {"Referer": "http://testserver/library/"}
    answer = signed_in(browser).post(ADDRESS, TYPED, headers=headers)
    assert "Send again" in markup(answer)


@pytest.mark.parametrize("name", ["password", "new_password1", "old_password"])
def test_a_password_is_never_offered_again(browser, name):
    signed_in(browser)
    headers = {**OWN, "Referer": "http://testserver/account/password/?a=1"}
    answer = browser.post("/account/password/", {name: "swordfish 77"}, headers=headers)
    page = markup(answer)
    assert answer.status_code == 403
    assert "swordfish" not in page and 'href="/account/password/?a=1"' in page


def test_a_form_with_a_file_or_of_another_kind_is_not_offered(browser, tmp_path):
    (tmp_path / "a.txt").write_text("one")
    signed_in(browser)
    with (tmp_path / "a.txt").open() as file:
        sent = browser.post(ADDRESS, {"file": file}, headers=OWN)
    told = browser.post(ADDRESS, '{"a": 1}', content_type="application/json", headers=OWN)
    for answer, status, sentence in (
        (sent, 400, "This site does not accept files"),
        (told, 403, "This form was not accepted"),
    ):
        assert answer.status_code == status
        assert sentence in markup(answer)
        assert "Send again" not in markup(answer)


def test_a_part_of_a_page_gets_a_sentence(browser):
    headers = {**OWN, "HX-Request": "true", "HX-Current-URL": "http://testserver/x/"}
    answer = signed_in(browser).post(ADDRESS, TYPED, headers=headers)
    assert answer.status_code == 422 and answer["HX-Retarget"] == "#messages"
    assert markup(answer).startswith("<ul")
    # The rating page's script goes by the status: 422 would tell it that the answer was read.
    script = browser.post(ADDRESS, TYPED, headers={**OWN, "HX-Request": "true"})
    assert script.status_code == 403


def test_after_a_session_that_had_ended_the_form_is_offered_once_signed_in(browser):
    browser.get("/sign-in/")
    token = browser.cookies["csrftoken"].value
    sent = {**TYPED, "csrfmiddlewaretoken": token}
    asked = browser.post(ADDRESS, sent, headers=OWN)
    assert asked.status_code == 403 and "alert(" not in markup(asked)
    wrong = sign_in(browser, asked, password="wrong one")
    assert "the password is incorrect" in markup(wrong)
    offered = sign_in(browser, wrong)
    assert offered.status_code == 200
    again = fields_of(offered)
    assert {name: again[name] for name in TYPED} == TYPED
    assert browser.post(ADDRESS, again, headers=OWN).status_code == 422


def test_who_signs_in_elsewhere_meanwhile_finds_the_form_too(browser):
    browser.get("/sign-in/")
    asked = browser.post(ADDRESS, {**TYPED, "csrfmiddlewaretoken": browser.cookies["csrftoken"].value}, headers=OWN)
    signed_in(browser)
    again = fields_of(sign_in(browser, asked))
    assert {name: again[name] for name in TYPED} == TYPED


def test_a_script_still_finds_the_address_for_signing_in(browser):
    """The rating page sends answers without leaving; a page in place of the address would look like success."""
    browser.get("/sign-in/")
    sent = {**TYPED, "csrfmiddlewaretoken": browser.cookies["csrftoken"].value}
    for mode in ({"Sec-Fetch-Mode": "cors"}, {}):
        headers = {"Origin": "http://testserver", **mode}
        assert browser.post(ADDRESS, sent, headers=headers).status_code == 302


def test_signing_out_is_no_form_that_was_lost(browser):
    signed_in(browser)
    sent = {"csrfmiddlewaretoken": browser.cookies["csrftoken"].value}
    assert browser.post(reverse("accounts:sign_out"), sent, headers=OWN)["Location"] == "/sign-in/"


def test_only_what_was_packed_here_is_offered(browser):
    form = UnsentForm("/library/", (("a", "b"),))
    assert UnsentForm.unpacked(form.packed) == form
    forged = form.packed[:-1] + ("A" if form.packed[-1] != "A" else "B")
    for packed in (forged, "", "[1]:x:y"):
        assert UnsentForm.unpacked(packed) is None
    assert sign_in(browser, browser.get("/sign-in/"), unsent=forged)["Location"] == "/"
