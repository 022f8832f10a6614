"""Rank the models of a benchmark by a judge's verdicts."""

import io
import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.table import Table

from accounts.members.workspaces import workspace_for_command
from calibration.management.study_command import add_excluded, excluded_line
from calibration.reports.cache import SHOWN
from calibration.reports.codec import stored
from core.errors import UserError
from generation.models import MAIN_EXPERIMENT, Benchmark
from judging.leaderboards.filters import TAGS, Filters
from judging.leaderboards.reports import board_report
from judging.leaderboards.table import Leaderboard, requested_board
from judging.leaderboards.weighting import EQUAL
from judging.published.tables import printed_beside
from judging.scores.metrics import FULFILLED, GRADED, MEAN, METRICS, POINTS, REWARD, STARS, WINS
from judging.web.leaderboards.sections import uncounted_notes

SCORES = {
    POINTS: "(mean points - 75) x 4",
    STARS: "100 x stars/full marks",
    GRADED: "(mean grade - 5) x 20",
    MEAN: "the mean of the overall scores",
    WINS: "wins plus half the ties, in percent of comparisons",
    FULFILLED: "fulfilled instructions, in percent of all (STIC-2)",
    REWARD: "100 x the mean reward, +1 to -1",
}


CHOICES = (
    "judge",
    "weights",
    "experiment",
    "category",
    "language",
    "tag",
    "family",
    "smallest",
    "largest",
    "least",
    "margin",
)


def _filters(options: dict[str, Any]) -> Filters:
    return Filters(
        excluded=SHOWN if options["excluded"] else "",
        measure=options["measure"] or "",
        against=tuple(options["against"]),
        groups=TAGS if options["groups"] or options["group_weight"] else "",
        group_weights=",".join(options["group_weight"]),
        **{name: options[name] for name in CHOICES},
    )


class Command(BaseCommand):
    help = "Rank the models of a benchmark by a judge's verdicts."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("benchmark", help="Slug of the benchmark.")
        parser.add_argument("--workspace", default="", help="Slug of the workspace, if there are several.")
        parser.add_argument("--judge", required=True, help="Name of the judge.")
        parser.add_argument(
            "--weights", default=EQUAL, help="equal, published, or a fit: its id, its name, or its study's slug."
        )
        parser.add_argument("--experiment", default=MAIN_EXPERIMENT)
        parser.add_argument("--measure", choices=sorted(METRICS), help="Score to rank by, if not the judge's default.")
        parser.add_argument("--category", default="", help="Only this category, split by subcategory.")
        parser.add_argument("--language", default="", help="Only instructions in this language.")
        parser.add_argument("--tag", default="", help="Only instructions with this tag.")
        parser.add_argument("--family", default="", help="Only models of this family.")
        parser.add_argument(
            "--smallest", type=float, metavar="B", help="Only models with at least this many billion parameters."
        )
        parser.add_argument(
            "--largest", type=float, metavar="B", help="Only models with at most this many billion parameters."
        )
        parser.add_argument(
            "--least", type=int, default=0, help="Only models with at least this many judged responses."
        )
        parser.add_argument(
            "--against",
            action="append",
            default=[],
            metavar="MODEL",
            help="For pairs: baseline to compare with; can be repeated.",
        )
        parser.add_argument(
            "--margin",
            type=int,
            metavar="K",
            help="For rewards: a slight win by a response longer by more than K characters counts as a tie.",
        )
        parser.add_argument(
            "--groups",
            action="store_true",
            help="A task counts in the group of each of its tags; the overall score weights the groups as their benchmark "
            "does, or all alike.",
        )
        parser.add_argument(
            "--group-weight",
            action="append",
            default=[],
            metavar="GROUP=WEIGHT",
            help="Weight of a group of tasks, such as coding=1.25; can be repeated. Implies --groups.",
        )
        add_excluded(parser)
        parser.add_argument("--json", action="store_true", help="Print JSON with unrounded numbers.")
        parser.add_argument(
            "--details", action="store_true", help="With --json: include intervals, corrected scores and word counts."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            workspace = workspace_for_command(options["workspace"])
            benchmark = Benchmark.objects.filter(workspace=workspace, slug=options["benchmark"]).first()
            if benchmark is None:
                known = ", ".join(Benchmark.objects.filter(workspace=workspace).values_list("slug", flat=True))
                raise CommandError(f"There is no benchmark {options['benchmark']!r}; there are: {known or 'none'}.")
            board = requested_board(benchmark, _filters(options), beside_people=True)
        except UserError as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            shown = stored(board_report(board)) if options["details"] else board.as_json()
            self.stdout.write(json.dumps(shown, ensure_ascii=False, indent=2))
        else:
            self._print(board)
            if line := excluded_line(options["excluded"], task__response_a__instruction__benchmark=benchmark):
                self.stdout.write(line)

    def _print(self, board: Leaderboard) -> None:
        weights = board.weighting.name
        table = Table(title=f"{board.benchmark.slug}: judged by {board.judge}, weights {weights}")
        table.add_column("Model")
        for key in board.categories.values():
            table.add_column(key, justify="right")
        ends, corrected = board.intervals.averages, board.corrected
        for name in ("Average", "Interval", *(["Corrected by people"] if corrected else []), "Words"):
            table.add_column(name, justify="right")
        for one in board.models:
            cells = []
            for key in board.categories.values():
                cell = one.categories.get(key)
                missing = f" (-{one.unscored[key]})" if one.unscored[key] else ""
                cells.append((f"{cell.score:.2f}" if cell else "none") + missing)
            interval, fixed = ends.get(board.pks[one.model]), corrected.get(one.model)
            words = board.words.get((one.model, ""))
            cells += [
                "none" if one.average is None else f"{one.average:.2f}",
                f"{interval.low:.1f} to {interval.high:.1f}" if interval and one.average is not None else "none",
            ]
            if corrected:
                cells.append(f"{fixed.value:.2f} ({fixed.low:.1f} to {fixed.high:.1f})" if fixed else "none")
            table.add_row(one.model, *cells, "none" if words is None else f"{words:.0f}")
        paper = io.StringIO()
        console = Console(file=paper, width=None if self.stdout.isatty() else 160)
        console.print(table)
        console.print(
            f"Score: {SCORES[board.metric.name]}. A number in brackets counts verdicts that could not be used. Intervals "
            "are over whole instructions."
        )
        for note in uncounted_notes(board):
            console.print(note)
        printed = printed_beside(board)
        if printed is not None and printed.compared and printed.comparable:
            console.print(
                f"{printed.compared - printed.differing} of {printed.compared} scores equal the published table up to "
                f"rounding; {printed.differing} differ: {printed.partial} cover only part of the benchmark, "
                f"{printed.other_judge} were given by a different judge, {printed.known} differ for a known reason, "
                f"{printed.unexplained} differ for an unknown reason. Published in: {printed.source}."
            )
        self.stdout.write(paper.getvalue(), ending="")
