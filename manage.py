#!/usr/bin/env python
"""Plumbline's command line: `python manage.py help` lists the commands."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        import django  # noqa: F401
    except ImportError:
        sys.exit("Django is not installed here: run `make install`, then use .venv/bin/python manage.py.")
    if sys.argv[1:2] == ["audit"]:
        from judging.audit.command import main as audit

        sys.exit(audit(sys.argv[2:], "manage.py"))
    from config.command_line import run

    run(sys.argv)


if __name__ == "__main__":
    main()
