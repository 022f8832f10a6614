"""Statistics of texts over the API."""

import pytest
from django.core.cache import cache

from generation.library.error_modes import rules_file
from generation.models import Benchmark, Instruction, LanguageModel, Response
from tests.factories import make_user, make_workspace

pytestmark = pytest.mark.django_db
TEXTS = "/api/v1/w/lab/benchmarks/essays/texts/"


@pytest.fixture(autouse=True)
def folder(settings, tmp_path):
    settings.DATA_DIR = tmp_path
    cache.clear()


@pytest.fixture
def benchmark():
    benchmark = Benchmark.objects.create(workspace=make_workspace(), slug="essays", names={"en": "Essays"})
    for name, text in (("parrot", "the cat sat here the cat sat here"), ("shy", "I cannot write so much.")):
        model = LanguageModel.objects.create(workspace=benchmark.workspace, name=name)
        for number in range(7):
            asked, _made = Instruction.objects.get_or_create(benchmark=benchmark, external_id=f"i{number}")
            Response.objects.create(instruction=asked, model=model, text=text, words=len(text.split()))
    return benchmark


def test_statistics_and_errors_are_those_of_the_page(client, benchmark):
    client.force_login(make_user("analyst"))
    found = client.get(TEXTS).json()
    parrot, _shy = found["models"]
    assert (parrot["model"], parrot["responses"], parrot["words"]["value"], parrot["words"]["n"]) == ("parrot", 7, 8, 7)
    assert parrot["repetition"]["value"] == pytest.approx(0.25) and parrot["rouge_l"] is None
    errors = {row["model"]: row for row in found["error_modes"]}
    assert errors["shy"]["counts"]["refusal"] == errors["shy"]["read"] == 7
    assert errors["parrot"]["counts"]["refusal"] == 0 and found["none_because"] == ""
    passages = errors["shy"]["passages"]
    assert len(passages) == 5 and passages[0]["mode"] == "refusal" and "cannot" in passages[0]["passage"]
    assert client.get(TEXTS, {"each": "50"}).json() == found
    assert client.get(TEXTS, {"experiment": "length-2k"}).json()["models"] == []


def test_rules_that_cannot_be_read_are_said_beside_the_statistics(client, benchmark):
    rules_file().parent.mkdir(parents=True, exist_ok=True)
    rules_file().write_text("no json")
    client.force_login(make_user("analyst"))
    found = client.get(TEXTS).json()
    assert len(found["models"]) == 2 and found["error_modes"] == [] and found["none_because"]
    assert client.get("/api/v1/w/lab/error-phrases/").status_code == 400


@pytest.mark.parametrize("asked", [{"each": "7"}, {"each": "all"}, {"experiment": "nothing"}], ids=str)
def test_what_cannot_be_read_is_refused(client, benchmark, asked):
    client.force_login(make_user("analyst"))
    assert client.get(TEXTS, asked).status_code == 400


def test_only_who_reads_results_reads_them(client, benchmark):
    for user, status in ((make_user("rater"), 403), (make_user("lead", make_workspace("elsewhere")), 404)):
        client.force_login(user)
        assert client.get(TEXTS).status_code == status
