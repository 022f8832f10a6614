"""load_table: what a table becomes, and that a second load changes nothing."""

import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from accounts.models import Event
from annotation.models import Assignment, Criterion, Rater, Score, Study, Task
from generation.models import Benchmark, Instruction, LanguageModel, Response
from tests.annotation.tables import RATINGS, everything, load, written
from tests.factories import make_rubric, make_workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def table(tmp_path):
    return lambda text, name="r.csv": written(tmp_path, text, name)


def test_ratings_become_items_raters_assignments_and_scores(table):
    path = table(
        "item,system,who,criterion,score,nr,time\n"
        "x,m1,ann,clear,3,1,12.5\nx,m1,ann,overall,5,1,12.5\nx,m1,bob,clear,2,,\ny,m2,ann,clear,1,2,8\n"
    )
    output = load(
        "ratings",
        path,
        "--study",
        "tea",
        "--name",
        "Tea",
        "--column",
        "item=item",
        "--column",
        "model=system",
        "--column",
        "rater=who",
        "--column",
        "criterion=criterion",
        "--column",
        "value=score",
        "--column",
        "order=nr",
        "--column",
        "seconds=time",
        "--scale",
        "clear=1:6",
        "--scale",
        "overall=0:10:1",
        "--overall",
        "overall",
    )
    assert output == "Study tea: 4 created (answers).\n"
    study = Study.objects.get(slug="tea")
    assert (study.kind, study.status, study.name, study.source) == ("checklist", "closed", "Tea", "r.csv")
    assert study.benchmark.slug == "tea"
    assert study.policies == {"clusters": "items"}
    assert list(Instruction.objects.values_list("external_id", "messages")) == [("x", None), ("y", None)]
    assert set(Response.objects.values_list("external_id", "model__name", "text")) == {
        ("x", "m1", None),
        ("y", "m2", None),
    }
    assert set(Criterion.objects.values_list("key", "role", "position", "minimum", "maximum", "step")) == {
        ("clear", "item", 0, 1, 6, None),
        ("overall", "overall", 1, 0, 10, 1),
    }
    first = Assignment.objects.get(rater__label="ann", task__response_a__external_id="x")
    assert (first.status, first.order, first.active_seconds) == ("submitted", 1, 12.5)
    assert {score.criterion.key: score.value for score in first.scores.all()} == {"clear": 3, "overall": 5}
    assert Assignment.objects.count() == 3
    assert set(Rater.objects.values_list("label", "kind")) == {("ann", "person"), ("bob", "person")}


def test_a_second_load_changes_nothing_and_says_so(table):
    path = table("item,rater,criterion,value\nx,p0,a,1\nx,p1,a,2\ny,p0,b,3\n")
    arguments = ("ratings", path, *RATINGS)
    load(*arguments)
    before = everything()
    assert load(*arguments) == "Study s: 3 already there (answers).\nNothing has changed.\n"
    assert everything() == before
    assert Event.objects.filter(verb="loaded").count() == 1


def test_a_longer_file_adds_only_what_is_new(table):
    load("ratings", table("item,rater,criterion,value\nx,p0,a,1\n"), *RATINGS)
    longer = table("item,rater,criterion,value\nx,p0,a,1\nx,p0,b,4\ny,p0,a,2\n")
    assert load("ratings", longer, *RATINGS) == "Study s: 2 created, 1 already there (answers).\n"
    assert Assignment.objects.count() == 2
    assert Score.objects.count() == 3


def test_items_belong_to_the_instruction_a_column_names(table):
    path = table("item,rater,value,prompt,model\nx1,p0,1,x,m\nx2,p0,2,x,m\n")
    load(
        "ratings",
        path,
        *RATINGS[:-2],
        "--scale",
        "*=1:6",
        "--column",
        "instruction=prompt",
        "--column",
        "model=model",
        drop="criterion",
    )
    assert Instruction.objects.get().external_id == "x"
    assert list(Response.objects.order_by("external_id").values_list("external_id", "sample")) == [("x1", 0), ("x2", 1)]
    assert Study.objects.get().policies == {"clusters": "instructions"}
    assert Criterion.objects.get().key == "value"


