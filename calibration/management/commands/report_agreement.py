"""Report the agreement among a study's raters, and between its judges and them."""

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.models import excluded_shown
from calibration.management.study_command import StudyCommand, add_excluded, excluded_line
from calibration.reports.agreement import (
    METRICS,
    AgreementReport,
    AlphaValue,
    AmbiguousCriterion,
    JudgeAgreement,
    NoAlpha,
    agreement_report,
)
from calibration.reports.codec import Missing, plain
from calibration.reports.people.populations import Interval, SuchRaters
from calibration.statistics.resampling import MIN_CLUSTERS
from calibration.web.agreement.other_raters import LEAST_RATERS, measure_names
from calibration.web.messages.people_estimates import people_words
from calibration.web.messages.statistics import by_items


class Command(StudyCommand):
    help = "Report a study's leave-one-out agreement, Krippendorff's alpha, and its judges' agreement with its raters."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add_excluded(parser)
        parser.add_argument(
            "--criterion", default="", metavar="KEY", help="The criterion (default: the overall score)."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        study = self.study_of(options)
        with excluded_shown(options["excluded"]):
            report = agreement_report(study, options["criterion"])
        if isinstance(report, Missing):
            if report.why == AmbiguousCriterion.__name__:
                raise CommandError(report.reason)
            raise CommandError(f"Study {study.slug!r}: {report.reason.rstrip('.')}.")
        if options["json"]:
            self.stdout.write(json.dumps(shown(report), ensure_ascii=False))
            return
        self._print(report)
        if line := excluded_line(options["excluded"], task__study=study):
            self.stdout.write(line)
        if by_items(study):
            self.stdout.write("Each item is its own cluster because the table named no instructions.")

    def _print(self, report: AgreementReport) -> None:
        self.stdout.write(
            f"{report.study}, {report.criterion}: {report.n_labels} labels of {report.n_tasks} tasks\n"
            f"leave-one-out {report.loo:.4f} ({_interval(report.loo_interval)}), chance {report.chance:.4f}\n"
            f"  {_such(report.loo_such)}"
        )
        for metric in METRICS:
            alpha = report.alpha[metric]
            said = alpha.reason if isinstance(alpha, NoAlpha) else f"{alpha.value:.4f} ({_interval(alpha)})"
            self.stdout.write(f"alpha {metric:<8} {said}")
            if isinstance(alpha, AlphaValue) and alpha.such is not None:
                self.stdout.write(f"  {_such(alpha.such)}")
        named = dict(report.coefficients)
        if report.matrix is not None:
            named["pairs"] = report.matrix.mean
        for name, found in named.items():
            title = measure_names()[name]
            if isinstance(found, Missing):
                self.stdout.write(f"{title}: {found.reason}")
            else:
                self.stdout.write(f"{title} {found.value:.4f} ({_interval(found.these)})\n  {_such(found.such)}")
        for name, judge in report.judges.items():
            if isinstance(judge, JudgeAgreement):
                said = people_words(judge.beside.judge, step=0.0001)
            else:
                said = judge.reason
            self.stdout.write(f"judge {name}: {said}, n {judge.n}, unscored {judge.unscored}")


def shown(report: AgreementReport) -> dict[str, object]:
    """Return the report as the command prints it: alphas as numbers, each judge with its rate, n and unscored."""
    values = plain(report)
    names = (
        "study",
        "criterion",
        "n_tasks",
        "n_labels",
        "n_raters",
        "loo",
        "loo_interval",
        "loo_such",
        "chance",
        "coefficients",
        "by_criterion",
        "by_category",
        "judges",
    )
    return {name: values[name] for name in names} | {
        "alpha": {metric: alpha["value"] for metric, alpha in values["alpha"].items()},
        "alpha_intervals": {
            metric: {end: alpha[end] for end in ("low", "high", "kind", "clusters")}
            for metric, alpha in values["alpha"].items()
            if alpha["value"] is not None
        },
        "alpha_such": {
            metric: alpha["such"] for metric, alpha in values["alpha"].items() if alpha["value"] is not None
        },
    }


def _such(such: SuchRaters) -> str:
    if such.low is None or such.high is None:
        needs = {
            "few_instructions": f"{such.n_instructions} instructions, fewer than {MIN_CLUSTERS}",
            "few_raters": f"{such.n_raters} raters, fewer than {LEAST_RATERS}",
            "positions": "the data identify positions, not persons",
        }
        why = needs.get(such.not_stated, "without one of the raters or instructions, it could not be computed")
        return f"for raters like these: not stated ({why})"
    return f"for raters like these: {such.low:.4f} to {such.high:.4f}, 95 %"


def _interval(ends: Interval) -> str:
    if ends.kind == "none":
        return "no interval"
    if ends.kind == "jackknife95":
        return f"{ends.low:.4f} to {ends.high:.4f}, 95 % for these raters"
    meaning = "leaving one cluster out" if ends.kind == "leave_one_out_range" else "95 %"
    return f"{ends.low:.4f} to {ends.high:.4f}, {meaning}"
