"""Drafted checklists of instructions over the API: asked for, read, approved."""

import pytest

from annotation.drafting.checklists import own_checklist
from annotation.models import Rubric
from generation.models import GenerationRun, Instruction, LanguageModel, Response
from tests.api_calls import read, send
from tests.factories import make_user, make_workspace
from tests.generation.responses.test_sampling import make_benchmark

pytestmark = pytest.mark.django_db
PLACE = ("lab", "essays")
SAME = "Does the text stay on topic from beginning to end?"


@pytest.fixture
def benchmark():
    return make_benchmark(2)


@pytest.fixture
def lead(benchmark):
    return make_user("lead", benchmark.workspace, username="lena")


@pytest.fixture
def drafts(client, benchmark, lead):
    """Two models answered the question about the first instruction."""
    answer = send(client, lead, "drafted_checklists", *PLACE)
    assert answer.status_code == 201 and answer.json() == {"benchmark": "essays-checklists", "instructions": 2}
    asked = Instruction.objects.get(benchmark__slug="essays-checklists", external_id="essays-0")
    for name, text in (("a", f"1. {SAME}\n2. Is there an example?"), ("b", f"- {SAME}")):
        model = LanguageModel.objects.create(workspace=benchmark.workspace, name=name)
        run = GenerationRun.objects.create(benchmark=asked.benchmark, name=name)
        Response.objects.create(instruction=asked, model=model, run=run, text=text, words=9)
    return benchmark.instructions.get(external_id="essays-0")


def test_who_may(client, benchmark, lead):
    key = benchmark.instructions.first().public_id
    elsewhere = make_user("owner", make_workspace("elsewhere"), username="else")
    analyst, rater = (make_user(role, benchmark.workspace) for role in ("analyst", "rater"))
    calls = [
        ("drafted_checklists", PLACE, "post", {}),
        ("drafted_checklist", (*PLACE, key), "put", {"questions": ["A?"]}),
    ]
    for name, parts, method, sent in calls:
        for user, reading, writing in ((elsewhere, 404, 404), (analyst, 200, 403), (rater, 403, 403)):
            assert send(client, user, name, *parts, method="get").status_code == reading, (name, user)
            assert send(client, user, name, *parts, method=method, sent=sent).status_code == writing, (name, user)
        narrow = send(client, lead, name, *parts, method=method, sent=sent, scopes=["read", "run"])
        assert narrow.status_code == 403
    assert not Rubric.objects.exists() and not Instruction.objects.filter(benchmark__source="essays").exists()


def test_drafts_are_merged_and_approved(client, drafts, lead):
    (row,) = read(client, lead, "drafted_checklists", *PLACE)["results"]
    assert row == {
        "id": drafts.public_id,
        "instruction": "essays-0",
        "questions": 2,
        "models": ["a", "b"],
        "approved": False,
    }
    parts = (*PLACE, drafts.public_id)
    first = send(client, lead, "drafted_checklist", *parts, method="get")
    said = first.json()
    assert said["questions"] == [] and not said["approved"]
    assert [(one["text"], one["models"]) for one in said["drafts"]] == [
        (SAME, ["a", "b"]),
        ("Is there an example?", ["a"]),
    ]
    sent, match = {"questions": [SAME, " Is it  short? ", SAME]}, {"If-Match": first["ETag"]}
    stored = send(client, lead, "drafted_checklist", *parts, method="put", sent=sent, **match).json()
    assert stored["questions"] == [SAME, "Is it short?"] == own_checklist(drafts) and stored["approved"]
    assert send(client, lead, "drafted_checklist", *parts, method="put", sent=sent, **match).status_code == 412
    assert read(client, lead, "drafted_checklists", *PLACE)["results"][0]["approved"]


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({}, "questions: "),
        ({"questions": []}, "Keep at least one question."),
        ({"questions": ["  "]}, "Keep at least one question."),
        ({"questions": [f"{n}?" for n in range(99)]}, "There are 99 questions"),
        ({"questions": ["a" * 5000]}, "Question 1 is longer than"),
    ],
)
def test_what_is_no_checklist_is_refused(client, benchmark, lead, sent, said):
    parts = (*PLACE, benchmark.instructions.first().public_id)
    answer = send(client, lead, "drafted_checklist", *parts, method="put", sent=sent)
    assert answer.status_code == 400 and said in answer.json()["detail"], answer.json()
    assert not Rubric.objects.exists()


def test_an_instruction_of_another_benchmark_is_not_there(client, benchmark, lead):
    assert send(client, lead, "drafted_checklist", *PLACE, "none", method="get").status_code == 404
    Instruction.objects.filter(benchmark=benchmark).update(messages=None)
    refused = send(client, lead, "drafted_checklists", *PLACE)
    assert refused.status_code == 400 and "has no instruction with a text" in refused.json()["detail"]
