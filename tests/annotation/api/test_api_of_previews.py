"""Previews over the API: the screens, the questionnaire and the texts that a rater would see, in JSON. Nothing is stored."""

import pytest
from django.urls import reverse

from annotation.api.keeping import LONGEST_TEXT
from annotation.models import Assignment, Guideline, Rater, Rubric, Study, Task
from annotation.questionnaires.asking import save_questions
from annotation.questionnaires.questions import read_questions
from annotation.rubrics.reviews import PREFIX as REVIEW_PREFIX
from annotation.texts import rendering
from generation.models import Instruction, LanguageModel, Response
from tests.api_calls import of, read, send
from tests.factories import make_checklist_study, make_user, make_workspace
from tests.markup import markup
from tests.screen_studies import make_pair_study, make_review_study, make_stars_study

pytestmark = pytest.mark.django_db
HOSTILE = "Read <script>alert(1)</script> and [this](javascript:alert(1)) ![seen](https://example.org/a.png)"
NEARLY = "Trees give shade to people who walk in the city on long and hot days of summer."


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    settings.DATA_DIR = tmp_path
    rendering._folder.cache_clear()
    yield tmp_path
    rendering._folder.cache_clear()


@pytest.fixture
def study():
    study = make_checklist_study(instructions=2, models=1)
    LanguageModel.objects.update(name="Zephyrion-70B")
    return study


@pytest.fixture
def analyst(study):
    return make_user("analyst", study.workspace, username="ana")


def screen(client, user, study, number=1):
    return read(client, user, "rating_screen", *of(study, number))


def pairs(first, second):
    """A study of pairs of these texts, with its rubric."""
    study = make_pair_study("four", texts=(first, second))
    study.rubric = study.tasks.first().answer_rubric
    study.save()
    return study


def rows():
    return [model.objects.count() for model in (Task, Assignment, Rater, Rubric, Study)]


def test_what_is_read_before_the_tasks(client, study, analyst):
    shown = read(client, analyst, "study_preview", *of(study))
    assert (shown["tasks"], shown["first_of_rubrics"], shown["guideline"]) == (2, [1], None)
    assert "stored under a pseudonym" in shown["consent"]["html"]
    study.guideline = Guideline.objects.create(
        workspace=study.workspace, key="care", texts={"en": f"# Care\n\n{HOSTILE}", "zh-hans": "**小心**"}
    )
    study.policies = {**study.policies, "consent": {"en": "You *may* stop."}}
    study.save()
    shown = read(client, analyst, "study_preview", *of(study))
    assert shown["consent"]["html"].strip() == "<p>You <em>may</em> stop.</p>"
    html = shown["guideline"]["html"]
    assert "<h3>Care</h3>" in html and shown["guideline"]["markdown"].endswith(HOSTILE)
    assert "<script" not in html and "javascript:" not in html.partition("[this]")[0] and "<img" not in html
    assert 'href="javascript' not in html
    chinese = send(client, analyst, "study_preview", *of(study), method="get", **{"Accept-Language": "zh-hans"}).json()
    assert "<strong>小心</strong>" in chinese["guideline"]["html"]


def test_a_screen_is_what_the_page_shows(client, study, analyst):
    before = rows()
    shown = screen(client, analyst, study)
    assert (shown["number"], shown["tasks"], shown["layout"], shown["headed"]) == (1, 2, "single", "")
    assert shown["task"] == study.tasks.order_by("pk")[0].public_id
    assert shown["instruction"]["markdown"] == "Write about topic 0." and shown["instruction"]["words"] == 5
    (response,) = shown["responses"]
    assert (response["letter"], response["text"]["markdown"]) == ("a", "# Topic 0\n\nSome words about it.")
    assert "<h3>Topic 0</h3>" in response["text"]["html"]
    assert response["sections"] == [{"heading": "Topic 0", "level": 1, "counterpart": None}]
    rubric = study.tasks.order_by("pk")[0].answer_rubric
    asked = [(one.key, one.question) for one in rubric.criteria.order_by("position")]
    assert [(one["key"], one["text"]) for one in shown["questions"]] == asked
    assert [one["number"] for one in shown["questions"]] == list(range(1, len(shown["questions"]) + 1))
    client.force_login(analyst)
    page = markup(client.get(f"/rate/preview-1-{study.public_id}/"))
    for question in shown["questions"]:
        assert question["text"] in page
        assert all(f'value="{choice["value"]}"' in page and choice["label"] in page for choice in question["choices"])
    assert [one["label"] in page for one in shown["skip_reasons"]] == [True] * 5
    assert "Zephyrion" not in str(shown) and rows() == before


