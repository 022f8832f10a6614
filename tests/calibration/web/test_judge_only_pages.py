"""A study that only a judge has answered has rankings, length bias and position bias."""

import pytest
from django.urls import reverse

from calibration.reports.judges import _compute as judges_of, judges_settings
from calibration.reports.rankings import _compute as rankings_of, ranking_settings
from tests.calibration.answered_studies import answered_study
from tests.calibration.pair_studies import pair_study
from tests.calibration.result_page_checks import answer_of, never_nan, signed_in
from tests.factories import make_judge_rater
from tests.markup import markup

pytestmark = pytest.mark.django_db


def judged_alone(study):
    """Make all answers of the study those of one judge, one answer a task."""
    judge = make_judge_rater(study.workspace)
    keep = study.raters.order_by("pk").first()
    for task in study.tasks.all():
        task.assignments.exclude(rater=keep).update(status="surplus")
        task.assignments.filter(rater=keep).update(rater=judge)
    return judge


def test_pairs_are_ranked_by_the_judge_and_its_biases_are_shown():
    study = pair_study(models=3, instructions=22, raters=1)
    judge = judged_alone(study)
    _hash, found = rankings_of(study, ranking_settings())
    assert (found.by, found.kind) == (judge.public_id, "pairs")
    client = signed_in("lead", study.workspace)
    page = markup(client.get(reverse("calibration:rankings", args=[study])))
    never_nan(page)
    assert "model0 ranks first" in answer_of(page)
    _hash, depth = judges_of(study, judges_settings(study))
    (row,) = depth.judges
    assert row.sways.position.n == row.sways.n == 66
    for name in ("judging:judges", "judging:judges_depth", "calibration:agreement", "calibration:raters"):
        never_nan(markup(client.get(reverse(name, args=[study]))))
    page = markup(client.get(reverse("judging:judges_depth", args=[study])))
    assert f"{judge.name} prefers it by a margin of" in answer_of(page)


def test_scores_are_ranked_by_the_judge():
    study = answered_study(instructions=24)
    judge = judged_alone(study)
    _hash, found = rankings_of(study, ranking_settings())
    assert (found.by, found.kind, found.n_raters) == (judge.public_id, "scores", 1)
    page = markup(signed_in("lead", study.workspace).get(reverse("calibration:rankings", args=[study])))
    never_nan(page)
    assert "has the highest mean score" in answer_of(page)
