"""A report of the rows that a load left out."""

from datetime import datetime
from pathlib import Path

from core.tables.bad_rows import BadRow
from core.tables.formula_cells import CsvWriter


class SkippedRows:
    """A collector of the bad rows of a load that continues without them."""

    def __init__(self) -> None:
        self.problems: list[BadRow] = []

    def __call__(self, problem: BadRow) -> None:
        """Keep the problem of a row. A problem of the whole file is raised, because no rows remain."""
        if not problem.line:
            raise problem
        self.problems.append(problem)

    def __len__(self) -> int:
        return len(self.problems)

    def write(self, folder: Path, name: str, now: datetime) -> Path | None:
        """Write the report as CSV (file, line, reason, remedy) and return its path, or None if nothing was skipped."""
        if not self.problems:
            return None
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"skipped-{name}-{now:%Y%m%d-%H%M%S-%f}.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = CsvWriter(file)
            writer.writerow(["file", "line", "reason", "remedy"])
            for one in sorted(self.problems, key=lambda one: (one.file, one.line)):
                writer.writerow([one.file, one.line, one.reason, one.remedy])
        return path
