"""Amounts that a lead writes, and the rules: whole minor units, and no float between."""

from decimal import Decimal

import pytest

from annotation.bonuses.amounts import MOST_LINES, for_answers, for_checks, for_owed, given_amounts, major, minor_units


@pytest.mark.parametrize(
    ("written", "minor"),
    [
        ("1.50", 150),
        ("1.5", 150),
        ("12", 1200),
        (" 0.07 ", 7),
        ("-0.25", -25),
        ("0", 0),
        ("1.505", None),
        ("1,50", None),
        ("£1.50", None),
        ("1e3", None),
        (".5", None),
        ("", None),
        ("NaN", None),
        ("12345678", None),
        ("１.50", None),
    ],
)
def test_an_amount_is_exact_or_none(written, minor):
    found = minor_units(written)
    assert found == minor and (found is None or isinstance(found, int))


def test_every_amount_of_two_decimals_comes_back():
    assert all(minor_units(str(major(minor))) == minor for minor in range(2000))


@pytest.mark.parametrize("text", ["R1,1.50\nR2,2", "R1;1.50\nR2;2", "R1\t1.50\r\nR2\t2\r\n", "\ufeffR1 1.50\n\nR2  2"])
def test_lists_in_each_form(text):
    assert [(one.name, one.minor) for one in given_amounts(text)] == [("R1", 150), ("R2", 200)]


def test_a_heading_says_which_columns_are_read():
    text = "submitted,Rater,suggested_decision,amount\n2026,R1,approve,1.50\n2026,R2,approve,\n2026,R3,approve,1,50\n"
    found = given_amounts(text)
    assert [(one.line, one.name, one.minor) for one in found] == [(2, "R1", 150), (3, "R2", None), (4, "2026", None)]


def test_a_line_that_is_no_pair_has_no_amount():
    assert [one.minor for one in given_amounts("R1,1,50\nR2\nR3,,2")] == [None, None, None]


def test_a_long_list_is_seen_to_be_long():
    assert len(given_amounts("R1,1\n" * (MOST_LINES + 50))) == MOST_LINES + 1


def test_an_unclosed_quotation_mark_is_no_error_of_the_program():
    text = 'R1,"' + "x" * 140_000 + "\nR2,2"
    assert given_amounts(text)[-1].minor == 200


def test_rules():
    assert [for_answers(counted, 10, 15) for counted in (0, 10, 11, 14)] == [0, 0, 15, 60]
    # 3.10 is owed and 1.00 paid; 0.10 owed is less than what was paid.
    assert (for_owed(Decimal("3.10"), 100), for_owed(Decimal("0.10"), 100)) == (210, 0)
    assert for_checks(5, 1, fewest=5, percent=80, amount_minor=50) == 50
    assert for_checks(5, 2, fewest=5, percent=80, amount_minor=50) == 0
    assert for_checks(4, 0, fewest=5, percent=80, amount_minor=50) == 0
    assert for_checks(0, 0, fewest=0, percent=0, amount_minor=50) == 0
