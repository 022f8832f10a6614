"""HREF's files: read in the shapes of its data sets and of its code's results, each record with its place."""

import json
from collections import Counter

import pytest

from core.tables.bad_rows import BadRow
from generation.importers.href import AGREEMENT, AGREEMENT_STUDY, DEVELOPMENT_STUDY, HUMAN, Href, instruction_name
from generation.importers.records import MAIN, InstructionRecord, PreferenceRecord, ResponseRecord
from tests.generation.importers.href_files import (
    BASELINE,
    CATEGORIES,
    EACH,
    MODELS,
    PEOPLE,
    agreement_rows,
    asked,
    development_rows,
    output,
    reference,
    verdict,
    write_array,
    write_href,
    write_lines,
    write_parquet,
)

HERE = len(CATEGORIES) * EACH


def refused(problem):
    raise problem


def records(files, kind, on_bad=refused):
    return [(part, record) for part in files.parts() for record in part.records(on_bad) if isinstance(record, kind)]


def one_row(tmp_path, rows, name="pairs.jsonl"):
    write_lines(tmp_path / name, rows)
    return Href(tmp_path)


@pytest.fixture
def whole(tmp_path):
    return Href(write_href(tmp_path))


def test_instructions_have_their_category_and_human_reference_and_are_named_by_their_words(whole):
    found = [record for part, record in records(whole, InstructionRecord) if part.experiment == MAIN]
    assert len(found) == HERE
    assert (found[0].text, found[0].category) == (asked("Brainstorm", 0), "Brainstorm")
    assert (found[0].reference, found[0].language) == (reference("Brainstorm", 0), "en")
    assert found[0].external_id == instruction_name(asked("Brainstorm", 0).replace(" ", "  "))
    assert len({record.external_id for record in found}) == HERE
    assert found[0].place.file.endswith("dev-00000-of-00001.parquet") and found[1].place.line == 2
    assert found[0].place.file.startswith("href/data")


def test_each_response_comes_once_and_each_set_keeps_its_own(whole):
    found = Counter((part.experiment, record.model) for part, record in records(whole, ResponseRecord))
    writers = [BASELINE, HUMAN, *MODELS]
    assert found == {(experiment, model): HERE for experiment in (MAIN, AGREEMENT) for model in writers}
    texts = {
        (part.experiment, record.model): record.text
        for part, record in records(whole, ResponseRecord)
        if record.instruction.text == asked("Closed QA", 3)
    }
    assert texts[MAIN, MODELS[0]] == output(MODELS[0], "Closed QA", 3)
    assert texts[AGREEMENT, MODELS[0]] == "Warm: " + output(MODELS[0], "Closed QA", 3)
    assert texts[MAIN, HUMAN] == texts[AGREEMENT, HUMAN] == reference("Closed QA", 3)


def test_parts_can_be_read_again(whole):
    part = next(part for part in whole.parts() if "responses.jsonl" in part.name)
    assert part.name == "results/Yi-1.5-34B-Chat/brainstorm/responses.jsonl (+1)"
    assert len(list(part.records(refused))) == len(list(part.records(refused))) == HERE


def test_peoples_four_annotations_are_their_choices(whole):
    found = [record for part, record in records(whole, PreferenceRecord) if part.study == AGREEMENT_STUDY]
    people = [record for record in found if not record.is_judge]
    assert len(people) == HERE * len(MODELS) * 4
    assert {record.rater for record in people} == set(PEOPLE)
    odd = [r for r in people if r.item == instruction_name(asked("Brainstorm", 1)) and r.model_a == MODELS[0]]
    assert [(r.rater, r.choice, r.model_b) for r in odd] == [
        ("ada", "B", BASELINE),
        ("ben", "B", BASELINE),
        ("cleo", "B", BASELINE),
        ("dov", "tie", BASELINE),
    ]


def test_judges_verdicts_go_to_the_set_they_are_about(whole):
    found = records(whole, PreferenceRecord)
    counts = Counter((part.study.slug, part.experiment, record.rater) for part, record in found if record.is_judge)
    each = HERE * len(MODELS)
    agreement, development = (AGREEMENT_STUDY.slug, AGREEMENT), (DEVELOPMENT_STUDY.slug, MAIN)
    assert counts == {
        (*agreement, "rouge"): each,
        (*agreement, "llm"): each,
        (*development, "rouge"): each,
        (*development, "llm"): each,
        (*development, "composite href"): each,
    }


