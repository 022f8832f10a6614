"""What result pages call things: agreement fits its scale, a judge without usable verdicts has answered all the same."""

import html
import re
from dataclasses import replace

import pytest
from django.urls import reverse

from annotation.models import Study
from calibration.reports.agreement import AgreementReport, agreement_report
from calibration.web.agreement.page import opening
from calibration.web.dashboard import desk_figures_of
from calibration.web.desk.dots import agreement_block
from core.messages.counts import counted
from generation.models import Response
from judging.leaderboards.weighting import EQUAL
from tests.calibration.answered_studies import answered_study
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater, make_user
from tests.markup import markup

pytestmark = pytest.mark.django_db
VALUES = {"item0": 1.0, "item1": 0.5, "item2": 0.0, "item3": 0.25, "overall": 6}


def words_on(client, address):
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", markup(client.get(address)))))


def test_the_headline_of_agreement_fits_the_scale():
    study = answered_study()
    report = agreement_report(study)
    assert isinstance(report, AgreementReport) and report.criterion == "overall"
    (row,) = [row for row in report.by_criterion if row.criterion == "overall"]
    assert row.metric != "nominal"
    ordered = opening(report)
    assert f"an alpha of {report.alpha[row.metric].value:.2f} (" in ordered and "of the time" not in ordered
    labels = replace(report, by_criterion=[replace(row, metric="nominal")])
    assert "agrees with most other raters" in opening(labels) and "alpha" not in opening(labels)


def test_a_judge_whose_verdicts_cannot_be_used_has_answered(client):
    study = answered_study(instructions=3)
    judge = make_judge_rater(study.workspace)
    for task in study.tasks.all():
        make_answer(task, judge, {}, status="unscored", reason="no score in the reply")
    client.force_login(make_user("lead", study.workspace))
    for name in ("judging:judges", "judging:judges_depth", "judging:judges_methods"):
        page = words_on(client, reverse(name, args=[study]))
        assert f"none of its {study.tasks.count()} answers could be used" in page, name
        assert "Nobody has answered" not in page
    board = words_on(client, reverse("judging:leaderboard", args=[study.benchmark]))
    assert "This judge has no usable verdicts" in board and "No judge has rated" not in board
    assert "Judged, but no verdict can be used" in words_on(client, reverse("judging:leaderboards"))


def test_a_table_of_ratings_waits_for_no_judge_until_one_has_rated_it(client):
    study = answered_study(instructions=2)
    client.force_login(make_user("lead", study.workspace))
    list_of_boards = reverse("judging:leaderboards")
    link = reverse("judging:leaderboard", args=[study.benchmark])
    assert link in markup(client.get(list_of_boards))
    Study.objects.filter(pk=study.pk).update(slug=study.benchmark.slug, status="closed")
    assert link not in markup(client.get(list_of_boards))
    make_answer(study.tasks.first(), make_judge_rater(study.workspace), VALUES)
    assert link in markup(client.get(list_of_boards))


def test_a_new_study_counts_no_degraded_copies(client):
    study = make_checklist_study(instructions=3, models=1)
    original = Response.objects.filter(instruction__benchmark=study.benchmark).first()
    Response.objects.create(
        instruction=original.instruction, kind="control", derived_from=original, text="words Some", words=2
    )
    client.force_login(make_user("lead", study.workspace))
    page = words_on(client, reverse("annotation:new_study"))
    assert "3 responses" in page and "4 responses" not in page


def test_a_mean_and_a_total_say_why_they_differ(client):
    study = answered_study()
    make_rater(study)
    judge = make_judge_rater(study.workspace)
    for task in study.tasks.all():
        make_answer(task, judge, VALUES)
    client.force_login(make_user("lead", study.workspace))
    assert "The total on a leaderboard differs from this mean" in words_on(
        client, reverse("calibration:rankings", args=[study])
    )
    board = words_on(client, f"{reverse('judging:leaderboard', args=[study.benchmark])}?weights={EQUAL}")
    assert "The mean on a study's page of rankings differs from this total" in board


def test_the_dashboard_says_that_judges_answered_and_none_of_it_can_be_used(client):
    study = make_checklist_study(instructions=3, models=1)
    judge = make_judge_rater(study.workspace)
    for task in study.tasks.all():
        make_answer(task, judge, {}, status="unscored", reason="no score in the reply")
    client.force_login(make_user("lead", study.workspace))
    page = words_on(client, reverse("annotation:desk", args=[study]))
    assert "3 answers of judges could not be used" in page and "No person has rated yet" in page
    assert "No one has rated" not in page.partition("Raters")[0] and "judge gave" not in page


def test_the_dashboard_and_the_page_on_agreement_state_it_alike():
    study = answered_study()
    report = agreement_report(study)
    assert desk_figures_of(study).figures[0].words == opening(report)
    assert "same label" in agreement_block(report).answer and opening(report) not in agreement_block(report).answer
    (row,) = [row for row in report.by_criterion if row.criterion == "overall"]
    labels = replace(report, by_criterion=[replace(row, metric="nominal")])
    assert "same label" in agreement_block(labels).answer and not agreement_block(labels).notes


@pytest.mark.parametrize(("n", "words"), [(1, "1 rater"), (0, "0 raters"), (1470, "1,470 raters")])
def test_a_count_has_its_noun_and_its_thousands_apart(n, words):
    assert counted(n, "raters") == words


def test_disagreements_come_a_page_at_a_time(client):
    study = answered_study(instructions=14, models=1)
    client.force_login(make_user("lead", study.workspace))
    address = reverse("annotation:disagreements", args=[study])
    first, second = (client.get(address, {"least": 0, "page": page}) for page in (1, 2))
    shown = [{row.task.pk for row, _spread in reply.context["rows"]} for reply in (first, second)]
    assert len(shown[0]) == 10 and shown[1] and not shown[0] & shown[1]
    assert "page=2" in markup(first) and "least=0" in markup(first)


def test_one_judge_opens_with_its_answer_and_one_figure_and_folds_the_rest(client):
    study = answered_study(judge="gpt-4o")
    client.force_login(make_user("lead", study.workspace))
    page = markup(client.get(reverse("judging:judges", args=[study])))
    contents, folds = page.index('class="contents"'), page.index('class="folds"')
    assert page.index('class="answer"') < page.index("<figure") < contents < folds
    assert page[:folds].count("<figure") == 1 and page.count('class="answer"') == 1
    assert page.index('href="#method"') < page.index('id="method"')
