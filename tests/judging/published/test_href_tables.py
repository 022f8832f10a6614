"""HREF's tables on a fixture study of our own in the shapes of its files: read, loaded and computed again by hand."""

import io
import json

import pytest
from django.conf import settings as project
from django.core.management import call_command

from accounts.models import Workspace
from annotation.models import Rater, Score, Study
from generation.importers.href import AGREEMENT_STUDY
from judging.models import Judge
from judging.published.judges_of_rows import judges_of_rows, template_of
from judging.published.paper_table import Status
from judging.published.papers.href import TABLES, agreement_study
from tests.factories import make_answer, make_judge_rater
from tests.generation.importers.href_files import CATEGORIES, EACH, MODELS, write_href
from tests.judging.loading import loaded_benchmark

pytestmark = pytest.mark.django_db


def published():
    return json.loads((project.BASE_DIR / "fixtures" / "published" / "href.json").read_text(encoding="utf-8"))


def cells_of(number, workspace=None):
    table = next(one for one in TABLES if one.number == number)
    found = table.compute(workspace or Workspace.objects.get())
    return {(cell.row, cell.column): cell for cell in found}


@pytest.fixture
def library():
    call_command("load_library", stdout=io.StringIO())


@pytest.fixture
def loaded(library, tmp_path):
    """All files of the fixture in the workspace."""
    return loaded_benchmark("href", write_href(tmp_path))


def test_every_table_prints_what_the_paper_does_and_nothing_is_computed_without_data(library):
    found = published()
    counts = {}
    for table in TABLES:
        cells = table.compute(Workspace.objects.get())
        counts[table.number] = len(cells)
        assert set(table.titles) == {"en", "zh-hans"}
        if table.number == "section 4.3":
            continue
        assert {cell.status for cell in cells} == {Status.NOT_COMPUTABLE}
        assert all(cell.reason for cell in cells)
    # 19 x 12; 15, 37 and 33 models with a rank beside 12, 12 and 9 rates; 4 shares and 3 correlations; 3 x 2; 2.
    assert counts == {"1": 228, "3": 195, "5": 481, "6": 330, "8": 7, "9": 6, "section 4.3": 2}
    cell = cells_of("6")["Mistral-Large-Instruct-2407", "generation"]
    assert cell.printed == found["table_6"]["rows"]["Mistral-Large-Instruct-2407"][4] == 60.3
    assert cells_of("5")["oasst-sft-1-pythia-12b", "rank"].printed == 37
    assert "evaluation set is not public" in cells_of("5")["koala-7B-HF", "all"].reason
    assert "upload the human agreement set" in cells_of("1")["Human", "all"].reason


def test_the_papers_own_correlations_follow_from_its_own_tables(library):
    # The 29 models of both tables: Spearman 0.98116, Pearson 0.99155.
    cells = cells_of("section 4.3")
    assert {name: cell.status for (_row, name), cell in cells.items()} == {
        "spearman": Status.EQUAL,
        "pearson": Status.EQUAL,
    }
    assert cells["tables 5 and 6", "spearman"].recomputed == pytest.approx(0.98116, abs=1e-5)
    assert cells["tables 5 and 6", "pearson"].recomputed == pytest.approx(0.99155, abs=1e-5)


def test_table_1_by_hand(loaded):
    cells = cells_of("1")
    # Half of the tasks: four say A, everybody agrees. The other half: three say B, one a tie; who left B out of four
    # sees B, B and tie: agrees; who said tie sees three B: does not. 3 of 4, so people have (1 + .75) / 2.
    human = cells["Human", "brainstorming"]
    assert (human.recomputed, human.printed, human.status) == (pytest.approx(87.5), 62.6, Status.DIFFERS)
    assert "18 pairs" in human.reason
    # rouge says A always: right on the even tasks, wrong on the odd ones, whoever is left out.
    assert cells["Rouge", "closed_qa"].recomputed == pytest.approx(50)
    assert (human.judges, cells["Rouge", "closed_qa"].judges) == ((), ("rouge",))
    assert cells["Rouge", "extraction"].status is Status.NOT_COMPUTABLE
    assert "8 general categories" in cells["Rouge", "extraction"].reason
    everything = cells["Human", "all"]
    assert everything.status is Status.NOT_COMPUTABLE
    assert "open_qa" in everything.reason and "brainstorming" not in everything.reason
    assert "pair_of_three_reference" in cells["Llama-70B with human response", "open_qa"].reason
    lacking = cells["Composite Llama-70B", "closed_qa"]
    assert lacking.status is Status.NOT_COMPUTABLE
    assert "Llama-70B, Llama-70B with human response, RoBERTa-Large;" in lacking.reason


