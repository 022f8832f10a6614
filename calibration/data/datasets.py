"""Rows to arrays and labels: the only reader of scores for statistics.

A frame holds one entry a current score. It is read column by column and joined in numpy, so that a quarter of a
million scores take about a second; every array has the same length, and pks stand for rows until labels are asked.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from django.db import connections
from django.db.models import Q, QuerySet

from annotation.models import Assignment, Criterion, Rater, Score, Study, Task
from generation.models import MAIN_EXPERIMENT, Benchmark, Category, Instruction, LanguageModel, Response

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

ROLES = tuple(Criterion.Role.values)
ABOUT_RESPONSES = (Task.Kind.SINGLE, Task.Kind.PAIR, Task.Kind.CHECK)
"""Tasks whose answers say something of a response. A review's answers say, under the same criterion keys, whether a
judge's verdict on it is reasonable: they are no scores of the response."""
EVERY_KIND = tuple(Task.Kind)
"""For what holds of answers whatever they are about, as raters' agreement does; of one study, whose tasks are alike."""
UNCATEGORISED = "all"


class NothingToRead(LookupError):
    """The study or benchmark has no scores of the kind asked for."""


@dataclass(frozen=True)
class ScoreFrame:
    """One entry a current score; arrays of shape (n,). `criterion` and `role` index criterion_keys and ROLES.

    value is on the criterion's own scale, whose ends are low and high; where `applicable` is false it is 0 and
    means nothing. variant tells levels of one value apart ("both bad" from a tie): 0 for the first such level.
    category, parent, model, model_b and response_b are 0 where there is none.
    """

    assignment: Ints
    task: Ints
    response: Ints
    response_b: Ints
    instruction: Ints
    category: Ints
    parent: Ints
    model: Ints
    model_b: Ints
    rater: Ints
    criterion: Ints
    role: Ints
    position: Ints
    value: Floats
    low: Floats
    high: Floats
    applicable: Bools
    variant: Ints
    repeat: Ints
    is_judge: Bools
    criterion_keys: tuple[str, ...]
    model_names: Mapping[int, str]
    rater_names: Mapping[int, str]
    category_names: Mapping[int, str]
    instruction_ids: Mapping[int, str]

    def __len__(self) -> int:
        return len(self.value)

    @property
    def label_values(self) -> Floats:
        """The values, with levels that share one told apart: a further level of a value lies above the scale.

        For nominal statistics; the same answer has the same number in every frame. Shape (n,).
        """
        return np.where(self.variant > 0, self.high + 1 + self.variant, self.value)

    def select(self, mask: Bools) -> "ScoreFrame":
        """The entries where `mask`, shape (n,), is true; the labels stay."""
        arrays = {
            field.name: getattr(self, field.name)[mask]
            for field in fields(self)
            if isinstance(getattr(self, field.name), np.ndarray)
        }
        return replace(self, **arrays)

    def of_criterion(self, key: str) -> "ScoreFrame":
        """The applicable scores of one criterion; raises NothingToRead where there are none."""
        if key not in self.criterion_keys:
            raise NothingToRead(f"there is no criterion {key!r}; there are: {', '.join(self.criterion_keys)}")
        found = self.select((self.criterion == self.criterion_keys.index(key)) & self.applicable)
        if not len(found):
            raise NothingToRead(f"nobody has scored the criterion {key!r}")
        return found

    def keys_of_role(self, role: str) -> list[str]:
        """Keys of the criteria with this role that have scores, by position."""
        mask = self.role == ROLES.index(role)
        codes, first = np.unique(self.criterion[mask], return_index=True)
        positions = self.position[mask][first]
        return [self.criterion_keys[code] for code in codes[np.argsort(positions, kind="stable")]]


