"""Every result page says something, in every order in which people rate, judges judge, and verdicts fail."""

import re
from zlib import crc32

import numpy as np
import pytest
from django.urls import reverse

from annotation.models import Assignment, Criterion, Rubric, Study, Task
from annotation.rubrics.instruction_checks import check_fields
from annotation.studies.life_cycle import make_tasks
from generation.models import Benchmark, Category, Instruction, LanguageModel, Response
from tests.factories import make_answer, make_judge_rater, make_rater, make_workspace
from tests.judging.result_walk import RESULTS, judges_of, reader_of, walk
from tests.markup import markup
from tests.screen_studies import make_checklist_study, make_pair_study, make_review_study, make_stars_study

pytestmark = pytest.mark.django_db
SAYS = {name for name in RESULTS if name.startswith(("calibration:", "judging:"))} - {
    "calibration:plan_fragment",
    "calibration:summary",
    "calibration:desk_figures",
}
"""Pages that hold a sentence whatever there is; the three others are parts of pages, empty where nothing is known."""


def make_check_study(*, instructions: int = 3) -> Study:
    """Diaries by two models, of which three weeks are checked."""
    workspace = make_workspace()
    benchmark = Benchmark.objects.create(workspace=workspace, slug="diaries", names={"en": "Diaries"})
    category = Category.objects.create(benchmark=benchmark, key="diary")
    rubric = Rubric.objects.create(workspace=workspace, key="diary", benchmark=benchmark)
    where = {"mark": "Week", "numbers": [1, 2, 3], "kind": "range", "asked": 4}
    Criterion.objects.create(rubric=rubric, **check_fields("rain", {"en": "Does it mention rain?"}, 0, where))
    study = Study.objects.create(
        workspace=workspace, slug="diaries", kind="check", benchmark=benchmark, rubric=rubric, status="open"
    )
    models = [LanguageModel.objects.create(workspace=workspace, name=f"model{n}") for n in range(2)]
    for number in range(instructions):
        instruction = Instruction.objects.create(benchmark=benchmark, external_id=f"diary-{number}", category=category)
        for model in models:
            text = "\n\n".join(f"Week {week}: it rained again." for week in range(1, 5))
            Response.objects.create(instruction=instruction, model=model, text=text, words=20)
    make_tasks(study)
    return study


KINDS = {
    "checklist": lambda: make_checklist_study(instructions=3, models=2),
    "stars": lambda: make_stars_study(instructions=3, models=2),
    "pair": lambda: make_pair_study(instructions=4),
    "pair, texts never stored": lambda: _without_texts(make_pair_study("three", instructions=3)),
    "check": make_check_study,
    "review": lambda: make_review_study(instructions=3),
}


def _without_texts(study: Study) -> Study:
    Response.objects.filter(instruction__benchmark=study.benchmark).update(text=None, words=None)
    return study


def values_for(task: Task, who: str, favoured: str = "") -> dict[str, float]:
    """An answer to every criterion, drawn by who answers what; all preferences for one side where one is favoured."""
    rng = np.random.default_rng(crc32(f"{who} {task.pk}".encode()))
    given = {}
    for criterion in task.answer_rubric.criteria.all():
        levels = [float(level["value"]) for level in criterion.levels] or [0.0, 3.0, 7.0, 10.0]
        if favoured and criterion.role == Criterion.Role.PREFERENCE:
            levels = [max(levels) if favoured == "a" else min(levels)]
        given[criterion.key] = float(rng.choice(levels))
    return given


def tasks_of(study: Study) -> list[Task]:
    return list(study.tasks.select_related("answer_rubric").order_by("pk"))


def rate(study: Study, *, people: int = 2, tasks: slice = slice(None), side: str = "") -> None:
    for number in range(people):
        rater = make_rater(study)
        for task in tasks_of(study)[tasks]:
            shown = side or "ab"[(task.pk + number) % 2]
            make_answer(
                task, rater, values_for(task, f"person {number}", side), shown_first=shown if task.response_b_id else ""
            )


