"""manage.py curate: what is told and tagged, on record and again, with ratings by models and a table's own columns."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from accounts.models import Event
from core.errors import UserError
from generation.curation.reviews import decide, decisions_of
from generation.models import Benchmark, Instruction
from tests.factories import make_user, make_workspace
from tests.generation.hostile_server import HostileServer, says_or_streams

pytestmark = pytest.mark.django_db
TIDE = "Explain in simple words how the tide comes about and why there are two of them on most days."
RIVER = "Write a long letter to my cousin about the river that ran past our house when we were children."


def benchmark_of(*texts, **fields):
    benchmark = Benchmark.objects.create(workspace=make_workspace(), slug="pool")
    for number, text in enumerate(texts):
        messages = [{"role": "user", "content": text}]
        Instruction.objects.create(benchmark=benchmark, external_id=f"i{number}", messages=messages, **fields)
    return benchmark


def curate(*words):
    out = io.StringIO()
    call_command("curate", "pool", *words, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def result(*words):
    return json.loads(curate("--json", *words))


def tagged(tag="curated"):
    rows = Instruction.objects.filter(benchmark__slug="pool").order_by("external_id")
    return [one.external_id for one in rows if tag in one.tags]


def test_a_dry_run_tells_and_changes_nothing():
    benchmark_of(TIDE, TIDE + " Please.", "Hi", RIVER)
    said = curate("--dry-run")
    assert "4 instructions, 2 stay" in said and "near-duplicate" in said and "i1: i0 (0." in said
    assert "1  too short" in said and "i2: 1" in said and "Nothing was changed." in said
    assert tagged() == [] and not Event.objects.exists()


def test_those_that_stay_get_the_tag_on_record_and_again_with_the_same_result():
    benchmark = benchmark_of(TIDE, TIDE + " Please.", "Hi", RIVER, tags=["Coding"])
    first = result("--tag", "hard set")
    assert (first["instructions"], first["kept"], first["added"], first["removed"]) == (4, 2, 2, 0)
    assert first["reasons"] == {"short": 1, "duplicate": 1} and first["applied"]
    assert first["unstated"] == {"language": 4, "user": 4, "difficulty": 4}
    assert [one["instruction"] for one in first["leaving"]] == ["i1", "i2"]
    assert first["leaving"][0]["what"] == "i0" and 0.7 <= first["leaving"][0]["similarity"] < 1
    assert tagged("hard set") == ["i0", "i3"] and tagged("Coding") == ["i0", "i1", "i2", "i3"]
    event = Event.objects.get(verb="instructions curated")
    assert event.object_id == str(benchmark.pk)
    assert (event.after["tag"], event.after["kept"], event.after["rules"]["similarity"]) == ("hard set", 2, 0.7)
    again = result("--tag", "hard set")
    assert {**again, "added": 2} == first and again["added"] == 0


def test_other_rules_take_the_tag_away():
    benchmark_of(TIDE, TIDE + " Please.", "Hi", RIVER)
    result()
    changed = result("--shortest", "0", "--similarity", "0", "--longest", "18")
    assert changed["removed"] == len({"i0", "i3"} - set(tagged())) and "i2" in tagged()


def test_people_decide_above_the_rules_and_may_take_it_back():
    benchmark = benchmark_of(TIDE, "Hi", RIVER)
    user = make_user("lead")
    short, river = (Instruction.objects.select_related("benchmark").get(external_id=name) for name in ("i1", "i2"))
    decide(short, "keep", "", user=user)
    decide(river, "drop", "It names a person.", user=user)
    found = result()
    assert tagged() == ["i0", "i1"] and found["leaving"] == [
        {"instruction": "i2", "reason": "person", "what": "It names a person.", "similarity": None}
    ]
    assert {one.reason for one in decisions_of(benchmark).values()} == {"", "It names a person."}
    decide(river, "undo", "", user=user)
    result()
    assert tagged() == ["i0", "i1", "i2"]
    with pytest.raises(UserError, match="reason"):
        decide(river, "drop", "  ", user=user)
    with pytest.raises(UserError, match="500"):
        decide(river, "drop", "x" * 501, user=user)


def test_users_difficulty_and_languages_come_with_a_table(tmp_path):
    rows = [
        {"instruction": "a", "prompt": TIDE, "who": "u1", "level": ["easy", "very easy"], "language": "en"},
        {"instruction": "b", "prompt": RIVER, "who": "u2", "level": "hard", "language": "en"},
        {"instruction": "c", "prompt": f"{RIVER} And one more to my aunt in the far north.", "who": "u2", "level": ""},
        {
            "instruction": "d",
            "prompt": "Schreibe einen Brief über den Fluss, der an unserem Haus entlang floss.",
            "language": "de",
        },
    ]
    file = tmp_path / "pool.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    columns = ("--column", "user=who", "--column", "difficulty=level")
    call_command("load_instructions", str(file), "--benchmark", "pool", *columns, stdout=io.StringIO())
    assert list(Instruction.objects.order_by("pk").values_list("asked_by", "difficulty")) == [
        ("u1", [2, 1]),
        ("u2", [4]),
        ("u2", None),
        ("", None),
    ]
    found = result("--language", "English")
    assert {one["instruction"]: one["reason"] for one in found["leaving"]} == {
        "a": "easy",
        "b": "user",
        "d": "language",
    }
    assert tagged() == ["c"]


def test_a_difficulty_that_is_none_is_refused_with_its_line(tmp_path):
    file = tmp_path / "pool.jsonl"
    file.write_text(json.dumps({"instruction": "a", "prompt": TIDE, "level": "tricky"}) + "\n", encoding="utf-8")
    with pytest.raises(CommandError, match=r"line 1.*'tricky' is no difficulty"):
        call_command("load_instructions", str(file), "--benchmark", "pool", "--column", "difficulty=level")


def test_a_column_of_that_name_is_not_read_unless_it_is_named(tmp_path):
    file = tmp_path / "pool.jsonl"
    row = {"instruction": "a", "prompt": TIDE, "difficulty": "level 7", "user": "u"}
    file.write_text(json.dumps(row) + "\n", encoding="utf-8")
    out = io.StringIO()
    call_command("load_instructions", str(file), "--benchmark", "pool", stdout=out)
    assert "Columns that were not read: difficulty, user" in out.getvalue()
    assert Instruction.objects.get().asked_by == ""


def test_several_models_rate_the_difficulty_by_an_ordinary_run():
    benchmark_of(TIDE, RIVER, "请用简单的话解释潮汐是怎样形成的，为什么一天通常有两次涨潮？")
    said = curate("--ask-difficulty")
    assert "pool-difficulty has 3 questions" in said and "generate pool-difficulty" in said
    assert "has 3 questions" in curate("--ask-difficulty")
    questions = Instruction.objects.filter(benchmark__slug="pool-difficulty").order_by("external_id")
    assert TIDE in questions[0].text and questions[0].language == "en"
    assert "难度" in questions[2].text and questions[2].language == "zh-hans"

    def play(request, n):
        asked, model = request["messages"][-1]["content"], request["model"]
        level = "very easy" if TIDE in asked else "easy" if model == "a" else "hard"
        return says_or_streams(request, f"It needs care.\nDifficulty: {level}")

    with HostileServer(play) as server:
        where = ("--model", "a", "--model", "b", "--base-url", server.base_url)
        call_command("generate", "pool-difficulty", *where, stdout=io.StringIO())
    found = result()
    assert found["leaving"] == [{"instruction": "i0", "reason": "easy", "what": "1", "similarity": None}]
    assert found["unstated"]["difficulty"] == 0
    assert result("--difficulty", "5")["reasons"] == {"easy": 3}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--tag", "a,b"), "no comma"),
        (("--tag", " "), "1 to 100"),
        (("--tag", "x" * 101), "1 to 100"),
        (("--similarity", "1.5"), "--similarity 1.5"),
        (("--sequence", "0"), "--sequence 0"),
        (("--difficulty", "6"), "--difficulty 6"),
        (("--shortest", "-1"), "--shortest -1"),
        (("--language", "klingonisch"), "is no language"),
    ],
)
def test_bad_options_change_nothing(words, why):
    benchmark_of(TIDE)
    with pytest.raises(CommandError, match=why):
        curate(*words)
    assert tagged() == []


def test_an_unknown_benchmark_is_named():
    benchmark_of(TIDE)
    with pytest.raises(CommandError, match="There is no benchmark 'other'; there are: pool"):
        call_command("curate", "other", "--workspace", "lab")