@dataclass(frozen=True)
class CategoryRows:
    """One category's complete checklist answers: answers (n, p) in [0, 1], overall (n,) 0..10.

    instruction, rater and model are pks, shape (n,), model 0 where unknown. Answers with an item that does not
    apply, or with items missing, are left out and counted.
    """

    key: str
    category: int
    parent: int
    keys: tuple[str, ...]
    answers: Floats
    overall: Floats
    assignment: Ints
    instruction: Ints
    rater: Ints
    model: Ints
    dropped_not_applicable: int
    dropped_incomplete: int


@dataclass(frozen=True)
class UnitLabels:
    """One criterion's labels, arrays of shape (m,): who gave which value to which task."""

    tasks: Ints
    responses: Ints
    values: Floats
    raters: Ints
    instruction: Ints
    category: Ints
    model: Ints


def score_frame(
    *,
    kinds: Collection[Task.Kind],
    study: Study | None = None,
    benchmark: Benchmark | None = None,
    raters: Iterable[int] | None = None,
    people: bool = True,
    judges: bool = True,
    experiment: str | None = MAIN_EXPERIMENT,
    keep_derived: bool | None = None,
    repeats: bool = False,
    discredited: bool = False,
) -> ScoreFrame:
    """The current scores that answer tasks of these `kinds`, in a study or in all studies of a benchmark's responses.

    People's answers to tasks with a known answer (gold, controls, training, qualification) are never read. Without
    `repeats`, only a rater's first answer to a task is: neither probes nor a judge's further rounds. `experiment` keeps
    a benchmark's runs apart (None: all); responses of no run belong to the main one. Verdicts derived from several (a
    jury's, both orders') are read where judges are read by themselves, and left out beside people, where their parts
    stand already. Verdicts of runs that failed their planted texts are read only where `discredited` ones are asked for.
    """
    keep_derived = not people if keep_derived is None else keep_derived
    assignments = _assignments(
        study, benchmark, raters, people, judges, experiment, keep_derived, repeats, kinds=kinds
    )
    if judges and not discredited:
        assignments = assignments.exclude(discredited=True)
    score_columns = _columns(
        Score.objects.filter(assignment__in=assignments).order_by(),
        ["assignment_id", "criterion_id", "revision", "value", "not_applicable"],
    )
    owners, criterion_pks, revision, value, not_applicable = score_columns
    keep = _latest(owners.astype(np.int64), criterion_pks.astype(np.int64), revision)
    owner, criterion_pk = owners[keep].astype(np.int64), criterion_pks[keep].astype(np.int64)
    value = value[keep]
    applicable = ~(not_applicable[keep] > 0)
    links = _table(assignments, ["id", "task_id", "rater_id", "repeat"])
    task = links.of(owner, "task_id")
    rater = links.of(owner, "rater_id")
    asked = _tasks_of(study, assignments)
    tasks = _table(asked, ["id", "response_a_id", "response_b_id"])
    response, response_b = tasks.of(task, "response_a_id"), tasks.of(task, "response_b_id")
    responses = _responses(asked)
    instruction = responses.of(response, "instruction_id")
    instruction_rows = _instructions(np.unique(instruction))
    category, parent, category_names = _categories(instruction_rows.of(instruction, "category_id"))
    criteria = _Criteria(np.unique(criterion_pk))
    variant = _variants(criteria, assignments, owner, criterion_pk)
    rater_rows = {row.pk: row for row in Rater.objects.filter(pk__in=np.unique(rater).tolist())}
    judge_pks = np.array(
        [pk for pk, row in rater_rows.items() if row.kind == Rater.Kind.JUDGE], dtype=np.int64
    )
    return ScoreFrame(
        assignment=owner,
        task=task,
        response=response,
        response_b=response_b,
        instruction=instruction,
        category=category,
        parent=parent,
        model=responses.of(response, "model_id"),
        model_b=responses.of(response_b, "model_id"),
        rater=rater,
        criterion=criteria.codes(criterion_pk),
        role=criteria.column(criterion_pk, "role").astype(np.int64),
        position=criteria.column(criterion_pk, "position").astype(np.int64),
        value=np.where(applicable, value, 0.0),
        low=criteria.column(criterion_pk, "low"),
        high=criteria.column(criterion_pk, "high"),
        applicable=applicable,
        variant=variant,
        repeat=links.of(owner, "repeat"),
        is_judge=np.isin(rater, judge_pks),
        criterion_keys=criteria.keys,
        model_names=dict(
            LanguageModel.objects.filter(responses__instruction_id__in=_subquery_of(np.unique(instruction)))
            .values_list("pk", "name")
            .distinct()
        ),
        rater_names={pk: row.name for pk, row in rater_rows.items()},
        category_names=category_names,
        instruction_ids=instruction_rows.labels,
    )


