"""Delete rows with all that points to them: first counted, then deleted without loading a single one.

Django's own collector loads every row that has dependents. Here only ids are read, in batches, and the foreign keys,
which both databases check at the commit, make sure that nothing is left behind.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from django.db.models import SET_NULL, Field, Model, Q

from core.db.created_rows import ranges_of

AT_ONCE = 500
RANGES_AT_ONCE = 100
AnyModel = type[Model]


class Removal:
    """Rows to delete: those that are added, and all rows that point to them and cannot do without.

    Rows that can do without lose their link. What is protected goes, too, unless the caller looks at `ids` first.
    """

    def __init__(self) -> None:
        self.ids: dict[AnyModel, set[int]] = {}
        self._links: list[tuple[AnyModel, str, set[int]]] = []

    def add(self, model: AnyModel, ids: Iterable[int]) -> "Removal":
        """Add the rows and whatever points to them."""
        known = self.ids.setdefault(model, set())
        new = set(ids) - known
        known |= new
        if new:
            for relation in relations_to(model):
                table, field = relation.related_model, relation.field
                if relation.on_delete is SET_NULL:
                    self._links.append((table, field.attname, new))
                else:
                    self.add(table, pointing(table, field, new))
        return self

    def counts(self) -> dict[str, int]:
        """How many rows of each table go, by model label."""
        return {model._meta.label: len(ids) for model, ids in sorted(self.ids.items(), key=_label) if ids}

    def carry_out(self) -> None:
        """Delete the rows. Called in a transaction, and for rows of the record inside `removing`."""
        for table, name, ids in self._links:
            for some in conditions(name, ids):
                table._base_manager.filter(some).update(**{name: None})
        for model in self._in_order():
            for some in conditions("pk", self.ids[model]):
                rows = model._base_manager.filter(some)
                rows._raw_delete(rows.db)

    def _in_order(self) -> list[AnyModel]:
        """The tables, each after those whose rows need a row of it.

        A trigger that counts a deleted row reads the row to which it belongs, so that one must still be there.
        """
        order: dict[AnyModel, None] = {}

        def visit(model: AnyModel, under_way: frozenset[AnyModel]) -> None:
            for relation in relations_to(model):
                table = relation.related_model
                if not relation.field.null and table in self.ids and table not in order and table not in under_way:
                    visit(table, under_way | {model})
            order[model] = None

        for model in self.ids:
            if model not in order:
                visit(model, frozenset({model}))
        return list(order)


def relations_to(model: AnyModel) -> Iterator[Any]:
    """The foreign keys by which rows of other tables, or of this one, point to rows of the model."""
    for relation in model._meta.get_fields(include_hidden=True):
        if relation.auto_created and not relation.concrete and (relation.one_to_many or relation.one_to_one):
            yield relation


def pointing(table: AnyModel, field: "Field[Any, Any]", ids: Collection[int]) -> dict[int, int]:
    """The keys of the table's rows whose foreign key is one of these ids, each with that id."""
    found: dict[int, int] = {}
    for some in conditions(field.attname, ids):
        found.update(table._base_manager.filter(some).order_by().values_list("pk", field.attname))
    return found


def conditions(name: str, ids: Collection[int]) -> Iterator[Q]:
    """Filters that together find rows whose field is one of the ids: a run of ids costs one comparison."""
    ranges = ranges_of(ids)
    single = [low for low, high in ranges if low == high]
    for start in range(0, len(single), AT_ONCE):
        yield Q(**{f"{name}__in": single[start : start + AT_ONCE]})
    runs = [Q(**{f"{name}__gte": low, f"{name}__lte": high}) for low, high in ranges if low != high]
    for start in range(0, len(runs), RANGES_AT_ONCE):
        some = Q()
        for run in runs[start : start + RANGES_AT_ONCE]:
            some |= run
        yield some


def _label(entry: tuple[AnyModel, set[int]]) -> str:
    return entry[0]._meta.label
