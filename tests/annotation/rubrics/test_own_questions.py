"""A lead writes a study's own questions in the browser; checks of parts of long responses among them."""

import pytest
from django.urls import reverse

from accounts.models import Event
from annotation.models import Assignment, Rubric, Score, Study
from annotation.studies.life_cycle import create_study, prepare_and_open, request_launch
from annotation.studies.selection import planned_tasks
from generation.models import Response
from tests.factories import make_checklist_study, make_user
from tests.markup import markup

pytestmark = pytest.mark.django_db
DIARY = "\n".join(f"#*# Week {n}:\n{'Mei moves house.' if n == 3 else 'It rains.'}" for n in range(1, 8))


@pytest.fixture
def source():
    study = make_checklist_study(instructions=2, models=1, slug="source")
    Response.objects.filter(instruction__benchmark=study.benchmark).update(text=DIARY, words=30)
    return study


@pytest.fixture
def lead(source):
    return make_user("lead", source.workspace, username="lena")


@pytest.fixture
def draft(source, lead):
    def make(kind):
        return create_study(
            workspace=source.workspace, names={"en": "Draft"}, kind=kind, benchmark=source.benchmark, by=lead
        )

    return make


def address(study):
    return reverse("annotation:write_rubric", args=[study])


CHECKS = {
    "rows": "3",
    "mark": "Week",
    "asked": "9",
    "q0-question_en": "Does Mei move house?",
    "q0-numbers": "3",
    "q1-question_en": "Does it rain?",
    "q1-question_zh": "下雨了吗？",
    "q1-numbers": "5-9/2",
    "q2-question_en": "Is it a diary?",
    "q2-numbers": "",
}


def test_a_check_is_asked_of_each_part_that_it_names(client, draft, lead):
    study = draft("check")
    client.force_login(lead)
    assert client.post(address(study), CHECKS)["Location"] == address(study)
    study.refresh_from_db()
    rubric = study.rubric
    assert (rubric.study, rubric.version) == (study, 1)
    assert [one.subtasks for one in rubric.criteria.all()] == [
        {"mark": "Week", "numbers": [3], "kind": "single", "asked": 9},
        {"mark": "Week", "numbers": [5, 7, 9], "kind": "periodic", "asked": 9},
        None,
    ]
    planned = planned_tasks(study)
    # Two responses; of each week 3, weeks 5 and 7, and the whole text. Week 9 is not there.
    assert len(planned) == 8
    assert planned.absent == 2
    request_launch(study, by=lead)
    prepare_and_open(study)
    third = study.tasks.get(part__number=3, response_a=study.tasks.first().response_a)
    assert DIARY[third.part["start"] : third.part["end"]] == "#*# Week 3:\nMei moves house."
    assert [one.key for one in third.answer_rubric.criteria.all()] == ["does_mei_move_house"]
    assert study.tasks.filter(part__isnull=True).count() == 2


def test_the_rater_sees_the_part_alone_and_evidence_counts_from_the_beginning_of_the_response(client, draft, lead):
    study = draft("check")
    client.force_login(lead)
    client.post(address(study), CHECKS | {"rows": "1"})
    study.refresh_from_db()
    request_launch(study, by=lead)
    prepare_and_open(study)
    client.force_login(make_user("rater", study.workspace))
    page = markup(client.post(reverse("annotation:start", args=[study]), follow=True))
    assert 'Response · <span dir="auto">Week 3</span>' in page
    assert "Mei moves house." in page
    assert "It rains." not in page
    assignment = Assignment.objects.get(rater__kind="person", status="open", shown_at__isnull=False)
    # "Mei" is after "#*#Week3:", nine signs that are not white space.
    quoted = '[{"pane": "a", "start": 9, "end": 12}]'
    sent = {"c-does_mei_move_house": "yes", "e-does_mei_move_house": quoted}
    client.post(reverse("annotation:rate", args=[assignment.public_id]), sent)
    score = Score.objects.get(assignment=assignment)
    assert (score.value, score.level) == (1.0, "yes")
    [piece] = score.evidence
    assert DIARY[piece["start"] : piece["end"]] == "Mei"
    again = markup(client.get(reverse("annotation:rate", args=[assignment.public_id])))
    assert "&quot;start&quot;: 9, &quot;end&quot;: 12" in again


def test_a_changed_list_is_the_next_version_and_an_unchanged_one_is_none(client, draft, lead):
    study = draft("checklist")
    client.force_login(lead)
    sent = {
        "rows": "2",
        "q0-question_en": "Is it clear?",
        "q0-scale": "fulfilment",
        "q0-may_not_apply": "on",
        "q1-question_en": "Overall?",
        "q1-scale": "overall10",
    }
    client.post(address(study), sent)
    client.post(address(study), sent | {"q0-origin": "is_it_clear", "q1-origin": "overall"})
    assert Rubric.objects.filter(study=study).count() == 1
    client.post(address(study), sent | {"q0-origin": "is_it_clear", "q0-question_en": "Is it quite clear?"})
    study.refresh_from_db()
    assert study.rubric.version == 2
    clear, overall = study.rubric.criteria.all()
    assert (clear.key, clear.role, clear.may_not_apply, len(clear.levels)) == ("is_it_clear", "item", True, 5)
    assert (overall.role, overall.ends, overall.step) == ("overall", (0.0, 10.0), 1.0)
    assert Event.objects.filter(verb="change_rubric", object_id=study.public_id).count() == 2
    assert len(planned_tasks(study)) == 2


