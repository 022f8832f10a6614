"""Judges side by side: how far each agrees with people in each category, next to people's agreement among themselves.

HREF (arXiv 2412.15524), table 1, with every judge of the study's responses. The composite takes the best of them in each
category, cross-fitted: on all tasks, each decided by a choice in which it had no part.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from annotation.models import Study
from calibration.data.frames import ABOUT_RESPONSES, ROLES, Bools, Floats, Ints, ScoreFrame, data_hash
from calibration.data.scores import score_frame
from calibration.data.verdicts import Verdicts, failed_judges, judges_verdicts
from calibration.reports.agreement import ordered_keys
from calibration.reports.codec import Missing, part
from calibration.reports.judge_matches import are_positions, side_labels, sides
from calibration.reports.raters import main_criterion
from calibration.reports.registry import ReportKind, Settings, register
from calibration.statistics.agreement.leave_one_out import matches_by_task
from calibration.statistics.errors import TooFewRatings, Undefined
from calibration.statistics.judges.agreement import (
    Beside,
    JudgesCompared,
    LabelledTasks,
    beside_people,
    compare_judges,
    people_among_themselves,
)
from calibration.statistics.judges.estimates import PeopleEstimate
from calibration.statistics.shares import Share, mean_shares
from calibration.statistics.ties import level_places
from judging.methods.pairs.composite import KEY as COMPOSITE, SPLITS, TooFewTasks, cross_fit, says_composite
from judging.models import Judge

DRAWS = 1000
PAIR = 2
LEAST_COPIED = 20
"""Fewest tasks on which a judge's and a rater's labels must be the same before it is said that the judge may repeat them."""
MOST_CATEGORIES = 15
"""With at most this many categories each has its own column; with more, their parents have."""


@dataclass(frozen=True)
class Rate(Share):
    """Leave-one-out agreement with people, averaged over `n` tasks; whole instructions are resampled."""

    n: int


@dataclass(frozen=True)
class Row:
    """Agreement over all tasks and in each category, in the order of the table's; None where no task has a value."""

    all: Rate | None
    cells: list[Rate | None]


@dataclass(frozen=True)
class MethodRow(Row):
    """The agreement of a judge with people; its `unscored` verdicts could not be used.

    `composite`: the judge is a choice among the others. `imported`: its verdicts came from outside, so that they may have
    been chosen on these very tasks. `failed`: a run of it failed its canary texts. `beside` has its agreement, and that of
    people among themselves on exactly the tasks it judged; None where there is no such task. `copies` names a rater whose
    label it gave on every task that both labelled, LEAST_COPIED or more, where other raters differ; '' where there is none.
    """

    judge: str
    unscored: int
    beside: Beside | None = None
    failed: bool = False
    composite: bool = False
    imported: bool = False
    copies: str = ""


@dataclass(frozen=True)
class ComparedJudges:
    """The judges that are compared, by name in the order of the places of `found`; neither composites nor failed ones."""

    judges: list[str]
    found: JudgesCompared


@dataclass(frozen=True)
class Chosen:
    """A judge that was chosen in a `share` of the choices, one for each half of each split."""

    judge: str
    share: float


@dataclass(frozen=True)
class CrossFittedRows:
    """The composite and the best single judge, each chosen without the task it is measured on, over `splits` splits.

    `choices` are the judges chosen in each category, `singles` those chosen for all of them, the most frequent first.
    """

    splits: int
    choices: list[list[Chosen]]
    singles: list[Chosen]
    composite: Row
    single: Row
    people: Row


@dataclass(frozen=True)
class CategoryColumn:
    """A category of the table by key ("all" where tasks have none) and primary key (0 where they have none)."""

    category: str
    category_pk: int


