"""Load a table of ratings, preferences or a judge's item scores into a study."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from django.utils import timezone

from accounts.members.workspaces import workspace_for_load
from accounts.models import Event
from annotation.importing import messages
from annotation.importing.messages import NOTHING_LOADED
from annotation.importing.preferences import PreferenceLoader
from annotation.importing.ratings import RatingLoader, check_named, check_overall
from annotation.importing.study import Destination
from annotation.masking.scan import scan_study
from annotation.models import Rater, Study
from annotation.policies.policies import Policies, change_policies
from annotation.rubrics.scales import Rules, parse_scales
from core.errors import UserError
from core.tables.bad_rows import OnBadRow, refuse
from core.tables.rows import unread
from core.tables.rows_left_out import SkippedRows
from core.terminal import progress_shown
from generation.importers.tidy import (
    CHOICES,
    JUDGEMENT_COLUMNS,
    PREFERENCE_COLUMNS,
    RATING_COLUMNS,
    SIDES,
    STRENGTHS,
    Layout,
    read_judgements,
    read_preferences,
    read_ratings,
)
from generation.library.imports import recorded
from generation.library.items import Items
from generation.library.loading import Counts
from generation.models import MAIN_EXPERIMENT

GRADED_CHOICES = tuple(f"{side}:{strength}" for side in SIDES for strength in STRENGTHS)
COLUMNS = {"ratings": RATING_COLUMNS, "preferences": PREFERENCE_COLUMNS, "judgements": JUDGEMENT_COLUMNS}


@dataclass
class Noticed:
    """What a load says beside its counts: the names of the file's columns, and sentences about its values."""

    columns: dict[str, None] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)


