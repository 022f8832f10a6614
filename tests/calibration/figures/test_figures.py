"""Numbers are written one way on every page of results; their files stay plain ASCII."""

import csv
import io
import re
from pathlib import Path

import pytest
from django.conf import settings
from django.template import Context, Template
from django.urls import reverse

from calibration.figures.drawing import decimals, number, shortest
from calibration.web.blocks import Column, Table
from calibration.web.table_files import as_csv
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_user
from tests.markup import markup

HYPHEN_FOR_MINUS = re.compile(r"(?<![\w.\-–])-\d")
PAGES = [
    *Path(settings.BASE_DIR, "templates", "calibration").glob("*.html"),
    *(
        Path(settings.BASE_DIR, "templates", "judging", f"{name}.html")
        for name in ("leaderboard", "compare_item", "compare_models", "judges")
    ),
]


@pytest.mark.parametrize(
    ("value", "digits", "written"),
    [(-12.345, 1, "−12.3"), (-0.001, 2, "0.00"), (0.5, 0, "0"), (1234.5, 1, "1,234.5"), (-3, 0, "−3")],
)
def test_figures_tables_and_templates_write_alike(value, digits, written):
    assert decimals(value, digits) == written
    assert number(value, 10.0**-digits) == written
    assert Column("n", digits).shown(value) == written
    template = Template("{% load figures %}{{ value|figure:digits }}")
    assert template.render(Context({"value": value, "digits": digits})) == written
    assert template.render(Context({"value": None, "digits": digits})) == ""


@pytest.mark.parametrize(
    ("filtered", "written"),
    [
        ("18342|grouped", "18,342"),
        ("999|grouped", "999"),
        ("0|grouped", "0"),
        ("nothing|grouped", ""),
        ("1234.5|money", "1,234.50"),
        ("250|money", "250"),
        ("0|money", "0"),
        ("0.0312|money", "0.0312"),
        ("0.00001|money", "< 0.0001"),
        ("nothing|money", ""),
    ],
)
def test_counts_and_amounts_have_their_thousands_apart(filtered, written):
    template = Template(f"{{% load figures %}}{{% autoescape off %}}{{{{ {filtered} }}}}{{% endautoescape %}}")
    assert template.render(Context({"nothing": None})) == written


def test_levels_keep_their_own_digits():
    assert [shortest(value) for value in (-1.0, 0.25, 3.0, 0.0)] == ["−1", "0.25", "3", "0"]
    assert [shortest(value, signed=True) for value in (-0.5, 0.0, 2.0)] == ["−0.5", "0", "+2"]


def test_files_keep_hyphens_that_programs_read():
    table = Table([Column("a"), Column("b", 1)], [["x", -2.25]])
    assert table.shown[0][1].words == "−2.2"
    assert as_csv(table).splitlines()[1] == "x,-2.25"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_of_results_writes_numbers_its_own_way(page):
    assert "floatformat" not in page.read_text(encoding="utf-8"), "write {{ value|figure:2 }} instead"


@pytest.mark.django_db
def test_a_leaderboard_below_zero_and_its_comparison(client):
    study = make_checklist_study(instructions=21, models=2)
    judge = make_judge_rater(study.workspace)
    for place, task in enumerate(study.tasks.all()):
        make_answer(task, judge, dict.fromkeys(("item0", "item1", "item2"), place % 3 / 4))
    client.force_login(make_user("lead"))
    address = reverse("judging:leaderboard", args=[study.benchmark])
    compare = reverse("judging:compare_models", args=[study.benchmark])
    for page in (address, compare):
        html = markup(client.get(page, {"weights": "equal"}))
        shown = re.sub(r"<[^>]*>", " ", html)
        assert re.search(r"−\d", shown)
        assert not HYPHEN_FOR_MINUS.search(shown), HYPHEN_FOR_MINUS.search(shown)
    answer = client.get(address, {"weights": "equal", "file": "scores.csv"})
    rows = list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"))))
    assert all(float(row["Average"]) < 0 for row in rows)
