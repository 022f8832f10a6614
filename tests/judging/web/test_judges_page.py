"""The page 'judges' of studies whose people compared responses, or reviewed verdicts: it answers for those as well."""

import csv
import gzip
import io
from collections import Counter

import numpy as np
import pytest
from django.core.management import call_command
from django.urls import reverse

from annotation.models import Study
from calibration.reports.criterion_matches import BY_CRITERION, criterion_settings
from calibration.reports.registry import report_of
from tests.calibration.pair_studies import pair_study
from tests.calibration.result_page_checks import FILES, answer_of, check_access, load, never_nan, signed_in, text_of
from tests.calibration.web.test_judge_blocks import reviewed
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater
from tests.markup import markup

pytestmark = pytest.mark.django_db


def page_of(study):
    page = markup(signed_in("lead", study.workspace).get(reverse("judging:judges", args=[study])))
    never_nan(page)
    return page


def test_of_pairs_it_says_how_often_the_judge_prefers_what_people_prefer():
    study = pair_study(models=2, instructions=24, raters=3, outcome=lambda i, j: 1)
    judge = make_judge_rater(study.workspace)
    for place, task in enumerate(study.tasks.order_by("pk")):
        make_answer(task, judge, {"preference": 1 if place % 4 else -1}, shown_first="a")
    check_access("judging:judges", study)
    page = page_of(study)
    assert answer_of(page).startswith("gpt-4o prefers what most people prefer in 0.75 (95 % interval")
    assert "overall score" not in text_of(page)
    client = signed_in("lead", study.workspace)
    for name in FILES.findall(page):
        assert client.get(reverse("judging:judges_depth", args=[study]) + f"?file={name}").status_code == 200
    assert "matches.csv" in FILES.findall(page)


def test_of_reviews_it_says_how_many_verdicts_are_reasonable():
    _, reviews = reviewed([lambda place: (1, place % 2)])
    assert answer_of(page_of(reviews)).startswith("Reviewers call 0.75 (95 % interval")


def stars(people, judge):
    """A study of 22 responses on a star scale without an overall score: people's and the judge's stars by place."""
    study = make_checklist_study(instructions=22, models=1, items=2)
    raters, gpt = [make_rater(study) for _ in people], make_judge_rater(study.workspace)
    for place, task in enumerate(study.tasks.order_by("pk")):
        for rater, said in zip(raters, people, strict=True):
            make_answer(task, rater, {"item0": said(place), "item1": 0.5})
        make_answer(task, gpt, {"item0": judge(place), "item1": 1.0})
    return study


def table_rows(client, study, name):
    """The rows of a file of the page, without its header."""
    address = reverse("judging:judges", args=[study]) + f"?file={name}"
    return list(csv.reader(io.StringIO(client.get(address).content.decode("utf-8-sig"))))[1:]


def test_without_an_overall_score_agreement_is_told_criterion_by_criterion():
    # item0: two people differ at every other place, where the judge agrees with one of them: leaving one out gives 1 and
    # 0, so .5; elsewhere all agree: (11 * .5 + 11 * 1)/22 = .75, people among themselves .5. item1: the judge never.
    study = stars([lambda place: 0.5, lambda place: 0.5 + place % 2 / 2], lambda place: 0.5)
    client = signed_in("lead", study.workspace)
    page = page_of(study)
    assert answer_of(page).startswith("gpt-4o agrees with people most often on “")
    assert "Whether it agrees more often on one criterion than on another is not tested here." in answer_of(page)
    assert "(chance: 0.00). Whether it agrees" in answer_of(page)
    assert "checklist" not in text_of(page) and "has no overall scores from people" not in page
    assert "People among themselves" in page and "What needs an overall score, and what does not" in page
    rows = table_rows(client, study, "criteria-1.csv")
    # A value, raters like these, these raters, one left out; then people's seven, chance and the number of responses.
    found = [[float(cell) if cell else None for cell in row[1:]] for row in rows]
    assert [[row[0], row[7], row[-1]] for row in found] == [[0.75, 0.5, 22], [0.0, 1.0, 22]]
    judge, people = found[0][:7], found[0][7:14]
    for value, such_low, _, low, high, _, _ in (judge, people):
        assert such_low is None and low < value < high
    assert "for raters like these, at least 3 raters are needed, and there are 2" in text_of(page)
    assert "one-person-1.csv" not in page
    check_access("judging:judges", study)


def three_criteria(judged, *, raters=5, seed=3, responses=60):
    """Stars of three criteria; people give the truth 7 times in 10. judged(rng, criterion, truth, people): the judge's."""
    study = make_checklist_study(instructions=responses, models=1, items=3)
    people, gpt = [make_rater(study) for _ in range(raters)], make_judge_rater(study.workspace)
    rng = np.random.default_rng(seed)
    for task in study.tasks.order_by("pk"):
        given = [{} for _ in people]
        verdict = {}
        for criterion in range(3):
            truth = rng.integers(5)
            for values in given:
                values[f"item{criterion}"] = (truth if rng.random() < 0.7 else rng.integers(5)) / 4
            theirs = [values[f"item{criterion}"] for values in given]
            verdict[f"item{criterion}"] = judged(rng, criterion, truth, theirs)
        for rater, values in zip(people, given, strict=True):
            make_answer(task, rater, values)
        make_answer(task, gpt, verdict)
    return study


