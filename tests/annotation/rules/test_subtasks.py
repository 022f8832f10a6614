"""Sub-tasks of long responses, and the numbers that a check names."""

import csv

import pytest
from hypothesis import given, strategies as st

from annotation.rules.subtasks import UnreadableNumbers, kind_of, read_numbers, subtasks_in, write_numbers


def parts(text, mark):
    return {number: text[part.start : part.end] for number, part in subtasks_in(text, mark).items()}


@pytest.mark.parametrize(
    ("opening", "mark"),
    [
        ("#*# Week {}: a title", "Week"),
        ("## week {}", "Week"),
        ("**Floor {}:**", "Floor"),
        ("Menu Week {}", "Week"),
        ("第{}周：晴", "周"),
        ("第 {} 天", "天"),
    ],
)
def test_the_usual_openings(opening, mark):
    text = "Before.\n" + "\n\n".join(f"{opening.format(n)}\ntext of {n}" for n in (1, 2, 11))
    assert parts(text, mark) == {n: f"{opening.format(n)}\ntext of {n}" for n in (1, 2, 11)}


def test_a_number_in_a_sentence_opens_nothing():
    assert parts("Week 1\nAs in week 2, it rained.\nWeek 10ths\nWeekend 3", "Week") == {
        1: "Week 1\nAs in week 2, it rained.\nWeek 10ths\nWeekend 3"
    }


def test_a_table_of_contents_hides_nothing_and_nothing_follows_the_end():
    text = "Week 1\nWeek 2\n\nWeek 1\nlong words here\nWeek 2\nmore words here\n*** finished\nWeek 3\nnot asked"
    assert parts(text, "Week") == {1: "Week 1\nlong words here", 2: "Week 2\nmore words here"}


def test_offsets_count_code_points():
    text = "🌳🌳\nDay 1: 👩‍🌾 sows\nDay 2: rain"
    assert parts(text, "Day") == {1: "Day 1: 👩‍🌾 sows", 2: "Day 2: rain"}


def test_no_mark_in_the_text_means_no_part():
    assert subtasks_in("One.\n\nTwo.", "Week") == {}


@pytest.mark.parametrize(
    ("written", "numbers"),
    [
        ("19", [19]),
        ("19, 23-25", [19, 23, 24, 25]),
        ("13-52/13", [13, 26, 39, 52]),
        ("3、5，7", [3, 5, 7]),
        ("19 38 36", [19, 36, 38]),
        ("4 - 10 / 3", [4, 7, 10]),
        ("5, 5, 4-5", [4, 5]),
        ("", []),
    ],
)
def test_numbers_as_people_write_them(written, numbers):
    assert read_numbers(written) == numbers


@pytest.mark.parametrize("written", ["week 3", "0", "5-3", "1-", "1-5/0", "-4", "1-100000", "9" * 30])
def test_what_names_no_part_is_refused(written):
    with pytest.raises(UnreadableNumbers):
        read_numbers(written)


@given(st.lists(st.integers(1, 400), max_size=60))
def test_what_is_written_is_read_again(numbers):
    assert read_numbers(write_numbers(numbers)) == sorted(set(numbers))


@pytest.mark.parametrize(
    ("numbers", "kind"),
    [([], "whole"), ([7], "single"), ([3, 9, 11], "single"), ([4, 5], "range"), ([4, 7, 10], "periodic")],
)
def test_kinds(numbers, kind):
    assert kind_of(numbers) == kind


def test_the_published_numbers_are_read(shared_data):
    with shared_data("longgenbench/items.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            for column in ("once_ids", "range_ids", "periodic_ids"):
                numbers = sorted({int(number) for number in row[column].split()})
                assert read_numbers(row[column]) == numbers
                assert read_numbers(write_numbers(numbers)) == numbers
