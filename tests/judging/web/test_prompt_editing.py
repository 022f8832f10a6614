"""What the editor knows of a prompt: its placeholders, its faults, and how it differs from the stock one."""

import pytest

from judging.judges.making import stock_prompt
from judging.methods.line_diff import Line, line_diff
from judging.methods.prompts import BadTemplate, Fault
from judging.methods.registry import PROMPTED
from judging.methods.sample_questions import check_prompt, placeholders_of


@pytest.mark.parametrize("method", PROMPTED)
def test_every_stock_prompt_stands_the_check_that_an_edited_one_must_stand(method):
    check_prompt(method, stock_prompt(method))
    known, needed = placeholders_of(method)
    assert set(needed) <= set(known)
    assert "answer_shape" in needed


@pytest.mark.parametrize(
    ("prompt", "fault", "name"),
    [
        ("@@ user\n$conversation $reponse", Fault.UNKNOWN, "reponse"),
        ("@@ user\n$conversation $items $answer_shape", Fault.MISSING, "response"),
        ("@@ user\n5 $ a text", Fault.DOLLAR, ""),
        ("$conversation $items $response $answer_shape", Fault.BEGINNING, ""),
    ],
)
def test_a_prompt_that_cannot_be_asked_is_refused_with_what_is_wrong(prompt, fault, name):
    with pytest.raises(BadTemplate) as caught:
        check_prompt("checklist", prompt)
    assert (caught.value.fault, caught.value.name) == (fault, name)


def test_a_difference_keeps_two_lines_around_each_change():
    before = "\n".join("abcdefghij")
    after = before.replace("e", "E").replace("\nj", "")
    # a b are left out before "c d"; after the change "f g" and "h i" stand next to one another.
    assert line_diff(before, after) == [
        Line("gap", "2"),
        Line("same", "c"),
        Line("same", "d"),
        Line("removed", "e"),
        Line("added", "E"),
        Line("same", "f"),
        Line("same", "g"),
        Line("same", "h"),
        Line("same", "i"),
        Line("removed", "j"),
    ]


def test_equal_texts_have_no_difference_whatever_their_line_ends():
    assert line_diff("one\r\ntwo\r\n", "one\ntwo") == []
