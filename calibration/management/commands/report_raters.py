"""Report how far a study's raters can be trusted: pooled shares, severity, use of the scale, and tasks that split them."""

import json
from typing import Any, cast

from django.core.management.base import CommandError, CommandParser

from annotation.models import excluded_shown
from calibration.management.study_command import StudyCommand, add_excluded, excluded_line
from calibration.reports.codec import Missing, plain
from calibration.reports.people.populations import EstimateForBoth
from calibration.reports.people.scale_use import NamedStanding
from calibration.reports.raters import RATERS, RatersReport, rater_settings
from calibration.reports.registry import report_of
from calibration.statistics.agreement.such_raters import LEAST_RATERS
from calibration.statistics.crossed import WhyNot
from calibration.web.messages.populations import not_stated_words
from calibration.web.raters.scale_use import unstated_words

NO_INTERVAL = "not stated"


class Command(StudyCommand):
    help = (
        "Report a study's raters: accuracy, consistency, severity, their use of the scale, and tasks that split them."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add_excluded(parser)
        parser.add_argument(
            "--criterion", default="", metavar="KEY", help="The criterion of severity and labels (default: overall)."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study = self.study_of(options)
        with excluded_shown(options["excluded"]):
            report = report_of(study, RATERS, rater_settings(options["criterion"]))
        if isinstance(report, Missing):
            raise CommandError(f"Study {study.slug!r}: {report.reason.rstrip('.')}.")
        if options["json"]:
            self.stdout.write(json.dumps(plain(report), ensure_ascii=False))
            return
        self._print(report)
        if line := excluded_line(options["excluded"], task__study=study):
            self.stdout.write(line)

    def _print(self, report: RatersReport) -> None:
        self.stdout.write(f"{report.study}, {report.criterion}: {report.n_scores} scores of {report.n_raters} raters")
        accuracy, again, right = report.accuracy, report.consistency, report.correctness
        self._estimate("accuracy", accuracy if isinstance(accuracy, Missing) else accuracy.pooled)
        steady = again if isinstance(again, Missing) else again.pooled
        self._estimate("consistency", steady if isinstance(steady, Missing) else steady.rate)
        if not isinstance(right, Missing):
            self._estimate("correct answers", right.pooled)
        spread = report.spread
        if isinstance(spread, Missing):
            self.stdout.write(f"severity between raters: {spread.reason}")
        else:
            said = (
                "differs"
                if spread.shown
                else f"not shown; about {spread.needed} instructions would show {spread.worth:g}"
            )
            self.stdout.write(
                f"severity between raters: sd {spread.sd:.4f} ({spread.low:.4f} to {spread.high:.4f}, 95 % for raters like "
                "these), "
                f"p {spread.p:.4f}: {said}"
            )
        if not isinstance(report.scale_use, Missing):
            for row in report.scale_use.raters:
                self._standing(row)
        if not isinstance(report.consensus, Missing):
            split = [row.task for row in report.consensus.tasks if row.split]
            self.stdout.write(f"tasks that split the raters: {', '.join(split) or 'none shown'}")

    def _estimate(self, name: str, found: EstimateForBoth | Missing) -> None:
        if isinstance(found, Missing):
            self.stdout.write(f"{name}: {found.reason}")
            return
        such = _ends(found.such.low, found.such.high)
        these = _ends(found.these.low, found.these.high)
        over = found.such.n_instructions, found.such.n_raters
        why = not_stated_words(cast(WhyNot, found.such.not_stated), *over, least=LEAST_RATERS)
        said = f"{name}: {found.value:.4f} (raters like these {such}; exactly these raters {these})"
        self.stdout.write(f"{said}. {why}" if why else said)

    def _standing(self, row: NamedStanding) -> None:
        if row.value is None:
            self.stdout.write(f"rater {row.rater}: correlation with the others: {unstated_words(row)}")
            return
        ends = f"{_ends(row.low, row.high)}, 95 % for exactly these raters"
        verdict = f", {row.verdict}" if row.verdict else ""
        self.stdout.write(f"rater {row.rater}: correlation with the others {row.value:.4f} ({ends}){verdict}")


def _ends(low: float | None, high: float | None) -> str:
    return NO_INTERVAL if low is None or high is None else f"{low:.4f} to {high:.4f}"
