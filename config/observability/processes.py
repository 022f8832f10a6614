"""Where the processes of one web server count their requests together. Imports nothing of prometheus_client."""

import os
import shutil
from pathlib import Path

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The variable in which prometheus_client looks for the folder, when it is imported."""


def share_between_processes(data_folder: Path) -> None:
    """Let the processes of one web server add up what they count. Call it before anything imports prometheus_client.

    The folder belongs to the server's parent process; those of servers that have ended are deleted.
    """
    folder = data_folder / "metrics"
    mine = folder / str(os.getppid())
    mine.mkdir(parents=True, exist_ok=True)
    for other in folder.iterdir():
        if other != mine and other.name.isdigit() and not Path(f"/proc/{other.name}").exists():
            shutil.rmtree(other, ignore_errors=True)
    os.environ[FOLDER] = str(mine)
