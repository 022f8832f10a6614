"""Judge every response of a study or a benchmark, here or in the background."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from accounts.members.workspaces import workspace_for_command
from accounts.models import Workspace
from annotation.models import Study
from generation.endpoints.registration import untested
from generation.execution.states import stopping_at_faults
from generation.management.run_command import Look, RunCommand, add_run_options, attended
from generation.management.run_options import budget_of, check_run_options
from generation.models import MAIN_EXPERIMENT, Benchmark
from judging.judges.making import create_judge, create_rule_judge, model_to_judge_with, needs_no_model
from judging.methods.combining import How
from judging.methods.registry import METHODS
from judging.methods.single import checklist
from judging.models import JudgeRun, Preparation
from judging.runs.life_cycle import Progress, progress_of, raise_budget, retry_unscored, start_run
from judging.runs.planning.plan import Asking, Wish
from judging.runs.planning.preparation import plan_target
from judging.runs.planning.preview import Target
from judging.runs.planning.requirements import noted_lacks
from judging.runs.worker import prepared, work_on
from judging.studies.benchmarks import choice_in_words
from judging.tasks import enqueue


class Command(RunCommand):
    name = "judge"
    stopped = "The run was stopped"
    help = "Judge every response of a study or a benchmark with a model, or resume a run."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_run_options(parser)
        parser.add_argument("target", nargs="?", help="Slug of a study or of a benchmark.")
        parser.add_argument("--model", help="Name of the model that judges.")
        parser.add_argument("--method", default=checklist.KEY, choices=sorted(METHODS), metavar="METHOD")
        parser.add_argument(
            "--jury", default="", help="Further models, separated by commas; together they form a panel."
        )
        parser.add_argument(
            "--combine",
            default=str(How.MEDIAN),
            choices=[str(how) for how in How],
            help="How a panel combines verdicts.",
        )
        parser.add_argument(
            "--both-orders", action="store_true", help="Show each pair in both orders; a flipped preference is a tie."
        )
        parser.add_argument("--repeats", type=int, default=1, help="Number of times to ask each question.")
        parser.add_argument(
            "--no-canaries",
            action="store_true",
            help="Add no canary texts, which show whether the judge can be misled.",
        )
        parser.add_argument(
            "--only-rated",
            action="store_true",
            help="Only responses that people have rated: in this study or, for a benchmark, in any study.",
        )
        parser.add_argument(
            "--retry-unscored", action="store_true", help="With --resume: ask again about unscored responses."
        )
        parser.add_argument("--name", default="", help="Name of the judge in tables.")
        parser.add_argument("--experiment", default=MAIN_EXPERIMENT, help="Experiment of the benchmark to judge.")
        parser.add_argument("--limit", type=int, help="At most this many responses.")
        parser.add_argument("--seed", type=int, default=0)
        parser.add_argument("--fresh", action="store_true", help="Ask again instead of using stored replies.")

    def begun(self, options: dict[str, Any]) -> JudgeRun:
        run = self._resumed(options) if options["resume"] else self._planned(options)
        start_run(run, clock=timezone.now)
        return run

    def hand_over(self, run: JudgeRun) -> None:
        enqueue(run)

    def _planned(self, options: dict[str, Any]) -> JudgeRun:
        calls_nobody = needs_no_model(options["method"])
        if not options["target"] or not (options["model"] or calls_nobody):
            raise CommandError("Give a study or a benchmark and a model (--model), or a run (--resume).")
        if calls_nobody and options["jury"]:
            raise CommandError(
                f"--jury adds further models, but method {options['method']} uses no model; leave out --jury."
            )
        for name in ("limit", "repeats"):
            if options[name] is not None and options[name] < 1:
                raise CommandError(f"--{name} {options[name]} is too small; give at least 1.")
        check_run_options(options)
        if options["retry_unscored"]:
            raise CommandError("--retry-unscored needs --resume RUN.")
        if options["both_orders"] and METHODS[options["method"]].task_kind != "pair":
            raise CommandError(f"--both-orders needs pairs; method {options['method']} does not judge pairs.")
        workspace = workspace_for_command(options["workspace"])
        budget = budget_of(options)
        target = _target(workspace, options["target"], options["experiment"])
        if calls_nobody:
            judges = [create_rule_judge(workspace=workspace, method=options["method"], name=options["name"])]
        else:
            names = [name.strip() for name in options["jury"].split(",") if name.strip()]
            judges = [
                create_judge(
                    model=model_to_judge_with(
                        workspace=workspace,
                        name=name,
                        command=self.name,
                        endpoint_name=options["endpoint"],
                        base_url=options["base_url"],
                        key_variable=options["key_variable"],
                    ),
                    method=options["method"],
                    name=options["name"] if number == 0 else "",
                )
                for number, name in enumerate([options["model"], *names])
            ]
        wish = Wish(
            limit=options["limit"],
            budget=budget,
            seed=options["seed"],
            concurrency=options["concurrency"],
            reuse=not options["fresh"],
            only_rated=options["only_rated"],
            asking=Asking(
                jurors=tuple(judges[1:]),
                both_orders=options["both_orders"],
                repeats=options["repeats"],
                combine=How(options["combine"]),
                canaries=not options["no_canaries"],
            ),
        )
        run = plan_target(judge=judges[0], target=target, wish=wish)
        for lack in noted_lacks(run):
            self.stdout.write(str(lack.warning))
        if target.benchmark is not None and (said := choice_in_words(target.benchmark)):
            self.stdout.write(said)
        for endpoint in untested(judge.language_model for judge in judges if judge.language_model):
            self.stdout.write(
                f"Endpoint {endpoint.name} has not been tested, so the JSON schema is written into the prompt. To test "
                f"whether the endpoint follows a schema, run: manage.py probe_endpoint '{endpoint.name}'"
            )
        return run

    def _resumed(self, options: dict[str, Any]) -> JudgeRun:
        run = JudgeRun.objects.filter(public_id=options["resume"]).first()
        if run is None:
            raise CommandError(f"There is no run {options['resume']!r}; the page /runs/ lists them.")
        budget = budget_of(options)
        if budget.limited:
            raise_budget(run, budget)
        if options["retry_unscored"]:
            freed = retry_unscored(run, clock=timezone.now)
            self.stdout.write(f"{freed} unscored items will be asked again.")
        return run

    def left_to_worker(self, run: JudgeRun) -> str:
        if run.preparing:
            return f"Run {run.public_id}: the run is large, so the worker prepares it first."
        return super().left_to_worker(run)

    def worked(self, run: JudgeRun, options: dict[str, Any]) -> JudgeRun:
        title = f"{run.judge} on {run.study}"
        preparation = Preparation.objects.filter(run=run).defer("tasks").first()
        if preparation is not None:
            steps = attended(f"{title}: preparing", preparation.total, _look_at(run))
            with steps as shift, stopping_at_faults(run, clock=timezone.now):
                prepared(run, shift, timezone.now)

        def look() -> tuple[int, str]:
            progress = progress_of(run, clock=timezone.now)
            return progress.settled, f"{progress.unscored} unscored, {progress.calls} calls"

        with attended(title, run.items.count(), look, concurrency=options["concurrency"]) as shift:
            return work_on(run, shift=shift)

    def summed_up(self, run: JudgeRun) -> Progress:
        progress = progress_of(run, clock=timezone.now)
        self.stdout.write(
            f"Run {run.public_id} is {run.status}: {progress.scored} of {progress.total} scored, "
            f"{progress.unscored} unscored, {progress.waiting} left; {progress.calls} calls, {progress.reused} reused, "
            f"{progress.input_tokens + progress.output_tokens} tokens, {progress.money.normalize():f} spent. "
            f"Judge: {run.judge}; study: {run.study}."
        )
        for reason, count in progress.reasons:
            self.stdout.write(f"  unscored, {reason}: {count}")
        return progress


def _look_at(run: JudgeRun) -> Look:
    """Return a function that reports the progress of a run's preparation."""

    def look() -> tuple[int, str]:
        found = Preparation.objects.filter(run=run).values_list("done", "total").first()
        return (found[0], f"{found[0]} of {found[1]} steps") if found else (0, "done")

    return look


def _target(workspace: Workspace, slug: str, experiment: str) -> Target:
    """Return the study with this slug, or all responses of the benchmark with this slug; raises CommandError."""
    study = Study.objects.filter(workspace=workspace, slug=slug).first()
    if study is not None:
        return Target(workspace, study=study)
    benchmark = Benchmark.objects.filter(workspace=workspace, slug=slug).first()
    if benchmark is None:
        known = [
            *Study.objects.filter(workspace=workspace).values_list("slug", flat=True),
            *Benchmark.objects.filter(workspace=workspace).values_list("slug", flat=True),
        ]
        raise CommandError(f"There is no study or benchmark {slug!r}; there are: {', '.join(sorted(known)) or 'none'}.")
    return Target(workspace, benchmark=benchmark, experiment=experiment)
