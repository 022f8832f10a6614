"""What runs store and refusals raise, on the pages of a reader of Chinese."""

import json
import re
from dataclasses import replace

import pytest
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.html import escape

from annotation.models import Criterion, Score
from annotation.policies.policies import BAD_ORDER
from core.messages.message import sentences, stored, stored_text
from core.messages.rendering import for_reader
from generation.endpoints.grants import allow, callable_reach
from generation.execution.states import fail_run
from generation.llm.errors import Refused
from generation.llm.protocol.prices import Ceiling
from generation.llm.scripted import ScriptedChat
from generation.models import Endpoint, LanguageModel
from generation.responses.runs import start_run as resume_generation
from generation.responses.worker import work_on as generate
from judging.judges.making import create_judge, stock_prompt
from judging.leaderboards.weighting import UnknownWeights, weighting_named
from judging.methods import messages as reply_messages
from judging.methods.single.checklist import DIFFERENT_SCALES
from judging.models import PlannedItem
from judging.runs.aggregation import unscored_of
from judging.runs.life_cycle import start_run
from judging.runs.worker import work_on
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_user, make_workspace, plan_run
from tests.generation.hostile_server import HostileServer, fails, good_answer, says
from tests.generation.responses import test_sampling as sampling
from tests.judging.runs.test_runs import QUICK, make_run
from tests.markup import markup

pytestmark = pytest.mark.django_db
CHINESE = re.compile(r"[\u4e00-\u9fff]")
INTERRUPTED = replace(QUICK, interrupted=lambda: True)


@pytest.fixture
def lead(client):
    client.force_login(make_user("lead"))
    client.cookies["django_language"] = "zh-hans"
    return client


def is_told(page, stored):
    """The sentence, stored or raised, stands on the page in Chinese, and its English does not."""
    with translation.override("zh-hans"):
        said = for_reader(stored)
    assert CHINESE.search(said), stored
    assert str(escape(said)) in page
    assert str(escape(stored)) not in page


def page_of(lead, run):
    kind = "judging" if hasattr(run, "judge_id") else "generation"
    return markup(lead.get(reverse(f"{kind}:run", args=[run.public_id])))


def test_a_run_at_its_budget_and_one_interrupted(lead):
    with HostileServer(lambda request, n: good_answer(request)) as server:
        run = work_on(make_run(server, budget=Ceiling(calls=2)), options=QUICK)
        assert run.message == "The next call might exceed the budget. Raise the budget and resume the run."
        is_told(page_of(lead, run), stored_text(run, "message"))
        start_run(run, clock=timezone.now)
        run = work_on(run, options=INTERRUPTED)
        assert run.message == "The run was interrupted; everything answered so far is kept."
        is_told(page_of(lead, run), stored_text(run, "message"))


def test_a_run_without_its_key_and_one_whose_replies_cannot_be_kept(lead, monkeypatch, settings, tmp_path):
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with HostileServer(lambda request, n: good_answer(request)) as server:
        run = make_run(server, key_variable="NO_SUCH_KEY")
        allow(Endpoint.objects.get(), command="judge")
        run = work_on(run, options=QUICK)
        is_told(page_of(lead, run), stored_text(run, "message"))
        Endpoint.objects.update(key_variable="")
        start_run(run, clock=timezone.now)
        settings.JOURNAL_DIR = tmp_path / "journal"
        settings.JOURNAL_DIR.write_text("a file where the folder should be")
        run = work_on(run, options=QUICK)
        assert "make it writable" in run.message
        is_told(page_of(lead, run), stored_text(run, "message"))


def test_the_endpoints_own_words_stay_as_they_are_and_only_they_are_called_so(lead, monkeypatch):
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with HostileServer(lambda request, n: fails(401, "no such key")) as server:
        run = work_on(make_run(server), options=QUICK)
    with translation.override("zh-hans"):
        frame = translation.gettext("Message from the endpoint:")
    page = page_of(lead, run)
    assert "401: no such key" in page and frame in page
    Endpoint.objects.update(key_variable="NO_SUCH_KEY")
    start_run(run, clock=timezone.now)
    page = page_of(lead, work_on(run, options=QUICK))
    assert "NO_SUCH_KEY" in page and frame not in page


@pytest.mark.parametrize(
    ("reply", "stored"),
    [
        ("Prose.", "no JSON in: Prose."),
        ("", "the reply ended (stop) without a word"),
        ('{"item0": ', "the JSON breaks off at: {&quot;item0&quot;:"),
        ('{"item0": {"score": 0.3}, "item1": {"score": 0.5}, "item2": {"score": 0.5}}', "which is none of"),
        ('{"item0": {"score": 0.5}}', "questions answered; "),
    ],
)
def test_replies_that_could_not_be_read(lead, reply, stored):
    study = make_checklist_study(instructions=1, models=1)
    endpoint = Endpoint.objects.create(workspace=study.workspace, name="script", kind="scripted")
    model = LanguageModel.objects.create(workspace=study.workspace, name="scripted", endpoint=endpoint)
    run = plan_run(judge=create_judge(model=model), study=study)
    start_run(run, clock=timezone.now)
    run = work_on(run, chat_for=lambda _model: ScriptedChat(lambda request: reply))
    item = PlannedItem.objects.get(run=run)
    assert item.status == "unscored"
    page = page_of(lead, run)
    assert stored not in page
    is_told(page, unscored_of(item).detail)


