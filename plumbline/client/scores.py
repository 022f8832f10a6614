"""All scores of a study, in one stream."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from plumbline.client.errors import PlumblineError
from plumbline.client.generated import shapes
from plumbline.client.generated.operations import Operations
from plumbline.client.transport import Download

if TYPE_CHECKING:
    import pandas

Kind = Literal["", "judge", "key", "person", "slot"]
Form = Literal["jsonl", "parquet"]


class Scores:
    """The scores of a study that were asked for; every reading asks the server anew and is of one moment."""

    def __init__(
        self,
        operations: Operations,
        workspace: str,
        study: str,
        *,
        criterion: str = "",
        rater_kind: Kind = "",
        every_revision: bool = False,
    ) -> None:
        self._operations, self._workspace, self._study = operations, workspace, study
        self._criterion, self._rater_kind, self._every_revision = criterion, rater_kind, every_revision

    def __iter__(self) -> Iterator[shapes.Score]:
        """Yield one score after the other while they come. Raises PlumblineError where the connection breaks off."""
        yield from self._stream("jsonl").lines()

    def save(self, path: str | Path) -> Path:
        """Write them to a file, as Parquet if its name ends in .parquet, else as JSON Lines, and return its path."""
        return self._stream("parquet" if str(path).endswith(".parquet") else "jsonl").save(path)

    def to_pandas(self, **options: Any) -> "pandas.DataFrame":
        """Return them as a table. `options` are those of pandas.read_parquet, such as columns=["rater", "value"]."""
        try:
            import pandas
        except ImportError as problem:
            raise PlumblineError("Tables need pandas, which the extra client installs: FILE.whl[client].") from problem
        with tempfile.TemporaryDirectory() as folder:
            return pandas.read_parquet(self.save(Path(folder) / "scores.parquet"), **options)

    def _stream(self, form: Form) -> Download:
        return self._operations.all_scores(
            self._workspace,
            self._study,
            as_=form,
            criterion=self._criterion,
            rater_kind=self._rater_kind,
            every_revision=self._every_revision,
        )
