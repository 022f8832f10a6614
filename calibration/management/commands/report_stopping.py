"""Report whether labelling may stop, by the question that a study stated before launch."""

import json
from typing import Any

from django.core.management.base import CommandError

from annotation.models import StoppingQuestion
from calibration.management.study_command import StudyCommand
from calibration.reports.codec import plain
from calibration.reports.progress.stopping import STOPPING, stopping_settings
from calibration.reports.registry import report_of
from calibration.web.desk.stopping import stopping_block


class Command(StudyCommand):
    help = "Report whether the question that a study stated before launch is answered, so that labelling may stop."

    def handle(self, *args: Any, **options: Any) -> None:
        study = self.study_of(options)
        if not StoppingQuestion.objects.filter(study=study).exists():
            raise CommandError(
                f"Study {study.slug!r} states no question of when labelling may stop. A question is stated before launch: "
                "in the setup, with make_study --stop, or by the API."
            )
        report = report_of(study, STOPPING, stopping_settings())
        block = stopping_block(report)
        if options["json"]:
            self.stdout.write(json.dumps({"sentence": block.answer, **plain(report)}, ensure_ascii=False))
            return
        self.stdout.write("\n".join([block.answer, *block.notes]))
