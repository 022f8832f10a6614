"""Audit the judges in a table of ratings, without a database."""

import sys
from typing import Any

from django.core.management.base import BaseCommand

from judging.audit.command import main


class Command(BaseCommand):
    help = "Audit the judges in a table of ratings: agreement, bias and what the table cannot say. Needs no database."
    requires_system_checks = []

    def run_from_argv(self, argv: list[str]) -> None:
        """Leave the options to the audit, whose exit status says whether there is a finding."""
        sys.exit(main(argv[2:], argv[0].rpartition("/")[2]))

    def print_help(self, prog_name: str, subcommand: str) -> None:
        main(["--help"], prog_name)

    def handle(self, *args: Any, **options: Any) -> None:
        """Only programs call this; they read judging.audit.auditing."""
        raise NotImplementedError
