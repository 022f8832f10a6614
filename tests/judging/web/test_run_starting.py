"""Starting a run in the browser: a judge or a jury, on a study or a benchmark, counted before it begins."""

import re
from datetime import timedelta
from decimal import Decimal

import pytest
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from annotation.models import Rubric, Study
from annotation.rubrics.library import RubricsOf
from generation.models import Endpoint, LanguageModel, Response
from judging.judges.making import create_judge
from judging.judges.transports import ChatTransport
from judging.models import Judge, JudgeRun
from tests.factories import make_answer, make_checklist_study, make_rater, make_rubric, make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return make_checklist_study(instructions=3, models=2)


@pytest.fixture
def models(study):
    endpoint = Endpoint.objects.create(
        workspace=study.workspace,
        name="somewhere",
        base_url="http://127.0.0.1:9/v1",
        input_price=Decimal("2"),
        output_price=Decimal("8"),
    )
    return [
        LanguageModel.objects.create(workspace=study.workspace, name=name, endpoint=endpoint) for name in ("one", "two")
    ]


@pytest.fixture
def lead(client, monkeypatch):
    monkeypatch.setattr("judging.tasks.work.delay", lambda pk: None)
    client.force_login(make_user("lead"))
    return client


def address(study):
    return reverse("judging:start_run", args=[study])


def page_of(response):
    return markup(response)


def test_a_jury_is_started_with_its_repeats_and_planted_texts(lead, study, models):
    judges = [create_judge(model=model) for model in models]
    answer = lead.post(
        address(study),
        {"judges": [judge.pk for judge in judges], "combine": "majority", "repeats": 2, "canaries": "on"},
    )
    run = JudgeRun.objects.get()
    assert answer["Location"] == reverse("judging:run", args=[run.public_id])
    assert run.judge.parameters["combine"] == "majority"
    # 6 responses by 2 judges, twice each; 4 planted texts for each judge.
    assert run.items.filter(canary="").count() == 6 * 2 * 2
    assert run.items.exclude(canary="").count() == 4 * 2
    assert set(run.judge.jurors.all()) == set(judges)
    assert "0 of 24 questions answered" in page_of(lead.get(answer["Location"]))


def test_endpoints_that_nobody_tested_are_named_with_the_way_to_test_them(lead, study, models):
    endpoint = models[0].endpoint
    link = f'<a href="{reverse("generation:edit_endpoint", args=[endpoint.pk])}">somewhere</a>'
    assert link in page_of(lead.get(address(study)))
    Endpoint.objects.update(probed_at=timezone.now())
    assert "These endpoints have not been tested" not in page_of(lead.get(address(study)))


@pytest.mark.parametrize("whole", [True, False])
def test_sent_twice_it_is_one_run_and_asked_otherwise_or_later_it_is_another(lead, study, models, whole):
    place = reverse("judging:judge_benchmark", args=[study.benchmark]) if whole else address(study)
    asked = {"model": models[0].pk, "canaries": "on", "budget_money": "3", "limit": 5}
    answers = [lead.post(place, asked) for _ in range(2)]
    run = JudgeRun.objects.get()
    assert {answer["Location"] for answer in answers} == {reverse("judging:run", args=[run.public_id])}
    lead.post(place, {**asked, "budget_money": "4"})
    lead.post(place, {**asked, "limit": 4})
    lead.force_login(make_user("lead", study.workspace, username="another"))
    lead.post(place, asked)
    assert JudgeRun.objects.count() == 4
    JudgeRun.objects.update(created_at=timezone.now() - timedelta(seconds=90))
    lead.post(place, asked)
    JudgeRun.objects.update(status="cancelled")
    lead.post(place, asked)
    assert JudgeRun.objects.count() == 6


def test_where_two_rubrics_stand_equally_near_it_is_said_which_is_taken(lead, study, models, capsys):
    rubric = Rubric.objects.get(benchmark=study.benchmark)
    Rubric.objects.filter(pk=rubric.pk).update(names={"en": "Stars for facts"}, key="m-facts")
    place = reverse("judging:judge_benchmark", args=[study.benchmark])
    assert "fit this place equally well" not in page_of(lead.post(place, {"model": models[0].pk}, follow=True))
    for key, name in (("z-taste", "Stars for taste"), ("b-style", "Stars for style")):
        other = make_rubric(study.workspace, key=key, names={"en": name}, benchmark=study.benchmark)
        Rubric.objects.filter(pk=other.pk).update(category=rubric.category)
    said = "Several rubrics fit this place equally well: Stars for style and Stars for facts, Stars for taste."
    html = page_of(lead.post(place, {"model": models[1].pk}, follow=True))
    assert said in html
    task = Study.objects.get(slug__endswith="-judged").tasks.first()
    instruction = task.response_a.instruction
    nearest = RubricsOf(study.benchmark).nearest(instruction.pk, instruction.category_id)
    assert nearest.key == Rubric.objects.nearest_to(instruction).key == "b-style"
    call_command("judge", study.benchmark.slug, model="two", endpoint="somewhere", background=True, limit=1)
    assert said in capsys.readouterr().out


