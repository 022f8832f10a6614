"""Words are found in what instructions say, on the benchmark's page: not in how messages are stored, in any letters."""

import importlib
import json

import pytest
from django.apps import apps
from django.core.management import call_command
from django.urls import reverse

from generation.library.search import folded, note_texts, saying
from generation.models import Benchmark, Instruction, InstructionText
from tests.factories import make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db
BEFORE = importlib.import_module("generation.migrations.0006_texts_to_search_and_surplus_replies")
SAID = {
    "tale": "Tell a tale of Timbuktu.",
    "user": "Explain to the User what a role is.",
    "travel": "写一篇“游记”，\n不要超过 100% 的 C:\\texts。",
    "french": "Décris l'ÉLAN d'un \"élève\".",
    "german": "Beschreibe eine STRASSE.",
}


def load(tmp_path, said=SAID, column="prompt"):
    table = tmp_path / "table.jsonl"
    rows = ({"instruction": name, column: text} for name, text in said.items())
    table.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    make_workspace()
    call_command("load_instructions", str(table), benchmark="essays")
    return Benchmark.objects.get()


def found(benchmark, words):
    return sorted(benchmark.instructions.filter(saying(words)).values_list("external_id", flat=True))


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("user", ["user"]),
        ("USER", ["user"]),
        ("role", ["user"]),
        ("content", []),
        ("timbuktu", ["tale"]),
        ("游记", ["travel"]),
        ("“游记”，", ["travel"]),
        ("c:\\TEXTS", ["travel"]),
        ("100%", ["travel"]),
        ("1%0", []),
        ("élan", ["french"]),
        ('"ÉLÈVE"', ["french"]),
        ("straße", ["german"]),
        ("travel", ["travel"]),
    ],
)
def test_the_text_is_searched_and_not_how_it_is_stored(tmp_path, words, names):
    assert found(load(tmp_path), words) == names


def test_the_page_finds_by_them(client, tmp_path):
    load(tmp_path)
    client.force_login(make_user("lead"))
    page = markup(client.get(reverse("generation:benchmark", args=["lab/essays"]), {"q": "“游记”\0"}))
    assert "1 instruction" in page and ">travel</a>" in page and ">tale</a>" not in page


def test_a_whole_conversation_is_searched(tmp_path):
    chat = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "A haiku?"},
        {"role": "assistant", "content": "Old pond."},
        {"role": "user", "content": "Another."},
    ]
    benchmark = load(tmp_path, {"talk": json.dumps(chat)}, "messages")
    for words in ("brief", "haiku", "pond", "another"):
        assert found(benchmark, words) == ["talk"]
    assert found(benchmark, "assistant") == []


def test_an_instruction_that_is_given_its_text_later_is_found(tmp_path):
    benchmark = Benchmark.objects.create(workspace=make_workspace(), slug="essays")
    Instruction.objects.create(benchmark=benchmark, external_id="tale")
    assert found(load(tmp_path), "timbuktu") == ["tale"]


def test_what_the_administration_changes_is_found_as_it_is_now(client, tmp_path):
    row = load(tmp_path).instructions.get(external_id="tale")
    client.force_login(make_user(is_staff=True, is_superuser=True))
    place = reverse("admin:generation_instruction_change", args=[row.pk])
    given = {"benchmark": row.benchmark_id, "external_id": "tale", "tags": "[]"}
    client.post(place, {**given, "messages": '[{"role": "user", "content": "Sing of Samarkand."}]'})
    assert (found(row.benchmark, "timbuktu"), found(row.benchmark, "samarkand")) == ([], ["tale"])
    client.post(place, {**given, "messages": "null"})
    assert found(row.benchmark, "samarkand") == []
    assert not InstructionText.objects.filter(instruction=row).exists()


def test_what_was_loaded_before_there_was_a_search_is_found(tmp_path, monkeypatch):
    benchmark = load(tmp_path, {f"n{n}": f"Number {n} of SAMARKAND." for n in range(7)} | SAID)
    before = dict(InstructionText.objects.values_list("instruction", "text"))
    Instruction.objects.create(benchmark=benchmark, external_id="silent")
    InstructionText.objects.all().delete()
    monkeypatch.setattr(BEFORE, "AT_ONCE", 2)
    BEFORE.note_texts(apps, None)
    assert dict(InstructionText.objects.values_list("instruction", "text")) == before
    assert len(before) == 12


@pytest.mark.parametrize("messages", ["a text", [5, {"role": "user"}, {"role": "user", "content": ["x"]}], {}])
def test_messages_that_are_no_chat_are_passed_over(messages):
    benchmark = Benchmark.objects.create(workspace=make_workspace(), slug="essays")
    Instruction.objects.create(benchmark=benchmark, external_id="odd", messages=messages)
    note_texts(benchmark.instructions.all())
    BEFORE.note_texts(apps, None)
    assert not InstructionText.objects.exists()


def test_what_no_database_keeps_is_no_obstacle():
    assert folded("A\0\ud800B") == "a\ufffd\ufffdb" == BEFORE._said([{"content": "A\0\ud800B"}])
