"""Bridge a new judge's run to an old judge's, or have a judge score the anchors that such a bridge needs."""

import json
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from accounts.models import Workspace
from annotation.models import Study
from calibration.management.terminal_tables import print_result
from calibration.reports.codec import stored
from core.errors import UserError
from generation.management.run_options import budget_of, check_run_options
from judging.comparison.bridging.anchors import (
    USUAL_CORRELATION,
    AnchorRequest,
    create_anchor_run,
    plan_anchors,
    run_request,
)
from judging.comparison.bridging.loaded import Scores, loaded_in, loaded_named
from judging.comparison.bridging.people_scale import people_json, peoples_scale
from judging.comparison.bridging.prices import anchor_price
from judging.comparison.bridging.run_bridge import run_bridge
from judging.management.commands.judge import Command as JudgeCommand
from judging.models import JudgeRun
from judging.runs.panels import judges_to_ask
from judging.web.runs.bridge import means_table, opening_of
from judging.web.runs.bridge_boards import board_table


class Command(JudgeCommand):
    help = (
        "Estimate the model means that an old judge would give, from a new judge's run and the responses that both scored, "
        "and test whether one bridge serves all models and categories; the leaderboard continues on the old scale. With "
        "--ask, have another judge score anchors that are drawn from a run; it is a run like any other."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add(
            "old",
            help="Id of the old judge's run, as in the address of its page, or the name of a judge whose verdicts came from "
            "a file; with --ask, what is drawn from.",
        )
        add("new", nargs="?", default="", help="Id of the new judge's run, over the same study or benchmark.")
        add("--ask", default="", metavar="JUDGE", help="Name of the judge that shall score anchors of the run.")
        add(
            "--half-width",
            type=float,
            metavar="POINTS",
            help="With --ask: half of the width wanted of 95 %% intervals.",
        )
        add("--per-model", type=int, metavar="N", help="With --ask: or the number of responses drawn of each model.")
        add(
            "--correlation",
            type=float,
            default=USUAL_CORRELATION,
            help="With --ask: the correlation of the judges' scores assumed while too few are shared to tell.",
        )
        add("--price", action="store_true", help="With --ask: print what would be drawn and its cost, and ask nothing.")
        add("--seed", type=int, default=0, help="With --ask: random seed for drawing the responses.")
        add("--no-canaries", action="store_true", help="With --ask: add no canary texts.")
        add("--fresh", action="store_true", help="With --ask: ask again instead of using stored replies.")
        add("--budget-calls", type=int, help="Maximum number of calls.")
        add("--budget-tokens", type=int, help="Maximum number of tokens.")
        add("--budget-money", help="Maximum cost, in the currency of the endpoint's prices.")
        add("--concurrency", type=int, help="Number of concurrent calls; the endpoint's own limit still applies.")
        add("--background", action="store_true", help="Leave the work to a Celery worker.")
        parser.set_defaults(resume=None, retry_unscored=False)
        add(
            "--margin",
            type=float,
            metavar="POINTS",
            help="Difference that matters, in points of the old scale; 5 %% of the scale if it is not given.",
        )
        shapes = parser.add_mutually_exclusive_group()
        shapes.add_argument("--json", action="store_true", help="Print JSON with unrounded numbers.")
        shapes.add_argument("--csv", action="store_true", help="Print the models' means as CSV.")
        shapes.add_argument("--latex", action="store_true", help="Print the models' means as a tabular.")
        shapes.add_argument("--markdown", action="store_true", help="Print the answer and the means in Markdown.")
        add("--board", action="store_true", help="Print the leaderboard that continues in place of the means.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            if options["price"]:
                self._price(_request(options), as_json=options["json"])
            elif options["ask"]:
                super().handle(*args, **options)
            else:
                self._bridge(options)
        except UserError as error:
            raise CommandError(str(error)) from error

    def planned(self, options: dict[str, Any]) -> JudgeRun:
        check_run_options(options)
        return create_anchor_run(_request(options))

    def further(self, run: JudgeRun, progress: Any) -> str:
        drawn_from = run.manifest["settings"]["drawn"]["of"]
        return f"See the bridge with: {settings.PROGRAM} bridge {drawn_from} {run.public_id}"

    def _price(self, request: AnchorRequest, *, as_json: bool) -> None:
        plan = plan_anchors(request)
        price = anchor_price(run_request(request, plan), plan)
        if as_json:
            self.stdout.write(json.dumps(price, ensure_ascii=False, indent=2))
            return
        for one in plan.models:
            self.stdout.write(f"{one.model}: {one.anchors} of {one.responses} responses")
        most = price["most"]
        money = f"{most['money']} {price['currency']}".strip() if most["money"] is not None else "an unknown amount"
        self.stdout.write(
            f"{plan.n} anchors, {plan.known} judged already: at most {most['calls']} calls, {most['tokens']} tokens and "
            f"{money}."
        )

    def _bridge(self, options: dict[str, Any]) -> None:
        if not options["new"]:
            raise CommandError("Give the run of the new judge, or the judge that shall score anchors (--ask).")
        new = _run(options["new"])
        old = _scores(options["old"], new.study)
        if old.study.workspace_id != new.study.workspace_id or (
            old.study != new.study and old.study.benchmark_id != new.study.benchmark_id
        ):
            raise CommandError("The two runs are over different benchmarks; name two runs over the same responses.")
        found = run_bridge(old, new, margin=options["margin"])
        table = board_table(found) if options["board"] else means_table(found)
        print_result(
            self.stdout,
            options,
            told=lambda: {**stored(found), "people": people_json(peoples_scale(old, new))},
            opening=opening_of(found),
            table=table,
            titled=[(f"Model means on the scale of {found.old}", table)],
        )


def _run(public_id: str) -> JudgeRun:
    found = JudgeRun.objects.filter(public_id=public_id).select_related("study__workspace", "judge__rater").first()
    if found is None:
        raise CommandError(f"There is no judge run {public_id!r}; `{settings.PROGRAM} judge_runs` lists them.")
    return found


def _scores(name: str, near: Study | None = None) -> Scores:
    """Return the run of this id, or else the verdicts of a judge that came from a file, near a study if it is given."""
    run = JudgeRun.objects.filter(public_id=name).select_related("study__workspace", "judge__rater").first()
    workspaces = Workspace.objects.all() if near is None else [near.workspace]
    return run or loaded_named(loaded_in(workspaces, near), name)


def _request(options: dict[str, Any]) -> AnchorRequest:
    """Return the request that the options describe. Raises CommandError."""
    if options["new"] or not options["ask"]:
        raise CommandError("Give one run to draw from and the judge that shall score the anchors (--ask).")
    run = _scores(options["old"])
    judges = judges_to_ask(run.study.workspace)
    judge = judges.filter(rater__label=options["ask"]).first()
    if judge is None:
        known = ", ".join(judges.values_list("rater__label", flat=True))
        raise CommandError(f"There is no judge {options['ask']!r}; there are: {known or 'none'}.")
    return AnchorRequest(
        run,
        judge,
        half_width=options["half_width"],
        per_model=options["per_model"],
        correlation=options["correlation"],
        seed=options["seed"],
        canaries=not options["no_canaries"],
        reuse=not options["fresh"],
        budget=budget_of(options),
        concurrency=options["concurrency"],
    )
