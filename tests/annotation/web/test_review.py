"""The review screen: a judge's verdicts with their reasons, without the judge."""

import re

import pytest
from django.urls import reverse

from annotation.assignment.new_slots import make_seats
from annotation.models import Assignment, Score
from generation.models import LanguageModel
from tests.factories import make_user
from tests.markup import markup
from tests.screen_studies import make_pair_study, make_review_study

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}
WHY = "It says no such thing."
GOOD = {"c-item0": "reasonable", "c-item1": "not-reasonable", "r-item1": WHY, "c-item2": "reasonable"}


@pytest.fixture
def study():
    study = make_review_study()
    LanguageModel.objects.update(name="Zephyrion-70B")
    make_seats(study)
    return study


@pytest.fixture
def page(client, study):
    client.force_login(make_user("rater", study.workspace))
    client.post(reverse("annotation:start", args=[study]))
    assignment = Assignment.objects.get(task__study=study)
    return client, assignment, reverse("annotation:rate", args=[assignment.public_id])


def test_verdicts_reasons_and_quotations_are_shown(page):
    client, assignment, url = page
    html = markup(client.get(url))
    assert html.count('class="verdict"') == 3
    assert "level 3" in html
    assert "Because of what it says about item1." in html
    text = assignment.task.response_a.text
    assert f'<blockquote dir="auto">{text[2:7]}</blockquote>' in html
    assert "How good is it overall?" not in html, "the judge gave no overall score"


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_findings_and_their_reasons_are_stored(page, headers):
    client, assignment, url = page
    client.post(url, GOOD, headers=headers)
    stored = {score.criterion.key: (score.level, score.value, score.reason) for score in assignment.scores.all()}
    assert stored == {
        "item0": ("reasonable", 1.0, ""),
        "item1": ("not-reasonable", 0.0, "It says no such thing."),
        "item2": ("reasonable", 1.0, ""),
    }
    html = markup(client.get(url))
    assert ">It says no such thing.</textarea>" in html


@pytest.mark.parametrize("why", ["", "   "])
def test_a_finding_against_a_verdict_needs_a_reason(page, why):
    client, assignment, url = page
    response = client.post(url, GOOD | {"r-item1": why})
    assert response.status_code == 422
    assert "Explain why in a few words." in markup(response)
    assert not assignment.scores.exists()


def test_a_changed_reason_is_a_revision(page):
    client, assignment, url = page
    client.post(url, GOOD)
    client.post(url, GOOD | {"r-item1": "It says so only of trees."})
    revisions = assignment.scores.filter(criterion__key="item1").values_list("revision", "reason")
    assert list(revisions) == [(0, "It says no such thing."), (1, "It says so only of trees.")]


def test_reasons_are_in_the_draft(page):
    client, assignment, url = page
    draft = {"serial": "9", "c-item1": "not-reasonable", "r-item1": "half a thought"}
    client.post(reverse("annotation:save_draft", args=[assignment.public_id]), draft)
    assert "half a thought" in markup(client.get(url))


def test_keys_say_yes_and_no(page):
    client, _assignment, url = page
    html = markup(client.get(url))
    found = re.findall(r'name="c-item0" value="([\w-]+)" data-shortcut="(\d)" data-letter="(\w)"', html)
    assert found == [("reasonable", "1", "y"), ("not-reasonable", "2", "n")]


def test_judge_and_model_stay_hidden(page, study):
    client, assignment, url = page
    verdict = assignment.task.reviews
    sent = client.get(url).content + client.post(f"{url}hold/", headers=HTMX).content
    sent += client.post(url, GOOD, headers=HTMX).content + client.get(url).content
    sent += client.get(reverse("annotation:done", args=[study])).content
    for secret in ("stern-judge-4", verdict.public_id, verdict.rater.public_id, "Zephyrion", "judged"):
        assert secret.encode() not in sent, secret


def test_a_judges_reason_is_text_not_markup(page):
    client, assignment, url = page
    verdict = assignment.task.reviews
    criterion = verdict.scores.first().criterion
    Score.objects.create(
        assignment=verdict, criterion=criterion, revision=1, value=0.25, level="1", reason="<script>alert(1)</script>"
    )
    html = markup(client.get(url))
    assert "&lt;script&gt;alert(1)" in html
    assert "<script>alert" not in html
    assert "level 1" in html


def test_a_verdict_on_a_pair_is_shown_as_the_judge_saw_it(client):
    """The judge saw the task's B first and found it better: on the page, A is better and stands first."""
    from annotation.models import Rater, Study, Task
    from annotation.rubrics.reviews import review_rubric

    pairs = make_pair_study("four", texts=("Alpha text.", "Beta text."), instructions=1)
    task = pairs.tasks.get()
    judge = Rater.objects.create(workspace=pairs.workspace, kind="judge", label="stern-judge-4")
    verdict = Assignment.objects.create(task=task, rater=judge, status="submitted", shown_first="b")
    criterion = task.answer_rubric.criteria.get()
    Score.objects.create(assignment=verdict, criterion=criterion, value=-1, level="b", reason="A says more.")
    study = Study.objects.create(workspace=pairs.workspace, slug="pair-reviews", kind="review", status="open")
    Task.objects.create(
        study=study,
        kind="review",
        key=f"v:{verdict.pk}",
        reviews=verdict,
        answer_rubric=review_rubric(task.answer_rubric),
        response_a=task.response_a,
        response_b=task.response_b,
    )
    make_seats(study)
    client.force_login(make_user("rater", study.workspace))
    response = client.post(reverse("annotation:start", args=[study]))
    html = markup(client.get(response["Location"]))
    assert html.index("Beta text.") < html.index("Alpha text.")
    assert "<b>A is better</b>" in html
    client.post(response["Location"], {"c-preference": "reasonable"})
    assert Score.objects.get(assignment__task__study=study).level == "reasonable"