def test_the_baseline_is_named_as_its_data_set_names_it_and_not_as_the_code_does(whole):
    judged = [record for part, record in records(whole, PreferenceRecord) if part.study == DEVELOPMENT_STUDY]
    assert {record.model_a for record in judged} == {BASELINE}
    assert {record.model_b for record in judged} == set(MODELS)
    llm = {record.category: record.choice for record in judged if record.rater == "llm"}
    assert llm == {"Brainstorm": "tie", "Closed QA": "A"}


def test_what_is_missing_is_listed_and_what_is_not_understood_too(tmp_path):
    write_lines(tmp_path / "own.jsonl", development_rows())
    (tmp_path / "results_href.json").write_text('{"Brainstorm": 0.5}')
    (tmp_path / "nothing.jsonl").write_text("")
    (tmp_path / "README.md").write_text("words")
    files = Href(tmp_path)
    assert files.absent == [
        "nothing.jsonl (empty)",
        "results_href.json (its name or fields are not understood)",
        "agreement set (data/dev-*.parquet of allenai/href_preference)",
    ]


@pytest.mark.parametrize("write", [write_parquet, write_lines, write_array])
def test_the_data_sets_are_known_by_their_fields_in_any_format(tmp_path, write):
    ending = {write_parquet: "parquet", write_lines: "jsonl", write_array: "json"}[write]
    write(tmp_path / f"a.{ending}", agreement_rows())
    write(tmp_path / f"b.{ending}", development_rows())
    files = Href(tmp_path)
    assert files.absent == []
    assert len(records(files, PreferenceRecord)) == HERE * len(MODELS) * 4
    assert files.unknown == {}


def test_unknown_fields_are_counted_and_never_dropped_in_silence(tmp_path):
    write_lines(tmp_path / "own.jsonl", [{**row, "topic": "x"} for row in development_rows()])
    found = [verdict((BASELINE, BASELINE), ("m", "m"), ("Brainstorm", 0), 1.0)]
    write_array(tmp_path / "m" / "brainstorm" / "llm" / "annotations.json", [{**found[0], "raw_completion": "A"}])
    files = Href(tmp_path)
    records(files, object)
    assert files.unknown == {"development set: topic": HERE, "annotations: raw_completion": 1}


def test_a_file_of_ones_own_tasks_needs_no_baseline(tmp_path):
    (tmp_path / "clone").mkdir()
    tasks = write_lines(tmp_path / "mine.jsonl", [{"instruction": "Add 1.", "reference": "2", "category": "Closed QA"}])
    files = Href(tmp_path / "clone", tasks)
    assert [record.text for _part, record in records(files, InstructionRecord)] == ["Add 1."]
    assert [(record.model, record.text) for _part, record in records(files, ResponseRecord)] == [(HUMAN, "2")]


def test_a_category_comes_from_the_data_set_then_the_row_then_the_folder(tmp_path):
    row = verdict((BASELINE, BASELINE), ("m", "m"), ("Brainstorm", 0), 2.0)
    path = tmp_path / "m" / "fact_checking_or_attributed_qa" / "llm" / "annotations.json"
    write_array(path, [row])
    (found,) = [record for _part, record in records(Href(tmp_path), PreferenceRecord)]
    assert (found.category, found.choice, found.model_b) == ("Fact Checking", "B", "m")
    write_array(path, [{**row, "dataset": "href_Open QA"}])
    assert records(Href(tmp_path), PreferenceRecord)[0][1].category == "Open QA"
    write_lines(tmp_path / "own.jsonl", development_rows())
    assert records(Href(tmp_path), PreferenceRecord)[0][1].category == "Brainstorm"


def test_an_unusable_preference_stays_empty_and_a_copy_counts_once(tmp_path):
    rows = [verdict((BASELINE, BASELINE), ("m", "m"), ("Brainstorm", n), p) for n, p in ((0, None), (1, 1.5), (1, 1.5))]
    write_array(tmp_path / "m" / "brainstorm" / "llm" / "annotations.json", rows)
    write_array(tmp_path / "m" / "llm_href_aggregated" / "llm" / "annotations.json", rows)
    assert [record.choice for _part, record in records(Href(tmp_path), PreferenceRecord)] == ["", "tie"]


