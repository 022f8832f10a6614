"""Report the agreement among a study's raters, and between its judges and them."""

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser

from calibration.data.frames import NothingToRead
from calibration.management.study_command import StudyCommand
from calibration.reports.agreement import agreement_report
from calibration.statistics.errors import NoStatistic
from core.errors import UserError


class Command(StudyCommand):
    help = "Report a study's leave-one-out agreement, Krippendorff's alpha, and its judges' agreement with its raters."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--criterion", default="", metavar="KEY", help="The criterion (default: the overall score)."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study = self.study_of(options)
        try:
            report = agreement_report(study, options["criterion"])
        except (NothingToRead, NoStatistic) as error:
            raise CommandError(f"Study {study.slug!r}: {str(error).rstrip('.')}.") from error
        except UserError as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            self.stdout.write(json.dumps(shown(report), ensure_ascii=False))
            return
        self._print(report)
        if study.policies.get("clusters") == "items":
            self.stdout.write("Each item is its own cluster because the table named no instructions.")

    def _print(self, report: dict[str, Any]) -> None:
        ends = report["loo_interval"]
        self.stdout.write(
            f"{report['study']}, {report['criterion']}: {report['n_labels']} labels of {report['n_tasks']} tasks\n"
            f"leave-one-out {report['loo']:.4f} ({_interval(ends)}), chance {report['chance']:.4f}"
        )
        for metric, alpha in report["alpha"].items():
            said = alpha["reason"] if alpha["value"] is None else f"{alpha['value']:.4f} ({_interval(alpha)})"
            self.stdout.write(f"alpha {metric:<8} {said}")
        for name, judge in report["judges"].items():
            said = judge["reason"] if judge["loo"] is None else f"{judge['loo']:.4f} ({_interval(judge['interval'])})"
            self.stdout.write(f"judge {name}: {said}, n {judge['n']}, unscored {judge['unscored']}")


def shown(report: dict[str, Any]) -> dict[str, Any]:
    """Return the report as the command prints it: alphas as numbers, each judge with its rate, n and unscored."""
    return {
        "study": report["study"],
        "criterion": report["criterion"],
        "n_tasks": report["n_tasks"],
        "n_labels": report["n_labels"],
        "n_raters": report["n_raters"],
        "loo": report["loo"],
        "loo_interval": report["loo_interval"],
        "chance": report["chance"],
        "alpha": {metric: alpha["value"] for metric, alpha in report["alpha"].items()},
        "alpha_intervals": {
            metric: {end: alpha[end] for end in ("low", "high", "kind", "clusters")}
            for metric, alpha in report["alpha"].items()
            if alpha["value"] is not None
        },
        "judges": report["judges"],
    }


def _interval(ends: dict[str, Any]) -> str:
    if ends["kind"] == "none":
        return "no interval"
    meaning = "95 %" if ends["kind"] == "bootstrap95" else "leaving one cluster out"
    return f"{ends['low']:.4f} to {ends['high']:.4f}, {meaning}"
