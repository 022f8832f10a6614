"""Compare versions of a judge on held-out parts of a study's instructions, and look at the test part."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from accounts.members.workspaces import workspace_for_command
from annotation.models import Study
from calibration.management.terminal_tables import print_result
from calibration.reports.codec import stored
from calibration.statistics.judges.alignment import USUAL_SHARES
from core.errors import UserError
from generation.models import LanguageModel
from generation.responses.worker import work_on
from judging.alignment.looks import next_look, take_look, version_named
from judging.alignment.proposals import ask_for_prompt, draft_named, drafts_of, price_of_proposal
from judging.alignment.records import add_version, begin_alignment, judge_named
from judging.alignment.results import AlignmentReport, alignment_report
from judging.models import Alignment, Judge
from judging.web.alignment.blocks import agreement_table, looks_table, opening_of


class Command(BaseCommand):
    help = (
        "Compare versions of a judge by people's ratings: instructions are split into training, validation and test, and "
        "the test part is measured only by looks, which are counted. Without an action, print what is known so far."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add("study", help="Slug of the study.")
        add("--workspace", default="", help="Slug of the workspace, if there are several.")
        add("--alignment", default="", metavar="ID", help="Which alignment of the study; the newest by default.")
        actions = parser.add_mutually_exclusive_group()
        actions.add_argument("--begin", metavar="JUDGE", help="Begin an alignment with this judge as the baseline.")
        actions.add_argument("--add", metavar="JUDGE", help="Add a judge as a version.")
        actions.add_argument("--propose", metavar="MODEL", help="Ask a model, once, to rewrite a prompt.")
        actions.add_argument("--drafts", action="store_true", help="Print the prompts that models proposed.")
        actions.add_argument("--look", metavar="JUDGE", help="Measure a version on the test part; needs --yes.")
        add("--criterion", default="", help="With --begin: criterion; by default the first that the judge answers.")
        add(
            "--shares",
            type=float,
            nargs=3,
            default=USUAL_SHARES,
            metavar=("TRAINING", "VALIDATION", "TEST"),
            help="With --begin: shares of the parts; .3 .3 .4 by default.",
        )
        add("--seed", type=int, default=0, help="With --begin: random seed of the split.")
        add("--judge", default="", help="With --propose: whose prompt is rewritten; the baseline's by default.")
        add("--draft", default="", metavar="ID", help="With --add: the draft whose prompt the judge was made of.")
        add("--price", action="store_true", help="With --propose: print what it would cost, and ask nothing.")
        add("--yes", action="store_true", help="With --look: take it; it is counted and cannot be undone.")
        shapes = parser.add_mutually_exclusive_group()
        shapes.add_argument("--json", action="store_true", help="Print JSON with unrounded numbers.")
        shapes.add_argument("--csv", action="store_true", help="Print the agreements as CSV.")
        shapes.add_argument("--latex", action="store_true", help="Print the agreements as a tabular.")
        shapes.add_argument("--markdown", action="store_true", help="Print the answer and the agreements in Markdown.")

    def handle(self, *args: Any, **options: Any) -> None:
        workspace = workspace_for_command(options["workspace"])
        study = Study.objects.filter(workspace=workspace, slug=options["study"]).first()
        if study is None:
            known = ", ".join(Study.objects.filter(workspace=workspace).values_list("slug", flat=True))
            raise CommandError(f"There is no study {options['study']!r}; there are: {known or 'none'}.")
        try:
            self._act(study, options)
        except UserError as error:
            raise CommandError(str(error)) from error

    def _act(self, study: Study, options: dict[str, Any]) -> None:
        if options["begin"]:
            found = begin_alignment(
                study,
                judge_named(study.workspace, options["begin"]),
                criterion=options["criterion"],
                shares=options["shares"],
                seed=options["seed"],
            )
        else:
            found = _alignment(study, options["alignment"])
        if options["add"]:
            judge, draft = judge_named(study.workspace, options["add"]), draft_named(found, options["draft"])
            add_version(found, judge, draft=draft)
        elif options["look"]:
            _look(found, options)
        elif options["propose"]:
            self._propose(found, options)
            return
        if options["drafts"]:
            self._drafts(found)
            return
        self._show(alignment_report(found), options)

    def _propose(self, found: Alignment, options: dict[str, Any]) -> None:
        judge: Judge = judge_named(found.study.workspace, options["judge"]) if options["judge"] else found.baseline
        model = LanguageModel.objects.filter(workspace=found.workspace_id, name=options["propose"]).first()
        if model is None:
            raise CommandError(f"There is no model {options['propose']!r} in the workspace of this study.")
        if options["price"]:
            price = price_of_proposal(found, judge, model)
            money = f"{price.most.money:f} {price.currency}".strip() if price.priced else "an unknown amount"
            self.stdout.write(f"1 call: at most {price.most.tokens} tokens and {money}.")
            return
        run = work_on(ask_for_prompt(found, judge, model, background=False))
        self.stdout.write(f"Run {run.public_id} is {run.status}. {run.message}".strip())
        self._drafts(found)

    def _drafts(self, found: Alignment) -> None:
        for draft in drafts_of(found):
            fault = f" ({draft.fault})" if draft.fault else ""
            self.stdout.write(f"# {draft.id}: {draft.model} for {draft.like.rater.label}, {draft.at}{fault}")
            self.stdout.write(draft.prompt)

    def _show(self, report: AlignmentReport, options: dict[str, Any]) -> None:
        table = agreement_table(report)
        parts = ", ".join(f"{part} {n}" for part, n in report.instructions.items())
        lacking = [
            f"{row.judge} has not been asked about {row.lacking} of {report.tasks} tasks; ask it with: "
            f"{settings.PROGRAM} judge {report.study} --judge '{row.judge}'"
            for row in (report.baseline, *report.versions)
            if row.lacking
        ]
        shown = [table, *([looks_table(report)] if report.looks else [])]
        print_result(
            self.stdout,
            options,
            told=lambda: stored(report),
            opening=opening_of(report),
            table=table,
            titled=[(f"Alignment {report.id}", one) for one in shown if one.rows],
            notes=[f"Instructions: {parts}.", *lacking],
        )


def _alignment(study: Study, public_id: str) -> Alignment:
    rows = study.alignments.select_related("study__workspace", "baseline__rater", "baseline__language_model")
    found = rows.filter(public_id=public_id).first() if public_id else rows.first()
    if found is None:
        if public_id:
            known = ", ".join(rows.values_list("public_id", flat=True))
            raise CommandError(f"The study has no alignment {public_id!r}; it has: {known or 'none'}.")
        raise CommandError(f"The study {study.slug!r} has no alignment yet; begin one with --begin JUDGE.")
    return found


def _look(found: Alignment, options: dict[str, Any]) -> None:
    version = version_named(found, options["look"])
    if not options["yes"]:
        number, level = next_look(found)
        raise CommandError(
            f"This would be look {number}, tested at the level {level:g}; it is counted and cannot be undone. Add --yes to "
            "take it."
        )
    take_look(version)
