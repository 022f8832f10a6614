"""A study: its settings and state, its raters, scores and reports, and what is done with them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, Unpack, cast

from plumbline.client.generated import shapes
from plumbline.client.generated.operations import Operations
from plumbline.client.jobs import Job
from plumbline.client.scores import Kind, Scores
from plumbline.client.transport import Transport


class Study:
    """A study of a workspace, by their slugs."""

    def __init__(self, transport: Transport, workspace: str, slug: str) -> None:
        self.workspace, self.slug = workspace, slug
        self._transport, self._operations = transport, Operations(transport)

    def __repr__(self) -> str:
        return f"Study({self.workspace!r}, {self.slug!r})"

    def state(self) -> shapes.StudyState:
        """Return the study and its progress."""
        return self._operations.study(self.workspace, self.slug)

    def settings(self) -> dict[str, Any]:
        """Return the settings of its setup page."""
        return self._operations.study_settings(self.workspace, self.slug)

    def change_settings(self, *, unchanged: bool = False, **settings: Any) -> dict[str, Any]:
        """Change the settings that are named, and return all.

        With `unchanged` it is refused if somebody has changed them since this client read them.
        """
        return self._operations.change_study_settings(self.workspace, self.slug, settings, unchanged=unchanged)

    def launch(self) -> shapes.Study:
        """Launch a draft."""
        return self._steer("launch")

    def open(self) -> shapes.Study:
        """Let raters rate."""
        return self._steer("open")

    def pause(self) -> shapes.Study:
        """Let nobody rate until it is opened again."""
        return self._steer("pause")

    def close(self) -> shapes.Study:
        """Close it."""
        return self._steer("close")

    def tasks(self, *, known: bool = False, instruction: str = "") -> Iterator[shapes.Task]:
        """Yield its tasks, or those with a known answer."""
        return self._operations.tasks(self.workspace, self.slug, known="1" if known else "", instruction=instruction)

    def raters(self) -> Iterator[shapes.Rater]:
        """Yield its raters under their pseudonyms."""
        return self._operations.raters(self.workspace, self.slug)

    def cohorts(self) -> Iterator[shapes.Cohort]:
        """Yield its cohorts."""
        return self._operations.cohorts(self.workspace, self.slug)

    def make_cohort(self, **cohort: Unpack[shapes.WantedCohort]) -> shapes.OpenCohort:
        """Make a cohort and return it with its entry link."""
        return self._operations.make_cohort(self.workspace, self.slug, cohort)

    def scores(self, *, criterion: str = "", rater_kind: Kind = "", every_revision: bool = False) -> Scores:
        """Return its scores, which are read when they are iterated, saved or made a table."""
        return Scores(
            self._operations,
            self.workspace,
            self.slug,
            criterion=criterion,
            rater_kind=rater_kind,
            every_revision=every_revision,
        )

    def reports(self) -> list[shapes.Report]:
        """Return the newest report of each kind and settings."""
        return self._operations.reports(self.workspace, self.slug)

    def exclusions(self) -> Iterator[shapes.Exclusion]:
        """Yield the exclusions of raters' answers."""
        return self._operations.exclusions(self.workspace, self.slug)

    def fit(self, *, timeout: float = 3600, **fit: Unpack[shapes.WantedFit]) -> dict[str, Any]:
        """Fit weights, wait for them if a worker computes them, and return them with their certificate."""
        made = self._operations.make_fit(self.workspace, self.slug, fit)
        asked = cast(Mapping[str, Any], made)
        if "job" in asked:
            job = Job(self._transport, asked["job"])
            job.wait(timeout=timeout)
            answered: dict[str, Any] = job.result()
            return answered
        return self._operations.fit(asked["id"])

    def start_run(self, **run: Unpack[shapes.WantedRun]) -> Job:
        """Start a run of judges over its tasks, which may cost money, and return its job."""
        made = cast(shapes.Run, self._operations.run_on_study(self.workspace, self.slug, {**run, "price_only": False}))
        return Job(self._transport, f"run-{made['id']}")

    def price_run(self, **run: Unpack[shapes.WantedRun]) -> shapes.RunPrice:
        """Return what such a run would cost; nothing is started."""
        found = self._operations.run_on_study(self.workspace, self.slug, {**run, "price_only": True})
        return cast(shapes.RunPrice, found)

    def export(self, path: str | Path, *, timeout: float = 3600, **export: Unpack[shapes.WantedExport]) -> Path:
        """Have a file of its data made, wait for it, write it to `path` and return that. The default is the archive."""
        job = Job(self._transport, self._operations.make_export(self.workspace, self.slug, export)["id"])
        job.wait(timeout=timeout)
        return job.file().save(path)

    def delete(self) -> shapes.Deleted:
        """Delete it with everything in it, if it is not open; that cannot be undone."""
        return self._operations.delete_study(self.workspace, self.slug, {"slug": self.slug})

    def _steer(self, verb: Literal["launch", "open", "pause", "close"]) -> shapes.Study:
        return self._operations.steer_study(self.workspace, self.slug, verb)
