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
from calibration.management.terminal_tables import terminal_tables
from calibration.reports.codec import read_back
from calibration.reports.registry import Settings, report_of, stored_report
from calibration.statistics.judges.estimates import PeopleEstimate
from calibration.web.failed_judges import failed_note
from calibration.web.judges.correlations import simpson_words, slope_words
from calibration.web.messages.people_estimates import populations_meaning
from core.errors import UserError
from judging.comparison.causes import CAUSES_REPORT, causes_settings
from judging.comparison.judge_against_people import (
    ItemAgreement,
    JudgeComparison,
    judge_in,
    stored_comparison,
    weighting_for,
)
from judging.leaderboards.weighting import EQUAL, UnknownWeights, Weighting, weighting_named
from judging.management.scripted_judges import scripted_judges, scripted_line
from judging.web.comparison.blocks import p_text
from judging.web.comparison.causes import causes_page

NAMES = {
    "spearman": "Spearman",
    "kendall": "Kendall tau-b",
    "pearson": "Pearson",
    "within_models": "Pearson within models",
    "within_instructions": "Pearson within instructions",
    "person": "Spearman, one person with the others",
}


class Command(BaseCommand):
    help = "Compare a judge with people on the responses of a study that both have scored."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", help="Slug of the study.")
        parser.add_argument("--workspace", default="", help="Slug of the workspace, if there are several.")
        parser.add_argument("--judge", required=True, help="Name of the judge.")
        parser.add_argument("--weights", default="", help="A fit, or equal; default: the study's newest fit.")
        add_excluded(parser)
        parser.add_argument(
            "--causes",
            action="store_true",
            help="Say why the two differ instead: the judge, the guideline, or one rater who stands apart from the others.",
        )
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
                if options["causes"]:
                    self.stdout.write(_causes(study, causes_settings(judge.public_id), options["json"]), ending="")
                    return
                report = stored_comparison(study, judge, weighting)
                failed, scripted = [row.judge.name for row in failed_judges(study, judge)], scripted_judges([judge])
        except UserError as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            marks = {"failed_judges": failed, "scripted_judges": scripted}
            marks = {key: names for key, names in marks.items() if names}
            self.stdout.write(json.dumps({"study": study.slug, **marks, **report}, ensure_ascii=False, indent=2))
        else:
            self.stdout.write(_as_tables(read_back(JudgeComparison, report)), ending="")
            for name in failed:
                self.stdout.write(failed_note(name))
            for name in scripted:
                self.stdout.write(scripted_line(name))
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


def _causes(study: Study, settings: Settings, as_json: bool) -> str:
    if as_json:
        return json.dumps(stored_report(study, CAUSES_REPORT, settings), ensure_ascii=False, indent=2) + "\n"
    page = causes_page(study, report_of(study, CAUSES_REPORT, settings))
    paper = io.StringIO()
    console = Console(file=paper, width=110)
    console.print(page.opening, markup=False, highlight=False)
    for block in page.blocks:
        for part in terminal_tables(block.table, console.width, title=block.title) if block.table else ():
            console.print(part)
    return paper.getvalue()


def _as_tables(report: JudgeComparison) -> str:
    paper = io.StringIO()
    console = Console(file=paper, width=110)
    console.print(
        f"{report.judge} against {report.people} people on {report.n} responses, weights {report.weights}"
        f" ({report.unscored} verdicts unusable)."
    )
    weighted, equal = report.correlation, report.equal
    if weighted is None:
        console.print("No correlation can be computed.")
    else:
        if first := simpson_words(report.judge, weighted):
            console.print(first)
        table = Table("", "weighted", "raters like these", "these raters", "p", "equal weights")
        for key, name in NAMES.items():
            found = getattr(weighted, key)
            if found is None:
                continue
            plain = getattr(equal, key).value if equal and hasattr(equal, key) else None
            table.add_row(name, f"{found.value:.3f}", *_ends(found), p_text(found.p), _number(plain))
        console.print(table)
        for sentence in populations_meaning([weighted.spearman]):
            console.print(sentence)
        if weighted.slopes:
            console.print(slope_words(report.judge, weighted.slopes))
    items = Table("item", "judge, outer leave-one-out", "raters like these", "these raters", "people", "n")
    for item in report.items:
        if isinstance(item, ItemAgreement):
            ends = _ends(item.judge)
            items.add_row(item.key, f"{item.judge.value:.3f}", *ends, f"{item.people.value:.3f}", str(item.n))
        else:
            items.add_row(item.key, "none", "", "", "none", "0")
    console.print(items)
    return paper.getvalue()


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}"


def _ends(found: PeopleEstimate) -> tuple[str, str]:
    """Write the interval for raters like these and that for these raters, or the range over leaving one out."""
    if found.interval_kind == "leave_one_out_range":
        return "not stated", f"{found.low:.3f} to {found.high:.3f} (one left out)"
    such = f"{found.low:.3f} to {found.high:.3f}" if found.population == "such" else "not stated"
    these = "not stated" if found.these_low is None else f"{found.these_low:.3f} to {found.these_high:.3f}"
    return such, these