def test_levels_words_and_reasons_are_in_the_language_that_is_asked_for(client, study, analyst):
    criterion = study.tasks.first().answer_rubric.criteria.order_by("position")[0]
    criterion.questions = {"en": "Is it so?", "zh-hans": "是这样吗？"}
    criterion.save()
    for language, said in (("en", "Is it so?"), ("zh-hans", "是这样吗？")):
        answer = send(client, analyst, "rating_screen", *of(study, 1), method="get", **{"Accept-Language": language})
        assert answer.json()["questions"][0]["text"] == said


def test_a_draft_is_shown_before_its_launch(client, analyst):
    draft = make_checklist_study(slug="drafts", instructions=2, models=2, status="draft")
    draft.tasks.all().delete()
    shown = screen(client, analyst, draft, 4)
    assert (shown["number"], shown["tasks"], shown["task"]) == (4, 4, None)
    assert len(shown["questions"]) > 1 and not draft.tasks.exists()


def test_a_conversation_and_a_hint_are_shown_as_to_raters(client, study, analyst):
    turns = [("user", "Hello *you*."), ("assistant", "Hello."), ("user", "Write."), ("assistant", "left out")]
    Instruction.objects.update(
        messages=[{"role": role, "content": text} for role, text in turns], hint="Look **twice**."
    )
    shown = screen(client, analyst, study)
    assert [(one["role"], one["text"]["markdown"]) for one in shown["earlier"]] == turns[:2]
    assert "<em>you</em>" in shown["earlier"][0]["text"]["html"] and shown["hint"] is None
    study.policies = {**study.policies, "hints": "split"}
    study.save()
    assert "<strong>twice</strong>" in screen(client, analyst, study)["hint"]["html"]


def test_mentions_of_the_model_are_masked_where_the_study_says_so(client, study, analyst):
    Response.objects.update(text="I am Zephyrion-70B, a model.")
    study.policies = {**study.policies, "mask_self_naming": True}
    study.save()
    shown = screen(client, analyst, study)["responses"][0]["text"]
    assert "Zephyrion" not in shown["markdown"] + shown["html"]


def test_a_pair_turns_with_every_task(client):
    study = pairs("# Shade\n\nAlpha.", "# Shade\n\nBeta.")
    analyst = make_user("analyst", study.workspace)
    first, second = (screen(client, analyst, study, number) for number in (1, 2))
    assert first["layout"] == "pair" and [one["name"] for one in first["responses"]] == ["Response A", "Response B"]
    texts = [[one["text"]["markdown"].split()[-1] for one in shown["responses"]] for shown in (first, second)]
    assert texts == [["Alpha.", "Beta."], ["Beta.", "Alpha."]]
    assert first["responses"][0]["sections"][0]["counterpart"] == 0
    (question,) = first["questions"]
    assert {choice["key"] for choice in question["choices"]} == {"a", "b", "t", "d"} and first[
        "near_duplicates"
    ] is False
    refused = send(client, analyst, "shown_differences", *of(study, 1), method="get")
    assert refused.status_code == 400 and "differ too much" in refused.json()["detail"]


