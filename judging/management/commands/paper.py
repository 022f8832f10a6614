"""Write a folder with a study's tables, figures, methods, limitations and references, ready to compile."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.members.workspaces import workspace_for_command
from annotation.models import Study
from core.errors import UserError
from judging.paper.writing import write_paper


class Command(BaseCommand):
    help = "Write a folder with a study's tables, figures, methods, limitations and references, ready to compile."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="Slug of the study.")
        parser.add_argument("folder", type=Path, help="A new or an empty folder.")
        parser.add_argument("--workspace", default="", help="Slug of the workspace, if there are several.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            workspace = workspace_for_command(options["workspace"])
            study = Study.objects.filter(workspace=workspace, slug=options["study"]).first()
            if study is None:
                known = ", ".join(Study.objects.filter(workspace=workspace).values_list("slug", flat=True))
                raise CommandError(f"There is no study {options['study']!r}; there are: {known or 'none'}.")
            program = "manage.py" if sys.argv[0].endswith("manage.py") else "plumbline"
            for title in write_paper(study, options["folder"], program):
                self.stdout.write(f"Written: {title}")
        except UserError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"The paper is in {options['folder']}; README.md there says how to compile it.")
