"""Every page of a study offers the same tabs to the same person, and marks the one that is open."""

import re

import pytest
from django.urls import reverse

from accounts.models import Membership
from annotation.assignment.new_slots import make_seats
from annotation.models import Study
from generation.models import Import
from tests.factories import make_answer, make_checklist_study, make_rater, make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db
READ = {
    "annotation:desk": ("Overview", ""),
    "annotation:disagreements": ("Results", "Disagreements"),
    "annotation:attention": ("Raters", "Needs attention"),
    "annotation:self_naming": ("Raters", "Needs attention"),
    "calibration:weights": ("Results", "Weights"),
    "calibration:weights_depth": ("Results", "Weights"),
    "calibration:agreement": ("Results", "Agreement"),
    "calibration:agreement_detail": ("Results", "Agreement"),
    "calibration:raters": ("Raters", "Raters"),
    "calibration:rankings": ("Results", "Rankings"),
    "calibration:planner": ("Results", "Planner"),
    "judging:judges": ("Judges", "Judges"),
    "judging:judges_metrics": ("Judges", "Against people"),
    "judging:judges_methods": ("Judges", "Methods"),
    "judging:judges_depth": ("Judges", "Bias and value"),
}
LED = {
    "judging:export": ("Data", "Answers and archive"),
    "annotation:study_imports": ("Data", "Imports"),
    "annotation:setup": ("Setup", "1. What is rated"),
    "annotation:cohorts": ("Raters", "Cohorts"),
    "annotation:history": ("History", ""),
    "annotation:preview": ("Setup", ""),
    "annotation:write_rubric": ("Setup", ""),
    "annotation:known_answers": ("Setup", ""),
    "annotation:edit_guideline": ("Setup", ""),
    "judging:start_run": ("Judges", "Judges"),
}
FIRST = ["Overview", "Setup", "Raters", "Results", "Judges", "Data", "History"]
ROW = re.compile(r'<nav class="tabs[^"]*".*?</nav>', re.DOTALL)
LINK = re.compile(r'<a href="([^"]*)"\s*(?:aria-current="(\w+)")?[^>]*>([^<]*)</a>')


def answered_in_seats(*, seats=True, **fields):
    study = make_checklist_study(**fields)
    if seats:
        make_seats(study)
    for rater in (make_rater(study), make_rater(study)):
        for task in study.tasks.all():
            make_answer(task, rater, {"item0": 0.5, "item1": 0.25, "item2": 1, "overall": 5})
    return study


def rows_on(client, study, address):
    """The rows of tabs on a page, each as (label, address, mark)."""
    response = client.get(address)
    assert response.status_code == 200, address
    return [
        [(label.strip(), to, mark) for to, mark, label in LINK.findall(row)] for row in ROW.findall(markup(response))
    ]


def marked(rows):
    found = [[label for label, _to, mark in row if mark] for row in rows]
    assert all(len(labels) == 1 for labels in found), found
    return tuple(labels[0] for labels in found) + ("",) * (2 - len(found))


@pytest.mark.parametrize(("role", "pages"), [("lead", READ | LED), ("owner", READ), ("analyst", READ)])
def test_the_tabs_are_the_same_everywhere_and_the_open_page_is_marked(client, role, pages):
    study = answered_in_seats()
    client.force_login(make_user(role, study.workspace))
    found = {name: rows_on(client, study, reverse(name, args=[study])) for name in pages}
    expected = [label for label in FIRST if role != "analyst" or label not in ("Setup", "History")]
    for name, rows in found.items():
        assert [label for label, *_ in rows[0]] == expected, name
        assert len(rows[0]) <= 7
        assert marked(rows) == pages[name], name
    within = {name: [label for label, *_ in rows[1]] for name, rows in found.items() if len(rows) > 1}
    assert within["calibration:agreement"] == ["Agreement", "Weights", "Rankings", "Disagreements", "Planner"]
    cohorts = ["Cohorts"] if role != "analyst" else []
    assert within["annotation:attention"] == ["Raters", *cohorts, "Needs attention"]


