"""What adds to one judge, on its page: length and format, both orders, further answers; and what is said without them."""

import json
import re
from html import unescape

import numpy as np
import pytest
from django.core.cache import cache
from django.urls import reverse
from django.utils import timezone

from annotation.models import Task
from calibration.reports.registry import report_of
from generation.llm.scripted import ScriptedChat
from generation.models import Endpoint, LanguageModel, Response
from judging.comparison.judge_panel import PANEL, panel_settings
from judging.judges.making import create_judge, stock_prompt
from judging.models import Reply
from judging.monitoring.monitors import create_watch, start_round
from judging.runs.life_cycle import start_run
from judging.runs.worker import work_on
from tests.calibration.pair_studies import pair_study
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater, make_user, plan_run
from tests.judging.comparison.test_run_pairs import text

pytestmark = pytest.mark.django_db
LEVELS = (0, 0.25, 0.5, 0.75, 1)
GAIN = r"\(R² gains [\d.]+ \(95 % interval for raters like these"


def level(seen):
    return LEVELS[int(np.clip(np.floor(2.5 + seen), 0, 4))]


def scored_study(*, instructions=40, models=3, rated=None, of_length=0.0, answers=1, noise=0.5):
    """A judge sees a truth with an error of its own in each answer; people see it and how long a response is."""
    study = make_checklist_study(instructions=instructions, models=models, items=1)
    judge = make_judge_rater(study.workspace, "judge0")
    people = [make_rater(study) for _ in range(3)]
    rng = np.random.default_rng(0)
    for place, task in enumerate(Task.objects.filter(study=study).select_related("answer_rubric").order_by("pk")):
        truth, length = rng.normal(size=2)
        Response.objects.filter(pk=task.response_a_id).update(text="x" * int(300 * 2**length))
        for repeat in range(answers):
            make_answer(task, judge, {"item0": level(truth + noise * rng.normal())}, repeat=repeat)
        for rater in people if rated is None or place // models < rated else []:
            score = int(np.clip(round(5 + 1.5 * (truth + of_length * length) + 0.7 * rng.normal()), 0, 10))
            make_answer(task, rater, {"item0": 0.5, "overall": score})
    return study


def address(study, **query):
    return reverse("judging:judge_panel", args=[study], query=query)


def opened(client, study):
    client.force_login(make_user("lead"))
    return unescape(text(client.get(address(study))))


def rows(client, study):
    table = client.get(address(study, file="ways.json")).json()
    return {(row[0], row[1]): dict(zip(table["columns"], row, strict=True)) for row in table["rows"]}


def test_length_that_people_go_by_is_claimed_also_of_a_single_judge(client):
    study = scored_study(of_length=0.8, rated=30)
    page = opened(client, study)
    assert "A panel needs at least 2 judges" in page and "Other ways to save more labels" in page
    wanted = (
        "Shown to predict people's differences between models better than the judge does by one answer alone: judge0 with "
        "length and format "
    )
    assert re.search(re.escape(wanted) + GAIN, page)
    assert "a run with repeats would show what they add" in page and "asked about a pair" not in page
    found = report_of(study, PANEL, panel_settings(study)).ways.rows[0]
    assert found.shown and found.found.most > found.found.most_single > 0 and found.answers == 1
    whole = client.get(address(study, file="page.json")).json()
    assert [block["key"] for block in whole["blocks"]] == ["ways"]


def test_length_that_nobody_goes_by_is_not(client):
    page = opened(client, scored_study())
    assert (
        "Whether length and format, another order or further answers add to what a judge predicts of people's differences "
        "between models is not shown: the gain in the only row of the table may be 0." in page
    )


def test_further_answers_of_a_noisy_judge_are_claimed_at_their_price(client):
    study = scored_study(answers=4, noise=1.5)
    page = opened(client, study)
    assert re.search("judge0 with further answers " + GAIN, page)
    assert "a run with repeats" not in page
    found = {row.way: row for row in report_of(study, PANEL, panel_settings(study)).ways.rows}
    assert found["repeats"].answers == 4 and found["repeats"].shown and not found["length_and_format"].shown


def test_too_few_instructions_are_said_with_the_number_needed(client):
    study = scored_study(instructions=21, rated=7)
    page = opened(client, study)
    assert (
        "What length and format, both orders or further answers add to a judge is stated from 20 instructions on, on which "
        "people compared models that the judge scored; there are 7." in page
    )


