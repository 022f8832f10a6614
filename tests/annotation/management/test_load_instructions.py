"""manage.py load_instructions: prompts, conversations and parts in; what is stored, shown, and asked of a model."""

import csv
import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from accounts.models import Event
from generation.importers.instructions import requirements_in
from generation.models import Benchmark, Instruction
from generation.responses.plan import GenerationRequest, plan_generation
from generation.responses.runs import start_run
from generation.responses.worker import work_on
from tests.factories import make_user
from tests.generation.hostile_server import HostileServer, says_or_streams
from tests.generation.responses.test_sampling import QUICK, make_model
from tests.markup import markup

pytestmark = pytest.mark.django_db
PARTS = {
    "instruction": "p1",
    "task": "Summarise the text.",
    "data": "The river rose.\nIt fell.",
    "requirements": ["three sentences", "no names"],
}
WRAPPED = (
    "Summarise the text.\n\nMaterial:\n\nThe river rose.\nIt fell.\n\nRequirements:\n1. three sentences\n2. no names"
)
CHAT = [
    {"role": "user", "content": "Write a story.", "language": "English"},
    {"role": "assistant", "content": "About what?"},
    {"role": "user", "content": "About a river."},
]


def write(tmp_path, rows, name="rows.jsonl"):
    path = tmp_path / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def load(path, *words, benchmark="made"):
    out, err = io.StringIO(), io.StringIO()
    call_command("load_instructions", str(path), "--benchmark", benchmark, *words, stdout=out, stderr=err)
    return out.getvalue() + err.getvalue()


def asked_of_a_model(experiment="main"):
    """The messages that reach a real socket when the benchmark's instructions are answered, by what they end with."""
    with HostileServer(lambda request, n: says_or_streams(request, "Done.")) as server:
        run = plan_generation(
            GenerationRequest(Benchmark.objects.get(), models=(make_model(server),), experiment=experiment)
        )
        start_run(run, clock=timezone.now)
        work_on(run, options=QUICK)
    return [request["messages"] for request in server.requests]


def test_a_prompt_made_of_parts_is_what_a_model_is_asked_and_its_parts_stay_to_be_seen(tmp_path, client):
    assert "1 created (instructions)" in load(write(tmp_path, [PARTS]))
    stored = Instruction.objects.get()
    assert stored.parts == {name: PARTS[name] for name in ("task", "data", "requirements")}
    assert asked_of_a_model() == [[{"role": "user", "content": WRAPPED}]]
    client.force_login(make_user("analyst", stored.benchmark.workspace))
    page = markup(client.get(reverse("generation:instruction", args=[stored.public_id])))
    assert "Parts of the prompt" in page
    assert "<li>no names</li>" in page
    rows = client.get(
        f"/api/v1/w/{stored.benchmark.workspace.slug}/benchmarks/{stored.benchmark.slug}/instructions/"
    ).json()["results"]
    assert rows[0]["parts"]["data"] == PARTS["data"] and rows[0]["messages"][0]["content"] == WRAPPED


def test_the_parts_of_a_table_with_other_columns_and_lines_for_requirements(tmp_path):
    path = tmp_path / "rows.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "question", "article", "rules"])
        writer.writerow(["z1", "写一篇摘要。", "河水上涨。", "1. 不超过一百字\n2、不要列表\n"])
    named = ["instruction=id", "task=question", "data=article", "requirements=rules"]
    load(path, *(word for one in named for word in ("--column", one)))
    # The task is Chinese, so the headings are.
    assert (
        Instruction.objects.get().text == "写一篇摘要。\n\n材料:\n\n河水上涨。\n\n要求:\n1. 不超过一百字\n2. 不要列表"
    )
    (messages,) = asked_of_a_model("length-2k")
    assert messages[0]["content"].endswith(
        "篇幅：正文不少于2000字。篇幅不足即视为未完成；请勿中途停笔，勿以概述代替正文，也不要询问是否继续。"
    )


def test_a_conversation_is_sent_whole(tmp_path):
    row = {"session_id": "w1", "conversation_input": CHAT, "primary_tag": "Creative Writing"}
    named = ["instruction=session_id", "messages=conversation_input", "category=primary_tag"]
    load(write(tmp_path, [row]), *(word for one in named for word in ("--column", one)))
    stored = Instruction.objects.get()
    assert (stored.category.key, stored.text, stored.parts) == ("Creative Writing", "About a river.", None)
    plain = [{"role": one["role"], "content": one["content"]} for one in CHAT]
    assert asked_of_a_model() == [plain]


def test_what_stands_beside_a_prompt_is_stored(tmp_path):
    row = {
        "instruction": "a",
        "prompt": "Write.",
        "category": "essay",
        "parent": "long",
        "words_asked": 1000.0,
        "language": "English",
        "reference": "A river.",
        "hint": "Mention rivers.",
        "tags": ["creative", "short"],
    }
    load(write(tmp_path, [row]), "--title", "My essays")
    stored = Instruction.objects.get()
    assert (stored.words_asked, stored.language, stored.tags) == (1000, "en", ["creative", "short"])
    assert (stored.reference, stored.hint, stored.category.parent.key) == ("A river.", "Mention rivers.", "long")
    assert stored.benchmark.name == "My essays"
    assert Event.objects.filter(verb="loaded instructions").count() == 1


