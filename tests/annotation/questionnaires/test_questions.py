"""Questions as data and the reading of answers, without a database."""

import json

import pytest

from annotation.questionnaires.presets import PRESETS, preset
from annotation.questionnaires.question_file import questions_of_file
from annotation.questionnaires.questions import read_answers, read_questions, without_texts
from core.errors import UserError

AGE = {"kind": "choice", "text": "Age group", "options": ["to 30", "over 30"], "required": True}
TONGUES = {"kind": "choices", "text": "Languages", "options": ["English", "French", "Irish"]}
EFFORT = {"kind": "scale", "text": "Effort", "low": 0, "high": 20}
YEARS = {"kind": "number", "text": "Years", "minimum": 0, "maximum": 60}
TRADE = {"kind": "text", "text": "Trade"}
REMARK = {"kind": "long_text", "text": "Remark"}
ALL = read_questions([AGE, TONGUES, EFFORT, YEARS, TRADE, REMARK])


def test_questions_come_back_from_what_a_row_keeps_and_have_keys_of_their_wording():
    assert read_questions([one.as_json() for one in ALL]) == ALL
    assert [one.key for one in ALL] == ["age_group", "languages", "effort", "years", "trade", "remark"]
    assert [option.key for option in ALL[0].options] == ["to_30", "over_30"]
    chinese = read_questions([{"kind": "text", "texts": {"zh-hans": "母语"}}, {"kind": "text", "text": "Trade"}])
    assert [one.key for one in chinese] == ["question1", "trade"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({}, "is a list"),
        ([3], "Question 1: It is no object"),
        ([{"kind": "poll", "text": "?"}], "The kind poll is unknown"),
        ([{"kind": "text"}], "It has no text"),
        ([{"kind": "text", "text": "  "}], "It has no text"),
        ([{"kind": "text", "text": "x" * 501}], "longer than 500"),
        ([{"kind": "text", "texts": {"fr": "Langue"}}], "The language fr is unknown"),
        ([{"kind": "text", "text": "?", "colour": 1}], "The field colour is unknown"),
        ([{"kind": "text", "text": "?", "required": "yes"}], "true or false"),
        ([{"kind": "text", "text": "?", "key": "a b"}], "letters, digits"),
        ([{**TRADE, "key": "a"}, {**REMARK, "key": "a"}], "Question 2: The key a is there twice"),
        ([{"kind": "choice", "text": "?"}], "2 to 50 options"),
        ([{"kind": "choice", "text": "?", "options": ["one"]}], "2 to 50 options"),
        ([{"kind": "choice", "text": "?", "options": ["one", "one"]}], "Option 2 is there twice"),
        ([{"kind": "choice", "text": "?", "options": ["one", ""]}], "Option 2 has no text"),
        ([{"kind": "scale", "text": "?", "low": 7, "high": 1}], "above its low end"),
        ([{"kind": "scale", "text": "?", "low": 0, "high": 10**9}], "above its low end"),
        ([{"kind": "scale", "text": "?", "low": 0.5}], "whole numbers"),
        ([{"kind": "number", "text": "?", "minimum": 5, "maximum": 1}], "lower than the lowest"),
        ([{"kind": "number", "text": "?", "minimum": float("nan")}], "A bound is a number"),
        ([TRADE] * 41, "at most 40"),
    ],
)
def test_what_is_no_question_is_refused_in_a_sentence(data, words):
    with pytest.raises(UserError, match=words) as refused:
        read_questions(data)
    assert "\n" not in str(refused.value)


def test_answers_are_read_by_the_kind_of_their_question():
    given = {
        "age_group": ["over_30"],
        "languages": ["irish", "english"],
        "effort": ["20"],
        "years": ["2,5"],
        "trade": [" baker "],
        "remark": ["one\r\ntwo"],
        "unknown": ["x"],
    }
    assert read_answers(ALL, given) == (
        {
            "age_group": "over_30",
            "languages": ["english", "irish"],
            "effort": 20,
            "years": 2.5,
            "trade": "baker",
            "remark": "one\ntwo",
        },
        {},
    )
    assert read_answers(ALL, {"age_group": ["to_30"], "years": [""], "trade": ["  "]}) == ({"age_group": "to_30"}, {})


