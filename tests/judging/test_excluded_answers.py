"""Excluding a rater's answers gives every number of the study without that rater; lifting gives every number as before."""

import csv
import io
import json
import re
import zipfile
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from django.urls import reverse

from annotation.answers.recording import Answer
from annotation.models import Assignment, Study, excluded_shown
from annotation.monitoring.adjudication import adjudicate
from annotation.monitoring.exclusion import exclude, lift
from annotation.policies.policies import change_policies
from annotation.studies.life_cycle import make_tasks
from calibration.data.frames import ABOUT_RESPONSES, EVERY_KIND
from calibration.data.scores import label_frame, score_frame
from calibration.fits.categories import FitRefused
from calibration.fits.store import publish_fit, run_fit
from calibration.models import Fit
from calibration.reports.agreement import agreement_report
from calibration.reports.codec import stored
from calibration.reports.people.reviewed_verdicts import reasonable_rates, review_state
from judging.archive.recompute import recompute
from judging.comparison.judge_against_people import compare, weighting_for
from judging.leaderboards.table import leaderboard
from judging.leaderboards.weighting import EQUAL, Weighting, fits_for
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater, make_user, remove
from tests.judging import result_walk

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
NOTES = re.compile(r'<p class="[^"]*answer-note[^"]*".*?</p>|<div class="row next-step".*?</div>', re.DOTALL)
"""What pages say of exclusions, and of the next step, which depends on the reports that have been looked at."""
LINE = re.compile(r"\n+Excluded by a lead: [^\n]*")


def answers_of(study, rater, tasks, seed):
    rng = np.random.default_rng(seed)
    for place, task in enumerate(tasks):
        values = {f"item{n}": float(rng.integers(0, 5)) / 4 for n in range(3)}
        given = {"active_seconds": 40.0, "submitted_at": NOON + timedelta(minutes=place), "order": place + 1}
        make_answer(task, rater, {**values, "overall": float(rng.integers(0, 11))}, **given)


@pytest.fixture
def study():
    """Two models on five instructions: a judge has answered all, two people most, and a third nothing yet."""
    study = make_checklist_study(instructions=5, models=2, items=3)
    judge = make_judge_rater(study.workspace, "a-judge")
    rng = np.random.default_rng(7)
    tasks = list(study.tasks.order_by("pk"))
    for task in tasks:
        make_answer(task, judge, {f"item{n}": float(rng.integers(1, 5)) / 4 for n in range(3)})
    people = [make_rater(study, label=f"person {n}") for n in range(3)]
    for number, person in enumerate(people[:2]):
        answers_of(study, person, tasks[:9], number)
    return study


@pytest.fixture
def third(study):
    return study.raters.get(label="person 2")


SPEAKS_OF_THE_RATER = (
    "annotation:desk",
    "annotation:live_raters",
    "calibration:weights",
    "calibration:weights_depth",
    "annotation:known_answers",
    "judging:export",
    "api:scores",
    "api:study",
)
"""Pages that list raters, fits, tasks without a rater, or the number of excluded answers, which other tests look at."""


def names_of_fits() -> list[str]:
    """The ids of all fits, and how LaTeX writes those with a low line."""
    known = list(Fit.objects.values_list("public_id", flat=True))
    return [re.escape(name) for name in known + [one.replace("_", r"\_") for one in known]]


def seen(monkeypatch, study, judges, client):
    """What a walk finds, a fit made before, without the notes on exclusions, the excluded rows and the ids of fits."""
    run_fit(study=study)
    words = result_walk.metric_messages
    monkeypatch.setattr(result_walk, "metric_messages", lambda page: words(NOTES.sub("", page)))
    found = result_walk.walk(study, judges, client=client, figures=False)
    monkeypatch.undo()
    own_parts = {"api:": [study.workspace.slug, study.slug]}
    spoken = {reverse(name, args=own_parts.get(name[:4], [study])) for name in SPEAKS_OF_THE_RATER} | {
        reverse("api:fits"),
        "export",
    }
    fits = re.compile("|".join(names_of_fits()))
    own = {}
    for place, (status, said) in found.items():
        if place in spoken or re.search(r"/(raters|tasks)/[^/?]+/$", place):
            continue
        if place == "export: scores.csv":
            said = json.dumps([row for row in result_walk.rows_of(said) if row[10] != "excluded"])
        own[fits.sub("FIT", place)] = status, fits.sub("FIT", LINE.sub("", said))
    return own


