"""The source of the functions behind a number, as the method notes show it: what each file says and does. PURE."""

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

SHOWN = (
    "calibration.agreement", "calibration.alpha", "calibration.alternative_annotator", "calibration.bias",
    "calibration.bradley_terry", "calibration.certificates", "calibration.comparison", "calibration.conduct",
    "calibration.consensus", "calibration.davidson", "calibration.decision", "calibration.elo", "calibration.games",
    "calibration.kappas", "calibration.least_squares", "calibration.newton", "calibration.paired_effects",
    "calibration.planner", "calibration.pooling", "calibration.power", "calibration.prediction_powered",
    "calibration.proportions", "calibration.rank_intervals", "calibration.ranking", "calibration.rater_correlations",
    "calibration.rating_tables", "calibration.reliability", "calibration.repeats", "calibration.resampling",
    "calibration.rows", "calibration.score_ranking", "calibration.severity", "calibration.shares",
    "calibration.simulation", "calibration.soft_verdicts", "calibration.statistic_errors", "calibration.variance",
    "calibration.weight_gains", "calibration.weight_sensitivity", "calibration.weights", "generation.overlap",
    "generation.overlap",
    "generation.refusals", "generation.textmetrics", "judging.benchmark_scores", "judging.canaries", "judging.combining",
    "judging.corrected_scores", "judging.drift", "judging.measures", "judging.methods.composite",
    "judging.paired_difference", "judging.scoring",
)  # fmt: skip
"""The files that may be shown, by module: mathematics that reads neither settings nor rows."""


@dataclass(frozen=True)
class Part:
    """A function or class of a file, or what stands between them ("name" empty); `line` is its first, from 1."""

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
    """A file: what it says of itself, its parts in order, and which of the files shown it builds on."""

    module: str
    about: str
    parts: tuple[Part, ...]
    builds_on: tuple[str, ...]


@cache
def method_source(module: str) -> MethodSource | None:
    """None where the module is not one that is shown."""
    if module not in SHOWN:
        return None
    path = ROOT.joinpath(*module.split(".")).with_suffix(".py")
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    imported = {one.module for one in ast.walk(tree) if isinstance(one, ast.ImportFrom) and one.module}
    return MethodSource(
        module=module,
        about=ast.get_docstring(tree) or "",
        parts=_parts(tree, text.splitlines()),
        builds_on=tuple(sorted(imported.intersection(SHOWN))),
    )


def _parts(tree: ast.Module, lines: list[str]) -> tuple[Part, ...]:
    """The file cut into its definitions and the lines between them, its docstring left out; no line is lost."""
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
