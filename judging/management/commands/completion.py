"""State completion, STIC-1, STIC-2 and their average for long texts, by version, kind of instruction and position."""

import json
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.members.workspaces import workspace_for_command
from calibration.web.failed_judges import failed_note
from core.errors import UserError
from generation.models import MAIN_EXPERIMENT, Benchmark, Instruction
from judging.leaderboards.check_counts import POSITIONS, Output
from judging.leaderboards.filters import Filters
from judging.leaderboards.sections import KINDS, Completion, completion_of
from judging.leaderboards.table import Leaderboard, requested_board
from judging.leaderboards.weighting import EQUAL
from judging.management.scripted_judges import scripted_judges, scripted_line
from judging.scores.metrics import FULFILLED

ALL = "all"


class Command(BaseCommand):
    help = "State how complete long texts are and how many of their instructions are fulfilled (LongGenBench)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add("benchmark", help="Slug of the benchmark.")
        add("--workspace", default="", help="Slug of the workspace, if there are several.")
        add("--judge", required=True, help="Name of the judge.")
        add("--experiment", default=MAIN_EXPERIMENT)
        add("--tag", default="", help="Only instructions with this tag, such as short; default: all, and each tag.")
        add("--json", action="store_true", help="Print JSON with unrounded numbers.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            workspace = workspace_for_command(options["workspace"])
            benchmark = Benchmark.objects.filter(workspace=workspace, slug=options["benchmark"]).first()
            if benchmark is None:
                known = ", ".join(Benchmark.objects.filter(workspace=workspace).values_list("slug", flat=True))
                raise CommandError(f"There is no benchmark {options['benchmark']!r}; there are: {known or 'none'}.")
            filters = Filters(
                judge=options["judge"],
                weights=EQUAL,
                experiment=options["experiment"],
                measure=FULFILLED,
                tag=options["tag"],
            )
            board = requested_board(benchmark, filters)
        except UserError as error:
            raise CommandError(str(error)) from error
        if not board.outputs:
            raise CommandError(f"{board.judge} answered no instruction checks on benchmark {benchmark.slug}.")
        found = _by_version(board, options["tag"])
        failed, scripted = [row.judge.name for row in board.failed], scripted_judges([board.judge])
        if options["json"]:
            rows = [
                {"model": model, "version": version, **asdict(shares)} for (version, model), shares in found.items()
            ]
            marks = {"failed_judges": failed, "scripted_judges": scripted}
            said = {"benchmark": benchmark.slug, **{key: names for key, names in marks.items() if names}, "rows": rows}
            self.stdout.write(json.dumps(said, ensure_ascii=False, indent=2))
            return
        for (version, model), shares in found.items():
            self.stdout.write(_in_words(version, model, shares))
        for name in failed:
            self.stdout.write(failed_note(name))
        for name in scripted:
            self.stdout.write(scripted_line(name))


def _by_version(board: Leaderboard, tag: str) -> dict[tuple[str, str], Completion]:
    """Return the shares by version (a tag, or ALL) and model, best weighted average first in each version."""
    tags: dict[int, list[str]] = {}
    if not tag:
        pks = {output.instruction for output in board.outputs}
        tags = {pk: own or [] for pk, own in Instruction.objects.filter(pk__in=pks).values_list("pk", "tags")}
    versions = [tag] if tag else [ALL, *sorted({name for own in tags.values() for name in own})]
    found: dict[tuple[str, str], Completion] = {}
    for version in versions:
        rows = []
        for row in board.models:
            outputs: Sequence[Output] = [
                output
                for output in board.outputs
                if output.model == board.pks[row.model]
                and (version in (ALL, tag) or version in tags[output.instruction])
            ]
            shares = completion_of(outputs)
            if shares is not None:
                rows.append((row.model, shares))
        for model, shares in sorted(rows, key=lambda row: -row[1].weighted_average):
            found[version, model] = shares
    return found


def _in_words(version: str, model: str, shares: Completion) -> str:
    ends = f" ({shares.low:.1f} to {shares.high:.1f})" if shares.low is not None and shares.high is not None else ""
    stic_1 = "none" if shares.stic_1 is None else f"{shares.stic_1:.1f}"
    kinds = ", ".join(f"{kind} {shares.by_kind[kind]:.1f}" for kind in KINDS if kind in shares.by_kind)
    places = ", ".join(f"{place + 1}/{POSITIONS} {share:.1f}" for place, share in sorted(shares.by_position.items()))
    return (
        f"{version}: {model}: completion rate {shares.completion_rate:.1f}, STIC-1 {stic_1}, STIC-2 {shares.stic_2:.1f}, "
        f"weighted average {shares.weighted_average:.1f}{ends}\n"
        f"  STIC-2 by kind: {kinds}\n  STIC-2 by position: {places}"
    )
