"""The source of the functions that compute a number, as the method notes show it."""

import ast
from dataclasses import dataclass
from functools import cache

from django.conf import settings

PACKAGES = ("calibration.statistics", "generation.text_metrics", "judging.scores")
"""Packages whose files may all be shown: they compute, and read neither settings nor rows."""
FILES = ("judging.methods.canaries", "judging.methods.combining", "judging.methods.pairs.composite")
"""Files of other packages that may be shown."""


@cache
def shown() -> frozenset[str]:
    """Return the modules whose source a page may show."""
    found = set(FILES)
    for package in PACKAGES:
        folder = settings.BASE_DIR.joinpath(*package.split("."))
        files = (file.relative_to(settings.BASE_DIR) for file in folder.rglob("*.py") if file.name != "__init__.py")
        found.update(".".join(file.with_suffix("").parts) for file in files)
    return frozenset(found)


@dataclass(frozen=True)
class Part:
    """A function or class of a file, or the code between them (`name` is empty); `line` is its first line, from 1."""

    name: str
    signature: str
    line: int
    source: str

    @property
    def public(self) -> bool:
        """Whether other files may call it."""
        return bool(self.name) and not self.name.startswith("_")


@dataclass(frozen=True)
class MethodSource:
    """A file: its docstring, its parts in order, and the shown modules that it imports."""

    module: str
    about: str
    parts: tuple[Part, ...]
    builds_on: tuple[str, ...]


@cache
def method_source(module: str) -> MethodSource | None:
    """Read a module's source; None if the module may not be shown."""
    if module not in shown():
        return None
    path = settings.BASE_DIR.joinpath(*module.split(".")).with_suffix(".py")
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    imported = {one.module for one in ast.walk(tree) if isinstance(one, ast.ImportFrom) and one.module}
    return MethodSource(
        module=module,
        about=ast.get_docstring(tree) or "",
        parts=_parts(tree, text.splitlines()),
        builds_on=tuple(sorted(imported & shown())),
    )


def _parts(tree: ast.Module, lines: list[str]) -> tuple[Part, ...]:
    """Split the file, without its docstring, into definitions and the lines between them; no line is lost."""
    found: list[Part] = []
    done = tree.body[0].end_lineno or 0 if ast.get_docstring(tree) is not None else 0
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            continue
        first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        found += _between(lines, done, first - 1)
        done = node.end_lineno or first
        source = "\n".join(lines[first - 1 : done])
        found.append(Part(node.name, lines[node.lineno - 1].strip(), first, source))
    return (*found, *_between(lines, done, len(lines)))


def _between(lines: list[str], start: int, end: int) -> list[Part]:
    kept = [number for number in range(start, end) if lines[number].strip()]
    if not kept:
        return []
    return [Part("", "", kept[0] + 1, "\n".join(lines[kept[0] : kept[-1] + 1]))]