def test_a_library_rubric_is_copied_and_stays_as_it_is(client, draft, source, lead):
    study = draft("checklist")
    study.rubric = Rubric.objects.get(benchmark=source.benchmark)
    study.save()
    client.force_login(lead)
    page = markup(client.get(address(study)))
    assert "Is quality 0 there?" in page
    # The factory's levels are none of the offered scales: they stay.
    sent = {"rows": "1", "q0-origin": "item0", "q0-question_en": "Is quality 0 really there?", "q0-scale": "as-it-is"}
    client.post(address(study), sent)
    study.refresh_from_db()
    [criterion] = study.rubric.criteria.all()
    library = Rubric.objects.get(benchmark=source.benchmark).criteria.get(key="item0")
    assert criterion.levels == library.levels
    assert library.questions["en"] == "Is quality 0 there?"


@pytest.mark.parametrize(
    ("kind", "sent", "said"),
    [
        ("check", {"rows": "1", "q0-question_en": "?", "q0-numbers": "week 3"}, "is not a part number"),
        ("check", {"rows": "1", "q0-question_en": "?", "q0-numbers": "3"}, "Enter the name of the parts"),
        ("checklist", {"rows": "2"}, "at least one question"),
        ("checklist", {"rows": "1", "q0-question_en": "?", "q0-scale": "four"}, "not one of the available"),
        ("checklist", {"rows": "x"}, "at least one question"),
    ],
)
def test_what_cannot_be_is_said_and_nothing_kept(client, draft, lead, kind, sent, said):
    study = draft(kind)
    client.force_login(lead)
    response = client.post(address(study), sent)
    assert response.status_code == 422
    assert said in markup(response)
    assert not Rubric.objects.filter(study=study).exists()


def test_more_rows_keep_what_is_written(client, draft, lead):
    study = draft("stars")
    client.force_login(lead)
    page = markup(client.post(address(study), {"rows": "1", "q0-question_en": "Is it true?", "do": "more"}))
    assert "Is it true?" in page
    assert 'name="q3-question_en"' in page
    assert not Rubric.objects.filter(study=study).exists()


def test_a_launched_study_keeps_its_questions(client, draft, lead):
    study = draft("stars")
    client.force_login(lead)
    client.post(address(study), {"rows": "1", "q0-question_en": "Is it true?", "q0-scale": "stars5"})
    Study.objects.filter(pk=study.pk).update(status="open")
    client.post(address(study), {"rows": "1", "q0-question_en": "Is it false?", "q0-scale": "stars5"})
    study.refresh_from_db()
    assert study.rubric.criteria.get().question == "Is it true?"


@pytest.mark.parametrize(("role", "status"), [("owner", 200), ("analyst", 404), ("rater", 403), (None, 403)])
def test_who_may_write_them(client, draft, role, status):
    study = draft("stars")
    client.force_login(make_user(role, study.workspace) if role else make_user())
    assert client.get(address(study)).status_code == status


def test_checks_do_not_stand_in_for_a_checklist(client, draft, source, lead):
    """An instruction with checks of its own is still rated by its category's checklist."""
    study = draft("check")
    client.force_login(lead)
    client.post(address(study), CHECKS)
    own = Rubric.objects.get(study=study)
    instruction = source.benchmark.instructions.first()
    Rubric.objects.filter(pk=own.pk).update(study=None, benchmark=source.benchmark, instruction=instruction)
    assert Rubric.objects.nearest_to(instruction).benchmark == source.benchmark
    assert {one.answer_rubric for one in planned_tasks(draft("checklist")).tasks} == {
        Rubric.objects.get(benchmark=source.benchmark, instruction=None).pk
    }
    other = draft("check")
    assert len(planned_tasks(other)) == 4
    assert planned_tasks(other).without_rubric == 1


def test_launching_saves_what_stands_in_the_form(client, draft, lead):
    study = draft("checklist")
    client.force_login(lead)
    sent = {
        "name_en": "Draft",
        "overlap": "4",
        "order": "spread",
        "hints": "hidden",
        "samples": "first",
        "probe_gap": "10",
        "checks_failed": "3",
        "checks_window": "10",
        "do": "launch",
    }
    response = client.post(reverse("annotation:setup", args=[study]), sent)
    assert response["Location"] == reverse("annotation:desk", args=[study])
    study.refresh_from_db()
    assert (study.status, study.seats.count()) == ("open", 8)


def test_the_preview_of_a_draft_opens_differences_and_guideline(client, draft, source, lead):
    study = draft("pair")
    client.force_login(lead)
    first = Response.objects.first()
    first.model.pk = None
    first.model.name = "other"
    first.model.save()
    text = DIARY + "\n\nA last line that both of them have, as it were."
    Response.objects.create(instruction=first.instruction, model=first.model, text=text + " Yes.", words=40)
    Response.objects.filter(pk=first.pk).update(text=text)
    client.post(address(study), {"rows": "1", "q0-question_en": "Which?", "q0-scale": "three"})
    client.post(reverse("annotation:edit_guideline", args=[study]), {"text_en": "Read *all* of it."})
    study.refresh_from_db()
    page = markup(client.get(reverse("annotation:preview_rate", args=[1, study.public_id])))
    for name, arguments, expected in (
        ("preview_differences", [1, study.public_id], "<ins>"),
        ("preview_guideline", [study], "<em>all</em>"),
    ):
        link = reverse(f"annotation:{name}", args=arguments)
        assert f'href="{link}"' in page
        assert expected in markup(client.get(link))
        assert expected in markup(client.get(link, headers={"HX-Request": "true"}))
    client.force_login(make_user("rater", study.workspace))
    assert client.get(reverse("annotation:preview_guideline", args=[study])).status_code == 403