def checklist_rows(frame: ScoreFrame) -> list[CategoryRows]:
    """Per leaf category, in order of its pk, the complete answers as a matrix; one category 'all' where there is none.

    Raises NothingToRead where no answer has both items and an overall score.
    """
    names = _unique_names(frame)
    found = []
    for category in np.unique(frame.category):
        part = frame.select(frame.category == category)
        rows = _category_rows(part, names[int(category)], int(category))
        if rows is not None:
            found.append(rows)
    if not found:
        raise NothingToRead("no answer has both checklist items and an overall score")
    return found


def unit_labels(frame: ScoreFrame, criterion_key: str) -> UnitLabels:
    """The applicable values of one criterion; raises NothingToRead where there are none."""
    part = frame.of_criterion(criterion_key)
    return UnitLabels(
        tasks=part.task,
        responses=part.response,
        values=part.value,
        raters=part.rater,
        instruction=part.instruction,
        category=part.category,
        model=part.model,
    )


def unscored_counts(
    *,
    study: Study | None = None,
    benchmark: Benchmark | None = None,
    experiment: str | None = MAIN_EXPERIMENT,
) -> dict[int, dict[tuple[int, int], int]]:
    """Per rater pk, how many verdicts could not be used, by (leaf category pk, model pk), 0 for none."""
    assignments = _assignments(
        study, benchmark, None, True, True, experiment, False, True, Assignment.Status.UNSCORED
    ).filter(task__gold__isnull=True)
    counts: dict[int, dict[tuple[int, int], int]] = {}
    rows = assignments.values_list(
        "rater_id", "task__response_a__instruction__category_id", "task__response_a__model_id"
    )
    for rater, category, model in rows:
        cell = counts.setdefault(rater, {})
        cell[category or 0, model or 0] = cell.get((category or 0, model or 0), 0) + 1
    return counts


def unusable_counts(
    *,
    study: Study | None = None,
    benchmark: Benchmark | None = None,
    experiment: str | None = MAIN_EXPERIMENT,
) -> dict[int, dict[str, int]]:
    """Per rater pk and criterion key, the answers that were taken but whose value of this criterion was unusable."""
    assignments = _assignments(study, benchmark, None, True, True, experiment, False, True)
    counts: dict[int, dict[str, int]] = {}
    noted = assignments.filter(conditions__has_key="unusable").values_list("rater_id", "conditions__unusable")
    for rater, unusable in noted:
        cell = counts.setdefault(rater, {})
        for key in unusable or {}:
            cell[key] = cell.get(key, 0) + 1
    return counts


def data_hash(frame: ScoreFrame) -> str:
    """SHA-256 of who gave what to what in which category, in labels: the same data, the same hash in any database."""
    raters = _coded(frame.rater, frame.rater_names)
    models = _coded(frame.model, frame.model_names)
    rivals = _coded(frame.model_b, frame.model_names)
    instructions = _coded(frame.instruction, frame.instruction_ids)
    criteria_order = np.argsort(np.argsort(np.array(frame.criterion_keys or ("",))))
    criteria = criteria_order[frame.criterion] if len(frame) else frame.criterion
    columns = [instructions[0], models[0], rivals[0], raters[0], criteria, frame.repeat]
    order = np.lexsort([frame.variant, frame.value, *reversed(columns)])
    digest = hashlib.sha256()
    for labels in (instructions[1], models[1], rivals[1], raters[1], tuple(sorted(frame.criterion_keys))):
        digest.update("\x1f".join(labels).encode() + b"\x1e")
    for column in columns:
        digest.update(np.ascontiguousarray(column[order], dtype="<i8").tobytes())
    digest.update(np.ascontiguousarray(frame.value[order], dtype="<f8").tobytes())
    digest.update(np.packbits(frame.applicable[order]).tobytes())
    if frame.variant.any():
        digest.update(np.ascontiguousarray(frame.variant[order], dtype="<i8").tobytes())
    digest.update("\x1e".join(_filed(frame)).encode())
    return digest.hexdigest()