def test_loading_again_fills_in_what_is_missing_and_changes_no_text(tmp_path):
    load(write(tmp_path, [{"instruction": "a", "prompt": "Write."}, {"instruction": "b", "prompt": "Sing."}]))
    said = load(
        write(
            tmp_path,
            [
                {"instruction": "a", "prompt": "Write.", "reference": "A text.", "category": "essay"},
                {"instruction": "b", "prompt": "Dance."},
                {"instruction": "c", "prompt": "Walk."},
            ],
        )
    )
    assert "1 created, 1 completed, 1 already there" in said
    assert "The text or reference of 1 instructions differs from the stored one, which was kept: b." in said
    assert [one.text for one in Instruction.objects.order_by("external_id")] == ["Write.", "Sing.", "Walk."]
    first = Instruction.objects.get(external_id="a")
    assert (first.reference, first.category.key) == ("A text.", "essay")
    assert "already there" in load(write(tmp_path, [{"instruction": "a", "prompt": "Write."}]))
    assert Event.objects.filter(verb="loaded instructions").count() == 2


def test_a_column_called_task_is_no_part_where_a_prompt_stands(tmp_path):
    load(write(tmp_path, [{"instruction": "a", "prompt": "Write.", "task": "summarization", "data": "x"}]))
    assert Instruction.objects.get().text == "Write."


@pytest.mark.parametrize(
    ("row", "words", "why"),
    [
        ({"prompt": "Write."}, (), "no column 'instruction'"),
        ({"instruction": "", "prompt": "Write."}, (), "line 1: it names no instruction"),
        ({"instruction": "a"}, (), "line 1: nothing is asked in 'a'"),
        ({"instruction": "a", "data": "x"}, (), "data or requirements and no task"),
        ({"instruction": "a", "prompt": "x", "task": "y"}, ("--column", "task=task"), "both a prompt and a task"),
        ({"instruction": "a", "messages": "hello"}, (), "its messages are not JSON"),
        ({"instruction": "a", "messages": [{"from": "human", "value": "x"}]}, (), "message 1 is none with a role"),
        ({"instruction": "a", "messages": CHAT[:2]}, (), "do not end with something that the user says"),
        ({"instruction": "a", "messages": []}, (), "do not end with something that the user says"),
        ({"instruction": "a" * 201, "prompt": "x"}, (), "name is too long"),
        ({"instruction": "a", "prompt": "x", "category": "c" * 101}, (), "the category 'c+'... is too long"),
        ({"instruction": "a", "prompt": "x", "words_asked": "²"}, (), "'²' is no number of words"),
        ({"instruction": "a", "prompt": "x", "words_asked": 10**30}, (), "is no number of words"),
        ({"instruction": "a", "prompt": "x", "language": "Old Church Slavonic"}, (), "is no language"),
        ({"instruction": "a", "prompt": "x", "tags": ["t" * 101]}, (), "a tag is too long"),
        ({"instruction": "a", "prompt": "x"}, ("--column", "text=x"), "must have the form NAME=COLUMN"),
        ({"instruction": "a", "prompt": "x"}, ("--column", "prompt=text"), "no column 'text'"),
        ({"instruction": "a", "prompt": "x"}, ("--language", "Old Church Slavonic"), "--language: .* is no language"),
        ({"instruction": "a", "prompt": "x"}, ("--title", "t" * 201), "--title is too long"),
    ],
)
def test_what_cannot_be_taken_is_told_and_nothing_is_kept(tmp_path, row, words, why):
    with pytest.raises(CommandError, match=why):
        load(write(tmp_path, [row]), *words)
    assert not Benchmark.objects.exists()


def test_bad_rows_can_be_left_out_but_not_all_of_them(tmp_path, settings):
    settings.DATA_DIR = tmp_path
    bad = {"instruction": "a", "prompt": ""}
    said = load(write(tmp_path, [{"instruction": "b", "prompt": "x"}, bad]), "--on-error", "skip")
    assert "1 created, 1 skipped" in said and "skipped-made" in said
    with pytest.raises(CommandError, match=r"No row can be loaded\. The first problem: rows\.jsonl line 1"):
        load(write(tmp_path, [bad]), "--on-error", "skip", benchmark="other")
    assert not Benchmark.objects.filter(slug="other").exists()


def test_the_same_instruction_twice_is_a_bad_row(tmp_path):
    row = {"instruction": "a", "prompt": "x"}
    with pytest.raises(CommandError, match="line 2: instruction 'a' stands in an earlier row too"):
        load(write(tmp_path, [row, row]))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", ()),
        ("one line", ("one line",)),
        ('["a", "b"]', ("a", "b")),
        ("- a\n* b\n\n(3) c\n4. d\n5、e", ("a", "b", "c", "d", "e")),
        ("1.5 line spacing\n3D drawing", ("1.5 line spacing", "3D drawing")),
    ],
)
def test_requirements_lose_the_marks_of_their_list(text, found):
    assert requirements_in(text) == found
