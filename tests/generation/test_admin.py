"""The administration pages of benchmarks, models and responses open, and responses are not rewritten there."""

import pytest
from django.apps import apps
from django.urls import reverse
from django.utils import timezone

from generation.endpoints.grants import allow
from generation.library.search import note_texts
from generation.models import (
    Endpoint,
    EndpointSlots,
    EndpointTurn,
    ErrorPhrases,
    GenerationItem,
    GenerationRun,
    GenerationShare,
    Import,
    Instruction,
    LanguageModel,
    Response,
    SpendingLimit,
    SurplusReply,
)
from tests.factories import make_checklist_study, make_user
from tests.markup import markup

pytestmark = pytest.mark.django_db
MODELS = [model._meta.model_name for model in apps.get_app_config("generation").get_models()]


@pytest.fixture
def signed_in(client):
    study = make_checklist_study(instructions=1, models=1)
    endpoint = Endpoint.objects.create(workspace=study.workspace, name="local", kind="scripted")
    allow(endpoint, command="add_model")
    EndpointTurn.objects.create(endpoint=endpoint, opens_at=timezone.now())
    EndpointSlots.objects.create(
        endpoint=endpoint, worker="here:1:x", wanted=4, **dict.fromkeys(("since", "leased_until"), timezone.now())
    )
    Import.objects.create(workspace=study.workspace, command="load_table", file="r.csv", about=study.slug)
    SpendingLimit.objects.create(workspace=study.workspace, money=5)
    ErrorPhrases.objects.create(workspace=study.workspace, refusals=["never"])
    run = GenerationRun.objects.create(benchmark=study.benchmark, name="first")
    response = Response.objects.get()
    item = GenerationItem.objects.create(run=run, instruction=response.instruction, model=LanguageModel.objects.get())
    SurplusReply.objects.create(run=run, item=item, text="Once more.")
    note_texts(Instruction.objects.all())
    GenerationShare.objects.create(run=run, worker="here:1:x", leased_until=timezone.now())
    client.force_login(make_user(username="root", is_staff=True, is_superuser=True))
    return client


@pytest.mark.parametrize("model", MODELS)
def test_each_table_has_its_list_and_its_page(signed_in, model):
    assert signed_in.get(reverse(f"admin:generation_{model}_changelist"), {"q": "x"}).status_code == 200
    assert signed_in.get(reverse(f"admin:generation_{model}_changelist")).status_code == 200
    row = apps.get_model("generation", model).objects.first()
    assert signed_in.get(reverse(f"admin:generation_{model}_change", args=[row.pk])).status_code == 200


def test_a_response_is_shown_but_not_rewritten(signed_in):
    response = Response.objects.get()
    address = reverse("admin:generation_response_change", args=[response.pk])
    assert response.text.split()[-1] in markup(signed_in.get(address))
    signed_in.post(address, {"instruction": response.instruction_id, "sample": 0, "kind": "response", "text": "new"})
    response.refresh_from_db()
    assert response.text != "new"
    assert signed_in.get(reverse("admin:generation_response_add")).status_code == 403


def test_a_stranger_sees_none_of_it(client):
    assert client.get(reverse("admin:generation_response_changelist")).status_code == 302


@pytest.mark.parametrize(
    ("model", "field", "value"),
    [
        ("instruction", "messages", '{"role": "user"}'),
        ("instruction", "messages", '["Write."]'),
        ("instruction", "messages", '[{"role": "poet", "content": "x"}]'),
        ("instruction", "parts", '["task"]'),
        ("instruction", "tags", '"one"'),
        ("benchmark", "names", '["Essays"]'),
        ("category", "names", '{"en": 5}'),
        ("category", "aliases", '{"a": 1}'),
        ("languagemodel", "parameters", '{"max_tokens": "many"}'),
        ("endpoint", "input_price", "-1"),
        ("endpoint", "max_concurrent", "0"),
    ],
)
def test_json_that_no_page_can_read_is_refused(signed_in, model, field, value):
    row = apps.get_model("generation", model).objects.first()
    place = reverse(f"admin:generation_{model}_change", args=[row.pk])
    answer = signed_in.post(place, {field: value})
    assert answer.status_code == 200
    assert field in answer.context["adminform"].form.errors
