"""Ask a judge again about the same responses after changes that must not matter, or print what such a run found."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from accounts.members.workspaces import workspace_for_command
from annotation.models import Study
from calibration.management.terminal_tables import print_result
from calibration.reports.codec import stored
from core.errors import UserError
from generation.management.run_options import budget_of, check_run_options
from judging.management.commands.judge import Command as JudgeCommand
from judging.models import Judge, JudgeRun
from judging.probes.planning import ProbePrice, create_probe_run, price_of_probes
from judging.probes.request import USUAL_AUTHOR, USUAL_SIZE, Group, ProbeRequest, named_groups, usual_groups
from judging.probes.results import ProbeReport, probe_report
from judging.web.probes.blocks import effects_table
from judging.web.probes.messages import opening_of


class Command(JudgeCommand):
    name = "probe_judge"
    help = (
        "Ask a judge again about a study's responses after changes that must not matter: padding, format, the wording of "
        "its prompt, order, a claimed author. The verdicts count nowhere else."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add("study", nargs="?", help="Slug of the study whose responses are changed.")
        add("--judge", default="", help="Name of the judge.")
        add(
            "--change",
            default="",
            metavar="WHAT",
            help=f"What to change, separated by commas: {', '.join(Group)}. Everything that is possible by default.",
        )
        add(
            "--responses", type=int, default=USUAL_SIZE, help=f"Responses, or pairs, to probe; {USUAL_SIZE} by default."
        )
        add("--author", default=USUAL_AUTHOR, help="The author that is claimed.")
        add(
            "--wording",
            action="append",
            default=[],
            metavar="FILE",
            help="A prompt that says the same in other words; may be given up to three times.",
        )
        add("--workspace", default="", help="Slug of the workspace, if there are several.")
        add("--seed", type=int, default=0, help="Random seed for drawing the responses.")
        add("--fresh", action="store_true", help="Ask again instead of using stored replies.")
        add("--budget-calls", type=int, help="Maximum number of calls.")
        add("--budget-tokens", type=int, help="Maximum number of tokens.")
        add("--budget-money", help="Maximum cost, in the currency of the endpoint's prices.")
        add("--concurrency", type=int, help="Number of concurrent calls; the endpoint's own limit still applies.")
        add("--background", action="store_true", help="Leave the work to a Celery worker.")
        add(
            "--resume",
            metavar="RUN",
            help="Id of a run of probes to continue; a budget given here replaces its budget.",
        )
        add("--retry-unscored", action="store_true", help="With --resume: ask again where no verdict was usable.")
        add("--price", action="store_true", help="Print what the probes would cost, and ask nothing.")
        add("--show", metavar="RUN", help="Print what a run of probes found so far.")
        shapes = parser.add_mutually_exclusive_group()
        shapes.add_argument("--json", action="store_true", help="Print JSON with unrounded numbers.")
        shapes.add_argument("--csv", action="store_true", help="With --show: print the effects as CSV.")
        shapes.add_argument("--latex", action="store_true", help="With --show: print the effects as a tabular.")
        shapes.add_argument("--markdown", action="store_true", help="With --show: print the effects in Markdown.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            if options["show"]:
                self._show(probe_report(_run(options["show"])), options)
            elif options["price"]:
                self._price(price_of_probes(_request(options)), as_json=options["json"])
            else:
                super().handle(*args, **options)
        except UserError as error:
            raise CommandError(str(error)) from error

    def planned(self, options: dict[str, Any]) -> JudgeRun:
        check_run_options(options)
        if options["retry_unscored"]:
            raise CommandError("--retry-unscored needs --resume RUN.")
        return create_probe_run(_request(options))

    def further(self, run: JudgeRun, progress: Any) -> str:
        return f"See what it found with: {settings.PROGRAM} {self.name} --show {run.public_id}"

    def _price(self, price: ProbePrice, *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(price.as_json(), ensure_ascii=False, indent=2))
            return
        for arm in price.design.arms:
            self.stdout.write(f"{arm.key}: {arm.responses} responses to {arm.instructions} instructions")
        for _key, why in price.design.left_out:
            self.stdout.write(str(why))
        money = f"{price.most.money:f} {price.currency}".strip() if price.priced else "an unknown amount"
        self.stdout.write(
            f"{price.questions} questions, {price.stored} answered from stored replies: at most {price.most.calls} calls, "
            f"{price.most.tokens} tokens and {money}."
        )

    def _show(self, report: ProbeReport, options: dict[str, Any]) -> None:
        table = effects_table(report)
        print_result(
            self.stdout,
            options,
            told=lambda: stored(report),
            opening=opening_of(report),
            table=table,
            titled=[(f"Probes of {report.judge}", table)],
        )


def _run(public_id: str) -> JudgeRun:
    found = JudgeRun.objects.filter(public_id=public_id).select_related("study__workspace", "judge__rater").first()
    if found is None:
        raise CommandError(f"There is no judge run {public_id!r}; `{settings.PROGRAM} judge_runs` lists them.")
    return found


def _request(options: dict[str, Any]) -> ProbeRequest:
    """Return the request that the options describe. Raises CommandError, ProbesRefused."""
    if not options["study"] or not options["judge"]:
        raise CommandError("Give a study and a judge (--judge), or a run (--resume or --show).")
    workspace = workspace_for_command(options["workspace"])
    study = Study.objects.filter(workspace=workspace, slug=options["study"]).first()
    if study is None:
        known = ", ".join(Study.objects.filter(workspace=workspace).values_list("slug", flat=True))
        raise CommandError(f"There is no study {options['study']!r}; there are: {known or 'none'}.")
    judges = Judge.objects.filter(workspace=workspace).select_related("rater", "language_model__endpoint")
    judge = judges.filter(rater__label=options["judge"]).first()
    if judge is None:
        known = ", ".join(judges.values_list("rater__label", flat=True))
        raise CommandError(f"There is no judge {options['judge']!r}; there are: {known or 'none'}.")
    return ProbeRequest(
        judge,
        study,
        groups=named_groups(options["change"].split(","))
        if options["change"]
        else usual_groups(judge, options["wording"]),
        size=options["responses"],
        author=options["author"],
        wordings=[_prompt(name) for name in options["wording"]],
        seed=options["seed"],
        budget=budget_of(options),
        concurrency=options["concurrency"],
        reuse=not options["fresh"],
    )


def _prompt(name: str) -> str:
    try:
        return Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{name} cannot be read as a text file; give the path of a prompt.") from error
