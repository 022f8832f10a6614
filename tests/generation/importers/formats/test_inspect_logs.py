"""Logs of inspect_ai, as .json and .eval: what is read of samples and scores, and files that are damaged or hostile."""

import json
import zipfile

import pytest

from core.tables import reading
from core.tables.bad_rows import BadRow
from generation.importers.formats import inspect_log
from generation.importers.formats.registry import FORMATS, read_format, recognised
from generation.importers.formats.source import Options, Source
from generation.importers.records import RatingRecord, ResponseRecord
from judging.formats.answers import WriteOptions
from judging.formats.registry import WRITERS
from tests.generation.importers.formats import inspect_package as package
from tests.judging.formats.files import Texts, rated

SCORED = {"match": {"value": "C", "answer": "4", "explanation": "It is four."}}


@pytest.fixture(autouse=True)
def _package(monkeypatch):
    package.provide(monkeypatch)


def read(path, problems=None, **options):
    found = recognised(path)
    assert found is not None and found.format.key == "inspect-log"
    source = Source(path, *([problems.append] if problems is not None else []), options=Options(**options))
    return list(read_format(FORMATS["inspect-log"], source)), source


def of_log(tmp_path, samples, *, archived=False, problems=None, **more):
    path = tmp_path / ("log.eval" if archived else "log.json")
    if archived:
        package.write_archive(path, samples, **more)
    else:
        path.write_text(package.as_json(samples, **more), encoding="utf-8")
    return read(path, problems)


def ratings(records):
    found = [one for one in records if isinstance(one, RatingRecord)]
    return [(one.item, one.rater, one.is_judge, one.criterion, one.value, one.reason) for one in found]


@pytest.mark.parametrize("archived", [False, True])
def test_samples_are_responses_and_scorers_are_judges(archived, tmp_path):
    scores = {**SCORED, "grade": {"value": {"clear": 3, "true": "N"}}, "unscored": {"value": float("nan")}}
    problems = []
    records, source = of_log(tmp_path, [package.sample("a", "Four.", scores)], archived=archived, problems=problems)
    response = next(one for one in records if isinstance(one, ResponseRecord))
    assert (response.model, response.text, response.item) == ("openai/gpt-4o", "Four.", "a")
    assert (response.finish_reason, response.input_tokens, response.tokens, response.seconds) == ("stop", 5, 9, 1.5)
    asked = response.instruction
    assert (asked.external_id, asked.text, asked.reference) == ("a", "Ask a.", "4")
    assert ratings(records) == [
        ("a", "match", True, "match", "1", "It is four."),
        ("a", "grade", True, "clear", "3", ""),
        ("a", "grade", True, "true", "0", ""),
        ("a", "unscored", True, "unscored", "", ""),
    ]
    assert problems == [] and list(source.unread) == ["scores.match.answer"]


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ("C", "1"),
        ("P", "0.5"),
        ("I", "0"),
        ("N", "0"),
        (True, "1"),
        ("Yes", "1"),
        ("false", "0"),
        (0.25, "0.25"),
        ("B", "B"),
        ("7", "7"),
    ],
)
def test_values_are_those_that_inspect_ai_computes_with(given, value, tmp_path):
    records, _source = of_log(tmp_path, [package.sample("a", "x", {"s": {"value": given}})])
    assert [one.value for one in records if isinstance(one, RatingRecord)] == [value]


def test_a_conversation_with_choices_keeps_what_stood_before_the_question(tmp_path):
    turns = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Which?"}]},
    ]
    row = package.sample(
        1, "B", {}, input=turns, choices=["cat", "dog"], target=["A", "B"], metadata={"category": "pets", "seed": 3}
    )
    records, source = of_log(tmp_path, [row])
    asked = records[0].instruction
    assert asked.history == (("system", "Be brief."),) and asked.text == "Which?\n\nA) cat\nB) dog"
    assert (asked.external_id, asked.reference, asked.category) == ("1", "A\nB", "pets")
    assert list(source.unread) == ["metadata.seed"]


def test_texts_that_a_log_keeps_once_are_put_back(tmp_path):
    long = "A long question. " * 20
    reference = "attachment://6f1ed002ab5595859014ebf0951522d9"
    row = package.sample("a", "x", {}, input=[{"role": "user", "content": reference}])
    row["attachments"] = {"6f1ed002ab5595859014ebf0951522d9": long}
    records, _source = of_log(tmp_path, [row])
    assert records[0].instruction.text == long


@pytest.mark.parametrize("archived", [False, True])
def test_epochs_are_several_responses_to_one_instruction(archived, tmp_path):
    rows = [package.sample("a", f"Reply {epoch}.", SCORED, epoch=epoch) for epoch in ((2, 1) if archived else (1, 2))]
    records, _source = of_log(tmp_path, rows, archived=archived, epochs=2)
    found = [one for one in records if isinstance(one, ResponseRecord)]
    assert [(one.item, one.text) for one in found] == [("a epoch 1", "Reply 1."), ("a epoch 2", "Reply 2.")]
    assert {one.instruction.external_id for one in found} == {"a"}


def test_our_own_scores_come_back_as_the_answers_of_their_raters(tmp_path):
    """A log that was scored with a file of people's scores holds each rater's values beside the mean."""
    files = Texts()
    first, second = rated(1, value=4.0, model="m"), rated(1, value=2.0, model="m", rater="r2")
    third = rated(1, value=3.0, model="m", rater="gpt", kind="judge")
    answered = [(first[0], [*first[1], *second[1], *third[1]])]
    WRITERS["inspect-scores"].write(iter(answered), files, WriteOptions())
    record = json.loads(files.texts["m.jsonl"])
    score = {"value": record["value"], "metadata": record["metadata"]}
    records, _source = of_log(tmp_path, [package.sample("i1", "So.", {"precomputed_scores": score})])
    assert ratings(records) == [
        ("i1", "r1", False, "quality", "4", ""),
        ("i1", "r2", False, "quality", "2", ""),
        ("i1", "gpt", True, "quality", "3", ""),
    ]


