"""Find the instructions of a benchmark that are worth keeping, and give them a tag."""

import json
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from accounts.members.workspaces import workspace_for_command
from accounts.models import Workspace
from core.errors import UserError
from core.tables.bad_rows import Place
from core.terminal import progress_shown
from generation.curation.curating import DEFAULT_TAG, Curation, apply_curation, ask_difficulty, checked_tag, curation_of
from generation.curation.rules.filters import CurationRules, Reason
from generation.importers.instructions import LEVELS, language_code
from generation.models import Benchmark

USUAL = CurationRules()
NUMBERS = {"shortest": 1_000_000, "longest": 10_000_000, "most_turns": 10_000, "difficulty": len(LEVELS)}
WIDEST_SEQUENCE = 20
SHOWN = 10
SAID = {
    Reason.PERSON: "dropped by a person",
    Reason.TEXT: "no text",
    Reason.LANGUAGE: "other language",
    Reason.SHORT: "too short",
    Reason.LONG: "too long",
    Reason.TURNS: "too many turns",
    Reason.TAG: "unwanted tag",
    Reason.USER: "earlier conversation of the same user",
    Reason.EASY: "easy",
    Reason.DUPLICATE: "near-duplicate",
}


class Command(BaseCommand):
    help = (
        "Give a tag to the instructions of a benchmark that pass the rules, and take it from the others; nothing is "
        "deleted. The same data and rules give the same result. A rule given 0 is off."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add("benchmark", help="Slug of the benchmark.")
        add("--workspace", default="", help="Slug of the workspace, if there are several.")
        add("--tag", default=DEFAULT_TAG, help=f"The tag of those that pass (default: {DEFAULT_TAG}).")
        add("--shortest", type=int, default=USUAL.shortest, metavar="WORDS", help="Least words of the user (10).")
        add("--longest", type=int, default=USUAL.longest, metavar="WORDS", help="Most words of the user (3000).")
        add("--most-turns", type=int, default=USUAL.most_turns, metavar="N", help="Most messages of the user (5).")
        add("--language", action="append", default=[], help="Only this language, such as en; can be repeated.")
        add("--without-tag", action="append", default=[], help="None with this tag, such as toxic; can be repeated.")
        add("--all-of-user", action="store_true", help="Keep every conversation of a user instead of the last.")
        add(
            "--difficulty",
            type=int,
            default=USUAL.difficulty,
            metavar="LEVEL",
            help="Drop what every rating says is below this level, from 1, very easy, to 5, very hard (3).",
        )
        add(
            "--similarity",
            type=float,
            default=USUAL.similarity,
            metavar="SHARE",
            help="Jaccard similarity from which the later of two instructions is a near-duplicate (0.7).",
        )
        add("--sequence", type=int, default=USUAL.sequence, metavar="N", help="Words of a compared sequence (3).")
        add(
            "--list", action="store_true", dest="every", help=f"Name every instruction that goes, not {SHOWN} a reason."
        )
        add("--dry-run", action="store_true", help="Only say what would change.")
        add(
            "--ask-difficulty", action="store_true", help="Only make the questions by which models rate the difficulty."
        )
        add("--json", action="store_true", help="Print the result as JSON.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            benchmark = _benchmark(workspace_for_command(options["workspace"]), options["benchmark"])
            if options["ask_difficulty"]:
                self._ask(benchmark)
                return
            tag, rules = checked_tag(options["tag"]), rules_from(options)
            total = benchmark.instructions.count()
            with progress_shown(f"Curating {benchmark.slug}", total) as step:
                curation = curation_of(benchmark, rules, step=step)
            tagged = None if options["dry_run"] else apply_curation(curation, tag)
        except UserError as error:
            raise CommandError(str(error)) from error
        changes = {} if tagged is None else {"added": tagged.added, "removed": tagged.removed}
        if options["json"]:
            said = {**curation.as_json(), "tag": tag, "applied": tagged is not None, **changes}
            self.stdout.write(json.dumps(said, ensure_ascii=False))
            return
        self._print(curation, SHOWN if not options["every"] else None)
        if tagged is None:
            self.stdout.write("Nothing was changed.")
        else:
            self.stdout.write(f"Tag {tag}: given to {tagged.added:,}, taken from {tagged.removed:,} instructions.")

    def _ask(self, benchmark: Benchmark) -> None:
        questions = ask_difficulty(benchmark)
        self.stdout.write(
            f"Benchmark {questions.slug} has {questions.instructions.count():,} questions. Have several models rate them: "
            f"{settings.PROGRAM} generate {questions.slug} --model A --model B --temperature 0 --max-tokens 500"
        )

    def _print(self, curation: Curation, shown: int | None) -> None:
        self.stdout.write(
            f"Benchmark {curation.benchmark.slug}: {len(curation.rows):,} instructions, {len(curation.staying):,} stay."
        )
        for reason, count in curation.by_reason.items():
            self.stdout.write(f"{count:7,}  {SAID[reason]}")
            found = [row for row in curation.leaving if row.leaving is not None and row.leaving.reason == reason]
            for row in found[:shown]:
                leaving = row.leaving
                alike = f" ({leaving.similarity:.2f})" if leaving and leaving.similarity is not None else ""
                what = f": {leaving.what}{alike}" if leaving and leaving.what else ""
                self.stdout.write(f"           {row.facts.name}{what}")
            if shown is not None and len(found) > shown:
                self.stdout.write(f"           and {len(found) - shown:,} more (--list)")
        without = [f"{count:,} without a {name}" for name, count in curation.unstated.items() if count]
        if without:
            self.stdout.write(f"Passed by the rules that need what they do not state: {', '.join(without)}.")


def rules_from(options: dict[str, Any]) -> CurationRules:
    """The rules that the options give. Raises CommandError, BadRow."""
    for name, most in NUMBERS.items():
        if not 0 <= options[name] <= most:
            raise CommandError(f"--{name.replace('_', '-')} {options[name]} is out of range; give 0 to {most:,}.")
    if not 0 <= options["similarity"] <= 1:
        raise CommandError(f"--similarity {options['similarity']} is out of range; give a number from 0 to 1.")
    if not 1 <= options["sequence"] <= WIDEST_SEQUENCE:
        raise CommandError(f"--sequence {options['sequence']} is out of range; give 1 to {WIDEST_SEQUENCE}.")
    return CurationRules(
        **{name: options[name] for name in NUMBERS},
        languages=tuple(language_code(Place("--language", 0), one) for one in options["language"]),
        without_tags=tuple(options["without_tag"]),
        last_of_user=not options["all_of_user"],
        similarity=options["similarity"],
        sequence=options["sequence"],
    )


def _benchmark(workspace: Workspace, slug: str) -> Benchmark:
    benchmark = Benchmark.objects.filter(workspace=workspace, slug=slug).first()
    if benchmark is None:
        known = ", ".join(Benchmark.objects.filter(workspace=workspace).values_list("slug", flat=True))
        raise CommandError(f"There is no benchmark {slug!r}; there are: {known or 'none'}.")
    return benchmark
