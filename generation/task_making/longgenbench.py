"""Tasks of LongGenBench's kind, drawn from lists of our own: long texts of numbered parts, and what to check in them.

Each task has five single instructions, one range and one periodic one (arXiv 2409.02076, 2.2 and 2.3). PURE.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.errors import UserError
from core.tables.bad_rows import Place
from generation.importers.longgenbench import QUESTION, QUESTION_ZH, VERSIONS
from generation.importers.records import CheckRecord, CheckSetRecord, InstructionRecord

SINGLES = 5
LEAST_ENTRIES = 20
LISTS = ("names", "settings", "single", "range", "periodic")
SEPARATOR = "#*#"
FINISHED = "*** finished ***"


@dataclass(frozen=True)
class Version:
    """How long a text is: what a part is called, how many there are, and the words of each.

    `range` and `interval` are the least and the most parts of a range, and between two parts of a period.
    """

    mark: str
    parts: int
    words: int
    range: tuple[int, int]
    interval: tuple[int, int]


@dataclass(frozen=True)
class Scenario:
    """One of the four scenarios: its wording and its lists, each of LEAST_ENTRIES entries or more."""

    key: str
    opening: str
    subjects: str
    versions: Mapping[str, Version]
    lists: Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class LongTask:
    """An instruction and its checks."""

    instruction: InstructionRecord
    checks: CheckSetRecord


def read_scenarios(data: Mapping[str, Any]) -> dict[str, Scenario]:
    """Read the scenarios of a file such as fixtures/long_tasks/scenarios.json. Raises UserError."""
    scenarios = {}
    try:
        for key, entry in data["scenarios"].items():
            lists = {name: tuple(map(str, entry[name])) for name in LISTS}
            for name, entries in lists.items():
                if len(set(entries)) != len(entries) or len(entries) < LEAST_ENTRIES:
                    raise UserError(
                        f"Scenario {key!r}: the list {name!r} has {len(set(entries))} different entries of "
                        f"{len(entries)}; give at least {LEAST_ENTRIES}, each once."
                    )
            versions = {version: _version(entry["versions"][version]) for version in VERSIONS}
            scenarios[str(key)] = Scenario(str(key), str(entry["opening"]), str(entry["subjects"]), versions, lists)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(
            f"The scenarios cannot be read ({type(error).__name__}: {error}); give each scenario an opening, subjects, "
            f"versions, and the lists {', '.join(LISTS)}."
        ) from error
    return scenarios


def _version(entry: Mapping[str, Any]) -> Version:
    ends = {name: (int(entry[name][0]), int(entry[name][1])) for name in ("range", "interval")}
    version = Version(str(entry["mark"]), int(entry["parts"]), int(entry["words"]), ends["range"], ends["interval"])
    longest_period = 4 * version.interval[1]
    if not (
        0 < version.range[0] <= version.range[1]
        and 0 < version.interval[0] <= version.interval[1]
        and version.parts >= longest_period
        and version.parts >= 2 * version.range[1] + 2 * SINGLES
        and version.words > 0
    ):
        raise ValueError(f"{version.mark}: {version.parts} parts are too few for its range and interval")
    return version


def long_tasks(scenario: Scenario, version: str, count: int, *, seed: int) -> Iterator[LongTask]:
    """Draw `count` tasks of one scenario in one version; the same seed gives the same tasks, whatever `count` is."""
    for index in range(count):
        yield _task(scenario, version, index, seed)


def _task(scenario: Scenario, name: str, index: int, seed: int) -> LongTask:
    drawn = random.Random(f"{seed}:{scenario.key}:{name}:{index}")  # nosec B311 # tasks, not secrets
    version = scenario.versions[name]
    whole = range(1, version.parts + 1)
    length = drawn.randint(*version.range)
    first = drawn.randint(2, version.parts - length + 1)
    in_range = range(first, first + length)
    step = drawn.randint(*version.interval)
    period = range(drawn.randint(2, version.parts - 3 * step), version.parts + 1, step)
    free = [number for number in whole if number not in in_range and number not in period and number > 1]
    singles = dict(
        zip(sorted(drawn.sample(free, SINGLES)), drawn.sample(scenario.lists["single"], SINGLES), strict=True)
    )
    over, often = drawn.choice(scenario.lists["range"]), drawn.choice(scenario.lists["periodic"])
    asked = [
        *((text, (number,), "single") for number, text in singles.items()),
        (over, tuple(in_range), "range"),
        (often, tuple(period), "periodic"),
    ]
    place = Place("the task maker", 0)
    external_id = f"{name}-{scenario.key}-{seed}-{index:03d}"
    first_line = f"{SEPARATOR} {version.mark} 1:"
    opening = scenario.opening.format(
        name=drawn.choice(scenario.lists["names"]),
        profession=drawn.choice(scenario.lists["settings"]),
        parts=version.parts,
    )
    text = _prompt(opening, scenario.subjects, version, asked, first_line)
    checks = tuple(
        CheckRecord(
            QUESTION.format(text=text),
            numbers,
            version.mark.split()[-1],
            kind,
            version.parts,
            QUESTION_ZH.format(text=text),
        )
        for text, numbers, kind in asked
    )
    category = f"{scenario.key}_{name}"
    instruction = InstructionRecord(
        place, external_id, text, category, scenario.key, language="en", tags=(name,), prefill=first_line
    )
    return LongTask(instruction, CheckSetRecord(place, external_id, checks))


def _prompt(
    opening: str, subjects: str, version: Version, asked: Sequence[tuple[str, tuple[int, ...], str]], first_line: str
) -> str:
    mark, parts = version.mark, version.parts
    singles = "\n".join(f"   - {mark} {numbers[0]}: {text}" for text, numbers, kind in asked if kind == "single")
    over, in_range = next((text, numbers) for text, numbers, kind in asked if kind == "range")
    often, period = next((text, numbers) for text, numbers, kind in asked if kind == "periodic")
    example = f"{SEPARATOR} {mark} 12:"
    return "\n".join(
        [
            opening,
            "",
            "What has to be in it:",
            "1. In single parts:",
            singles,
            f"2. In every part from {mark} {in_range[0]} to {mark} {in_range[-1]}: {over}",
            f"3. In {mark} {period[0]} and then in every {_ordinal(period[1] - period[0])} part up to the end: {often}",
            f"4. In every part: {subjects}",
            "",
            f"There are {parts} parts, {mark} 1 to {mark} {parts}. Write all of them, one after the other, with at least "
            f"{version.words} words each. Begin each with a line of its own such as “{example}”. Do not leave out a part, "
            f"sum several up, or stop to ask. After {mark} {parts}, write {FINISHED}.",
            "",
            first_line,
        ]
    )


def _ordinal(number: int) -> str:
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
