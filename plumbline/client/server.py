"""The server, as a token lets a program see it."""

from collections.abc import Iterable
from typing import Any

from plumbline.client.benchmarks import Benchmark
from plumbline.client.errors import PlumblineError
from plumbline.client.generated.operations import Operations
from plumbline.client.jobs import Job
from plumbline.client.studies import Study
from plumbline.client.transport import Transport
from plumbline.client.workspaces import Workspace


class Plumbline:
    """A server by its address, and a token that was made on its page API tokens. One object is for one thread.

    `timeout` is how many seconds of silence end a request. `patience` is how many seconds a request waits in all where the
    server asks for that (429 and 503), or is away. `operations` has every address of the API; the methods here and of what
    they return are shorter ways to the usual ones. Every method raises PlumblineError.
    """

    def __init__(self, url: str, token: str, *, timeout: float = 60, patience: float = 180) -> None:
        self._transport = Transport(url, token, timeout=timeout, patience=patience)
        self.operations = Operations(self._transport)

    def __repr__(self) -> str:
        return f"Plumbline({self._transport.base.removesuffix('/api/v1/')!r})"

    def __enter__(self) -> "Plumbline":
        return self

    def __exit__(self, *_problem: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    def workspace(self, slug: str) -> Workspace:
        """Return a workspace; the server is not asked."""
        return Workspace(self._transport, slug)

    def study(self, slug: str, workspace: str = "") -> Study:
        """Return a study. Without `workspace` the server is asked where it is, and two of this slug are refused."""
        if not workspace:
            workspace = _only(
                "study", slug, (one["workspace"] for one in self.operations.studies() if one["slug"] == slug)
            )
        return Study(self._transport, workspace, slug)

    def benchmark(self, slug: str, workspace: str = "") -> Benchmark:
        """Return a benchmark. Without `workspace` the server is asked where it is, and two of this slug are refused."""
        if not workspace:
            every = self.operations.benchmarks()
            workspace = _only("benchmark", slug, (one["workspace"] for one in every if one["slug"] == slug))
        return Benchmark(self._transport, workspace, slug)

    def job(self, job_id: str) -> Job:
        """Return a job by its id; the server is not asked."""
        return Job(self._transport, job_id)

    def run(self, public_id: str) -> dict[str, Any]:
        """Return a run of judges with its progress, cost and manifest."""
        return dict(self.operations.run(public_id))


def _only(noun: str, slug: str, workspaces: Iterable[str]) -> str:
    found = list(workspaces)
    if not found:
        raise PlumblineError(f"Your workspaces have no {noun} {slug!r}.", status=404)
    if len(found) > 1:
        raise PlumblineError(
            f"There is a {noun} {slug!r} in several workspaces ({', '.join(found)}); name one.", status=409
        )
    return found[0]
