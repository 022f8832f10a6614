"""A model drafts the questions in an ordinary run: by the scripted endpoint, from the button to the saved question."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Event
from annotation.authoring.drafting import BEGINNING, draft_questions, drafts_of
from annotation.authoring.questions import current_questions
from annotation.models import QuestionDraft
from core.errors import UserError
from generation.llm.protocol.prices import UNLIMITED
from generation.models import Endpoint, GenerationRun, LanguageModel
from generation.responses.runs import cancel_run
from generation.responses.worker import work_on
from tests.annotation.authoring.checklists import chosen
from tests.factories import make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db


@pytest.fixture
def lead():
    return make_user("lead")


@pytest.fixture
def checklist(lead):
    return chosen(make_workspace(), lead)


@pytest.fixture
def model(checklist):
    """A scripted model with a reply for each criterion but the last."""
    endpoint = Endpoint.objects.create(workspace=checklist.workspace, name="script", kind="scripted")
    written = ['"Is it deep?"', "  **Is all\n covered?** ", "是否准确？"]
    kept = current_questions(checklist)[:3]
    replies = {f"{BEGINNING}{one.criterion.pk}/drafter": reply for one, reply in zip(kept, written, strict=True)}
    return LanguageModel.objects.create(
        workspace=checklist.workspace, name="drafter", endpoint=endpoint, parameters={"script": {"replies": replies}}
    )


def press(client, checklist, do, **fields):
    address = reverse("library:checklist", args=[checklist.public_id])
    return client.post(address, {"do": do, "stage": "questions", **fields})


def test_drafts_fill_the_fields_and_are_saved_with_their_origin(checklist, lead, model):
    client = Client()
    client.force_login(lead)
    address = reverse("library:checklist", args=[checklist.public_id])
    assert "Let a model draft the questions" in markup(client.get(address))
    assert press(client, checklist, "draft", model=model.pk, budget_calls="0").status_code == 422
    assert press(client, checklist, "draft", model=model.pk, budget_calls="10").status_code == 302
    run = GenerationRun.objects.get()
    assert (run.status, run.budget_calls, run.created_by, run.items.count()) == ("running", 10, lead, 4)
    assert Event.objects.get(verb="draft_questions").after == {"run": run.public_id, "model": "drafter"}
    prompt = run.benchmark.instructions.get(external_id__endswith=current_questions(checklist)[0].criterion.pk).text
    assert "Criterion: Depth\nWhat it means: Gives details and examples instead of generalities." in prompt
    page = markup(client.get(address))
    assert "A model is drafting questions." in page and "Draft the questions</button>" not in page
    assert press(client, checklist, "draft", model=model.pk).status_code == 409

    work_on(run)
    checklist.refresh_from_db()
    keys = {one.criterion.name: one.criterion.pk for one in current_questions(checklist)}
    drafts = drafts_of(checklist)
    assert {key: draft.texts for key, draft in drafts.items()} == {
        keys["Depth"]: {"en": "Is it deep?"},
        keys["Coverage"]: {"en": "Is all covered?"},
        keys["Accuracy"]: {"zh-hans": "是否准确？"},
    }
    assert "Is it deep?" in markup(client.get(address)) and not QuestionDraft.objects.exists()

    given = {
        f"c{keys['Depth']}-question_en": "Is it deep?",
        f"c{keys['Coverage']}-question_en": "Is everything covered?",
        f"c{keys['Accuracy']}-question_zh": "是否准确？",
        f"c{keys['Structure']}-question_en": "Is it ordered?",
    }
    assert press(client, checklist, "start_review", **given).status_code == 302
    stored = {one.criterion.name: (one.source, one.model) for one in QuestionDraft.objects.select_related("criterion")}
    assert stored == {
        "Depth": ("model", "drafter"),
        "Coverage": ("edited", "drafter"),
        "Accuracy": ("model", "drafter"),
        "Structure": ("typed", ""),
    }
    rater = Client()
    rater.force_login(make_user("rater"))
    page = markup(rater.get(address))
    assert "drafted by a model, changed by a person" in page and "drafter" not in page


def test_a_second_run_begins_when_the_first_is_over(checklist, lead, model):
    first = draft_questions(checklist, model, UNLIMITED, by=lead)
    checklist.refresh_from_db()
    with pytest.raises(UserError) as refusal:
        draft_questions(checklist, model, UNLIMITED, by=lead)
    assert refusal.value.message.code == "checklist.still_drafting"
    cancel_run(first, clock=lambda: first.created_at)
    second = draft_questions(checklist, model, UNLIMITED, by=lead)
    checklist.refresh_from_db()
    assert checklist.drafting_run == second
    assert second.benchmark == first.benchmark
    assert second.benchmark.instructions.count() == 4
    assert all(one.external_id.startswith(BEGINNING) for one in second.benchmark.instructions.all())


def test_only_models_that_an_endpoint_of_the_workspace_serves_draft(checklist, lead):
    elsewhere = make_workspace("elsewhere")
    endpoint = Endpoint.objects.create(workspace=elsewhere, name="script", kind="scripted")
    other = LanguageModel.objects.create(workspace=elsewhere, name="theirs", endpoint=endpoint)
    silent = LanguageModel.objects.create(workspace=checklist.workspace, name="silent")
    for model in (other, silent):
        with pytest.raises(UserError, match="model"):
            draft_questions(checklist, model, UNLIMITED, by=lead)
    assert not GenerationRun.objects.exists()
    client = Client()
    client.force_login(lead)
    assert press(client, checklist, "draft", model=other.pk).status_code == 422
    assert "Let a model draft the questions" not in markup(
        client.get(reverse("library:checklist", args=[checklist.public_id]))
    )
