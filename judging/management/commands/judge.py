"""Judge every response of a study or a benchmark, here or in the background."""

from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db import transaction
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
from judging.judges.questions import REFERENCE_FROM
from judging.methods.combining import How
from judging.methods.registry import METHODS, OFFERED
from judging.methods.single import checklist
from judging.models import Judge, JudgeRun, Preparation
from judging.runs.life_cycle import JUDGING, REASON_TEXTS, Progress, progress_of, retry_unscored
from judging.runs.planning.preparation import create_run
from judging.runs.planning.request import BadRequest, RunRequest, Target
from judging.runs.planning.requirements import noted_lacks
from judging.runs.worker import prepared, work_on
from judging.studies.benchmarks import check_study_of, choice_in_words


class Command(RunCommand):
    name = "judge"
    stopped = "The run was stopped"
    page = "/runs/"
    kind = JUDGING
    retry_option = "retry_unscored"
    help = "Judge every response of a study or a benchmark with a model, or resume a run."

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_run_options(parser)
        parser.add_argument("target", nargs="?", help="Slug of a study or of a benchmark.")
        parser.add_argument("--model", help="Name of the model that judges.")
        parser.add_argument(
            "--method",
            default=checklist.KEY,
            choices=sorted(OFFERED),
            metavar="METHOD",
            help="; ".join(f"{key}: {spec.name} ({spec.task_kind})" for key, spec in sorted(OFFERED.items()))
            + f". The default is {checklist.KEY}.",
        )
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
            "--no-probe",
            action="store_true",
            help="Do not ask the first questions of a large run alone, which finds a wrong key, model or context early.",
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
        parser.add_argument(
            "--reference-from",
            default="",
            metavar="MODEL",
            help="Take this model's responses for the references that the method reads, instead of people's.",
        )
        parser.add_argument(
            "--chosen-in",
            default="",
            metavar="STUDY",
            help="For the method composite: choose by agreement with the people of this study instead of the judged one.",
        )
        parser.add_argument("--experiment", default=MAIN_EXPERIMENT, help="Experiment of the benchmark to judge.")
        parser.add_argument("--limit", type=int, help="At most this many responses.")
        parser.add_argument("--seed", type=int, default=0)
        parser.add_argument("--fresh", action="store_true", help="Ask again instead of using stored replies.")

    def planned(self, options: dict[str, Any]) -> JudgeRun:
        method = options["method"]
        if not options["target"] or not (options["model"] or needs_no_model(method)):
            raise CommandError("Give a study or a benchmark and a model (--model), or a run (--resume).")
        if needs_no_model(method) and options["jury"]:
            raise CommandError(f"--jury adds further models, but method {method} uses no model; leave out --jury.")
        check_run_options(options)
        if options["retry_unscored"]:
            raise CommandError("--retry-unscored needs --resume RUN.")
        if options["both_orders"] and METHODS[method].task_kind != "pair":
            raise CommandError(f"--both-orders needs pairs; method {method} does not judge pairs.")
        try:
            with transaction.atomic():
                request = self._request(workspace_for_command(options["workspace"]), options)
                run = create_run(request)
        except BadRequest as error:
            raise CommandError(f"--{error}") from error
        for lack in noted_lacks(run):
            self.stdout.write(str(lack.warning))
        benchmark = request.target.benchmark
        if benchmark is not None and (choice := choice_in_words(benchmark)):
            self.stdout.write(choice)
        for endpoint in untested(judge.language_model for judge in request.judges if judge.language_model):
            self.stdout.write(
                f"Endpoint {endpoint.name} has not been tested, so the JSON schema is written into the prompt. To test "
                f"whether the endpoint follows a schema, run: {settings.PROGRAM} probe_endpoint '{endpoint.name}'"
            )
        return run

    def retried(self, run: JudgeRun) -> None:
        freed = retry_unscored(run, clock=timezone.now)
        self.stdout.write(f"{freed} unscored items will be asked again.")

    def _request(self, workspace: Workspace, options: dict[str, Any]) -> RunRequest:
        """Return the request that the options describe, with its judges created if necessary."""
        return RunRequest(
            _target(workspace, options["target"], options["experiment"], options["method"]),
            tuple(self._judges(workspace, options)),
            both_orders=options["both_orders"],
            repeats=options["repeats"],
            combine=How(options["combine"]),
            canaries=not options["no_canaries"],
            probe=not options["no_probe"],
            limit=options["limit"],
            only_rated=options["only_rated"],
            reuse=not options["fresh"],
            seed=options["seed"],
            budget=budget_of(options),
            concurrency=options["concurrency"],
        )

    def _judges(self, workspace: Workspace, options: dict[str, Any]) -> Iterator[Judge]:
        method = options["method"]
        if needs_no_model(method):
            yield create_rule_judge(
                workspace=workspace,
                method=method,
                name=options["name"],
                reference_from=options["reference_from"],
                chosen_in=options["chosen_in"],
            )
            return
        if options["chosen_in"]:
            raise CommandError(f"Method {method} chooses among no judges; leave out --chosen-in.")
        names = [name.strip() for name in options["jury"].split(",") if name.strip()]
        for number, name in enumerate([options["model"], *names]):
            model = model_to_judge_with(
                workspace=workspace,
                name=name,
                command=self.name,
                endpoint_name=options["endpoint"],
                base_url=options["base_url"],
                key_variable=options["key_variable"],
            )
            yield create_judge(
                model=model,
                method=method,
                name=options["name"] if number == 0 else "",
                parameters={REFERENCE_FROM: options["reference_from"]} if options["reference_from"] else None,
            )

    def left_to_worker(self, run: JudgeRun) -> str:
        if run.preparing:
            return f"Run {run.public_id}: the run is large, so the worker prepares it first."
        return super().left_to_worker(run)

    def worked(self, run: JudgeRun, options: dict[str, Any]) -> JudgeRun:
        title = f"{run.judge} on {run.study}"
        preparation = Preparation.objects.filter(run=run).defer("tasks").first()
        if preparation is not None:
            steps = attended(f"{title}: preparing", preparation.total, _look_at(run))
            with steps as attending, stopping_at_faults(run, clock=timezone.now):
                prepared(run, attending, timezone.now)

        def look() -> tuple[int, str]:
            progress = progress_of(run, clock=timezone.now)
            return progress.settled, f"{progress.unscored} unscored, {progress.calls} calls"

        with attended(title, run.items.count(), look, concurrency=options["concurrency"]) as attending:
            return work_on(run, options=attending)

    def summed_up(self, run: JudgeRun) -> Progress:
        progress = progress_of(run, clock=timezone.now)
        self.stdout.write(
            f"Run {run.public_id} is {run.status}: {progress.scored} of {progress.total} scored, "
            f"{progress.unscored} unscored, {progress.waiting} left; {progress.calls} calls, {progress.reused} reused, "
            f"{progress.input_tokens + progress.output_tokens} tokens, {progress.money.normalize():f} spent. "
            f"Judge: {run.judge}; study: {run.study}."
        )
        for reason, count in progress.reasons:
            self.stdout.write(f"  {count} unscored: {REASON_TEXTS.get(reason, reason)}.")
        return progress


