"""The page of a benchmark's curation: what would go and why, decisions, the tag, and who may do what."""

import pytest
from django.urls import reverse

from accounts.models import Event
from core.models import RequestedTask
from generation.curation import applying
from generation.models import Benchmark, Instruction
from generation.tasks import curate
from tests.factories import make_user, make_workspace
from tests.generation.curation.test_curating import RIVER, TIDE, benchmark_of, tagged
from tests.markup import markup

pytestmark = pytest.mark.django_db
RULES = "?shortest=0&longest=0&most_turns=0&languages=&without_tags=&difficulty=0&similarity=0&tag=mine"


@pytest.fixture
def benchmark():
    return benchmark_of(TIDE, TIDE + " Please.", "Hi", RIVER)


@pytest.fixture
def lead(client):
    client.force_login(make_user("lead"))
    return client


@pytest.fixture
def place(benchmark):
    return reverse("generation:curation", args=[benchmark])


def test_what_would_go_is_shown_with_its_reason_and_nothing_is_changed(lead, place):
    answer = lead.get(place)
    page = markup(answer)
    assert "2 of 4 instructions would stay." in page
    assert "Near-duplicate of i0 (similarity 0." in page and "Too short: 1" in page
    assert [row.facts.name for row, *_ in answer.context["rows"]] == ["i1", "i2"]
    assert [row.facts.name for row, *_ in lead.get(place + "?show=stay").context["rows"]] == ["i0", "i3"]
    assert [row.facts.name for row, *_ in lead.get(place + "?show=short").context["rows"]] == ["i2"]
    assert tagged() == [] and not Event.objects.filter(object_type="generation.Benchmark").exists()


def test_the_rules_of_the_address_are_shown_and_applied(lead, place):
    assert lead.get(place + RULES).context["staying"] == 4
    assert lead.post(place + RULES, {"action": "apply"})["Location"] == place + RULES
    assert tagged("mine") == ["i0", "i1", "i2", "i3"] and tagged() == []
    lead.post(place, {"action": "apply"})
    assert tagged() == ["i0", "i3"]
    assert Event.objects.filter(verb="instructions curated", actor__isnull=False).count() == 2


def test_a_decision_needs_a_reason_to_drop_and_can_be_taken_back(lead, place):
    river = Instruction.objects.get(external_id="i3")
    page = markup(lead.post(place, {"action": "drop", "instruction": river.public_id, "reason": " "}, follow=True))
    assert "Enter a reason why the instruction is to be dropped." in page
    lead.post(place, {"action": "drop", "instruction": river.public_id, "reason": "It names <a> person."})
    page = markup(lead.get(place + "?show=person"))
    assert "It names &lt;a&gt; person." in page and "Take back" in page
    lead.post(place, {"action": "undo", "instruction": river.public_id})
    assert [row.facts.name for row, *_ in lead.get(place + "?show=stay").context["rows"]] == ["i0", "i3"]


def test_the_questions_about_difficulty_lead_to_a_run_of_theirs(lead, place):
    answer = lead.post(place, {"action": "ask"})
    questions = Benchmark.objects.get(slug="pool-difficulty")
    assert answer["Location"] == reverse("generation:start_run", args=[questions])
    assert questions.instructions.count() == 4
    assert lead.get(answer["Location"]).status_code == 200


def test_bad_rules_are_explained_and_change_nothing(lead, place):
    bad = RULES.replace("tag=mine", "tag=a,b").replace("languages=", "languages=klingonisch")
    answer = lead.get(place + bad)
    assert answer.status_code == 422
    assert "no comma" in markup(answer) and "Enter codes such as en" in markup(answer)
    assert lead.post(place + bad, {"action": "apply"}, follow=True).status_code == 422
    assert not any(one.tags for one in Instruction.objects.all())
    assert lead.post(place, {"action": "sweep"}).status_code == 404
    assert lead.post(place, {"action": "keep", "instruction": "nobody"}).status_code == 404


def test_an_analyst_reads_a_rater_and_a_stranger_do_not(client, place):
    client.force_login(make_user("analyst"))
    page = markup(client.get(place))
    assert "2 of 4 instructions would stay." in page and "Set the tag" not in page and 'name="reason"' not in page
    assert client.post(place, {"action": "apply"}).status_code == 403
    client.force_login(make_user("rater"))
    assert client.get(place).status_code == 403
    client.force_login(make_user("lead", make_workspace("elsewhere")))
    assert client.get(place).status_code == 404
    assert client.post(place, {"action": "apply"}).status_code == 404
    assert tagged() == []


def test_another_benchmarks_instruction_is_not_decided_on_here(lead, place):
    other = Benchmark.objects.create(workspace=make_workspace(), slug="other")
    foreign = Instruction.objects.create(benchmark=other, external_id="x")
    assert lead.post(place, {"action": "keep", "instruction": foreign.public_id}).status_code == 404


def test_a_large_benchmark_is_curated_by_a_worker_with_the_same_result(lead, place, monkeypatch):
    lead.post(place, {"action": "apply"})
    wanted = tagged()
    assert wanted
    for instruction in Instruction.objects.all():
        instruction.tags = []
        instruction.save()
    monkeypatch.setattr(applying, "MOST_INSTRUCTIONS", 3)
    page = markup(lead.get(place))
    assert 'value="apply"' in page and "would stay" not in page and "manage.py" not in page
    lead.post(place, {"action": "apply"})
    assert tagged() == []
    request = RequestedTask.objects.get(task="generation.curate")
    curate(*request.arguments)
    assert tagged() == wanted
    assert f"now: {len(wanted)}." in markup(lead.get(place))