def test_the_copies_that_the_code_makes_of_a_composites_verdicts_count_once(tmp_path):
    rows = [verdict((BASELINE, BASELINE), ("m", "m"), ("Brainstorm", n), 2.0) for n in range(3)]
    for folder in ("open_qa", "fact_checking"):
        write_array(tmp_path / "m" / folder / "href" / "annotations.json", rows)
    assert len(records(Href(tmp_path), PreferenceRecord)) == 3
    write_array(tmp_path / "m" / "open_qa" / "href" / "annotations.json", [{**rows[0], "preference": 1.0}])
    with pytest.raises(BadRow, match=r"'composite href' has another verdict on this pair in m/fact_checking/href/"):
        records(Href(tmp_path), PreferenceRecord)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"annotations": [1, 3, 1, 1]}, "the annotation '3' is none of 0, 1 and 2"),
        ({"annotations": [1, 1]}, "there are 2 annotations by 4 people"),
        ({"annotations": "yes"}, "'annotations' is no list with values"),
        ({"generator_a": ""}, "'generator_a' is empty"),
        ({"generator_a": BASELINE}, f"both responses are of '{BASELINE}'"),
        ({"instruction": " "}, "the instruction is empty"),
    ],
)
def test_a_bad_row_is_named_by_file_and_line_and_the_others_are_read(tmp_path, change, said):
    rows = agreement_rows()
    files = one_row(tmp_path, [rows[0], {**rows[1], **change}, rows[2]])
    problems = []
    part = next(part for part in files.parts() if part.study)
    assert len(list(part.records(problems.append))) == 8
    (problem,) = problems
    assert str(problem).startswith(f"pairs.jsonl line 2: {said}; ")


def test_a_second_text_of_a_model_is_refused_since_no_preference_says_which_it_is_about(tmp_path):
    rows = agreement_rows()[:2]
    files = one_row(tmp_path, [rows[0], {**rows[1], "output_b": "quite another"}])
    with pytest.raises(BadRow, match="has another response to this instruction elsewhere"):
        records(files, ResponseRecord)


def test_people_without_names_are_numbered(tmp_path):
    row = {key: value for key, value in agreement_rows()[0].items() if key != "annotaters"}
    found = records(one_row(tmp_path, [row]), PreferenceRecord)
    assert [record.rater for _part, record in found] == ["rater 1", "rater 2", "rater 3", "rater 4"]


def test_a_folder_of_other_things_is_refused(tmp_path):
    (tmp_path / "a.json").write_text('[{"x": 1}]')
    with pytest.raises(BadRow, match=r"none of HREF's files is in this folder; name the folder of a clone"):
        Href(tmp_path)


def test_broken_files_are_named(tmp_path):
    folder = tmp_path / "m" / "brainstorm"
    folder.mkdir(parents=True)
    (folder / "responses.jsonl").write_bytes(b'{"instruction": "\xff"}\n')
    with pytest.raises(BadRow, match=r"^m/brainstorm/responses\.jsonl line 1: byte 18 of the line is not UTF-8"):
        records(Href(tmp_path), ResponseRecord)
    (tmp_path / "data.parquet").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\n")
    with pytest.raises(BadRow, match=r"data\.parquet: this is a pointer of Git LFS, not the file; run git lfs pull"):
        Href(tmp_path)
    (tmp_path / "data.parquet").write_bytes(b"PAR1 and half of the rest")
    with pytest.raises(BadRow, match=r"data\.parquet: "):
        records(Href(tmp_path), ResponseRecord)
    (tmp_path / "data.parquet").unlink()
    (folder / "responses.jsonl").unlink()
    (folder / "llm").mkdir()
    good = [verdict((f"{number}", "a"), ("b", "b"), ("X", 0), 1) for number in (1, 2)]
    (folder / "llm" / "annotations.json").write_text(json.dumps(good, indent=2)[:-9])
    last = (folder / "llm" / "annotations.json").read_text().count("\n") + 1
    broken = rf"^m/brainstorm/llm/annotations\.json line {last}: the text is not valid JSON from here on"
    with pytest.raises(BadRow, match=broken):
        records(Href(tmp_path), PreferenceRecord)
    (folder / "llm" / "annotations.json").write_text(json.dumps([verdict(("a", "a"), ("b", "b"), ("X", 0), 7)]))
    with pytest.raises(BadRow, match=r"line 1: the preference '7' is none of 0, 1, 1\.5 and 2"):
        records(Href(tmp_path), PreferenceRecord)
