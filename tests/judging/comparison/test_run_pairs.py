"""Two runs side by side: what moved, by how much on average, and what is left out."""

import json

import pytest
from django.core.cache import cache
from django.urls import reverse
from django.utils import timezone

from annotation.models import Task
from generation.llm.scripted import ScriptedChat
from generation.models import Endpoint, LanguageModel
from judging.comparison.run_pairs import ALL, HIGHER, LOWER, MOVED, TURNED, run_pair, runs_beside
from judging.judges.making import create_judge, stock_prompt
from judging.models import JudgeRun
from judging.runs.life_cycle import start_run
from judging.runs.worker import work_on
from tests.factories import make_checklist_study, make_user, make_workspace, plan_run
from tests.judging.runs.test_methods_run import make_pair_study
from tests.markup import markup

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_kept():
    cache.clear()


def judged(study, levels, name="asked"):
    """A run with a prompt of its own; `levels` gives the level of every item by the instruction's number, None for prose."""
    endpoint, _ = Endpoint.objects.get_or_create(workspace=study.workspace, name="script", kind="scripted")
    model, _ = LanguageModel.objects.get_or_create(workspace=study.workspace, name="scripted", endpoint=endpoint)
    judge = create_judge(model=model, prompt=f"{stock_prompt('checklist')}\n{name}", name=name)
    run = plan_run(judge=judge, study=study)
    start_run(run, clock=timezone.now)

    def said(request):
        level = levels(int(request.subject["instruction"].rsplit("-", 1)[1]))
        if level is None:
            return "Prose."
        return json.dumps({f"item{n}": {"reason": "so", "score": level} for n in range(3)})

    return work_on(run, chat_for=lambda _model: ScriptedChat(said))


def text(page):
    return " ".join(markup(page).split())


def test_what_moved_is_counted_and_sorted_and_few_instructions_claim_nothing(client):
    study = make_checklist_study(instructions=5, models=1)
    first = judged(study, lambda n: [0, 0.5, 0.5, 0.5, None][n], "lenient")
    second = judged(study, lambda n: [1, 0.25, 0.5, None, 1][n], "strict")
    found = run_pair(first, second)
    assert [(row.before, row.after, row.change) for row in found.shown(MOVED)] == [(0, 1, 1), (0.5, 0.25, -0.25)]
    assert found.counts() == {ALL: 3, MOVED: 2, HIGHER: 1, LOWER: 1, TURNED: 0}
    assert (found.first_only, found.second_only, found.unlike) == (1, 1, 0)
    assert found.mean.value == pytest.approx(0.25) and found.mean.kind != "bootstrap95"
    client.force_login(make_user("analyst"))
    address = reverse("judging:compare_runs", args=[first.public_id])
    assert address in text(client.get(reverse("judging:run", args=[first.public_id])))
    page = text(client.get(address, {"with": second.public_id}))
    assert "2 of 3 verdicts moved: 1 higher in the second run, 1 lower." in page
    assert "no interval is stated" in page and "95 % interval" not in page
    assert "1 response has a usable verdict only in the first run." in page
    assert page.index("essays-0") < page.index("essays-1") and "essays-2" not in page
    moved = found.shown(MOVED)[0]
    assert reverse("judging:verdict", args=[second.public_id, moved.second]) in page
    assert "essays-2" in text(client.get(address, {"with": second.public_id, "show": ALL}))
    assert "lenient" in page and "strict" in page


def test_with_enough_instructions_the_mean_change_has_its_interval(client):
    study = make_checklist_study(instructions=24, models=1)
    first = judged(study, lambda n: 0.25, "low")
    second = judged(study, lambda n: 0.5 if n % 4 else 0.75, "high")
    mean = run_pair(first, second).mean
    assert mean.kind == "bootstrap95" and (mean.n, mean.clusters) == (24, 24)
    assert mean.value == pytest.approx(0.25 + 0.25 / 4) and 0.25 <= mean.low < mean.value < mean.high <= 0.5
    client.force_login(make_user("analyst"))
    address = reverse("judging:compare_runs", args=[first.public_id])
    assert "Their mean change is +0.312 (95 % interval +" in text(client.get(address, {"with": second.public_id}))
    same = text(client.get(address, {"with": judged(study, lambda n: 0.25, "equal").public_id}))
    assert "which shows no difference in level." in same and "0 of 24 verdicts moved" in same


def test_only_runs_over_the_same_material_are_offered_and_only_to_readers(client):
    study, other = make_checklist_study(instructions=1, models=1), make_checklist_study(instructions=1, slug="other")
    run, beside = judged(study, lambda n: 0.5, "a"), judged(study, lambda n: 0.5, "b")
    far = judged(other, lambda n: 0.5, "c")
    offered = [one.pk for one in runs_beside(run, JudgeRun.objects.all())]
    assert beside.pk in offered and run.pk not in offered
    assert (far.pk in offered) == (study.benchmark_id == other.benchmark_id)
    client.force_login(make_user("analyst"))
    address = reverse("judging:compare_runs", args=[run.public_id])
    assert client.get(address, {"with": run.public_id}).status_code == 404
    assert client.get(address, {"with": "nothing"}).status_code == 404
    assert client.get(address, {"with": beside.public_id, "show": "x", "page": "99"}).status_code == 200
    client.force_login(make_user("rater"))
    assert client.get(address).status_code == 403
    client.force_login(make_user("lead", make_workspace("elsewhere")))
    assert client.get(address).status_code == 404


def test_preferences_that_turn_are_told_apart_also_where_a_pair_is_stored_the_other_way_round():
    study = make_pair_study()
    endpoint = Endpoint.objects.create(workspace=study.workspace, name="script", kind="scripted")
    model = LanguageModel.objects.create(workspace=study.workspace, name="scripted", endpoint=endpoint)
    runs = []
    for name, verdict in (("a", 1), ("b", -1)):
        judge = create_judge(model=model, method="pair_of_four", name=name, parameters={"seed": verdict})
        run = plan_run(judge=judge, study=study)
        start_run(run, clock=timezone.now)
        runs.append(work_on(run, chat_for=lambda _model, said=verdict: ScriptedChat(lambda _request: said_of(said))))
    found = run_pair(*runs)
    total = study.tasks.count()
    assert total and len(found.rows) == total
    assert found.counts()[TURNED] == sum(row.before * row.after < 0 for row in found.rows)
    before = {row.first: row.after for row in found.rows}
    # The second run's tasks are stored with their responses exchanged.
    for task in list(Task.objects.filter(study=study)):
        twin = Task.objects.create(
            study=study,
            kind=task.kind,
            key=f"twin:{task.pk}",
            response_a=task.response_b,
            response_b=task.response_a,
            answer_rubric=task.answer_rubric,
            guide_rubric=task.guide_rubric,
        )
        runs[1].items.filter(task=task).update(task=twin)
    cache.clear()
    after = {row.first: row.after for row in run_pair(*runs).rows}
    assert after == {pk: -value for pk, value in before.items()} and any(before.values())


def said_of(verdict):
    return json.dumps({"better": {"reason": "so", "choice": "A" if verdict > 0 else "B"}})
