"""Judges in the browser: the list, one judge, the prompt editor; as lead, analyst, rater and another lead."""

import re

import pytest
from django.urls import reverse

from annotation.models import Task
from generation.models import Endpoint, LanguageModel, Response
from judging.judges.judge_calls import shown
from judging.judges.making import create_judge, stock_prompt
from judging.judges.questions import Questions
from judging.judges.transports import ChatTransport
from judging.models import Judge, JudgeRun, PlannedItem
from tests.factories import make_checklist_study, make_judge_rater, make_user, make_workspace, plan_run
from tests.markup import markup

pytestmark = pytest.mark.django_db
NEW = "/library/judges/new/"


@pytest.fixture
def study():
    return make_checklist_study(instructions=3, models=2)


@pytest.fixture
def model(study):
    endpoint = Endpoint.objects.create(workspace=study.workspace, name="script", kind="scripted")
    return LanguageModel.objects.create(workspace=study.workspace, name="reader", endpoint=endpoint)


def filled(model, **others):
    return {"model": model.pk, "temperature": "0", "prompt": stock_prompt("checklist"), **others}


def page_of(response):
    return markup(response)


def test_who_may_see_and_make_judges(client, study, model):
    judge = create_judge(model=model)
    addresses = [reverse("judging:judge_list"), reverse("judging:judge", args=[judge.rater.public_id])]
    for role in ("owner", "lead", "analyst"):
        client.force_login(make_user(role))
        assert [client.get(address).status_code for address in addresses] == [200, 200]
    assert "Only owners and leads" in page_of(client.get(NEW))
    assert "Create a judge</a>" not in page_of(client.get(addresses[0]))
    client.post(f"{NEW}?method=checklist", filled(model, name="sly", action="make"))
    assert Judge.objects.count() == 1
    client.force_login(make_user("rater"))
    assert [client.get(address).status_code for address in [*addresses, NEW]] == [403] * 3
    client.force_login(make_user("lead", make_workspace("elsewhere")))
    assert client.get(addresses[1]).status_code == 404
    assert judge.rater.label not in page_of(client.get(addresses[0]))
    answer = client.post(f"{NEW}?method=checklist", filled(model, name="theirs", action="make"))
    assert answer.status_code in (200, 422)
    assert Judge.objects.count() == 1


def test_a_changed_prompt_is_another_judge_and_the_same_one_is_the_same(client, study, model):
    client.force_login(make_user("lead"))
    client.post(f"{NEW}?method=checklist", filled(model, action="make"))
    changed = stock_prompt("checklist").replace("Take the questions one at a time.", "Take your time.")
    assert changed != stock_prompt("checklist")
    answer = client.post(f"{NEW}?method=checklist", filled(model, prompt=changed, name="patient", action="make"))
    stock, patient = Judge.objects.order_by("pk")
    assert answer["Location"] == reverse("judging:judge", args=[patient.rater.public_id])
    assert stock.prompt_hash != patient.prompt_hash
    assert patient.rater.label == "patient"
    # Line ends as browsers send them, and no name: the judge there is.
    client.post(f"{NEW}?method=checklist", filled(model, prompt=changed.replace("\n", "\r\n"), action="make"))
    assert Judge.objects.count() == 2
    page = page_of(client.get(answer["Location"]))
    assert patient.prompt_hash[:12] in page
    assert re.search(r"<ins>.*Take your time\.", page)
    assert "<del>" not in page_of(client.get(reverse("judging:judge", args=[stock.rater.public_id])))


@pytest.mark.parametrize(
    ("prompt", "sentence"),
    [
        ("@@ user\n$conversation $items $answer_shape", "The prompt lacks the placeholder $response"),
        ("@@ user\n$conversation $items $response $answer_shape $autor", "The prompt contains the placeholder $autor"),
        ("@@ user\ncosts 5 $", "a single $"),
        ("no message $conversation $items $response $answer_shape", "must start with a line"),
    ],
)
def test_a_prompt_that_cannot_be_asked_makes_no_judge(client, study, model, prompt, sentence):
    client.force_login(make_user("lead"))
    answer = client.post(f"{NEW}?method=checklist", filled(model, prompt=prompt, action="make"))
    assert answer.status_code == 422
    assert sentence in page_of(answer)
    assert prompt.splitlines()[0] in page_of(answer)
    assert not Judge.objects.exists()


