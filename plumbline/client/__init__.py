"""A client of the HTTP API: `Plumbline(url, token).study("essays").scores().to_pandas()`.

It needs the packages of the extra `client` and none of the server's.
"""

from plumbline.client.benchmarks import Benchmark
from plumbline.client.errors import PlumblineError
from plumbline.client.jobs import Job
from plumbline.client.scores import Scores
from plumbline.client.server import Plumbline
from plumbline.client.studies import Study
from plumbline.client.workspaces import Workspace

__all__ = ["Benchmark", "Job", "Plumbline", "PlumblineError", "Scores", "Study", "Workspace"]
