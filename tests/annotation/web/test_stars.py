"""The stars screen, as rater and stranger, with and without HTMX."""

import pytest
from django.urls import reverse

from annotation.assignment.new_slots import make_seats
from annotation.models import Assignment
from tests.factories import make_user
from tests.markup import markup
from tests.screen_studies import library_rubric, make_stars_study

pytestmark = pytest.mark.django_db
KEYS = ("accuracy", "informativeness", "fluency", "logicality", "harmlessness")
GOOD = {f"c-{key}": "3" for key in KEYS} | {"c-fluency": "1"}
HTMX = {"HX-Request": "true"}


@pytest.fixture
def study():
    study = make_stars_study(instructions=2, models=1)
    make_seats(study)
    return study


@pytest.fixture
def page(client, study):
    client.force_login(make_user("rater", study.workspace))
    client.post(reverse("annotation:start", args=[study]))
    assignment = Assignment.objects.get()
    return client, assignment, reverse("annotation:rate", args=[assignment.public_id])


def test_levels_are_text_and_stars(page):
    client, _assignment, url = page
    html = markup(client.get(url))
    assert 'data-kind="stars"' in html
    assert html.count('class="stars" aria-hidden="true"') == 15
    assert 'aria-hidden="true">★★<span class="muted">☆</span></span> Part right' in html
    assert "Right and wrong statements stand side by side." in html


def test_levels_in_chinese(page):
    client, _assignment, url = page
    client.cookies["django_language"] = "zh-hans"
    assert '★★<span class="muted">☆</span></span> 部分正确' in markup(client.get(url))


def test_scales_of_one_three_and_five_show_five_stars(page, study):
    client, assignment, url = page
    study.tasks.update(answer_rubric=library_rubric(study, "llmeval2", "subjective"))
    html = markup(client.get(url))
    assert '★★★<span class="muted">☆☆</span>' in html
    assert '★<span class="muted">☆☆☆☆</span>' in html
    client.post(url, {"c-accuracy": "5", "c-fluency": "1", "c-informativeness": "2", "c-logicality": "3"})
    assert assignment.scores.get(criterion__key="accuracy").value == 5


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_an_answer_is_stored_with_its_levels(page, headers):
    client, assignment, url = page
    assert client.post(url, GOOD, headers=headers).status_code == (200 if headers else 302)
    scores = assignment.scores.values_list("criterion__key", "value", "level")
    stored = {key: (value, level) for key, value, level in scores}
    assert stored == {key: (1.0, "1") if key == "fluency" else (3.0, "3") for key in KEYS}


@pytest.mark.parametrize("value", ["0", "4", "", "three"])
def test_stars_off_the_scale_are_refused(page, value):
    client, assignment, url = page
    assert client.post(url, GOOD | {"c-fluency": value}).status_code == 422
    assert not assignment.scores.exists()


def test_a_stranger_finds_nothing(page, client, study):
    _client, assignment, url = page
    client.force_login(make_user())
    assert client.get(url).status_code == 404
    for name in ("hold", "save_draft", "skip_task"):
        assert client.post(reverse(f"annotation:{name}", args=[assignment.public_id])).status_code == 404
    assert client.get(reverse("annotation:differences", args=[assignment.public_id])).status_code == 404