def test_the_preview_is_what_would_be_sent_and_stores_nothing(client, study, model):
    Endpoint.objects.update(capabilities={"json_schema": True})
    model.refresh_from_db()
    task = study.tasks.order_by("position", "pk")[1]
    Response.objects.filter(pk=task.response_a_id).update(text="A <b>bold</b> river $response, all of it.")
    task.refresh_from_db()
    client.force_login(make_user("lead"))
    answer = client.post(
        f"{NEW}?method=checklist",
        filled(model, action="preview", source=f"study:{study.pk}", number="2"),
        headers={"HX-Request": "true"},
    )
    part = page_of(answer)
    assert "<html" not in part
    way = ChatTransport(
        Judge(method="checklist", prompt=stock_prompt("checklist"), language_model=model, parameters={})
    )
    item = PlannedItem(task=task, shown_first="a")
    held = way.begin(item, shown(item, Questions("checklist", study).about(task)))
    assert [message["role"] for message in held.messages] == ["system", "user"]
    from django.utils.html import escape

    for message in held.messages:
        assert escape(message["content"]) in part
    assert "Task 2 of 6" in part
    assert "JSON schema sent with the prompt" in part
    assert not Judge.objects.exists()
    assert not JudgeRun.objects.exists()
    whole = client.post(
        f"{NEW}?method=checklist", filled(model, action="preview", source=f"study:{study.pk}", number="2")
    )
    assert "<html" in page_of(whole)
    assert escape(held.messages[0]["content"]) in page_of(whole)


def test_a_benchmark_is_previewed_without_a_study_of_it(client, study, model):
    studies = type(study).objects.count()
    client.force_login(make_user("lead"))
    answer = client.post(
        f"{NEW}?method=overall",
        {
            "model": model.pk,
            "temperature": "0",
            "prompt": stock_prompt("overall"),
            "action": "preview",
            "source": f"benchmark:{study.benchmark_id}",
            "number": "1",
        },
    )
    assert "How good is it overall?" in page_of(answer)
    assert "Some words about it." in page_of(answer)
    assert (type(study).objects.count(), Task.objects.count()) == (studies, 6)


def test_another_workspaces_study_is_never_previewed(client, study, model):
    other = make_checklist_study(slug="secret", workspace=make_workspace("elsewhere"))
    Response.objects.filter(tasks_as_a__study=other).update(text="Nobody here may read this.")
    client.force_login(make_user("lead"))
    answer = client.post(
        f"{NEW}?method=checklist", filled(model, action="preview", source=f"study:{other.pk}", number="1")
    )
    assert "Nobody here may read this." not in page_of(answer)


def test_a_rule_needs_no_model_and_a_name_that_is_taken_is_refused(client, study, model):
    make_judge_rater(study.workspace, "taken")
    client.force_login(make_user("lead"))
    client.post(f"{NEW}?method=longer", {"name": "longest", "action": "make"})
    rule = Judge.objects.get()
    assert (rule.method, rule.rater.label, rule.language_model) == ("longer", "longest", None)
    answer = client.post(f"{NEW}?method=checklist", filled(model, name="taken", action="make"))
    assert answer.status_code == 422
    assert "Another judge already has this name" in page_of(answer)
    assert Judge.objects.count() == 1


def test_a_judge_starts_from_another_with_its_prompt(client, study, model):
    prompt = stock_prompt("checklist") + "Be brief.\n"
    judge = create_judge(model=model, prompt=prompt, parameters={"top_p": 0.5})
    plan_run(judge=judge, study=study)
    client.force_login(make_user("lead"))
    page = page_of(client.get(f"{NEW}?like={judge.rater.public_id}"))
    assert "Be brief." in page
    assert "top_p" in page
    assert study.name in page_of(client.get(reverse("judging:judge", args=[judge.rater.public_id])))


def test_every_method_can_be_made_in_the_browser(client, study, model):
    from judging.methods.registry import OFFERED

    client.force_login(make_user("lead"))
    for method in OFFERED:
        page = client.get(NEW, {"method": method})
        assert page.status_code == 200, method
        given = {"name": f"one {method}", "action": "make", "model": model.pk, "temperature": "0"}
        prompt = stock_prompt(method)
        answer = client.post(f"{NEW}?method={method}", {**given, **({"prompt": prompt} if prompt else {})})
        assert answer.status_code == 302, method
    assert set(Judge.objects.values_list("method", flat=True)) == set(OFFERED)


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ('{"model": "x"}', "Plumbline sets model itself"),
        ('{"messages": []}', "Plumbline sets messages itself"),
        ('{"n": 5}', "Plumbline sets n itself"),
        ('{"stream": true}', "Plumbline sets stream itself"),
        ('{"max_tokens": -5}', "max_tokens must be a whole number of at least 1"),
        ('{"max_tokens": "abc"}', "max_tokens must be a whole number of at least 1"),
        ('{"\\ud800": 1}', "databases cannot store"),
    ],
)
@pytest.mark.parametrize("action", ["preview", "make"])
def test_a_judge_asks_its_own_model_in_its_own_way(client, others, said, action):
    study = make_checklist_study()
    endpoint = Endpoint.objects.create(workspace=study.workspace, name="e", kind="scripted")
    model = LanguageModel.objects.create(workspace=study.workspace, name="m", endpoint=endpoint)
    client.force_login(make_user("lead"))
    answer = client.post(f"{NEW}?method=checklist", filled(model, others=others, action=action))
    assert answer.status_code == 422
    assert said in markup(answer)
    assert not Judge.objects.exists()
