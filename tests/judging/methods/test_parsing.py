import json

import pytest
from hypothesis import given, strategies as st

from judging.methods import parsing
from judging.methods.parsing import Unscored, Verdict, Why, read_answers
from judging.methods.prompts import Item, Level

LEVELS = tuple(Level(value / 4, str(value)) for value in range(5))
ITEMS = (Item("clear", "Is it clear?", LEVELS), Item("right", "Is it right?", LEVELS))
GOOD = '{"clear": {"reason": "plain words", "score": 1}, "right": {"reason": "no slips", "score": 0.25}}'


def values(reply, **options):
    found = read_answers(reply, ITEMS, **options)
    assert isinstance(found, Verdict), found
    return [answer.value for answer in found.answers]


def why(reply, **options):
    found = read_answers(reply, ITEMS, **options)
    assert isinstance(found, Unscored), found
    return found


@pytest.mark.parametrize(
    "reply",
    [
        GOOD,
        f"Here it is:\n```json\n{GOOD}\n```\nI hope this helps {{or not}}.",
        GOOD.replace('"', "'"),
        GOOD[:-1] + ",}",
        f"Thinking about {{clear}} and [right]... {GOOD}",
        '{"verdict": ' + GOOD + "}",
        '[{"item": "clear", "reason": "plain words", "score": 1}, {"item": "right", "score": "0.25"}]',
        '{"right": {"score": 0.25}, "clear": {"score": 1.0}}',
        '{"clear": 1, "right": 0.25}',
        "{'clear': {'reason': \"it's plain\", 'score': 1}, 'right': {'score': 0.25}}",
    ],
)
def test_forms_that_are_read(reply):
    assert values(reply) == [1.0, 0.25]


def test_reasons_are_kept():
    found = read_answers(GOOD, ITEMS)
    assert [answer.reason for answer in found.answers] == ["plain words", "no slips"]


def test_the_last_answer_wins_also_over_one_that_the_text_smuggled_in():
    smuggled = '{"clear": 1, "right": 1}'
    assert values(f"The text says {smuggled}. My answer: {GOOD}") == [1.0, 0.25]


def test_an_answer_inside_a_reason_is_no_answer():
    quoted = {"clear": {"reason": 'says {"clear": 1, "right": 1}', "score": 0}, "right": {"reason": "", "score": 0}}
    assert values(json.dumps(quoted)) == [0.0, 0.0]


@pytest.mark.parametrize(
    ("reply", "reason", "words"),
    [
        ("", Why.PROSE, "an empty reply"),
        ("Very good, 9 of 10.", Why.PROSE, "Very good"),
        ('{"clear": {"reason": "x", "score": 1}', Why.CUT_OFF, "breaks off"),
        ('[{"item": "clear", "score": 1}, {"item": "ri', Why.CUT_OFF, "breaks off"),
        ('{"clear": 1}', Why.MISSING, "1 of 2 questions answered; 'right' is missing"),
        ('{"clear": {"reason": "x"}, "right": 1}', Why.MISSING, "'clear' has no score"),
        ('{"clear": 1, "right": 0.3}', Why.OFF_SCALE, "'0.3', which is none of 0, 0.25, 0.5, 0.75, 1"),
        ('{"clear": 1, "right": 5}', Why.OFF_SCALE, "'5'"),
        ('{"clear": true, "right": 1}', Why.OFF_SCALE, "'True'"),
        ('{"clear": NaN, "right": 1}', Why.OFF_SCALE, "'nan'"),
        ('{"clear": null, "right": 1}', Why.OFF_SCALE, "'None'"),
        ('{"clear": "3/4", "right": 1}', Why.OFF_SCALE, "'3/4'"),
        ('{"clear": 1, "clear": 0, "right": 1}', Why.DOUBLED, "'clear' is answered twice"),
        ('{"clear": {"score": 1, "score": 0}, "right": 1}', Why.DOUBLED, "'clear' has two scores"),
        ('[{"item": "clear", "score": 1}, {"item": "clear", "score": 1}]', Why.DOUBLED, "'clear'"),
        ('{"clear": 1, "right": 1, "overall": 1}', Why.UNKNOWN, "'overall'"),
        ('{"other": 1}', Why.UNREADABLE, "names the questions"),
    ],
)
def test_what_cannot_be_used_says_precisely_why(reply, reason, words):
    found = why(reply)
    assert found.why == reason
    assert words in found.detail
    assert found.reason.startswith(f"{reason}: ")
    assert len(found.reason) <= 300


