"""manage.py draft_checklists and the pages of review: drafts by a run, merged, approved, and what a study then asks."""

import io

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from accounts.models import Event
from annotation.drafting.checklists import approve, drafted, own_checklist
from annotation.importing.instruction_rubrics import InstructionRubrics
from annotation.models import Rubric
from core.errors import UserError
from core.tables.bad_rows import Place, refuse
from generation.importers.records import InstructionRecord
from generation.models import GenerationRun, Instruction
from tests.factories import make_user, make_workspace
from tests.generation.hostile_server import HostileServer, says_or_streams
from tests.generation.responses.test_sampling import make_benchmark
from tests.markup import markup

pytestmark = pytest.mark.django_db
BOTH = "Does the text stay on topic {n} from beginning to end?"
OF_A, OF_B = "Is there an example?", "Does it close with a summary of its points?"


def play(request, n):
    asked = request["messages"][-1]["content"]
    number = next(digit for digit in asked.split("topic ")[1] if digit.isdigit())
    both = BOTH.format(n=number)
    if request["model"] == "a":
        return says_or_streams(request, f"1. {both}\n2. {OF_A}")
    return says_or_streams(request, f"- {OF_B}\n- {both.replace('the text', 'it')}")


def draft(server, *words):
    out = io.StringIO()
    where = ("--models", "a", "b", "--base-url", server.base_url)
    call_command("draft_checklists", "essays", *where, *words, stdout=out)
    return out.getvalue()


@pytest.fixture
def benchmark():
    benchmark = make_benchmark(3)
    with HostileServer(play) as server:
        said = draft(server)
    assert "is finished: 6 of 6" in said and "page of drafted checklists of lab/essays" in said
    return benchmark


def instruction(number=0):
    return Instruction.objects.select_related("benchmark").get(benchmark__slug="essays", external_id=f"essays-{number}")


def test_the_drafts_of_two_models_are_merged_and_on_record(benchmark):
    found = drafted(benchmark)
    assert sorted(found) == ["essays-0", "essays-1", "essays-2"]
    assert [(one.text, one.models) for one in found["essays-1"]] == [
        (BOTH.format(n=1), ("a", "b")),
        (OF_A, ("a",)),
        (OF_B, ("b",)),
    ]
    assert drafted(benchmark, "essays-1") == {"essays-1": found["essays-1"]}
    run = GenerationRun.objects.get()
    assert run.benchmark.slug == "essays-checklists"
    assert run.parameters == {"temperature": 0.0, "max_tokens": 1000}
    assert not Rubric.objects.exists()


def test_a_budget_pauses_and_the_run_is_resumed():
    make_benchmark(3)
    with HostileServer(play) as server:
        said = draft(server, "--budget-calls", "2")
        run = GenerationRun.objects.get()
        assert run.status == "paused" and f"manage.py draft_checklists --resume {run.public_id}" in said
        out = io.StringIO()
        call_command("draft_checklists", "--resume", run.public_id, "--budget-calls", "20", stdout=out)
    assert "is finished: 6 of 6" in out.getvalue() and len(server.requests) == 6


def test_a_tag_given_later_narrows_the_next_run_down(benchmark):
    Instruction.objects.filter(benchmark=benchmark, external_id="essays-2").update(tags=["curated"])
    with HostileServer(play) as server:
        assert "is finished: 2 of 2" in draft(server, "--tag", "curated")
    assert all("topic 2" in request["messages"][-1]["content"] for request in server.requests)


def test_approved_questions_are_the_instructions_own_checklist_and_other_criteria_stay(benchmark):
    one, lead = instruction(), make_user("lead")
    record = InstructionRecord(Place("f", 1), one.external_id, None, checklist=("Old?",), overall="1:10")
    InstructionRubrics(benchmark).load([record], refuse)
    assert own_checklist(one) == ["Old?"]
    assert approve(one, [" Is it\n long? ", OF_A, OF_A, ""], by=lead) == ["Is it long?", OF_A]
    rubric = Rubric.objects.filter(instruction=one).order_by("-version").first()
    assert [(c.key, c.role, c.position) for c in rubric.criteria.order_by("position")] == [
        ("item0", "item", 0),
        ("item1", "item", 1),
        ("score", "overall", 2),
    ]
    overall = rubric.criteria.get(key="score")
    assert (overall.minimum, overall.maximum, rubric.version) == (1, 10, 2)
    assert own_checklist(one) == ["Is it long?", OF_A]
    event = Event.objects.get(verb="checklist approved")
    assert (event.actor, event.after["questions"]) == (lead, ["Is it long?", OF_A])
    # A checklist of an earlier version can be approved again.
    approve(one, ["Old?"], by=lead)
    assert own_checklist(one) == ["Old?"]
    approve(one, ["Old?"], by=lead)
    assert Rubric.objects.filter(instruction=one).count() == 3