@pytest.mark.parametrize(
    ("key", "sent", "words"),
    [
        ("age_group", [], "answer this question"),
        ("age_group", ["other"], "from the options"),
        ("age_group", ["to_30", "over_30"], "from the options"),
        ("languages", ["english", "<script>"], "from the options"),
        ("effort", ["21"], "on the scale"),
        ("effort", ["3.5"], "on the scale"),
        ("years", ["61"], "from 0 to 60"),
        ("years", ["-1"], "from 0 to 60"),
        ("years", ["many"], "in digits"),
        ("years", ["nan"], "in digits"),
        ("years", ["1e3"], "in digits"),
        ("years", ["9" * 5000], "in digits"),
        ("trade", ["x" * 301], "at most 300"),
        ("remark", ["x" * 5001], "at most 5000"),
    ],
)
def test_each_answer_that_cannot_be_taken_has_its_sentence(key, sent, words):
    answers, problems = read_answers(ALL, {"age_group": ["to_30"], key: sent})
    assert list(problems) == [key] and words in problems[key]
    assert key not in answers


def test_a_bound_on_one_side_is_told_alone():
    low, high = read_questions(
        [{"kind": "number", "text": "A", "minimum": 3}, {"kind": "number", "text": "B", "maximum": 4}]
    )
    problems = read_answers([low, high], {"a": ["2"], "b": ["5"]})[1]
    assert "at least 3" in problems["a"] and "at most 4" in problems["b"]


def test_texts_go_and_choices_and_numbers_stay():
    answers = {"age_group": "to_30", "effort": 3, "trade": "baker", "remark": "me", "of_no_question": "text"}
    assert without_texts(ALL, answers) == {"age_group": "to_30", "effort": 3}


def test_presets_are_questions_in_both_languages():
    assert set(PRESETS) == {"person", "workload"} and preset("none") == ()
    for name in PRESETS:
        for question in preset(name):
            assert set(question.texts) == {"en", "zh-hans"}, question.key
            assert all(set(option.texts) == {"en", "zh-hans"} for option in question.options)


def test_a_table_and_a_json_file_say_the_same(tmp_path):
    table = tmp_path / "questions.csv"
    table.write_text(
        "kind,question,question_zh,required,options,options_zh,low,high,low_label\n"
        "choice,Age group,年龄段,yes,to 30|over 30,30岁以下|30岁以上,,,\n"
        "scale,Effort,,,,,0,20,none\n"
    )
    found = questions_of_file(table)
    assert found[0].required and found[0].options[1].texts == {"en": "over 30", "zh-hans": "30岁以上"}
    assert (found[1].low, found[1].high, found[1].low_label) == (0, 20, {"en": "none"})
    other = tmp_path / "questions.json"
    other.write_text(json.dumps([one.as_json() for one in found]))
    assert questions_of_file(other) == found


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("q.csv", "kind,question\npoll,Age\n", "Question 1: The kind poll is unknown"),
        ("q.csv", "kind,question,shade\ntext,Age,red\n", "Line 2: The column shade is unknown"),
        ("q.csv", "kind,question,low\nscale,Age,x\n", "Line 2: “x” is no number"),
        ("q.csv", "kind,question,required\ntext,Age,perhaps\n", "Line 2: .*yes or no"),
        ("q.csv", "kind,question,options,options_zh\nchoice,Age,a|b|c,甲|乙\n", "Line 2: There are 3 options"),
        ("q.csv", "", "empty"),
        ("q.json", "{", "no valid JSON"),
        ("q.json", "[" * 100_000, "no valid JSON"),
    ],
)
def test_a_bad_file_is_refused_in_a_sentence(tmp_path, name, content, words):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(UserError, match=words):
        questions_of_file(path)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(UserError, match="cannot be opened"):
        questions_of_file(tmp_path / "none.json")