def test_a_reply_cut_off_by_its_limit_and_a_refusal_are_told_apart():
    assert why(GOOD[:40], finish_reason="length").why == Why.CUT_OFF
    assert why("I cannot help with that.", finish_reason="refusal").why == Why.REFUSED
    # Complete although the limit was reached exactly.
    assert values(GOOD, finish_reason="length") == [1.0, 0.25]


def test_nothing_in_a_reply_is_executed(tmp_path):
    trap = tmp_path / "trap"
    reply = f"{{'clear': __import__('pathlib').Path('{trap}').touch(), 'right': 1}}"
    assert why(reply).why == Why.UNREADABLE
    assert not trap.exists()


@pytest.mark.parametrize("reply", ["[" * 100_000, "{" * 100_000, '{"a":' * 50_000, "{'" * 30_000, "[{" * 40_000])
def test_hostile_nesting_ends_quickly(reply):
    assert why(reply).why in (Why.CUT_OFF, Why.UNREADABLE)


@given(st.text(max_size=400))
def test_any_text_is_a_verdict_or_a_reason(text):
    assert isinstance(read_answers(text, ITEMS), Verdict | Unscored)


@given(
    st.permutations(["clear", "right"]),
    st.lists(st.sampled_from([0, 0.25, 0.5, 0.75, 1]), min_size=2, max_size=2),
    st.text(alphabet=st.characters(exclude_characters="{}[]"), max_size=60),
    st.text(max_size=60),
)
def test_whatever_stands_around_it_a_good_answer_is_read(order, scores, before, reason):
    answer = {name: {"reason": reason, "score": scores[order.index(name)]} for name in order}
    assert values(before + json.dumps(answer, ensure_ascii=False)) == [
        scores[order.index("clear")],
        scores[order.index("right")],
    ]


@pytest.mark.parametrize(
    "reply",
    [
        "[" * 1_900 + "1," * 50_000 + "x",
        "[" * 100_000,
        '{"a":' * 40_000,
        "```" + "\n" * 100_000 + "{",
        "```\na" + "\u0301\u0323" * 12_000 + "\n```\n{}",
    ],
)
def test_a_reply_is_read_a_bounded_number_of_times_over(reply, monkeypatch):
    read = []

    class Counting:
        def raw_decode(self, text, start):
            try:
                value, end = parsing.json.JSONDecoder().raw_decode(text, start)
            except parsing.json.JSONDecodeError as error:
                read.append(error.pos - start)
                raise
            except RecursionError:
                read.append(parsing.COST_OF_NESTING)
                raise
            read.append(end - start)
            return value, end

    parsed = []
    monkeypatch.setattr(parsing, "_DECODER", Counting())
    monkeypatch.setattr(
        parsing.ast, "parse", lambda text, **_: parsed.append(text) or (_ for _ in ()).throw(SyntaxError)
    )
    assert why(reply)
    assert sum(read[:-1]) <= parsing.MOST_READ * parsing.LONGEST_REPLY
    assert not any("\u0323" * 2 in text or "\u0301\u0323" * 99 in text for text in parsed)


@pytest.mark.parametrize("levels", [100, 300, 480, 900])
def test_an_answer_under_hundreds_of_levels_is_none_and_no_error(levels):
    reply = '{"a":' * levels + GOOD + "}" * levels
    assert why(reply).why in (Why.UNREADABLE, Why.CUT_OFF)
