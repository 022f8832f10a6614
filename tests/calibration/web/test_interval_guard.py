"""No page prints an interval whose two ends look the same, such as "1.00 to 1.00"."""

import re

import pytest
from django.urls import reverse

from calibration.figures.drawing import ends_apart
from calibration.web.blocks import Column, Table
from calibration.web.messages.intervals import ends_words, range_words
from calibration.web.messages.statistics import with_interval
from tests.calibration.answered_studies import TRUTH
from tests.calibration.result_page_checks import signed_in, text_of
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater
from tests.markup import markup

NUMBER = r"[−-]?[\d.,]*\d ?%?"
SAME_ENDS = re.compile(rf"(?<![\d.])({NUMBER}) (?:to|至) \1(?![\d.%])|\(({NUMBER}) – \2\)")
"""In sentences, and in the words of a figure."""


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [(0.9991, 0.9996, ("0.999", "1.000")), (0.4, 0.6, ("0.40", "0.60")), (1.0, 1.0, None), (0.0, 0.0, None)],
)
def test_ends_get_decimals_until_they_differ(low, high, said):
    assert ends_apart(low, high, 0.01) == said


def test_an_interval_without_width_is_not_written():
    assert ends_words(1.0, 1.0, 1.0, "wilson95") == "1.00"
    assert with_interval(1.0, 1.0, 1.0, "bootstrap95") == "1.00"
    assert range_words(1.0, 1.0) == ""
    assert ends_words(0.999, 0.9981, 0.9988, "wilson95") == "1.00 (95 % interval 0.998 to 0.999)"


def test_cells_of_a_table_hold_no_such_interval():
    table = Table([Column("Rater"), *Column.interval("Rate", 2)], [["a", 1.0, 1.0, 1.0], ["b", 0.999, 0.998, 1.0]])
    assert [[cell.words for cell in row] for row in table.shown] == [
        ["a", "1.00", "–", "–"],
        ["b", "1.00", "0.998", "1.000"],
    ]


@pytest.mark.django_db
@pytest.mark.parametrize("instructions", [6, 24])
def test_pages_of_a_study_in_which_everybody_agrees(instructions):
    study = make_checklist_study(instructions=instructions, models=2, items=len(TRUTH))
    people = [make_rater(study, label=f"rater-{number}") for number in range(4)]
    judge = make_judge_rater(study.workspace)
    for place, task in enumerate(study.tasks.all()):
        level = (place % 5) / 4
        values = {f"item{number}": level for number in range(len(TRUTH))} | {"overall": 10 * level}
        for rater in (*people, judge):
            make_answer(task, rater, values)
    client = signed_in("lead", study.workspace)
    names = ("agreement", "agreement_detail", "raters", "rankings", "weights")
    for name in names:
        for language in ("en", "zh-hans"):
            client.cookies["django_language"] = language
            answer = client.get(reverse(f"calibration:{name}", args=[study]))
            assert answer.status_code == 200, name
            found = SAME_ENDS.search(text_of(markup(answer)))
            assert found is None, (name, language, text_of(markup(answer))[found.start() - 300 : found.end()])
