"""Small studies, one for each kind of screen."""

import json
from typing import Any

from django.conf import settings

from annotation.models import Assignment, Criterion, Rater, Rubric, Score, Study, Task
from annotation.rubrics.library import criteria_of
from annotation.rubrics.reviews import review_rubric
from generation.models import Response
from tests.factories import make_checklist_study, make_judge_rater

RUBRICS = settings.BASE_DIR / "fixtures" / "rubrics"


def library_rubric(study: Study, file: str, key: str) -> Rubric:
    """A rubric as the program brings it, belonging to the study's workspace."""
    data = json.loads((RUBRICS / f"{file}.json").read_text(encoding="utf-8"))
    entry = next(entry for entry in data["rubrics"] if entry["key"] == key)
    rubric = Rubric.objects.create(workspace=study.workspace, key=f"{file}-{key}", names=entry["name"])
    Criterion.objects.bulk_create(Criterion(rubric=rubric, **fields) for fields in criteria_of(entry, data["scales"]))
    return rubric


def make_stars_study(**fields: Any) -> Study:
    """Three criteria and more of one to three stars, as LLMEval-1 asks them."""
    study = make_checklist_study(slug="stars", **fields)
    study.kind = "stars"
    study.save()
    study.tasks.update(answer_rubric=library_rubric(study, "llmeval1", "stars"))
    return study


def make_pair_study(size: str = "four", *, texts: tuple[str, str] | None = None, instructions: int = 2) -> Study:
    """Two models' responses to each instruction as one pair; `size` names the preference's scale."""
    study = make_checklist_study(slug="pairs", instructions=instructions, models=2)
    study.kind = "pair"
    study.save()
    key = "preference_by_criterion" if size == "by_criterion" else f"preference_of_{size}"
    rubric = library_rubric(study, "preferences", key)
    study.tasks.all().delete()
    by_instruction: dict[int, list[Response]] = {}
    for response in Response.objects.filter(instruction__benchmark=study.benchmark).order_by("pk"):
        by_instruction.setdefault(response.instruction_id, []).append(response)
    for position, (a, b) in enumerate(by_instruction.values()):
        if texts is not None:
            a.text, b.text = texts
            a.save()
            b.save()
        Task.objects.create(
            study=study,
            kind="pair",
            key=f"p:{a.pk}:{b.pk}",
            response_a=a,
            response_b=b,
            answer_rubric=rubric,
            position=position,
        )
    return study


def make_yes_or_no_study(**fields: Any) -> Study:
    """One question about each response, to be answered with yes or no."""
    study = make_checklist_study(slug="checks", **fields)
    rubric = Rubric.objects.create(workspace=study.workspace, key="one-check", names={"en": "One check"})
    levels = [{"key": key, "value": value, "label": {"en": key.title()}} for key, value in (("yes", 1), ("no", 0))]
    Criterion.objects.create(
        rubric=rubric, key="check", position=0, role="item", questions={"en": "Does it name a tree?"}, levels=levels
    )
    study.tasks.update(answer_rubric=rubric)
    return study


def make_review_study(*, instructions: int = 2, judge: Rater | None = None) -> Study:
    """A judge's verdicts on a checklist, each with a reason and one with a quotation, to be reviewed."""
    judged = make_checklist_study(slug="judged", instructions=instructions, models=1)
    judge = judge or make_judge_rater(judged.workspace, "stern-judge-4")
    study = Study.objects.create(
        workspace=judged.workspace,
        slug="reviews",
        names={"en": "Reviews"},
        kind="review",
        benchmark=judged.benchmark,
        status="open",
    )
    for task in judged.tasks.all():
        verdict = Assignment.objects.create(task=task, rater=judge, status="submitted")
        for criterion in task.answer_rubric.criteria.filter(role="item"):
            Score.objects.create(
                assignment=verdict,
                criterion=criterion,
                value=0.75,
                level="3",
                reason=f"Because of what it says about {criterion.key}.",
                evidence=[{"response": "a", "start": 2, "end": 7}] if criterion.key == "item0" else None,
            )
        Task.objects.create(
            study=study,
            kind="review",
            key=f"v:{verdict.pk}",
            response_a=task.response_a,
            reviews=verdict,
            answer_rubric=review_rubric(task.answer_rubric),
        )
    return study
