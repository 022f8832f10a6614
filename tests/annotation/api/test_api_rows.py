"""Rows that a program sends: each kind is stored by the loaders of uploads, with an error for each bad row."""

import json

import pytest
from django.urls import reverse

from accounts.api.tokens import issue_token
from annotation.api.rows import EXAMPLES
from annotation.models import Assignment, MailedInvitation, Rubric, Score, Study, Task
from annotation.uploads import sent_rows
from generation.models import Benchmark, Import, Instruction, Response
from tests.factories import make_checklist_study, make_user, make_workspace

pytestmark = pytest.mark.django_db
LINES = "application/x-ndjson"


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    settings.DATA_DIR = tmp_path
    yield
    assert not list(tmp_path.iterdir())


@pytest.fixture
def lab():
    return make_workspace("lab")


@pytest.fixture
def lead(lab):
    return make_user("lead", lab, username="lena")


def head(user, scopes=("change",), **options):
    return {"headers": {"Authorization": f"Bearer {issue_token(user=user, name='s', scopes=scopes, **options)[1]}"}}


def add(client, user, kind, into, rows, workspace="lab", **more):
    path = reverse(f"api:add_{kind}", args=[workspace])
    return client.post(path, {"into": into, "rows": rows, **more}, "application/json", **head(user))


def prompts(*names):
    return [{"instruction": name, "prompt": f"Write {name}."} for name in names]


def test_the_examples_make_a_library_a_study_and_can_be_undone(client, lab, lead):
    """The examples of the schema, in an order in which each finds what it belongs to."""
    for kind in ("instructions", "responses", "rubrics", "checklists", "checks"):
        into, rows, options = EXAMPLES[kind]
        answer = add(client, lead, kind, into, rows, options=options)
        assert answer.status_code == 201, (kind, answer.content)
        assert answer.json()["row_errors"] == [] and answer.json()["counts"], kind
    assert Benchmark.objects.get(workspace=lab).slug == "essays"
    assert Instruction.objects.get(external_id="e2").language == "zh-hans"
    assert Instruction.objects.get(external_id="e1").tags == ["short"]
    assert Response.objects.get(model__name="model-b").tokens == 9
    for kind in ("ratings", "preferences", "truth"):
        into, rows, options = EXAMPLES[kind]
        answer = add(client, lead, kind, into, rows, options=options)
        assert answer.status_code == 201, (kind, answer.content)
    scores = Score.objects.filter(assignment__rater__label="ann", criterion__key="true")
    assert list(scores.values_list("value", flat=True)) == [5.0]
    assert Study.objects.get(slug="essay-pairs").kind == "pair"
    done = answer.json()
    undone = client.post(reverse("api:undo_loading", args=[done["imported"]]), **head(lead))
    assert undone.status_code == 200 and sum(undone.json()["removed"].values()) > 0
    assert {found.actor for found in Import.objects.all()} == {lead}


def test_known_answers_and_lists_of_raters_go_into_a_study_that_is_there(client, lab, lead):
    study = make_checklist_study(instructions=1, models=1, workspace=lab)
    instruction = Instruction.objects.get(benchmark=study.benchmark).external_id
    known = [{"instruction": instruction, "criterion": "overall", "value": "2-3", "why": "It is thin."}]
    answer = add(client, lead, "gold", study.slug, known)
    assert answer.status_code == 201, answer.content
    assert Task.objects.get(study=study).gold["expected"] == {"overall": [2.0, 3.0]}
    answer = add(client, lead, "raters", study.slug, [{"name": "Ada", "email": "ada@example.org"}, {"email": "x"}])
    assert answer.status_code == 400 and [one["row"] for one in answer.json()["row_errors"]] == [2]
    assert not MailedInvitation.objects.exists()
    answer = add(client, lead, "raters", study.slug, [{"name": "Ada", "email": "ada@example.org"}])
    assert answer.status_code == 201 and MailedInvitation.objects.get().name == "Ada"
    assert add(client, lead, "gold", "nowhere", known).status_code == 400


BAD = [
    ({"instruction": "b1"}, "nothing is asked"),
    ({"prompt": "Write."}, "the field instruction is missing"),
    ({"instruction": "b3", "promt": "Write."}, "there is no field 'promt'"),
    ("b4", "the row is not a JSON object"),
    ({"instruction": "x" * 300, "prompt": "Write."}, "too long"),
    ({"instruction": "good", "prompt": "Write again."}, "'good'"),
]


def test_one_bad_row_stores_nothing_and_every_bad_row_has_its_error(client, lab, lead):
    rows = [*prompts("good"), *(row for row, _said in BAD)]
    answer = add(client, lead, "instructions", "tea", rows)
    assert answer.status_code == 400
    assert not Benchmark.objects.exists() and not Import.objects.exists()
    told = answer.json()
    # What cannot be read at all is told first; the others are then seen by the loader.
    assert [one["row"] for one in told["row_errors"]] == [3, 4, 5]
    answer = add(client, lead, "instructions", "tea", rows, on_error="skip")
    told = answer.json()
    assert answer.status_code == 201 and told["counts"] == {"created": 1}
    assert [one["row"] for one in told["row_errors"]] == [2, 3, 4, 5, 6, 7]
    for one, (_row, said) in zip(told["row_errors"], BAD, strict=True):
        assert said in one["reason"] and one["remedy"]
    assert list(Instruction.objects.values_list("external_id", flat=True)) == ["good"]


def test_a_bad_row_that_only_the_loader_sees_takes_all_back(client, lab, lead):
    answer = add(client, lead, "instructions", "tea", [*prompts("a1", "a2"), {"instruction": "a3"}])
    assert answer.status_code == 400 and [one["row"] for one in answer.json()["row_errors"]] == [3]
    assert not Benchmark.objects.exists() and not Import.objects.exists()