def _filed(frame: ScoreFrame) -> list[str]:
    """Each instruction with its category and the one above it, in labels: what is fitted by category rests on that."""
    pks, first = np.unique(frame.instruction, return_index=True)
    names = frame.category_names
    return sorted(
        "\x1f".join([frame.instruction_ids.get(pk, ""), names.get(leaf, ""), names.get(parent, "")])
        for pk, leaf, parent in zip(
            pks.tolist(), frame.category[first].tolist(), frame.parent[first].tolist(), strict=True
        )
    )


def _assignments(
    study: Study | None,
    benchmark: Benchmark | None,
    raters: Iterable[int] | None,
    people: bool,
    judges: bool,
    experiment: str | None,
    keep_derived: bool,
    repeats: bool,
    status: str = Assignment.Status.SUBMITTED,
    kinds: Collection[Task.Kind] = ABOUT_RESPONSES,
) -> QuerySet[Assignment]:
    statuses = [status, Assignment.Status.DERIVED] if keep_derived else [status]
    found = Assignment.objects.filter(status__in=statuses).order_by()
    if set(kinds) != set(EVERY_KIND):
        found = found.filter(task__kind__in=[str(kind) for kind in kinds])
    if not repeats:
        found = found.filter(repeat=0)
    if study is not None:
        found = found.filter(task__study=study)
    elif benchmark is not None:
        found = found.filter(task__response_a__instruction__benchmark=benchmark)
        if experiment == MAIN_EXPERIMENT:
            found = found.exclude(
                task__response_a__run__in=benchmark.generation_runs.exclude(experiment=experiment)
            )
        elif experiment is not None:
            found = found.filter(task__response_a__run__experiment=experiment)
    else:
        raise ValueError("a frame is of a study or of a benchmark")
    if raters is not None:
        found = found.filter(rater__in=list(raters))
    who = Q(rater__kind=Rater.Kind.JUDGE) if judges else Q(pk__in=[])
    if people:
        who |= Q(rater__kind__in=[Rater.Kind.PERSON, Rater.Kind.SLOT], task__gold__isnull=True)
    return found.filter(who)


def _columns(queryset: QuerySet[Any], names: list[str]) -> list[Floats]:
    """The columns of a query as float arrays, NULL as NaN, read past the ORM's per-row work."""
    sql, parameters = queryset.values_list(*names).query.sql_with_params()
    parts: list[Floats] = []
    with connections[queryset.db].cursor() as cursor:
        cursor.execute(sql, parameters)
        while rows := cursor.fetchmany(20_000):
            parts.append(np.array(rows, dtype=np.float64))
    table = np.concatenate(parts) if parts else np.empty((0, len(names)))
    return list(table.T)


@dataclass(frozen=True)
class _Table:
    pks: Ints
    columns: Mapping[str, Ints]

    def of(self, pks: Ints, column: str) -> Ints:
        """The column's value for each pk, 0 for pk 0."""
        if not len(self.pks):
            return np.zeros(len(pks), dtype=np.int64)
        places = np.minimum(np.searchsorted(self.pks, pks), len(self.pks) - 1)
        return np.where(self.pks[places] == pks, self.columns[column][places], 0)