def test_a_page_inside_another_marks_the_other_one_as_a_part(client):
    study = answered_in_seats()
    client.force_login(make_user("lead", study.workspace))
    rater = study.raters.first()
    rows = rows_on(client, study, reverse("annotation:rater", args=[study, rater.public_id]))
    assert marked(rows) == ("Raters", "Raters") and {mark for *_, mark in rows[0] + rows[1]} == {"", "true"}
    task = study.tasks.first()
    rows = rows_on(client, study, reverse("annotation:task", args=[study, task.public_id]))
    assert marked(rows) == ("Results", "Disagreements")
    # The page itself is marked as the page; the group it is in, as what holds it.
    rows = rows_on(client, study, reverse("calibration:weights", args=[study]))
    assert ("Weights", reverse("calibration:weights", args=[study]), "page") in rows[1]
    assert ("Results", reverse("calibration:agreement", args=[study]), "true") in rows[0]


def test_a_study_of_imported_ratings_has_no_tabs_for_collecting_them(client):
    study = answered_in_seats(seats=False, status="closed")
    client.force_login(make_user("lead", study.workspace))
    rows = rows_on(client, study, reverse("calibration:raters", args=[study]))
    assert [label for label, *_ in rows[0]] == FIRST
    assert len(rows) == 1  # nothing but the report on its raters is left
    rows = rows_on(client, study, reverse("calibration:agreement", args=[study]))
    assert [label for label, *_ in rows[1]] == ["Agreement", "Weights", "Rankings", "Disagreements"]
    # Whoever opens one of the others by its address sees where they are.
    rows = rows_on(client, study, reverse("annotation:cohorts", args=[study]))
    assert marked(rows) == ("Raters", "Cohorts")


@pytest.mark.parametrize("seats", [True, False])
def test_raters_of_imported_ratings_are_not_paid_paused_or_written_to_and_can_be_left_out(client, seats):
    study = answered_in_seats(seats=seats, status="closed")
    client.force_login(make_user("lead", study.workspace))
    assert ('id="payment"' in markup(client.get(reverse("annotation:desk", args=[study])))) is seats
    rater = study.raters.first()
    html = markup(client.get(reverse("annotation:rater", args=[study, rater.public_id])))
    assert reverse("annotation:exclusion", args=[study, rater.public_id]) in html
    assert ('id="message-rater"' in html) is seats
    assert ('value="pause"' in html) is seats


def test_the_imports_of_a_study_are_those_of_it_and_its_benchmark(client):
    study, other = answered_in_seats(), make_workspace("elsewhere")
    for workspace, about, file in (
        (study.workspace, study.slug, "own.csv"),
        (study.workspace, study.benchmark.slug, "texts.jsonl"),
        (study.workspace, "another", "another.csv"),
        (other, study.slug, "foreign.csv"),
    ):
        Import.objects.create(workspace=workspace, command="load_table", file=file, about=about)
    address = reverse("annotation:study_imports", args=[study])
    lead = make_user("lead", study.workspace)
    Membership.objects.create(workspace=other, user=lead, role="lead")
    client.force_login(lead)
    shown = markup(client.get(address))
    assert "2 files were loaded" in shown
    assert [name for name in ("own.csv", "texts.jsonl", "another.csv", "foreign.csv") if name in shown] == [
        "own.csv",
        "texts.jsonl",
    ]
    client.force_login(make_user("analyst", study.workspace))
    assert client.get(address).status_code == 404


def test_a_draft_and_a_study_of_pairs(client):
    study = make_checklist_study(status="draft")
    client.force_login(make_user("lead", study.workspace))
    rows = rows_on(client, study, reverse("annotation:cohorts", args=[study]))
    assert [label for label, *_ in rows[1]] == ["Raters", "Cohorts", "Needs attention"]
    Study.objects.filter(pk=study.pk).update(kind="pair")
    rows = rows_on(client, study, reverse("calibration:agreement", args=[study]))
    assert "Weights" not in [label for label, *_ in rows[1]]