def quick_look(client, study):
    """The numbers behind the pages that rest on people's answers, and the scores of the export."""
    run_fit(study=study)
    names = ("agreement", "agreement_detail", "rankings", "raters", "weights_depth")
    pages = [reverse(f"calibration:{name}", args=[study]) for name in names]
    for page in pages:  # a report just computed has its rows in another order than one that PostgreSQL has stored
        client.get(page)
    found = {page: client.get(f"{page}?file=page.json").json()["blocks"] for page in pages}
    found |= result_walk.commands(study, [study.workspace.raters.get(label="a-judge")])
    del found["export"]  # numbers of rows
    fits = re.compile("|".join(names_of_fits()))
    return {fits.sub("FIT", name): fits.sub("FIT", json.dumps(said)) for name, said in found.items()}


def differing(one, two):
    """The places of both whose words differ."""
    return {name: (said, two[name]) for name, said in one.items() if name in two and two[name] != said}


@pytest.mark.one_database
def test_every_number_is_that_of_the_study_without_the_rater(study, third, monkeypatch):
    client, judges = result_walk.reader_of(study), [study.workspace.raters.get(label="a-judge")]

    def look():
        return seen(monkeypatch, study, judges, client)

    without = look()
    answers_of(study, third, list(study.tasks.order_by("pk"))[:10], 2)
    everybody = quick_look(client, study)
    exclusion = exclude(study, third, since=None, reason="The same answer to every item.", by=None)
    left_out = look()
    assert {status for status, _said in left_out.values()} == {0, 200}
    compared = " ".join(without.keys() & left_out.keys())
    for page in (
        *("report: agreement", "report: raters", "report: judge against people", "exported report: leaderboard"),
        *("planner", "compare_judge", "fit_weights", "scores.csv", "compare/item", "depth/?file="),
    ):
        assert page in compared, page
    assert differing(without, left_out) == {}
    assert not everybody.items() & quick_look(client, study).items()
    lift(exclusion, by=None)
    assert quick_look(client, study) == everybody


def excluded_third(study, third, since=None):
    answers_of(study, third, list(study.tasks.order_by("pk"))[:9], 2)
    return exclude(study, third, since=since, reason="The same answer to every item.", by=None)


@pytest.mark.one_database
def test_each_page_says_how_many_and_can_be_shown_with_them(study, third):
    client, judge = result_walk.reader_of(study), study.workspace.raters.get(label="a-judge")
    run_fit(study=study)
    answers_of(study, third, list(study.tasks.order_by("pk"))[:9], 2)
    with_all = client.get(reverse("calibration:agreement", args=[study]) + "?file=page.json").json()["blocks"]
    exclude(study, third, since=None, reason="The same answer to every item.", by=None)
    board, pair = (reverse(name, args=[study.benchmark]) for name in ("judging:leaderboard", "judging:compare_models"))
    pages = [f"{page}?judge={judge.public_id}&weights=equal" for page in (board, pair)]
    names = ("agreement", "agreement_detail", "weights", "weights_depth", "rankings", "raters", "planner")
    pages += [f"{reverse(f'calibration:{name}', args=[study])}?" for name in names]
    pages += [f"{reverse(f'judging:{name}', args=[study])}?" for name in ("judges", "judges_depth", "judges_methods")]
    said, other = (
        "9 answers were excluded by a lead and are not counted here (raters: 1).",
        "9 excluded answers (raters: 1) are",
    )
    for page in pages:
        shown = result_walk.metric_messages(client.get(page).content.decode())
        assert said in shown and other not in shown, page
        link = re.search(r'href="([^"]*excluded=shown)"', client.get(page).content.decode())[1].replace("&amp;", "&")
        answer = client.get(link)
        assert answer.status_code == 200
        shown = result_walk.metric_messages(answer.content.decode())
        assert other in shown and said not in shown, page
    agreement = reverse("calibration:agreement", args=[study])
    assert client.get(f"{agreement}?file=page.json").json()["blocks"] != with_all
    assert client.get(f"{agreement}?excluded=shown&file=page.json").json()["blocks"] == with_all
    assert b"excluded=shown&amp;file=page.json" in client.get(f"{agreement}?excluded=shown").content
    assert b"Excluded ratings" in client.get(reverse("judging:export", args=[study])).content


