"""Anchors of a bridge: drawn by model and category, priced and asked like any run; the leaderboard that continues."""

import json
from io import StringIO

import numpy as np
import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from accounts.api.tokens import issue_token
from core.errors import UserError
from generation.llm.scripted import ScriptedChat
from generation.models import Category, Instruction, LanguageModel, Response
from judging.comparison.bridging.anchors import AnchorRequest, plan_anchors, run_request, shared_out, started_anchor_run
from judging.comparison.bridging.people_scale import people_json, peoples_scale
from judging.comparison.bridging.run_bridge import run_bridge
from judging.judges.making import create_judge, stock_prompt
from judging.models import JudgeRun
from judging.runs.life_cycle import start_run
from judging.runs.planning.estimates import estimate_run
from judging.runs.worker import work_on
from tests.factories import make_answer, make_checklist_study, make_rater, make_user, plan_run
from tests.judging.comparison.test_run_pairs import judged, text

pytestmark = pytest.mark.django_db
LEVELS = (0, 0.25, 0.5, 0.75, 1)


@pytest.fixture(autouse=True)
def _nothing_kept():
    cache.clear()


@pytest.fixture
def old():
    """The old judge scored two models on 40 instructions, half of them in a second category."""
    study = make_checklist_study(instructions=40, models=2)
    other = Category.objects.create(benchmark=study.benchmark, key="letter", names={"en": "Letter"})
    pks = Instruction.objects.filter(benchmark=study.benchmark).order_by("pk").values_list("pk", flat=True)[20:]
    Instruction.objects.filter(pk__in=list(pks)).update(category=other)
    return judged(study, lambda n: LEVELS[n % 5], "old judge")


@pytest.fixture
def new(old):
    return create_judge(
        model=old.judge.language_model, prompt=f"{stock_prompt('checklist')}\nnew judge", name="new judge"
    )


def answered(run, levels):
    """Answer every question of a run by the instruction's number."""

    def said(request):
        level = levels(int(request.subject["instruction"].rsplit("-", 1)[1]))
        return json.dumps({f"item{n}": {"reason": "so", "score": level} for n in range(3)})

    return work_on(run, chat_for=lambda _model: ScriptedChat(said))


def lower(n):
    return LEVELS[max(0, n % 5 - 1)]


def test_draws_are_shared_out_in_proportion_with_two_of_each_stratum():
    # 10 of 30 and 10: two each first, the other 6 by 28 to 8, which is 4.67 and 1.33.
    assert shared_out(10, [30, 10]) == [7, 3]
    assert shared_out(3, [30, 10]) == [2, 1]
    assert shared_out(5, [1, 1, 50]) == [1, 1, 3]
    assert shared_out(99, [3, 4]) == [3, 4]
    assert shared_out(0, [3, 4]) == [0, 0]
    # In proportion alone the second stratum of 4 in 100 would get none of 6.
    assert shared_out(6, [96, 4]) == [4, 2]


def test_every_model_and_category_gives_its_share_and_a_larger_draw_holds_the_smaller(old, new):
    small = plan_anchors(AnchorRequest(old, new, per_model=10, seed=3))
    large = plan_anchors(AnchorRequest(old, new, per_model=20, seed=3))
    assert [(one.model, one.responses, one.anchors) for one in small.models] == [("model0", 40, 10), ("model1", 40, 10)]
    tasks = old.study.tasks.filter(pk__in=small.tasks)
    for name in ("model0", "model1"):
        for category in ("essay", "letter"):
            assert (
                tasks.filter(response_a__model__name=name, response_a__instruction__category__key=category).count() == 5
            )
    assert set(small.tasks) < set(large.tasks)
    assert set(small.tasks) != set(plan_anchors(AnchorRequest(old, new, per_model=10, seed=4)).tasks)


def test_every_response_of_a_cell_is_drawn_equally_often(old, new):
    drawn = np.zeros(80)
    tasks = {pk: at for at, pk in enumerate(old.study.tasks.order_by("pk").values_list("pk", flat=True))}
    for seed in range(200):
        for pk in plan_anchors(AnchorRequest(old, new, per_model=10, seed=seed)).tasks:
            drawn[tasks[pk]] += 1
    # Each of 80 responses with probability 1/4: 50 of 200 expected with a standard deviation of 6.1.
    assert drawn.sum() == 200 * 20 and drawn.min() > 25 and drawn.max() < 75


