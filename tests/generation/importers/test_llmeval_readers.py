"""The readers of LLMEval-1 and LLMEval-2: what they hand on, what they list, and what they refuse."""

import json

import pytest

from core.tables.bad_rows import BadRow, Place
from generation.importers.json_arrays import json_array
from generation.importers.llmeval1 import TYPES, Llmeval1, type_of
from generation.importers.llmeval2 import Llmeval2
from tests.llmeval_files import dialog, star_rows, write_llmeval1, write_llmeval2


def records(reader, name, *, study=""):
    """The records of the parts of this name and study."""
    found = [part for part in reader.parts() if part.name == name and (part.study.slug if part.study else "") == study]
    return [record for part in found for record in part.records(pytest.fail)]


def test_stars_of_the_first_stage_keep_repeats_kinds_and_categories(tmp_path):
    reader = Llmeval1(write_llmeval1(tmp_path))
    stars = records(reader, "data/分项测评_gpt4.csv", study="llmeval1-stars")
    assert len(stars) == 35
    assert {(one.rater, one.is_judge, one.rater_kind) for one in stars} == {("GPT-4", True, "")}
    assert [
        one.value for one in stars if (one.item, one.model, one.criterion) == ("Math-Solving_1", "NewBing", "accuracy")
    ] == ["1", "3"]
    people = records(reader, "data/分项测评_manual.csv", study="llmeval1-stars")
    assert {(one.rater, one.rater_kind) for one in people} == {("0-7", "onsite"), ("0-8", "onsite"), ("0-9", "onsite")}
    assert {one.category for one in people} == {"math_solving", "story_generation"}
    assert people[0].place == Place("data/分项测评_manual.csv", 2)
    assert not reader.absent
    assert not reader.unknown


def test_denoised_answers_stand_in_a_study_apart(tmp_path):
    reader = Llmeval1(write_llmeval1(tmp_path))
    studies = {part.study.slug: part.study for part in reader.parts() if part.study}
    assert {slug: shape.experiment for slug, shape in studies.items()} == {
        "llmeval1-stars": "main",
        "llmeval1-stars-denoised": "denoised",
        "llmeval1-pairs": "main",
        "llmeval1-pairs-denoised": "denoised",
    }
    assert all(part.experiment == "main" for part in reader.parts())


def test_pairs_are_read_by_their_letters_and_kinds(tmp_path):
    pairs = records(Llmeval1(write_llmeval1(tmp_path)), "data/对比测评_manual.csv", study="llmeval1-pairs")
    assert [(one.model_a, one.model_b, one.choice, one.rater, one.rater_kind) for one in pairs] == [
        ("GPT-4", "moss", "A", "crowd-7", "crowd"),
        ("moss", "NewBing", "tie", "crowd-7", "crowd"),
        ("GPT-4", "NewBing", "both_bad", "crowd-7", "crowd"),
        ("NewBing", "moss", "B", "crowd-7", "crowd"),
    ]


def test_unknown_fields_columns_kinds_and_files_are_listed(tmp_path):
    data = write_llmeval1(tmp_path) / "data"
    (data / "dialogs.json").write_text(json.dumps([dialog("Code_1", "m", "x", mood="good")]), encoding="utf-8")
    (data / "对比测评_manual.csv").write_text("question_uuid,winner_of\nCode_1,m\n", encoding="utf-8")
    (data / "other.csv").write_text("a\n1\n", encoding="utf-8")
    pairs = (
        "question_uuid,dialog_uuid_1,dialog_uuid_2,user_id,user_type,answer,mood\nCode_1,m_Code_1,n_Code_1,5,2,m,ok\n"
    )
    (data / "对比测评_manual_denoised.csv").write_text(pairs, encoding="utf-8")
    reader = Llmeval1(tmp_path)
    (one,) = records(reader, "data/对比测评_manual_denoised.csv", study="llmeval1-pairs-denoised")
    assert (one.model_a, one.model_b, one.choice, one.rater_kind) == ("m", "n", "A", "")
    records(reader, "data/dialogs.json")
    assert reader.unknown == {"对比测评_*.csv: user_type 2": 1, "对比测评_*.csv: mood": 1, "dialogs.json: mood": 1}
    assert reader.absent == [
        "data/other.csv (its name is not understood)",
        "data/对比测评_manual.csv (its columns are not understood: question_uuid, winner_of)",
    ]


def test_without_dialogs_the_replies_that_tables_name_are_made_once(tmp_path):
    (write_llmeval1(tmp_path) / "data" / "dialogs.json").unlink()
    reader = Llmeval1(tmp_path)
    named = records(reader, "data/分项测评_gpt4.csv")
    assert len(named) == 6
    assert {one.text for one in named} == {None}
    assert "data/dialogs.json" in reader.absent


