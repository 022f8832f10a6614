"""Probes of a scripted judge: one that rewards length is found, an honest one is not, and nothing of it counts elsewhere."""

import json
import re
from decimal import Decimal

import pytest
from django.utils import timezone

from annotation.models import Assignment, Guideline, Task
from calibration.data.frames import ABOUT_RESPONSES
from calibration.data.scores import score_frame
from core.errors import UserError
from generation.llm.protocol.prices import Ceiling
from generation.llm.scripted import ScriptedChat
from generation.models import Endpoint, LanguageModel, Response
from judging.comparison.judge_costs import costs_in
from judging.judges.making import create_judge, create_rule_judge
from judging.models import JudgeRun, Reply
from judging.probes.planning import create_probe_run, price_of_probes, sent_just_now
from judging.probes.request import Group, ProbeRequest, ProbesRefused
from judging.probes.results import probe_report
from judging.runs.life_cycle import JUDGING
from judging.runs.planning.preparation import create_run
from judging.runs.planning.request import RunRequest, Target
from judging.runs.worker import work_on
from tests.factories import make_checklist_study
from tests.screen_studies import make_pair_study

pytestmark = pytest.mark.django_db
TEXT = "The harbour number {0} lies in the north of town {0}. It was built long ago and is in use today.\n\n"
SINGLES = (Group.PADDING, Group.FORMAT, Group.WORDING, Group.AUTHOR)
BETWEEN = re.compile(r"=== text(?: ([AB]))? \w+ ===\n(.*?)\n=== text", re.DOTALL)


def written(study):
    for number, response in enumerate(Response.objects.filter(instruction__benchmark=study.benchmark).order_by("pk")):
        response.text = "".join(TEXT.format(10 * number + line) for line in range(3)).strip()
        response.save()
    return study


def judge_of(study, method="checklist"):
    endpoint = Endpoint.objects.create(
        workspace=study.workspace, name="priced", base_url="http://127.0.0.1:9/v1", input_price=1, output_price=2
    )
    model = LanguageModel.objects.create(workspace=study.workspace, name="probed", endpoint=endpoint)
    return create_judge(model=model, method=method)


def texts_in(request):
    whole = request.messages[-1]["content"]
    return [text for _letter, text in BETWEEN.findall(whole)]


def checklist_judge(score):
    """Answer three items alike, by a rule of the response's text."""

    def say(request):
        (text,) = texts_in(request)
        value = score(text)
        return json.dumps({f"item{n}": {"reason": "because", "score": value} for n in range(3)})

    return say


def honest(_text):
    return 0.5


def longer(text):
    return 0.75 if len(text.split()) > 74 else 0.5


def probed(request, script):
    run = create_probe_run(request)
    JUDGING.start(run, clock=timezone.now)
    chat = ScriptedChat(script)
    return work_on(run, chat_for=lambda _model: chat), chat


@pytest.fixture
def study():
    return written(make_checklist_study(instructions=24, models=1))


def test_a_judge_that_rewards_length_is_found_and_an_honest_one_is_not(study):
    judge = judge_of(study)
    request = ProbeRequest(judge, study, groups=SINGLES)
    run, _chat = probed(request, checklist_judge(longer))
    assert run.status == JudgeRun.Status.FINISHED, run.message
    report = probe_report(run)
    effects = dict(report.effects)
    assert set(report.found) == {"padding_50", "padding_25"}
    assert effects["padding_50"].low > 0.2 and effects["padding_50"].mean == pytest.approx(0.25)
    assert effects["padding_50"].changed.value == 1.0 and report.again.value == 0.0
    assert {row.key for row in report.rows} == {
        *("padding_25", "padding_50", "bullets", "headings", "bold"),
        *("wording_1", "wording_2", "wording_3", "author"),
    }, "plain prose cannot be made prose"
    assert run.probes["left_out"] == ["prose"]

    other = written(make_checklist_study(instructions=24, models=1, slug="others", workspace=study.workspace))
    run, _chat = probed(ProbeRequest(judge, other, groups=SINGLES, reuse=False), checklist_judge(honest))
    report = probe_report(run)
    assert report.found == []
    assert all(0 < effect.detectable < 0.25 for _key, effect in report.effects)


def test_probes_count_nowhere_else(study):
    judge = judge_of(study)
    before = Task.objects.filter(study=study, gold__isnull=True).count()
    run, _chat = probed(ProbeRequest(judge, study, groups=(Group.PADDING, Group.WORDING)), checklist_judge(longer))
    assert Assignment.objects.verdicts().count() == 0
    assert set(Assignment.objects.values_list("status", flat=True)) == {Assignment.Status.CHECKED}
    assert len(score_frame(kinds=ABOUT_RESPONSES, study=study)) == 0
    assert Task.objects.filter(study=study, gold__isnull=True).count() == before
    assert costs_in(study, [judge.rater_id]) == {}
    assert not Response.objects.to_read().filter(kind=Response.Kind.PROBE).exists()
    assert Response.objects.filter(kind=Response.Kind.PROBE, model=None).count() == 48
    assert run.judge_id == judge.pk


