"""Compare a leaderboard's ranking with another board's, or with scores from elsewhere."""

import io
import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.console import Console

from accounts.members.workspaces import workspace_for_command
from accounts.models import Workspace
from calibration.data.verdicts import JudgesVerdicts
from calibration.management.terminal_tables import terminal_tables
from calibration.reports.codec import stored
from calibration.web.failed_judges import marking
from calibration.web.table_files import as_csv, as_latex, as_markdown
from core.errors import UserError
from generation.models import MAIN_EXPERIMENT, Benchmark
from judging.leaderboards.filters import Filters
from judging.leaderboards.table import requested_board
from judging.leaderboards.weighting import EQUAL
from judging.management.scripted_judges import scripted_line
from judging.published.ranking_comparison import RankedScores, compare_rankings, ranked_scores, read_scores
from judging.scores.metrics import METRICS
from judging.web.leaderboards.ranking_blocks import coefficients_table, models_table, notes_of


class Command(BaseCommand):
    help = (
        "Compare the ranking of a leaderboard with that of another, or with scores from elsewhere: Pearson of the best n "
        "and of all, Spearman and Kendall over the models that both have."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("benchmark", help="Slug of the benchmark.")
        parser.add_argument("--workspace", default="", help="Slug of the workspace, if there are several.")
        parser.add_argument("--judge", required=True, help="Name of the judge.")
        parser.add_argument("--weights", default=EQUAL, help="As for the command leaderboard.")
        parser.add_argument("--measure", choices=sorted(METRICS), help="Score to rank by, if not the judge's default.")
        parser.add_argument("--experiment", default=MAIN_EXPERIMENT)
        parser.add_argument("--tag", default="", help="Only instructions with this tag, on both boards.")
        parser.add_argument(
            "--margin", type=int, metavar="K", help="Of rewards: a slight win by more than K characters is a tie."
        )
        parser.add_argument(
            "--scores", metavar="FILE", help="CSV of outside scores: a model and its score on each line."
        )
        parser.add_argument("--with-benchmark", default="", metavar="SLUG", help="Benchmark of the other board.")
        parser.add_argument("--with-judge", default="", metavar="JUDGE", help="Judge of the other board.")
        parser.add_argument("--with-measure", choices=sorted(METRICS), help="Score of the other board.")
        parser.add_argument("--top", type=int, metavar="N", help="Also over the N best models of the other ranking.")
        shapes = parser.add_mutually_exclusive_group()
        shapes.add_argument("--json", action="store_true", help="Print JSON with unrounded numbers.")
        shapes.add_argument("--csv", action="store_true", help="Print the models with both scores and ranks.")
        shapes.add_argument("--latex", action="store_true", help="Print the correlations as a tabular.")
        shapes.add_argument(
            "--markdown", action="store_true", help="Print the correlations and the models in Markdown."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if bool(options["scores"]) == bool(options["with_judge"]):
            raise CommandError("Say with what to compare: either --scores FILE or --with-judge JUDGE.")
        try:
            workspace = workspace_for_command(options["workspace"])
            one, failed = _board(workspace, options["benchmark"], options["judge"], options["measure"], options)
            if options["scores"]:
                other = _file(Path(options["scores"]))
            else:
                slug = options["with_benchmark"] or options["benchmark"]
                other, others = _board(workspace, slug, options["with_judge"], options["with_measure"], options)
                failed = [*failed, *others]
            found = compare_rankings(one, other, top=options["top"])
        except UserError as error:
            raise CommandError(str(error)) from error
        with marking(failed):
            coefficients, models = coefficients_table(found), models_table(found)
        if options["json"]:
            self.stdout.write(json.dumps(stored(found), ensure_ascii=False, indent=2))
        elif options["csv"]:
            self.stdout.write(as_csv(models).removeprefix("\ufeff"), ending="")
        elif options["latex"]:
            marks = "".join(f"% {line}\n" for line in map(scripted_line, found.scripted_judges))
            self.stdout.write(marks + as_latex(coefficients), ending="")
        elif options["markdown"]:
            notes = "".join(f"\n{note}\n" for note in notes_of(found))
            self.stdout.write(f"{as_markdown(coefficients)}\n{as_markdown(models)}{notes}", ending="")
        else:
            paper = io.StringIO()
            console = Console(file=paper, width=None if self.stdout.isatty() else 120)
            for table, title in ((coefficients, f"{found.name} against {found.other_name}"), (models, "")):
                for part in terminal_tables(table, console.width, title=title):
                    console.print(part)
            for note in notes_of(found):
                console.print(note, markup=False, highlight=False)
            self.stdout.write(paper.getvalue(), ending="")


def _board(
    workspace: Workspace, slug: str, judge: str, measure: str | None, options: dict[str, Any]
) -> tuple[RankedScores, list[JudgesVerdicts]]:
    benchmark = Benchmark.objects.filter(workspace=workspace, slug=slug).first()
    if benchmark is None:
        known = ", ".join(Benchmark.objects.filter(workspace=workspace).values_list("slug", flat=True))
        raise CommandError(f"There is no benchmark {slug!r}; there are: {known or 'none'}.")
    filters = Filters(
        judge=judge,
        weights=options["weights"],
        measure=measure or "",
        experiment=options["experiment"],
        tag=options["tag"],
        margin=options["margin"],
    )
    board = requested_board(benchmark, filters)
    return ranked_scores(board, f"{slug}, {judge}"), board.failed


def _file(path: Path) -> RankedScores:
    try:
        return read_scores(path.read_text(encoding="utf-8"), path.name)
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} cannot be read as text in UTF-8: {error}.") from error
