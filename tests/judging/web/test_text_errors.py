"""Errors of long responses on the page of text statistics and in the terminal, by rules that can be edited."""

import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from generation.models import Benchmark, GenerationRun, Instruction, LanguageModel, Response
from tests.factories import make_user, make_workspace
from tests.markup import markup

pytestmark = pytest.mark.django_db
STORY = "The ferry left at nine. Mara counted the gulls on the rail. Nobody told her the way. "


@pytest.fixture
def benchmark(settings, tmp_path):
    """Two models at 2,000 words: one repeats itself, the other refuses one of two tasks."""
    settings.DATA_DIR = tmp_path
    benchmark = Benchmark.objects.create(workspace=make_workspace(), slug="long", names={"en": "Long"})
    run = GenerationRun.objects.create(benchmark=benchmark, name="length", experiment="length-2k")
    for name, texts in (("loop", [STORY * 3, STORY * 4]), ("shy", ["I cannot write so much.", STORY])):
        model = LanguageModel.objects.get_or_create(workspace=benchmark.workspace, name=name)[0]
        for number, text in enumerate(texts):
            asked = Instruction.objects.get_or_create(benchmark=benchmark, external_id=f"i{number}")[0]
            Response.objects.create(instruction=asked, model=model, run=run, text=text, words=len(text.split()))
    return benchmark


def page(client, benchmark, **query):
    client.force_login(make_user("lead", benchmark.workspace))
    return client.get(reverse("judging:text_page", args=[benchmark]), query)


def printed(*arguments):
    call_command("error_modes", *arguments, stdout=(out := io.StringIO()))
    return out.getvalue()


def test_shares_and_passages_are_on_the_page(benchmark, client):
    html = markup(page(client, benchmark, experiment="length-2k"))
    assert "How do they go wrong?" in html and "Passages with errors" in html
    assert "The ferry left at nine." in html and "I cannot write so much." in html
    refused = Response.objects.get(text="I cannot write so much.")
    assert reverse("generation:response", args=[refused]) in html or refused.public_id in html


def test_an_installations_rules_decide(benchmark, client, tmp_path):
    rows = {row["model"]: row for row in json.loads(printed("long", "--experiment", "length-2k", "--json"))}
    assert rows["loop"]["counts"] == {"repetition": 2, "refusal": 0, "meaningless": 0, "length": 2}
    assert rows["shy"]["counts"] == {"repetition": 0, "refusal": 1, "meaningless": 0, "length": 2}
    # 2,000 less 5 and 17 words.
    assert rows["shy"]["length_error"] == pytest.approx(1989)
    assert "error_modes.json" in printed("--write-rules")
    rules = json.loads((tmp_path / "error_modes.json").read_text(encoding="utf-8"))
    assert "i cannot" in rules["refusals"]
    with pytest.raises(CommandError, match="is already there"):
        printed("--write-rules")
    (tmp_path / "error_modes.json").write_text(json.dumps({"refusals": ["the ferry"], "repeated_times": 4}))
    found = printed("long", "--experiment", "length-2k", "--passages", "1")
    assert "refusal, i0: The ferry left at nine." in found
    rows = {row["model"]: row for row in json.loads(printed("long", "--experiment", "length-2k", "--json"))}
    assert (rows["loop"]["counts"]["repetition"], rows["shy"]["counts"]["refusal"]) == (1, 1)
    (tmp_path / "error_modes.json").write_text("{")
    with pytest.raises(CommandError, match="cannot be read as JSON"):
        printed("long", "--experiment", "length-2k")
    assert "cannot be read as JSON" in markup(page(client, benchmark, experiment="length-2k"))


def test_other_experiments_have_a_page_of_their_own(benchmark, client):
    run = GenerationRun.objects.create(benchmark=benchmark, name="context", experiment="long_context")
    one = Response.objects.first()
    Response.objects.create(instruction=one.instruction, model=one.model, run=run, text=STORY, words=16)
    html = markup(page(client, benchmark, experiment="long_context"))
    assert "long context" in html
    assert page(client, benchmark, experiment="nothing").status_code == 404