@pytest.mark.parametrize(
    ("name", "key"),
    [("Factual_Questions_3", "factual_questions"), ("role-playing_1", "role_playing"), ("Rewriting_9", "rewrite")],
)
def test_the_types_are_matched_however_they_are_written(name, key):
    assert type_of(Place("f", 1), name) == key
    assert all(type_of(Place("f", 1), f"{one}_1") == one for one in TYPES)
    assert len(TYPES) == 17


def test_an_unknown_type_a_strange_choice_and_an_empty_folder_are_refused(tmp_path):
    with pytest.raises(BadRow, match="'Cookery' is none of the 17 types"):
        type_of(Place("f", 4), "Cookery_1")
    with pytest.raises(BadRow, match=r"neither data/dialogs\.json nor a table"):
        Llmeval1(tmp_path)
    data = write_llmeval1(tmp_path) / "data"
    table = (data / "对比测评_gpt4.csv").read_text(encoding="utf-8").replace(",A\n", ",3\n")
    (data / "对比测评_gpt4.csv").write_text(table, encoding="utf-8")
    (data / "分项测评_gpt4.csv").write_text(star_rows(("Cookery_1", "m", -1, -1, (1, 1, 1, 1, 1))), encoding="utf-8")
    problems = []
    for part in Llmeval1(tmp_path).parts():
        list(part.records(problems.append))
    assert {str(one).partition(";")[0] for one in problems if one.line == 2} == {
        "data/分项测评_gpt4.csv line 2: 'Cookery' is none of the 17 types of questions",
        "data/对比测评_gpt4.csv line 2: the choice '3' is neither A (left), B (right), C (tie), D (both bad) nor a model "
        "of the pair",
    }
    assert len(problems) == 6


def test_the_second_stage_names_each_questions_rubric(tmp_path):
    reader = Llmeval2(write_llmeval2(tmp_path, mood="good"))
    rows = records(reader, "results/human-score/Law_data.json")
    asked = {(one.instruction.external_id, one.instruction.rubric, one.instruction.tags) for one in rows}
    assert asked == {("Law_1", "llmeval2-objective", ("objective",)), ("Law_2", "llmeval2-subjective", ("subjective",))}
    assert {(one.instruction.category, one.instruction.language) for one in rows} == {("law", "zh-hans")}
    assert reader.unknown == {"results/human-score/*_data.json: mood": 4}
    stars = records(reader, "results/gpt-score/Chinese_Language_and_Literature_data.json", study="llmeval2-stars")
    assert {(one.rater, one.is_judge, one.category) for one in stars} == {
        ("GPT-4", True, "chinese_language_and_literature")
    }
    assert [(one.item, one.model, one.criterion, one.value) for one in stars][:2] == [
        ("Chinese_Language_and_Literature_1", "GPT4", "Correctness", "3"),
        ("Chinese_Language_and_Literature_1", "GPT4", "Explanation Correctness", "2"),
    ]
    assert len(reader.absent) == 20
    assert "results/gpt-score/Optics_data.json" in reader.absent


def test_a_broken_row_of_the_second_stage_is_named_by_its_line(tmp_path):
    path = write_llmeval2(tmp_path) / "results" / "gpt-score" / "Law_data.json"
    rows = json.loads(path.read_text(encoding="utf-8"))
    rows[1]["type"] = "C"
    rows[2]["stars"]["Correctness"] = "three"
    path.write_text(json.dumps(rows, indent=2) + "x", encoding="utf-8")
    problems = []
    for part in Llmeval2(tmp_path).parts():
        if part.name == "results/gpt-score/Law_data.json":
            list(part.records(problems.append))
    lines = path.read_text(encoding="utf-8").split("\n")
    begins = [number for number, line in enumerate(lines, start=1) if line == "  {"]
    assert [(one.line, one.reason) for one in problems] == [
        (begins[1], "the type is 'C', neither A (objective) nor B (subjective)"),
        (begins[2], "the stars of 'Correctness' are 'three', which is no number"),
    ]
    with pytest.raises(BadRow, match="no file of a subject"):
        Llmeval2(tmp_path / "results")


def test_an_array_that_breaks_off_gives_what_comes_before(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('[\n{"a": 1},\n2,\n{"a": ', encoding="utf-8")
    problems = []
    assert [(place.line, value) for place, value in json_array(path, problems.append)] == [(2, {"a": 1})]
    assert [(one.line, one.reason) for one in problems] == [
        (3, "an entry of the array is no JSON object"),
        (4, "the text is not valid JSON from here on"),
    ]
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(BadRow, match="no JSON array"):
        list(json_array(path))


def test_the_published_samples_are_read(shared_data):
    first = Llmeval1(shared_data("llmeval1/sample_repo"))
    assert len(records(first, "data/分项测评_gpt4.csv", study="llmeval1-stars")) == 160
    second = Llmeval2(shared_data("llmeval2/sample_repo"))
    assert len(records(second, "results/human-score/Physics_data.json", study="llmeval2-stars")) == 42
    assert not first.unknown
    assert not second.unknown
