"""A workspace: what a program makes in it."""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Unpack

from plumbline.client.benchmarks import Benchmark
from plumbline.client.errors import PlumblineError
from plumbline.client.generated import shapes
from plumbline.client.generated.operations import Operations
from plumbline.client.jobs import Job
from plumbline.client.studies import Study
from plumbline.client.transport import Transport, address

RowKind = Literal[
    "instructions", "responses", "rubrics", "checklists", "checks", "ratings", "preferences", "truth", "gold", "raters"
]


class Workspace:
    """A workspace by its slug."""

    def __init__(self, transport: Transport, slug: str) -> None:
        self.slug = slug
        self._transport, self._operations = transport, Operations(transport)

    def __repr__(self) -> str:
        return f"Workspace({self.slug!r})"

    def study(self, slug: str) -> Study:
        """Return a study of it; the server is not asked."""
        return Study(self._transport, self.slug, slug)

    def benchmark(self, slug: str) -> Benchmark:
        """Return a benchmark of it; the server is not asked."""
        return Benchmark(self._transport, self.slug, slug)

    def add(
        self,
        kind: RowKind,
        rows: Sequence[Mapping[str, Any]],
        *,
        into: str = "",
        on_error: Literal["fail", "skip"] = "fail",
        options: Mapping[str, str] | None = None,
    ) -> shapes.StoredRows:
        """Store up to 10,000 rows at once, all or none, or with on_error="skip" those that are not bad.

        `into` is the slug of the benchmark or study to which they belong. The rows of a kind are typed by the operation of
        its name, such as `operations.add_ratings`. For more rows, load a file.
        """
        body = {"into": into, "rows": list(rows), "on_error": on_error, "options": dict(options or {})}
        answered: shapes.StoredRows = self._transport.answer(
            "POST", address("w/{}/{}/", self.slug, kind), body=body, keyed=True
        )
        return answered

    def load(
        self,
        path: str | Path,
        *,
        leave_out_bad_rows: bool = False,
        timeout: float = 3600,
        **reading: Unpack[shapes.Mapping],
    ) -> shapes.TableUpload:
        """Upload a table or a file of another tool, say how it is read, load it, and return what became of it.

        Raises PlumblineError where nothing is stored; the file is then removed from the server.
        """
        content = Path(path).read_bytes()
        upload = self._operations.upload_file(self.slug, content, name=Path(path).name)["id"]
        try:
            if reading:
                self._operations.map_file(upload, reading)
            self._operations.load_file(upload, {"leave_out_bad_rows": leave_out_bad_rows})
            Job(self._transport, f"import-{upload}").wait(timeout=timeout, every=0.5)
        except PlumblineError:
            self._operations.discard_file(upload)
            raise
        return self._operations.uploaded_file(upload)

    def load_archive(self, path: str | Path, *, timeout: float = 3600, every: float = 0.5) -> shapes.StudyArchive:
        """Load a study from an archive with texts, all of it or nothing, and return what was stored.

        Raises PlumblineError where nothing is stored, and after `timeout` seconds, when the server goes on.
        """
        found = self._operations.upload_archive(self.slug, Path(path).read_bytes(), name=Path(path).name)
        until = time.monotonic() + timeout
        while found["state"] != "loaded":
            if found["state"] == "refused":
                self._operations.discard_archive(found["id"])
                raise PlumblineError(found["problem"])
            if time.monotonic() + every > until:
                raise PlumblineError(f"{found['file']} is not loaded after {timeout:g} seconds; the server goes on.")
            if found["state"] == "checked":
                found = self._operations.load_archive(found["id"])
            else:
                time.sleep(every)
                found = self._operations.uploaded_archive(found["id"])
        return found

    def make_study(self, **study: Unpack[shapes.WantedStudy]) -> Study:
        """Make a study of a benchmark's responses."""
        made = self._operations.make_study(self.slug, study)
        return self.study(made["slug"])

    def make_judge(self, **judge: Unpack[shapes.WantedJudge]) -> shapes.Judge:
        """Make a judge; the same judge again is the judge that is there."""
        return self._operations.make_judge(self.slug, judge)

    def undo(self, imported: int) -> dict[str, int]:
        """Undo an import by its number, and return how many rows of each kind were removed."""
        return self._operations.undo_loading(imported)["removed"]