def test_labels_become_levels_in_the_order_in_which_they_come(table):
    path = table("item,rater,value\nx,p0,No\nx,p1,Yes\ny,p0,no\ny,p1,Unsure\n")
    load("ratings", path, *RATINGS[:-2], drop="criterion")
    criterion = Criterion.objects.get()
    assert [(level["key"], level["value"]) for level in criterion.levels] == [("No", 0), ("Yes", 1), ("Unsure", 2)]
    assert list(Score.objects.order_by("pk").values_list("value", "level")) == [
        (0, "No"),
        (1, "Yes"),
        (0, "No"),
        (2, "Unsure"),
    ]
    load("ratings", table("item,rater,value\nz,p0,Unsure\n"), *RATINGS[:-2], drop="criterion")
    assert len(Criterion.objects.get().levels) == 3


def test_levels_given_by_the_user_keep_their_values(table):
    path = table("item,rater,criterion,value\nx,p0,a,5\nx,p0,b,good\n")
    load("ratings", path, *RATINGS[:-2], "--scale", "a=1,3,5", "--scale", "b=bad,good")
    assert list(Score.objects.order_by("pk").values_list("criterion__key", "value", "level")) == [
        ("a", 5, "5"),
        ("b", 1, "good"),
    ]


def test_where_keeps_the_rows_that_have_one_of_the_values(table):
    path = table("item,rater,criterion,value,kind\nx,p0,a,1,good\ny,p0,a,2,bad\nz,p0,a,3,fair\n")
    load("ratings", path, *RATINGS, "--where", "kind=good", "--where", "kind=fair")
    assert set(Instruction.objects.values_list("external_id", flat=True)) == {"x", "z"}


def test_judges_by_prefix_by_column_and_by_name(table):
    load(
        "ratings",
        table("item,rater,criterion,value\nx,p0,a,1\nx,judge:gpt,a,2\n"),
        *RATINGS,
        "--judge-prefix",
        "judge:",
    )
    flagged = table("item,rater,criterion,value,machine\nx,p1,a,1,no\nx,claude,a,2,yes\n")
    load("ratings", flagged, *RATINGS, "--judge", "machine")
    named = table("item,criterion,value,model\nx,a,3,mixtral\n")
    load("ratings", named, *RATINGS, "--judge", "model", drop="rater")
    load("ratings", table("item,criterion,value\nx,a,4\n"), *RATINGS, "--judge-name", "qwen", drop="rater")
    assert set(Rater.objects.values_list("label", "kind", "study__slug")) == {
        ("p0", "person", "s"),
        ("p1", "person", "s"),
        ("gpt", "judge", None),
        ("claude", "judge", None),
        ("mixtral", "judge", None),
        ("qwen", "judge", None),
    }


def test_a_judgements_judge_may_bear_the_prefix_too(table):
    path = table("item,judge,criterion,value\nx,judge:gpt,a,3\n")
    load("judgements", path, *RATINGS, "--judge", "judge", "--judge-prefix", "judge:", drop="rater")
    assert Rater.objects.get().label == "gpt"


def test_a_variant_tells_a_judges_prompts_apart(table):
    path = table("item,judge,criterion,value,prompt\nx,gpt,a,1,1\nx,gpt,a,2,2\n")
    load("ratings", path, *RATINGS, "--judge", "judge", "--column", "variant=prompt", drop="rater")
    assert set(Rater.objects.values_list("label", flat=True)) == {"gpt (prompt 1)", "gpt (prompt 2)"}


def test_slots_are_not_persons(table):
    load("ratings", table("item,rater,criterion,value\nx,first,a,1\n"), *RATINGS, "--slots")
    assert Rater.objects.get().kind == Rater.Kind.SLOT