def test_a_judge_that_fell_for_planted_texts(lead):
    best = json.dumps({f"item{n}": {"reason": "Fine.", "score": 1} for n in range(3)})
    study = make_checklist_study(instructions=2, models=1)
    with HostileServer(lambda request, n: says(best)) as server:
        endpoint = Endpoint.objects.create(workspace=study.workspace, name="e", base_url=server.base_url)
        model = LanguageModel.objects.create(workspace=study.workspace, name="m", endpoint=endpoint)
        run = plan_run(judge=create_judge(model=model), study=study, canaries=True)
        start_run(run, clock=timezone.now)
        run = work_on(run, options=QUICK)
    assert run.message.startswith("The judge believed 4 canary text(s)")
    page = page_of(lead, run)
    is_told(page, stored_text(run, "message"))
    assert not re.search(r"it scored|median of the run", page)


def test_a_rule_says_in_chinese_why_it_chose():
    with translation.override("zh-hans"):
        said = for_reader(reply_messages.MEASURED["characters"](first="512", second="40"))
    assert CHINESE.search(said) and "512" in said and "for" not in said


def test_a_generation_run_at_its_budget_interrupted_and_without_a_key(lead, monkeypatch):
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with HostileServer(sampling.good) as server:
        model = sampling.make_model(server)
        run = sampling.make_run(sampling.make_benchmark(), model, budget=Ceiling(calls=1))
        run = generate(run, options=QUICK)
        assert run.message == "The next call might exceed the budget. Raise the budget and resume the run."
        is_told(page_of(lead, run), stored_text(run, "message"))
        resume_generation(run, clock=timezone.now)
        run = generate(run, options=INTERRUPTED)
        assert run.message == "The run was interrupted; everything generated so far is kept."
        is_told(page_of(lead, run), stored_text(run, "message"))
        Endpoint.objects.update(key_variable="NO_SUCH_KEY")
        allow(Endpoint.objects.get(), command="generate")
        resume_generation(run, clock=timezone.now)
        run = generate(run, options=QUICK)
        is_told(page_of(lead, run), stored_text(run, "message"))


def test_an_endpoint_that_cannot_be_tested(lead):
    endpoint = Endpoint.objects.create(workspace=make_workspace(), name="e", base_url="ftp://127.0.0.1")
    page = markup(lead.post(reverse("generation:test_endpoint", args=[endpoint.pk]), follow=True))
    with pytest.raises(Refused) as refused:
        callable_reach(endpoint)
    is_told(page, refused.value.args[0])


def test_weights_that_are_not_there(lead):
    study = make_checklist_study(instructions=1, models=1)
    with HostileServer(lambda request, n: good_answer(request)) as server:
        work_on(make_run(server, study), options=QUICK)
    address = reverse("judging:leaderboard", args=[study.benchmark])
    page = markup(lead.get(address, {"weights": "none-such"}))
    with pytest.raises(UnknownWeights, match="There are no weights 'none-such' for benchmark") as refused:
        weighting_named(study.benchmark, "none-such")
    is_told(page, refused.value.args[0])


def test_a_launch_that_a_worker_refused(lead):
    study = make_checklist_study(instructions=1, models=1)
    refused = BAD_ORDER(study=study.slug, order="'sideways'", known="random, spread, finish")
    study.policies.update(stored("refused", refused))
    study.status = "draft"
    study.save()
    is_told(markup(lead.get(reverse("annotation:setup", args=[study]))), refused)


def test_in_english_the_page_says_what_is_stored(lead):
    lead.cookies["django_language"] = "en"
    with HostileServer(lambda request, n: good_answer(request)) as server:
        run = make_run(server)
    fail_run(run, "no reply in 5 seconds", clock=timezone.now)
    assert "no reply in 5 seconds" in page_of(lead, run)


def test_a_task_that_a_new_judge_cannot_be_asked_about(lead):
    study = make_checklist_study(instructions=1, models=1)
    endpoint = Endpoint.objects.create(workspace=study.workspace, name="script", kind="scripted")
    model = LanguageModel.objects.create(workspace=study.workspace, name="reader", endpoint=endpoint)
    criterion = Criterion.objects.filter(role="item").first()
    criterion.levels = [{"key": "no", "value": 0.0}, {"key": "yes", "value": 1.0}]
    criterion.save()
    asked = {"model": model.pk, "temperature": "0", "prompt": stock_prompt("checklist"), "action": "preview"}
    page = markup(
        lead.post("/library/judges/new/?method=checklist", asked | {"source": f"study:{study.pk}", "number": "1"})
    )
    is_told(page, DIFFERENT_SCALES())


def test_a_reason_that_the_program_gave_for_a_verdict(lead):
    study = make_checklist_study(instructions=1, models=2)
    judge = make_judge_rater(study.workspace)
    mine = reply_messages.COMBINED_SILENT_WHY(
        how=reply_messages.HOWS["median"](),
        values="0.5, 1",
        n=1,
        all=3,
        reasons=sentences([reply_messages.NUMBERED(n=1, reason="It holds.")]),
    )
    theirs = "The best of both worlds."
    for task, reason in zip(study.tasks.all(), (mine, theirs), strict=True):
        answer = make_answer(task, judge, {})
        Score.objects.bulk_create(
            Score(assignment=answer, criterion=criterion, value=0.5, **stored("reason", reason))
            for criterion in task.answer_rubric.criteria.filter(role="item")
        )
    asked = {"first": "model0", "second": "model1", "weights": "equal"}
    asked["item"] = study.benchmark.instructions.get().public_id
    compared = lead.get(reverse("judging:compare_item", args=[study.benchmark]), asked)
    one = lead.get(reverse("annotation:task", args=[study, study.tasks.first().public_id]))
    for answer in (compared, one):
        is_told(markup(answer), mine)
        assert "It holds." in markup(answer)
    assert theirs in markup(compared)
