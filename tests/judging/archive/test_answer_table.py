"""The answers of a study as one table, in three formats."""

import csv
import json

import pyarrow.parquet
import pytest

from annotation.models import Assignment, Score
from generation.models import Instruction, Response
from judging.archive.answer_table import FORMATS, answer_count, answer_rows, columns_of, write_answers
from tests.calibration.answered_studies import answered_study
from tests.calibration.pair_studies import pair_study
from tests.factories import make_answer, make_rater

pytestmark = pytest.mark.django_db


def read(path, form):
    if form == "csv":
        with path.open(encoding="utf-8-sig", newline="") as file:
            return list(csv.DictReader(file))
    if form == "jsonl":
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return pyarrow.parquet.read_table(path).to_pylist()


def written(study, path, form, **options):
    counts = list(write_answers(study, path, form, **options))
    return read(path, form), counts


@pytest.mark.parametrize("form", FORMATS)
def test_each_answer_is_a_row_with_the_last_value_of_each_criterion(form, tmp_path):
    study = answered_study(instructions=4)
    changed = Assignment.objects.filter(task__study=study, status="submitted").first()
    first = changed.scores.order_by("criterion__position").first()
    Score.objects.create(assignment=changed, criterion=first.criterion, revision=1, value=0.25)
    rows, _counts = written(study, tmp_path / "answers", form)
    assert len(rows) == answer_count(study) == Assignment.objects.filter(task__study=study).count() > 4
    assert all(list(row) == list(columns_of(study)) for row in rows)
    row = next(one for one in rows if one["task"] == changed.task.key and one["rater"] == changed.rater.label)
    assert float(row[first.criterion.key]) == 0.25
    for score in changed.scores.exclude(criterion=first.criterion):
        assert float(row[score.criterion.key]) == score.value
    assert row["instruction"] == changed.task.response_a.instruction.external_id
    assert row["model"] == changed.task.response_a.model.name


def test_the_formats_say_the_same(tmp_path):
    study = answered_study(instructions=3)
    found = {form: written(study, tmp_path / form, form)[0] for form in FORMATS}
    assert found["jsonl"] == found["parquet"]
    as_text = [{name: "" if cell is None else str(cell) for name, cell in row.items()} for row in found["jsonl"]]
    assert found["csv"] == as_text


def test_texts_and_reasons_are_there_only_when_asked_for(tmp_path):
    study = answered_study(instructions=2)
    Instruction.objects.update(messages=[{"role": "user", "content": "Describe the harbour."}])
    Response.objects.update(text="=HYPERLINK: gulls over the quay")
    task = study.tasks.first()
    answer = make_answer(task, make_rater(study), {"overall": 4})
    score = answer.scores.get()
    Score.objects.create(assignment=answer, criterion=score.criterion, revision=1, value=5, reason="It smells of tar.")

    rows, _counts = written(study, tmp_path / "without", "csv")
    said = (tmp_path / "without").read_text(encoding="utf-8-sig")
    assert "harbour" not in said and "gulls" not in said and "tar" not in said
    rows, _counts = written(study, tmp_path / "with", "csv", texts=True)
    assert {row["instruction_text"] for row in rows} == {"Describe the harbour."}
    assert {row["response_text"] for row in rows} == {"'=HYPERLINK: gulls over the quay"}  # no spreadsheet runs it
    assert [row["overall_reason"] for row in rows if row["overall_reason"]] == ["It smells of tar."]


def test_a_conversation_names_who_speaks():
    study = answered_study(instructions=1)
    turns = [{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Yes."}]
    Instruction.objects.update(messages=turns)
    row = next(iter(answer_rows(study, texts=True)))
    assert row["instruction_text"] == "user: Hello?\n\nassistant: Yes."


def test_a_pair_names_both_models_and_the_side_shown_first(tmp_path):
    study = pair_study(models=3, instructions=4)
    rows, _counts = written(study, tmp_path / "pairs", "jsonl")
    assert all(row["model"] and row["model_b"] and row["model"] != row["model_b"] for row in rows)
    assert {row["shown_first"] for row in rows} <= {"a", "b"}


def test_excluded_and_skipped_answers_are_told_apart():
    study = answered_study(instructions=3)
    first, second = Assignment.objects.filter(task__study=study, status="submitted")[:2]
    Assignment.objects.filter(pk=first.pk).update(status="excluded")
    Assignment.objects.filter(pk=second.pk).update(status="skipped", reason="too long")
    before = answer_count(study)
    rows = list(answer_rows(study))
    assert len(rows) == before == Assignment.objects.filter(task__study=study).count() - 1
    assert [row["not_counted"] for row in rows if row["not_counted"]] == ["excluded"]


def test_what_does_not_apply_is_named_and_has_no_number():
    study = answered_study(instructions=1)
    answer = Assignment.objects.filter(task__study=study).first()
    criterion = answer.scores.first().criterion
    Score.objects.create(assignment=answer, criterion=criterion, revision=1, value=None, not_applicable=True)
    row = next(one for one in answer_rows(study) if one["not_applicable"])
    assert row["not_applicable"] == criterion.key and row[criterion.key] is None


def test_a_criterion_with_the_name_of_a_column_has_one_of_its_own():
    study = answered_study(instructions=1)
    study.tasks.first().answer_rubric.criteria.filter(key="overall").update(key="order")
    columns = columns_of(study)
    assert columns["order"] == "int64" and columns["criterion_order"] == "float64"
    assert all(row["criterion_order"] is not None for row in answer_rows(study))


@pytest.mark.parametrize("form", FORMATS)
def test_a_study_without_answers_is_a_table_without_rows(form, tmp_path):
    study = answered_study(instructions=1)
    Assignment.objects.filter(task__study=study).update(status="skipped")
    rows, counts = written(study, tmp_path / "none", form)
    assert rows == [] and counts == []
