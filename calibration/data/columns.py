"""Columns of tables as arrays, found by primary key: what a frame's rows are joined from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import connections
from django.db.models import QuerySet

from annotation.models import Assignment, Criterion, Study, Task
from calibration.data.frames import ROLES, Floats, Ints
from generation.library.prompts import prompt_name, prompts_of
from generation.models import Category, Instruction, Response


def columns_of(queryset: QuerySet[Any], names: list[str]) -> list[Floats]:
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
class RowTable:
    pks: Ints
    columns: Mapping[str, Ints]

    def of(self, pks: Ints, column: str) -> Ints:
        """The column's value for each pk, 0 for pk 0."""
        if not len(self.pks):
            return np.zeros(len(pks), dtype=np.int64)
        places = np.minimum(np.searchsorted(self.pks, pks), len(self.pks) - 1)
        return np.where(self.pks[places] == pks, self.columns[column][places], 0)


def table_of(queryset: QuerySet[Any], names: list[str]) -> RowTable:
    columns = [np.nan_to_num(column).astype(np.int64) for column in columns_of(queryset.order_by(), names)]
    order = np.argsort(columns[0])
    return RowTable(columns[0][order], {name: column[order] for name, column in zip(names, columns, strict=True)})


def tasks_of(study: Study | None, assignments: QuerySet[Assignment]) -> QuerySet[Task]:
    """Tasks that hold all of the assignments': a study's own are found without going through its answers."""
    if study is not None:
        return Task.objects.filter(study=study).order_by()
    return Task.objects.filter(pk__in=assignments.values("task_id")).order_by()


def responses_of(tasks: QuerySet[Task]) -> RowTable:
    names = ["id", "instruction_id", "model_id"]
    first = table_of(Response.objects.filter(pk__in=tasks.values("response_a_id")), names)
    pairs = tasks.filter(response_b__isnull=False)
    second = table_of(Response.objects.filter(pk__in=pairs.values("response_b_id")), names)
    pks, places = np.unique(np.concatenate([first.pks, second.pks]), return_index=True)
    columns = {name: np.concatenate([first.columns[name], second.columns[name]])[places] for name in names}
    return RowTable(pks, columns)


@dataclass(frozen=True)
class _LabelledTable(RowTable):
    labels: Mapping[int, str]


def instructions_of(pks: Ints) -> _LabelledTable:
    rows: list[tuple[int, int, str]] = []
    for start in range(0, len(pks), 10_000):
        part = [int(pk) for pk in pks[start : start + 10_000]]
        found = Instruction.objects.filter(pk__in=part).order_by("pk")
        rows += [
            (pk, category or 0, label) for pk, category, label in found.values_list("pk", "category_id", "external_id")
        ]
    ids = np.array([row[0] for row in rows], dtype=np.int64)
    categories = np.array([row[1] for row in rows], dtype=np.int64)
    return _LabelledTable(ids, {"category_id": categories}, {row[0]: row[2] for row in rows})


def with_one_prompt(instruction: Ints, labels: Mapping[int, str]) -> tuple[Ints, Mapping[int, str]]:
    """The instruction (n,) that stands for the prompt of each, and the names of all of them by primary key."""
    prompts = prompts_of(labels)
    if not prompts:
        return instruction, labels
    known, places = np.unique(instruction, return_inverse=True)
    standing = np.array([prompts.get(pk, pk) for pk in known.tolist()], dtype=np.int64)
    names = {prompts.get(pk, pk): prompt_name(label) if pk in prompts else label for pk, label in labels.items()}
    return standing[places.reshape(-1)], names


def categories_of(leaves: Ints) -> tuple[Ints, Ints, dict[int, str]]:
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


class Criteria:
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
