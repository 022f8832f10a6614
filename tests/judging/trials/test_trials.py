"""A version of a prompt tried on real answers: priced, limited, shown beside people's scores, and never a result."""

import json
from datetime import timedelta
from decimal import Decimal

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.models import Assignment, Score
from core.errors import UserError
from generation.execution.monthly_limit import set_limit, spent_this_month
from generation.execution.write_ahead_log import LoggedReply
from generation.llm.errors import Unauthorised
from generation.llm.scripted import ScriptedChat
from generation.models import Endpoint, LanguageModel
from judging.judges.making import create_judge, stock_prompt
from judging.models import Judge, JudgeRun, PromptTrial
from judging.trials.chosen_tasks import spread, tasks_to_try
from judging.trials.queue import work_on_trial
from judging.trials.records import KEPT, begin_trial, draft_judge, price_of_trial, remove_old, store_replies
from judging.trials.results import result_of
from tests.factories import make_answer, make_checklist_study, make_rater, make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db
PROMPT = stock_prompt("checklist") + "\nBe strict.\n"
HOSTILE = "<script>alert('reply')</script>"


@pytest.fixture
def study():
    return make_checklist_study(instructions=6, models=1)


@pytest.fixture
def model(study):
    endpoint = Endpoint.objects.create(
        workspace=study.workspace, name="priced", base_url="http://127.0.0.1:9/v1", input_price=1, output_price=2
    )
    return LanguageModel.objects.create(workspace=study.workspace, name="tried-model", endpoint=endpoint)


@pytest.fixture
def lead(study, client):
    client.force_login(make_user("lead", study.workspace))
    return client


def verdict(_request, score=0.5, reason="because"):
    return json.dumps({f"item{n}": {"reason": f"{reason} {n}", "score": score} for n in range(3)})


def begun(study, model, count=1, number=1):
    source = f"study:{study.pk}"
    tasks = tasks_to_try(study.workspace, "checklist", source, number, count)
    judge = draft_judge(model, "checklist", PROMPT, {})
    return begin_trial(judge, tasks, source=source, number=number, clock=timezone.now)


def worked(trial, reply=verdict):
    return work_on_trial(trial, chat_for=lambda _model: ScriptedChat(reply))


def rate(study, trial_item, value, pseudonym="Heron"):
    rater = make_rater(study, pseudonym=pseudonym)
    return make_answer(trial_item.task, rater, {f"item{n}": value for n in range(3)})


@pytest.mark.parametrize(
    ("count", "start", "chosen"),
    [
        (1, 3, [13]),
        (5, 0, [10, 12, 14, 16, 18]),
        (5, 9, [19, 11, 13, 15, 17]),
        (20, 4, [14, 15, 16, 17, 18, 19, *range(10, 14)]),
    ],
)
def test_answers_are_spread_evenly_from_the_chosen_one(count, start, chosen):
    assert spread(range(10, 20), count, start) == chosen


def test_five_answers_are_those_with_peoples_scores_first(study):
    tasks = list(study.tasks.order_by("position", "pk"))
    rater = make_rater(study, pseudonym="Heron")
    for task in (tasks[1], tasks[4]):
        make_answer(task, rater, {"item0": 1.0})
    chosen = tasks_to_try(study.workspace, "checklist", f"study:{study.pk}", 1, 5)
    assert {task.pk for task in chosen[:2]} == {tasks[1].pk, tasks[4].pk}
    assert len({task.pk for task in chosen}) == 5


def test_a_study_of_another_workspace_has_no_answers_to_try(study):
    assert tasks_to_try(make_workspace("elsewhere"), "checklist", f"study:{study.pk}", 1, 5) == []


def test_the_price_is_stated_from_this_prompt_and_nothing_is_stored(study, model):
    judge = draft_judge(model, "checklist", PROMPT, {})
    tasks = tasks_to_try(study.workspace, "checklist", f"study:{study.pk}", 1, 5)
    price = price_of_trial(judge, tasks)
    assert price.most.calls == 5 and price.likely is None and price.priced
    longer = price_of_trial(draft_judge(model, "checklist", PROMPT + "More. " * 500, {}), tasks)
    assert longer.most.money > price.most.money > 0
    assert not PromptTrial.objects.exists() and not Judge.objects.exists()