def test_one_response_has_nothing_to_be_compared_with(client, study, analyst):
    refused = send(client, analyst, "shown_differences", *of(study, 1), method="get")
    assert refused.status_code == 400 and "shows one response" in refused.json()["detail"]


def test_differences_of_nearly_the_same_texts_give_back_both(client):
    texts = (NEARLY, NEARLY.replace("summer", "August"))
    study = pairs(*texts)
    analyst = make_user("analyst", study.workspace)
    assert screen(client, analyst, study)["near_duplicates"] is True
    for number, (left, right) in ((1, texts), (2, texts[::-1])):
        changes = read(client, analyst, "shown_differences", *of(study, number))["changes"]
        assert "".join(one["text"] for one in changes if one["kind"] != "only_b") == left
        assert "".join(one["text"] for one in changes if one["kind"] != "only_a") == right
        assert not any(one["coarse"] for one in changes)


def test_stars_and_a_review_are_shown_as_such(client):
    stars = make_stars_study(instructions=1, models=1)
    analyst = make_user("analyst", stars.workspace)
    drawn = [choice["stars"] for choice in screen(client, analyst, stars)["questions"][0]["choices"]]
    assert all("★" in one or "☆" in one for one in drawn)
    review = make_review_study()
    shown = screen(client, analyst, review)
    assert shown["headed"] == "Review" and "stern-judge-4" not in str(shown)
    assert shown["questions"][1]["verdict"]["reason"] == "Because of what it says about item1."
    assert shown["questions"][0]["verdict"]["answer"]


def test_the_rubric_that_a_launch_would_make_is_shown_and_not_stored(client):
    review = make_review_study()
    review.tasks.all().delete()
    Rubric.objects.filter(key__startswith=REVIEW_PREFIX).delete()
    analyst = make_user("analyst", review.workspace, username="ana")
    before = rows()
    assert read(client, analyst, "study_preview", *of(review))["tasks"] == 2
    shown = screen(client, analyst, review)
    assert len(shown["questions"]) == 3 and "Because of what it says" in str(shown)
    client.force_login(analyst)
    page = client.get(reverse("annotation:preview_rate", args=[1, review.public_id]))
    assert "Because of what it says" in page.content.decode()
    assert rows() == before


def test_a_task_that_is_not_there_is_said(client, study, analyst):
    for number in (0, 3, 10**12):
        refused = send(client, analyst, "rating_screen", *of(study, number), method="get")
        assert refused.status_code == 404 and "the last one is 2" in refused.json()["detail"]
    Response.objects.update(text=None)
    refused = send(client, analyst, "rating_screen", *of(study, 1), method="get")
    assert refused.status_code == 409 and "do not give any tasks" in refused.json()["detail"]


def test_the_questionnaire_is_shown_as_raters_see_it(client, study, analyst):
    assert read(client, analyst, "questionnaire_preview", *of(study, "before"))["questions"] == []
    questions = [
        {"kind": "choice", "texts": {"en": "Age group", "zh-hans": "年龄段"}, "options": ["to 30", "over 30"]},
        {"kind": "scale", "text": "How tired?", "low": 1, "high": 3, "low_label": "not", "high_label": "very"},
        {"kind": "number", "text": "Years", "minimum": 0, "required": True},
        {"kind": "text", "text": "Country"},
    ]
    save_questions(study, "before", read_questions(questions), by=make_user("lead", study.workspace))
    age, tired, years, country = read(client, analyst, "questionnaire_preview", *of(study, "before"))["questions"]
    assert (age["text"], [one["text"] for one in age["options"]]) == ("Age group", ["to 30", "over 30"])
    assert (tired["low_label"], tired["high_label"]) == ("not", "very") and len(tired["options"]) == 3
    assert (years["required"], years["minimum"], years["maximum"], country["longest"]) == (True, 0, None, 300)
    chinese = {"Accept-Language": "zh-hans"}
    shown = send(client, analyst, "questionnaire_preview", *of(study, "before"), method="get", **chinese).json()
    assert shown["questions"][0]["text"] == "年龄段"
    assert send(client, analyst, "questionnaire_preview", *of(study, "never"), method="get").status_code == 404


