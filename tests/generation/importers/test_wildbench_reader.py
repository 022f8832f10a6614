"""A clone of WildBench's repository, read without a database."""

import json
import time

import pyarrow as arrow
import pytest
from pyarrow import parquet

from core.tables.bad_rows import BadRow
from generation.importers.records import MAIN, InstructionRecord, PreferenceRecord, RatingRecord, ResponseRecord
from generation.importers.wildbench import CUT_MARK, EMPTY_MARK, SECOND_MARK, Wildbench, cut_name
from tests.conftest import shared_path
from tests.generation.importers.wildbench_files import (
    HAIKU,
    JUDGE,
    LLAMA,
    pair_row,
    pairs_of,
    put,
    score_row,
    scores_of,
    task_row,
    task_rows,
)


def read(wildbench, on_bad=None):
    """Every record in the order of loading, with its part; problems raise, or go to `on_bad`."""

    def refuse(problem):
        raise problem

    return [(part, record) for part in wildbench.parts() for record in part.records(on_bad or refuse)]


def of_type(found, kind):
    return [record for _part, record in found if isinstance(record, kind)]


@pytest.mark.parametrize("ending", [".jsonl", ".json", ".parquet"])
def test_tasks_come_as_json_lines_an_array_or_parquet(tmp_path, ending):
    path = tmp_path / f"tasks{ending}"
    if ending == ".parquet":
        parquet.write_table(arrow.Table.from_pylist(task_rows()), path)
    elif ending == ".json":
        path.write_text(json.dumps([{"row_idx": 0, "row": row} for row in task_rows()]), encoding="utf-8")
    else:
        path.write_text("\n".join(map(json.dumps, task_rows())), encoding="utf-8")
    wildbench = Wildbench(tmp_path, path)
    first, *_others = records = of_type(read(wildbench), InstructionRecord)
    assert [record.external_id for record in records] == ["t1", "t2", "t3", "t4"]
    assert (first.text, first.history) == (
        "Second question of t1",
        (("user", "First question of t1"), ("assistant", "First answer")),
    )
    assert (first.category, first.tags, first.language) == ("Math", ("Math", "Reasoning"), "en")
    assert first.checklist == ("Is the sum right?", "Is each step shown?")
    assert (records[3].checklist, records[3].overall) == ((), "1:10")


def test_a_task_of_the_first_version_has_a_number_and_goes_by_its_session(tmp_path):
    row = task_row("x", "Math", [], [], id=7, session_id="abc", appropriate="yes", mood="good")
    path = put(tmp_path, "tasks.json", [row])
    put(tmp_path, scores_of("m"), [score_row("abc", 4)])
    wildbench = Wildbench(tmp_path, path)
    assert [record.external_id for record in of_type(read(wildbench), InstructionRecord)] == ["abc"]
    assert wildbench.unknown == {"tasks: mood": 1}


def test_results_name_a_task_by_either_of_its_ids(tmp_path):
    put(tmp_path, scores_of("m"), [score_row("session-t1", 4), score_row("t2", 5)])
    wildbench = Wildbench(tmp_path, put(tmp_path, "tasks.json", task_rows()))
    assert [record.item for record in of_type(read(wildbench), RatingRecord)] == ["t1", "t2"]


def test_a_score_file_holds_responses_and_a_judges_scores(tmp_path):
    rows = [score_row("t1", 7), score_row("t2", 3, ["in a list"], score=[3]), score_row("t3", "", "x", score=None)]
    put(tmp_path, scores_of("m"), rows)
    wildbench = Wildbench(tmp_path)
    found = read(wildbench)
    responses, ratings = of_type(found, ResponseRecord), of_type(found, RatingRecord)
    assert [(one.model, one.instruction.external_id, one.text) for one in responses] == [
        ("m", "t1", "Some words\n"),
        ("m", "t2", "in a list"),
        ("m", "t3", "x"),
    ]
    assert [(one.item, one.model, one.rater, one.is_judge, one.criterion, one.value) for one in ratings] == [
        ("t1", "m", JUDGE, True, "score", "7"),
        ("t2", "m", JUDGE, True, "score", "3"),
        ("t3", "m", JUDGE, True, "score", ""),
    ]
    assert ratings[0].reason == "strengths: short\nweaknesses: none"
    study = found[-1][0].study
    assert (study.slug, study.kind, study.overall, study.scales) == (
        "wildbench-scores",
        "checklist",
        "score",
        {"score": "1:10"},
    )
    assert len(wildbench.absent) == 2


