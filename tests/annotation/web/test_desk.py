"""A lead's pages: who sees them, what they count, and at what cost."""

from urllib.parse import quote

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.answers.recording import Answer, record_answer, skip
from annotation.assignment.new_slots import make_seats
from annotation.assignment.next_task import next_assignment
from annotation.models import Flag, Rater, Study
from annotation.studies.provenance import provenance_of
from annotation.web.monitoring.dashboard import category_rows, rater_rows, study_rows
from generation.models import Category
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater, make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db
VALUES = {"item0": 1.0, "item1": 0.5, "item2": 0.0, "overall": 6.0}


@pytest.fixture
def study():
    """Eight tasks of two seats; a simulated person answered three, skipped one; a scripted judge all."""
    study = make_checklist_study(instructions=4, models=2)
    study.policies = {"overlap": 2}
    study.save()
    make_seats(study)
    person = make_rater(study, label="ann", pseudonym="R1", provenance="simulated")
    for number in range(4):
        assignment, _progress = next_assignment(person, study, clock=timezone.now)
        if number == 3:
            skip(assignment=assignment, reason="broken", clock=timezone.now)
            continue
        answers = {key: Answer(value) for key, value in VALUES.items()}
        record_answer(assignment=assignment, answers=answers, clock=timezone.now)
    judge = make_judge_rater(study.workspace)
    judge.provenance = "scripted"
    judge.save()
    for task in study.tasks.all():
        make_answer(task, judge, VALUES)
    return study


@pytest.fixture
def lead(study):
    return make_user("lead", study.workspace)


def desk_of(study):
    return reverse("annotation:desk", args=[study])


def test_counts_by_category_and_group(study):
    rows = category_rows(study)
    assert [(row.name, row.is_group) for row in rows] == [("Writing", True), ("Essay", False)]
    for row in rows:
        assert (row.tasks, row.seats, row.taken, row.people, row.judges) == (8, 16, 3, 3, 8)


def test_categories_stand_in_the_benchmarks_order(study):
    essay = Category.objects.get(key="essay")
    letter = Category.objects.create(
        benchmark=essay.benchmark, parent=essay.parent, key="letter", names={"en": "Letter"}, position=0
    )
    Category.objects.filter(pk=essay.pk).update(position=2)
    study.tasks.first().response_a.instruction.__class__.objects.filter(external_id="essays-0").update(category=letter)
    study.tasks.first().response_a.instruction.__class__.objects.filter(external_id="essays-1").update(category=None)
    rows = category_rows(study)
    assert [row.name for row in rows] == ["Writing", "Letter", "Essay", "Uncategorized"]
    assert [row.tasks for row in rows] == [6, 2, 4, 2]


def test_raters_with_their_counts(study):
    rows = {row.name: row for row in rater_rows(study)}
    assert (rows["R1"].answered, rows["R1"].skipped, rows["R1"].provenance) == (3, 1, ["simulated"])
    assert (rows["gpt-4o"].answered, rows["gpt-4o"].kind) == (8, "judge")


def test_provenance_is_that_of_who_answered(study):
    assert provenance_of(study) == ["scripted", "simulated"]
    other = make_checklist_study(slug="other")
    assert provenance_of(other) == []
    make_rater(other, provenance="simulated")
    assert provenance_of(other) == []


def test_the_desk_of_a_lead(client, study, lead):
    Flag.objects.create(task=study.tasks.first(), rater=Rater.objects.get(label="ann"), kind="note", text="Ends early")
    client.force_login(lead)
    html = markup(client.get(desk_of(study)))
    assert "1 rater has given 3 of the 16 ratings needed for 8 tasks." in html
    assert "1 judge gave 8 verdicts." in html
    assert "badge-simulated" in html
    assert "badge-scripted" in html
    assert "Ends early" in html
    assert reverse("calibration:desk_figures", args=[study]) in html
    for name in ("calibration:raters", "calibration:agreement"):
        assert reverse(name, args=[study]) in html


@pytest.mark.parametrize(
    ("role", "status"), [("owner", 200), ("lead", 200), ("analyst", 200), ("rater", 403), (None, 403)]
)
def test_who_may_see_the_desk(client, study, role, status):
    client.force_login(make_user(role, study.workspace) if role else make_user())
    assert client.get(desk_of(study)).status_code == status
    assert client.get(reverse("annotation:studies")).status_code == status


def test_a_lead_of_another_workspace_finds_nothing(client, study):
    client.force_login(make_user("lead", make_workspace("elsewhere")))
    assert client.get(desk_of(study)).status_code == 404
    assert "Essays" not in markup(client.get(reverse("annotation:studies")))


def test_signed_out_visitors_are_asked_to_sign_in(client, study):
    assert client.get(desk_of(study))["Location"] == f"/sign-in/?next={quote(desk_of(study))}"


def test_an_empty_study_says_what_to_do(client, lead):
    empty = make_checklist_study(instructions=0, slug="empty")
    client.force_login(lead)
    html = markup(client.get(desk_of(empty)))
    assert "This study has no tasks yet" in html
    assert reverse("annotation:upload_table") in html


def test_an_imported_study_of_positions_names_no_persons(client, lead):
    imported = make_checklist_study(slug="imported", models=1)
    for number in range(2):
        slot = make_rater(imported, kind="slot", label=f"slot {number}")
        for task in imported.tasks.all():
            make_answer(task, slot, VALUES)
    client.force_login(lead)
    html = markup(client.get(desk_of(imported)))
    assert "People gave 8 ratings for 4 tasks. The data set identifies positions, not individual raters." in html
    assert "Positions" in html
    assert "ratings needed" not in html


def test_no_study_yet(client):
    client.force_login(make_user("lead"))
    assert "No studies yet" in markup(client.get(reverse("annotation:studies")))


def test_the_list_counts_every_study_in_six_queries(study, django_assert_num_queries):
    make_checklist_study(slug="second")
    with django_assert_num_queries(6):
        rows = {row.study.slug: row for row in study_rows(Study.objects.all())}
    row = rows["essays"]
    assert (row.tasks, row.people, row.judges, row.seats, row.taken) == (8, 3, 8, 16, 3)
    assert row.provenance == ["scripted", "simulated"]
    assert rows["second"].people == 0


def test_the_desks_queries_are_few_and_do_not_grow(client, study, lead, django_assert_max_num_queries):
    client.force_login(lead)
    with django_assert_max_num_queries(31) as first:
        client.get(desk_of(study))
    for number in range(5):
        rater = make_rater(study, label=f"more {number}")
        for task in study.tasks.all():
            make_answer(task, rater, VALUES)
    with django_assert_max_num_queries(len(first)):
        client.get(desk_of(study))


def test_the_list_of_studies(client, study, lead, django_assert_max_num_queries):
    client.force_login(lead)
    with django_assert_max_num_queries(12):
        html = markup(client.get(reverse("annotation:studies")))
    assert "Essays" in html
    assert "3 of 16 ratings" in html
    assert "badge-simulated" in html


def test_chinese_sentences_stand_without_blanks_and_a_judge_is_a_link(client, study, lead):
    client.force_login(lead)
    page = client.get(desk_of(study), headers={"Accept-Language": "zh-hans"}).content.decode()
    answer = " ".join(page.partition('<p class="answer">')[2].partition("</p>")[0].split())
    assert answer.count("。") == 2 and "。 " not in answer
    judge = Rater.objects.get(label="gpt-4o")
    assert f'<a href="{reverse("judging:judge", args=[judge.public_id])}">gpt-4o</a>' in page
