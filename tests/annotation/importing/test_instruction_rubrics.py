"""The columns checklist and rubric of load_instructions: an instruction's own rubric, and the judge that follows it."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from accounts.models import Event
from annotation.models import Criterion, Rubric, Study, Task
from annotation.rubrics.library import keep_rubric
from generation.models import Benchmark, Instruction, Response
from judging.judges.questions import Questions
from tests.annotation.tables import everything
from tests.factories import make_workspace

pytestmark = pytest.mark.django_db
ROWS = [
    {"instruction": "p", "prompt": "Write a poem.", "checklist": ["Does it rhyme?", "1. Is it short?"]},
    {"instruction": "q", "prompt": "Write a letter.", "checklist": "Is it polite?\nIs it short?"},
    {"instruction": "r", "prompt": "Say hello.", "checklist": None},
]


def load(tmp_path, *words, rows=ROWS):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    call_command("load_instructions", str(path), "--benchmark", "made", *words, stdout=(out := io.StringIO()))
    return out.getvalue()


def own(name):
    rubric = Rubric.objects.nearest_to(Instruction.objects.get(external_id=name))
    return [(one.key, one.role, one.questions["en"]) for one in rubric.criteria.all()] if rubric else None


def test_a_checklist_becomes_the_instructions_own_rubric(tmp_path):
    assert load(tmp_path).splitlines() == [
        "Benchmark made: 3 created (instructions).",
        "Rubrics of single instructions: 2 created.",
    ]
    assert own("p") == [("item0", "item", "Does it rhyme?"), ("item1", "item", "Is it short?")]
    assert [question for _key, _role, question in own("q")] == ["Is it polite?", "Is it short?"]
    assert own("r") is None
    assert Event.objects.filter(verb="loaded instructions").count() == 1
    before = everything()
    assert "Rubrics of single instructions: 2 already there." in load(tmp_path)
    assert {**everything(), "generation.Import": None} == {**before, "generation.Import": None}


def test_an_overall_score_from_1_to_10_goes_with_every_instruction(tmp_path):
    load(tmp_path, "--overall", "1:10")
    score = Criterion.objects.get(rubric__instruction__external_id="p", role="overall")
    assert (score.key, score.minimum, score.maximum, score.position) == ("score", 1, 10, 2)
    assert [role for _key, role, _question in own("r")] == ["overall"]
    with pytest.raises(CommandError, match="'10' is not a scale"):
        load(tmp_path, "--overall", "10")


def test_a_changed_checklist_is_a_new_version(tmp_path):
    load(tmp_path)
    load(tmp_path, rows=[{**ROWS[0], "checklist": ["Does it rhyme?"]}])
    assert own("p") == [("item0", "item", "Does it rhyme?")]
    assert Rubric.objects.filter(instruction__external_id="p").count() == 2


def test_a_named_rubric_lends_its_criteria(tmp_path):
    workspace = make_workspace()
    criterion = {
        "key": "fluency",
        "role": "item",
        "position": 0,
        "minimum": 1.0,
        "maximum": 3.0,
        "step": None,
        "levels": [],
        "anchors": [],
        "questions": {"en": "Is it fluent?"},
    }
    keep_rubric(workspace, None, None, key="stars", names={"en": "Stars"}, criteria=[criterion])
    rows = [{**ROWS[0], "rubric": "stars"}, ROWS[2]]
    load(tmp_path, "--rubric", "stars", rows=rows)
    assert [key for key, _role, _question in own("p")] == ["item0", "item1", "fluency"]
    assert own("r") == [("fluency", "item", "Is it fluent?")]
    with pytest.raises(CommandError, match=r"rows\.jsonl line 1: there is no rubric 'moons'"):
        load(tmp_path, rows=[{**ROWS[0], "rubric": "moons"}])
    assert Benchmark.objects.get().instructions.count() == 2


def test_a_judge_is_guided_by_the_instructions_own_checklist(tmp_path):
    load(tmp_path, "--overall", "1:10")
    instruction = Instruction.objects.get(external_id="p")
    rubric = Rubric.objects.nearest_to(instruction)
    study = Study.objects.create(
        workspace=rubric.workspace, slug="s", kind="checklist", benchmark=instruction.benchmark
    )
    response = Response.objects.create(instruction=instruction, text="A rose.", words=2)
    task = Task.objects.create(study=study, key="r:1", response_a=response, answer_rubric=rubric)
    question = Questions("graded_score", study).about(task)
    assert [item.question for item in question.guides] == ["Does it rhyme?", "Is it short?"]
    (score,) = question.items
    assert score.values == tuple(range(1, 11))