def as_a_person(rng, criterion, truth, people):
    return (truth if rng.random() < 0.7 else rng.integers(5)) / 4


def test_a_judge_like_a_person_is_shown_to_be_neither_less_nor_more_with_people_on_any_criterion():
    study = three_criteria(as_a_person)
    said = answer_of(page_of(study))
    assert "It is not shown to agree with people less or more often than they agree with each other." in said
    assert said.endswith("This is corrected for the 3 criteria compared (Holm).")
    rows = table_rows(signed_in("lead", study.workspace), study, "apart-1.csv")
    assert [row[-2] for row in rows] == ["not shown"] * 3


def test_the_criteria_on_which_a_judge_is_with_people_less_or_more_than_they_are_one_family():
    """On the first it rates at random, on the second as a person does, and on the third it always knows the truth."""

    def judged(rng, criterion, truth, people):
        return (rng.integers(5) / 4, as_a_person(rng, 1, truth, people), truth / 4)[criterion]

    study = three_criteria(judged, responses=120)
    said = answer_of(page_of(study))
    assert "less often than they agree with each other on “Is quality 0 there?”." in said
    assert "more often than they agree with each other on “Is quality 2 there?”." in said
    found = report_of(study, BY_CRITERION, criterion_settings()).judges[0].against_people
    assert [row.shown for row in found] == ["less", "not_shown", "more"]
    # Holm: the least p three times, the next twice, the last as it is, and none below one before it.
    raw = sorted(row.apart.p for row in found)
    wanted = np.minimum(np.maximum.accumulate([3 * raw[0], 2 * raw[1], raw[2]]), 1.0)
    assert sorted(row.p for row in found) == pytest.approx(wanted)


def test_a_copy_of_one_of_two_raters_is_not_said_to_be_with_people_more_often():
    study = three_criteria(lambda rng, criterion, truth, people: people[0], raters=2, responses=120)
    said = answer_of(page_of(study))
    assert "more often than they agree" not in said.replace("less or more often than they agree", "")


def test_where_one_person_answered_it_is_the_share_of_equal_answers_beside_chance():
    # People: 0.5 and 1 in turn; the judge: 1 at every fourth place from 1 on (6 of 22), else 0.5. Equal at 11 + 6 places.
    # Chance: .5 * 16/22 + .5 * 6/22 = .5.
    study = stars([lambda place: 0.5 + place % 2 / 2], lambda place: 1.0 if place % 4 == 1 else 0.5)
    page = page_of(study)
    assert "agreement among people cannot be computed" in text_of(page)
    row = table_rows(signed_in("lead", study.workspace), study, "one-person-1.csv")[0]
    assert (float(row[1]), float(row[-2])) == (pytest.approx(17 / 22), pytest.approx(0.5))


def test_a_large_study_without_an_overall_score_waits_for_no_comparison(settings, monkeypatch):
    study = stars([lambda place: 0.5] * 2, lambda place: 0.5)
    monkeypatch.setattr("judging.web.comparison.pages.is_slow", lambda study: True)
    page = page_of(study)
    assert "A worker is comparing" not in page and "compared with people, by criterion" in page


def test_llmeval2_stars_are_held_against_people_on_every_criterion(shared_data):
    call_command("load_library", stdout=io.StringIO())
    load(
        "ratings",
        shared_data("llmeval2/stars.csv.gz"),
        "llmeval2",
        "--benchmark",
        "llmeval2",
        "--create-items",
        "--wide",
        "human,gpt4",
        "--judge",
        "gpt4",
        "--off-scale",
        "keep",
        item="question_uuid",
        model="llm_name",
        category="subject",
        criterion="criterion",
    )
    study = Study.objects.get(slug="llmeval2")
    with gzip.open(shared_data("llmeval2/stars.csv.gz"), "rt", encoding="utf-8") as lines:
        given = list(csv.DictReader(lines))
    wanted = []
    for criterion in {row["criterion"] for row in given}:
        human, gpt4 = zip(*((row["human"], row["gpt4"]) for row in given if row["criterion"] == criterion), strict=True)
        n, by_gpt4 = len(human), Counter(gpt4)
        chance = sum(count * by_gpt4[star] for star, count in Counter(human).items()) / n**2
        wanted.append((n, sum(map(str.__eq__, human, gpt4)) / n, chance))
    page = page_of(study)
    assert "gpt4 agrees with people most often on “" in answer_of(page) and "checklist" not in text_of(page)
    rows = table_rows(signed_in("lead", study.workspace), study, "one-person-1.csv")
    found = sorted((int(row[-1]), float(row[1]), float(row[-2])) for row in rows)
    assert found == [pytest.approx(one) for one in sorted(wanted)]
    for row in rows:
        rate, low, high = (float(row[place]) for place in (1, 4, 5))
        assert low < rate < high


def test_of_pairs_that_no_judge_has_seen_it_says_so():
    assert "No judge has rated this study yet" in page_of(pair_study(models=2, instructions=2))
