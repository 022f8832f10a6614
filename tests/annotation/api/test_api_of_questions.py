"""The questions of a study over the API: its own rubric, its questionnaires in versions, and what raters answered."""

import pytest

from accounts.models import Event
from annotation.models import Criterion, Questionnaire, Rubric, Study
from annotation.questionnaires.asking import give, save_questions
from annotation.questionnaires.questions import read_questions
from tests.api_calls import of, read, send
from tests.factories import make_checklist_study, make_rater, make_rubric, make_user, make_workspace

pytestmark = pytest.mark.django_db
OWN = [
    {"key": "facts", "en": "Are the facts right?", "zh": "事实正确吗？", "scale": "yes_no", "may_not_apply": True},
    {"en": "How clear is it?", "levels": [{"value": 0, "name": "Not"}, {"value": 1, "name": "Very", "meaning": "All"}]},
    {"en": "How good is it overall?", "scale": "overall10"},
]
AGE = {"kind": "choice", "text": "Age group", "options": ["to 30", "over 30"], "required": True}


@pytest.fixture
def study():
    return make_checklist_study(instructions=2, models=1, status="draft")


@pytest.fixture
def lead(study):
    return make_user("lead", study.workspace, username="lena")


def write(client, lead, study, questions, **more):
    return send(client, lead, "study_rubric", *of(study), method="put", sent={"questions": questions, **more})


def test_who_may(client, study):
    elsewhere = make_user("owner", make_workspace("elsewhere"), username="else")
    analyst, rater = (make_user(role, study.workspace) for role in ("analyst", "rater"))
    owner = make_user("owner", study.workspace, username="owner")
    calls = [
        ("study_rubric", of(study), {"questions": OWN}),
        ("questionnaire", of(study, "before"), {"questions": [AGE]}),
    ]
    for name, parts, sent in calls:
        for user, reading, writing in ((elsewhere, 404, 404), (analyst, 200, 403), (rater, 403, 403)):
            assert send(client, user, name, *parts, method="get").status_code == reading
            assert send(client, user, name, *parts, method="put", sent=sent).status_code == writing
        narrow = send(client, owner, name, *parts, method="put", sent=sent, scopes=["read", "ratings", "run"])
        assert narrow.status_code == 403
    for user, status in ((elsewhere, 404), (analyst, 200), (rater, 403)):
        assert send(client, user, "questionnaire_answers", *of(study), method="get").status_code == status
    narrow = send(client, owner, "questionnaire_answers", *of(study), method="get", scopes=["read", "change"])
    assert narrow.status_code == 403
    assert not Questionnaire.objects.exists() and not Rubric.objects.filter(study=study).exists()


class TestTheRubric:
    def test_is_written_changed_and_kept(self, client, study, lead):
        first = send(client, lead, "study_rubric", *of(study), method="get")
        assert first.json() == {
            "rubric": None,
            "version": None,
            "own": False,
            "fixed": False,
            "questions": [],
            "mark": "",
            "asked": None,
        }
        sent = {"questions": OWN}
        headers = {"If-Match": first["ETag"]}
        said = send(client, lead, "study_rubric", *of(study), method="put", sent=sent, **headers).json()
        assert (said["rubric"], said["version"], said["own"]) == ("study-essays", 1, True)
        assert [(one["key"], one["role"], one["scale"]) for one in said["questions"]] == [
            ("facts", "item", "yes_no"),
            ("how_clear_is_it", "item", "as-it-is"),
            ("how_good_is_it_overall", "overall", "overall10"),
        ]
        assert said["questions"][0]["zh"] == "事实正确吗？" and said["questions"][0]["may_not_apply"]
        assert said["questions"][1]["levels"] == [
            {"value": 0.0, "name": "Not", "meaning": ""},
            {"value": 1.0, "name": "Very", "meaning": "All"},
        ]
        assert Event.objects.get(verb="change_rubric").actor == lead
        late = send(client, lead, "study_rubric", *of(study), method="put", sent=sent, **headers)
        assert late.status_code == 412
        # What is read can be sent back: nothing changes, and levels in another language stay.
        clear = Criterion.objects.get(key="how_clear_is_it")
        clear.levels[0]["label"]["zh-hans"] = "不"
        clear.save()
        again = write(client, lead, study, said["questions"]).json()
        assert again == said and Rubric.objects.filter(study=study).count() == 1
        again["questions"][1]["en"] = "How clear is all of it?"
        changed = write(client, lead, study, again["questions"][1:]).json()
        assert (changed["version"], len(changed["questions"])) == (2, 2)
        newest = Criterion.objects.get(key="how_clear_is_it", rubric__version=2)
        assert newest.questions == {"en": "How clear is all of it?"}
        assert newest.levels[0]["label"] == {"en": "Not", "zh-hans": "不"}

    def test_of_instruction_checks_names_parts(self, client, study, lead):
        Study.objects.update(kind="check")
        questions = [{"en": "Is there a market?", "numbers": "19, 23-25"}]
        refused = write(client, lead, study, questions)
        assert refused.status_code == 400 and "Enter the name of the parts" in refused.json()["detail"]
        said = write(client, lead, study, questions, mark="Week", asked=52).json()
        assert (said["mark"], said["asked"], said["questions"][0]["numbers"]) == ("Week", 52, "19, 23-25")
        assert write(client, lead, study, said["questions"], mark="Week", asked=52).json() == said
        bad = write(client, lead, study, [{"en": "Is there?", "numbers": "x"}], mark="Week")
        assert bad.status_code == 400 and bad.json()["detail"].startswith("Question 1: numbers: ")

    @pytest.mark.parametrize(
        ("questions", "said"),
        [
            ([], "questions: "),
            ([{"scale": "yes_no"}], "Question 1 has no text"),
            ([{"en": "A?"}] * 61, "questions: "),
            ([{"en": "A?", "scale": "stars5"}], "Question 1: scale: "),
            ([{"en": "A?", "scale": "as-it-is"}], "Question 1: scale: "),
            ([{"en": "A?", "scale": "poll"}], "questions: "),
            ([{"en": "A?", "key": "a b"}], "questions: "),
            ([{"en": "A?", "key": "a"}, {"en": "B?", "key": "a"}], "The key a is there twice."),
            ([{"en": "A?", "scale": "own"}], "Write at least two levels"),
            ([{"en": "A?", "levels": [{"value": 1, "name": "x"}] * 2}], "Two levels have the same value."),
            ([{"en": "A?", "levels": [{"value": 1e7, "name": "x"}, {"value": 0, "name": "y"}]}], "level0_value"),
            ([{"en": "A?", "levels": [{"value": n, "name": "x"} for n in range(22)]}], "more than 21 levels"),
            ([{"en": "A?", "levels": [{"value": 1}]}], "questions: "),
        ],
    )
    def test_refuses_what_is_no_question(self, client, study, lead, questions, said):
        answer = write(client, lead, study, questions)
        assert answer.status_code == 400 and said in answer.json()["detail"], answer.json()
        assert not Rubric.objects.filter(study=study).exists()

    def test_is_fixed_at_launch_and_a_judges_in_a_review(self, client, study, lead):
        Study.objects.update(rubric=make_rubric(study.workspace), status="open")
        said = read(client, lead, "study_rubric", *of(study))
        assert said["fixed"] and not said["own"] and len(said["questions"]) == 4
        assert "fixed since" in write(client, lead, study, OWN).json()["detail"]
        Study.objects.update(kind="review", status="draft")
        assert read(client, lead, "study_rubric", *of(study))["questions"][0]["scale"] == "as-it-is"
        answer = write(client, lead, study, OWN)
        assert answer.status_code == 400 and "judge's questions" in answer.json()["detail"]