def test_a_fit_with_excluded_answers_is_used_by_nothing(study, third):
    client = result_walk.reader_of(study)
    excluded_third(study, third)
    counted = run_fit(study=study)
    page = reverse("calibration:weights", args=[study])
    answer = client.post(reverse("calibration:fit_now", args=[study]), {"floor": "0.5", "excluded": "shown"})
    assert answer["Location"] == f"{page}?excluded=shown"
    made = study.fits.get(kind=Fit.Kind.WITH_EXCLUDED)
    assert sum(one.n for one in made.categories.all()) == 9 + sum(one.n for one in counted.categories.all())
    assert weighting_for(study).fit == counted
    assert [fit.pk for fit in fits_for(study.benchmark)] == [counted.pk]
    assert made.public_id not in client.get(page).content.decode()
    assert made.public_id in client.get(f"{page}?excluded=shown").content.decode()
    with pytest.raises(FitRefused):
        publish_fit(fit=made, name="everybody")
    assert run_fit(study=study) == counted


def test_an_earlier_fit_is_said_to_be_outdated_and_made_again(study, third):
    client, page = result_walk.reader_of(study), reverse("calibration:weights", args=[study])
    before = run_fit(study=study)
    assert "Exclusions have changed since this fit" not in client.get(page).content.decode()
    exclusion = excluded_third(study, third)
    assert "Exclusions have changed since this fit" in client.get(page).content.decode()
    lift(exclusion, by=None)
    remove(Assignment.objects.filter(rater=third))
    again = run_fit(study=study)
    assert again != before and again.data_hash == before.data_hash
    assert "Exclusions have changed since this fit" not in client.get(page).content.decode()
    assert run_fit(study=study) == again


def test_the_export_has_the_exclusion_and_gives_every_number_again(study, third, tmp_path):
    client = result_walk.reader_of(study)
    excluded_third(study, third)
    run_fit(study=study)
    with excluded_shown():
        run_fit(study=study)
    for name in ("calibration:agreement", "calibration:raters", "judging:judges", "judging:judges_depth"):
        for query in ("", "?excluded=shown"):
            assert client.get(reverse(name, args=[study]) + query).status_code == 200
    path = tmp_path / "study.zip"
    _status, said = result_walk.said_by("export", study.slug, to=path)
    assert "9 ratings of 1 raters are marked as excluded; no result counts them." in said
    with zipfile.ZipFile(path) as archive:
        assert json.loads(archive.read("manifest.json"))["excluded"] == {"answers": 9, "raters": 1}
        (row,) = (json.loads(line) for line in archive.read("rows/annotation.exclusion.jsonl").splitlines())
        assert (row["rater_id"], row["reason"]) == (third.pk, "The same answer to every item.")
        rows = list(csv.DictReader(io.StringIO(archive.read("tables/scores.csv").decode())))
    assert {(row["rater"], row["not_counted"]) for row in rows if row["status"] == "excluded"} == {
        ("person 2", "excluded")
    }
    assert sum(row["status"] == "excluded" for row in rows) == 9 * 4
    found = recompute(path)
    assert found.same, [one for one in found.results if not one.same]
    kinds = [one.kind for one in found.results]
    assert kinds.count("agreement") == kinds.count("judge against people") == kinds.count("fit") == 2


def test_programs_read_what_is_excluded(study, third):
    client = result_walk.reader_of(study)
    excluded_third(study, third)
    state = client.get(reverse("api:study", args=[study.workspace.slug, study.slug])).json()
    assert (state["answers_of_people"], state["answers_excluded"], state["raters_excluded"]) == (18, 9, 1)
    rows = client.get(reverse("api:scores", args=[study.workspace.slug, study.slug]) + "?size=1000").json()["results"]
    left = {(row["status"], row["not_counted"]) for row in rows if row["rater"] == third.public_id}
    assert left == {("excluded", "excluded")}
    for options in ({"excluded": True}, {}):
        _status, said = result_walk.said_by("report_agreement", study.slug, **options)
        labels = 9 * (3 if options else 2)
        assert f"{labels} labels of 9 tasks" in said
        assert "Excluded by a lead: 9 answers of 1 raters" in said


def test_from_a_moment_on(study, third):
    excluded_third(study, third, since=NOON + timedelta(minutes=4))
    status = dict(third.assignments.values_list("order", "status"))
    assert status == {n: "submitted" if n <= 4 else "excluded" for n in range(1, 10)}
    assert len(np.unique(score_frame(kinds=EVERY_KIND, study=study, raters=[third.pk]).task)) == 4


