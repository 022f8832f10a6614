"""Studies with a baseline judge and a version of it whose agreement with people is made."""

from itertools import count

from annotation.models import Score
from generation.models import Endpoint, LanguageModel, Response
from judging.alignment.records import add_version, begin_alignment
from judging.judges.making import create_judge, stock_prompt
from tests.factories import make_answer, make_checklist_study, make_rater

LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0)
INSTRUCTIONS = 80
_names = count(1)


def rated_study(instructions=INSTRUCTIONS, raters=4, slug="essays", workspace=None):
    """One response to each instruction, of a level that all but every ninth answer of its raters state."""
    study = make_checklist_study(instructions=instructions, models=1, items=1, slug=slug, workspace=workspace)
    people = [make_rater(study) for _ in range(raters)]
    for number, task in enumerate(tasks_of(study)):
        for place, rater in enumerate(people):
            slip = 1 if (number + 2 * place) % 9 == 0 else 0
            make_answer(task, rater, {"item0": LEVELS[(number + slip) % 5], "overall": 5})
    return study


def tasks_of(study):
    return list(study.tasks.order_by("pk").select_related("answer_rubric", "response_a__instruction"))


def served_model(workspace):
    endpoint, _made = Endpoint.objects.get_or_create(
        workspace=workspace,
        name="priced",
        defaults={"base_url": "http://127.0.0.1:9/v1", "input_price": 1, "output_price": 2},
    )
    return LanguageModel.objects.get_or_create(workspace=workspace, name="asked", endpoint=endpoint)[0]


def judge_right(study, right, prompt="", name="", without=()):
    """A judge that states the people's level where right(number of the instruction), and the one above it elsewhere."""
    judge = create_judge(
        model=served_model(study.workspace),
        prompt=prompt or stock_prompt("checklist") + f"\nVersion {next(_names)}.",
        name=name,
    )
    for number, task in enumerate(tasks_of(study)):
        if number not in without:
            make_answer(task, judge.rater, {"item0": LEVELS[(number + (0 if right(number) else 1)) % 5]})
    return judge


def half(number):
    return number % 2 == 0


def nearly_all(number):
    return number % 12 != 5


def other_half(number):
    """Right as often as `half`, in other places."""
    return number % 4 in (1, 2)


def aligned(study, right=nearly_all, **begun):
    """The study's alignment with a baseline that is right in half of all cases, and one version of it."""
    baseline = judge_right(study, half, name="baseline")
    found = begin_alignment(study, baseline, **begun)
    version = add_version(found, judge_right(study, right, name="version"))
    return found, version


def change_answers(rater, tasks, level):
    """Revise a judge's or a person's answers to these tasks."""
    for answer in rater.assignments.filter(task__in=tasks):
        for score in answer.scores.filter(revision=0, criterion__key="item0"):
            Score.objects.create(assignment=answer, criterion=score.criterion, revision=1, value=level)


def tasks_in(found, part):
    return [task for task in tasks_of(found.study) if task.response_a.instruction_id in found.parts[part]]


def name_texts(study):
    """Give each instruction and response a word of its own, and return the words by the instruction's primary key."""
    words = {}
    for number, response in enumerate(Response.objects.filter(instruction__benchmark=study.benchmark).order_by("pk")):
        word = f"zebra{number:03}x"
        response.text = f"The text says {word}."
        response.save()
        response.instruction.messages = [{"role": "user", "content": f"Say {word}, please."}]
        response.instruction.save()
        words[response.instruction_id] = word
    return words
