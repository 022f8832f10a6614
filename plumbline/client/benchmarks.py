"""A benchmark: its texts, runs over all its responses, and its leaderboard."""

from collections.abc import Iterator
from typing import Any, Unpack, cast

from plumbline.client.generated import shapes
from plumbline.client.generated.operations import Operations
from plumbline.client.jobs import Job
from plumbline.client.transport import Transport


class Benchmark:
    """A benchmark of a workspace, by their slugs."""

    def __init__(self, transport: Transport, workspace: str, slug: str) -> None:
        self.workspace, self.slug = workspace, slug
        self._transport, self._operations = transport, Operations(transport)

    def __repr__(self) -> str:
        return f"Benchmark({self.workspace!r}, {self.slug!r})"

    def instructions(self) -> Iterator[shapes.Instruction]:
        """Yield its instructions with their texts."""
        return self._operations.instructions(self.workspace, self.slug)

    def responses(self, *, model: str = "") -> Iterator[shapes.Response]:
        """Yield its responses with their texts, of all models or of one."""
        return self._operations.responses(self.workspace, self.slug, model=model)

    def start_run(self, **run: Unpack[shapes.WantedRun]) -> Job:
        """Start a run of judges over its responses, which may cost money, and return its job."""
        made = cast(
            shapes.Run, self._operations.run_on_benchmark(self.workspace, self.slug, {**run, "price_only": False})
        )
        return Job(self._transport, f"run-{made['id']}")

    def price_run(self, **run: Unpack[shapes.WantedRun]) -> shapes.RunPrice:
        """Return what such a run would cost; nothing is started."""
        found = self._operations.run_on_benchmark(self.workspace, self.slug, {**run, "price_only": True})
        return cast(shapes.RunPrice, found)

    def leaderboard(self, judge: str, *, weights: str = "", experiment: str = "") -> dict[str, Any]:
        """Return its leaderboard by a judge.

        `weights` is equal, published, or the id, name or study of a fit.
        """
        return self._operations.board(self.workspace, self.slug, judge=judge, weights=weights, experiment=experiment)
