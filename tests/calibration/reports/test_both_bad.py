"""Both bad is an answer of its own wherever labels are the same or not, and a tie wherever points are counted."""

import pytest

from annotation.models import Score
from calibration.reports.agreement import agreement_report
from calibration.reports.agreement_detail import AGREEMENT_DETAIL, detail_settings
from calibration.reports.rankings import RANKINGS, ranking_settings
from calibration.reports.raters import RATERS, rater_settings
from calibration.reports.registry import report_of
from tests.calibration.pair_studies import pair_study
from tests.calibration.result_page_checks import signed_in, text_of
from tests.factories import make_answer, make_judge_rater
from tests.markup import markup

pytestmark = pytest.mark.django_db


def say(answer, level):
    """The answer's preference, said anew."""
    known = answer.scores.order_by("revision").first()
    value = {"a": 1, "tie": 0, "both_bad": 0, "b": -1}[level]
    revision = answer.scores.count()
    Score.objects.create(assignment=answer, criterion=known.criterion, revision=revision, value=value, level=level)


def half_bad(instructions=40):
    """Four raters: two call every even pair a tie, two call it both bad; all prefer A in every odd one."""
    study = pair_study(models=2, instructions=instructions, raters=4, outcome=lambda i, j: 1)
    for place, task in enumerate(study.tasks.order_by("pk")):
        for number, answer in enumerate(task.assignments.order_by("pk")):
            if place % 2 == 0:
                say(answer, "tie" if number < 2 else "both_bad")
    return study


def test_agreement_tells_a_tie_from_both_bad():
    study = half_bad()
    report = agreement_report(study, "preference")
    # On even pairs each rater agrees with one of three others: the mode is the other label, so 0; on odd ones 1.
    assert report.loo == pytest.approx(0.5)
    row = report_of(study, AGREEMENT_DETAIL, detail_settings()).rows[0]
    assert row.leave_one_out.rate == pytest.approx(0.5)
    assert row.fleiss.value < 0.7 and row.alpha_nominal.value < 0.7


def test_a_judge_that_says_both_bad_is_not_one_that_says_tie():
    study = half_bad(instructions=64)
    judges = {name: make_judge_rater(study.workspace, name) for name in ("kind", "stern")}
    for place, task in enumerate(study.tasks.order_by("pk")):
        for answer in task.assignments.filter(rater__kind="person"):
            if place % 2 == 0:
                say(answer, "both_bad")
        for name, judge in judges.items():
            verdict = make_answer(task, judge, {"preference": 0 if place % 2 == 0 else 1}, shown_first="a")
            if place % 2 == 0:
                say(verdict, "both_bad" if name == "stern" else "tie")
    found = report_of(study, AGREEMENT_DETAIL, detail_settings()).judges
    won = {judge.judge: judge.tests["skilled"].advantage.value for judge in found}
    assert won == {"kind": 0.5, "stern": 1.0}


def test_consensus_and_repeats_have_both_labels():
    study = half_bad()
    for task in study.tasks.order_by("pk"):
        for answer in task.assignments.filter(repeat=0)[:1]:
            again = make_answer(task, answer.rater, {"preference": 0}, repeat=1, shown_first=answer.shown_first)
            say(again, "both_bad")
    report = report_of(study, RATERS, rater_settings())
    # A first answer of tie (or A) and then both bad is not the same answer twice.
    assert report.consistency.first_repeat.value == 0
    assert len(report.consensus.labels) == 3 and report.consensus.tied == 20
    page = text_of(
        markup(signed_in("lead", study.workspace).get(f"/w/{study.workspace.slug}/studies/{study.slug}/raters/"))
    )
    assert "both_bad" in page and "tie / both_bad" not in page


def test_points_count_both_bad_as_a_tie():
    study = half_bad()
    tied = report_of(study, RANKINGS, ranking_settings()).parts.points
    assert dict(zip(tied.models, tied.total.tolist(), strict=True)) == {"model0": 80 + 40, "model1": 40}