def test_the_number_follows_from_the_width_and_from_the_correlation_assumed(old, new):
    wide = plan_anchors(AnchorRequest(old, new, half_width=0.15))
    narrow = plan_anchors(AnchorRequest(old, new, half_width=0.05))
    certain = plan_anchors(AnchorRequest(old, new, half_width=0.05, correlation=0.95))
    # Levels 0 to 1 in fifths: standard deviation sqrt(1/8) * sqrt(80/78); at r = .7 the spread is that times sqrt(1 - .49).
    assert wide.spread == pytest.approx((1 / 8 * 80 / 78) ** 0.5 * 0.51**0.5) and not wide.from_bridge
    assert wide.models[0].anchors < certain.models[0].anchors < narrow.models[0].anchors <= 40


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({}, "either how narrow"),
        ({"half_width": 0.1, "per_model": 9}, "either how narrow"),
        ({"half_width": -1.0}, "either how narrow"),
        ({"per_model": 4}, "at least 5"),
        (
            {"per_model": 9},
            "needs at least 20 responses that both judges score, and this would draw 18; draw at least 10",
        ),
        ({"per_model": 20, "correlation": 1.0}, "below 1"),
    ],
)
def test_too_few_anchors_are_refused_in_a_sentence_with_the_number_needed(old, new, asked, words):
    with pytest.raises(UserError, match=words):
        plan_anchors(AnchorRequest(old, new, **asked))
    with pytest.raises(UserError, match="choose another judge"):
        plan_anchors(AnchorRequest(old, old.judge, per_model=20))
    assert JudgeRun.objects.count() == 1


def test_a_run_of_probes_has_no_anchors(old, new):
    old.probes = {"arms": []}
    with pytest.raises(UserError, match="ordinary run"):
        plan_anchors(AnchorRequest(old, new, per_model=20))


def test_a_run_over_anchors_asks_about_these_alone_once_and_bridges_the_judges(old, new):
    request = AnchorRequest(old, new, per_model=15, canaries=False)
    plan = plan_anchors(request)
    assert estimate_run(run_request(request, plan)).most.calls == 30
    run = started_anchor_run(request, clock=timezone.now)
    assert started_anchor_run(request, clock=timezone.now) == run, "what is sent twice is started once"
    assert set(run.items.values_list("task", flat=True)) == set(plan.tasks)
    assert run.manifest["settings"]["drawn"]["of"] == old.public_id
    run = answered(run, lower)
    assert run.status == JudgeRun.Status.FINISHED, run.message
    found = run_bridge(old, run)
    assert (found.bridge.n_anchors, found.bridge.n) == (30, 30)
    more = plan_anchors(AnchorRequest(old, new, per_model=20))
    assert more.from_bridge and more.spread == pytest.approx(found.bridge.spread) and more.known == 30
    with pytest.raises(UserError, match="every response that would be drawn, 30 in all"):
        run_request(request, plan_anchors(request))


def test_the_leaderboard_continues_with_models_that_only_one_of_the_judges_scored(client, old, new):
    study = old.study
    run = answered(started_anchor_run(AnchorRequest(old, new, per_model=20, canaries=False), clock=timezone.now), lower)
    later = LanguageModel.objects.create(workspace=study.workspace, name="newcomer")
    rubric = study.tasks.first().answer_rubric
    for instruction in Instruction.objects.filter(benchmark=study.benchmark):
        response = Response.objects.create(instruction=instruction, model=later, text="Some words.", words=2)
        study.tasks.create(kind="single", key=f"r:{response.pk}", response_a=response, answer_rubric=rubric)
    # The new judge scores what it has not scored: the newcomer, and the rest of the old models.
    full = plan_run(judge=new, study=study)
    assert full.items.count() == 40 + 40
    full.items.exclude(task__response_a__model=later).update(status="unscored")
    start_run(full, clock=timezone.now)
    full = answered(full, lambda n: LEVELS[min(4, n % 5)])
    found = run_bridge(old, full)
    board = {one.model: one for one in found.board}
    assert set(board) == {"model0", "model1", "newcomer"} and found.bridge.n_anchors == 40, "anchors of the other run"
    kept = board["model0"]
    assert (kept.kind, kept.n, kept.n_both) == ("old", 40, 20) and kept.value == pytest.approx(0.5)
    assert kept.low < 0.5 < kept.high and kept.first == 1 and kept.last == 2
    newcomer = board["newcomer"]
    assert (newcomer.kind, newcomer.reason, newcomer.first) == ("not_stated", "few_models", None)
    client.force_login(make_user("lead"))
    page = text(client.get(reverse("judging:bridge_runs", args=[full.public_id], query={"old": old.public_id})))
    assert "2 models keep their places by the scores of old judge alone" in page
    assert "3 models stand on the scale of old judge. Which of them leads is not shown." in page
    assert reverse("judging:draw_anchors", args=[full.public_id]) in page, (
        "the old judge can score the newcomer's anchors"
    )
    # The old judge scores anchors among the newcomer's responses, which puts it on the old scale.
    wanted = AnchorRequest(full, old.judge, per_model=20, canaries=False)
    assert {one.model: one.anchors for one in plan_anchors(wanted).models} == {"newcomer": 20}
    answered(started_anchor_run(wanted, clock=timezone.now), lambda n: LEVELS[n % 5])
    newcomer = next(one for one in run_bridge(old, full).board if one.model == "newcomer")
    assert newcomer.kind == "anchored" and newcomer.n_both == 20 and newcomer.first is not None
    bridged = next(one for one in run_bridge(old, full).bridge.models if one.model == "newcomer")
    assert newcomer.high - newcomer.low > bridged.high - bridged.low, "drawing instructions widens it"
    assert run.manifest["settings"]["drawn"]["tasks"] == 40


