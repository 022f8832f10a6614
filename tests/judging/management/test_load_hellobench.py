"""load_hellobench: a clone becomes a benchmark, its experiments, its judge's answers and its weights."""

import csv
import gzip
import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Assignment, Rater, Rubric, Score, Study
from calibration.data.frames import ABOUT_RESPONSES
from calibration.data.scores import score_frame
from calibration.models import Fit, FittedWeight
from generation.library.prompts import prompts_of
from generation.llm.protocol.wrapping import chat_of
from generation.models import Benchmark, GenerationRun, Instruction, Response
from generation.responses.plan import instructions_of
from generation.text_metrics.counts import word_count
from tests.annotation.tables import everything
from tests.conftest import shared_path

pytestmark = pytest.mark.django_db
TASK = "heuristic_text_generation"
QUESTIONS = ["Is it a story?", "Is it long?", "Is it gripping?", "Is there a hero?", "Is it flawless?"]


def load(root, *arguments):
    output = StringIO()
    call_command("load_hellobench", str(root), *arguments, stdout=output)
    return output.getvalue()


def verdict(*scores):
    return [
        {"checklist_id": number, "reason": f"reason {number}", "evaluation_score": score}
        for number, score in enumerate(scores)
    ]


def lines(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


class SmallClone:
    """One category of stories, two models in the main experiment, one in each of the others."""

    def __init__(self, root):
        self.root = root
        self.asked = [self.instruction(number) for number in range(3)]
        lines(root / "data" / "main_data" / f"{TASK}.jsonl", self.asked)
        lines(root / "data" / "length_constrained_data" / f"{TASK}_2k.jsonl", self.asked)
        checklist = root / "checklists" / f"{TASK}_checklist.json"
        checklist.parent.mkdir()
        checklist.write_text(json.dumps({"story_writing": QUESTIONS}))
        (root / "weighted_scores.txt").write_text("W = {'story_writing': [1, 1, 1, 1, 4]}\n")
        for folder, model, suffix in (
            ("main_exp", "m1", ""),
            ("main_exp", "m2", ""),
            ("longcontext_exp", "m1", ""),
            ("length_constrained_exp", "m1", "_2k"),
        ):
            name = f"{folder}/{model}/{TASK}{suffix}_results.jsonl"
            lines(root / "results" / "generations" / name, [self.response(folder, model, n) for n in range(3)])
            lines(root / "results" / "judgements" / name, [self.judged(folder, model, n) for n in range(3)])

    @staticmethod
    def instruction(number):
        return {"id": f"{TASK}_{number:03}", "category": "story_writing", "instruction": f"Tell story {number}."}

    def response(self, folder, model, number):
        text = f"{model} tells story {number} in {folder}."
        return {"id": f"{TASK}_{number:03}", "instruction": f"Tell story {number}.", "response": text}

    def judged(self, folder, model, number):
        scores = [1.0, 0.75, 0.5, 0.25, number / 4]
        return {**self.response(folder, model, number), "checklist_wise_evaluation": verdict(*scores)}

    def judgements(self, folder="main_exp", model="m1"):
        return self.root / "results" / "judgements" / folder / model / f"{TASK}_results.jsonl"


@pytest.fixture
def clone(tmp_path):
    return SmallClone(tmp_path / "clone")


def test_the_three_experiments_are_kept_apart(clone):
    load(clone.root)
    assert set(GenerationRun.objects.values_list("name", "experiment", "status")) == {
        ("hellobench main", "main", "imported"),
        ("hellobench length-2k", "length-2k", "imported"),
        ("hellobench long context", "long_context", "imported"),
    }
    assert set(Study.objects.values_list("slug", "experiment", "kind", "status")) == {
        ("hellobench-gpt-4o", "main", "checklist", "closed"),
        ("hellobench-gpt-4o-length-2k", "length-2k", "checklist", "closed"),
        ("hellobench-gpt-4o-long-context", "long_context", "checklist", "closed"),
    }
    judge = Rater.objects.get()
    assert (judge.label, judge.kind, judge.study) == ("gpt-4o", "judge", None)
    main = Response.objects.filter(run__experiment="main")
    long_context = Response.objects.filter(run__experiment="long_context")
    assert (main.count(), long_context.count(), Response.objects.count()) == (6, 3, 12)
    assert set(long_context.values_list("instruction", flat=True)) <= set(main.values_list("instruction", flat=True))
    length = Instruction.objects.filter(external_id__endswith="@2k")
    assert list(length.values_list("words_asked", flat=True)) == [2000] * 3
    assert Instruction.objects.count() == 6
    assert length[0].category.key == "story_writing"


def test_verdicts_become_scores_with_their_reasons(clone):
    load(clone.root)
    response = Response.objects.get(instruction__external_id=f"{TASK}_002", model__name="m2")
    assert (response.text, response.words) == ("m2 tells story 2 in main_exp.", 7)
    answer = Assignment.objects.get(task__response_a=response)
    assert answer.status == "submitted"
    assert {s.criterion.key: (s.criterion.position, s.value, s.level, s.reason) for s in answer.scores.all()} == {
        "fits_prompt": (0, 1.0, "4", "reason 0"),
        "complete_length": (1, 0.75, "3", "reason 1"),
        "engaging_novel": (2, 0.5, "2", "reason 2"),
        "distinct_character": (3, 0.25, "1", "reason 3"),
        "flawless": (4, 0.5, "2", "reason 4"),
    }


def test_the_clones_own_wording_stands_under_our_keys(clone):
    load(clone.root)
    rubric = Rubric.objects.get(category__key="story_writing")
    assert [criterion.question for criterion in rubric.criteria.all()][:5] == QUESTIONS
    assert [criterion.key for criterion in rubric.criteria.all()][4:] == ["flawless", "overall"]
    call_command("load_library", stdout=StringIO())
    assert Rubric.objects.filter(category__key="story_writing").count() == 2


def test_the_weights_sum_to_100_and_bear_the_criterions_keys(clone):
    load(clone.root)
    fit = Fit.objects.get()
    assert (fit.kind, fit.published_name) == ("published", "hellobench-repository")
    weights = FittedWeight.objects.filter(category_fit__fit=fit).values_list("criterion_key", "weight")
    assert list(weights)[-1] == ("flawless", pytest.approx(50))
    assert sum(weight for _key, weight in weights) == pytest.approx(100)


def test_a_second_load_changes_nothing_and_says_so(clone):
    load(clone.root)
    before = everything()
    assert "Nothing has changed." in load(clone.root)
    assert everything() == before


def test_counts_mean_the_same_at_every_load(clone):
    """Each row that the files name is counted once, whichever files name it, as made, completed or there already."""
    # One instruction is in the results alone, one response in the judgements alone, as in an incomplete clone.
    lines(clone.root / "data" / "main_data" / f"{TASK}.jsonl", clone.asked[:2])
    for path in sorted((clone.root / "results").glob(f"*/*/*/{TASK}_results.jsonl")):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        kept = rows[:2] if "generations/main_exp/m1" in path.as_posix() else rows
        lines(path, [{**row, "category": "story_writing"} for row in kept])
    first, second = (json.loads(load(clone.root, "--json")) for _ in range(2))
    # 3 of the main and long-context experiments, 3 with a length; 6 + 3 + 3 responses.
    for kind, n in (("instructions", 6), ("responses", 12), ("verdicts", 12), ("checklists", 1), ("weights", 1)):
        assert (first[kind]["created"], first[kind]["already_there"]) == (n, 0), kind
        assert (second[kind]["created"], second[kind]["already_there"]) == (0, n), kind
    assert (Instruction.objects.count(), Response.objects.count()) == (6, 12)
    # A later experiment adds its own; what it shares with the others is there already.
    fewer = SmallClone(clone.root.parent / "second")
    part = json.loads(load(fewer.root, "--experiment", "long_context", "--json"))
    assert (part["instructions"]["already_there"], part["responses"]["already_there"]) == (3, 3)


def test_rows_without_a_text_are_given_theirs(clone):
    load(clone.root)
    Response.objects.filter(model__name="m1", run__experiment="main").update(text=None, words=None)
    Instruction.objects.filter(external_id=f"{TASK}_001").update(messages=None)
    output = load(clone.root)
    assert "responses: 3 completed, 9 already there." in output
    assert "instructions: 1 completed, 5 already there." in output
    assert "Nothing has changed." not in output
    response = Response.objects.get(model__name="m1", run__experiment="main", instruction__external_id=f"{TASK}_001")
    assert (response.text, response.words) == ("m1 tells story 1 in main_exp.", 7)
    assert response.instruction.text == "Tell story 1."
    assert "Nothing has changed." in load(clone.root)


def test_one_experiment_may_be_chosen(clone):
    load(clone.root, "--experiment", "length-2k")
    assert list(GenerationRun.objects.values_list("experiment", flat=True)) == ["length-2k"]
    load(clone.root, "--experiment", "main")
    assert set(GenerationRun.objects.values_list("experiment", flat=True)) == {"length-2k", "main"}


def test_lengths_are_kept_apart_and_generate_sends_what_the_repository_asked(clone):
    for size in ("2k", "4k"):
        wording = [{**row, "instruction": f"{row['instruction']} At length {size}."} for row in clone.asked]
        lines(clone.root / "data" / "length_constrained_data" / f"{TASK}_{size}.jsonl", wording)
    name = f"length_constrained_exp/m1/{TASK}_4k_results.jsonl"
    lines(clone.root / "results" / "judgements" / name, [clone.judged("at 4k", "m1", n) for n in range(3)])
    load(clone.root)
    assert set(Study.objects.filter(slug__contains="length").values_list("slug", "experiment")) == {
        ("hellobench-gpt-4o-length-2k", "length-2k"),
        ("hellobench-gpt-4o-length-4k", "length-4k"),
    }
    assert Response.objects.filter(run__experiment="length-4k").count() == 3
    benchmark = Benchmark.objects.get()
    asked = {one: list(instructions_of(benchmark, (), one)) for one in ("main", "length-4k", "length-8k")}
    assert [row.external_id for row in asked["main"]] == [f"{TASK}_{n:03}" for n in range(3)]
    assert [row.external_id for row in asked["length-4k"]] == [f"{TASK}_{n:03}@4k" for n in range(3)]
    # Nothing is worded for 8,000 words here, so the plain prompts get our own sentence.
    assert asked["length-8k"] == asked["main"]
    row = asked["length-4k"][0]
    sent = chat_of(row.messages, "length-4k", of_instruction=row.words_asked)
    assert [message["content"] for message in sent] == ["Tell story 0. At length 4k."]
    plain = asked["main"][0]
    assert "8,000" in chat_of(plain.messages, "length-8k", of_instruction=plain.words_asked)[0]["content"]


def test_one_prompt_at_several_lengths_is_one_cluster(clone):
    load(clone.root)
    study = Study.objects.get(experiment="length-2k")
    frame = score_frame(kinds=ABOUT_RESPONSES, study=study)
    assert set(frame.instruction_ids.values()) == {f"{TASK}_{n:03}" for n in range(3)}
    main = Instruction.objects.filter(external_id__in=frame.instruction_ids.values())
    assert set(frame.instruction.tolist()) == set(main.values_list("pk", flat=True))
    # Without the main experiment's instructions, the first length stands for the prompt.
    short, long = Instruction.objects.filter(external_id__startswith=f"{TASK}_000@").first(), main.first()
    long.external_id, long.words_asked = f"{TASK}_000@4k", 4000
    long.save()
    assert prompts_of({short.pk: short.external_id, long.pk: long.external_id}) == dict.fromkeys(
        [short.pk, long.pk], min(short.pk, long.pk)
    )


@pytest.mark.parametrize(
    ("evaluation", "reason"),
    [
        ([], "no items"),
        (verdict(1.0, 0.5), "2 of 5 items answered"),
        (verdict(*[1.0] * 6), "6 of 5 items answered"),
        ("The essay is good.", "no list of items"),
        (verdict(1.0, 1.0, 1.0, 0.9, 1.0), "item 3 scored 0.9, which is off the scale"),
        (verdict(1.0, 1.0, 1.0, 7, 1.0), "item 3 scored 7, which is off the scale"),
    ],
)
def test_an_unusable_verdict_is_counted_and_never_a_score(clone, evaluation, reason):
    rows = [clone.judged("main_exp", "m1", number) for number in range(3)]
    rows[1]["checklist_wise_evaluation"] = evaluation
    lines(clone.judgements(), rows)
    counts = json.loads(load(clone.root, "--experiment", "main", "--json"))
    assert (counts["verdicts"]["created"], counts["verdicts"]["unscored"]) == (5, 1)
    lost = Assignment.objects.get(status="unscored")
    assert (lost.reason, lost.scores.count()) == (reason, 0)
    before = everything()
    assert "Nothing has changed." in load(clone.root, "--experiment", "main")
    assert everything() == before


def test_a_verdict_spelt_as_a_literal_is_read(clone):
    rows = [clone.judged("main_exp", "m1", number) for number in range(3)]
    for row in rows:
        row["checklist_wise_evaluation"] = repr(row["checklist_wise_evaluation"])
    lines(clone.judgements(), rows)
    load(clone.root, "--experiment", "main")
    assert not Assignment.objects.filter(status="unscored").exists()


def test_what_is_missing_is_listed_and_the_rest_is_loaded(clone):
    (clone.root / "results" / "generations" / "main_exp" / "m1" / f"{TASK}_results.jsonl").unlink()
    clone.judgements(model="m2").write_text("")
    (clone.root / "data" / "main_data" / f"{TASK}.jsonl").unlink()
    found = json.loads(load(clone.root, "--experiment", "main", "--json"))
    assert found["responses"]["created"] == 6
    assert found["instructions"]["created"] == 3
    # Nothing says any more what kind of text was asked for, and so which checklist was answered.
    assert (found["verdicts"]["created"], found["verdicts"]["skipped"]) == (0, 3)
    assert f"a checklist for {TASK}_000" in found["absent"]
    assert {
        f"results/generations/main_exp/m1/{TASK}_results.jsonl",
        f"results/judgements/main_exp/m2/{TASK}_results.jsonl (empty)",
        f"data/main_data/{TASK}.jsonl",
    } <= set(found["absent"])
    assert set(Instruction.objects.values_list("category__key", flat=True)) == {TASK}


def test_a_bad_line_leaves_nothing_loaded(clone):
    with clone.judgements(model="m2").open("a", encoding="utf-8") as file:
        file.write("{\n")
    name = f"results/judgements/main_exp/m2/{TASK}_results.jsonl"
    with pytest.raises(CommandError) as refused:
        load(clone.root, "--experiment", "main")
    assert str(refused.value) == (
        f"{name} line 4: the line is not valid JSON; write one JSON object per line. "
        "Nothing of these files was loaded; --on-error skip loads what can be read."
    )
    assert not Assignment.objects.exists() and not Response.objects.exists() and not Instruction.objects.exists()


def test_bad_lines_may_be_skipped_into_a_report(clone, settings, tmp_path):
    settings.DATA_DIR = tmp_path / "data"
    with clone.judgements(model="m2").open("a", encoding="utf-8") as file:
        file.write("{\n")
    found = json.loads(load(clone.root, "--on-error", "skip", "--json"))
    assert found["lines"]["skipped"] == 1
    assert found["verdicts"]["created"] == 12
    assert found["report"].startswith(str(tmp_path / "data" / "reports"))


def test_broken_checklists_and_weights_are_left_out_with_the_option(clone, tmp_path, settings):
    settings.DATA_DIR = tmp_path / "data"
    broken = sorted((clone.root / "checklists").glob("*.json"))[0]
    broken.write_text("{")
    (clone.root / "weighted_scores.txt").write_text("weights = {")
    with pytest.raises(CommandError, match=rf"{broken.name}: this is not a checklist file"):
        load(clone.root)
    assert not Benchmark.objects.exists()
    found = json.loads(load(clone.root, "--on-error", "skip", "--json"))
    assert found["lines"]["skipped"] == 2
    assert found["weights"]["created"] == 0
    report = Path(found["report"]).read_text(encoding="utf-8")
    assert broken.name in report and "weighted_scores.txt" in report


def test_a_second_verdict_on_the_same_response_is_refused(clone):
    rows = [clone.judged("main_exp", "m1", number) for number in (0, 1, 1)]
    lines(clone.judgements(), rows)
    with pytest.raises(CommandError, match=r"line 3: gpt-4o has two answers to the same question;"):
        load(clone.root)


def test_other_weights_under_the_same_name_are_refused(clone):
    load(clone.root)
    (clone.root / "weighted_scores.txt").write_text("W = {'story_writing': [1, 1, 1, 1, 1]}\n")
    before = everything()
    with pytest.raises(CommandError, match=r"the fit 'hellobench-repository' already exists with other weights"):
        load(clone.root)
    assert everything() == before


def test_a_folder_that_is_no_clone_is_refused(tmp_path):
    with pytest.raises(CommandError, match="this is no clone of HelloBench"):
        load(tmp_path)
    assert not Benchmark.objects.exists()


def test_the_sample_repository():
    found = json.loads(load(shared_path("hellobench/sample_repo"), "--json"))
    assert (found["verdicts"]["created"], found["verdicts"]["unscored"]) == (90, 0)
    assert found["responses"]["created"] == 90
    assert found["instructions"]["created"] == Instruction.objects.count() == 45
    again = json.loads(load(shared_path("hellobench/sample_repo"), "--json"))
    for kind in ("instructions", "responses", "verdicts", "checklists", "weights"):
        assert again[kind]["created"] == 0
        assert again[kind]["already_there"] == found[kind]["created"] + found[kind]["already_there"]
    assert not Instruction.objects.filter(category__parent=None).exists()
    assert Score.objects.count() == 520
    with gzip.open(shared_path("hellobench/responses.csv.gz"), "rt", encoding="utf-8") as file:
        expected = {
            (row["model"], row["id"]): (int(row["wc_nltk_punkt_untrained"]), row["subcategory"])
            for row in csv.DictReader(file)
        }
    for response in Response.objects.select_related("instruction__category", "model"):
        words, subcategory = expected[response.model.name, response.instruction.external_id]
        assert response.words == words == word_count(response.text)
        category = response.instruction.category
        assert subcategory in (category.key, *category.aliases)
    with gzip.open(shared_path("hellobench/judgements.csv.gz"), "rt", encoding="utf-8") as file:
        scores = {
            (row["model"], row["id"], int(row["item_index"])): float(row["score"]) for row in csv.DictReader(file)
        }
    stored = Score.objects.values_list(
        "assignment__task__response_a__model__name",
        "assignment__task__response_a__instruction__external_id",
        "criterion__position",
        "value",
    )
    assert {(model, name, position): value for model, name, position, value in stored}.items() <= scores.items()


class Annotated:
    """What the annotation interface writes of the small clone's responses."""

    def __init__(self, clone):
        self.clone = clone

    def line(self, number, answers, overall, model="m1", **others):
        response = self.clone.response("main_exp", model, number)
        return {
            "instruction_en": response["instruction"],
            "response_en": response["response"],
            "category": "story_writing",
            "checklist": [[question, question] for question in QUESTIONS],
            "evaluation_results": [*answers, overall],
            "flags": True,
            **others,
        }


def test_human_annotations_are_matched_by_text_with_their_raters(clone):
    line = Annotated(clone).line
    folder = clone.root / "ckwise_results_hm"
    lines(folder / "stats_heuristic.jsonl", [line(0, [4, 3, 2, 1, 0], 7), line(0, [4, 4, 4, 4, 4], 9)])
    lines(
        folder / "anna" / "stats.jsonl", [line(1, [0, 1, 2, 3, 4], 5, "m2"), line(2, [0] * 5, 0, flags=False, mood=1)]
    )
    assert "mood" in load(clone.root)
    study = Study.objects.get(slug="hellobench-people")
    assert (study.kind, study.benchmark.slug) == ("checklist", "hellobench")
    raters = {
        answer.rater.label: {score.criterion.position: score.value for score in answer.scores.all()}
        for answer in Assignment.objects.filter(task__study=study).select_related("rater")
    }
    assert set(raters) == {"anna", "annotator 1", "annotator 2"}
    # Answers of 0 to 4 are shares of a whole; the overall score stands behind the five items.
    assert raters["annotator 1"] == {0: 1.0, 1: 0.75, 2: 0.5, 3: 0.25, 4: 0.0, 5: 7.0}
    rated = Assignment.objects.get(task__study=study, rater__label="anna").task.response_a
    assert (rated.model.name, rated.instruction.external_id) == ("m2", f"{TASK}_001")
    assert (
        Response.objects.filter(instruction=rated.instruction, model=rated.model, run__experiment="main").count() == 1
    )
    before = Score.objects.count()
    load(clone.root)
    assert Score.objects.count() == before


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"response_en": "Nobody wrote this."}, "no response of results/generations is the one that was rated"),
        ({"evaluation_results": [1, 2, 3, 4, 0]}, "an answer to each question of the checklist and an overall score"),
        ({"evaluation_results": [1, 2, 3, 4, 5, 6]}, "5 is no answer from 0 to 4"),
        ({"evaluation_results": [1, 2, 3, 4, None, 6]}, "None is no answer from 0 to 4"),
    ],
)
def test_an_annotation_that_cannot_be_read_is_named(clone, change, reason):
    line = Annotated(clone).line(0, [1] * 5, 5, **change)
    lines(clone.root / "Annnotation_Interface" / "stats.jsonl", [line])
    with pytest.raises(CommandError, match=rf"Annnotation_Interface/stats\.jsonl line 1: {reason}"):
        load(clone.root)
    assert not Study.objects.filter(slug="hellobench-people").exists()
