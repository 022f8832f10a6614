"""What a reader of a benchmark's own files offers, so that one loader and one command take them all."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from core.tables.bad_rows import OnBadRow, refuse
from generation.importers.records import (
    MAIN,
    AggregateRecord,
    CheckSetRecord,
    InstructionRecord,
    PreferenceRecord,
    RatingRecord,
    ResponseRecord,
    RubricRecord,
    VerdictRecord,
    WeightRecord,
)

Record = (
    InstructionRecord
    | ResponseRecord
    | VerdictRecord
    | RatingRecord
    | PreferenceRecord
    | CheckSetRecord
    | AggregateRecord
)


@dataclass(frozen=True)
class StudyShape:
    """The study that a benchmark's published answers go into.

    `kind` is "checklist", "stars" or "pair". `names` map language codes to its title. `overall` is the criterion
    that holds the overall score. `scales` map a criterion (* for all) to its scale as load_table takes it, such as
    1:5; a criterion that a rubric of the benchmark has needs none. With `repeats`, a rater's further answers to the
    same question are kept and counted. `off_scale` is what becomes of a value that is not on its scale: refuse, keep or
    unscored. With `slots`, the raters are positions in the data, not individual people. `judge` names the judge whose
    verdicts on whole checklists a part holds.
    """

    slug: str
    names: Mapping[str, str]
    kind: str
    experiment: str = MAIN
    overall: str = ""
    scales: Mapping[str, str] = field(default_factory=dict)
    repeats: bool = False
    off_scale: str = "refuse"
    slots: bool = False
    judge: str = ""


@dataclass(frozen=True)
class Part:
    """One file, loaded in one transaction.

    `name` is its path below the root, `size` its bytes for the progress shown. `records` yields what it holds, of one
    type, and hands each bad row to its argument. Ratings, preferences and verdicts need a `study`. A part without an
    `experiment` belongs to each of them, whichever is chosen.
    """

    name: str
    size: int
    records: Callable[[OnBadRow], Iterator[Record]]
    study: StudyShape | None = None
    experiment: str = MAIN


class BenchmarkFiles(Protocol):
    """A benchmark's files below one folder. The constructor raises BadRow where the folder holds none of them.

    `slug` names the benchmark and its file in fixtures/taxonomies. After the parts have been read, `absent` lists the
    files that are not there or empty, and those whose names are not understood; `unknown` counts the rows that have a
    field which the reader does not know, by file pattern and field.
    """

    slug: str
    absent: list[str]
    unknown: dict[str, int]

    def rubrics(self, on_bad: OnBadRow = refuse) -> Iterable[RubricRecord]:
        """Return the checklists in the benchmark's own words; none where it has none. A bad file goes to `on_bad`."""
        ...

    def weights(self) -> Iterable[WeightRecord]:
        """Return the published weights; none where it has none. Raises BadRow."""
        ...

    def parts(self) -> Iterable[Part]:
        """Return the files in the order in which they are loaded, instructions first."""
        ...