@dataclass(frozen=True)
class MethodTable:
    """The judges of a study, by name, and people, measured on `criterion`; `criteria` are all that can be chosen.

    Only pairs with the model `against` count if it is not empty; `models` are all that can be chosen, none of a study of
    single responses.
    """

    study: str
    criterion: str
    criteria: list[str]
    against: str
    models: list[str]
    categories: list[CategoryColumn]
    people: Row
    people_rate: PeopleEstimate
    methods: list[MethodRow]
    compared: ComparedJudges | Missing
    composite: CrossFittedRows | Missing


MethodReport: TypeAlias = MethodTable | Missing


@dataclass(frozen=True)
class Tasks:
    """The tasks that at least two people answered, arrays (m,) in ascending order of `task`.

    `people` is people's leave-one-out agreement, 0..1. Intervals draw from `draws` samples with `seed`.
    """

    task: Ints
    instruction: Ints
    category: Ints
    people: Floats
    draws: int
    seed: int

    def rate(self, values: Floats, mask: Bools) -> Rate | None:
        """Return the mean of the finite values (m,) in the mask (m,), None if there are none."""
        known = mask & np.isfinite(values)
        if not known.any():
            return None
        (share,) = mean_shares([values[known]], self.instruction[known], draws=self.draws, seed=self.seed)
        return Rate(**vars(share), n=int(known.sum()))

    def row(self, values: Floats) -> Row:
        """Return the means of the values (m,) over all tasks and by category; NaN is no value."""
        masks = [self.category == pk for pk in np.unique(self.category)]
        return Row(self.rate(values, np.ones(len(values), dtype=np.bool_)), [self.rate(values, mask) for mask in masks])


def method_settings(criterion: str = "", against: str = "") -> Settings:
    """Return the settings of the report: a criterion, and the model of which all pairs must have a response."""
    return {"criterion": criterion, "against": against, "draws": DRAWS, "seed": 0}


def _compute(study: Study, settings: Settings) -> tuple[str, MethodReport]:
    frame = score_frame(kinds=ABOUT_RESPONSES, study=study, judges=False)
    return data_hash(frame), part(partial(_method_table, study, frame, settings))


METHODS: ReportKind[MethodReport] = register(
    ReportKind("judging methods", _compute, slow_from=60_000, shape=MethodReport)
)


def _method_table(study: Study, frame: ScoreFrame, settings: Settings) -> MethodTable:
    """Compare the judges with people. Raises NothingToRead, and NoStatistic without a judge or two people on a task."""
    found = measured(study, frame, settings)
    composites, imported = _kinds(found.names)
    failed = {row.judge.pk for row in failed_judges(study)}
    candidates = {pk for pk in found.names if pk not in composites | failed}
    return MethodTable(
        study=study.slug,
        criterion=found.criterion,
        criteria=ordered_keys(frame),
        against=found.against,
        models=found.models,
        categories=found.categories,
        people=found.tasks.row(found.tasks.people),
        people_rate=people_among_themselves(found.labelled, seed=found.tasks.seed)[0],
        methods=[
            MethodRow(
                **vars(found.tasks.row(found.matches[pk])),
                judge=name,
                unscored=found.unscored.get(pk, 0),
                composite=pk in composites,
                imported=pk in imported,
                failed=pk in failed,
                beside=_beside(found, pk),
                copies=_copied(found, pk),
            )
            for pk, name in sorted(found.names.items(), key=lambda pair: (pair[1], pair[0]))
        ],
        compared=part(partial(_compared, found, candidates)),
        composite=composite_rows(
            found.tasks, {found.names[pk]: values for pk, values in found.matches.items() if pk in candidates}
        ),
    )


def _beside(found: "Measured", pk: int) -> Beside | None:
    try:
        return beside_people(found.labelled, found.verdicts[pk], seed=found.tasks.seed)
    except TooFewRatings:
        return None