def test_page_command_and_api_draw_price_and_start(client, old, new):
    client.force_login(make_user("lead"))
    address = reverse("judging:draw_anchors", args=[old.public_id])
    shown = client.get(address, {"judge": new.rater.public_id})
    assert shown.context["form"].initial["judge"] == new.pk
    sent = {"judge": new.pk, "per_model": "15"}
    page = client.post(address, {**sent, "action": "preview"})
    assert page.context["plan"].n == 30 and "30 calls for 30 tasks" in text(page) and "is a plan" in text(page)
    assert JudgeRun.objects.count() == 1
    for wrong in ({"per_model": "4"}, {"half_width": "0.1", "per_model": "15"}, {"per_model": "9"}, {}):
        assert client.post(address, {"judge": new.pk, **wrong}).status_code == 422, wrong
    assert JudgeRun.objects.count() == 1
    out = StringIO()
    call_command("bridge", old.public_id, ask="new judge", per_model=15, price=True, json=True, stdout=out)
    price = json.loads(out.getvalue())
    user = make_user("lead", old.study.workspace, username="api")
    _token, secret = issue_token(user=user, name="script", scopes=["read", "run"])
    head = {"headers": {"Authorization": f"Bearer {secret}"}, "content_type": "application/json"}
    served = f"/api/v1/runs/{old.public_id}/anchors/"
    body = {"judge": "new judge", "per_model": 15, "canaries": False}
    priced = client.post(served, {**body, "canaries": True, "price_only": True}, **head)
    assert priced.status_code == 200 and priced.json() == price and price["anchors"] == 30
    with pytest.raises(CommandError, match="no judge 'nobody'"):
        call_command("bridge", old.public_id, ask="nobody", per_model=15)
    with pytest.raises(CommandError, match="would draw 18"):
        call_command("bridge", old.public_id, ask="new judge", per_model=9)
    assert client.post(served, {**body, "per_model": 9}, **head).status_code == 400
    assert JudgeRun.objects.count() == 1
    made = client.post(served, body, **head)
    assert made.status_code == 201 and made.json()["progress"]["total"] == 30
    answered(JudgeRun.objects.get(public_id=made.json()["id"]), lower)
    run = JudgeRun.objects.get(public_id=made.json()["id"])
    assert reverse("judging:bridge_runs", args=[run.public_id]) in text(
        client.get(reverse("judging:run", args=[run.public_id]))
    )
    out = StringIO()
    call_command("bridge", old.public_id, run.public_id, board=True, csv=True, stdout=out)
    assert out.getvalue().startswith("Model,Mean") and "model0" in out.getvalue()
    client.force_login(make_user("analyst", username="reader"))
    assert client.get(address).status_code == 403


def test_where_people_rated_both_judges_are_put_on_their_scale():
    study = make_checklist_study(instructions=24, models=7)
    first = judged(study, lambda n: LEVELS[n % 5], "first judge")
    second = judged(study, lambda n: LEVELS[(n + n // 12) % 5], "second judge")
    people = [make_rater(study) for _ in range(3)]
    for task in study.tasks.select_related("response_a__model").order_by("pk"):
        number = int(task.response_a.instruction.external_id.rsplit("-", 1)[1])
        if task.response_a.model.name != "model6":
            for place, rater in enumerate(people):
                make_answer(task, rater, {"overall": float(min(10, 2 * (number % 5) + (number + place) % 2))})
    found = peoples_scale(first, second)
    assert found.study == study and found.both
    told = people_json(found)
    assert told["study"] == study.slug and {"old", "new"} <= set(told)
    assert [one.model for one in found.old.found.transport.carried] == ["model6"]
