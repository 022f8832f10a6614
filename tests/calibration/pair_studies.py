"""Studies of pairs answered with a planted order of models, a pull to the side shown first and to length."""

import numpy as np

from annotation.models import Criterion, Rubric, Study, Task
from generation.models import Benchmark, Instruction, LanguageModel, Response
from tests.factories import make_answer, make_rater, make_workspace

LEVELS = [
    {"key": key, "value": value, "label": {"en": key}, "description": {}}
    for key, value in (("a", 1), ("tie", 0), ("both_bad", 0), ("b", -1))
]


def pair_study(
    *,
    models=4,
    instructions=30,
    raters=3,
    position=0.0,
    sides=True,
    texts=True,
    seed=3,
    workspace=None,
    slug="duels",
    outcome=None,
):
    """Every two models on every instruction; model 0 is strongest, by one unit of log-odds a place.

    `outcome` replaces the draw by a function of (first model, second model) -> 1, 0 or -1 for the first.
    """
    rng = np.random.default_rng(seed)
    workspace = workspace or make_workspace()
    benchmark = Benchmark.objects.create(workspace=workspace, slug=f"{slug}-benchmark", names={"en": slug})
    rubric = Rubric.objects.create(workspace=workspace, key=f"{slug}-pairs", benchmark=benchmark)
    Criterion.objects.create(
        rubric=rubric,
        key="preference",
        position=0,
        role="preference",
        levels=LEVELS,
        questions={"en": "Which is better?"},
    )
    study = Study.objects.create(
        workspace=workspace, slug=slug, names={"en": slug.title()}, kind="pair", benchmark=benchmark, status="open"
    )
    names = [LanguageModel.objects.get_or_create(workspace=workspace, name=f"model{m}")[0] for m in range(models)]
    people = [make_rater(study, label=f"rater-{number}") for number in range(raters)]
    for number in range(instructions):
        instruction = Instruction.objects.create(benchmark=benchmark, external_id=f"{slug}-{number}")
        responses = [
            Response.objects.create(
                instruction=instruction, model=name, words=20, text="x" * int(rng.integers(50, 900)) if texts else None
            )
            for name in names
        ]
        for i in range(models):
            for j in range(i + 1, models):
                a, b = responses[i], responses[j]
                task = Task.objects.create(
                    study=study, kind="pair", key=f"p:{a.pk}:{b.pk}", response_a=a, response_b=b, answer_rubric=rubric
                )
                for rater in people:
                    shown = "a" if rng.random() < 0.5 else "b"
                    ahead = (j - i) + (position if shown == "a" else -position)
                    won = rng.random() < 1 / (1 + np.exp(-ahead))
                    value = 0 if rng.random() < 0.2 else 1 if won else -1
                    if outcome is not None:
                        value = outcome(i, j)
                    make_answer(task, rater, {"preference": value}, shown_first=shown if sides else "")
    return study