def test_what_was_asked_before_costs_nothing_and_the_price_says_so(study):
    judge = judge_of(study)
    first = create_run(RunRequest(Target(study=study), (judge,), probe=False))
    JUDGING.start(first, clock=timezone.now)
    work_on(first, chat_for=lambda _model: ScriptedChat(checklist_judge(honest)))
    request = ProbeRequest(judge, study, groups=(Group.PADDING,))
    price = price_of_probes(request)
    assert (price.questions, price.stored, price.most.calls) == (96, 24, 72)
    assert price.most.money > 0 and price.usual is not None and price.usual.money < price.most.money
    assert JudgeRun.objects.count() == 1, "a price stores nothing"
    run, chat = probed(request, checklist_judge(honest))
    assert len(chat.requests) == 72
    assert sum(Reply.objects.filter(item__run=run).values_list("cost", flat=True)) <= price.most.money
    _again, chat = probed(request, checklist_judge(honest))
    assert not chat.requests, "the same probes a second time are answered from what is stored"


def test_a_run_of_probes_stops_at_its_budget_and_goes_on(study):
    judge = judge_of(study)
    request = ProbeRequest(judge, study, groups=(Group.PADDING,), budget=Ceiling(calls=50))
    run, chat = probed(request, checklist_judge(longer))
    assert run.status == JudgeRun.Status.PAUSED and len(chat.requests) <= 50
    JudgeRun.objects.filter(pk=run.pk).update(budget_calls=None)
    run.refresh_from_db()
    JUDGING.start(run, clock=timezone.now)
    run = work_on(run, chat_for=lambda _model: ScriptedChat(checklist_judge(longer)))
    assert run.status == JudgeRun.Status.FINISHED
    assert "padding_50" in probe_report(run).found


def test_a_form_sent_twice_is_one_run(study):
    judge = judge_of(study)
    request = ProbeRequest(judge, study, groups=(Group.PADDING,))
    run = create_probe_run(request)
    assert sent_just_now(request, clock=timezone.now) == run
    assert sent_just_now(ProbeRequest(judge, study, groups=(Group.AUTHOR,)), clock=timezone.now) is None


def test_a_judge_of_pairs_that_prefers_what_it_reads_first_is_found_by_the_order():
    study = written(make_pair_study("three", instructions=24))
    judge = judge_of(study, "pair_of_three")
    study.guideline = Guideline.objects.create(workspace=study.workspace, key="g", texts={"en": "Prefer the better."})
    study.save()

    def say(request):
        (key,) = request.schema["properties"]
        return json.dumps({key: {"reason": "because", "choice": "A"}})

    run, _chat = probed(ProbeRequest(judge, study, groups=(Group.ORDER, Group.PADDING)), say)
    assert run.status == JudgeRun.Status.FINISHED, run.message
    report = probe_report(run)
    effects = dict(report.effects)
    assert report.found == ["order"]
    assert effects["order"].mean == pytest.approx(1.0) and effects["order"].changed.value == 1.0
    assert effects["padding_50"].changed.value == 0.0


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"size": 0}, "0 responses are not possible"),
        ({"groups": ()}, "at least one thing"),
        ({"groups": (Group.ORDER,)}, "only for a judge of pairs"),
        ({"groups": (Group.AUTHOR,), "author": " "}, "Enter the author"),
        ({"groups": (Group.WORDING,), "wordings": ("@@ user\nno placeholder",)}, "Wording 1 cannot be sent"),
    ],
    ids=["size", "group", "order", "author", "wording"],
)
def test_a_bad_request_is_refused_in_a_sentence(study, wanted, said):
    judge = judge_of(study)
    with pytest.raises(ProbesRefused, match=said):
        ProbeRequest(judge, study, **{"groups": (Group.PADDING,), **wanted})
    assert not JudgeRun.objects.exists()


def test_a_judge_without_a_prompt_and_a_study_with_too_few_instructions_are_refused(study):
    rule = create_rule_judge(workspace=study.workspace, method="shorter")
    with pytest.raises(
        ProbesRefused, match=r"at least 1 prompt .* at least 20 instructions, and method shorter reads no text"
    ):
        ProbeRequest(rule, study)
    small = written(make_checklist_study(instructions=19, models=2, slug="small", workspace=study.workspace))
    with pytest.raises(ProbesRefused, match=r"at least 20 instructions, and .* can be asked about 19"):
        price_of_probes(ProbeRequest(judge_of(study), small, groups=(Group.PADDING,)))
    short = make_checklist_study(instructions=24, models=1, slug="short", workspace=study.workspace)
    with pytest.raises(ProbesRefused, match="None of the chosen probes"):
        price_of_probes(ProbeRequest(judge_of_again(study), short, groups=(Group.PADDING,)))


def judge_of_again(study):
    return create_judge(model=LanguageModel.objects.get(workspace=study.workspace, name="probed"))


def test_a_run_without_verdicts_and_one_without_probes_say_so(study):
    judge = judge_of(study)
    run = create_probe_run(ProbeRequest(judge, study, groups=(Group.PADDING,), budget=Ceiling(money=Decimal(1))))
    with pytest.raises(UserError, match="No probe has verdicts"):
        probe_report(run)
    with pytest.raises(UserError, match="has no probes"):
        probe_report(create_run(RunRequest(Target(study=study), (judge,))))