def test_a_composite_of_the_papers_candidates_is_cross_fitted(loaded):
    study = agreement_study(loaded.workspace)
    assert study.slug == AGREEMENT_STUDY.slug
    brainstorm = set(
        study.tasks.filter(response_a__instruction__category__key="brainstorming").values_list("pk", flat=True)
    )
    people = dict(
        Score.objects.filter(assignment__task__study=study, assignment__rater__label="ada").values_list(
            "assignment__task", "value"
        )
    )
    for name, good in (("llama3.1-70b_basic_no_reference", True), ("llama3.1-70b_basic_w_reference", False)):
        judge = make_judge_rater(loaded.workspace, name)
        for task in study.tasks.all():
            right = (task.pk in brainstorm) is good
            make_answer(task, judge, {"preference": people[task.pk] if right else -people[task.pk]})
    judge = make_judge_rater(loaded.workspace, "bertscore")
    for task in study.tasks.all():
        make_answer(task, judge, {"preference": 0})
    cells = cells_of("1")
    # One judge is right on every brainstorming pair, the other on every one of closed QA.
    assert cells["Llama-70B", "brainstorming"].recomputed == 100
    assert cells["Llama-70B", "closed_qa"].recomputed == 0
    assert cells["Llama-70B with human response", "closed_qa"].recomputed == 100
    assert cells["Composite Llama-70B", "brainstorming"].recomputed == 100
    assert cells["Composite Llama-70B", "closed_qa"].recomputed == 100
    assert "a choice in which it had no part" in cells["Composite Llama-70B", "closed_qa"].reason
    # A tie is nobody's mode but where the one who said so is left in with two of three.
    assert cells["RoBERTa-Large", "closed_qa"].recomputed == 0


def test_expected_win_rates_count_ties_as_half_and_models_share_ranks(loaded):
    cells = cells_of("6")
    model = MODELS[0]
    # The composite: every pair won in Brainstorm (rouge), lost in Closed QA (llm): 100, 0 and 50 overall.
    assert cells[model, "brainstorming"].recomputed == 100
    assert cells[model, "closed_qa"].recomputed == 0
    assert cells[model, "all"].recomputed == 50
    assert "Fewer than nine tenths of the paper's 430 instructions" in cells[model, "all"].reason
    assert "not by the paper's composite" not in cells[model, "all"].reason
    assert cells[model, "open_qa"].status is Status.NOT_COMPUTABLE
    assert cells[model, "rank"].status is Status.NOT_COMPUTABLE
    assert "all 33 models judged on shared instructions; 3 are" in cells[model, "rank"].reason
    assert cells["koala-13B-HF", "all"].status is Status.NOT_COMPUTABLE
    # Without the composite, the judge that remains is named.
    Rater.objects.filter(label="composite href").update(label="other")
    cells = cells_of("6")
    assert "not by the paper's composite" in cells[model, "all"].reason
    assert all(cell.status is Status.NOT_COMPUTABLE for cell in cells_of("5").values())


def test_ranks_come_out_where_all_models_of_a_table_are_there(loaded, monkeypatch):
    small = published()
    small["table_6"]["rows"] = {model: small["table_6"]["rows"][model] for model in MODELS}
    small["table_6"]["ranks"] = dict.fromkeys(MODELS, 1)
    monkeypatch.setattr("judging.published.papers.href_printed.published_tables", lambda slug: small)
    cells = cells_of("6")
    # All three won and lost the same pairs, so that they share the first rank.
    assert [(cells[model, "rank"].recomputed, cells[model, "rank"].status) for model in MODELS] == [
        (1, Status.EQUAL)
    ] * 3


def test_templates_are_judges_whose_names_say_so(loaded):
    study = agreement_study(loaded.workspace)
    judge = make_judge_rater(loaded.workspace, "llama, prompt B")
    for task in study.tasks.all():
        make_answer(task, judge, {"preference": 1})
    cells = cells_of("8")
    # It says A always, as rouge does.
    assert cells["Prompt B", "agreement"].recomputed == pytest.approx(50)
    assert cells["Prompt A", "agreement"].status is Status.NOT_COMPUTABLE
    assert "whose name says “prompt a”" in cells["Prompt A", "agreement"].reason
    assert cells["Prompt B", "correlation"].status is Status.NOT_COMPUTABLE
    # Two templates on the development set, of which B wins more the later the model: 0, 1/3 and 2/3 by A, twice by B.
    development = Study.objects.get(slug="href-development")
    for name, better in (("prompt A", 2), ("prompt B", 4)):
        judge = make_judge_rater(loaded.workspace, f"l {name}")
        for task in development.tasks.select_related("response_b__model", "response_b__instruction"):
            place = MODELS.index(task.response_b.model.name)
            number = int(task.response_b.instruction.text.split("task ")[1][0])
            make_answer(task, judge, {"preference": -1 if number < better * place / 2 else 1})
    cells = cells_of("8")
    assert cells["Prompt B", "correlation"].recomputed == pytest.approx(1.0)
    assert "Over 3 models" in cells["Prompt B", "correlation"].reason
    assert template_of("l prompt d, v2") == "Prompt D"
    assert template_of("promptly A") == ""


def test_sizes_are_what_is_loaded(loaded):
    cells = cells_of("9")
    size = len(CATEGORIES) * EACH
    assert (cells["Development", "size"].recomputed, cells["Development", "categories"].recomputed) == (size, 2)
    assert (cells["Agreement", "size"].recomputed, cells["Agreement", "categories"].recomputed) == (size, 2)
    assert cells["Evaluation", "size"].status is Status.NOT_COMPUTABLE


def test_a_judge_stands_beside_the_row_of_its_method_and_model_or_its_name(library):
    workspace, methods = Workspace.objects.get(), published()["methods"]
    ours = make_judge_rater(workspace, "ours")
    Judge.objects.create(workspace=workspace, rater=ours, method="shorter", prompt_hash="x")
    found = judges_of_rows(
        workspace.pk, ["ours", "Bertscore", "llama3.1-70b_basic_w_reference", "rouge prompt C"], methods
    )
    assert found == {
        "Shorter": "ours",
        "RoBERTa-Large": "Bertscore",
        "Llama-70B with human response": "llama3.1-70b_basic_w_reference",
    }