def test_simulated_raters_say_so(table):
    load("ratings", table("item,rater,criterion,value\nx,p0,a,1\n"), *RATINGS, "--provenance", "simulated")
    assert Rater.objects.get().provenance == "simulated"


def test_wanted_duplicates_become_repeats(table):
    path = table("item,rater,criterion,value\nx,p0,a,1\nx,p0,a,2\nx,p0,b,3\n")
    load("ratings", path, *RATINGS, "--duplicates", "repeat")
    assert sorted(Score.objects.values_list("assignment__repeat", "criterion__key", "value")) == [
        (0, "a", 1),
        (0, "b", 3),
        (1, "a", 2),
    ]
    assert "Nothing has changed" in load("ratings", path, *RATINGS, "--duplicates", "repeat")


def test_values_off_the_scale_are_kept_on_request(table):
    load("ratings", table("item,rater,criterion,value\nx,p0,a,9\n"), *RATINGS, "--off-scale", "keep")
    assert Score.objects.get().value == 9


def test_an_unusable_part_is_noted_and_the_rest_counts(table):
    path = table("item,rater,criterion,value\nx,p0,a,9\nx,p0,b,2\ny,p0,a,9\n")
    arguments = ("ratings", path, *RATINGS, "--off-scale", "unscored")
    assert load(*arguments) == "Study s: 1 created, 2 unscored (answers).\n"
    kept = Assignment.objects.get(task__response_a__external_id="x")
    assert (kept.status, kept.reason) == ("submitted", "")
    assert kept.conditions == {"unusable": {"a": "a: '9' is off the scale"}}
    lost = Assignment.objects.get(task__response_a__external_id="y")
    assert (lost.status, lost.reason, lost.scores.count()) == ("unscored", "a: '9' is off the scale", 0)
    assert load(*arguments) == "Study s: 3 already there (answers).\nNothing has changed.\n"


def test_a_part_that_comes_later_makes_an_unscored_answer_count(table):
    load("ratings", table("item,rater,criterion,value\nx,p0,a,9\n"), *RATINGS, "--off-scale", "unscored")
    load("ratings", table("item,rater,criterion,value\nx,p0,b,2\n"), *RATINGS)
    kept = Assignment.objects.get()
    assert (kept.status, kept.reason, list(kept.conditions)) == ("submitted", "", ["unusable"])


def test_a_person_without_a_value_gave_no_answer(table):
    path = table("item,rater,criterion,value\nx,p0,a,\nx,p1,a,NA\nx,p2,a,3\n")
    assert load("ratings", path, *RATINGS) == "Study s: 1 created, 2 empty (answers).\n"
    assert Rater.objects.get().label == "p2"


def test_wide_ratings_have_a_column_for_each_rater(table):
    path = table("item,criterion,ann,bob,gpt\nx,a,1,2,3\n")
    load(
        "ratings",
        path,
        *RATINGS[:-2],
        "--scale",
        "a=1:6",
        "--wide",
        "ann,bob,gpt",
        "--judge",
        "gpt",
        drop=("rater", "value"),
    )
    assert set(Score.objects.values_list("assignment__rater__label", "assignment__rater__kind", "value")) == {
        ("ann", "person", 1),
        ("bob", "person", 2),
        ("gpt", "judge", 3),
    }


def test_bad_rows_may_be_skipped_into_a_report(table, settings, tmp_path):
    settings.DATA_DIR = tmp_path / "data"
    path = table("item,rater,criterion,value\nx,p0,a,1\nx,p1,a,99\ny,p0,a,2,2\nz,p0,a,3\n")
    found = json.loads(load("ratings", path, *RATINGS, "--on-error", "skip", "--json"))
    assert (found["created"], found["skipped"]) == (2, 2)
    lines = Path(found["report"]).read_text(encoding="utf-8").splitlines()
    assert lines[0] == "file,line,reason,remedy"
    assert [line.split(",")[:2] for line in lines[1:]] == [["r.csv", "3"], ["r.csv", "4"]]
    assert set(Rater.objects.values_list("label", flat=True)) == {"p0"}


