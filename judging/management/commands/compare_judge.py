"""Compare a judge's points with people's overall scores of the same responses."""

import io
import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.table import Table

from accounts.members.workspaces import workspace_for_command
from annotation.models import Study
from core.errors import UserError
from judging.comparison.judge_against_people import compare, judge_in, weighting_for
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
        parser.add_argument("--json", action="store_true", help="Print JSON with unrounded numbers.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            workspace = workspace_for_command(options["workspace"])
            study = Study.objects.filter(workspace=workspace, slug=options["study"]).first()
            if study is None:
                known = ", ".join(Study.objects.filter(workspace=workspace).values_list("slug", flat=True))
                raise CommandError(f"There is no study {options['study']!r}; there are: {known or 'none'}.")
            result = compare(study, judge_in(study, options["judge"]), _weighting(study, options["weights"]))
        except UserError as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            self.stdout.write(json.dumps({"study": study.slug, **result}, ensure_ascii=False, indent=2))
        else:
            self.stdout.write(_as_tables(result), ending="")


def _weighting(study: Study, name: str) -> Weighting:
    if name == EQUAL:
        return Weighting(EQUAL)
    if not name:
        return weighting_for(study)
    if study.benchmark is None:
        raise UnknownWeights("This study has no benchmark and therefore no named weights; leave out --weights.")
    return weighting_named(study.benchmark, name)


def _as_tables(result: dict[str, Any]) -> str:
    paper = io.StringIO()
    console = Console(file=paper, width=110)
    console.print(
        f"{result['judge']} against {result['people']} people on {result['n']} responses, weights {result['weights']}"
        f" ({result['unscored']} verdicts unusable)."
    )
    table = Table("", "weighted", "from", "to", "p", "equal weights")
    for key, name in NAMES.items():
        own, equal = result["correlation"], result["equal"]
        table.add_row(
            name,
            *([f"{own[key][part]:.3f}" for part in ("value", "low", "high")] if own else ["none"] * 3),
            f"{own[key]['p']:.2g}" if own else "none",
            f"{equal[key]['value']:.3f}" if equal else "none",
        )
    console.print(table)
    if result["correlation"]:
        kind, clusters = result["correlation"]["interval_kind"], result["correlation"]["clusters"]
        console.print(ENDS[kind].format(clusters=clusters))
    items = Table("item", "judge, outer leave-one-out", "people, leave-one-out", "n")
    for item in result["items"]:
        known = item["loo"] is not None
        items.add_row(
            item["key"],
            f"{item['loo']:.3f}" if known else "none",
            f"{item['people']:.3f}" if known else "none",
            str(item["n"]) if known else "0",
        )
    console.print(items)
    return paper.getvalue()