def test_planted_texts_are_offered_and_can_be_left_out(lead, study, models):
    box = re.search(r'<input[^>]*name="canaries"[^>]*>', page_of(lead.get(address(study))))
    assert " checked" in box[0]
    lead.post(address(study), {"model": models[0].pk})
    assert not JudgeRun.objects.get().items.exclude(canary="").exists()


def test_only_what_people_have_rated(lead, study, models):
    refused = lead.post(address(study), {"model": models[0].pk, "items": "rated"})
    assert "People have not rated anything here yet" in page_of(refused)
    rated = study.tasks.first()
    make_answer(rated, make_rater(study), {"item0": 1, "item1": 1, "item2": 1, "overall": 9})
    lead.post(address(study), {"model": models[0].pk, "items": "rated"})
    assert list(JudgeRun.objects.get().items.values_list("task", flat=True)) == [rated.pk]


def test_of_a_benchmark_only_what_people_have_rated_in_any_study(lead, study, models):
    place = reverse("judging:judge_benchmark", args=[study.benchmark])
    asked = {"model": models[0].pk, "items": "rated"}
    for action in ("preview", "start"):
        assert "People have not rated anything here yet" in page_of(lead.post(place, asked | {"action": action}))
    rated = study.tasks.first()
    make_answer(rated, make_rater(study), {"item0": 1, "item1": 1, "item2": 1, "overall": 9})
    assert "1 call for one task." in page_of(lead.post(place, asked | {"action": "preview"}))
    lead.post(place, asked)
    assert list(JudgeRun.objects.get().items.values_list("task__response_a", flat=True)) == [rated.response_a_id]
    JudgeRun.objects.update(status="cancelled")
    again = page_of(lead.post(place, asked | {"fresh": "on", "action": "preview"}))
    assert "1 call for one task." in again


def test_the_calls_are_counted_and_priced_without_storing_anything(lead, study, models):
    judge = create_judge(model=models[0])
    answer = lead.post(
        address(study),
        {"judges": [judge.pk], "model": models[1].pk, "repeats": 3, "canaries": "on", "action": "preview"},
        headers={"HX-Request": "true"},
    )
    part = page_of(answer)
    assert "<html" not in part
    # 6 tasks by 2 judges, 3 times each, and 4 planted texts for each judge.
    assert "44 calls for 6 tasks" in part
    assert "8 canary texts are included in the calls" in part
    assert not JudgeRun.objects.exists()
    assert Judge.objects.count() == 1
    from judging.runs.planning.estimates import estimate_run
    from judging.runs.planning.request import RunRequest, Target

    found = estimate_run(RunRequest(Target(study=study), (judge,)))
    # Each question may cost what its tokens to read and the longest answer (950 tokens for 3 items) cost.
    read = found.most.tokens // 6 - ChatTransport(judge).method.answer_tokens([None] * 3)
    assert found.most.calls == 6
    assert found.most.money == pytest.approx(Decimal(6 * (2 * read + 8 * 950)) / 1_000_000, rel=Decimal("0.001"))
    assert found.usual is None


def test_a_benchmark_is_judged_in_a_study_of_its_own_which_counting_does_not_make(lead, study, models):
    place = reverse("judging:judge_benchmark", args=[study.benchmark])
    assert place in page_of(lead.get(reverse("generation:benchmark", args=[study.benchmark])))
    counted = lead.post(place, {"model": models[0].pk, "action": "preview"})
    assert "6 calls for 6 tasks" in page_of(counted)
    assert Study.objects.count() == 1
    lead.post(place, {"model": models[0].pk})
    run = JudgeRun.objects.get()
    assert run.study != study
    assert run.items.count() == 6
    assert lead.get(place, {"experiment": "length-2k"}).status_code == 404


def test_nothing_to_judge_is_said_and_leaves_nothing(lead, study, models):
    Response.objects.update(text=None)
    answer = lead.post(reverse("judging:judge_benchmark", args=[study.benchmark]), {"model": models[0].pk})
    assert answer.status_code == 422
    assert Study.objects.count() == 1
    assert not JudgeRun.objects.exists()
    assert not Judge.objects.exists()


@pytest.mark.parametrize(
    ("given", "sentence"), [({}, "Choose at least one judge"), ({"repeats": 0}, "greater than or equal to 1")]
)
def test_a_form_that_asks_for_nothing_is_refused(lead, study, models, given, sentence):
    answer = lead.post(address(study), given)
    assert answer.status_code == 422
    assert sentence in page_of(answer)
    assert not JudgeRun.objects.exists()


def test_judges_of_different_kinds_make_no_jury(lead, study, models):
    judges = [create_judge(model=models[0]), create_judge(model=models[1], method="overall")]
    answer = lead.post(address(study), {"judges": [judge.pk for judge in judges]})
    assert answer.status_code == 422
    assert "cannot form a panel" in page_of(answer)
    assert Judge.objects.count() == 2


def test_nobody_else_judges_a_benchmark(client, study, models):
    place = reverse("judging:judge_benchmark", args=[study.benchmark])
    for user, status in (
        (make_user("analyst"), 403),
        (make_user("rater"), 403),
        (make_user("lead", make_workspace("elsewhere")), 404),
    ):
        client.force_login(user)
        assert client.get(place).status_code == status
        assert client.post(place, {"model": models[0].pk}).status_code == status
    assert not JudgeRun.objects.exists()
