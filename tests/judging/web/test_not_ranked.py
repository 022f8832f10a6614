"""A model compared on few instructions stands in the column "Not ranked" of both pages of pairs, and in their files."""

import csv
import io
import re

import pytest
from django.urls import reverse

from tests.calibration.pair_studies import pair_study
from tests.factories import make_answer, make_judge_rater, make_rater, make_user
from tests.markup import markup

pytestmark = pytest.mark.django_db
SELDOM, COLUMN, WHY = "model2", "Not ranked", "rated too seldom"


def pairs(compared):
    """Three models on 40 instructions, compared by people and by a judge; "model2" on the first `compared`."""
    study = pair_study(models=3, instructions=40, raters=0)
    raters = [make_rater(study, label="ann"), make_judge_rater(study.workspace, "judge")]
    places = {}
    tasks = study.tasks.select_related("response_a__model", "response_b__model").order_by(
        "response_a__instruction", "pk"
    )
    for task in tasks:
        place = places.setdefault(task.response_a.instruction_id, len(places))
        names = [task.response_a.model.name, task.response_b.model.name]
        if SELDOM in names and place >= compared:
            continue
        # "model2" loses once, as a model that wins all has no strength of its own.
        wins = names[0] == SELDOM if place or "model0" not in names else names[0] != SELDOM
        value = (1 if wins else -1) if SELDOM in names else 1 if place % 4 else -1
        for rater in raters:
            make_answer(task, rater, {"preference": value}, shown_first="a")
    return study


def page_of(client, study, page):
    client.force_login(make_user("lead", study.workspace))
    about = study if page == "calibration:rankings" else study.benchmark
    return f"{reverse(page, args=[about])}?by=people&measure=wins&weights=equal"


def rows_of(html, title):
    """The cells of each row of the table of this section, by the row's first cell, and its heads."""
    section = next(part for part in html.split("<table")[1:] if COLUMN in part.split("</thead>")[0] and title in part)
    head, body = section.split("</thead>")
    heads = [re.sub(r"<[^>]+>", "", cell).strip() for cell in re.findall(r"<th\b.*?</th>", head, re.DOTALL)]
    rows = [
        [re.sub(r"<[^>]+>", "", cell).strip() for cell in re.findall(r"<t[hd]\b.*?</t[hd]>", row, re.DOTALL)]
        for row in body.split("</table>")[0].split("<tr>")[1:]
    ]
    return [dict(zip(heads, row, strict=False)) for row in rows]


@pytest.mark.parametrize(
    ("page", "file", "rank"),
    [
        ("judging:leaderboard", "tournament.csv", "Shared rank, as in the paper"),
        ("calibration:rankings", "strength.csv", "Rank"),
    ],
)
def test_the_column_says_who_is_not_ranked_and_why(client, page, file, rank):
    address = page_of(client, pairs(4), page)
    html = markup(client.get(address))
    rows = {row["Model"]: row for row in rows_of(html, rank)}
    assert {model: row[COLUMN] for model, row in rows.items()} == {"model0": "–", "model1": "–", SELDOM: WHY}
    assert rows["model0"][rank] == "1" and rows[SELDOM][rank] in ("", "–")
    assert f"{SELDOM} (4)." in html
    stored = csv.DictReader(io.StringIO(client.get(f"{address}&file={file}").content.decode("utf-8-sig")))
    assert {row["Model"]: (row[rank], row[COLUMN]) for row in stored}[SELDOM] == ("", "few")


@pytest.mark.parametrize("page", ["judging:leaderboard", "calibration:rankings"])
def test_where_all_are_ranked_the_column_is_not_shown(client, page):
    html = markup(client.get(page_of(client, pairs(40), page)))
    assert SELDOM in html and not re.search(rf"<th[^>]*>\s*{COLUMN}\s*</th>", html)
