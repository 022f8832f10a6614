"""The table of a study's judges, whose rows open their reports, and the way from a judge to asking it."""

import json

import pytest
from django.core.cache import cache
from django.urls import reverse
from django.utils import timezone
from scipy.stats import spearmanr

from generation.llm.scripted import ScriptedChat
from generation.models import Endpoint, LanguageModel
from judging.comparison.judge_against_people import compare, weighting_for
from judging.judges.making import create_judge, stock_prompt
from judging.models import JudgeRun, Reply, Watch
from judging.runs.life_cycle import start_run
from judging.runs.worker import work_on
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater, make_user, plan_run
from tests.markup import markup

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_kept():
    cache.clear()


@pytest.fixture
def study():
    """24 responses on which three people differ by a fixed pattern."""
    study = make_checklist_study(instructions=24, models=1)
    for number in range(3):
        rater = make_rater(study)
        for place, task in enumerate(study.tasks.order_by("pk")):
            make_answer(task, rater, {"overall": float((place * 7 + number * (place % 3)) % 10), "item0": 0.5})
    return study


@pytest.fixture
def model(study):
    endpoint = Endpoint.objects.create(workspace=study.workspace, name="far", base_url="http://127.0.0.1:9/v1")
    return LanguageModel.objects.create(
        workspace=study.workspace, name="asked", endpoint=endpoint, input_price=100, output_price=100, currency="USD"
    )


def judged(study, model, name, level, *, of_model=0):
    """Judge the study: `level` is called with the number of the instruction, to which model1 adds `of_model`."""
    judge = create_judge(model=model, prompt=f"{stock_prompt('checklist')}\n{name}", name=name)
    run = plan_run(judge=judge, study=study)
    start_run(run, clock=timezone.now)

    def said(request):
        number = int(request.subject["instruction"].rsplit("-", 1)[1]) + of_model * (
            "model1" in request.subject["response"]
        )
        return json.dumps({f"item{n}": {"reason": "so", "score": level(number)} for n in range(3)})

    work_on(run, chat_for=lambda _model: ScriptedChat(said))
    return judge, run


def test_ceiling_and_bias_are_those_of_the_shared_responses(study, model):
    judge, _run = judged(study, model, "one", lambda n: [0, 0.25, 0.5, 0.75, 1][n % 5])
    found = compare(study, judge.rater, weighting_for(study))
    overall = [[(place * 7 + number * (place % 3)) % 10 for number in range(3)] for place in range(24)]
    one = [said for row in overall for said in row]
    others = [(sum(row) - said) / 2 for row in overall for said in row]
    person = found.correlation.person
    assert person.value == pytest.approx(spearmanr(one, others).statistic) and found.correlation.person_n == 72
    assert person.interval_kind == "crossed95" and person.population == "such" and person.low < person.value
    points = [point.judge - 10 * point.people for point in found.points]
    assert found.bias.value == pytest.approx(sum(points) / 24) and found.bias.low < found.bias.value < found.bias.high


def test_the_table_has_a_row_a_judge_that_opens_its_report(client, study, model):
    first, run = judged(study, model, "one", lambda n: [0, 0.25, 0.5, 0.75, 1][(n * 7 % 10) // 2])
    second, _other = judged(study, model, "two", lambda n: 0.25 * (n % 5))
    Watch.objects.create(judge=second, study=study, next_at=timezone.now())
    JudgeRun.objects.create(
        judge=second, study=study, watch=Watch.objects.get(), status="finished", manifest={"watch": {"flagged": True}}
    )
    client.force_login(make_user("analyst"))
    answer = client.get(reverse("judging:judges", args=[study]))
    page = " ".join(markup(answer).split())
    rows = answer.context["rows"]
    assert [row.panel.judge.pk for row in rows] == [first.rater_id, second.rater_id]
    for row in rows:
        assert (
            f'href="#report-{row.panel.judge.public_id}"' in page and f'id="report-{row.panel.judge.public_id}"' in page
        )
    assert page.count('<details class="fold">') == 2
    spent = sum(Reply.objects.filter(item__run=run).values_list("cost", flat=True))
    assert rows[0].price == pytest.approx(100 * spent / 24) and rows[0].price > 0 and not rows[0].unpriced
    assert (rows[0].drifted, rows[1].drifted, rows[0].watch) == (False, True, "")
    assert rows[0].agreement and rows[0].ceiling and rows[0].bias and " to " in rows[0].words["bias"]
    assert reverse("judging:compare_runs", args=[run.public_id]) in page


def test_a_judges_page_leads_to_the_form_with_the_judge_chosen(client, study, model):
    judge = create_judge(model=model, name="mine")
    client.force_login(make_user("lead"))
    address = f"{reverse('judging:start_run', args=[study])}?judge={judge.rater.public_id}"
    assert address in markup(client.get(reverse("judging:judge", args=[judge.rater.public_id])))
    assert client.get(address).context["form"].initial["judges"] == [judge.pk]
    assert client.get(reverse("judging:start_run", args=[study]) + "?judge=nobody").status_code == 200
    client.force_login(make_user("analyst"))
    assert address not in markup(client.get(reverse("judging:judge", args=[judge.rater.public_id])))


def test_the_table_is_ordered_as_asked_and_taken_away_as_a_file(client, study, model):
    judged(study, model, "one", lambda n: [0, 0.25, 0.5, 0.75, 1][(n * 7 % 10) // 2])
    judged(study, model, "two", lambda n: 0.25 * (n % 5))
    client.force_login(make_user("analyst"))
    address = reverse("judging:judges", args=[study])

    def asked(order):
        answer = client.get(address, {"order": order})
        return [row.panel.judge.name for row in answer.context["rows"]], " ".join(markup(answer).split())

    by_agreement, page = asked("-agreement")
    assert by_agreement == ["one", "two"] and 'aria-sort="descending"' in page
    assert asked("agreement")[0] == ["two", "one"]
    assert asked("-judge")[0] == ["two", "one"] and asked("; drop")[0] == ["one", "two"]
    # The sentence at the top is about the first judge by agreement, however the table is ordered.
    assert asked("-judge")[1].split('class="answer"')[1][:60] == page.split('class="answer"')[1][:60]
    table = client.get(address, {"file": "judges.csv", "order": "-judge"}).content.decode()
    assert [line.split(",")[0] for line in table.splitlines()[1:]] == ["two", "one"]
    assert r"\toprule" in client.get(address, {"file": "judges.tex"}).content.decode()


def test_judges_of_different_responses_are_not_ordered_by_agreement(client, study, model):
    judged(study, model, "one", lambda n: [0, 0.25, 0.5, 0.75, 1][(n * 7 % 10) // 2])
    other = make_judge_rater(study.workspace, "half")
    for place, task in enumerate(study.tasks.order_by("pk")[:21]):
        make_answer(task, other, {"item0": 0.25 * (place % 5), "item1": 0.5, "item2": 0.5})
    client.force_login(make_user("analyst"))
    answer = client.get(reverse("judging:judges", args=[study]), {"order": "agreement"})
    assert [row.panel.judge.name for row in answer.context["rows"]] == ["half", "one"]
    assert answer.context["headings"]["agreement"].order == ""
    assert answer.context["headings"]["judge"].order