def _table(queryset: QuerySet[Any], names: list[str]) -> _Table:
    columns = [np.nan_to_num(column).astype(np.int64) for column in _columns(queryset.order_by(), names)]
    order = np.argsort(columns[0])
    return _Table(
        columns[0][order], {name: column[order] for name, column in zip(names, columns, strict=True)}
    )


def _tasks_of(study: Study | None, assignments: QuerySet[Assignment]) -> QuerySet[Task]:
    """Tasks that hold all of the assignments': a study's own are found without going through its answers."""
    if study is not None:
        return Task.objects.filter(study=study).order_by()
    return Task.objects.filter(pk__in=assignments.values("task_id")).order_by()


def _responses(tasks: QuerySet[Task]) -> _Table:
    names = ["id", "instruction_id", "model_id"]
    first = _table(Response.objects.filter(pk__in=tasks.values("response_a_id")), names)
    pairs = tasks.filter(response_b__isnull=False)
    second = _table(Response.objects.filter(pk__in=pairs.values("response_b_id")), names)
    pks, places = np.unique(np.concatenate([first.pks, second.pks]), return_index=True)
    columns = {name: np.concatenate([first.columns[name], second.columns[name]])[places] for name in names}
    return _Table(pks, columns)


@dataclass(frozen=True)
class _LabelledTable(_Table):
    labels: Mapping[int, str]


def _subquery_of(pks: Ints) -> list[int]:
    return [int(pk) for pk in pks]


def _instructions(pks: Ints) -> _LabelledTable:
    rows: list[tuple[int, int, str]] = []
    for start in range(0, len(pks), 10_000):
        part = [int(pk) for pk in pks[start : start + 10_000]]
        found = Instruction.objects.filter(pk__in=part).order_by("pk")
        rows += [
            (pk, category or 0, label)
            for pk, category, label in found.values_list("pk", "category_id", "external_id")
        ]
    ids = np.array([row[0] for row in rows], dtype=np.int64)
    categories = np.array([row[1] for row in rows], dtype=np.int64)
    return _LabelledTable(ids, {"category_id": categories}, {row[0]: row[2] for row in rows})


def _categories(leaves: Ints) -> tuple[Ints, Ints, dict[int, str]]:
    rows = list(
        Category.objects.filter(pk__in=[int(pk) for pk in np.unique(leaves)]).values_list(
            "pk", "key", "parent_id", "parent__key"
        )
    )
    names = {pk: key for pk, key, _parent, _parent_key in rows}
    names |= {parent or pk: parent_key or key for pk, key, parent, parent_key in rows}
    tops = {pk: parent or pk for pk, _key, parent, _parent_key in rows}
    known, places = np.unique(leaves, return_inverse=True)
    parents = np.array([tops.get(int(pk), 0) for pk in known], dtype=np.int64)
    return leaves, parents[places] if len(known) else leaves, names


class _Criteria:
    """Criteria of the scores read, as columns addressed by pk."""

    def __init__(self, pks: Ints) -> None:
        rows = sorted(Criterion.objects.filter(pk__in=[int(pk) for pk in pks]), key=lambda row: row.pk)
        self.rows = rows
        self.keys = tuple(sorted({row.key for row in rows}))
        self._pks = np.array([row.pk for row in rows], dtype=np.int64)
        ends = [row.ends for row in rows]
        self._columns = {
            "code": np.array([self.keys.index(row.key) for row in rows], dtype=np.float64),
            "role": np.array([ROLES.index(row.role) for row in rows], dtype=np.float64),
            "position": np.array([row.position for row in rows], dtype=np.float64),
            "low": np.array([low for low, _high in ends], dtype=np.float64),
            "high": np.array([high for _low, high in ends], dtype=np.float64),
        }

    def column(self, pks: Ints, name: str) -> Floats:
        return self._columns[name][np.searchsorted(self._pks, pks)]

    def codes(self, pks: Ints) -> Ints:
        return self.column(pks, "code").astype(np.int64)


