"""Studies made by command and API: the form's settings by name, or nothing and a sentence."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from accounts.api.tokens import issue_token
from accounts.models import Event
from annotation.models import Criterion, Rubric, Seat, Study
from annotation.policies.policies import Policies, Selection
from annotation.studies.selection import planned_tasks
from annotation.web.study.forms import StudyForm
from generation.models import Category, Instruction, LanguageModel, Response
from tests.factories import make_checklist_study, make_user, make_workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def benchmark():
    """12 instructions in two categories, 8 essays and 4 letters, each answered by three models."""
    benchmark = make_checklist_study(instructions=8, models=3, slug="known").benchmark
    essay = Category.objects.get(key="essay")
    letters = Category.objects.create(benchmark=benchmark, parent=essay.parent, key="letter", names={"en": "Letter"})
    rubric = Rubric.objects.get()
    Rubric.objects.filter(pk=rubric.pk).update(category=essay.parent, key="writing")
    for number in range(4):
        asked = Instruction.objects.create(
            benchmark=benchmark,
            external_id=f"letter-{number}",
            category=letters,
            messages=[{"role": "user", "content": f"Write letter {number}."}],
        )
        for model in LanguageModel.objects.all():
            Response.objects.create(instruction=asked, model=model, text="Dear reader, some words.", words=4)
    preference = Rubric.objects.create(workspace=benchmark.workspace, key="better", benchmark=benchmark)
    levels = [{"key": key, "value": value, "label": {"en": key}} for key, value in (("a", 1), ("tie", 0), ("b", -1))]
    Criterion.objects.create(
        rubric=preference, position=0, key="preference", role="preference", levels=levels, questions={"en": "?"}
    )
    return benchmark


def make(name, *arguments):
    output = StringIO()
    call_command(
        "make_study", name, "--benchmark", "known-benchmark", *arguments, "--json", stdout=output, stderr=StringIO()
    )
    return json.loads(output.getvalue())


def test_a_study_is_made_and_opened(benchmark):
    found = make("Our essays", "--kind", "checklist", "--category", "essay", "--overlap", "2", "--launch")
    study = Study.objects.get(slug="our-essays")
    assert found == {
        "study": "our-essays",
        "kind": "checklist",
        "benchmark": "known-benchmark",
        "experiment": "main",
        "status": "open",
        "seed": study.seed,
        "tasks": 24,
        "ratings": 48,
        "slots": 48,
        "without_rubric": 0,
    }
    assert (study.status, study.tasks.count(), Seat.objects.filter(study=study).count()) == ("open", 24, 48)
    assert {task.answer_rubric.key for task in study.tasks.all()} == {"writing"}
    verbs = list(Event.objects.filter(object_id=study.public_id).order_by("pk").values_list("verb", flat=True))
    assert verbs == ["create_study", "change_study", "launch_study", "study_opened"]


def test_without_launch_it_is_a_draft_that_the_form_shows(benchmark):
    make(
        *("Letters", "--kind", "stars", "--model", "model1", "--model", "model0", "--rubric", "writing"),
        *("--instructions", "5", "--seed", "7", "--order", "finish", "--name-zh", "书信"),
    )
    study = Study.objects.get(slug="letters")
    assert (study.status, study.seed, study.names, study.tasks.count()) == (
        "draft",
        7,
        {"en": "Letters", "zh-hans": "书信"},
        0,
    )
    form = StudyForm(study)
    assert form.initial["instructions"] == 5
    assert (form.initial["order"], form.initial["overlap"], form.initial["rubric"]) == ("finish", 3, study.rubric_id)
    assert {one.name for one in LanguageModel.objects.filter(pk__in=form.initial["models"])} == {"model0", "model1"}
    assert len(planned_tasks(study)) == 10


def test_instructions_are_drawn_evenly_over_the_categories_and_by_the_seed(benchmark):
    def drawn(name, seed):
        make(name, "--kind", "checklist", "--instructions", "6", "--seed", seed)
        tasks = planned_tasks(Study.objects.get(slug=name)).tasks
        return {Instruction.objects.get(pk=task.instruction).external_id for task in tasks}

    first, same, other = drawn("first", "1"), drawn("second", "1"), drawn("third", "2")
    assert first == same != other
    for names in (first, other):
        assert sum(name.startswith("letter") for name in names) == 3  # of 4 letters and 8 essays


def test_pairs_against_a_baseline(benchmark):
    found = make("Against one", "--kind", "pair", "--baseline", "model2", "--instructions", "2", "--rubric", "better")
    study = Study.objects.get(slug="against-one")
    assert (found["tasks"], Selection.of(study).pairs) == (4, "baselines")
    baseline = LanguageModel.objects.get(name="model2")
    for task in planned_tasks(study).tasks:
        models = Response.objects.filter(pk__in=(task.response_a, task.response_b)).values_list("model", flat=True)
        assert baseline.pk in models


def test_a_number_of_pairs_is_drawn(benchmark):
    assert make("Even", "--kind", "pair", "--pairs", "even", "--pairs-wanted", "7", "--rubric", "better")["tasks"] == 7


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--kind", "stars", "--category", "poem"], "There is no category 'poem'; there are: essay, letter, writing."),
        (["--kind", "stars", "--model", "gpt"], "There is no model 'gpt'; there are: model0, model1, model2."),
        (
            ["--kind", "stars", "--rubric", "better"],
            "There is no rubric 'better' that fits a study of kind stars; those that fit are: writing.",
        ),
        (
            ["--kind", "stars", "--baseline", "model0"],
            "Only a study of kind pair has pairs and baselines; leave them out.",
        ),
        (["--kind", "pair", "--pairs", "baselines"], "Choose at least one model as the baseline."),
        (["--kind", "pair", "--pairs", "even"], "Enter the number of pairs to sample."),
        (["--kind", "stars", "--overlap", "0"], "overlap is 0; give a whole number from 1 to 1000."),
        (["--kind", "stars", "--judge", "gpt-4o"], "Only a study of kind review has judges; leave them out."),
        (["--kind", "check"], "Your choices do not give any tasks."),
        (["--kind", "stars", "--experiment", "length"], "Your choices do not give any tasks."),
    ],
)
def test_what_cannot_be_made_leaves_nothing(benchmark, arguments, sentence):
    before = Study.objects.count(), Event.objects.count()
    with pytest.raises(CommandError) as refused:
        make("Nothing", *arguments)
    assert str(refused.value).startswith(sentence)
    assert (Study.objects.count(), Event.objects.count()) == before


def test_a_name_is_taken_once(benchmark):
    make("Twice", "--kind", "stars")
    with pytest.raises(CommandError, match=r"There is a study of this name already, twice; choose another name\."):
        make("Twice", "--kind", "stars")


def test_a_response_that_names_its_model_stops_the_launch_unless_it_is_said_what_to_do(benchmark):
    Response.objects.filter(model__name="model1", instruction__external_id="letter-0").update(
        text="As model1, I am a language model made by some company."
    )
    with pytest.raises(CommandError, match="Study naming is a draft and was not launched: in 1 task a response says"):
        make("Naming", "--kind", "stars", "--launch")
    assert Study.objects.get(slug="naming").status == "draft"
    assert make("Kept", "--kind", "stars", "--self-naming", "keep", "--launch")["status"] == "open"
    assert make("Masked", "--kind", "stars", "--self-naming", "mask", "--launch")["status"] == "open"
    assert Policies.of(Study.objects.get(slug="masked")).mask_self_naming


def test_a_study_of_tagged_instructions(benchmark):
    for name, tags in (("letter-0", ["curated", "Math"]), ("letter-1", ["Coding"]), ("letter-2", ["curated, too"])):
        Instruction.objects.filter(external_id=name).update(tags=tags)

    def names(study):
        return {Instruction.objects.get(pk=task.instruction).external_id for task in planned_tasks(study).tasks}

    found = make("Curated ones", "--kind", "checklist", "--tag", "curated", "--model", "model0")
    study = Study.objects.get(slug="curated-ones")
    assert (found["tasks"], names(study)) == (1, {"letter-0"})
    form = StudyForm(study)
    assert form.initial["tags"] == ("curated",)
    assert [value for value, _label in form.fields["tags"].choices] == ["curated", "Coding", "Math", "curated, too"]
    make("Two tags", "--kind", "pair", "--tag", "Coding", "--tag", "Math", "--rubric", "better")
    assert names(Study.objects.get(slug="two-tags")) == {"letter-0", "letter-1"}
    with pytest.raises(CommandError, match="There is no tag 'easy'; there are: Coding, Math, curated, curated, too"):
        make("None", "--kind", "checklist", "--tag", "easy")
    assert not Study.objects.filter(slug="none").exists()


def test_the_form_keeps_the_chosen_tags(benchmark):
    assert "tags" not in StudyForm(Study.objects.get(slug="known")).fields
    Instruction.objects.filter(external_id="letter-3").update(tags=["curated"])
    make("By form", "--kind", "checklist")
    study = Study.objects.get(slug="by-form")
    sent = {name: value for name, value in StudyForm(study).initial.items() if value not in (None, "", ())}
    form = StudyForm(study, {**sent, "tags": ["curated"]})
    assert form.is_valid(), form.errors
    form.apply()
    study.save()
    assert Selection.of(study).tags == ("curated",) and len(planned_tasks(study)) == 3
    assert not StudyForm(study, {**sent, "tags": ["elsewhere"]}).is_valid()


class TestApi:
    ADDRESS = "/api/v1/w/lab/studies/"

    def post(self, user, scopes=("change",), **data):
        _token, secret = issue_token(user=user, name="script", scopes=scopes)
        body = {"kind": "stars", "benchmark": "known-benchmark", "name": "By API", **data}
        return Client().post(self.ADDRESS, body, "application/json", HTTP_AUTHORIZATION=f"Bearer {secret}")

    def test_a_lead_makes_and_launches_a_study(self, benchmark):
        lead = make_user("lead", benchmark.workspace)
        answer = self.post(lead, categories=["letter"], models=["model0"], overlap=2, seed=5, launch=True)
        assert answer.status_code == 201
        found = answer.json()
        assert (found["slug"], found["status"], found["planned_tasks"], found["seed"]) == ("by-api", "open", 4, 5)
        study = Study.objects.get(slug="by-api")
        assert (study.created_by, Policies.of(study).overlap, Seat.objects.filter(study=study).count()) == (lead, 2, 8)

    def test_tags_narrow_the_instructions_down(self, benchmark):
        lead = make_user("lead", benchmark.workspace)
        Instruction.objects.filter(external_id="letter-1").update(tags=["curated"])
        answer = self.post(lead, tags=["curated"])
        assert (answer.status_code, answer.json()["planned_tasks"]) == (201, 3)
        assert "There is no tag 'easy'" in self.post(lead, name="Other", tags=["easy"]).json()["detail"]

    def test_sending_it_again_makes_no_second(self, benchmark):
        lead = make_user("lead", benchmark.workspace)
        self.post(lead)
        answer = self.post(lead)
        assert answer.status_code == 400
        assert answer.json()["detail"] == "There is a study of this name already, by-api; choose another name."

    def test_who_may_not_is_refused(self, benchmark):
        before = Study.objects.count()
        assert self.post(make_user("analyst", benchmark.workspace)).status_code == 403
        assert self.post(make_user("rater", benchmark.workspace)).status_code == 403
        assert self.post(make_user("lead", benchmark.workspace), scopes=("read", "run")).status_code == 403
        assert self.post(make_user("lead", make_workspace("other"))).status_code == 404
        assert Study.objects.count() == before

    def test_wrong_values_are_named(self, benchmark):
        lead = make_user("lead", benchmark.workspace)
        assert "poll" in self.post(lead, kind="poll").json()["detail"]
        assert self.post(lead, benchmark="none").json()["detail"] == (
            "There is no benchmark 'none'; there are: known-benchmark."
        )


def test_what_pairs_need_is_said_where_no_rubric_fits(benchmark):
    Rubric.objects.filter(criteria__role="preference").delete()
    with pytest.raises(
        CommandError, match=r"fits a study of kind pair; those that fit are: none\. Load the library, which has"
    ):
        make("Five", "--kind", "pair", "--rubric", "preference_of_five")
    with pytest.raises(CommandError, match=r"fits a study of kind pair\. Load the library"):
        make("Nothing", "--kind", "pair")
    call_command("load_library", workspace=benchmark.workspace.slug, stdout=StringIO())
    with pytest.raises(
        CommandError, match=r"fits a study of kind pair\. Name a rubric; those that fit are: .*preference_of_five"
    ):
        make("Nothing", "--kind", "pair")
    assert make("Five", "--kind", "pair", "--rubric", "preference_of_five")["tasks"]
