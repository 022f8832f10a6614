"""What becomes of answers: counted, exported by pseudonym, handed to the rater, erased and deleted."""

import csv
import io
import json
import zipfile
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import Questionnaire, QuestionnaireAnswer, RaterIdentity
from annotation.privacy.erasure import erase_rater
from annotation.privacy.own_data import data_of
from annotation.privacy.retention import retain
from annotation.questionnaires.answer_lines import answer_lines, results_of
from annotation.questionnaires.asking import give, save_questions
from annotation.questionnaires.questions import read_questions
from annotation.studies.deletion import delete
from judging.archive.export import export_study
from tests.factories import make_checklist_study, make_rater, make_user
from tests.page_files import check_files

pytestmark = pytest.mark.django_db
QUESTIONS = [
    {"kind": "choice", "text": "Age group", "options": ["to 30", "over 30"]},
    {"kind": "choices", "text": "Languages", "options": ["English", "French"]},
    {"kind": "scale", "text": "Effort", "low": 1, "high": 5, "low_label": "none", "high_label": "much"},
    {"kind": "number", "text": "Years"},
    {"kind": "long_text", "text": "Remark"},
]
SECRET = "I am Rosalind, <b>rosa@example.org</b>"
GIVEN = (
    {"age_group": "to_30", "languages": ["english", "french"], "effort": 2, "years": 3, "remark": SECRET},
    {"age_group": "over_30", "languages": ["english"], "effort": 5, "years": 10.5, "remark": "=1+1"},
    {"age_group": "over_30", "effort": 4},
)


@pytest.fixture
def study():
    return make_checklist_study(instructions=2, models=1)


@pytest.fixture
def raters(study):
    asked = save_questions(study, "before", read_questions(QUESTIONS), by=None)
    made = [make_rater(study, label=f"name{n}", pseudonym=f"R{n}") for n in range(3)]
    for rater, answers in zip(made, GIVEN, strict=True):
        give(asked, rater, answers, language="en")
    RaterIdentity.objects.create(rater=made[0], key="prolific:5f1ab7c9d2", name="rosalind")
    return made


def test_answers_are_counted_by_question(study, raters):
    age, tongues, effort, years, remark = results_of(study)
    assert age.counts == (("to 30", 1), ("over 30", 2)) and (age.asked, age.answered) == (3, 3)
    assert tongues.counts == (("English", 2), ("French", 1)) and tongues.answered == 2
    assert effort.counts == (("1", 0), ("2", 1), ("3", 0), ("4", 1), ("5", 1))
    assert (effort.middle, effort.least, effort.most) == (4, 2, 5)
    assert (years.middle, years.least, years.most, years.counts) == (6.75, 3, 10.5, ())
    assert remark.texts == (("R0", SECRET), ("R1", "=1+1"))


def test_a_changed_wording_is_counted_apart_and_an_unchanged_one_together(study, raters):
    later = [{**QUESTIONS[0], "required": True}, {**QUESTIONS[2], "text": "Your effort", "key": "effort"}]
    asked = save_questions(study, "before", read_questions(later), by=None)
    give(asked, make_rater(study), {"age_group": "to_30", "effort": 1}, language="en")
    found = results_of(study)
    age = [one for one in found if one.question.key == "age_group"]
    assert [(one.versions, one.counts) for one in age] == [((1, 2), (("to 30", 2), ("over 30", 2)))]
    effort = [one for one in found if one.question.key == "effort"]
    assert [(one.versions, one.asked) for one in effort] == [((1,), 3), ((2,), 1)]