class TestNamedBenchmark:
    @pytest.fixture(autouse=True)
    def _benchmark(self):
        self.workspace = make_workspace()
        self.benchmark = Benchmark.objects.create(workspace=self.workspace, slug="bench")
        self.model = LanguageModel.objects.create(workspace=self.workspace, name="m1")
        self.instruction = Instruction.objects.create(benchmark=self.benchmark, external_id="q1")
        self.response = Response.objects.create(instruction=self.instruction, model=self.model, text="Tea.")

    def test_known_items_are_found_and_not_made(self, table):
        path = table("item,model,rater,criterion,value\nq1,m1,p0,a,3\n")
        load("ratings", path, *RATINGS, "--benchmark", "bench", "--column", "model=model")
        assert Task.objects.get().response_a == self.response
        assert Response.objects.count() == Instruction.objects.count() == 1
        assert Study.objects.get().benchmark == self.benchmark

    def test_the_benchmarks_own_rubric_is_answered(self, table):
        rubric = make_rubric(self.workspace, 2, benchmark=self.benchmark)
        path = table("item,model,rater,criterion,value\nq1,m1,p0,item1,0.75\nq1,m1,p0,overall,8\n")
        load("ratings", path, *RATINGS[:-2], "--benchmark", "bench", "--column", "model=model")
        assert Task.objects.get().answer_rubric == rubric
        assert set(Score.objects.values_list("criterion__key", "value", "level")) == {
            ("item1", 0.75, "3"),
            ("overall", 8, ""),
        }

    def test_judgements_name_items_by_their_place(self, table):
        make_rubric(self.workspace, 2, benchmark=self.benchmark)
        path = table("item,model,item_index,value,why\nq1,m1,0,1.0,fine\nq1,m1,1,0.5,half\nq2,m1,0,0.25,poor\n")
        arguments = (
            "judgements",
            path,
            "--study",
            "judged",
            "--benchmark",
            "bench",
            "--create-items",
            "--judge-name",
            "gpt",
            "--column",
            "item=item",
            "--column",
            "model=model",
            "--column",
            "item_index=item_index",
            "--column",
            "value=value",
            "--column",
            "reason=why",
        )
        assert load(*arguments) == "Study judged: 3 created (answers).\n"
        whole = Assignment.objects.get(task__response_a=self.response)
        assert {s.criterion.key: (s.value, s.reason) for s in whole.scores.all()} == {
            "item0": (1.0, "fine"),
            "item1": (0.5, "half"),
        }
        short = Assignment.objects.get(task__response_a__instruction__external_id="q2")
        assert (short.status, short.reason) == ("unscored", "1 of 2 items answered")
        assert short.task.response_a.run.experiment == "main"
        before = everything()
        assert "Nothing has changed" in load(*arguments)
        assert everything() == before

    def test_another_judge_of_another_study_shares_the_responses(self, table):
        path = table("item,model,rater,criterion,value\nq1,m1,p0,a,3\n")
        for study in ("one", "two"):
            load("ratings", path, *RATINGS, "--study", study, "--benchmark", "bench", "--column", "model=model")
        assert Task.objects.filter(response_a=self.response).count() == 2


def test_the_workspace_may_be_named(table):
    make_workspace("one")
    make_workspace("two")
    path = table("item,rater,criterion,value\nx,p0,a,1\n")
    with pytest.raises(CommandError, match="Say which workspace with --workspace: one, two"):
        load("ratings", path, *RATINGS)
    load("ratings", path, *RATINGS, "--workspace", "two")
    assert Study.objects.get().workspace.slug == "two"


def test_help_names_the_columns(capsys):
    with pytest.raises(SystemExit):
        call_command("load_table", "--help")
    assert "item_index" in capsys.readouterr().out