def test_two_exclusions_of_equal_size_are_told_apart(study):
    """The stored report of one is not shown for the other, though as many answers count."""
    client, page = result_walk.reader_of(study), reverse("calibration:agreement", args=[study]) + "?file=page.json"
    third = study.raters.get(label="person 2")
    answers_of(study, third, list(study.tasks.order_by("pk"))[:9], 2)
    seen = []
    for label in ("person 0", "person 1"):
        exclusion = exclude(study, study.raters.get(label=label), since=None, reason="a reason", by=None)
        seen.append(client.get(page).content)
        lift(exclusion, by=None)
    assert seen[0] != seen[1]


def test_excluded_reviewers_are_in_no_reasonable_rate(study):
    review = Study.objects.create(
        workspace=study.workspace,
        slug="review",
        kind="review",
        benchmark=study.benchmark,
        status="open",
        policies={"selection": {"reviewed": study.pk}},
    )
    make_tasks(review)
    raters = [make_rater(review, label=f"reviewer {n}") for n in range(2)]
    for place, rater in enumerate(raters):
        for task in review.tasks.all():
            make_answer(task, rater, {f"item{n}": float(place) for n in range(3)})
    before = review_state(study)
    exclude(review, raters[0], since=None, reason="a reason", by=None)
    assert {one.rate.value for one in reasonable_rates(study, 0, 0)} == {1.0}
    assert review_state(study) != before
    with excluded_shown():
        assert {one.rate.value for one in reasonable_rates(study, 0, 0)} == {0.5}


def decide(study, task, by, overall):
    answers = {f"item{n}": Answer(1.0) for n in range(3)} | {"overall": Answer(overall)}
    adjudicate(task, answers, criteria=list(task.answer_rubric.criteria.all()), by=by, clock=lambda: NOON)


def test_the_adjudicated_answer_is_the_label_where_the_lead_chose_so(study):
    client, leads = result_walk.reader_of(study), [make_user("lead", study.workspace) for _ in range(2)]
    judge = study.workspace.raters.get(label="a-judge")
    task = study.tasks.order_by("pk")[0]
    agreement = json.loads(json.dumps(stored(agreement_report(study))))
    decide(study, task, leads[0], 10.0)
    decide(study, task, leads[1], 0.0)
    decide(study, task, leads[0], 9.0)  # the latest decision, though on the earlier answer
    frame = score_frame(kinds=ABOUT_RESPONSES, study=study, judges=False)
    assert len(label_frame(kinds=ABOUT_RESPONSES, study=study)) == len(frame)
    plain = compare(study, judge, Weighting(EQUAL))
    rows = sum(one.n for one in run_fit(study=study).categories.all())
    change_policies(study, adjudicated_labels=True)
    labels = label_frame(kinds=ABOUT_RESPONSES, study=study)
    own = labels.select(labels.task == task.pk)
    assert len(np.unique(own.assignment)) == 1
    assert own.of_criterion("overall").value.tolist() == [9.0]
    assert (labels.task != task.pk).sum() == (frame.task != task.pk).sum()
    settled = compare(study, judge, Weighting(EQUAL))
    points = {point.response: point.people for point in settled.points}
    assert points.pop(task.response_a_id) == 9.0
    assert points.items() <= {point.response: point.people for point in plain.points}.items()
    assert settled.items == plain.items  # leave-one-out measures raters
    assert sum(one.n for one in run_fit(study=study).categories.all()) == rows - 1
    board = leaderboard(study.benchmark, judge, "equal", beside_people=True)
    assert len(board.people_frame.select(board.people_frame.task == task.pk)) == 3
    assert json.loads(json.dumps(stored(agreement_report(study)))) == agreement
    for page in ("calibration:agreement", "calibration:weights", "judging:judges"):
        said = result_walk.metric_messages(client.get(reverse(page, args=[study])).content.decode())
        assert "The lead's adjudicated answer is the label of 1 task, in place of the raters' answers" in said


def test_an_export_with_adjudicated_labels_gives_every_number_again(study, tmp_path):
    client, lead = result_walk.reader_of(study), make_user("lead", study.workspace)
    decide(study, study.tasks.order_by("pk")[0], lead, 10.0)
    change_policies(study, adjudicated_labels=True)
    run_fit(study=study)
    for name in ("judging:judges", "judging:judges_depth", "calibration:weights_depth"):
        assert client.get(reverse(name, args=[study])).status_code == 200
    path = tmp_path / "study.zip"
    result_walk.said_by("export", study.slug, to=path)
    found = recompute(path)
    assert found.same, [one for one in found.results if not one.same]