def test_the_page_shows_figures_tables_and_texts_and_is_for_those_who_read_results(client, study, raters):
    address = reverse("calibration:questionnaires", args=[study])
    client.force_login(make_user("rater", study.workspace))
    assert client.get(address).status_code in (403, 404)
    client.force_login(make_user())
    assert client.get(address).status_code in (403, 404)
    client.force_login(make_user("analyst", study.workspace))
    page = client.get(address)
    body = page.content.decode()
    assert body.count("<svg") >= 3 and "The median is 4." in body
    assert "&lt;b&gt;rosa@example.org" in body and "<b>rosa" not in body
    assert "rosalind" not in body and "5f1ab7c9d2" not in body and "name0" not in body
    assert page.context["page"].lead.figure
    raters_tab = client.get(reverse("calibration:raters", args=[study])).content.decode()
    assert address in raters_tab
    asked = reverse("api:questionnaire_answers", args=[study.workspace.slug, study.slug])
    assert "answers.csv" in check_files(client, asked, address)
    assert client.get(address + "?file=question-1.svg")["Content-Type"] == "image/svg+xml"
    rows = list(csv.DictReader(io.StringIO(client.get(address + "?file=answers.csv").content.decode("utf-8-sig"))))
    assert [row["answer"] for row in rows if row["question"] == "languages"] == ["English", "French", "English"]
    assert [row["answer"] for row in rows if row["rater"] == "R1" and row["question"] == "remark"] == ["'=1+1"]
    assert "\ufeff" not in rows[0] and set(rows[0]) >= {"moment", "version", "wording", "value"}


def test_a_study_that_asks_nothing_has_no_tab_and_an_empty_page(client, study):
    client.force_login(make_user("lead", study.workspace))
    address = reverse("calibration:questionnaires", args=[study])
    assert address not in client.get(reverse("calibration:raters", args=[study])).content.decode()
    assert "No rater has answered" in client.get(address).content.decode()


def test_the_archive_has_the_answers_by_pseudonym_without_own_words(study, raters, tmp_path):
    path = tmp_path / "study.zip"
    counts = export_study(study, path)
    assert counts["annotation.questionnaireanswer"] == 3 and counts["annotation.questionnaire"] == 1
    with zipfile.ZipFile(path) as archive:
        table = archive.read("tables/questionnaires.csv").decode()
        everything = b"".join(archive.read(name) for name in archive.namelist()).decode()
    rows = list(csv.DictReader(io.StringIO(table)))
    assert {row["rater"] for row in rows} == {"R0", "R1", "R2"}
    assert sum(row["question"] == "effort" for row in rows) == 3
    for told in ("Rosalind", "rosalind", "5f1ab7c9d2", "=1+1", "name0"):
        assert told not in everything


def test_a_rater_takes_their_answers_away_with_the_wording(raters):
    found = json.loads(json.dumps(data_of(None, raters[:1]), default=str))["studies"][0]["questionnaires"]
    assert found[0]["answers"]["remark"] == SECRET and found[0]["questions"][0]["texts"] == {"en": "Age group"}
    assert len(found) == 1


def test_erasure_empties_own_words_and_keeps_choices(study, raters):
    counts = erase_rater(raters[0], by=None)
    assert counts["questionnaire_texts"] == 1
    left = QuestionnaireAnswer.objects.get(rater=raters[0]).answers
    assert left == {"age_group": "to_30", "languages": ["english", "french"], "effort": 2, "years": 3}
    assert QuestionnaireAnswer.objects.get(rater=raters[1]).answers["remark"] == "=1+1"
    assert all("Rosalind" not in line.answer for line in answer_lines(study))


def test_texts_are_kept_only_as_long_as_the_operator_says(study, raters, settings):
    settings.RETAIN_DAYS = {"texts": 30, "participants": 0, "sign_ins": 0, "drafts": 0}
    assert retain(timezone.now) == {"texts": 0}
    assert retain(lambda: timezone.now() + timedelta(days=31)) == {"texts": 2}
    assert all(not line.answer for line in answer_lines(study) if line.kind == "long_text")
    assert retain(lambda: timezone.now() + timedelta(days=31)) == {"texts": 0}


def test_a_deleted_study_takes_its_questionnaires_with_it(study, raters):
    study.status = "closed"
    study.save()
    counts = delete(study, by=None)
    assert counts["annotation.Questionnaire"] == 1 and counts["annotation.QuestionnaireAnswer"] == 3
    assert not Questionnaire.objects.exists() and not QuestionnaireAnswer.objects.exists()


def test_a_member_downloads_their_answers_on_the_page(study, raters):
    user = make_user("rater", study.workspace)
    raters[2].user = user
    raters[2].save()
    client = Client()
    client.force_login(user)
    found = client.get(reverse("annotation:rater_data", args=[study])).json()
    assert found["studies"][0]["questionnaires"][0]["answers"] == {"age_group": "over_30", "effort": 4}