def test_errors_are_in_the_readers_language(client, lab, lead):
    head_zh = head(lead)
    head_zh["headers"]["Accept-Language"] = "zh-hans"
    path = reverse("api:add_instructions", args=["lab"])
    answer = client.post(path, {"into": "tea", "rows": [{"promt": 1}]}, "application/json", **head_zh)
    assert "没有" in answer.json()["row_errors"][0]["reason"], answer.json()


def test_rows_come_as_json_lines(client, lab, lead):
    body = "\n".join([*map(json.dumps, prompts("a1", "a2")), "{broken", ""])
    path = reverse("api:add_instructions", args=["lab"])
    answer = client.post(path + "?into=tea&on_error=skip", body, LINES, **head(lead))
    assert answer.status_code == 201, answer.content
    assert answer.json()["counts"] == {"created": 2} and answer.json()["row_errors"][0]["row"] == 3
    refused = client.post(path + "?into=tea&colour=red", body, LINES, **head(lead))
    assert refused.status_code == 400 and "colour" in refused.json()["detail"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"rows": []}, "rows: "),
        ({"rows": "a"}, "rows: "),
        ({"rows": prompts("a"), "on_error": "maybe"}, "on_error: "),
        ({"rows": prompts("a"), "options": {"colour": "red"}}, "There is no option 'colour'"),
        ({"rows": prompts("a"), "into": "../x"}, "short name"),
        ({"rows": prompts("a"), "into": ""}, "short name"),
    ],
)
def test_what_is_no_request_is_refused(client, lab, lead, given, said):
    answer = client.post(reverse("api:add_instructions", args=["lab"]), given, "application/json", **head(lead))
    assert answer.status_code == 400 and said in answer.json()["detail"]
    assert not Benchmark.objects.exists()


def test_too_many_rows_and_too_long_a_body_are_refused(client, lab, lead, settings, monkeypatch):
    monkeypatch.setattr("annotation.api.rows.MOST_ROWS", 2)
    answer = add(client, lead, "instructions", "tea", prompts("a", "b", "c"))
    assert answer.status_code == 400 and "at most 2 rows" in answer.json()["detail"]
    settings.API_ROWS_MOST = 50
    answer = add(client, lead, "instructions", "tea", prompts("a", "b"))
    assert answer.status_code == 413 and answer.json()["detail"]
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 50
    path = reverse("api:make_study", args=["lab"])
    answer = client.post(path, {"name": "x" * 100}, "application/json", **head(lead))
    assert answer.status_code == 413
    assert not Benchmark.objects.exists()


BROKEN = {"deep": "[" * 100_000, "half": "{", "nan": '{"rows": NaN}', "utf-16": b"\xff\xfe[", "other": "[1]"}


@pytest.mark.parametrize("what", BROKEN)
def test_a_body_that_is_no_json_is_said(client, lab, lead, what):
    body = BROKEN[what]
    for name in ("add_instructions", "make_study"):
        answer = client.post(reverse(f"api:{name}", args=["lab"]), body, "application/json", **head(lead))
        assert answer.status_code == 400 and answer.json()["detail"], name


def test_a_workspace_is_sealed(client, lab, lead):
    """The attack: rows into another workspace, by its slug or by what belongs to it, with every kind."""
    other = make_workspace("other")
    study = make_checklist_study(instructions=1, models=1, workspace=other)
    owner = make_user("owner", other, username="otto")
    analyst = make_user("analyst", lab, username="anna")
    before = {model: model.objects.count() for model in (Instruction, Response, Rubric, Task, Assignment, Score)}
    name = Instruction.objects.get(benchmark=study.benchmark).external_id
    for kind, (_into, rows, options) in EXAMPLES.items():
        path = reverse(f"api:add_{kind}", args=["other"])
        for rows_into in (study.slug, study.benchmark.slug):
            sent = {"into": rows_into, "rows": rows, "options": options}
            assert client.post(path, sent, "application/json", **head(lead)).status_code == 404, kind
            limited = head(owner, workspace=lab)
            assert client.post(path, sent, "application/json", **limited).status_code == 403, kind
        sent = {"into": "tea", "rows": rows, "options": options}
        assert (
            client.post(reverse(f"api:add_{kind}", args=["lab"]), sent, "application/json", **head(analyst)).status_code
            == 403
        )
        unscoped = head(lead, ("read", "ratings", "run"))
        assert (
            client.post(reverse(f"api:add_{kind}", args=["lab"]), sent, "application/json", **unscoped).status_code
            == 403
        )
    # In the own workspace, the names of the other's things are nobody's.
    for kind in ("gold", "truth", "raters", "checks", "checklists"):
        rows = EXAMPLES[kind][1]
        assert add(client, lead, kind, study.slug, rows).status_code == 400, kind
    rated = [{"item": name, "model": "model0", "rater": "r", "criterion": "overall", "value": 3}]
    foreign = {"benchmark": study.benchmark.slug, "scale": "1:5"}
    assert add(client, lead, "ratings", "new", rated, options=foreign).status_code == 400
    assert before == {model: model.objects.count() for model in before}


def test_the_most_rows_are_taken_at_once(client, lab, lead, monkeypatch):
    """Shown small: the limit is of rows, and 1,000 of them are loaded by one request."""
    assert sent_rows.MOST_ROWS == 10_000
    answer = add(client, lead, "instructions", "tea", prompts(*(f"a{n}" for n in range(1000))))
    assert answer.status_code == 201 and answer.json()["counts"] == {"created": 1000}
