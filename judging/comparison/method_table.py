"""Ways of judging side by side: how far each agrees with people in each category, people's own agreement beside them.

HREF (arXiv 2412.15524), table 1. Every judge of the study's responses is a way; the composite takes the best of them in
each category, chosen on one half of the instructions and reported on the other.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from annotation.models import Study
from calibration.data.frames import ABOUT_RESPONSES, ROLES, Bools, Floats, Ints, NothingToRead, ScoreFrame, data_hash
from calibration.data.scores import score_frame
from calibration.data.verdicts import judges_verdicts
from calibration.reports.agreement import ordered_keys
from calibration.reports.codec import plain, plain_part, stored
from calibration.reports.judge_matches import side_labels, sides
from calibration.reports.raters import main_criterion
from calibration.reports.registry import Plain, ReportKind, Settings, register
from calibration.statistics.agreement.leave_one_out import matches_by_task
from calibration.statistics.errors import NoStatistic
from calibration.statistics.report_reasons import NoJudge
from calibration.statistics.shares import mean_shares
from calibration.statistics.ties import level_places
from judging.methods.pairs.composite import KEY as COMPOSITE, Agreement, Composite, TooFewTasks, choose
from judging.models import Judge

DRAWS = 1000
MOST_CATEGORIES = 15
"""Up to so many categories each is a column of its own; where there are more, those above them are."""


def method_settings(criterion: str = "") -> Plain:
    return {"criterion": criterion, "draws": DRAWS, "seed": 0}


@dataclass(frozen=True)
class Tasks:
    """The tasks that two people or more have answered, arrays (m,) in ascending order of `task`.

    `people` is their own leave-one-out match in each, `outer` (m, labels) what each label would reach in it.
    """

    task: Ints
    instruction: Ints
    category: Ints
    people: Floats
    outer: Floats


def _compute(study: Study, settings: Settings) -> tuple[str, Plain]:
    frame = score_frame(kinds=ABOUT_RESPONSES, study=study, judges=False)
    hashed = data_hash(frame)
    try:
        key = main_criterion(frame, str(settings["criterion"]))
        own = frame.of_criterion(key)
        verdicts = judges_verdicts(study, key)
        if not verdicts.names:
            raise NoJudge("No judge has rated responses of this study.")
        tasks, matches = _tasks(own, verdicts)
    except (NothingToRead, NoStatistic) as error:
        return hashed, {"why": type(error).__name__, "reason": str(error)}
    draws, seed = int(settings["draws"]), int(settings["seed"])
    categories = np.unique(tasks.category).tolist()
    found = {
        "study": study.slug,
        "criterion": key,
        "criteria": ordered_keys(frame),
        "categories": [{"category": own.category_names.get(pk, "all"), "category_pk": pk} for pk in categories],
        "people": _row(tasks, tasks.people, draws, seed),
        "methods": [
            {"judge": name, "unscored": verdicts.unscored.get(pk, 0), **_row(tasks, matches[pk], draws, seed)}
            for pk, name in sorted(verdicts.names.items(), key=lambda pair: (pair[1], pair[0]))
        ],
        "composite": _composite(tasks, _candidates(matches, verdicts.names), draws, seed),
    }
    return hashed, stored(found)


METHODS = register(ReportKind("judging methods", _compute, slow_from=60_000))


def _tasks(people: ScoreFrame, verdicts: Any) -> tuple[Tasks, dict[int, Floats]]:
    """The tasks, and each judge's match in them (m,), NaN where it has no verdict."""
    preference = people.role[0] == ROLES.index("preference")
    if preference:
        highest = float(people.high.max())
        labels, said = side_labels(people), sides(verdicts.value, highest)
    else:
        codes = level_places(np.concatenate([people.label_values, verdicts.value]))
        labels, said = codes[: len(people)], codes[len(people) :]
    kept, inner, outer = matches_by_task(people.task, labels)
    outer = np.column_stack([outer, np.zeros((len(kept), int(said.max(initial=0)) + 1))])
    first = np.unique(people.task, return_index=True)
    place = first[1][np.searchsorted(first[0], kept)]
    leaf, parent = people.category[place], people.parent[place]
    tasks = Tasks(
        task=kept,
        instruction=people.instruction[place],
        category=leaf if len(np.unique(leaf)) <= MOST_CATEGORIES else np.where(parent > 0, parent, leaf),
        people=inner,
        outer=outer,
    )
    matches = {}
    for pk in verdicts.names:
        own = (verdicts.judge == pk) & np.isin(verdicts.task, kept)
        found = np.full(len(kept), np.nan)
        at = np.searchsorted(kept, verdicts.task[own])
        found[at] = outer[at, said[own]]
        matches[pk] = found
    return tasks, matches


