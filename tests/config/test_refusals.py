"""A form too long or with too many fields is answered by a page that says so and what to do, in both languages."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from tests.factories import make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db

ADDRESS = "/library/endpoints/new/"
PART = {"HX-Request": "true", "HX-Current-URL": "http://testserver/x/"}


@pytest.fixture
def lead(client):
    client.force_login(make_user("lead", make_workspace()))
    return client


def test_a_form_that_is_too_long_names_the_limit(lead, settings):
    answer = lead.post(ADDRESS, {"name": "n" * 8 * 1024 * 1024})
    page = markup(answer)
    assert answer.status_code == 413 and "<nav" in page
    assert "longer than the limit of 8 MB" in page and "Go back" in page


def test_a_form_as_long_as_forms_may_be_reaches_its_own_check(lead):
    answer = lead.post(ADDRESS, {"name": "n" * 5 * 1024 * 1024})
    assert answer.status_code == 422 and "at most 100 characters" in markup(answer)


def test_a_form_with_too_many_fields_names_the_limit(lead):
    answer = lead.post(ADDRESS, {f"f{n}": "1" for n in range(1001)})
    page = markup(answer)
    assert answer.status_code == 400 and "<nav" in page
    assert "more fields than the limit of 1000" in page


def test_an_address_with_too_many_fields_is_nothing_that_was_typed(lead):
    answer = lead.get("/library/", {f"f{n}": "1" for n in range(1001)})
    assert answer.status_code == 400 and "Go back" not in markup(answer)


def test_a_request_that_cannot_be_read_says_so_to_anybody(client):
    answer = client.get("/sign-in/", headers={"Host": "elsewhere.example"})
    page = markup(answer)
    assert answer.status_code == 400 and "This request cannot be read" in page and "<nav" in page


@pytest.mark.parametrize("sent", [{"name": "n" * 9 * 1024 * 1024}, {f"f{n}": "1" for n in range(1001)}])
def test_a_part_of_a_page_gets_a_sentence(lead, sent):
    answer = lead.post(ADDRESS, sent, headers=PART)
    assert answer.status_code == 422 and answer["HX-Retarget"] == "#messages"
    assert "than the limit of" in markup(answer) and "<html" not in markup(answer)


@pytest.mark.parametrize("address", ["/sign-in/", ADDRESS])
def test_a_file_is_refused_in_a_sentence_and_written_nowhere(lead, address, monkeypatch):
    monkeypatch.setattr("tempfile.NamedTemporaryFile", lambda *_, **__: pytest.fail("a file was written"))
    sent = SimpleUploadedFile("a.csv", b"x" * 5 * 1024 * 1024)
    answer = lead.post(address, {"username": "a", "file": sent})
    assert answer.status_code == 400
    assert "does not accept files" in markup(answer)


def test_a_body_with_files_is_held_to_the_bound_of_a_form(client):
    answer = client.post("/sign-in/", {"file": SimpleUploadedFile("a.csv", b"x" * 9 * 1024 * 1024)})
    assert answer.status_code == 413
    assert "longer than the limit of 8 MB" in markup(answer)