class TestAQuestionnaire:
    def put(self, client, lead, study, questions, moment="before", **headers):
        parts, sent = of(study, moment), {"questions": questions}
        return send(client, lead, "questionnaire", *parts, method="put", sent=sent, **headers)

    def test_is_written_in_versions(self, client, study, lead):
        first = send(client, lead, "questionnaire", *of(study, "before"), method="get")
        assert first.json() == {"moment": "before", "version": 0, "questions": [], "versions": []}
        headers = {"If-Match": first["ETag"]}
        said = self.put(client, lead, study, [AGE], **headers).json()
        assert said["version"] == 1 and said["questions"][0]["key"] == "age_group"
        assert self.put(client, lead, study, [AGE], **headers).status_code == 412
        # What is read can be sent back, and is then no new version.
        assert self.put(client, lead, study, said["questions"]).json() == said
        assert self.put(client, lead, study, []).json()["version"] == 2
        now = read(client, lead, "questionnaire", *of(study, "before"))
        assert now["questions"] == [] and [one["version"] for one in now["versions"]] == [1, 2]
        old = read(client, lead, "questionnaire", *of(study, "before"), query="?version=1")
        assert (old["version"], old["questions"]) == (1, said["questions"])
        assert read(client, lead, "questionnaire", *of(study, "after"))["version"] == 0
        assert Event.objects.filter(verb="change_questionnaire", actor=lead).count() == 2

    @pytest.mark.parametrize(
        ("sent", "said"),
        [
            ({}, "questions: "),
            ({"questions": {}}, "questions: "),
            ({"questions": [{"kind": "poll", "text": "A?"}]}, "Question 1: The kind poll is unknown"),
            ({"questions": [{"kind": "text", "text": ""}]}, "Question 1: It has no text."),
            ({"questions": [AGE, {**AGE, "key": "age_group"}]}, "Question 2: The key age_group is there twice."),
            ({"questions": [{"kind": "text", "text": "A?"}] * 41}, "at most 40 questions"),
        ],
    )
    def test_refuses_what_is_no_question(self, client, study, lead, sent, said):
        answer = send(client, lead, "questionnaire", *of(study, "before"), method="put", sent=sent)
        assert answer.status_code == 400 and said in answer.json()["detail"], answer.json()
        assert not Questionnaire.objects.exists()

    def test_is_before_or_after(self, client, study, lead):
        assert send(client, lead, "questionnaire", *of(study, "during"), method="get").status_code == 404
        assert self.put(client, lead, study, [AGE], moment="during").status_code == 404
        absent = send(client, lead, "questionnaire", *of(study, "before"), method="get", query="?version=1")
        assert absent.status_code == 404

    def test_is_answered_under_pseudonyms(self, client, study, lead):
        ann = make_rater(study, label="ann@example.org", pseudonym="Rater 1")
        for moment in ("before", "after"):
            version = save_questions(study, moment, read_questions([AGE]), by=lead)
            give(version, ann, {"age_group": "to_30"}, language="en")
        found = read(client, lead, "questionnaire_answers", *of(study))["results"]
        assert [one["moment"] for one in found] == ["before", "after"]
        assert (
            found[0].items()
            >= {
                "rater": ann.public_id,
                "name": "Rater 1",
                "cohort": None,
                "version": 1,
                "language": "en",
                "answers": {"age_group": "to_30"},
            }.items()
        )
        only = read(client, lead, "questionnaire_answers", *of(study), query="?moment=after")["results"]
        assert only == found[1:] and "example.org" not in str(found)
        assert read(client, lead, "questionnaire", *of(study, "before"))["versions"][0]["answers"] == 1
