"""Models and endpoints that nothing depends on are removed, by a lead's click or a command; others stay, in words."""

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from accounts.models import Event, User
from generation.models import Endpoint, EndpointTurn, GenerationItem, GenerationRun, LanguageModel, Response
from judging.models import Judge
from tests.factories import make_judge_rater, make_user, make_workspace
from tests.generation.responses.test_sampling import make_benchmark
from tests.markup import markup

pytestmark = pytest.mark.django_db


def make_endpoint(name="typo"):
    return Endpoint.objects.create(workspace=make_workspace(), name=name, base_url="http://127.0.0.1:9/v1")


def make_model(name="gpt-4oo", **fields):
    return LanguageModel.objects.create(workspace=make_workspace(), name=name, **fields)


def page_of(what, row):
    return reverse(f"generation:remove_{what}", args=[row.pk])


@pytest.fixture
def lead(client):
    client.force_login(make_user("lead"))
    return client


@pytest.mark.parametrize("htmx", [True, False])
@pytest.mark.parametrize(("what", "make"), [("model", make_model), ("endpoint", make_endpoint)])
def test_what_nothing_depends_on_is_removed_after_a_question_and_logged(lead, what, make, htmx):
    row = make()
    headers = {"HX-Request": "true"} if htmx else {}
    assert page_of(what, row) in markup(lead.get(reverse(f"generation:edit_{what}", args=[row.pk])))
    asked = lead.get(page_of(what, row), headers=headers)
    assert asked.status_code == 200 and 'method="post"' in markup(asked)
    assert type(row).objects.filter(pk=row.pk).exists()
    assert lead.post(page_of(what, row), headers=headers).status_code in (200, 204, 302)
    assert not type(row).objects.filter(pk=row.pk).exists()
    event = Event.objects.get(verb=f"{what} removed")
    assert (event.before, event.actor) == ({"name": row.name}, User.objects.get())
    assert f"{row.name} has been removed." in markup(lead.get(reverse(f"generation:{what}s")))
    assert lead.post(page_of(what, row)).status_code == 404


def test_what_was_found_out_about_an_endpoint_goes_with_it(lead):
    endpoint = make_endpoint()
    EndpointTurn.objects.create(endpoint=endpoint, opens_at="2026-01-01T00:00Z")
    lead.post(page_of("endpoint", endpoint))
    assert not Endpoint.objects.exists() and not EndpointTurn.objects.exists()


def use_response(model, benchmark):
    Response.objects.create(instruction=benchmark.instructions.first(), model=model, text="A text.")


def use_item(model, benchmark):
    run = GenerationRun.objects.create(benchmark=benchmark, name="main 1")
    GenerationItem.objects.create(run=run, instruction=benchmark.instructions.first(), model=model)


def use_judge(model, benchmark):
    Judge.objects.create(
        workspace=make_workspace(), rater=make_judge_rater(make_workspace()), language_model=model, method="checklist"
    )


@pytest.mark.parametrize(
    ("use", "said"),
    [(use_response, "1 response."), (use_item, "1 planned response of a run."), (use_judge, "1 judge.")],
)
def test_a_model_that_something_depends_on_stays_and_the_page_says_what(lead, use, said):
    model = make_model()
    use(model, make_benchmark(1))
    sentence = f"This model cannot be removed, because other data depends on it: {said}"
    edit = markup(lead.get(reverse("generation:edit_model", args=[model.pk])))
    assert sentence in edit and page_of("model", model) not in edit
    page = markup(lead.get(page_of("model", model)))
    assert sentence in page and 'method="post"' not in page.split("<main")[-1]
    answer = lead.post(page_of("model", model))
    assert answer.status_code == 409 and sentence in markup(answer)
    assert LanguageModel.objects.filter(pk=model.pk).exists()
    with pytest.raises(CommandError, match=f"gpt-4oo: {sentence}"):
        call_command("remove_model", "gpt-4oo")
    assert not Event.objects.filter(verb="model removed").exists()


def test_an_endpoint_that_serves_models_stays_and_the_page_names_them(lead):
    endpoint = make_endpoint()
    for number in range(7):
        make_model(f"m{number}", endpoint=endpoint)
    answer = lead.post(page_of("endpoint", endpoint))
    assert answer.status_code == 409
    assert "it serves 7 models (m0, m1, m2, m3, m4 …)" in markup(answer)
    assert LanguageModel.objects.filter(endpoint=endpoint).count() == 7


def test_only_leads_of_the_workspace_remove(client):
    rows = [("model", make_model()), ("endpoint", make_endpoint())]
    for what, row in rows:
        assert client.post(page_of(what, row)).status_code == 302
    for user, status in (
        (make_user("rater"), 403),
        (make_user("analyst"), 404),
        (make_user("lead", make_workspace("elsewhere")), 404),
    ):
        client.force_login(user)
        for what, row in rows:
            assert client.get(page_of(what, row)).status_code == status
            assert client.post(page_of(what, row)).status_code == status
    assert LanguageModel.objects.exists() and Endpoint.objects.exists()


def test_by_command(capsys):
    endpoint = make_endpoint()
    make_model(endpoint=endpoint)
    with pytest.raises(CommandError, match=r"it serves 1 model \(gpt-4oo\)"):
        call_command("remove_model", endpoint="typo")
    call_command("remove_model", "gpt-4oo")
    call_command("remove_model", endpoint="typo")
    assert capsys.readouterr().out.splitlines() == [
        "The language model gpt-4oo has been removed.",
        "The endpoint typo has been removed.",
    ]
    assert not LanguageModel.objects.exists() and not Endpoint.objects.exists()
    assert Event.objects.filter(verb__endswith=" removed", actor=None).count() == 2


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (([], {}), "Give either the name of a model"),
        ((["gpt-4oo"], {"endpoint": "typo"}), "Give either the name of a model"),
        ((["gpt"], {}), "There is no model 'gpt'; there are: gpt-4oo"),
        (([], {"endpoint": "e"}), "There is no endpoint 'e'; there are: typo"),
        ((["gpt-4oo"], {"workspace": "nowhere"}), "nowhere"),
    ],
)
def test_commands_that_name_nothing_are_refused_in_words(options, sentence):
    make_model(), make_endpoint()
    with pytest.raises(CommandError, match=sentence):
        call_command("remove_model", *options[0], **options[1])
    assert LanguageModel.objects.exists() and Endpoint.objects.exists()
