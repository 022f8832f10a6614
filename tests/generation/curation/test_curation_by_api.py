"""A benchmark curated over the API: what the rules say, decisions, the tag, and questions about difficulty."""

import pytest

from accounts.models import Event
from core.models import RequestedTask
from generation.curation import applying
from generation.models import Instruction
from generation.tasks import curate
from tests.api_calls import read, send
from tests.factories import make_user, make_workspace
from tests.generation.curation.test_curating import RIVER, TIDE, benchmark_of, tagged

pytestmark = pytest.mark.django_db
POOL = ("lab", "pool")
ALL = {"shortest": 0, "similarity": 0, "tag": "mine"}


@pytest.fixture
def benchmark():
    return benchmark_of(TIDE, TIDE + " Please.", "Hi", RIVER)


@pytest.fixture
def lead(benchmark):
    return make_user("lead", benchmark.workspace, username="lena")


def key_of(name):
    return Instruction.objects.get(external_id=name).public_id


def test_who_may(client, benchmark, lead):
    elsewhere = make_user("owner", make_workspace("elsewhere"), username="else")
    analyst, rater = (make_user(role, benchmark.workspace) for role in ("analyst", "rater"))
    calls = [
        ("apply_curation", {}),
        ("decide_on_instruction", {"instruction": key_of("i0"), "decision": "keep"}),
        ("ask_difficulty", {}),
    ]
    for name, sent in calls:
        for user, status in ((elsewhere, 404), (analyst, 403), (rater, 403)):
            assert send(client, user, name, *POOL, sent=sent).status_code == status, (name, user)
        narrow = send(client, lead, name, *POOL, sent=sent, scopes=["read", "ratings", "run"])
        assert narrow.status_code == 403
    for name in ("curation", "curated_instructions"):
        for user, status in ((elsewhere, 404), (analyst, 200), (rater, 403)):
            assert send(client, user, name, *POOL, method="get").status_code == status, (name, user)
    assert tagged() == [] and not Event.objects.filter(object_type__startswith="generation.").exists()


def test_what_the_rules_say_changes_nothing(client, lead):
    said = read(client, lead, "curation", *POOL)
    assert (said["instructions"], said["kept"], said["tag"], said["tagged"]) == (4, 2, "curated", 0)
    assert said["reasons"] == {"short": 1, "duplicate": 1} and said["unstated"]["language"] == 4
    query = "?shortest=0&similarity=0&languages=en,zh-hans&last_of_user=false"
    rules = read(client, lead, "curation", *POOL, query=query)["rules"]
    assert (rules["languages"], rules["last_of_user"], rules["shortest"]) == (["en", "zh-hans"], False, 0)
    rows = read(client, lead, "curated_instructions", *POOL)["results"]
    assert [(one["instruction"], one["reason"], one["what"]) for one in rows] == [
        ("i0", "", ""),
        ("i1", "duplicate", "i0"),
        ("i2", "short", "1"),
        ("i3", "", ""),
    ]
    assert 0.7 <= rows[1]["similarity"] < 1 and rows[0]["similarity"] is None
    for show, names in (("stay", ["i0", "i3"]), ("short", ["i2"])):
        found = read(client, lead, "curated_instructions", *POOL, query=f"?show={show}&size=1")
        assert [one["instruction"] for one in found["results"]] == names[:1]
    assert tagged() == []


@pytest.mark.parametrize(
    "query",
    [
        "?shortest=x",
        "?shortest=-1",
        "?languages=klingonisch",
        "?similarity=2",
        "?difficulty=1",
        "?tag=a,b",
        "?last_of_user=x",
    ],
)
def test_rules_that_cannot_be_read_are_refused(client, lead, query):
    for name in ("curation", "curated_instructions"):
        answer = send(client, lead, name, *POOL, method="get", query=query)
        assert answer.status_code == 400 and query[1:].partition("=")[0] in answer.json()["detail"], answer.json()
    name, _equals, value = query[1:].partition("=")
    assert send(client, lead, "apply_curation", *POOL, sent={name: value}).status_code == 400
    shown = send(client, lead, "curated_instructions", *POOL, method="get", query="?show=dull")
    assert shown.status_code == 400 and tagged() == []