def judge(study: Study, *, tasks: slice = slice(None), side: str = "", usable: bool = True) -> None:
    """A judge answers the study's tasks; of a review, which judges do not answer, those that it reviews are there."""
    if study.kind == Study.Kind.REVIEW:
        return
    rater = make_judge_rater(study.workspace, "stern-judge-4")
    for task in tasks_of(study)[tasks]:
        if not usable:
            Assignment.objects.create(task=task, rater=rater, status="unscored", reason="prose: Well, well.")
            continue
        shown = (side or "ab"[task.pk % 2]) if task.response_b_id else ""
        make_answer(task, rater, values_for(task, "judge", side), shown_first=shown)


EVENTS = {
    "neither": [],
    "judged before rated": [judge, rate],
    "rated before judged": [rate, judge],
    "only unusable verdicts": [lambda study: judge(study, usable=False), rate],
    "rated, then only unusable verdicts": [rate, lambda study: judge(study, usable=False)],
    "only one side of a pair": [lambda study: judge(study, side="a"), lambda study: rate(study, side="a")],
    "nothing that both answered": [
        lambda study: judge(study, tasks=slice(0, 1)),
        lambda study: rate(study, people=1, tasks=slice(1, 2)),
    ],
    "one task, one person": [
        lambda study: rate(study, people=1, tasks=slice(0, 1)),
        lambda study: judge(study, tasks=slice(0, 1)),
    ],
}


SEEN_ON_THE_WAY = {"judged before rated", "rated before judged", "only unusable verdicts"}
"""Orders whose pages are read after the first event, too; what the others begin with hardly differs from these."""

WITH_FIGURES = "rated before judged"
"""The order after which every figure is drawn."""
ON_BOTH_DATABASES = {("checklist", "judged before rated"), ("pair", "rated before judged")}
IN_EVERY_ORDER = {"checklist", "pair"}
OF_THE_OTHERS = {"rated before judged", "only unusable verdicts"}
"""The pages of the other kinds are those of one of these two; they are read after everything has happened."""


def cases() -> list:
    return [
        pytest.param(kind, events, marks=() if (kind, events) in ON_BOTH_DATABASES else pytest.mark.one_database)
        for kind in KINDS
        for events in EVENTS
        if kind in IN_EVERY_ORDER or events in OF_THE_OTHERS
    ]


@pytest.mark.parametrize(("kind", "events"), cases())
def test_every_result_page_says_something(kind, events):
    study = KINDS[kind]()
    client = reader_of(study)
    on_the_way = events in SEEN_ON_THE_WAY and kind in IN_EVERY_ORDER
    for happens in EVENTS[events][:-1]:
        happens(study)
        if on_the_way:
            check(study, client, figures=False)
    for happens in EVENTS[events][-1:]:
        happens(study)
    check(study, client, figures=events == WITH_FIGURES)


def check(study: Study, client, *, figures: bool) -> None:
    said = walk(study, judges_of(study), client=client, figures=figures)
    # 400 is the API's sentence for a board of a judge without a usable verdict; 404 two models that share nothing.
    failed = {place: status for place, (status, _text) in said.items() if status >= 500}
    assert not failed
    refused = {place: text for place, (status, text) in said.items() if status not in (0, 200)}
    for place, text in refused.items():
        assert "." in text and "Traceback" not in text, f"{place}: {text}"
    for name in sorted(SAYS):
        status, text = said[reverse(name, args=[study])]
        assert status == 200, name
        assert re.search(r"\w{3,}[^.?]{8,}[.?]", text), f"{name}: {text}"
    for place, (_status, text) in said.items():
        if not place.startswith(("/api/", "export", "report: ")):  # where infinity is a word
            assert not re.search(r"\b(nan|NaN|inf)\b", text), place


def test_a_pair_study_that_only_a_judge_has_answered(client):
    study = make_pair_study(instructions=4)
    judge(study)
    client = reader_of(study)
    for name in ("judging:judges", "judging:judges_depth"):
        answer = client.get(reverse(name, args=[study]))
        assert answer.status_code == 200
        assert "There are no answers yet that can be used here" in markup(answer)