@pytest.mark.parametrize("archived", [False, True])
def test_samples_that_were_not_completed_are_bad_rows(archived, tmp_path):
    rows = [
        package.sample("a", "x", {}, error={"message": "Out of time", "traceback": "", "traceback_ansi": ""}),
        package.sample("b", "x", SCORED),
        {**package.sample("c", "x", {}), "epoch": "first"},
    ]
    problems = []
    records, _source = of_log(tmp_path, rows, archived=archived, problems=problems)
    assert {one.item for one in records} == {"b"}
    said = [str(one) for one in problems]
    assert any("the sample a was not completed: Out of time; run that sample again" in one for one in said)
    assert any("the installed inspect_ai cannot read this sample" in one for one in said) and len(said) == 2


@pytest.mark.parametrize("archived", [False, True])
def test_one_sentence_names_the_extra_where_the_package_is_absent(archived, tmp_path, monkeypatch):
    package.take_away(monkeypatch)
    with pytest.raises(BadRow) as problem:
        of_log(tmp_path, [package.sample("a", "x", SCORED)], archived=archived)
    assert str(problem.value) == (
        f"log.{'eval' if archived else 'json'}: inspect_ai, whose package reads its logs, is not installed; ask the "
        "operator to install the extra inspect: pip install 'FILE.whl[inspect]'."
    )


def test_half_an_archive_and_damaged_members_are_named(tmp_path):
    path = tmp_path / "log.eval"
    package.write_archive(path, [package.sample(name, "x", SCORED) for name in "ab"])
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert recognised(path) is None
    at = whole.index(b"samples/a_epoch_1.json") + 60
    path.write_bytes(whole[:at] + bytes(60) + whole[at + 60 :])
    problems = []
    records, _source = read(path, problems)
    assert {one.item for one in records} == {"b"}
    assert [str(one) for one in problems] == [
        "log.eval: element 1: samples/a_epoch_1.json in the archive is no JSON object; check that the file "
        "was written or copied completely."
    ]


def test_an_archive_without_samples_says_how_to_convert_it(tmp_path):
    path = tmp_path / "log.eval"
    package.write_archive(path, [])
    with pytest.raises(BadRow, match="has no samples in the layout that is read; convert it with: inspect log convert"):
        read(path)
    with pytest.raises(BadRow, match="this is not a file of Arena battles"):
        list(read_format(FORMATS["arena"], Source(path)))


def test_what_an_archive_unpacks_to_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "LEAST_EXPANDED", 1_000_000)
    path = tmp_path / "log.eval"
    package.write_archive(path, [package.sample("a", "x" * 3_000_000, SCORED), package.sample("b", "x", SCORED)])
    with pytest.raises(BadRow, match="unpack"):
        read(path, [])


def test_a_sample_that_is_too_long_is_a_bad_row(tmp_path, monkeypatch):
    monkeypatch.setattr(inspect_log, "LONGEST_LINE", 50_000)
    path = tmp_path / "log.eval"
    package.write_archive(path, [package.sample("a", "x" * 60_000, SCORED), package.sample("b", "x", SCORED)])
    problems = []
    records, _source = read(path, problems)
    assert {one.item for one in records} == {"b"} and "the sample has more than 0 MB" in str(problems[0])


@pytest.mark.parametrize("ending", ["eval", "json"])
@pytest.mark.skipif(not package.INSTALLED, reason="inspect_ai is not installed; make test-inspect installs it")
def test_logs_that_inspect_ai_wrote_are_read_equal(ending, tmp_path):
    """Its .eval files are packed by Zstandard, which ours above are not."""
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSample, EvalSpec, write_eval_log
    from inspect_ai.model import ChatMessageUser, ModelOutput
    from inspect_ai.scorer import Score

    long = "Say it again and again, until everybody has heard it. " * 30
    samples = [
        EvalSample(
            id=f"q{number}",
            epoch=epoch,
            input=[ChatMessageUser(content=f"{long}{number}")],
            target="x",
            output=ModelOutput.from_content("mockllm/model", f"Reply {number}, {epoch}."),
            scores={"match": Score(value="C" if epoch == 1 else "I"), "none": Score.unscored()},
        )
        for epoch in (1, 2)
        for number in range(3)
    ]
    spec = EvalSpec(
        created="2026-01-01T00:00:00+00:00",
        task="arith",
        model="mockllm/model",
        dataset=EvalDataset(samples=3, sample_ids=["q0", "q1", "q2"]),
        config=EvalConfig(epochs=2),
    )
    path = tmp_path / f"own.{ending}"
    write_eval_log(EvalLog(status="success", eval=spec, samples=samples), str(path))
    assert zipfile.is_zipfile(path) == (ending == "eval")
    problems = []
    records, source = read(path, problems)
    found = [one for one in records if isinstance(one, ResponseRecord)]
    numbers = [(epoch, number) for epoch in (1, 2) for number in range(3)]
    assert problems == [] and source.unread == {}
    assert [(one.item, one.instruction.text, one.model, one.text) for one in found] == [
        (f"q{number} epoch {epoch}", f"{long}{number}", "mockllm/model", f"Reply {number}, {epoch}.")
        for epoch, number in numbers
    ]
    assert [(one[1], *one[3:5]) for one in ratings(records)] == [
        value for epoch, _number in numbers for value in (("match", "match", "10"[epoch - 1]), ("none", "none", ""))
    ]
