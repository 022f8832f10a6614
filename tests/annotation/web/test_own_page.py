"""A rater's own page says why there is no task: all asked for is done, or the hour's answers are given."""

import pytest
from django.urls import reverse

from annotation.assignment.new_slots import make_seats
from tests.factories import make_checklist_study, make_user
from tests.markup import markup

pytestmark = pytest.mark.django_db
ANSWER = {"c-item0": "1", "c-item1": "1", "c-item2": "1", "c-overall": "3"}


@pytest.fixture(params=[{}, {"HX-Request": "true"}], ids=["plain", "htmx"])
def last_words(request, client):
    def answer_two(**policies):
        study = make_checklist_study()
        study.policies = policies
        study.save()
        make_seats(study)
        client.force_login(make_user("rater", study.workspace))
        page = client.post(reverse("annotation:start", args=[study]))
        for _turn in range(2):
            response = client.post(page["Location"], ANSWER, headers=request.param)
            page = response if response.has_header("Location") else {"Location": response.get("HX-Push-Url", "")}
        return markup(client.get(reverse("annotation:done", args=[study])))

    return answer_two


def test_all_that_is_asked_for_is_done(last_words):
    assert "You have answered 2 tasks, which is all that the study asks of you." in last_words(quota=2)


def test_who_is_faster_than_allowed_is_told_to_come_back(last_words):
    page = last_words(answers_per_hour=2)
    assert "limit of answers per hour" in page


def test_nobody_is_told_so_without_a_reason(last_words):
    page = last_words()
    assert "asks of you" not in page
    assert "answers per hour" not in page