def test_answers_to_a_questionnaire_are_tried_and_stored_nowhere(client, study, analyst):
    questions = [
        {"key": "age", "kind": "choice", "text": "Age group", "options": ["to 30", "over 30"]},
        {"key": "years", "kind": "number", "text": "Years", "minimum": 0, "required": True},
    ]
    save_questions(study, "before", read_questions(questions), by=make_user("lead", study.workspace))
    before = rows()

    def tried(**answers):
        return send(client, analyst, "try_questionnaire", *of(study, "before"), sent={"answers": answers})

    choice = read(client, analyst, "questionnaire_preview", *of(study, "before"))["questions"][0]["options"][1]["value"]
    assert tried(age=[choice], years=["3"]).json() == {"accepted": True, "problems": {}}
    refused = tried(age=["forty"], years=["-1"]).json()
    assert refused["accepted"] is False and set(refused["problems"]) == {"age", "years"}
    assert tried().json()["problems"] == {"years": "Please answer this question."}
    assert tried(name=["Ann"]).json()["detail"] == "There is no question 'name'."
    for wrong in ("years", {"years": 3}, None):
        assert (
            send(client, analyst, "try_questionnaire", *of(study, "before"), sent={"answers": wrong}).status_code == 400
        )
    assert send(client, analyst, "try_questionnaire", *of(study, "never"), sent={"answers": {}}).status_code == 404
    assert rows() == before


def test_markdown_is_rendered_as_on_pages_and_kept_nowhere(client, study, analyst, folder):
    text = f"  # Care\n\n$x^2$ and {HOSTILE}\n\n" + "Trees give shade. " * 200
    shown = send(client, analyst, "render_markdown", "lab", sent={"text": text})
    assert shown.status_code == 200, shown.content
    said = shown.json()
    assert not list(folder.rglob("*.json"))
    assert said["html"] == "".join(rendering.render_text(text).blocks) and said["markdown"] == text
    assert list(folder.rglob("*.json"))
    assert "<math" in said["html"] and "<script" not in said["html"] and "<img" not in said["html"]
    assert send(client, analyst, "render_markdown", "lab", sent={"text": ""}).json()["html"] == ""
    marks = send(client, analyst, "render_markdown", "lab", sent={"text": "[" * LONGEST_TEXT}).json()
    assert "too many Markdown marks" in marks["notes"][0]


@pytest.mark.parametrize("sent", [{}, {"text": "x" * (LONGEST_TEXT + 1)}, {"text": ["a"]}, {"text": None}])
def test_what_is_no_text_or_too_long_is_refused(client, study, analyst, sent):
    refused = send(client, analyst, "render_markdown", "lab", sent=sent)
    assert refused.status_code == 400 and refused.json()["detail"].startswith("text: ")


def test_only_those_who_may_read_the_study_see_it(client, study, analyst):
    elsewhere = make_user("lead", make_workspace("elsewhere"), username="else")
    rater = make_user("rater", study.workspace)
    calls = [
        ("study_preview", of(study), "get"),
        ("rating_screen", of(study, 1), "get"),
        ("shown_differences", of(study, 1), "get"),
        ("questionnaire_preview", of(study, "before"), "get"),
        ("try_questionnaire", of(study, "before"), "post"),
        ("render_markdown", ("lab",), "post"),
    ]
    for name, parts, method in calls:
        assert send(client, elsewhere, name, *parts, method=method, sent={"text": "a"}).status_code == 404, name
        assert send(client, rater, name, *parts, method=method, sent={"text": "a"}).status_code == 403, name
        narrow = send(client, analyst, name, *parts, method=method, sent={"text": "a"}, scopes=["ratings", "change"])
        assert narrow.status_code == 403 and "scope read" in narrow.json()["detail"], name
