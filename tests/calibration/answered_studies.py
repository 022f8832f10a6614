"""Studies with answers drawn from known weights, for the tests of fits and result pages."""

import numpy as np

from annotation.models import Study
from tests.factories import make_answer, make_checklist_study, make_judge_rater, make_rater

TRUTH = (1.0, 2.0, 3.0, 4.0)


def answer_study(study: Study, *, raters: int = 3, judge: str = "", noise: float = 0.5, seed: int = 5) -> Study:
    """Every task answered by `raters` people (and a judge): items at random levels, overall by TRUTH and noise."""
    rng = np.random.default_rng(seed)
    answering = [make_rater(study, label=f"rater-{number}") for number in range(raters)]
    if judge:
        answering.append(make_judge_rater(study.workspace, judge))
    for task in study.tasks.select_related("answer_rubric"):
        quality = rng.integers(0, 5, len(TRUTH))
        for rater in answering:
            levels = np.clip(quality + rng.integers(-1, 2, len(TRUTH)), 0, 4) / 4
            overall = float(np.clip(round(levels @ np.array(TRUTH) + rng.normal(0, noise)), 0, 10))
            values = {f"item{place}": float(level) for place, level in enumerate(levels)}
            make_answer(task, rater, {**values, "overall": overall})
    return study


def answered_study(*, instructions: int = 12, models: int = 2, judge: str = "", **fields: object) -> Study:
    """A checklist study of four items in one category, answered by three people."""
    study = make_checklist_study(instructions=instructions, models=models, items=len(TRUTH), **fields)
    return answer_study(study, judge=judge)