def _copied(found: "Measured", pk: int) -> str:
    """Name the rater whose labels a judge gives throughout, '' where there is none (see MethodRow)."""
    labelled = found.labelled
    said = found.verdicts[pk][labelled.task]
    for code, name in enumerate(found.raters):
        own = (labelled.rater == code) & (said >= 0)
        if own.sum() < LEAST_COPIED or (said[own] != labelled.label[own]).any():
            continue
        others = np.isin(labelled.task, labelled.task[own]) & (labelled.rater != code)
        if (said[others] != labelled.label[others]).any():
            return name
    return ""


def _compared(found: "Measured", candidates: set[int]) -> ComparedJudges:
    """Compare the judges that have a verdict on a task that two people answered. Raises TooFewRatings under two."""
    judged = [pk for pk in candidates if np.isfinite(found.matches[pk]).any()]
    pks = sorted(judged, key=lambda pk: (found.names[pk], pk))
    if len(pks) < PAIR:
        raise TooFewRatings(len(pks), PAIR, "judges")
    verdicts = np.vstack([found.verdicts[pk] for pk in pks])
    return ComparedJudges(
        [found.names[pk] for pk in pks], compare_judges(found.labelled, verdicts, seed=found.tasks.seed)
    )


@dataclass(frozen=True)
class Measured:
    """The tasks that people answered and, by primary key, what each judge's verdicts match of them (m,), 0 to 1 or NaN.

    `labelled` has people's labels, one line each, whose raters are called `raters`, and `verdicts` each judge's label of
    every task in it, -1 for none.
    """

    criterion: str
    against: str
    models: list[str]
    categories: list[CategoryColumn]
    tasks: Tasks
    matches: Mapping[int, Floats]
    names: Mapping[int, str]
    unscored: Mapping[int, int]
    labelled: LabelledTasks
    verdicts: Mapping[int, Ints]
    raters: list[str]


def measured(study: Study, frame: ScoreFrame, settings: Settings) -> Measured:
    """Measure every judge of the study by people's answers in `frame`. Raises as _method_table."""
    key, verdicts = _asked(study, frame, str(settings["criterion"]))
    people = frame.of_criterion(key)
    models = _models_of_pairs(people)
    against = str(settings["against"]) if settings["against"] in models else ""
    if against:
        pks = [pk for pk, name in people.model_names.items() if name == against]
        people = people.select(np.isin(people.model, pks) | np.isin(people.model_b, pks))
    tasks, matches, labelled, said = _tasks(people, verdicts, settings)
    categories = [CategoryColumn(people.category_names.get(pk, "all"), pk) for pk in np.unique(tasks.category).tolist()]
    raters = [people.rater_names.get(pk, "") for pk in np.unique(people.rater).tolist()]
    return Measured(
        key, against, models, categories, tasks, matches, verdicts.names, verdicts.unscored, labelled, said, raters
    )


def _asked(study: Study, frame: ScoreFrame, chosen: str) -> tuple[str, Verdicts]:
    """Return the chosen criterion, else the first that judges answered too, and what they said. Raises as _method_table.

    A judge of a checklist answers its items and not the overall score, by which people's criteria begin.
    """
    main = main_criterion(frame, chosen)
    for key in [main] if chosen else ordered_keys(frame):
        found = judges_verdicts(study, key)
        if found.names:
            return key, found
    raise Undefined("NoJudge", "No judge has rated responses of this study.")


def _models_of_pairs(people: ScoreFrame) -> list[str]:
    """Return the names of the models of pairs, in order; none where responses are judged one by one."""
    paired = people.response_b > 0
    pks = {*people.model[paired].tolist(), *people.model_b[paired].tolist()}
    return sorted(people.model_names[pk] for pk in pks if pk in people.model_names)


def _kinds(names: Mapping[int, str]) -> tuple[set[int], set[int]]:
    """Return which judges are composites, by their method or else their name, and which have no method here."""
    methods = dict(Judge.objects.filter(rater__in=list(names)).values_list("rater", "method"))
    composites = {pk for pk, name in names.items() if methods.get(pk) == COMPOSITE or says_composite(name)}
    return composites, set(names) - set(methods)


