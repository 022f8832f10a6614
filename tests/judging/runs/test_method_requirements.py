"""What a method needs is looked for before a run is priced: on the form, by the command and by what both call."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from generation.models import Endpoint, Instruction, LanguageModel
from judging.judges.making import create_judge, create_rule_judge
from judging.models import JudgeRun, PlannedItem
from judging.monitoring.monitors import WatchRefused, gold_set
from judging.runs.life_cycle import start_run
from judging.runs.planning.requirements import MethodLacks
from judging.runs.worker import work_on
from tests.factories import make_checklist_study, make_user, plan_run
from tests.generation.hostile_server import HostileServer, says
from tests.judging.runs.test_methods_run import QUICK, TEXTS, make_pair_study, served, texts_of
from tests.markup import markup

pytestmark = pytest.mark.django_db
REFERENCE = "pair_of_three_reference"


def pairs(without=4, of=4):
    """A study of pairs of which so many have no human reference, and a judge who compares with one."""
    study = make_pair_study(("a", "tie", "b"), instructions=of)
    for instruction in Instruction.objects.order_by("pk")[:without]:
        Instruction.objects.filter(pk=instruction.pk).update(reference="")
    where = Endpoint.objects.create(workspace=study.workspace, name="local", base_url="http://127.0.0.1:9/v1")
    model = LanguageModel.objects.create(workspace=study.workspace, name="gpt", endpoint=where)
    return study, model


def form_of(study, judge, client, **more):
    client.force_login(make_user("lead", study.workspace))
    fields = {"judges": [judge.pk], "repeats": 1, "combine": "median", "canaries": "on", "action": "start", **more}
    return client.post(reverse("judging:start_run", args=[study]), fields)


def test_a_run_whose_every_task_lacks_a_reference_is_refused_wherever_it_is_asked_for(client):
    study, model = pairs()
    judge = create_judge(model=model, method=REFERENCE)
    said = "compares with a human reference, which is missing in 4 of 4 tasks"
    for action in ("preview", "start"):
        page = form_of(study, judge, client, action=action)
        assert said in markup(page) and 'class="answer"' not in markup(page)
    with pytest.raises(CommandError, match=said):
        call_command("judge", study.slug, model="gpt", method=REFERENCE, stdout=StringIO())
    with pytest.raises(MethodLacks, match="load instructions with references, or choose another method"):
        plan_run(judge=judge, study=study)
    with pytest.raises(WatchRefused, match="human reference"):
        gold_set(judge, study, 2, 0)
    assert not JudgeRun.objects.exists() and not PlannedItem.objects.exists()


def test_a_refusal_is_said_in_the_readers_language_in_one_sentence(client):
    study, model = pairs()
    page = form_of(study, create_judge(model=model, method=REFERENCE), client)
    errors = page.context["form"].non_field_errors()
    assert len(errors) == 1 and errors[0].count(".") == 1


def test_what_a_part_of_the_tasks_lacks_is_counted_before_the_run_and_kept_on_its_page(client):
    study, model = pairs(without=1, of=4)
    judge = create_judge(model=model, method=REFERENCE)
    said = "1 of 4 tasks have no human reference"
    assert said in markup(form_of(study, judge, client, action="preview"))
    answer = form_of(study, judge, client)
    run = JudgeRun.objects.get()
    assert answer.url == reverse("judging:run", args=[run.public_id])
    page = markup(client.get(answer.url))
    # As a message of the start, and on the page for good.
    assert page.count(said) == 2
    assert markup(client.get(answer.url)).count(said) == 1


def test_planted_texts_stand_beside_tasks_that_can_be_asked_about():
    """One usable task in six: planted beside any of the others, they would have been judged by nobody, and blamed."""
    study = make_pair_study(("a", "tie", "b"), instructions=6)
    Instruction.objects.exclude(external_id="pair-5").update(reference="")

    def play(request, n):
        first, _second = texts_of(request)
        choice = "A" if first.startswith(TEXTS) else "B"
        return says(json.dumps({"better": {"reason": "r", "choice": choice}}))

    with HostileServer(play) as server:
        judge = create_judge(model=served(study, server), method=REFERENCE)
        run = plan_run(judge=judge, study=study, canaries=True)
        start_run(run, clock=timezone.now)
        run = work_on(run, options=QUICK)
    planted = run.items.exclude(canary="")
    assert planted.count() == 8
    assert set(planted.values_list("status", flat=True)) == {"scored"}
    assert run.status == "finished", run.message


@pytest.mark.parametrize(
    ("method", "spoil", "said"),
    [
        ("stars_objective", "hint", "needs an instruction's hint, which is missing in 8 of 8 tasks"),
        ("graded_score", "guides", "guided by a checklist, which is missing in 8 of 8 tasks"),
    ],
)
def test_a_method_of_single_responses_is_refused_likewise(method, spoil, said):
    study = make_checklist_study()
    rubric = study.tasks.first().answer_rubric
    role = "item" if method == "stars_objective" else "overall"
    if spoil == "guides":
        rubric.criteria.filter(role="item").update(role=role)
        rubric.criteria.exclude(pk=rubric.criteria.first().pk).delete()
    where = Endpoint.objects.create(workspace=study.workspace, name="local", base_url="http://127.0.0.1:9/v1")
    model = LanguageModel.objects.create(workspace=study.workspace, name="gpt", endpoint=where)
    with pytest.raises(MethodLacks, match=said):
        plan_run(judge=create_judge(model=model, method=method), study=study)


def test_likelihood_needs_both_writers_served_and_an_endpoint_not_known_to_give_none():
    study = make_pair_study(instructions=3)
    judge = create_rule_judge(workspace=study.workspace, method="perplexity")
    with pytest.raises(MethodLacks, match="in 3 of 3 tasks one of them has no endpoint"):
        plan_run(judge=judge, study=study)
    where = Endpoint.objects.create(workspace=study.workspace, name="w", base_url="http://127.0.0.1:9/v1")
    LanguageModel.objects.filter(name__startswith="writer").update(endpoint=where)
    assert plan_run(judge=judge, study=study).items.count() == 3
    JudgeRun.objects.all().delete()
    # Tested with this very model, and found to give none.
    where.capabilities = {"model": "writer0", "prompt_log_probabilities": False}
    where.probed_at = timezone.now()
    where.save()
    with pytest.raises(MethodLacks, match="log-probabilities"):
        plan_run(judge=judge, study=study)


def test_embeddings_are_refused_at_an_endpoint_that_gave_none_for_this_model_only():
    study, model = pairs(without=0)
    judge = create_judge(model=model, method="embedding")
    model.endpoint.capabilities = {"model": "another", "embeddings": False}
    model.endpoint.probed_at = timezone.now()
    model.endpoint.save()
    assert plan_run(judge=judge, study=study).items.count() == 4
    JudgeRun.objects.all().delete()
    model.endpoint.capabilities = {"model": "gpt", "embeddings": False}
    model.endpoint.save()
    with pytest.raises(MethodLacks, match="needs an endpoint that gives embeddings"):
        plan_run(judge=judge, study=study)


def test_a_composite_is_refused_before_anybody_has_judged():
    study = make_pair_study()
    judge = create_rule_judge(workspace=study.workspace, method="composite")
    with pytest.raises(MethodLacks, match="let people rate them first"):
        plan_run(judge=judge, study=study)
    assert not JudgeRun.objects.exists()