def _variants(
    criteria: _Criteria, assignments: QuerySet[Assignment], owner: Ints, criterion_pk: Ints
) -> Ints:
    """Which of the levels that share a value was chosen; read only for scales that have such levels."""
    found = np.zeros(len(owner), dtype=np.int64)
    for criterion in criteria.rows:
        seen: dict[float, int] = {}
        for level in criterion.levels:
            number = seen.get(float(level["value"]), 0)
            seen[float(level["value"])] = number + 1
            if number:
                chosen = Score.objects.filter(
                    assignment__in=assignments, criterion=criterion, level=level["key"]
                )
                pks = np.fromiter(chosen.values_list("assignment_id", flat=True), dtype=np.int64)
                found[(criterion_pk == criterion.pk) & np.isin(owner, pks)] = number
    return found


def _latest(owner: Ints, criterion: Ints, revision: Floats) -> Ints:
    """Places of the highest revision of each (assignment, criterion), in order of assignment and criterion."""
    order = np.lexsort([revision, criterion, owner])
    last = np.ones(len(order), dtype=bool)
    if len(order):
        ahead, behind = order[1:], order[:-1]
        last[:-1] = (owner[ahead] != owner[behind]) | (criterion[ahead] != criterion[behind])
    return order[last].astype(np.int64)


def _unique_names(frame: ScoreFrame) -> dict[int, str]:
    """A name for each leaf category; the parent's key stands before it where two leaves share a key."""
    leaves, first = np.unique(frame.category, return_index=True)
    plain = {int(leaf): frame.category_names.get(int(leaf), UNCATEGORISED) for leaf in leaves}
    parents = {int(leaf): int(frame.parent[place]) for leaf, place in zip(leaves, first, strict=True)}
    counts: dict[str, int] = {}
    for name in plain.values():
        counts[name] = counts.get(name, 0) + 1
    return {
        leaf: name
        if counts[name] == 1
        else f"{frame.category_names.get(parents[leaf], UNCATEGORISED)}/{name}"
        for leaf, name in plain.items()
    }


def _category_rows(part: ScoreFrame, name: str, category: int) -> CategoryRows | None:
    keys, overall_keys = part.keys_of_role("item"), part.keys_of_role("overall")
    if not keys or not overall_keys:
        return None
    columns = {part.criterion_keys.index(key): column for column, key in enumerate([*keys, overall_keys[0]])}
    wanted = part.select(np.isin(part.criterion, list(columns)))
    owners, first, row = np.unique(wanted.assignment, return_index=True, return_inverse=True)
    column = np.array([columns.get(code, 0) for code in range(len(part.criterion_keys))])[wanted.criterion]
    table = np.full((len(owners), len(columns)), np.nan)
    table[row, column] = (wanted.value - wanted.low) / (wanted.high - wanted.low)
    hidden = np.zeros(len(owners), dtype=bool)
    hidden[row[~wanted.applicable]] = True
    complete = ~np.isnan(table).any(axis=1)
    keep = complete & ~hidden
    if not keep.any():
        return None
    return CategoryRows(
        key=name,
        category=category,
        parent=int(part.parent[0]),
        keys=tuple(keys),
        answers=table[keep, :-1],
        overall=table[keep, -1] * 10,
        assignment=owners[keep],
        instruction=wanted.instruction[first][keep],
        rater=wanted.rater[first][keep],
        model=wanted.model[first][keep],
        dropped_not_applicable=int(hidden.sum()),
        dropped_incomplete=int((~complete & ~hidden).sum()),
    )


def _coded(pks: Ints, names: Mapping[int, str]) -> tuple[Ints, tuple[str, ...]]:
    """Codes into the sorted labels of the pks that occur, and those labels."""
    known, places = np.unique(pks, return_inverse=True)
    labels = [names.get(int(pk), "") for pk in known]
    ordered = tuple(sorted(set(labels)))
    return np.array([ordered.index(label) for label in labels], dtype=np.int64)[places], ordered