def _tasks(
    people: ScoreFrame, verdicts: Verdicts, settings: Settings
) -> tuple[Tasks, dict[int, Floats], LabelledTasks, dict[int, Ints]]:
    """Return the tasks, and by primary key each judge's match with people (m,), NaN where it has no verdict.

    After them people's labels, and each judge's labels of the tasks in these, -1 where it has no verdict.
    """
    labelled, said = people_and_verdicts(people, verdicts)
    kept, inner, outer = matches_by_task(people.task, labelled.label)
    highest = max((int(labels.max(initial=0)) for labels in said.values()), default=0)
    outer = np.column_stack([outer, np.zeros((len(kept), highest + 1))])
    known, first = np.unique(people.task, return_index=True)
    place = first[np.searchsorted(known, kept)]
    leaf, parent = people.category[place], people.parent[place]
    tasks = Tasks(
        task=kept,
        instruction=people.instruction[place],
        category=leaf if len(np.unique(leaf)) <= MOST_CATEGORIES else np.where(parent > 0, parent, leaf),
        people=inner,
        draws=int(settings["draws"]),
        seed=int(settings["seed"]),
    )
    matches = {}
    for pk, labels in said.items():
        own = labels[np.searchsorted(known, kept)]
        at = np.flatnonzero(own >= 0)
        matches[pk] = np.full(len(kept), np.nan)
        matches[pk][at] = outer[at, own[at]]
    return tasks, matches, labelled, said


def people_and_verdicts(people: ScoreFrame, verdicts: Verdicts) -> tuple[LabelledTasks, dict[int, Ints]]:
    """Return people's labels, one line each, and by primary key each judge's label of every task in them, -1 for none.

    The frame has one criterion, and tasks are its own in ascending order.
    """
    if people.role[0] == ROLES.index("preference"):
        labels, verdict_labels = side_labels(people), sides(verdicts.value, float(people.high.max()))
    else:
        codes = level_places(np.concatenate([people.label_values, verdicts.value]))
        labels, verdict_labels = codes[: len(people)], codes[len(people) :]
    known, line = np.unique(people.task, return_inverse=True)
    labelled = LabelledTasks(
        task=line.reshape(-1).astype(np.int64),
        label=labels,
        rater=np.unique(people.rater, return_inverse=True)[1].reshape(-1).astype(np.int64),
        instruction=np.unique(people.instruction, return_inverse=True)[1].reshape(-1).astype(np.int64),
        positions=are_positions(people),
    )
    said = {}
    for pk in verdicts.names:
        own = (verdicts.judge == pk) & np.isin(verdicts.task, known)
        said[pk] = np.full(len(known), -1, dtype=np.int64)
        said[pk][np.searchsorted(known, verdicts.task[own])] = verdict_labels[own]
    return labelled, said


def composite_rows(tasks: Tasks, matches: Mapping[str, Floats]) -> CrossFittedRows | Missing:
    """Choose among judges by their agreement with people (m,) in each category, and for all; composites are none of them.

    The reason stands in its place where there are too few tasks.
    """
    try:
        found = cross_fit(matches, tasks.category, tasks.instruction, seed=tasks.seed, splits=SPLITS)
    except TooFewTasks as error:
        return Missing.because(error)
    return CrossFittedRows(
        splits=len(found.splits),
        choices=[_shares(found.choices[pk]) for pk in np.unique(tasks.category).tolist()],
        singles=_shares(found.singles),
        composite=tasks.row(found.composite),
        single=tasks.row(found.single),
        people=tasks.row(tasks.people),
    )


def _shares(counts: Sequence[tuple[str, int]]) -> list[Chosen]:
    whole = sum(n for _judge, n in counts)
    return [Chosen(judge, n / whole) for judge, n in counts]
