"""A lead edits the phrases by which a workspace's texts count as errors; they are matched literally and are on record."""

import io
import json

import pytest
from django.core.management import call_command
from django.urls import reverse

from accounts.models import Event
from annotation.studies.deletion import delete
from core.errors import UserError
from generation.library.error_phrases import LONGEST, MOST_PHRASES, phrases_in, restore_phrases, rules_of, set_phrases
from generation.models import Benchmark, ErrorPhrases, Instruction, LanguageModel, Response
from generation.text_metrics.error_modes import RULES
from tests.factories import make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db
STORY = "The ferry left at nine. Mara counted the gulls (a+)+$ on the rail. Nobody told her the way."


@pytest.fixture
def benchmark(settings, tmp_path):
    settings.DATA_DIR = tmp_path
    benchmark = Benchmark.objects.create(workspace=make_workspace(), slug="long", names={"en": "Long"})
    model = LanguageModel.objects.create(workspace=benchmark.workspace, name="shy")
    for number, text in enumerate(["I cannot write so much.", STORY]):
        asked = Instruction.objects.create(benchmark=benchmark, external_id=f"i{number}")
        Response.objects.create(instruction=asked, model=model, text=text, words=len(text.split()))
    return benchmark


@pytest.fixture
def lead(client, benchmark):
    user = make_user("lead", benchmark.workspace)
    client.force_login(user)
    return user


@pytest.fixture
def address(benchmark):
    return reverse("generation:error_phrases", args=[benchmark.workspace.slug])


def counted(benchmark):
    call_command(
        "error_modes", benchmark.slug, workspace=benchmark.workspace.slug, json=True, stdout=(out := io.StringIO())
    )
    (row,) = json.loads(out.getvalue())
    return row["counts"]["refusal"], row["counts"]["meaningless"]


def test_what_a_lead_saves_decides_on_the_page_and_in_the_command(client, benchmark, lead, address):
    assert counted(benchmark) == (1, 0)
    texts = reverse("judging:text_page", args=[benchmark])
    assert address in markup(client.get(texts))
    assert "Mara counted the gulls" not in markup(client.get(texts))
    posted = {"refusals": "\n“The FERRY\r\n\r\nthe ferry\n", "meaningless": "GULLS (A+)+$\nx.y"}
    answer = client.post(address, posted, follow=True)
    assert "The phrases have been saved." in markup(answer)
    assert "This workspace has phrases of its own." in markup(answer)
    own = ErrorPhrases.objects.get()
    assert (own.refusals, own.meaningless) == (["the ferry"], ["gulls (a+)+$", "x.y"])
    assert counted(benchmark) == (1, 1)
    assert "Mara counted the gulls" in markup(client.get(texts))
    event = Event.objects.get(verb="error phrases changed")
    assert (event.actor, event.object_id) == (lead, benchmark.workspace.slug)
    assert event.before == {"refusals": list(RULES.refusals), "meaningless": list(RULES.meaningless)}
    assert event.after == {"refusals": ["the ferry"], "meaningless": ["gulls (a+)+$", "x.y"]}
    client.post(address, posted)
    assert Event.objects.filter(verb="error phrases changed").count() == 1


def test_the_usual_phrases_are_restored_on_record(client, benchmark, lead, address):
    assert "Restore the usual phrases" not in markup(client.get(address))
    client.post(address, {"refusals": "never", "meaningless": ""})
    assert rules_of(benchmark.workspace).meaningless == ()
    assert "Restore the usual phrases" in markup(client.get(address))
    client.post(address, {"action": "restore"})
    assert rules_of(benchmark.workspace) == RULES
    assert not ErrorPhrases.objects.exists()
    event = Event.objects.get(verb="error phrases restored")
    assert event.before == {"refusals": ["never"], "meaningless": []}
    assert event.after["refusals"] == list(RULES.refusals)
    assert not restore_phrases(benchmark.workspace, by=lead)
    assert Event.objects.filter(verb="error phrases restored").count() == 1


def test_the_installations_file_holds_where_a_workspace_has_no_phrases(client, benchmark, lead, address, tmp_path):
    (tmp_path / "error_modes.json").write_text(json.dumps({"refusals": ["the ferry"], "repeated_times": 5}))
    assert rules_of(benchmark.workspace).refusals == ("the ferry",)
    set_phrases(benchmark.workspace, refusals=["never"], meaningless=[], by=None)
    found = rules_of(benchmark.workspace)
    assert (found.refusals, found.repeated_times) == (("never",), 5)
    assert rules_of(make_workspace("elsewhere")).refusals == ("the ferry",)
    (tmp_path / "error_modes.json").write_text("{")
    html = markup(client.get(address))
    assert "cannot be read as JSON" in html and "Save the phrases" not in html


def test_a_phrase_is_no_pattern(client, benchmark, lead, address):
    client.post(address, {"refusals": ".*", "meaningless": "(a|b|ab)*c\n[a-z]+"})
    assert counted(benchmark) == (0, 0)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("x" * (LONGEST + 1), "error_phrases.too_long"),
        ("fine\nx", "error_phrases.too_short"),
        ("“ “ “", "error_phrases.too_short"),
        ("fine\nnot\u200bfine", "error_phrases.unreadable"),
        ("\n".join(f"phrase {n}" for n in range(MOST_PHRASES + 1)), "error_phrases.too_many"),
    ],
)
def test_lists_that_cannot_be_are_refused_whole(client, benchmark, lead, address, text, code):
    with pytest.raises(UserError) as refused:
        phrases_in(text, opening=True)
    assert refused.value.message.code == code
    answer = client.post(address, {"refusals": text, "meaningless": "fine"})
    assert answer.status_code == 422
    assert str(refused.value) in markup(answer).replace("&#x27;", "'")
    assert not ErrorPhrases.objects.exists() and not Event.objects.filter(verb__startswith="error phrases").exists()


def test_as_many_and_as_long_as_allowed_are_stored(client, benchmark, lead, address):
    lines = [f"{n:03}".rjust(LONGEST, "x") for n in range(MOST_PHRASES)]
    assert client.post(address, {"refusals": "\r\n".join(lines), "meaningless": ""}).status_code == 302
    assert ErrorPhrases.objects.get().refusals == lines
    assert client.post(address, {"refusals": "x\n" * 50_000, "meaningless": ""}).status_code == 422


def test_others_read_it_and_strangers_do_not(client, benchmark, address):
    posted = {"refusals": "never", "meaningless": ""}
    assert client.get(address).status_code == 302
    for role, workspace, read, write in (
        ("analyst", benchmark.workspace, 200, 403),
        ("rater", benchmark.workspace, 403, 403),
        ("lead", make_workspace("elsewhere"), 404, 404),
    ):
        client.force_login(make_user(role, workspace, username=f"{role}-{workspace.slug}"))
        answer = client.get(address)
        assert answer.status_code == read
        assert b"<textarea" not in answer.content
        assert client.post(address, posted).status_code == write
        assert client.post(address, {"action": "restore"}).status_code == write
    assert not ErrorPhrases.objects.exists()


def test_they_go_with_their_workspace(benchmark, lead):
    set_phrases(benchmark.workspace, refusals=["never"], meaningless=[], by=lead)
    delete(benchmark.workspace, by=lead)
    assert not ErrorPhrases.objects.exists()
    assert Event.objects.get(verb="error phrases changed").after["refusals"] == ["never"]
