"""Have models draft checklist questions for the instructions of a benchmark; people review them in the browser."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from accounts.members.workspaces import workspace_for_command
from annotation.drafting.checklists import ask_for_drafts
from core.web.addresses import full_slug
from generation.endpoints.registration import served_model
from generation.management.commands.generate import Command as Generate
from generation.management.run_command import add_run_options
from generation.management.run_options import budget_of, check_run_options
from generation.models import Benchmark, GenerationRun
from generation.responses.plan import GenerationRequest, plan_generation
from generation.responses.runs import Progress

NEW_TOKENS = 1_000


class Command(Generate):
    name = "draft_checklists"
    help = (
        "Have two models or more draft questions that a reader checks a response to each instruction by. Near-duplicates "
        "are merged; people review the questions in the browser, and those approved become the instruction's checklist."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_run_options(parser)
        add = parser.add_argument
        add("benchmark", nargs="?", help="Slug of the benchmark.")
        add("--models", nargs="+", default=[], metavar="NAME", help="Names of two models or more.")
        add("--limit", type=int, help="Maximum number of instructions.")
        add("--tag", action="append", default=[], help="Only instructions with this tag; can be repeated.")
        add("--temperature", type=float, default=0.0, help="Sampling temperature (default: 0).")
        add("--max-tokens", type=int, default=NEW_TOKENS, help=f"Maximum new tokens (default: {NEW_TOKENS}).")
        add("--name", default="", help="Name of the run.")
        add("--seed", type=int, default=0, help="If not 0, each call sends this seed.")
        add("--retry-failed", action="store_true", help="With --resume: retry failed drafts.")

    def planned(self, options: dict[str, Any]) -> GenerationRun:
        names = list(dict.fromkeys(options["models"]))
        if not options["benchmark"] or len(names) < 2:
            raise CommandError("Give a benchmark and two models or more (--models A B), or a run (--resume).")
        for name in ("limit", "max_tokens"):
            if options[name] is not None and options[name] < 1:
                raise CommandError(f"--{name.replace('_', '-')} {options[name]} is too small; give at least 1.")
        check_run_options({**options, "model": names}, name=100)
        workspace = workspace_for_command(options["workspace"])
        benchmark = Benchmark.objects.filter(workspace=workspace, slug=options["benchmark"]).first()
        if benchmark is None:
            known = ", ".join(Benchmark.objects.filter(workspace=workspace).values_list("slug", flat=True))
            raise CommandError(f"There is no benchmark {options['benchmark']!r}; there are: {known or 'none'}.")
        models = [
            served_model(
                workspace=workspace,
                name=name,
                command=self.name,
                endpoint_name=options["endpoint"],
                base_url=options["base_url"],
                key_variable=options["key_variable"],
            )
            for name in names
        ]
        request = GenerationRequest(
            ask_for_drafts(benchmark),
            models,
            limit=options["limit"],
            parameters={"temperature": options["temperature"], "max_tokens": options["max_tokens"]},
            seed=options["seed"],
            concurrency=options["concurrency"],
            name=options["name"],
            budget=budget_of(options),
            tags=options["tag"],
        )
        return plan_generation(request)

    def further(self, run: GenerationRun, progress: Progress) -> str:
        slug = full_slug(run.benchmark).removesuffix("-checklists")
        return super().further(run, progress) or f"Review the drafts on the page of drafted checklists of {slug}."
