"""Why a judge and people differ: the report on a study, its page, command and API, and quoted clauses."""

import json
from io import StringIO

import pytest
from django.core.management import call_command
from django.urls import reverse

from annotation.models import Guideline, Score
from calibration.reports.registry import report_of
from judging.comparison.causes import CAUSES_REPORT, causes_settings
from judging.comparison.quoted_clauses import clauses_of, quoted
from tests.calibration.result_page_checks import never_nan, signed_in, text_of
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater
from tests.markup import markup

pytestmark = pytest.mark.django_db


def test_clauses_are_sentences_and_list_items_that_are_long_enough():
    text = (
        "# Rules\n\n- Count a claim without a source as wrong.\n* Yes.\n3. Never reward length; read to the end first."
    )
    assert clauses_of(text) == ["Count a claim without a source as wrong.", "read to the end first."]
    assert clauses_of("没有来源的说法一律算错。不得只因长度给高分。") == [
        "没有来源的说法一律算错。",
        "不得只因长度给高分。",
    ]


def test_a_reason_quotes_by_four_words_in_a_row_or_eight_characters():
    clauses = ["Count a claim without a source as wrong", "没有来源的说法一律算错。"]
    assert quoted("It has a claim WITHOUT a source.", clauses) == [0]
    assert quoted("A claim with no source is wrong.", clauses) == []
    assert quoted("按规定，没有来源的说法一律不行", clauses) == [1]
    assert quoted("没有来源的说法", clauses) == []
    assert quoted("", clauses) == []


@pytest.fixture
def study():
    """Of 24 instructions, the judge errs on 6 that people agree on; on 3 people are split; on 3 one rater stands apart."""
    study = make_checklist_study(instructions=24, models=1)
    study.guideline = Guideline.objects.create(
        workspace=study.workspace,
        key="rules",
        texts={"en": "Count a claim without a source as wrong. Read to the end."},
    )
    study.save()
    people, judge = [make_rater(study) for _ in range(4)], make_judge_rater(study.workspace)
    for place, task in enumerate(study.tasks.order_by("pk")):
        answers, said = [0.5] * 4, 0.5
        if place < 6:
            said = 0.0
        elif place < 9:
            answers = [0.0, 0.0, 1.0, 1.0]
        elif place < 12:
            answers = [0.5, 0.5, 0.5, 1.0]
        for rater, value in zip(people, answers, strict=True):
            make_answer(task, rater, {"item0": value})
        make_answer(task, judge, {"item0": said})
    for score in Score.objects.filter(assignment__rater=people[0]):
        Score.objects.create(
            assignment=score.assignment,
            criterion=score.criterion,
            revision=1,
            value=score.value,
            reason="There is a claim without a source.",
        )
    return study


def report(study):
    return report_of(study, CAUSES_REPORT, causes_settings())


def test_every_difference_has_its_cause(study):
    found = report(study)
    # 6 x 4 of the judge's, 3 x 4 of the guideline's, 3 x 1 of one rater's.
    assert (found.answers, found.differing, found.alone) == (96, 39, 0)
    shares = {cause: share.value for cause, share in found.shares.items()}
    assert shares == pytest.approx({"judge": 24 / 39, "guideline": 12 / 39, "rater": 3 / 39})
    (row,) = found.criteria
    assert (row.criterion, row.differing, row.causes) == (
        "item0",
        39,
        {"judge": 24, "guideline": 12, "rater": 3, "alone": 0},
    )
    assert [one.cause for one in found.tasks] == ["guideline"] * 3 + ["judge"] * 6 + ["rater"] * 3 or [
        one.cause for one in found.tasks
    ] == ["judge"] * 6 + ["guideline"] * 3 + ["rater"] * 3
    assert found.tasks[-1].answers == [0.5, 0.5, 0.5, 1.0]
    assert [(one.clause, one.people, one.judge) for one in found.clauses] == [
        ("Count a claim without a source as wrong.", 9, 0)
    ]


def test_the_page_states_no_more_than_is_shown_and_leads_to_the_tasks(study):
    client = signed_in("lead", study.workspace)
    page = markup(client.get(reverse("judging:causes", args=[study])))
    never_nan(page)
    said = text_of(page)
    assert "gpt-4o differs from 39 of 96 answers that people gave to the same questions." in said
    assert "It is not shown that one cause holds most of the differences: the judge's share is 0.62" in said
    assert reverse("annotation:task", args=[study, report(study).tasks[0].task]) in page
    assert "Count a claim without a source as wrong." in said


def test_a_judge_that_errs_where_people_agree_is_said_to_hold_most(study):
    for score in Score.objects.filter(revision=0).select_related("assignment__rater"):
        value = 0.0 if score.assignment.rater.kind == "judge" else 0.5
        Score.objects.create(assignment=score.assignment, criterion=score.criterion, revision=2, value=value)
    said = text_of(markup(signed_in("lead", study.workspace).get(reverse("judging:causes", args=[study]))))
    assert "Most of the differences are the judge's" in said
    assert "1.00 to 1.00" not in said


def test_the_command_and_the_api_give_the_same(study, client):
    out = StringIO()
    call_command("compare_judge", study.slug, judge="gpt-4o", causes=True, json=True, stdout=out)
    given = json.loads(out.getvalue())
    assert given["differing"] == 39
    lead = signed_in("lead", study.workspace)
    address = reverse("api:causes", args=[study.workspace.slug, study.slug])
    assert lead.get(address).json() == given
    assert lead.get(address, {"judge": "nobody"}).status_code == 400
    words = StringIO()
    call_command("compare_judge", study.slug, judge="gpt-4o", causes=True, stdout=words)
    assert "Causes of the differences" in words.getvalue()


def test_without_a_judge_or_a_difference_the_page_says_so(client):
    study = make_checklist_study(instructions=2, models=1)
    lead, address = signed_in("lead", study.workspace), reverse("judging:causes", args=[study])
    assert "No judge has given a verdict" in text_of(markup(lead.get(address)))
    judge = make_judge_rater(study.workspace)
    for task in study.tasks.all():
        for rater in study.raters.all() or [make_rater(study), make_rater(study)]:
            make_answer(task, rater, {"item0": 0.5})
        make_answer(task, judge, {"item0": 0.5})
    said = text_of(markup(lead.get(address)))
    assert "differ" in said and "nan" not in said.lower()