def test_the_likely_cost_takes_the_length_of_earlier_answers(study, model):
    worked(begun(study, model))
    price = price_of_trial(
        draft_judge(model, "checklist", PROMPT, {}),
        tasks_to_try(study.workspace, "checklist", f"study:{study.pk}", 1, 5),
    )
    assert price.likely is not None
    assert 0 < price.likely.money < price.most.money


def test_a_trial_brings_scores_reasons_and_cost_and_no_rating(study, model):
    trial = worked(begun(study, model, count=5))
    assert trial.status == "finished", trial.message
    items = list(trial.items.all())
    assert len(items) == 5 and {item.status for item in items} == {"scored"}
    assert [answer["value"] for answer in items[0].answers] == [0.5] * 3
    assert items[0].answers[1]["reason"] == "because 1" and items[0].calls == 1
    assert not JudgeRun.objects.exists() and not Judge.objects.exists()
    assert not Assignment.objects.exists() and not Score.objects.exists()


def test_its_cost_counts_toward_the_workspaces_month(study, model):
    trial = worked(begun(study, model, count=5))
    cost = sum(item.cost for item in trial.items.all())
    assert cost > 0
    assert spent_this_month(study.workspace.pk, timezone.now).quantize(Decimal("1e-6")) == cost.quantize(
        Decimal("1e-6")
    )


def test_a_trial_that_the_month_has_no_room_for_does_not_begin(study, model):
    set_limit(study.workspace, Decimal("0.000001"), by=None)
    with pytest.raises(UserError, match="limit for this month"):
        begun(study, model)
    assert not PromptTrial.objects.exists()


def test_people_stand_beside_the_scores_with_the_difference(study, model):
    trial = begun(study, model)
    item = trial.items.get()
    rate(study, item, 1.0)
    rate(study, item, 0.5, "Ibis")
    (answer,) = result_of(worked(trial)).answers
    first = answer.criteria[0]
    assert (first.score, first.people, first.raters, first.difference) == (0.5, 0.75, 2, -0.25)
    assert answer.distance == 0.25


def test_an_unusable_reply_is_asked_about_once_and_says_why(study, model, lead):
    asked = []

    def prose(request):
        asked.append(request)
        return HOSTILE

    trial = worked(begun(study, model), prose)
    item = trial.items.get()
    assert len(asked) == 1 and item.status == "unscored" and item.text == HOSTILE and trial.status == "finished"
    page = markup(lead.get(reverse("judging:trial", args=[trial.public_id])))
    assert HOSTILE not in page and "&lt;script&gt;alert" in page
    assert "Unusable" in page


def test_a_hostile_reason_is_escaped(study, model, lead):
    trial = worked(begun(study, model), lambda request: verdict(request, reason=HOSTILE.replace("'", "")))
    page = markup(lead.get(reverse("judging:trial", args=[trial.public_id])))
    assert "<script>alert(reply)" not in page and "&lt;script&gt;alert(reply)" in page


def test_an_endpoint_that_refuses_fails_the_trial_with_its_words(study, model, lead):
    def refuse(_request):
        raise Unauthorised("The key was refused.")

    trial = worked(begun(study, model, count=5), refuse)
    assert trial.status == "failed" and "The key was refused." in trial.message
    page = markup(lead.get(reverse("judging:trial", args=[trial.public_id])))
    assert "The key was refused." in page and "ended before any answer came back" in page


def test_a_reply_that_a_killed_worker_left_is_read_instead_of_asked_for_again(study, model):
    trial = begun(study, model)
    item = trial.items.get()
    left = LoggedReply(
        item=item.pk,
        request_hash="x",
        text=verdict(None),
        finish_reason="stop",
        input_tokens=5,
        output_tokens=7,
        seconds=1.0,
        cost="0.25",
    )
    assert store_replies(trial, [left]) == 1 and store_replies(trial, [left]) == 0

    def never(_request):
        raise AssertionError("It was asked again.")

    trial = worked(trial, never)
    item.refresh_from_db()
    assert trial.status == "finished" and item.status == "scored" and (item.cost, item.calls) == (Decimal("0.25"), 1)


