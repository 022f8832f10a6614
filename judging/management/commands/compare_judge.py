"""Compare a judge's points with people's overall scores of the same responses."""

import io
import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.table import Table

from accounts.members.workspaces import workspace_for_command
from annotation.models import Study, excluded_shown
from calibration.data.verdicts import failed_judges
from calibration.management.study_command import add_excluded, excluded_line
from calibration.reports.codec import read_back
from calibration.web.failed_judges import failed_note
from core.errors import UserError
from judging.comparison.judge_against_people import (
    ItemAgreement,
    JudgeComparison,
    judge_in,
    stored_comparison,
    weighting_for,
)
from judging.leaderboards.weighting import EQUAL, UnknownWeights, Weighting, weighting_named

ENDS = {
    "bootstrap95": "From and to: 95 % interval, bootstrap over {clusters} instructions.",
    "leave_one_out_range": "From and to: the range over leaving out one of {clusters} instructions; too few for 95 %.",
    "none": "All responses are of one instruction, so there is no interval.",
}
NAMES = {"spearman": "Spearman", "kendall": "Kendall tau-b", "pearson": "Pearson"}


class Command(BaseCommand):
    help = "Compare a judge with people on the responses of a study that both have scored."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="Slug of the study.")
        parser.add_argument("--workspace", default="", help="Slug of the workspace, if there are several.")
        parser.add_argument("--judge", required=True, help="Name of the judge.")
        parser.add_argument("--weights", default="", help="A fit, or equal; default: the study's newest fit.")
        add_excluded(parser)
        parser.add_argument("--json", action="store_true", help="Print JSON with unrounded numbers.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            workspace = workspace_for_command(options["workspace"])
            study = Study.objects.filter(workspace=workspace, slug=options["study"]).first()
            if study is None:
                known = ", ".join(Study.objects.filter(workspace=workspace).values_list("slug", flat=True))
                raise CommandError(f"There is no study {options['study']!r}; there are: {known or 'none'}.")
            with excluded_shown(options["excluded"]):
                weighting = _weighting(study, options["weights"])
                judge = judge_in(study, options["judge"])
                report = stored_comparison(study, judge, weighting)
                failed = [row.judge.name for row in failed_judges(study, judge)]
        except UserError as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            marks = {"failed_judges": failed} if failed else {}
            self.stdout.write(json.dumps({"study": study.slug, **marks, **report}, ensure_ascii=False, indent=2))
        else:
            self.stdout.write(_as_tables(read_back(JudgeComparison, report)), ending="")
            for name in failed:
                self.stdout.write(failed_note(name))
            if line := excluded_line(options["excluded"], task__study=study):
                self.stdout.write(line)


def _weighting(study: Study, name: str) -> Weighting:
    if name == EQUAL:
        return Weighting(EQUAL)
    if not name:
        return weighting_for(study)
    if study.benchmark is None:
        raise UnknownWeights("This study has no benchmark and therefore no named weights; leave out --weights.")
    return weighting_named(study.benchmark, name)


def _as_tables(report: JudgeComparison) -> str:
    paper = io.StringIO()
    console = Console(file=paper, width=110)
    console.print(
        f"{report.judge} against {report.people} people on {report.n} responses, weights {report.weights}"
        f" ({report.unscored} verdicts unusable)."
    )
    table = Table("", "weighted", "from", "to", "p", "equal weights")
    weighted, equal = report.correlation, report.equal
    for key, name in NAMES.items():
        cells, plain = ["none"] * 4, "none"
        if weighted:
            found = getattr(weighted, key)
            cells = [f"{found.value:.3f}", f"{found.low:.3f}", f"{found.high:.3f}", f"{found.p:.2g}"]
        if equal:
            plain = f"{getattr(equal, key).value:.3f}"
        table.add_row(name, *cells, plain)
    console.print(table)
    if weighted:
        console.print(ENDS[weighted.interval_kind].format(clusters=weighted.clusters))
    items = Table("item", "judge, outer leave-one-out", "people, leave-one-out", "n")
    for item in report.items:
        if isinstance(item, ItemAgreement):
            items.add_row(item.key, f"{item.loo:.3f}", f"{item.people:.3f}", str(item.n))
        else:
            items.add_row(item.key, "none", "none", "0")
    console.print(items)
    return paper.getvalue()