def _look_at(run: JudgeRun) -> Look:
    """Return a function that reports the progress of a run's preparation."""

    def look() -> tuple[int, str]:
        found = Preparation.objects.filter(run=run).values_list("done", "total").first()
        return (found[0], f"{found[0]} of {found[1]} steps") if found else (0, "done")

    return look


def _target(workspace: Workspace, slug: str, experiment: str, method: str) -> Target:
    """Return the study with this slug, or all responses of the benchmark with this slug; raises CommandError.

    For a method that answers instruction checks, all responses' checks are asked.
    """
    study = Study.objects.filter(workspace=workspace, slug=slug).first()
    if study is not None:
        return Target(study=study)
    benchmark = Benchmark.objects.filter(workspace=workspace, slug=slug).first()
    if benchmark is None:
        known = [
            *Study.objects.filter(workspace=workspace).values_list("slug", flat=True),
            *Benchmark.objects.filter(workspace=workspace).values_list("slug", flat=True),
        ]
        raise CommandError(f"There is no study or benchmark {slug!r}; there are: {', '.join(sorted(known)) or 'none'}.")
    if METHODS[method].task_kind == Study.Kind.CHECK:
        return Target(study=check_study_of(benchmark, experiment))
    return Target(benchmark=benchmark, experiment=experiment)