def test_the_tag_is_given_and_taken(client, lead):
    assert send(client, lead, "apply_curation", *POOL, sent=ALL).json() == {"kept": 4, "added": 4, "removed": 0}
    said = send(client, lead, "apply_curation", *POOL, sent={"tag": "mine"}).json()
    assert said == {"kept": 2, "added": 0, "removed": 2} and tagged("mine") == ["i0", "i3"]
    assert Event.objects.filter(verb="instructions curated", actor=lead).count() == 2
    assert read(client, lead, "curation", *POOL, query="?tag=mine")["tagged"] == 2


def test_a_large_benchmark_is_curated_by_a_worker(client, lead, monkeypatch, django_capture_on_commit_callbacks):
    monkeypatch.setattr(applying, "MOST_INSTRUCTIONS", 3)
    said = read(client, lead, "curation", *POOL)
    assert (said["instructions"], said["kept"], said["reasons"]) == (4, None, None)
    listed = send(client, lead, "curated_instructions", *POOL, method="get")
    assert listed.status_code == 400 and "only a worker curates" in listed.json()["detail"]
    with django_capture_on_commit_callbacks(execute=True):
        answer = send(client, lead, "apply_curation", *POOL, sent=ALL)
    assert answer.status_code == 202 and "A worker applies" in answer.json()["detail"]
    asked = RequestedTask.objects.get(task="generation.curate")
    assert asked.arguments[2:] == ["mine", lead.pk] and tagged("mine") == []
    curate(*asked.arguments)
    assert len(tagged("mine")) == 4


def test_a_person_decides_and_takes_it_back(client, lead):
    def decide(**sent):
        return send(client, lead, "decide_on_instruction", *POOL, sent=sent)

    river, short = key_of("i3"), key_of("i2")
    for sent, status, said in (
        ({"instruction": river, "decision": "drop", "reason": " "}, 400, "Enter a reason"),
        ({"instruction": river, "decision": "drop", "reason": "a" * 501}, 400, "The reason has 501 characters"),
        ({"instruction": river, "decision": "burn"}, 400, "decision: "),
        ({"decision": "keep"}, 400, "instruction: "),
        ({"instruction": "none", "decision": "keep"}, 404, "no such instruction"),
    ):
        answer = decide(**sent)
        assert answer.status_code == status and said in answer.json()["detail"], answer.json()
    dropped = decide(instruction=river, decision="drop", reason="It names a person.").json()
    assert dropped == {"instruction": river, "decision": "drop", "reason": "It names a person.", "by": "lena"}
    assert decide(instruction=short, decision="keep").json()["decision"] == "keep"
    rows = {one["instruction"]: one for one in read(client, lead, "curated_instructions", *POOL)["results"]}
    assert (rows["i3"]["reason"], rows["i3"]["decision"], rows["i3"]["decided_by"]) == ("person", "drop", "lena")
    assert (rows["i2"]["reason"], rows["i2"]["decision"]) == ("", "keep")
    undone = decide(instruction=river, decision="undo").json()
    assert undone == {"instruction": river, "decision": "", "reason": "", "by": ""}


def test_models_are_asked_how_difficult_instructions_are(client, lead):
    for _again in range(2):
        answer = send(client, lead, "ask_difficulty", *POOL)
        assert answer.status_code == 201 and answer.json() == {"benchmark": "pool-difficulty", "instructions": 4}
    Instruction.objects.filter(benchmark__slug="pool").update(messages=None)
    refused = send(client, lead, "ask_difficulty", *POOL)
    assert refused.status_code == 400 and "has no instruction with a text" in refused.json()["detail"]
