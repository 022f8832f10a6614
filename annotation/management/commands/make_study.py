"""Make a study of a benchmark's responses, and open it."""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.members.workspaces import workspace_for_command
from annotation.models import Study
from annotation.monitoring.progress import study_rows
from annotation.policies.policies import ORDERS
from annotation.policies.stopping import STOPPING_QUESTIONS, USUAL_ERROR
from annotation.questionnaires.question_file import questions_of_file
from annotation.studies.making import PAIRS, SAMPLES, SELF_NAMING, WantedStudy, launch_at_once, make_study
from core.errors import UserError
from generation.models import MAIN_EXPERIMENT

REPEATED = ("categories", "models", "baselines", "judges", "tags", "stop_models")


class Command(BaseCommand):
    help = "Make a study of a benchmark's responses with the settings of the study form, and open it with --launch."

    def add_arguments(self, parser: CommandParser) -> None:
        add = parser.add_argument
        add("name", help="The study's name; its slug is made from it.")
        add("--kind", required=True, choices=Study.Kind.values)
        add("--benchmark", required=True, metavar="SLUG")
        add("--workspace", default="", metavar="SLUG")
        add("--name-zh", default="", metavar="NAME", help="Its name in Chinese.")
        add("--rubric", default="", metavar="KEY", help="The rubric; without it, each instruction's own.")
        add("--category", action="append", default=[], dest="categories", metavar="KEY", help="Repeat for several.")
        add("--tag", action="append", default=[], dest="tags", metavar="TAG", help="Instructions with it. Repeatable.")
        add("--model", action="append", default=[], dest="models", metavar="NAME", help="Repeat for several.")
        add("--instructions", type=int, default=0, metavar="N", help="Draw N instructions, evenly over categories.")
        add("--seed", type=int, metavar="N", help="The seed of all that the study draws at random.")
        add("--samples", choices=SAMPLES, default="first", help="One response of a model to an instruction, or all.")
        add("--pairs", choices=PAIRS, default="", help="Of a study of pairs: which; all is the default.")
        add(
            "--baseline",
            action="append",
            default=[],
            dest="baselines",
            metavar="NAME",
            help="Compare every other model with this one. Repeat for several.",
        )
        add("--pairs-wanted", type=int, default=0, metavar="N", help="With --pairs even: how many are drawn.")
        add("--judge", action="append", default=[], dest="judges", metavar="NAME", help="Of a review: whose verdicts.")
        add("--overlap", type=int, default=3, metavar="N", help="Ratings per task; 3 is the default.")
        add("--order", choices=ORDERS, default="spread")
        add("--experiment", default=MAIN_EXPERIMENT, metavar="NAME", help="Use the responses of this experiment.")
        add(
            "--self-naming",
            choices=sorted(filter(None, SELF_NAMING)),
            default="",
            help="Mask the words of responses that say which model wrote them, or keep them.",
        )
        add(
            "--stop",
            choices=STOPPING_QUESTIONS,
            default="",
            help="The question whose answer says when labelling may stop; it is frozen at launch.",
        )
        add("--stop-threshold", type=float, metavar="SHARE", help="The share of agreeing pairs that agreement reaches.")
        add(
            "--stop-model",
            action="append",
            default=[],
            dest="stop_models",
            metavar="NAME",
            help="One of the two models of which the better one is asked. Give it twice.",
        )
        add(
            "--stop-error",
            type=float,
            default=USUAL_ERROR,
            metavar="SHARE",
            help="The probability of ever answering wrongly; 0.05 is the default.",
        )
        for moment, when in (("before", "before their first task"), ("after", "after their last task")):
            add(
                f"--questions-{moment}",
                type=Path,
                metavar="FILE",
                help=f"A JSON file or a table of the questions that raters answer {when}.",
            )
        add("--launch", action="store_true", help="Create the tasks and slots, and open the study.")
        add("--json", action="store_true", help="Print the result as JSON.")

    def handle(self, *args: Any, **options: Any) -> None:
        fields = {name: options[name] for name in WantedStudy.__dataclass_fields__}
        try:
            fields |= {name: _questions(options[name]) for name in ("questions_before", "questions_after")}
            wanted = WantedStudy(**{**fields, **{name: tuple(options[name]) for name in REPEATED}})
            made = make_study(workspace=workspace_for_command(options["workspace"]), wanted=wanted, by=None)
            study = made.study
            if options["launch"]:
                launch_at_once(study, by=None)
        except UserError as problem:
            raise CommandError(str(problem)) from problem
        (row,) = study_rows([study])
        if options["json"]:
            result = {
                "study": study.slug,
                "kind": study.kind,
                "benchmark": wanted.benchmark,
                "experiment": study.experiment,
                "status": study.status,
                "seed": study.seed,
                "tasks": made.tasks,
                "ratings": made.tasks * wanted.overlap,
                "slots": row.seats,
                "without_rubric": made.without_rubric,
            }
            self.stdout.write(json.dumps(result))
            return
        state = "is open" if study.status == Study.Status.OPEN else "is a draft"
        self.stdout.write(f"Study {study.slug} {state}: {made.tasks:,} tasks, {wanted.overlap} ratings each.")
        if made.without_rubric:
            self.stdout.write(f"Left out because no rubric fits them: {made.without_rubric:,}.")


def _questions(path: Path | None) -> tuple[dict[str, Any], ...]:
    """The questions of a file. Raises UserError."""
    return tuple(question.as_json() for question in questions_of_file(path)) if path else ()