def test_old_trials_are_deleted_and_younger_ones_kept(study, model):
    old, young = worked(begun(study, model)), worked(begun(study, model))
    PromptTrial.objects.filter(pk=old.pk).update(created_at=timezone.now() - KEPT - timedelta(minutes=1))
    assert remove_old(timezone.now) == 1
    assert list(PromptTrial.objects.values_list("pk", flat=True)) == [young.pk]


def form(study, model, action, **more):
    return {
        "model": model.pk,
        "prompt": PROMPT,
        "temperature": 0,
        "source": f"study:{study.pk}",
        "number": 1,
        "action": action,
        **more,
    }


def test_the_editor_states_the_price_then_sends_and_shows_the_result(
    study, model, lead, django_capture_on_commit_callbacks
):
    place = reverse("judging:new_judge") + "?method=checklist"
    offered = lead.post(place, form(study, model, "price5"))
    assert "5 calls to tried-model." in markup(offered) and not PromptTrial.objects.exists()
    agreed = offered.context["offer"].price.most.money
    assert f'name="agreed" value="{agreed}"' in markup(offered)
    sent = lead.post(place, form(study, model, "try5", agreed=agreed))
    trial = PromptTrial.objects.get()
    assert sent.status_code == 302 and sent.url == reverse("judging:trial", args=[trial.public_id])
    assert trial.budget_money >= agreed and trial.items.count() == 5
    assert "hx-get" in markup(lead.get(sent.url))
    worked(trial)
    page = lead.get(sent.url)
    assert "5 of 5 answers brought a usable verdict." in markup(page) and "because 1" in markup(page)
    again = lead.get(reverse("judging:new_judge") + f"?trial={trial.public_id}")
    assert "Be strict." in markup(again)


def test_a_price_above_the_one_that_was_shown_sends_nothing(study, model, lead):
    place = reverse("judging:new_judge") + "?method=checklist"
    answer = lead.post(place, form(study, model, "try1", agreed="0.0000001"))
    assert "The price has changed" in markup(answer) and not PromptTrial.objects.exists()
    assert lead.post(place, form(study, model, "try1", agreed="NaN")).status_code == 200
    assert not PromptTrial.objects.exists()


def test_only_a_lead_stops_a_trial_and_no_stranger_sees_it(study, model, client):
    trial = begun(study, model)
    place, stop = (reverse(f"judging:{name}", args=[trial.public_id]) for name in ("trial", "stop_trial"))
    client.force_login(make_user("lead", make_workspace("elsewhere")))
    assert client.get(place).status_code == 404 and client.post(stop).status_code == 404
    client.force_login(make_user("analyst", study.workspace))
    assert client.get(place).status_code == 200 and client.post(stop).status_code == 403
    trial.refresh_from_db()
    assert trial.status == "running"
    client.force_login(make_user("lead", study.workspace))
    assert client.post(stop).status_code == 302
    trial.refresh_from_db()
    assert trial.status == "cancelled"


def test_a_benchmarks_responses_are_tried_with_the_rubric_nearest_to_them(study, model):
    source = f"benchmark:{study.benchmark.pk}"
    tasks = tasks_to_try(study.workspace, "checklist", source, 1, 5)
    assert len(tasks) == 5 and all(task.pk is None for task in tasks)
    judge = draft_judge(model, "checklist", PROMPT, {})
    trial = worked(begin_trial(judge, tasks, source=source, number=1, clock=timezone.now))
    assert trial.status == "finished" and {item.status for item in trial.items.all()} == {"scored"}
    rated = study.tasks.get(response_a=trial.items.first().response)
    make_answer(rated, make_rater(study, pseudonym="Heron"), {"item0": 1.0})
    (first, *_others) = result_of(trial).answers
    assert rated.answer_rubric_id != first.item.rubric_id or first.criteria[0].people == 1.0


def test_a_judge_can_be_made_of_the_same_prompt_afterwards(study, model):
    worked(begun(study, model))
    assert create_judge(model=model, prompt=PROMPT).prompt == PROMPT
