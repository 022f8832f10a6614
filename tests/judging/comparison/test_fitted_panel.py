"""A fitted panel as a judge: its verdicts, whose weights they rest on, and that it is a judge like any other."""

import json
from io import StringIO

import numpy as np
import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from accounts.api.tokens import issue_token
from annotation.models import Assignment, Score
from calibration.reports.registry import report_of
from core.errors import UserError
from judging.cards.card import judge_card
from judging.cards.table import TABLE, table_settings
from judging.comparison.bridging.run_bridge import run_bridge
from judging.comparison.fitted_panel import make_fitted_panel
from judging.comparison.judge_panel import PANEL, panel_settings
from judging.methods.combining import Scale
from judging.methods.pairs.base import chosen
from judging.methods.parsing import Answer, Unscored, Verdict
from judging.methods.prompts import Item, Level
from judging.methods.weighted import FOLDS, fold_of, weighted
from judging.models import Judge, JudgeRun, Reply
from judging.runs.life_cycle import start_run
from judging.runs.planning.preparation import create_run
from judging.runs.planning.request import RunRequest, Target
from judging.runs.worker import work_on
from tests.factories import make_judge_rater, make_user
from tests.judging.comparison.test_run_pairs import text
from tests.judging.web.test_judge_panel import judged_study

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_kept():
    cache.clear()


def item(key="item0", values=(0.0, 0.25, 0.5, 0.75, 1.0)):
    return Scale(Item(key, "How good?", tuple(Level(value, str(value)) for value in values)))


def verdict(value, key="item0"):
    return Verdict((Answer(key, value, ""),))


def made(study, **options):
    report = report_of(study, PANEL, panel_settings(study))
    found = make_fitted_panel(study, report, user=None, clock=timezone.now, **options)
    if found.run is not None:
        found.run.refresh_from_db()
        work_on(found.run)
    return found


def values_of(rater):
    rows = Score.objects.filter(assignment__rater=rater).values_list("assignment__task", "value")
    return dict(rows)


def test_the_weighted_mean_by_hand_and_what_has_none():
    given = {"a": verdict(1.0), "b": verdict(0.5), "c": verdict(0.0)}
    found = weighted(given, {"a": 0.5, "b": 0.3, "c": 0.2}, [item()])
    assert found.answers[0].value == pytest.approx(0.65)  # .5 x 1 + .3 x .5
    assert found.answers[0].reason == "The weighted mean of a 1 × 0.50, b 0.5 × 0.30, c 0 × 0.20."
    assert isinstance(weighted({"a": verdict(1.0)}, {"a": 0.5, "b": 0.5}, [item()]), Unscored)
    assert isinstance(weighted({"a": verdict(1.0, "other")}, {"a": 1.0}, [item()]), Unscored)
    assert weighted({"a": verdict(1.0)}, {"a": 1.0, "b": 0.0}, [item()]).answers[0].value == 1.0


def test_a_weighted_preference_is_the_nearest_level():
    scale = Scale(Item("preference", "Which?", (Level(-1, "B"), Level(0, "Tie"), Level(1, "A"))), is_preference=True)
    given = {name: Verdict((chosen("preference", level, ""),)) for name, level in (("x", "a"), ("y", "b"))}
    assert weighted(given, {"x": 0.8, "y": 0.2}, [scale]).answers[0].value == 1  # .6
    assert weighted(given, {"x": 0.7, "y": 0.3}, [scale]).answers[0].value == 0  # .4
    assert weighted(given, {"x": 0.1, "y": 0.9}, [scale]).answers[0].value == -1


def test_the_panels_verdicts_are_its_members_weighted_by_the_fit_without_their_own_fold():
    study = judged_study([0.7, 0.6, 0.6], instructions=40, models=3, rated=30)
    found = made(study)
    judge, run = found.judge, JudgeRun.objects.get(pk=found.run.pk)
    assert run.status == JudgeRun.Status.FINISHED, run.message
    assert Reply.objects.count() == 0
    stored = judge.parameters
    assert len(stored["folds"]) == FOLDS and np.allclose(np.sum(stored["folds"], axis=1), 1, atol=1e-5)
    assert np.allclose(np.mean(stored["folds"], axis=0), stored["weights"], atol=1e-5)
    assert len({tuple(weights) for weights in stored["folds"]}) == FOLDS, "each fold has weights of its own"
    raters = {row.public_id: row for row in study.workspace.raters.filter(kind="judge")}
    members = [values_of(raters[one]) for one in stored["members"]]
    said = values_of(judge.rater)
    assert len(said) == 120
    for task in study.tasks.select_related("response_a__instruction"):
        weights = stored["folds"][fold_of(task.response_a.instruction.external_id)]
        expected = sum(weight * own[task.pk] for weight, own in zip(weights, members, strict=True))
        assert said[task.pk] == pytest.approx(expected, abs=1e-4)
    assert set(Assignment.objects.filter(rater=judge.rater).values_list("status", flat=True)) == {"derived"}