def test_a_pairwise_file_holds_graded_preferences(tmp_path):
    rows = [
        pair_row("t1", "openai/m", 2),
        pair_row("t2", HAIKU, 1, model_A=HAIKU, model_B="openai/m"),
        pair_row("t3", "tie", 0, texts=("of m", SECOND_MARK + "of the baseline")),
    ]
    put(tmp_path, pairs_of("m"), rows)
    found = read(Wildbench(tmp_path))
    choices = of_type(found, PreferenceRecord)
    assert [(one.model_a, one.model_b, one.choice, one.strength, one.shown_first) for one in choices] == [
        ("m", HAIKU, "A", 2, "a"),
        ("m", HAIKU, "B", 1, "b"),
        ("m", HAIKU, "tie", None, "a"),
    ]
    assert choices[0].reason == "analysis of A: good\nreason of A>B: clear"
    texts = {(one.model, one.instruction.external_id): one.text for one in of_type(found, ResponseRecord)}
    assert texts["m", "t3"] == "of m"
    assert texts[HAIKU, "t3"] == "of the baseline"


def test_comparisons_with_each_baseline_have_a_study_of_their_own(tmp_path):
    put(tmp_path, pairs_of(LLAMA, HAIKU), [pair_row("t1", LLAMA, 1, LLAMA, HAIKU)])
    put(tmp_path, pairs_of(HAIKU, LLAMA), [pair_row("t1", "tie", 0, HAIKU, LLAMA)])
    put(tmp_path, pairs_of(HAIKU, HAIKU), [pair_row("t1", "tie", 0)])
    wildbench = Wildbench(tmp_path)
    found = {part.study.slug: record for part, record in read(wildbench) if part.study}
    assert {slug: (one.model_a, one.choice) for slug, one in found.items()} == {
        "wildbench-pairs-claude-3-haiku-20240307": (LLAMA, "A"),
        "wildbench-pairs-Llama-2-70b-chat-hf": (HAIKU, "tie"),
    }
    assert any("a model against itself" in name for name in wildbench.absent)


def test_cut_and_empty_responses_are_marked_and_counted(tmp_path):
    put(tmp_path, scores_of("m"), [score_row("t1", 2, f"words{CUT_MARK}\n"), score_row("t2", 8)])
    put(tmp_path, pairs_of("m"), [pair_row("t1", "tie", 0, texts=("x", EMPTY_MARK)), pair_row("t2", "openai/m", 1)])
    wildbench = Wildbench(tmp_path)
    found = read(wildbench)
    assert [one.left_out for one in of_type(found, RatingRecord)] == ["the response was cut for the judge", ""]
    assert [one.left_out for one in of_type(found, PreferenceRecord)] == ["the response is empty", ""]
    assert wildbench.left_out == {
        "score.v2: the response was cut for the judge": 1,
        "pairwise.v2: the response is empty": 1,
    }
    assert [one.text for one in of_type(found, ResponseRecord) if one.model == HAIKU] == ["", "of the baseline"]


def test_versions_and_truncation_experiments_are_kept_apart(tmp_path):
    put(tmp_path, scores_of("m"), [score_row("t1", 7)])
    put(tmp_path, scores_of("m-256"), [score_row("t1", 5, f"a{CUT_MARK}")])
    put(tmp_path, scores_of("m", "v2.0625"), [score_row("t1", 6)])
    found = [(part, one) for part, one in read(Wildbench(tmp_path)) if isinstance(one, RatingRecord)]
    # What was cut on purpose counts in its own experiment.
    assert [(part.experiment, part.study.slug, one.model, one.value, one.left_out) for part, one in found] == [
        (MAIN, "wildbench-scores", "m", "7", ""),
        ("v2.0625", "wildbench-scores-v2-0625", "m", "6", ""),
        ("words_256", "wildbench-scores-words_256", "m", "5", ""),
    ]
    assert all(part.study.experiment == part.experiment for part, _one in found)


@pytest.mark.parametrize(
    ("stem", "expected"),
    [
        ("gpt-4o-1024", ("gpt-4o", 1024)),
        ("m.words=128", ("m", 128)),
        ("m_trunc512words", ("m", 512)),
        ("gpt-3.5-turbo-0125", ("gpt-3.5-turbo-0125", 0)),
        ("Phi-3-mini-128k-instruct", ("Phi-3-mini-128k-instruct", 0)),
        ("mistral-large-2402", ("mistral-large-2402", 0)),
        ("claude-3-opus-20240229", ("claude-3-opus-20240229", 0)),
        ("gpt-4-1106-preview", ("gpt-4-1106-preview", 0)),
        ("gpt-4o-0513", ("gpt-4o-0513", 0)),
    ],
)
def test_names_of_models_are_not_taken_for_numbers_of_words(stem, expected):
    assert cut_name(stem) == expected


