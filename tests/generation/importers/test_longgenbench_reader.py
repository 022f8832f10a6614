"""LongGenBench's repository as records: instructions, checks, outputs, the authors' counts, and what cannot be read."""

import csv
import json
from collections import Counter

import pytest

from core.tables.bad_rows import BadRow, refuse
from generation.importers.longgenbench import Longgenbench
from generation.importers.records import AggregateRecord, CheckSetRecord, InstructionRecord, ResponseRecord
from tests.generation.importers.longgenbench_files import CITY, DIARY, TOWER, make_clone, output


def read(root, on_bad=refuse):
    """The records by their part's name."""
    clone = Longgenbench(root)
    return clone, {part.name: list(part.records(on_bad)) for part in clone.parts()}


def test_instructions_have_scenario_version_and_first_line(tmp_path):
    _clone, parts = read(make_clone(tmp_path))
    diary, tower = parts["Dataset/Dataset_short.json"]
    assert isinstance(diary, InstructionRecord)
    assert (diary.external_id, diary.category, diary.parent) == ("short-000", "diary_short", "diary")
    assert (tower.external_id, tower.category, tower.tags) == ("short-001", "skyscraper_design_short", ("short",))
    assert diary.messages == [
        {"role": "user", "content": DIARY["prompt"]},
        {"role": "assistant", "content": DIARY["prefix"]},
    ]
    assert [row.category for row in parts["Dataset/Dataset_long.json"]] == ["urban_planning_long"]


def test_checks_say_kind_part_and_number_of_parts(tmp_path):
    _clone, parts = read(make_clone(tmp_path))
    diary, tower = parts["Dataset/Dataset_short.json (checks)"]
    assert isinstance(diary, CheckSetRecord)
    assert diary.instruction == "short-000"
    assert [(check.kind, check.numbers, check.mark, check.asked) for check in diary.checks] == [
        ("single", (2,), "Week", 4),
        ("range", (3, 4), "Week", 4),
        ("periodic", (1, 3), "Week", 4),
    ]
    assert "the visit to the dentist" in diary.checks[0].question
    # The same thing on two floors is one question about two parts.
    assert [(check.kind, check.numbers) for check in tower.checks] == [("single", (1, 3)), ("periodic", (2,))]


def test_an_output_gets_the_first_line_that_it_was_given(tmp_path):
    _clone, parts = read(make_clone(tmp_path))
    diary, _tower = parts["Evalution/results/Tiny-1B_maxlen16000.json"]
    assert isinstance(diary, ResponseRecord)
    assert (diary.model, diary.instruction.external_id) == ("Tiny-1B", "short-000")
    assert (
        diary.text
        == f"{DIARY['prefix']} Nora swims.#*# Week 2: Nora sees the dentist.#*# Week 3: Nora walks by the sea."
    )


def test_the_authors_counts_are_read_under_the_names_of_their_files(tmp_path):
    _clone, parts = read(make_clone(tmp_path))
    tiny, huge = parts["Evalution/results/static.csv"]
    assert isinstance(tiny, AggregateRecord)
    assert (tiny.model, tiny.version, tiny.checks, tiny.answered, tiny.fulfilled) == ("Tiny-1B", "short", 40, 30, 12)
    assert (tiny.completion, tiny.words) == (82.5, 811.5)
    assert (huge.model, huge.version, huge.words, huge.place.line) == ("Huge_16K", "short", None, 3)


