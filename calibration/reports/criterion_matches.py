"""Judges compared with people on every criterion; no overall score is needed."""

from collections import Counter
from functools import partial
from typing import Any

import numpy as np

from annotation.models import Rater, Study
from calibration.data.frames import ABOUT_RESPONSES, Ints, NothingToRead, ScoreFrame, data_hash
from calibration.data.scores import score_frame
from calibration.data.verdicts import Verdicts, judges_verdicts
from calibration.reports.agreement import ordered_keys
from calibration.reports.codec import plain, plain_part, stored
from calibration.reports.registry import Plain, ReportKind, Settings, register
from calibration.statistics.agreement.coefficients import leave_one_out, outer_leave_one_out
from calibration.statistics.judges.comparison import accuracy_against_majority, confusion, majority_labels
from calibration.statistics.ties import level_places

DRAWS = 1000


def criterion_settings() -> Plain:
    return {"draws": DRAWS, "seed": 0}


def _compute(study: Study, settings: Settings) -> tuple[str, Plain]:
    people = score_frame(kinds=ABOUT_RESPONSES, study=study, judges=False)
    hashed = data_hash(people)
    people = people.select((people.response_b == 0) & people.applicable)
    draws, seed = int(settings["draws"]), int(settings["seed"])
    rows: dict[int, list[Plain]] = {}
    counts: Counter[int] = Counter()
    for key in ordered_keys(people):
        verdicts = judges_verdicts(study, key)
        counts.update(verdicts.judge.tolist())
        for pk in verdicts.names:
            row = plain_part(partial(_row, people.of_criterion(key), verdicts, pk, draws, seed))
            rows.setdefault(pk, []).append({"criterion": key, **row})
    known = Rater.objects.in_bulk(rows)
    judges = sorted(known.values(), key=lambda judge: (-counts[judge.pk], judge.name, judge.pk))
    report = {
        "study": study.slug,
        "judges": [{"judge": judge.name, "public": judge.public_id, "criteria": rows[judge.pk]} for judge in judges],
    }
    return hashed, stored(report)


BY_CRITERION = register(ReportKind("judges by criterion", _compute, slow_from=60_000))


def _row(people: ScoreFrame, verdicts: Verdicts, judge: int, draws: int, seed: int) -> Plain:
    """Compare one judge with people on one criterion, on the tasks that both have answered. Raises NothingToRead."""
    own = verdicts.judge == judge
    tasks = np.intersect1d(verdicts.task[own], people.task)
    if not tasks.size:
        raise NothingToRead("people and this judge have answered nothing in common")
    theirs = people.select(np.isin(people.task, tasks))
    own &= np.isin(verdicts.task, tasks)
    labels = level_places(np.concatenate([theirs.label_values, verdicts.value[own]]))
    given, verdict = labels[: len(theirs)], np.full(len(tasks), -1, dtype=np.int64)
    verdict[np.searchsorted(tasks, verdicts.task[own])] = labels[len(theirs) :]
    place = np.searchsorted(tasks, theirs.task).astype(np.int64)
    drawn: dict[str, Any] = {"draws": draws, "seed": seed, "clusters": theirs.instruction}
    return {
        "unscored": int(verdicts.unscored.get(judge, 0)),
        "outer": plain_part(partial(outer_leave_one_out, place, given, verdict, **drawn)),
        "people": plain_part(partial(leave_one_out, place, given, **drawn)),
        "majority": plain_part(partial(_majority, verdict, place, given, drawn)),
    }


def _majority(verdict: Ints, place: Ints, given: Ints, drawn: dict[str, Any]) -> Plain:
    """Share of equal labels; `chance` is the share if the judge's labels were assigned to the tasks at random."""
    found = accuracy_against_majority(verdict, place, given, **drawn)
    counts = confusion(verdict, majority_labels(place, given)).counts
    chance = float(counts.sum(axis=0) @ counts.sum(axis=1)) / float(counts.sum()) ** 2
    return {**plain(found), "chance": chance}
