"""A lead writes a questionnaire in the browser, by a table, by command and by API, and sees it as a rater does."""

import json
from io import StringIO

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.urls import reverse

from accounts.api.tokens import issue_token
from accounts.models import Event
from annotation.models import Questionnaire, QuestionnaireAnswer, Study
from annotation.questionnaires.asking import current, give, save_questions
from annotation.questionnaires.presets import preset
from annotation.questionnaires.questions import read_questions
from annotation.studies.keeping import duplicate_study
from tests.factories import make_checklist_study, make_rater, make_user

pytestmark = pytest.mark.django_db
ROWS = {
    "rows": "3",
    "q0-question_en": "Age group",
    "q0-kind": "choice",
    "q0-required": "on",
    "q0-options_en": "to 30\nover 30",
    "q1-kind": "choice",
    "q2-question_en": "Effort",
    "q2-kind": "scale",
    "q2-low": "1",
    "q2-high": "7",
    "q2-low_label_en": "none",
}


@pytest.fixture
def study():
    return make_checklist_study(instructions=2, models=1, status="draft")


@pytest.fixture
def lead(study, client):
    user = make_user("lead", study.workspace)
    client.force_login(user)
    return user


def editor(study, moment="before"):
    return reverse("annotation:write_questionnaire", args=[study, moment])


def test_questions_are_written_saved_and_edited_as_a_new_version(client, study, lead):
    assert client.post(editor(study), ROWS).url == editor(study)
    asked = current(study, "before")
    assert [(one.key, one.kind, one.required) for one in asked.questions] == [
        ("age_group", "choice", True),
        ("effort", "scale", False),
    ]
    assert asked.questions[1].low_label == {"en": "none"}
    assert Event.objects.get(verb="change_questionnaire").actor == lead
    page = client.get(editor(study)).content.decode()
    assert "over 30" in page and "question_zh" not in page
    client.post(editor(study), ROWS | {"q0-origin": "age_group", "q2-origin": "effort"})
    assert Questionnaire.objects.count() == 1  # nothing changed
    client.post(editor(study), ROWS | {"q0-origin": "age_group", "q0-question_en": "Your age"})
    assert current(study, "before").questions[0].key == "age_group"
    assert Questionnaire.objects.count() == 2


def test_a_preset_saved_as_it_stands_is_no_change(client, study, lead):
    save_questions(study, "after", preset("workload"), by=None)
    page = client.get(editor(study, "after"))
    rows = page.context["form"].rows
    sent = {"rows": len(rows)}
    for row in rows:
        sent |= {field.html_name: field.value() for field in row if field.value()}
    client.post(editor(study, "after"), sent)
    assert Questionnaire.objects.count() == 1


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"q0-options_en": "alone"}, "2 to 50 options"),
        ({"q0-options_en": "same\nsame"}, "there twice"),
        ({"q2-low": "9"}, "above its low end"),
        ({"q2-high": "many"}, "whole number"),
        ({"q0-kind": "poll"}, "Select a valid choice"),
        ({"q2-origin": "a", "q0-origin": "a"}, "The key a is there twice"),
        ({"q0-origin": "<b>"}, "letters, digits"),
    ],
)
def test_what_is_no_question_is_told_where_it_stands_and_nothing_is_saved(client, study, lead, changed, words):
    page = client.post(editor(study), ROWS | changed)
    assert page.status_code == 422 and words in page.content.decode()
    assert "Age group" in page.content.decode() and not Questionnaire.objects.exists()


def test_rows_move_go_and_come_from_presets_and_files_without_being_saved(client, study, lead):
    moved = client.post(editor(study), ROWS | {"do": "down-0"}).context["form"]
    assert moved.rows[1]["question_en"].value() == "Age group"
    less = client.post(editor(study), ROWS | {"do": "drop-0"}).context["form"]
    assert [row["question_en"].value() for row in less.rows if row.written] == ["Effort"]
    more = client.post(editor(study), ROWS | {"do": "more"}).context["form"]
    assert len(more.rows) == 6
    added = client.post(editor(study), ROWS | {"do": "preset", "preset": "person"}).context["form"]
    keys = [row["origin"].value() for row in added.rows]
    assert len(added.rows) == 5 and keys[2:] == ["age_group", "native_language", "expertise"]
    table = SimpleUploadedFile("q.csv", b"kind,question\ntext,Trade\n")
    read = client.post(editor(study), ROWS | {"do": "import", "table": table}).context["form"]
    assert [row["question_en"].value() for row in read.rows] == ["Age group", "Effort", "Trade"]
    bad = client.post(editor(study), ROWS | {"do": "import", "table": SimpleUploadedFile("q.csv", b"kind\npoll\n")})
    assert "The kind poll is unknown" in bad.content.decode() and "Age group" in bad.content.decode()
    assert "Choose a table" in client.post(editor(study), ROWS | {"do": "import"}).content.decode()
    assert not Questionnaire.objects.exists()