def test_whole_responses_come_in_lists(tmp_path):
    put(
        tmp_path, "result_dirs/wild_bench_v2/m.json", [{"session_id": "t1", "output": ["one", "two"], "generator": "m"}]
    )
    records = of_type(read(Wildbench(tmp_path)), ResponseRecord)
    assert [(one.model, one.sample, one.text) for one in records] == [("m", 0, "one"), ("m", 1, "two")]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (pair_row("t1", "somebody", 1), "the winner 'somebody' is neither"),
        (pair_row("t1", "openai/m", 3), "the extent '3' is neither 1 nor 2"),
        (pair_row("t1", "openai/m", True), "the extent 'True' is neither 1 nor 2"),
        (pair_row("t1", "tie", 0, model_outputs={"openai/m": "x"}), "'model_outputs' has not two models"),
        (pair_row("t1", "tie", 0, baseline="another"), "are the baseline"),
        (pair_row("", "tie", 0), "'session_id' is missing"),
        (pair_row("t9", "tie", 0), "the tasks have no 't9'"),
        (pair_row("t1", "tie", 0, texts=(3, "x")), "'model_outputs' is missing or no text"),
    ],
)
def test_a_bad_row_is_named_once_and_the_others_are_read(tmp_path, row, reason):
    put(tmp_path, pairs_of("m"), [pair_row("t1", "openai/m", 1), row])
    problems = []
    found = read(Wildbench(tmp_path, put(tmp_path, "tasks.json", task_rows())), problems.append)
    assert len(of_type(found, PreferenceRecord)) == 1
    (problem,) = problems
    assert reason in str(problem)
    # indent=1: the first row begins on line 2.
    assert str(problem).startswith(f"{pairs_of('m')} line ")


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"primary_tag": "Cooking"}, "the tag 'Cooking' is unknown"),
        ({"secondary_tags": ["Math", "Cooking"]}, "the tag 'Cooking' is unknown"),
        ({"conversation_input": []}, "'conversation_input' is missing"),
        ({"conversation_input": [{"role": "assistant", "content": "x"}]}, "does not end with its user's message"),
        ({"conversation_input": [{"role": "robot", "content": "x"}]}, "no role or no text"),
        ({"checklist": "Is it?"}, "'checklist' is no list"),
        ({"id": "", "session_id": None}, "neither an id nor a session_id"),
        ({"id": "t2"}, "stands in an earlier row"),
    ],
)
def test_a_bad_task_is_named(tmp_path, changed, reason):
    path = put(tmp_path, "tasks.json", [task_row("t2", "Math", [], []), task_row("t1", "Math", [], [], **changed)])
    problems = []
    assert len(of_type(read(Wildbench(tmp_path, path), problems.append), InstructionRecord)) == 1
    assert [reason in str(problem) for problem in problems] == [True]


def test_unknown_fields_and_files_are_listed(tmp_path):
    put(tmp_path, scores_of("m"), [score_row("t1", 7, mood="good"), score_row("t2", 7, mood="good")])
    put(tmp_path, f"eval_results/v2.0522/score.v2/eval={JUDGE}/m.batch-submit.jsonl", "{}")
    put(tmp_path, scores_of("n"), "")
    put(tmp_path, "eval_results/v2.0522/pairwise.v2/m.json", [])
    wildbench = Wildbench(tmp_path)
    read(wildbench)
    assert wildbench.unknown == {"score.v2: mood": 2}
    other = "eval_results/v2.0522/pairwise.v2/m.json (files of this kind lie in pairwise.v2/eval=*/ref=*/)"
    assert other in wildbench.absent
    folder = f"eval_results/v2.0522/score.v2/eval={JUDGE}"
    assert f"{folder}/m.batch-submit.jsonl (its name is not understood)" in wildbench.absent
    assert f"{folder}/n.json (empty)" in wildbench.absent


def test_a_broken_file_and_a_wrong_folder_are_refused(tmp_path):
    put(tmp_path, scores_of("m"), '[{"session_id": "t1"')
    with pytest.raises(BadRow, match=r"m\.json line 1: the text is not valid JSON"):
        read(Wildbench(tmp_path))
    with pytest.raises(BadRow, match="this is no clone of WildBench"):
        Wildbench(tmp_path / "eval_results")
    with pytest.raises(BadRow, match="there is no such file of tasks"):
        Wildbench(tmp_path, tmp_path / "none.jsonl")
    with pytest.raises(BadRow, match="the ending of its name is unknown"):
        read(Wildbench(tmp_path, put(tmp_path, "tasks.txt", "x")))


def test_the_repositorys_own_files_are_read():
    wildbench = Wildbench(shared_path("wildbench/sample_repo"))
    found = read(wildbench)
    assert len(of_type(found, RatingRecord)) == len(of_type(found, ResponseRecord)) == 24
    assert wildbench.unknown == {}
    first = of_type(found, RatingRecord)[0]
    assert (first.model, first.item, first.value, first.place.line) == ("gemma-2b-it", "ae006110bb364606", "1", 2)


def test_a_score_file_of_four_megabytes_is_read_in_under_a_second(tmp_path):
    put(tmp_path, scores_of("m"), [score_row(f"t{n}", 1 + n % 10, "Some words. " * 330) for n in range(1024)])
    assert 4e6 < (tmp_path / scores_of("m")).stat().st_size < 5e6
    start = time.process_time()
    assert len(read(Wildbench(tmp_path))) == 2048
    assert time.process_time() - start < 1.0