@pytest.mark.parametrize(
    ("questions", "why"), [([" "], "at least one"), ([f"q{n}?" for n in range(21)], "at most 20"), (["x" * 501], "500")]
)
def test_a_checklist_that_cannot_be_is_refused(benchmark, questions, why):
    with pytest.raises(UserError, match=why):
        approve(instruction(), questions, by=make_user("lead"))
    assert not Rubric.objects.exists() and not Event.objects.filter(verb="checklist approved").exists()


def sent(*lines):
    data = {"form-TOTAL_FORMS": len(lines), "form-INITIAL_FORMS": 0}
    for number, (text, keep) in enumerate(lines):
        data |= {f"form-{number}-text": text, **({f"form-{number}-keep": "on"} if keep else {})}
    return data


def test_a_lead_edits_chooses_and_approves_and_goes_on_to_the_next(client, benchmark):
    client.force_login(make_user("lead"))
    page = markup(client.get(reverse("library:drafted_checklists", args=[benchmark])))
    assert page.count("To be reviewed") == 3 and "a, b" in page
    one = instruction()
    place = reverse("library:drafted_checklist", args=[one.public_id])
    answer = client.get(place)
    assert [line["text"].value() for line in answer.context["lines"]] == [BOTH.format(n=0), OF_A, OF_B, "", "", ""]
    assert "Also worded: Does it stay on topic 0" in markup(answer)
    told = sent((BOTH.format(n=0), True), ("Is there an example from life?", True), (OF_B, False), ("<b>?", True))
    answer = client.post(place, told)
    assert answer["Location"] == reverse("library:drafted_checklist", args=[instruction(1).public_id])
    assert own_checklist(one) == [BOTH.format(n=0), "Is there an example from life?", "<b>?"]
    again = client.get(place)
    assert "&lt;b&gt;?" in markup(again)
    # What was approved comes first, and what was not is offered unchecked.
    kept = {line["text"].value(): line["keep"].value() for line in again.context["lines"]}
    assert kept["Is there an example from life?"] and not kept[OF_B]
    assert markup(client.get(reverse("library:drafted_checklists", args=[benchmark]))).count("To be reviewed") == 2


def test_nothing_kept_is_explained_and_changes_nothing(client, benchmark):
    client.force_login(make_user("lead"))
    answer = client.post(reverse("library:drafted_checklist", args=[instruction().public_id]), sent((OF_A, False)))
    assert answer.status_code == 422 and "Keep at least one question." in markup(answer)
    long = client.post(reverse("library:drafted_checklist", args=[instruction().public_id]), sent(("x" * 501, True)))
    assert long.status_code == 422 and "at most 500 characters" in markup(long)
    assert not Rubric.objects.exists()


def test_who_may_do_what(client, benchmark):
    places = [reverse("library:drafted_checklists", args=[benchmark])]
    places.append(reverse("library:drafted_checklist", args=[instruction().public_id]))
    client.force_login(make_user("analyst"))
    for place in places:
        answer = client.get(place)
        assert answer.status_code == 200 and "Approve the checklist" not in markup(answer)
        assert client.post(place, sent((OF_A, True))).status_code == 403
    client.force_login(make_user("rater"))
    assert [client.get(place).status_code for place in places] == [403, 403]
    client.force_login(make_user("lead", make_workspace("elsewhere")))
    assert [client.get(place).status_code for place in places] == [404, 404]
    assert [client.post(place, sent((OF_A, True))).status_code for place in places] == [404, 404]
    assert not Rubric.objects.exists()


def test_the_page_leads_to_a_run_of_the_questions(client):
    benchmark = make_benchmark(2)
    client.force_login(make_user("lead"))
    answer = client.post(reverse("library:drafted_checklists", args=[benchmark]))
    assert answer["Location"] == reverse("generation:start_run", args=["lab/essays-checklists"])
    assert "2 instructions with a text" in markup(client.get(answer["Location"]))


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("essays", "--models", "a"), "two models or more"),
        (("essays", "--models", "a", "a"), "two models or more"),
        (("nowhere", "--models", "a", "b"), "There is no benchmark 'nowhere'; there are: essays"),
        (("essays", "--models", "a", "b", "--limit", "0"), "--limit 0"),
        (("essays", "--models", "a", "b", "--temperature", "3"), "--temperature 3"),
        (("essays", "--models", "a", "b"), "It is not known where model 'a' is served"),
    ],
)
def test_bad_options_are_explained(words, why):
    make_benchmark(1)
    with pytest.raises(CommandError, match=why):
        call_command("draft_checklists", *words)
