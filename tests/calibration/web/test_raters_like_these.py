"""The agreement page and its command: an interval for raters like these before that for exactly these raters."""

import json
from io import StringIO

import pytest
from django.core.management import call_command

from annotation.models import Rater
from calibration.reports.agreement import agreement_report
from calibration.web.agreement.page import agreement_page
from tests.calibration.answered_studies import answer_study, answered_study
from tests.factories import make_answer, make_checklist_study, make_rater

pytestmark = pytest.mark.django_db


def page_of(study):
    page = agreement_page(study, agreement_report(study))
    return page, next(block for block in page.blocks if block.key == "populations")


def test_the_page_opens_with_raters_like_these_and_names_both_populations():
    study = answered_study(instructions=24)
    report = agreement_report(study)
    alpha = report.alpha["ordinal"]
    page, block = page_of(study)
    assert page.opening.startswith("Raters like these")
    assert "For exactly these raters" in page.opening
    assert alpha.such.low < alpha.value < alpha.such.high
    assert alpha.such.not_stated == ""
    assert next(iter(block.table.rows))[0] == "Leave-one-out"
    assert block.table.rows[0][2:4] == [report.loo_such.low, report.loo_such.high]
    assert "% of the uncertainty about raters like these" in block.answer


@pytest.mark.parametrize(
    ("instructions", "raters", "slots", "said"),
    [
        (12, 3, False, "at least 20 instructions, and there are 12."),
        (24, 2, False, "at least 3 raters who rated the same tasks, and there are 2."),
        (24, 3, True, "because the data identify positions, not persons."),
    ],
)
def test_what_is_missing_is_said_where_no_interval_is_stated(instructions, raters, slots, said):
    study = make_checklist_study(instructions=instructions, models=2, items=4)
    answer_study(study, raters=raters)
    if slots:
        Rater.objects.filter(study=study).update(kind=Rater.Kind.SLOT)
    page, block = page_of(study)
    assert not page.opening.startswith("Raters like these")
    assert page.opening.endswith(said)
    assert block.table.rows[0][2:4] == [None, None]
    assert block.answer == ""
    assert any(note.endswith(said) for note in block.notes)


def constant_study(*, raters):
    study = make_checklist_study(instructions=24, models=1, items=1)
    for rater in [make_rater(study) for _ in range(raters)]:
        for task in study.tasks.all():
            make_answer(task, rater, {"item0": 0.5, "overall": 7})
    return study


@pytest.mark.parametrize("constant", [False, True])
def test_an_interval_for_exactly_these_raters_is_called_so(constant):
    """Two raters show nothing of others; on constant scores alpha is undefined, and the share of equal labels stands."""
    study = constant_study(raters=2) if constant else make_checklist_study(instructions=24, models=2, items=4)
    if not constant:
        answer_study(study, raters=2)
    opening = page_of(study)[0].opening
    assert "95 % interval for exactly these raters" in opening
    assert ("agreement by chance would be 1.00" if constant else "is an alpha of") in opening


def test_nothing_is_said_of_the_uncertainty_where_nothing_varies():
    study = constant_study(raters=3)
    report = agreement_report(study)
    assert report.loo_such.low is not None and report.loo_such.raters_share is None
    assert page_of(study)[1].answer == ""


def test_the_command_prints_both_and_its_json_has_both():
    study = answered_study(instructions=24)
    report = agreement_report(study)
    out = StringIO()
    call_command("report_agreement", study.slug, stdout=out)
    such = report.alpha["ordinal"].such
    assert f"for raters like these: {such.low:.4f} to {such.high:.4f}, 95 %" in out.getvalue()
    out = StringIO()
    call_command("report_agreement", study.slug, "--json", stdout=out)
    shown = json.loads(out.getvalue())
    assert shown["loo_such"]["low"] == pytest.approx(report.loo_such.low)
    assert shown["alpha_such"]["ordinal"]["raters_share"] == pytest.approx(such.raters_share)
    few = answered_study(instructions=5, slug="few")
    out = StringIO()
    call_command("report_agreement", few.slug, stdout=out)
    assert "for raters like these: not stated (5 instructions, fewer than 20)" in out.getvalue()
