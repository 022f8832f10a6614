"""Probes of a judge and a bridge between two judges, asked of a real vLLM server. What the model says means nothing.

A random model writes a reason to its limit. A bias towards the token of a quotation mark ends every reason at once, so that
each answer takes a few tokens and both runs together end in a minute and a half on two idle cores.
"""

import json
from pathlib import Path

import pytest
from django.utils import timezone

from generation.models import Response
from judging.comparison.bridging.anchors import AnchorRequest, create_anchor_run, plan_anchors
from judging.comparison.bridging.run_bridge import run_bridge
from judging.models import Reply
from judging.probes.planning import create_probe_run, price_of_probes
from judging.probes.request import Group, ProbeRequest
from judging.probes.results import probe_report
from judging.runs.life_cycle import start_run
from tests.factories import make_checklist_study, plan_run
from tests.real_server.test_vllm import finished, judge_at

pytestmark = [pytest.mark.realserver, pytest.mark.django_db]
PROMPT = """@@ user
$question

$conversation_mark
$conversation
$conversation_mark
$response_mark
$response
$response_mark
$answer_shape
"""
PARAGRAPH = "The house number {0} stands by the river. It was built long ago and is in use today.\n\n"


@pytest.fixture
def brief(tiny_model: Path) -> dict[str, object]:
    """Parameters with which the tiny model ends a reason at once and draws the score by chance."""
    vocabulary = json.loads((tiny_model / "tokenizer.json").read_text())["model"]["vocab"]
    return {"temperature": 1.0, "max_tokens": 64, "logit_bias": {str(vocabulary['"']): 100}}


def in_paragraphs(study, number=5):
    """Give every response of the study so many paragraphs: shorter texts have no room for the padding."""
    for place, response in enumerate(Response.objects.filter(instruction__benchmark=study.benchmark).order_by("pk")):
        response.text = "".join(PARAGRAPH.format(number * place + line) for line in range(number)).strip()
        response.save()
    return study


def worked_off(run):
    start_run(run, clock=timezone.now)
    return finished(run)


def test_probes_of_a_judge_are_priced_asked_and_reported(served, brief):
    study = in_paragraphs(make_checklist_study(instructions=24, models=1, items=1))
    judge = judge_at(served, method="overall", prompt=PROMPT, parameters=brief)
    request = ProbeRequest(judge, study, groups=(Group.PADDING,))
    price = price_of_probes(request)
    assert (price.most.calls, price.unanswerable) == (96, 0)
    run = worked_off(create_probe_run(request))
    assert run.items.filter(status="scored").count() >= 90
    assert run.items.count() == price.questions == 96
    assert max(Reply.objects.filter(item__run=run, error="").values_list("output_tokens", flat=True)) <= 64
    report = probe_report(run)
    assert {key for key, _effect in report.effects} == {"padding_25", "padding_50"}
    for _key, effect in report.effects:
        assert effect.low <= effect.mean <= effect.high and effect.detectable > 0
        assert 0 < effect.changed.value <= 1, "a model that draws its scores by chance changes them"
    assert report.again.value > 0
    assert price_of_probes(request).stored >= 90, "what was answered is not paid for again"


def test_a_new_judge_is_bridged_to_an_old_one_over_anchors(served, brief):
    study = make_checklist_study(instructions=24, models=2, items=1)
    old = judge_at(served, method="overall", prompt=PROMPT, parameters=brief, name="old judge")
    before = worked_off(plan_run(judge=old, study=study))
    new = judge_at(served, method="overall", prompt=f"{PROMPT}Be brief.\n", parameters=brief, name="new judge")
    request = AnchorRequest(before, new, per_model=12, canaries=False)
    plan = plan_anchors(request)
    assert [one.anchors for one in plan.models] == [12, 12] and not plan.from_bridge
    run = worked_off(create_anchor_run(request))
    found = run_bridge(before, run)
    assert 20 <= found.bridge.n_anchors <= 24
    assert (found.low, found.high, found.role) == (0, 10, "overall")
    assert -1 <= found.bridge.correlation < 1 and found.bridge.spread > 0
    assert {one.model for one in found.board} == {"model0", "model1"}
    for place in found.board:
        assert place.n_both >= 10 and place.low < place.value < place.high
