"""The program `plumbline`: every command of the project, from a wheel as from a checkout."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def project_folder() -> Path:
    """Return the folder with the project's packages (core .. config): in a wheel inside this one, else beside it."""
    inside = HERE / "project"
    return inside if inside.is_dir() else HERE.parent


def find_project() -> None:
    """Put the project's folder first on the path of this process and of every process that it starts.

    Celery puts the current folder before all others while it imports, unless the path has it already; there it comes last,
    because another core or config may lie in it.
    """
    folder, current = str(project_folder()), str(Path.cwd())
    sys.path[:] = [folder, *(place for place in sys.path if place not in ("", folder, current)), current]
    others = [place for place in os.environ.get("PYTHONPATH", "").split(os.pathsep) if place and place != folder]
    os.environ["PYTHONPATH"] = os.pathsep.join([folder, *others])


def main() -> None:
    find_project()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    arguments = ["plumbline", *sys.argv[1:]]
    if arguments[1:2] == ["audit"]:
        # It needs no settings, no database and no Django, whose start takes longer than the audit of a small table.
        from judging.audit.command import main as audit

        sys.exit(audit(arguments[2:]))
    from config.command_line import run

    run(arguments)
