"""Reading drafted questions from replies, and merging those of several models."""

import pytest

from annotation.rules.drafted_questions import LONGEST_QUESTION, MOST_QUESTIONS, merged, questions_in


@pytest.mark.parametrize(
    ("reply", "questions"),
    [
        ("1. Is it a letter?\n2) Does it name the river?", ["Is it a letter?", "Does it name the river?"]),
        ("Here they are:\n- **Is it short?**\n* Is it short?\n- It is short.", ["Is it short?"]),
        ("1、回答是否写了河流？\n2．是否用了三句话？", ["回答是否写了河流？", "是否用了三句话？"]),
        ("Is it a letter?", []),
        ("", []),
        (f"1. {'x' * LONGEST_QUESTION}?", []),
        ("\n".join(f"{n}. Is it part {n}?" for n in range(1, 40)), [f"Is it part {n}?" for n in range(1, 21)]),
    ],
)
def test_questions_are_the_numbered_lines_that_ask(reply, questions):
    assert questions_in(reply) == questions
    assert len(questions) <= MOST_QUESTIONS


def test_near_duplicates_of_several_models_become_one_that_names_them():
    first = ["Does the letter mention the river?", "Is the letter shorter than one page?"]
    second = ["Does the letter mention the old river?", "Is it signed?", "Does the letter mention the river?"]
    found = merged([("a", first), ("b", second)])
    assert [(one.text, one.models, one.alike) for one in found] == [
        ("Does the letter mention the river?", ("a", "b"), ("Does the letter mention the old river?",)),
        ("Is the letter shorter than one page?", ("a",), ()),
        ("Is it signed?", ("b",), ()),
    ]
    assert merged([("a", first), ("b", second)]) == found
    assert merged([]) == [] == merged([("a", [])])