def test_people_of_a_fold_have_no_part_in_its_weights():
    study = judged_study([0.7, 0.6], instructions=40, models=3)
    before = made(study, name="before").judge.parameters["folds"]
    fold = fold_of("essays-0")
    people = Score.objects.filter(
        criterion__role="overall",
        assignment__rater__kind="person",
        assignment__task__response_a__instruction__external_id="essays-0",
    )
    for place, score in enumerate(people):
        Score.objects.create(
            assignment_id=score.assignment_id, criterion_id=score.criterion_id, value=float(place % 10), revision=1
        )
    after = made(study, name="after").judge.parameters["folds"]
    assert after[fold] == before[fold]
    assert any(after[number] != before[number] for number in range(FOLDS) if number != fold)


def test_it_is_a_judge_like_any_other_in_cards_tables_panels_and_bridges():
    study = judged_study([0.7, 0.6, 0.6], instructions=40, models=3)
    found = made(study, name="the panel")
    again = report_of(study, PANEL, panel_settings(study))
    assert ("the panel", "panel") in [(one.judge, one.why) for one in again.left_out]
    same = make_fitted_panel(study, again, user=None, clock=timezone.now)
    assert same.judge == found.judge and same.run is None, "the same fit is the same judge, which has judged everything"
    card = judge_card(found.judge.rater)
    assert card.verdicts == 120 and len(card.judge.panel) == 3 and card.judge.panel[0].startswith("judge0 (0.")
    table = report_of(study, TABLE, table_settings(study))
    row = next(one for one in table.rows if one.judge == "the panel")
    assert row.measured.verdicts == 120 and row.measured.offset is not None
    run = JudgeRun.objects.get(pk=found.run.pk)
    rule = Judge.objects.create(
        workspace=study.workspace,
        rater=make_judge_rater(study.workspace, "second panel"),
        method=found.judge.method,
        prompt_hash="",
        parameters=found.judge.parameters,
    )
    other = create_run(RunRequest(Target(study=study), (rule,), probe=False))
    start_run(other, clock=timezone.now)
    other = work_on(other)
    bridged = run_bridge(run, other)
    assert bridged.bridge.correlation == pytest.approx(1) and bridged.bridge.n_anchors == 120


def test_a_panel_of_one_is_refused_in_a_sentence():
    study = judged_study([0.9, -0.9], instructions=24)
    with pytest.raises(UserError, match="at least 2 judges with a weight above 0, and the fit gives one to 1"):
        made(study)
    assert not Judge.objects.exists()


def test_page_command_and_api_make_it(client):
    study = judged_study([0.7, 0.6, 0.6], instructions=30, models=3)
    client.force_login(make_user("lead"))
    panel = reverse("judging:judge_panel", args=[study])
    address = reverse("judging:make_panel", args=[study])
    assert address in text(client.get(panel))
    assert "Use this panel as a judge" in text(client.get(address)) and not Judge.objects.exists()
    answer = client.post(address, {"name": "from the page"})
    judge = Judge.objects.get()
    assert answer.status_code == 302 and answer.url == reverse("judging:run", args=[JudgeRun.objects.get().public_id])
    assert judge.rater.label == "from the page"
    work_on(JudgeRun.objects.get())
    assert "from the page" in text(client.get(reverse("judging:judge", args=[judge.rater.public_id])))
    user = make_user("lead", study.workspace, username="api")
    _token, secret = issue_token(user=user, name="script", scopes=["read", "change"])
    head = {"headers": {"Authorization": f"Bearer {secret}"}, "content_type": "application/json"}
    served = f"/api/v1/w/{study.workspace.slug}/studies/{study.slug}/panel/judge/"
    told = client.post(served, json.dumps({"judges": ["judge0", "judge1"], "name": "of two"}), **head)
    assert told.status_code == 201 and told.json()["name"] == "of two" and told.json()["run"]
    assert client.post(served, json.dumps({"judges": ["nobody"]}), **head).status_code == 400
    out = StringIO()
    call_command("panel", study.slug, make=True, judge=["judge0", "judge2"], name="by command", stdout=out)
    assert "90 of 90 tasks" in out.getvalue()
    with pytest.raises(CommandError, match="belongs to another judge"):
        call_command("panel", study.slug, make=True, judge=["judge1", "judge2"], name="judge0")
    client.force_login(make_user("analyst", username="reader"))
    assert "A lead of this workspace" in text(client.get(address))
    assert client.post(address, {}).status_code == 403