def test_what_is_not_understood_is_listed(tmp_path):
    root = make_clone(tmp_path)
    (root / "Dataset/Dataset_long.json").write_text("")
    (root / "Dataset/Dataset_short.json").write_text(json.dumps([{**DIARY, "mood": "calm"}, TOWER]))
    (root / "Evalution/results/notes.json").write_text("[]")
    clone, parts = read(root)
    assert "Dataset/Dataset_long.json" not in parts
    assert clone.absent == [
        "Dataset/Dataset_long.json (empty)",
        "Evalution/results/notes.json (its name is not understood)",
    ]
    assert clone.unknown == {"Dataset/Dataset_*.json: mood": 1}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"prompt": ""}, "'prompt' is missing or no text"),
        ({"type": "Opera"}, "type 'Opera' is no scenario"),
        ({"number": "many"}, "'number' is missing or no number of parts"),
        ({"number": True}, "'number' is missing or no number of parts"),
        ({"checks_once": None}, "'checks_once' is missing"),
        ({"checks_once": {"third": "bakery"}}, "'third' in 'checks_once' names no part"),
        ({"checks_range": {"9-3": "bakery"}}, "'9-3' in 'checks_range' names no part"),
        ({"checks_periodic": {"2": ""}}, "has no text for '2'"),
        ({"prefix": 3}, "'prefix' is missing or no text"),
    ],
)
def test_a_broken_instruction_is_named_once_and_the_others_are_read(tmp_path, change, said):
    root = make_clone(tmp_path)
    rows = [{**DIARY, **change}, TOWER]
    (root / "Dataset/Dataset_short.json").write_text(json.dumps(rows, indent=4))
    problems: list[BadRow] = []
    part, checks = (part for part in Longgenbench(root).parts() if "short.json" in part.name)
    assert [row.external_id for row in part.records(problems.append)] == ["short-001"]
    assert [row.instruction for row in checks.records(problems.append)] == ["short-001"]
    (problem,) = problems
    assert str(problem).startswith("Dataset/Dataset_short.json line 2: ")
    assert said in str(problem)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[{"prompt": "a"}', "line 1: the JSON is broken or cut off after this entry"),
        ('[\n  {"prompt": \n', "line 2: the JSON is broken or cut off"),
        ("{}", "the file is not a JSON array"),
    ],
)
def test_a_broken_file_is_named_with_its_line(tmp_path, text, said):
    root = make_clone(tmp_path)
    (root / "Dataset/Dataset_short.json").write_text(text)
    with pytest.raises(BadRow, match=r"Dataset/Dataset_short\.json") as refused:
        read(root, lambda problem: None)
    assert said in str(refused.value)


def test_another_encoding_is_named_with_its_line(tmp_path):
    root = make_clone(tmp_path)
    (root / "Dataset/Dataset_short.json").write_bytes("[\n {}, {'a': 'ü'}]".encode("latin-1"))
    with pytest.raises(BadRow, match=r"Dataset_short\.json line 2: byte 13 of the line is not UTF-8"):
        read(root)


def test_outputs_of_another_revision_are_refused_row_by_row(tmp_path):
    root = make_clone(tmp_path)
    path = root / "Evalution/results/Tiny-1B_maxlen16000.json"
    path.write_text(json.dumps([output(CITY, "x"), output(TOWER, "y"), {"input": TOWER["prompt"]}], indent=1))
    problems: list[BadRow] = []
    _clone, parts = read(root, problems.append)
    assert [row.instruction.external_id for row in parts["Evalution/results/Tiny-1B_maxlen16000.json"]] == ["short-001"]
    assert [problem.reason for problem in problems] == [
        "the prompt is none of Dataset_short.json",
        "'output_blocks' is missing or no list of texts",
    ]


def test_impossible_counts_are_refused(tmp_path):
    root = make_clone(tmp_path)
    path = root / "Evalution/results/static.csv"
    path.write_text(path.read_text().replace("40,30,12", "40,12,30"))
    with pytest.raises(BadRow, match=r"static\.csv line 2: more is present or fulfilled than was checked"):
        read(root)


def test_a_folder_without_any_of_it_is_refused(tmp_path):
    with pytest.raises(BadRow, match="this is no clone of LongGenBench"):
        Longgenbench(tmp_path)


def test_the_data_may_stand_elsewhere(tmp_path):
    root = make_clone(tmp_path / "clone")
    elsewhere = tmp_path / "my_short.json"
    (root / "Dataset/Dataset_short.json").rename(elsewhere)
    names = [part.name for part in Longgenbench(root, elsewhere).parts()]
    assert "my_short.json" in names
    with pytest.raises(BadRow, match="neither short nor long"):
        Longgenbench(root, tmp_path / "tasks.json")


def test_the_real_layout_is_read_whole(shared_data):
    """Checks of every real instruction of the sample are those that the authors' data lists."""
    clone, parts = read(shared_data("longgenbench/sample_repo"))
    assert (clone.absent, clone.unknown) == ([], {})
    assert [len(rows) for rows in parts.values()] == [8, 4, 8, 4, 21]
    with shared_data("longgenbench/items.csv").open(encoding="utf-8") as file:
        known = {
            (row["version"], *(Counter(row[f"{kind}_ids"].split()).total() for kind in ("once", "range", "periodic")))
            for row in csv.DictReader(file)
        }
    for version in ("short", "long"):
        for record in parts[f"Dataset/Dataset_{version}.json (checks)"]:
            kinds: Counter[str] = Counter()
            for check in record.checks:
                kinds[check.kind] += len(check.numbers)
            assert (version, kinds["single"], kinds["range"], kinds["periodic"]) in known
