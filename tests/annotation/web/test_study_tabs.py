"""Every page of a study offers the same tabs to the same person."""

import re

import pytest
from django.urls import reverse

from tests.factories import make_answer, make_checklist_study, make_rater, make_user
from tests.markup import markup

pytestmark = pytest.mark.django_db
READ = [
    "annotation:desk",
    "annotation:disagreements",
    "annotation:attention",
    "annotation:self_naming",
    "calibration:weights",
    "calibration:agreement",
    "calibration:raters",
    "calibration:rankings",
    "calibration:planner",
    "judging:judges",
    "judging:judges_depth",
    "judging:export",
]
LED = [
    "annotation:setup",
    "annotation:cohorts",
    "annotation:history",
    "annotation:preview",
    "annotation:write_rubric",
    "annotation:known_answers",
    "annotation:edit_guideline",
    "judging:start_run",
]
TABS = re.compile(r'<nav class="tabs".*?</nav>', re.DOTALL)


def tabs_on(client, study, name):
    response = client.get(reverse(name, args=[study]))
    assert response.status_code == 200, name
    return re.findall(r'href="([^"]*)"', TABS.search(markup(response)).group())


@pytest.mark.parametrize(
    ("role", "pages", "count"), [("lead", READ + LED, 13), ("owner", READ[:6], 13), ("analyst", READ, 10)]
)
def test_the_tabs_are_the_same_everywhere(client, role, pages, count):
    study = make_checklist_study()
    for rater in (make_rater(study), make_rater(study)):
        for task in study.tasks.all():
            make_answer(task, rater, {"item0": 0.5, "item1": 0.25, "item2": 1, "overall": 5})
    client.force_login(make_user(role, study.workspace))
    first = tabs_on(client, study, pages[0])
    assert {name: tabs_on(client, study, name) for name in pages} == dict.fromkeys(pages, first)
    assert (reverse("annotation:setup", args=[study]) in first) == (role != "analyst")
    assert len(first) == count
