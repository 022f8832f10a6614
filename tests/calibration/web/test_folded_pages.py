"""A result page opens with its answer, one figure and the next step; the rest is folded under headings."""

import re

import pytest
from django.urls import reverse

from calibration.fits.store import run_fit
from calibration.web.blocks import Block, Column, ResultPage, Section, Table
from tests.calibration.answered_studies import answered_study
from tests.calibration.result_page_checks import check_files, signed_in
from tests.markup import markup

FOLD = re.compile(r'<details class="fold[^"]*"\s*(open)?', re.DOTALL)


def a_table():
    return Table([Column("Item"), Column("Value", 2)], [["a", 1.0]])


def test_the_lead_is_the_first_block_with_a_figure_and_nothing_is_lost():
    part = Section("part", "Part", "two blocks")
    blocks = [
        Block("one", "One", table=a_table()),
        Block("two", "Two", figure="<svg></svg>"),
        Block("three", "Three", table=a_table(), section=part),
        Block("four", "Four", figure="<svg></svg>", section=part),
    ]
    page = ResultPage("", "", blocks, [])
    assert page.lead is blocks[1]
    assert [(fold.key, [block.key for block in fold.blocks]) for fold in page.folds] == [
        ("one", ["one"]),
        ("part", ["three", "four"]),
    ]
    assert ResultPage("", "", blocks[:1], []).lead is blocks[0] and ResultPage("", "", [], []).lead is None
    assert ResultPage("", "", blocks[2:], []).lead is None  # a section is folded as a whole


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["weights", "agreement", "raters", "rankings"])
def test_the_rest_is_folded_under_headings_with_a_list_of_contents(name):
    study = answered_study()
    run_fit(study=study, floor=0.5, pool=False, skip_small=False, user=None)
    client, address = signed_in("analyst", study.workspace), reverse(f"calibration:{name}", args=[study])
    page = markup(client.get(address))
    assert page.index('class="answer"') < page.index('<figure class="chart"') < page.index('class="contents"')
    contents = re.search(r'<nav class="contents".*?</nav>', page, re.DOTALL)[0]
    anchors = re.findall(r'href="#([\w-]+)"', contents)
    assert "method" in anchors and len(anchors) >= 3
    for anchor in anchors:
        before = page[: page.index(f'id="{anchor}"')]
        assert before.count("<details") > before.count("</details>"), anchor
    folds = FOLD.findall(page)
    assert len(folds) >= len(anchors) and not any(folds)
    # Only the lead stands open: before the list of contents there is one figure, and its table is folded.
    top = page[: page.index('class="contents"')]
    assert top.count("<figure") == 1 and top.count("<table") == top.count("As a table")
    assert check_files(client, address)
