"""The editor of a study's questions: own levels, order, a copy of the library, a table, and the preview as a rater."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotation.models import Rubric
from annotation.rubrics.question_table import BadQuestion, read_levels
from annotation.studies.life_cycle import create_study
from tests.factories import make_checklist_study, make_user
from tests.markup import markup

pytestmark = pytest.mark.django_db


@pytest.fixture
def source():
    return make_checklist_study(instructions=2, models=1, slug="source")


@pytest.fixture
def lead(source):
    return make_user("lead", source.workspace, username="lena")


@pytest.fixture
def study(source, lead):
    return create_study(
        workspace=source.workspace, names={"en": "Draft"}, kind="checklist", benchmark=source.benchmark, by=lead
    )


@pytest.fixture
def send(client, study, lead):
    client.force_login(lead)

    def post(**sent):
        return client.post(reverse("annotation:write_rubric", args=[study]), sent)

    return post


def shown(response):
    return [row["question_en"].value() for row in response.context["form"].rows]


LEVELS = {
    "rows": "1",
    "q0-question_en": "Is it kind?",
    "q0-scale": "own",
    "q0-level0_value": "2",
    "q0-level0_name": "Kind",
    "q0-level0_meaning": "Nobody is hurt.",
    "q0-level1_value": "0",
    "q0-level1_name": "Rude",
}


def test_own_levels_are_kept_in_the_order_of_their_values(send, study):
    assert send(**LEVELS).status_code == 302
    study.refresh_from_db()
    criterion = study.rubric.criteria.get()
    assert criterion.role == "item"
    assert criterion.levels == [
        {"key": "0", "value": 0.0, "label": {"en": "Rude"}, "description": {}},
        {"key": "2", "value": 2.0, "label": {"en": "Kind"}, "description": {"en": "Nobody is hurt."}},
    ]
    again = send(rows="0", do="copy", copy_from="x")
    assert again.status_code == 200


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"q0-level1_name": ""}, "at least two levels"),
        ({"q0-level1_value": "2"}, "Two levels have the same value"),
        ({"q0-level1_value": "two"}, "Enter a number"),
    ],
)
def test_levels_that_are_no_scale_are_refused(send, study, change, said):
    response = send(**{**LEVELS, **change})
    assert response.status_code == 422
    assert said in markup(response)
    assert not Rubric.objects.filter(study=study).exists()


def test_buttons_move_and_remove_rows_without_saving(send, study):
    rows = {"rows": "3", **{f"q{n}-question_en": text for n, text in enumerate("ABC")}}
    moved = send(**rows, do="down-0")
    assert shown(moved) == ["B", "A", "C"]
    assert 'value="down-1" formnovalidate autofocus' in " ".join(markup(moved).split())
    assert shown(send(**rows, do="up-2")) == ["A", "C", "B"]
    assert shown(send(**rows, do="drop-1")) == ["A", "C"]
    assert shown(send(**rows, do="up-0")) == ["A", "B", "C"], "the first goes no further"
    assert shown(send(**rows, do="up-99")) == ["A", "B", "C"]
    assert not Rubric.objects.filter(study=study).exists()
    send(rows="2", **{"q0-question_en": "B", "q1-question_en": "A", "q0-scale": "yes_no", "q1-scale": "yes_no"})
    study.refresh_from_db()
    assert [one.question for one in study.rubric.criteria.all()] == ["B", "A"]


def test_a_library_rubric_is_copied_into_the_rows_and_keeps_its_scales(send, study, source):
    library = Rubric.objects.get(benchmark=source.benchmark)
    response = send(rows="1", do="copy", copy_from=str(library.pk), **{"q0-question_en": "Gone"})
    assert shown(response) == [one.question for one in library.criteria.all()]
    assert not Rubric.objects.filter(study=study).exists()
    form = response.context["form"]
    sent = {"rows": str(len(form.rows)), "source": str(library.pk)}
    for number, row in enumerate(form.rows):
        sent |= {f"q{number}-{name}": row[name].value() or "" for name in ("origin", "question_en", "scale")}
    sent["q0-question_en"] = "Changed here?"
    assert send(**sent).status_code == 302
    study.refresh_from_db()
    own = list(study.rubric.criteria.all())
    assert own[0].question == "Changed here?"
    assert [one.levels for one in own] == [one.levels for one in library.criteria.all()]
    assert [one.role for one in own] == [one.role for one in library.criteria.all()]


def test_only_a_rubric_that_fits_is_copied(send, source):
    other = make_checklist_study(instructions=1, models=1, slug="other")
    foreign = Rubric.objects.exclude(workspace=source.workspace).first()
    if foreign is None:
        foreign = Rubric.objects.exclude(benchmark=source.benchmark).filter(benchmark=other.benchmark).get()
    assert send(rows="0", do="copy", copy_from=str(foreign.pk)).status_code == 404


TABLE = """key,question,role,scale,levels,weight
clear,Is it clear?,item,fulfilment,,2
kind,Is it kind?,item,,0=No: It hurts|1=Yes: It is kind,
total,How good is it?,overall,,1:5,
clear,Again?,item,,,
,,item,,,
sum,Sum?,boss,,,
odd,Odd?,item,,only,
heavy,Heavy?,item,yes_no,,-1
"""


def test_questions_come_from_a_table_and_bad_rows_are_named(send, study):
    table = SimpleUploadedFile("questions.csv", TABLE.encode())
    response = send(rows="1", do="import", table=table, **{"q0-question_en": "Mine?"})
    assert shown(response) == ["Mine?", "Is it clear?", "Is it kind?", "How good is it?"]
    bad = dict(response.context["table"].bad)
    assert sorted(bad) == [5, 6, 7, 8, 9]
    assert "twice" in bad[5] and "no question" in bad[6] and "boss" in bad[7]
    assert "2 to 21 levels" in bad[8] and "not a number from 0" in bad[9]
    page = markup(response)
    assert "Line 5:" in page and "Columns:" in page
    assert not Rubric.objects.filter(study=study).exists()
    sent = {"rows": "4"}
    for number, row in enumerate(response.context["form"].rows):
        sent |= {f"q{number}-{name}": str(row[name].value() or "") for name in row.fields if name != "may_not_apply"}
        sent |= {
            f"q{number}-{name}": "" if row[name].value() is None else str(row[name].value())
            for name in row.fields
            if name.startswith("level")
        }
    sent["q0-scale"] = "yes_no"
    assert send(**sent).status_code == 302
    study.refresh_from_db()
    _mine, clear, kind, total = study.rubric.criteria.all()
    assert (clear.key, len(clear.levels), clear.role) == ("clear", 5, "item")
    assert [(one["value"], one["label"]["en"], one["description"]["en"]) for one in kind.levels] == [
        (0.0, "No", "It hurts"),
        (1.0, "Yes", "It is kind"),
    ]
    assert (total.role, total.ends, len(total.levels)) == ("overall", (1.0, 5.0), 5)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"question\n"])
def test_a_file_that_is_no_table_gets_a_sentence(send, content):
    response = send(rows="0", do="import", table=SimpleUploadedFile("questions.csv", content))
    assert response.status_code == 200
    assert response.context["table"].bad and not response.context["table"].questions


@pytest.mark.parametrize("text", ["1", "5:1", "0:99", "x=No|1=Yes", "0=No|0=Yes"])
def test_levels_of_a_table_that_are_no_scale(text):
    with pytest.raises(BadQuestion):
        read_levels(text)


def test_the_preview_opens_on_a_real_item_with_the_questions_just_written(send, study, client):
    response = send(**LEVELS, do="preview")
    assert response["Location"] == reverse("annotation:preview_rate", args=[1, study.public_id])
    page = markup(client.get(response["Location"]))
    assert "Is it kind?" in page and "Rude" in page and "Some words about it" in page