def biased_pairs(*, bias, orders=("a", "b")):
    """A judge with a pull to the side shown first, asked about every pair in these orders; people see the truth."""
    study = pair_study(models=3, instructions=30, raters=0)
    judge, people = make_judge_rater(study.workspace, "judge0"), [make_rater(study) for _ in range(3)]
    rng = np.random.default_rng(1)
    for task in study.tasks.select_related("answer_rubric").order_by("pk"):
        truth = rng.normal()
        for rater in people:
            make_answer(task, rater, {"preference": np.sign(truth + 0.3 * rng.normal())}, shown_first="a")
        turn = rng.permutation(len(orders))
        for repeat, side in enumerate(orders[at] for at in turn):
            pull = bias if side == "a" else -bias
            said = np.sign(truth + pull + 0.2 * rng.normal())
            make_answer(task, judge, {"preference": said}, shown_first=side, repeat=repeat)
    return study


def test_both_orders_of_a_judge_that_prefers_the_first_side_are_claimed(client):
    study = biased_pairs(bias=1.0)
    page = opened(client, study)
    assert re.search("judge0 with both orders " + GAIN, page)
    assert "in both orders would show" not in page and "a run with repeats" in page
    found = {row.way: row for row in report_of(study, PANEL, panel_settings(study)).ways.rows}
    assert found["both_orders"].answers == 2 and found["both_orders"].found.single.value > 0


def test_one_order_only_says_which_run_would_show_what_both_add(client):
    page = opened(client, biased_pairs(bias=0.5, orders=("a",)))
    assert (
        "No judge was asked about a pair in both orders; a run that asks in both orders would show what it adds."
        in page
    )


def test_answers_that_never_change_are_said_to_add_nothing(client):
    study = scored_study()
    judge = study.workspace.raters.get(label="judge0")
    for given in list(judge.assignments.prefetch_related("scores")):
        make_answer(given.task, judge, {"item0": given.scores.get().value}, repeat=1)
    assert "Every answer was the same, so another one adds nothing: judge0 with further answers." in opened(
        client, study
    )


def test_texts_that_are_not_stored_have_no_length(client):
    study = scored_study(instructions=24)
    Response.objects.update(text=None)
    page = opened(client, study)
    assert "cannot be measured here; the notes say why." in page
    assert "Length and format of responses whose texts are not stored are unknown." in page


def test_a_run_with_repeats_is_measured_and_priced_and_rounds_of_a_monitor_are_not(client):
    """Its answers are chance; the judge has no run of its own, so the run that asks it three times says the price."""
    cache.clear()
    study = scored_study(instructions=24)
    endpoint = Endpoint.objects.create(workspace=study.workspace, name="far", base_url="http://127.0.0.1:9/v1")
    priced = {"input_price": 10, "output_price": 10, "currency": "USD", "endpoint": endpoint}
    model = LanguageModel.objects.create(workspace=study.workspace, name="cheap", **priced)
    judge = create_judge(model=model, prompt=f"{stock_prompt('checklist')}\nshort", name="short")
    rng = np.random.default_rng(3)

    def said(_request):
        return json.dumps({"item0": {"reason": "so", "score": float(rng.choice(LEVELS))}})

    def worked(run):
        start_run(run, clock=timezone.now)
        return work_on(run, chat_for=lambda _model: ScriptedChat(said))

    run = worked(plan_run(judge=judge, study=study, repeats=3))
    assert run.status == "finished", run.message
    watch = create_watch(judge=judge, study=study, every_hours=24, clock=timezone.now, size=72)
    work_on(start_round(watch, clock=timezone.now), chat_for=lambda _model: ScriptedChat(said))
    assert judge.rater.assignments.filter(repeat=3).count() == 72
    report = report_of(study, PANEL, panel_settings(study))
    found = {(row.judge, row.way): row.answers for row in report.ways.rows}
    assert found == {("judge0", "length_and_format"): 1, ("short", "length_and_format"): 1, ("short", "repeats"): 3}
    client.force_login(make_user("lead"))
    row = rows(client, study)["short", "repeats"]
    paid = [reply.cost for reply in Reply.objects.filter(item__run=run)]
    alone = 1000 * float(sum(paid)) / len(paid)
    assert len(paid) == 3 * 72 and row["Calls for 1,000 verdicts"] == 3000
    assert row["Cost of 1,000 verdicts alone (USD)"] == pytest.approx(alone)
    assert row["Cost of 1,000 verdicts together (USD)"] == pytest.approx(3 * alone)
    assert rows(client, study)["judge0", "length_and_format"]["Cost of 1,000 verdicts alone (USD)"] is None
    path = reverse("api:panel", args=[study.workspace.slug, study.slug])
    told = client.get(path).json()
    assert [one["way"] for one in told["panel"]["ways"]["rows"]] == [row.way for row in report.ways.rows]
    assert [float(one["together"]["money"] or 0) for one in told["costs_of_ways"]] == pytest.approx(
        [0, alone, 3 * alone]
    )