def test_the_preview_checks_answers_and_stores_none(client, study, lead):
    there = client.post(editor(study), ROWS | {"do": "preview"}).url
    assert there == reverse("annotation:preview_questionnaire", args=[study, "before"])
    assert "Age group" in client.get(there).content.decode()
    assert client.post(there, {}).status_code == 422
    accepted = client.post(there, {"a-age_group": "to_30"})
    assert accepted.status_code == 200 and "would be accepted" in accepted.content.decode()
    assert not QuestionnaireAnswer.objects.exists()


def test_only_leads_of_the_workspace_write_and_preview(client, study):
    save_questions(study, "before", preset("person"), by=None)
    preview = reverse("annotation:preview_questionnaire", args=[study, "before"])
    for user in (make_user("analyst", study.workspace), make_user("rater", study.workspace), make_user()):
        client.force_login(user)
        for address in (editor(study), preview):
            assert client.get(address).status_code in (403, 404)
            assert client.post(address, ROWS).status_code in (403, 404)
    client.force_login(make_user("lead", study.workspace))
    assert client.get(editor(study, "between")).status_code == 404
    assert Questionnaire.objects.count() == 1


def test_an_answered_version_says_so_and_stays_as_it_was(client, study, lead):
    asked = save_questions(study, "before", read_questions([{"kind": "text", "text": "Trade"}]), by=None)
    give(asked, make_rater(study), {"trade": "baker"}, language="en")
    assert "1 rater has answered" in client.get(editor(study)).content.decode()
    client.post(editor(study), {"rows": "1", "q0-origin": "trade", "q0-kind": "text", "q0-question_en": "Craft"})
    given = QuestionnaireAnswer.objects.select_related("questionnaire").get()
    assert given.questionnaire.questions[0]["texts"] == {"en": "Trade"}
    assert current(study, "before").questions[0].texts == {"en": "Craft"}


def test_the_setup_leads_there_and_says_what_is_asked(client, study, lead):
    step = reverse("annotation:setup", args=[study]) + "?step=checks"
    assert editor(study) in client.get(step).content.decode()
    save_questions(study, "after", preset("workload"), by=None)
    assert "after the last one: 7" in client.get(step).content.decode()


def test_a_copy_of_a_study_asks_the_same(study, lead):
    save_questions(study, "before", preset("person"), by=None)
    save_questions(study, "after", preset("workload"), by=None)
    save_questions(study, "after", (), by=None)
    made = duplicate_study(study, by=lead)
    assert current(made, "before").questions == preset("person")
    assert not made.questionnaires.filter(moment="after").exists()


def test_the_api_and_the_command_take_the_same_questions(client, study, lead, tmp_path):
    questions = [{"kind": "text", "text": "Trade"}]
    _token, secret = issue_token(user=lead, name="script", scopes=["read", "change"])
    wanted = {"kind": "checklist", "benchmark": study.benchmark.slug, "name": "By API"}
    sent = {"content_type": "application/json", "headers": {"Authorization": f"Bearer {secret}"}}
    address = reverse("api:make_study", args=[study.workspace.slug])
    made = client.post(address, {**wanted, "questions_before": questions}, **sent)
    assert made.status_code == 201, made.content
    refused = client.post(address, {**wanted, "name": "Other", "questions_after": [{"kind": "poll"}]}, **sent)
    assert refused.status_code == 400 and "The kind poll is unknown" in refused.content.decode()
    file = tmp_path / "questions.json"
    file.write_text(json.dumps(questions))
    options = {"kind": "checklist", "benchmark": study.benchmark.slug, "stdout": StringIO()}
    call_command("make_study", "By command", "--questions-after", str(file), **options)
    by_api, by_command = (Study.objects.get(slug=slug) for slug in ("by-api", "by-command"))
    assert current(by_api, "before").questions == current(by_command, "after").questions == read_questions(questions)
    with pytest.raises(CommandError, match="cannot be opened"):
        call_command("make_study", "No file", "--questions-before", str(tmp_path / "none.json"), **options)
    assert not Study.objects.filter(slug__in=("other", "no-file")).exists()
