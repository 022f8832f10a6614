"""Rank the models of a benchmark by a judge's verdicts."""

import io
import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console

from accounts.members.workspaces import workspace_for_command
from calibration.management.study_command import add_excluded, excluded_line
from calibration.management.terminal_tables import terminal_tables
from calibration.reports.cache import SHOWN
from calibration.reports.codec import stored
from calibration.web.blocks import Column, Table
from calibration.web.table_files import as_csv, as_markdown
from core.errors import UserError
from generation.models import MAIN_EXPERIMENT, Benchmark
from judging.leaderboards.filters import TAGS, Filters
from judging.leaderboards.reports import board_report
from judging.leaderboards.table import Leaderboard, requested_board
from judging.leaderboards.weighting import EQUAL
from judging.management.scripted_judges import scripted_judges, scripted_line
from judging.published.tables import printed_beside
from judging.scores.corrected_scores import Corrected
from judging.scores.metrics import FULFILLED, GRADED, MEAN, METRICS, POINTS, REWARD, STARS, WINS
from judging.web.leaderboards.messages import ranks_note, unranked_notes
from judging.web.leaderboards.sections import corrected_populations, uncounted_notes
from judging.web.leaderboards.table import scores_table

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
        shapes = parser.add_mutually_exclusive_group()
        shapes.add_argument("--json", action="store_true", help="Print JSON with unrounded numbers.")
        shapes.add_argument("--csv", action="store_true", help="Print every score with its interval and all digits.")
        shapes.add_argument("--markdown", action="store_true", help="Print the table in Markdown.")
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
        elif options["csv"]:
            self.stdout.write(as_csv(scores_table(board)).removeprefix("\ufeff"), ending="")
        elif options["markdown"]:
            self.stdout.write(as_markdown(_table(board)) + "".join(f"\n{line}\n" for line in _notes(board)), ending="")
        else:
            self._print(board)
            if line := excluded_line(options["excluded"], task__response_a__instruction__benchmark=benchmark):
                self.stdout.write(line)

    def _print(self, board: Leaderboard) -> None:
        paper = io.StringIO()
        console = Console(file=paper, width=None if self.stdout.isatty() else 160)
        title = f"{board.benchmark.slug}: judged by {board.judge}, weights {board.weighting.name}"
        for part in terminal_tables(_table(board), console.width, title=title):
            console.print(part)
        for line in _notes(board):
            console.print(line, markup=False)
        printed = printed_beside(board)
        if printed is not None and printed.compared and printed.comparable:
            console.print(
                f"{printed.compared - printed.differing} of {printed.compared} scores equal the published table up to "
                f"rounding; {printed.differing} differ: {printed.partial} cover only part of the benchmark, "
                f"{printed.other_judge} were given by a different judge, {printed.known} differ for a known reason, "
                f"{printed.unexplained} differ for an unknown reason. Published in: {printed.source}."
            )
        self.stdout.write(paper.getvalue(), ending="")


def _table(board: Leaderboard) -> Table:
    """One row a model, in the board's order: its rank and overall score, then its categories."""
    corrected = board.corrected
    columns = [
        Column("Model"),
        Column("Rank", 0),
        Column("Ranks possible"),
        Column("Average", 2),
        Column("Interval", 1),
    ]
    if corrected:
        columns += [Column("Corrected by people", 1), Column("Raters like these", 1), Column("These raters", 1)]
    columns += [Column(key, 2) for key in board.categories.values()]
    rows = []
    for row in board.models:
        ends, fixed = board.intervals.averages.get(board.pks[row.model]), corrected.get(row.model)
        line: list[object] = [
            row.model,
            board.ranks.get(row.model, "none"),
            "{} to {}".format(*board.ranks_left[row.model]) if row.model in board.ranks_left else "none",
            "none" if row.average is None else f"{row.average:.2f}",
            f"{ends.low:.1f} to {ends.high:.1f}" if ends and row.average is not None else "none",
        ]
        if corrected:
            line += _people_cells(fixed)
        for key in board.categories.values():
            cell, missing = row.categories.get(key), row.unscored[key]
            line.append((f"{cell.score:.2f}" if cell else "none") + (f" (-{missing})" if missing else ""))
        words = board.words.get((row.model, ""))
        rows.append([*line, "none" if words is None else f"{words:.0f}"])
    return Table([*columns, Column("Words", 0)], rows)


def _people_cells(fixed: Corrected | None) -> list[str]:
    """A corrected score, its interval for raters like these, and that for exactly these raters."""
    if fixed is None:
        return ["none"] * 3
    such = f"{fixed.low:.1f} to {fixed.high:.1f}" if fixed.population == "such" else "none"
    these = "none" if fixed.these_low is None else f"{fixed.these_low:.1f} to {fixed.these_high:.1f}"
    if fixed.interval_kind == "leave_one_out_range":
        these = f"{fixed.low:.1f} to {fixed.high:.1f} (one left out)"
    return [f"{fixed.value:.2f}", such, these]


def _notes(board: Leaderboard) -> list[str]:
    notes = [
        f"Score: {SCORES[board.metric.name]}. A number in brackets counts verdicts that could not be used. Intervals "
        "are over whole instructions."
    ]
    notes += map(scripted_line, scripted_judges([board.judge]))
    if board.discredited:
        counted = "included here, and nothing is ranked by them" if board.filters.discredited else "left out"
        notes.append(
            f"{board.judge} failed its canary texts: {board.discredited} of its verdicts should not be trusted; they are "
            f"{counted}."
        )
    return [
        *notes,
        *filter(None, [ranks_note(board)]),
        *corrected_populations(board),
        *unranked_notes(board),
        *uncounted_notes(board),
    ]