class Command(BaseCommand):
    help = (
        "Load a table of ratings, preferences or judgements: CSV, TSV, JSON, JSON Lines (also .gz), Parquet or .xlsx."
    )
    stealth_options = ("by", "skipped", "remarks")
    """Who loads the file, the collector of bad rows, and the list for remarks on the values, where a page asked for it."""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("kind", choices=COLUMNS)
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--study", required=True, metavar="SLUG", help="The study to load into; it is created if it does not exist."
        )
        parser.add_argument("--workspace", default="", metavar="SLUG")
        parser.add_argument("--name", default="", help="The study's title.")
        parser.add_argument("--json", action="store_true", help="Print the result as JSON.")
        self._add_layout(parser)
        self._add_rules(parser)

    def _add_layout(self, parser: CommandParser) -> None:
        add = parser.add_argument
        add(
            "--column",
            action="append",
            default=[],
            metavar="NAME=COLUMN",
            help="The column of the file that holds a value; the names are "
            + "; ".join(f"for {kind} {', '.join(names)}" for kind, names in COLUMNS.items())
            + ".",
        )
        add("--wide", default="", metavar="COLUMN,COLUMN", help="The columns that each hold one rater's answers.")
        add(
            "--criteria",
            default="",
            metavar="COLUMN,COLUMN",
            help="Each row is one annotation with a column for each of these criteria; KEY=COLUMN gives one another name.",
        )
        add(
            "--truth",
            default="",
            metavar="COLUMN",
            help="The column of correct answers to items that the study already has. Raters' accuracy is computed against "
            "them, and they take the place of people's answers where judges are compared with people.",
        )
        add("--where", action="append", default=[], metavar="COLUMN=VALUE", help="Load only rows with this value.")
        add(
            "--judge",
            action="append",
            default=[],
            metavar="COLUMN",
            help="With --wide, a column of a judge; otherwise the column that names the judge or says yes or no.",
        )
        add(
            "--judge-prefix", default="", metavar="PREFIX", help="Raters whose name begins with this prefix are judges."
        )
        add("--judge-name", default="", metavar="NAME", help="All rows are answers of this judge.")
        add(
            "--map",
            action="append",
            default=[],
            metavar="LABEL=CHOICE",
            help=f"The meaning of a label in the file: one of {', '.join(CHOICES)}, or with a strength A:2 (much better), "
            "A:1 (slightly better), B:1, B:2.",
        )
        add(
            "--map-first",
            action="append",
            default=[],
            metavar="VALUE=SIDE",
            help="The meaning of a value in the column of the response shown first: A or B, such as 0=A.",
        )

    def _add_rules(self, parser: CommandParser) -> None:
        add = parser.add_argument
        add(
            "--scale",
            action="append",
            default=[],
            metavar="KEY=SCALE",
            help="The scale of a criterion (* for all): 1:6, 1:6:1 with a step, or levels such as 1,3,5 or No,Unsure,Yes. "
            "Numbers need a scale; labels become levels in the order in which they appear.",
        )
        add("--overall", default="", metavar="KEY", help="The criterion that holds the overall score.")
        add("--off-scale", choices=["refuse", "keep", "unscored"], default="refuse")
        add("--duplicates", choices=["refuse", "repeat", "drop"], default="refuse")
        add(
            "--exclude",
            action="append",
            default=[],
            metavar="CRITERION",
            help="Leave out answers to this criterion, such as a filler question.",
        )
        add("--slots", action="store_true", help="The raters are positions in the data, not individual people.")
        add(
            "--provenance",
            choices=Rater.Provenance.values,
            default="",
            help="Set this if the answers are not from real people.",
        )
        add("--benchmark", default="", metavar="SLUG", help="The benchmark of the items; unknown items are refused.")
        add("--create-items", action="store_true", help="Create items that the benchmark lacks, without texts.")
        add("--experiment", default=MAIN_EXPERIMENT, help="Use the benchmark's responses from this experiment.")
        add(
            "--on-error",
            choices=["refuse", "skip"],
            default="refuse",
            help="skip leaves out bad rows and reports them.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        skipped = SkippedRows() if options.get("skipped") is None else options["skipped"]
        on_bad: OnBadRow = skipped if options["on_error"] == "skip" else refuse
        try:
            layout, rules = _layout(options), _rules(options)
            with (
                recorded("load_table", options["file"], options.get("by")) as recording,
                progress_shown(f"Reading {options['file'].name}") as progress,
                transaction.atomic(),
            ):
                workspace = workspace_for_load(options["workspace"])
                study, items = _destination(options, layout).open(workspace)
                noticed = Noticed(remarks=[] if options.get("remarks") is None else options["remarks"])
                counts = load(options["kind"], options["file"], study, items, layout, rules, on_bad, progress, noticed)
                if rules.truth and not Policies.of(study).adjudicated_labels:
                    change_policies(study, adjudicated_labels=True)
                counts += Counts(skipped=len(skipped))
                if counts == Counts():
                    raise UserError(f"No row of {options['file'].name} matches --where; check its values.")
                if counts == Counts(empty=counts.empty):
                    raise UserError(messages.NO_VALUES(file=options["file"].name))
                if counts == Counts(skipped=len(skipped)):
                    raise UserError(NOTHING_LOADED(problem=str(skipped.problems[0])))
                if counts.created or counts.unscored:
                    Event.objects.create(
                        workspace=workspace,
                        verb="loaded",
                        object_type="study",
                        object_id=study.public_id,
                        after={"file": options["file"].name, "created": counts.created, "unscored": counts.unscored},
                    )
                recording.store(workspace, study.slug, counts)
                naming = scan_study(study).flagged if counts.created else 0
        except UserError as error:
            raise CommandError(str(error)) from error
        report = None
        if options.get("skipped") is None:
            report = skipped.write(settings.DATA_DIR / "reports", study.slug, timezone.now())
        self._print(study, items, counts, report, options["json"], noticed, layout)
        if rules.truth and not options["json"]:
            self.stdout.write(
                "These correct answers are the labels with which judges are compared. Raters' accuracy against them is on "
                f"the page /w/{study.workspace.slug}/studies/{study.slug}/raters/."
            )
        if naming:
            self.stderr.write(
                f"Tasks with a response that says which model wrote it: {naming}. Mask the words or drop the tasks with "
                f"{settings.PROGRAM} scan_self_naming {study.slug}, or on the study's page of self-revealing responses."
            )

    def _print(
        self,
        study: Study,
        items: Items,
        counts: Counts,
        report: Path | None,
        as_json: bool,
        noticed: Noticed,
        layout: Layout,
    ) -> None:
        columns = unread(noticed.columns, layout.needed())
        if as_json:
            fields = {name: getattr(counts, name) for name in Counts.__dataclass_fields__}
            result = {"study": study.slug, "benchmark": items.benchmark.slug, "unread_columns": columns, **fields}
            result["remarks"] = noticed.remarks
            self.stdout.write(json.dumps({**result, "report": str(report) if report else None}))
            return
        self.stdout.write(f"Study {study.slug}: {counts} (answers).")
        if not counts.changed:
            self.stdout.write("Nothing has changed.")
        for remark in noticed.remarks:
            self.stdout.write(remark)
        if columns:
            self.stdout.write(f"Columns that were not read: {', '.join(columns)}.")
        if report:
            self.stdout.write(f"The skipped rows are listed in {report}.")


def load(
    kind: str,
    file: Path,
    study: Study,
    items: Items,
    layout: Layout,
    rules: Rules,
    on_bad: OnBadRow,
    progress: Callable[[int], None],
    noticed: Noticed,
) -> Counts:
    """Everything the file says, into the study. Raises BadRow."""
    met = noticed.columns
    if kind == "preferences":
        choices = PreferenceLoader(study, items, rules, both_bad="both_bad" in layout.choices.values())
        return choices.load(read_preferences(file, layout, on_bad, met=met), on_bad, progress)
    ratings = RatingLoader(study, items, rules, whole=kind == "judgements")
    if kind == "ratings":
        counts = ratings.load(read_ratings(file, layout, on_bad, met=met), on_bad, progress)
        check_overall(ratings, file.name)
        check_named(ratings, file.name)
        noticed.remarks += ratings.wide_scales()
        return counts
    counts = ratings.load(read_judgements(file, layout, on_bad, met=met), on_bad, progress)
    check_named(ratings, file.name)
    noticed.remarks += ratings.wide_scales()
    ratings.mark_incomplete()
    return counts


def _pairs(texts: list[str], option: str, example: str) -> list[tuple[str, str]]:
    """Read NAME=VALUE; the name of --map may contain =, as in A=B=tie."""
    pairs = []
    for text in texts:
        name, equals, value = text.rpartition("=") if option == "map" else text.partition("=")
        if not (equals and name and value):
            raise UserError(f"--{option} {text!r} is not {example}.")
        pairs.append((name.strip(), value.strip()))
    return pairs


def _layout(options: dict[str, Any]) -> Layout:
    kind = options["kind"]
    columns: dict[str, str] = {}
    for name, column in _pairs(options["column"], "column", "NAME=COLUMN"):
        if name not in COLUMNS[kind]:
            raise UserError(f"{kind} have no column called {name!r}; the names are {', '.join(COLUMNS[kind])}.")
        if columns.setdefault(name, column) != column:
            raise UserError(f"--column says twice which column is the {name}; say it once.")
    judges = [column for text in options["judge"] for column in text.split(",") if column]
    if kind == "judgements" and judges:
        columns.setdefault("judge", judges.pop(0))
    wide = [column for column in options["wide"].split(",") if column]
    choices = dict(_pairs(options["map"], "map", "LABEL=CHOICE"))
    if choices and kind != "preferences":
        raise UserError(f"--map says what the choices of preferences mean; these are {kind}, leave it out.")
    for label, choice in choices.items():
        if choice not in (*CHOICES, *GRADED_CHOICES):
            known = ", ".join((*CHOICES, *GRADED_CHOICES))
            raise UserError(f"--map {label}={choice}: {choice!r} is none of {known}.")
    sides = dict(_pairs(options["map_first"], "map-first", "VALUE=SIDE"))
    for value, side in sides.items():
        if side not in SIDES or kind != "preferences":
            raise UserError(f"--map-first {value}={side}: say A or B, of preferences only.")
    where: dict[str, set[str]] = {}
    for column, value in _pairs(options["where"], "where", "COLUMN=VALUE"):
        where.setdefault(column, set()).add(value)
    if options["truth"]:
        columns["choice" if kind == "preferences" else "value"] = options["truth"]
    layout = Layout(
        columns=columns,
        criteria=_criteria(options["criteria"]),
        truth=bool(options["truth"]),
        wide=wide,
        judges=judges,
        judge_prefix=options["judge_prefix"],
        judge_name=options["judge_name"],
        choices=choices,
        sides=sides,
        where={column: frozenset(values) for column, values in where.items()},
    )
    _check(layout, kind)
    return layout


def _criteria(text: str) -> dict[str, str]:
    """The columns of --criteria by the criterion that they hold. Raises UserError."""
    columns: dict[str, str] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        key, equals, column = part.partition("=")
        if not key or (equals and not column) or key in columns:
            raise UserError(f"--criteria {text!r} is not a list of different columns, each COLUMN or KEY=COLUMN.")
        columns[key] = column or key
    return columns


def _check_combination(layout: Layout, kind: str) -> None:
    """Raise UserError where two options say different things."""
    named = [name for name in ("criterion", "value", "item_index", "reason") if name in layout.columns]
    if layout.criteria and kind == "preferences":
        raise UserError("Preferences have one question; leave --criteria out.")
    if layout.criteria and named:
        raise UserError(f"With --criteria each criterion has its own column; leave out --column {named[0]}.")
    if layout.criteria and layout.wide:
        raise UserError("With --criteria a row is one rater's; --wide has several raters in a row. Use one of them.")
    people = layout.wide or layout.judges or layout.judge_name or layout.judge_prefix or "rater" in layout.columns
    if layout.truth and (people or layout.criteria or kind == "judgements"):
        raise UserError("--truth loads correct answers alone, for ratings or preferences; load raters' answers first.")


def _check(layout: Layout, kind: str) -> None:
    """Raise UserError where the columns named do not suffice."""
    _check_combination(layout, kind)
    needed = ["item"]
    if kind == "judgements":
        needed += ([] if layout.criteria else ["value"]) + ([] if layout.judge_name else ["judge"])
        needed += [] if layout.criteria or "item_index" in layout.columns else ["criterion"]
    else:
        needed += ["model_a", "model_b"] if kind == "preferences" else []
        someone = layout.wide or layout.judges or layout.judge_name or layout.truth
        many = layout.wide or layout.criteria
        needed += [] if many else ["choice" if kind == "preferences" else "value"]
        needed += [] if someone else ["rater"]
    missing = [name for name in needed if name not in layout.columns]
    if missing:
        raise UserError(f"Say which column is the {missing[0]} with --column {missing[0]}=COLUMN.")
    if not layout.wide and len(layout.judges) > 1:
        raise UserError("Only --wide tables have several --judge columns; name one.")
    stray = [column for column in layout.judges if layout.wide and column not in layout.wide]
    if stray:
        raise UserError(f"The judge column {stray[0]!r} is not among the columns of --wide; add it there.")


def _rules(options: dict[str, Any]) -> Rules:
    return Rules(
        scales=parse_scales(options["scale"]),
        overall=options["overall"],
        off_scale=options["off_scale"],
        duplicates=options["duplicates"],
        slots=options["slots"],
        provenance=options["provenance"],
        excluded=frozenset(options["exclude"]),
        truth=bool(options["truth"]),
    )


def _destination(options: dict[str, Any], layout: Layout) -> Destination:
    if options["kind"] == "preferences" and (options["scale"] or options["overall"] or options["exclude"]):
        raise UserError("Preferences have neither --scale, --overall nor --exclude; leave them out.")
    if options["truth"] and (options["scale"] or options["overall"] or options["create_items"]):
        raise UserError(
            "Correct answers use the study's scales and items; leave --scale, --overall, --create-items out."
        )
    kinds = {"preferences": Study.Kind.PAIR, "judgements": Study.Kind.CHECKLIST}
    plain = Study.Kind.CHECKLIST if options["overall"] else Study.Kind.STARS
    grouped = bool(options["benchmark"]) or "instruction" in layout.columns
    if options["create_items"] and not options["benchmark"]:
        raise UserError("--create-items needs --benchmark; without one, items are made anyway.")
    return Destination(
        study=options["study"],
        kind=kinds.get(options["kind"], plain),
        name=options["name"],
        benchmark=options["benchmark"],
        create_items=options["create_items"],
        experiment=options["experiment"],
        source=options["file"].name,
        clusters="instructions" if grouped else "items",
        must_exist=bool(options["truth"]),
    )
