"""How well judges find each label, against the answers of a study that are known to be correct."""

from dataclasses import dataclass

import numpy as np

from annotation.models import Study
from calibration.data.frames import ScoreFrame
from calibration.data.verdicts import judges_verdicts
from calibration.reports.people.shares import RaterLabelRates
from calibration.reports.rater_effects import MOST_LABELS
from calibration.statistics.errors import Undefined
from calibration.statistics.raters.truth import label_rates


@dataclass(frozen=True)
class JudgedTruth:
    """Sensitivity and specificity of judges on one criterion, on the `tasks` with a correct answer that one has judged."""

    criterion: str
    tasks: int
    judges: list[RaterLabelRates]


def judged_truth(study: Study, truth: ScoreFrame | None) -> list[JudgedTruth]:
    """Compare judges' verdicts with the correct answers, on criteria of a few labels. Raises Undefined."""
    if truth is None or not len(truth):
        raise Undefined("NoCorrectAnswers", "The study has no correct answers.")
    found = [row for key in truth.criterion_keys if (row := _on(study, truth, key)) is not None]
    if not found:
        raise Undefined(
            "NoCorrectAnswers", "No task that a judge has judged has a correct answer of two to four labels."
        )
    return found


def _on(study: Study, truth: ScoreFrame, key: str) -> JudgedTruth | None:
    own = truth.select((truth.criterion == truth.criterion_keys.index(key)) & truth.applicable)
    newest = np.argsort(own.assignment, kind="stable")
    columns = (own.task[newest].tolist(), own.label_values[newest].tolist(), own.instruction[newest].tolist())
    known = {task: (label, instruction) for task, label, instruction in zip(*columns, strict=True)}
    verdicts = judges_verdicts(study, key)
    given = np.array([task in known for task in verdicts.task.tolist()], dtype=np.bool_)
    if not given.any():
        return None
    tasks = verdicts.task[given].tolist()
    answer = np.array([known[task][0] for task in tasks])
    if not 2 <= len(np.unique(answer)) <= MOST_LABELS:
        return None
    clusters = np.array([known[task][1] for task in tasks])
    rates = label_rates(verdicts.value[given], answer, raters=verdicts.judge[given], clusters=clusters)
    rows = [
        RaterLabelRates(verdicts.names[int(str(one.rater))], True, one.label, one.sensitivity, one.specificity)
        for one in rates
    ]
    return JudgedTruth(key, len(set(tasks)), sorted(rows, key=lambda row: (row.label, row.rater)))