def _row(tasks: Tasks, values: Floats, draws: int, seed: int) -> Plain:
    """A way's rate over all tasks, and its cells by category in the order of the categories; None where it has none."""
    categories = np.unique(tasks.category)
    known = np.isfinite(values)
    return {
        "all": _rate(tasks, values, known, draws, seed),
        "cells": [_rate(tasks, values, known & (tasks.category == pk), draws, seed) for pk in categories],
    }


def _rate(tasks: Tasks, values: Floats, mask: Bools, draws: int, seed: int) -> Plain | None:
    if not mask.any():
        return None
    (rate,) = mean_shares([values[mask]], tasks.instruction[mask], draws=draws, seed=seed)
    return {"n": int(mask.sum()), **plain(rate)}


def _candidates(matches: Mapping[int, Floats], names: Mapping[int, str]) -> dict[str, Floats]:
    """By name, the judges that may be chosen: all but those that are themselves such a choice."""
    chosen = set(Judge.objects.filter(method=COMPOSITE, rater__in=list(names)).values_list("rater", flat=True))
    return {names[pk]: values for pk, values in matches.items() if pk not in chosen}


def _composite(tasks: Tasks, matches: Mapping[str, Floats], draws: int, seed: int) -> Any:
    """The choice in each category, and rates over the held-out tasks alone; why there is none, where there is none."""
    agreements = [
        Agreement(str(task), str(instruction), str(category), name, None if np.isnan(value) else float(value))
        for name, values in sorted(matches.items())
        for task, instruction, category, value in zip(
            tasks.task.tolist(), tasks.instruction.tolist(), tasks.category.tolist(), values.tolist(), strict=True
        )
    ]
    try:
        chosen = choose(agreements, seed=seed)
    except TooFewTasks as error:
        return {"why": "TooFewTasks", "reason": str(error)}
    return plain_part(lambda: _held_out(tasks, matches, chosen, draws, seed))


def _held_out(tasks: Tasks, matches: Mapping[str, Floats], chosen: Composite, draws: int, seed: int) -> Plain:
    """The composite, the best single way and people, all on the tasks that had no part in choosing."""
    held = {int(task) for choice in chosen.choices for task in choice.held_out}
    out = np.isin(tasks.task, sorted(held))
    best = np.full(len(tasks.task), np.nan)
    for choice in chosen.choices:
        mask = tasks.category == int(choice.category)
        best[mask] = matches[choice.method][mask]
    categories = np.unique(tasks.category)

    def row(values: Floats) -> Plain:
        known = np.isfinite(values) & out
        return {
            "all": _rate(tasks, values, known, draws, seed),
            "cells": [_rate(tasks, values, known & (tasks.category == pk), draws, seed) for pk in categories],
        }

    method_of = chosen.method_of
    return {
        "methods": [method_of[str(pk)] for pk in categories.tolist()],
        "chosen_rates": [
            {choice.category: choice.chosen_rate for choice in chosen.choices}[str(pk)] for pk in categories.tolist()
        ],
        "composite": row(best),
        "single": {"judge": chosen.single, **row(matches[chosen.single])},
        "people": row(tasks.people),
    }
