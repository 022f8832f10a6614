"""Length, repetition and overlap of a benchmark's responses, on the page and by command."""

import json

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.urls import reverse

from generation.library.text_statistics import text_statistics
from generation.models import Benchmark, GenerationRun, Instruction, LanguageModel, Response
from tests.factories import make_user, make_workspace
from tests.markup import markup
from tests.page_files import check_files

pytestmark = pytest.mark.django_db


@pytest.fixture
def benchmark():
    cache.clear()  # statistics of a benchmark with this key and as many responses, of another test
    workspace = make_workspace()
    benchmark = Benchmark.objects.create(workspace=workspace, slug="essays", names={"en": "Essays"})
    models = [LanguageModel.objects.create(workspace=workspace, name=name) for name in ("parrot", "poet")]
    texts = {"parrot": "the cat sat here the cat sat here", "poet": "a quiet river bends beneath nine old bridges"}
    for number in range(4):
        instruction = Instruction.objects.create(
            benchmark=benchmark,
            external_id=f"i{number}",
            messages=[{"role": "user", "content": "Write."}],
            reference="the cat sat here" if number < 2 else "",
            words_asked=10 if number else None,
        )
        for model in models:
            Response.objects.create(instruction=instruction, model=model, text=texts[model.name], words=8 + 2 * number)
    return benchmark


def test_the_rows_are_what_counting_by_hand_gives(benchmark):
    parrot, poet = text_statistics(benchmark)
    # 8, 10, 12 and 14 words; 10 asked of the last three: 0, 2 and 4 away.
    assert (parrot.model, parrot.responses, parrot.words.value) == ("parrot", 4, 11)
    assert (parrot.length_error.value, parrot.length_error.n) == (2, 3)
    # 5 runs of four words, of which "the cat sat here" occurs twice: four distinct ones, one recurs.
    assert parrot.repetition.value == pytest.approx(1 / 4)
    assert poet.repetition.value == 0
    # Four texts of 8 words hold 4 distinct runs among 32 words.
    assert parrot.distinct == pytest.approx(4 / 32)
    # Two have a human response: 4 of 8 words in its order, all 4 of its own; F1 = 2 * 0.5 / 1.5.
    assert (parrot.rouge_l.n, parrot.rouge_l.value) == (2, pytest.approx(2 / 3))
    assert (poet.rouge_l.value, poet.bleu) == (0, 0)
    assert parrot.bleu > 0
    assert parrot.words.low < 11 < parrot.words.high


def test_only_so_many_of_each_are_read_and_experiments_stay_apart(benchmark):
    rows = text_statistics(benchmark, each=1)
    assert [row.repetition.n for row in rows] == [1, 1]
    assert [row.words.n for row in rows] == [4, 4]
    run = GenerationRun.objects.create(benchmark=benchmark, name="length-2k 1", experiment="length-2k")
    Response.objects.filter(model__name="poet").update(run=run)
    assert [row.model for row in text_statistics(benchmark)] == ["parrot"]
    (poet,) = text_statistics(benchmark, experiment="length-2k")
    # 2,000 words asked, 11 written on average.
    assert (poet.model, poet.length_error.value) == ("poet", 1989)


def test_the_command_prints_and_refuses(benchmark, capsys):
    call_command("text_statistics", "essays")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == [
        "model",
        "n",
        "words",
        "length_error",
        "repetition",
        "distinct",
        "bleu",
        "rouge_l",
        "meteor",
    ]
    assert lines[1].split()[:4] == ["parrot", "4", "11.0", "2.0"]
    call_command("text_statistics", "essays", json=True)
    assert json.loads(capsys.readouterr().out)[0]["words"]["value"] == 11
    with pytest.raises(CommandError, match="there are: essays"):
        call_command("text_statistics", "poems")
    with pytest.raises(CommandError, match="give at least 1"):
        call_command("text_statistics", "essays", each=0)
    with pytest.raises(CommandError, match=r"in experiment length-99k; .* with --experiment: main"):
        call_command("text_statistics", "essays", experiment="length-99k")
    Response.objects.all().delete()
    with pytest.raises(CommandError, match="no response with a text"):
        call_command("text_statistics", "essays")


def test_the_page_shows_figures_tables_and_files_to_those_who_read_results(client, benchmark):
    place = reverse("judging:text_page", args=["lab/essays"])
    client.force_login(make_user("analyst"))
    page = markup(client.get(place))
    assert "parrot writes the most: 11 words per response on average, 8 to 14" in page
    assert "Whether it writes more than the others is not tested here." in page
    assert page.count('<figure class="chart"') == 3
    assert place in markup(client.get(reverse("generation:benchmark", args=["lab/essays"])))
    table = client.get(place, {"file": "repetition.csv"})
    assert "parrot,0.25" in table.content.decode()
    assert client.get(place, {"file": "overlap.png"}).content[:4] == b"\x89PNG"
    asked = reverse("api:text_statistics", args=["lab", "essays"])
    assert "overlap.png" in check_files(client, asked, place)
    none = client.get(f"{asked}files/", {"experiment": "length-2k"})
    assert none.status_code == 400 and "no responses" in none.json()["detail"]
    assert client.get(place, {"experiment": "nonsense"}).status_code == 404
    assert "No responses" in markup(client.get(place, {"experiment": "length-2k"}))
    client.force_login(make_user("rater"))
    assert client.get(place).status_code == 403
    client.force_login(make_user("lead", make_workspace("elsewhere")))
    assert client.get(place).status_code == 404


def test_a_response_that_comes_later_is_counted(client, benchmark):
    place = reverse("judging:text_page", args=["lab/essays"])
    client.force_login(make_user("lead"))
    client.get(place)
    instruction = Instruction.objects.first()
    model = LanguageModel.objects.create(workspace=benchmark.workspace, name="late")
    Response.objects.create(instruction=instruction, model=model, text="one two three four five", words=5)
    assert "late" in markup(client.get(place))
