"""What a format that is written is: a name, a writer, the tasks that it can hold and the ending of its file. PURE."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from judging.formats.answers import Answered, Files, WriteOptions

SINGLE, PAIR, ANY = "single", "pair", "any"


@dataclass(frozen=True)
class Writer:
    """A format. `tasks` says whether it holds ratings of single responses, comparisons of pairs, or both.

    `write` returns how many answers, or rows made from several of them, it wrote. With `several` it writes several files,
    which go into one zip. With `texts` its rows hold texts of instructions and responses.
    """

    key: str
    name: str
    write: Callable[[Answered, Files, WriteOptions], int]
    tasks: str = ANY
    ending: str = "jsonl"
    several: bool = False
    texts: bool = False
    table: bool = False
    """Whether the file is the table of answers as Parquet, with a card, instead of what `write` makes."""


class JsonArray:
    """Writes the objects of a JSON array one after another into a file."""

    def __init__(self, files: Files, name: str = "") -> None:
        self.files, self.name, self.rows = files, name, 0

    def add(self, row: Mapping[str, object]) -> None:
        self.files.write(("[\n" if not self.rows else ",\n") + json.dumps(row, ensure_ascii=False), self.name)
        self.rows += 1

    def end(self) -> int:
        """Close the array and return the number of its objects."""
        self.files.write("\n]\n" if self.rows else "[]\n", self.name)
        return self.rows


class FileNames:
    """Names of files made from names of models or raters, each of them different."""

    def __init__(self, ending: str) -> None:
        self.ending = ending
        self._known: dict[str, str] = {}
        self._taken: set[str] = set()

    def of(self, name: str) -> str:
        if name not in self._known:
            plain = re.sub(r"[^\w.-]+", "-", name, flags=re.ASCII).strip("-.")[:100] or "unnamed"
            found, number = plain, 1
            while found.casefold() in self._taken:
                number += 1
                found = f"{plain}-{number}"
            self._taken.add(found.casefold())
            self._known[name] = found
        return f"{self._known[name]}.{self.ending}"


def line(row: Mapping[str, object]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"


def without_empty(row: Mapping[str, object]) -> dict[str, object]:
    """Return the fields that have a value."""
    return {key: value for key, value in row.items() if value not in (None, "", [], {})}
