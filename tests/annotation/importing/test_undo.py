"""An import is undone whole until somebody's answer depends on it; what was there before stays as it was."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from accounts.models import Event
from annotation.importing.undo import plan_undo, undo_import
from annotation.models import Assignment, Rater, Score, Study
from core.errors import UserError
from generation.models import Benchmark, Import, Instruction, LanguageModel, Response
from judging.models import Judge, JudgeRun, PlannedItem
from tests.annotation.tables import RATINGS, everything, load, written
from tests.factories import make_answer, make_judge_rater, make_rater, make_user, make_workspace

pytestmark = pytest.mark.django_db

FIRST = "item,rater,criterion,value\nx,ann,clear,3\nx,bob,clear,2\ny,ann,clear,1\n"
CHOICES = "item,a,b,rater,choice\nx,m1,m2,ann,A\nx,m1,m2,bob,both_bad\n"
PAIRED = (
    "--study",
    "p",
    *(w for c in ("item=item", "model_a=a", "model_b=b", "rater=rater", "choice=choice") for w in ("--column", c)),
)


@pytest.fixture
def table(tmp_path):
    make_workspace("main")
    return lambda text, name="r.csv": written(tmp_path, text, name)


def undo(number=None):
    output = StringIO()
    call_command("undo_import", number or Import.objects.latest("pk").pk, "--yes", stdout=output)
    return output.getvalue()


def rows_but_the_log():
    found = everything()
    return {label: rows for label, rows in found.items() if label not in ("accounts.Event", "generation.Import")}


def responses(path, *more):
    call_command(
        "load_responses", str(path), "--benchmark", "b", "--model", "m1", *more, stdout=StringIO(), stderr=StringIO()
    )


@pytest.mark.parametrize("kind", ["ratings", "preferences", "judgements", "instructions", "responses", "checks"])
def test_a_load_and_its_undo_leave_the_database_as_it_was(table, kind):
    def bring(name, text):
        path = str(table(text, name))
        if kind == "ratings":
            load("ratings", path, *RATINGS)
        elif kind == "preferences":
            load("preferences", path, *PAIRED)
        elif kind == "judgements":
            load("judgements", path, *RATINGS, "--judge", "rater", drop="rater")
        elif kind == "instructions":
            call_command("load_instructions", path, "--benchmark", "b", stdout=StringIO())
        elif kind == "responses":
            responses(path)
        else:
            Benchmark.objects.filter(slug="b").exists() or call_command(
                "load_instructions",
                str(table("instruction,prompt\nx,Write.\n", "i.csv")),
                "--benchmark",
                "b",
                stdout=StringIO(),
            )
            call_command("load_checks", "b", path, stdout=StringIO())

    if kind == "checks":
        bring("c0.csv", "instruction,question\nx,Is there a title?\n")
    before = rows_but_the_log()
    texts = {
        "ratings": FIRST,
        "judgements": FIRST,
        "preferences": CHOICES,
        "instructions": "instruction,prompt,category\nx,Write.,essay\ny,Sing.,song\n",
        "responses": "instruction,prompt,response\nx,Write.,One two.\ny,Sing.,Three.\n",
        "checks": "instruction,question\nx,Is there an end?\n",
    }
    bring("r.csv", texts[kind])
    assert rows_but_the_log() != before
    assert "Removed" in undo()
    assert rows_but_the_log() == before


def test_what_a_second_load_completed_is_empty_again_and_the_first_load_stays(table):
    load(
        "ratings", table("item,rater,criterion,value\nx,ann,clear,3\n"), *RATINGS, "--benchmark", "b", "--create-items"
    ) if (Benchmark.objects.create(workspace=make_workspace("main"), slug="b")) else None
    before = rows_but_the_log()
    more = "instruction,prompt,reference\nx,Write.,Done.\nz,New.,\n"
    call_command("load_instructions", str(table(more, "i.csv")), "--benchmark", "b", stdout=StringIO())
    assert Instruction.objects.get(external_id="x").text == "Write."
    assert "Emptied: 1" in undo()
    assert rows_but_the_log() == before


def test_a_second_criterion_of_the_same_answers_goes_alone(table):
    load("ratings", table(FIRST), *RATINGS)
    before = rows_but_the_log()
    load("ratings", table("item,rater,criterion,value\nx,ann,deep,4\nx,ann,clear,3\n", "deep.csv"), *RATINGS)
    assert Score.objects.count() == 4
    undo()
    assert rows_but_the_log() == before
    with pytest.raises(CommandError, match="undone already"):
        undo(Import.objects.latest("pk").pk)


def test_models_that_a_later_load_uses_stay_when_the_first_is_undone(table):
    responses(table("instruction,prompt,response\nx,Write.,One.\n"))
    call_command(
        "load_responses",
        str(table("instruction,prompt,response\nq,Say.,Two.\n", "c.csv")),
        "--benchmark",
        "c",
        "--model",
        "m1",
        stdout=StringIO(),
    )
    assert "Kept, because others use them: 1" in undo(Import.objects.earliest("pk").pk)
    assert LanguageModel.objects.get().name == "m1"
    assert Response.objects.get().text == "Two."
    assert not Benchmark.objects.filter(slug="b").exists()


def a_verdict(study):
    judge = Judge.objects.create(
        workspace=study.workspace, rater=make_judge_rater(study.workspace), method="stars", prompt_hash="0"
    )
    PlannedItem.objects.create(run=JudgeRun.objects.create(judge=judge, study=study), task=study.tasks.first())


DEPENDENT = {
    "an answer of a person": lambda study: make_answer(study.tasks.first(), make_rater(study), {"clear": 2}),
    "an answer that is begun": lambda study: Assignment.objects.create(
        task=study.tasks.first(), rater=make_rater(study)
    ),
    "a correction": lambda study: Score.objects.create(
        assignment=Assignment.objects.first(), criterion=Score.objects.first().criterion, revision=1, value=2
    ),
    "an item of a judge run": a_verdict,
}


@pytest.mark.parametrize("what", DEPENDENT)
def test_an_import_on_which_an_answer_depends_stays_whole(table, what):
    load("ratings", table(FIRST), *RATINGS)
    DEPENDENT[what](Study.objects.get())
    before = everything()
    with pytest.raises(CommandError, match="depend on it"):
        undo()
    assert everything() == before


def test_answers_to_a_text_that_an_import_added_keep_it(table):
    Benchmark.objects.create(workspace=make_workspace("main"), slug="b")
    load(
        "ratings",
        table("item,model,rater,criterion,value\nx,m1,ann,clear,3\n"),
        *RATINGS,
        "--column",
        "model=model",
        "--benchmark",
        "b",
        "--create-items",
    )
    responses(table("instruction,response\nx,One two three.\n", "t.csv"))
    assert Response.objects.get().words == 4
    make_answer(Study.objects.get().tasks.get(), make_rater(Study.objects.get()), {"clear": 2})
    with pytest.raises(CommandError, match="depend on it"):
        undo()
    assert Response.objects.get().words == 4


def test_rows_of_an_import_say_who_what_and_when(table):
    load("ratings", table(FIRST), *RATINGS)
    found = Import.objects.get()
    assert (found.command, found.file, found.about, found.counts) == ("load_table", "r.csv", "s", {"created": 3})
    assert found.sha256 == "38b6fb0b" or len(found.sha256) == 64
    assert found.made_by
    assert found.created["annotation.Score"] == [[Score.objects.earliest("pk").pk, Score.objects.latest("pk").pk]]
    load("ratings", table(FIRST), *RATINGS)
    assert Import.objects.count() == 1


def test_the_undo_is_an_event_with_counts(table):
    load("ratings", table(FIRST), *RATINGS)
    lead = make_user("lead", make_workspace("main"))
    undo_import(Import.objects.get(), by=lead, clock=timezone.now)
    event = Event.objects.get(verb="import undone")
    assert event.actor == lead
    assert event.after["removed"]["annotation.Score"] == 3
    assert event.before["file"] == "r.csv"
    assert not Rater.objects.exists()
    with pytest.raises(UserError, match="undone already"):
        undo_import(Import.objects.get(), by=lead, clock=timezone.now)


def test_leads_see_the_list_and_what_would_go_and_others_do_not(table, client):
    load("ratings", table(FIRST), *RATINGS)
    found, workspace = Import.objects.get(), make_workspace("main")
    address = reverse("annotation:undo_import", args=[found.pk])
    for role, other in (("analyst", workspace), ("rater", workspace), ("lead", make_workspace("elsewhere"))):
        client.force_login(make_user(role, other))
        assert client.get(address).status_code in (403, 404)
        assert client.post(address).status_code in (403, 404)
        listed = client.get(reverse("annotation:imports"))
        assert b"r.csv" not in listed.content
    client.force_login(make_user("lead", workspace))
    assert b"r.csv" in client.get(reverse("annotation:imports")).content
    page = client.get(address).content.decode()
    assert "3 scores" in page
    assert Score.objects.exists()
    assert client.post(address).status_code == 302
    assert not Study.objects.exists()
    assert client.post(address).status_code == 409


def test_a_plan_changes_nothing(table):
    load("ratings", table(FIRST), *RATINGS)
    before = everything()
    assert plan_undo(Import.objects.get()).removed["annotation.Assignment"] == 3
    call_command("undo_import", Import.objects.get().pk, stdout=StringIO())
    assert everything() == before
