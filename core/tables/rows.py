"""A row of a table: its texts by column, and the lists and objects among its values. PURE."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeAlias

from core.tables import messages
from core.tables.bad_rows import Place
from core.tables.paths import beginnings, value_at
from core.text import storable

Nested: TypeAlias = Mapping[str, "list[Any] | dict[str, Any]"]
NOT_NESTED: Nested = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Row:
    """A row's texts by column; `nested` has those values that are lists or objects in the file, as they are."""

    place: Place
    values: Mapping[str, str]
    nested: Nested = field(default_factory=lambda: NOT_NESTED)

    def one(self, column: str) -> str:
        """The text of a column that holds one value: also that of a list with one. Raises BadRow for other lists."""
        if column not in self.nested:
            return self.values[column]
        value = self.nested[column]
        if not value:
            return ""
        if isinstance(value, dict) or len(value) > 1 or isinstance(value[0], list | dict):
            what = messages.AN_OBJECT() if isinstance(value, dict) else messages.A_LIST(n=len(value))
            raise self.place.bad(messages.SEVERAL_VALUES(column=column, what=what), messages.ONE_VALUE())
        return as_text(value[0])

    def texts(self, column: str) -> list[str]:
        """The texts of a column that may hold a list, one of each element; [] where it is empty. Raises BadRow."""
        value = self.nested.get(column)
        if value is None:
            return [self.values[column]] if self.values.get(column) else []
        if isinstance(value, dict) or any(isinstance(part, list | dict) for part in value):
            raise self.place.bad(messages.OBJECTS_IN_COLUMN(column=column), messages.TEXT_OR_LIST())
        return [text for text in map(as_text, value) if text]


def as_text(value: object) -> str:
    if value is None or (isinstance(value, float) and value != value):
        return ""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    if isinstance(value, bytes):
        return storable(value.decode(errors="replace"))
    return str(value)


def nested_in(value: Mapping[str, Any]) -> Nested:
    return {key: item for key, item in value.items() if isinstance(item, list | dict)} or NOT_NESTED


def row_of(place: Place, value: Mapping[str, Any], wanted: Iterable[str] = ()) -> Row:
    """Return an object as a row; a wanted column that it lacks is what a dotted path leads to, or empty."""
    values = {key: as_text(item) for key, item in value.items()}
    nested = dict(nested_in(value))
    for column in wanted:
        if column not in values:
            found = value_at(value, column)
            values[column] = as_text(found)
            if isinstance(found, list | dict):
                nested[column] = found
    return Row(place, values, nested or NOT_NESTED)


def unread(met: Iterable[str], read: Iterable[str]) -> list[str]:
    """Return the columns of `met` that are not in `read`, for the result of a load, which names them."""
    known = set(read)
    begun = {beginning for path in known for beginning in beginnings(path)}
    return [column for column in met if column not in known and column not in begun]
